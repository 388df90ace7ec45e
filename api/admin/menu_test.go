package admin_test

import (
	"net/url"
	"regexp"
	"testing"
	"time"

	"aanet/api/apitest"
	"aanet/store"
	"aanet/store/storetest"
)

var menu = regexp.MustCompile(`(?s)<nav aria-label="Main".*?</nav>`)

// The menu says what waits, in numbers and in words. All viewers are told the same for five seconds; who has done something
// sees that at once, and so do the others.
func TestTheMenuCountsWhatWaits(t *testing.T) {
	f := furnish(t, nil)
	viewer, b := f.as(t, store.RoleViewer), f.as(t, store.RoleOperator)
	reads := func(when string, p page, want string) {
		t.Helper()
		if got := (page{body: menu.FindString(p.body)}).text(); got != want {
			t.Errorf("%s the menu reads %q, want %q", when, got, want)
		}
	}
	const quiet = "Overview Workspaces Refunds 1 waiting Deposits Webhooks Feedback 1 open Prices Jobs Audit"
	const busy = "Overview Workspaces Refunds 1 waiting Deposits 1 open for over ten minutes Webhooks 1 failing Feedback 2 open Prices Jobs Audit"
	reads("at first", viewer.see("/admin/prices"), quiet)
	reads("at first", viewer.see("/admin"), quiet)
	f.ws.Owner.OK(t, "submit_feedback", apitest.Args{"category": "bug", "title": "another", "description": "x", "pledged_budget_usd": "0"})
	storetest.Exec(t, f.DSN, `update deposits set created_at = created_at - interval '11 minutes', settling_at = settling_at - interval '11 minutes'`)
	storetest.Exec(t, f.DSN, `update webhooks set failures = 3`)
	f.clock.pass(4 * time.Second)
	reads("four seconds later", viewer.see("/admin/prices"), quiet)
	reads("four seconds later", viewer.see("/admin"), quiet)
	f.clock.pass(time.Second)
	reads("five seconds later", viewer.see("/admin/prices"), busy)
	reads("five seconds later", viewer.see("/admin"), busy)
	rejected := b.done("/admin/refunds/"+f.refund.String()+"/reject", url.Values{"reason": {"no"}})
	const left = "Overview Workspaces Refunds Deposits 1 open for over ten minutes Webhooks 1 failing Feedback 2 open Prices Jobs Audit"
	reads("after a rejection", rejected, left)
	reads("after a rejection", b.see("/admin", "nothing to pay"), left)
	reads("to another viewer", viewer.see("/admin", "nothing to pay"), left)
}
