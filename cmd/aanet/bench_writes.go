package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os/exec"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"aanet/api"
)

const (
	hotKeys        = 32
	manyWorkspaces = 2000
)

// hereWay makes calls from this process, with all clients.
func (b *bench) hereWay(name string, targets []target, call func(ctx context.Context, t target, path string) error) way {
	return way{name, func(ctx context.Context, d time.Duration) (figure, error) {
		return b.cpu.here(func() (figure, error) {
			return drive(ctx, benchClients, d, func(ctx context.Context, client, number int) error {
				t, path := pick(targets, benchClients, client, number)
				return call(ctx, t, path)
			})
		})
	}}
}

// hotWorkspace is section a.
func (b *bench) hotWorkspace(ctx context.Context) error {
	forLanes, forOrdinary, err := b.twice(ctx, 1, hotKeys)
	if err != nil {
		return err
	}
	f, err := b.byTurns(ctx, b.seconds(5), b.lanesWay(b.store, forLanes), b.ordinaryWay(forOrdinary))
	if err != nil {
		return err
	}
	return b.report.add(
		resultOf("hot_workspace_ordinary", f.of(1)).noted("one transaction a call"),
		resultOf("hot_workspace", f.of(0)).against(f.ratio(opsOf, 0, 1), atLeast, 12, "to the ordinary transaction"),
	)
}

// twice makes two equal sets of workspaces, so that neither way works on rows that the other left behind.
func (b *bench) twice(ctx context.Context, workspaces, keys int) (one, other []target, err error) {
	if one, err = makeTargets(ctx, b.pool, workspaces, keys); err != nil {
		return nil, nil, err
	}
	other, err = makeTargets(ctx, b.pool, workspaces, keys)
	return one, other, err
}

// manyWorkspaces is section b.
func (b *bench) manyWorkspaces(ctx context.Context) error {
	forLanes, forOrdinary, err := b.twice(ctx, manyWorkspaces, 1)
	if err != nil {
		return err
	}
	ways := []way{b.lanesWay(b.store, forLanes), b.ordinaryWay(forOrdinary)}
	program, missing := b.findPgbench()
	if missing == nil {
		one, err := b.newPgbench(ctx, program, manyWorkspaces)
		if err != nil {
			return err
		}
		ways = append(ways, way{"pgbench", one.measure})
	}
	f, err := b.byTurns(ctx, b.seconds(5), ways...)
	if err != nil {
		return err
	}
	err = b.report.add(
		resultOf("many_workspaces_ordinary", f.of(1)).noted("one transaction a call"),
		resultOf("many_workspaces", f.of(0)).against(f.ratio(opsOf, 0, 1), atLeast, 1.8, "to the ordinary transaction"),
	)
	if err != nil {
		return err
	}
	if missing != nil {
		return b.report.add(benchResult{Name: "many_workspaces_to_pgbench", Note: "not measured: " + missing.Error()})
	}
	return b.report.add(
		resultOf("many_workspaces_pgbench", f.of(2)).noted("32 clients, "+pgbenchHow),
		resultOf("many_workspaces_to_pgbench", f.of(0)).against(f.ratio(opsOf, 0, 2), atLeast, 1.1, "to pgbench"),
	)
}

// findPgbench looks beside the server's programs first, so that the versions agree.
func (b *bench) findPgbench() (string, error) {
	for _, name := range []string{b.cpu.binaries() + "/pgbench", "pgbench"} {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	return "", fmt.Errorf("pgbench is not installed")
}

// heldSnapshot is section g. The ways take turns while one snapshot stays open, so that every version of
// a row that they leave behind stays too.
func (b *bench) heldSnapshot(ctx context.Context) error {
	forLanes, forOrdinary, err := b.twice(ctx, 1, hotKeys)
	if err != nil {
		return err
	}
	tx, err := b.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := tx.Exec(ctx, "select count(*) from workspaces"); err != nil {
		return fmt.Errorf("take a snapshot: %w", err)
	}
	held := time.Now()
	f, err := b.byTurnsCold(ctx, b.seconds(10), b.lanesWay(b.store, forLanes), b.ordinaryWay(forOrdinary))
	if err != nil {
		return err
	}
	how := fmt.Sprintf("snapshot held for %.0f s", time.Since(held).Seconds())
	return b.report.add(
		resultOf("snapshot_ordinary", f.of(1)).noted(how),
		resultOf("snapshot", f.of(0)).against(f.ratio(opsOf, 0, 1), atLeast, 3, "to the ordinary transaction; "+how),
	)
}

// neighbour is section h.
func (b *bench) neighbour(ctx context.Context) error {
	quiet, err := makeTargets(ctx, b.pool, 1, 1)
	if err != nil {
		return err
	}
	noisy, err := newTarget(onLaneOf(quiet[0].workspace))
	if err == nil {
		err = insertTargets(ctx, b.pool, []target{noisy})
	}
	if err != nil {
		return err
	}
	alone := way{"alone", func(ctx context.Context, d time.Duration) (figure, error) { return b.quietCalls(ctx, quiet[0], d) }}
	beside := way{"beside 1 MiB writes", func(ctx context.Context, d time.Duration) (figure, error) {
		return b.quietBeside(ctx, quiet[0], noisy, d)
	}}
	f, err := b.byTurns(ctx, b.seconds(5), alone, beside)
	if err != nil {
		return err
	}
	return b.report.add(
		resultOf("neighbour_alone", f.of(0)).noted("a 1 KiB write every 10 ms"),
		resultOf("neighbour", f.of(1)).compared(f.ratio(p99Of, 1, 0), "p99 to p99 alone; beside 2 writers of 1 MiB on the same lane"),
	)
}

// onLaneOf makes a workspace id that the lanes put on the same lane: they go by the last eight bytes.
func onLaneOf(workspace uuid.UUID) uuid.UUID {
	lane := func(id uuid.UUID) uint64 { return binary.BigEndian.Uint64(id[8:]) % benchLanes }
	for {
		if id := uuid.New(); lane(id) == lane(workspace) {
			return id
		}
	}
}

// quietCalls is one client that writes now and then.
func (b *bench) quietCalls(ctx context.Context, t target, d time.Duration) (figure, error) {
	var latencies []time.Duration
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	started := time.Now()
	for time.Since(started) < d {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return figure{}, context.Cause(ctx)
		}
		before := time.Now()
		if err := writeThrough(ctx, b.store, t, "quiet", writeBody); err != nil {
			return figure{}, err
		}
		latencies = append(latencies, time.Since(before))
	}
	return figureOf(latencies, time.Since(started)), nil
}

// quietBeside is quietCalls while two clients of another workspace write the largest file without pause.
func (b *bench) quietBeside(ctx context.Context, quiet, noisy target, d time.Duration) (figure, error) {
	large := randomText(api.FileBytesMax) // compresses badly, the worst case
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	noise := make(chan error, 1)
	go func() {
		_, err := drive(ctx, 2, d, func(ctx context.Context, client, _ int) error {
			return writeThrough(ctx, b.store, noisy, fmt.Sprintf("large%d", client), large)
		})
		noise <- err
	}()
	f, err := b.quietCalls(ctx, quiet, d)
	if err != nil {
		stop()
	}
	if noiseErr := <-noise; err == nil {
		err = noiseErr
	}
	return f, err
}
