package api

import (
	"math"
	"net/netip"
	"time"

	"aanet/api/buckets"
)

// Limits are the rates the service allows, each per replica. Zero means no limit.
type Limits struct {
	TrialPerHour        float64 `json:"trial_per_hour"`         // trials created from one address
	CreatePerHour       float64 `json:"create_per_hour"`        // workspaces created from one address
	KeyRate             float64 `json:"key_rate"`               // calls of one key a second
	KeyBurst            int     `json:"key_burst"`              // and at once
	KeyBytesRate        float64 `json:"key_bytes_rate"`         // request bytes of one key a second
	KeyBytesBurst       int     `json:"key_bytes_burst"`        // and at once
	FailedKeysPerMinute float64 `json:"failed_keys_per_minute"` // wrong keys from one address
	RefusalRowsRate     float64 `json:"refusal_rows_rate"`      // logged refusals of one workspace a second
	RefusalRowsBurst    float64 `json:"refusal_rows_burst"`     // and at once
}

// DefaultLimits are in force unless the operator sets others.
func DefaultLimits() Limits {
	return Limits{
		TrialPerHour: 10, CreatePerHour: 60, KeyRate: 200, KeyBurst: 400, KeyBytesRate: 16 << 20, KeyBytesBurst: 64 << 20,
		FailedKeysPerMinute: 60, RefusalRowsRate: 50, RefusalRowsBurst: 500,
	}
}

// guards hold the buckets behind Limits.
type guards struct {
	trials, workspaces, failed *buckets.Buckets[netip.Prefix]
	calls, bytes               *buckets.Buckets[[32]byte]
	now                        func() time.Time
}

func newGuards(l Limits, now func() time.Time) *guards {
	return &guards{
		trials:     buckets.New[netip.Prefix](l.TrialPerHour/3600, int(l.TrialPerHour)),
		workspaces: buckets.New[netip.Prefix](l.CreatePerHour/3600, int(l.CreatePerHour)),
		failed:     buckets.New[netip.Prefix](l.FailedKeysPerMinute/60, int(l.FailedKeysPerMinute)),
		calls:      buckets.New[[32]byte](l.KeyRate, l.KeyBurst),
		bytes:      buckets.New[[32]byte](l.KeyBytesRate, l.KeyBytesBurst),
		now:        now,
	}
}

// stranger limits what can be done without a key that leaves something behind.
func (g *guards) stranger(o *Op, from netip.Addr) *Refusal {
	switch o.Name {
	case "create_trial_workspace":
		return take(g.trials, buckets.Network(from), 1, g.now())
	case "create_workspace":
		return take(g.workspaces, buckets.Network(from), 1, g.now())
	}
	return nil
}

// key limits the calls and bytes of one key.
func (g *guards) key(k Key, bytes int) *Refusal {
	if refusal := take(g.calls, k.Hash(), 1, g.now()); refusal != nil {
		return refusal
	}
	if bytes == 0 {
		return nil
	}
	return take(g.bytes, k.Hash(), bytes, g.now())
}

// failedKey is the answer to a wrong key: 401, or 429 once too many came from the same address.
// A valid key from there never comes here.
func (g *guards) failedKey(from netip.Addr) *Refusal {
	if refusal := take(g.failed, buckets.Network(from), 1, g.now()); refusal != nil {
		return refusal
	}
	return Refuse(Unauthenticated)
}

// forget frees the bucket of a key that does not exist.
func (g *guards) forget(k Key) {
	g.calls.Drop(k.Hash())
	g.bytes.Drop(k.Hash())
}

// take removes n tokens or refuses and tells when to come back.
func take[K comparable](b *buckets.Buckets[K], key K, n int, now time.Time) *Refusal {
	wait, _ := b.Take(key, n, now)
	if wait <= 0 {
		return nil
	}
	return Refuse(RateLimited).with("retry_after", int(math.Ceil(wait.Seconds())))
}
