package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
)

// inBackground makes a call and gives its error when it is answered.
func inBackground(ls *Lanes, ctx context.Context, workspace uuid.UUID, label string) <-chan error {
	errs := make(chan error, 1)
	go func() {
		var echo string
		_, err := ls.Do(ctx, noteCall(workspace, label, &echo))
		if err == nil && echo != label {
			err = fmt.Errorf("%s was answered %q", label, echo)
		}
		errs <- err
	}()
	return errs
}

// running waits until a call that sleeps or waits holds the lane, so that others queue up behind it.
func (nb *notebook) running() {
	nb.t.Helper()
	nb.until("a call sleeps on its lane", `select exists (select from pg_stat_activity
		where datname = current_database() and application_name like 'aanet lane%' and wait_event = 'PgSleep')`)
}

func queued(t *testing.T, ls *Lanes, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d calls are queued", n), func() bool {
		sum := 0
		for _, l := range ls.lanes {
			sum += l.queue.len()
		}
		return sum == n
	})
}

func TestCallsKeepTheOrderInWhichTheyCame(t *testing.T) {
	nb := openNotebook(t)
	l := nb.lane(nb.config)
	ws := uuid.New()
	calls := askAll(ws, numbered("call", 300)...) // several batches
	for _, a := range calls {
		if err := l.queue.put(a.pending); err != nil {
			t.Fatal(err)
		}
	}
	l.queue.close()
	l.run(t.Context())
	allOK(t, calls)
	same(t, "order", nb.labels(ws), numbered("call", 300)...)
}

// A caller that leaves before its call was sent leaves nothing behind; one that leaves later does not
// undo it, and may use its variables for something else at once (the race detector watches echo).
func TestACallerThatLeaves(t *testing.T) {
	nb := openNotebook(t)
	ls := nb.lanes(nb.config, 1)
	ws := uuid.New()
	sent, leaveSent := context.WithCancel(t.Context())
	queues, leaveQueue := context.WithCancel(t.Context())
	gone, allDone, left := make(chan struct{}), make(chan struct{}), make(chan string)
	go func() {
		echo := "untouched"
		_, err := ls.Do(sent, noteCall(ws, "wait", &echo))
		echo += fmt.Sprint(", still mine, ", errors.Is(err, context.Canceled))
		close(gone)
		<-allDone
		left <- echo
	}()
	nb.running()
	waits := inBackground(ls, queues, ws, "queued")
	queued(t, ls, 1)
	leaveQueue()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that waited: %v", err)
	}
	leaveSent()
	<-gone
	nb.openGate()
	if err := <-inBackground(ls, t.Context(), ws, "last"); err != nil {
		t.Error(err)
	}
	close(allDone)
	if echo := <-left; echo != "untouched, still mine, true" {
		t.Errorf("the variable of the caller that left became %q", echo)
	}
	same(t, "made", nb.labels(ws), "wait", "last")
}

// hold locks a workspace's row from another connection until the function it returns is called.
func (nb *notebook) hold(workspace uuid.UUID) (release func()) {
	nb.t.Helper()
	nb.exec(`insert into workspaces (workspace_id, label, created_at, last_ts, refusal_at) values ($1, 'held', now(), now(), now())`, workspace)
	nb.exec("begin")
	nb.exec("select from workspaces where workspace_id = $1 for update", workspace)
	return func() { nb.exec("rollback") }
}

func TestARowHeldByOthersDelaysItsNeighboursOnce(t *testing.T) {
	nb := openNotebook(t)
	l := nb.lane(nb.config)
	held, free := uuid.UUID{1}, uuid.UUID{2}
	release := nb.hold(held)
	for i := range 10 {
		neighbours, blocked := askAll(free, numbered(fmt.Sprint("batch ", i), 3)...), askAll(held, "x", "y")
		batch := l.refuseBlocked([]*pending{blocked[0].pending, neighbours[0].pending, blocked[1].pending, neighbours[1].pending, neighbours[2].pending})
		l.serve(t.Context(), batch)
		allOK(t, neighbours)
		for _, a := range blocked {
			if _, err := a.answer(t); !errors.Is(err, ErrUnavailable) {
				t.Errorf("a call of the held workspace: %v", err)
			}
		}
		if i == 0 {
			if until, ok := l.blocked[held]; !ok || time.Until(until) > blockedPause {
				t.Errorf("the workspace is set aside until %v", until)
			}
			l.blocked[held] = time.Now().Add(time.Hour) // however slow this machine is
		}
	}
	if undone := undoneBatches(t, l.metrics); undone != 1 {
		t.Errorf("%d batches were stopped by the row, want 1", undone)
	}
	release()
	l.blocked[held] = time.Now().Add(-time.Second) // the pause is over
	after := ask(held, "after")
	serve(l, []*asked{after})
	after.ok(t)
	l.refuseBlocked(nil)
	if len(l.blocked) != 0 {
		t.Errorf("%d workspaces are still set aside", len(l.blocked))
	}
	same(t, "made", nb.labels(held), "after")
}

func TestCloseAnswersWhatWasQueued(t *testing.T) {
	nb := openNotebook(t)
	ls := nb.lanes(nb.config, 1)
	ws := uuid.New()
	answers := []<-chan error{inBackground(ls, t.Context(), ws, "wait")}
	nb.running()
	for range 200 {
		answers = append(answers, inBackground(ls, t.Context(), ws, "queued"))
	}
	queued(t, ls, 200)
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	closed := make(chan error, 1)
	go func() { closed <- ls.Close(context.Background()) }()
	eventually(t, "new calls are refused", func() bool {
		return errors.Is(<-inBackground(ls, expired, ws, "too late"), ErrUnavailable)
	})
	nb.openGate()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	for _, a := range answers {
		if err := <-a; err != nil {
			t.Error(err)
		}
	}
	if made := len(nb.labels(ws)); made != 201 {
		t.Errorf("%d calls were made, want 201", made)
	}
}

func TestCloseThatMayNotWait(t *testing.T) {
	nb := openNotebook(t)
	ls := nb.lanes(nb.config, 1)
	ws := uuid.New()
	sent := inBackground(ls, t.Context(), ws, "sleep 30")
	nb.running()
	var answers []<-chan error
	for _, label := range numbered("queued", 10) {
		answers = append(answers, inBackground(ls, t.Context(), ws, label))
	}
	queued(t, ls, 10)
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	started := time.Now()
	if err := ls.Close(expired); !errors.Is(err, context.Canceled) {
		t.Errorf("Close: %v", err)
	}
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("Close took %v", took)
	}
	if err := <-sent; !errors.Is(err, ErrUnknown) {
		t.Errorf("the call that was sent: %v, want ErrUnknown", err)
	}
	for _, a := range answers {
		if err := <-a; !errors.Is(err, ErrUnavailable) {
			t.Errorf("a queued call: %v, want ErrUnavailable", err)
		}
	}
	nb.settled()
	same(t, "made", nb.labels(ws))
}

// Two workspaces on two lanes do not wait for each other.
func TestLanesRunBesideEachOther(t *testing.T) {
	nb := openNotebook(t)
	ls := nb.lanes(nb.config, 2)
	slow, quick := uuid.UUID{15: 0}, uuid.UUID{15: 1}
	waits := inBackground(ls, t.Context(), slow, "wait")
	nb.running()
	if err := <-inBackground(ls, t.Context(), quick, "quick"); err != nil {
		t.Error(err)
	}
	nb.openGate()
	if err := <-waits; err != nil {
		t.Error(err)
	}
}
