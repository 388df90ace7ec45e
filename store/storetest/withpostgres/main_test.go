//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"aanet/store/storetest"
)

func TestExitCode(t *testing.T) {
	t.Setenv(storetest.Variable, "postgres://ours")
	for _, c := range []struct {
		script string
		want   int
	}{
		{"exit 0", 0},
		{"exit 7", 7},
		{"kill -KILL $$", 128 + 9},
		{`[ "$` + storetest.Variable + `" = postgres://ours ] || exit 1`, 0}, // a server that is there already is used
	} {
		if code, err := withServer([]string{"sh", "-c", c.script}); err != nil || code != c.want {
			t.Errorf("%s: got %d, %v, want %d", c.script, code, err, c.want)
		}
	}
	if _, err := withServer([]string{"/nowhere/command"}); err == nil {
		t.Error("a command that does not exist ran well")
	}
}

func TestSignalsArePassedOn(t *testing.T) {
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready")
	signals := make(chan os.Signal, 1)
	go func() {
		for {
			if _, err := os.Stat(ready); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		signals <- syscall.SIGTERM
	}()
	script := `trap 'exit 5' TERM; : > "$1"; while :; do sleep 0.05; done`
	if code, err := runCommand([]string{"sh", "-c", script, "sh", ready}, signals); err != nil || code != 5 {
		t.Errorf("got %d, %v, want the code of the command's own handler", code, err)
	}
}

func TestServerBesideTheCommand(t *testing.T) {
	t.Setenv(storetest.Variable, "")
	note := filepath.Join(t.TempDir(), "note")
	code, err := withServer([]string{"sh", "-c", `echo "$` + storetest.Variable + `" > "$1"`, "sh", note})
	if err != nil || code != 0 {
		t.Fatal(code, err)
	}
	text, err := os.ReadFile(note)
	if err != nil || len(text) < len("postgres://") {
		t.Errorf("the command was told %q, %v", text, err)
	}
}
