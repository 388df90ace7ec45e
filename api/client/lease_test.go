package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"aanet/api/apitest"
	"aanet/api/client"
	"aanet/api/client/clienttest"
)

// swarm is a funded workspace of a real service with the client of its owner.
type swarm struct {
	*clienttest.Service
	ws    *apitest.Workspace
	owner *client.Client
}

func newSwarm(t *testing.T) swarm {
	t.Helper()
	s := clienttest.Serve(t, apitest.Options{})
	ws := s.Workspace(t, 100_000)
	return swarm{s, ws, client.New(s.URL, ws.Owner.Key)}
}

// agent mints a key and gives its client and id.
func (s swarm) agent(t *testing.T) (*client.Client, string) {
	t.Helper()
	a := s.ws.Mint(t)
	return s.owner.WithKey(a.Key), a.ID
}

// ends waits until a lease has ended, at most as long as it could last.
func ends(t *testing.T, l *client.Lease, within time.Duration) error {
	t.Helper()
	select {
	case <-l.Context().Done():
		return context.Cause(l.Context())
	case <-time.After(within):
		t.Fatalf("the lease still lasts after %s", within)
		return nil
	}
}

// patient is a lease whose every third is long even on a machine that is busy with other things.
const patient = 9 * time.Second

// A lease is renewed while the work goes on, and given back at the end.
func TestALeaseIsKept(t *testing.T) {
	t.Parallel()
	s := newSwarm(t)
	agent, id := s.agent(t)
	var first time.Time
	err := agent.WithLock(t.Context(), client.HoldLockIn{Name: "build", Lease: patient}, func(ctx context.Context, l *client.Lease) error {
		first = l.ExpiresAt()
		for !l.ExpiresAt().After(first) {
			if ctx.Err() != nil || !l.Held() {
				return fmt.Errorf("lost: %w", context.Cause(ctx))
			}
			time.Sleep(20 * time.Millisecond)
		}
		status, err := s.owner.GetLockStatus(ctx, client.GetLockStatusIn{Name: "build"})
		if err != nil || status.Status != "held" || *status.HolderSubkeyID != id || *status.FencingToken != l.FencingToken() {
			return fmt.Errorf("%+v, %w", status, err)
		}
		_, err = agent.WriteFile(ctx, client.WriteFileIn{Path: "a", Content: "b", LockName: new(l.Name()), FencingToken: new(l.FencingToken())})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if status, err := s.owner.GetLockStatus(t.Context(), client.GetLockStatusIn{Name: "build"}); err != nil || status.Status != "free" {
		t.Errorf("%+v, %v", status, err)
	}
}

// The owner revokes the key: its locks are free at once, and the holder learns it at the next renewal, long before the
// lease would have run out.
func TestARevokedHolderLosesItsLease(t *testing.T) {
	t.Parallel()
	s := newSwarm(t)
	agent, id := s.agent(t)
	lease, err := agent.HoldLock(t.Context(), client.HoldLockIn{Name: "build", Lease: patient})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.owner.RevokeSubkey(t.Context(), client.RevokeSubkeyIn{SubkeyID: id}); err != nil {
		t.Fatal(err)
	}
	err = ends(t, lease, time.Minute)
	if !errors.Is(err, client.ErrLeaseLost) || !errors.Is(err, client.CodeUnauthenticated) || lease.Held() {
		t.Errorf("%v, held %t", err, lease.Held())
	}
	if err := lease.Release(); !errors.Is(err, client.ErrLeaseLost) {
		t.Errorf("release: %v", err)
	}
}

// The service is away: the lease ends by the holder's own clock, before it can be anybody else's.
func TestALeaseThatCannotBeProvedEnds(t *testing.T) {
	t.Parallel()
	s := newSwarm(t)
	agent, _ := s.agent(t)
	lease, err := agent.HoldLock(t.Context(), client.HoldLockIn{Name: "build", Lease: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s.Away(true)
	err = ends(t, lease, time.Minute)
	if !errors.Is(err, client.ErrLeaseLost) || !errors.Is(err, client.ErrNotReached) {
		t.Errorf("%v", err)
	}
	s.Away(false)
	// Over for the holder, it is not yet over for the service, or only just.
	status, err := s.owner.GetLockStatus(t.Context(), client.GetLockStatusIn{Name: "build"})
	if err != nil || status.LeaseExpiresAt == nil && status.Status == "held" {
		t.Errorf("%+v, %v", status, err)
	}
	if err := lease.Release(); !errors.Is(err, client.ErrLeaseLost) {
		t.Errorf("release: %v", err)
	}
}

// A short outage costs no lease: the keeper tries again while it lasts.
func TestALeaseSurvivesAShortOutage(t *testing.T) {
	t.Parallel()
	s := newSwarm(t)
	agent, _ := s.agent(t)
	lease, err := agent.HoldLock(t.Context(), client.HoldLockIn{Name: "build", Lease: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s.Away(true)
	if err := lease.RenewNow(); !errors.Is(err, client.ErrNotReached) {
		t.Errorf("renewed: %v", err)
	}
	s.Away(false)
	if !lease.Held() || lease.Err() != nil {
		t.Error("the lease is lost")
	}
	before := lease.ExpiresAt()
	if err := lease.RenewNow(); err != nil || !lease.ExpiresAt().After(before) {
		t.Errorf("%v, %s after %s", err, lease.ExpiresAt(), before)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
	if err := context.Cause(lease.Context()); err == nil || errors.Is(err, client.ErrLeaseLost) {
		t.Errorf("ended by %v", err)
	}
}

// Of two keepers one waits for the other, whether they have one key or two. Never do both hold.
func TestTwoKeepersRace(t *testing.T) {
	t.Parallel()
	s := newSwarm(t)
	one, _ := s.agent(t)
	two, _ := s.agent(t)
	for _, c := range []struct {
		name    string
		keepers []*client.Client
	}{{"two keys", []*client.Client{one, two}}, {"one key", []*client.Client{one, one}}} {
		t.Run(c.name, func(t *testing.T) {
			var inside, total int
			var mu sync.Mutex
			var running sync.WaitGroup
			for _, keeper := range c.keepers {
				running.Go(func() {
					in := client.HoldLockIn{Name: strings.ReplaceAll(c.name, " ", "-"), Lease: 20 * time.Second, Wait: client.Forever}
					if err := keeper.WithLock(t.Context(), in, func(context.Context, *client.Lease) error {
						mu.Lock()
						inside++
						total++
						both := inside > 1
						mu.Unlock()
						if both {
							t.Error("both hold the lock")
						}
						time.Sleep(100 * time.Millisecond)
						mu.Lock()
						inside--
						mu.Unlock()
						return nil
					}); err != nil {
						t.Error(err)
					}
				})
			}
			running.Wait()
			if total != 2 {
				t.Errorf("%d have held it", total)
			}
		})
	}
}

func TestALockThatIsHeld(t *testing.T) {
	t.Parallel()
	s := newSwarm(t)
	one, _ := s.agent(t)
	two, _ := s.agent(t)
	lease, err := one.HoldLock(t.Context(), client.HoldLockIn{Name: "build"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.HoldLock(t.Context(), client.HoldLockIn{Name: "build"}); !errors.Is(err, client.CodeLockHeld) {
		t.Errorf("another key: %v", err)
	}
	if _, err := two.HoldLock(t.Context(), client.HoldLockIn{Name: "build", Wait: time.Second}); !errors.Is(err, client.CodeLockHeld) {
		t.Errorf("another key that waits: %v", err)
	}
	if _, err := one.HoldLock(t.Context(), client.HoldLockIn{Name: "build"}); !errors.Is(err, client.ErrHeldByThisKey) || !lease.Held() {
		t.Errorf("the same key: %v", err)
	}
	again, err := one.HoldLock(t.Context(), client.HoldLockIn{Name: "build", Takeover: true})
	if err != nil || again.FencingToken() != lease.FencingToken() {
		t.Errorf("taken over: %v", err)
	}
	for _, wrong := range []time.Duration{-time.Second, 1500 * time.Millisecond, 2 * time.Hour} {
		if _, err := one.HoldLock(t.Context(), client.HoldLockIn{Name: "x", Lease: wrong}); err == nil {
			t.Errorf("a lease of %s", wrong)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := two.HoldLock(ctx, client.HoldLockIn{Name: "build", Wait: client.Forever}); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

// The caller's context ends the work; the lock can be given back all the same.
func TestReleaseWorksAfterTheContext(t *testing.T) {
	t.Parallel()
	s := newSwarm(t)
	agent, _ := s.agent(t)
	ctx, cancel := context.WithCancel(t.Context())
	lease, err := agent.HoldLock(ctx, client.HoldLockIn{Name: "build"})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := ends(t, lease, time.Minute); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
	if held, err := s.owner.ListLocks(t.Context(), client.ListLocksIn{}); err != nil || len(held) > 0 {
		t.Errorf("%v, %v", held, err)
	}
}
