package deposits_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"aanet/api/apitest"
	"aanet/billing"
	"aanet/billing/x402/facilitatortest"
	"aanet/store"
)

// unclear are answers to settle that tell nothing of what the chain has.
var unclear = map[string]facilitatortest.Answer{
	"hang":              facilitatortest.Hang,
	"504":               facilitatortest.Status(504),
	"reset":             facilitatortest.Reset,
	"failed":            facilitatortest.Failed("invalid_exact_evm_transaction_failed"),
	"failed with 400":   facilitatortest.FailedStatus(400, "nonce too low"),
	"empty transaction": facilitatortest.EmptyTransaction,
	"wrong network":     facilitatortest.WrongNetwork,
	"pending":           facilitatortest.Pending,
	"no JSON":           facilitatortest.Text("ok"),
	"nothing in it":     facilitatortest.Text("{}"),
	"huge":              facilitatortest.Huge(2 << 20),
	"another amount":    facilitatortest.SettledBut("amount", "100000000"),
}

func TestUnclearSettlements(t *testing.T) {
	t.Parallel()
	for name, answer := range unclear {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newTownWithin(t, patienceFor(name), nil)
			v.bank.Facilitator.On("settle", answer)
			ws, other := v.Workspace(t, 0), v.Workspace(t, 0)
			signature := v.proof(t)
			r := pay(t, ws, signature, "PAYMENT_UNSETTLED")
			if r.Status != 503 || r.Int("retry_after") < 1 || r.Body["accepts"] != nil {
				t.Errorf("the answer is %d %v", r.Status, r.Body)
			}
			pay(t, ws, signature, "PAYMENT_UNSETTLED")
			pay(t, other, signature, "PAYMENT_ALREADY_USED")
			if balance := ws.Balance(t); balance != 0 {
				t.Errorf("the balance is %d", balance)
			}
			ws.Owner.Refused(t, "DEPOSIT_PENDING", "delete_workspace", nil)
			v.bank.Chain.ShowPayment(billing.PaymentFinding{State: billing.PaymentPending})
			v.reconcile(t)
			pay(t, ws, signature, "PAYMENT_UNSETTLED")
			v.bank.Chain.ShowPayment(billing.PaymentFinding{State: billing.PaymentMade, Transaction: chainTransaction})
			after := v.later(t) // the next look is not due before
			for range 3 {
				after.reconcile(t)
			}
			credited(t, ws.On(after.World), signature, chainTransaction)
			if n := v.bank.Facilitator.Calls("settle"); n != 1 {
				t.Errorf("%d settles, want 1", n)
			}
			asked := v.bank.Chain.Asked()[0]
			if asked.PayTo != apitest.ReceiverEVM || asked.Payer == "" || asked.Amount != billing.PerUSD || asked.Nonce == "" ||
				asked.ValidBefore.IsZero() || asked.Since.IsZero() || len(asked.Payload) == 0 {
				t.Errorf("the chain was asked %+v", asked)
			}
		})
	}
}

// TestNobodyAnswers has facilitators that fail before anything is sent: the same signature may come again.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]facilitatortest.Answer{
		"hang": facilitatortest.Hang, "504": facilitatortest.Status(504), "reset": facilitatortest.Reset, "no JSON": facilitatortest.Text("ok"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newTownWithin(t, patienceFor(name), nil)
			v.bank.Facilitator.On("verify", answer)
			ws := v.Workspace(t, 0)
			before := len(ws.Log(t))
			signature := v.proof(t)
			if r := pay(t, ws, signature, "FACILITATOR_ERROR"); r.Status != 502 {
				t.Errorf("status %d", r.Status)
			}
			if rows := len(ws.Log(t)); rows != before {
				t.Errorf("a failure that is not the caller's wrote %d rows", rows-before)
			}
			v.bank.Facilitator.On("verify", facilitatortest.Valid)
			pay(t, ws, signature, "")
			credited(t, ws, signature, "")
		})
	}
}

