package mcp_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aanet/api"
)

// nodeRequired makes the tests with the TypeScript client fail, not skip, where it cannot be had.
const nodeRequired = "AANET_TEST_NODE"

// tsReport is what testdata/tsclient/client.mjs prints.
type tsReport struct {
	Tools   []string
	Results []struct {
		Tool, Text, Thrown string
		IsError            bool
	}
}

func TestTheTypeScriptClientListsAndCallsEveryTool(t *testing.T) {
	folder := installedClient(t)
	w := newWorld(t)
	good := w.examples()
	refused := []example{ // of a tool with an output schema, and of one without
		{"aanet_get_messages", `{"limit":0}`}, {"aanet_read_file", `{"path":"missing"}`},
	}
	report := w.runClient(folder, w.owner, append(refused, good...))
	if len(report.Tools) != len(api.Tools()) {
		t.Errorf("%d tools: %v", len(report.Tools), report.Tools)
	}
	if len(report.Results) != len(refused)+len(good) {
		t.Fatalf("%d results", len(report.Results))
	}
	for i, r := range report.Results {
		if want := i < len(refused); r.Thrown != "" || r.IsError != want {
			t.Errorf("%s: refused is %v %s %s", r.Tool, r.IsError, r.Text, r.Thrown)
		}
	}
	if text := report.Results[0].Text; !strings.Contains(text, `"code":"INVALID_ARGUMENT"`) {
		t.Errorf("the model would see %s", text)
	}

	other := newWorld(t)
	report = other.runClient(folder, "", []example{
		{"aanet_get_workspace", fmt.Sprintf(`{"api_key":%q,"workspace_id":%q}`, other.subkey, other.workspace)},
		{"aanet_get_workspace", `{}`}, {"aanet_nothing", `{}`},
	})
	if r := report.Results; r[0].IsError || !r[1].IsError || !strings.Contains(r[1].Text, "UNAUTHENTICATED") || !strings.Contains(r[2].Thrown, "-32602") {
		t.Errorf("without a header: %+v", r)
	}
}

// runClient runs the client against this world.
func (w *world) runClient(folder, key string, calls []example) (report tsReport) {
	w.t.Helper()
	type call struct {
		Tool      string
		Arguments json.RawMessage
	}
	var list []call
	for _, c := range calls {
		list = append(list, call{c.Tool, json.RawMessage(c.Arguments)})
	}
	argument, err := json.Marshal(list)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	node := exec.CommandContext(ctx, "node", "client.mjs", w.url, key, string(argument))
	node.Dir = folder
	var faults strings.Builder
	node.Stderr = &faults
	out, err := node.Output()
	if err != nil {
		w.t.Fatalf("node: %v\n%s", err, faults.String())
	}
	if err := json.Unmarshal(out, &report); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	return report
}

// installedClient installs the client once per lock file, in the user's cache.
func installedClient(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			unavailable(t, "%s is not installed", program)
		}
	}
	files := []string{"package.json", "package-lock.json", ".npmrc", "client.mjs"}
	hash := sha256.New()
	contents := map[string][]byte{}
	for _, name := range files {
		b, err := os.ReadFile(filepath.Join("testdata", "tsclient", name))
		if err != nil {
			t.Fatal(err)
		}
		contents[name] = b
		hash.Write(b)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	parent := filepath.Join(cache, "aanet-test")
	folder := filepath.Join(parent, fmt.Sprintf("tsclient-%x", hash.Sum(nil)[:8]))
	if _, err := os.Stat(folder); err == nil {
		return folder
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	building, err := os.MkdirTemp(parent, "installing-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(building) })
	for name, b := range contents {
		if err := os.WriteFile(filepath.Join(building, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=20000")
	npm.Dir = building
	if out, err := npm.CombinedOutput(); err != nil {
		unavailable(t, "npm ci: %v\n%s", err, out)
	}
	// Another test process may have been faster; either is the same.
	if err := os.Rename(building, folder); err != nil {
		if _, there := os.Stat(folder); there != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// unavailable skips, or fails where the client is required.
func unavailable(t *testing.T, format string, args ...any) {
	t.Helper()
	reason := fmt.Sprintf(format, args...)
	if os.Getenv(nodeRequired) != "" {
		t.Fatalf("%s is set, but %s", nodeRequired, reason)
	}
	t.Skipf("the TypeScript client is not tested: %s", reason)
}
