package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"aanet/store/pgserver"
)

const postgresStopTimeout = 20 * time.Second

// runDev serves from a private Postgres in the data directory, or from DATABASE_URL when that is set.
func runDev(ctx context.Context, p process, args []string) (err error) {
	config, err := LoadConfig("dev", args, p.environ)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(config.DataDir, 0o755); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if config.SecretKey.IsZero() {
		if err := devSecret(&config); err != nil {
			return fmt.Errorf("secret key: %w", err)
		}
	}
	progress := func(line string) { fmt.Fprintln(p.stdout, line) }
	// The database outlives the service's draining, which needs it.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if config.DatabaseURL.IsZero() {
		pg, err := pgserver.Start(ctx, pgserver.Options{Dir: filepath.Join(config.DataDir, "postgres"), Durable: true, Progress: progress})
		if err != nil {
			return fmt.Errorf("private Postgres: %w", err)
		}
		defer func() {
			ctx, cancel := context.WithTimeout(life, postgresStopTimeout)
			defer cancel()
			err = errors.Join(err, pg.Stop(ctx))
		}()
		go func() { <-pg.Done(); stop(pg.Err()) }()
		if err := config.useDatabase(pg.URL()); err != nil {
			return err
		}
	}
	log := newLog(p.stderr, config.LogLevel)
	progress("preparing the database")
	if err := migrate(serving, config, log); err != nil {
		return err
	}
	err = serve(serving, p, config, log, func(m *Main) {
		greet(p, m)
		m.greetOperator(serving, p)
	})
	if ctx.Err() == nil {
		err = errors.Join(err, context.Cause(serving))
	}
	return err
}

// useDatabase points the configuration at a database that was found or started.
func (c *Config) useDatabase(url string) error {
	if err := c.DatabaseURL.UnmarshalText([]byte(url)); err != nil {
		return fmt.Errorf("database url: %w", err)
	}
	c.DatabaseDirectURL = c.DatabaseURL
	return nil
}

// devSecret keeps one encryption key in the data directory, made at the first start.
func devSecret(config *Config) error {
	file := filepath.Join(config.DataDir, "secret_key")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		raw := make([]byte, 32)
		_, _ = rand.Read(raw) // never fails (crypto/rand)
		text = []byte(base64.StdEncoding.EncodeToString(raw))
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return err
	}
	return config.SecretKey.UnmarshalText(text)
}

// greet prints a first session to paste.
func greet(p process, m *Main) {
	url := m.URL()
	fmt.Fprintf(p.stdout, `
  REST      %[1]s/v1
  MCP       %[1]s/mcp
  docs      %[1]s/docs   for agents: %[1]s/AGENTS.md
  watch     %[1]s/w   state: %[1]s/status
  metrics   %[2]s

A first session (a trial workspace with 100 units; paste it into another terminal):

  curl -s -X POST %[1]s/v1/workspaces/trial | tee trial.json
  KEY=$(sed 's/.*"owner_key":"\([^"]*\)".*/\1/' trial.json)
  WS=$(sed 's/.*"workspace_id":"\([^"]*\)".*/\1/' trial.json)
  curl -s -X PUT %[1]s/v1/workspaces/$WS/locks/first -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"lease_seconds":60}'
  curl -s -X PUT %[1]s/v1/workspaces/$WS/files/notes/hello.md -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"content":"hello"}'
  curl -s %[1]s/v1/workspaces/$WS/files/notes/hello.md -H "Authorization: Bearer $KEY"
  curl -s %[1]s/v1/workspaces/$WS/activity -H "Authorization: Bearer $KEY"

Fund a workspace by hand: aanet operator credit WORKSPACE UNITS --reason "…" (with the same data directory).
Stop with Ctrl-C.

`, url, m.MetricsURL())
}
