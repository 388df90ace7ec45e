package store

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Change is what those who wait are told: a row of the log that may concern them. One without Operation is
// no row: it asks those who wait for a lock (ForLocks) to look again.
type Change struct {
	Operation string // as the log names it
	Path      *string
	Recipient *uuid.UUID // of a message; nil is everybody
	Message   *uuid.UUID // its id; nil for all else
	ForLocks  bool
}

// toldOf are the operations that Change tells of. Only they may wake anybody: a finished wait must not
// wake the others.
var toldOf = []string{
	"PUT_FILE", "APPEND_FILE", "DELETE_FILE", "SEND_MESSAGE", "LOCK_RELEASE", "LOCK_ACQUIRE", "LOCK_RENEW",
	"REVOKE_SUBKEY", "UPDATE_SUBKEY", "ROTATE_KEY", "DELETE_WORKSPACE",
}

// Bounds of waiting.
const (
	beatEvery   = time.Second // a replica in which somebody waits shows that it lives; functions/reserve_lock.sql allows four
	checkEvery  = time.Second // for a thousand workspaces; for more in proportion, up to checkMax times that
	checkMax    = 5
	checkChunk  = 1000
	beatFresh   = 2 * beatEvery // a beat no older will do for those who begin to wait
	tellMax     = 500           // workspaces a query
	changesMax  = 1000          // rows behind which everybody in a workspace looks for himself
	tellTimeout = 5 * time.Second
)

// waiters tells the calls that wait in this process of what is committed, here or by others. A call
// that waits has no connection: one goroutine reads for all.
type waiters struct {
	replica uuid.UUID
	pool    *pgxpool.Pool
	peers   *peers
	stop    context.CancelFunc
	done    sync.WaitGroup
	wake    chan struct{} // holds one token while a place is dirty

	mu     sync.Mutex
	places map[uuid.UUID]*place
	some   atomic.Bool // there are places
	dirty  map[uuid.UUID]bool
	beaten time.Time
}

// place is a workspace in which somebody waits.
type place struct {
	seq     int64         // of the last row that was told of; -1 until that is known
	ready   chan struct{} // closed when seq is known, or err
	err     error
	watches map[*Watch]bool
	ahead   map[uuid.UUID]bool // messages that were told at their commit and whose rows are still to be read
}

// Watch is one call that waits.
type Watch struct {
	C <-chan struct{} // receives when the call should look again

	c         chan struct{}
	waiters   *waiters
	workspace uuid.UUID
	want      func(Change) bool

	mu   sync.Mutex
	call func() // beside C
}

func newWaiters(replica uuid.UUID, pool *pgxpool.Pool) *waiters {
	ctx, stop := context.WithCancel(context.Background())
	w := &waiters{
		replica: replica, pool: pool, peers: newPeers(replica), stop: stop, wake: make(chan struct{}, 1),
		places: map[uuid.UUID]*place{}, dirty: map[uuid.UUID]bool{},
	}
	w.done.Go(func() { w.tellAll(ctx) })
	w.done.Go(func() { w.keep(ctx) })
	return w
}

// close ends the telling; who still waits looks once more and finds the store closed.
func (w *waiters) close() {
	w.stop()
	w.done.Wait()
	w.pokeAll(func(uuid.UUID) bool { return true })
}

// Replica names this process among those that share the database.
func (s *Store) Replica() uuid.UUID { return s.waiters.replica }

// Watch lets a call be told of what is committed in a workspace from now on, all of it until
// Want narrows that. It must be closed.
func (s *Store) Watch(ctx context.Context, workspace uuid.UUID) (*Watch, error) {
	c := make(chan struct{}, 1)
	own := &Watch{C: c, c: c, waiters: s.waiters, workspace: workspace}
	at := s.waiters.enter(own)
	select {
	case <-at.ready:
	case <-ctx.Done():
		own.Close()
		return nil, fmt.Errorf("beginning to wait: %w", ctx.Err())
	}
	if at.err != nil {
		own.Close()
		return nil, at.err
	}
	return own, nil
}

