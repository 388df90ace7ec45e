package admin_test

import (
	"fmt"
	"strings"
	"testing"

	"aanet/api/web/browsertest"
	"aanet/billing"
	"aanet/billing/x402/facilitatortest"
	"aanet/store"
)

// crediting adds to a balance, with a reason, after a mistake.
func crediting(t *testing.T, d *desk, size browsertest.Size) {
	w := d.tenant(t, "Weather swarm, "+size.Name, 0)
	tab := d.signIn(t, size, store.RoleOperator)
	tab.Go(w.page(""))
	tab.Submit("main a", "Credit…")
	tab.See("main", "What will happen")
	look(tab, "credit")
	missing(tab, "Credit", "usd")
	tab.Fill("#usd", "1.000001")
	tab.Fill("#reason", "The outage of Monday")
	refused(tab, "Credit", "usd", "at most five decimals", "credit-refused")
	tab.Fill("#usd", "2.50")
	tab.Submit("main button", "Credit")
	tab.See(".flash.ok", "The units are in the balance.")
	tab.See(".card", "$2.50")
	look(tab, "credited")
	if got := w.balance(t); got != 250_000 {
		t.Errorf("the API says %d units", got)
	}
	tab.Submit("main .tabs a", "Money")
	tab.See("main tr", "The outage of Monday")
	rows := w.call(t, "GET", "/activity", "").is(t, 200).body["result"]
	if !strings.Contains(fmt.Sprint(rows), "The outage of Monday") {
		t.Errorf("the owner's log has %v", rows)
	}
}

// steps are what a chain shows of a payout, as far as given.
func steps(states ...billing.StepState) (all []billing.PayoutStep) {
	for i, s := range []struct{ name, detail string }{
		{"transaction", "it is in block 31,337,000"}, {"confirmations", "12 of 12"}, {"outcome", "it succeeded"}, {"time", "made 4 min after the request"},
		{"amount", "2.98 USDC to " + wallet}, {"sender", "0x209693Bc6afc0C5328bA36FaF03C514EF312287C is yours"},
	}[:len(states)] {
		if states[i] == billing.StepOpen {
			s.detail = "3 of 12"
		}
		all = append(all, billing.PayoutStep{Name: s.name, State: states[i], Detail: s.detail})
	}
	return all
}

// payingRefund records a payout once the chain shows it, and sees on the way why it does not yet.
func payingRefund(t *testing.T, d *desk, size browsertest.Size) {
	ok, wait, wrong := billing.StepOK, billing.StepOpen, billing.StepWrong
	w := d.tenant(t, "Paid back, "+size.Name, 300_000)
	id := w.askBack(t)
	tab := d.signIn(t, size, store.RoleOperator)
	tab.Submit("main a.card", "Refunds waiting")
	tab.See("#refunds tr", "$2.98")
	look(tab, "refunds")
	d.bank.Chain.ShowPayout(billing.PayoutFinding{})
	tab.Submit("#refunds a", "refund "+id)
	lookTwice(tab, "refund")
	missing(tab, "Check it", "tx")
	tab.Fill("#tx", "0x12")
	tab.Submit("main button", "Check it")
	tab.See("#tx-fault", "not a transaction")
	look(tab, "refund-no-transaction")
	tx := transaction()
	check := func(f billing.PayoutFinding, says, name string) {
		t.Helper()
		d.bank.Chain.ShowPayout(f)
		tab.Fill("#tx", tx)
		tab.Submit("main button", "Check it")
		tab.See("main", says)
		for _, s := range f.Steps {
			tab.See(".steps li", s.Detail)
		}
		look(tab, name)
	}
	check(billing.PayoutFinding{State: billing.PayoutWrong, Reason: "it paid 1.00", Steps: steps(ok, ok, ok, ok, wrong)}, "Nothing can be recorded", "refund-wrong")
	check(billing.PayoutFinding{State: billing.PayoutPending, Reason: "3 of 12", Steps: steps(ok, wait)}, "check it again later", "refund-not-yet")
	if tab.Count("main button") != 1 {
		t.Error("a payout that is not deep enough can be recorded")
	}
	check(billing.PayoutFinding{State: billing.PayoutMade, Steps: steps(ok, ok, ok, ok, ok, ok)}, "Record as paid", "refund-fits")
	if got := w.refund(t); got["status"] != "pending" {
		t.Errorf("the check alone made it %v", got)
	}
	tab.Submit("main button", "Record as paid")
	tab.See(".flash.ok", "The refund is recorded as paid.")
	tab.See("h1 .badge.ok", "paid")
	tab.See("dl", tx)
	look(tab, "refund-paid")
	if got := w.refund(t); got["status"] != "paid" || got["tx_hash"] != tx || got["net_payout_usd"] != "2.98" {
		t.Errorf("the API says %v", got)
	}
	tab.Submit("header a", "Refunds")
	tab.Gone("#refunds", id)
}

// rejectingRefund gives the money back with a reason that the owner reads.
func rejectingRefund(t *testing.T, d *desk, size browsertest.Size) {
	w := d.tenant(t, "Turned down, "+size.Name, 500_000)
	id := w.askBack(t)
	tab := d.signIn(t, size, store.RoleOperator)
	tab.Go(d.url + "/admin/refunds/" + id)
	tab.Submit("main a", "Reject it…")
	tab.See("main", "go back into the workspace's balance")
	look(tab, "reject")
	tab.Submit("main a", "Do nothing")
	tab.See("h1 .badge", "pending")
	tab.Submit("main a", "Reject it…")
	tab.Fill("#reason", " ")
	refused(tab, "Reject", "reason", "must be 1 to 500", "reject-refused")
	if got := w.balance(t); got != 0 {
		t.Errorf("without a reason %d units went back", got)
	}
	tab.Fill("#reason", "The address is an exchange's")
	tab.Submit("main button", "Reject")
	tab.See(".flash.ok", "The refund is rejected")
	tab.See("h1 .badge", "rejected")
	tab.See("dl", "The address is an exchange's")
	look(tab, "refund-rejected")
	if got := w.refund(t); got["status"] != "rejected" || got["reason"] != "The address is an exchange's" || w.balance(t) != 500_000 {
		t.Errorf("the API says %v and %d units", got, w.balance(t))
	}
}

