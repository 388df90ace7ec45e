// Package store is the only package that speaks SQL. Calls of tenants run as SQL functions
// (functions/*.sql) through lanes; lists and the operator's reads use a small pool.
package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Failures of a call that are no refusal. A refusal comes back as an ordinary result.
var (
	// ErrUnavailable: nothing of the call was committed; the same call may be made again.
	ErrUnavailable = errors.New("the database cannot take the call now")
	// ErrUnknown: the connection was lost while the call was being committed; it may or may not have happened.
	ErrUnknown = errors.New("the outcome of the call is unknown")
)

// Bounds of a lane. They keep one batch short enough that a neighbour never waits long for it.
const (
	batchCallsMax    = 128
	batchBytesMax    = 512 << 10 // a single larger call goes out alone
	queueCallsMax    = 4096
	queueBytesMax    = 64 << 20
	lockTimeout      = 500 * time.Millisecond // how long a row held by others may stop a lane
	blockedPause     = 2 * time.Second        // how long a workspace whose row was held is not tried again
	statementTimeout = 5 * time.Second
	batchPatience    = 6 * time.Second // after this the rest of a failing batch is not tried again
	sendTimeout      = 15 * time.Second
	connectTimeout   = 3 * time.Second
	redialPause      = 100 * time.Millisecond // after a dial that failed
	idleMax          = time.Second            // a connection unused for longer is tried before calls are trusted to it
)

// Call is one call of a SQL function (functions/NAME.sql) for one workspace. The function's first
// argument is the workspace, and the first columns of its one row are code, info, cost and remaining.
type Call struct {
	Function  string
	Workspace uuid.UUID
	Args      []any // after the workspace
	Into      []any // pointers for the columns after the first four; left alone when the call is refused
	Size      int   // bytes of content carried, for the bounds of a batch

	// Tell is what those who wait are told at the commit of a message, before the log is read; without its id, nothing.
	Tell Change
}

// Result is what every call answers.
type Result struct {
	Code      string // of the refusal; empty when the call was done
	Info      []byte // the refusal's extra fields, a JSON object or nil
	Cost      int64  // units charged
	Remaining *int64 // units this key can still spend; nil when unknown
}

// Lanes sends calls to Postgres in batches: a workspace always uses the same lane, a lane owns one
// connection, and whatever waits while the lane is busy goes out together as one transaction.
type Lanes struct {
	lanes      []*lane
	statements sync.Map // callKey to *pgconn.StatementDescription, of every function called so far
	hub        hub
	metrics    *laneMetrics
	stop       context.CancelFunc
	done       sync.WaitGroup
}

// OpenLanes starts n lanes on the database of config. Connections are made when first needed, so
// a database that is away is an answer (ErrUnavailable) and no failure to start.
func OpenLanes(config *pgx.ConnConfig, n int, metrics *laneMetrics) *Lanes {
	ctx, stop := context.WithCancel(context.Background())
	ls := &Lanes{stop: stop, metrics: metrics}
	for i := range n {
		l := newLane(&config.Config, &ls.statements, metrics, fmt.Sprintf("aanet lane %d", i))
		l.hub = &ls.hub
		ls.lanes = append(ls.lanes, l)
		ls.done.Go(func() { l.run(ctx) })
	}
	return ls
}

// Close ends the lanes after the calls already queued were answered, or when ctx ends: then what
// is being sent is broken off (ErrUnknown) and what waits is answered ErrUnavailable.
func (ls *Lanes) Close(ctx context.Context) error {
	for _, l := range ls.lanes {
		l.queue.close()
	}
	drained := make(chan struct{})
	go func() { ls.done.Wait(); close(drained) }()
	defer ls.stop()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		ls.stop()
		<-drained
		return ctx.Err()
	}
}

// Do makes the call and waits for its result. ErrUnavailable: nothing happened. ErrUnknown: perhaps
// something did. When ctx ends first its error is returned; a call that was already sent is not undone.
func (ls *Lanes) Do(ctx context.Context, c Call) (Result, error) {
	p := newPending(ctx, c)
	if known, ok := ls.statements.Load(p.key); ok {
		if err := p.encode(known.(*pgconn.StatementDescription)); err != nil {
			return Result{}, fmt.Errorf("%s: %w", c.Function, err)
		}
	}
	if err := ls.laneOf(c.Workspace).queue.put(p); err != nil {
		return Result{}, err
	}
	select {
	case err := <-p.done:
		if err != nil {
			return Result{}, fmt.Errorf("%s: %w", c.Function, err)
		}
	case <-ctx.Done():
		return Result{}, fmt.Errorf("waiting for a lane: %w", ctx.Err())
	}
	result, err := p.decode()
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.Function, err)
	}
	return result, nil
}

func (ls *Lanes) laneOf(workspace uuid.UUID) *lane {
	// Ids are random or time-ordered; their last eight bytes are random in both cases.
	return ls.lanes[binary.BigEndian.Uint64(workspace[8:])%uint64(len(ls.lanes))]
}
