package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"aanet/api"
)

// key makes a well-formed key of a workspace.
func key(t *testing.T, workspace uuid.UUID) string {
	t.Helper()
	secret, err := api.NewKey(rand.Reader, true, workspace)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// seen is what the server got.
type seen struct {
	method, path, query string
	header              http.Header
	body                string
}

// against starts a server that answers every call in the same way, and gives a client of it and what the server gets.
func against(t *testing.T, status int, header map[string]string, answer string) (*Client, *[]seen) {
	t.Helper()
	var got []seen
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, seen{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header, string(body)})
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return New(server.URL+"/", key(t, testWorkspace), WithRetries(0)), &got
}

var testWorkspace = uuid.MustParse("0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b")

const testRoot = "/v1/workspaces/0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b"

func TestTheKeyNamesTheWorkspace(t *testing.T) {
	for _, workspace := range []uuid.UUID{testWorkspace, uuid.Nil, uuid.Max, uuid.New()} {
		if got := New("http://127.0.0.1", key(t, workspace)).WorkspaceID(); got != workspace.String() {
			t.Errorf("%s was read as %q", workspace, got)
		}
	}
	for _, bad := range []string{"", "aan_", "aan_o", "Bearer x", "aan_o" + strings.Repeat("z", 22) + "_x", "aan_o" + strings.Repeat("-", 22) + "_x"} {
		c := New("http://127.0.0.1:1", bad)
		if _, err := c.GetWorkspace(t.Context()); !errors.Is(err, ErrNoWorkspace) {
			t.Errorf("%q: %v", bad, err)
		}
		if c.InWorkspace("elsewhere").WorkspaceID() != "elsewhere" {
			t.Error("InWorkspace is not kept")
		}
	}
}

func TestAWriteIsSentAsDefined(t *testing.T) {
	c, got := against(t, 201, map[string]string{"X-AANet-Cost": "10", "X-AANet-Remaining-Balance": "90", "X-Request-Id": "r1"},
		`{"path":"a b.md","created":true,"etag":"e1"}`)
	var meta Meta
	out, err := c.WriteFile(t.Context(), WriteFileIn{Path: "a b.md", Content: "<x>\u2028é", IfMatch: new("e0"), IfNoneMatch: true}, WithMeta(&meta))
	if err != nil || out != (WriteFileOut{Path: "a b.md", Created: true, Etag: "e1"}) {
		t.Fatal(out, err)
	}
	if meta.Status != 201 || meta.Cost != 10 || meta.Remaining == nil || *meta.Remaining != 90 || meta.RequestID != "r1" || meta.Attempts != 1 {
		t.Errorf("meta %+v", meta)
	}
	r := (*got)[0]
	if r.method != "PUT" || r.path != testRoot+"/files/a%20b.md" || r.query != "" || r.header.Get("If-None-Match") != "*" ||
		r.header.Get("Authorization") != "Bearer "+c.key || r.header.Get("Content-Type") != "application/json" {
		t.Errorf("%+v", r)
	}
	var body map[string]any
	if err := json.Unmarshal([]byte(r.body), &body); err != nil || len(body) != 2 || body["content"] != "<x>\u2028é" || body["if_match"] != "e0" {
		t.Errorf("body %s: %v", r.body, err)
	}
	if !strings.Contains(r.body, "<x>") {
		t.Errorf("%s is longer than it has to be", r.body)
	}
}

func TestReadsAreSentAsQueries(t *testing.T) {
	c, got := against(t, 200, nil, `{"result":[{"message_id":"m","ts":"2026-11-30T12:00:00.000001Z","from_subkey_id":null,"to_subkey_id":"k","topic":null,"body":"hi"}]}`)
	since := time.Date(2026, 11, 30, 13, 0, 0, 123456000, time.FixedZone("east", 3600))
	messages, err := c.GetMessages(t.Context(), GetMessagesIn{Since: &since, Topic: new("a&b=c +")})
	if err != nil || len(messages) != 1 {
		t.Fatal(messages, err)
	}
	m := messages[0]
	if !m.TS.Equal(time.Date(2026, 11, 30, 12, 0, 0, 1000, time.UTC)) || m.FromSubkeyID != nil || *m.ToSubkeyID != "k" || m.Body != "hi" {
		t.Errorf("%+v", m)
	}
	r := (*got)[0]
	if r.method != "GET" || r.path != testRoot+"/messages" || r.body != "" || r.query != "since=2026-11-30T12%3A00%3A00.123456Z&topic=a%26b%3Dc+%2B" {
		t.Errorf("%+v", r)
	}
}

