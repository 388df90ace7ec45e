package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"aanet/store"
	"aanet/store/storetest"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

func (b *books) rollUp() {
	b.t.Helper()
	err := store.ErrUnavailable
	for errors.Is(err, store.ErrUnavailable) { // a machine that does ten other things may be too slow for a statement's limit
		err = b.RollUp(b.t.Context())
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// rolledUp demands that every sum of the roll-up is that of the logs and of the workspaces themselves.
func (b *books) rolledUp() {
	b.t.Helper()
	for what, sql := range map[string]string{
		"the place in each log": `
			select count(*) from workspaces w left join workspace_rollups r using (workspace_id)
			 where (w.seq, w.balance, w.blocked, w.deleted_at is not null, w.last_ts) is distinct from (r.seq, r.balance, r.blocked, r.gone, r.ts)`,
		"the hours of each workspace": `
			with log as (select workspace_id, date_bin('1 hour', ts, 'epoch') as hour, coalesce(subkey_id, '00000000-0000-0000-0000-000000000000') as subkey_id,
			                    operation, count(*) as calls, count(*) filter (where status <> 'OK') as refusals, sum(cost)::bigint as units from activity group by 1, 2, 3, 4)
			select count(*) from log l full join workspace_hours h using (workspace_id, hour, subkey_id, operation)
			 where (l.calls, l.refusals, l.units) is distinct from (h.calls, h.refusals, h.units)`,
		"the totals of each workspace": `
			with sums as (select workspace_id, hour, sum(calls) as calls, sum(refusals) as refusals, sum(units) as units,
			                    coalesce(sum(calls - refusals) filter (where operation = 'SEND_MESSAGE'), 0) as messages from workspace_hours group by 1, 2)
			select count(*) from sums s full join workspace_totals h using (workspace_id, hour)
			 where (s.calls, s.refusals, s.units, s.messages) is distinct from (h.calls, h.refusals, h.units, h.messages)`,
		"the minutes of all": `
			with log as (select date_bin('1 minute', ts, 'epoch') as at, case when operation = 'WEBHOOK_DELIVERY' and status = 'OK' then 'DELIVERY' else status end as kind, count(*) as calls, sum(cost)::bigint as units from activity group by 1, 2)
			select count(*) from log l full join log_minutes m using (at, kind) where (l.calls, l.units) is distinct from (m.calls, m.units)`,
		"the hours of all": `
			with log as (select date_bin('1 hour', ts, 'epoch') as at, case when operation = 'WEBHOOK_DELIVERY' and status = 'OK' then 'DELIVERY' else status end as kind, count(*) as calls, sum(cost)::bigint as units from activity group by 1, 2)
			select count(*) from log l full join log_hours m using (at, kind) where (l.calls, l.units) is distinct from (m.calls, m.units)`,
		"the calls of the day": `
			select count(*) from workspace_rollups r where day_calls <> (select count(*) from activity a where a.workspace_id = r.workspace_id and a.ts >= r.day)`,
		"the sums over workspaces": `
			select count(*) from rollup_state s cross join (select count(*) as workspaces, count(*) filter (where deleted_at is null) as alive,
			       count(*) filter (where deleted_at is null and trial_expires_at is not null) as trials,
			       count(*) filter (where deleted_at is null and blocked) as blocked, coalesce(sum(balance), 0) as balance from workspaces) w
			 where (s.workspaces, s.alive, s.trials, s.blocked, s.balance) is distinct from (w.workspaces, w.alive, w.trials, w.blocked, w.balance)`,
	} {
		if wrong := b.number(sql); wrong != 0 {
			b.t.Errorf("%s: %d rows are not what the logs say", what, wrong)
		}
	}
}

func TestRollUp(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	b.rollUp()
	b.rolledUp()
	a, _ := b.busy()
	trial := b.open(uuid.New(), new(time.Hour))
	gone, _ := b.busy()
	b.rollUp()
	b.rolledUp()

	gone.delete()
	a.must(a.write(nil, "more", "text"))
	if err := b.Block(t.Context(), because, trial.id, true); err != nil { // leaves no row in its log
		t.Fatal(err)
	}
	b.rollUp()
	b.rolledUp()
	if err := b.Block(t.Context(), because, trial.id, false); err != nil {
		t.Fatal(err)
	}
	trial.must(trial.write(nil, "f", "text"))
	if err := b.RollUpWorkspace(t.Context(), trial.id); err != nil {
		t.Fatal(err)
	}
	b.rolledUp()
	b.rollUp()
	b.rolledUp()
	sound(t, b)
}

// Writers, two processes that roll up and steps that are cut off, all at once.
func TestRollUpBesideWriters(t *testing.T) {
	dsn := storetest.Database(t)
	b, other := openBooks(t, dsn), openBooks(t, dsn)
	var accounts []account
	for range 6 {
		a, _ := b.busy()
		accounts = append(accounts, a)
	}
	var work sync.WaitGroup
	for _, a := range accounts {
		work.Go(func() {
			for n := range 40 {
				if code, err := a.write(nil, fmt.Sprint("f", n%3), "text"); code != "" || err != nil {
					t.Errorf("write: %q, %v", code, err)
				}
			}
		})
	}
	for n, s := range []*store.Store{b.Store, other.Store, b.Store} {
		work.Go(func() {
			for round := range 15 {
				ctx, cancel := context.WithCancel(t.Context())
				if n == 2 { // cut off wherever it is
					cut := time.AfterFunc(time.Duration(round)*time.Millisecond, cancel)
					defer cut.Stop()
				}
				if err := s.RollUp(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("roll up: %v", err)
				}
				cancel()
			}
		})
	}
	work.Wait()
	b.rollUp()
	b.rolledUp()
	sound(t, b)
}

// A call whose transaction is still open is counted when it is committed, however many passes went by meanwhile.
func TestRollUpCountsLateCommits(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a := b.open(uuid.New(), nil)
	b.rollUp()
	late, err := b.sql.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`update workspaces set seq = seq + 1, last_ts = now(), balance = balance - 10, spent = spent + 10, owner_spent = owner_spent + 10,
		        changed_hour = date_bin('1 hour', now(), 'epoch') where workspace_id = $1`,
		`insert into activity (workspace_id, seq, ts, operation, cost) select workspace_id, seq, last_ts, 'PUT_FILE', 10 from workspaces where workspace_id = $1`,
	} {
		if _, err := late.Exec(t.Context(), sql, a.id); err != nil {
			t.Fatal(err)
		}
	}
	busy, _ := b.busy()
	for range 3 {
		busy.must(busy.write(nil, "f", "text"))
		b.rollUp()
	}
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.rollUp()
	b.rolledUp()
}

// What the index by hours does not show (a clock that was set back) is found by the check of all workspaces.
func TestRollUpFindsWhatTheIndexHides(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a := b.open(uuid.New(), nil)
	b.rollUp()
	a.must(a.write(nil, "f", "text"))
	b.exec(`update workspaces set changed_hour = '2020-01-01'`)
	b.rollUp()
	b.rolledUp()
}

// A clock that was ahead for a while hides nothing that changes after it was set back: what the roll-up says is as of a time
// that has been, and the sums over all workspaces are exact before the next pass.
func TestRollUpAfterAClockWasAhead(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a, _ := b.busy()
	b.rollUp()
	database := b.sql.Config().Database
	b.exec("alter database " + database + " set aanet.clock_shift = '72 hours'")
	ahead := openBooks(t, b.dsn)
	there, _ := ahead.busy()
	there.must(there.write(nil, "f", "text"))
	ahead.rollUp()
	b.exec("alter database " + database + " reset aanet.clock_shift") // b's sessions never had it
	b.rollUp()
	a.must(a.write(nil, "f", "text"))
	o, err := b.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if owed := b.number("select sum(balance)::bigint from workspaces"); o.Owed != owed {
		t.Errorf("%d are owed, the overview says %d", owed, o.Owed)
	}
	if o.AsOf.After(o.Now) {
		t.Errorf("at %v it is as of %v", o.Now, o.AsOf)
	}
	b.rollUp()
	b.rolledUp()
	if cutoff := b.number("select extract(epoch from now() - cutoff)::bigint from rollup_state"); cutoff < 0 || cutoff > 7200+600 {
		t.Errorf("the next pass looks at what changed in the last %d seconds", cutoff)
	}
}

// A process that is killed in the middle of a step leaves nothing of it behind.
func TestRollUpIsAllOrNothing(t *testing.T) {
	dsn := storetest.Database(t)
	b, other := openBooks(t, dsn), openBooks(t, dsn)
	a, _ := b.busy()
	b.rollUp()
	a.must(a.write(nil, "f", "text"))
	held, err := b.sql.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Rollback(context.Background()) // when the test ends early
	if _, err := held.Exec(t.Context(), "lock table log_hours in exclusive mode"); err != nil {
		t.Fatal(err)
	}
	stopped, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			err := other.RollUp(context.WithoutCancel(t.Context()))
			select {
			case <-stopped:
				done <- err
				return
			default: // it does not wait for the lock for ever
			}
		}
	}()
	for cut, until := int64(0), time.Now().Add(2*time.Minute); cut == 0; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the step never came to the table that is locked")
		}
		err := other.sql.QueryRow(t.Context(), `
			select count(pg_terminate_backend(pid)) from pg_stat_activity
			 where datname = current_database() and wait_event_type = 'Lock' and application_name = 'aanet pool' and query like '%due as (%'`).Scan(&cut)
		if err != nil {
			t.Fatal(err)
		}
	}
	close(stopped)
	if err := <-done; !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a step whose connection was cut: %v", err)
	}
	if err := held.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if counted := b.number("select count(*) from workspaces w join workspace_rollups r using (workspace_id) where w.seq = r.seq"); counted != 0 {
		t.Error("the step that was cut off counted something")
	}
	b.rollUp()
	b.rolledUp()
}

