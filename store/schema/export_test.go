package schema

import (
	"context"
	"io/fs"
	"log/slog"
)

// Build is a binary of some release, for tests.
type Build struct {
	Migrations, Functions fs.FS
	FunctionSet           int64
}

func (b Build) set() set { return set{b.Migrations, b.Functions, b.FunctionSet} }

// Migrate is Migrate of that binary.
func (b Build) Migrate(ctx context.Context, dsn string, log *slog.Logger) error {
	return b.set().migrate(ctx, dsn, log)
}

// Version is Version of that binary.
func (b Build) Version(ctx context.Context, db Queryer) (Versions, error) {
	v, _, err := b.set().version(ctx, db)
	return v, err
}

// SetTableLockTimeout sets how long a migration waits for a busy table, and returns what it was.
func SetTableLockTimeout(d string) (before string) {
	before, tableLockTimeout = tableLockTimeout, d
	return before
}
