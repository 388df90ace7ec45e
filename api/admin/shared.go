package admin

import (
	"context"
	"errors"
	"sync"
	"time"
)

// sharedFor bounds one computation: as others may wait for it, the visitor who began it does not end it by leaving.
const sharedFor = 20 * time.Second

// errBroken is what those get who wait for a computation that panics.
var errBroken = errors.New("the computation broke off")

// shared is a value that takes long to compute and is the same for everybody. It is computed when somebody asks and the
// last one is older than life, once for all who ask meanwhile. An error goes to those who waited for it and is not kept.
type shared[V any] struct {
	compute func(context.Context) (V, error)
	life    time.Duration
	now     func() time.Time

	mu     sync.Mutex
	last   *V
	at     time.Time       // when the computation of last began
	flight *computation[V] // that new visitors may wait for; nil: there is none
}

func newShared[V any](compute func(context.Context) (V, error), life time.Duration, now func() time.Time) *shared[V] {
	return &shared[V]{compute: compute, life: life, now: now}
}

// computation is one that is under way; value and err are there when done is closed.
type computation[V any] struct {
	done  chan struct{}
	value V
	err   error
}

// get gives the value, or the computation's error, or that of ctx when a visitor who waits leaves first.
func (s *shared[V]) get(ctx context.Context) (V, error) {
	s.mu.Lock()
	if s.last != nil {
		if age := s.now().Sub(s.at); age >= 0 && age < s.life { // below zero: the clock was set back
			defer s.mu.Unlock()
			return *s.last, nil
		}
	}
	f := s.flight
	if f == nil {
		f = &computation[V]{done: make(chan struct{}), err: errBroken}
		s.flight = f
		began := s.now()
		s.mu.Unlock()
		s.run(context.WithoutCancel(ctx), f, began)
		return f.value, f.err
	}
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

func (s *shared[V]) run(ctx context.Context, f *computation[V], began time.Time) {
	ctx, cancel := context.WithTimeout(ctx, sharedFor)
	defer cancel()
	defer s.land(f, began)
	f.value, f.err = s.compute(ctx)
}

func (s *shared[V]) land(f *computation[V], began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight == f { // else something has changed since it began
		s.flight = nil
		if f.err == nil {
			s.last, s.at = &f.value, began
		}
	}
	close(f.done)
}

// forget makes whoever asks from now on see what has just changed.
func (s *shared[V]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.flight = nil, nil
}
