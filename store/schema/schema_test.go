package schema_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"aanet/migrations"
	"aanet/store/schema"
	"aanet/store/storetest"

	"github.com/jackc/pgx/v5"
)

// The migrations of an imaginary program. The third must be idempotent: it cannot run in a transaction and has no mark.
var files = []struct{ name, text string }{
	{"0001_things.up.sql", "create table things (n int); insert into schema_migration_marks (version) values (1);"},
	{"0002_seed.up.sql", "insert into things values (1), (2); insert into schema_migration_marks (version) values (2);"},
	{"0003_index.up.sql", "create index concurrently if not exists things_n on things (n)"},
	{"0004_more.up.sql", "insert into things values (3); insert into schema_migration_marks (version) values (4);"},
}

// release is the program with its first n migrations and a function that answers with the given word.
func release(n int, functionSet int64, word string) schema.Build {
	migrations := fstest.MapFS{}
	for _, f := range files[:n] {
		migrations[f.name] = &fstest.MapFile{Data: []byte(f.text)}
	}
	return schema.Build{
		Migrations: migrations,
		Functions: fstest.MapFS{
			// The order of the names is not the order of need.
			"a_outer.sql": {Data: []byte("create or replace function a_outer() returns text language sql as $$ select b_inner() $$")},
			"b_inner.sql": {Data: []byte("create or replace function b_inner() returns text language sql as $$ select '" + word + "' $$")},
		},
		FunctionSet: functionSet,
	}
}

type bench struct {
	t    *testing.T
	dsn  string
	conn *pgx.Conn
	logs bytes.Buffer
}

func open(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dsn: storetest.Empty(t)}
	conn, err := pgx.Connect(t.Context(), b.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	b.conn = conn
	return b
}

func (b *bench) log() *slog.Logger { return slog.New(slog.NewTextHandler(&b.logs, nil)) }

