//go:build unix

package pgserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// ownerVariable makes the test binary run a server on the folder that it
// names, print the URL and wait to be killed.
const (
	ownerVariable     = "AANET_PGSERVER_TEST_OWNER"
	temporaryVariable = "AANET_PGSERVER_TEST_TEMPORARY"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerVariable); dir != "" {
		elsewhere = filepath.Dir(dir)
		s, err := Start(context.Background(), Options{Dir: dir, Durable: true, Temporary: os.Getenv(temporaryVariable) != ""})
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Println(s.URL())
		<-s.Done()
		os.Exit(0)
	}
	syscall.Umask(0o022) // the server is another user when we are root, and runs what tests write
	if os.Geteuid() == 0 {
		os.Setenv("TMPDIR", "/tmp") // which everybody may enter
	}
	os.Exit(m.Run())
}

// folder is a new folder that every user can enter.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, part := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(part, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "data")
}

func start(t *testing.T, dir string) *Server {
	t.Helper()
	s, err := Start(t.Context(), Options{Dir: dir, Durable: true, Progress: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Stop(context.Background()); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func query[T any](t *testing.T, url, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var value T
	if err := conn.QueryRow(t.Context(), sql).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

func exec1(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func serverPid(t *testing.T, s *Server) int {
	t.Helper()
	f, err := s.place.readPid()
	if err != nil {
		t.Fatal(err)
	}
	return f.pid
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestTwoServersSideBySideAndASecondOwner(t *testing.T) {
	one, two := start(t, folder(t)), start(t, folder(t))
	exec1(t, one.URL(), "create table here (n int); insert into here values (1)")
	if query[bool](t, two.URL(), "select to_regclass('here') is not null") {
		t.Error("the second server shows the first one's table")
	}

	// Text is UTF-8, sorted by bytes, on every machine.
	if got := query[string](t, one.URL(), "select pg_encoding_to_char(encoding) || ' ' || datcollate from pg_database where datname = 'aanet'"); got != "UTF8 C" {
		t.Errorf("encoding and collation are %q", got)
	}
	if got := query[string](t, one.URL(), "show listen_addresses"); got != "" {
		t.Errorf("it listens on %q", got)
	}
	info, err := os.Stat(one.socketDir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket's folder is open to others: %v, %v", info.Mode(), err)
	}

	_, err = Start(t.Context(), Options{Dir: one.opts.Dir})
	if !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("a second owner of the same data got %v", err)
	}
	if query[int](t, one.URL(), "select n from here") != 1 {
		t.Error("the second owner disturbed the first")
	}
}

func TestFind(t *testing.T) {
	dir := folder(t)
	if _, err := Find(t.Context(), dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("before the first start: %v", err)
	}
	s := start(t, dir)
	found, err := Find(t.Context(), dir)
	if err != nil || query[int](t, found, "select 7") != 7 {
		t.Errorf("found %q, %v", found, err)
	}
	stop(t, s)
	if _, err := Find(t.Context(), dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after the stop: %v", err)
	}
	if exists(s.socketDir) {
		t.Errorf("%s was left behind", s.socketDir)
	}
}

func TestClosedFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs the server as somebody else")
	}
	closed := filepath.Dir(folder(t))
	defer func(old string) { elsewhere = old }(elsewhere)
	elsewhere = filepath.Dir(folder(t))
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(closed, "data")
	s := start(t, dir)
	if filepath.Dir(s.Dir) != elsewhere {
		t.Errorf("the data is in %s", s.Dir)
	}
	if owner, err := ownerOf(s.place.data()); err != nil || owner == 0 {
		t.Errorf("the server's data belongs to %d, %v", owner, err)
	}
	exec1(t, s.URL(), "create table here (n int)")
	if found, err := Find(t.Context(), dir); err != nil || found != s.URL() {
		t.Errorf("found %q, %v", found, err)
	}
	stop(t, s)

	// The second start finds the same data.
	again := start(t, dir)
	if !query[bool](t, again.URL(), "select to_regclass('here') is not null") {
		t.Error("the second start made new data")
	}

	// A copy of the folder names the same data, and must not steal it.
	copied := filepath.Join(closed, "copy")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Dir: copied}); !errors.Is(err, ErrRunning) {
		t.Errorf("a copy of the folder: %v", err)
	}
	stop(t, again)

	// Who removes the folder wants to start afresh.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if query[bool](t, start(t, dir).URL(), "select to_regclass('here') is not null") {
		t.Error("the old data came back")
	}

	// What is for a while only leaves nothing there either.
	brief, err := Start(t.Context(), Options{Dir: filepath.Join(closed, "temporary"), Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	stop(t, brief)
	if filepath.Dir(brief.Dir) != elsewhere || exists(brief.Dir) {
		t.Errorf("%s is left", brief.Dir)
	}
}

func TestServerComesBackAfterKill(t *testing.T) {
	s := start(t, folder(t))
	exec1(t, s.URL(), "create table here (n int); insert into here values (1)")
	pid := serverPid(t, s)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	back := poll(t.Context(), func() bool {
		conn, err := pgx.Connect(t.Context(), s.URL())
		return err == nil && conn.Close(t.Context()) == nil
	})
	if !back || query[int](t, s.URL(), "select n from here") != 1 {
		t.Error("the data is not there again")
	}
	if serverPid(t, s) == pid {
		t.Error("it was not killed")
	}
}

func TestOwnerKilled(t *testing.T) {
	dir := folder(t)
	owner, url := startOwner(t, dir)
	exec1(t, url, "create table here (n int); insert into here values (1)")
	p, err := placeOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := p.readPid()
	if err != nil {
		t.Fatal(err)
	}
	kill9(t, owner)
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if !poll(within, func() bool { return gone(f.pid) && !exists(f.socketDir) }) {
		t.Fatal("Postgres outlived its killed owner")
	}
	if query[int](t, start(t, dir).URL(), "select n from here") != 1 {
		t.Error("the data is not there again")
	}
}

func TestTemporaryLeavesNothing(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *exec.Cmd){"killed": kill9, "stopped": nil} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			if end != nil {
				t.Setenv(temporaryVariable, "1")
				owner, _ := startOwner(t, dir)
				end(t, owner)
			} else if s, err := Start(t.Context(), Options{Dir: dir, Temporary: true}); err != nil {
				t.Fatal(err)
			} else {
				stop(t, s)
			}
			within, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if !poll(within, func() bool { return !exists(filepath.Join(dir, dataDir, "base")) }) {
				t.Error("the data is still there")
			}
		})
	}
}

