package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrLeaseLost is wrapped by the cause of a lease's context, and by Err and Release, when the lock was lost.
var ErrLeaseLost = errors.New("client: the lease is lost")

// errReleased is the cause of a lease's context after Release.
var errReleased = errors.New("client: the lock was released")

const releaseTime = 10 * time.Second // for giving a lock back, however its holder's context ended

// Lease is a held lock that is kept held. It may be used by many goroutines.
type Lease struct {
	c      *Client // without repeats: a renewal that fails is made anew, with its own time
	name   string
	token  int64
	length time.Duration

	ctx   context.Context // ends with the lease
	end   context.CancelCauseFunc
	once  sync.Once
	alarm *time.Timer // when the lease can no longer be proved

	mu       sync.Mutex
	began    time.Time // the lease in force began then or later
	expires  time.Time // as the service told
	lost     error
	trouble  error // of the last renewal that failed; nil after one that did not
	released bool
}

func newLease(ctx context.Context, c *Client, got AcquireLockOut, length time.Duration, asked time.Time) *Lease {
	once := *c
	once.retries = 0
	l := &Lease{c: &once, name: got.Name, token: got.FencingToken, length: length, began: asked, expires: got.LeaseExpiresAt}
	l.ctx, l.end = context.WithCancelCause(ctx)
	l.mu.Lock() // the alarm may ring before it is written down
	defer l.mu.Unlock()
	l.alarm = time.AfterFunc(l.provable().Sub(now()), l.expire)
	return l
}

// Name is the lock's name.
func (l *Lease) Name() string { return l.name }

// FencingToken grows with every new holder. Given to WriteFile, AppendFile and DeleteFile together with Name it makes the
// change happen only while this lease lasts; other stores can refuse a token lower than one they have seen.
func (l *Lease) FencingToken() int64 { return l.token }

// Context ends when the lease is lost or released, and with the context given to HoldLock. context.Cause tells which.
func (l *Lease) Context() context.Context { return l.ctx }

// ExpiresAt is when the lease runs out unless it is renewed, by the service's clock.
func (l *Lease) ExpiresAt() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.expires
}

// Held tells whether the lock is certainly held now. Of the two readings of this machine's clock the stricter one counts, so
// that a machine that slept does not go on as if nothing had happened.
func (l *Lease) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost == nil && !l.released && l.provedAt(now())
}

// Err is nil while the lease lasts and after Release, and tells why it was lost.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// provable is until when the lease can be proved by this machine's monotonic clock: the service's own began no earlier than
// the request for it was sent. A twentieth is left for clocks that run at different speeds.
func (l *Lease) provable() time.Time { return l.began.Add(l.length - min(l.length/20, 2*time.Second)) }

func (l *Lease) provedAt(t time.Time) bool {
	until := l.provable()
	return t.Before(until) && t.Round(0).Before(until.Round(0))
}

// expire ends the lease when it can no longer be proved.
func (l *Lease) expire() {
	l.mu.Lock()
	left := l.provable().Sub(now())
	if left > 0 { // it was renewed meanwhile
		l.alarm.Reset(left)
		l.mu.Unlock()
		return
	}
	reason := l.trouble
	l.mu.Unlock()
	if reason == nil {
		reason = errors.New("it was not renewed in time")
	}
	l.lose(reason)
}

// lose ends the lease, once.
func (l *Lease) lose(reason error) {
	l.mu.Lock()
	if l.lost == nil && !l.released {
		l.lost = fmt.Errorf("%w: %s: %w", ErrLeaseLost, l.name, reason)
	}
	lost := l.lost
	l.mu.Unlock()
	if lost != nil {
		l.alarm.Stop()
		l.end(lost)
	}
}

// keep renews the lease whenever a third of it is over, and again soon when that did not work.
func (l *Lease) keep() {
	pause, attempt := l.length/3, 1
	for wait(l.ctx, pause) {
		err := l.renew()
		switch {
		case err == nil:
			attempt, pause = 1, l.length/3
		case leaseIsGone(err):
			l.lose(err)
			return
		default:
			pause = min(pauseBefore(min(attempt, 6), err), l.length/6)
			attempt++
		}
	}
}

// renew begins the lease anew. An attempt gets a third of the lease: one that hangs leaves time for others.
func (l *Lease) renew() error {
	ctx, cancel := context.WithTimeout(l.ctx, max(l.length/3, 250*time.Millisecond))
	defer cancel()
	asked := now()
	got, err := l.c.RenewLock(ctx, RenewLockIn{Name: l.name, LeaseSeconds: int64(l.length / time.Second)})
	if err == nil && got.FencingToken != l.token {
		err = fmt.Errorf("%w: it was taken anew under this key", CodeNotLockHolder)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = err
	if err == nil {
		l.began, l.expires = asked, got.LeaseExpiresAt
		l.alarm.Reset(l.provable().Sub(now()))
	}
	return err
}

// leaseIsGone tells whether a refused renewal proves that the lock is not held any more. A key that is refused was revoked,
// and its locks with it. Other refusals (no money, say) leave the lease until it runs out.
func leaseIsGone(err error) bool {
	return IsCode(err, CodeNotFound) || IsCode(err, CodeNotLockHolder) || IsCode(err, CodeUnauthenticated)
}

// Release ends the keeping and gives the lock back, also when the context of HoldLock has ended. The error tells that the
// lease was lost before (ErrLeaseLost), or that nobody answered: the lock is then free when its lease has run out. Only the
// first call does something.
func (l *Lease) Release() error {
	err := l.Err()
	l.once.Do(func() { err = l.release() })
	return err
}

func (l *Lease) release() error {
	held := l.Held()
	l.mu.Lock()
	if l.lost == nil {
		l.released = held
	}
	l.mu.Unlock()
	l.alarm.Stop()
	if !held {
		l.lose(errors.New("it ran out"))
		return l.Err()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), releaseTime)
	defer cancel()
	l.end(errReleased)
	giving := *l.c
	giving.retries = retriesDefault
	_, err := giving.ReleaseLock(ctx, ReleaseLockIn{Name: l.name})
	if err != nil && leaseIsGone(err) {
		return fmt.Errorf("%w: %s: %w", ErrLeaseLost, l.name, err)
	}
	return err
}

// WithLock does work while it holds a lock, and gives the lock back. work's context ends the moment the lease is lost; what
// it writes with the lease's fencing token is refused from then on. The error is that of HoldLock, or those of work, of a
// lost lease and of the release, joined.
func (c *Client) WithLock(ctx context.Context, in HoldLockIn, work func(context.Context, *Lease) error) error {
	lease, err := c.HoldLock(ctx, in)
	if err != nil {
		return err
	}
	released := false
	defer func() {
		if !released { // work has panicked
			_ = lease.Release()
		}
	}()
	err = work(lease.Context(), lease)
	released = true
	return errors.Join(err, lease.Release())
}
