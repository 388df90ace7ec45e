package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs that a lane tells apart (Postgres documentation, appendix A).
const (
	stateSerialization = "40001"
	stateDeadlock      = "40P01"
	stateLockTimeout   = "55P03"
	stateCanceled      = "57014" // statement_timeout
)

// retriesAlone is how often a call that met a deadlock or a serialization failure is sent again.
const retriesAlone = 3

// lane is one goroutine with one connection.
type lane struct {
	config  *pgx.ConnConfig
	queue   *queue
	metrics *laneMetrics
	conn    *pgx.Conn
	dialed  time.Time               // of the last attempt
	blocked map[uuid.UUID]time.Time // workspaces whose row others held, until when they are not tried
}

func newLane(config *pgx.ConnConfig, metrics *laneMetrics, name string) *lane {
	own := config.Copy()
	own.ConnectTimeout = connectTimeout
	own.RuntimeParams["application_name"] = name
	own.RuntimeParams["lock_timeout"] = fmt.Sprint(lockTimeout.Milliseconds())
	own.RuntimeParams["statement_timeout"] = "5000"
	own.RuntimeParams["idle_in_transaction_session_timeout"] = "20000"
	return &lane{config: own, queue: newQueue(), metrics: metrics, blocked: map[uuid.UUID]time.Time{}}
}

// run serves the queue until it is closed and empty, or ctx ends.
func (l *lane) run(ctx context.Context) {
	defer l.disconnect()
	for {
		select {
		case <-ctx.Done():
			l.queue.close()
			for batch, closed := l.queue.take(); !closed; batch, closed = l.queue.take() {
				finishAll(batch, ErrUnavailable)
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
	for len(batch) > 0 {
		err := l.send(ctx, batch)
		if err == nil {
			finishAll(batch, nil)
			break
		}
		var failed *sendError
		if !errors.As(err, &failed) || failed.unknown {
			l.disconnect()
			finishAll(batch, fmt.Errorf("%w: %w", ErrUnknown, err))
			break
		}
		l.metrics.failures.Inc()
		if failed.lost {
			l.disconnect()
			finishAll(batch, fmt.Errorf("%w: %w", ErrUnavailable, err))
			break
		}
		if failed.state != stateLockTimeout {
			l.serveAlone(ctx, batch)
			break
		}
		batch = l.setAside(batch, failed.workspace, err)
	}
	l.metrics.duration.Observe(time.Since(started).Seconds())
}

// setAside answers the calls of a workspace whose row is held by somebody else and returns the others.
func (l *lane) setAside(batch []*pending, workspace uuid.UUID, cause error) []*pending {
	l.blocked[workspace] = time.Now().Add(blockedPause)
	return slices.DeleteFunc(batch, func(p *pending) bool {
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

// serveAlone sends each call of a failed batch by itself, so that the one at fault harms nobody else.
// It is only used when nothing of the batch was committed.
func (l *lane) serveAlone(ctx context.Context, batch []*pending) {
	for _, p := range batch {
		p.finish(l.sendAlone(ctx, p))
	}
}

func (l *lane) sendAlone(ctx context.Context, p *pending) error {
	var err error
	for range retriesAlone {
		if err = l.send(ctx, []*pending{p}); err == nil {
			return nil
		}
		var failed *sendError
		if !errors.As(err, &failed) || failed.unknown {
			l.disconnect()
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		switch {
		case failed.lost:
			l.disconnect()
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		case failed.state == stateSerialization || failed.state == stateDeadlock:
			continue
		case failed.state == stateLockTimeout || failed.state == stateCanceled:
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		default:
			return err // a fault of ours: the caller gets INTERNAL
		}
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// connect makes sure that there is a connection; it dials at most once in redialPause.
func (l *lane) connect(ctx context.Context) error {
	if l.conn != nil && !l.conn.IsClosed() {
		return nil
	}
	if since := time.Since(l.dialed); since < redialPause {
		return errors.New("no connection, tried a moment ago")
	}
	l.dialed = time.Now()
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	l.conn = conn
	return nil
}

func (l *lane) disconnect() {
	if l.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.conn.Close(ctx) // it is broken or we are leaving: nothing to do about a failure
	l.conn = nil
}

// isServerError tells a failure that the server reported, and its SQLSTATE.
func isServerError(err error) (string, bool) {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code, true
	}
	return "", false
}
