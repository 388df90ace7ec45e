package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"aanet/api"
	"aanet/deploy/programs"
)

// tsReport is what testdata/tsclient/client.mjs prints.
type tsReport struct {
	Tools   []string
	Results []struct {
		Tool, Text, Thrown string
		IsError            bool
	}
}

func TestTheTypeScriptClientListsAndCallsEveryTool(t *testing.T) {
	folder := programs.Packages(t, "tsclient", os.DirFS("testdata/tsclient"))
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
	node := exec.CommandContext(ctx, programs.Node(w.t), "client.mjs", w.url, key, string(argument))
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
