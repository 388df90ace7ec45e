package admin

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// kitchen computes a shared value: each time the next number, when it is let.
type kitchen struct {
	made int
	let  chan error // each sent ends a computation; nil: they end at once
}

func (k *kitchen) compute(context.Context) (int, error) {
	k.made++
	made := k.made
	if k.let == nil {
		return made, nil
	}
	return made, <-k.let
}

// However many ask, a value is computed once as long as it is fresh, and not kept when the clock was set back.
func TestSharedIsComputedOnceAWhile(t *testing.T) {
	now, k := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC), kitchen{}
	s := newShared(k.compute, 5*time.Second, func() time.Time { return now })
	for _, step := range []struct {
		pass time.Duration
		want int
	}{{0, 1}, {0, 1}, {4999 * time.Millisecond, 1}, {time.Millisecond, 2}, {4 * time.Second, 2}, {-5 * time.Second, 3}, {time.Second, 3}, {time.Hour, 4}} {
		now = now.Add(step.pass)
		if got, err := s.get(t.Context()); got != step.want || err != nil {
			t.Errorf("%v later: %d %v, want %d", step.pass, got, err, step.want)
		}
	}
	s.forget()
	if got, _ := s.get(t.Context()); got != 5 {
		t.Errorf("after an act the value is number %d", got)
	}
}

// visitors let n ask at once, and give a function that waits for their answers.
func visitors(ctx context.Context, s *shared[int], n int) func() (values []int, errs []error) {
	values, errs := make([]int, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { values[i], errs[i] = s.get(ctx) })
	}
	synctest.Wait() // until all are in there
	return func() ([]int, []error) { all.Wait(); return values, errs }
}

// Many who come at once cause one computation and share its answer, also when it is an error; nobody after them gets that.
func TestManyVisitorsShareOneComputation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away, k := errors.New("away"), kitchen{let: make(chan error)}
		s := newShared(k.compute, 5*time.Second, time.Now)
		for round, outcome := range []error{away, nil} {
			answers := visitors(t.Context(), s, 100)
			k.let <- outcome
			values, errs := answers()
			for i := range values {
				if values[i] != round+1 || !errors.Is(errs[i], outcome) {
					t.Fatalf("round %d, visitor %d: %d %v", round, i, values[i], errs[i])
				}
			}
		}
		if got, err := s.get(t.Context()); got != 2 || err != nil || k.made != 2 {
			t.Errorf("the next one gets %d %v after %d computations", got, err, k.made)
		}
	})
}

// A visitor who leaves waits no longer, and takes nothing from those who stay, even if it was he who began it.
func TestVisitorsWhoLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := kitchen{let: make(chan error)}
		s := newShared(func(ctx context.Context) (int, error) {
			value, _ := k.compute(ctx)
			return value, ctx.Err()
		}, 5*time.Second, time.Now)
		leaving, leave := context.WithCancel(t.Context())
		first := visitors(leaving, s, 1)
		second := visitors(leaving, s, 1)
		third := visitors(t.Context(), s, 1)
		leave()
		if _, errs := second(); !errors.Is(errs[0], context.Canceled) {
			t.Errorf("one who left: %v", errs[0])
		}
		k.let <- nil
		if values, errs := third(); values[0] != 1 || errs[0] != nil {
			t.Errorf("one who stayed: %d %v", values[0], errs[0])
		}
		first()
	})
}

// Who asks after an act does not get what was computed, or begun, before it; and what was begun before is not kept.
func TestAnActEndsWhatWasComputedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := kitchen{let: make(chan error)}
		s := newShared(k.compute, 5*time.Second, time.Now)
		before := visitors(t.Context(), s, 2)
		s.forget()
		after := visitors(t.Context(), s, 2)
		k.let <- nil
		k.let <- nil
		old, _ := before()
		fresh, _ := after()
		if old[0] != 1 || old[1] != 1 || fresh[0] != 2 || fresh[1] != 2 {
			t.Errorf("before the act %v, after it %v", old, fresh)
		}
		if got, _ := s.get(t.Context()); got != 2 {
			t.Errorf("kept is number %d", got)
		}
	})
}

// A computation that panics leaves nobody waiting, and the next one works.
func TestAPanicLeavesNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		broken := true
		s := newShared(func(context.Context) (int, error) {
			if broken {
				<-release
				panic("broken")
			}
			return 7, nil
		}, 5*time.Second, time.Now)
		var first sync.WaitGroup
		first.Go(func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is hidden")
				}
			}()
			_, _ = s.get(t.Context())
		})
		synctest.Wait()
		waiting := visitors(t.Context(), s, 1)
		close(release)
		if _, errs := waiting(); !errors.Is(errs[0], errBroken) {
			t.Errorf("one who waited: %v", errs[0])
		}
		first.Wait()
		broken = false
		if got, err := s.get(t.Context()); got != 7 || err != nil {
			t.Errorf("the next one: %d %v", got, err)
		}
	})
}
