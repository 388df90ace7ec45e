package mcp_test

import (
	"strings"
	"testing"

	"aanet/api"
	"aanet/api/mcp"
)

const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

func TestHTTPManners(t *testing.T) {
	w := newWorld(t, func(o *mcp.Options) { o.AllowedOrigins = []string{"https://app.example.com"} })
	own := strings.TrimPrefix(w.url, "http://")
	for name, test := range map[string]struct {
		method, body string
		headers      []string
		status       int
		holds        string
	}{
		"ping":                     {"POST", ping, nil, 200, `"id":7`},
		"no Accept":                {"POST", ping, []string{"Accept: "}, 200, `"result"`},
		"Accept JSON":              {"POST", ping, []string{"Accept: application/json"}, 200, `"result"`},
		"Accept all":               {"POST", ping, []string{"Accept: */*"}, 200, `"result"`},
		"unknown session":          {"POST", ping, []string{"Mcp-Session-Id: nonsense"}, 200, `"result"`},
		"charset":                  {"POST", ping, []string{"Content-Type: application/json; charset=UTF-8"}, 200, `"result"`},
		"other charset":            {"POST", ping, []string{"Content-Type: application/json; charset=utf-16"}, 415, "UNSUPPORTED_MEDIA_TYPE"},
		"text":                     {"POST", ping, []string{"Content-Type: text/plain"}, 415, "UNSUPPORTED_MEDIA_TYPE"},
		"no type":                  {"POST", ping, []string{"Content-Type: "}, 415, "UNSUPPORTED_MEDIA_TYPE"},
		"gzip":                     {"POST", ping, []string{"Content-Encoding: gzip"}, 415, "UNSUPPORTED_MEDIA_TYPE"},
		"GET":                      {"GET", "", nil, 405, "METHOD_NOT_ALLOWED"},
		"DELETE":                   {"DELETE", "", nil, 405, "METHOD_NOT_ALLOWED"},
		"OPTIONS":                  {"OPTIONS", "", nil, 405, "METHOD_NOT_ALLOWED"},
		"notification":             {"POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ""},
		"unknown method":           {"POST", `{"jsonrpc":"2.0","id":7,"method":"no/such"}`, nil, 400, `"code":-32601`},
		"subscriptions":            {"POST", `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen"}`, nil, 404, `"code":-32601`},
		"batch":                    {"POST", "[" + ping + "]", nil, 400, `"code":-32600`},
		"empty":                    {"POST", "", nil, 400, `"code":-32700`},
		"null":                     {"POST", "null", nil, 400, `"code":-32700`},
		"no JSON":                  {"POST", "{", nil, 400, `"code":-32700`},
		"trailing":                 {"POST", ping + "x", nil, 400, `"code":-32700`},
		"two documents":            {"POST", ping + ping, nil, 400, `"code":-32700`},
		"byte order mark":          {"POST", "\uFEFF" + ping, nil, 400, `"code":-32700`},
		"duplicate method":         {"POST", `{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}`, nil, 400, `"code":-32700`},
		"duplicate name of a tool": {"POST", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","name":"b"}}`, nil, 400, `"code":-32700`},
		"duplicate arguments":      {"POST", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{},"arguments":{}}}`, nil, 400, `"code":-32700`},
		"surrogate outside":        {"POST", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"\ud800"}}`, nil, 400, `"code":-32700`},
		"deep meta":                {"POST", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":` + strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000) + `}}`, nil, 400, `"error"`},
		"no method":                {"POST", `{"jsonrpc":"2.0","id":7,"Method":"ping"}`, nil, 400, `"code":-32600`},
		"answer":                   {"POST", `{"jsonrpc":"2.0","id":7,"result":{}}`, nil, 202, ""},
		"fraction as id":           {"POST", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, nil, 400, `"id":1.5`},
		"id beyond 2^53":           {"POST", `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, nil, 400, `"id":9007199254740993`},
		"greatest id":              {"POST", `{"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}`, nil, 200, `"id":9007199254740991`},
		"headers over 16 KiB":      {"POST", ping, []string{"X-Long: " + strings.Repeat("a", 16<<10)}, 431, "HEADERS_TOO_LARGE"},
		"version 1.0":              {"POST", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, nil, 400, `"code":-32600`},
		"unknown protocol":         {"POST", ping, []string{"Mcp-Protocol-Version: 1999-01-01"}, 400, `"code":-32600`},
		"unknown tool":             {"POST", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"no_such"}}`, nil, 200, `"code":-32602`},
		"list with a cursor":       {"POST", `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"x"}}`, nil, 200, `"code":-32602`},
		"any host":                 {"POST", ping, []string{"Host: api.example.com"}, 200, `"result"`},
		"own origin":               {"POST", ping, []string{"Origin: http://" + own}, 200, `"result"`},
		"foreign origin":           {"POST", ping, []string{"Origin: https://evil.example.com"}, 403, `"error"`},
		"no origin to speak of":    {"POST", ping, []string{"Origin: null"}, 403, `"error"`},
		"allowed origin":           {"POST", ping, []string{"Origin: https://app.example.com"}, 200, `"result"`},
	} {
		r := w.send(test.method, test.body, test.headers...)
		if r.status != test.status || !strings.Contains(r.body, test.holds) {
			t.Errorf("%s: %d %s, want %d and %s", name, r.status, r.body, test.status, test.holds)
		}
		if r.header.Get("X-Request-Id") == "" {
			t.Errorf("%s: no request id", name)
		}
		if r.status == 405 && r.header.Get("Allow") != "POST" {
			t.Errorf("%s: Allow %q", name, r.header.Get("Allow"))
		}
		want := "application/json"
		if strings.Contains(r.body, "about:blank") {
			want = "application/problem+json"
		}
		if got := r.header.Get("Content-Type"); r.body != "" && got != want {
			t.Errorf("%s: Content-Type %q", name, got)
		}
	}
}

func TestBrowsersOfAllowedOriginsMayCall(t *testing.T) {
	w := newWorld(t, func(o *mcp.Options) { o.AllowedOrigins = []string{"https://app.example.com"} })
	r := w.send("OPTIONS", "", "Origin: https://app.example.com", "Access-Control-Request-Method: POST")
	if r.status != 204 || r.header.Get("Access-Control-Allow-Origin") != "https://app.example.com" ||
		!strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("preflight: %d %v", r.status, r.header)
	}
	if r := w.send("OPTIONS", "", "Origin: https://evil.example.com", "Access-Control-Request-Method: POST"); r.status != 403 {
		t.Errorf("foreign preflight: %d", r.status)
	}
}

func TestAllowedHosts(t *testing.T) {
	w := newWorld(t, func(o *mcp.Options) { o.AllowedHosts = []string{"127.0.0.1", "api.example.com:8443"} })
	for host, status := range map[string]int{
		"127.0.0.1:1": 200, "API.example.com:8443": 200, "api.example.com": 403, "evil.example.com": 403, "127.0.0.1.evil.com": 403,
	} {
		if r := w.post(ping, "Host: "+host); r.status != status {
			t.Errorf("%s: %d %s, want %d", host, r.status, r.body, status)
		}
	}
}

func TestBodyLimits(t *testing.T) {
	w := newWorld(t)
	message := func(content string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"aanet_write_file","arguments":{"path":"a","content":"` + content + `"}}}`
	}
	key := "Authorization: Bearer " + w.owner
	if r := w.post(message(strings.Repeat("x", api.BodyBytesMax)), key); r.status != 413 || !strings.Contains(r.body, "TOO_LARGE") {
		t.Errorf("beyond the limit: %d %.200s", r.status, r.body)
	}
	// A legal file may be six times as long in JSON: refused for its price only.
	if p := parse(t, w.post(message(strings.Repeat(`\u0001`, api.FileBytesMax)), key)).refused(t); p.Code != api.InsufficientBalance {
		t.Errorf("a full file: %+v", p)
	}
	if p := parse(t, w.post(message(strings.Repeat("x", api.FileBytesMax+1)), key)).refused(t); p.Code != api.TooLarge || p.Status != 413 {
		t.Errorf("one byte more: %+v", p)
	}
}

func TestMalformedHeadersAreNoKey(t *testing.T) {
	w := newWorld(t)
	const get = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"aanet_get_workspace","arguments":{}}}`
	for _, value := range []string{
		w.owner, "Bearer", "Bearer  " + w.owner, "Bearer\t" + w.owner, "Basic " + w.owner, "Bearer " + w.owner + "," + w.owner, "Bearer " + strings.Repeat("a", 10_000),
	} {
		if p := parse(t, w.post(get, "Authorization: "+value)).refused(t); p.Code != api.Unauthenticated {
			t.Errorf("%.60q: %+v", value, p)
		}
	}
	if p := parse(t, w.post(get, "Authorization: Bearer "+w.owner, "Authorization: Bearer "+w.owner)).refused(t); p.Code != api.Unauthenticated {
		t.Errorf("two headers: %+v", p)
	}
}
