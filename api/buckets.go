package api

import (
	"container/list"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// bucketsMax is how many buckets of one kind are remembered.
const bucketsMax = 50_000

// buckets are token buckets by key; the least recently used is forgotten beyond bucketsMax.
type buckets[K comparable] struct {
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

// newBuckets makes buckets that refill perSecond up to burst; perSecond 0 means no limit.
func newBuckets[K comparable](perSecond float64, burst int) *buckets[K] {
	return &buckets[K]{rate: limitOf(perSecond), burst: max(burst, 1), byKey: map[K]*list.Element{}, recent: list.New()}
}

// take removes n tokens (never more than a full bucket holds) or refuses and tells when to come back.
func (b *buckets[K]) take(key K, n int, now time.Time) *Refusal {
	if b.rate == rate.Inf {
		return nil
	}
	reservation := b.of(key).ReserveN(now, min(n, b.burst))
	wait := reservation.DelayFrom(now)
	if wait <= 0 {
		return nil
	}
	reservation.CancelAt(now)
	return Refuse(RateLimited).with("retry_after", int(math.Ceil(wait.Seconds())))
}

func (b *buckets[K]) of(key K) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := b.byKey[key]; ok {
		b.recent.MoveToFront(e)
		return e.Value.(*bucket[K]).limiter
	}
	if b.recent.Len() >= bucketsMax {
		oldest := b.recent.Back()
		b.recent.Remove(oldest)
		delete(b.byKey, oldest.Value.(*bucket[K]).key)
	}
	limiter := rate.NewLimiter(b.rate, b.burst)
	b.byKey[key] = b.recent.PushFront(&bucket[K]{key, limiter})
	return limiter
}

func (b *buckets[K]) drop(key K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := b.byKey[key]; ok {
		b.recent.Remove(e)
		delete(b.byKey, key)
	}
}
