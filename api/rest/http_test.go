package rest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"aanet/api"
	"aanet/api/rest"
)

func TestMethods(t *testing.T) {
	s := start(t, nil)
	const fileMethods = "DELETE, GET, HEAD, OPTIONS, POST, PUT"
	for _, method := range []string{"PATCH", "TRACE", "FOO", "PROPFIND"} {
		s.call(method, s.at("/files/a"), "").refused(api.MethodNotAllowed).has("Allow", fileMethods).has("X-AANet-Cost", "0")
		s.call(method, "/v1/nothing", "").refused(api.NotFound).has("Allow", "")
		s.call(method, "/docs", "").refused(api.MethodNotAllowed)
	}
	s.call("OPTIONS", s.at("/files/a"), "").is(204).has("Allow", fileMethods).has("Access-Control-Allow-Origin", "")
	s.call("OPTIONS", "/v1/nothing", "").refused(api.NotFound)
	s.call("GET", "/v1/workspaces", "").refused(api.MethodNotAllowed).has("Allow", "OPTIONS, POST")
	s.call("GET", "/v1/workspaces/trial", "").refused(api.MethodNotAllowed)
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	s := start(t, nil)
	ids := map[string]bool{}
	for _, a := range []answer{
		s.call("GET", "/v1/balance", "").is(200),
		s.call("GET", "/v1/balance", "", "Authorization").refused(api.Unauthenticated).has("WWW-Authenticate", "Bearer").has("X-AANet-Remaining-Balance", ""),
		s.call("GET", "/v1/nothing", "").is(404),
		s.call("DELETE", "/v1/balance", "").is(405),
		s.call("GET", "/v1/estimate?agents=0&rounds_per_agent=1", "").is(422),
		s.call("GET", "/v1/balance", "", "X-Request-Id: mine").is(200),
		s.call("GET", "/nowhere", "", "X-AANet-Cost").is(404),
	} {
		id := a.header.Get("X-Request-Id")
		if len(id) != 36 || ids[id] {
			t.Errorf("%s: request id %q", a.what, id)
		}
		ids[id] = true
		if strings.HasPrefix(strings.Fields(a.what)[1], "/v1") {
			a.has("X-AANet-Cost", "0").has("Cache-Control", "no-store")
		}
		a.has("X-Content-Type-Options", "nosniff").has("Strict-Transport-Security", "max-age=31536000")
	}
	s.call("GET", "/v1/balance", "").has("X-AANet-Remaining-Balance", "1000100")
	s.call("GET", s.at("/nowhere"), "").refused(api.NotFound)
	s.call("POST", s.at("/messages"), `{"body":""}`).refused(api.InvalidArgument).has("X-AANet-Remaining-Balance", "1000100")
}

