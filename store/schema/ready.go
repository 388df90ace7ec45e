package schema

import (
	"context"
	"errors"
	"fmt"

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
	return embedded().version(ctx, db)
}

func (s set) version(ctx context.Context, db Queryer) (Versions, error) {
	list, err := s.versions()
	if err != nil {
		return Versions{}, err
	}
	v := Versions{NeedsSchema: newest(list)}
	v.NeedsFunctions = s.functionVersion(v.NeedsSchema)
	// A dirty version is one that is being applied just now, or was cut off: the one before it counts.
	err = db.QueryRow(ctx, `select
		coalesce((select max(version - case when dirty then 1 else 0 end) from schema_migrations), 0),
		coalesce((select max(version) from function_set), 0)`).Scan(&v.HasSchema, &v.HasFunctions)
	if sqlState(err) == "42P01" { // no such table: nothing was ever migrated
		return v, ErrOld
	}
	if err != nil {
		return v, fmt.Errorf("read the schema's version: %w", err)
	}
	if v.HasSchema < v.NeedsSchema || v.HasFunctions < v.NeedsFunctions {
		return v, fmt.Errorf("%w (schema %d of %d, functions %d of %d)", ErrOld,
			v.HasSchema, v.NeedsSchema, v.HasFunctions, v.NeedsFunctions)
	}
	return v, nil
}
