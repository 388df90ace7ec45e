package x402

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	sdk "github.com/x402-foundation/x402/go"
)

const (
	// liveFor is how long an answer of /supported counts when no newer one comes.
	liveFor = 5 * time.Minute
	// feePayerFor is how long a fee payer counts after a facilitator last named it: twice the life of a challenge.
	feePayerFor = 2 * challengeSeconds * time.Second
	// supportedTimeout bounds one /supported.
	supportedTimeout = 10 * time.Second
	// retryFirst is the wait after a first failure; it doubles with each further one, up to the normal interval.
	retryFirst = time.Second
)

// refresh asks one facilitator again and again what it supports, each on a goroutine of its own: one that hangs is
// missed by nobody else.
func (f *facilitator) refresh(ctx context.Context, interval time.Duration) {
	failures := 0
	for first := true; ctx.Err() == nil; first = false {
		if f.askSupported(ctx) {
			failures = 0
		} else {
			failures++
		}
		if first {
			close(f.first)
		}
		wait := interval
		if failures > 0 {
			wait = min(interval, retryFirst<<min(failures-1, 10))
		}
		f.pause(ctx, min(interval, retryFirst), jitter(wait))
	}
}

// pause waits least, however often it is woken, and otherwise until it is woken or the time is over.
func (f *facilitator) pause(ctx context.Context, least, wait time.Duration) {
	timer := time.NewTimer(least)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	timer.Reset(max(0, wait-least))
	select {
	case <-timer.C:
	case <-f.wake:
	case <-ctx.Done():
	}
}

// jitter spreads replicas that started together: 90 to 110 percent.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1)
}

// wakeUp asks for an early refresh and never waits.
func (f *facilitator) wakeUp() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *facilitator) askSupported(ctx context.Context) (ok bool) {
	f.call(ctx, EndpointSupported, supportedTimeout, func(ctx context.Context, n *note) (string, string) {
		answer, err := f.client.GetSupported(ctx)
		now := f.now()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.askedAt = now
		if err != nil {
			f.fault = n.fault(err)
			return "fault", f.fault
		}
		f.kinds = f.read(answer, now)
		f.answered, f.fault, ok = now, "", true
		return "ok", ""
	})
	return ok
}

// read keeps what deposits can use: scheme exact of version 2 on networks that are known and allowed. Fee payers named
// in earlier answers are kept until they are too old. The caller holds the lock.
func (f *facilitator) read(answer sdk.SupportedResponse, now time.Time) map[string]kind {
	kinds := map[string]kind{}
	for _, offered := range answer.Kinds {
		network, known := NetworkOf(offered.Network)
		if !known || offered.X402Version != protocolVersion || offered.Scheme != schemeExact ||
			(len(f.allowed) > 0 && !slices.Contains(f.allowed, network.ID)) {
			continue
		}
		if !network.IsSolana() {
			kinds[network.ID] = kind{}
			continue
		}
		payer, _ := offered.Extra["feePayer"].(string)
		if key, ok := decodeBase58(payer); !ok || len(key) != solanaKeySize {
			continue
		}
		k, again := kinds[network.ID]
		if !again {
			k = kind{feePayer: payer, feePayers: f.rememberedFeePayers(network.ID, now)}
		}
		k.feePayers[payer] = now
		kinds[network.ID] = k
	}
	if k, ok := kinds[SolanaID]; ok {
		for family, signers := range answer.Signers {
			if strings.HasPrefix(family, "solana:") {
				for _, signer := range signers {
					k.feePayers[signer] = now
				}
			}
		}
	}
	return kinds
}

func (f *facilitator) rememberedFeePayers(network string, now time.Time) map[string]time.Time {
	kept := map[string]time.Time{}
	old := f.kinds[network]
	for key, seen := range old.feePayers {
		if old.hasFeePayer(key, now) {
			kept[key] = seen
		}
	}
	return kept
}