func TestFacilitatorGoneBeforeSettle(t *testing.T) {
	t.Parallel()
	var v *town
	v = newTown(t, func(step string) {
		if step == "settling" {
			v.bank.Facilitator.Close()
		}
	})
	ws := v.Workspace(t, 0)
	signature := v.proof(t)
	pay(t, ws, signature, "FACILITATOR_ERROR")
	all, err := v.Store.OpenDeposits(t.Context(), store.Deposit{}, 10)
	if err != nil || len(all) != 0 {
		t.Errorf("%d open deposits, %v", len(all), err)
	}
	if _, claimed, err := v.Store.ClaimOf(t.Context(), "none"); claimed || err != nil {
		t.Error(claimed, err)
	}
	ws.Owner.OK(t, "delete_workspace", nil)
}

// TestDead has a payment that the chain shows can never be made: it ends as failed, and a new one is taken.
func TestDead(t *testing.T) {
	t.Parallel()
	v := newTown(t, nil)
	v.bank.Facilitator.On("settle", facilitatortest.Status(504), facilitatortest.Settled)
	ws := v.Workspace(t, 0)
	signature := v.proof(t)
	pay(t, ws, signature, "PAYMENT_UNSETTLED")
	v.bank.Chain.ShowPayment(billing.PaymentFinding{State: billing.PaymentDead, Reason: "expired and unused"})
	v.reconcile(t)
	r := pay(t, ws, signature, "PAYMENT_INVALID")
	if r.Text("reason") != "failed" {
		t.Errorf("reason %v", r.Body)
	}
	var told bool
	for _, row := range ws.Log(t) {
		told = told || row.Operation == "DEPOSIT" && row.Status == "PAYMENT_INVALID" && row.Detail != nil && *row.Detail == "expired and unused"
	}
	if !told {
		t.Error("the log does not tell that the deposit failed")
	}
	fresh := v.proof(t)
	pay(t, ws, fresh, "")
	credited(t, ws, fresh, "")
}

// TestSettledAgainUntilItIsEnough has a payment that the chain shows to be unused again and again.
func TestSettledAgainUntilItIsEnough(t *testing.T) {
	t.Parallel()
	v := newTown(t, nil)
	v.bank.Facilitator.On("settle", facilitatortest.Status(504))
	ws := v.Workspace(t, 0)
	signature := v.proof(t)
	pay(t, ws, signature, "PAYMENT_UNSETTLED")
	v.bank.Chain.ShowPayment(billing.PaymentFinding{State: billing.PaymentUnused})
	v.reconcile(t)
	if n := v.bank.Facilitator.Calls("settle"); n != 1 {
		t.Errorf("it was settled again at once: %d settles", n)
	}
	for now := v; now.bank.Facilitator.Calls("settle") < 3; {
		before := now.bank.Facilitator.Calls("settle")
		now = now.later(t)
		apitest.Together(4, func(int) { now.engine.Reconcile(t.Context()) }) //nolint:errcheck // the next line looks
		now.reconcile(t)
		if n := now.bank.Facilitator.Calls("settle"); n != before+1 {
			t.Fatalf("%d settles after %d: four reconcilers at once send one", n, before)
		}
	}
	after := v.later(t).later(t).later(t).later(t)
	after.reconcile(t)
	if n := v.bank.Facilitator.Calls("settle"); n != 3 {
		t.Errorf("%d settles, want 3 at most", n)
	}
	if d := open(t, v.Store); d.State != store.DepositUnknown || d.Attempt != 3 {
		t.Errorf("the deposit is %s after %d settles", d.State, d.Attempt)
	}
}

