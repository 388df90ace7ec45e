package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"aanet/api"
	"aanet/api/mcp"
	"aanet/deploy/programs"
	"aanet/store"
)

// clientCall is a call of a real client, and the code that its model must read; "" for success.
type clientCall struct {
	Tool      string
	Arguments json.RawMessage
	Progress  bool // is asked for, so that the answer is a stream of events
	refusal   string
}

// clientSession is one connection: the key in its header, and its calls.
type clientSession struct {
	Key   string
	Calls []clientCall
	tools int
}

// clientReport is what a client saw in one session.
type clientReport struct {
	Tools   []string
	Results []struct {
		Text, Thrown string
		IsError      bool
	}
}

var fullFile = strings.Repeat("0123456789abcdef", api.FileBytesMax/16)

// clientStory is what every client must manage, in an order that works.
func (w *world) clientStory() []clientSession {
	w.t.Helper()
	act := store.Act{By: "cli:test", Reason: "for large files"}
	if err := w.store.Credit(w.t.Context(), act, uuid.MustParse(w.workspace), uuid.New(), 100_000, false); err != nil {
		w.t.Fatal(err)
	}
	var poor struct{ Key string }
	w.call(w.owner, "aanet_mint_subkey", `{"label":"poor","budget_cap":9}`).decode(w.t, &poor)
	call := func(tool, arguments, refusal string) clientCall {
		return clientCall{Tool: tool, Arguments: json.RawMessage(arguments), refusal: refusal}
	}
	streamed := func(c clientCall) clientCall { c.Progress = true; return c }
	full := fmt.Sprintf(`{"path":"full","content":%q}`, fullFile)
	all, anyKey := len(api.Tools()), 0
	for _, op := range api.Tools() {
		if op.Who != api.Owner {
			anyKey++
		}
	}
	story := []clientSession{
		{w.owner, []clientCall{
			call("aanet_write_file", full, ""), call("aanet_read_file", `{"path":"full"}`, ""),
			call("aanet_wait", `{"after":0}`, ""), call("aanet_wait", `{"wait_seconds":1}`, ""),
			streamed(call("aanet_wait", `{"wait_seconds":1}`, "")), streamed(call("aanet_read_file", `{"path":"full"}`, "")),
			streamed(call("aanet_read_file", `{"path":"none"}`, "NOT_FOUND")),
			call("aanet_write_file", `{"path":"full","content":"","if_match":"other"}`, "CONFLICT"), // 409
			call("aanet_get_messages", `{"limit":0}`, "INVALID_ARGUMENT"),                           // 422, of a tool with an output schema
			call("aanet_get_messages", `{"topic":"none"}`, ""),
		}, all},
		{poor.Key, []clientCall{call("aanet_write_file", full, "BUDGET_EXCEEDED")}, anyKey}, // 402
		{"", []clientCall{
			call("aanet_get_workspace", fmt.Sprintf(`{"api_key":%q,"workspace_id":%q}`, w.subkey, w.workspace), ""),
			call("aanet_get_workspace", `{}`, "UNAUTHENTICATED"), call("aanet_nothing", `{}`, "-32602"),
		}, all},
		{"aan_wrong", []clientCall{call("aanet_get_workspace", `{}`, "UNAUTHENTICATED")}, all},
	}
	last := clientSession{Key: w.owner, tools: all}
	// Two need money and a facilitator; their own stories call them through this door.
	called := map[string]bool{"aanet_deposit": true, "aanet_request_refund": true}
	for _, e := range w.examples() {
		last.Calls = append(last.Calls, call(e.Tool, e.Arguments, ""))
		called[e.Tool] = true
	}
	if len(called) != all {
		w.t.Errorf("examples of %d tools of %d", len(called), all)
	}
	return append(story, last)
}

// check holds what a client saw against the story.
func (s clientSession) check(t *testing.T, r clientReport) {
	t.Helper()
	if len(r.Tools) != s.tools || len(r.Results) != len(s.Calls) {
		t.Fatalf("%d tools and %d results, want %d and %d", len(r.Tools), len(r.Results), s.tools, len(s.Calls))
	}
	for i, c := range s.Calls {
		got := r.Results[i]
		switch {
		case c.refusal == "-32602": // no result for the model: an error of the host's
			if !strings.Contains(got.Thrown, c.refusal) && !strings.Contains(got.Thrown, "unknown tool") {
				t.Errorf("%s: %.300q %.300q", c.Tool, got.Thrown, got.Text)
			}
		case got.Thrown != "" || got.IsError != (c.refusal != "") || !strings.Contains(got.Text, c.refusal):
			t.Errorf("%s %.200s: want %q: %.300s %.300s", c.Tool, c.Arguments, c.refusal, got.Thrown, got.Text)
		case c.Tool == "aanet_read_file" && string(c.Arguments) == `{"path":"full"}` && !strings.Contains(got.Text, fullFile):
			t.Errorf("a file of 1 MiB came back as %d bytes", len(got.Text))
		}
	}
}

