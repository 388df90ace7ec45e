package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"aanet/store"
)

// lines are those who wait for locks in this process. In each line only the first looks whether the lock
// is free: who is next over all replicas is decided by the database (functions/reserve_lock.sql).
type lines struct {
	mu  sync.Mutex
	all map[lineKey][]*inLine // by ticket
}

type lineKey struct {
	workspace uuid.UUID
	name      string
}

// inLine is a call that waits for a lock.
type inLine struct {
	id     uuid.UUID
	ticket int64
	poke   func()
}

// join puts a call into a line, once. It tells whether the call is the first.
func (l *lines) join(k lineKey, own *inLine) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.all[k]
	if !slices.Contains(line, own) {
		i, _ := slices.BinarySearchFunc(line, own.ticket, func(o *inLine, ticket int64) int { return cmp.Compare(o.ticket, ticket) })
		line = slices.Insert(line, i, own)
		l.all[k] = line
	}
	return line[0] == own
}

// leave takes a call out of its line. When it was the first, the next begins to look.
func (l *lines) leave(k lineKey, own *inLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.all[k]
	i := slices.Index(line, own)
	if i < 0 {
		return
	}
	line = slices.Delete(line, i, i+1)
	if len(line) == 0 {
		delete(l.all, k)
		return
	}
	l.all[k] = line
	if i == 0 {
		line[0].poke()
	}
}

func (l *lines) isFirst(k lineKey, own *inLine) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.all[k]
	return len(line) > 0 && line[0] == own
}

// pokeTicket lets the call with a ticket look, if it is here.
func (l *lines) pokeTicket(k lineKey, ticket int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.all[k] {
		if o.ticket == ticket {
			o.poke()
		}
	}
}

// lockTry is what functions/wait_for_lock.sql answers.
type lockTry struct {
	lease      time.Time
	token      int64
	again      bool
	waiting    bool
	ticket     *int64
	turn       *int64   // the ticket that the free lock is kept for
	lookInSecs *float64 // when the lease or the reservation ends
	subkey     *uuid.UUID
}

// waitForLock takes a lock as soon as it is the call's turn.
func (c *Caller) waitForLock(ctx context.Context, in AcquireLockIn) (AcquireLockOut, error) {
	w, err := c.beginWait(ctx, in.WaitSeconds)
	if err != nil {
		return AcquireLockOut{}, err
	}
	own := &inLine{id: newID(), poke: w.watch.Poke}
	k, lines := lineKey{c.Workspace(), in.Name}, c.svc.lines
	var subkey *uuid.UUID
	w.look = func(ctx context.Context, last bool) (any, bool, time.Duration, error) {
		try, err := c.tryLock(ctx, in, own.id, last)
		if err == nil && try.waiting {
			subkey = try.subkey
			return nil, false, lines.turn(k, own, try), nil
		}
		return AcquireLockOut{in.Name, Time{try.lease}, try.token, try.again}, true, 0, err
	}
	w.narrow = func() func(store.Change) bool {
		subkey := subkey
		return func(e store.Change) bool {
			aboutLock := e.ForLocks || e.Path != nil && *e.Path == in.Name && (e.Operation == "LOCK_RELEASE" || e.Operation == "LOCK_RENEW" || e.Operation == "LOCK_ACQUIRE")
			return aboutKey(e, subkey) || aboutLock && lines.isFirst(k, own)
		}
	}
	w.left = func(ctx context.Context, err error) {
		if own.ticket > 0 || errors.Is(err, store.ErrUnknown) {
			lines.leave(k, own)
			c.leaveLine(ctx, in.Name, own.id, err)
		}
	}
	return await[AcquireLockOut](ctx, w)
}

// turn takes note of an answer that says to wait, and gives the time after which to look again; 0 for
// never: somebody before it will.
func (l *lines) turn(k lineKey, own *inLine, try lockTry) time.Duration {
	if own.ticket == 0 {
		own.ticket = *try.ticket
	}
	first := l.join(k, own)
	if try.turn != nil {
		l.pokeTicket(k, *try.turn)
	}
	if !first {
		return 0
	}
	const least, most = 2 * time.Millisecond, time.Minute
	seconds := min(*try.lookInSecs, most.Seconds())
	return max(time.Duration(seconds*float64(time.Second))+time.Millisecond, least)
}

// tryLock asks whether it is the call's turn. It waits for the answer even when the caller is gone
// meanwhile, since a ticket may come with it.
func (c *Caller) tryLock(ctx context.Context, in AcquireLockIn, waiter uuid.UUID, last bool) (lockTry, error) {
	var try lockTry
	if err := ctx.Err(); err != nil {
		return try, err
	}
	var lease *time.Time
	var token *int64
	var again *bool
	err := c.do(context.WithoutCancel(ctx), fn{
		name: "wait_for_lock", price: c.op.Price.Base, args: []any{in.Name, in.LeaseSeconds, waiter, c.svc.store.Replica(), last},
		into: []any{&lease, &token, &again, &try.waiting, &try.ticket, &try.turn, &try.lookInSecs, &try.subkey},
		once: true, kept: 3,
	})
	if err == nil && !try.waiting { // a repeat gets these three only
		try.lease, try.token, try.again = *lease, *token, *again
	}
	return try, reservedDetail(err)
}

// leaveLine lets those behind a call go on when it ended without the lock. A refusal has taken its
// ticket away already; after anything else that is done here, though the caller may be gone. LOCK_HELD
// came when it was not this call's turn, so nobody's has come.
func (c *Caller) leaveLine(ctx context.Context, name string, waiter uuid.UUID, err error) {
	if err == nil {
		return
	}
	var refusal *Refusal
	refused := errors.As(err, &refusal) && refusal.Code != Unavailable
	others := refused && refusal.Code != LockHeld
	if !refused {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
		defer cancel()
		_, err := c.svc.store.Do(ctx, store.Call{Function: "leave_lock", Workspace: c.Workspace(), Args: []any{name, waiter}, Into: []any{&others}})
		if err != nil {
			return // the ticket is passed over when its second is over, and forgotten in two minutes
		}
	}
	if others {
		c.svc.store.TellLocks(c.Workspace())
	}
}

// leaveTimeout is for taking away the ticket of a caller that is gone.
const leaveTimeout = 5 * time.Second
