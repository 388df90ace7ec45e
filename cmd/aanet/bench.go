package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"aanet/store"
	"aanet/store/pgserver"
	"aanet/store/schema"
)

const (
	benchTimeout = 11*time.Minute + 30*time.Second // a run that hangs ends by itself
	benchRounds  = 3                               // every figure is the median of so many
	benchClients = 64
	benchLanes   = 8
	benchGOGC    = 400 // as deploy/ sets it for the service
)

// benchSection is one question; its letter is a short name for --only.
type benchSection struct {
	letter, name, about string
	run                 func(*bench, context.Context) error
	alone               bool // only when it is named
}

func benchSections() []benchSection {
	return []benchSection{
		{"a", "hot", "64 clients write 1 KiB in one workspace: lanes against an ordinary transaction", (*bench).hotWorkspace, false},
		{"b", "many", "the same in 2,000 workspaces, and pgbench calling the same functions", (*bench).manyWorkspaces, false},
		{"c", "doors", "the same over REST and over MCP, with the CPU time of each part", (*bench).doors, false},
		{"d", "append", "append to a file of 1 MiB against an empty one", (*bench).appending, false},
		{"e", "list", "list a page of a directory of 100,000 files against one of 100", (*bench).listing, false},
		{"f", "growth", "write with 5 million log rows and 200,000 files present", (*bench).growth, false},
		{"g", "snapshot", "the hot workspace while another connection holds a snapshot", (*bench).heldSnapshot, false},
		{"h", "neighbour", "a quiet workspace beside one that writes 1 MiB files", (*bench).neighbour, false},
		{"i", "waiting", "calls that wait: their memory, and how soon they are woken", (*bench).waiting, false},
		{"j", "dashboard", "the operators' pages with many workspaces (--workspaces) and 5 million log rows", (*bench).dashboard, true},
	}
}

// bench is one run: a durable Postgres of its own and what measures it.
type bench struct {
	p      process
	report *benchReport
	quick  bool
	many   int    // workspaces of section j, before --quick takes a tenth
	dir    string // for files of the run; removed with it
	server *pgserver.Server
	url    string
	pool   *pgxpool.Pool // for filling, and for the ordinary transactions
	store  *store.Store
	cpu    cpuMeter
}

// runBench measures this machine, or with --client is the load of such a measurement.
func runBench(ctx context.Context, p process, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(p.stdout)
	asJSON := flags.Bool("json", false, "print one JSON object a result")
	quick := flags.Bool("quick", false, "shorter runs and less data: a look, no verdict")
	only := flags.String("only", "", "sections to run, separated by commas; see below")
	many := flags.Int("workspaces", dashboardWorkspaces, "workspaces of section j, 1000 to 5000000: the run may take as much longer")
	client := flags.String("client", "", "internal: be the load on this door, rest or mcp")
	var load clientLoad
	load.register(flags)
	flags.Usage = func() { benchUsage(flags) }
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	debug.SetGCPercent(benchGOGC)
	if *client != "" {
		return load.run(ctx, p, *client)
	}
	if names := strings.Join(flags.Args(), ","); names != "" {
		*only = names
	}
	sections, err := chooseSections(*only)
	if err != nil {
		return err
	}
	if *many < dashboardFewest || *many > dashboardMost {
		return fmt.Errorf("--workspaces: %d is not between %d and %d", *many, dashboardFewest, dashboardMost)
	}
	timeout := benchTimeout * time.Duration(max(*many, dashboardWorkspaces)) / dashboardWorkspaces
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("stopped after %s", timeout))
	defer cancel()
	b := &bench{p: p, quick: *quick, many: *many, report: &benchReport{w: p.stdout, json: *asJSON}}
	err = b.all(ctx, sections)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = errors.Join(cause, err)
	}
	return err
}

