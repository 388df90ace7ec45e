// Package facilitatortest is an x402 facilitator on loopback that answers as a test tells it to: well, badly, late or
// never. It moves no money. It also makes proofs of payment that look signed.
package facilitatortest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Server is one facilitator. Unless told otherwise it supports all five networks, finds every payment valid and settles
// it.
type Server struct {
	// URL is its base address, to be configured as the facilitator's.
	URL string

	http    *httptest.Server
	closing chan struct{}

	mu       sync.Mutex
	kinds    []Kind
	scripts  map[string][]Answer
	received map[string][]Request
}

// Request is one call that the server got.
type Request struct {
	Header http.Header
	Body   []byte
	// Terms are its paymentRequirements; empty for /supported.
	Terms Terms
	// Payment is its paymentPayload as sent.
	Payment json.RawMessage
}

// Kind is one entry of /supported.
type Kind struct {
	Version int            `json:"x402Version"`
	Scheme  string         `json:"scheme"`
	Network string         `json:"network"`
	Extra   map[string]any `json:"extra,omitempty"`
}

// FeePayer is the account that pays fees on Solana, as /supported names it by default.
const FeePayer = "CKPKJWNdJEqa81x7CkZ14BVPiY6y16Sxs7owznqtWYp5"

// Solana is the CAIP-2 name of that network.
const Solana = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"

// AllNetworks are the five of the service.
var AllNetworks = []string{"eip155:8453", "eip155:137", "eip155:42161", "eip155:43114", Solana}

// Kinds are the entries of /supported for some networks: scheme exact of version 2.
func Kinds(networks ...string) (kinds []Kind) {
	for _, network := range networks {
		k := Kind{Version: 2, Scheme: "exact", Network: network}
		if strings.HasPrefix(network, "solana:") {
			k.Extra = map[string]any{"feePayer": FeePayer}
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// New starts a facilitator for some networks, all five when none is named; the test's end closes it.
func New(t testing.TB, networks ...string) *Server {
	if len(networks) == 0 {
		networks = AllNetworks
	}
	s := Start(networks...)
	t.Cleanup(s.Close)
	return s
}

// Start is New without a test; the caller closes it.
func Start(networks ...string) *Server {
	s := &Server{
		closing: make(chan struct{}), kinds: Kinds(networks...),
		scripts: map[string][]Answer{}, received: map[string][]Request{},
	}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	return s
}

// Close stops listening and lets go of whoever hangs. It may be called twice.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.closing:
	default:
		close(s.closing)
	}
	s.mu.Unlock()
	s.http.CloseClientConnections()
	s.http.Close()
}

// Support changes what /supported says.
func (s *Server) Support(kinds ...Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kinds = kinds
}

// On scripts the answers of an endpoint (supported, verify or settle): one a call, the last again and again. Without
// answers the endpoint is as at the start.
func (s *Server) On(endpoint string, answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[endpoint] = answers
}

// Calls counts what an endpoint got so far.
func (s *Server) Calls(endpoint string) int { return len(s.Requests(endpoint)) }

// Requests are what an endpoint got so far.
func (s *Server) Requests(endpoint string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.received[endpoint])
}

// ServeHTTP answers as scripted.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	endpoint := strings.TrimPrefix(r.URL.Path, "/")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	got := Request{Header: r.Header.Clone(), Body: body}
	var parts struct {
		Terms   Terms           `json:"paymentRequirements"`
		Payment json.RawMessage `json:"paymentPayload"`
	}
	if len(body) > 0 && json.Unmarshal(body, &parts) == nil {
		got.Terms, got.Payment = parts.Terms, parts.Payment
	}
	answer, kinds := s.receive(endpoint, got)
	if answer == nil {
		answer = s.usual(endpoint, kinds)
	}
	answer(&call{w, r, got, s.closing})
}

// Forget begins to count anew.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.received)
}

func (s *Server) receive(endpoint string, got Request) (Answer, []Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received[endpoint] = append(s.received[endpoint], got)
	script := s.scripts[endpoint]
	if len(script) == 0 {
		return nil, s.kinds
	}
	if len(script) > 1 {
		s.scripts[endpoint] = script[1:]
	}
	return script[0], s.kinds
}

func (s *Server) usual(endpoint string, kinds []Kind) Answer {
	switch endpoint {
	case "supported":
		return JSON(http.StatusOK, map[string]any{"kinds": kinds, "extensions": []string{}, "signers": map[string]any{}})
	case "verify":
		return Valid
	case "settle":
		return Settled
	}
	return Status(http.StatusNotFound)
}
