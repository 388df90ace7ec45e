package store

import (
	"fmt"
	"sync"

	"github.com/google/uuid"
)

// queue holds the calls that wait for a lane, in the order they came, within bounds.
type queue struct {
	mu     sync.Mutex
	calls  []*pending
	bytes  int
	closed bool
	wake   chan struct{} // holds one token while there may be something to take
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// put adds a call, or answers ErrUnavailable when the queue is full or closed.
func (q *queue) put(p *pending) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return fmt.Errorf("shutting down: %w", ErrUnavailable)
	}
	if len(q.calls) >= queueCallsMax || q.bytes+p.Size > queueBytesMax && len(q.calls) > 0 {
		return fmt.Errorf("queue of %d calls and %d bytes is full: %w", len(q.calls), q.bytes, ErrUnavailable)
	}
	q.calls = append(q.calls, p)
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

// take removes the next batch: up to batchCallsMax calls and batchBytesMax bytes, of one workspace
// at most half of each while others wait. Calls left behind keep their order. It returns closed
// when nothing is left and nothing will come.
func (q *queue) take() (batch []*pending, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropAbandoned()
	alone := q.oneWorkspace()
	share := map[uuid.UUID]*struct{ calls, bytes int }{}
	bytes := 0
	rest := q.calls[:0]
	for _, p := range q.calls {
		s := share[p.Workspace]
		if s == nil {
			s = new(struct{ calls, bytes int })
			share[p.Workspace] = s
		}
		full := len(batch) >= batchCallsMax || len(batch) > 0 && bytes+p.Size > batchBytesMax
		greedy := !alone && s.calls > 0 && (s.calls >= batchCallsMax/2 || s.bytes+p.Size > batchBytesMax/2)
		if full || greedy {
			s.calls = batchCallsMax // a later call of this workspace must not overtake this one
			rest = append(rest, p)
			continue
		}
		batch = append(batch, p)
		bytes += p.Size
		s.calls++
		s.bytes += p.Size
	}
	clear(q.calls[len(rest):])
	q.calls = rest
	q.bytes -= bytes
	if len(q.calls) > 0 || q.closed {
		q.signal()
	}
	return batch, q.closed && len(batch) == 0
}

// dropAbandoned removes the calls whose caller is gone: nothing was sent, so nothing happened.
func (q *queue) dropAbandoned() {
	rest := q.calls[:0]
	for _, p := range q.calls {
		if p.ctx.Err() != nil {
			q.bytes -= p.Size
			continue
		}
		rest = append(rest, p)
	}
	clear(q.calls[len(rest):])
	q.calls = rest
}

func (q *queue) oneWorkspace() bool {
	for _, p := range q.calls {
		if p.Workspace != q.calls[0].Workspace {
			return false
		}
	}
	return true
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.calls)
}
