package admin_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"aanet/api/web/browsertest"
	"aanet/store"
	"aanet/store/storetest"
)

// everyPage are the pages that show what a tenant wrote, and those around them.
func (f *furnished) everyPage(t *testing.T) []string {
	t.Helper()
	ws, refund, deposit, webhook := "/admin/workspaces/"+f.ws.ID, "/admin/refunds/"+f.refund.String(), "/admin/deposits/"+f.deposit.String(), "/admin/webhooks/"+f.webhook.String()
	return []string{
		"/admin/refunds", refund, refund + "?tx=" + transaction(), refund + "?tx=" + url.QueryEscape(evil), refund + "/reject",
		"/admin/deposits", deposit, deposit + "/credit", deposit + "/fail", "/admin/webhooks", webhook, webhook + "/disable",
		"/admin/feedback", "/admin/feedback/" + f.feedback.String(), ws + "/block", ws + "/unblock", ws + "/credit",
		"/admin/operators", "/admin/operators/" + f.idOf(t, person(store.RoleAdmin)).String(), "/admin/audit",
		"/admin/audit?actor=" + url.QueryEscape(evil), "/admin/account", "/admin/nowhere",
	}
}

// spread puts hostile text where the service itself or an operator writes, too.
func (f *furnished) spread(t *testing.T) {
	t.Helper()
	for _, statement := range []string{
		`update webhooks set active = false, failures = 10, disabled_reason = 'failing', disabled_at = now(), url = url || $1`,
		`insert into webhook_attempts (workspace_id, delivery_id, webhook_id, log_seq, seq, event_type, attempt, started_at, finished, duration_ms, error)
			select workspace_id, gen_random_uuid(), webhook_id, 1, 1, 'message', 1, now(), true, 15000, $1 from webhooks`,
		`update deposits set reason = $1, facilitator = $1`,
		`update feedback set notes = $1`,
		`update operators set name = $1`,
	} {
		storetest.Exec(t, f.DSN, statement, evil)
	}
	if err := f.Store.Block(t.Context(), store.Act{By: evil, Reason: evil}, mustID(t, f.ws.ID), true); err != nil {
		t.Fatal(err)
	}
}

// Whatever a tenant writes is text: nothing of it is markup, and no link leads out of the dashboard.
func TestHostileText(t *testing.T) {
	f := furnish(t, nil)
	f.spread(t)
	b := f.as(t, store.RoleAdmin)
	shown := 0
	for _, path := range f.everyPage(t) {
		p := b.get(path)
		if p.status != 200 && path != "/admin/nowhere" {
			t.Errorf("%s: %d %s", path, p.status, p.text())
		}
		if strings.Contains(p.body, "<img") || strings.Contains(p.body, "</script><script>") || strings.Contains(p.body, "onerror=alert(1)>") {
			t.Errorf("%s holds markup of a tenant:\n%s", path, p.body)
		}
		shown += strings.Count(p.text(), "<img src=x onerror=alert(1)>")
		for _, link := range regexp.MustCompile(`(?:href|src|action)="([^"]*)"`).FindAllStringSubmatch(p.body, -1) {
			if !strings.HasPrefix(link[1], "/admin") && !strings.HasPrefix(link[1], "/assets/") && link[1] != "#main" {
				t.Errorf("%s leads to %q", path, link[1])
			}
		}
		if found := regexp.MustCompile(`(?i)<script(?:>| [^>]*>[^<])|\sstyle=|\son\w+="`).FindString(p.body); found != "" {
			t.Errorf("%s has something inline: %s", path, found)
		}
	}
	if shown < 15 {
		t.Errorf("the text is shown %d times, so it is not tested", shown)
	}
}

// None of that text breaks a page in a real browser, at either size: nothing against the policy, no error on the console,
// and nothing that is too wide.
func TestHostileTextInABrowser(t *testing.T) {
	f := furnish(t, nil)
	f.spread(t)
	ws, _ := f.stage(t)
	pages := f.everyPage(t)
	for _, part := range []string{"", "/activity", "/keys", "/files", "/locks", "/webhooks", "/money"} {
		pages = append(pages, "/admin/workspaces/"+ws.ID+part)
	}
	pages = append(pages, "/admin", "/admin/workspaces", "/admin/search?q="+url.QueryEscape(evil))
	for _, size := range browsertest.Sizes {
		tab := browsertest.Open(t, size, browsertest.Light)
		tab.Go(f.url + "/admin/login")
		tab.Fill("#email", person(store.RoleAdmin))
		tab.Fill("#password", password)
		tab.Submit("main button", "Sign in")
		tab.Expect("status of 404")
		for _, page := range pages {
			tab.Go(f.url + page)
			tab.Glance()
		}
		tab.Shot("search")
		tab.Go(f.url + "/admin/refunds/" + f.refund.String() + "?tx=" + transaction())
		tab.Shot("refund")
	}
}

// A list that is open shows what came since by itself, and says so when the session is over.
func TestListsRefreshThemselves(t *testing.T) {
	f := furnish(t, nil)
	tab := browsertest.Open(t, browsertest.Desktop, browsertest.Light)
	tab.Go(f.url + "/admin/login")
	tab.Fill("#email", person(store.RoleViewer))
	tab.Fill("#password", password)
	tab.Submit("main button", "Sign in")
	tab.Go(f.url + "/admin/refunds")
	tab.See("#refunds", "$9.98")
	f.ws.Credit(t, 500_000)
	second := f.askBack(t)
	look := func() { // as somebody who comes back to the tab, instead of waiting for the next turn
		browsertest.Eval[bool](tab, `document.dispatchEvent(new Event("visibilitychange"))`)
	}
	look()
	tab.See("#refunds", "$4.98")
	tab.See("#refunds .hidden", second.String())
	tab.Expect("401")
	if err := f.operators.LogoutEverywhere(t.Context(), store.Act{By: "cli:test"}, f.idOf(t, person(store.RoleViewer))); err != nil {
		t.Fatal(err)
	}
	look()
	tab.See("#live-note", "You are signed out")
}
