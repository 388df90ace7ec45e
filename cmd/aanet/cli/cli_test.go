package cli

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aanet/api/apitest"
	"aanet/api/client/clienttest"
)

var update = flag.Bool("update", false, "write the golden files")

// asCommand makes the test binary be the command, for tests of what runs as a process of its own.
const asCommand = "AANET_CLI_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(Run(context.Background(), World{os.Stdin, os.Stdout, os.Stderr, os.Environ()}, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// user is somebody at a shell: a home folder, a service, what was said last.
type user struct {
	t       *testing.T
	service *clienttest.Service
	home    string
	environ []string
	out     string
	errors  string
}

func newUser(t *testing.T) *user {
	t.Helper()
	return newUserAt(t, apitest.Options{})
}

// newUserAt is newUser at a service of a certain kind.
func newUserAt(t *testing.T, o apitest.Options) *user {
	t.Helper()
	u := &user{t: t, service: clienttest.Serve(t, o), home: t.TempDir()}
	u.environ = []string{"HOME=" + u.home, "AANET_URL=" + u.service.URL, "PATH=" + os.Getenv("PATH")}
	return u
}

// says runs a command with a text on standard input, and wants an exit code.
func (u *user) says(code int, stdin string, args ...string) string {
	u.t.Helper()
	var out, errors apitest.Transcript
	got := Run(u.t.Context(), World{strings.NewReader(stdin), &out, &errors, u.environ}, args)
	u.out, u.errors = out.String(), errors.String()
	if got != code {
		u.t.Errorf("aanet %s: exit code %d and not %d\n%s%s", strings.Join(args, " "), got, code, u.out, u.errors)
	}
	return u.out
}

// ok runs a command that does what it should.
func (u *user) ok(args ...string) string {
	u.t.Helper()
	return u.says(ExitOK, "", args...)
}