// TestWithoutAChain leaves open deposits to the operator, who decides each once.
func TestWithoutAChain(t *testing.T) {
	t.Parallel()
	v := newTown(t, nil)
	v.bank.Facilitator.On("settle", facilitatortest.Status(504))
	ws := v.Workspace(t, 0)
	signature := v.proof(t)
	pay(t, ws, signature, "PAYMENT_UNSETTLED")
	v.reconcile(t)
	d := open(t, v.Store)
	if d.State != store.DepositUnknown || d.Workspace != mustUUID(t, ws.ID) || d.Facilitator != "one" || d.Reason == "" {
		t.Errorf("the operator sees %+v", d)
	}
	var won atomic.Int32
	apitest.Together(8, func(i int) {
		m := store.Move{To: store.DepositCredited, By: store.ByOperator, Transaction: chainTransaction, Reason: "seen"}
		if i%2 == 1 {
			m = store.Move{To: store.DepositFailed, By: store.ByOperator, Reason: "not seen"}
		}
		err := v.Store.MoveDeposit(t.Context(), d.Workspace, d.ID, m)
		var moved *store.StateError
		switch {
		case err == nil:
			won.Add(1)
		case !errors.As(err, &moved):
			t.Error(err)
		}
	})
	if won.Load() != 1 {
		t.Errorf("%d decisions, want 1", won.Load())
	}
	if ws.Balance(t) > 0 {
		credited(t, ws, signature, chainTransaction)
	} else {
		pay(t, ws, signature, "PAYMENT_INVALID")
		verify(t, ws)
	}
}

// TestBlockedMeanwhile credits a payment of a workspace that was blocked while it was settled: the money came.
func TestBlockedMeanwhile(t *testing.T) {
	t.Parallel()
	v := newTown(t, nil)
	release := make(chan struct{})
	v.bank.Facilitator.On("settle", facilitatortest.Wait(release, facilitatortest.Settled))
	ws := v.Workspace(t, 0)
	signature := v.proof(t)
	answered := make(chan apitest.Reply)
	go func() {
		answered <- ws.Door.Call(t, "deposit", ws.Owner.Key, ws.ID, apitest.Args{"amount_usd": "1", "payment_signature": signature})
	}()
	for v.bank.Facilitator.Calls("settle") == 0 {
		time.Sleep(time.Millisecond)
	}
	ws.Block(t, true)
	ws.Owner.Refused(t, "DEPOSIT_PENDING", "delete_workspace", nil)
	close(release)
	if r := <-answered; r.Status != 200 {
		t.Errorf("answered %d %v", r.Status, r.Body)
	}
	ws.Block(t, false)
	credited(t, ws, signature, "")
}

// TestDeletedMeanwhile has the workspace deleted before the payment is written down: the caller's key is gone, and nothing was sent.
func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	var ws *apitest.Workspace
	v := newTown(t, func(step string) {
		if step == "claimed" && ws.ID != "" {
			ws.Owner.OK(t, "delete_workspace", nil)
			ws = &apitest.Workspace{}
		}
	})
	other := v.Workspace(t, 0)
	ws = v.Workspace(t, 0)
	signature := v.proof(t)
	pay(t, ws, signature, "UNAUTHENTICATED")
	if n := v.bank.Facilitator.Calls("verify"); n != 0 {
		t.Errorf("the facilitator was asked %d times", n)
	}
	pay(t, other, signature, "")
	credited(t, other, signature, "")
}

// TestOthersKeepTheirSpeed has thirty payments hang at the facilitator: calls go on as ever, from the same pool and lanes.
func TestOthersKeepTheirSpeed(t *testing.T) {
	t.Parallel()
	v := newTownWithin(t, time.Minute, nil)
	release := make(chan struct{})
	v.bank.Facilitator.On("settle", facilitatortest.Wait(release, facilitatortest.Status(504)))
	v.bank.Facilitator.On("verify", facilitatortest.Valid)
	ws := v.Workspace(t, 10_000)
	const payments = 30
	done := make(chan apitest.Reply, payments)
	for range payments {
		signature := v.proof(t)
		go func() {
			done <- ws.Door.Call(t, "deposit", ws.Owner.Key, ws.ID, apitest.Args{"amount_usd": "1", "payment_signature": signature})
		}()
	}
	for v.bank.Facilitator.Calls("settle") < payments {
		time.Sleep(time.Millisecond)
	}
	for i := range 50 {
		ws.Owner.Write(t, fmt.Sprint(i), "x")
		ws.Owner.List(t, "")
		ws.Owner.OK(t, "list_subkeys", nil)
	}
	if len(done) > 0 {
		t.Errorf("of the payments that hang %d had ended before 150 calls", len(done))
	}
	close(release)
	for range payments {
		if r := <-done; r.Code != "PAYMENT_UNSETTLED" {
			t.Errorf("a hanging payment is answered with %d %s", r.Status, r.Code)
		}
	}
}
