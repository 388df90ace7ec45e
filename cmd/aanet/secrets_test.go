package main

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aanet/store/storetest"
)

// TestSecretsStaySecret: after calls of all kinds, good and bad, no key stands in the log, in the metrics, in a
// list or in an answer but the one that made it.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	dsn := storetest.Database(t)
	p := serving(t, dsn, "AANET_LOG_LEVEL=debug")
	made := must(t, p.url, "POST", "/v1/workspaces", "", `{"label":"secrets"}`)
	ws, owner := made.string("workspace_id"), made.string("owner_key")
	operates(t, []string{"DATABASE_URL=" + dsn}, "operator", "credit", ws, "1000", "--reason", "secrets")
	minted := must(t, p.url, "POST", "/v1/workspaces/"+ws+"/subkeys", owner, `{"label":"agent"}`)
	id, key := minted.string("subkey_id"), minted.string("key")
	trial := must(t, p.url, "POST", "/v1/workspaces/trial", "", "").string("owner_key")
	secrets := []string{owner, key, trial}

	var shown strings.Builder
	see := func(r reply) { fmt.Fprintln(&shown, r.status, r.header, r.text) }
	at := "/v1/workspaces/" + ws
	for _, secret := range secrets {
		arguments := fmt.Sprintf(`{"api_key":%q,"workspace_id":%q,"path":"f","content":"x"}`, secret, ws)
		see(tool(t, p.url, "aanet_write_file", "", arguments))
		see(tool(t, p.url, "aanet_list_subkeys", "", arguments))
		see(tool(t, p.url, "aanet_get_remaining_balance", "", fmt.Sprintf(`{"api_key":%q,"workspace_id":7}`, secret)))
		see(tool(t, p.url, "aanet_write_file", "", fmt.Sprintf(`{"api_key":%q,"api_key":%q,"path":"f"}`, secret, secret)))
		see(ask(t, p.url, "GET", at+"/files/f", secret, ""))
		see(ask(t, p.url, "GET", at+"/files/f?api_key="+secret, "", ""))
		see(ask(t, p.url, "GET", at+"/messages?limit="+secret, owner, ""))
		see(ask(t, p.url, "PUT", at+"/files/f", owner, fmt.Sprintf(`{"content":%q,"api_key":%q,%q:1}`, "x", secret, "key")))
		see(ask(t, p.url, "PUT", at+"/files/f", owner, fmt.Sprintf(`{"content":"x","if_match":%q}`, secret)))
		see(ask(t, p.url, "GET", "/nowhere/"+secret, secret, ""))
		see(ask(t, p.url, "GET", at, secret[:len(secret)-1]+"~", ""))
		see(ask(t, p.url, "BREW", at+"?key="+secret, secret, ""))
	}
	see(must(t, p.url, "DELETE", at+"/subkeys/"+id, owner, ""))
	for _, list := range []string{"/subkeys", "/activity", "/activity/summary", "/forecast", "/locks", "/messages", ""} {
		see(must(t, p.url, "GET", at+list, owner, ""))
	}
	if !strings.Contains(p.log.String(), "/files/{path...}") {
		t.Error("the log does not tell of calls, so this test shows nothing")
	}
	for where, text := range map[string]string{"log": p.log.String() + p.out.String(), "metrics": p.metrics(t), "answers": shown.String()} {
		for _, secret := range secrets {
			if i := strings.Index(text, secret[28:60]); i >= 0 { // the random part
				t.Errorf("a key stands in the %s: …%.200q", where, text[max(0, i-100):])
			}
		}
	}
}

var series = regexp.MustCompile(`(?m)^[a-z_]+(?:\{[^}]*\})? `)

// seriesOf are the time series of our own metrics.
func seriesOf(metrics string) map[string]bool {
	all := map[string]bool{}
	for _, s := range series.FindAllString(metrics, -1) {
		if strings.HasPrefix(s, "aanet_") {
			all[s] = true
		}
	}
	return all
}

