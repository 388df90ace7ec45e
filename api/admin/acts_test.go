package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"aanet/api/apitest"
	"aanet/billing"
	"aanet/store"
	"aanet/store/storetest"
)

// audited checks the newest row about a subject: by whom, from where, why, and what was before and after.
func (h *house) audited(t *testing.T, subject, action string, role store.Role, reason, before, after string) {
	t.Helper()
	rows := h.acts(t, subject)
	if len(rows) == 0 {
		t.Errorf("%s left no row", action)
		return
	}
	r := rows[0]
	if r.Action != action || r.Actor != person(role) || r.Operator == nil || *r.Operator != h.idOf(t, person(role)) || r.Reason != reason || r.Address != "127.0.0.1" {
		t.Errorf("%s left %+v", action, r)
	}
	holds(t, action+", before", r.Before, before)
	holds(t, action+", after", r.After, after)
}

// holds tells whether a JSON object has these members, written as name=value and separated by blanks.
func holds(t *testing.T, what string, object json.RawMessage, members string) {
	t.Helper()
	if members == "" {
		return
	}
	got, err := apitest.Decode(object)
	if err != nil {
		t.Errorf("%s: %s", what, object)
	}
	for member := range strings.FieldsSeq(members) {
		name, value, _ := strings.Cut(member, "=")
		if fmt.Sprintf("%v", got[name]) != value {
			t.Errorf("%s: %s is %v, want %s", what, name, got[name], value)
		}
	}
}

