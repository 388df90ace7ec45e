package store

import (
	"context"
	"time"
)

// AnswerBounds are the upper bounds of the buckets into which answers are counted by the time they took, each about half as
// long again as the one before. Their number and order are in the database: never change them.
var AnswerBounds = []time.Duration{
	500 * time.Microsecond, 750 * time.Microsecond, time.Millisecond, 1500 * time.Microsecond, 2 * time.Millisecond, 3 * time.Millisecond,
	5 * time.Millisecond, 7500 * time.Microsecond, 10 * time.Millisecond, 15 * time.Millisecond, 20 * time.Millisecond, 30 * time.Millisecond,
	50 * time.Millisecond, 75 * time.Millisecond, 100 * time.Millisecond, 150 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond,
	500 * time.Millisecond, 750 * time.Millisecond, time.Second, 1500 * time.Millisecond, 2 * time.Second, 3 * time.Second, 5 * time.Second,
	10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute,
}

// Answered is how many answers of one process in one minute had a code and took such a time.
type Answered struct {
	Code   string // "OK", or that of the refusal
	Bucket int    // of AnswerBounds; its length: longer than all; -1: not timed, as it may have waited
	Calls  int64
}

// AddAnswered adds the answers that this process gave in a minute, once: it may be called again after a failure, with the
// same answers. minute is its beginning.
func (s *Store) AddAnswered(ctx context.Context, minute time.Time, answered []Answered) error {
	codes, buckets, calls := make([]string, len(answered)), make([]int, len(answered)), make([]int64, len(answered))
	for i, a := range answered {
		codes[i], buckets[i], calls[i] = a.Code, a.Bucket, a.Calls
	}
	// Rows of an hour are taken in one order, so that two processes cannot wait for each other.
	_, err := s.pool.Exec(ctx, `
		with made as (
			insert into answer_minutes (at, replica, code, bucket, calls)
			select $1, $2, u.code, u.bucket, u.calls from unnest($3::text[], $4::smallint[], $5::bigint[]) u (code, bucket, calls)
			on conflict do nothing
			returning code, bucket, calls)
		insert into answer_hours as h (at, code, bucket, calls)
		select date_bin('1 hour', $1, 'epoch'), code, bucket, sum(calls)::bigint from made group by code, bucket order by code, bucket
		on conflict (at, code, bucket) do update set calls = h.calls + excluded.calls`,
		minute, s.Replica(), codes, buckets, calls)
	return poolError(err)
}
