package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"aanet/store/storetest"
)

// beside makes a call beside the test.
func beside(t *testing.T, url, method, path, key, body string) <-chan reply {
	answer := make(chan reply, 1)
	go func() { answer <- ask(t, url, method, path, key, body) }()
	return answer
}

// waits returns when so many calls wait in a process.
func (p *proc) waits(t *testing.T, calls int) {
	t.Helper()
	eventually(t, fmt.Sprint(calls, " calls wait"), func() bool {
		return strings.Contains(p.metrics(t), fmt.Sprintf("\naanet_waiting_calls %d\n", calls))
	})
}

// tickets returns when so many calls stand in line for locks.
func tickets(t *testing.T, dsn string, want int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	eventually(t, fmt.Sprint(want, " tickets"), func() (ok bool) {
		if err := conn.QueryRow(t.Context(), "select count(*) = $1 from lock_tickets", want).Scan(&ok); err != nil {
			t.Fatal(err)
		}
		return ok
	})
}

// TestTerminatedWhileCallsWait: a stop does not wait for those who wait.
func TestTerminatedWhileCallsWait(t *testing.T) {
	t.Parallel()
	p := serving(t, storetest.Database(t))
	trial := must(t, p.url, "POST", "/v1/workspaces/trial", "", "")
	path, key := "/v1/workspaces/"+trial.string("workspace_id"), trial.string("owner_key")
	inbox := beside(t, p.url, "GET", path+"/messages?wait_seconds=50", key, "")
	events := beside(t, p.url, "GET", path+"/events?wait_seconds=50", key, "")
	stream, err := http.NewRequestWithContext(t.Context(), "GET", p.url+path+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream.Header.Set("Accept", "text/event-stream")
	stream.Header.Set("Authorization", "Bearer "+key)
	open, err := clients.Do(stream)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Body.Close()
	p.waits(t, 3)
	p.kill(syscall.SIGTERM)
	p.end(t, promptly, true)
	for what, answer := range map[string]<-chan reply{"messages": inbox, "events": events} {
		if r := <-answer; r.status != 200 || r.header.Get("X-AANet-Cost") != "1" {
			t.Errorf("%s: %d %s", what, r.status, r.text)
		}
	}
	if text, err := io.ReadAll(open.Body); err != nil || !strings.HasPrefix(string(text), "id: ") {
		t.Errorf("the stream ends with %v after %q", err, text)
	}
	if strings.Contains(p.log.String(), `"level":"ERROR"`) {
		t.Errorf("errors were logged:\n%s", p.log.String())
	}
}

// TestReplicaKilledWhileItsCallsWait: the tickets of a process that is no more do not hold up the others,
// and a commit of one process wakes those who wait in another.
func TestReplicaKilledWhileItsCallsWait(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	p, other := serving(t, dsn), serving(t, dsn)
	trial := must(t, p.url, "POST", "/v1/workspaces/trial", "", "")
	path, key := "/v1/workspaces/"+trial.string("workspace_id"), trial.string("owner_key")
	agent := must(t, p.url, "POST", path+"/subkeys", key, `{"label":"an agent"}`).string("key")
	must(t, p.url, "PUT", path+"/locks/l", key, `{"lease_seconds":600}`)
	beside(t, other.url, "PUT", path+"/locks/l", agent, `{"lease_seconds":600,"wait_seconds":50}`)
	tickets(t, dsn, 1)
	second := beside(t, p.url, "PUT", path+"/locks/l", agent, `{"lease_seconds":600,"wait_seconds":50}`)
	tickets(t, dsn, 2)
	inbox := beside(t, other.url, "GET", path+"/messages?wait_seconds=50", agent, "")
	other.waits(t, 2)
	sent := time.Now()
	must(t, p.url, "POST", path+"/messages", key, `{"body":"hello"}`)
	if r := <-inbox; r.status != 200 || time.Since(sent) > promptly {
		t.Errorf("a message reached the other process after %v: %d %s", time.Since(sent), r.status, r.text)
	}
	other.kill(syscall.SIGKILL)
	other.end(t, patience, false)
	released := time.Now()
	must(t, p.url, "DELETE", path+"/locks/l", key, "")
	if r := <-second; r.status != 200 || time.Since(released) > promptly {
		t.Errorf("the next was served after %v: %d %s", time.Since(released), r.status, r.text)
	}
	t.Logf("served %v after the release", time.Since(released))
}
