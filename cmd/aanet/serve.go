package main

import (
	"context"
	"fmt"
	"log/slog"

	"aanet/store/jobs"
	"aanet/store/schema"
)

// runServe migrates the database of DATABASE_URL and serves from it.
func runServe(ctx context.Context, p process, args []string) error {
	config, err := LoadConfig("serve", args, p.environ)
	if err != nil {
		return err
	}
	log := newLog(p.stderr, config.LogLevel)
	if err := migrate(ctx, config, log); err != nil {
		return err
	}
	return serve(ctx, p, config, log, nil)
}

// serve runs the service and says where it listens; greet, when given, then adds its own lines.
func serve(ctx context.Context, p process, config Config, log *slog.Logger, greet func(*Main)) error {
	m, err := NewMain(ctx, config, log)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "listening on %s\n", m.URL())
	if greet != nil {
		greet(m)
	}
	return m.Run(ctx)
}

func runMigrate(ctx context.Context, p process, args []string) error {
	config, err := LoadConfig("migrate", args, p.environ)
	if err != nil {
		return err
	}
	return migrate(ctx, config, newLog(p.stderr, config.LogLevel))
}

// migrate brings the schema, the SQL functions and the job tables to this version.
func migrate(ctx context.Context, config Config, log *slog.Logger) error {
	if err := schema.Migrate(ctx, config.DatabaseDirectURL.Reveal(), log); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if err := jobs.Migrate(ctx, config.DatabaseDirectURL.Reveal(), log); err != nil {
		return fmt.Errorf("migrate the job tables: %w", err)
	}
	return nil
}