func (w *waiters) enter(own *Watch) *place {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.places[own.workspace]
	if at == nil {
		at = &place{seq: -1, ready: make(chan struct{}), watches: map[*Watch]bool{}}
		w.places[own.workspace] = at
		w.some.Store(true)
		w.mark(own.workspace)
	}
	at.watches[own] = true
	return at
}

// Want narrows what the call is told of. want is called while others wait: it must be quick.
func (o *Watch) Want(want func(Change) bool) {
	o.waiters.mu.Lock()
	defer o.waiters.mu.Unlock()
	o.want = want
}

// Poke makes the call look again. It never blocks.
func (o *Watch) Poke() {
	select {
	case o.c <- struct{}{}:
	default:
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.call != nil {
		o.call()
	}
}

// OnPoke lets f be called too whenever C receives something, and at once when C holds something; nil ends that. f must
// not block. When OnPoke returns, what was set before is not called any longer.
func (o *Watch) OnPoke(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.call = f
	if f != nil && len(o.c) > 0 {
		f()
	}
}

// Close ends the watching.
func (o *Watch) Close() {
	w := o.waiters
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.places[o.workspace]
	if at == nil || !at.watches[o] {
		return
	}
	delete(at.watches, o)
	if len(at.watches) == 0 {
		delete(w.places, o.workspace)
		delete(w.dirty, o.workspace)
		w.some.Store(len(w.places) > 0)
	}
}

// TellLocks lets those who wait for locks in a workspace look again, in all processes: somebody has left
// a line, which the log does not show.
func (s *Store) TellLocks(workspace uuid.UUID) {
	s.waiters.forLocks([]uuid.UUID{workspace})
	s.waiters.peers.tell(noteLocks, []uuid.UUID{workspace})
}

// tellAhead tells of a message that this process has just committed. Its row will be read all the same, as
// changed marks the place: that moves the place on.
func (w *waiters) tellAhead(workspace uuid.UUID, c Change) {
	if !w.some.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.places[workspace]; at != nil {
		at.tell(c)
		if at.ahead == nil {
			at.ahead = map[uuid.UUID]bool{}
		}
		at.ahead[*c.Message] = true
	}
}

// changed is called after commits of this process.
func (w *waiters) changed(workspaces []uuid.UUID) {
	w.markHere(workspaces)
	w.peers.tell(noteEvents, workspaces)
}

func (w *waiters) markHere(workspaces []uuid.UUID) {
	if !w.some.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range workspaces {
		if w.places[id] != nil {
			w.mark(id)
		}
	}
}

// mark lets a place be looked at. The caller holds mu.
func (w *waiters) mark(id uuid.UUID) {
	w.dirty[id] = true
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *waiters) forLocks(workspaces []uuid.UUID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range workspaces {
		if at := w.places[id]; at != nil {
			at.tell(Change{ForLocks: true})
		}
	}
}

// pokeAll lets everybody look for himself in the places that are meant.
func (w *waiters) pokeAll(meant func(uuid.UUID) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, at := range w.places {
		if meant(id) {
			at.pokeAll()
		}
	}
}

// PokeAll lets every call that waits in this process look again.
func (s *Store) PokeAll() { s.waiters.pokeAll(func(uuid.UUID) bool { return true }) }

func (p *place) tell(c Change) {
	for o := range p.watches {
		if o.want == nil || o.want(c) {
			o.Poke()
		}
	}
}

func (p *place) pokeAll() {
	for o := range p.watches {
		o.Poke()
	}
}

// LockTickets counts the calls that wait for locks in a workspace, in all processes.
func (s *Store) LockTickets(ctx context.Context, workspace uuid.UUID) (int64, error) {
	var n int64
	err := s.pool.QueryRow(ctx, `select count(*) from lock_tickets where workspace_id = $1`, workspace).Scan(&n)
	return n, poolError(err)
}

// Waiting counts the calls that wait in this process.
func (s *Store) Waiting() (n int) {
	s.waiters.mu.Lock()
	defer s.waiters.mu.Unlock()
	for _, at := range s.waiters.places {
		n += len(at.watches)
	}
	return n
}
