package store_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aanet/store"
	"aanet/store/storetest"

	"github.com/google/uuid"
)

// soak is how long replicas work against each other: AANET_TEST_SOAK, a Go duration, or two seconds.
func soak(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("AANET_TEST_SOAK")
	if text == "" {
		return 2 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// tenant is a workspace that two replicas work for at the same time.
type tenant struct {
	through  []account // the same workspace through either replica
	keys     [][]byte
	subkeys  []uuid.UUID
	writes   atomic.Int64 // calls answered OK
	appends  atomic.Int64
	messages atomic.Int64
}

// Two replicas write to the same workspaces in batches that overlap, while an owner changes the keys.
// No deadlock, no lost update, and the books add up to what the callers were told.
func TestTwoReplicasOnTheSameWorkspaces(t *testing.T) {
	first := openBooks(t, storetest.Database(t))
	second := openBooks(t, first.dsn)
	var tenants []*tenant
	for range 6 {
		tenants = append(tenants, newTenant(t, first, second))
	}
	stop, late := time.Now().Add(soak(t)), time.Now().Add(soak(t)+2*time.Minute)
	var done, busy atomic.Int64 // calls answered OK, and those that were told to come again
	more := func() bool {
		return time.Now().Before(stop) || done.Load() < 200 && time.Now().Before(late) // a busy machine does few in so short a time
	}
	var group sync.WaitGroup
	for replica := range 2 {
		for worker := range 16 {
			group.Go(func() {
				for n := worker; more() && !t.Failed(); n++ {
					w := tenants[0] // half of all calls meet in one workspace
					if n%2 == 1 {
						w = tenants[n/2%len(tenants)]
					}
					if err := w.work(replica, worker, n); errors.Is(err, store.ErrUnavailable) {
						busy.Add(1)
					} else if err != nil {
						t.Error(err)
					} else {
						done.Add(1)
					}
				}
			})
		}
	}
	group.Wait()
	sound(t, first)
	calls := int64(0)
	for _, w := range tenants {
		calls += w.check(t, first)
	}
	if calls < 100 || done.Load() < 200 {
		t.Errorf("only %d calls of %d changed something", calls, done.Load())
	}
	t.Logf("%d calls were done, %d turned away", done.Load(), busy.Load())
}

func newTenant(t *testing.T, replicas ...*books) *tenant {
	t.Helper()
	owner := replicas[0].open(uuid.New(), nil)
	if err := replicas[0].Credit(t.Context(), store.Act{By: "cli:test", Reason: "for a long run"}, owner.id, uuid.New(), 1_000_000_000, true); err != nil {
		t.Fatal(err)
	}
	w := &tenant{}
	for range 8 {
		key, subkey := owner.mint()
		w.keys, w.subkeys = append(w.keys, key), append(w.subkeys, subkey)
	}
	for _, b := range replicas {
		w.through = append(w.through, account{b, owner.id, owner.key})
	}
	return w
}

// work makes one call through a replica and counts it once it was answered OK.
func (w *tenant) work(replica, worker, n int) error {
	a, key := w.through[replica], w.keys[worker%len(w.keys)]
	var code string
	var err error
	var done *atomic.Int64
	switch n % 7 {
	case 0, 1, 2:
		done = &w.writes
		code, err = a.write(key, fmt.Sprintf("file%d", n%5), "content")
	case 3, 4:
		done = &w.appends
		code, err = a.call(key, "append_file", "APPEND_FILE", 10, []any{"log", []string{}, "x", 1, nil, 1 << 30, nil, nil, nil}, 2)
	case 5:
		done = &w.messages
		code, err = a.call(key, "send_message", "SEND_MESSAGE", 3, []any{uuid.New(), "hello", nil, nil, nil}, 1)
	default:
		done = new(atomic.Int64)
		code, err = a.call(nil, "update_subkey", "UPDATE_SUBKEY", 0, []any{w.subkeys[n%len(w.subkeys)], nil, 1_000_000_000 + n, nil, nil, nil, nil}, 8)
	}
	if err == nil && code != "" {
		return fmt.Errorf("call %d was refused: %s", n%7, code)
	}
	if err == nil {
		done.Add(1)
	}
	return err
}

// check compares the tables with what the callers were told, and gives the number of calls.
func (w *tenant) check(t *testing.T, b *books) int64 {
	t.Helper()
	id := w.through[0].id
	writes, appends, messages := w.writes.Load(), w.appends.Load(), w.messages.Load()
	for what, c := range map[string]struct {
		sql  string
		want int64
	}{
		"rows of writes":   {"select count(*) from activity where workspace_id = $1 and operation = 'PUT_FILE'", writes},
		"rows of appends":  {"select count(*) from activity where workspace_id = $1 and operation = 'APPEND_FILE'", appends},
		"bytes appended":   {"select coalesce(sum(size), 0) from files where workspace_id = $1 and path = 'log'", appends},
		"messages":         {"select count(*) from messages where workspace_id = $1", messages},
		"units spent":      {"select spent from workspaces where workspace_id = $1", 10*writes + 10*appends + 3*messages},
		"numbers left out": {"select max(seq) - count(*) from activity where workspace_id = $1", 0},
		"rows not after the last": {`select count(*) from (select ts <= lag(ts) over (order by seq) as late
			from activity where workspace_id = $1) as rows where late`, 0},
	} {
		if got := b.number(c.sql, id); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
	return writes + appends + messages
}
