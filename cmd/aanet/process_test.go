package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aanet/api/apitest"
	"aanet/api/rest/openapitest"
)

// asCommand makes the test binary be the command, so that tests start real processes without another build.
const asCommand = "AANET_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		os.Exit(0)
	}
	syscall.Umask(0o022) // as root, Postgres is another user who passes through the folders of tests
	if os.Geteuid() == 0 {
		os.Setenv("TMPDIR", "/tmp") // which everybody may enter
	}
	os.Exit(m.Run())
}

// patience is how long a step may take on a busy machine before a test gives up.
const patience = time.Minute

// promptly is for what must not wait for the end of a call of 50 seconds.
const promptly = 30 * time.Second

// proc is a command that runs as a process of its own.
type proc struct {
	url  string // once it listens
	cmd  *exec.Cmd
	out  apitest.Transcript // standard output
	log  apitest.Transcript // standard error
	done chan struct{}
	err  error // of its end; read after done
}

// spawn starts a command; env are its settings. It is killed when the test ends, if it still runs.
func spawn(t *testing.T, env []string, args ...string) *proc {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &proc{cmd: exec.Command(self, args...), done: make(chan struct{})}
	p.cmd.Env = append([]string{asCommand + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir()}, env...)
	p.cmd.Stderr = &p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listening := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(io.TeeReader(out, &p.out))
		for lines.Scan() {
			if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
				listening <- url
			}
		}
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.kill(syscall.SIGKILL)
		<-p.done
		if t.Failed() {
			t.Logf("%s wrote:\n%s%s", strings.Join(args, " "), p.out.String(), p.log.String())
		}
	})
	if slices.Contains([]string{"serve", "dev"}, args[0]) {
		select {
		case p.url = <-listening:
		case <-p.done:
		case <-time.After(patience):
			t.Fatalf("%v does not listen", args)
		}
	}
	return p
}

func (p *proc) kill(signal syscall.Signal) { _ = p.cmd.Process.Signal(signal) }

// end waits for the process to end and fails unless it ends in time and as it should.
func (p *proc) end(t *testing.T, within time.Duration, well bool) {
	t.Helper()
	select {
	case <-p.done:
		if (p.err == nil) != well {
			t.Errorf("the process ended with %v", p.err)
		}
	case <-time.After(within):
		t.Fatalf("the process still runs after %s", within)
	}
}

var metricsLine = regexp.MustCompile(`"url":"(http://[^"]+/metrics)"`)

// metrics reads what the process tells Prometheus.
func (p *proc) metrics(t *testing.T) string {
	t.Helper()
	var found []string
	eventually(t, "the address of the metrics", func() bool {
		found = metricsLine.FindStringSubmatch(p.log.String())
		return found != nil
	})
	response, err := http.Get(found[1])
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// settings of a service on a database and free ports, without rate limits.
func serviceOn(dsn string, more ...string) []string {
	return append([]string{
		"DATABASE_URL=" + dsn, "AANET_SECRET_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "AANET_LISTEN=127.0.0.1:0",
		"AANET_METRICS_LISTEN=127.0.0.1:0", "AANET_RATE_LIMITS=off",
	}, more...)
}

func serving(t *testing.T, dsn string, more ...string) *proc {
	t.Helper()
	return spawn(t, serviceOn(dsn, more...), "serve")
}

// eventually fails when something does not come true in time.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still waiting for %s", what)
		}
	}
}

// reply is an answer over REST; status 0 is a call that got none.
type reply struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

var clients = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: patience}

// ask makes a call; a body makes it JSON.
func ask(t *testing.T, url, method, path, key, body string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	checked := &http.Client{Transport: openapitest.Checked(t, clients.Transport), Timeout: clients.Timeout}
	response, err := checked.Do(r)
	if err != nil {
		return reply{text: err.Error()}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{text: err.Error()}
	}
	answer := reply{status: response.StatusCode, header: response.Header, text: string(text)}
	_ = json.Unmarshal(text, &answer.body) // pages are no JSON
	return answer
}

// must makes a call that succeeds.
func must(t *testing.T, url, method, path, key, body string) reply {
	t.Helper()
	r := ask(t, url, method, path, key, body)
	if r.status < 200 || r.status > 299 {
		t.Fatalf("%s %s: %d %s", method, path, r.status, r.text)
	}
	return r
}

func (r reply) string(field string) string {
	text, _ := r.body[field].(string)
	return text
}

func (r reply) int(field string) int64 {
	n, _ := r.body[field].(float64)
	return int64(n)
}
