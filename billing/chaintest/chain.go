// Package chaintest runs real chains inside a test: EVM chains of go-ethereum with a USDC at its true address, Solana's
// runtime, and the x402 SDK's facilitator before them, all on loopback. Nothing is worth anything.
package chaintest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/big"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/ethclient/simulated"
	"github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"aanet/billing"
	"aanet/billing/x402"
)

// The CAIP-2 names of two of the EVM chains.
const (
	Base      = "eip155:8453"
	Avalanche = "eip155:43114"
)

// Chain is one EVM chain with the id, and USDC at the address, of a real network. Each transaction that is sent to it is
// mined at once, unless Hold was called. A block takes a second of its time at least, so its clock runs ahead.
type Chain struct {
	*Front
	// Network is the one it stands for.
	Network x402.Network

	t       testing.TB
	backend *simulated.Backend
	client  simulated.Client
	id      *big.Int
	token   common.Address
	// faucet has all the ether and pays for whatever tests do.
	faucet *Wallet

	mu   sync.Mutex // over sending and mining
	held bool
	sent int
}

// Start runs a chain until the test ends.
func Start(t testing.TB, network string) *Chain {
	t.Helper()
	n, known := x402.NetworkOf(network)
	if !known || n.IsSolana() {
		t.Fatalf("not an EVM network: %q", network)
	}
	c := &Chain{Network: n, t: t, token: common.HexToAddress(n.Asset), faucet: NewWallet(t)}
	c.id, _ = new(big.Int).SetString(strings.TrimPrefix(n.ID, "eip155:"), 10)
	log.SetDefault(log.NewLogger(slog.DiscardHandler))
	c.backend = simulated.NewBackend(types.GenesisAlloc{
		c.token:        {Code: tokenCode, Balance: new(big.Int)},
		otherToken:     {Code: tokenCode, Balance: new(big.Int)},
		batchAddress:   {Code: batchCode, Balance: new(big.Int)},
		c.faucet.owner: {Balance: ether(1_000_000)},
	}, c.configure)
	t.Cleanup(func() {
		if err := c.backend.Close(); err != nil {
			t.Errorf("close the chain: %v", err)
		}
	})
	c.client = c.backend.Client()
	// The simulated chain wraps its client so that only a part is seen; the front needs it whole.
	inner, ok := reflect.ValueOf(c.client).FieldByName("Client").Interface().(*ethclient.Client)
	if !ok {
		t.Fatal("the simulated chain has no client")
	}
	c.Front = startFront(t, func(ctx context.Context, method string, params []json.RawMessage) (json.RawMessage, *RPCError) {
		return forward(ctx, inner.Client(), method, params)
	})
	c.Mine(1) // the first block is of 1970, when nothing is valid yet
	return c
}

// configure gives the chain its own id, and the rules of today's networks: the next ones are on in go-ethereum's
// development chain.
func (c *Chain) configure(_ *node.Config, e *ethconfig.Config) {
	rules := *params.AllDevChainProtocolChanges
	rules.ChainID, rules.AmsterdamTime, rules.BogotaTime = c.id, nil, nil
	e.Genesis.Config, e.NetworkId = &rules, c.id.Uint64()
}

func ether(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(params.Ether)) }

// forward asks the node in this process.
func forward(ctx context.Context, to *rpc.Client, method string, params []json.RawMessage) (result json.RawMessage, refused *RPCError) {
	args := make([]any, len(params))
	for i, p := range params {
		args[i] = p
	}
	err := to.CallContext(ctx, &result, method, args...)
	var coded rpc.Error
	switch {
	case errors.As(err, &coded):
		return nil, &RPCError{coded.ErrorCode(), err.Error()}
	case err != nil:
		return nil, &RPCError{-32000, err.Error()}
	case result == nil:
		result = json.RawMessage("null")
	}
	return result, nil
}

// Hold keeps transactions in the pool until Mine.
func (c *Chain) Hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = true
}

// Mine adds blocks; the first one takes what waits in the pool. It ends Hold.
func (c *Chain) Mine(blocks int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = false
	for range blocks {
		c.backend.Commit()
	}
}

// Pass adds one empty block that is later than the head by a time.
func (c *Chain) Pass(d time.Duration) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	// The pool lets go of the transactions in the newest block a moment later, and is in the way until then.
	const tries, pause = 5000, 5 * time.Millisecond
	for try := 1; ; try++ {
		err := c.backend.AdjustTime(d)
		if err == nil {
			return
		}
		if try == tries {
			c.t.Fatal(err)
		}
		time.Sleep(pause)
	}
}

