package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// The roll-up counts the rows of the logs, workspace by workspace, behind the calls. The rows of one workspace are
// committed in the order of seq and without a gap, as each writer holds the workspace's row: so everything up to a seq that
// is visible is visible, and "counted up to seq" is exact. Nothing here locks what a call locks.
//
// A pass finds who changed by workspaces.changed_hour and goes in steps, each one transaction in which the sums and the
// places move together under the lock of the one row of rollup_state. A step that is undone, or a process that dies,
// therefore loses and repeats nothing, and the next step, in whatever process, goes on from there.

const (
	rollupPage  = 1000            // workspaces that one step looks at
	rollupSome  = 250             // of them that one step counts, as each touches pages of its own
	rollupRows  = 10_000          // log rows that one step counts
	rollupSlack = time.Hour       // longer than any transaction of a call may stay open after it wrote changed_hour
	rollupWait  = 3 * time.Second // for another process's step

	rollupLongest = 20 * time.Second // for the end of a pass: below the job's time
)

// rollupState is where the pass is.
type rollupState struct {
	started     *time.Time
	cutoff      time.Time
	atHour      time.Time
	atWorkspace uuid.UUID
	swept       uuid.UUID
	now         time.Time
}

// rollupCandidate is a workspace that may have changed.
type rollupCandidate struct {
	Workspace   uuid.UUID
	ChangedHour time.Time
	Counted     int64 // up to this seq
	Seq         int64
	Due         bool
}

// RollUp counts all that was committed before it began, or until ctx ends; what it counted stays. Any number of processes
// may do it at once: they take turns.
func (s *Store) RollUp(ctx context.Context) error {
	began := false
	for {
		var begins, ends bool
		err := s.rollUpStep(ctx, func(tx pgx.Tx, state *rollupState) (err error) {
			begins, ends, err = s.passStep(ctx, tx, state)
			return err
		})
		if err != nil {
			return fmt.Errorf("roll up: %w", err)
		}
		began = began || begins
		if ends && began { // a pass that was under way already is no proof of what was committed meanwhile
			return nil
		}
	}
}

// RollUpWorkspace counts all of one workspace that was committed before it began.
func (s *Store) RollUpWorkspace(ctx context.Context, workspace uuid.UUID) error {
	for done := false; !done; {
		err := s.rollUpStep(ctx, func(tx pgx.Tx, _ *rollupState) error {
			found, err := candidates(ctx, tx, `where w.workspace_id = $1`, workspace)
			if err != nil {
				return err
			}
			counted, err := countLogs(ctx, tx, found)
			done = counted == len(found)
			return err
		})
		if err != nil {
			return fmt.Errorf("roll up %s: %w", workspace, err)
		}
	}
	return nil
}

// rollUpStep runs a step in a transaction of its own that holds the state's row.
func (s *Store) rollUpStep(ctx context.Context, step func(pgx.Tx, *rollupState) error) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf("set local lock_timeout = %d", rollupWait.Milliseconds())); err != nil {
			return err
		}
		var state rollupState
		err := tx.QueryRow(ctx, `select started, cutoff, at_hour, at_workspace, swept, aanet_now() from rollup_state for update`).Scan(
			&state.started, &state.cutoff, &state.atHour, &state.atWorkspace, &state.swept, &state.now)
		if err != nil {
			return err
		}
		return step(tx, &state)
	})
	return poolError(err)
}

// passStep does one step of a pass. The first one looks at the next workspaces by id, whenever they changed: so a change
// that the index by hours did not show (a clock that was set back, rows written by hand) is found in the end.
func (s *Store) passStep(ctx context.Context, tx pgx.Tx, state *rollupState) (begins, ends bool, err error) {
	if state.started == nil {
		return true, false, sweepStep(ctx, tx, state)
	}
	found, err := candidates(ctx, tx, `where (w.changed_hour, w.workspace_id) > ($1, $2) order by w.changed_hour, w.workspace_id limit $3`,
		state.atHour, state.atWorkspace, rollupPage)
	if err != nil {
		return false, false, err
	}
	counted, err := countLogs(ctx, tx, found)
	if err != nil {
		return false, false, err
	}
	if counted == len(found) && len(found) < rollupPage {
		return false, true, endPass(ctx, tx, state)
	}
	if counted > 0 {
		last := found[counted-1]
		_, err = tx.Exec(ctx, `update rollup_state set at_hour = $1, at_workspace = $2`, last.ChangedHour, last.Workspace)
	}
	return false, false, err
}

