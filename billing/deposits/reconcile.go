package deposits

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"aanet/billing"
	"aanet/billing/x402"
	"aanet/store"
)

const (
	reconcilePage = 100
	settlesMax    = 3               // settles of one payment in all
	lookPause     = 5 * time.Second // between two looks at the chain for one deposit; doubled each time
	lookPauseMax  = 10 * time.Minute
	expiryMargin  = 30 * time.Second // a payment that dies sooner is not sent again
)

// Reconcile brings every open deposit further that nobody works on, however the one who did has ended: it drops what was
// never sent, and asks the chain about the rest. It may run in several processes at once. The error is the database's.
func (e *Engine) Reconcile(ctx context.Context) error {
	if _, err := e.Store.FreeLooseClaims(ctx, e.Grace); err != nil {
		return fmt.Errorf("free claims: %w", err)
	}
	var faults []error
	last := store.Deposit{}
	for {
		open, err := e.Store.OpenDeposits(ctx, last, reconcilePage)
		if err != nil {
			return errors.Join(append(faults, fmt.Errorf("list open deposits: %w", err))...)
		}
		for _, d := range open {
			if err := e.reconcile(ctx, d); err != nil {
				faults = append(faults, fmt.Errorf("deposit %s: %w", d.ID, err))
			}
			if ctx.Err() != nil {
				return errors.Join(append(faults, ctx.Err())...)
			}
		}
		if len(open) < reconcilePage {
			e.looks.forget()
			return errors.Join(faults...)
		}
		last = open[len(open)-1]
	}
}

// reconcile brings one deposit further. That it has moved meanwhile is no fault.
func (e *Engine) reconcile(ctx context.Context, d store.Deposit) error {
	var err error
	switch {
	case d.State == store.DepositUnknown:
		err = e.decide(ctx, d)
	case d.Age < e.Grace: // somebody works on it
	case d.State == store.DepositReceived:
		err = e.Store.DropDeposit(ctx, d.Workspace, d.ID, d.Attempt)
	default:
		d.State, d.Reason = store.DepositUnknown, "whoever settled it ended before it was known what came of it"
		err = e.Store.MoveDeposit(ctx, d.Workspace, d.ID, store.Move{To: d.State, Attempt: &d.Attempt, Reason: d.Reason})
		if err == nil {
			err = e.decide(ctx, d)
		}
	}
	if errors.Is(err, store.ErrNoDeposit) || errors.As(err, new(*store.StateError)) {
		return nil
	}
	return err
}

// decide asks the chain about a payment that was sent to settle. Without an answer it stays as it is.
func (e *Engine) decide(ctx context.Context, d store.Deposit) error {
	if !e.asks(d.Network) || !e.looks.due(d.ID, e.Now()) {
		return nil
	}
	p, q, err := queryOf(d)
	if err != nil {
		return err
	}
	finding, err := e.Evidence.Payment(ctx, q)
	if err != nil {
		e.Log.WarnContext(ctx, "the chain does not tell what became of a deposit", "deposit", d.ID, "network", d.Network, "error", err.Error())
		return nil
	}
	e.Log.InfoContext(ctx, "the chain was asked about a deposit", "deposit", d.ID, "network", d.Network, "finding", finding.Reason)
	switch finding.State {
	case billing.PaymentMade:
		// The chain shows this very payment in it, so one that several deposits have in common counts for each.
		err := e.Store.ClaimTransaction(ctx, d.Network, finding.Transaction, store.Claim{Workspace: d.Workspace, Deposit: d.ID})
		var used *store.TransactionUsedError
		if errors.As(err, &used) {
			e.Log.WarnContext(ctx, "one transaction paid two deposits", "deposit", d.ID, "other", used.Deposit, "network", d.Network, "transaction", finding.Transaction)
		} else if err != nil {
			return err
		}
		return e.Store.MoveDeposit(ctx, d.Workspace, d.ID, store.Move{To: store.DepositCredited, Transaction: finding.Transaction, By: store.ByChain, Reason: finding.Reason})
	case billing.PaymentDead:
		return e.Store.MoveDeposit(ctx, d.Workspace, d.ID, store.Move{To: store.DepositFailed, Attempt: &d.Attempt, By: store.ByChain, Reason: finding.Reason})
	case billing.PaymentUnused:
		e.settleAgain(ctx, d, p)
	case billing.PaymentPending:
	}
	return nil
}

// queryOf is the question about a deposit's payment.
func queryOf(d store.Deposit) (p x402.Payment, q billing.PaymentQuery, err error) {
	if err := json.Unmarshal(d.Payment, &p); err != nil {
		return p, q, fmt.Errorf("read its payment: %w", err)
	}
	payTo, err := receiverOf(p)
	return p, billing.PaymentQuery{
		Network: p.Network, Payer: p.Payer, PayTo: payTo, Amount: p.Amount, Nonce: p.Nonce, ValidBefore: p.ValidBefore,
		Payload: p.Payload, Since: d.CreatedAt, Hint: d.Transaction,
	}, err
}

// receiverOf is where a payment goes: as it was when it was made, whatever is configured now.
func receiverOf(p x402.Payment) (string, error) {
	var terms struct {
		PayTo string `json:"payTo"`
	}
	if err := json.Unmarshal(p.Requirements, &terms); err != nil || terms.PayTo == "" {
		return "", fmt.Errorf("read its receiver: %w", errors.Join(err, errors.New("no address")))
	}
	return terms.PayTo, nil
}

// settleAgain sends a payment once more that the chain shows to be unused. It cannot be paid twice: its nonce (Solana:
// its message) counts once on the chain.
func (e *Engine) settleAgain(ctx context.Context, d store.Deposit, p x402.Payment) {
	dies := !p.ValidBefore.IsZero() && !p.ValidBefore.After(e.Now().Add(expiryMargin))
	if d.Age < e.Grace || d.Attempt >= settlesMax || dies {
		return
	}
	select {
	case e.slots <- struct{}{}:
	default:
		return
	}
	e.underWay.Go(func() {
		defer func() { <-e.slots }()
		t := task{engine: e, workspace: d.Workspace, id: d.ID, payment: p, attempt: d.Attempt}
		_, err := t.settle(context.WithoutCancel(ctx), d.Facilitator)
		e.Log.InfoContext(ctx, "a deposit was settled again", "deposit", d.ID, "network", d.Network, "credited", err == nil)
	})
}

// looks spaces the questions about one deposit: each wait is twice the one before.
type looks struct {
	mu   sync.Mutex
	next map[uuid.UUID]look
}

type look struct {
	at    time.Time
	pause time.Duration
	used  bool // since the last forget
}

// due tells whether it is time to ask about a deposit, and plans the next time.
func (l *looks) due(id uuid.UUID, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	next, known := l.next[id]
	next.used = true
	due := !known || !now.Before(next.at)
	if due {
		next.pause = min(max(2*next.pause, lookPause), lookPauseMax)
		next.at = now.Add(next.pause)
	}
	l.next[id] = next
	return due
}

// forget drops the deposits that were not asked for since it was last called: they are decided.
func (l *looks) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, next := range l.next {
		if !next.used {
			delete(l.next, id)
			continue
		}
		next.used = false
		l.next[id] = next
	}
}
