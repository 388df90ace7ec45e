package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aanet/store/storetest"
)

// TestClientsWhoHangUp drops connections in the middle of appends: what is stored, logged and paid for agree.
func TestClientsWhoHangUp(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	p := serving(t, dsn)
	l := newLoad(t, p, dsn, 1)
	l.settled(1)
	var all sync.WaitGroup
	var hungUp atomic.Int32
	for i := range 200 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%5)*time.Millisecond)
			defer cancel()
			url, body := p.url+"/v1/workspaces/"+l.ws+"/files/log", fmt.Sprintf(`{"content":"<hung up %d>"}`, i)
			if i%2 == 1 {
				url, body = p.url+"/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"aanet_append_file","arguments":{"path":"log","content":"<hung up %d>"}}}`, i)
			}
			r, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+l.key)
			response, err := clients.Do(r)
			if err != nil {
				hungUp.Add(1)
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		})
	}
	all.Wait()
	if hungUp.Load() == 0 {
		t.Error("nobody hung up")
	}
	l.settled(5) // what was sent before is done by now
	l.check(dsn)
}

// TestManyCallsOnFewConnections: 200 calls of all kinds at once on one lane all come through, and health checks
// beside them.
func TestManyCallsOnFewConnections(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	p := serving(t, dsn, "AANET_LANES=1")
	made := must(t, p.url, "POST", "/v1/workspaces", "", `{"label":"many"}`)
	ws, key := made.string("workspace_id"), made.string("owner_key")
	operates(t, []string{"DATABASE_URL=" + dsn}, "operator", "credit", ws, "100000", "--reason", "many")
	kinds := []struct{ method, path, body string }{
		{"PUT", "/files/f", `{"content":"x"}`}, {"GET", "/activity", ""}, {"GET", "/subkeys", ""}, {"POST", "/messages", `{"body":"x"}`},
		{"GET", "/forecast", ""}, {"GET", "/activity/summary", ""}, {"POST", "/subkeys", `{"label":"x"}`}, {"GET", "/files", ""},
	}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			k := kinds[i%len(kinds)]
			if r := ask(t, p.url, k.method, "/v1/workspaces/"+ws+k.path, key, k.body); r.status < 200 || r.status > 299 {
				t.Errorf("%s %s: %d %s", k.method, k.path, r.status, r.text)
			}
			if i%20 == 0 {
				r := ask(t, p.url, "GET", "/readyz", "", "")
				for end := time.Now().Add(patience); r.status == 503 && time.Now().Before(end); { // it asks the database for a second only
					r = ask(t, p.url, "GET", "/readyz", "", "")
				}
				if r.status != 200 {
					t.Errorf("/readyz: %d", r.status)
				}
			}
		})
	}
	all.Wait()
	if out := operates(t, []string{"DATABASE_URL=" + dsn}, "verify", "ledger"); !strings.Contains(out, " 0 differences") {
		t.Errorf("verify ledger prints %q", out)
	}
}
