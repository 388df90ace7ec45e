// Package deposits takes payments in: each is claimed once over all workspaces, verified, written down before it is
// settled, settled once, and credited once, however often it is sent and wherever the process dies. What a settlement
// leaves open, Reconcile decides by what the chain shows.
//
//	claim → received → verify → settling → settle → credited | unknown → credited | failed
package deposits

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/x402-foundation/x402/go/types"

	"aanet/billing"
	"aanet/billing/x402"
	"aanet/store"
)

// Options configure an Engine.
type Options struct {
	Store   *store.Store
	Gateway *x402.Gateway
	// Evidence asks the chains; nil when no RPC URL is configured: the operator then decides what is open.
	Evidence billing.Evidence
	// Now is the clock of waiting times; it must be safe for concurrent use.
	Now func() time.Time
	Log *slog.Logger
	// JoinPatience is how long a payment that is sent again waits for the first; 3 seconds when zero.
	JoinPatience time.Duration
	// SettlePatience is how long the first waits for its settlement; 45 seconds when zero. It goes on after that.
	SettlePatience time.Duration
	// Grace is how long a deposit is left to whoever works on it; longer than any facilitator's timeout. 3 minutes
	// when zero.
	Grace time.Duration
	// OpenMax is how many payments of one workspace may be undecided at a time, over all replicas; 64 when zero.
	OpenMax int
}

const (
	defaultJoinPatience   = 3 * time.Second
	defaultSettlePatience = 45 * time.Second
	defaultGrace          = 3 * time.Minute
	defaultOpenMax        = 64
	underWayMax           = 512 // payments at once; each holds some kilobytes, and a connection to a facilitator
)

// Engine takes payments in. Its methods may be called concurrently.
type Engine struct {
	Options

	slots    chan struct{}
	underWay sync.WaitGroup
	looks    looks
	// at is told of every step that was taken; tests end the process there.
	at func(step string)
}

// New makes an engine. Nothing is done before it is asked.
func New(o Options) *Engine {
	if o.JoinPatience <= 0 {
		o.JoinPatience = defaultJoinPatience
	}
	if o.SettlePatience <= 0 {
		o.SettlePatience = defaultSettlePatience
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	if o.OpenMax <= 0 {
		o.OpenMax = defaultOpenMax
	}
	return &Engine{Options: o, slots: make(chan struct{}, underWayMax), looks: looks{next: map[uuid.UUID]look{}}, at: func(string) {}}
}

// What may become of a payment besides a receipt. An *x402.InvalidError means that it is refused and nothing was sent;
// one that wraps x402.ErrFacilitator that nobody answered and nothing was sent; those of store, that the database did not.
var (
	// ErrUnsettled: it was sent to settle, or is about to be, and what came of it is open. Send the same payment again.
	ErrUnsettled = errors.New("the outcome of the payment is open")
	// ErrBusy: too many payments are under way; nothing was sent.
	ErrBusy = errors.New("too many payments are under way")
	// ErrOpen: the workspace has OpenMax payments that are not decided; nothing was sent.
	ErrOpen = errors.New("too many payments of the workspace are not decided yet")
)

// UsedError means that the payment was credited before, or belongs to somebody else.
type UsedError struct {
	// Transaction is that of the credit; empty when it is none of the caller's business.
	Transaction string
	// Receipt is what the caller got, or would have got, when it was credited, at CreditedAt; nil when it is none of
	// the caller's business.
	Receipt    *Receipt
	CreditedAt time.Time
}

func (e *UsedError) Error() string { return "the payment was used before" }

// Receipt is a payment that was credited.
type Receipt struct {
	Units       billing.Units
	Transaction string
	Network     string
	// Response is the JSON of PAYMENT-RESPONSE, and Header what the header has of it.
	Response []byte
	Header   string
}

// Offer is how an amount can be paid. It writes nothing. x402.ErrNoNetwork: it cannot, at the moment.
func (e *Engine) Offer(resource types.ResourceInfo, amount billing.Units) (types.PaymentRequired, error) {
	return e.Gateway.Challenge(resource, amount)
}

// Take brings a payment of an amount in for a workspace. It answers within about SettlePatience; what was begun is
// carried to its end even when the caller is gone.
func (e *Engine) Take(ctx context.Context, workspace uuid.UUID, amount billing.Units, signature string) (Receipt, error) {
	proof, err := x402.ParseProof(signature)
	if err != nil {
		return Receipt{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, e.JoinPatience)
	defer cancel()
	for pause, last := firstPause, false; ; pause = min(2*pause, longestPause) {
		standing, claimed, err := e.Store.ClaimOf(ctx, proof.Key)
		if err != nil {
			return Receipt{}, err
		}
		if !claimed {
			if receipt, won, err := e.first(ctx, workspace, amount, proof); won || err != nil {
				return receipt, err
			}
			continue
		}
		if err := e.joined(ctx, workspace, standing); err != nil {
			return Receipt{}, err
		}
		switch {
		case last && standing.Workspace != workspace:
			return Receipt{}, &UsedError{}
		case last:
			return Receipt{}, ErrUnsettled
		}
		select {
		case <-time.After(pause):
		case <-waiting.Done():
			last = true
		}
	}
}

const (
	firstPause   = 50 * time.Millisecond // between two looks at a payment that somebody else works on
	longestPause = time.Second
)

// first claims the payment and sees it through; won is false when somebody else was faster.
func (e *Engine) first(ctx context.Context, workspace uuid.UUID, amount billing.Units, proof x402.Proof) (r Receipt, won bool, err error) {
	payment, err := e.Gateway.Match(proof, amount)
	if err != nil {
		return Receipt{}, false, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Receipt{}, false, err
	}
	select {
	case e.slots <- struct{}{}:
	default:
		return Receipt{}, false, ErrBusy
	}
	won, err = e.Store.ClaimPayment(ctx, proof.Key, store.Claim{Workspace: workspace, Deposit: id})
	if !won || err != nil {
		<-e.slots
		return Receipt{}, false, err
	}
	r, err = e.start(ctx, task{engine: e, workspace: workspace, id: id, payment: payment})
	return r, true, err
}

// joined tells what became of a payment that was claimed before; nothing when that is still open.
func (e *Engine) joined(ctx context.Context, workspace uuid.UUID, c store.Claim) error {
	d, err := e.Store.DepositOf(ctx, c.Workspace, c.Deposit)
	switch {
	case errors.Is(err, store.ErrNoDeposit):
		return nil // about to be written down, or dropped just now
	case err != nil:
		return err
	case c.Workspace != workspace && d.State == store.DepositReceived:
		return nil // it may turn out to be no payment at all
	case c.Workspace != workspace:
		return &UsedError{}
	case d.State == store.DepositCredited:
		return usedBy(d)
	case d.State == store.DepositFailed:
		return &x402.InvalidError{Reason: "failed", Message: "this payment was not made and can no longer be: " + d.Reason}
	}
	return nil
}

// usedBy tells a workspace of the credit that it had for a payment.
func usedBy(d store.Deposit) *UsedError {
	used := &UsedError{Transaction: d.Transaction}
	if d.ResolvedAt != nil {
		o := x402.SettledBefore(d.Network, d.Payer, d.Transaction)
		used.CreditedAt = *d.ResolvedAt
		used.Receipt = &Receipt{Units: billing.Units(d.Units), Transaction: d.Transaction, Network: d.Network, Response: o.Response, Header: o.Header()}
	}
	return used
}
