package store

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// LoginRefill is how long an empty limit of failed logins takes to be full again, little by little.
const LoginRefill = 15 * time.Minute

// LoginLimit is a limit of failed logins, which all processes count together.
type LoginLimit struct {
	Bucket [32]byte // a hash of what is limited
	Most   int      // tries when it is full
}

// fullsForgotten is how many limits that are full again one try clears away: more than a try makes.
const fullsForgotten = 20

var errLoginRefused = errors.New("a limit of logins is empty")

// TakeLogin takes a try from each of the limits; with a wait above zero it took none, and they are there after it. now is
// the caller's clock. What it takes is gone when it returns, so processes that try at once do not get more than there is.
func (s *Store) TakeLogin(ctx context.Context, limits []LoginLimit, now time.Time) (wait time.Duration, err error) {
	now = now.Truncate(time.Microsecond) // as the database keeps it
	buckets, takes := loginArguments(limits)
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// What would be full later than any limit can be stems from a clock that was ahead, and counts as full.
		rows, err := tx.Query(ctx, `
			insert into login_failures as f (bucket, full_at)
			select l.bucket, $3::timestamptz + l.take from unnest($1::bytea[], $2::interval[]) l (bucket, take) order by l.bucket
			on conflict (bucket) do update
			set full_at = excluded.full_at + case when f.full_at between $3 and $3 + $4::interval then f.full_at - $3 else interval '0' end
			returning full_at`, buckets, takes, now, LoginRefill)
		if err != nil {
			return err
		}
		fulls, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
		if err != nil {
			return err
		}
		for _, full := range fulls {
			wait = max(wait, full.Sub(now)-LoginRefill)
		}
		if wait > 0 {
			return errLoginRefused
		}
		_, err = tx.Exec(ctx, `delete from login_failures where bucket in (
			select bucket from login_failures where full_at < $1 order by full_at limit $2 for update skip locked)`, now, fullsForgotten)
		return err
	})
	if errors.Is(err, errLoginRefused) {
		return wait, nil
	}
	return 0, poolError(err)
}

// ReturnLogin gives back what TakeLogin took.
func (s *Store) ReturnLogin(ctx context.Context, limits []LoginLimit) error {
	buckets, takes := loginArguments(limits)
	_, err := s.pool.Exec(ctx, `
		with held as materialized (select bucket from login_failures where bucket = any ($1::bytea[]) order by bucket for update)
		update login_failures f set full_at = f.full_at - l.take from unnest($1::bytea[], $2::interval[]) l (bucket, take), held h
		 where f.bucket = l.bucket and h.bucket = l.bucket`, buckets, takes)
	return poolError(err)
}

// loginArguments are the limits as columns, in the one order in which all logins lock them.
func loginArguments(limits []LoginLimit) (buckets [][]byte, takes []time.Duration) {
	limits = slices.Clone(limits)
	slices.SortFunc(limits, func(a, b LoginLimit) int { return bytes.Compare(a.Bucket[:], b.Bucket[:]) })
	for _, l := range limits {
		buckets, takes = append(buckets, bytes.Clone(l.Bucket[:])), append(takes, LoginRefill/time.Duration(l.Most))
	}
	return buckets, takes
}
