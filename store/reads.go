package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// SpendLimits are the units that a key may spend in an hour and in a day; nil: as many as there are.
type SpendLimits struct{ PerHour, PerDay *int64 }

// Subkey is a sub-key as its owner sees it.
type Subkey struct {
	ID         uuid.UUID
	Label      string
	Scope      *string
	BudgetCap  *int64
	Spent      int64
	RevokedAt  *time.Time
	CreatedAt  time.Time
	LastUsedAt *time.Time
	PerHour    *int64
	PerDay     *int64
}

// Subkeys lists all sub-keys of a workspace, oldest first.
func (s *Store) Subkeys(ctx context.Context, workspace uuid.UUID) ([]Subkey, error) {
	return collect[Subkey](ctx, s, `
		select subkey_id, label, scope, budget_cap, spent, revoked_at, created_at, last_used_at, (limits).per_hour, (limits).per_day
		  from keys where workspace_id = $1 and subkey_id is not null order by minted_seq`, workspace)
}

// ActivityRow is one row of the log.
type ActivityRow struct {
	Seq       int64
	TS        time.Time
	Subkey    *uuid.UUID
	Operation string
	Path      *string
	Cost      int64
	Status    string
	Detail    *string
}

// ActivityFilter narrows the log; nil fields do not. Limit is required.
type ActivityFilter struct {
	Subkey    *uuid.UUID
	Operation *string
	Since     *time.Time // inclusive
	BeforeSeq *int64     // exclusive
	Limit     int64
}

// Activity reads the log, newest first.
func (s *Store) Activity(ctx context.Context, workspace uuid.UUID, f ActivityFilter) ([]ActivityRow, error) {
	read := collect[ActivityRow]
	if f.Subkey != nil || f.Operation != nil { // rare rows may be far back
		read = searched[ActivityRow]
	}
	return read(ctx, s, `
		select seq, ts, subkey_id, operation, path, cost, status, detail from activity
		 where workspace_id = $1 and ($2::uuid is null or subkey_id = $2) and ($3::text is null or operation = $3)
		   and seq >= (select first_seq_since($1, $4)) and ($5::bigint is null or seq < $5)
		 order by seq desc limit $6`, workspace, f.Subkey, f.Operation, f.Since, f.BeforeSeq, f.Limit)
}

// collect runs a query on the pool and gathers its rows by position.
func collect[T any](ctx context.Context, s *Store, sql string, args ...any) ([]T, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, poolError(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[T])
	return out, poolError(err)
}

// collectOne is collect for a query of at most one row; none is the error when there is no row.
func collectOne[T any](ctx context.Context, s *Store, none error, sql string, args ...any) (T, error) {
	found, err := collect[T](ctx, s, sql, args...)
	if err == nil && len(found) == 0 {
		err = none
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return found[0], nil
}

// poolError tells a database that is away or too slow from a fault of ours.
func poolError(err error) error {
	if err == nil {
		return nil
	}
	state, reported := isServerError(err)
	if !reported || state == stateCanceled || state == stateLockTimeout || state == "57P01" || state == "53300" {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return fmt.Errorf("query: %w", err)
}

// KeyAlive tells whether a key would be admitted: known, not revoked, its workspace neither gone nor expired.
func (s *Store) KeyAlive(ctx context.Context, workspace uuid.UUID, hash []byte) (bool, error) {
	var alive bool
	err := s.pool.QueryRow(ctx, `
		select exists (select 1 from keys k join workspaces w on w.workspace_id = k.workspace_id
		 where k.workspace_id = $1 and k.revoked_at is null and (k.key_hash = $2 or k.key_hash in (
		       select r.successor from retired_keys r where r.workspace_id = $1 and r.key_hash = $2 and r.dies_at > aanet_now())) and w.deleted_at is null
		   and (w.trial_expires_at is null or w.trial_expires_at > aanet_now()))`, workspace, hash).Scan(&alive)
	return alive, poolError(err)
}
