package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A client that asks and never reads is let go; one that reads slowly but steadily is served.
func TestSlowReaders(t *testing.T) {
	ended := make(chan error, 1)
	large := strings.Repeat("x", 1<<20)
	serve := func(patience time.Duration) *httptest.Server {
		server := httptest.NewServer(endSlowReaders(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			var err error
			for i := 0; i < 64 && err == nil; i++ { // more than any socket buffer holds
				_, err = io.WriteString(w, large)
			}
			ended <- err
		}), patience))
		t.Cleanup(server.Close)
		return server
	}
	conn, err := net.Dial("tcp", serve(500*time.Millisecond).Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: aanet\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("64 MiB were written to a client that reads nothing")
		}
	case <-time.After(patience):
		t.Fatal("a client that reads nothing is still waited for")
	}

	answer, err := http.Get(serve(patience).URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if n, err := io.Copy(io.Discard, answer.Body); n != 64<<20 || err != nil {
		t.Errorf("a client that reads got %d bytes and %v", n, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("a client that reads was ended: %v", err)
	}
}
