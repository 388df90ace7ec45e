package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// ActivitySum is a group of the log with its calls and cost.
type ActivitySum struct {
	Subkey    *uuid.UUID
	Operation *string
	Calls     int64
	Cost      int64
}

// sumsSQL gives the log of the workspace $1 since the time $2 (null: all of it) as rows of counted: whole hours from the
// roll-up, the part of an hour before them and what is not counted yet from the log. $3 is the first whole hour. All of it
// is one snapshot, so the answer is that of reading every row.
const sumsSQL = sumsPlace + `
	counted as (
		select nullif(h.subkey_id, '00000000-0000-0000-0000-000000000000') as subkey_id, h.operation, h.calls, h.units
		  from workspace_hours h where h.workspace_id = $1 and h.hour >= (select edge from place)` + sumsRest

// spentSQL is sumsSQL without keys and operations.
const spentSQL = sumsPlace + `
	counted as (
		select null::uuid as subkey_id, null::text as operation, h.calls, h.units
		  from workspace_totals h where h.workspace_id = $1 and h.hour >= (select edge from place)` + sumsRest

const sumsPlace = `
	with place as materialized (
		select p.seq, p.edge, case when $2::timestamptz is null then 1 else first_seq_since($1, $2) end as first,
		       case when $2::timestamptz is null then 1 else first_seq_since($1, p.edge) end as whole
		  from (select coalesce(max(r.seq), 0) as seq, case when $2::timestamptz is null then 'epoch' else greatest($3::timestamptz, max(r.kept_from)) end as edge
		          from workspace_rollups r where r.workspace_id = $1) p),`

const sumsRest = `
		union all
		select a.subkey_id, a.operation, 1, a.cost from activity a
		 where a.workspace_id = $1 and a.seq >= (select first from place) and a.seq < (select whole from place)
		union all
		select a.subkey_id, a.operation, 1, a.cost from activity a
		 where a.workspace_id = $1 and a.seq >= (select greatest(whole, seq + 1) from place))`

// wholeHour is the first hour that begins at or after a time.
func wholeHour(since *time.Time) *time.Time {
	if since == nil {
		return nil
	}
	hour := since.Truncate(time.Hour)
	if hour.Before(*since) {
		hour = hour.Add(time.Hour)
	}
	return &hour
}

// ActivitySums sums the log since a time (nil: all of it) by sub-key, by operation or by both.
func (s *Store) ActivitySums(ctx context.Context, workspace uuid.UUID, since *time.Time, bySubkey, byOperation bool) ([]ActivitySum, error) {
	return searched[ActivitySum](ctx, s, sumsSQL+`
		select case when $4 then subkey_id end as subkey, case when $5 then operation end as operation, sum(calls)::bigint as calls, sum(units)::bigint as cost
		  from counted group by 1, 2 order by 4 desc, 3 desc, 1, 2`, workspace, since, wholeHour(since), bySubkey, byOperation)
}

// SpentSince sums what a workspace was charged since a time, in units.
func (s *Store) SpentSince(ctx context.Context, workspace uuid.UUID, since time.Time) (int64, error) {
	rows, err := searched[struct{ Spent int64 }](ctx, s, spentSQL+`
		select coalesce(sum(units), 0)::bigint from counted`, workspace, since, wholeHour(&since))
	if err != nil {
		return 0, err
	}
	return rows[0].Spent, nil
}

// TopSpenders lists the keys that were charged most since a time.
func (s *Store) TopSpenders(ctx context.Context, workspace uuid.UUID, since time.Time, limit int) ([]ActivitySum, error) {
	return searched[ActivitySum](ctx, s, sumsSQL+`
		select subkey_id as subkey, null::text as operation, sum(calls)::bigint as calls, sum(units)::bigint as cost
		  from counted group by 1 having sum(units) > 0 order by 4 desc, 1 limit $4`, workspace, since, wholeHour(&since), limit)
}
