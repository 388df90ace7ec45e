package jobs_test

import (
	"log/slog"
	"regexp"
	"testing"
	"time"

	"aanet/api"
	"aanet/store/jobs"
)

func TestStartBeforeTheDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false, time.Millisecond)
	w.trial()
	w.takeAway()
	early := w.work()
	w.stop(early) // it can be stopped while it waits
	w.work()
	time.Sleep(300 * time.Millisecond)
	w.giveBack()
	if n := w.count("select count(*) from workspaces where freed_at is not null"); n != 0 {
		t.Fatal("it was freed without job tables")
	}
	if err := jobs.Migrate(t.Context(), w.dsn, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	w.eventually(1, "select count(*) from workspaces where freed_at is not null")
}

func TestDatabaseAwayForAWhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true, time.Millisecond)
	w.work()
	w.trial()
	w.eventually(1, "select count(*) from workspaces where freed_at is not null")
	w.takeAway()
	time.Sleep(900 * time.Millisecond)
	for deadline := time.Now().Add(time.Minute); w.log.String() == "" && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond) // until somebody has met it
	}
	w.giveBack()
	w.eventually(1, "select count(*) from workspaces where freed_at is not null")
	for w.service.Call(t.Context(), operation(t, "create_trial_workspace"), api.Request{}).Refusal != nil {
		time.Sleep(20 * time.Millisecond) // the lanes find back on their own
	}
	w.eventually(2, "select count(*) from workspaces where freed_at is not null")
	told := map[string]time.Time{}
	for _, line := range regexp.MustCompile(`time=(\S+) (level=\w+ msg="[^"]*")`).FindAllStringSubmatch(w.log.String(), -1) {
		at, err := time.Parse(time.RFC3339Nano, line[1])
		if err != nil {
			t.Fatal(err)
		}
		if before, again := told[line[2]]; again && at.Sub(before) < 20*time.Second {
			t.Errorf("told again after %v: %s", at.Sub(before), line[2])
		}
		told[line[2]] = at
	}
	if len(told) == 0 {
		t.Error("nobody was told that the database was away")
	}
}
