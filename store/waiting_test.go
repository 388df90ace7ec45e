package store_test

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"aanet/store"
	"aanet/store/storetest"

	"github.com/google/uuid"
)

// inLine makes the call of a waiting acquire_lock by hand.
func (a account) inLine(key []byte, waiter, replica uuid.UUID, last bool) (r store.Result, waiting bool) {
	a.b.t.Helper()
	r, err := a.b.Do(a.b.t.Context(), store.Call{
		Function: "wait_for_lock", Workspace: a.id,
		Args: []any{key, nil, 2, "LOCK_ACQUIRE", 5, "l", 60, waiter, replica, last, nil},
		Into: []any{new(*time.Time), new(*int64), new(*bool), &waiting, new(*int64), new(*int64), new(*float64), new(*uuid.UUID)},
	})
	if err != nil {
		a.b.t.Fatal(err)
	}
	return r, waiting
}

// freeLock ends the lease of the lock that the account holds.
func (a account) freeLock() {
	a.b.t.Helper()
	a.must(a.call(nil, "release_lock", "LOCK_RELEASE", 0, []any{"l", nil}, 0))
}

// line is a lock held by the owner, and waiters in the order of their tickets.
func line(t *testing.T, replicas ...uuid.UUID) (a account, keys [][]byte, waiters []uuid.UUID) {
	t.Helper()
	b := openBooks(t, storetest.Database(t))
	a = b.open(uuid.New(), nil)
	a.must(a.call(nil, "acquire_lock", "LOCK_ACQUIRE", 5, []any{"l", 60, nil}, 3))
	for _, replica := range replicas {
		b.exec("insert into replicas (replica_id, beat_at) values ($1, aanet_now() + interval '1 hour') on conflict do nothing", replica) // however slow this machine is
		key, _ := a.mint()
		waiter := uuid.New()
		if _, waiting := a.inLine(key, waiter, replica, false); !waiting {
			t.Fatal("the lock is held and yet the call does not wait")
		}
		keys, waiters = append(keys, key), append(waiters, waiter)
	}
	return a, keys, waiters
}

func TestTicketsOfDeadReplicasArePassedOver(t *testing.T) {
	t.Parallel()
	dead, alive := uuid.New(), uuid.New()
	a, keys, waiters := line(t, dead, alive)
	a.b.exec("update replicas set beat_at = aanet_now() - interval '5 seconds' where replica_id = $1", dead)
	a.freeLock()
	if r, waiting := a.inLine(keys[1], waiters[1], alive, false); waiting || r.Cost != 5 {
		t.Errorf("the living one: %+v, waits: %v", r, waiting)
	}
	if n := a.b.number("select waiters from locks where workspace_id = $1", a.id); n != 1 {
		t.Errorf("%d wait", n)
	}
	a.b.exec("update lock_tickets set created_at = created_at - interval '3 minutes'")
	a.b.exec("update locks set lease_expires_at = aanet_now() where workspace_id = $1", a.id)
	a.must(a.call(nil, "acquire_lock", "LOCK_ACQUIRE", 5, []any{"l", 60, nil}, 3))
	if n := a.b.number("select waiters + (select count(*) from lock_tickets) from locks where workspace_id = $1", a.id); n != 0 {
		t.Errorf("%d old tickets are kept", n)
	}
	sound(t, a.b)
}

func TestEachTicketHasItsSecond(t *testing.T) {
	t.Parallel()
	replica := uuid.New()
	a, keys, waiters := line(t, replica, replica, replica)
	a.freeLock()
	second := func() { a.b.exec("update locks set reserved_until = aanet_now() where workspace_id = $1", a.id) }
	reserved := func(want int64) {
		t.Helper()
		if code, err := a.call(nil, "acquire_lock", "LOCK_ACQUIRE", 5, []any{"l", 60, nil}, 3); code != "LOCK_HELD" || err != nil {
			t.Fatalf("an acquire of others: %s, %v", code, err)
		}
		if got := a.b.number("select reserved_for from locks where workspace_id = $1 and reserved_until <= aanet_now() + interval '1 second'", a.id); got != want {
			t.Errorf("kept for ticket %d, want %d", got, want)
		}
		a.b.exec("update locks set reserved_until = aanet_now() + interval '1 hour' where workspace_id = $1", a.id) // until the test ends its second
	}
	reserved(1)
	if _, waiting := a.inLine(keys[1], waiters[1], replica, false); !waiting {
		t.Error("the second was served before the first")
	}
	second()
	reserved(2)
	var others bool
	if _, err := a.b.Do(t.Context(), store.Call{Function: "leave_lock", Workspace: a.id, Args: []any{"l", waiters[1]}, Into: []any{&others}}); err != nil || !others {
		t.Errorf("leaving in one's turn: others %v, %v", others, err)
	}
	reserved(1) // nobody has it, so the lowest again
	second()
	reserved(3)
	if r, _ := a.inLine(keys[0], waiters[0], replica, true); r.Code != "LOCK_HELD" {
		t.Errorf("the end of the first one's wait: %+v", r)
	}
	second()
	a.must(a.call(nil, "acquire_lock", "LOCK_ACQUIRE", 5, []any{"l", 60, nil}, 3)) // all had their second
	sound(t, a.b)
}

// TestLostNotesAreFound takes the connections of the notifier away, and then the notifier.
func TestLostNotesAreFound(t *testing.T) {
	t.Parallel()
	first := openBooks(t, storetest.Database(t))
	second := openBooks(t, first.dsn)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	var stops []func()
	for _, b := range []*books{first, second} {
		stop, err := b.StartNotifier(t.Context(), b.dsn, log)
		if err != nil {
			t.Fatal(err)
		}
		stops = append(stops, stop)
	}
	a := first.open(uuid.New(), nil)
	watch, err := second.Watch(t.Context(), a.id)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	woken := func(what string, within time.Duration) {
		t.Helper()
		a.must(a.write(nil, "f", "x"))
		wrote := time.Now()
		select {
		case <-watch.C:
			t.Logf("%s: %v", what, time.Since(wrote))
		case <-time.After(within):
			t.Fatalf("%s: not woken within %v", what, within)
		}
	}
	woken("with notes", time.Minute)
	first.exec("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'aanet notifier'")
	for range 3 {
		woken("while connections are lost", time.Minute)
	}
	for _, stop := range stops {
		stop()
	}
	woken("without notes", time.Minute)
}
