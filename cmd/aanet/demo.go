package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"aanet/store/pgserver"
)

// demoTimeout ends a demonstration that hangs; on an idle machine the swarm works for a few seconds.
const demoTimeout = 90 * time.Second

// demoSize is how much a demonstration does.
type demoSize struct{ agents, tasks int }

// runDemo starts a service of its own, lets a swarm of agents share some work over both doors, and checks what came of it.
func runDemo(ctx context.Context, p process, args []string) error {
	size, err := demoSizeOf(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(p.stdout, "usage: aanet demo [--agents 8] [--tasks 200]")
		return nil
	}
	if err != nil {
		return err
	}
	return withDemoService(ctx, p, func(ctx context.Context, m *Main) error {
		ctx, cancel := context.WithTimeoutCause(ctx, demoTimeout, fmt.Errorf("the swarm was not done after %s", demoTimeout))
		defer cancel()
		fmt.Fprintf(p.stdout, "a private service listens on %s\n", m.URL())
		return playDemo(ctx, demoStage{url: m.URL(), store: m.store, out: p.stdout, live: isTerminal(p.stdout)}, size)
	})
}

func demoSizeOf(args []string) (demoSize, error) {
	var size demoSize
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&size.agents, "agents", 8, "")
	flags.IntVar(&size.tasks, "tasks", 200, "")
	if err := flags.Parse(args); err != nil {
		return demoSize{}, err
	}
	if flags.NArg() > 0 || size.agents < 2 || size.agents > 32 || size.tasks < 1 || size.tasks > 1000 {
		return demoSize{}, errors.New("usage: aanet demo [--agents N (2-32)] [--tasks N (1-1000)]")
	}
	return size, nil
}

// withDemoService runs use against a service on a private Postgres; both are gone afterwards. The environment is not read,
// so that the demo never touches a database that somebody else uses.
func withDemoService(ctx context.Context, p process, use func(context.Context, *Main) error) (err error) {
	dir, err := os.MkdirTemp("", "aanet-demo-")
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Fprintln(p.stdout, "starting a private Postgres")
	pg, err := pgserver.Start(ctx, pgserver.Options{
		Dir: filepath.Join(dir, "postgres"), Temporary: true,
		Progress: func(line string) { fmt.Fprintln(p.stdout, line) },
	})
	if err != nil {
		return fmt.Errorf("private Postgres: %w", err)
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), postgresStopTimeout)
		defer cancel()
		err = errors.Join(err, pg.Stop(stopping))
	}()
	config, err := demoConfig(dir, pg.URL())
	if err != nil {
		return err
	}
	return whileServing(ctx, config, newLog(p.stderr, config.LogLevel), use)
}

// demoConfig is a service on free ports of this machine, without rate limits: one machine plays all the agents.
func demoConfig(dir, database string) (Config, error) {
	config, err := LoadConfig("dev", []string{
		"--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0", "--rate-limits=off", "--log-level=error", "--data-dir=" + dir,
	}, nil)
	if err != nil {
		return Config{}, err
	}
	return config, errors.Join(devSecret(&config), config.useDatabase(database))
}

// whileServing runs use while the service serves, and ends the service with it.
func whileServing(ctx context.Context, config Config, log *slog.Logger, use func(context.Context, *Main) error) error {
	if err := migrate(ctx, config, log); err != nil {
		return err
	}
	m, err := NewMain(ctx, config, log)
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	using, giveUp := context.WithCancelCause(ctx)
	ended := make(chan error, 1)
	go func() {
		err := m.Run(serving)
		giveUp(fmt.Errorf("the service ended: %w", err))
		ended <- err
	}()
	err = use(using, m)
	stop()
	return errors.Join(err, <-ended)
}

// isTerminal tells whether a line can be written over.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
