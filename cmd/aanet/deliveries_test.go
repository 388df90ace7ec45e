package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"aanet/store/storetest"
)

// inbox is a receiver of webhooks: what arrived under each webhook-id.
type inbox struct {
	*httptest.Server
	mu     sync.Mutex
	bodies map[string][]string
}

// openInbox answers each request after a while, so that some are under way at any time.
func openInbox(t *testing.T, after time.Duration) (*inbox, []string) {
	t.Helper()
	b := &inbox{bodies: map[string][]string{}}
	b.Server = httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		b.bodies[r.Header.Get("webhook-id")] = append(b.bodies[r.Header.Get("webhook-id")], string(text))
		b.mu.Unlock()
		time.Sleep(after)
	}))
	t.Cleanup(b.Close)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return b, []string{"AANET_WEBHOOK_ALLOW_PRIVATE=127.0.0.0/8", "AANET_WEBHOOK_CA_FILE=" + roots, "AANET_WEBHOOK_RETRY=50ms"}
}

// holds tells how many of the paths arrived, and how many events arrived more than once.
func (b *inbox) holds(t *testing.T, paths map[string]bool) (arrived, repeated int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, all := range b.bodies {
		for _, body := range all {
			if body != all[0] || !strings.Contains(body, `"id":"`+id+`"`) {
				t.Errorf("event %s came as %s and as %s", id, all[0], body)
			}
		}
		if len(all) > 1 {
			repeated++
		}
		_, path, _ := strings.Cut(all[0], `"path":"`)
		path, _, _ = strings.Cut(path, `"`)
		if !paths[path] {
			t.Errorf("an event of a call that was not done: %s", all[0])
		}
		arrived++
	}
	return arrived, repeated
}

// laterBy is the database for a process for which it is later by that much.
func laterBy(t *testing.T, dsn string, by time.Duration) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme == "" {
		return dsn + " aanet.clock_shift='" + by.String() + "'"
	}
	query := u.Query()
	query.Set("aanet.clock_shift", by.String())
	u.RawQuery = query.Encode()
	return u.String()
}

// TestKilledBesideDeliveries: replicas are killed in the middle of attempts, and every event arrives, with one body.
// What was under way is sent again by whoever finds the lease over; nothing else is sent twice.
func TestKilledBesideDeliveries(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	b, env := openInbox(t, 30*time.Millisecond)
	replicas := []*proc{serving(t, dsn, env...), serving(t, dsn, env...)}
	made := must(t, replicas[0].url, "POST", "/v1/workspaces", "", `{"label":"x"}`)
	ws, key := "/v1/workspaces/"+made.string("workspace_id"), made.string("owner_key")
	spawn(t, serviceOn(dsn), "operator", "credit", made.string("workspace_id"), "1000000", "--reason", "a test").end(t, patience, true)
	must(t, replicas[0].url, "POST", ws+"/webhooks", key, fmt.Sprintf(`{"url":%q,"events":["file_write"]}`, b.URL))

	paths := map[string]bool{} // of writes that may have happened
	done := 0
	for n := range 120 {
		p := replicas[n%2]
		path := fmt.Sprintf("f%03d", n)
		r := ask(t, p.url, "PUT", ws+"/files/"+path, key, `{"content":"x"}`)
		if r.status == 201 || r.status == 0 {
			paths[path] = true
		}
		if r.status == 201 {
			done++
		}
		ask(t, p.url, "PUT", ws+"/files/"+path, key, `{"content":"x","if_match":"old"}`) // refused: no event
		if n == 60 {
			replicas[0].kill(syscall.SIGKILL)
			replicas[0].end(t, patience, false)
			replicas[0] = replicas[1]
		}
	}
	replicas[1].kill(syscall.SIGKILL)
	replicas[1].end(t, patience, false)
	// Leases of the dead are over for one for which it is two minutes later.
	last := serving(t, laterBy(t, dsn, 2*time.Minute), env...)
	eventually(t, "all events", func() bool {
		arrived, _ := b.holds(t, paths)
		return arrived >= done
	})
	var unknown int
	eventually(t, "all attempts to end", func() bool {
		hook := must(t, last.url, "GET", ws+"/webhooks", key, "").body["result"].([]any)[0].(map[string]any)["webhook_id"].(string)
		text := must(t, last.url, "GET", ws+"/webhooks/"+hook+"/deliveries?limit=200", key, "").text
		unknown = strings.Count(text, `"error":"unknown"`)
		return !strings.Contains(text, `"in flight"`)
	})
	if _, repeated := b.holds(t, paths); repeated > unknown {
		t.Errorf("%d events came twice, but only %d attempts were cut off", repeated, unknown)
	}
	last.kill(syscall.SIGTERM)
	last.end(t, patience, true)
	spawn(t, serviceOn(dsn), "verify", "ledger").end(t, patience, true)
	t.Logf("%d events, %d attempts cut off", done, unknown)
}
