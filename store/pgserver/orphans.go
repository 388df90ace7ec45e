//go:build unix

package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pidFile is what a server writes about itself into its data directory.
type pidFile struct {
	pid       int
	socketDir string
	ready     bool
}

func (p place) pidPath() string { return filepath.Join(p.data(), "postmaster.pid") }

func (p place) readPid() (pidFile, error) {
	text, err := os.ReadFile(p.pidPath())
	if err != nil {
		return pidFile{}, err
	}
	lines := strings.Split(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || pid <= 0 {
		return pidFile{}, fmt.Errorf("%s names no process", p.pidPath())
	}
	f := pidFile{pid: pid}
	if len(lines) > 7 {
		f.socketDir = strings.TrimSpace(lines[4])
		f.ready = strings.TrimSpace(lines[7]) == "ready"
	}
	return f, nil
}

// serves says whether the process is a server of this data, and not a
// stranger who got the number of a dead one.
func (p place) serves(pid int) bool {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return false
	}
	if exists("/proc/self/cwd") {
		// Every process of a server works in its data directory.
		cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		program := strings.TrimSuffix(filepath.Base(exe), " (deleted)")
		return err == nil && cwd == p.data() && program == "postgres"
	}
	args, err := exec.Command("ps", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(args), "postgres") && strings.Contains(string(args), p.data())
}

// processes lists all that work on this data, where /proc can tell.
func (p place) processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && p.serves(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// clearOrphans makes the data free for a new server. The caller holds the
// lock, so whatever still runs there was left by a dead owner.
func (p place) clearOrphans(ctx context.Context, tell func(string)) error {
	if f, err := p.readPid(); err == nil && p.serves(f.pid) {
		tell(fmt.Sprintf("stopping the Postgres that an earlier run left behind (process %d)", f.pid))
		if err := p.end(ctx, f.pid, fastStop, quickStop, syscall.SIGKILL); err != nil {
			return err
		}
	}
	// Sessions of a killed server may be in the middle of a long query, and
	// hold the shared memory that the next one wants.
	for _, pid := range p.processes() {
		if err := p.end(ctx, pid, quickStop, syscall.SIGKILL); err != nil {
			return err
		}
	}
	// A stale file would be refused if a stranger has its number by now.
	if err := os.Remove(p.pidPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// end stops a process that is not our child by one signal after the other.
func (p place) end(ctx context.Context, pid int, signals ...syscall.Signal) error {
	for _, signal := range signals {
		if err := syscall.Kill(pid, signal); errors.Is(err, syscall.ESRCH) {
			return nil
		} else if err != nil {
			return fmt.Errorf("stop process %d: %w", pid, err)
		}
		timeLeft := patience.quick
		if signal == syscall.SIGKILL {
			timeLeft *= 10 // nothing ruder is left, and a busy machine may take a while to bury it
		}
		wait, cancel := context.WithTimeout(ctx, timeLeft)
		gone := poll(wait, func() bool { return !p.serves(pid) })
		cancel()
		if gone {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return fmt.Errorf("process %d does not end", pid)
}

// poll asks again and again until the answer is yes (true) or ctx ends.
func poll(ctx context.Context, yes func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}