// sweepStep begins a pass.
func sweepStep(ctx context.Context, tx pgx.Tx, state *rollupState) error {
	found, err := candidates(ctx, tx, `where w.workspace_id > $1 order by w.workspace_id limit $2`, state.swept, rollupPage)
	if err != nil {
		return err
	}
	counted, err := countLogs(ctx, tx, found)
	if err != nil {
		return err
	}
	swept := state.swept
	switch {
	case counted == len(found) && len(found) < rollupPage:
		swept = uuid.Nil // from the beginning again
	case counted > 0:
		swept = found[counted-1].Workspace
	}
	_, err = tx.Exec(ctx, `update rollup_state set started = $1, at_hour = cutoff, at_workspace = $2, swept = $3`, state.now, uuid.Nil, swept)
	return err
}

// endPass notes that everything is counted which was committed before the pass began. The hours of changes only rise until
// the clock is set back: the next pass then looks at all workspaces, or what changes now would lie before the cutoff.
// Who was active in the month may be every workspace, so those are counted every ten minutes only.
func endPass(ctx context.Context, tx pgx.Tx, state *rollupState) error {
	_, err := tx.Exec(ctx, fmt.Sprintf("set local statement_timeout = %d", rollupLongest.Milliseconds()))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		update rollup_state set started = null, as_of = started,
		       cutoff = case when date_bin('1 hour', started - $1::interval, 'epoch') >= cutoff then date_bin('1 hour', started - $1::interval, 'epoch') else 'epoch' end,
		       active_hour = n.hour, active_day = n.day,
		       active_month = greatest(n.day, case when date_bin('10 minutes', started, 'epoch') = date_bin('10 minutes', as_of, 'epoch') then active_month
		                                           else (select count(*) from workspace_rollups where not gone and ts > $2::timestamptz - interval '30 days') end)
		  from (select count(*) as day, count(*) filter (where ts > $2::timestamptz - interval '1 hour') as hour
		          from workspace_rollups where not gone and ts > $2::timestamptz - interval '1 day') n`,
		rollupSlack, *state.started)
	return err
}

// candidates reads workspaces with the place up to which they are counted.
func candidates(ctx context.Context, tx pgx.Tx, where string, args ...any) ([]rollupCandidate, error) {
	rows, err := tx.Query(ctx, `
		select w.workspace_id, w.changed_hour, coalesce(r.seq, 0), w.seq,
		       (r.seq, r.balance, r.blocked, r.gone) is distinct from (w.seq, w.balance, w.blocked, w.deleted_at is not null)
		  from workspaces w left join workspace_rollups r on r.workspace_id = w.workspace_id `+where, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[rollupCandidate])
}

// countLogs counts what is due of the first workspaces, as much as one step may, and tells how many of them are done.
func countLogs(ctx context.Context, tx pgx.Tx, found []rollupCandidate) (done int, err error) {
	var ids []uuid.UUID
	var from, to []int64
	room := int64(rollupRows)
	for _, c := range found {
		if c.Due && (room <= 0 || len(ids) == rollupSome) {
			break
		}
		if c.Due {
			take := min(c.Seq-c.Counted, room)
			ids, from, to = append(ids, c.Workspace), append(from, c.Counted), append(to, c.Counted+take)
			room -= take
			if c.Counted+take < c.Seq {
				break
			}
		}
		done++
	}
	if len(ids) == 0 {
		return done, nil
	}
	tag, err := tx.Exec(ctx, countSQL, ids, from, to, rollupRows)
	if err == nil && tag.RowsAffected() != 1 {
		err = errors.New("the state of the roll-up is missing")
	}
	return done, err
}

// countSQL counts the log rows ($2, $3] of the workspaces $1 and moves their places. It is one statement, so one snapshot:
// each row of a log that the place says is counted is counted. The limit is there for the planner: it keeps to the primary key.
const countSQL = `
	with due as (
		select d.workspace_id, d.from_seq, d.to_seq, w.balance, w.blocked, w.trial_expires_at is not null as trial, w.deleted_at is not null as gone, w.last_ts
		  from unnest($1::uuid[], $2::bigint[], $3::bigint[]) d (workspace_id, from_seq, to_seq) join workspaces w on w.workspace_id = d.workspace_id),
	counted as materialized (
		select d.workspace_id, date_bin('1 minute', a.ts, 'epoch') as minute, coalesce(a.subkey_id, '00000000-0000-0000-0000-000000000000') as subkey_id,
		       a.operation, a.status, count(*) as calls, sum(a.cost)::bigint as units, max(a.ts) as ts
		  from due d cross join lateral (
		       select a.ts, a.subkey_id, a.operation, a.status, a.cost from activity a
		        where a.workspace_id = d.workspace_id and a.seq > d.from_seq and a.seq <= d.to_seq order by a.seq limit $4) a
		 group by 1, 2, 3, 4, 5),
	hours as (
		insert into workspace_hours as h (workspace_id, hour, subkey_id, operation, calls, refusals, units)
		select workspace_id, date_bin('1 hour', minute, 'epoch'), subkey_id, operation,
		       sum(calls)::bigint, coalesce(sum(calls) filter (where status <> 'OK'), 0)::bigint, sum(units)::bigint from counted group by 1, 2, 3, 4
		on conflict (workspace_id, hour, subkey_id, operation) do update
		set calls = h.calls + excluded.calls, refusals = h.refusals + excluded.refusals, units = h.units + excluded.units),
	totals as (
		insert into workspace_totals as h (workspace_id, hour, calls, refusals, units, messages)
		select workspace_id, date_bin('1 hour', minute, 'epoch'), sum(calls)::bigint, coalesce(sum(calls) filter (where status <> 'OK'), 0)::bigint, sum(units)::bigint,
		       coalesce(sum(calls) filter (where status = 'OK' and operation = 'SEND_MESSAGE'), 0)::bigint from counted group by 1, 2
		on conflict (workspace_id, hour) do update
		set calls = h.calls + excluded.calls, refusals = h.refusals + excluded.refusals, units = h.units + excluded.units, messages = h.messages + excluded.messages),
	kinds as (
		select minute, case when status = 'OK' and operation = 'WEBHOOK_DELIVERY' then 'DELIVERY' else status end as kind, calls, units from counted),
	minutes as (
		insert into log_minutes as m (at, kind, calls, units)
		select minute, kind, sum(calls)::bigint, sum(units)::bigint from kinds group by 1, 2
		on conflict (at, kind) do update set calls = m.calls + excluded.calls, units = m.units + excluded.units),
	all_hours as (
		insert into log_hours as m (at, kind, calls, units)
		select date_bin('1 hour', minute, 'epoch'), kind, sum(calls)::bigint, sum(units)::bigint from kinds group by 1, 2
		on conflict (at, kind) do update set calls = m.calls + excluded.calls, units = m.units + excluded.units),
	old as materialized (select r.* from workspace_rollups r join due d on d.workspace_id = r.workspace_id),
	days as (
		select distinct on (workspace_id) workspace_id, date_bin('1 day', minute, 'epoch') as day, sum(calls)::bigint as calls, max(ts) as ts
		  from counted group by 1, 2 order by 1, 2 desc),
	new as (
		select d.*, coalesce(c.ts, o.ts, d.last_ts) as ts, coalesce(c.day, o.day, date_bin('1 day', d.last_ts, 'epoch')) as day,
		       coalesce(c.calls, 0) + case when c.day is null or c.day = o.day then coalesce(o.day_calls, 0) else 0 end as day_calls
		  from due d left join old o on o.workspace_id = d.workspace_id left join days c on c.workspace_id = d.workspace_id),
	places as (
		insert into workspace_rollups as r (workspace_id, seq, ts, balance, trial, blocked, gone, day, day_calls)
		select n.workspace_id, n.to_seq, n.ts, n.balance, n.trial, n.blocked, n.gone, n.day, n.day_calls from new n
		on conflict (workspace_id) do update
		set seq = excluded.seq, ts = excluded.ts, balance = excluded.balance, trial = excluded.trial, blocked = excluded.blocked, gone = excluded.gone,
		    day = excluded.day, day_calls = excluded.day_calls)
	update rollup_state s
	   set workspaces = s.workspaces + n.workspaces - o.workspaces, alive = s.alive + n.alive - o.alive, trials = s.trials + n.trials - o.trials,
	       blocked = s.blocked + n.blocked - o.blocked, balance = s.balance + n.balance - o.balance
	  from (select count(*) as workspaces, count(*) filter (where not gone) as alive, count(*) filter (where trial and not gone) as trials,
	               count(*) filter (where blocked and not gone) as blocked, coalesce(sum(balance), 0) as balance from due) n,
	       (select count(*) as workspaces, count(*) filter (where not gone) as alive, count(*) filter (where trial and not gone) as trials,
	               count(*) filter (where blocked and not gone) as blocked, coalesce(sum(balance), 0) as balance from old) o`
