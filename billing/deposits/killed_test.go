package deposits_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"aanet/api/apitest"
	"aanet/billing"
	"aanet/billing/x402/facilitatortest"
)

const chainTransaction = "0xc0ffee"

// TestKilledAtEveryStep ends the work on a payment at each of its steps, as kill -9 would. A fresh process then brings
// it to an end: nothing is lost, nothing is credited twice, and nobody is asked to pay again for an open outcome.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step   string
		settle facilitatortest.Answer // of the first settle
		sent   bool                   // whether the facilitator was asked before the end
	}{
		{"claimed", facilitatortest.Settled, false},
		{"received", facilitatortest.Settled, false},
		{"verified", facilitatortest.Settled, false},
		{"committed", facilitatortest.Settled, false},
		{"settling", facilitatortest.Settled, false},
		{"settled", facilitatortest.Settled, true},
		{"named", facilitatortest.Settled, true},
		{"unknown", facilitatortest.Status(504), true},
		{"credited", facilitatortest.Settled, true},
	} {
		t.Run(c.step, func(t *testing.T) {
			t.Parallel()
			var once atomic.Bool
			reached := make(chan struct{})
			v := newTown(t, func(step string) {
				if step == c.step && once.CompareAndSwap(false, true) {
					close(reached)
					runtime.Goexit()
				}
			})
			v.bank.Facilitator.On("settle", c.settle, facilitatortest.Settled)
			v.engine.SettlePatience = 300 * time.Millisecond
			ws := v.Workspace(t, 0)
			signature := v.proof(t)
			pay(t, ws, signature, "PAYMENT_UNSETTLED")
			<-reached
			v.engine.SettlePatience = time.Minute
			if c.step == "credited" {
				credited(t, ws, signature, "")
				return
			}
			pay(t, ws, signature, "PAYMENT_UNSETTLED")
			if c.step != "claimed" {
				ws.Owner.Refused(t, "DEPOSIT_PENDING", "delete_workspace", nil)
			}
			v.reconcile(t) // too early: somebody may work on it
			pay(t, ws, signature, "PAYMENT_UNSETTLED")

			if c.sent {
				v.bank.Chain.ShowPayment(billing.PaymentFinding{State: billing.PaymentMade, Transaction: chainTransaction})
			} else {
				v.bank.Chain.ShowPayment(billing.PaymentFinding{State: billing.PaymentUnused})
			}
			after := v.later(t)
			after.reconcile(t)
			there := ws.On(after.World)
			switch {
			case c.sent:
				credited(t, there, signature, chainTransaction)
			case c.step == "settling": // the chain showed that it is unused, so it was settled again
				credited(t, there, signature, "")
			default: // nothing was sent: the same signature counts as new
				pay(t, there, signature, "")
				credited(t, there, signature, "")
			}
			if n := v.bank.Facilitator.Calls("settle"); n != 1 {
				t.Errorf("%d settles, want 1", n)
			}
		})
	}
}

// TestSlowButAlive has a process that is only slow, at each step before it sends, while another one takes its payment
// for abandoned and a second workspace brings it in: it is settled and credited once.
func TestSlowButAlive(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"claimed", "received", "verified", "committed"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			asleep, wake := make(chan struct{}), make(chan struct{})
			var once atomic.Bool
			v := newTown(t, func(at string) {
				if at == step && once.CompareAndSwap(false, true) {
					close(asleep)
					<-wake
				}
			})
			slow, other := v.Workspace(t, 0), v.Workspace(t, 0)
			signature := v.proof(t)
			answered := make(chan apitest.Reply)
			go func() {
				answered <- slow.Door.Call(t, "deposit", slow.Owner.Key, slow.ID, apitest.Args{"amount_usd": "1", "payment_signature": signature})
			}()
			<-asleep
			after := v.later(t)
			after.reconcile(t)
			pay(t, other.On(after.World), signature, "")
			close(wake)
			if r := <-answered; r.Code != "FACILITATOR_ERROR" && r.Code != "PAYMENT_UNSETTLED" {
				t.Errorf("the slow one is answered with %d %s", r.Status, r.Code)
			}
			credited(t, other, signature, "")
			if n := v.bank.Facilitator.Calls("settle"); n != 1 {
				t.Errorf("%d settles, want 1", n)
			}
			pay(t, slow, signature, "PAYMENT_ALREADY_USED")
			after.reconcile(t)
			slow.CheckLedger(t)
			slow.Owner.OK(t, "delete_workspace", nil)
		})
	}
}
