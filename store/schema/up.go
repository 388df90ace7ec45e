package schema

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// A change of a busy table waits for its lock, and all traffic waits behind it: better to give up soon and try again.
var tableLockTimeout = "3s"

const (
	tableLockTries   = 20
	lockNotAvailable = "55P03"
)

// up runs the migrations that are missing. conn holds the schema's lock.
func (s set) up(ctx context.Context, conn *pgx.Conn, config *pgx.ConnConfig, versions []int64, log *slog.Logger) error {
	if len(versions) == 0 {
		return nil
	}
	for try := 1; ; try++ {
		err := s.upOnce(ctx, conn, config, versions, log)
		if try == tableLockTries || sqlState(err) != lockNotAvailable || ctx.Err() != nil {
			return err
		}
		log.WarnContext(ctx, "a table is busy, trying the migration again", "try", try, "error", err.Error())
	}
}

func (s set) upOnce(ctx context.Context, conn *pgx.Conn, config *pgx.ConnConfig, versions []int64, log *slog.Logger) error {
	m, err := s.migrator(config)
	if err != nil {
		return err
	}
	defer m.Close()
	have, dirty, err := m.Version()
	if err != nil && !errors.Is(err, migrate.ErrNilVersion) {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if need := newest(versions); int64(have) > need {
		log.WarnContext(ctx, "the database is newer than this program, leaving it as it is",
			"database", have, "program", need, "half_done", dirty)
		return nil
	}
	if dirty {
		if err := heal(ctx, conn, m, int64(have), versions, log); err != nil {
			return err
		}
	}
	defer context.AfterFunc(ctx, func() { m.GracefulStop <- true })()
	if err := m.Up(); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		return fmt.Errorf("migrate the database: %w", plain(err))
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	if now, _, err := m.Version(); err != nil || now != have {
		log.InfoContext(ctx, "migrated the database", "from", have, "to", now)
	}
	return nil
}

// migrator is golang-migrate on a connection of its own.
func (s set) migrator(config *pgx.ConnConfig) (*migrate.Migrate, error) {
	own := config.Copy()
	own.RuntimeParams["lock_timeout"] = tableLockTimeout
	source, err := iofs.New(s.migrations, ".")
	if err != nil {
		return nil, fmt.Errorf("read the embedded migrations: %w", err)
	}
	db := stdlib.OpenDB(*own)
	driver, err := migratepgx.WithInstance(db, &migratepgx.Config{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare to migrate: %w", plain(err)), db.Close(), source.Close())
	}
	m, err := migrate.NewWithInstance("embedded", source, "pgx5", driver)
	if err != nil {
		return nil, errors.Join(err, driver.Close(), source.Close())
	}
	return m, nil
}

// heal puts right what a killed or failed run left behind: golang-migrate notes a version as dirty before it runs the
// file and clean after it, and knows nothing of what happened in between. The mark does.
func heal(ctx context.Context, conn *pgx.Conn, m *migrate.Migrate, version int64, versions []int64, log *slog.Logger) error {
	var applied bool
	err := conn.QueryRow(ctx, "select exists (select from schema_migration_marks where version = $1)", version).Scan(&applied)
	if err != nil {
		return fmt.Errorf("look for the mark of migration %d: %w", version, err)
	}
	target := version
	if !applied {
		target = int64(database.NilVersion)
		if i, _ := slices.BinarySearch(versions, version); i > 0 {
			target = versions[i-1]
		}
	}
	log.WarnContext(ctx, "an earlier migration was cut off", "version", version, "was_applied", applied)
	if err := m.Force(int(target)); err != nil {
		return fmt.Errorf("set the schema's version to %d: %w", target, plain(err))
	}
	return nil
}

// original is the driver's error inside golang-migrate's, which does not unwrap and repeats the whole file.
func original(err error) (database.Error, bool) {
	var byPointer *database.Error
	if errors.As(err, &byPointer) {
		return *byPointer, true
	}
	var byValue database.Error
	found := errors.As(err, &byValue)
	return byValue, found
}

func plain(err error) error {
	if e, ok := original(err); ok && e.OrigErr != nil {
		return fmt.Errorf("%s (line %d of its file): %w", e.Err, e.Line, e.OrigErr)
	}
	return err
}

func sqlState(err error) string {
	var fault *pgconn.PgError
	if errors.As(err, &fault) {
		return fault.Code
	}
	return ""
}
