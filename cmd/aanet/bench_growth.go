package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"
)

const (
	appendBytes   = 64
	appendsARound = 300 // together they fit behind the large file
	largeBytes    = 1000 << 10
	pageEntries   = 100
)

// appending is section d.
func (b *bench) appending(ctx context.Context) error {
	targets, err := makeTargets(ctx, b.pool, 1, 1)
	if err != nil {
		return err
	}
	f := make(measured, 2)
	for round := range benchRounds {
		small, large, err := b.appendRound(ctx, targets[0], round)
		if err != nil {
			return err
		}
		f[0], f[1] = append(f[0], small), append(f[1], large)
	}
	return b.report.add(
		resultOf("append_empty", f.of(0)).noted(fmt.Sprintf("one client appends %d bytes", appendBytes)),
		resultOf("append_1mib", f.of(1)).against(f.ratio(p50Of, 1, 0), atMost, 1.3, "p50 to p50 on an empty file"),
	)
}

// appendRound appends by turns to one large file and to a file that is still empty.
func (b *bench) appendRound(ctx context.Context, t target, round int) (small, large figure, err error) {
	content := randomText(largeBytes)
	largePath := fmt.Sprintf("large%d", round)
	if err := writeThrough(ctx, b.store, t, largePath, content); err != nil {
		return small, large, err
	}
	appends := b.rows(appendsARound)
	emptyPath := func(i int) string { return fmt.Sprintf("empty%d/%d", round, i) }
	for i := range appends {
		if err := writeThrough(ctx, b.store, t, emptyPath(i), ""); err != nil {
			return small, large, err
		}
	}
	return alternate(func(i int) bool { return i < appends },
		func(i int) error { return appendThrough(ctx, b.store, t, emptyPath(i), content[:appendBytes]) },
		func(int) error { return appendThrough(ctx, b.store, t, largePath, content[:appendBytes]) })
}

// randomText is text that does not compress well.
func randomText(bytes int) string {
	raw := make([]byte, bytes)
	_, _ = rand.Read(raw) // never fails (crypto/rand)
	return base64.StdEncoding.EncodeToString(raw)[:bytes]
}

// listing is section e. The page of the large directory is one from its middle.
func (b *bench) listing(ctx context.Context) error {
	targets, err := makeTargets(ctx, b.pool, 1, 1)
	if err != nil {
		return err
	}
	entries := b.rows(100_000)
	for path, files := range map[string]int{"small": pageEntries, "large": entries} {
		if err := b.fillDirectory(ctx, targets[0], path, files); err != nil {
			return err
		}
	}
	if _, err := b.pool.Exec(ctx, "vacuum analyze files"); err != nil {
		return fmt.Errorf("analyze: %w", err)
	}
	middle := fmt.Sprintf("%06d", entries/2)
	f := make(measured, 2)
	for range benchRounds {
		ends := time.Now().Add(b.seconds(5))
		small, large, err := alternate(func(int) bool { return time.Now().Before(ends) },
			func(int) error { return b.listPage(ctx, targets[0], "small", nil) },
			func(int) error { return b.listPage(ctx, targets[0], "large", &middle) })
		if err != nil {
			return err
		}
		f[0], f[1] = append(f[0], small), append(f[1], large)
	}
	return b.report.add(
		resultOf("list_100", f.of(0)).noted("one client lists a directory of 100 files"),
		resultOf("list_100000", f.of(1)).against(f.ratio(p50Of, 1, 0), atMost, 1.5, fmt.Sprintf("a page of 100 of %d files; p50 to p50", entries)),
	)
}

func (b *bench) fillDirectory(ctx context.Context, t target, path string, files int) error {
	_, err := b.pool.Exec(ctx, `
		insert into files (workspace_id, path, etag, size, body, created_at, updated_at)
		select $1, $2 || '/' || lpad(i::text, 6, '0'), 'v1', 5, 'hello', now(), now() from generate_series(1, $3) i`,
		t.workspace, path, files)
	if err != nil {
		return fmt.Errorf("fill a directory: %w", err)
	}
	return nil
}

func (b *bench) listPage(ctx context.Context, t target, path string, after *string) error {
	n, err := listThrough(ctx, b.store, t, path, after, pageEntries)
	if err == nil && n != pageEntries {
		err = fmt.Errorf("a page of %d entries, wanted %d", n, pageEntries)
	}
	return err
}

// growth is section f: two databases on one server, one with a past and one without.
func (b *bench) growth(ctx context.Context) error {
	empty, forgetEmpty, err := b.freshDatabase(ctx, "empty")
	if err != nil {
		return err
	}
	defer forgetEmpty()
	grown, forgetGrown, err := b.freshDatabase(ctx, "grown")
	if err != nil {
		return err
	}
	defer forgetGrown()
	rows, files := b.rows(5_000_000), b.rows(200_000)
	if err := grown.fillPast(ctx, rows/manyWorkspaces, files/manyWorkspaces); err != nil {
		return err
	}
	f, err := b.byTurns(ctx, b.seconds(5),
		b.lanesWay(empty.store, empty.targets).called("fresh database"), b.lanesWay(grown.store, grown.targets).called("grown database"))
	if err != nil {
		return err
	}
	return b.report.add(
		resultOf("growth_empty", f.of(0)).noted("64 clients write to 2,000 workspaces of a fresh database"),
		resultOf("growth", f.of(1)).against(f.ratio(opsOf, 0, 1), atMost, 1.2,
			fmt.Sprintf("time a write, to the fresh database; %d log rows and %d files present", rows, files)),
	)
}

// freshDatabase makes a further database with workspaces; the function it returns closes it.
func (b *bench) freshDatabase(ctx context.Context, name string) (*benchDatabase, func(), error) {
	url, err := withDatabase(b.url, name)
	if err != nil {
		return nil, nil, err
	}
	if _, err := b.pool.Exec(ctx, "create database "+name); err != nil {
		return nil, nil, fmt.Errorf("create a database: %w", err)
	}
	d := &benchDatabase{bench: b}
	if d.pool, d.store, err = b.connect(ctx, url); err != nil {
		return nil, nil, err
	}
	forget := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), postgresStopTimeout)
		defer cancel()
		_ = d.store.Close(ctx) // it was only measured
		d.pool.Close()
		_, _ = b.pool.Exec(ctx, "drop database "+name) // what stays goes with the server
	}
	if d.targets, err = makeTargets(ctx, d.pool, manyWorkspaces, 1); err != nil {
		forget()
		return nil, nil, err
	}
	return d, forget, nil
}
