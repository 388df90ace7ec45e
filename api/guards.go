package api

import (
	"net/netip"
	"time"

	"golang.org/x/time/rate"
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

// DefaultLimits are in force when the operator sets nothing.
func DefaultLimits() Limits {
	return Limits{
		TrialPerHour: 10, CreatePerHour: 60, KeyRate: 200, KeyBurst: 400, KeyBytesRate: 16 << 20, KeyBytesBurst: 64 << 20,
		FailedKeysPerMinute: 60, RefusalRowsRate: 50, RefusalRowsBurst: 500,
	}
}

// guards hold the buckets behind Limits. Each kind remembers the most recently used only, so that
// a flood of addresses or keys cannot fill the memory.
type guards struct {
	trials, workspaces, failed *buckets[netip.Prefix]
	calls, bytes               *buckets[[32]byte]
	now                        func() time.Time
}

func newGuards(l Limits, now func() time.Time) *guards {
	return &guards{
		trials:     newBuckets[netip.Prefix](l.TrialPerHour/3600, int(l.TrialPerHour)),
		workspaces: newBuckets[netip.Prefix](l.CreatePerHour/3600, int(l.CreatePerHour)),
		failed:     newBuckets[netip.Prefix](l.FailedKeysPerMinute/60, int(l.FailedKeysPerMinute)),
		calls:      newBuckets[[32]byte](l.KeyRate, l.KeyBurst),
		bytes:      newBuckets[[32]byte](l.KeyBytesRate, l.KeyBytesBurst),
		now:        now,
	}
}

// stranger limits what can be done without a key that leaves something behind.
func (g *guards) stranger(o *Op, from netip.Addr) *Refusal {
	switch o.Name {
	case "create_trial_workspace":
		return g.trials.take(network(from), 1, g.now())
	case "create_workspace":
		return g.workspaces.take(network(from), 1, g.now())
	}
	return nil
}

// key limits the calls and bytes of one key.
func (g *guards) key(k Key, bytes int) *Refusal {
	if refusal := g.calls.take(k.Hash(), 1, g.now()); refusal != nil {
		return refusal
	}
	if bytes == 0 {
		return nil
	}
	return g.bytes.take(k.Hash(), bytes, g.now())
}

// failedKey is the answer to a wrong key: 401, or 429 once too many came from the same address.
// A valid key from there never comes here.
func (g *guards) failedKey(from netip.Addr) *Refusal {
	if refusal := g.failed.take(network(from), 1, g.now()); refusal != nil {
		return refusal
	}
	return Refuse(Unauthenticated)
}

// forget frees the bucket of a key that does not exist.
func (g *guards) forget(k Key) {
	g.calls.drop(k.Hash())
	g.bytes.drop(k.Hash())
}

// network is what counts as one client: an IPv4 address, or the /64 that an IPv6 customer is given.
func network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// limitOf gives the rate, where zero means no limit.
func limitOf(perSecond float64) rate.Limit {
	if perSecond == 0 {
		return rate.Inf
	}
	return rate.Limit(perSecond)
}
