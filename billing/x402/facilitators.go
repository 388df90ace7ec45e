package x402

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	sdkhttp "github.com/x402-foundation/x402/go/http"
)

// DefaultTimeout bounds one settlement where the configuration does not say otherwise: chains need that long at times.
const DefaultTimeout = 90 * time.Second

// Facilitator is the configuration of one x402 service that verifies and settles payments.
type Facilitator struct {
	// Name identifies it in logs, metrics and deposit rows; unique in the list.
	Name string
	// URL is https, or http to loopback; never one of a test network.
	URL string
	// Auth is one of the Auth constants; empty means none.
	Auth string
	// KeyID is needed by cdp and payai.
	KeyID string
	// KeySecret is needed by all but none.
	KeySecret Secret
	// Networks are the CAIP-2 networks it is used for; empty means all that it supports.
	Networks []string
	// Timeout bounds one request to it; DefaultTimeout when zero.
	Timeout time.Duration
}

// The endpoints of a facilitator, as Call names them.
const (
	EndpointSupported = "supported"
	EndpointVerify    = "verify"
	EndpointSettle    = "settle"
)

// Call is one finished request to a facilitator, for metrics.
type Call struct {
	Facilitator string
	// Endpoint is one of the Endpoint constants.
	Endpoint string
	// Outcome is ok, invalid (verify), unknown (settle), not_sent (settle) or fault.
	Outcome string
	// Fault says why there was no answer; free of what the facilitator wrote.
	Fault string
	Took  time.Duration
}

// facilitator is one configured service and what it last said it can do.
type facilitator struct {
	name    string
	allowed []string
	timeout time.Duration
	secret  string
	client  *sdkhttp.HTTPFacilitatorClient
	// now is read, never waited for: waiting is by timers.
	now     func() time.Time
	observe func(Call)

	wake  chan struct{} // asks the refresher to come early
	first chan struct{} // closed after the first attempt, whatever came of it

	mu       sync.Mutex
	kinds    map[string]kind // by network
	askedAt  time.Time
	answered time.Time
	fault    string // why the last attempt failed; empty when it did not
}

// kind is what a facilitator offers on one network.
type kind struct {
	// feePayer is the one to put into new challenges (Solana only).
	feePayer string
	// feePayers are all that it has named lately, with when.
	feePayers map[string]time.Time
}

func newFacilitator(f Facilitator, now func() time.Time, observe func(Call)) (*facilitator, error) {
	u, err := checkURL(f.URL)
	if err != nil {
		return nil, err
	}
	sign, err := newCredentials(f)
	if err != nil {
		return nil, err
	}
	for _, id := range f.Networks {
		if _, known := NetworkOf(id); !known {
			return nil, fmt.Errorf("%q is not a network that deposits know", id)
		}
	}
	if f.Timeout < 0 {
		return nil, errors.New("timeout must be positive")
	}
	timeout := f.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	return &facilitator{
		name: f.Name, allowed: slices.Clone(f.Networks), timeout: timeout, secret: string(f.KeySecret),
		client: sdkhttp.NewHTTPFacilitatorClient(&sdkhttp.FacilitatorConfig{
			URL: strings.TrimRight(u.String(), "/"), HTTPClient: newHTTPClient(u, sign, now),
		}),
		now: now, observe: observe,
		wake: make(chan struct{}, 1), first: make(chan struct{}),
	}, nil
}

// call runs one request under its own time limit and reports it.
func (f *facilitator) call(
	ctx context.Context, endpoint string, limit time.Duration, do func(context.Context, *note) (outcome, fault string),
) {
	ctx, cancel := context.WithTimeout(ctx, min(limit, f.timeout))
	defer cancel()
	ctx, n := withNote(ctx)
	begun := f.now()
	outcome, fault := do(ctx, n)
	f.observe(Call{f.name, endpoint, outcome, fault, f.now().Sub(begun)})
}

// kindOf tells what it offers on a network, if it said so within liveFor.
func (f *facilitator) kindOf(network string) (k kind, live, healthy bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k, offered := f.kinds[network]
	return k, offered && f.now().Sub(f.answered) <= liveFor, f.fault == ""
}

// hasFeePayer tells whether it named this fee payer lately: some name another one in each answer, and a payer may have
// signed with the one before.
func (k kind) hasFeePayer(key string, now time.Time) bool {
	seen, ok := k.feePayers[key]
	return ok && now.Sub(seen) <= feePayerFor
}

// clean makes a reason that a facilitator gave fit to be shown: one short line of plain characters without our secret.
func (f *facilitator) clean(reason string) string {
	const longest = 200
	reason = strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return -1
		}
		return c
	}, reason)
	if f.secret != "" {
		reason = strings.ReplaceAll(reason, f.secret, redacted)
	}
	return reason[:min(len(reason), longest)]
}
