package apitest

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"aanet/billing"
	"aanet/billing/deposits"
	"aanet/billing/x402"
	"aanet/billing/x402/facilitatortest"
	"aanet/store"
)

// Where deposits go in stories.
const (
	ReceiverEVM    = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	ReceiverSolana = "2wmVCSfPxGPjrnMMn7rchp4uaeoTqN39mXFC2zhPdri9"
)

// Base is the network that stories pay on.
const Base = "eip155:8453"

// Bank is what deposits need in a story: a facilitator that does as it is told, and chains that show what they are told.
type Bank struct {
	Facilitator *facilitatortest.Server
	Gateway     *x402.Gateway
	Chain       *Chain
	// Options of the engines that are made; store, gateway and chain are filled in.
	Options deposits.Options
}

// NewBank starts a facilitator of all networks and asks it what it supports. now is the bank's clock, patience how long a
// settlement may take.
func NewBank(t testing.TB, now func() time.Time, patience time.Duration) *Bank {
	t.Helper()
	b := &Bank{Facilitator: facilitatortest.New(t), Chain: &Chain{}, Options: deposits.Options{Now: now, JoinPatience: time.Minute}}
	payTo := map[string]string{x402.SolanaID: ReceiverSolana}
	for _, n := range x402.Networks() {
		if !n.IsSolana() {
			payTo[n.ID] = ReceiverEVM
		}
	}
	var err error
	b.Gateway, err = x402.New(x402.Options{
		Facilitators: []x402.Facilitator{{Name: "one", URL: b.Facilitator.URL, Timeout: patience}},
		PayTo:        payTo, Now: now, VerifyTimeout: 10 * time.Second,
	})
	if err != nil {
		t.Fatalf("gateway: %v", err)
	}
	b.Gateway.Start(t.Context())
	t.Cleanup(b.Gateway.Stop)
	if !b.Gateway.WaitFirst(t.Context()) {
		t.Fatal("the facilitator was not asked")
	}
	return b
}

// Engine takes deposits into a store; its signature is that of Options.Deposits.
func (b *Bank) Engine(s *store.Store) *deposits.Engine {
	o := b.Options
	o.Store, o.Gateway, o.Evidence = s, b.Gateway, b.Chain
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return deposits.New(o)
}

// Proof makes a fresh payment of an amount as a client would after its challenge.
func (b *Bank) Proof(t testing.TB, network string, amount billing.Units) facilitatortest.Payment {
	t.Helper()
	required, err := b.Gateway.Requirements(network, amount)
	if err != nil {
		t.Fatalf("requirements: %v", err)
	}
	text, err := json.Marshal(required)
	if err != nil {
		t.Fatalf("requirements: %v", err)
	}
	var terms facilitatortest.Terms
	if err := json.Unmarshal(text, &terms); err != nil {
		t.Fatalf("requirements: %v", err)
	}
	if network == x402.SolanaID {
		return facilitatortest.SVM(terms)
	}
	return facilitatortest.EVM(terms, b.Options.Now())
}

// Chain is billing.Evidence that shows what a story tells it to. It covers no network until then.
type Chain struct {
	mu      sync.Mutex
	payment *billing.PaymentFinding
	payout  *billing.PayoutFinding
	asked   []billing.PaymentQuery
	payouts []billing.PayoutQuery
}

// ShowPayment makes the chain answer every question about a payment so.
func (c *Chain) ShowPayment(f billing.PaymentFinding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.payment = &f
}

// ShowPayout makes the chain answer every question about a payout so.
func (c *Chain) ShowPayout(f billing.PayoutFinding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.payout = &f
}

// Asked are the questions about payments so far.
func (c *Chain) Asked() []billing.PaymentQuery {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]billing.PaymentQuery(nil), c.asked...)
}

// AskedPayouts are the questions about payouts so far.
func (c *Chain) AskedPayouts() []billing.PayoutQuery {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]billing.PayoutQuery(nil), c.payouts...)
}

// Covers tells whether the chain was told anything.
func (c *Chain) Covers(string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.payment != nil || c.payout != nil
}

// Payment answers as told; pending before that.
func (c *Chain) Payment(_ context.Context, q billing.PaymentQuery) (billing.PaymentFinding, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, q)
	if c.payment == nil {
		return billing.PaymentFinding{}, nil
	}
	return *c.payment, nil
}

// Payout answers as told; pending before that.
func (c *Chain) Payout(_ context.Context, q billing.PayoutQuery) (billing.PayoutFinding, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.payouts = append(c.payouts, q)
	if c.payout == nil {
		return billing.PayoutFinding{}, nil
	}
	return *c.payout, nil
}
