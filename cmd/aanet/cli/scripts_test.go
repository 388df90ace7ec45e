package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// What scripts rely on: the service's own objects, one line each, and the exit code.
func TestJSON(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	var made struct {
		WorkspaceID string `json:"workspace_id"`
		OwnerKey    string `json:"owner_key"`
		Expires     string `json:"trial_expires_at"`
	}
	if err := json.Unmarshal([]byte(u.ok("create", "--trial", "--json")), &made); err != nil || made.OwnerKey == "" || len(made.Expires) != len("2026-11-30T12:00:00.000001Z") {
		t.Fatal(u.out, err)
	}
	u.environ = append(u.environ, "AANET_KEY="+made.OwnerKey)
	for _, name := range []string{"a", "b c"} {
		u.says(0, "x", "put", "d/"+name)
		u.ok("send", "message "+name)
		u.ok("lock", "acquire", "lock "+name)
	}
	if got := u.ok("ls", "d", "--json"); got != "\"a\"\n\"b c\"\n" {
		t.Error(got)
	}
	for _, args := range [][]string{
		{"inbox"}, {"follow", "--count", "2"}, {"follow", "--events", "--after", "0", "--count", "2"}, {"lock", "list"}, {"activity", "--limit", "2"},
		{"cat", "d/a"}, {"whoami"}, {"pricing"}, {"estimate", "1", "2"}, {"forecast"}, {"activity", "summary", "--by", "subkey"},
	} {
		for line := range strings.Lines(u.ok(append(args, "--json")...)) {
			var object map[string]any
			if err := json.Unmarshal([]byte(line), &object); err != nil {
				t.Errorf("%v: %q: %v", args, line, err)
			}
			for _, name := range []string{"ts", "lease_expires_at"} {
				if stamp, ok := object[name].(string); ok && len(stamp) != len("2026-11-30T12:00:00.000001Z") {
					t.Errorf("%v: %s is %q", args, name, stamp)
				}
			}
		}
		if strings.TrimSpace(u.out) == "" {
			t.Errorf("%v prints nothing", args)
		}
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.ok("create", "--trial", "--save", "first")
	u.says(ExitRefused, "", "cat", "nothing")
	u.has(u.errors, "NOT_FOUND: ", "(request ")
	u.says(ExitRefused, "", "whoami", "--profile", "nobody")
	u.has(u.errors, `no profile "nobody"`)
	u.service.Away(true)
	u.says(ExitNotReached, "", "cat", "nothing")
	u.has(u.errors, "no answer")
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	u.says(ExitNotReached, "", "cat", "nothing", "--url", "http://"+closed.Addr().String())
	u.says(ExitRefused, "", "cat", "nothing", "--url", "http://aanet.example")
	u.has(u.errors, "must be https")
	u.environ = []string{"HOME=" + t.TempDir()}
	u.says(ExitRefused, "", "whoami")
	u.has(u.errors, "no key")
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.ok("create", "--trial", "--save", "first")
	first := field(u.out, "owner key")
	file := filepath.Join(u.home, ".config", "aanet", "profiles.json")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	u.says(0, first+"\n", "profile", "add", "second")
	u.ok("profile", "use", "second")
	if listed := u.ok("profile", "list"); strings.Contains(listed, "aan_") || !strings.Contains(listed, "*  second") {
		t.Error(listed)
	}
	// The key of a profile goes to its own service, whatever AANET_URL says.
	u.environ = append(u.environ, "AANET_URL=http://127.0.0.1:1")
	u.ok("whoami")
	u.environ = append(u.environ, "AANET_PROFILE=first")
	u.has(u.ok("whoami"), "profile    first")
	u.ok("keys", "rotate")
	if renewed := field(u.out, "key"); renewed == "" || renewed == first {
		t.Error(u.out)
	}
	u.ok("whoami") // with the new key, which ends the old one
	u.says(ExitRefused, "", "whoami", "--profile", "second")
	u.ok("profile", "rm", "second")
	u.says(ExitRefused, "", "profile", "use", "second")
	u.says(ExitUsage, "no-key\n", "profile", "add", "third")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	u.says(ExitRefused, "", "whoami")
	u.has(u.errors, "chmod 600")
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v is left, %v", entries, err)
	}
	key := filepath.Join(u.home, "key")
	if err := os.WriteFile(key, []byte(first+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u.says(ExitRefused, "", "whoami", "--key-file", key, "--url", u.service.URL) // a key of before the rotation
	u.has(u.errors, "UNAUTHENTICATED")
}

// Completion is asked as bash asks it.
func TestCompletionInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	Complete([]Server{{"serve", "serve from a database"}})
	t.Cleanup(func() { Complete(nil) })
	u := &user{t: t, environ: []string{"HOME=" + t.TempDir()}}
	script := u.ok("completion", "bash")
	for _, c := range []struct {
		typed string
		want  []string
		not   string
	}{
		{"", []string{"ls", "keys", "lock", "serve", "help"}, "mint"},
		{"ke", []string{"keys"}, "ls"},
		{"keys ", []string{"mint", "list", "revoke"}, "ls"},
		{"keys mint --s", []string{"--scope", "--save"}, "--budget"},
		{"keys mint label --", []string{"--scope", "--json"}, "--if-match"},
		{"activity ", []string{"summary", "--limit"}, "mint"},
		{"completion ", []string{"bash", "zsh", "fish"}, "ls"},
		{"lock run a -- l", nil, "list"},
	} {
		words := append([]string{"aanet"}, strings.Split(c.typed, " ")...)
		var quotedWords []string
		for _, w := range words {
			quotedWords = append(quotedWords, quoted(w))
		}
		ask := script + "\nCOMP_WORDS=(" + strings.Join(quotedWords, " ") + ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_aanet\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
		out, err := exec.Command(bash, "--norc", "-c", ask).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		offered := strings.Fields(string(out))
		for _, want := range c.want {
			if !slices.Contains(offered, want) {
				t.Errorf("%q: no %s in %v", c.typed, want, offered)
			}
		}
		if slices.Contains(offered, c.not) {
			t.Errorf("%q: %s in %v", c.typed, c.not, offered)
		}
	}
}

// The other shells' scripts name every command; what shell is there reads them.
func TestOtherCompletions(t *testing.T) {
	u := &user{t: t, environ: []string{"HOME=" + t.TempDir()}}
	for shell, check := range map[string][]string{"zsh": {"-n"}, "fish": {"--no-execute"}} {
		script := u.ok("completion", shell)
		for _, c := range commands() {
			u.has(script, strings.Fields(c.name)[0])
		}
		program, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		read := exec.Command(program, check...)
		read.Stdin = strings.NewReader(script)
		if out, err := read.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}

func TestProfilesKeptAtOnceAreAllKept(t *testing.T) {
	t.Parallel()
	file := profileFile(filepath.Join(t.TempDir(), "aanet", "profiles.json"))
	const many = 30
	var keeping sync.WaitGroup
	for i := range many {
		keeping.Go(func() {
			if err := file.keep(fmt.Sprint("agent-", i), profile{Key: fmt.Sprint("key ", i)}, false); err != nil {
				t.Error(err)
			}
		})
	}
	keeping.Wait()
	kept, err := file.load()
	if err != nil || len(kept.Profiles) != many {
		t.Errorf("%d of %d profiles are kept, %v", len(kept.Profiles), many, err)
	}
}
