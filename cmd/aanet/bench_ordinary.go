package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"aanet/api"
	"aanet/billing"
)

// ordinaryConns is the size of the pool of the ordinary transactions.
const ordinaryConns = 32

// writeOrdinary does the work of write_file the way that one would write first: one transaction a call on
// a pool, a statement for each step. It keeps the same rows and the same promises as the SQL function,
// in the same tables with the same indexes.
func writeOrdinary(ctx context.Context, pool *pgxpool.Pool, t target, path, content string) error {
	price := int64(billing.PriceOf("write_file").For(len(content)))
	tx, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) // after the commit it does nothing
	seq, ts, err := admitOrdinary(ctx, tx, t, path, price)
	if err != nil {
		return err
	}
	etag := fmt.Sprintf("v%x", seq)
	_, err = tx.Exec(ctx, `
		insert into files (workspace_id, path, etag, size, body, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $6)
		on conflict (workspace_id, path, era) do update
		   set etag = excluded.etag, size = excluded.size, body = excluded.body, chunks = 0, updated_at = excluded.updated_at`,
		t.workspace, path, etag, len(content), content, ts)
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	_, err = tx.Exec(ctx, `
		update workspaces set balance = balance - $2, granted = greatest(granted - $2, 0), spent = spent + $2, seq = $3, last_ts = $4,
		       changed_hour = date_bin('1 hour', $4, 'epoch')
		 where workspace_id = $1`, t.workspace, price, seq, ts)
	if err != nil {
		return fmt.Errorf("charge: %w", err)
	}
	_, err = tx.Exec(ctx, `
		insert into activity (workspace_id, seq, ts, subkey_id, operation, path, cost, etag)
		values ($1, $2, $3, $4, 'PUT_FILE', $5, $6, $7)`, t.workspace, seq, ts, t.subkey, path, price, etag)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	_, err = tx.Exec(ctx, `update keys set spent = spent + $3, last_used_at = $4 where workspace_id = $1 and key_hash = $2`,
		t.workspace, t.hash, price, ts)
	if err != nil {
		return fmt.Errorf("charge the key: %w", err)
	}
	return tx.Commit(ctx)
}

var errOrdinaryRefused = errors.New("refused")

// admitOrdinary locks the workspace and its key, makes every check of write_file, and returns the number
// and time of the log row.
func admitOrdinary(ctx context.Context, tx pgx.Tx, t target, path string, price int64) (seq int64, ts time.Time, err error) {
	var balance, spent int64
	var blocked, gone bool
	var expires, revoked *time.Time
	var scope *string
	var budget *int64
	var subkey *uuid.UUID
	err = tx.QueryRow(ctx, `
		select w.balance, w.blocked, w.deleted_at is not null, w.trial_expires_at, w.seq + 1,
		       greatest(clock_timestamp(), w.last_ts + interval '1 microsecond'),
		       k.subkey_id, k.scope, k.budget_cap, k.spent, k.revoked_at
		  from workspaces w join keys k on k.workspace_id = w.workspace_id
		 where w.workspace_id = $1 and k.key_hash = $2
		   for update`, t.workspace, t.hash,
	).Scan(&balance, &blocked, &gone, &expires, &seq, &ts, &subkey, &scope, &budget, &spent, &revoked)
	if err != nil {
		return 0, ts, fmt.Errorf("lock: %w", err)
	}
	inScope := scope == nil || *scope == path || len(path) > len(*scope) && path[:len(*scope)+1] == *scope+"/"
	if gone || blocked || revoked != nil || expires != nil && !ts.Before(*expires) || !inScope ||
		balance < price || budget != nil && spent+price > *budget {
		return 0, ts, errOrdinaryRefused
	}
	var etag *string
	var clash bool
	err = tx.QueryRow(ctx, `
		select (select etag from files where workspace_id = $1 and path = $2),
		       exists (select from files where workspace_id = $1 and path > $2 || '/' and path < $2 || '0')
		       or exists (select from files where workspace_id = $1 and path = any ($3))`,
		t.workspace, path, api.Ancestors(path)).Scan(&etag, &clash)
	if err == nil && clash {
		err = errOrdinaryRefused
	}
	return seq, ts, err
}
