package chain

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/sha3"

	"aanet/billing/x402"
)

// confirmationsByDefault are how deep a block must be, by chain id: about a minute, or two on Polygon, whose history
// has the deepest reorganisations. Nodes keep the state of 128 blocks at least, and it is read at that depth.
var confirmationsByDefault = map[string]uint64{
	"eip155:8453":  30,  // 2 s a block
	"eip155:137":   64,  // 2 s
	"eip155:42161": 120, // 0.25 s; ordered by one sequencer
	"eip155:43114": 12,  // 2 s; final within seconds
}

// The first four bytes of the hash of a function's signature name it in a call; an event's hash is its first topic.
var (
	callAuthorizationState = selector("authorizationState(address,bytes32)")
	callDomainSeparator    = selector("DOMAIN_SEPARATOR()")
	callDecimals           = selector("decimals()")

	eventTransfer              = hexOf(keccak([]byte("Transfer(address,address,uint256)")))
	eventAuthorizationUsed     = hexOf(keccak([]byte("AuthorizationUsed(address,bytes32)")))
	eventAuthorizationCanceled = hexOf(keccak([]byte("AuthorizationCanceled(address,bytes32)")))
)

func keccak(parts ...[]byte) []byte {
	h := sha3.NewLegacyKeccak256()
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum(nil)
}

func hexOf(b []byte) string { return "0x" + hex.EncodeToString(b) }

func selector(signature string) string {
	const size = 4
	return hexOf(keccak([]byte(signature))[:size])
}

var (
	wordForm    = regexp.MustCompile(`^0x[0-9a-f]{64}$`)
	addressForm = regexp.MustCompile(`^0x[0-9a-f]{40}$`)
)

// wordOf pads an address to the 32 bytes that it has as argument and as topic.
func wordOf(address string) string {
	return "0x" + strings.Repeat("0", 24) + strings.TrimPrefix(strings.ToLower(address), "0x")
}

// addressIn takes the address out of a topic.
func addressIn(word string) string {
	if !wordForm.MatchString(word) {
		return ""
	}
	return "0x" + word[len(word)-40:]
}

// evm is one EVM chain with its USDC.
type evm struct {
	network       x402.Network
	node          *node
	confirmations uint64
	// known is set once the node has proved to serve this chain.
	known atomic.Bool
}

func newEVM(n x402.Network, client *node, confirmations uint64) *evm {
	if confirmations == 0 {
		confirmations = confirmationsByDefault[n.ID]
	}
	return &evm{network: n, node: client, confirmations: confirmations}
}

// quantity is a number as JSON-RPC has it: 0x and hex.
type quantity uint64

// UnmarshalJSON accepts what fits 64 bits, unsigned.
func (q *quantity) UnmarshalJSON(text []byte) error {
	digits, ok := strings.CutPrefix(strings.Trim(string(text), `"`), "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil {
		return errors.New("not a quantity")
	}
	*q = quantity(n)
	return nil
}

func (q quantity) String() string { return "0x" + strconv.FormatUint(uint64(q), 16) }

type block struct {
	Number    *quantity `json:"number"`
	Hash      string    `json:"hash"`
	Timestamp *quantity `json:"timestamp"`
}

func (b block) time() time.Time { return time.Unix(int64(*b.Timestamp), 0).UTC() }

// block reads a block by its number, or by a tag such as latest.
func (e *evm) block(ctx context.Context, which string) (block, error) {
	var b block
	err := e.node.need(ctx, &b, "eth_getBlockByNumber", which, false)
	if err == nil && (b.Number == nil || b.Timestamp == nil || *b.Timestamp > 1<<40 || !wordForm.MatchString(b.Hash)) {
		err = fmt.Errorf("block %s: %w", which, errNonsense)
	}
	return b, err
}

// identify makes sure, once, that the node serves this chain and not another one.
func (e *evm) identify(ctx context.Context) error {
	if e.known.Load() {
		return nil
	}
	var id quantity
	if err := e.node.need(ctx, &id, "eth_chainId"); err != nil {
		return err
	}
	if got := fmt.Sprintf("eip155:%d", uint64(id)); got != e.network.ID {
		return fmt.Errorf("%w: the node serves %s, not %s", ErrMismatch, got, e.network.ID)
	}
	e.known.Store(true)
	return nil
}

// read calls a function of the token that gives one word, as of a block.
func (e *evm) read(ctx context.Context, data, at string) (string, error) {
	var word string
	call := map[string]string{"to": e.network.Asset, "data": data}
	if err := e.node.need(ctx, &word, "eth_call", call, at); err != nil {
		return "", err
	}
	// Where there is no contract a call gives nothing at all, which must not be read as zero.
	if word = strings.ToLower(word); !wordForm.MatchString(word) {
		return "", fmt.Errorf("the token's answer: %w", errNonsense)
	}
	return word, nil
}

// authorizationUsed tells whether a nonce was used or cancelled, as of a block.
func (e *evm) authorizationUsed(ctx context.Context, payer, nonce, at string) (bool, error) {
	word, err := e.read(ctx, callAuthorizationState+wordOf(payer)[2:]+nonce[2:], at)
	if err != nil {
		return false, err
	}
	switch strings.TrimLeft(word[2:], "0") {
	case "":
		return false, nil
	case "1":
		return true, nil
	}
	return false, fmt.Errorf("state of the authorization: %w", errNonsense)
}

// check compares chain and token with what payers are told to sign for.
func (e *evm) check(ctx context.Context) error {
	if err := e.identify(ctx); err != nil {
		return err
	}
	separator, err := e.read(ctx, callDomainSeparator, "latest")
	if err != nil {
		return err
	}
	if separator != domainSeparator(e.network) {
		return fmt.Errorf("%w: the token at %s has another EIP-712 domain than %q, version %q",
			ErrMismatch, e.network.Asset, e.network.DomainName, e.network.DomainVersion)
	}
	decimals, err := e.read(ctx, callDecimals, "latest")
	if err != nil {
		return err
	}
	if strings.TrimLeft(decimals[2:], "0") != "6" {
		return fmt.Errorf("%w: the token at %s does not have 6 decimals", ErrMismatch, e.network.Asset)
	}
	return nil
}

// domainSeparator is what EIP-712 makes of the token's name, version, chain and address.
func domainSeparator(n x402.Network) string {
	var id, token [32]byte
	chain, _ := new(big.Int).SetString(strings.TrimPrefix(n.ID, "eip155:"), 10) // the networks are constants
	chain.FillBytes(id[:])
	address, _ := new(big.Int).SetString(strings.TrimPrefix(n.Asset, "0x"), 16)
	address.FillBytes(token[:])
	return hexOf(keccak(
		keccak([]byte("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")),
		keccak([]byte(n.DomainName)), keccak([]byte(n.DomainVersion)), id[:], token[:],
	))
}