// What needs no key is refused before the key is looked at, in the order that the contract gives.
func TestOrderOfRefusals(t *testing.T) {
	s := start(t, nil)
	file := s.at("/files/f")
	big := strings.Repeat("x", api.BodyBytesMax+1)
	wide := "X-Wide: " + strings.Repeat("x", api.HeaderBytesMax)
	noKey := "Authorization"
	s.call("PATCH", file, big, noKey, wide, "Content-Type: text/plain").refused(api.MethodNotAllowed)
	s.call("PUT", file, "{}", noKey, wide, "Content-Type: text/plain").refused(api.UnsupportedMedia)
	s.call("PUT", file, big, noKey, wide).refused(api.HeadersTooLarge)
	s.call("GET", file, "", noKey, wide).refused(api.HeadersTooLarge)
	s.call("PUT", file, big, noKey).refused(api.TooLarge)
	s.call("PUT", file, "{", noKey).refused(api.Unauthenticated)
	s.call("PUT", "/v1/workspaces/other/files/f", "{").refused(api.NotFound)
	s.call("PUT", file, "{").refused(api.Malformed)
	if got := s.call("PUT", file+"?x=1&stamp=true", `{"content":7,"path":"g"}`).faults(); got != "stamp path content x" {
		t.Errorf("in the wrong place and wrong: faults of %q", got)
	}
	for _, media := range []string{"", "text/plain", "application/json; charset=utf-16", "application/jsonp", "application/x-www-form-urlencoded", "application/json;;"} {
		s.call("PUT", file, `{"content":""}`, "Content-Type: "+media).refused(api.UnsupportedMedia)
	}
	s.call("PUT", file, `{"content":""}`, "Content-Encoding: gzip").refused(api.UnsupportedMedia)
	s.call("PUT", file, `{"content":""}`, `Content-Type: Application/JSON; charset="UTF-8"`).is(201)
	for _, body := range []string{"null", "[]", "1", "{}{}", `{"content":""} x`, `{"content":"","content":""}`, "\ufeff{}", `{"content":"\ud800"}`, "{\"content\":\"\xff\"}"} {
		s.call("PUT", file, body).refused(api.Malformed)
	}
	if got := s.call("PUT", file, "", "Content-Type: text/plain").faults(); got != "content" {
		t.Errorf("no body: faults of %q", got)
	}
	s.call("DELETE", file, "x", "Content-Type: text/plain").refused(api.UnsupportedMedia)
	if got := s.call("GET", s.at("/messages"), `{"limit":5}`).faults(); got != "limit" {
		t.Errorf("a body on GET: faults of %q", got)
	}
}

func TestQueries(t *testing.T) {
	s := start(t, nil)
	messages := s.at("/messages")
	for query, faults := range map[string]string{
		"?limit=1&limit=2": "limit", "?api_key=x": "api_key", "?limit=501": "limit", "?limit=1.5": "limit", "?limit=": "limit",
		"?since=yesterday": "since", "?since=2026-11-30T12:00:00": "since", "?topic=%FF": "topic", "?topic=%00": "topic", "?a;b": "(query)",
		"?%zz": "(query)", "?limit=%zz": "(query)", "?workspace_id=x": "workspace_id", "?x=1&x=2": "x", "?LIMIT=1": "LIMIT",
	} {
		if got := s.call("GET", messages+query, "").faults(); got != faults {
			t.Errorf("%s: faults of %q, want %q", query, got, faults)
		}
	}
	for _, query := range []string{"?since=2026-11-30T12:00:00+00:00", "?since=2026-11-30T12:00:00%2B00:00&limit=7", "?", "?limit=10.0"} {
		s.call("GET", messages+query, "").is(200)
	}
	if got := s.call("GET", s.at("/files/a?path=b"), "").faults(); got != "path" {
		t.Errorf("a path in the query: faults of %q", got)
	}
	if got := s.call("POST", messages+"?body=x", "{}").faults(); got != "body" {
		t.Errorf("a body field in the query: faults of %q", got)
	}
}

func TestCredentials(t *testing.T) {
	s := start(t, nil)
	key := s.owner
	for _, header := range []string{"", key, "Basic " + key, "Bearer  " + key, "Bearer " + key + "," + key, "Bearer " + key + " x", "Bearer\t" + key, "Bearer é", "Bearer", "Token " + key} {
		s.call("GET", "/v1/balance", "", "Authorization: "+header).refused(api.Unauthenticated)
	}
	s.call("GET", "/v1/balance", "", "Authorization: Bearer "+key, "Authorization: Bearer "+key).refused(api.Unauthenticated)
	s.call("GET", "/v1/balance?api_key="+key, "", "Authorization").refused(api.Unauthenticated)
	s.call("GET", "/v1/balance", "", "Authorization: bEARER "+key).is(200)
	s.call("GET", "/v1/balance", "", "Authorization: Bearer "+strings.Repeat("k", 20_000)).refused(api.HeadersTooLarge)
	if strings.Contains(s.log.String(), key) || strings.Contains(s.log.String(), s.workspace) {
		t.Error("the log names a key or a workspace")
	}
}

