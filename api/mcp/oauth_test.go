package mcp_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aanet/api"
	"aanet/api/mcp"
	"aanet/api/rest"
)

// serveBothDoors puts the MCP door where cmd/aanet puts it: beside REST and its pages, at /mcp.
func (w *world) serveBothDoors(hosts ...string) {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(w.log, nil))
	metrics := api.NewMetrics(prometheus.NewRegistry())
	svc := api.NewService(w.store, api.Config{TrialTTL: time.Hour}, time.Now, log)
	server := httptest.NewServer(rest.New(svc, rest.Options{
		PublicURL: "http://127.0.0.1", AllowedHosts: hosts, Log: log, Metrics: metrics, Version: "test",
		MCP: mcp.New(svc, mcp.Options{AllowedHosts: hosts, Log: log, Metrics: metrics, Version: "test"}),
	}))
	w.t.Cleanup(server.Close)
	w.url = server.URL + "/mcp"
}

const noOAuth = "This server has no OAuth. Send your key as Authorization: Bearer <key>."

// TestClientsThatLookForOAuthStayWithTheKey: hosts with an OAuth provider try it after a 401, or because they are told to;
// what they find must neither lead them away from a configured key nor leave their users without a word.
func TestClientsThatLookForOAuthStayWithTheKey(t *testing.T) {
	w := newWorld(t)
	w.serveBothDoors()
	for name, key := range map[string]string{"a good key": w.subkey, "a wrong key": w.subkey[:len(w.subkey)-1] + "!"} {
		var seen struct {
			Flows       []string
			Connections []struct {
				Tools   int
				IsError bool
				Text    string
			}
			Redirected int
		}
		out, faults, err := runNode(t, map[string]any{"URL": w.url, "Key": key}, "oauth.mjs")
		if err != nil {
			t.Fatalf("%v\n%s", err, faults)
		}
		if err := json.Unmarshal([]byte(out), &seen); err != nil {
			t.Fatal(err)
		}
		for _, text := range seen.Flows {
			if !strings.Contains(text, noOAuth) {
				t.Errorf("%s: a user would read %q", name, text)
			}
		}
		for _, c := range seen.Connections {
			wrong := key != w.subkey
			if c.Tools == 0 || c.IsError != wrong || wrong != strings.Contains(c.Text, "UNAUTHENTICATED") {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if len(seen.Flows) != 2 || len(seen.Connections) != 2 || seen.Redirected != 0 {
			t.Errorf("%s: %+v", name, seen)
		}
	}
}

func TestThereIsNoOAuthToBeFound(t *testing.T) {
	w := newWorld(t)
	w.serveBothDoors()
	base := strings.TrimSuffix(w.url, "/mcp")
	wrong := "Authorization: Bearer " + w.owner[:len(w.owner)-1] + "!"
	if r := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"aanet_get_workspace"}}`, wrong); r.status != 200 || r.header.Get("WWW-Authenticate") != "" {
		t.Errorf("a wrong key: %d %v", r.status, r.header)
	}
	for _, what := range []string{"oauth-protected-resource", "oauth-authorization-server", "openid-configuration"} {
		for _, path := range []string{"/.well-known/" + what, "/.well-known/" + what + "/mcp", "/mcp/.well-known/" + what} {
			w.url = base + path
			r := w.send("GET", "", "Accept: text/html")
			if r.status != 404 || r.header.Get("Content-Type") != "application/problem+json" || !strings.Contains(r.body, "NOT_FOUND") {
				t.Errorf("%s: %d %v %s", path, r.status, r.header, r.body)
			}
		}
	}
	w.url = base + "/register"
	if r := w.post(`{"redirect_uris":[]}`); r.status != http.StatusBadRequest || !strings.Contains(r.body, noOAuth) || !strings.Contains(r.body, "invalid_client_metadata") {
		t.Errorf("register: %d %s", r.status, r.body)
	}
	w.url = base + "/v1/balance"
	if r := w.send("GET", "", wrong); r.status != 401 || r.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("REST: %d %v", r.status, r.header)
	}
}
