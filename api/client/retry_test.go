package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// flaky starts a server whose first calls fail in the given way, and gives a client of it and the count of calls.
func flaky(t *testing.T, failures int64, fail http.HandlerFunc) (*Client, *atomic.Int64) {
	t.Helper()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if calls.Add(1) <= failures {
			fail(w, r)
			return
		}
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(server.Close)
	return New(server.URL, key(t, testWorkspace)), &calls
}

func refuse(status int, code Code, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"code":"`+string(code)+`","detail":"Not now."}`)
	}
}

// hangUp breaks the connection after the call has arrived: its fate is unknown to the client.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestOnlyWhatIsSafeIsRepeated(t *testing.T) {
	read := func(ctx context.Context, c *Client, m *Meta) error {
		_, err := c.ReadFile(ctx, ReadFileIn{Path: "a"}, WithMeta(m))
		return err
	}
	change := func(ctx context.Context, c *Client, m *Meta) error {
		_, err := c.AppendFile(ctx, AppendFileIn{Path: "a", Content: "b"}, WithMeta(m))
		return err
	}
	bare := func(ctx context.Context, c *Client, m *Meta) error { c.ownKeys = false; return change(ctx, c, m) }
	keyed := func(ctx context.Context, c *Client, m *Meta) error {
		c.ownKeys = false
		_, err := c.AppendFile(ctx, AppendFileIn{Path: "a", Content: "b"}, WithMeta(m), WithIdempotencyKey("k"))
		return err
	}
	create := func(ctx context.Context, c *Client, m *Meta) error {
		_, err := c.CreateWorkspace(ctx, CreateWorkspaceIn{Label: "x"}, WithMeta(m))
		return err
	}
	for _, c := range []struct {
		name     string
		call     func(context.Context, *Client, *Meta) error
		failures int64
		fail     http.HandlerFunc
		calls    int64
		ok       bool
	}{
		{"a read that was refused for now", read, 2, refuse(503, CodeUnavailable, ""), 3, true},
		{"a change with a key that was refused for now", keyed, 2, refuse(503, CodeUnavailable, ""), 3, true},
		{"a change with a key whose fate is unknown", keyed, 2, hangUp, 3, true},
		{"a read that stays refused", read, 99, refuse(503, CodeUnavailable, ""), 4, false},
		{"a read whose connection broke", read, 1, hangUp, 2, true},
		{"a read of what is not there", read, 99, refuse(404, CodeNotFound, ""), 1, false},
		{"a read that met a bug", read, 99, refuse(500, CodeInternal, ""), 1, false},
		{"a change that came too fast", change, 2, refuse(429, CodeRateLimited, ""), 3, true},
		{"a change of unknown fate under the client's key", change, 2, refuse(503, CodeUnavailable, ""), 3, true},
		{"a change whose connection broke under the client's key", change, 2, hangUp, 3, true},
		{"a change that a proxy could not pass on", change, 1, refuse(502, "", ""), 2, true},
		{"a change without a key, of unknown fate", bare, 99, refuse(503, CodeUnavailable, ""), 1, false},
		{"a change without a key, whose connection broke", bare, 99, hangUp, 1, false},
		{"a creation that takes no key", create, 99, hangUp, 1, false},
		{"a change that was refused", change, 99, refuse(409, CodeConflict, ""), 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, calls := flaky(t, c.failures, c.fail)
			var meta Meta
			err := c.call(t.Context(), client, &meta)
			if (err == nil) != c.ok || calls.Load() != c.calls || int64(meta.Attempts) != c.calls {
				t.Errorf("%v after %d calls, %d told", err, calls.Load(), meta.Attempts)
			}
		})
	}
}

func TestRetryAfterIsKept(t *testing.T) {
	client, calls := flaky(t, 1, refuse(429, CodeRateLimited, "1"))
	begin := time.Now()
	if _, err := client.AcquireLock(t.Context(), AcquireLockIn{Name: "a", LeaseSeconds: 1}); err != nil || calls.Load() != 2 {
		t.Fatal(err, calls.Load())
	}
	if pause := time.Since(begin); pause < time.Second {
		t.Errorf("came back after %s", pause)
	}
}

// A deadline that would pass during the pause ends the call at once, with the refusal and not with a timeout.
func TestNobodyWaitsInVain(t *testing.T) {
	client, calls := flaky(t, 99, refuse(503, CodeUnavailable, "30"))
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
	defer cancel()
	begin := time.Now()
	_, err := client.ReadFile(ctx, ReadFileIn{})
	if !IsCode(err, CodeUnavailable) || calls.Load() != 1 || time.Since(begin) > 20*time.Second {
		t.Errorf("%v after %d calls and %s", err, calls.Load(), time.Since(begin))
	}
}

// A repeat is the same call: it has the same key, and the next call has another.
func TestRepeatsHaveOneKey(t *testing.T) {
	var keys []string
	client, _ := flaky(t, 0, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if len(keys) == 1 {
			refuse(503, CodeUnavailable, "")(w, r)
			return
		}
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(server.Close)
	client.base = server.URL
	for range 2 {
		if _, err := client.SendMessage(t.Context(), SendMessageIn{Body: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(keys) != 3 || keys[0] == "" || keys[0] != keys[1] || keys[1] == keys[2] {
		t.Errorf("%q", keys)
	}
	if _, err := client.GetMessages(t.Context(), GetMessagesIn{}); err != nil || keys[3] != "" {
		t.Errorf("a read has the key %q: %v", keys[3], err)
	}
}

// Who is told to come back in an hour is told so at once.
func TestALongPauseIsLeftToTheCaller(t *testing.T) {
	client, calls := flaky(t, 99, refuse(429, CodeRateLimited, "3600"))
	_, err := client.CreateTrialWorkspace(t.Context())
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.RetryAfter != time.Hour || calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}

// Without a connection nothing was sent, so a change can be tried again: here the service is up at the second attempt.
func TestAChangeIsRepeatedWhenNothingWasSent(t *testing.T) {
	server := httptest.NewServer(refuse(200, "", ""))
	t.Cleanup(server.Close)
	dials := 0
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials++; dials == 1 {
			return nil, &net.OpError{Op: "dial", Net: network, Err: net.UnknownNetworkError("down")}
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	client := New(server.URL, key(t, testWorkspace), WithHTTPClient(&http.Client{Transport: transport}))
	var meta Meta
	if _, err := client.SendMessage(t.Context(), SendMessageIn{Body: "x"}, WithMeta(&meta)); err != nil || meta.Attempts != 2 || dials != 2 {
		t.Errorf("%v, %d attempts, %d dials", err, meta.Attempts, dials)
	}
}
