package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"aanet/store"
)

// benchDatabase is one of several databases on the server.
type benchDatabase struct {
	bench   *bench
	pool    *pgxpool.Pool
	store   *store.Store
	targets []target
}

// withDatabase names another database of the same server.
func withDatabase(address, name string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("database url: %w", err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// fillPast gives every workspace so many log rows and files, as if it had worked for long.
func (d *benchDatabase) fillPast(ctx context.Context, rowsEach, filesEach int) error {
	var workspaces, subkeys []uuid.UUID
	for _, t := range d.targets {
		workspaces, subkeys = append(workspaces, t.workspace), append(subkeys, t.subkey)
	}
	d.bench.progress("   writing %d log rows and %d files", rowsEach*len(workspaces), filesEach*len(workspaces))
	// Rows come in the order of time, not of workspaces, as they would have.
	err := d.withoutIndexes(ctx, "activity", `
		insert into activity (workspace_id, seq, ts, subkey_id, operation, path, cost, etag)
		select t.w, i, now() - ($3 - i) * interval '1 second', t.s, 'PUT_FILE', 'd/f' || i % $4, 10, 'v' || to_hex(i)
		  from generate_series(1, $3::int) i cross join unnest($1::uuid[], $2::uuid[]) t (w, s)`,
		workspaces, subkeys, rowsEach, filesEach)
	if err == nil {
		err = d.withoutIndexes(ctx, "files", `
			insert into files (workspace_id, path, etag, size, body, created_at, updated_at)
			select w, 'd/f' || i, 'v1', 1024, repeat('x', 1024), now(), now()
			  from generate_series(0, $2::int - 1) i cross join unnest($1::uuid[]) w`, workspaces, filesEach)
	}
	if err == nil {
		_, err = d.pool.Exec(ctx, `
			update workspaces set seq = $1::bigint, last_ts = now(), spent = 10 * $1::bigint, balance = balance - 10 * $1::bigint`, rowsEach)
	}
	for _, statement := range []string{"vacuum analyze", "checkpoint"} {
		if err == nil {
			_, err = d.pool.Exec(ctx, statement)
		}
	}
	if err != nil {
		return fmt.Errorf("fill the database: %w", err)
	}
	return nil
}

// withoutIndexes runs a large insert while the table has no index, which is several times faster, and
// then makes the same indexes again.
func (d *benchDatabase) withoutIndexes(ctx context.Context, table, insert string, args ...any) error {
	tx, err := d.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) // after the commit it does nothing
	var drop, remake []string
	err = tx.QueryRow(ctx, `
		select array_agg(case when c.oid is null then 'drop index ' || i.indexrelid::regclass
		                      else format('alter table %s drop constraint %I', i.indrelid::regclass, c.conname) end),
		       array_agg(case when c.oid is null then pg_get_indexdef(i.indexrelid)
		                      else format('alter table %s add constraint %I %s', i.indrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) end)
		  from pg_index i left join pg_constraint c on c.conindid = i.indexrelid and c.contype in ('p', 'u', 'x')
		 where i.indrelid = $1::text::regclass`, table).Scan(&drop, &remake)
	if err != nil {
		return fmt.Errorf("read the indexes of %s: %w", table, err)
	}
	if _, err := tx.Exec(ctx, "set local maintenance_work_mem = '512MB'"); err != nil {
		return err
	}
	for _, statement := range drop {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	if _, err := tx.Exec(ctx, insert, args...); err != nil {
		return err
	}
	for _, statement := range remake {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return tx.Commit(ctx)
}
