package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"aanet/deploy/programs"
	"aanet/docs/snippets"
)

// prelude makes a shell that stops at the first thing that fails. In a block of sh a refusal is a failure, in one of
// console it is an answer to be compared. Targets of make are only tried, in the repository.
const prelude = `set -euo pipefail
curl() { if [ "$strict" = 1 ]; then command curl --fail-with-body "$@"; else command curl "$@"; fi; }
make() { command make -s -n -C "$REPOSITORY" "$@" >/dev/null; }
`

// claudeCode stands for the program of that name: it takes what "claude mcp add" takes, and lists the tools with it.
const claudeCode = `#!/usr/bin/env bash
set -euo pipefail
[ "$1 $2" = "mcp add" ]; shift 2
header= names=()
while [ $# -gt 0 ]; do
  case $1 in
    --transport) [ "$2" = http ]; shift 2 ;;
    --scope) shift 2 ;;
    --header) header=$2; shift 2 ;;
    -*) echo "unknown: $1" >&2; exit 2 ;;
    *) names+=("$1"); shift ;;
  esac
done
[ ${#names[@]} = 2 ]
curl -s --fail-with-body "${names[1]}" -H "$header" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
  -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | grep -q aanet_acquire_lock
echo "Added HTTP MCP server ${names[0]}"
`

// npmInstalled stands for npm: of what "npm install NAME@VERSION" asks for it takes what the tests have installed.
const npmInstalled = `#!/usr/bin/env bash
set -euo pipefail
[ "$1" = install ]; shift
for wanted; do
  name=${wanted%@*} folder=$PACKAGES/node_modules/${wanted%@*}
  [ "$name@$(jq -r .version "$folder/package.json")" = "$wanted" ] || { echo "not installed: $wanted" >&2; exit 1; }
done
ln -sfn "$PACKAGES/node_modules" node_modules
`

// prepare fills the folder that the document is played in: the programs it calls, and the folders it names.
func (s *session) prepare() {
	s.t.Helper()
	bin := filepath.Join(s.folder, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		s.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	for name, text := range map[string]string{"aanet": fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asCommand, self), "claude": claudeCode, "npm": npmInstalled} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, folder := range []string{"docs", "deploy"} {
		if err := os.Symlink(filepath.Join(repository, folder), filepath.Join(s.folder, folder)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// link makes a program callable by a name.
func (s *session) link(name, program string) {
	s.t.Helper()
	if err := os.Symlink(program, filepath.Join(s.folder, "bin", name)); err != nil && !os.IsExist(err) {
		s.t.Fatal(err)
	}
}

// environment is that of somebody who runs the service on this machine.
func (s *session) environment() []string {
	return []string{
		"PATH=" + filepath.Join(s.folder, "bin") + ":" + os.Getenv("PATH"), "HOME=" + s.folder, "TMPDIR=" + s.folder, "LANG=C.UTF-8", "NO_COLOR=1",
		"REPOSITORY=" + repository, "PACKAGES=" + s.packages, "DATABASE_URL=" + s.dsn, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
	}
}

func rootsOf(t *testing.T, server *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// listTools connects as the configuration of a client says, and lists the tools.
func (s *session) listTools(b snippets.Block) {
	s.t.Helper()
	key := must(s.t, s.p.url, "POST", "/v1/workspaces/trial", "", "").string("owner_key")
	text := configuredKey.ReplaceAllString(s.here(b.Text), key)
	address, authorization, err := configured(b.Language, text, key)
	if err != nil || address != s.p.url+"/mcp" || authorization != "Bearer "+key {
		s.t.Errorf("line %d: the configuration of %s leads to %q with %q (%v)", b.Line, b.Client(), address, authorization, err)
		return
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, address, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {authorization}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	answer, err := clients.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	var list struct {
		Result struct {
			Tools []struct{ Name string }
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&list); err != nil || len(list.Result.Tools) == 0 {
		s.t.Errorf("line %d: as %s is configured, it lists %d tools (%v)", b.Line, b.Client(), len(list.Result.Tools), err)
	}
}

// configured reads where a configuration leads, and with what header: the forms of the clients that docs/clients.md names.
func configured(language, text, key string) (address, authorization string, err error) {
	if language == "toml" {
		table := regexp.MustCompile(`(?m)^\[mcp_servers\.\w+\]\nurl = "([^"]+)"\nbearer_token_env_var = "AANET_KEY"$`).FindStringSubmatch(text)
		if table == nil {
			return "", "", fmt.Errorf("no server in %q", text)
		}
		return table[1], "Bearer " + key, nil
	}
	type server struct {
		Type, URL, Command string
		Headers            map[string]string
		Args               []string
		Env                map[string]string
		ServerURL          string `json:"server_url"`
		Authorization      string
	}
	var document struct {
		MCPServers, Servers map[string]server
		Tools               []server
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		return "", "", fmt.Errorf("configuration: %w", err)
	}
	for _, servers := range []map[string]server{document.MCPServers, document.Servers} {
		if s, there := servers["aanet"]; there && s.URL != "" {
			return s.URL, s.Headers["Authorization"], nil
		} else if there {
			return remote(s.Command, s.Args, s.Env)
		}
	}
	if len(document.Tools) == 1 && document.Tools[0].Type == "mcp" {
		return document.Tools[0].ServerURL, "Bearer " + document.Tools[0].Authorization, nil
	}
	return "", "", fmt.Errorf("no server in %q", text)
}

// remote reads the arguments of mcp-remote.
func remote(command string, args []string, env map[string]string) (address, authorization string, err error) {
	at := slices.Index(args, "--header")
	if command != "npx" || len(args) < 2 || !strings.HasPrefix(args[1], "mcp-remote") || at < 0 || at+1 >= len(args) {
		return "", "", fmt.Errorf("%s %q", command, args)
	}
	_, value, _ := strings.Cut(os.Expand(args[at+1], func(name string) string { return env[name] }), ":")
	return args[2], strings.TrimSpace(value), nil
}

// onePackageAtATime keeps compilations of snippets from taking all of a small machine.
var onePackageAtATime sync.Mutex

// compileGo checks the types of a program in a block; it may use the Go client.
func compileGo(t *testing.T, b snippets.Block) {
	t.Helper()
	folder := t.TempDir()
	ours, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(repository, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	module := strings.Replace(string(ours), "module aanet\n", "module snippet\n", 1) + fmt.Sprintf("\nrequire aanet v0.0.0\n\nreplace aanet => %s\n", repository)
	for name, text := range map[string]string{"go.mod": module, "go.sum": string(sums), "snippet.go": b.Text} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	onePackageAtATime.Lock()
	defer onePackageAtATime.Unlock()
	vet := exec.CommandContext(t.Context(), "go", append(append([]string{"vet"}, asThisWasBuilt()...), ".")...)
	vet.Dir = folder
	vet.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("line %d: %v\n%s", b.Line, err, out)
	}
}

// asThisWasBuilt are the flags that let a compilation find in the cache what was compiled for these tests.
func asThisWasBuilt() (flags []string) {
	info, ok := debug.ReadBuildInfo()
	if ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" }) {
		flags = append(flags, "-race")
	}
	return flags
}

// compilePython reads a program that needs packages which are not here.
func compilePython(t *testing.T, b snippets.Block) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "snippet.py")
	if err := os.WriteFile(file, []byte(b.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), programs.Python(t), "-m", "py_compile", file).CombinedOutput(); err != nil {
		t.Errorf("line %d: %v\n%s", b.Line, err, out)
	}
}
