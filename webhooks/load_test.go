package webhooks_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
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
	const timeout = 4 * time.Second
	w.deliver(func(o *webhooks.Options) { o.Timeout = timeout })
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
	sent := make([]map[string]time.Time, healthy)
	apitest.Together(healthy, func(i int) {
		sent[i] = map[string]time.Time{}
		for n := range events {
			id := writers[i].Owner.OK(t, "send_message", args{"body": fmt.Sprint(n)}).Text("message_id")
			sent[i][id] = time.Now()
			time.Sleep(5 * time.Millisecond)
		}
	})
	var late []time.Duration
	for i, r := range all {
		for _, q := range r.wait(t, events) {
			for id, at := range sent[i] {
				if strings.Contains(q.body, id) {
					late = append(late, q.at.Sub(at))
				}
			}
		}
		if n := len(r.got()); n != events {
			t.Errorf("receiver %d got %d requests for %d events", i, n, events)
		}
	}
	slices.Sort(late)
	t.Logf("healthy: p50 %v, p99 %v, worst %v; the black hole had %d requests", late[len(late)/2], late[len(late)*99/100], late[len(late)-1], len(hole.got()))
	if worst := late[len(late)-1]; worst > timeout/2 {
		t.Errorf("a healthy receiver waited %v", worst)
	}
	if n := len(hole.got()); n > 2 {
		t.Errorf("the black hole was tried %d times", n)
	}
	rows := dead.settled(t, 1)
	if oldest := rows[len(rows)-1]; oldest["error"] != "timed out" || oldest["status_code"] != nil {
		t.Errorf("an attempt at the black hole: %v", oldest)
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
	until := time.Now().Add(6 * time.Second)
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
