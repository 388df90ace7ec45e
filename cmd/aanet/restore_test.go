package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"aanet/docs/snippets"
	"aanet/store/pgserver"
)

// TestBackupOfTheRunbook takes the backup as docs/runbook.md says, while agents write, and restores it: all that was
// answered before it began is there, the books add up, and work goes on.
func TestBackupOfTheRunbook(t *testing.T) {
	t.Parallel()
	command := backupCommand(t)
	before := privatePostgres(t, t.TempDir())
	spawn(t, serviceOn(before.URL()), "migrate").end(t, patience, true)
	p := serving(t, before.URL())
	made := must(t, p.url, "POST", "/v1/workspaces", "", `{"label":"kept"}`)
	ws, owner := "/v1/workspaces/"+made.string("workspace_id"), made.string("owner_key")
	spawn(t, serviceOn(before.URL()), "operator", "credit", made.string("workspace_id"), "10000000", "--reason", "a test").end(t, patience, true)
	agent := must(t, p.url, "POST", ws+"/subkeys", owner, `{"label":"an agent"}`).string("key")
	etag := must(t, p.url, "PUT", ws+"/files/notes/kept.md", agent, `{"content":"from before"}`).string("etag")

	var written atomic.Int64
	writing, enough := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	writers.Go(func() {
		for writing.Err() == nil {
			if ask(t, p.url, "POST", ws+"/files/log.txt", agent, `{"content":"x\n"}`).status < 300 {
				written.Add(1)
			}
		}
	})
	eventually(t, "some appends", func() bool { return written.Load() >= 20 })
	kept := written.Load()
	restored := t.TempDir()
	if err := os.Chmod(filepath.Dir(restored), 0o711); err != nil { // as root, Postgres is another user who passes through
		t.Fatal(err)
	}
	backUp(t, command, before.URL(), filepath.Join(restored, "postgres")) // where pgserver keeps data
	enough()
	writers.Wait()
	p.kill(syscall.SIGTERM)
	p.end(t, patience, true)

	after := privatePostgres(t, restored)
	spawn(t, serviceOn(after.URL()), "migrate").end(t, patience, true)
	spawn(t, serviceOn(after.URL()), "verify", "ledger").end(t, patience, true)
	q := serving(t, after.URL())
	file := must(t, q.url, "GET", ws+"/files/notes/kept.md", agent, "")
	if file.string("etag") != etag || file.string("content") != "from before" {
		t.Errorf("the file is %s", file.text)
	}
	lines := int64(strings.Count(must(t, q.url, "GET", ws+"/files/log.txt", agent, "").string("content"), "x\n"))
	if lines < kept || lines > written.Load() {
		t.Errorf("%d lines are there; %d were answered before the backup and %d in all", lines, kept, written.Load())
	}
	must(t, q.url, "PUT", ws+"/files/notes/kept.md", agent, fmt.Sprintf(`{"content":"and on","if_match":%q}`, etag))
	spawn(t, serviceOn(after.URL()), "verify", "ledger").end(t, patience, true)
}

// backupCommand is the one that the runbook shows.
func backupCommand(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "docs/runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := snippets.Find(string(text))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(blocks, func(b snippets.Block) bool { return strings.HasPrefix(b.Text, "pg_basebackup ") })
	if at < 0 {
		t.Fatal("the runbook shows no backup")
	}
	return blocks[at].Text
}

func privatePostgres(t *testing.T, dir string) *pgserver.Server {
	t.Helper()
	server, err := pgserver.Start(t.Context(), pgserver.Options{Dir: dir, Durable: true, Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server
}

// backUp runs the command for the server at dsn; its program comes with every Postgres.
func backUp(t *testing.T, command, dsn, to string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(found) // the newest first, as the server's own are chosen
	path := strings.Join(append(found, os.Getenv("PATH")), ":")
	if !slices.ContainsFunc(strings.Split(path, ":"), func(folder string) bool {
		_, err := os.Stat(filepath.Join(folder, "pg_basebackup"))
		return err == nil
	}) {
		t.Skip("pg_basebackup is not installed")
	}
	shell := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(command, "/backup/aanet", to))
	shell.Env = append(os.Environ(), "PATH="+path, "PGHOST="+u.Query().Get("host"), "PGPORT="+u.Query().Get("port"), "PGUSER="+u.User.Username())
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
