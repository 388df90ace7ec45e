// Package refunds is the operator's side of refunds: what a network's payout costs, and how a payout or a rejection is
// recorded, each once.
package refunds

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"aanet/billing"
	"aanet/billing/x402"
	"aanet/store"
)

// Fees are what is kept of a refund, by the network's short name (base, solana): the networks that refunds go to.
type Fees map[string]billing.Units

// DefaultFees are in force when the operator sets nothing.
func DefaultFees() Fees { return Fees{"base": billing.PerUSD / 50, "solana": billing.PerUSD / 100} }

// Desk records what became of refunds.
type Desk struct {
	Store *store.Store
	// Evidence asks the chains; nil when no RPC URL is configured.
	Evidence billing.Evidence
	// From are the only wallets that may have paid, by CAIP-2 network; a network without any is not held to that.
	From map[string][]string
}

// ErrUnchecked means that no chain can be asked whether a payout is right: the operator has to say that he knows.
var ErrUnchecked = errors.New("no RPC URL is configured for this network, so the payout cannot be checked")

// ErrChainAway means that the chain did not answer, so nothing was learnt.
var ErrChainAway = errors.New("the chain cannot be asked now")

// PayoutError says why a transaction is not accepted as a payout.
type PayoutError struct {
	Reason string
	// Later tells that it may become right: the transaction is not confirmed yet.
	Later bool
}

func (e *PayoutError) Error() string {
	if e.Later {
		return "not yet: " + e.Reason
	}
	return "this transaction is not the payout: " + e.Reason
}

// Pay records the transaction that paid a pending refund. The chain is asked first, when it can be: the right token,
// wallet and exact amount, after the request, confirmed. unchecked accepts the operator's word instead, where the chain
// cannot be asked and nowhere else. Errors: store.ErrNoRefund, *store.StateError, store.ErrPayoutUsed, ErrUnchecked,
// *PayoutError, *x402.TransactionError.
func (d Desk) Pay(ctx context.Context, id uuid.UUID, transaction string, unchecked bool, act store.Act) (store.Refund, error) {
	r, n, err := d.pending(ctx, id)
	if err != nil {
		return r, err
	}
	transaction, err = n.CheckTransaction(transaction)
	if err != nil {
		return r, err
	}
	checked := d.Asks(r)
	switch {
	case checked:
		err = d.check(ctx, r, n, transaction)
	case !unchecked:
		err = ErrUnchecked
	}
	if err != nil {
		return r, err
	}
	return r, d.Store.PayRefund(ctx, act, r, n.ID, transaction, checked)
}

func (d Desk) check(ctx context.Context, r store.Refund, n x402.Network, transaction string) error {
	finding, err := d.ask(ctx, r, n, transaction)
	if err != nil {
		return err
	}
	if finding.State != billing.PayoutMade {
		return &PayoutError{Reason: finding.Reason, Later: finding.State == billing.PayoutPending}
	}
	return nil
}

func (d Desk) ask(ctx context.Context, r store.Refund, n x402.Network, transaction string) (billing.PayoutFinding, error) {
	finding, err := d.Evidence.Payout(ctx, billing.PayoutQuery{
		Network: n.ID, Transaction: transaction, To: r.Destination, Amount: billing.Units(r.Units - r.Fee),
		After: r.RequestedAt, From: d.From[n.ID],
	})
	if err != nil {
		return finding, fmt.Errorf("%w: %w", ErrChainAway, err)
	}
	return finding, nil
}

// Checked is what is known of a transaction before it is recorded as a payout.
type Checked struct {
	// Transaction is the hash in its one spelling.
	Transaction string
	// Asked tells that the chain was asked.
	Asked bool
	// Fits tells that Pay would record it now: every step is right. Without a chain to ask it says that the hash is unused.
	Fits bool
	// Steps are what was looked at, in order.
	Steps []billing.PayoutStep
}

// Check looks at a transaction as Pay would, and records nothing. Errors: store.ErrNoRefund, *store.StateError,
// ErrChainAway, *x402.TransactionError.
func (d Desk) Check(ctx context.Context, id uuid.UUID, transaction string) (Checked, error) {
	r, n, err := d.pending(ctx, id)
	if err != nil {
		return Checked{}, err
	}
	c := Checked{Asked: d.Asks(r)}
	if c.Transaction, err = n.CheckTransaction(transaction); err != nil {
		return c, err
	}
	unused, err := d.unused(ctx, r, n, c.Transaction)
	if err != nil {
		return c, err
	}
	c.Steps, c.Fits = []billing.PayoutStep{unused}, unused.State == billing.StepOK
	if !c.Asked {
		return c, nil
	}
	finding, err := d.ask(ctx, r, n, c.Transaction)
	if err != nil {
		return c, err
	}
	c.Steps, c.Fits = append(c.Steps, finding.Steps...), c.Fits && finding.State == billing.PayoutMade
	return c, nil
}

func (d Desk) unused(ctx context.Context, r store.Refund, n x402.Network, transaction string) (billing.PayoutStep, error) {
	owner, claimed, err := d.Store.PayoutOf(ctx, n.ID, transaction)
	if err != nil {
		return billing.PayoutStep{}, err
	}
	if claimed && owner != r.ID {
		return billing.PayoutStep{Name: "unused", State: billing.StepWrong, Detail: "it is the payout of refund " + owner.String()}, nil
	}
	return billing.PayoutStep{Name: "unused", State: billing.StepOK, Detail: "no other refund was paid by it"}, nil
}

// Asks tells whether a chain can be asked about this refund's payout.
func (d Desk) Asks(r store.Refund) bool {
	n, known := x402.ByShort(r.Network)
	return known && d.Evidence != nil && d.Evidence.Covers(n.ID)
}

// Reject ends a pending refund and gives its units back. Errors: store.ErrNoRefund, *store.StateError.
func (d Desk) Reject(ctx context.Context, id uuid.UUID, act store.Act) (store.Refund, error) {
	r, _, err := d.pending(ctx, id)
	if err != nil {
		return r, err
	}
	return r, d.Store.RejectRefund(ctx, act, r)
}

// pending finds a refund. That it still is pending is checked again when it is resolved, under the workspace's lock.
func (d Desk) pending(ctx context.Context, id uuid.UUID) (store.Refund, x402.Network, error) {
	r, err := d.Store.FindRefund(ctx, id)
	if err != nil {
		return r, x402.Network{}, err
	}
	if r.State != store.RefundPending {
		return r, x402.Network{}, &store.StateError{State: r.State, Transaction: r.Transaction}
	}
	n, known := x402.ByShort(r.Network)
	if !known {
		return r, n, fmt.Errorf("the refund's network %q is not known", r.Network)
	}
	return r, n, nil
}
