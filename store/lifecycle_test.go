package store_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aanet/store"
	"aanet/store/storetest"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
)

// books is a database with its store, for tests of money and of the end of workspaces.
type books struct {
	*store.Store
	t   *testing.T
	dsn string
	sql *pgx.Conn
}

func openBooks(t *testing.T, dsn string) *books {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{URL: dsn, Lanes: 2, PoolSize: 4, Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(context.Background()), conn.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return &books{s, t, dsn, conn}
}

func (b *books) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.sql.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

func (b *books) number(sql string, args ...any) (n int64) {
	b.t.Helper()
	if err := b.sql.QueryRow(b.t.Context(), sql, args...).Scan(&n); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// account is a workspace with its owner key.
type account struct {
	b   *books
	id  uuid.UUID
	key []byte
}

// open makes a workspace: a trial of 100 units when ttl is given, else one with 1,000 refundable units.
func (b *books) open(id uuid.UUID, ttl *time.Duration) account {
	b.t.Helper()
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	a := account{b, id, key}
	grant := 0
	if ttl != nil {
		grant = 100
	}
	_, err := b.Do(b.t.Context(), store.Call{Function: "create_workspace", Workspace: id,
		Args: []any{"label", key, "last", ttl, grant, uuid.New()}, Into: []any{new(time.Time), new(*time.Time)}})
	if err == nil && ttl == nil {
		err = b.Credit(b.t.Context(), store.Act{By: "cli:test", Reason: "to start with"}, id, uuid.New(), 1000, true)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// call makes a call with a key of the workspace (the owner's when nil) and answers its code.
func (a account) call(key []byte, function, operation string, price int, args []any, columns int) (string, error) {
	if key == nil {
		key = a.key
	}
	into := make([]any, columns)
	result, err := a.b.Do(context.WithoutCancel(a.b.t.Context()), store.Call{Function: function, Workspace: a.id,
		Args: append([]any{key, nil, 0, operation, price}, args...), Into: into})
	return result.Code, err
}

func (a account) must(code string, err error) {
	a.b.t.Helper()
	if err != nil || code != "" {
		a.b.t.Fatalf("refused %q, error %v", code, err)
	}
}

func (a account) write(key []byte, path, content string) (string, error) {
	return a.call(key, "write_file", "PUT_FILE", 10, []any{path, []string{}, content, len(content), nil, false, nil, nil, nil}, 2)
}

func (a account) mint() (key []byte, subkey uuid.UUID) {
	a.b.t.Helper()
	key, subkey = make([]byte, 32), uuid.New()
	_, _ = rand.Read(key) // never fails
	a.must(a.call(nil, "mint_subkey", "MINT_SUBKEY", 0, []any{subkey, key, "last", "agent", nil, nil, nil, nil, 10_000, nil}, 0))
	return key, subkey
}

func (a account) delete() {
	a.b.t.Helper()
	a.must(a.call(nil, "delete_workspace", "DELETE_WORKSPACE", 0, []any{uuid.New()}, 1))
}

func (a account) balance() int64 {
	a.b.t.Helper()
	return a.b.number("select balance from workspaces where workspace_id = $1", a.id)
}

// rows counts what a workspace occupies in the tables that are freed.
func (a account) rows() int64 {
	a.b.t.Helper()
	return a.b.number(`select (select count(*) from activity where workspace_id = $1) + (select count(*) from messages where workspace_id = $1)
		+ (select count(*) from files where workspace_id = $1) + (select count(*) from file_chunks where workspace_id = $1)
		+ (select count(*) from locks where workspace_id = $1) + (select count(*) from keys where workspace_id = $1)`, a.id)
}

func TestExpiredTrials(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	day := 24 * time.Hour
	trial, other, paid := b.open(uuid.New(), &day), b.open(uuid.New(), new(50*time.Hour)), b.open(uuid.New(), nil)
	trial.must(trial.write(nil, "a", "text"))

	expired, err := b.ExpiredTrials(t.Context(), 10)
	if err != nil || len(expired) != 0 {
		t.Fatalf("before its time: %v, %v", expired, err)
	}
	if err := b.ExpireTrial(t.Context(), trial.id); err != nil || trial.balance() != 90 {
		t.Fatalf("a trial was closed before its time: %v, balance %d", err, trial.balance())
	}

	conn := b.sql.Config().Database
	b.exec("alter database " + conn + " set aanet.clock_shift = '25 hours'")
	later := openBooks(t, b.dsn)
	trial.b = later
	if code, err := trial.write(nil, "a", "text"); code != "UNAUTHENTICATED" || err != nil {
		t.Errorf("a trial whose time is over: %q, %v", code, err)
	}
	if err := later.Credit(t.Context(), store.Act{By: "cli:test", Reason: "late"}, trial.id, uuid.New(), 5, false); !errors.Is(err, store.ErrNoWorkspace) {
		t.Errorf("credit to a trial whose time is over: %v", err)
	}
	expired, err = later.ExpiredTrials(t.Context(), 10)
	if err != nil || len(expired) != 1 || expired[0] != trial.id {
		t.Fatalf("a day later: %v, %v", expired, err)
	}
	for _, id := range []uuid.UUID{trial.id, trial.id, other.id, paid.id, uuid.New()} {
		if err := later.ExpireTrial(t.Context(), id); err != nil {
			t.Errorf("expire %s: %v", id, err)
		}
	}
	if expired, err = later.ExpiredTrials(t.Context(), 10); err != nil || len(expired) != 0 {
		t.Errorf("after it was closed: %v, %v", expired, err)
	}
	gone, err := later.GoneWorkspaces(t.Context(), 10)
	if err != nil || len(gone) != 1 || gone[0] != trial.id {
		t.Errorf("gone: %v, %v", gone, err)
	}
	forfeited := b.number("select sum(units) from adjustments where workspace_id = $1 and kind = 'forfeit'", trial.id)
	if forfeited != 90 || trial.balance() != 0 || other.balance() != 100 || paid.balance() != 1000 {
		t.Errorf("forfeited %d, balances %d, %d, %d", forfeited, trial.balance(), other.balance(), paid.balance())
	}
	sound(t, later)
}

func TestFreeingLeavesNeighboursAlone(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	id := uuid.New()
	near := id
	near[0] ^= 1 // the last bytes choose the lane
	doomed, neighbour := b.open(id, nil), b.open(near, nil)
	doomed.must(doomed.write(nil, "a", "text"))
	doomed.must(doomed.call(nil, "submit_feedback", "FEEDBACK", 0, []any{uuid.New(), "bug", "title", "text", "0", nil}, 0))
	b.exec(`insert into messages (workspace_id, ts, message_id, body) select $1, now() + n * interval '1 second', gen_random_uuid(), 'x' from generate_series(1, 2500) n`, id)
	b.exec(`insert into locks (workspace_id, name, held, lease_expires_at, fencing_token, acquire_count, last_acquired_at)
		select $1, 'l' || n, false, now(), 1, 1, now() from generate_series(1, 1500) n`, id)
	b.exec(`insert into keys (workspace_id, key_hash, subkey_id, last4, label, minted_seq, created_at)
		select $1, sha256(n::text::bytea), gen_random_uuid(), 'last', 'x', 1, now() from generate_series(1, 1000) n`, id)
	doomed.delete()

	stop, working, calls := make(chan struct{}), make(chan error, 1), atomic.Int64{}
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				working <- nil
				return
			default:
			}
			code, err := neighbour.call(nil, "submit_feedback", "FEEDBACK", 0, []any{uuid.New(), "bug", "title", "text", "0", nil}, 0)
			if code != "" || err != nil {
				working <- fmt.Errorf("refused %q: %w", code, err)
				return
			}
			calls.Add(1)
		}
	}()
	steps, done := 0, false
	for ; !done; steps++ {
		before, beforeCalls := doomed.rows(), calls.Load()
		var err error
		if done, err = b.FreeWorkspace(t.Context(), id, 400); err != nil {
			t.Fatal(err)
		}
		if freed := before - doomed.rows(); freed > 400 || freed == 0 {
			t.Fatalf("step %d freed %d rows", steps, freed)
		}
		for calls.Load() == beforeCalls && len(working) == 0 {
			time.Sleep(time.Millisecond) // the neighbour gets its turn between any two steps
		}
	}
	close(stop)
	if err := <-working; err != nil {
		t.Errorf("the neighbour: %v", err)
	}
	if rows := doomed.rows(); rows != 0 || steps < 5000/400 {
		t.Errorf("%d rows left after %d steps", rows, steps)
	}
	kept := b.number(`select (select count(*) from adjustments where workspace_id = $1) * 10 + (select count(*) from feedback where workspace_id = $1)`, id)
	if kept != 21 || neighbour.rows() < 2 {
		t.Errorf("kept %d (credit and closing entry, one feedback: 21), the neighbour has %d rows", kept, neighbour.rows())
	}
	if gone, err := b.GoneWorkspaces(t.Context(), 10); err != nil || len(gone) != 0 {
		t.Errorf("still to be freed: %v, %v", gone, err)
	}
	freedAt := b.number("select extract(epoch from freed_at) * 1000000 from workspaces where workspace_id = $1", id)
	if done, err := b.FreeWorkspace(t.Context(), id, 400); !done || err != nil {
		t.Errorf("freed once more: %v, %v", done, err)
	}
	if again := b.number("select extract(epoch from freed_at) * 1000000 from workspaces where workspace_id = $1", id); again != freedAt {
		t.Error("freeing again moved the time")
	}
	sound(t, b)
}

// A megabyte is some 500 rows inside Postgres, so few large files must not go in one step.
func TestFreeingCountsBytes(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a := b.open(uuid.New(), nil)
	noise := make([]byte, 700_000)
	_, _ = rand.Read(noise) // never fails
	body := base64.StdEncoding.EncodeToString(noise)
	for n := range 4 {
		b.exec(`insert into files (workspace_id, path, etag, size, body, created_at, updated_at) values ($1, $2, '', $3, $4, now(), now())`, a.id, fmt.Sprint("f", n), len(body), body)
		b.exec(`insert into file_chunks (workspace_id, path, seq, body) values ($1, $2, 1, $3)`, a.id, fmt.Sprint("f", n), body)
	}
	a.delete()
	for step := 1; ; step++ {
		before := a.rows()
		done, err := b.FreeWorkspace(t.Context(), a.id, 400)
		if err != nil {
			t.Fatal(err)
		}
		if done {
			if step < 8 || a.rows() != 0 {
				t.Errorf("done in %d steps with %d rows left", step, a.rows())
			}
			return
		}
		if freed := before - a.rows(); freed != 1 {
			t.Fatalf("step %d freed %d large bodies", step, freed)
		}
	}
}

func TestFreeingWhatLives(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a := b.open(uuid.New(), nil)
	for _, id := range []uuid.UUID{a.id, uuid.New()} {
		if done, err := b.FreeWorkspace(t.Context(), id, 400); done || !errors.Is(err, store.ErrNoWorkspace) {
			t.Errorf("%s: %v, %v", id, done, err)
		}
	}
	if a.rows() == 0 {
		t.Error("a living workspace lost its rows")
	}
}

// A new table of tenants' rows must be freed, or be named here as one that stays.
func TestFreeingKnowsEveryTable(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	stay := map[string]bool{"workspaces": true, "deposits": true, "refunds": true, "adjustments": true, "feedback": true, "workspace_rollups": true}
	rows, _ := b.sql.Query(t.Context(), `
		select c.table_name from information_schema.columns c join information_schema.key_column_usage k
		    on k.table_schema = c.table_schema and k.table_name = c.table_name and k.column_name = c.column_name and k.ordinal_position = 1
		 where c.table_schema = 'public' and c.column_name = 'workspace_id' group by 1`)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 10 {
		t.Fatalf("tables %v, %v", tables, err)
	}
	var body string
	if err := b.sql.QueryRow(t.Context(), "select prosrc from pg_proc where proname = 'free_workspace'").Scan(&body); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if freed := strings.Contains(body, "delete from "+table+" "); freed == stay[table] {
			t.Errorf("%s: freed %v, should stay %v", table, freed, stay[table])
		}
	}
}
