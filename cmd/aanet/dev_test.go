package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// devOn are the settings of a private service in a data directory, on free ports.
func devOn(dir string) []string {
	return []string{"AANET_DATA_DIR=" + dir, "AANET_LISTEN=127.0.0.1:0", "AANET_METRICS_LISTEN=127.0.0.1:0"}
}

// TestDev plays the life of a private service: two beside each other, one kept out of the other's data, the
// operator's commands, kill -9 of the service and of its Postgres, and an end that leaves nothing running.
func TestDev(t *testing.T) {
	t.Parallel()
	dirs := [2]string{devDir(t), devDir(t)}
	var p [2]*proc
	var both sync.WaitGroup
	for i, dir := range dirs {
		both.Go(func() { p[i] = spawn(t, devOn(dir), "dev") })
	}
	both.Wait()
	if p[0].url == "" || p[1].url == "" {
		t.Fatal("two do not run beside each other")
	}
	eventually(t, "the greeting", func() bool { return strings.Contains(p[0].out.String(), "Ctrl-C") })
	if text := p[0].out.String(); strings.Count(text, "curl -s") < 5 || !strings.Contains(text, p[0].url+"/mcp") || strings.Contains(text, ":0/") {
		t.Errorf("the first session reads:\n%s", text)
	}
	eventually(t, "the first operator", func() bool { return strings.Contains(p[0].out.String(), "only this once") })
	if text := p[0].out.String(); !strings.Contains(text, p[0].url+"/admin") || !strings.Contains(text, devOperator) {
		t.Errorf("the dashboard's greeting reads:\n%s", text)
	}
	second := spawn(t, devOn(dirs[0]), "dev")
	second.end(t, patience, false)
	if !strings.Contains(second.log.String(), "in use") || second.url != "" {
		t.Errorf("a second one on the same data says:\n%s", second.log.String())
	}

	trial := must(t, p[0].url, "POST", "/v1/workspaces/trial", "", "")
	ws, key := trial.string("workspace_id"), trial.string("owner_key")
	file := "/v1/workspaces/" + ws + "/files/f"
	must(t, p[0].url, "PUT", file, key, `{"content":"kept"}`)
	env := []string{"AANET_DATA_DIR=" + dirs[0]}
	operates(t, env, "operator", "credit", ws, "500", "--reason", "dev")
	if r := ask(t, p[1].url, "GET", file, key, ""); r.status != 401 {
		t.Errorf("the other service knows the key: %d", r.status)
	}

	if err := syscall.Kill(postgresPID(t, dirs[0]), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the service to be back with its Postgres", func() bool { return ask(t, p[0].url, "GET", file, key, "").status == 200 })
	p[0].kill(syscall.SIGKILL)
	p[0].end(t, patience, false)
	p[0] = spawn(t, devOn(dirs[0]), "dev")
	if got := must(t, p[0].url, "GET", file, key, "").string("content"); got != "kept" {
		t.Errorf("after kill -9 the file is %q", got)
	}
	eventually(t, "the greeting after a restart", func() bool { return strings.Contains(p[0].out.String(), "set-password") })
	if strings.Contains(p[0].out.String(), "only this once") {
		t.Error("a password is printed at the second start")
	}
	if out := operates(t, env, "verify", "ledger"); out != "1 workspaces checked, 0 differences\n" {
		t.Errorf("verify ledger prints %q", out)
	}
	pid := postgresPID(t, dirs[0])
	for _, one := range p {
		one.kill(syscall.SIGINT)
		one.end(t, patience, true)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("its Postgres still runs")
	}
	if _, err := operate(t, env, "verify", "ledger"); err == nil {
		t.Error("the operator's commands reach a service that has ended")
	}
}

// devDir is a data directory that every user may enter, so that as root too the data stays in it.
func devDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "aanet-test-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// postgresPID is the process that the Postgres in a data directory of aanet dev is.
func postgresPID(t *testing.T, dir string) int {
	t.Helper()
	pid, ok := postmasterOf(filepath.Join(dir, "postgres"))
	if !ok {
		t.Fatalf("no Postgres runs in %s", dir)
	}
	return pid
}

// postmasterOf is the process that serves the folder of a pgserver; there is none while it starts again.
func postmasterOf(dir string) (int, bool) {
	text, _ := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	return pid, err == nil
}
