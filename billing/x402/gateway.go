// Package x402 takes USDC deposits by the x402 protocol, version 2: it writes the challenge, reads and checks the proof
// of payment, and asks facilitators to verify and to settle it. It keeps nothing: that a payment counts once, and that
// settle is sent once, is for the caller's database to see to, by Proof.Key.
//
//	ParseProof → Match → Verify → (commit) → Settle
//
// Everything up to Verify may be repeated at will. Settle moves money.
package x402

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"
)

// Options configure a Gateway.
type Options struct {
	// Facilitators are in order of preference.
	Facilitators []Facilitator
	// PayTo maps CAIP-2 networks to receiving addresses; a network without one is not offered.
	PayTo map[string]string
	// Now is the clock; it must be safe for concurrent use.
	Now func() time.Time
	// Observe, if not nil, is told of every finished request to a facilitator. It must not block.
	Observe func(Call)
	// Interval is how often each facilitator is asked what it supports; a minute when zero.
	Interval time.Duration
	// VerifyTimeout bounds one verification, below the facilitator's own timeout, so that a hanging one is soon passed
	// over; 8 seconds when zero.
	VerifyTimeout time.Duration
}

const (
	defaultInterval      = time.Minute
	defaultVerifyTimeout = 8 * time.Second
)

// Gateway knows the facilitators and the receiving addresses. Its methods may be called concurrently.
type Gateway struct {
	facilitators  []*facilitator
	payTo         map[string]string
	now           func() time.Time
	interval      time.Duration
	verifyTimeout time.Duration

	stop    context.CancelFunc
	running sync.WaitGroup
}

// ErrNoNetwork means that no network can be offered: none has both a receiving address and a live facilitator.
var ErrNoNetwork = errors.New("no network can be offered for deposits at the moment")

// ErrFacilitator means that no facilitator gave an answer. Nothing was settled; the same proof may be sent again.
var ErrFacilitator = errors.New("no facilitator answered")

// New checks the configuration; the error names every fault and no secret. Facilitators of test networks are refused.
// Nothing is sent before Start.
func New(o Options) (*Gateway, error) {
	if o.Now == nil {
		return nil, errors.New("x402: a clock is needed")
	}
	if o.Observe == nil {
		o.Observe = func(Call) {}
	}
	g := &Gateway{payTo: maps.Clone(o.PayTo), now: o.Now, interval: o.Interval, verifyTimeout: o.VerifyTimeout}
	if g.interval <= 0 {
		g.interval = defaultInterval
	}
	if g.verifyTimeout <= 0 {
		g.verifyTimeout = defaultVerifyTimeout
	}
	var faults []error
	names := map[string]bool{}
	for i, configured := range o.Facilitators {
		f, err := newFacilitator(configured, o.Now, o.Observe)
		if err == nil && (configured.Name == "" || names[configured.Name]) {
			err = errors.New("each facilitator needs a name of its own")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("facilitator %d (%s): %w", i+1, configured.Name, err))
			continue
		}
		names[configured.Name] = true
		g.facilitators = append(g.facilitators, f)
	}
	if err := errors.Join(append(faults, checkPayTo(o.PayTo))...); err != nil {
		return nil, fmt.Errorf("x402: %w", err)
	}
	return g, nil
}

// Start begins to ask each facilitator what it supports, in the background, until ctx ends or Stop is called. It returns
// at once and is called once.
func (g *Gateway) Start(ctx context.Context) {
	ctx, g.stop = context.WithCancel(ctx)
	for _, f := range g.facilitators {
		g.running.Go(func() { f.refresh(ctx, g.interval) })
	}
}

// Stop ends the background work and waits for it. Calls of Verify and Settle go on.
func (g *Gateway) Stop() {
	if g.stop != nil {
		g.stop()
	}
	g.running.Wait()
}

// WaitFirst waits until every facilitator was asked once, whatever came of it, or ctx ends; it tells which. At start it
// spares the first depositor an ErrNoNetwork: give it a second or two.
func (g *Gateway) WaitFirst(ctx context.Context) bool {
	for _, f := range g.facilitators {
		select {
		case <-f.first:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// candidates are the live facilitators of a network: in the configured order, but those that failed to answer lately
// after those that did not, so that a dead one delays nobody. With a fee payer, only those that named it.
func (g *Gateway) candidates(network, feePayer string) (found []*facilitator) {
	var limping []*facilitator
	for _, f := range g.facilitators {
		k, live, healthy := f.kindOf(network)
		switch {
		case !live || (feePayer != "" && !k.hasFeePayer(feePayer, g.now())):
		case healthy:
			found = append(found, f)
		default:
			limping = append(limping, f)
		}
	}
	return append(found, limping...)
}

// Live lists the networks that can be offered now, in the order in which a challenge has them.
func (g *Gateway) Live() (live []Network) {
	for _, n := range networks {
		if g.payTo[n.ID] != "" && len(g.candidates(n.ID, "")) > 0 {
			live = append(live, n)
		}
	}
	return live
}

// PayTo is the receiving address of a network; empty when there is none.
func (g *Gateway) PayTo(network string) string { return g.payTo[network] }

// FacilitatorStatus is what is known of one facilitator.
type FacilitatorStatus struct {
	Name string
	// Networks are those of its last good answer, in the order of Networks.
	Networks []Network
	// Live tells whether that answer still counts.
	Live bool
	// Asked and Answered are when it was last asked, and last answered well; zero when never.
	Asked, Answered time.Time
	// Fault says why the last attempt failed; empty when it did not.
	Fault string
}

// Status tells how the facilitators are, in the configured order.
func (g *Gateway) Status() []FacilitatorStatus {
	all := make([]FacilitatorStatus, 0, len(g.facilitators))
	for _, f := range g.facilitators {
		all = append(all, f.status())
	}
	return all
}

func (f *facilitator) status() FacilitatorStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := FacilitatorStatus{Name: f.name, Asked: f.askedAt, Answered: f.answered, Fault: f.fault}
	for _, n := range networks {
		if _, offered := f.kinds[n.ID]; offered {
			s.Networks = append(s.Networks, n)
		}
	}
	s.Live = !f.answered.IsZero() && f.now().Sub(f.answered) <= liveFor
	return s
}
