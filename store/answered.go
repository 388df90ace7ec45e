package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
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
	counts := map[string]int64{}
	for _, a := range answered {
		counts[a.Code] += a.Calls
		if a.Bucket >= 0 {
			counts[timed(a.Bucket)] += a.Calls
		}
	}
	what := slices.Sorted(maps.Keys(counts))
	calls := make([]int64, len(what))
	for i, w := range what {
		calls[i] = counts[w]
	}
	// Rows of an hour are taken in one order, so that two processes cannot wait for each other.
	_, err := s.pool.Exec(ctx, `
		with made as (
			insert into answer_minutes (at, replica, what, calls)
			select $1, $2, u.what, u.calls from unnest($3::text[], $4::bigint[]) u (what, calls)
			on conflict do nothing
			returning what, calls)
		insert into answer_hours as h (at, what, calls)
		select date_bin('1 hour', $1, 'epoch'), what, calls from made order by what
		on conflict (at, what) do update set calls = h.calls + excluded.calls`,
		minute, s.Replica(), what, calls)
	return poolError(err)
}

// timed is under which name answers are counted that took so long; codes have no colon.
func timed(bucket int) string { return fmt.Sprintf("time:%02d", bucket) }

// bucketOf is the opposite of timed; false: it is a code.
func bucketOf(what string) (bucket int, ok bool) {
	digits, ok := strings.CutPrefix(what, "time:")
	if !ok {
		return 0, false
	}
	bucket, err := strconv.Atoi(digits)
	return bucket, err == nil
}
