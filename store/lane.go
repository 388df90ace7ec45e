package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
)

// lane is one goroutine with one connection.
type lane struct {
	config     *pgconn.Config
	queue      *queue
	metrics    *laneMetrics
	conn       *pgconn.PgConn
	begin      *pgconn.StatementDescription
	flush      *pgconn.StatementDescription
	commit     *pgconn.StatementDescription
	prepared   map[callKey]*pgconn.StatementDescription // the calls that conn knows
	used       time.Time                                // when conn last answered
	failed     time.Time                                // when a dial last failed
	statements *sync.Map                                // what all lanes know: callKey to *pgconn.StatementDescription
	hub        *hub                                     // hears of commits; nil when nobody may
	blocked    map[uuid.UUID]time.Time                  // workspaces whose row others held, until when they are not tried
}

func newLane(config *pgconn.Config, statements *sync.Map, metrics *laneMetrics, name string) *lane {
	own := config.Copy()
	own.ConnectTimeout = connectTimeout
	own.RuntimeParams["application_name"] = name
	own.RuntimeParams["lock_timeout"] = fmt.Sprint(lockTimeout.Milliseconds())
	own.RuntimeParams["statement_timeout"] = fmt.Sprint(statementTimeout.Milliseconds())
	own.RuntimeParams["idle_in_transaction_session_timeout"] = "20000"
	// Calls look for single rows. A walk along the index meets the version that counts first and stops there; these would
	// visit all the old ones that a snapshot keeps, and the planner likes them for tables that are small or new.
	own.RuntimeParams["enable_bitmapscan"] = "off"
	own.RuntimeParams["enable_seqscan"] = "off"
	return &lane{config: own, queue: newQueue(), metrics: metrics, statements: statements, blocked: map[uuid.UUID]time.Time{}}
}

// run serves the queue until it is closed and empty, or ctx ends.
func (l *lane) run(ctx context.Context) {
	defer l.disconnect()
	for {
		select {
		case <-ctx.Done():
			l.queue.close()
			for batch, closed := l.queue.take(); !closed; batch, closed = l.queue.take() {
				finishAll(batch, fmt.Errorf("shutting down: %w", ErrUnavailable))
			}
			return
		case <-l.queue.wake:
		}
		batch, closed := l.queue.take()
		if closed {
			return
		}
		if batch = l.refuseBlocked(batch); len(batch) > 0 {
			l.serve(ctx, batch)
		}
	}
}

// serve sends a batch and answers each of its calls.
func (l *lane) serve(ctx context.Context, batch []*pending) {
	// Workspaces in one order everywhere: two replicas then lock rows in that order and cannot deadlock.
	slices.SortStableFunc(batch, func(a, b *pending) int { return bytes.Compare(a.Workspace[:], b.Workspace[:]) })
	l.metrics.batch(batch, l.queue.len())
	started := time.Now()
	l.attempt(ctx, batch, started.Add(batchPatience))
	l.metrics.duration.Observe(time.Since(started).Seconds())
}

// attempt sends calls, ordered by workspace, as one transaction and answers each. When it fails
// and certainly nothing was committed, what is not at fault is sent again, in the same order.
func (l *lane) attempt(ctx context.Context, calls []*pending, until time.Time) {
	for {
		var failed *sendError
		if calls, failed = l.prepare(ctx, calls); failed == nil && len(calls) > 0 {
			failed = l.send(ctx, calls)
		}
		if failed == nil {
			l.hub.committed(calls)
			finishAll(calls, nil)
			return
		}
		l.metrics.failures.Inc()
		switch {
		case failed.unknown:
			l.disconnect()
			finishAll(calls, fmt.Errorf("%w: %w", ErrUnknown, failed))
			return
		case failed.lost:
			l.disconnect()
			finishAll(calls, fmt.Errorf("%w: %w", ErrUnavailable, failed))
			return
		case time.Now().After(until):
			finishAll(calls, fmt.Errorf("%w: %w", ErrUnavailable, failed))
			return
		case failed.state == stateLockTimeout:
			calls = l.setAside(calls, calls[failed.from].Workspace, failed)
		case failed.state == stateSerialization || failed.state == stateDeadlock:
			// The same calls again.
		default:
			l.divide(ctx, calls, failed, until)
			return
		}
	}
}

// divide sends what stands before the calls under suspicion, each of those alone, and what stands
// behind, so that the one at fault harms nobody else and all keep their order.
func (l *lane) divide(ctx context.Context, calls []*pending, failed *sendError, until time.Time) {
	if len(calls) == 1 {
		l.forget(ctx, calls[0])
		calls[0].finish(failed.alone())
		return
	}
	l.attempt(ctx, calls[:failed.from], until)
	for i := failed.from; i < failed.to; i++ {
		if failed.state == stateCanceled { // it had its time
			calls[i].finish(failed.alone())
			continue
		}
		l.attempt(ctx, calls[i:i+1], until)
	}
	l.attempt(ctx, calls[failed.to:], until)
}

// setAside answers the calls of a workspace whose row is held by somebody else and returns the others.
func (l *lane) setAside(calls []*pending, workspace uuid.UUID, cause error) []*pending {
	l.blocked[workspace] = time.Now().Add(blockedPause)
	return slices.DeleteFunc(calls, func(p *pending) bool {
		if p.Workspace != workspace {
			return false
		}
		p.finish(fmt.Errorf("%w: %w", ErrUnavailable, cause))
		return true
	})
}

// refuseBlocked answers calls of workspaces that were set aside a moment ago, so that a row held
// for long stops the lane once in blockedPause and not once a batch.
func (l *lane) refuseBlocked(batch []*pending) []*pending {
	if len(l.blocked) == 0 {
		return batch
	}
	now := time.Now()
	for workspace, until := range l.blocked {
		if now.After(until) {
			delete(l.blocked, workspace)
		}
	}
	return slices.DeleteFunc(batch, func(p *pending) bool {
		_, blocked := l.blocked[p.Workspace]
		if blocked {
			p.finish(fmt.Errorf("the workspace's row is held: %w", ErrUnavailable))
		}
		return blocked
	})
}
