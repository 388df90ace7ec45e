package x402

import (
	"bytes"
	"encoding/base64"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

func TestHTTPGoesToLoopbackOnlyWhateverTheNameResolvesTo(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:80": true, "127.9.9.9:1": true, "[::1]:80": true,
		"10.0.0.1:80": false, "8.8.8.8:80": false, "[2001:db8::1]:80": false, "": false,
	} {
		if err := loopbackOnly("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
	u, err := checkURL("http://localhost:1")
	if err != nil {
		t.Fatal(err)
	}
	client := newHTTPClient(u, nil, nil)
	carrier, ok := client.Transport.(*courier)
	if !ok {
		t.Fatalf("the transport is %T", client.Transport)
	}
	// A name that is not loopback's, dialled by the very dialer of an http facilitator: refused before a byte leaves.
	if conn, err := carrier.transport.DialContext(t.Context(), "tcp", "192.0.2.1:80"); err == nil || !bytes.Contains([]byte(err.Error()), []byte("loopback only")) {
		t.Errorf("%v, %v", conn, err)
	}
	if carrier.transport.Proxy != nil {
		t.Error("a proxy would be used")
	}
}

// The SDK logs a header of the facilitator's; nothing that a stranger writes belongs into the process's log.
func TestAFacilitatorCannotWriteIntoTheLog(t *testing.T) {
	var written bytes.Buffer
	log.SetOutput(&written)
	defer log.SetOutput(os.Stderr)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Extension-Responses", base64.StdEncoding.EncodeToString([]byte(`{"x":{"status":"hello from outside"}}`)))
		if r.URL.Path == "/supported" {
			_, _ = w.Write([]byte(`{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:8453"}]}`))
			return
		}
		_, _ = w.Write([]byte(`{"isValid":true}`))
	}))
	defer s.Close()
	b := start(t, Facilitator{Name: "one", URL: s.URL})
	if _, err := b.Verify(t.Context(), b.pay(t, base)); err != nil {
		t.Error(err)
	}
	if written.Len() > 0 {
		t.Errorf("logged: %s", written.String())
	}
}
