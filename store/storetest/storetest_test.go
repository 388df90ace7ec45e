package storetest_test

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"aanet/store/schema"
	"aanet/store/storetest"

	"github.com/jackc/pgx/v5"
)

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	return conn // not closed: dropping the database must not mind
}

func TestDatabase(t *testing.T) {
	var dropped string
	t.Run("two at once are whole and apart", func(t *testing.T) {
		var urls [2]string
		var both sync.WaitGroup
		for i := range urls {
			both.Go(func() { urls[i] = storetest.Database(t) })
		}
		both.Wait()
		dropped = urls[0]
		one, two := connect(t, urls[0]), connect(t, urls[1])
		if _, err := schema.Version(t.Context(), one); err != nil {
			t.Errorf("the schema is not whole: %v", err)
		}
		if _, err := one.Exec(t.Context(), "create table mine (n int)"); err != nil {
			t.Fatal(err)
		}
		var there bool
		if err := two.QueryRow(t.Context(), "select to_regclass('mine') is not null").Scan(&there); err != nil || there {
			t.Errorf("the other test's table is here: %v, %v", there, err)
		}
	})
	if conn, err := pgx.Connect(t.Context(), dropped); err == nil {
		t.Error("the database outlived its test")
		_ = conn.Close(t.Context())
	}
}

func TestMissingServerFails(t *testing.T) {
	if os.Getenv("STORETEST_WITHOUT_SERVER") != "" {
		storetest.URL(t)
		return
	}
	again := exec.Command(os.Args[0], "-test.run=^TestMissingServerFails$")
	again.Env = append(os.Environ(), "STORETEST_WITHOUT_SERVER=1", storetest.Variable+"=")
	out, err := again.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "make test") {
		t.Errorf("without a server the tests say %q, %v", out, err)
	}
}