func TestOrphanIsReplaced(t *testing.T) {
	dir := folder(t)
	owner, url := startOwner(t, dir)
	exec1(t, url, "create table here (n int); insert into here values (1)")
	p, err := placeOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := p.readPid()
	if err != nil {
		t.Fatal(err)
	}
	// A stopped process cannot follow its owner: it is a true orphan.
	if err := syscall.Kill(f.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func(old time.Duration) { patience.quick = old }(patience.quick)
	patience.quick = 200 * time.Millisecond
	kill9(t, owner)
	s := start(t, dir)
	if query[int](t, s.URL(), "select n from here") != 1 {
		t.Error("the data is not there again")
	}
	if p.serves(f.pid) {
		t.Error("the orphan still runs")
	}
}

func TestStaleFiles(t *testing.T) {
	dir := folder(t)
	s := start(t, dir)
	stop(t, s)
	// The number of the dead server belongs to somebody else by now: to us.
	stale := fmt.Sprintf("%d\n%s\n1700000000\n%s\n%s\n\n  1 1\nready   \n", os.Getpid(), s.place.data(), port, s.socketDir)
	if err := os.WriteFile(s.place.pidPath(), []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.socketDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.place.file(socketFile), []byte(s.socketDir+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".s.PGSQL." + port, ".s.PGSQL." + port + ".lock"} {
		if err := os.WriteFile(filepath.Join(s.socketDir, name), []byte("1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// And a creation that was cut off.
	if err := os.MkdirAll(filepath.Join(s.place.data()+".new", "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(t.Context(), dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Find trusts a stale file: %v", err)
	}
	if again := start(t, dir); query[int](t, again.URL(), "select 1") != 1 {
		t.Error("no answer")
	}
	if exists(s.socketDir) {
		t.Error("the stale socket folder is still there")
	}
}

func TestStartFailsWithTheReason(t *testing.T) {
	_, err := Start(t.Context(), Options{Dir: folder(t), Settings: map[string]string{"max_connections": "many"}})
	if err == nil || !strings.Contains(err.Error(), "max_connections") {
		t.Errorf("got %v", err)
	}
}

func startOwner(t *testing.T, dir string) (*exec.Cmd, string) {
	t.Helper()
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerVariable+"="+dir)
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "postgres://") {
		t.Fatalf("the owner says %q, %v", line, err)
	}
	return owner, strings.TrimSpace(line)
}

func kill9(t *testing.T, owner *exec.Cmd) {
	t.Helper()
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // says that it was killed
}
