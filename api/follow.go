package api

import (
	"context"
	"errors"
	"io"
	"time"

	"aanet/store"
)

// Times of a stream.
const (
	paidFor   = time.Minute      // by one charge
	beatAfter = 15 * time.Second // of silence the stream shows that it lives
	awayMax   = 30 * time.Second // the stream outlives a database that is away for that long

	catchUpPause = 10 * time.Millisecond // between two pages without any event
)

// Feed is the event feed as a stream: an endless wait, paid by the minute.
type Feed struct {
	reader *eventReader
	watch  *store.Watch
	minute *time.Timer
	due    bool     // the next read is charged
	first  *WaitOut // what the first call found
}

// Follow begins the event feed as a stream. The answer is that of its first call, which is charged; when
// it was no refusal, Next gives what follows and Close must be called.
func (s *Service) Follow(ctx context.Context, r Request) (Answer, *Feed) {
	var feed *Feed
	follow := *OperationNamed("wait")
	follow.run = func(ctx context.Context, c *Caller, in any) (any, error) {
		watch, err := s.store.Watch(ctx, c.Workspace())
		if err != nil {
			return nil, storeError(err)
		}
		reader := newEventReader(c, in.(WaitIn))
		if err := reader.read(ctx, answerNow); err != nil {
			watch.Close()
			return nil, err
		}
		watch.Want(reader.narrow())
		feed = &Feed{reader: reader, watch: watch, minute: time.NewTimer(paidFor), first: &reader.out}
		return reader.out, nil
	}
	return s.Call(ctx, &follow, r), feed
}

// Close ends the stream.
func (f *Feed) Close() {
	f.watch.Close()
	f.minute.Stop()
}

// Next gives the next events. Without any it is a sign of life whose NextAfter may have grown. io.EOF is
// a service that stops, a *Refusal the end for this key, any other error a fault or the caller's being gone.
func (f *Feed) Next(ctx context.Context) (WaitOut, error) {
	if f.first != nil {
		out := *f.first
		f.first = nil
		return out, nil
	}
	silence := time.NewTimer(beatAfter)
	defer silence.Stop()
	drained := f.reader.c.svc.drain.done
	for {
		if f.reader.c.svc.draining() {
			return WaitOut{}, io.EOF
		}
		if !f.reader.more {
			select {
			case <-ctx.Done():
				return WaitOut{}, ctx.Err()
			case <-drained:
				continue
			case <-silence.C:
				err := f.read(ctx) // moves the cursor over what is no event for this key
				return f.reader.out, err
			case <-f.minute.C:
				f.due = true
			case <-f.watch.C:
			}
		}
		if err := f.read(ctx); err != nil {
			return WaitOut{}, err
		}
		if len(f.reader.out.Events) > 0 {
			return f.reader.out, nil
		}
		if f.reader.more { // nothing in a whole page: a long way to go should not take all of a lane
			if err := pause(ctx, catchUpPause); err != nil {
				return WaitOut{}, err
			}
		}
	}
}

// read takes the next page, and tries for a while when the database is away. A read that may have
// happened is made again: at worst it is charged twice, and no event is lost.
func (f *Feed) read(ctx context.Context) error {
	var refusal *Refusal
	for range awayMax / troublePause {
		mode := answerPaid
		if f.due {
			mode = answerNow
		}
		err := f.reader.read(ctx, mode)
		if err == nil && f.due {
			f.due = false
			f.minute.Reset(paidFor)
		}
		switch {
		case !errors.As(err, &refusal):
			return err
		case isLogged(refusal):
			return Refuse(Unauthenticated) // what the log has is for the service alone
		case refusal.Code != Unavailable:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.reader.c.svc.drain.done:
			return io.EOF
		case <-time.After(troublePause):
		}
	}
	return refusal
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
