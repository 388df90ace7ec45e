package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program makes the command callable as aanet by shells that the user starts.
func (u *user) program() {
	u.t.Helper()
	self, err := os.Executable()
	if err != nil {
		u.t.Fatal(err)
	}
	bin := u.t.TempDir()
	script := "#!/bin/sh\n" + asCommand + "=1 exec '" + self + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "aanet"), []byte(script), 0o700); err != nil {
		u.t.Fatal(err)
	}
	u.environ = append(u.environ, "PATH="+bin+":"+os.Getenv("PATH"))
}

func TestLockRun(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.program()
	u.ok("create", "--trial", "--save", "first")
	u.ok("keys", "mint", "another", "--save", "another")
	script := `echo "$AANET_LOCK_NAME $AANET_FENCING_TOKEN"; cat; echo done | aanet put result --fence; aanet lock status task | grep -c held; exit 7`
	u.says(7, "input\n", "lock", "run", "task", "--", "sh", "-c", script)
	u.has(u.out, "task 1\n", "input\n", "created result", "\n1\n")
	u.has(u.ok("lock", "status", "task"), "free")

	u.ok("lock", "acquire", "task", "--lease", "10m")
	u.says(ExitNotLocked, "", "lock", "run", "task", "--profile", "another", "--", "echo", "ran")
	u.has(u.errors, "LOCK_HELD: ")
	u.says(77, "", "lock", "run", "task", "--exit-not-locked", "77", "--", "echo", "ran") // the same key is no excuse
	u.has(u.errors, "this key holds the lock already")
	if u.out != "" {
		t.Error("the command was started without the lock")
	}
	u.ok("lock", "run", "task", "--takeover", "--", "true")
	u.says(128+int(syscall.SIGKILL), "", "lock", "run", "task", "--", "sh", "-c", "kill -9 $$")
	u.says(ExitRefused, "", "lock", "run", "task", "--", "no-such-program")
	u.has(u.ok("lock", "status", "task"), "free")
	u.says(ExitUsage, "x", "put", "result", "--fence")
}

// The lease is lost while the command runs: it is told to end, and killed when it does not.
func TestLockRunLosesItsLease(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.program()
	u.ok("create", "--trial", "--save", "owner")
	u.ok("keys", "mint", "agent", "--save", "agent")
	agent := field(u.out, "id")
	owner := &user{t: t, environ: u.environ}
	revoked, over := make(chan bool), make(chan bool)
	go func() {
		defer close(revoked)
		for {
			if strings.Contains(owner.ok("lock", "status", "task", "--json"), `"held"`) { // free of charge until then
				owner.ok("keys", "revoke", agent)
				return
			}
			select {
			case <-over:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	stubborn := `trap 'echo told to end' TERM; while :; do sleep 0.1; done`
	u.says(ExitLeaseLost, "", "lock", "run", "task", "--lease", "9s", "--grace", "2s", "--profile", "agent", "--", "sh", "-c", stubborn)
	close(over)
	<-revoked
	u.has(u.out, "told to end")
	u.has(u.errors, "the lease of task is lost", "UNAUTHENTICATED")
}

// A signal reaches the command, whose exit code is passed on; the lock is given back.
func TestLockRunPassesSignalsOn(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.program()
	u.ok("create", "--trial", "--save", "owner")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(self, "lock", "run", "task", "--", "sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.1; done")
	run.Env = append(u.environ, asCommand+"=1")
	var errors bytes.Buffer
	run.Stderr = &errors
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 64)); err != nil { // ready
		t.Fatal(err, errors.String())
	}
	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait()
	if code := run.ProcessState.ExitCode(); code != 9 {
		t.Errorf("exit code %d: %s", code, errors.String())
	}
	if status := u.ok("lock", "status", "task"); !strings.Contains(status, "free") {
		t.Error(status)
	}
}