// Head is the newest block.
func (c *Chain) Head() (number uint64, at time.Time) {
	c.t.Helper()
	h, err := c.client.HeaderByNumber(c.t.Context(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return h.Number.Uint64(), time.Unix(int64(h.Time), 0)
}

// Forget takes the newest blocks and their transactions out of the chain, as a reorganisation does, and adds as many
// empty ones and one more.
func (c *Chain) Forget(blocks uint64) {
	c.t.Helper()
	number, _ := c.Head()
	parent, err := c.client.HeaderByNumber(c.t.Context(), new(big.Int).SetUint64(number-blocks))
	if err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.backend.Fork(parent.Hash()); err != nil {
		c.t.Fatal(err)
	}
	for range blocks + 1 {
		c.backend.Rollback() // what was in the blocks comes back to the pool
		c.backend.Commit()
	}
}

// Sent counts the transactions that were sent so far.
func (c *Chain) Sent() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent
}

// send signs a call, sends it and, unless held, mines it.
func (c *Chain) send(ctx context.Context, from *Wallet, to common.Address, data []byte) (common.Hash, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	nonce, err := c.client.PendingNonceAt(ctx, from.owner)
	if err != nil {
		return common.Hash{}, err
	}
	const gas, tip, cap = 1_000_000, 1_000_000_000, 100_000_000_000
	tx, err := types.SignNewTx(from.key, types.LatestSignerForChainID(c.id), &types.DynamicFeeTx{
		ChainID: c.id, Nonce: nonce, To: &to, Data: data, Gas: gas, GasTipCap: big.NewInt(tip), GasFeeCap: big.NewInt(cap),
	})
	if err != nil {
		return common.Hash{}, err
	}
	if err := c.pool(ctx, tx); err != nil {
		return common.Hash{}, err
	}
	c.sent++
	if !c.held {
		c.backend.Commit()
	}
	return tx.Hash(), nil
}

// pool hands a transaction to the node. Its pool sees what the newest block changed a moment later; until then a wallet
// that was just endowed is poor.
func (c *Chain) pool(ctx context.Context, tx *types.Transaction) error {
	const tries, pause = 5000, 5 * time.Millisecond
	for try := 1; ; try++ {
		err := c.client.SendTransaction(ctx, tx)
		if err == nil || try == tries || !strings.Contains(err.Error(), "insufficient funds") {
			return err
		}
		time.Sleep(pause)
	}
}

// mustSend is send for what a test does itself; the transaction may fail on the chain.
func (c *Chain) mustSend(from *Wallet, to common.Address, data []byte) string {
	c.t.Helper()
	hash, err := c.send(c.t.Context(), from, to, data)
	if err != nil {
		c.t.Fatal(err)
	}
	return hash.Hex()
}

// receipt waits for a transaction to be mined.
func (c *Chain) receipt(ctx context.Context, hash common.Hash) (*types.Receipt, error) {
	const pause = 5 * time.Millisecond
	for {
		r, err := c.client.TransactionReceipt(ctx, hash)
		if !errors.Is(err, ethereum.NotFound) {
			return r, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Endow gives a wallet ether for gas.
func (c *Chain) Endow(w *Wallet) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	nonce, err := c.client.PendingNonceAt(c.t.Context(), c.faucet.owner)
	if err != nil {
		c.t.Fatal(err)
	}
	const gas, price = 21_000, 100_000_000_000
	tx, err := types.SignNewTx(c.faucet.key, types.LatestSignerForChainID(c.id), &types.LegacyTx{
		Nonce: nonce, To: &w.owner, Value: ether(100), Gas: gas, GasPrice: big.NewInt(price),
	})
	if err == nil {
		err = c.client.SendTransaction(c.t.Context(), tx)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.backend.Commit()
}

// Fund mints USDC to an address.
func (c *Chain) Fund(address string, amount billing.Units) {
	c.t.Helper()
	c.mustSend(c.faucet, c.token, pack("mint", common.HexToAddress(address), smallest(amount)))
}

// OtherToken mints a worthless token with the same contract, and gives the transaction.
func (c *Chain) OtherToken(address string, amount billing.Units) string {
	c.t.Helper()
	return c.mustSend(c.faucet, otherToken, pack("mint", common.HexToAddress(address), smallest(amount)))
}

// Balance is the USDC of an address. It must be whole units.
func (c *Chain) Balance(address string) billing.Units {
	c.t.Helper()
	data, err := c.client.CallContract(c.t.Context(), ethereum.CallMsg{To: &c.token, Data: pack("balanceOf", common.HexToAddress(address))}, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	units, rest := new(big.Int).QuoRem(new(big.Int).SetBytes(data), big.NewInt(atomicPerUnit), new(big.Int))
	if rest.Sign() != 0 {
		c.t.Fatalf("%s has %s thousandths of a cent and a rest of %s", address, units, rest)
	}
	return billing.Units(units.Int64())
}
