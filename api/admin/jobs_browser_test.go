package admin_test

import (
	"context"
	"testing"
	"time"

	"aanet/api/web/browsertest"
	"aanet/store"
)

// lookingAtJobs goes to River's own pages and back by the bar that lies over them, which is all that is ours there.
func lookingAtJobs(t *testing.T, d *desk, size browsertest.Size) {
	tab := d.signIn(t, size, store.RoleOperator)
	tab.Expect("/admin/jobs/api/") // what River asks for again and again, it may leave unanswered when it is left
	tab.Expect("Failed to fetch")
	tab.Submit("header a", "Jobs")
	tab.See(".aanet-bar", "Jobs")
	for name, page := range map[string]struct{ path, shows string }{
		"jobs": {"/jobs?state=completed", "expire_trials"}, "queues": {"/queues", "maintenance"},
	} {
		tab.Go(d.url + "/admin/jobs" + page.path)
		tab.See("main", page.shows)
		tab.CheckOf(".aanet-bar")
		tab.Shot(name)
	}
	tab.Go(d.url + "/admin/jobs/jobs?state=completed")
	tab.Click("main a", "expire_trials")
	tab.See("main", "Attempt")
	tab.See(".aanet-bar [aria-current]", "Jobs")
	tab.Shot("job")
	tab.Submit(".aanet-bar a", "AANet operators")
	tab.See("h1", "Overview")
	tab.See("#live-machine tr", "expire_trials")
}

// stopped ends something that works in the background.
func stopped(t *testing.T, one interface{ Stop(context.Context) error }) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := one.Stop(ctx); err != nil {
		t.Error(err)
	}
}
