// Plpgsqlcheck migrates an empty database and runs the plpgsql_check extension over every function in it: misspelt
// columns, wrong types and unused variables show when a function is linted and not when it is first called. It needs
// AANET_TEST_DATABASE_URL with the right to create databases; as root it installs the extension where apt is at hand.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"os/signal"

	"aanet/store/schema"

	"github.com/jackc/pgx/v5"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Getenv("AANET_TEST_DATABASE_URL")); err != nil {
		fmt.Fprintln(os.Stderr, "plpgsql_check:", err)
		os.Exit(1)
	}
}

// run makes a database of its own on the server at dsn, checks the functions there and drops it.
func run(ctx context.Context, dsn string) (err error) {
	if dsn == "" {
		return errors.New("AANET_TEST_DATABASE_URL is not set; make lint starts a Postgres and sets it")
	}
	server, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer server.Close(context.WithoutCancel(ctx))
	if err := install(ctx, server); err != nil {
		return err
	}
	name := fmt.Sprintf("plpgsqlcheck_%d", os.Getpid())
	if _, err := server.Exec(ctx, "create database "+name); err != nil {
		return fmt.Errorf("create a database: %w", err)
	}
	defer func() {
		_, dropErr := server.Exec(context.WithoutCancel(ctx), "drop database "+name+" with (force)")
		err = errors.Join(err, dropErr)
	}()
	return check(ctx, withDatabase(dsn, name))
}

// withDatabase names another database of the same server, for a URL and for a keyword string alike.
func withDatabase(dsn, name string) string {
	if u, err := url.Parse(dsn); err == nil && u.Scheme != "" {
		u.Path = "/" + name
		return u.String()
	}
	return dsn + " dbname=" + name
}

// install makes the extension's files available to the server.
func install(ctx context.Context, server *pgx.Conn) error {
	var major int
	var available bool
	err := server.QueryRow(ctx, `select current_setting('server_version_num')::int / 10000,
		exists (select from pg_available_extensions where name = 'plpgsql_check')`).Scan(&major, &available)
	if err != nil || available {
		return err
	}
	debian := fmt.Sprintf("postgresql-%d-plpgsql-check", major)
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("the extension is not installed; on Debian and Ubuntu: apt-get install %s", debian)
	}
	fmt.Println("installing", debian)
	// --no-upgrade: a newer server package must not replace the files of the one that runs.
	for _, args := range [][]string{{"update", "-q"}, {"install", "-q", "-y", "--no-install-recommends", "--no-upgrade", debian}} {
		apt := exec.CommandContext(ctx, "apt-get", args...)
		apt.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := apt.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}

// finding is one row of plpgsql_check's report.
type finding struct {
	Function string
	Line     *int
	Level    string
	Message  string
	Detail   *string
}

// Warnings about speed count too: a helper that could be IMMUTABLE should say so. All calls take the same first arguments
// and give the same first results, so that lanes treat them alike: one that does not need them all is no finding. A
// trigger's function is checked with the table that it is on.
const findings = `
select p.proname as function, c.lineno as line, c.level, c.message, c.detail
  from pg_proc p
  join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
  left join pg_trigger g on g.tgfoid = p.oid and not g.tgisinternal
 cross join lateral plpgsql_check_function_tb(p.oid, coalesce(g.tgrelid, 0), fatal_errors => false, other_warnings => true, extra_warnings => true,
       performance_warnings => true, security_warnings => true) c
 where p.pronamespace = 'public'::regnamespace
   and c.message !~ '^unused parameter "p_(want|guard|operation|price)"'
   and c.message !~ '^unmodified OUT variable "(code|info|cost|remaining)"'
 order by p.proname, c.lineno`

func check(ctx context.Context, dsn string) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if err := schema.Migrate(ctx, dsn, log); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("connect to the migrated database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var functions int
	err = conn.QueryRow(ctx, `select count(*) from pg_proc p join pg_language l on l.oid = p.prolang
		where l.lanname = 'plpgsql' and p.pronamespace = 'public'::regnamespace`).Scan(&functions)
	if err != nil || functions == 0 {
		return errors.Join(err, errors.New("no functions found to check"))
	}
	if _, err := conn.Exec(ctx, "create schema lint; create extension plpgsql_check schema lint; set search_path = public, lint"); err != nil {
		return fmt.Errorf("create the extension: %w", err)
	}
	rows, err := conn.Query(ctx, findings)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[finding])
	if err != nil {
		return fmt.Errorf("run the checks: %w", err)
	}
	for _, f := range found {
		fmt.Printf("store/functions/%s.sql: line %d of its body: %s: %s %s\n", f.Function, orZero(f.Line), f.Level, f.Message, orZero(f.Detail))
	}
	if len(found) > 0 {
		return fmt.Errorf("%d findings in %d functions", len(found), functions)
	}
	fmt.Printf("plpgsql_check: %d functions, no findings\n", functions)
	return nil
}

func orZero[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}
