package main

import (
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"aanet/store/storetest"
)

// TestKilledBetweenRepeats: fifty repeats of a call under one idempotency key, and the process is killed while
// they are under way: one effect, one charge, and the same answer to all.
func TestKilledBetweenRepeats(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	p := serving(t, dsn)
	made := must(t, p.url, "POST", "/v1/workspaces", "", `{"label":"repeats"}`)
	ws, key := made.string("workspace_id"), made.string("owner_key")
	operates(t, []string{"DATABASE_URL=" + dsn}, "operator", "credit", ws, "1000", "--reason", "repeats")
	for _, c := range []struct{ tool, in string }{
		{"aanet_append_file", `{"path":"log","content":"<once>","idempotency_key":"a"}`},
		{"aanet_send_message", `{"body":"once","idempotency_key":"b"}`},
		{"aanet_mint_subkey", `{"label":"once","idempotency_key":"c"}`},
		{"aanet_acquire_lock", `{"name":"once","lease_seconds":600,"idempotency_key":"d"}`},
	} {
		var url atomic.Value
		url.Store(p.url)
		answers, told := make([]string, 50), make(chan bool, 50)
		var repeats sync.WaitGroup
		for i := range answers {
			repeats.Go(func() {
				for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
					r := tool(t, url.Load().(string), c.tool, key, c.in)
					if r.status == 200 {
						answers[i] = r.text
						told <- true
						return
					}
				}
			})
		}
		<-told
		p.kill(syscall.SIGKILL)
		p.end(t, patience, false)
		p = serving(t, dsn)
		url.Store(p.url)
		repeats.Wait()
		for _, answer := range answers {
			if answer == "" || answer != answers[0] {
				t.Fatalf("%s: %q and %q", c.tool, answer, answers[0])
			}
		}
	}
	at := "/v1/workspaces/" + ws
	for _, once := range []struct{ path, word string }{
		{"/files/log", "<once>"}, {"/messages", `"body":"once"`}, {"/subkeys", `"label":"once"`}, {"/locks", `"fencing_token":1`},
	} {
		if text := must(t, p.url, "GET", at+once.path, key, "").text; strings.Count(text, once.word) != 1 {
			t.Errorf("%s: %s", once.path, text)
		}
	}
	const reads = 3 // a file, messages, locks: 1 unit each; sub-keys are free
	if spent := must(t, p.url, "GET", at, key, "").int("total_spent"); spent != 10+3+5+reads {
		t.Errorf("%d units were spent", spent)
	}
}
