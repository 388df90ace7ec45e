package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"aanet/store"
)

// troublePause is between two tries of a call that waits while the database is away.
const troublePause = 250 * time.Millisecond

// drain is closed when nobody may wait any longer.
type drain struct {
	once sync.Once
	done chan struct{}
}

// Drain ends all waiting: calls that wait answer at once with what is known, streams end, and from then
// on nothing waits. It is for a service that is about to stop.
func (s *Service) Drain() { s.drain.once.Do(func() { close(s.drain.done) }) }

func (s *Service) draining() bool {
	select {
	case <-s.drain.done:
		return true
	default:
		return false
	}
}

// wait is a call that waits: until it is told to look again, or its time is over.
type wait struct {
	watch    *store.Watch
	deadline *time.Timer
	drained  <-chan struct{}
}

// beginWait lets a call wait for so many seconds. It is told of everything until its watch is narrowed.
func (c *Caller) beginWait(ctx context.Context, seconds int64) (*wait, error) {
	watch, err := c.svc.store.Watch(ctx, c.Workspace())
	if err != nil {
		return nil, storeError(err)
	}
	return &wait{watch, time.NewTimer(time.Duration(seconds) * time.Second), c.svc.drain.done}, nil
}

func (w *wait) end() {
	w.watch.Close()
	w.deadline.Stop()
}

// next waits until there may be something new, or for as long as look says when that is above zero. It
// is false when the wait is over. The error is the caller's being gone.
func (w *wait) next(ctx context.Context, look time.Duration) (bool, error) {
	var timer <-chan time.Time
	if look > 0 {
		t := time.NewTimer(look)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-w.drained:
		return false, nil
	case <-w.deadline.C:
		return false, nil
	case <-timer:
		return true, nil
	case <-w.watch.C:
		return true, nil
	}
}

// poll makes a call that reads, and makes it again while it finds nothing, for so many seconds. read
// says whether it found something; with wait set it may find nothing free of charge.
func (c *Caller) poll(ctx context.Context, seconds int64, narrow func() func(store.Change) bool, read func(ctx context.Context, wait bool) (bool, error)) error {
	if seconds == 0 || c.svc.draining() {
		_, err := read(ctx, false)
		return err
	}
	w, err := c.beginWait(ctx, seconds)
	if err != nil {
		return err
	}
	defer w.end()
	for first := true; ; first = false {
		found, err := read(ctx, true)
		away := !first && errors.Is(err, store.ErrUnavailable)
		if found || err != nil && !away {
			return err
		}
		look := troublePause
		if !away {
			look = 0
			w.watch.Want(narrow())
		}
		more, err := w.next(ctx, look)
		if err != nil {
			return err
		}
		if !more {
			_, err := read(ctx, false)
			return err
		}
	}
}

// aboutKey tells whether a change may end what a key may do.
func aboutKey(e store.Change, subkey *uuid.UUID) bool {
	switch e.Operation {
	case "REVOKE_SUBKEY", "UPDATE_SUBKEY", "ROTATE_KEY": // without a path it is the owner's
		return e.Path == nil && subkey == nil || e.Path != nil && subkey != nil && *e.Path == subkey.String()
	case "DELETE_WORKSPACE":
		return true
	}
	return false
}

// inInbox tells whether a message reaches a key; the owner, a nil sub-key, sees all.
func inInbox(recipient, subkey *uuid.UUID) bool {
	return subkey == nil || recipient == nil || *recipient == *subkey
}
