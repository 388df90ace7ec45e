package api

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
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
func (s *Service) Drain() {
	s.drain.once.Do(func() { close(s.drain.done) })
	s.store.PokeAll()
}

func (s *Service) draining() bool {
	select {
	case <-s.drain.done:
		return true
	default:
		return false
	}
}

// Waiting is a call that waits. It has no goroutine, no connection and no lane: whoever holds it calls Look
// whenever it is poked, and Leave when the caller is gone, until one of them gives the answer.
type Waiting struct {
	c       *Caller
	request Request // for the answer; without the input
	watch   *store.Watch
	end     *time.Timer
	again   *time.Timer // set when the call has to look again though nobody pokes it
	over    atomic.Bool // its time is
	looked  bool        // at least once
	attempt
}

// attempt is what a call does that waits.
type attempt struct {
	// look makes the call; when it is the last time it cannot wait any longer. While found is false it looks again when it is
	// told to, or after the time given when that is above zero.
	look func(ctx context.Context, last bool) (out any, found bool, again time.Duration, err error)
	// narrow gives, after a look that found nothing, what the call wants to be told of.
	narrow func() func(store.Change) bool
	// left is called when the call has ended, with its error; nil: nothing has to be done.
	left func(ctx context.Context, err error)
}

// errWaits is what the rule of an operation gives when the call has begun to wait.
var errWaits = errors.New("the call waits")

// beginWait lets a call wait for so many seconds, once its attempt is set and await called.
func (c *Caller) beginWait(ctx context.Context, seconds int64) (*Waiting, error) {
	watch, err := c.svc.store.Watch(ctx, c.Workspace())
	if err != nil {
		return nil, storeError(err)
	}
	w := &Waiting{c: c, watch: watch}
	w.end = time.AfterFunc(time.Duration(seconds)*time.Second, func() {
		w.over.Store(true)
		watch.Poke()
	})
	return w, nil
}

// await makes the first attempt. With errWaits the caller holds the call that waits.
func await[Out any](ctx context.Context, w *Waiting) (Out, error) {
	var out Out
	found, waits, err := w.try(ctx)
	if waits {
		w.c.waiting = w
		return out, errWaits
	}
	out, _ = found.(Out)
	return out, err
}

// try makes an attempt; unless the call waits on, its wait has ended, by a panic too.
func (w *Waiting) try(ctx context.Context) (out any, waits bool, err error) {
	defer func() {
		if !waits {
			w.close(ctx, err)
		}
	}()
	last := w.over.Load() || w.c.svc.draining()
	out, found, again, err := w.look(ctx, last)
	away := w.looked && !last && errors.Is(err, store.ErrUnavailable)
	if !away && (found || last || err != nil) {
		return out, false, err
	}
	w.looked = true
	if away {
		again = troublePause
	} else {
		w.watch.Want(w.narrow())
	}
	w.lookAfter(again)
	return nil, true, nil
}

func (w *Waiting) lookAfter(d time.Duration) {
	switch {
	case w.again != nil && d > 0:
		w.again.Reset(d)
	case w.again != nil:
		w.again.Stop()
	case d > 0:
		w.again = time.AfterFunc(d, w.watch.Poke)
	}
}

func (w *Waiting) close(ctx context.Context, err error) {
	w.watch.Close()
	w.end.Stop()
	if w.again != nil {
		w.again.Stop()
	}
	if w.left != nil {
		w.left(ctx, err)
	}
}

// Poked receives when the call should look.
func (w *Waiting) Poked() <-chan struct{} { return w.watch.C }

// OnPoke lets f be called beside; see store.Watch.
func (w *Waiting) OnPoke(f func()) { w.watch.OnPoke(f) }

// Look makes the call once more. Unless done is set it waits on.
func (w *Waiting) Look(ctx context.Context) (a Answer, done bool) {
	select {
	case <-w.watch.C: // what woke it
	default:
	}
	out, waits, err := w.try(ctx)
	if waits {
		return Answer{}, false
	}
	return w.c.svc.answer(ctx, w.c, w.request, out, w.c.svc.checked(err, w.c.key, w.request)), true
}

// Leave ends the call of a caller that is gone.
func (w *Waiting) Leave(ctx context.Context) Answer {
	err := context.Canceled
	w.close(ctx, err)
	return w.c.svc.answer(ctx, w.c, w.request, nil, err)
}

// Finish waits until the call is answered, or ctx ends because the caller is gone.
func (w *Waiting) Finish(ctx context.Context) Answer {
	for {
		select {
		case <-ctx.Done():
			return w.Leave(ctx)
		case <-w.watch.C:
			if a, done := w.Look(ctx); done {
				return a
			}
		}
	}
}

// poll makes a call that reads, and lets it wait for so many seconds while it finds nothing. read says whether it found
// something; with wait set it may find nothing free of charge.
func poll[Out any](ctx context.Context, c *Caller, seconds int64, narrow func() func(store.Change) bool, read func(ctx context.Context, wait bool) (Out, bool, error)) (Out, error) {
	if seconds == 0 || c.svc.draining() {
		out, _, err := read(ctx, false)
		return out, err
	}
	w, err := c.beginWait(ctx, seconds)
	if err != nil {
		var none Out
		return none, err
	}
	w.narrow = narrow
	w.look = func(ctx context.Context, last bool) (any, bool, time.Duration, error) {
		out, found, err := read(ctx, !last)
		return out, found, 0, err
	}
	return await[Out](ctx, w)
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
