package schema

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/jackc/pgx/v5"
)

// functionVersion orders the function sets of all builds: those of a newer schema are newer.
func (s set) functionVersion(newestMigration int64) int64 {
	return newestMigration*1000 + s.functionSet
}

// applyFunctions replaces the bodies, all or none, unless the database has newer ones. conn holds the schema's lock.
func (s set) applyFunctions(ctx context.Context, conn *pgx.Conn, newestMigration int64, log *slog.Logger) error {
	hash, err := hashFiles(s.functions)
	if err != nil {
		return fmt.Errorf("read the embedded functions: %w", err)
	}
	version := s.functionVersion(newestMigration)
	var have int64
	var haveHash string
	err = conn.QueryRow(ctx, "select version, hash from function_set").Scan(&have, &haveHash)
	switch {
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("read the version of the functions: %w", err)
	case have > version:
		log.WarnContext(ctx, "the database has newer functions than this program, leaving them", "database", have, "program", version)
		return nil
	case have == version && haveHash == hash:
		return nil
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := s.replaceAll(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into function_set (version, hash) values ($1, $2)
			on conflict (one) do update set version = excluded.version, hash = excluded.hash`, version, hash)
		return err
	})
	if err != nil {
		return fmt.Errorf("replace the functions: %w", err)
	}
	log.InfoContext(ctx, "replaced the functions", "from", have, "to", version)
	return nil
}

func (s set) replaceAll(ctx context.Context, tx pgx.Tx) error {
	// Bodies may name functions of files that come later.
	if _, err := tx.Exec(ctx, "set local check_function_bodies = off"); err != nil {
		return err
	}
	names, err := fs.Glob(s.functions, "*.sql")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(s.functions, name)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, string(text)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