// has fails unless a text holds all these.
func (u *user) has(text string, parts ...string) {
	u.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			u.t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// field is the value of a row of a table with two columns.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+"  "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

var changing = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`aan_[os][0-9A-Za-z]{22}_[0-9A-Za-z]{49}`), "KEY"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID--------------------------------"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{6})?Z`), "2026-11-30 12:00:00Z"},
	{regexp.MustCompile(`etag [0-9A-Za-z_-]+`), "etag ETAG"},
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+`), "http://127.0.0.1:8402"},
	{regexp.MustCompile(`request [0-9A-Za-z-]+`), "request ID"},
	{regexp.MustCompile(` +\n`), "\n"},
}

// golden compares what was printed, without ids and times, with a file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.replacement)
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != text {
		t.Errorf("%s: %v; is (go test ./cmd/aanet/cli -update):\n%s", file, err, text)
	}
}

// A day of an owner and an agent, with everything that they see.
func TestAStory(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	var seen strings.Builder
	see := func(code int, stdin string, args ...string) {
		t.Helper()
		u.says(code, stdin, args...)
		seen.WriteString("$ aanet " + strings.Join(args, " ") + "\n" + u.out + u.errors + "\n")
	}
	see(0, "", "create", "--trial", "--save", "first")
	see(0, "", "whoami")
	see(0, "", "keys", "mint", "agent one", "--scope", "notes", "--budget", "60", "--save", "agent")
	agent := field(u.out, "id")
	see(0, "", "profile", "list")
	see(0, "write the report\n", "put", "notes/plan.md", "--profile", "agent")
	see(1, "again", "put", "notes/plan.md", "--create-only", "--profile", "agent")
	see(0, "one\n", "append", "notes/log.txt", "--profile", "agent")
	see(0, "", "ls", "notes")
	see(0, "", "cat", "notes/plan.md")
	see(1, "", "cat", "notes")
	see(1, "x", "put", "elsewhere", "--profile", "agent")
	see(0, "", "rm", "notes/log.txt")
	see(0, "", "lock", "acquire", "notes/task", "--lease", "10m", "--profile", "agent")
	see(4, "", "lock", "acquire", "notes/task")
	see(0, "", "lock", "status", "notes/task")
	see(0, "", "lock", "list")
	see(0, "", "lock", "renew", "notes/task", "--profile", "agent")
	see(0, "", "lock", "release", "notes/task", "--profile", "agent")
	see(0, "", "send", "hello \x1b[31mred", "--topic", "greeting", "--to", agent)
	see(0, "from a pipe\n", "send", "--profile", "agent")
	see(0, "", "inbox", "--profile", "agent")
	see(0, "", "follow", "--topic", "greeting", "--count", "1", "--profile", "agent")
	see(0, "", "follow", "--events", "--after", "0", "--types", "file_write,message", "--count", "4")
	see(0, "", "balance", "--profile", "agent")
	see(0, "", "keys", "update", agent, "--budget", "100", "--clear", "path_scope_prefix")
	see(0, "", "keys", "list")
	see(0, "", "activity", "--limit", "3")
	see(0, "", "activity", "summary", "--by", "operation")
	see(0, "", "estimate", "10", "20")
	see(0, "", "feedback", "title", "text", "--category", "feature")
	see(0, "", "webhooks", "list")
	see(0, "", "refund", "list")
	see(1, "", "fund", "20")
	see(0, "", "keys", "revoke", agent)
	see(1, "", "whoami", "--profile", "agent")
	golden(t, "story.txt", seen.String())
	u.has(u.ok("forecast"), "balance: 58 units ($0.00058)", "OVER", "24h", "KEY") // its rates depend on how long the story took
}

func TestHelp(t *testing.T) {
	var help bytes.Buffer
	Help(&help, []Server{{"serve", "serve from a database"}})
	for _, c := range commands() {
		help.WriteString("\n== " + c.name + "\n")
		if !HelpOn(&help, strings.Fields(c.name)) {
			t.Errorf("%s has no help", c.name)
		}
		if c.summary == "" || c.detail == "" || c.run == nil || c.group == "" {
			t.Errorf("%s lacks something", c.name)
		}
	}
	golden(t, "help.txt", help.String())
	if HelpOn(&help, []string{"nothing"}) || !HelpOn(&help, []string{"keys"}) || Known("nothing") || !Known("keys") || !Known("ls") {
		t.Error("what there is and is not")
	}
}

func TestWrongCalls(t *testing.T) {
	u := &user{t: t, environ: []string{"HOME=" + t.TempDir()}}
	for _, c := range []struct {
		args string
		want string
	}{
		{"cat", "usage: aanet cat PATH"},
		{"cat a b", "usage: aanet cat PATH"},
		{"cat a --nothing", "nothing"},
		{"cat a --offset x", "whole number"},
		{"keys", "mint, list, update, revoke, rotate"},
		{"keys nothing", "mint, list"},
		{"lock run a", "-- COMMAND"},
		{"lock run a --lease soon -- true", "30s"},
		{"lock run a --lease 0s -- true", "1s to 1h"},
		{"lock run a --lease 2h -- true", "1s to 1h"},
		{"lock run a --lease forever -- true", "1s to 1h"},
		{"lock run a --lease 1500ms -- true", "whole seconds"},
		{"lock acquire a --lease 1.5s", "whole seconds"},
		{"lock acquire a --wait 500ms", "whole seconds"},
		{"lock renew a --lease 1.5s", "whole seconds"},
		{"inbox --wait 500ms", "whole seconds"},
		{"inbox --since yesterday", "2026-11-30T12:00:00Z"},
		{"create", "aanet create LABEL"},
		{"create --trial x", "label of its own"},
		{"create x --save ../../etc", "a profile's name"},
		{"whoami --profile a --key-file b", "both"},
		{"completion tcsh", "bash, zsh or fish"},
		{"put a --fence", "aanet lock run"},
		{"delete elsewhere", "elsewhere"},
	} {
		u.environ = append(u.environ, "AANET_KEY=aan_o0000000000000000000000_x")
		u.says(ExitUsage, "", strings.Fields(c.args)...)
		if !strings.Contains(u.errors, c.want) || strings.Count(u.errors, "\n") != 1 || u.out != "" {
			t.Errorf("%s: %q, %q", c.args, u.errors, u.out)
		}
	}
	u.environ = append(u.environ, "AANET_KEY=aan_bad")
	if u.says(ExitRefused, "", "cat", "a"); !strings.Contains(u.errors, "that is no key") {
		t.Error(u.errors)
	}
	if u.ok("cat", "--help"); !strings.Contains(u.out, "usage: aanet cat PATH") {
		t.Error(u.out)
	}
}
