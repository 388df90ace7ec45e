package deposits

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"aanet/billing/x402"
	"aanet/store"
)

// task is one payment on its way.
type task struct {
	engine    *Engine
	workspace uuid.UUID
	id        uuid.UUID // of the deposit
	payment   x402.Payment
	attempt   int // settles sent so far
}

type result struct {
	receipt Receipt
	err     error
}

// start sees a claimed payment through in the background, as money may move whether or not the caller stays.
func (e *Engine) start(ctx context.Context, t task) (Receipt, error) {
	done := make(chan result, 1)
	e.underWay.Go(func() {
		defer func() { <-e.slots }()
		receipt, err := t.take(context.WithoutCancel(ctx))
		done <- result{receipt, err}
	})
	late := time.NewTimer(e.SettlePatience)
	defer late.Stop()
	select {
	case r := <-done:
		return r.receipt, r.err
	case <-late.C:
	case <-ctx.Done():
	}
	return Receipt{}, ErrUnsettled
}

// Wait waits until nothing is under way in this process, or ctx ends. Whoever stops the service calls it: what is cut
// off is not lost, but somebody has to ask the chain about it.
func (e *Engine) Wait(ctx context.Context) error {
	idle := make(chan struct{})
	go func() { e.underWay.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("payments are under way: %w", ctx.Err())
	}
}

// take goes from the claim to the end. Each step is committed before the next one.
func (t *task) take(ctx context.Context) (Receipt, error) {
	e := t.engine
	e.at("claimed")
	if err := t.begin(ctx); err != nil {
		return Receipt{}, err
	}
	e.at("received")
	verified, err := e.Gateway.Verify(ctx, t.payment)
	if err != nil {
		t.drop(ctx)
		return Receipt{}, err
	}
	e.at("verified")
	final, err := e.Store.CommitClaim(ctx, t.payment.Key, t.id)
	if err != nil || !final {
		t.drop(ctx)
		return Receipt{}, errors.Join(err, fmt.Errorf("the payment's claim is gone: %w", x402.ErrFacilitator))
	}
	e.at("committed")
	return t.settle(ctx, verified.Facilitator)
}

// begin writes the payment down. What is not written is given free, unless it may have been written after all: then the
// reconciler drops it.
func (t *task) begin(ctx context.Context) error {
	payment, err := json.Marshal(t.payment)
	if err != nil {
		return fmt.Errorf("keep a payment: %w", err)
	}
	err = t.engine.Store.ReceiveDeposit(ctx, store.Deposit{
		Workspace: t.workspace, ID: t.id, Units: int64(t.payment.Amount), Network: t.payment.Network,
		Key: t.payment.Key, Payer: t.payment.Payer, Payment: payment,
	}, t.engine.OpenMax)
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrNoWorkspace) || errors.Is(err, store.ErrDepositsOpen) {
		t.tell(ctx, "give a payment free", t.engine.Store.FreeClaim(ctx, t.id))
	}
	if errors.Is(err, store.ErrDepositsOpen) {
		return fmt.Errorf("%w: %w", ErrOpen, err)
	}
	return err
}

// settle asks the facilitator once, after it was committed that it will be asked, and writes down what came of it.
func (t *task) settle(ctx context.Context, facilitator string) (Receipt, error) {
	e := t.engine
	if err := t.commitSettling(ctx, facilitator); err != nil {
		return Receipt{}, err
	}
	e.at("settling")
	outcome := e.Gateway.Settle(ctx, t.payment, facilitator)
	e.at("settled")
	switch {
	case outcome.State == x402.Settled && (outcome.Doubt == "" || !e.asks(t.payment.Network)):
		receipt, err := t.credit(ctx, outcome)
		var used *store.TransactionUsedError
		if !errors.As(err, &used) {
			return receipt, err
		}
		outcome.Reason = fmt.Sprintf("reported as settled by %s: %s", outcome.Transaction, used)
	case outcome.State == x402.Settled:
		outcome.Reason = outcome.Doubt
	case outcome.State == x402.NotSent && t.attempt == 1:
		t.drop(ctx)
		return Receipt{}, fmt.Errorf("%w: %s", x402.ErrFacilitator, outcome.Reason)
	}
	t.tell(ctx, "keep an open deposit", e.Store.MoveDeposit(ctx, t.workspace, t.id, store.Move{
		To: store.DepositUnknown, Attempt: &t.attempt, Transaction: outcome.Transaction, Reason: outcome.Reason,
	}))
	e.at("unknown")
	e.Log.WarnContext(ctx, "a deposit is open", "deposit", t.id, "workspace", t.workspace, "network", t.payment.Network,
		"facilitator", outcome.Facilitator, "reason", outcome.Reason)
	return Receipt{}, ErrUnsettled
}