// TestMetricsDoNotGrow: names that tenants choose make no time series.
func TestMetricsDoNotGrow(t *testing.T) {
	t.Parallel()
	p := serving(t, storetest.Database(t))
	trial := must(t, p.url, "POST", "/v1/workspaces/trial", "", "")
	ws, key := trial.string("workspace_id"), trial.string("owner_key")
	visit := func(i int) {
		for _, path := range []string{"/v1/workspaces/%s/files/p%d", "/v1/workspaces/%s/locks/l%d", "/%s/nowhere%d", "/v1/%s%d"} {
			ask(t, p.url, "GET", fmt.Sprintf(path, ws, i), key, "")
		}
		ask(t, p.url, fmt.Sprintf("METHOD%d", i), "/v1/workspaces/"+ws, key, "")
		ask(t, p.url, fmt.Sprintf("METHOD%d", i), "/", key, "")
		tool(t, p.url, "aanet_read_file", key, fmt.Sprintf(`{"path":"p%d"}`, i))
		ask(t, p.url, "POST", "/mcp", key, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"m%d"}`, i))
		ask(t, p.url, "POST", "/mcp", key, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t%d"}}`, i))
		ask(t, p.url, "GET", fmt.Sprintf("/v1/workspaces/00000000-0000-0000-0000-%012d", i), key, "")
	}
	visit(0)
	visit(1)
	before := seriesOf(p.metrics(t))
	for i := range 100 {
		visit(2 + i)
	}
	after := seriesOf(p.metrics(t))
	maps.DeleteFunc(after, func(s string, _ bool) bool { return before[s] })
	if len(before) < 20 || len(after) > 0 {
		t.Errorf("there were %d series and came %q", len(before), slices.Sorted(maps.Keys(after)))
	}
}

var inner = regexp.MustCompile(`(?i)sqlstate|pgx|pgconn|goroutine|\.go:|\.sql|select |insert |relation|postgres|/tmp|/root|panic|echo|json:|strconv|net/http|runtime error|0x[0-9a-f]{6}`)

// TestRefusalsShowNothingInside: whatever is wrong, the answer is a problem object in our own words.
func TestRefusalsShowNothingInside(t *testing.T) {
	t.Parallel()
	p := serving(t, storetest.Database(t))
	trial := must(t, p.url, "POST", "/v1/workspaces/trial", "", "")
	at, key := "/v1/workspaces/"+trial.string("workspace_id"), trial.string("owner_key")
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/nowhere", ""}, {"GET", "/v1", ""}, {"GET", "/v1/", ""}, {"POST", "/v1/nowhere", "{}"}, {"PATCH", at, "{}"}, {"TRACE", at, ""}, {"BREW", "/", ""},
		{"DELETE", "/docs", ""}, {"GET", at + "/files/%ff", ""}, {"GET", at + "/files/a%00b", ""}, {"GET", at + "/files/../x", ""},
		{"PUT", at + "/files/f", "{"}, {"PUT", at + "/files/f", `{"content":1e999}`}, {"PUT", at + "/files/f", `null`}, {"PUT", at + "/files/f", `{"content":"x"}{}`},
		{"PUT", at + "/files/f", `{"content":` + strings.Repeat("[", 20_000)}, {"PUT", at + "/locks/l", `{"lease_seconds":9223372036854775808}`},
		{"GET", at + "/messages?since=294277-01-01T00:00:00Z", ""}, {"GET", at + "/messages?limit=%00", ""}, {"GET", at + "/activity?before_seq=1e400", ""},
		{"PATCH", at + "/subkeys/x", "{}"}, {"DELETE", at + "/subkeys/" + strings.Repeat("z", 4_000), ""}, {"GET", "/v1/workspaces/'; drop table files; --", ""},
		{"POST", "/v1/workspaces", `{"label":"\ud800"}`}, {"GET", at + "/files/x?offset=-1&max_bytes=x", ""}, {"GET", at + "?a=%zz", ""}, {"POST", "/register", "{}"},
	} {
		r := ask(t, p.url, c.method, strings.ReplaceAll(c.path, " ", "%20"), key, c.body)
		if r.status < 400 || r.status > 499 || r.body == nil {
			t.Errorf("%s %.80s: %d %.300s", c.method, c.path, r.status, r.text)
		}
		if found := inner.FindString(r.text); found != "" {
			t.Errorf("%s %.80s shows %q: %s", c.method, c.path, found, r.text)
		}
		if c.path != "/register" && r.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %.80s: %s", c.method, c.path, r.header.Get("Content-Type"))
		}
		if strings.HasPrefix(c.path, "/v1/") && (r.header.Get("X-Request-Id") == "" || r.header.Get("X-AANet-Cost") != "0") {
			t.Errorf("%s %.80s: %v", c.method, c.path, r.header)
		}
	}
	if r := ask(t, p.url, http.MethodGet, "/"+strings.Repeat("x", 30_000), "", ""); r.status != 404 {
		t.Errorf("a long address: %d", r.status)
	}
}
