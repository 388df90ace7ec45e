// Command aanet is the service: a coordination server for swarms of agents on one Postgres database.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// command is one word after aanet. Its run returns when ctx ends or its work is done.
type command struct {
	name, help string
	run        func(ctx context.Context, p process, args []string) error
}

func commands() []command {
	return []command{
		{"dev", "start a private Postgres, migrate it and serve", runDev},
		{"serve", "serve from the database of DATABASE_URL", runServe},
		{"migrate", "bring the database of DATABASE_URL to this version", runMigrate},
		{"operator", "manage operators; credit and block workspaces; deposits, refunds, audit log", runOperator},
		{"verify", "check the ledger of every workspace", runVerify},
		{"demo", "let a swarm of eight agents work on one workspace", runDemo},
		{"bench", "measure this machine", runBench},
		{"docs", "write the generated reference under docs/", runDocs},
	}
}

// process is what a command has of the world.
type process struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
}

// Memory is traded for time: at Go's own GOGC of 100 the MCP door spends half its CPU on collecting.
// The soft limit keeps a burst of large bodies from being multiplied by that.
const (
	gcPercent   = 400
	memoryBytes = 1 << 30
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryBytes)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	p := process{os.Stdin, os.Stdout, os.Stderr, os.Environ()}
	if err := run(ctx, p, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "aanet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, p process, args []string) error {
	if len(args) > 0 {
		for _, c := range commands() {
			if c.name == args[0] {
				err := c.run(ctx, p, args[1:])
				if errors.Is(err, flag.ErrHelp) {
					fmt.Fprintf(p.stdout, "aanet %s: %s\n\n%s", c.name, c.help, ConfigHelp())
					return nil
				}
				return err
			}
		}
	}
	usage(p.stderr)
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		return nil
	}
	return fmt.Errorf("there is no command %q", args[0])
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: aanet COMMAND [--flag value …]")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.help)
	}
}

func newLog(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}