func (b *bench) migrate(build schema.Build) {
	b.t.Helper()
	if err := build.Migrate(b.t.Context(), b.dsn, b.log()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) exec(sql string) {
	b.t.Helper()
	if _, err := b.conn.Exec(b.t.Context(), sql); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

func (b *bench) want(sql, want string) {
	b.t.Helper()
	var got string
	if err := b.conn.QueryRow(b.t.Context(), sql).Scan(&got); err != nil || got != want {
		b.t.Errorf("%s: got %q, %v, want %q", sql, got, err, want)
	}
}

const state = "select version || ' ' || dirty || ' ' || (select count(*) from things) from schema_migrations"

func TestFourStartsAtOnce(t *testing.T) {
	b := open(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := release(4, 1, "new").Migrate(t.Context(), b.dsn, slog.New(slog.DiscardHandler)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.want(state, "4 false 3")
	b.want("select a_outer()", "new")
}

func TestCutOff(t *testing.T) {
	for _, c := range []struct {
		name  string
		done  int    // migrations that ran before
		cut   string // what the killed process left
		start int    // migrations of the program that starts then
		want  string
	}{
		{"before the first file", 0, "", 4, "4 false 3"},
		{"after the note, before the file", 1, "update schema_migrations set version = 2, dirty = true", 4, "4 false 3"},
		{"in the first file", 1, "drop table things; delete from schema_migration_marks; update schema_migrations set dirty = true", 1, "1 false 0"},
		{"after the file, before the last note", 2, "update schema_migrations set dirty = true", 4, "4 false 3"},
		{"in a file without a transaction", 3, "drop index things_n; update schema_migrations set dirty = true", 4, "4 false 3"},
		{"a newer program in its file", 2, "update schema_migrations set version = 3, dirty = true", 2, "3 true 2"},
		{"a newer program before its functions", 4, "delete from function_set", 2, "4 false 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t)
			if c.done > 0 {
				b.migrate(release(c.done, 1, "old"))
				b.exec(c.cut)
			}
			b.migrate(release(c.start, 1, "new"))
			b.want(state, c.want)
		})
	}
}

func TestKilledInTheMiddle(t *testing.T) {
	b := open(t)
	b.migrate(release(1, 1, "old"))
	slow := release(1, 1, "old")
	slow.Migrations.(fstest.MapFS)["0002_slow.up.sql"] = &fstest.MapFile{Data: []byte(
		"insert into things values (1); select pg_sleep(60); insert into schema_migration_marks (version) values (2);")}
	ended := make(chan error, 1)
	go func() { ended <- slow.Migrate(t.Context(), b.dsn, slog.New(slog.DiscardHandler)) }()

	// Cut every connection that the process has, as its death would.
	for cut := 0; cut < 2; time.Sleep(10 * time.Millisecond) {
		err := b.conn.QueryRow(t.Context(), `select count(pg_terminate_backend(pid)) from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid()
			and exists (select from pg_stat_activity where query like '%pg_sleep(60)%' and pid <> pg_backend_pid())`).Scan(&cut)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err == nil {
		t.Error("the cut start says it went well")
	}
	b.want(state, "2 true 0")
	b.migrate(release(4, 1, "new"))
	b.want(state, "4 false 3")
}

func TestFailingMigration(t *testing.T) {
	b := open(t)
	broken := release(1, 1, "new")
	broken.Migrations.(fstest.MapFS)["0002_broken.up.sql"] = &fstest.MapFile{Data: []byte(
		"insert into things values (1);\nselect nonsense;\ninsert into schema_migration_marks (version) values (2);")}
	for range 2 { // the second start must say the same, not "dirty"
		err := broken.Migrate(t.Context(), b.dsn, b.log())
		if err == nil || !strings.Contains(err.Error(), "nonsense") || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("got %v", err)
		}
		b.want("select count(*)::text from things", "0")
	}
}

func TestBusyTable(t *testing.T) {
	b := open(t)
	b.migrate(release(1, 1, "new"))
	tx, err := b.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "lock table things in access exclusive mode"); err != nil {
		t.Fatal(err)
	}
	defer schema.SetTableLockTimeout(schema.SetTableLockTimeout("50ms"))
	busy := make(chan string, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- release(2, 1, "new").Migrate(t.Context(), b.dsn, slog.New(slog.NewTextHandler(lines(busy), nil)))
	}()
	// It gives up after its time, for all traffic waits behind it, and tries again.
	for try := range 2 {
		if line := <-busy; !strings.Contains(line, fmt.Sprintf("try=%d", try+1)) {
			t.Errorf("the log says %s", line)
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	b.want(state, "2 false 2")
}

// lines passes on the lines of a log that tell of a busy table.
type lines chan<- string

func (l lines) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "busy") {
		l <- string(line)
	}
	return len(line), nil
}

func TestRoleWithoutRights(t *testing.T) {
	b := open(t)
	b.migrate(release(2, 1, "new"))
	role := "reader_" + strings.ToLower(rand.Text())
	b.exec("create role " + role)
	t.Cleanup(func() {
		_, err := b.conn.Exec(context.Background(), "drop owned by "+role+"; drop role "+role)
		if err != nil {
			t.Error(err)
		}
	})
	b.exec("grant select on schema_migrations, function_set to " + role)
	b.exec("revoke create on schema public from public")
	asReader := b.dsn + "&role=" + role
	if err := release(2, 1, "new").Migrate(t.Context(), asReader, b.log()); err != nil {
		t.Errorf("with nothing to do: %v", err)
	}
	if err := release(3, 1, "new").Migrate(t.Context(), asReader, b.log()); err == nil {
		t.Error("it changed the schema without the right to")
	}
}

func TestOlderProgramOnNewerDatabase(t *testing.T) {
	b := open(t)
	b.migrate(release(4, 1, "new"))
	b.migrate(release(2, 7, "old"))
	b.want(state, "4 false 3")
	b.want("select a_outer()", "new")
	if said := "database is newer"; !strings.Contains(b.logs.String(), said) {
		t.Errorf("the log does not say %q: %s", said, b.logs.String())
	}
	if _, err := release(2, 7, "old").Version(t.Context(), b.conn); err != nil {
		t.Errorf("the older program is not ready: %v", err)
	}
}

func TestFunctions(t *testing.T) {
	b := open(t)
	b.migrate(release(1, 1, "first"))
	b.want("select a_outer()", "first")
	b.migrate(release(1, 2, "second"))
	b.want("select a_outer()", "second")
	b.migrate(release(1, 1, "first"))
	b.want("select a_outer()", "second") // an older replica starts again
	b.migrate(release(1, 2, "mended"))
	b.want("select a_outer()", "mended") // a developer's change needs no new number

	broken := release(1, 3, "third")
	broken.Functions.(fstest.MapFS)["c_broken.sql"] = &fstest.MapFile{Data: []byte("create nonsense")}
	err := broken.Migrate(t.Context(), b.dsn, b.log())
	if err == nil || !strings.Contains(err.Error(), "c_broken.sql") {
		t.Errorf("got %v", err)
	}
	b.want("select a_outer()", "mended") // all or none
}

func TestVersion(t *testing.T) {
	b := open(t)
	need := release(4, 2, "new")
	if _, err := need.Version(t.Context(), b.conn); !errors.Is(err, schema.ErrOld) {
		t.Errorf("an empty database: %v", err)
	}
	b.migrate(release(3, 2, "new"))
	if v, err := need.Version(t.Context(), b.conn); !errors.Is(err, schema.ErrOld) || v.HasSchema != 3 || v.NeedsSchema != 4 {
		t.Errorf("an older schema: %+v, %v", v, err)
	}
	b.migrate(release(4, 1, "new"))
	if _, err := need.Version(t.Context(), b.conn); !errors.Is(err, schema.ErrOld) {
		t.Errorf("older functions: %v", err)
	}
	b.migrate(need)
	want := schema.Versions{HasSchema: 4, NeedsSchema: 4, HasFunctions: 4002, NeedsFunctions: 4002}
	if v, err := need.Version(t.Context(), b.conn); err != nil || v != want {
		t.Errorf("got %+v, %v", v, err)
	}
	b.exec("update schema_migrations set dirty = true")
	if _, err := need.Version(t.Context(), b.conn); !errors.Is(err, schema.ErrOld) {
		t.Errorf("a migration that runs just now: %v", err)
	}
}

// Every migration of the real program must be one that a crash cannot confuse.
func TestEmbeddedMigrations(t *testing.T) {
	names, err := fs.Glob(migrations.FS, "*.up.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("no migrations: %v", err)
	}
	ownTransaction := regexp.MustCompile(`(?im)^\s*(begin|commit)\s*;`)
	comment := regexp.MustCompile(`--[^\n]*`)
	for i, name := range names {
		text, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(name, fmt.Sprintf("%04d_", i+1)) {
			t.Errorf("%s: its number should be %04d", name, i+1)
		}
		if _, err := fs.Stat(migrations.FS, strings.Replace(name, ".up.", ".down.", 1)); err != nil {
			t.Errorf("%s has no way down: %v", name, err)
		}
		sql := strings.TrimSpace(string(comment.ReplaceAll(text, nil)))
		if ownTransaction.MatchString(sql) {
			t.Errorf("%s: a file is one transaction by itself; its own begin or commit breaks that", name)
		}
		mark := regexp.MustCompile(fmt.Sprintf(`(?i)insert into schema_migration_marks ?\(version\) values \(%d\);$`, i+1))
		if !strings.Contains(strings.ToLower(sql), "concurrently") && !mark.MatchString(sql) {
			t.Errorf("%s must end with: insert into schema_migration_marks (version) values (%d);", name, i+1)
		}
	}
}

func TestMigrateEmbedded(t *testing.T) {
	b := open(t)
	for range 2 {
		if err := schema.Migrate(t.Context(), b.dsn, b.log()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := schema.Version(t.Context(), b.conn); err != nil {
		t.Error(err)
	}
	if print, err := schema.Fingerprint(); err != nil || len(print) != 16 {
		t.Errorf("fingerprint %q, %v", print, err)
	}
}
