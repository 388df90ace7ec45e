package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrHeldByThisKey is the error of HoldLock when the very key it uses holds the lock already. The service gives a lock to a
// key and not to a program: two programs with one key would both be given it. Give each its own key, or see Takeover.
var ErrHeldByThisKey = errors.New("client: this key holds the lock already")

// Forever, as HoldLockIn.Wait, waits until the context ends.
const Forever = time.Duration(math.MaxInt64)

const leaseDefault = 30 * time.Second

// HoldLockIn is the input of HoldLock.
type HoldLockIn struct {
	// The lock's name: 1-255 bytes.
	Name string
	// How long the lock stays taken when this program dies: 1 s to an hour, whole seconds. 0: 30 s.
	Lease time.Duration
	// How long to wait while another has the lock. Those who wait are served first come, first served, in stretches of 50 s.
	// 0: not at all, and the error is LOCK_HELD.
	Wait time.Duration
	// Take the lock also when this key holds it already: for a program that was started again, is the only one with its key,
	// and need not wait for its former lease to run out. It costs one call less, too.
	Takeover bool
}

// HoldLock takes a lock and keeps its lease until Release, by renewing it in the background whenever a third of it is over.
// The lease's context ends when ctx does, and the moment the lease is lost. It costs 5 units, 1 for looking whether this key
// has the lock already (0 when nobody ever had it), and 2 for each renewal.
//
// The error is LOCK_HELD (or ErrHeldByThisKey) when the lock could not be had in time.
func (c *Client) HoldLock(ctx context.Context, in HoldLockIn) (*Lease, error) {
	seconds, err := secondsOf(in)
	if err != nil {
		return nil, err
	}
	end := now().Add(min(in.Wait, 100*365*24*time.Hour))
	for attempt := 1; ; attempt++ {
		started := now()
		lease, err := c.tryLock(ctx, in, seconds, waitSeconds(in.Wait, end.Sub(started)))
		if err == nil || ctx.Err() != nil {
			return lease, err
		}
		held := IsCode(err, CodeLockHeld) || errors.Is(err, ErrHeldByThisKey)
		left := end.Sub(now())
		if left <= 0 || !held && !Temporary(err) && !errors.Is(err, ErrLeaseLost) {
			return nil, err
		}
		// The service has let us wait; if it did not (it is about to stop, say), we do.
		pause := pauseBefore(min(attempt, 6), err)
		if held && now().Sub(started) > pause {
			continue
		}
		if !wait(ctx, min(pause, left)) {
			return nil, err
		}
	}
}

func secondsOf(in HoldLockIn) (int64, error) {
	lease := in.Lease
	if lease == 0 {
		lease = leaseDefault
	}
	if lease < time.Second || lease > time.Hour || lease%time.Second != 0 {
		return 0, fmt.Errorf("client: a lease of %s: it must be 1 s to 1 h in whole seconds", lease)
	}
	return int64(lease / time.Second), nil
}

// waitSeconds is what one call may wait of what is left.
func waitSeconds(wanted, left time.Duration) int64 {
	const most = 50 * time.Second
	if wanted <= 0 || left <= 0 {
		return 0
	}
	return int64((min(left, most) + time.Second - 1) / time.Second)
}

// tryLock takes the lock, waiting for it so long.
func (c *Client) tryLock(ctx context.Context, in HoldLockIn, seconds, waiting int64) (*Lease, error) {
	if !in.Takeover {
		if err := c.awaitOwnLease(ctx, in.Name, waiting); err != nil {
			return nil, err
		}
	}
	asked := now()
	got, err := c.AcquireLock(ctx, AcquireLockIn{Name: in.Name, LeaseSeconds: seconds, WaitSeconds: waiting})
	if err != nil {
		return nil, err
	}
	if got.Reacquired && !in.Takeover { // by another program with this key, since we looked; the lease stays its own
		return nil, ErrHeldByThisKey
	}
	lease := newLease(ctx, c, got, time.Duration(seconds)*time.Second, asked)
	// After a wait the lease has begun some time after asked. A renewal begins when it is sent, at the earliest.
	if now().Sub(asked) > lease.length/3 {
		if err := lease.renew(); err != nil && leaseIsGone(err) {
			lease.lose(err)
			return nil, lease.Err()
		}
	}
	if !lease.Held() {
		_ = lease.Release() // at worst it runs out by itself
		return nil, fmt.Errorf("%w: the lock was given and could not be proved to be held still", ErrNotReached)
	}
	go lease.keep()
	return lease, nil
}

// awaitOwnLease looks whether this key has the lock already, and waits for its release so long.
func (c *Client) awaitOwnLease(ctx context.Context, name string, seconds int64) error {
	status, err := c.GetLockStatus(ctx, GetLockStatusIn{Name: name})
	if err != nil || status.Status != "held" {
		return err
	}
	who, err := c.GetRemainingBalance(ctx)
	if err != nil {
		return err
	}
	own := who.Key.SubkeyID
	if (own == nil) != (status.HolderSubkeyID == nil) || own != nil && *own != *status.HolderSubkeyID {
		return nil // another's: waiting for it is the service's part
	}
	if seconds > 0 {
		// The feed tells of a release and not of an expiry, so the look is repeated after a while.
		_, err = c.Wait(ctx, WaitIn{Types: new("lock_available"), LockName: &name, WaitSeconds: min(seconds, 5)})
	}
	return errors.Join(ErrHeldByThisKey, err)
}