// A timestamp of the service goes back as exactly itself, or a poller would miss or repeat a message.
func TestTimesStayExact(t *testing.T) {
	for _, text := range []string{"2026-11-30T12:00:00.000001Z", "2026-11-30T12:00:00.100000Z", "2026-01-01T00:00:00.999999Z"} {
		var in time.Time
		if err := json.Unmarshal([]byte(`"`+text+`"`), &in); err != nil {
			t.Fatal(err)
		}
		if got := queryOf([]argument{{"since", in}}); got != "?since="+strings.ReplaceAll(text, ":", "%3A") {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestNamesArriveExactly(t *testing.T) {
	for name, want := range map[string]string{
		"a/b.md":                     "a/b.md",
		"100%/what?/#1":              "100%25/what%3F/%231",
		"a b/ü/日本/🙂":                 "a%20b/%C3%BC/%E6%97%A5%E6%9C%AC/%F0%9F%99%82",
		"https://example.com//x?y=1": "https://example.com//x%3Fy=1",
		"a%2Fb":                      "a%252Fb",
		"a+b;c=d,e":                  "a+b%3Bc=d%2Ce",
		"ends/":                      "ends/",
		"...":                        "...",
	} {
		c, got := against(t, 200, nil, `{}`)
		if _, err := c.ReleaseLock(t.Context(), ReleaseLockIn{Name: name}); err != nil {
			t.Fatal(err)
		}
		sent := strings.TrimPrefix((*got)[0].path, testRoot+"/locks/")
		if sent != want {
			t.Errorf("%q was sent as %q", name, sent)
		}
		if decoded := decode(t, sent); decoded != name {
			t.Errorf("%q arrives as %q", name, decoded)
		}
	}
}

// decode undoes percent-encoding once, as the service does.
func decode(t *testing.T, escaped string) string {
	t.Helper()
	r, err := http.NewRequest("GET", "http://127.0.0.1/"+escaped, nil)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(r.URL.Path, "/")
}

func FuzzNamesArriveExactly(f *testing.F) {
	for _, seed := range []string{"a/b", "%41", "//", "a?b#c", "\u00a0", "a\\b", "%", ":", "@"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if !utf8.ValidString(name) {
			return
		}
		if got := decode(t, escapePath(name)); got != name {
			t.Errorf("%q arrives as %q", name, got)
		}
	})
}

func TestTheRootHasTwoSpellings(t *testing.T) {
	c, got := against(t, 200, nil, `{"path":"","is_dir":true,"entries":["a","b/"],"content":null,"etag":null}`)
	for _, root := range []string{"", "/"} {
		out, err := c.ReadFile(t.Context(), ReadFileIn{Path: root, Limit: 7})
		if err != nil || !out.IsDir || len(out.Entries) != 2 || out.Content != nil {
			t.Fatal(out, err)
		}
	}
	for _, r := range *got {
		if r.path != testRoot+"/files/" || r.query != "limit=7" {
			t.Errorf("%+v", r)
		}
	}
}

func TestTextThatIsNotUTF8IsNotSent(t *testing.T) {
	c, got := against(t, 200, nil, `{}`)
	if _, err := c.WriteFile(t.Context(), WriteFileIn{Path: "a", Content: "a\xffb"}); err == nil || len(*got) > 0 {
		t.Errorf("%v, sent %v", err, *got)
	}
}

func TestRefusalsAreTyped(t *testing.T) {
	c, _ := against(t, 409, map[string]string{"X-Request-Id": "r9", "X-AANet-Cost": "0"},
		`{"type":"about:blank","title":"Conflict","status":409,"code":"CONFLICT","detail":"Read it again.","current_etag":"e7","fencing_token":9007199254740993}`)
	var meta Meta
	_, err := c.AppendFile(t.Context(), AppendFileIn{Path: "a", Content: "b", IfMatch: new("e1")}, WithMeta(&meta))
	err = fmt.Errorf("progress: %w", err)
	var refusal *Error
	if !errors.As(err, &refusal) || !IsCode(err, "CONFLICT") || !errors.Is(err, CodeConflict) || errors.Is(err, CodeLockHeld) || Temporary(err) {
		t.Fatal(err)
	}
	if refusal.Status != 409 || refusal.Detail != "Read it again." || refusal.RequestID != "r9" || refusal.Text("current_etag") != "e7" ||
		refusal.Extra["fencing_token"] != json.Number("9007199254740993") || len(refusal.Extra) != 2 || meta.Status != 409 {
		t.Errorf("%+v %+v", refusal, meta)
	}
}

func TestFaultsOfTheInputAreListed(t *testing.T) {
	c, _ := against(t, 422, nil, `{"status":422,"code":"INVALID_ARGUMENT","detail":"Not acceptable.","errors":[{"field":"lease_seconds","message":"is required"},{"field":"name","message":"is long"}]}`)
	_, err := c.AcquireLock(t.Context(), AcquireLockIn{Name: "a"})
	var refusal *Error
	if !errors.As(err, &refusal) || len(refusal.Fields) != 2 || refusal.Fields[0] != (FieldFault{"lease_seconds", "is required"}) {
		t.Fatalf("%+v", err)
	}
	if want := "422 INVALID_ARGUMENT: Not acceptable. lease_seconds is required; name is long"; err.Error() != want {
		t.Errorf("%s", err)
	}
}

func TestOtherAnswersAreErrors(t *testing.T) {
	for _, other := range []struct {
		status int
		answer string
	}{{502, "<html>bad gateway</html>"}, {500, ""}, {404, `{"message":"no route"}`}, {307, ""}, {200, "<html>"}, {200, ""}} {
		c, _ := against(t, other.status, map[string]string{"Location": "/elsewhere"}, other.answer)
		_, err := c.GetWorkspace(t.Context())
		var refusal *Error
		if err == nil || other.status != 200 && (!errors.As(err, &refusal) || refusal.Status != other.status || refusal.Code != "") {
			t.Errorf("%d %q: %v", other.status, other.answer, err)
		}
	}
}

// A key goes to the service it was given for, over a connection that nobody reads: not where a redirect points, and not over
// plain HTTP to another machine.
func TestTheKeyStaysWithItsService(t *testing.T) {
	elsewhere, got := against(t, 200, nil, `{}`)
	redirecting, _ := against(t, 307, map[string]string{"Location": elsewhere.base + "/v1/balance"}, "")
	for _, h := range []*http.Client{nil, {}, {Transport: http.DefaultTransport}} {
		c := redirecting
		if h != nil {
			c = New(redirecting.base, redirecting.key, WithHTTPClient(h), WithRetries(0))
		}
		_, err := c.GetRemainingBalance(t.Context())
		var refusal *Error
		if !errors.As(err, &refusal) || refusal.Status != 307 || len(*got) > 0 {
			t.Errorf("%v; the other service got %v", err, *got)
		}
	}
	for base, want := range map[string]error{
		"http://10.0.0.7:8402": ErrPlainHTTP, "http://aanet.example": ErrPlainHTTP, "http://localhost.example": ErrPlainHTTP, "http://[::1]:1": nil,
		"http://localhost:1": nil, "http://127.1.2.3:1/below": nil, "https://aanet.example": nil,
	} {
		if err := New(base, "").fault; !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v", base, err)
		}
	}
	if err := New("http://10.0.0.7:8402", "", WithPlainHTTP()).fault; err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "aanet.example", "ftp://aanet.example", "https://", "https://u:p@aanet.example", "https://aanet.example?x=1", "ht\x00tp://x"} {
		if _, err := New(bad, "").GetPricing(t.Context()); err == nil || strings.Contains(err.Error(), "u:p@") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAnswersAreToldAndKept(t *testing.T) {
	c, _ := against(t, 200, map[string]string{"X-AANet-Cost": "1"}, `{"path":"a","content":"x","is_dir":false,"ts":"2026-11-30T12:00:00.100000Z"}`+"\n")
	var told []Meta
	c.observe = func(m Meta, _ error) { told = append(told, m) }
	var raw json.RawMessage
	if _, err := c.ReadFile(t.Context(), ReadFileIn{Path: "a"}, WithRaw(&raw)); err != nil {
		t.Fatal(err)
	}
	if string(raw) != `{"path":"a","content":"x","is_dir":false,"ts":"2026-11-30T12:00:00.100000Z"}` {
		t.Errorf("raw %s", raw)
	}
	if len(told) != 1 || told[0].Operation != "read_file" || told[0].Cost != 1 {
		t.Errorf("told %+v", told)
	}
}

func TestTheKeyIsNeverPrinted(t *testing.T) {
	secret := key(t, testWorkspace)
	c := New("http://127.0.0.1:1", secret, WithRetries(0))
	_, err := c.GetWorkspace(context.Background())
	if printed := fmt.Sprintf("%v %+v %#v %s %v", c, c, c, c, err); strings.Contains(printed, secret) {
		t.Error(printed)
	}
}
