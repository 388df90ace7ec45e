// Package buckets limits how often something may happen, by key: an address or an API key. Each process
// counts for itself.
package buckets

import (
	"container/list"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// most is how many buckets of one kind are remembered.
const most = 50_000

// Buckets are token buckets by key; the least recently used is forgotten beyond 50,000, so that a flood of keys cannot
// fill the memory.
type Buckets[K comparable] struct {
	rate  rate.Limit
	burst int

	mu     sync.Mutex
	byKey  map[K]*list.Element
	recent *list.List // of *bucket[K], the most recently used first
}

type bucket[K comparable] struct {
	key     K
	limiter *rate.Limiter
}

// New makes buckets that refill perSecond up to burst; perSecond 0 means no limit.
func New[K comparable](perSecond float64, burst int) *Buckets[K] {
	limit := rate.Limit(perSecond)
	if perSecond == 0 {
		limit = rate.Inf
	}
	return &Buckets[K]{rate: limit, burst: max(burst, 1), byKey: map[K]*list.Element{}, recent: list.New()}
}

// Take removes n tokens (never more than a full bucket holds). With a wait above zero it took none, and they are there
// after it. undo gives back what was taken.
func (b *Buckets[K]) Take(key K, n int, now time.Time) (wait time.Duration, undo func()) {
	if b.rate == rate.Inf {
		return 0, func() {}
	}
	reservation := b.of(key).ReserveN(now, min(n, b.burst))
	undo = func() { reservation.CancelAt(now) }
	if wait = reservation.DelayFrom(now); wait > 0 {
		undo()
		return wait, func() {}
	}
	return 0, undo
}

func (b *Buckets[K]) of(key K) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := b.byKey[key]; ok {
		b.recent.MoveToFront(e)
		return e.Value.(*bucket[K]).limiter
	}
	if b.recent.Len() >= most {
		oldest := b.recent.Back()
		b.recent.Remove(oldest)
		delete(b.byKey, oldest.Value.(*bucket[K]).key)
	}
	limiter := rate.NewLimiter(b.rate, b.burst)
	b.byKey[key] = b.recent.PushFront(&bucket[K]{key, limiter})
	return limiter
}

// Drop forgets a key.
func (b *Buckets[K]) Drop(key K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := b.byKey[key]; ok {
		b.recent.Remove(e)
		delete(b.byKey, key)
	}
}

// Network is what counts as one client: an IPv4 address, or the /64 that an IPv6 customer is given.
func Network(a netip.Addr) netip.Prefix {
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
