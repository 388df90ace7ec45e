package deposits_test

import (
	"sync/atomic"
	"testing"

	"aanet/api/apitest"
	"aanet/billing/deposits"
	"aanet/billing/x402/facilitatortest"
	"aanet/store"
)

// TestPaymentsUnderWayAreBounded has a workspace whose payments stay undecided: no more than so many are sent, whichever
// replica they come to; what is refused may come again, and others do not notice.
func TestPaymentsUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	const most, replicas, payments = 3, 2, 8
	v := newTown(t, nil)
	v.engine.OpenMax = most
	v.bank.Options.OpenMax = most
	second := v.World.Later(t, 0)
	v.bank.Facilitator.On("settle", facilitatortest.Status(504))
	ws, other := v.Workspace(t, 0), v.Workspace(t, 0)
	on := [replicas]*apitest.Workspace{ws, ws.On(second)}
	signatures := make([]string, payments)
	for i := range signatures {
		signatures[i] = v.proof(t)
	}
	codes := make([]string, payments)
	apitest.Together(payments, func(i int) {
		there := on[i%replicas]
		codes[i] = there.Door.Call(t, "deposit", there.Owner.Key, there.ID, apitest.Args{"amount_usd": "1", "payment_signature": signatures[i]}).Code
	})
	sent, refused := "", ""
	count := map[string]int{}
	for i, code := range codes {
		count[code]++
		if code == "DEPOSIT_PENDING" {
			refused = signatures[i]
		} else {
			sent = signatures[i]
		}
	}
	if count["PAYMENT_UNSETTLED"] != most || count["DEPOSIT_PENDING"] != payments-most || v.bank.Facilitator.Calls("settle") != most {
		t.Fatalf("%d payments at a time are answered with %v, and %d were sent", payments, count, v.bank.Facilitator.Calls("settle"))
	}
	verified := v.bank.Facilitator.Calls("verify")
	for range 3 {
		if r := pay(t, ws, refused, "DEPOSIT_PENDING"); r.Status != 409 {
			t.Errorf("refused with %d %v", r.Status, r.Body)
		}
	}
	if row := ws.Last(t); row.Status != "DEPOSIT_PENDING" || row.Operation != "DEPOSIT" {
		t.Errorf("the log ends with %+v", row)
	}
	pay(t, ws, sent, "PAYMENT_UNSETTLED") // one that is under way may be asked about
	if n := v.bank.Facilitator.Calls("verify"); n != verified {
		t.Errorf("of what is refused %d were verified", n-verified)
	}
	v.bank.Facilitator.On("settle", facilitatortest.Settled)
	fresh := v.proof(t)
	pay(t, other, fresh, "")
	credited(t, other, fresh, "")

	desk := deposits.Desk{Store: v.Store}
	all, err := v.Store.OpenDeposits(t.Context(), store.Deposit{}, 10)
	if err != nil || len(all) != most {
		t.Fatalf("%d open deposits, %v", len(all), err)
	}
	if _, err := desk.Fail(t.Context(), apitest.Operator, all[0].ID); err != nil {
		t.Fatal(err)
	}
	pay(t, ws, refused, "")
	credited(t, ws, refused, "")
}

// TestABurstOfPaymentsIsTaken has as many payments at once as may be under way, each credited.
func TestABurstOfPaymentsIsTaken(t *testing.T) {
	t.Parallel()
	v := newTown(t, nil)
	ws := v.Workspace(t, 0)
	const payments = 40
	var taken atomic.Int64
	signatures := make([]string, payments)
	for i := range signatures {
		signatures[i] = v.proof(t)
	}
	apitest.Together(payments, func(i int) {
		if pay(t, ws, signatures[i], "").Status == 200 {
			taken.Add(1)
		}
	})
	if taken.Load() != payments {
		t.Errorf("%d of %d were credited", taken.Load(), payments)
	}
	ws.Funded(payments * 100_000)
	ws.CheckLedger(t)
	verify(t, ws)
}
