package schema

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
)

// ErrOld means that the database lacks migrations or functions that this binary needs.
var ErrOld = errors.New("the database's schema is too old for this program: run `aanet migrate`")

// Queryer is a connection, a transaction or a pool.
type Queryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Versions are what a database has and what this binary needs, at least: the number of the last migration and that of
// the function set.
type Versions struct {
	HasSchema, NeedsSchema       int64
	HasFunctions, NeedsFunctions int64
}

// Version reads what the database has. It fails with ErrOld when that is less than this binary needs; a newer database is
// fine. It is one cheap query, fit for a readiness probe.
func Version(ctx context.Context, db Queryer) (Versions, error) {
	v, _, err := embedded().version(ctx, db)
	return v, err
}

// version also gives the hash of the functions that the database has.
func (s set) version(ctx context.Context, db Queryer) (v Versions, bodies string, err error) {
	list, err := s.versions()
	if err != nil {
		return v, "", err
	}
	v = Versions{NeedsSchema: newest(list)}
	v.NeedsFunctions = s.functionVersion(v.NeedsSchema)
	// A dirty version is one that is being applied just now, or was cut off: the one before it counts.
	err = db.QueryRow(ctx, `select
		coalesce((select max(version - case when dirty then 1 else 0 end) from schema_migrations), 0),
		coalesce((select max(version) from function_set), 0),
		coalesce((select max(hash) from function_set), '')`).Scan(&v.HasSchema, &v.HasFunctions, &bodies)
	if sqlState(err) == "42P01" { // no such table: nothing was ever migrated
		return v, "", ErrOld
	}
	if err != nil {
		return v, "", fmt.Errorf("read the schema's version: %w", err)
	}
	if v.HasSchema < v.NeedsSchema || v.HasFunctions < v.NeedsFunctions {
		return v, "", fmt.Errorf("%w (schema %d of %d, functions %d of %d)", ErrOld,
			v.HasSchema, v.NeedsSchema, v.HasFunctions, v.NeedsFunctions)
	}
	return v, bodies, nil
}

// nothingToDo looks before anything is locked or written: most starts find everything in place, and may then run as a
// role that cannot change the schema.
func (s set) nothingToDo(ctx context.Context, db Queryer, log *slog.Logger) (bool, error) {
	v, bodies, err := s.version(ctx, db)
	if errors.Is(err, ErrOld) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if v.HasFunctions > v.NeedsFunctions {
		log.WarnContext(ctx, "the database is newer than this program, leaving it as it is", "schema", v.HasSchema,
			"program_schema", v.NeedsSchema, "functions", v.HasFunctions, "program_functions", v.NeedsFunctions)
		return true, nil
	}
	hash, err := hashFiles(s.functions)
	return err == nil && hash == bodies, err
}
