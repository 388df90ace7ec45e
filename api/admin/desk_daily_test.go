package admin_test

import (
	"net/url"
	"strings"
	"testing"

	"aanet/api/web/browsertest"
	"aanet/billing/x402/facilitatortest"
	"aanet/store"
)

// blocking stops a workspace by clicking: the API refuses from the next call on, until it is unblocked.
func blocking(t *testing.T, d *desk, size browsertest.Size) {
	w := d.tenant(t, "Noisy swarm, "+size.Name, 1000)
	write := func() called { return w.call(t, "PUT", "/files/notes.md", `{"content":"x"}`) }
	write().is(t, 201)
	tab := d.signIn(t, size, store.RoleOperator)
	tab.Go(w.page(""))
	tab.Submit("main a", "Block…")
	tab.See("main", "403 WORKSPACE_BLOCKED")
	look(tab, "block")
	tab.Submit("main a", "Do nothing")
	tab.Submit("main a", "Block…")
	missing(tab, "Block", "reason")
	tab.Fill("#reason", " ")
	refused(tab, "Block", "reason", "must be 1 to 500", "block-refused")
	write().is(t, 200)
	tab.Fill("#reason", "Floods its neighbours")
	tab.Submit("main button", "Block")
	tab.See(".flash.ok", "The workspace is blocked.")
	tab.See(".flash.bad", "Floods its neighbours")
	lookTwice(tab, "blocked")
	if got := write().is(t, 403); got.text("code") != "WORKSPACE_BLOCKED" || strings.Contains(got.text("detail"), "neighbours") {
		t.Errorf("the API answers %v", got.body)
	}
	tab.Go(d.url + "/admin/workspaces?order=blocked")
	tab.See("main tr", "Noisy swarm, "+size.Name)
	tab.Submit("main tr a", "Noisy swarm, "+size.Name)
	tab.Submit("main a", "Unblock…")
	look(tab, "unblock")
	tab.Submit("main button", "Unblock")
	tab.See(".flash.ok", "The workspace is no longer blocked.")
	write().is(t, 200)
}

// searching finds one workspace by everything that an operator may have in hand, and a click leads to the thing itself.
func searching(t *testing.T, d *desk, size browsertest.Size) {
	w := d.tenant(t, "Sought after, "+size.Name, 0)
	paid := w.deposit(t, facilitatortest.Settled).is(t, 200)
	payer := storedPayer(t, d, w)
	agent := w.call(t, "POST", "/subkeys", `{"label":"scout"}`).is(t, 201)
	host := map[string]string{"desktop": "127.0.8.1", "phone": "127.0.8.2"}[size.Name]
	hook := w.call(t, "POST", "/webhooks", `{"url":"https://`+host+`/in","events":["message"]}`).is(t, 201)
	refund := w.askBack(t)
	key := agent.text("key")
	tab := d.signIn(t, size, store.RoleViewer)
	here := "/admin/workspaces/" + w.id
	for _, kind := range []struct{ name, text, shows, leads string }{
		{"workspace", w.id, "Sought after", here},
		{"sub-key", agent.text("subkey_id"), agent.text("subkey_id"), here + "/keys"},
		{"last-four", key[len(key)-4:], agent.text("subkey_id"), here + "/keys"},
		{"transaction", paid.text("tx_hash"), paid.text("tx_hash"), "/admin/deposits/"},
		{"address", payer, payer, "/admin/deposits/"},
		{"host", host, host, "/admin/webhooks/" + hook.text("webhook_id")},
		{"refund", refund, "pending to " + wallet, "/admin/refunds/" + refund},
		{"label", "sought after, " + size.Name, "Sought after, " + size.Name, here},
	} {
		tab.Submit("header a", "Overview")
		tab.Fill("#q", kind.text)
		tab.Enter("#q")
		tab.See("main tbody tr", kind.shows)
		tab.See("main tbody tr", w.id)
		tab.Glance()
		tab.Shot("found-" + kind.name)
		tab.Submit("main tbody tr:first-child > :nth-child(2) a", "")
		if got, err := url.Parse(tab.Address()); err != nil || !strings.HasPrefix(got.Path, kind.leads) {
			t.Errorf("%s leads to %s", kind.name, tab.Address())
		}
		tab.See("main", w.id)
	}
	tab.Submit("header a", "Workspaces")
	tab.Fill("#q", "nobody has this")
	tab.Submit("main button", "Search")
	tab.See(".empty", "Nothing is known by nobody has this")
	look(tab, "found-nothing")
	tab.Fill("#q", key)
	tab.Submit("main button", "Search")
	tab.See(".flash.bad", "This looks like a key")
	look(tab, "found-key")
}

