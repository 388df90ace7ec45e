package admin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"aanet/api/apitest"
	"aanet/api/web/browsertest"
	"aanet/billing"
	"aanet/billing/x402/facilitatortest"
	"aanet/store"
)

// told is a workspace with some of everything, made through the API.
type told struct {
	*tenant
	refund, unsettled, webhook, feedback string
}

// tell makes it: four agents have worked for an hour, and their owner did what owners do.
func (d *desk) tell(t *testing.T, label string) *told {
	t.Helper()
	ws := d.Later(t, -time.Hour).Labelled(t, label, 2_000_000)
	w := &told{tenant: &tenant{d: d, id: ws.ID, key: ws.Owner.Key, at: "/v1/workspaces/" + ws.ID}}
	var agents []apitest.Agent
	for _, name := range []string{"planner", "writer", "reviewer", "tester"} {
		agents = append(agents, ws.MintWith(t, apitest.Args{"label": name, "budget_cap": 50_000}))
	}
	for ago := 55; ago > 0; ago -= 15 {
		then := ws.On(d.Later(t, -time.Duration(ago)*time.Minute))
		for i, a := range agents {
			for turn := range 1 + (ago/5+i)%4 {
				a.On(then).Write(t, fmt.Sprintf("chapters/%02d/draft-%d.md", ago, i), strings.Repeat("It was a dark and stormy night. ", 40*(1+turn)))
			}
		}
	}
	d.counting.pass(-40 * time.Minute)
	for round := range 12 {
		d.counting.pass(3 * time.Minute)
		for i, a := range agents[:1+round%4] {
			d.call(t, a.Key, "PUT", w.at+fmt.Sprintf("/locks/chapter%%20%d", round%3), `{"lease_seconds":900}`)
			d.call(t, a.Key, "POST", w.at+"/messages", fmt.Sprintf(`{"body":"Round %d is done","topic":"agent %d"}`, round, i)).is(t, 201)
			d.call(t, a.Key, "GET", w.at+"/files/outline.md", "").is(t, 404)
		}
	}
	d.counting.pass(4 * time.Minute)
	w.settle(t)
	if err := d.minutes.Write(t.Context(), d.Store, d.counting.now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := d.Store.RollUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// settle does what has to do with money, webhooks and feedback.
func (w *told) settle(t *testing.T) {
	t.Helper()
	d := w.d
	w.deposit(t, facilitatortest.Settled).is(t, 200)
	w.deposit(t, facilitatortest.Pending)
	open, err := d.Store.Deposits(t.Context(), mustID(t, w.id), 1)
	if err != nil || open[0].State != store.DepositUnknown {
		t.Fatalf("no deposit is unknown: %+v %v", open, err)
	}
	w.unsettled = open[0].ID.String()
	w.webhook = w.call(t, "POST", "/webhooks", `{"url":"https://127.0.9.1/aanet?team=novel","events":["file_write","message"]}`).is(t, 201).text("webhook_id")
	w.feedback = w.call(t, "POST", "/v1/feedback", `{"category":"feature","title":"A diff between two versions of a file","description":"Reviewers read whole chapters to find one changed line.","pledged_budget_usd":"450"}`).is(t, 201).text("feedback_id")
	w.refund = w.askBack(t)
}

// allPages opens every page that the table of routes has, with data made through the API.
func allPages(t *testing.T, d *desk, size browsertest.Size) {
	w := d.tell(t, "Novel in four hands, "+size.Name)
	if err := d.Store.Credit(t.Context(), apitest.Operator, mustID(t, w.id), newID(), 750_000, false); err != nil {
		t.Fatal(err)
	}
	d.bank.Chain.ShowPayment(billing.PaymentFinding{State: billing.PaymentUnused, Reason: "The nonce was not used."})
	d.bank.Chain.ShowPayout(billing.PayoutFinding{State: billing.PayoutMade, Steps: steps(billing.StepOK, billing.StepOK, billing.StepOK)})
	ws, refund, deposit, webhook := "/admin/workspaces/"+w.id, "/admin/refunds/"+w.refund, "/admin/deposits/"+w.unsettled, "/admin/webhooks/"+w.webhook
	someone := "/admin/operators/" + d.idOf(t, person(store.RoleViewer)).String()
	pages := map[string]map[string]string{ // of each route: names and addresses; an empty name is looked at elsewhere
		"/admin": {"overview": "/admin"}, "/admin/workspaces": {"workspaces": "/admin/workspaces", "workspaces-balance": "/admin/workspaces?order=balance"},
		"/admin/workspaces/{id}":          {"workspace": ws, "workspace-week": ws + "?range=week"},
		"/admin/workspaces/{id}/keys":     {"keys": ws + "/keys"},
		"/admin/workspaces/{id}/activity": {"activity": ws + "/activity", "activity-refused": ws + "/activity?refused=yes"},
		"/admin/workspaces/{id}/files":    {"files": ws + "/files", "directory": ws + "/files?path=chapters"},
		"/admin/workspaces/{id}/locks":    {"locks": ws + "/locks"}, "/admin/workspaces/{id}/webhooks": {"workspace-webhooks": ws + "/webhooks"}, "/admin/workspaces/{id}/money": {"money": ws + "/money"},
		"/admin/workspaces/{id}/block": {"ask-block": ws + "/block"}, "/admin/workspaces/{id}/unblock": {"ask-unblock": ws + "/unblock"}, "/admin/workspaces/{id}/credit": {"ask-credit": ws + "/credit"},
		"/admin/search": {"search": "/admin/search?q=" + w.id}, "/admin/refunds": {"refunds": "/admin/refunds"},
		"/admin/refunds/{id}": {"refund": refund + "?tx=" + transaction()}, "/admin/refunds/{id}/reject": {"ask-reject": refund + "/reject"},
		"/admin/deposits": {"deposits": "/admin/deposits"}, "/admin/deposits/{id}": {"deposit": deposit},
		"/admin/deposits/{id}/credit": {"ask-deposit-credit": deposit + "/credit"}, "/admin/deposits/{id}/fail": {"ask-deposit-fail": deposit + "/fail"},
		"/admin/feedback": {"feedback-list": "/admin/feedback"}, "/admin/feedback/{id}": {"feedback": "/admin/feedback/" + w.feedback},
		"/admin/webhooks": {"webhooks": "/admin/webhooks"}, "/admin/webhooks/{id}": {"webhook": webhook},
		"/admin/webhooks/{id}/enable": {"ask-enable": webhook + "/enable"}, "/admin/webhooks/{id}/disable": {"ask-disable": webhook + "/disable"},
		"/admin/operators": {"operators": "/admin/operators"}, "/admin/operators/{id}": {"operator": someone},
		"/admin/operators/{id}/disable": {"ask-operator-disable": someone + "/disable"}, "/admin/operators/{id}/enable": {"ask-operator-enable": someone + "/enable"},
		"/admin/audit": {"audit": "/admin/audit"}, "/admin/account": {"account": "/admin/account"}, "/admin/prices": {"prices": "/admin/prices"},
		"/admin/login": {}, "/admin/jobs/": {}, // looked at elsewhere
	}
	dark := []string{"overview", "workspaces", "workspace", "activity", "refunds", "refund", "audit", "prices", "money"}
	tab := d.signIn(t, size, store.RoleAdmin)
	for _, r := range d.routes {
		if r.Method != "GET" {
			continue
		}
		named, known := pages[r.Path]
		if !known {
			t.Errorf("nobody looks at %s", r.Path)
		}
		for name, path := range named {
			tab.Go(d.url + path)
			if strings.HasPrefix(name, "ask-") { // an act looks at it
				tab.Glance()
				continue
			}
			look(tab, name)
			if slices.Contains(dark, name) {
				tab.Prefer(browsertest.Dark)
				tab.Shot(name)
				tab.Prefer(browsertest.Light)
			}
		}
	}
	tab.Expect("status of 404")
	tab.Go(d.url + "/admin/nowhere")
	tab.See("h1", "There is no such page")
	look(tab, "nowhere")
}
