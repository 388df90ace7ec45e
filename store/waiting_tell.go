package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// tellAll reads what happened in places that are dirty, many in one query, and tells those who wait there.
func (w *waiters) tellAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			w.failNew(ErrUnavailable)
			return
		case <-w.wake:
		}
		ids, seqs := w.takeDirty()
		if len(ids) == 0 {
			continue
		}
		err := w.beat(ctx)
		if err == nil {
			err = w.tell(ctx, ids, seqs)
		}
		if err != nil && ctx.Err() == nil {
			w.failNew(err)
			w.retry(ctx, ids)
		}
	}
}

// takeDirty takes up to tellMax places, with the row that each was told of last.
func (w *waiters) takeDirty() (ids []uuid.UUID, seqs []int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.dirty {
		if len(ids) == tellMax {
			w.mark(id)
			break
		}
		delete(w.dirty, id)
		if at := w.places[id]; at != nil {
			ids, seqs = append(ids, id), append(seqs, at.seq)
		}
	}
	return ids, seqs
}

// told is a row of the query: a place as it is now, and perhaps a change there.
type told struct {
	Workspace uuid.UUID
	Ends      int64
	Closed    bool // nobody may wait here
	Seq       *int64
	Operation *string
	Path      *string
	Recipient *uuid.UUID
}

func (w *waiters) tell(ctx context.Context, ids []uuid.UUID, seqs []int64) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	rows, err := w.pool.Query(ctx, `
		select k.id, w.seq, w.blocked or w.deleted_at is not null or coalesce(w.trial_expires_at <= aanet_now(), false),
		       e.seq, e.operation, e.path, e.recipient
		  from unnest($1::uuid[], $2::bigint[]) k(id, seq)
		  join workspaces w on w.workspace_id = k.id
		  left join lateral (
		       select a.seq, a.operation, a.path, a.recipient from activity a
		        where k.seq >= 0 and a.workspace_id = k.id and a.seq > k.seq and a.seq <= k.seq + $4 and a.status = 'OK' and a.operation = any($3)) e on true
		 order by k.id, e.seq`, ids, seqs, toldOf, int64(changesMax))
	if err != nil {
		return poolError(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[told])
	if err != nil {
		return poolError(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[uuid.UUID]bool{}
	for _, row := range all {
		if at := w.places[row.Workspace]; at != nil {
			at.take(row, !found[row.Workspace])
		}
		found[row.Workspace] = true
	}
	for _, id := range ids {
		if at := w.places[id]; at != nil && !found[id] { // freed: who waits there finds out
			at.know(0)
			at.pokeAll()
		}
	}
	return nil
}

// take tells the place's watches of one row of the query; first is the workspace's first.
func (p *place) take(row told, first bool) {
	if first {
		behind := p.seq >= 0 && row.Ends > p.seq+changesMax
		p.know(row.Ends)
		if row.Closed || behind {
			p.pokeAll()
		}
	}
	if row.Seq != nil {
		p.tell(Change{Seq: *row.Seq, Operation: *row.Operation, Path: row.Path, Recipient: row.Recipient})
	}
}

// know remembers up to where the place was told.
func (p *place) know(seq int64) {
	if p.seq < 0 {
		close(p.ready)
	}
	p.seq = max(p.seq, seq)
}

// failNew answers those who have just come and cannot begin to wait. The next one begins anew.
func (w *waiters) failNew(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, at := range w.places {
		if at.seq < 0 && at.err == nil {
			at.err = err
			close(at.ready)
			delete(w.places, id)
			w.some.Store(len(w.places) > 0)
		}
	}
}

// retry looks at the same places again after a pause.
func (w *waiters) retry(ctx context.Context, ids []uuid.UUID) {
	select {
	case <-ctx.Done():
	case <-time.After(200 * time.Millisecond):
		w.markHere(ids)
	}
}

// keep shows once a second that this replica lives while somebody waits in it, and looks for what
// nobody told: a notification can be lost.
func (w *waiters) keep(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		ids, seqs := w.known()
		if len(ids) == 0 {
			continue
		}
		err := w.beat(ctx)
		if every := min(1+len(ids)/checkChunk, checkMax); err == nil && n%every == 0 {
			w.check(ctx, ids, seqs)
		}
	}
}

func (w *waiters) known() (ids []uuid.UUID, seqs []int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, at := range w.places {
		if at.seq >= 0 {
			ids, seqs = append(ids, id), append(seqs, at.seq)
		}
	}
	return ids, seqs
}

// check marks the places where something happened that was not told. A failure is left to the next check.
func (w *waiters) check(ctx context.Context, ids []uuid.UUID, seqs []int64) {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	for len(ids) > 0 {
		n := min(len(ids), checkChunk)
		rows, err := w.pool.Query(ctx, `
			select k.id from unnest($1::uuid[], $2::bigint[]) k(id, seq) left join workspaces w on w.workspace_id = k.id
			 where w.seq is null or w.seq > k.seq or w.blocked or w.deleted_at is not null or w.trial_expires_at <= aanet_now()`, ids[:n], seqs[:n])
		if err != nil {
			return
		}
		changed, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil {
			return
		}
		w.markHere(changed)
		ids, seqs = ids[n:], seqs[n:]
	}
}

// beat shows that this replica lives, unless it did so within the last second. Replicas that hear of it
// begin to tell this one of their commits.
func (w *waiters) beat(ctx context.Context) error {
	w.mu.Lock()
	fresh := time.Since(w.beaten) < beatEvery*9/10
	w.mu.Unlock()
	if fresh {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	_, err := w.pool.Exec(ctx, `
		insert into replicas as r (replica_id, beat_at) values ($1, aanet_now())
		on conflict (replica_id) do update set beat_at = excluded.beat_at`, w.replica)
	if err == nil {
		err = w.peers.hello(ctx, w.pool)
	}
	if err != nil {
		return poolError(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beaten = time.Now()
	return nil
}

// forget takes this replica's row away, and those of others that ended without.
func (w *waiters) forget(ctx context.Context) {
	if w.beaten.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	// A row that stays is of no consequence: it does not beat.
	_, _ = w.pool.Exec(ctx, `delete from replicas where replica_id = $1 or beat_at < aanet_now() - interval '1 hour'`, w.replica)
}