// storedPayer is who paid the only deposit of a workspace.
func storedPayer(t *testing.T, d *desk, w *tenant) string {
	t.Helper()
	all, err := d.Store.Deposits(t.Context(), mustID(t, w.id), 2)
	if err != nil || len(all) != 1 || all[0].Payer == "" {
		t.Fatalf("the deposits are %+v (%v)", all, err)
	}
	return all[0].Payer
}

// triaging decides about what somebody asks for and pledges money for.
func triaging(t *testing.T, d *desk, size browsertest.Size) {
	w := d.tenant(t, "Wishes, "+size.Name, 0)
	title := "Watch files by pattern, " + size.Name
	sent := w.call(t, "POST", "/v1/feedback", `{"category":"feature","title":`+quoted(title)+`,"description":"One event for src/**.\nToday each agent polls.","pledged_budget_usd":"1200.5"}`).is(t, 201)
	w.call(t, "POST", "/v1/feedback", `{"category":"bug","title":"Small, `+size.Name+`","description":"x","pledged_budget_usd":"3"}`).is(t, 201)
	tab := d.signIn(t, size, store.RoleOperator)
	tab.See("#live-money", "$1,200.50")
	tab.See("#live-waits", "$1,200.50 is the most pledged")
	tab.Submit("main a.card", "Feedback open")
	if first := tab.Text("main tbody tr"); !strings.Contains(first, "$1,200.50") {
		t.Errorf("the first row is %s", first)
	}
	look(tab, "feedback-list")
	tab.Submit("main tr a", title)
	tab.See("main", "Today each agent polls.")
	tab.See("dl", "$1,200.50")
	look(tab, "feedback")
	tab.Select("#status", "planned")
	tab.Fill("#notes", "With the next event format.")
	tab.Submit("main button", "Save")
	tab.See(".flash.ok", "Saved.")
	tab.See("dl", "planned since 20")
	look(tab, "feedback-planned")
	tab.Submit("header a", "Feedback")
	tab.Gone("main table", title)
	tab.Submit("main .actions a", "planned")
	tab.See("main tr", title)
	tab.See("main .actions a[aria-current]", "planned")
	rows := d.acts(t, sent.text("feedback_id"))
	if len(rows) != 1 || rows[0].Action != "feedback.triage" || rows[0].Actor != person(store.RoleOperator) {
		t.Errorf("the audit log has %+v", rows)
	}
}

// mendingWebhook enables a webhook that ten failures have disabled, sees it work, and disables it for good.
func mendingWebhook(t *testing.T, d *desk, size browsertest.Size) {
	w := d.tenant(t, "Deaf ear, "+size.Name, 10_000)
	d.receives.Store(false)
	id := w.call(t, "POST", "/webhooks", `{"url":"`+d.receiver.URL+`/`+size.Name+`","events":["message"]}`).is(t, 201).text("webhook_id")
	w.call(t, "POST", "/messages", `{"body":"hello"}`).is(t, 201)
	tab := d.signIn(t, size, store.RoleOperator)
	tab.Go(d.url + "/admin/webhooks/" + id)
	seesByItself(tab, "#webhook", "disabled: failing")
	tab.See("#webhook tr", "500")
	lookTwice(tab, "webhook-failing")
	tab.Submit("main a.card, header a", "Webhooks")
	tab.See("#webhooks tr", d.receiver.URL+"/"+size.Name)
	look(tab, "webhooks")
	tab.Submit("#webhooks a", "at webhook "+id)
	tab.Submit("main a", "Enable…")
	look(tab, "webhook-enable")
	d.receives.Store(true)
	tab.Fill("#reason", "They made room")
	tab.Submit("main button", "Enable")
	tab.See(".flash.ok", "The webhook is enabled.")
	w.call(t, "POST", "/messages", `{"body":"again"}`).is(t, 201)
	seesByItself(tab, "#webhook tr .badge.ok", "200")
	look(tab, "webhook-enabled")
	tab.Submit("main a", "Disable…")
	tab.Fill("#reason", " ")
	refused(tab, "Disable", "reason", "must be 1 to 500", "webhook-disable-refused")
	tab.Fill("#reason", "The owner asked us to")
	tab.Submit("main button", "Disable")
	tab.See(".flash.ok", "The webhook is disabled.")
	tab.See("#webhook", "disabled: operator")
	if got := w.call(t, "GET", "/webhooks", "").is(t, 200).body["result"].([]any)[0].(map[string]any); got["active"] != false || got["disabled_reason"] != "operator" {
		t.Errorf("the API says %v", got)
	}
}

// seesByItself waits until a page that refreshes itself shows a text, as somebody who looks at the tab again and again.
func seesByItself(tab *browsertest.Tab, selector, text string) {
	browsertest.Eval[bool](tab, `(window.impatience = setInterval(() => document.dispatchEvent(new Event("visibilitychange")), 200), true)`)
	tab.See(selector, text)
	browsertest.Eval[bool](tab, `(clearInterval(window.impatience), true)`)
}