// A log longer than one step counts is counted by several.
func TestRollUpOfALongLog(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a, quiet := b.open(uuid.New(), nil), b.open(uuid.New(), nil)
	b.exec("update activity set ts = ts - interval '2 days' where workspace_id = $1", a.id) // what follows is later
	a.addRows(120_000, time.Second)
	quiet.must(quiet.write(nil, "f", "text"))
	b.rollUp()
	b.rolledUp()
}

// addRows writes rows into a log by hand, which end now and are up to step apart.
func (a account) addRows(rows int, step time.Duration) {
	a.b.t.Helper()
	a.b.exec(`
		with w as (update workspaces set seq = seq + $2, last_ts = now(), balance = balance + 1, changed_hour = date_bin('1 hour', now(), 'epoch') where workspace_id = $1 returning seq)
		insert into activity (workspace_id, seq, ts, subkey_id, operation, cost, status)
		select $1, w.seq - $2 + i, now() - ($2 - i) * $3::interval, case when i % 3 = 0 then null else ('00000000-0000-7000-8000-00000000000' || i % 3)::uuid end,
		       (array['PUT_FILE', 'GET_FILE', 'LOCK_ACQUIRE'])[1 + i % 3], case when i % 7 = 0 then 0 else 1 + i % 5 end, case when i % 7 = 0 then 'NOT_FOUND' else 'OK' end
		  from w cross join generate_series(1, $2::bigint) i`, a.id, rows, step)
}

