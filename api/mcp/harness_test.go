package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/api/mcp"
	"aanet/store"
	"aanet/store/storetest"
)

// world is a running door with one workspace of an owner and a sub-key.
type world struct {
	t        *testing.T
	url      string
	store    *store.Store
	change   []func(*mcp.Options)
	registry *prometheus.Registry
	log      *apitest.Transcript
	spoken   sync.Map // the protocol versions that clients named

	workspace, owner, subkey, subkeyID string
}

func newWorld(t *testing.T, change ...func(*mcp.Options)) *world {
	t.Helper()
	w := &world{t: t, log: &apitest.Transcript{}}
	w.change = change
	w.store = w.open(storetest.Database(t))
	w.serve(w.store)

	var made struct {
		WorkspaceID string `json:"workspace_id"`
		OwnerKey    string `json:"owner_key"`
	}
	w.call("", "aanet_create_trial_workspace", `{}`).decode(t, &made)
	w.workspace, w.owner = made.WorkspaceID, made.OwnerKey
	var minted struct {
		SubkeyID string `json:"subkey_id"`
		Key      string `json:"key"`
	}
	w.call(w.owner, "aanet_mint_subkey", `{"label":"worker"}`).decode(t, &minted)
	w.subkey, w.subkeyID = minted.Key, minted.SubkeyID
	return w
}

// open opens a database until the test ends.
func (w *world) open(url string) *store.Store {
	w.t.Helper()
	s, err := store.Open(w.t.Context(), store.Options{URL: url, Lanes: 2, PoolSize: 4, Registerer: prometheus.NewRegistry()})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			w.t.Error(err)
		}
	})
	return s
}

// serve starts a door on a store, in place of the one before.
func (w *world) serve(s *store.Store) {
	log := slog.New(slog.NewTextHandler(w.log, nil))
	w.registry = prometheus.NewRegistry()
	options := mcp.Options{Log: log, Metrics: api.NewMetrics(w.registry), Version: "test"}
	for _, c := range w.change {
		c(&options)
	}
	door := mcp.New(api.NewService(s, api.Config{TrialTTL: time.Hour}, time.Now, log), options)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if version := r.Header.Get("Mcp-Protocol-Version"); version != "" {
			w.spoken.Store(version, true)
		}
		door.ServeHTTP(rw, r)
	}))
	w.t.Cleanup(server.Close)
	w.url = server.URL
}

// reply is an HTTP answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// post sends a body; headers are "Name: value" and replace the usual ones, or drop them when the value is empty.
func (w *world) post(body string, headers ...string) reply { return w.send("POST", body, headers...) }

func (w *world) send(method, body string, headers ...string) reply {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		case r.Header.Get(name) != "" && name == "Authorization":
			r.Header.Add(name, value)
		default:
			r.Header.Set(name, value)
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply{answer.StatusCode, answer.Header, string(text)}
}

// outcome is what a tool call came to.
type outcome struct {
	Result *struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
		Meta       map[string]any  `json:"_meta"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// problem is the refusal in an outcome.
type problem struct {
	Status int              `json:"status"`
	Code   api.Code         `json:"code"`
	Detail string           `json:"detail"`
	Errors []api.FieldFault `json:"errors"`
}

// call calls a tool with arguments as they are written, on a connection with the key ("" for none).
func (w *world) call(key, tool, arguments string, headers ...string) outcome {
	w.t.Helper()
	if key != "" {
		headers = append(headers, "Authorization: Bearer "+key)
	}
	r := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`, headers...)
	return parse(w.t, r)
}

func parse(t *testing.T, r reply) outcome {
	t.Helper()
	var o outcome
	if err := json.Unmarshal([]byte(r.body), &o); err != nil {
		t.Fatalf("HTTP %d %s: %v", r.status, r.body, err)
	}
	return o
}

// text is the one text of a result.
func (o outcome) text(t *testing.T) string {
	t.Helper()
	if o.Result == nil || len(o.Result.Content) != 1 || o.Result.Content[0].Type != "text" {
		t.Fatalf("no result with one text: %+v %+v", o.Result, o.Error)
	}
	return o.Result.Content[0].Text
}

// decode reads a successful result.
func (o outcome) decode(t *testing.T, into any) {
	t.Helper()
	text := o.text(t)
	if o.Result.IsError {
		t.Fatalf("refused: %s", text)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// refused gives the refusal, after checking that it has the form of one.
func (o outcome) refused(t *testing.T) problem {
	t.Helper()
	text := o.text(t)
	if !o.Result.IsError || o.Result.Structured != nil {
		t.Fatalf("not a refusal: %s (structured: %s)", text, o.Result.Structured)
	}
	var p problem
	if err := json.Unmarshal([]byte(text), &p); err != nil || p.Status == 0 || p.Code == "" || p.Detail == "" {
		t.Fatalf("no problem object: %s", text)
	}
	if cost := o.Result.Meta["aanet/cost"]; cost != 0.0 {
		t.Errorf("a refusal cost %v", cost)
	}
	return p
}

// counted is how many calls of an operation ended with a status.
func (w *world) counted(operation, status string) float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "aanet_requests_total" {
			continue
		}
		for _, m := range family.GetMetric() { // labels come sorted: door, operation, status
			if l := m.GetLabel(); l[0].GetValue() == "mcp" && l[1].GetValue() == operation && l[2].GetValue() == status {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}