func TestBlockAndCredit(t *testing.T) {
	f := furnish(t, nil)
	b := f.as(t, store.RoleOperator)
	at := "/admin/workspaces/" + f.ws.ID
	b.see(at+"/block", "What will happen", "WORKSPACE_BLOCKED")
	if p := b.post(at+"/block", url.Values{"reason": {"  "}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text(), "must be 1 to 500") {
		t.Errorf("without a reason: %d %s", p.status, p.text())
	}
	posted(t, b, at+"/block", url.Values{"reason": {"unpaid"}})
	f.ws.Owner.Refused(t, "WORKSPACE_BLOCKED", "write_file", apitest.Args{"path": "a", "content": "b"})
	f.audited(t, f.ws.ID, "workspace.block", store.RoleOperator, "unpaid", "blocked=false", "blocked=true reason=unpaid")
	posted(t, b, at+"/unblock", nil)
	f.audited(t, f.ws.ID, "workspace.unblock", store.RoleOperator, "", "blocked=true reason=unpaid", "blocked=false")

	id := regexp.MustCompile(`name="id" value="([^"]+)"`).FindStringSubmatch(b.see(at+"/credit", "cannot be taken back").body)
	if id == nil {
		t.Fatal("the credit has no id")
	}
	form := url.Values{"id": id[1:], "usd": {"$1.50"}, "reason": {"a gift"}}
	for range 2 { // sent twice, credited once
		posted(t, b, at+"/credit", form)
	}
	f.ws.Funded(150_000)
	if balance := f.ws.Balance(t); balance != 150_000 {
		t.Errorf("the balance is %d", balance)
	}
	f.audited(t, f.ws.ID, "workspace.credit", store.RoleOperator, "a gift", "balance=0", "balance=150000 units=150000 refundable=false")
	if n := len(f.acts(t, f.ws.ID)); n != 4 { // with the story's own credit
		t.Errorf("%d rows", n)
	}
	form.Set("usd", "2")
	if p := b.post(at+"/credit", form); p.status != http.StatusConflict {
		t.Errorf("another amount under the same id: %d", p.status)
	}
	for _, usd := range []string{"", "0", "-1", "1.000001", "1e3", "x"} {
		if p := b.post(at+"/credit", url.Values{"id": {uuid.NewString()}, "usd": {usd}, "reason": {"a gift"}}); p.status != http.StatusUnprocessableEntity {
			t.Errorf("%q dollars: %d", usd, p.status)
		}
	}
	if p := b.post("/admin/workspaces/"+uuid.NewString()+"/block", url.Values{"reason": {"x"}}); p.status != http.StatusNotFound {
		t.Errorf("an unknown workspace: %d", p.status)
	}
}

// posted sends a form that must be accepted.
func posted(t *testing.T, b *browser, path string, form url.Values) {
	t.Helper()
	if p := b.post(path, form); p.status != http.StatusSeeOther {
		t.Fatalf("%s: %d %s", path, p.status, p.text())
	}
}

func TestPayWithoutAChain(t *testing.T) {
	f := furnish(t, nil)
	b, other := f.as(t, store.RoleOperator), f.as(t, store.RoleAdmin)
	b.see("/admin/refunds", "$10.00", "$9.98", "Base", wallet)
	at, tx := "/admin/refunds/"+f.refund.String(), transaction()
	b.see(at+"?tx=0x12", "not a transaction")
	b.see(at+"?tx="+tx, "Not recorded for another refund", "I looked it up")
	if p := b.post(at+"/pay", url.Values{"tx": {tx}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text(), "tick the box") {
		t.Errorf("without saying so: %d %s", p.status, p.text())
	}
	if p := b.done(at+"/pay", url.Values{"tx": {tx}, "unchecked": {"yes"}}); !strings.Contains(p.text(), "no, on the operator's word") {
		t.Errorf("it reads %s", p.text())
	}
	f.audited(t, f.refund.String(), "refund.pay", store.RoleOperator, "", "state=pending", "state=paid checked=false units=1000000 tx_hash="+tx)
	for _, again := range []string{"/pay", "/reject"} {
		p := other.post(at+again, url.Values{"tx": {transaction()}, "unchecked": {"yes"}, "reason": {"late"}})
		if p.status != http.StatusConflict || !strings.Contains(p.text(), person(store.RoleOperator)) || !strings.Contains(p.text(), "is paid since 20") {
			t.Errorf("%s when it was paid: %d %s", again, p.status, p.text())
		}
	}
	if p := other.get(at + "/reject"); p.status != http.StatusConflict {
		t.Errorf("the page before a rejection: %d", p.status)
	}
	f.ws.Credit(t, 300_000)
	second := f.askBack(t)
	b.see("/admin/refunds/"+second.String()+"?tx="+tx, "it is the payout of refund "+f.refund.String(), "Nothing can be recorded")
	if p := b.post("/admin/refunds/"+second.String()+"/pay", url.Values{"tx": {tx}, "unchecked": {"yes"}}); p.status != http.StatusConflict {
		t.Errorf("one transaction for two refunds: %d", p.status)
	}
	if p := b.post("/admin/refunds/"+second.String()+"/reject", url.Values{"reason": {""}}); p.status != http.StatusUnprocessableEntity {
		t.Errorf("rejected without a reason: %d", p.status)
	}
	b.done("/admin/refunds/"+second.String()+"/reject", url.Values{"reason": {evil}})
	f.audited(t, second.String(), "refund.reject", store.RoleOperator, evil, "state=pending balance=0", "state=rejected balance=300000")
}

// With a chain to ask, what it shows decides, step by step, and a word does not help.
func TestPayWithAChain(t *testing.T) {
	f := furnish(t, nil)
	b := f.as(t, store.RoleOperator)
	at, tx := "/admin/refunds/"+f.refund.String(), transaction()
	f.chain.ShowPayout(billing.PayoutFinding{State: billing.PayoutWrong, Reason: "it paid 1.00", Steps: []billing.PayoutStep{
		{Name: "transaction", Detail: "it is in block 7"}, {Name: "amount", State: billing.StepWrong, Detail: "it paid 1.00"},
	}})
	p := b.see(at+"?tx="+tx, "Known to the chain", "it is in block 7", "it paid 1.00", "Nothing can be recorded")
	if strings.Contains(p.body, "/pay") {
		t.Error("a payout that is wrong can be recorded")
	}
	if p := b.post(at+"/pay", url.Values{"tx": {tx}, "unchecked": {"yes"}}); p.status != http.StatusConflict || !strings.Contains(p.text(), "it paid 1.00") {
		t.Errorf("recorded all the same: %d %s", p.status, p.text())
	}
	f.chain.ShowPayout(billing.PayoutFinding{State: billing.PayoutPending, Reason: "2 of 12", Steps: []billing.PayoutStep{{Name: "confirmations", State: billing.StepOpen, Detail: "2 of 12"}}})
	b.see(at+"?tx="+tx, "2 of 12", "check it again later")
	f.chain.ShowPayout(billing.PayoutFinding{State: billing.PayoutMade, Steps: []billing.PayoutStep{{Name: "amount", Detail: "exactly"}}})
	b.see(at+"?tx="+tx, "Record as paid")
	b.done(at+"/pay", url.Values{"tx": {tx}})
	f.audited(t, f.refund.String(), "refund.pay", store.RoleOperator, "", "state=pending", "state=paid checked=true")
}

// TestTwoOperatorsAtOnce lets two decide one refund in the same moment: one of them does, the other is told who.
func TestTwoOperatorsAtOnce(t *testing.T) {
	f := furnish(t, nil)
	both := []*browser{f.as(t, store.RoleOperator), f.as(t, store.RoleAdmin)}
	forms := []url.Values{{"tx": {transaction()}, "unchecked": {"yes"}, "token": {both[0].token()}}, {"reason": {"no"}, "token": {both[1].token()}}}
	paths := []string{"/pay", "/reject"}
	var got [2]page
	apitest.Together(2, func(i int) {
		got[i] = both[i].send(http.MethodPost, "/admin/refunds/"+f.refund.String()+paths[i], forms[i], nil)
	})
	winner := 0
	if got[1].status == http.StatusSeeOther {
		winner = 1
	}
	loser := 1 - winner
	if got[winner].status != http.StatusSeeOther || got[loser].status != http.StatusConflict {
		t.Fatalf("the answers are %d and %d", got[0].status, got[1].status)
	}
	names := []string{person(store.RoleOperator), person(store.RoleAdmin)}
	if text := got[loser].text(); !strings.Contains(text, "by "+names[winner]) || !strings.Contains(text, "since 20") {
		t.Errorf("the second one reads %s", text)
	}
	if rows := f.acts(t, f.refund.String()); len(rows) != 1 || rows[0].Actor != names[winner] {
		t.Errorf("the audit log has %+v", rows)
	}
}

func TestDecideDeposits(t *testing.T) {
	f := furnish(t, nil)
	b := f.as(t, store.RoleOperator)
	at, tx := "/admin/deposits/"+f.deposit.String(), transaction()
	b.see("/admin/deposits", "unknown", "$1.00", "Base")
	b.see(at, "No RPC URL is configured", apitest.ReceiverEVM, "Settles sent 1")
	if p := b.post(at+"/credit", url.Values{"tx": {"0x1"}, "reason": {"seen"}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text(), "64 hex digits") {
		t.Errorf("no transaction: %d %s", p.status, p.text())
	}
	storetest.Exec(t, f.DSN, `insert into deposits (workspace_id, deposit_id, state, units, network, created_at)
		select workspace_id, gen_random_uuid(), 'unknown', units, network, created_at from deposits`)
	another := "0x" + strings.Repeat("77", 32)
	storetest.Exec(t, f.DSN, `insert into credit_claims (network, tx_hash, workspace_id, deposit_id, claimed_at)
		select network, $2, workspace_id, deposit_id, created_at from deposits where deposit_id <> $1`, f.deposit, another)
	if p := b.post(at+"/credit", url.Values{"tx": {another}, "reason": {"seen"}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text(), "this transaction is that of deposit") {
		t.Errorf("the transaction of another deposit: %d %s", p.status, p.text())
	}
	b.done(at+"/credit", url.Values{"tx": {tx}, "reason": {"seen"}})
	f.ws.Funded(100_000)
	f.audited(t, f.deposit.String(), "deposit.credit", store.RoleOperator, "seen", "state=unknown balance=0", "state=credited balance=100000 tx_hash="+tx)
	for _, again := range []string{"/credit", "/fail"} {
		if p := b.post(at+again, url.Values{"tx": {tx}, "reason": {"again"}}); p.status != http.StatusConflict || !strings.Contains(p.text(), person(store.RoleOperator)) {
			t.Errorf("%s again: %d %s", again, p.status, p.text())
		}
	}
	b.see(at, "by "+person(store.RoleOperator), tx)

	other := furnish(t, nil)
	b = other.as(t, store.RoleOperator)
	at = "/admin/deposits/" + other.deposit.String()
	other.chain.ShowPayment(billing.PaymentFinding{State: billing.PaymentDead, Reason: "its authorization has expired"})
	b.see(at, "It can never be made any more. its authorization has expired")
	b.done(at+"/fail", url.Values{"reason": {"expired"}})
	other.audited(t, other.deposit.String(), "deposit.fail", store.RoleOperator, "expired", "state=unknown", "state=failed")
}

func TestWebhooksAndFeedback(t *testing.T) {
	f := furnish(t, nil)
	b := f.as(t, store.RoleOperator)
	at := "/admin/webhooks/" + f.webhook.String()
	b.see("/admin/webhooks", "All that are registered work.")
	b.done(at+"/disable", url.Values{"reason": {"it floods us"}})
	f.audited(t, f.webhook.String(), "webhook.disable", store.RoleOperator, "it floods us", "active=true", "active=false disabled_reason=operator")
	if got := f.ws.Owner.OK(t, "list_webhooks", nil).Rows()[0]; got["active"] != false || got["disabled_reason"] != "operator" {
		t.Errorf("its owner sees %v", got)
	}
	b.see("/admin/webhooks", "disabled: operator")
	if p := b.post(at+"/disable", url.Values{"reason": {"again"}}); p.status != http.StatusConflict || !strings.Contains(p.text(), person(store.RoleOperator)) {
		t.Errorf("disabled again: %d %s", p.status, p.text())
	}
	storetest.Exec(t, f.DSN, `update webhooks set failures = 10`)
	b.done(at+"/enable", url.Values{"reason": {"they say it works"}})
	f.audited(t, f.webhook.String(), "webhook.enable", store.RoleOperator, "they say it works", "active=false failures=10", "active=true failures=0")
	f.ws.Credit(t, 100)
	f.ws.Owner.OK(t, "send_message", apitest.Args{"body": "x"})
	if n, err := f.Store.WaitingEvents(t.Context(), uuid.MustParse(f.ws.ID)); err != nil || n != 1 {
		t.Errorf("%d events wait for the webhook that was enabled (%v)", n, err)
	}

	at = "/admin/feedback/" + f.feedback.String()
	b.see("/admin/feedback", "$250.00", evil)
	b.done(at, url.Values{"status": {"planned"}, "notes": {"line one\r\nline two"}})
	f.audited(t, f.feedback.String(), "feedback.triage", store.RoleOperator, "", "status=open notes=", "status=planned")
	posted(t, b, at, url.Values{"status": {"planned"}, "notes": {"line one\r\nline two"}}) // changes nothing
	if n := len(f.acts(t, f.feedback.String())); n != 1 {
		t.Errorf("%d rows for one change", n)
	}
	b.see("/admin/feedback?status=planned", "$250.00")
	b.see("/admin/feedback?after=eyJVU0QiOiJ4In0", "Nothing is open.") // a key of no list
	if p := b.post(at, url.Values{"status": {"nonsense"}}); p.status != http.StatusUnprocessableEntity {
		t.Errorf("a status that there is not: %d", p.status)
	}
}

func TestManageOperators(t *testing.T) {
	h := open(t, nil)
	b := h.as(t, store.RoleAdmin)
	for _, c := range []struct{ email, role, secret, says string }{
		{"x", "viewer", password, "email address"}, {"x@aanet.example", "king", password, "must be viewer"},
		{"x@aanet.example", "viewer", "short", "12 to 200"}, {"VIEWER@aanet.example", "viewer", password, "has this address already"},
	} {
		p := b.post("/admin/operators", url.Values{"email": {c.email}, "role": {c.role}, "password": {c.secret}})
		if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text(), c.says) {
			t.Errorf("%s: %d %s", c.says, p.status, p.text())
		}
	}
	b.done("/admin/operators", url.Values{"email": {"new@aanet.example"}, "name": {evil}, "role": {"operator"}, "password": {"a long password"}})
	id := h.idOf(t, "new@aanet.example").String()
	h.audited(t, id, "operator.create", store.RoleAdmin, "", "", "email=new@aanet.example role=operator disabled=false")
	at := "/admin/operators/" + id
	fresh := h.browser(t)
	if p := fresh.login("new@aanet.example", "a long password"); p.status != http.StatusSeeOther {
		t.Fatalf("the new one cannot log in: %d", p.status)
	}
	b.done(at+"/role", url.Values{"role": {"viewer"}})
	h.audited(t, id, "operator.role", store.RoleAdmin, "", "role=operator", "role=viewer")
	if p := fresh.post("/admin/workspaces/"+uuid.NewString()+"/block", url.Values{"reason": {"x"}}); p.status != http.StatusForbidden {
		t.Errorf("the former role still counts: %d", p.status)
	}
	b.done(at+"/password", url.Values{"password": {"another long password"}})
	h.audited(t, id, "operator.password", store.RoleAdmin, "", "role=viewer", "role=viewer")
	if p := fresh.get("/admin"); p.status != http.StatusSeeOther {
		t.Errorf("a session after the password was set by another: %d", p.status)
	}
	fresh.login("new@aanet.example", "another long password")
	b.done(at+"/disable", url.Values{"reason": {"left"}})
	h.audited(t, id, "operator.disable", store.RoleAdmin, "left", "disabled=false", "disabled=true")
	if p := fresh.get("/admin"); p.status != http.StatusSeeOther {
		t.Errorf("a session of a disabled operator: %d", p.status)
	}
	b.done(at+"/enable", url.Values{"reason": {"back"}})
	h.audited(t, id, "operator.enable", store.RoleAdmin, "back", "disabled=true", "disabled=false")
	mine := "/admin/operators/" + h.idOf(t, person(store.RoleAdmin)).String()
	storetest.Exec(t, h.DSN, `update operators set disabled_at = now() where role = 'admin' and email <> $1`, person(store.RoleAdmin))
	for _, path := range []string{"/role", "/disable"} {
		if p := b.post(mine+path, url.Values{"role": {"viewer"}, "reason": {"x"}}); p.status != http.StatusConflict || !strings.Contains(p.text(), "last admin") {
			t.Errorf("%s of the last admin: %d %s", path, p.status, p.text())
		}
	}
	b.see("/admin/audit?actor="+person(store.RoleAdmin)+"&action=operator.disable", "left", "Before", "disabled")
}

// The audit log leads through all of it, page by page, and each row comes once.
func TestAuditPages(t *testing.T) {
	h := open(t, nil)
	b := h.as(t, store.RoleAdmin)
	ws := h.Workspace(t, 0)
	for i := range 120 {
		if err := h.Store.Block(t.Context(), store.Act{By: "cli:test", Reason: fmt.Sprintf("reason-%d-", i)}, uuid.MustParse(ws.ID), true); err != nil {
			t.Fatal(err)
		}
	}
	next, seen := "/admin/audit?workspace="+ws.ID, map[string]int{}
	for pages := 0; next != ""; pages++ {
		p := b.see(next)
		for _, found := range regexp.MustCompile(`<td data-label="Reason">(reason-\d+-)`).FindAllStringSubmatch(p.body, -1) {
			seen[found[1]]++
		}
		found := regexp.MustCompile(`href="([^"]+)">Next page`).FindStringSubmatch(p.body)
		if next = ""; found != nil {
			next = strings.ReplaceAll(found[1], "&amp;", "&")
		}
		if pages > 5 {
			t.Fatal("it never ends")
		}
	}
	if len(seen) != 120 {
		t.Errorf("%d of 120 rows are shown", len(seen))
	}
	for reason, n := range seen {
		if n != 1 {
			t.Errorf("%s is shown %d times", reason, n)
		}
	}
	b.see("/admin/audit?workspace=nonsense", "Nothing fits.")
	b.see("/admin/audit?subject="+url.QueryEscape(evil), "Nothing fits.")
}
