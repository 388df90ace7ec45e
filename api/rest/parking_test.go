package rest_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// client is a connection over which requests are written by hand.
type client struct {
	s       *service
	conn    net.Conn
	answers *bufio.Reader
}

func (s *service) dial() *client {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	return &client{s, conn, bufio.NewReader(conn)}
}

func (c *client) send(line string, headers ...string) {
	c.s.t.Helper()
	lines := append([]string{line, "Host: aanet", "Authorization: Bearer " + c.s.owner}, headers...)
	if _, err := io.WriteString(c.conn, strings.Join(lines, "\r\n")+"\r\n\r\n"); err != nil {
		c.s.t.Fatal(err)
	}
}

func (c *client) answer(method string) (*http.Response, string) {
	c.s.t.Helper()
	r, err := http.ReadResponse(c.answers, &http.Request{Method: method})
	if err != nil {
		c.s.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.s.t.Fatal(err)
	}
	return r, string(body)
}

// ended tells whether the service has closed the connection.
func (c *client) ended() bool {
	_, err := c.answers.ReadByte()
	return err == io.EOF
}

func (s *service) waiting(want int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%d calls wait", want), func() bool { return s.store.Waiting() == want })
}

func (s *service) eventually(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain: %s", what)
		}
	}
}

func (s *service) message(body string) {
	s.t.Helper()
	s.call("POST", s.at("/messages"), fmt.Sprintf(`{"body":%q}`, body)).is(201)
}

func (s *service) wait(more string, version string) string {
	return "GET " + s.at("/messages?wait_seconds=50"+more) + " " + version
}

// A call that waits is answered on its connection like any other, which then serves on.
func TestConnectionsOfCallsThatWaitLiveOn(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	c := s.dial()
	for i := range 3 {
		topic := fmt.Sprintf("&topic=t%d", i)
		c.send(s.wait(topic, "HTTP/1.1"))
		s.waiting(1)
		s.call("POST", s.at("/messages"), fmt.Sprintf(`{"body":"message %d","topic":"t%d"}`, i, i)).is(201)
		r, body := c.answer("GET")
		if r.StatusCode != 200 || !strings.Contains(body, fmt.Sprintf("message %d", i)) || r.Close {
			t.Errorf("%s, closing %v: %s", r.Status, r.Close, body)
		}
		for name, want := range map[string]string{"X-Aanet-Cost": "1", "Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if _, err := http.ParseTime(r.Header.Get("Date")); err != nil || r.Header.Get("X-Request-Id") == "" {
			t.Errorf("header %v", r.Header)
		}
		c.send("GET " + s.at("/locks") + " HTTP/1.1")
		if r, body := c.answer("GET"); r.StatusCode != 200 {
			t.Errorf("the call behind it: %s: %s", r.Status, body)
		}
	}
	s.waiting(0)
}

func TestRequestsBehindACallThatWaits(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	together, later := s.dial(), s.dial()
	locks := "GET " + s.at("/locks") + " HTTP/1.1"
	head := fmt.Sprintf("\r\nHost: aanet\r\nAuthorization: Bearer %s\r\n\r\n", s.owner)
	together.send(s.wait("", "HTTP/1.1") + head + locks)
	later.send(s.wait("", "HTTP/1.1"))
	s.waiting(2)
	later.send(locks)
	s.message("for both")
	for _, c := range []*client{together, later} {
		if r, body := c.answer("GET"); r.StatusCode != 200 || !strings.Contains(body, "for both") {
			t.Errorf("%s: %s", r.Status, body)
		}
		if r, body := c.answer("GET"); r.StatusCode != 200 || !strings.Contains(body, `{"result":[]}`) {
			t.Errorf("the one behind it: %s: %s", r.Status, body)
		}
	}
}

// Of a call's body nothing is left for the request behind it, whatever pieces it came in.
func TestABodyInPiecesBeforeACallThatWaits(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	holder := s.call("POST", s.at("/subkeys"), `{"label":"holder"}`).is(201).text("key")
	held := func(method, body string) {
		s.call(method, s.at("/locks/one"), body, "Authorization: Bearer "+holder).is(200)
	}
	held("PUT", `{"lease_seconds":600}`)
	c := s.dial()
	c.send("PUT "+s.at("/locks/one")+" HTTP/1.1", "Content-Type: application/json", "Transfer-Encoding: chunked", "Trailer: X-Late")
	body := `{"lease_seconds":600,"wait_seconds":50}`
	pieces := fmt.Sprintf("%x\r\n%s\r\n%x\r\n%s\r\n0\r\nX-Late: GET / HTTP/1.1\r\n\r\n", 5, body[:5], len(body)-5, body[5:])
	if _, err := io.WriteString(c.conn, pieces); err != nil {
		t.Fatal(err)
	}
	c.send("GET " + s.at("/files") + " HTTP/1.1")
	s.waiting(1)
	held("DELETE", "")
	for _, want := range []string{`"name":"one"`, `"entries":[]`} {
		if r, body := c.answer("GET"); r.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %s", r.Status, body)
		}
	}
}

func TestClientsThatCloseAfterACallThatWaits(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	asked, old, head, left := s.dial(), s.dial(), s.dial(), s.dial()
	asked.send(s.wait("", "HTTP/1.1"), "Connection: close")
	old.send(s.wait("", "HTTP/1.0"))
	head.send(strings.Replace(s.wait("", "HTTP/1.1"), "GET", "HEAD", 1))
	left.send(s.wait("", "HTTP/1.1"))
	s.waiting(4)
	left.conn.Close()
	s.waiting(3)
	s.message("to all")
	for _, c := range []*client{asked, old} {
		if r, body := c.answer("GET"); r.StatusCode != 200 || !strings.Contains(body, "to all") || !c.ended() {
			t.Errorf("%s, closing %v: %s", r.Status, r.Close, body)
		}
	}
	if r, body := head.answer("HEAD"); r.StatusCode != 200 || body != "" || r.ContentLength < 10 {
		t.Errorf("%s, %d bytes: %q", r.Status, r.ContentLength, body)
	}
	s.waiting(0)
	s.eventually("the one that left is counted", func() bool {
		families, err := s.registry.Gather()
		return err == nil && strings.Contains(fmt.Sprint(families), `value:"499"`)
	})
}

// A service that stops answers those who wait and lets connections go on which nothing is asked.
func TestDrainedConnections(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	idle, waits := s.dial(), s.dial()
	idle.send(s.wait("&topic=t", "HTTP/1.1"))
	s.waiting(1)
	s.call("POST", s.at("/messages"), `{"body":"x","topic":"t"}`).is(201)
	idle.answer("GET")
	waits.send(s.wait("&topic=u", "HTTP/1.1"))
	s.waiting(1)
	s.drain()
	if r, body := waits.answer("GET"); r.StatusCode != 200 || body != `{"result":[]}`+"\n" {
		t.Errorf("%s: %s", r.Status, body)
	}
	if !waits.ended() {
		t.Error("the connection of the call that waited is still open")
	}
	if !idle.ended() {
		t.Error("the connection without a call is still open")
	}
}
