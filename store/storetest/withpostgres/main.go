//go:build unix

// Command withpostgres runs a command with a private, throw-away Postgres beside it:
//
//	go run ./store/storetest/withpostgres -- go test ./...
//
// The command finds the server in AANET_TEST_DATABASE_URL. If that is set already, the server it names is used instead.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"aanet/store/pgserver"
	"aanet/store/storetest"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: withpostgres -- COMMAND [ARGUMENT…]")
		os.Exit(2)
	}
	code, err := withServer(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "withpostgres:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

// withServer runs the command beside a server and gives its exit code.
func withServer(args []string) (code int, err error) {
	// Ctrl-C reaches the command too: it decides when to end, and we then clear up.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)

	if os.Getenv(storetest.Variable) != "" {
		return runCommand(args, signals)
	}
	dir, err := os.MkdirTemp(fastFolder(), "aanet-test-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o711); err != nil {
		return 0, err
	}
	for _, folder := range []string{dir, data} { // when root, the server runs as another user, who has to pass
		if err := os.Chmod(folder, 0o711); err != nil {
			return 0, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	started := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cancel()
		case <-started:
		}
	}()
	server, err := pgserver.Start(ctx, pgserver.Options{
		Dir:       data,
		Temporary: true,
		Progress:  func(line string) { fmt.Fprintln(os.Stderr, line) },
	})
	close(started)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop(server)) }()
	if err := os.Setenv(storetest.Variable, server.URL()); err != nil {
		return 0, err
	}
	return runCommand(args, signals)
}

// fastFolder is a folder in memory if there is one with room, else the usual one for temporary files ("").
// Making a database took 8 ms in memory and 130 ms on disk.
func fastFolder() string {
	const memory, room = "/dev/shm", 4 << 30
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil || uint64(fs.Bavail)*uint64(fs.Bsize) < room {
		return ""
	}
	probe, err := os.MkdirTemp(memory, "aanet-probe-")
	if err != nil || os.Remove(probe) != nil {
		return ""
	}
	return memory
}

func stop(server *pgserver.Server) error {
	patience, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// Its data may lie outside our folder, if the server's user cannot enter that.
	return errors.Join(server.Stop(patience), os.RemoveAll(server.Dir))
}

// runCommand passes signals on and gives the exit code, 128 + n after a signal n as a shell does.
func runCommand(args []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it may have ended by now
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return 0, err
			}
			status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if ok && status.Signaled() {
				return 128 + int(status.Signal()), nil
			}
			return cmd.ProcessState.ExitCode(), nil
		}
	}
}
