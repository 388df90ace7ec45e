package store

import (
	"context"
	"time"
)

// This file is all that package store knows of River's table of jobs. River makes the table itself, so there may be none
// yet; it keeps jobs that are over for a day or a few.

// JobSum is how the background jobs of one kind go.
type JobSum struct {
	Kind       string
	LastDone   *time.Time
	DoneHour   int64
	FailedHour int64
	Waiting    int64 // available, scheduled or to be retried
	Running    int64
}

// jobSums sums up the jobs by kind; none: there is no table yet.
func (s *Store) jobSums(ctx context.Context, now time.Time) ([]JobSum, error) {
	if there, err := s.hasJobs(ctx); err != nil || !there {
		return nil, err
	}
	return collect[JobSum](ctx, s, `
		select kind, max(finalized_at) filter (where state = 'completed'),
		       count(*) filter (where state = 'completed' and finalized_at > $1), count(*) filter (where state in ('discarded', 'cancelled') and finalized_at > $1),
		       count(*) filter (where state in ('available', 'scheduled', 'retryable', 'pending')), count(*) filter (where state = 'running')
		  from river.river_job group by 1 order by 1`, now.Add(-time.Hour))
}

// jobHealth tells when a job last ended well (nil: none has, as far as they are kept) and how many failed in the last
// hour, at most so many. It reads the ends of indexes only.
func (s *Store) jobHealth(ctx context.Context, most int) (last *time.Time, failed int, err error) {
	if there, err := s.hasJobs(ctx); err != nil || !there {
		return nil, 0, err
	}
	err = s.pool.QueryRow(ctx, `
		select (select max(finalized_at) from river.river_job where state = 'completed'),
		       (select count(*) from (select 1 from river.river_job where state = 'discarded' and finalized_at > now() - interval '1 hour' limit $1) failed)`,
		most).Scan(&last, &failed)
	return last, failed, poolError(err)
}

func (s *Store) hasJobs(ctx context.Context) (there bool, err error) {
	err = s.pool.QueryRow(ctx, `select to_regclass('river.river_job') is not null`).Scan(&there)
	return there, poolError(err)
}
