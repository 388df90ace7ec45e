//go:build unix

package pgserver

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// Postgres reads signals so: SIGINT ends the sessions, writes everything
// down and leaves; SIGQUIT leaves at once and recovers at the next start.
const (
	fastStop  = syscall.SIGINT
	quickStop = syscall.SIGQUIT
)

// How long each way of stopping may take before the next, ruder one.
var patience = struct{ fast, quick time.Duration }{fast: 20 * time.Second, quick: 5 * time.Second}

// postmaster is a running server process that we started.
type postmaster struct {
	cmd    *exec.Cmd
	leash  *leash
	exited chan struct{} // closed when the process is gone
}

// startPostmaster starts the server. It does not wait until it is ready.
func (s *Server) startPostmaster() (*postmaster, error) {
	a, p := s.account, s.place
	log, err := openLog(p.file(logFile))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := []string{"-D", p.data(), "-k", s.socketDir, "-p", port, "-c", "listen_addresses="}
	for _, setting := range s.opts.settings() {
		args = append(args, "-c", setting)
	}
	// The process outlives the context of its start, so it gets none.
	cmd := a.command(context.Background(), s.binaries.path("postgres"), args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s as user %s: %w", cmd.Path, a.name, err)
	}
	pm := &postmaster{cmd: cmd, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // its log says why it ended
		close(pm.exited)
	}()
	throwAway := ""
	if s.opts.Temporary {
		throwAway = p.data()
	}
	if pm.leash, err = tie(a, cmd.Process.Pid, s.socketDir, throwAway); err != nil {
		pm.stop(quickStop, nil)
		return nil, err
	}
	return pm, nil
}

// stop ends the server: first politely, by the given signal, then by ruder
// ones. Closing hurry skips the wait for the polite one.
func (pm *postmaster) stop(first syscall.Signal, hurry <-chan struct{}) {
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{first, patience.fast}, {quickStop, patience.quick}, {syscall.SIGKILL, time.Hour}} {
		_ = pm.cmd.Process.Signal(step.signal)
		select {
		case <-pm.exited:
			pm.leash.free()
			return
		case <-hurry:
			hurry = nil
		case <-time.After(step.wait):
		}
	}
}

// maxLog bounds the server's log: a longer one starts again.
const maxLog = 16 << 20

func openLog(path string) (*os.File, error) {
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		flags |= os.O_TRUNC
	}
	return os.OpenFile(path, flags, 0o600)
}

// leash is a small process that stops the server when we are gone, even
// after kill -9: it waits for the end of a pipe that only we hold open.
type leash struct {
	cmd  *exec.Cmd
	pipe io.Closer
}

// leashScript: $1 is the server's process, $2 its socket folder, $3 the data
// to throw away or nothing.
const leashScript = `read _
kill -INT "$1" || exit 0
i=0
while kill -0 "$1" 2>/dev/null; do
	i=$((i+1)); [ $i -gt 20 ] && kill -QUIT "$1"; [ $i -gt 25 ] && kill -KILL "$1"
	sleep 1
done
rmdir "$2"
[ -z "$3" ] || rm -rf "$3"`

func tie(a account, pid int, socketDir, throwAway string) (*leash, error) {
	cmd := a.command(context.Background(), "/bin/sh", "-c", leashScript, "aanet-leash", strconv.Itoa(pid), socketDir, throwAway)
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the process that watches Postgres: %w", err)
	}
	return &leash{cmd, pipe}, nil
}

// free ends the leash without any effect on the server.
func (l *leash) free() {
	if l == nil {
		return
	}
	_ = l.cmd.Process.Kill()
	_ = l.cmd.Wait()
	_ = l.pipe.Close()
}
