package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"aanet/deploy/programs"
	"aanet/docs/snippets"
	"aanet/store/storetest"
)

// session is a document that is played: one shell, at one service.
type session struct {
	t        *testing.T
	p        *proc
	dsn      string
	receiver *httptest.Server
	folder   string
	packages string // of npm; "" when the document installs none
	script   strings.Builder
	steps    []*step
}

// step is one piece of the script with what it must print.
type step struct {
	line     int
	language string
	expected []snippets.Block // shown after it
	console  string           // output shown within the block; "" when none
	output   string           // the file that it prints to
}

// open starts the service once.
func (s *session) open() {
	if s.p != nil {
		return
	}
	s.t.Helper()
	s.dsn = storetest.Database(s.t)
	s.receiver = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	s.t.Cleanup(s.receiver.Close)
	s.p = serving(s.t, s.dsn, "AANET_WEBHOOK_ALLOW_PRIVATE=127.0.0.0/8", "AANET_WEBHOOK_CA_FILE="+rootsOf(s.t, s.receiver))
	s.folder = s.t.TempDir()
	s.prepare()
}

// plan puts a block into the script; false when it is none that a shell could run.
func (s *session) plan(b snippets.Block) bool {
	s.t.Helper()
	switch b.Language {
	case "sh":
		s.add(b, b.Text, "sh", "")
	case "console":
		steps, err := snippets.Steps(b.Text)
		if err != nil {
			s.t.Errorf("line %d: %v", b.Line, err)
		}
		for _, each := range steps {
			s.add(b, each.Command+"\n", "console", each.Output)
		}
	case "ts", "python":
		s.add(b, b.Text, b.Language, "")
	default:
		return false
	}
	return true
}

func (s *session) add(b snippets.Block, text, language, shown string) {
	s.open()
	n := len(s.steps)
	file := filepath.Join(s.folder, fmt.Sprintf("step-%d.%s", n, language))
	if err := os.WriteFile(file, []byte(s.here(text)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	it := &step{line: b.Line, language: language, console: shown, output: file + ".out"}
	s.steps = append(s.steps, it)
	run := map[string]string{"sh": "strict=1; source %s", "console": "strict=0; source %s", "ts": "node %s", "python": "python3 %s"}[language]
	end := "\n"
	if shown != "" {
		end = " || true\n" // what is shown may be a failure
	}
	fmt.Fprintf(&s.script, "echo %d >step; "+run+" >%s 2>%[3]s.err"+end, n, file, it.output)
	if language == "ts" || strings.Contains(text, "node ") {
		s.link("node", programs.Node24(s.t))
	}
	if strings.Contains(text, "npm install ") {
		s.packages = programs.Packages(s.t, "mcp-clients", os.DirFS(filepath.Join(repository, "api", "mcp", "testdata", "node")))
	}
	if language == "python" || strings.Contains(text, "python3 ") {
		s.link("python3", programs.Python(s.t))
	}
}

// expect has the step before it print what a block shows.
func (s *session) expect(b snippets.Block) bool {
	if len(s.steps) == 0 {
		return false
	}
	last := s.steps[len(s.steps)-1]
	last.expected = append(last.expected, b)
	return true
}

// here puts this service's addresses in place of those that documents show.
func (s *session) here(text string) string {
	return strings.NewReplacer("https://example.com/aanet", s.receiver.URL+"/aanet", "http://127.0.0.1:8402", s.p.url,
		"127.0.0.1:8402", strings.TrimPrefix(s.p.url, "http://"), "http://127.0.0.1:9402/metrics", s.metricsURL(), "https://aanet.example", s.p.url).Replace(text)
}

func (s *session) metricsURL() string {
	var found []string
	eventually(s.t, "the address of the metrics", func() bool {
		found = metricsLine.FindStringSubmatch(s.p.log.String())
		return found != nil
	})
	return found[1]
}

// play runs the script and compares what was printed.
func (s *session) play() {
	s.t.Helper()
	if s.p == nil || len(s.steps) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*patience)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", prelude+s.script.String())
	shell.Dir = s.folder
	shell.Env = s.environment()
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.WaitDelay = time.Second // what a document leaves in the background holds no pipe of ours
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	out, err := shell.CombinedOutput()
	_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) // nothing may be left
	if err != nil {
		number, _ := os.ReadFile(filepath.Join(s.folder, "step"))
		n, _ := strconv.Atoi(strings.TrimSpace(string(number)))
		at := s.steps[n]
		s.t.Fatalf("line %d: %v\n%s%s%s", at.line, err, out, s.printed(at), readText(at.output+".err"))
	}
	for _, at := range s.steps {
		s.compare(at)
	}
}

// printed is what a step wrote, with the addresses that documents show.
func (s *session) printed(at *step) string {
	text := readText(at.output)
	if at.language == "console" {
		text += readText(at.output + ".err")
	}
	return strings.NewReplacer(s.receiver.URL+"/aanet", "https://example.com/aanet", s.p.url, "http://127.0.0.1:8402").Replace(text)
}

func readText(file string) string {
	text, _ := os.ReadFile(file) // a step that was not reached has printed nothing
	return string(text)
}

func (s *session) compare(at *step) {
	s.t.Helper()
	printed := s.printed(at)
	if at.console != "" && !snippets.Matches(at.console, printed) {
		s.t.Errorf("line %d: it shows\n%s\nbut what is printed is\n%s", at.line, at.console, printed)
	}
	for _, b := range at.expected {
		same := snippets.Matches(b.Text, printed)
		if b.Language == "json" {
			lines := strings.Split(strings.TrimSpace(printed), "\n")
			same = sameJSON(b.Text, lines[len(lines)-1]) || sameJSON(b.Text, printed)
		}
		if !same {
			s.t.Errorf("line %d: it shows\n%s\nbut what is printed is\n%s", b.Line, b.Text, printed)
		}
	}
}

// sameJSON compares values; "…" stands for any text within a string, and alone for any value.
func sameJSON(shown, printed string) bool {
	var a, b any
	if json.Unmarshal([]byte(shown), &a) != nil || json.Unmarshal([]byte(printed), &b) != nil {
		return false
	}
	return sameValue(a, b)
}

func sameValue(shown, is any) bool {
	switch a := shown.(type) {
	case string:
		b, isText := is.(string)
		return a == "…" || isText && snippets.Matches(a, b)
	case []any:
		b, isList := is.([]any)
		if !isList || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameValue(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, isObject := is.(map[string]any)
		if !isObject || len(a) != len(b) {
			return false
		}
		for name := range a {
			if value, there := b[name]; !there || !sameValue(a[name], value) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(shown, is)
}

var configuredKey = regexp.MustCompile(`\$\{(env:)?AANET_KEY\}|\$\{input:[\w-]+\}|\bKEY\b`)
