package store

import (
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// queue holds the calls that wait for a lane, within bounds: a line for each workspace, in the
// order the calls came. The lines take turns, so that whoever waits behind a busy workspace waits
// for one batch of it and not for all.
type queue struct {
	mu     sync.Mutex
	lines  []*line // the one to be served next first
	byID   map[uuid.UUID]*line
	calls  int
	bytes  int
	closed bool
	wake   chan struct{} // holds one token while there may be something to take
}

// line is what waits of one workspace.
type line struct {
	workspace uuid.UUID
	calls     []*pending
	bytes     int
}

func newQueue() *queue {
	return &queue{wake: make(chan struct{}, 1), byID: map[uuid.UUID]*line{}}
}

// put adds a call, or answers ErrUnavailable when the queue is full or closed. One workspace may
// fill half of the queue, so that it cannot shut out its neighbours.
func (q *queue) put(p *pending) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return fmt.Errorf("shutting down: %w", ErrUnavailable)
	}
	if q.calls >= queueCallsMax || q.calls > 0 && q.bytes+p.Size > queueBytesMax {
		return fmt.Errorf("queue of %d calls and %d bytes is full: %w", q.calls, q.bytes, ErrUnavailable)
	}
	own := q.byID[p.Workspace]
	if own == nil {
		own = &line{workspace: p.Workspace}
		q.byID[p.Workspace] = own
		q.lines = append(q.lines, own)
	} else if len(own.calls) >= queueCallsMax/2 || own.bytes+p.Size > queueBytesMax/2 {
		return fmt.Errorf("%d calls and %d bytes of this workspace wait already: %w", len(own.calls), own.bytes, ErrUnavailable)
	}
	own.calls = append(own.calls, p)
	own.bytes += p.Size
	q.calls++
	q.bytes += p.Size
	q.signal()
	return nil
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take removes the next batch: up to batchCallsMax calls and batchBytesMax bytes (or one larger
// call), of one workspace at most half of each while others wait. It returns closed when nothing
// is left and nothing will come.
func (q *queue) take() (batch []*pending, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	room := share{calls: batchCallsMax, bytes: batchBytesMax}
	var waiting, served []*line // served ones go to the end
	for _, own := range q.lines {
		most := room
		if len(q.lines) > 1 {
			most = room.atMost(share{batchCallsMax / 2, batchBytesMax / 2})
		}
		taken := q.takeFrom(own, most, len(batch) == 0)
		batch = append(batch, taken...)
		for _, p := range taken {
			room.calls--
			room.bytes -= p.Size
		}
		switch {
		case len(own.calls) == 0:
			delete(q.byID, own.workspace)
		case len(taken) == 0:
			waiting = append(waiting, own)
		default:
			served = append(served, own)
		}
	}
	q.lines = append(waiting, served...)
	if len(q.lines) > 0 || q.closed {
		q.signal()
	}
	return batch, q.closed && len(batch) == 0
}

// share is a part of a batch.
type share struct{ calls, bytes int }

func (s share) atMost(t share) share { return share{min(s.calls, t.calls), min(s.bytes, t.bytes)} }

// takeFrom removes the first calls of a line that fit into room; if must is set at least one, whatever its size.
// Calls whose caller is gone are dropped: nothing was sent, so nothing happened.
func (q *queue) takeFrom(own *line, room share, must bool) (taken []*pending) {
	n := 0
	for _, p := range own.calls {
		gone := p.ctx.Err() != nil
		fits := room.calls > 0 && (p.Size <= room.bytes || must && len(taken) == 0)
		if !gone && !fits {
			break
		}
		n++
		own.bytes -= p.Size
		q.bytes -= p.Size
		q.calls--
		if !gone {
			taken = append(taken, p)
			room.calls--
			room.bytes -= p.Size
		}
	}
	own.calls = slices.Delete(own.calls, 0, n)
	return taken
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.calls
}
