//go:build unix

// Package pgserver runs a private Postgres: one that nobody has to install,
// set up or know about. It listens on a unix socket in a folder that only its
// user may enter, keeps its data in a folder of the caller's choice, and
// stops when its owner stops, however that happens.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	role     = "aanet"
	database = "aanet"
	port     = "5432" // only part of the socket's name: no TCP port is opened
)

var (
	// ErrRunning means that another process owns the data directory.
	ErrRunning = errors.New("the data directory is in use")
	// ErrNotRunning means that no server runs on the data directory.
	ErrNotRunning = errors.New("no private Postgres is running")
)

// Options say where a private Postgres keeps its data and how it runs.
type Options struct {
	// Dir holds the data; it is made if it is missing. As root, when the
	// user who runs the server cannot enter it, the data goes under /var/tmp
	// and Dir remembers where.
	Dir string
	// Durable keeps every committed transaction, even through a power cut.
	// Without it the server is faster and fit for tests only.
	Durable bool
	// Temporary throws the data away when the server ends, however it ends.
	Temporary bool
	// Settings are parameters of postgresql.conf that replace our own.
	Settings map[string]string
	// Progress, if set, gets a line for each step that takes over a second,
	// one at a time, from any goroutine.
	Progress func(line string)
}

// Server is a running private Postgres. Its process is started again if it
// dies.
type Server struct {
	// Dir is the folder that really holds the data.
	Dir string

	opts      Options
	place     place
	account   account
	binaries  binaries
	socketDir string
	moved     bool      // the data lies outside the caller's folder
	held      io.Closer // the lock of the data

	stopping            chan struct{} // closed by Stop
	hurry               chan struct{} // closed when Stop's patience ends
	done                chan struct{} // closed when the process is gone for good
	stopOnce, hurryOnce sync.Once
	err                 error // why it is gone, unless Stop did it; read after done
}

// Start starts the Postgres of opts.Dir and returns when it takes
// connections. It creates the data at the first time, recovers it after a
// crash, and stops what a killed owner left running. If another process owns
// the data, the error is ErrRunning.
func Start(ctx context.Context, opts Options) (*Server, error) {
	opts.Progress = oneAtATime(opts.Progress)
	s := &Server{
		opts:     opts,
		stopping: make(chan struct{}), hurry: make(chan struct{}), done: make(chan struct{}),
	}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.release())
	}
	pm, err := s.launch(ctx)
	if err != nil {
		return nil, errors.Join(err, s.release())
	}
	err = s.step("creating the database", func() error { return s.createDatabase(ctx) })
	if err != nil {
		pm.stop(fastStop, nil)
		return nil, errors.Join(err, s.release())
	}
	go s.supervise(pm)
	return s, nil
}

// URL is how to connect, as a postgres:// URL.
func (s *Server) URL() string { return dsn(s.socketDir, database) }

// Done is closed when the server is gone for good: after Stop, or when it
// died and could not be started again (Err then says why).
func (s *Server) Done() <-chan struct{} { return s.done }

// Err is nil while the server runs and after Stop.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Stop ends the server and waits until it is gone. Sessions are cut off;
// committed work is kept if the server is durable (and not temporary). When ctx ends first it is stopped at once, which
// costs only a recovery at the next start. Calling it again is harmless.
func (s *Server) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() { close(s.stopping) })
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
	}
	s.hurryOnce.Do(func() { close(s.hurry) })
	<-s.done
	return s.err
}

// Find returns the URL of the server that runs on dir, for another process
// that wants to join in. The error is ErrNotRunning if there is none.
func Find(ctx context.Context, dir string) (string, error) {
	full, err := canonical(dir)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%w: %s does not exist", ErrNotRunning, dir)
	} else if err != nil {
		return "", err
	}
	p, err := placeOf(full)
	if err != nil {
		return "", err
	}
	f, err := p.readPid()
	if errors.Is(err, os.ErrPermission) {
		return "", fmt.Errorf("the Postgres of %s belongs to another user: %w", dir, err)
	}
	if err != nil || !f.ready || syscall.Kill(f.pid, 0) == syscall.ESRCH {
		return "", fmt.Errorf("%w in %s", ErrNotRunning, dir)
	}
	found := dsn(f.socketDir, database)
	conn, err := pgx.Connect(ctx, found)
	if err != nil {
		return "", fmt.Errorf("%w in %s: %w", ErrNotRunning, dir, err)
	}
	return found, conn.Close(ctx)
}

func dsn(socketDir, name string) string {
	query := url.Values{"host": {socketDir}, "port": {port}, "sslmode": {"disable"}}
	return "postgres://" + role + "@/" + name + "?" + query.Encode()
}

// release gives back what prepare took.
func (s *Server) release() error {
	if s.socketDir != "" {
		s.place.removeSocketDir()
	}
	if s.held == nil {
		return nil
	}
	return s.held.Close()
}

// step runs f and tells about it only if it takes over a second.
func (s *Server) step(what string, f func() error) error {
	told := make(chan struct{})
	timer := time.AfterFunc(time.Second, func() {
		s.opts.Progress("Postgres: " + what)
		close(told)
	})
	err := f()
	if !timer.Stop() {
		<-told // no line comes after its step
	}
	return err
}

func oneAtATime(tell func(string)) func(string) {
	var turn sync.Mutex
	return func(line string) {
		turn.Lock()
		defer turn.Unlock()
		if tell != nil {
			tell(line)
		}
	}
}
