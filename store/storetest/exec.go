package storetest

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// Exec runs one statement on a test's database, to set a stage that no call of the service can set.
func Exec(t testing.TB, dsn, statement string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	_, err = conn.Exec(t.Context(), statement, args...)
	if closeErr := conn.Close(t.Context()); err == nil {
		err = closeErr
	}
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Text runs a query on a test's database that gives one text, to see what no call of the service shows.
func Text(t testing.TB, dsn, query string, args ...any) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer conn.Close(t.Context())
	var text string
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&text); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return text
}
