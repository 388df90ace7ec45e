// Package storetest gives each test a Postgres database of its own, in some ten milliseconds.
package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"aanet/store/schema"

	"github.com/jackc/pgx/v5"
)

// Variable is the environment variable that names the server for tests.
const Variable = "AANET_TEST_DATABASE_URL"

// URL is how to connect to the test server. Without one the test fails: a skipped test would look green.
func URL(t testing.TB) string {
	t.Helper()
	dsn := os.Getenv(Variable)
	if dsn == "" {
		t.Fatalf("%s is not set: run `make test`, or `go run ./store/storetest/withpostgres -- go test ./...`", Variable)
	}
	return dsn
}

// Database makes a database with this binary's schema and functions and returns its URL. It is dropped, with whatever
// connections are left, when the test ends.
func Database(t testing.TB) string {
	t.Helper()
	server := URL(t)
	name, err := template(server)
	if err != nil {
		t.Fatalf("make the template of all test databases: %v", err)
	}
	return create(t, server, name)
}

// Empty makes a database without any schema, for tests of the migrations themselves.
func Empty(t testing.TB) string {
	t.Helper()
	return create(t, URL(t), "template1")
}

func create(t testing.TB, server, from string) string {
	t.Helper()
	name := "aanet_test_" + strings.ToLower(rand.Text())
	// Copying the files is faster here than logging each page.
	err := run(t.Context(), server, fmt.Sprintf("create database %s template %s strategy file_copy", name, from))
	if err != nil {
		t.Fatalf("create a test database: %v", err)
	}
	t.Cleanup(func() {
		if err := run(context.Background(), server, fmt.Sprintf("drop database if exists %s with (force)", name)); err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	dsn, err := withDatabase(server, name)
	if err != nil {
		t.Fatalf("%s: %v", Variable, err)
	}
	return dsn
}

// made remembers the template for the tests of one process.
var made struct {
	sync.Mutex
	names map[string]string
}

// template makes the migrated database that others are copied from, once for all processes that test the same files.
func template(server string) (string, error) {
	made.Lock()
	defer made.Unlock()
	if name, ok := made.names[server]; ok {
		return name, nil
	}
	print, err := schema.Fingerprint()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	name := "aanet_template_" + print
	if err := makeTemplate(ctx, server, name); err != nil {
		return "", err
	}
	if made.names == nil {
		made.names = map[string]string{}
	}
	made.names[server] = name
	return name, nil
}

// templateLock is the advisory lock under which a template is made: "templ" in bytes.
const templateLock = 0x74656d706c

func makeTemplate(ctx context.Context, server, name string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) // frees the lock
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", int64(templateLock)); err != nil {
		return err
	}
	var there bool
	err = conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&there)
	if err != nil || there {
		return err
	}
	// It gets its name when it is whole, so that a killed test run leaves no half one.
	building := name + "_new"
	if err := run(ctx, server, "drop database if exists "+building+" with (force)", "create database "+building); err != nil {
		return err
	}
	dsn, err := withDatabase(server, building)
	if err != nil {
		return err
	}
	if err := schema.Migrate(ctx, dsn, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	return run(ctx, server, "alter database "+building+" rename to "+name)
}

// run executes statements one by one on a connection of their own.
func run(ctx context.Context, server string, statements ...string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// withDatabase is the same server with another database.
func withDatabase(server, name string) (string, error) {
	if !strings.Contains(server, "://") { // keyword=value: the last one counts
		return server + " dbname=" + name, nil
	}
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}
