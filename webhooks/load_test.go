package webhooks_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"aanet/api/apitest"
	"aanet/webhooks"
)

// A receiver that never answers is tried alone, while those beside it get all their events at once.
func TestABlackHoleHoldsUpNobodyElse(t *testing.T) {
	w := newWorld(t)
	w.deliver(func(o *webhooks.Options) { o.Timeout = 4 * time.Second })
	release := make(chan struct{})
	hole := w.receiver(func(int, http.ResponseWriter) { <-release })
	t.Cleanup(func() { close(release) })
	const healthy, events = 6, 40
	all := make([]*receiver, healthy)
	writers := make([]*apitest.Workspace, healthy)
	for i := range all {
		all[i], writers[i] = w.receiver(nil), w.Workspace(t, 100_000)
		w.register(writers[i], all[i].URL, "message")
	}
	dead := w.register(writers[0], hole.URL, "message") // in a workspace with a healthy one
	sent := 0
	deliver := func(n int) {
		apitest.Together(healthy, func(i int) {
			for range n {
				writers[i].Owner.Send(t, "x")
			}
		})
		sent += n
		for _, r := range all {
			r.wait(t, sent)
		}
	}
	deliver(1)
	// All others are served before one attempt at the hole ends. A busy machine may be too slow for the first.
	for attempts := 1; ; attempts++ {
		tried := hole.wait(t, attempts)
		deliver(5)
		if !over(tried[len(tried)-1]) {
			break
		}
		if attempts == webhooks.FailuresMax-1 {
			t.Fatal("the healthy wait until the black hole is given up")
		}
	}
	deliver(events - sent%events)
	for i, r := range all {
		if n := len(r.got()); n != sent {
			t.Errorf("receiver %d got %d requests for %d events", i, n, sent)
		}
	}
	eventually(t, "an attempt at the black hole ends", func() bool {
		rows := dead.deliveries(t)
		oldest := rows[len(rows)-1]
		return oldest["error"] == "timed out" && oldest["status_code"] == nil
	})
	under := 0
	for _, row := range dead.deliveries(t) {
		if row["error"] == "in flight" {
			under++
		}
	}
	if under > 1 {
		t.Errorf("%d attempts at the black hole at a time", under)
	}
}

// over tells whether a request was answered or given up.
func over(r request) bool {
	select {
	case <-r.gone:
		return true
	default:
		return false
	}
}

// Two engines share the endpoints: in order with a window of one, and nothing twice; when one stops, the other goes on.
func TestTwoEnginesOnOneDatabase(t *testing.T) {
	w := newWorld(t)
	other := w.Replica(t)
	change := func(o *webhooks.Options) { o.Window = 1 }
	first := w.deliver(change)
	w.deliverFrom(other.Store, change)
	const endpoints, events = 4, 60
	all := make([]*receiver, endpoints)
	hooks := make([]hook, endpoints)
	for i := range all {
		ws := w.Workspace(t, 100_000)
		all[i] = w.receiver(nil)
		hooks[i] = w.register(ws, all[i].URL, "file_write")
	}
	apitest.Together(endpoints, func(i int) {
		replicas := []apitest.Agent{hooks[i].ws.Owner, hooks[i].ws.On(other).Owner}
		for n := range events {
			replicas[n%2].Write(t, fmt.Sprintf("f%03d", n), "x")
			if i == 0 && n == events/2 {
				w.stop(first)
			}
		}
	})
	for i, r := range all {
		got := r.wait(t, events)
		if len(got) != events {
			t.Errorf("endpoint %d: %d requests for %d events", i, len(got), events)
		}
		for n, q := range got {
			if !strings.Contains(q.body, fmt.Sprintf(`"f%03d"`, n)) {
				t.Errorf("endpoint %d: event %d is %s", i, n, q.body)
				break
			}
		}
		hooks[i].settled(t, events)
	}
	w.sound()
}

// Deliveries beside writes, revocations, deletions and changes of webhooks on the same workspaces: no
// deadlock and no failed call (the world fails the test for any 5xx and whatever is logged as an error).
func TestDeliveriesBesideEverythingElse(t *testing.T) {
	w := newWorld(t)
	other := w.Replica(t)
	for _, s := range []*apitest.World{w.World, other} {
		w.deliverFrom(s.Store, func(o *webhooks.Options) { o.Timeout = time.Second })
	}
	good := w.receiver(nil)
	bad := w.receiver(func(_ int, rw http.ResponseWriter) { rw.WriteHeader([]int{200, 500, 503, 410}[rand.IntN(4)]) })
	until := time.Now().Add(3 * time.Second)
	var all sync.WaitGroup
	for range 4 {
		ws := w.Workspace(t, 1_000_000)
		for i := range 3 {
			all.Go(func() { writes(t, until, ws.On([]*apitest.World{w.World, other}[i%2])) })
		}
		all.Go(func() { hooksComeAndGo(t, until, w, ws, good, bad) })
	}
	all.Go(func() {
		for time.Now().Before(until) {
			ws := w.Workspace(t, 1000)
			w.register(ws, good.URL)
			for i := range 5 {
				ws.Owner.Write(t, fmt.Sprint(i), "x")
			}
			ws.Owner.OK(t, "delete_workspace", nil)
		}
	})
	all.Wait()
	w.sound()
}

func writes(t *testing.T, until time.Time, ws *apitest.Workspace) {
	for time.Now().Before(until) {
		a := ws.Mint(t)
		a.Write(t, "f"+a.ID, "x")
		a.Acquire(t, "l"+a.ID, 60)
		a.Send(t, "x")
		ws.Owner.OK(t, "delete_file", args{"path": "f" + a.ID})
		ws.Revoke(t, a)
	}
}

func hooksComeAndGo(t *testing.T, until time.Time, w *world, ws *apitest.Workspace, good, bad *receiver) {
	w.register(ws, good.URL)
	for time.Now().Before(until) {
		h := w.register(ws, bad.URL)
		time.Sleep(20 * time.Millisecond)
		ws.Owner.Call(t, "ping_webhook", args{"webhook_id": h.id})
		ws.Owner.OK(t, "enable_webhook", args{"webhook_id": h.id})
		ws.Owner.OK(t, "rotate_webhook_secret", args{"webhook_id": h.id})
		ws.Owner.OK(t, "delete_webhook", args{"webhook_id": h.id})
	}
}
