//go:build unix

package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// settings are what the server runs with, as "name=value".
func (o Options) settings() []string {
	all := map[string]string{
		"cluster_name":    "aanet",
		"shared_buffers":  "256MB",
		"max_connections": "200",
		"jit":             "off", // our statements are short: compiling costs more than it saves
		"timezone":        "UTC",
		"log_timezone":    "UTC",
	}
	if !o.Durable {
		maps.Copy(all, map[string]string{
			"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
			"wal_level": "minimal", "max_wal_senders": "0", "max_wal_size": "512MB",
		})
	}
	maps.Copy(all, o.Settings)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, name+"="+all[name])
	}
	return list
}

// launch starts the server's process and waits until it takes connections.
func (s *Server) launch(ctx context.Context) (*postmaster, error) {
	err := s.step("making room", func() error { return s.place.clearOrphans(ctx, s.opts.Progress) })
	if err != nil {
		return nil, err
	}
	before := logSize(s.place.file(logFile))
	pm, err := s.startPostmaster()
	if err != nil {
		return nil, err
	}
	err = s.step("starting (after a crash it first recovers its data)", func() error { return s.waitReady(ctx, pm) })
	if err == nil {
		return pm, nil
	}
	pm.stop(quickStop, nil)
	return nil, fmt.Errorf("Postgres did not start: %w: %s", err, logSince(s.place.file(logFile), before))
}

var errExited = errors.New("its process ended")

func (s *Server) waitReady(ctx context.Context, pm *postmaster) error {
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-pm.exited:
			cancel(errExited)
		case <-waiting.Done():
		}
	}()
	ready := poll(waiting, func() bool {
		conn, err := pgx.Connect(waiting, dsn(s.socketDir, "postgres"))
		if err != nil {
			return false
		}
		return conn.Close(waiting) == nil
	})
	if !ready {
		return context.Cause(waiting)
	}
	return nil
}

func (s *Server) createDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, dsn(s.socketDir, "postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var there bool
	err = conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", database).Scan(&there)
	if err != nil || there {
		return err
	}
	_, err = conn.Exec(ctx, "create database "+database)
	return err
}

// supervise starts the server again when its process dies, until Stop.
func (s *Server) supervise(pm *postmaster) {
	defer close(s.done)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-s.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		select {
		case <-s.stopping:
			s.finish(pm)
			return
		case <-pm.exited:
		}
		s.opts.Progress("Postgres: its process ended unexpectedly, starting it again")
		pm.leash.free()
		var err error
		if pm, err = s.relaunch(ctx); err != nil {
			if ctx.Err() == nil {
				s.err = err
			}
			s.err = errors.Join(s.err, s.release())
			return
		}
	}
}

// relaunch tries a few times: what killed the process may need a moment to
// pass.
func (s *Server) relaunch(ctx context.Context) (pm *postmaster, err error) {
	pause := 100 * time.Millisecond
	for range 5 {
		if pm, err = s.launch(ctx); err == nil || ctx.Err() != nil {
			return pm, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause *= 2
	}
	return nil, err
}

func (s *Server) finish(pm *postmaster) {
	signal := fastStop
	if !s.opts.Durable {
		signal = quickStop // nothing in it is worth the time
	}
	pm.stop(signal, s.hurry)
	if s.opts.Temporary {
		s.err = os.RemoveAll(s.place.data())
	}
	s.err = errors.Join(s.err, s.release())
	if s.opts.Temporary && s.moved {
		s.err = errors.Join(s.err, os.RemoveAll(s.place.base)) // nobody else would
	}
}

func logSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// logSince is the end of what the server said after the log had that size.
func logSince(path string, size int64) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if size > maxLog {
		size = 0
	}
	text, _ := io.ReadAll(io.NewSectionReader(f, size, maxLog))
	var told []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "FATAL") || strings.Contains(line, "HINT") || strings.Contains(line, "PANIC") {
			told = append(told, strings.TrimSpace(line))
		}
	}
	if len(told) == 0 {
		return lastLines(string(text), 3)
	}
	return strings.Join(told, "; ")
}