// commitSettling is the gate: only one passes it for each attempt, and nothing is sent before. When the database does
// not say what became of the move, the row does.
func (t *task) commitSettling(ctx context.Context, facilitator string) error {
	before := t.attempt
	err := t.engine.Store.MoveDeposit(ctx, t.workspace, t.id, store.Move{To: store.DepositSettling, Attempt: &before, Facilitator: facilitator})
	if errors.Is(err, store.ErrUnknown) {
		var d store.Deposit
		d, err = t.engine.Store.DepositOf(ctx, t.workspace, t.id)
		if err == nil && (d.State != store.DepositSettling || d.Attempt != before+1) {
			err = store.ErrUnavailable
		}
	}
	switch {
	case err == nil:
		t.attempt = before + 1
		return nil
	case errors.Is(err, store.ErrNoDeposit):
		return fmt.Errorf("the deposit was dropped meanwhile: %w", x402.ErrFacilitator)
	case errors.As(err, new(*store.StateError)):
		return ErrUnsettled
	}
	return err
}

const (
	creditTries      = 9
	creditFirstPause = 50 * time.Millisecond // doubled after each try: 13 seconds in all
)

// credit writes a settled payment to the balance. It is repeated while the database is away: to credit twice credits once.
// The error is ErrUnsettled, or a *store.TransactionUsedError when the chain has to say whether it was paid.
func (t *task) credit(ctx context.Context, o x402.Outcome) (Receipt, error) {
	var err error
	pause := creditFirstPause
	for try := 1; ; try++ {
		if err = t.claimTransaction(ctx, o); err == nil {
			t.engine.at("named")
			err = t.engine.Store.MoveDeposit(ctx, t.workspace, t.id, store.Move{To: store.DepositCredited, Transaction: o.Transaction, By: store.ByFacilitator})
		}
		if try == creditTries || !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnknown) {
			break
		}
		time.Sleep(pause)
		pause *= 2
	}
	switch {
	case errors.As(err, new(*store.TransactionUsedError)):
		return Receipt{}, err
	case err != nil:
		t.engine.Log.ErrorContext(ctx, "a settled deposit is not credited yet", "deposit", t.id, "workspace", t.workspace,
			"network", t.payment.Network, "transaction", o.Transaction, "error", err.Error())
		return Receipt{}, ErrUnsettled
	}
	t.engine.at("credited")
	return Receipt{
		Units: t.payment.Amount, Transaction: o.Transaction, Network: t.payment.Network, Response: o.Response, Header: o.Header(),
	}, nil
}

// claimTransaction claims what a facilitator says has paid. On Solana a transaction is one payment. On EVM chains it may
// carry several, so where no chain can be asked the facilitator is believed about this too.
func (t *task) claimTransaction(ctx context.Context, o x402.Outcome) error {
	err := t.engine.Store.ClaimTransaction(ctx, t.payment.Network, o.Transaction, store.Claim{Workspace: t.workspace, Deposit: t.id})
	if errors.As(err, new(*store.TransactionUsedError)) && t.payment.Network != x402.SolanaID && !t.engine.asks(t.payment.Network) {
		t.engine.Log.WarnContext(ctx, "a facilitator names one transaction for two deposits", "deposit", t.id, "workspace", t.workspace,
			"network", t.payment.Network, "facilitator", o.Facilitator, "transaction", o.Transaction, "error", err.Error())
		return nil
	}
	return err
}

// asks tells whether the chain can be asked about payments on a network.
func (e *Engine) asks(network string) bool { return e.Evidence != nil && e.Evidence.Covers(network) }

// drop takes back a deposit for which nothing was sent. Should that fail, the reconciler does it, or asks the chain.
func (t *task) drop(ctx context.Context) {
	t.tell(ctx, "drop a deposit", t.engine.Store.DropDeposit(ctx, t.workspace, t.id, t.attempt))
}

// tell logs what failed and will be made up for later.
func (t *task) tell(ctx context.Context, what string, err error) {
	if err != nil {
		t.engine.Log.WarnContext(ctx, "the reconciler has to "+what, "deposit", t.id, "workspace", t.workspace, "error", err.Error())
	}
}