func TestRealClients(t *testing.T) {
	for name, client := range map[string]struct {
		run    func(*world, []clientSession) []clientReport
		speaks string
	}{
		"Go":         {(*world).runGoClient, "2026-07-28"},
		"v1":         {runNodeClient("v1"), "2025-11-25"},
		"v2-legacy":  {runNodeClient("v2-legacy"), "2025-11-25"},
		"v2-auto":    {runNodeClient("v2-auto"), "2026-07-28"},
		"mcp-remote": {runNodeClient("mcp-remote"), "2025-11-25"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *mcp.Options) { o.ProgressEvery = 50 * time.Millisecond })
			story := w.clientStory()
			reports := client.run(w, story)
			if len(reports) != len(story) {
				t.Fatalf("%d sessions of %d", len(reports), len(story))
			}
			for i, s := range story {
				s.check(t, reports[i])
			}
			if _, spoken := w.spoken.Load(client.speaks); !spoken {
				t.Errorf("does not speak %s", client.speaks)
			}
			w.spoken.Range(func(version, _ any) bool {
				if version != client.speaks {
					t.Errorf("speaks %v, not %s", version, client.speaks)
				}
				return true
			})
		})
	}
}

// nodeFolder is a folder with our scripts and the packages they use.
func nodeFolder(t *testing.T) string {
	t.Helper()
	packages, folder := programs.Packages(t, "mcp-clients", os.DirFS("testdata/node")), t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/scripts")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// runNode runs a script of ours or of a package with a JSON value at its input.
func runNode(t *testing.T, input any, arguments ...string) (out, faults string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // for one that hangs
	defer cancel()
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	node := exec.CommandContext(ctx, programs.Node24(t), arguments...)
	node.Dir, node.Stdin, node.Stdout, node.Stderr = nodeFolder(t), bytes.NewReader(text), &stdout, &stderr
	node.Env = append(os.Environ(), "HOME="+node.Dir) // nothing of the user's settings counts, nothing is left there
	err = node.Run()
	return stdout.String(), stderr.String(), err
}

func runNodeClient(kind string) func(*world, []clientSession) []clientReport {
	return func(w *world, sessions []clientSession) (reports []clientReport) {
		w.t.Helper()
		out, faults, err := runNode(w.t, map[string]any{"Client": kind, "URL": w.url, "Sessions": sessions}, "client.mjs")
		if err != nil {
			w.t.Fatalf("%v\n%s", err, faults)
		}
		if err := json.Unmarshal([]byte(out), &reports); err != nil {
			w.t.Fatalf("%v: %.1000s\n%s", err, out, faults)
		}
		return reports
	}
}

// bearer is a client's transport with a key.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (w *world) runGoClient(sessions []clientSession) (reports []clientReport) {
	w.t.Helper()
	for _, s := range sessions {
		client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(w.t.Context(), &sdk.StreamableClientTransport{
			Endpoint: w.url, HTTPClient: &http.Client{Transport: bearer(s.Key)},
		}, nil)
		if err != nil {
			w.t.Fatal(err)
		}
		list, err := session.ListTools(w.t.Context(), nil)
		if err != nil {
			w.t.Fatal(err)
		}
		report := clientReport{}
		for _, tool := range list.Tools {
			report.Tools = append(report.Tools, tool.Name)
		}
		for _, c := range s.Calls {
			parameters := &sdk.CallToolParams{Name: c.Tool, Arguments: c.Arguments}
			if c.Progress {
				parameters.SetProgressToken("t")
			}
			result, err := session.CallTool(w.t.Context(), parameters)
			seen := struct {
				Text, Thrown string
				IsError      bool
			}{}
			if err != nil {
				seen.Thrown = err.Error()
			} else {
				seen.IsError, seen.Text = result.IsError, result.Content[0].(*sdk.TextContent).Text
			}
			report.Results = append(report.Results, seen)
		}
		if err := session.Close(); err != nil {
			w.t.Error(err)
		}
		reports = append(reports, report)
	}
	return reports
}

// TestTheClientMatrixNamesWhatIsRun keeps the versions in docs/mcp.md.
func TestTheClientMatrixNamesWhatIsRun(t *testing.T) {
	doc, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/node/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var packages struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &packages); err != nil {
		t.Fatal(err)
	}
	for name, version := range packages.Dependencies {
		version = version[strings.LastIndex(version, "@")+1:]
		if !strings.HasPrefix(name, "conformance") && !strings.Contains(string(doc), "`"+name+"` "+version) || !strings.Contains(string(doc), version) {
			t.Errorf("docs/mcp.md has no word of %s %s", name, version)
		}
	}
}
