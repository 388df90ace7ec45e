// Command aanet is the service, a coordination server for swarms of agents on one Postgres database, and the command line of
// those who have a workspace there.
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
	"slices"
	"strings"
	"syscall"

	"aanet/cmd/aanet/cli"
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
		{"demo", "watch a swarm of agents share some work", runDemo},
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
	os.Exit(program(ctx, p, os.Args[1:]))
}

// program runs the command that args name and gives the exit code of the process.
func program(ctx context.Context, p process, args []string) int {
	word := "help"
	if len(args) > 0 {
		word = args[0]
	}
	if _, known := serverCommand(word); known {
		return failed(p, run(ctx, p, args))
	}
	cli.Complete(serverList())
	switch {
	case cli.Known(word):
		return cli.Run(ctx, cli.World{Stdin: p.stdin, Stdout: p.stdout, Stderr: p.stderr, Environ: p.environ}, args)
	case word == "help" || word == "-h" || word == "--help":
		return help(ctx, p, args[min(1, len(args)):])
	case word == "version" || word == "--version":
		fmt.Fprintln(p.stdout, "aanet", version)
		return cli.ExitOK
	}
	fmt.Fprintf(p.stderr, "aanet: there is no command %q: aanet help lists them\n", word)
	return cli.ExitUsage
}

// run runs a command that is about running a service.
func run(ctx context.Context, p process, args []string) error {
	c, known := serverCommand(args[0])
	if !known {
		return fmt.Errorf("there is no command %q", args[0])
	}
	err := c.run(ctx, p, args[1:])
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(p.stdout, "aanet %s: %s\n\n%s", c.name, c.help, ConfigHelp())
		return nil
	}
	return err
}

// failed tells what went wrong, if anything did.
func failed(p process, err error) int {
	if err == nil {
		return cli.ExitOK
	}
	fmt.Fprintln(p.stderr, "aanet:", err)
	return cli.ExitRefused
}

// help explains all commands, or the one that words name.
func help(ctx context.Context, p process, words []string) int {
	if len(words) == 0 {
		cli.Help(p.stdout, serverList())
		return cli.ExitOK
	}
	if _, known := serverCommand(words[0]); known {
		return failed(p, run(ctx, p, []string{words[0], "--help"}))
	}
	if cli.HelpOn(p.stdout, words) {
		return cli.ExitOK
	}
	fmt.Fprintf(p.stderr, "aanet: there is no command %q: aanet help lists them\n", strings.Join(words, " "))
	return cli.ExitUsage
}

func serverCommand(word string) (command, bool) {
	all := commands()
	if i := slices.IndexFunc(all, func(c command) bool { return c.name == word }); i >= 0 {
		return all[i], true
	}
	return command{}, false
}

// serverList is what the help and the completion say of the commands that run a service.
func serverList() (list []cli.Server) {
	for _, c := range commands() {
		list = append(list, cli.Server{Name: c.name, Summary: c.help})
	}
	return list
}

func newLog(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}
