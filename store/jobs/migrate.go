package jobs

import (
	"context"
	"fmt"
	"log/slog"

	"aanet/store/schema"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// schemaName is where River's tables live, apart from ours.
const schemaName = "river"

// lockKey is the advisory lock of a start that changes these tables: "jobs" in bytes.
const lockKey = 0x6a6f6273

// Migrate brings the job tables to what this binary needs; it does nothing when they are there, or
// newer. dsn must lead to Postgres itself: a pooler that shares sessions loses the lock. Any number of
// processes may start at once and be killed while at it: each step is one transaction with its mark.
// It waits as long as ctx allows while another start is at it.
func Migrate(ctx context.Context, dsn string, log *slog.Logger) error {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("read the database URL: %w", err)
	}
	config.MaxConns = 1
	// A role's limits on statements are not meant for this.
	config.ConnConfig.RuntimeParams["statement_timeout"] = "0"
	config.ConnConfig.RuntimeParams["idle_session_timeout"] = "0"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect to migrate the job tables: %w", err)
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: schemaName, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("prepare to migrate the job tables: %w", err)
	}
	have, err := migrator.Validate(ctx, nil)
	if err != nil {
		return fmt.Errorf("read the version of the job tables: %w", err)
	}
	if have.OK {
		return nil
	}
	// The lock has a connection of its own, which also ends it.
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return fmt.Errorf("connect to lock the job tables: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := schema.Lock(ctx, conn, lockKey, "the job tables", log); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "create schema if not exists "+schemaName); err != nil {
		return fmt.Errorf("create the schema of the job tables: %w", err)
	}
	done, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	if err != nil {
		return fmt.Errorf("migrate the job tables: %w", err)
	}
	if n := len(done.Versions); n > 0 {
		log.InfoContext(ctx, "migrated the job tables", "to", done.Versions[n-1].Version)
	}
	return nil
}
