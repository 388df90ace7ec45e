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
