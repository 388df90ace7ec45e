package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// silenceMax is how long an event stream may say nothing, three times what the service needs at most to show that it lives.
const silenceMax = 45 * time.Second

// FollowEventsIn is the input of FollowEvents.
type FollowEventsIn struct {
	// The seq of the last event you have, or next_after of Wait. Nil: only what comes from now on.
	After *int64
	// Kinds of events: file_write, file_delete, lock_available, message. None: all.
	Types []string
	// Of events of files, only those of this path and below.
	PathPrefix *string
	// Of lock_available, only this lock.
	LockName *string
	// Called with what keeps events from coming, before it is tried again; may be nil.
	OnTrouble func(error)
}

// FollowEvents gives the events of the workspace that this key may see, each once and in the order of the log, over one
// stream that is opened anew where it was when it breaks or falls silent. It ends with an error: ctx's, or a refusal that
// will not pass. Keep the Seq of the last event to go on after it another time. It costs 1 unit a minute, and 1 for opening.
func (c *Client) FollowEvents(ctx context.Context, in FollowEventsIn) iter.Seq2[EventOut, error] {
	return func(yield func(EventOut, error) bool) {
		f := &eventFollower{c: c, in: in, after: in.After, pauses: backoff{told: in.OnTrouble}}
		for {
			stopped, err := f.stream(ctx, func(e EventOut) bool { return yield(e, nil) })
			if stopped {
				return
			}
			if err := f.pauses.after(ctx, err); err != nil {
				yield(EventOut{}, err)
				return
			}
		}
	}
}

// eventFollower is one follower of the feed, from where it is.
type eventFollower struct {
	c      *Client
	in     FollowEventsIn
	after  *int64
	pauses backoff
}

// stream gives the events of one connection until it ends, with the reason, or until the receiver stops.
func (f *eventFollower) stream(ctx context.Context, give func(EventOut) bool) (stopped bool, err error) {
	var types *string
	if len(f.in.Types) > 0 {
		types = new(strings.Join(f.in.Types, ","))
	}
	r := request{
		name: "wait", method: http.MethodGet, path: "/events", workspace: true, read: true,
		input: []argument{
			{"after", given(f.after)}, {"types", given(types)}, {"path_prefix", given(f.in.PathPrefix)}, {"lock_name", given(f.in.LockName)},
		},
		header: map[string]string{"Accept": "text/event-stream"},
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, err := f.c.openStream(ctx, r)
	if err != nil {
		return false, err
	}
	defer body.Close()
	silent := time.AfterFunc(f.c.silence, func() { cancel(fmt.Errorf("%w for %s on the event stream", ErrNotReached, f.c.silence)) })
	defer silent.Stop()
	frames := newFrames(body)
	for {
		frame, err := frames.next()
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return false, cause
			}
			return false, fmt.Errorf("%w: the event stream was cut off: %w", ErrNotReached, err)
		}
		silent.Stop() // while the receiver is at work, however long: that is no silence of the stream
		if stopped, err = f.take(frame, give); stopped || err != nil {
			return stopped, err
		}
		silent.Reset(f.c.silence)
	}
}

// take reads one frame: an event, a refusal that ends the stream, or only how far the feed has come.
func (f *eventFollower) take(frame frame, give func(EventOut) bool) (stopped bool, err error) {
	if frame.event == "refusal" {
		return false, problemOf([]byte(frame.data))
	}
	if frame.data != "" {
		var e EventOut
		if err := json.Unmarshal([]byte(frame.data), &e); err != nil {
			return false, fmt.Errorf("client: an event: %w", err)
		}
		if f.after != nil && e.Seq <= *f.after { // it came before
			return false, nil
		}
		if !give(e) {
			return true, nil
		}
		f.pauses.attempt = 0
		f.after = &e.Seq
	}
	if seq, err := strconv.ParseInt(frame.id, 10, 64); err == nil && (f.after == nil || seq > *f.after) {
		f.pauses.attempt = 0
		f.after = &seq
	}
	return false, nil
}

// openStream makes a call whose answer comes little by little.
func (c *Client) openStream(ctx context.Context, r request) (io.ReadCloser, error) {
	body, target, err := c.prepare(r)
	if err != nil {
		return nil, err
	}
	req, err := c.newRequest(ctx, r, target, body)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrNotReached, err)
		c.observed(Meta{Operation: r.name, Attempts: 1}, err)
		return nil, err
	}
	meta := metaOf(resp)
	meta.Operation, meta.Attempts = r.name, 1
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		defer resp.Body.Close()
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, frameBytesMax)) // what is missing makes it no problem object
		err = errorOf(resp, answer)
		if resp.StatusCode == http.StatusOK {
			err = errors.New("client: the answer is no event stream but " + strconv.Quote(kind))
		}
		c.observed(meta, err)
		return nil, err
	}
	c.observed(meta, nil)
	return resp.Body, nil
}
