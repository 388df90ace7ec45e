package webhooks_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/billing"
	"aanet/store"
	"aanet/store/storetest"
	"aanet/webhooks"

	"github.com/prometheus/client_golang/prometheus"
)

type args = apitest.Args

// world is a service with its deliveries, which may reach loopback.
type world struct {
	*apitest.World
	t      testing.TB
	guard  *webhooks.Guard
	sealer *webhooks.Sealer
	roots  *x509.CertPool
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, roots: x509.NewCertPool(), sealer: webhooks.EphemeralSealer()}
	w.guard = webhooks.NewGuard(webhooks.GuardOptions{Prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	w.World = apitest.New(t, apitest.Options{Webhooks: api.WebhookConfig{Guard: w.guard, Sealer: w.sealer}})
	return w
}

// deliver starts an engine with short delays; change, when given, alters its options.
func (w *world) deliver(change func(*webhooks.Options)) *webhooks.Engine {
	w.t.Helper()
	return w.deliverFrom(w.Store, change)
}

func (w *world) deliverFrom(s *store.Store, change func(*webhooks.Options)) *webhooks.Engine {
	w.t.Helper()
	o := webhooks.Options{
		Store: s, Guard: w.guard, Sealer: w.sealer, Roots: w.roots, Retry: []time.Duration{5 * time.Millisecond},
		Price: int64(billing.WebhookAttempt), Registerer: prometheus.NewRegistry(), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	e, err := webhooks.Start(context.Background(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { w.stop(e) })
	return e
}

// stop may be called again.
func (w *world) stop(e *webhooks.Engine) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := e.Stop(ctx); err != nil {
		w.t.Errorf("stop: %v", err)
	}
}

// sound demands true books of every workspace.
func (w *world) sound() {
	w.t.Helper()
	if _, err := w.Store.VerifyLedger(w.t.Context(), func(d store.Difference) { w.t.Error(d) }); err != nil {
		w.t.Error(err)
	}
}

// request is what a receiver got.
type request struct {
	headers http.Header
	body    string
	at      time.Time
	gone    <-chan struct{} // closed when it is answered or given up
}

func (r request) id() string { return r.headers.Get("webhook-id") }

// receiver is an endpoint that records what it gets, whatever it answers.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	requests []request
}

// receiver opens an endpoint; answer is asked for the status with the number of the request, from 1.
func (w *world) receiver(answer func(n int, rw http.ResponseWriter)) *receiver {
	w.t.Helper()
	r := &receiver{}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		r.requests = append(r.requests, request{q.Header.Clone(), string(body), time.Now(), q.Context().Done()})
		n := len(r.requests)
		r.mu.Unlock()
		if answer != nil {
			answer(n, rw)
		}
	}))
	r.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	r.StartTLS()
	w.t.Cleanup(r.Close)
	w.roots.AddCert(r.Certificate())
	return r
}

func (r *receiver) got() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request(nil), r.requests...)
}

// wait waits for n requests at least and gives all.
func (r *receiver) wait(t testing.TB, n int) []request {
	t.Helper()
	eventually(t, fmt.Sprintf("%d requests", n), func() bool { return len(r.got()) >= n })
	return r.got()
}

// patience is for what comes at once unless the machine is busy: no verdict depends on it.
const patience = time.Minute

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// hook is a registered webhook.
type hook struct {
	ws         *apitest.Workspace
	id, secret string
}

// register registers for events; without any for all but balance_low, which depends on money.
func (w *world) register(ws *apitest.Workspace, url string, events ...string) hook {
	w.t.Helper()
	if events == nil {
		events = []string{webhooks.FileWrite, webhooks.FileDelete, webhooks.LockAvailable, webhooks.Message}
	}
	made := ws.Owner.OK(w.t, "register_webhook", args{"url": url, "events": events})
	return hook{ws, made.Text("webhook_id"), made.Text("secret")}
}

// deliveries are the attempts as the owner sees them, newest first.
func (h hook) deliveries(t testing.TB) []map[string]any {
	t.Helper()
	return h.ws.Owner.OK(t, "get_webhook_deliveries", args{"webhook_id": h.id, "limit": 200}).Rows()
}

// settled waits until n attempts are recorded and none is under way, and gives them.
func (h hook) settled(t testing.TB, n int) (rows []map[string]any) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d recorded attempts", n), func() bool {
		rows = h.deliveries(t)
		for _, row := range rows {
			if row["error"] == "in flight" {
				return false
			}
		}
		return len(rows) >= n
	})
	return rows
}

// state is the webhook's entry in the list.
func (h hook) state(t testing.TB) map[string]any {
	t.Helper()
	for _, row := range h.ws.Owner.OK(t, "list_webhooks", nil).Rows() {
		if row["webhook_id"] == h.id {
			return row
		}
	}
	t.Fatalf("webhook %s is not listed", h.id)
	return nil
}

// lookFor is room for so many endpoints of each standing.
func lookFor(n int) store.Room {
	return store.Room{Prompt: store.Look{Limit: n}, Unproven: store.Look{Limit: n}, Failing: store.Look{Limit: n}}
}

// shiftDue makes all that waits of a workspace due now.
func (w *world) shiftDue(workspace string) {
	w.t.Helper()
	storetest.Exec(w.t, w.DSN, `update webhooks set due_at = aanet_now() where workspace_id = $1 and due_at is not null`, workspace)
}
