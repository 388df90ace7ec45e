package x402

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/x402-foundation/x402/go/types"

	"aanet/billing"
	"aanet/billing/x402/facilitatortest"
)

const (
	base      = "eip155:8453"
	avalanche = "eip155:43114"

	evmReceiver    = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	solanaReceiver = "2wmVCSfPxGPjrnMMn7rchp4uaeoTqN39mXFC2zhPdri9"
)

const oneDollar = billing.PerUSD

var resource = types.ResourceInfo{URL: "https://aanet.example/v1/workspaces/w/deposits", Description: "Deposit"}

func payToAll() map[string]string {
	payTo := map[string]string{}
	for _, n := range Networks() {
		payTo[n.ID] = evmReceiver
	}
	payTo[SolanaID] = solanaReceiver
	return payTo
}

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// calls collects what a gateway reports for metrics.
type calls struct {
	mu   sync.Mutex
	list []Call
}

func (c *calls) add(call Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, call)
}

func (c *calls) last(endpoint string) (last Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.list {
		if call.Endpoint == endpoint {
			last = call
		}
	}
	return last
}

type bench struct {
	*Gateway
	clock *clock
	calls *calls
}

// patience is how long to wait for an answer that never comes. Answers that come get plenty, since the machine may be
// busy.
const (
	patience = 300 * time.Millisecond
	plenty   = time.Minute
)

// start builds a gateway over some facilitators and waits until each was asked once.
func start(t *testing.T, facilitators ...Facilitator) bench {
	t.Helper()
	return startWith(t, plenty, facilitators...)
}

func startWith(t *testing.T, verifyTimeout time.Duration, facilitators ...Facilitator) bench {
	t.Helper()
	b := bench{clock: newClock(), calls: &calls{}}
	var err error
	b.Gateway, err = New(Options{
		Facilitators: facilitators, PayTo: payToAll(), Now: b.clock.Now, Observe: b.calls.add,
		Interval: 20 * time.Millisecond, VerifyTimeout: verifyTimeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Start(context.Background())
	t.Cleanup(b.Stop)
	ctx, cancel := context.WithTimeout(t.Context(), plenty)
	defer cancel()
	if !b.WaitFirst(ctx) {
		t.Fatal("a facilitator was not asked in time")
	}
	return b
}

// facing configures a facilitator at a test server.
func facing(name string, s *facilitatortest.Server) Facilitator {
	return Facilitator{Name: name, URL: s.URL, Timeout: plenty}
}

// hurry ends the background work and leaves one facilitator only so long for each answer from now on.
func (b bench) hurry(name string, timeout time.Duration) {
	b.Stop()
	for _, f := range b.facilitators {
		if f.name == name {
			f.timeout = timeout
		}
	}
}

// terms are the gateway's own for a network, in the test server's words.
func (b bench) termsFor(t *testing.T, network string, amount billing.Units) (terms facilitatortest.Terms) {
	t.Helper()
	own, err := b.Requirements(network, amount)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(own)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &terms); err != nil {
		t.Fatal(err)
	}
	return terms
}

// pay makes a proof for a dollar on a network and brings it through Match.
func (b bench) pay(t *testing.T, network string) Payment {
	t.Helper()
	terms := b.termsFor(t, network, oneDollar)
	sent := facilitatortest.EVM(terms, b.clock.Now())
	if network == SolanaID {
		sent = facilitatortest.SVM(terms)
	}
	return b.mustMatch(t, sent.Encode())
}

func (b bench) mustMatch(t *testing.T, text string) Payment {
	t.Helper()
	proof, err := ParseProof(text)
	if err != nil {
		t.Fatal(err)
	}
	payment, err := b.Match(proof, oneDollar)
	if err != nil {
		t.Fatal(err)
	}
	return payment
}

// reasonOf is the code of an *InvalidError, and empty for nil and all other errors.
func reasonOf(err error) string {
	if refused, ok := errors.AsType[*InvalidError](err); ok {
		return refused.Reason
	}
	return ""
}

// eventually polls, since refreshers work in the background.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(plenty); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}