// twoAtOnce lets two operators decide one refund in the same moment: one wins, the other is told who and what.
func twoAtOnce(t *testing.T, d *desk, size browsertest.Size) {
	w := d.tenant(t, "Wanted twice, "+size.Name, 400_000)
	id := w.askBack(t)
	tx := transaction()
	d.bank.Chain.ShowPayout(billing.PayoutFinding{State: billing.PayoutMade, Steps: steps(billing.StepOK)})
	roles, tabs := []store.Role{store.RoleOperator, store.RoleAdmin}, []*browsertest.Tab{}
	for _, role := range roles {
		tab := d.signIn(t, size, role)
		tab.Expect("status of 409")
		tabs = append(tabs, tab)
	}
	tabs[0].Go(d.url + "/admin/refunds/" + id)
	tabs[0].Fill("#tx", tx)
	tabs[0].Submit("main button", "Check it")
	tabs[1].Go(d.url + "/admin/refunds/" + id + "/reject")
	tabs[1].Fill("#reason", "They changed their mind")
	tabs[0].Click("main button", "Record as paid")
	tabs[1].Click("main button.danger", "Reject")
	won := 0
	for i, tab := range tabs {
		tab.Until("an answer", `document.readyState === "complete" && (document.querySelector(".flash.ok") || document.querySelector("h1")?.innerText === "Somebody else was first")`)
		if tab.Text("h1") != "Somebody else was first" {
			won++
			look(tab, "first")
			continue
		}
		tab.See("main .lede", "by "+person(roles[1-i]))
		tab.See("main .lede", "since 20")
		look(tab, "second")
		tab.Submit("main a", "Look at it")
		tab.See("h1", "Refund of $4.00")
	}
	got, left := w.refund(t), w.balance(t)
	paid := got["status"] == "paid" && got["tx_hash"] == tx && left == 0
	rejected := got["status"] == "rejected" && got["reason"] == "They changed their mind" && left == 400_000
	if won != 1 || !paid && !rejected {
		t.Errorf("%d won; the API says %v and %d units", won, got, left)
	}
	if rows := d.acts(t, id); len(rows) != 1 {
		t.Errorf("%d acts are in the audit log", len(rows))
	}
}

// decidingDeposits credits one deposit that nobody else could decide, and fails another.
func decidingDeposits(t *testing.T, d *desk, size browsertest.Size) {
	w := d.tenant(t, "Unsettled, "+size.Name, 0)
	if got := w.deposit(t, facilitatortest.Pending); got.text("code") != "PAYMENT_UNSETTLED" {
		t.Fatalf("the deposit is answered %d %v", got.status, got.body)
	}
	tab := d.signIn(t, size, store.RoleOperator)
	d.bank.Chain.ShowPayment(billing.PaymentFinding{State: billing.PaymentUnused, Reason: "The nonce was not used."})
	tab.Submit("main a.card", "Deposits open")
	tab.See("#deposits tr", "unknown")
	look(tab, "deposits")
	tab.Submit("#deposits tr:last-child a.button", "Look")
	tab.See("main", "Not made as of now, and still possible")
	tab.See("main", w.id)
	lookTwice(tab, "deposit")
	deposit := tab.Address()
	tab.Submit("main a", "Credit it…")
	tab.Fill("#tx", "0x1")
	tab.Fill("#reason", "Seen in the explorer")
	refused(tab, "Credit", "tx", "64 hex digits", "deposit-credit-refused")
	tx := transaction()
	tab.Fill("#tx", tx)
	tab.Submit("main button", "Credit")
	tab.See(".flash.ok", "The deposit is credited.")
	tab.See("h1 .badge.ok", "credited")
	look(tab, "deposit-credited")
	if got := w.balance(t); got != int64(billing.PerUSD) {
		t.Errorf("the API says %d units", got)
	}
	tab.Expect("status of 409")
	tab.Go(deposit + "/fail")
	tab.See("h1", "Somebody else was first")
	look(tab, "deposit-too-late")

	other := d.tenant(t, "Never paid, "+size.Name, 0)
	other.deposit(t, facilitatortest.Pending)
	d.bank.Chain.ShowPayment(billing.PaymentFinding{State: billing.PaymentDead, Reason: "Its authorization has expired."})
	tab.Go(d.url + "/admin/deposits")
	tab.Submit("#deposits tr:last-child a.button", "Look")
	tab.See("main", "It can never be made any more")
	tab.Submit("main a", "Fail it…")
	look(tab, "deposit-fail")
	tab.Fill("#reason", "Expired unused")
	tab.Submit("main button", "Fail it")
	tab.See(".flash.ok", "The deposit is failed.")
	if log := other.call(t, "GET", "/activity", "").is(t, 200); other.balance(t) != 0 || !strings.Contains(fmt.Sprint(log.body), "Expired unused") {
		t.Errorf("the API says %d units and %v", other.balance(t), log.body)
	}
}
