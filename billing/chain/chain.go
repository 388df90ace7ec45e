// Package chain asks the chains themselves what became of a payment or of a payout, over JSON-RPC. It only reads: it
// holds no key and sends no transaction. It learns or it fails; a node that is away, slow or talks nonsense never makes
// a payment look dead.
//
// EVM chains and Solana differ in everything but the questions, so each family has its files; node.go is what both
// speak.
package chain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"aanet/billing"
	"aanet/billing/x402"
)

const (
	// requestTimeout bounds one question to a node, callTimeout all that one call of Payment, Payout or Check asks.
	requestTimeout = 10 * time.Second
	callTimeout    = 45 * time.Second
)

// ErrMismatch means that a node or a token is not what the configuration takes it for. It does not pass by waiting.
var ErrMismatch = errors.New("the chain is not as configured")

// Options configure a Chains.
type Options struct {
	// URLs maps CAIP-2 networks to the JSON-RPC URL of a node, http or https as it stands there. They often hold a key,
	// and no error repeats them.
	URLs map[string]string
	// PayTo maps CAIP-2 networks to receiving addresses. Check alone looks at them, and only at Solana's.
	PayTo map[string]string
	// Confirmations overrides, by CAIP-2 network, how deep in an EVM chain a block must be to count; one is the head
	// itself. Solana always waits for finality.
	Confirmations map[string]uint64
	// Timeout bounds one question to a node; 10 seconds when zero.
	Timeout time.Duration
}

// Chains are the nodes that can be asked. It implements billing.Evidence; its methods may be called concurrently.
type Chains struct {
	families map[string]family
	// networks are those of families, in the order in which deposits offer them.
	networks []x402.Network
}

var _ billing.Evidence = (*Chains)(nil)

// family is what an EVM chain and Solana answer each in its own way.
type family interface {
	check(ctx context.Context) error
	payment(ctx context.Context, q billing.PaymentQuery) (billing.PaymentFinding, error)
	payout(ctx context.Context, q billing.PayoutQuery) ([]billing.PayoutStep, error)
}

// New checks the configuration; the error names every fault and no URL. Nothing is sent before the first question.
func New(o Options) (*Chains, error) {
	c := &Chains{families: map[string]family{}}
	var faults []error
	for _, id := range slices.Sorted(maps.Keys(o.URLs)) {
		n, known := x402.NetworkOf(id)
		if !known {
			faults = append(faults, fmt.Errorf("node for %q: not a network that deposits know", id))
			continue
		}
		client, err := newNode(o.URLs[id], o.Timeout)
		if err != nil {
			faults = append(faults, fmt.Errorf("node for %s: %w", n.Name, err))
			continue
		}
		if n.IsSolana() {
			c.families[id] = newSolana(n, client, o.PayTo[id])
		} else {
			c.families[id] = newEVM(n, client, o.Confirmations[id])
		}
	}
	for _, n := range x402.Networks() {
		if c.families[n.ID] != nil {
			c.networks = append(c.networks, n)
		}
	}
	return c, errors.Join(faults...)
}

// Covers tells whether a node of the network is configured.
func (c *Chains) Covers(network string) bool { return c.families[network] != nil }

// Check asks every node whether it serves its network, and whether the token there is the USDC that payers sign for:
// chain id and EIP-712 domain, or genesis, mint and the receiver's token account. The error joins one for each network
// at fault; those that waiting does not cure are ErrMismatch.
func (c *Chains) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	faults := make(chan error, len(c.networks))
	for _, n := range c.networks {
		go func() {
			err := c.families[n.ID].check(ctx)
			if err != nil {
				err = fmt.Errorf("%s: %w", n.Name, err)
			}
			faults <- err
		}()
	}
	var all []error
	for range c.networks {
		all = append(all, <-faults)
	}
	return errors.Join(all...)
}

// Payment tells what became of a signed payment.
func (c *Chains) Payment(ctx context.Context, q billing.PaymentQuery) (billing.PaymentFinding, error) {
	f := c.families[q.Network]
	if f == nil {
		return billing.PaymentFinding{}, errNotCovered(q.Network)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	finding, err := f.payment(ctx, q)
	if err != nil {
		return billing.PaymentFinding{}, fmt.Errorf("payment on %s: %w", q.Network, err)
	}
	return finding, nil
}

// Payout tells whether a transaction paid a refund.
func (c *Chains) Payout(ctx context.Context, q billing.PayoutQuery) (billing.PayoutFinding, error) {
	f := c.families[q.Network]
	if f == nil {
		return billing.PayoutFinding{}, errNotCovered(q.Network)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	steps, err := f.payout(ctx, q)
	if err != nil {
		return billing.PayoutFinding{}, fmt.Errorf("payout on %s: %w", q.Network, err)
	}
	return findingOf(steps), nil
}

func errNotCovered(network string) error {
	return fmt.Errorf("no node is configured for %q", network)
}