// raw sends bytes as they are, and nothing more when it ends there, and reads the answer's status line.
func raw(t *testing.T, s *service, request string, ends bool) string {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(connection, request); err != nil {
		t.Fatal(err)
	}
	if half, ok := connection.(*net.TCPConn); ok && ends {
		_ = half.CloseWrite()
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return fmt.Sprint(response.StatusCode, " ", string(body))
}

func TestFraming(t *testing.T) {
	s := start(t, nil)
	head := "PUT " + s.at("/files/f") + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.owner + "\r\nContent-Type: application/json\r\n"
	for name, c := range map[string]struct {
		request, want string
		ends          bool
	}{
		"a length that lies":         {head + "Content-Length: 1000\r\n\r\n{\"content\":\"x\"}", `400 {"code":"MALFORMED"`, true},
		"no whole chunk":             {head + "Transfer-Encoding: chunked\r\n\r\n10\r\n{", `400 {"code":"MALFORMED"`, true},
		"a huge body that may wait":  {head + "Expect: 100-continue\r\nContent-Length: 52428800\r\n\r\n", `413 {"code":"TOO_LARGE"`, false},
		"chunks without an end":      {head + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("100000\r\n"+strings.Repeat(" ", 1<<20)+"\r\n", 9), `413 {"code":"TOO_LARGE"`, false},
		"chunks of another type":     {strings.Replace(head, "/json", "/xml", 1) + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n\r\n", `415 {"code":"UNSUPPORTED`, false},
		"a body that never comes":    {strings.Replace(head, "/json", "/xml", 1) + "Content-Length: 1000\r\n\r\n", `415 {"code":"UNSUPPORTED`, false},
		"one that nobody waits for":  {"POST /v1/none HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", `404 {"code":"NOT_FOUND"`, false},
		"one for a page":             {"GET /docs HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", `200 <!doctype html>`, false},
		"no chunk at all, any type":  {strings.Replace(head, "/json", "/xml", 1) + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", `422 {"code":"INVALID_ARGUMENT"`, false},
		"two lengths":                {head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "400", false},
		"a whole body, and one call": {head + "Content-Length: 14\r\n\r\n{\"content\":\"\"}", `201 {"path":"f"`, false},
	} {
		if got := raw(t, s, c.request, c.ends); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %.100s, want %s", name, got, c.want)
		}
	}
}

func TestForwardedAddresses(t *testing.T) {
	addr := rest.ClientAddr([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")})
	for _, c := range []struct {
		peer      string
		forwarded []string
		want      string
	}{
		{"192.0.2.1:5", []string{"1.1.1.1"}, "192.0.2.1"},
		{"10.0.0.1:5", nil, "10.0.0.1"},
		{"10.0.0.1:5", []string{"1.1.1.1"}, "1.1.1.1"},
		{"10.0.0.1:5", []string{"9.9.9.9, 1.1.1.1, 10.0.0.2"}, "1.1.1.1"},
		{"10.0.0.1:5", []string{"9.9.9.9", "1.1.1.1 ,10.0.0.2"}, "1.1.1.1"},
		{"10.0.0.1:5", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"10.0.0.1:5", []string{"1.1.1.1, unknown"}, "10.0.0.1"},
		{"10.0.0.1:5", []string{"1.1.1.1:77"}, "1.1.1.1"},
		{"[fd00::1]:5", []string{"[2001:db8::1]:9"}, "2001:db8::1"},
		{"[::ffff:10.0.0.1]:5", []string{"::ffff:1.1.1.1"}, "1.1.1.1"},
		{"@", []string{"1.1.1.1"}, "invalid IP"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := addr(r).String(); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
}

func TestHosts(t *testing.T) {
	s := start(t, func(o *rest.Options) { o.AllowedHosts = []string{"aanet.example", "127.0.0.1", "[::1]:8402"} })
	for _, host := range []string{"aanet.example", "AANET.example:8402", "127.0.0.1", "[::1]:8402", "aanet.example."} {
		s.call("GET", "/v1/pricing", "", "Host: "+host).is(200)
	}
	for _, host := range []string{"evil.example", "aanet.example.evil.example", "[::1]:1", "xaanet.example"} {
		refused := s.call("GET", "/v1/pricing", "", "Host: "+host).is(421).has("Content-Type", "application/problem+json")
		if refused.text("code") != "MISDIRECTED" {
			t.Error(refused.body)
		}
		s.call("GET", "/healthz", "", "Host: "+host).is(200)
	}
}

func TestBrowsersOfAllowedOrigins(t *testing.T) {
	s := start(t, func(o *rest.Options) { o.AllowedOrigins = []string{"https://app.example"} })
	preflight := s.call("OPTIONS", s.at("/files/a"), "", "Origin: https://app.example", "Access-Control-Request-Method: PUT", "Authorization").is(204).
		has("Access-Control-Allow-Origin", "https://app.example").has("Access-Control-Allow-Credentials", "")
	for _, name := range []string{"Authorization", "If-Match", "Idempotency-Key", "Content-Type"} {
		if !strings.Contains(preflight.header.Get("Access-Control-Allow-Headers"), name) {
			t.Errorf("a page may not send %s", name)
		}
	}
	read := s.call("GET", "/v1/balance", "", "Origin: https://app.example").is(200).has("Access-Control-Allow-Origin", "https://app.example")
	if !strings.Contains(read.header.Get("Access-Control-Expose-Headers"), "X-AANet-Cost") {
		t.Error("a page cannot see the cost")
	}
	for _, origin := range []string{"https://evil.example", "null", "https://app.example.evil.example"} {
		s.call("GET", "/v1/balance", "", "Origin: "+origin).has("Access-Control-Allow-Origin", "")
	}
}

func TestPanicsAreCaughtAndHidden(t *testing.T) {
	s := start(t, func(o *rest.Options) {
		o.Ready = func(context.Context) error { panic("secret cause") }
		o.MCP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "POST" {
				panic("secret cause")
			}
			w.WriteHeader(http.StatusTeapot)
		})
	})
	failed := s.call("GET", "/readyz", "").refused(api.Internal)
	if strings.Contains(failed.body, "secret") {
		t.Error(failed.body)
	}
	if log := s.log.String(); strings.Count(log, "secret cause") != 1 || !strings.Contains(log, failed.header.Get("X-Request-Id")) || !strings.Contains(log, "observe.go") {
		t.Errorf("the log does not tell once what happened: %s", log)
	}
	s.call("POST", "/mcp", "{}").refused(api.Internal)
	s.call("DELETE", "/mcp", "").is(http.StatusTeapot)
}

func TestReadiness(t *testing.T) {
	var cause error
	s := start(t, func(o *rest.Options) { o.Ready = func(context.Context) error { return cause } })
	s.call("GET", "/readyz", "").is(200)
	cause = errors.New("no database at 10.0.0.1")
	notReady := s.call("GET", "/readyz", "").refused(api.Unavailable).has("Retry-After", "1")
	if strings.Contains(notReady.body, "10.0.0.1") {
		t.Error(notReady.body)
	}
	s.call("HEAD", "/healthz", "").is(200)
}

// Whatever tenants call things, the metrics have as many series as there are operations.
func TestMetricsHaveNoNames(t *testing.T) {
	s := start(t, nil)
	for i := range 30 {
		s.call("PUT", s.at(fmt.Sprintf("/files/f%d", i)), `{"content":""}`).is(201)
		s.call("GET", fmt.Sprintf("/nowhere/%d", i), "").is(404)
	}
	families, err := s.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(families)
	for _, want := range []string{`value:"write_file"`, `value:"unmatched"`, `value:"rest"`, `value:"201"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no label with %s", want)
		}
	}
	if strings.Contains(text, "f29") || strings.Contains(text, "nowhere") || strings.Contains(text, s.workspace) {
		t.Error("a label names what a client named")
	}
	for _, family := range families {
		if n := len(family.Metric); n > 4 {
			t.Errorf("%s has %d series", family.GetName(), n)
		}
	}
}
