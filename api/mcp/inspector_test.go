package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// Exit codes of the inspector's command line.
const (
	inspectorOK        = 0
	inspectorToolError = 5
)

// inspect runs the inspector's command line against this world.
func (w *world) inspect(key string, arguments ...string) (code int, out, faults string) {
	w.t.Helper()
	all := []string{"node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli", w.url, "--transport", "http", "--format", "json"}
	if key != "" {
		all = append(all, "--header", "Authorization: Bearer "+key)
	}
	out, faults, err := runNode(w.t, nil, append(all, arguments...)...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("%v\n%s", err, faults)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return code, out, faults
}

func TestTheInspectorFindsNothingToMend(t *testing.T) {
	w := newWorld(t)
	argument := fmt.Sprintf(`{"api_key":%q,"workspace_id":%q}`, w.subkey, w.workspace)
	call := func(tool, arguments string) []string {
		return []string{"--method", "tools/call", "--tool-name", tool, "--tool-args-json", arguments}
	}
	for _, step := range []struct {
		key       string
		arguments []string
		code      int
		holds     string
	}{
		// --strict looks for schemas that some host cannot read, and exits with 6 when it finds one.
		{w.owner, []string{"--method", "tools/list", "--strict"}, inspectorOK, "aanet_mint_subkey"},
		{"", []string{"--method", "tools/list", "--strict", "--protocol-era", "modern"}, inspectorOK, "aanet_mint_subkey"},
		{w.subkey, call("aanet_write_file", `{"path":"a","content":"one"}`), inspectorOK, "etag"},
		{w.subkey, call("aanet_write_file", `{"path":"a","content":"two","if_match":"other"}`), inspectorToolError, "CONFLICT"},
		{w.subkey, append(call("aanet_get_messages", `{"limit":0}`), "--protocol-era", "modern"), inspectorToolError, "INVALID_ARGUMENT"},
		{"", call("aanet_get_workspace", argument), inspectorOK, w.workspace},
		{w.owner, call("aanet_wait", `{"after":0,"wait_seconds":1}`), inspectorOK, "next_after"},
	} {
		code, out, faults := w.inspect(step.key, step.arguments...)
		if code != step.code || !strings.Contains(out+faults, step.holds) {
			t.Errorf("%v: exit code %d, want %d and %s\n%.2000s\n%s", step.arguments, code, step.code, step.holds, out, faults)
		}
	}
	code, out, faults := w.inspect(w.subkey, append(call("aanet_get_workspace", `{}`), "--load", "--load-requests", "60", "--load-concurrency", "6")...)
	var load struct {
		Result struct{ Requests, OK, ToolErrors, Errors int }
	}
	if err := json.Unmarshal([]byte(out), &load); err != nil || code != inspectorOK || load.Result.Requests != 60 || load.Result.OK != 60 {
		t.Errorf("load: exit code %d, %v: %s\n%s", code, err, out, faults)
	}
}
