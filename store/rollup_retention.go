package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// How long sums are kept by hour, and those of the whole service by minute.
const (
	KeepHours   = 90 * 24 * time.Hour
	KeepMinutes = 48 * time.Hour
)

const (
	forgetRows       = 5000 // of service-wide sums that one statement deletes
	forgetWorkspaces = 100  // whose old hours are summed up in one transaction
)

// ForgetRollups ends what is kept of the sums longer than it should be, as of the start of the day: an hour of a workspace
// goes into the sum of all its old hours, so that its sum over all time stays what it is.
func (s *Store) ForgetRollups(ctx context.Context) error {
	for table, keep := range map[string]time.Duration{
		"log_minutes": KeepMinutes, "answer_minutes": KeepMinutes, "log_hours": KeepHours, "answer_hours": KeepHours,
	} {
		for more := true; more; {
			tag, err := s.pool.Exec(ctx, `delete from `+table+` where ctid = any (array(
				select ctid from `+table+` where at < (select aanet_now()) - $1::interval limit $2))`, keep, forgetRows)
			if err != nil {
				return fmt.Errorf("forget old rows of %s: %w", table, poolError(err))
			}
			more = tag.RowsAffected() == forgetRows
		}
	}
	for {
		folded, err := s.foldHours(ctx)
		if err != nil {
			return fmt.Errorf("sum up old hours: %w", err)
		}
		if folded == 0 {
			return nil
		}
	}
}

// foldHours sums up the old hours of some workspaces.
func (s *Store) foldHours(ctx context.Context) (folded int, err error) {
	err = s.rollUpStep(ctx, func(tx pgx.Tx, state *rollupState) error {
		cutoff := state.now.Add(-KeepHours).Truncate(24 * time.Hour)
		rows, err := tx.Query(ctx, `
			select distinct h.workspace_id from (
				select workspace_id from workspace_hours where hour > 'epoch' and hour < $1 order by hour limit $2) h limit $3`,
			cutoff, forgetRows, forgetWorkspaces)
		if err != nil {
			return err
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		if err != nil || len(ids) == 0 {
			return err
		}
		folded = len(ids)
		_, err = tx.Exec(ctx, `
			with old as (
				delete from workspace_hours where workspace_id = any ($1) and hour > 'epoch' and hour < $2
				returning workspace_id, subkey_id, operation, calls, refusals, units),
			place as (update workspace_rollups set kept_from = $2 where workspace_id = any ($1)),
			old_totals as (
				delete from workspace_totals where workspace_id = any ($1) and hour > 'epoch' and hour < $2
				returning workspace_id, calls, refusals, units, messages),
			totals as (
				insert into workspace_totals as h (workspace_id, hour, calls, refusals, units, messages)
				select workspace_id, 'epoch'::timestamptz, sum(calls)::bigint, sum(refusals)::bigint, sum(units)::bigint, sum(messages)::bigint from old_totals group by 1
				on conflict (workspace_id, hour) do update
				set calls = h.calls + excluded.calls, refusals = h.refusals + excluded.refusals, units = h.units + excluded.units, messages = h.messages + excluded.messages)
			insert into workspace_hours as h (workspace_id, hour, subkey_id, operation, calls, refusals, units)
			select workspace_id, 'epoch'::timestamptz, subkey_id, operation, sum(calls)::bigint, sum(refusals)::bigint, sum(units)::bigint from old group by 1, 2, 3, 4
			on conflict (workspace_id, hour, subkey_id, operation) do update
			set calls = h.calls + excluded.calls, refusals = h.refusals + excluded.refusals, units = h.units + excluded.units`, ids, cutoff)
		return err
	})
	return folded, err
}