// The sums that use the roll-up are those that read every row, for any time, however far the roll-up is.
func TestSumsAreThoseOfTheLog(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a := b.open(uuid.New(), nil)
	b.exec(`update activity set ts = now() - interval '200 days' where workspace_id = $1 and seq = 1`, a.id)
	b.exec(`delete from activity where workspace_id = $1 and seq > 1`, a.id)
	b.exec(`update workspaces set seq = 1, last_ts = now() - interval '200 days' where workspace_id = $1`, a.id)
	stages := []struct {
		name string
		do   func()
	}{
		{"nothing is counted", func() { a.addRows(4000, 45*time.Minute) }},
		{"all is counted", b.rollUp},
		{"old hours are summed up", func() {
			if err := b.ForgetRollups(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
		{"some of the last hour is not counted", func() { a.addRows(50, time.Microsecond) }},
		{"all is counted again", b.rollUp},
	}
	for _, stage := range stages {
		stage.do()
		a.sumsAgree(stage.name)
	}
	if folded := b.number(`select count(*) from workspace_hours where hour = 'epoch'`); folded == 0 {
		t.Error("no hour was old enough to be summed up")
	}
	if old := b.number(`select count(*) from workspace_hours where hour > 'epoch' and hour < now() - interval '91 days'`); old != 0 {
		t.Errorf("%d old hours are still kept", old)
	}
}

func (a account) sumsAgree(stage string) {
	a.b.t.Helper()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // of a test
	now := time.Now()
	sinces := []*time.Time{nil, new(now.Add(time.Hour)), new(now.Add(-time.Hour)), new(now.Add(-24 * time.Hour)), new(now.Add(-7 * 24 * time.Hour)), new(now.Truncate(time.Hour))}
	for range 25 {
		sinces = append(sinces, new(now.Add(-time.Duration(random.Int64N(int64(210*24*time.Hour)))).Truncate(time.Microsecond)))
	}
	for _, since := range sinces {
		for _, by := range [][2]bool{{true, true}, {true, false}, {false, true}} {
			got, err := a.b.ActivitySums(a.b.t.Context(), a.id, since, by[0], by[1])
			if err != nil {
				a.b.t.Fatal(err)
			}
			rows, _ := a.b.sql.Query(a.b.t.Context(), `
				select case when $3 then subkey_id end as subkey, case when $4 then operation end as operation, count(*) as calls, sum(cost)::bigint as cost
				  from activity where workspace_id = $1 and ($2::timestamptz is null or ts >= $2) group by 1, 2 order by 4 desc, 3 desc, 1, 2`, a.id, since, by[0], by[1])
			want, err := pgx.CollectRows(rows, pgx.RowToStructByPos[store.ActivitySum])
			if err != nil {
				a.b.t.Fatal(err)
			}
			if !slices.EqualFunc(got, want, sameSum) {
				a.b.t.Errorf("%s, since %v: the roll-up says %v, the log %v", stage, since, texts(got), texts(want))
			}
		}
		if since == nil {
			continue
		}
		spent, err := a.b.SpentSince(a.b.t.Context(), a.id, *since)
		if err != nil {
			a.b.t.Fatal(err)
		}
		if want := a.b.number(`select coalesce(sum(cost), 0)::bigint from activity where workspace_id = $1 and ts >= $2`, a.id, *since); spent != want {
			a.b.t.Errorf("%s, since %v: spent %d, the log says %d", stage, since, spent, want)
		}
	}
}

func sameSum(a, b store.ActivitySum) bool { return text(a) == text(b) }

func text(s store.ActivitySum) string {
	key, operation := "owner", "all"
	if s.Subkey != nil {
		key = s.Subkey.String()
	}
	if s.Operation != nil {
		operation = *s.Operation
	}
	return fmt.Sprint(key, " ", operation, " ", s.Calls, " ", s.Cost)
}

func texts(sums []store.ActivitySum) (all []string) {
	for _, s := range sums {
		all = append(all, text(s))
	}
	return all
}
