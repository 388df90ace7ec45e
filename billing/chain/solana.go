package chain

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"aanet/billing/x402"
)

// solana is that chain with its USDC.
type solana struct {
	network x402.Network
	node    *node
	payTo   string
	// known is set once the node has proved to serve this chain.
	known  atomic.Bool
	hashes messageHashes
}

func newSolana(n x402.Network, client *node, payTo string) *solana {
	return &solana{network: n, node: client, payTo: payTo}
}

const (
	confirmed = "confirmed"
	finalized = "finalized"
)

type options map[string]any

// identify makes sure, once, that the node serves this chain: CAIP-2 names it by the start of its first block's hash.
func (s *solana) identify(ctx context.Context) error {
	if s.known.Load() {
		return nil
	}
	var genesis string
	if err := s.node.need(ctx, &genesis, "getGenesisHash"); err != nil {
		return err
	}
	if !strings.HasPrefix(genesis, strings.TrimPrefix(s.network.ID, "solana:")) {
		return fmt.Errorf("%w: the node serves another chain of Solana, of genesis %.32q", ErrMismatch, genesis)
	}
	s.known.Store(true)
	return nil
}

// check looks at the token, and at the account without which nobody can pay the receiver.
func (s *solana) check(ctx context.Context) error {
	if err := s.identify(ctx); err != nil {
		return err
	}
	var supply struct {
		Value struct {
			Decimals *int `json:"decimals"`
		} `json:"value"`
	}
	if err := s.node.need(ctx, &supply, "getTokenSupply", s.network.Asset); err != nil {
		return err
	}
	const decimals = 6
	if supply.Value.Decimals == nil || *supply.Value.Decimals != decimals {
		return fmt.Errorf("%w: the token %s does not have 6 decimals", ErrMismatch, s.network.Asset)
	}
	if s.payTo == "" {
		return nil
	}
	account, err := x402.TokenAccount(s.payTo)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMismatch, err)
	}
	var info struct {
		Value *struct {
			Owner string `json:"owner"`
		} `json:"value"`
	}
	if err := s.node.need(ctx, &info, "getAccountInfo", account, options{"encoding": "base64", "commitment": finalized}); err != nil {
		return err
	}
	if info.Value == nil {
		return fmt.Errorf("%w: the receiving wallet %s has no token account for USDC (%s): create it first", ErrMismatch, s.payTo, account)
	}
	return nil
}

// transaction is what the chain tells of one.
type transaction struct {
	BlockTime *int64   `json:"blockTime"`
	Slot      *uint64  `json:"slot"`
	Wire      []string `json:"transaction"` // base64, and the word base64
	Meta      *struct {
		Error any       `json:"err"`
		Pre   []balance `json:"preTokenBalances"`
		Post  []balance `json:"postTokenBalances"`
	} `json:"meta"`
}

type balance struct {
	Account int    `json:"accountIndex"`
	Mint    string `json:"mint"`
	Owner   string `json:"owner"`
	Amount  struct {
		Amount string `json:"amount"`
	} `json:"uiTokenAmount"`
}

// transaction is nil while the chain does not show it at the commitment.
func (s *solana) transaction(ctx context.Context, signature, commitment string) (*transaction, error) {
	var t transaction
	found, err := s.node.ask(ctx, &t, "getTransaction", signature, options{
		"encoding": "base64", "commitment": commitment, "maxSupportedTransactionVersion": 0,
	})
	if err != nil || !found {
		return nil, err
	}
	if t.Meta == nil || t.Slot == nil || len(t.Wire) == 0 {
		return nil, fmt.Errorf("transaction: %w", errNonsense)
	}
	return &t, nil
}

// message reads the transaction itself.
func (t *transaction) message() (x402.SolanaMessage, error) {
	raw, err := base64.StdEncoding.DecodeString(t.Wire[0])
	if err != nil {
		return x402.SolanaMessage{}, fmt.Errorf("transaction: %w", errNonsense)
	}
	return x402.ReadSolanaMessage(raw)
}

// changes sums up, by owner, what the transaction did to balances of a token.
func (t *transaction) changes(mint string) (map[string]*big.Int, error) {
	changes := map[string]*big.Int{}
	add := func(balances []balance, sign int64) error {
		for _, b := range balances {
			if b.Mint != mint {
				continue
			}
			amount, ok := new(big.Int).SetString(b.Amount.Amount, 10)
			if !ok || b.Owner == "" {
				return fmt.Errorf("balances: %w", errNonsense)
			}
			if changes[b.Owner] == nil {
				changes[b.Owner] = new(big.Int)
			}
			changes[b.Owner].Add(changes[b.Owner], amount.Mul(amount, big.NewInt(sign)))
		}
		return nil
	}
	return changes, errors.Join(add(t.Meta.Post, 1), add(t.Meta.Pre, -1))
}

// movement is what the transaction did to one wallet, and who paid.
func (t *transaction) movement(mint, wallet string) (movement, error) {
	changes, err := t.changes(mint)
	if err != nil {
		return movement{}, err
	}
	m := movement{failed: t.Meta.Error != nil, received: new(big.Int)}
	for owner, change := range changes {
		if change.Sign() < 0 {
			m.senders = append(m.senders, owner)
		}
	}
	slices.Sort(m.senders)
	if change := changes[wallet]; change != nil {
		m.received = change
	}
	if t.BlockTime == nil {
		return movement{}, fmt.Errorf("time of the transaction: %w", errNonsense)
	}
	m.at = time.Unix(*t.BlockTime, 0).UTC()
	return m, nil
}

// messageHashes remembers the hash of each transaction's message that was read; it never changes.
type messageHashes struct {
	mu     sync.Mutex
	hashes map[string]string
}

func (h *messageHashes) get(signature string) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hash, known := h.hashes[signature]
	return hash, known
}

func (h *messageHashes) put(signature, hash string) {
	const most = 20_000 // about 4 MB
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hashes == nil || len(h.hashes) >= most {
		h.hashes = map[string]string{}
	}
	h.hashes[signature] = hash
}
