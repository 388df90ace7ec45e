package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"

	"aanet/store/storetest"
)

func TestServe(t *testing.T) {
	t.Parallel()
	p := serving(t, storetest.Database(t))
	for path, want := range map[string]string{"/healthz": `"ok"`, "/readyz": `"ready"`, "/docs": "<html", "/AGENTS.md": p.url, "/llms.txt": p.url, "/pricing": "unit_usd"} {
		if r := must(t, p.url, "GET", path, "", ""); !strings.Contains(r.text, want) {
			t.Errorf("%s does not say %s", path, want)
		}
	}
	if r := ask(t, p.url, "GET", "/metrics", "", ""); r.status != 404 {
		t.Errorf("tenants can ask for /metrics: %d", r.status)
	}
	if text := p.metrics(t); !strings.Contains(text, "aanet_requests_total") {
		t.Error("the metrics do not count requests")
	}
	p.kill(syscall.SIGTERM)
	p.end(t, patience, true)
}

// TestTwoStartAtOnce has two replicas find an empty database.
func TestTwoStartAtOnce(t *testing.T) {
	t.Parallel()
	dsn := storetest.Empty(t)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			p := serving(t, dsn)
			if r := ask(t, p.url, "POST", "/v1/workspaces/trial", "", ""); r.status != 201 {
				t.Errorf("a trial: %d %s", r.status, r.text)
			}
		})
	}
	both.Wait()
}

// TestTerminatedUnderLoad: calls under way are answered, new ones are refused, and the process ends.
func TestTerminatedUnderLoad(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	p := serving(t, dsn)
	l := newLoad(t, p, dsn, 8)
	l.settled(50)
	p.kill(syscall.SIGTERM)
	p.end(t, promptly, true)
	l.url.Store("")
	if r := ask(t, p.url, "GET", "/healthz", "", ""); r.status != 0 {
		t.Errorf("after its end it answers %d", r.status)
	}
	if strings.Contains(p.log.String(), `"level":"ERROR"`) {
		t.Errorf("errors were logged:\n%s", p.log.String())
	}
	l.url.Store(serving(t, dsn).url)
	l.settled(10)
	if untold := l.check(dsn); untold != 0 {
		t.Errorf("%d calls were done and not answered", untold)
	}
}

// TestKilledUnderLoad: what was answered has happened, and what was not has happened once or not at all.
func TestKilledUnderLoad(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	p := serving(t, dsn)
	l := newLoad(t, p, dsn, 8)
	for range 2 {
		l.settled(50)
		p.kill(syscall.SIGKILL)
		p.end(t, patience, false)
		l.url.Store("")
		p = serving(t, dsn)
		l.url.Store(p.url)
	}
	l.settled(10)
	l.check(dsn)
}

// TestSecondSignal: whoever does not want to wait for a call under way sends the signal again.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	p := serving(t, storetest.Database(t))
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const body = `{"label":"x"` // its end never comes
	if _, err := fmt.Fprintf(conn, "POST /v1/workspaces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 99\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q %v", line, err)
	}
	if _, err := io.WriteString(conn, body); err != nil {
		t.Fatal(err)
	}
	p.kill(syscall.SIGTERM)
	eventually(t, "draining", func() bool { return strings.Contains(p.log.String(), `"draining"`) })
	eventually(t, "its end", func() bool {
		p.kill(syscall.SIGTERM)
		select {
		case <-p.done:
			return true
		default:
			return false
		}
	})
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
		t.Errorf("it ended by itself: %v", p.err)
	}
}

// TestWrongSettings: a process that cannot start says why and ends.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	taken := serving(t, dsn)
	address := strings.TrimPrefix(taken.url, "http://")
	for says, env := range map[string][]string{
		"DATABASE_URL is required":     {"AANET_SECRET_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
		"AANET_LANES":                  serviceOn(dsn, "AANET_LANES=none"),
		"AANET_LISTN is not a setting": serviceOn(dsn, "AANET_LISTN=x"),
		"AANET_LISTEN: listen":         serviceOn(dsn, "AANET_LISTEN="+address),
		"AANET_METRICS_LISTEN: listen": serviceOn(dsn, "AANET_METRICS_LISTEN="+address),
	} {
		p := spawn(t, env, "serve")
		p.end(t, patience, false)
		if !strings.Contains(p.log.String(), says) || p.url != "" {
			t.Errorf("it says nothing of %q (and listens on %q):\n%s", says, p.url, p.log.String())
		}
	}
}
