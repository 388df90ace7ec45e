package store

import (
	"context"
	"maps"
	"slices"
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
		d := w.takeDirty()
		if len(d.ids) == 0 {
			continue
		}
		err := w.beat(ctx, beatFresh)
		if err == nil {
			err = w.tell(ctx, d)
		}
		if err != nil && ctx.Err() == nil {
			w.failNew(err)
			w.retry(ctx, d.ids)
		}
	}
}

// dirtyPlaces are places whose rows are to be read.
type dirtyPlaces struct {
	ids   []uuid.UUID
	seqs  []int64            // of the row that each was told of last
	ahead map[uuid.UUID]bool // messages there that were told already
}

// takeDirty takes up to tellMax places.
func (w *waiters) takeDirty() dirtyPlaces {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := dirtyPlaces{ahead: map[uuid.UUID]bool{}}
	for id := range w.dirty {
		if len(d.ids) == tellMax {
			w.mark(id)
			break
		}
		delete(w.dirty, id)
		if at := w.places[id]; at != nil {
			d.ids, d.seqs = append(d.ids, id), append(d.seqs, at.seq)
			maps.Copy(d.ahead, at.ahead)
			at.ahead = nil
		}
	}
	return d
}

// told is a row of the query: a place as it is now, and perhaps a change there.
type told struct {
	Workspace uuid.UUID
	Ends      int64
	Closed    bool // nobody may wait here
	Operation *string
	Path      *string
	Recipient *uuid.UUID
	Message   *uuid.UUID
}

func (w *waiters) tell(ctx context.Context, d dirtyPlaces) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	rows, err := w.pool.Query(ctx, `
		select k.id, w.seq, w.blocked or w.deleted_at is not null or coalesce(w.trial_expires_at <= aanet_now(), false),
		       e.operation, e.path, e.recipient, e.message_id
		  from unnest($1::uuid[], $2::bigint[]) k(id, seq)
		  join workspaces w on w.workspace_id = k.id
		  left join lateral (
		       select a.seq, a.operation, a.path, a.recipient, a.message_id from activity a
		        where k.seq >= 0 and a.workspace_id = k.id and a.seq > k.seq and a.seq <= k.seq + $4 and a.status = 'OK' and a.operation = any($3)) e on true
		 order by k.id, e.seq`, d.ids, d.seqs, toldOf, int64(changesMax))
	if err != nil {
		return poolError(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[told])
	if err != nil {
		return poolError(err)
	}
	w.tellRows(d, all)
	return nil
}

func (w *waiters) tellRows(d dirtyPlaces, all []told) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[uuid.UUID]bool{}
	for _, row := range all {
		if at := w.places[row.Workspace]; at != nil {
			if !found[row.Workspace] {
				at.moveTo(row)
			}
			known := row.Message != nil && (d.ahead[*row.Message] || at.ahead[*row.Message])
			if row.Operation != nil && !known {
				at.tell(Change{Operation: *row.Operation, Path: row.Path, Recipient: row.Recipient, Message: row.Message})
			}
		}
		found[row.Workspace] = true
	}
	for _, id := range d.ids {
		if at := w.places[id]; at != nil && !found[id] { // freed: who waits there finds out
			at.know(0)
			at.pokeAll()
		}
	}
}

// moveTo takes note of a place as it is now.
func (p *place) moveTo(row told) {
	behind := p.seq >= 0 && row.Ends > p.seq+changesMax
	p.know(row.Ends)
	if row.Closed || behind {
		p.pokeAll()
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
	looked := time.Now() // for keys that have ended
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
		err := w.beat(ctx, beatEvery*9/10)
		if every := min(1+len(ids)/checkChunk, checkMax); err == nil && n%every == 0 {
			w.check(ctx, ids, seqs)
			now := time.Now()
			if w.tellRetired(ctx, ids, now.Sub(looked)) == nil {
				looked = now
			}
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

// tellRetired tells those whose key was replaced and has ended in the time given: by the first use of the new
// one or after its ten minutes. The log shows neither.
func (w *waiters) tellRetired(ctx context.Context, ids []uuid.UUID, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	for chunk := range slices.Chunk(ids, checkChunk) {
		// A second more: the clocks of the two may differ by a little, and a look too many is free.
		rows, err := w.pool.Query(ctx, `
			select r.workspace_id, k.subkey_id::text from unnest($1::uuid[]) p(id)
			  join retired_keys r on r.workspace_id = p.id and r.dies_at <= aanet_now() and r.dies_at > aanet_now() - make_interval(secs => $2)
			  join keys k on k.workspace_id = r.workspace_id and k.key_hash = r.successor`, chunk, (within + time.Second).Seconds())
		if err != nil {
			return poolError(err)
		}
		ended, err := pgx.CollectRows(rows, pgx.RowToStructByPos[endedKey])
		if err != nil {
			return poolError(err)
		}
		w.mu.Lock()
		for _, e := range ended {
			if at := w.places[e.Workspace]; at != nil {
				at.tell(Change{Operation: "ROTATE_KEY", Path: e.Subkey})
			}
		}
		w.mu.Unlock()
	}
	return nil
}

// endedKey names the holder of a key that has ended; a nil sub-key is the owner.
type endedKey struct {
	Workspace uuid.UUID
	Subkey    *string
}

// beat shows that this replica lives, unless it did so a short while ago. Replicas that hear of it begin to tell
// this one of their commits.
func (w *waiters) beat(ctx context.Context, ago time.Duration) error {
	w.mu.Lock()
	fresh := time.Since(w.beaten) < ago
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
