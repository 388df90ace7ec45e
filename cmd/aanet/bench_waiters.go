package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// waiters are calls that wait for messages over REST, each on a connection of its own.
type waiters struct {
	targets []target
	conns   []*doorConn
	running sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	failed    error
	latencies []time.Duration // of each message, from its ts to the end of the answer that brought it
}

// openWaiters begins a wait for each of the keys.
func openWaiters(ctx context.Context, service string, targets []target) (*waiters, error) {
	w := &waiters{targets: targets}
	for _, t := range targets {
		conn, err := dialDoor(service)
		if err != nil {
			w.close()
			return nil, err
		}
		w.conns = append(w.conns, conn)
		w.running.Go(func() { w.fail(w.wait(ctx, conn, t)) })
	}
	return w, nil
}

// messageTS finds when each message of an answer was sent.
var messageTS = regexp.MustCompile(`"ts":"([^"]+)"`)

// wait asks for messages again and again until its connection is closed.
func (w *waiters) wait(ctx context.Context, conn *doorConn, t target) error {
	since := ""
	for ctx.Err() == nil {
		if err := conn.call(fmt.Appendf(nil, "GET /v1/workspaces/%s/messages?wait_seconds=50%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n",
			t.workspace, since, conn.host, t.secret)); err != nil {
			return err
		}
		now := time.Now()
		for _, match := range messageTS.FindAllSubmatch(conn.body.Bytes(), -1) {
			sent, err := time.Parse(time.RFC3339Nano, string(match[1]))
			if err != nil {
				return err
			}
			since = "&since=" + url.QueryEscape(string(match[1]))
			w.mu.Lock()
			w.latencies = append(w.latencies, now.Sub(sent))
			w.mu.Unlock()
		}
	}
	return nil
}

// fail keeps the first failure, but for those that closing brings.
func (w *waiters) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil && !w.closed {
		w.failed = err
	}
}

// settle lets time pass and tells of a failure so far.
func (w *waiters) settle(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// woken is how long each message took so far.
func (w *waiters) woken() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.latencies
}

func (w *waiters) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	for _, conn := range w.conns {
		conn.conn.Close()
	}
	w.running.Wait()
}

// sender sends messages over one connection.
type sender struct{ *doorConn }

func newSender(service string) (sender, error) {
	conn, err := dialDoor(service)
	return sender{conn}, err
}

// send sends a message with the target's key, to everybody if to is empty.
func (s sender) send(t target, to string) error {
	body := `{"body":"wake up"}`
	if to != "" {
		body = `{"body":"wake up","to_subkey_id":` + strconv.Quote(to) + `}`
	}
	return s.call(fmt.Appendf(nil, "POST /v1/workspaces/%s/messages HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		t.workspace, s.host, t.secret, len(body), body))
}

// dialDoor connects to a service by its address, http://HOST:PORT.
func dialDoor(service string) (*doorConn, error) {
	host, found := strings.CutPrefix(service, "http://")
	if !found {
		return nil, errors.New("the service's address must begin with http://")
	}
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &doorConn{host: host, conn: conn, answers: bufio.NewReaderSize(conn, 1024)}, nil
}
