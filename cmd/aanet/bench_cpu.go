package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// cpuShares are microseconds of CPU a call, by whose process used them. Calls made from within the
// benchmark count its own process, which is client and service in one, as Service.
type cpuShares struct{ Service, Postgres, Client float64 }

// cpuMeter reads the CPU time of the server's processes. It measures nothing where there is no /proc.
type cpuMeter struct{ postmaster int }

// clockTick is the unit of /proc/PID/stat, the same on all Linux machines of today.
const clockTick = 10 * time.Millisecond

func newCPUMeter(ctx context.Context, pool *pgxpool.Pool) (cpuMeter, error) {
	var backend int
	if err := pool.QueryRow(ctx, "select pg_backend_pid()").Scan(&backend); err != nil {
		return cpuMeter{}, fmt.Errorf("find the server's process: %w", err)
	}
	s, ok := statOf(backend)
	if !ok {
		return cpuMeter{}, nil
	}
	return cpuMeter{s.parent}, nil
}

// postgres is the CPU time of the postmaster, of its children, and of those that have ended.
func (m cpuMeter) postgres() time.Duration {
	if m.postmaster == 0 {
		return 0
	}
	own, _ := statOf(m.postmaster)
	sum := own.cpu + own.endedChildren
	folders, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well-formed
	for _, folder := range folders {
		pid, _ := strconv.Atoi(filepath.Base(folder))
		if s, ok := statOf(pid); ok && s.parent == m.postmaster {
			sum += s.cpu
		}
	}
	return sum
}

// binaries is the folder of the running server's programs, or empty.
func (m cpuMeter) binaries() string {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", m.postmaster))
	if err != nil {
		return ""
	}
	return filepath.Dir(exe)
}

// here measures calls that this process makes itself, and puts their CPU time into the figure.
func (m cpuMeter) here(measure func() (figure, error)) (figure, error) {
	own, postgres := ownCPU(), m.postgres()
	f, err := measure()
	if err != nil {
		return f, err
	}
	if m.postmaster != 0 {
		calls := float64(f.calls)
		f.cpu = cpuShares{Service: micros(ownCPU()-own) / calls, Postgres: micros(m.postgres()-postgres) / calls}
	}
	return f, nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// ownCPU is the CPU time of this process.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

type processStat struct {
	parent             int
	cpu, endedChildren time.Duration
}

// statOf reads /proc/PID/stat; false when there is no such process or no /proc.
func statOf(pid int) (processStat, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return processStat{}, false
	}
	return parseStat(text)
}

func parseStat(text []byte) (processStat, bool) {
	// The name in parentheses may hold anything; the fields after it are numbers, the state aside.
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return processStat{}, false
	}
	fields := strings.Fields(string(text[end+1:]))
	const parent, user, system, childUser, childSystem = 1, 11, 12, 13, 14
	if len(fields) <= childSystem {
		return processStat{}, false
	}
	number := func(i int) time.Duration {
		n, _ := strconv.Atoi(fields[i])
		return time.Duration(n)
	}
	return processStat{
		parent:        int(number(parent)),
		cpu:           (number(user) + number(system)) * clockTick,
		endedChildren: (number(childUser) + number(childSystem)) * clockTick,
	}, true
}

// residentMiB is the memory that a process has in RAM; 0 where there is no /proc.
func residentMiB(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return kib / 1024
		}
	}
	return 0
}
