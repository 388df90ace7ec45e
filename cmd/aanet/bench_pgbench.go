package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	pgbenchClients = 32
	pgbenchWarm    = time.Second
	pgbenchHow     = "-M prepared, one statement a call, autocommit"
)

// pgbenchScript calls the functions that the lanes call. Both in one statement, so that a call costs pgbench
// one round trip and one commit; a begin and commit of its own would cost it three more.
const pgbenchScript = `\set i random(0, %d)
select write_file(md5('bench ' || :i)::uuid, sha256(convert_to('bench ' || :i, 'UTF8')), md5('bench ' || :i)::uuid::text, %d, 'PUT_FILE', 10,
    'd/f' || :client_id, '{d}', repeat('x', 1024), 1024, null, false, null, null, null), flush(md5('bench ' || :i)::uuid);
`

// pgbench is the well-known load generator, calling the functions without lanes.
type pgbench struct {
	b       *bench
	program string
	script  string
	host    string // the folder of the server's socket
	user    string
	name    string // of the database
}

// newPgbench makes the workspaces and the script.
func (b *bench) newPgbench(ctx context.Context, program string, workspaces int) (*pgbench, error) {
	var targets []target
	for number := range workspaces {
		targets = append(targets, pgbenchTarget(number))
	}
	if err := insertTargets(ctx, b.pool, targets); err != nil {
		return nil, err
	}
	address, err := url.Parse(b.url)
	if err != nil {
		return nil, fmt.Errorf("database url: %w", err)
	}
	p := &pgbench{
		b: b, program: program, script: filepath.Join(b.dir, "write.sql"),
		host: address.Query().Get("host"), user: address.User.Username(), name: strings.TrimPrefix(address.Path, "/"),
	}
	return p, os.WriteFile(p.script, fmt.Appendf(nil, pgbenchScript, workspaces-1, guardPriced), 0o600)
}

// measure runs it once, for whole seconds, and checks that every call was done. Its connections are new at
// each run: the first pgbenchWarm, in which they plan their statements, do not count.
func (p *pgbench) measure(ctx context.Context, d time.Duration) (figure, error) {
	logs, err := os.MkdirTemp(p.b.dir, "pgbench-")
	if err != nil {
		return figure{}, err
	}
	defer os.RemoveAll(logs)
	seconds := max(1, int(d.Round(time.Second).Seconds())) + int(pgbenchWarm.Seconds())
	cmd := exec.CommandContext(ctx, p.program, "--no-vacuum", "--protocol=prepared",
		"--client="+strconv.Itoa(pgbenchClients), "--jobs="+strconv.Itoa(min(runtime.NumCPU(), pgbenchClients)),
		"--time="+strconv.Itoa(seconds), "--file="+p.script, "--log", "--log-prefix="+filepath.Join(logs, "log"),
		"--host="+p.host, "--username="+p.user, p.name)
	spent, postgres := p.unitsSpent(ctx), p.b.cpu.postgres()
	if out, err := cmd.CombinedOutput(); err != nil {
		return figure{}, fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	calls, err := readPgbenchLogs(logs)
	if err != nil {
		return figure{}, err
	}
	if charged := p.unitsSpent(ctx) - spent; charged != 10*int64(len(calls)) {
		return figure{}, fmt.Errorf("%d calls of 10 units were charged %d units: some were refused", len(calls), charged)
	}
	f := figureOfPgbench(calls)
	if p.b.cpu.postmaster != 0 {
		f.cpu.Postgres = micros(p.b.cpu.postgres()-postgres) / float64(len(calls))
		f.cpu.Client = micros(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()) / float64(len(calls))
	}
	return f, nil
}

// pgbenchCall is one line of pgbench's log.
type pgbenchCall struct {
	ended time.Time
	took  time.Duration
}

func figureOfPgbench(calls []pgbenchCall) figure {
	if len(calls) == 0 {
		return figure{}
	}
	byEnd := func(x, y pgbenchCall) int { return x.ended.Compare(y.ended) }
	from, to := slices.MinFunc(calls, byEnd).ended.Add(pgbenchWarm), slices.MaxFunc(calls, byEnd).ended
	var counted []time.Duration
	for _, c := range calls {
		if c.ended.After(from) {
			counted = append(counted, c.took)
		}
	}
	return figureOf(counted, to.Sub(from))
}

// unitsSpent sums what pgbench's workspaces were charged; -1 when that cannot be read, which no sum fits.
func (p *pgbench) unitsSpent(ctx context.Context) int64 {
	var spent int64
	err := p.b.pool.QueryRow(ctx, `
		select sum(spent) from workspaces
		 where workspace_id in (select md5('bench ' || i)::uuid from generate_series(0, $1) i)`, manyWorkspaces-1).Scan(&spent)
	if err != nil {
		return -1
	}
	return spent
}

// readPgbenchLogs reads the logs, one file a thread.
func readPgbenchLogs(folder string) (calls []pgbenchCall, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "log*"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		own, err := parsePgbenchLog(text)
		if err != nil {
			return nil, fmt.Errorf("pgbench's log: %w", err)
		}
		calls = append(calls, own...)
	}
	return calls, nil
}

// parsePgbenchLog reads lines of: client, transaction, latency in microseconds, script, and the time at the
// end in seconds and microseconds.
func parsePgbenchLog(text []byte) (calls []pgbenchCall, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var client, transaction, took, script, seconds, part int64
		if _, err := fmt.Sscan(lines.Text(), &client, &transaction, &took, &script, &seconds, &part); err != nil {
			return nil, fmt.Errorf("line %q: %w", lines.Text(), err)
		}
		calls = append(calls, pgbenchCall{time.Unix(seconds, part*1000), time.Duration(took) * time.Microsecond})
	}
	return calls, lines.Err()
}
