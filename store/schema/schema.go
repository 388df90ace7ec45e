// Package schema brings a database to what this binary needs: numbered migrations by golang-migrate, then the SQL
// functions. Any number of replicas may start at once, be killed while at it, and run beside newer and older ones.
package schema

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"aanet/migrations"
	"aanet/store/functions"

	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
)

// set is what one build of the binary brings along.
type set struct {
	migrations  fs.FS
	functions   fs.FS
	functionSet int64
}

func embedded() set { return set{migrations.FS, functions.FS, functions.Set} }

// lockKey is the advisory lock that a start holds while it changes the schema: "aanet" in bytes.
const lockKey = 0x61616e6574

// Migrate brings the database at dsn to this binary's schema and functions; it does nothing when both are there. dsn must
// lead to Postgres itself: a pooler that shares sessions loses the lock. A database that is newer than the binary is
// left alone, so that a rollback of a deployment works. It waits as long as ctx allows while another start is at it.
func Migrate(ctx context.Context, dsn string, log *slog.Logger) error {
	return embedded().migrate(ctx, dsn, log)
}

func (s set) migrate(ctx context.Context, dsn string, log *slog.Logger) error {
	versions, err := s.versions()
	if err != nil {
		return err
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("read the database URL: %w", err)
	}
	// A pooler's or role's limits on statements are not meant for this.
	config.RuntimeParams["statement_timeout"] = "0"
	config.RuntimeParams["idle_session_timeout"] = "0"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect to migrate: %w", err)
	}
	// Ends the lock too, also when ctx has ended.
	defer conn.Close(context.WithoutCancel(ctx))
	if done, err := s.nothingToDo(ctx, conn, log); done || err != nil {
		return err
	}
	if err := Lock(ctx, conn, lockKey, "the schema", log); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, ownTables); err != nil {
		return fmt.Errorf("create the tables that keep track of the schema: %w", err)
	}
	if err := s.up(ctx, conn, config, versions, log); err != nil {
		return err
	}
	return s.applyFunctions(ctx, conn, newest(versions), log)
}

// ownTables keep track. A migration ends by inserting its mark: its file is one transaction, so the mark is there if and
// only if the migration was applied, whatever golang-migrate believes after a crash.
const ownTables = `
create table if not exists schema_migration_marks (version bigint primary key);
create table if not exists function_set (one boolean primary key default true check (one), version bigint not null, hash text not null)`

// versions lists the embedded migrations in order.
func (s set) versions() ([]int64, error) {
	source, err := iofs.New(s.migrations, ".")
	if err != nil {
		return nil, fmt.Errorf("read the embedded migrations: %w", err)
	}
	defer source.Close()
	var list []int64
	v, err := source.First()
	for err == nil {
		list = append(list, int64(v))
		v, err = source.Next(v)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the embedded migrations: %w", err)
	}
	return list, nil
}

// newest is the last of the ordered versions, or 0.
func newest(versions []int64) int64 {
	if len(versions) == 0 {
		return 0
	}
	return versions[len(versions)-1]
}

// Fingerprint is a short name for the schema and the functions of this binary: equal exactly when all their files are.
func Fingerprint() (string, error) {
	s := embedded()
	schema, err := hashFiles(s.migrations)
	if err != nil {
		return "", err
	}
	bodies, err := hashFiles(s.functions)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(schema + bodies))
	return hex.EncodeToString(sum[:8]), nil
}

func hashFiles(files fs.FS) (string, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", name, len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