func benchUsage(flags *flag.FlagSet) {
	w := flags.Output()
	fmt.Fprintln(w, "usage: aanet bench [--json] [--quick] [--workspaces N] [--only SECTION,… | SECTION …]")
	flags.PrintDefaults()
	fmt.Fprintln(w, "sections:")
	for _, s := range benchSections() {
		about := s.about
		if s.alone {
			about += " (only when it is named)"
		}
		fmt.Fprintf(w, "  %s  %-9s  %s\n", s.letter, s.name, about)
	}
}

func chooseSections(only string) ([]benchSection, error) {
	all := benchSections()
	if only == "" {
		return slices.DeleteFunc(all, func(s benchSection) bool { return s.alone }), nil
	}
	var chosen []benchSection
	for name := range strings.SplitSeq(only, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(all, func(s benchSection) bool { return s.letter == name || s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no section %q; see aanet bench --help", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// all runs sections one after the other on a database of their own.
func (b *bench) all(ctx context.Context, sections []benchSection) (err error) {
	defer func() { err = errors.Join(err, b.close(context.WithoutCancel(ctx))) }()
	if err := b.open(ctx); err != nil {
		return err
	}
	if err := b.describe(ctx); err != nil {
		return err
	}
	for _, s := range sections {
		b.progress("%s  %s", s.letter, s.about)
		if err := s.run(b, ctx); err != nil {
			return fmt.Errorf("section %s (%s): %w", s.letter, s.name, err)
		}
	}
	return b.report.summary()
}

// open starts the database, with every setting that keeps committed work, and connects to it.
func (b *bench) open(ctx context.Context) error {
	var err error
	if b.dir, err = os.MkdirTemp(diskFolder(), "aanet-bench-"); err != nil {
		return err
	}
	if err := os.Chmod(b.dir, 0o711); err != nil { // the server's user has to pass, when we are root
		return err
	}
	b.progress("starting a durable Postgres in %s", b.dir)
	b.server, err = pgserver.Start(ctx, pgserver.Options{
		Dir: filepath.Join(b.dir, "data"), Durable: true, Temporary: true,
		Progress: func(line string) { b.progress("%s", line) },
	})
	if err != nil {
		return fmt.Errorf("private Postgres: %w", err)
	}
	b.url = b.server.URL()
	b.pool, b.store, err = b.connect(ctx, b.url)
	if err != nil {
		return err
	}
	b.cpu, err = newCPUMeter(ctx, b.pool)
	return err
}

// diskFolder is where temporary files survive a restart, so hardly ever memory.
func diskFolder() string {
	const disk = "/var/tmp"
	if info, err := os.Stat(disk); err == nil && info.IsDir() {
		return disk
	}
	return os.TempDir()
}

// connect migrates a database and opens the two ways to it that are compared: a pool and lanes.
func (b *bench) connect(ctx context.Context, url string) (*pgxpool.Pool, *store.Store, error) {
	if err := schema.Migrate(ctx, url, newLog(b.p.stderr, benchLogLevel)); err != nil {
		return nil, nil, fmt.Errorf("migrate: %w", err)
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, nil, err
	}
	config.MaxConns = ordinaryConns
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	s, err := store.Open(ctx, store.Options{
		URL: url, Lanes: benchLanes, PoolSize: benchLanes, Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	return pool, s, nil
}

func (b *bench) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, postgresStopTimeout)
	defer cancel()
	var errs []error
	if b.store != nil {
		errs = append(errs, b.store.Close(ctx))
		b.pool.Close()
	}
	if b.server != nil {
		// Its data may lie outside our folder, if the server's user cannot enter that.
		errs = append(errs, b.server.Stop(ctx), os.RemoveAll(b.server.Dir))
	}
	if b.dir != "" {
		errs = append(errs, os.RemoveAll(b.dir))
	}
	return errors.Join(errs...)
}

func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(b.p.stderr, "bench: "+format+"\n", args...)
}

// seconds is the length of one measurement: shorter with --quick.
func (b *bench) seconds(full float64) time.Duration {
	if b.quick {
		full /= 5
	}
	return time.Duration(full * float64(time.Second))
}

// rows is an amount of data: a tenth with --quick.
func (b *bench) rows(full int) int {
	if b.quick {
		full /= 10
	}
	return full
}
