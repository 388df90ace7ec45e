package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/api/rest/openapitest"
)

// The examples in the OpenAPI document are a story that was played: each call is made to a real service, and what
// differs from one run to the next is replaced. Each is checked against the document as it comes.
func TestExamplesAreWhatHappens(t *testing.T) {
	e := &examples{t: t, Calls: map[string]*exampleCall{}, Refusals: map[string]any{}, names: map[string]string{}}
	e.play()
	for _, op := range api.Operations() {
		if e.Calls[op.Name] == nil {
			t.Errorf("%s has no example", op.Name)
		}
	}
	for code := range api.Codes() {
		if e.Refusals[string(code)] == nil && !slices.Contains(rare, code) {
			t.Errorf("%s has no example", code)
		}
	}
	for _, code := range rare {
		if e.Refusals[string(code)] != nil {
			t.Errorf("%s was played: it need not be told", code)
		}
		problem, err := json.Marshal(api.Refuse(code))
		if err != nil {
			t.Fatal(err)
		}
		e.Refusals[string(code)] = e.plain(problem)
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(e); err != nil {
		t.Fatal(err)
	}
	const file = "examples.json"
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	there, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(there, b.Bytes()) {
		at := 0
		for at < min(len(there), b.Len()) && there[at] == b.Bytes()[at] {
			at++
		}
		t.Errorf("%s is stale (%v): run go test ./api/rest -run 'TestExamples|TestGeneratedDocs' -update, twice\n%.400s\ninstead of\n%.400s",
			file, err, b.Bytes()[max(0, at-100):], there[max(0, at-100):])
	}
}

// rare are refusals that no short story comes to; what the service would answer is shown.
var rare = []api.Code{api.SubkeyLimit, api.Internal}

// examples are what is kept of the story.
type examples struct {
	Calls    map[string]*exampleCall `json:"calls"`    // by operation
	Refusals map[string]any          `json:"refusals"` // by code: the first one met

	t     *testing.T
	names map[string]string
}

// exampleCall is one operation: what was sent, and the first answer of each status.
type exampleCall struct {
	Input   map[string]any `json:"input"`
	Answers map[string]any `json:"answers"`
}

// exampleDoor is where calls are made.
type exampleDoor struct {
	url, workspace, key string
}

// as is another caller at the same service.
func (d exampleDoor) as(workspace, key string) *exampleDoor {
	return &exampleDoor{d.url, workspace, key}
}

// say makes a call, which must be answered with this status, and gives the answer.
func (e *examples) say(d *exampleDoor, status int, name string, in apitest.Args, headers ...string) map[string]any {
	e.t.Helper()
	op := apitest.Operation(e.t, name)
	r := e.request(d, op, in)
	for _, h := range headers {
		header, value, _ := strings.Cut(h, ": ")
		r.Header.Set(header, value)
	}
	answer, err := openapitest.Client(e.t).Do(r)
	if err != nil {
		e.t.Fatalf("%s: %v", name, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		e.t.Fatalf("%s: %v", name, err)
	}
	if answer.StatusCode != status {
		e.t.Fatalf("%s: %d %s, want %d", name, answer.StatusCode, text, status)
	}
	e.keep(op, in, answer, text)
	var body map[string]any
	_ = json.Unmarshal(text, &body) // raw text is no object, and no story reads it
	return body
}

// keep remembers the first call of its kind.
func (e *examples) keep(op *api.Op, in apitest.Args, answer *http.Response, text []byte) {
	if answer.Header.Get("Content-Type") == "application/problem+json" {
		var problem struct{ Code string }
		if err := json.Unmarshal(text, &problem); err != nil {
			e.t.Fatal(err)
		}
		if e.Refusals[problem.Code] == nil {
			e.Refusals[problem.Code] = e.plain(text)
		}
		return
	}
	call := e.Calls[op.Name]
	if call == nil {
		input, err := json.Marshal(in)
		if err != nil {
			e.t.Fatal(err)
		}
		call = &exampleCall{Answers: map[string]any{}}
		call.Input, _ = e.plain(input).(map[string]any)
		e.Calls[op.Name] = call
	}
	if status := fmt.Sprint(answer.StatusCode); call.Answers[status] == nil {
		call.Answers[status] = e.plain(text)
	}
}

func (e *examples) request(d *exampleDoor, op *api.Op, in apitest.Args) *http.Request {
	e.t.Helper()
	rest := apitest.Args{"workspace_id": d.workspace}
	for name, value := range in {
		rest[name] = value
	}
	path := strings.ReplaceAll(op.Path, "...}", "}")
	for _, name := range op.PathParams() {
		path = strings.ReplaceAll(path, "{"+name+"}", fmt.Sprint(rest[name]))
		delete(rest, name)
	}
	delete(rest, "workspace_id")
	header := http.Header{"Authorization": {"Bearer " + d.key}}
	if key, given := rest["idempotency_key"].(string); given {
		header.Set("Idempotency-Key", key)
		delete(rest, "idempotency_key")
	}
	var body io.Reader
	if op.HasBody() {
		text, err := json.Marshal(rest)
		if err != nil {
			e.t.Fatal(err)
		}
		body = bytes.NewReader(text)
		header.Set("Content-Type", "application/json")
	} else if len(rest) > 0 {
		values := url.Values{}
		for name, value := range rest {
			values.Set(name, fmt.Sprint(value))
		}
		path += "?" + values.Encode()
	}
	r, err := http.NewRequestWithContext(e.t.Context(), op.Method, d.url+path, body)
	if err != nil {
		e.t.Fatal(err)
	}
	r.Header = header
	return r
}

// byChance is what differs from one run to the next, and never says anything of itself.
var byChance = regexp.MustCompile(strings.Join([]string{
	`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, `aan_[os]\w+`, `whsec_[A-Za-z0-9+/=]+`, `evt_[0-9a-f]{32}`, `0x[0-9a-f]{64}`,
	`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z`, `https://127\.0\.0\.1:\d+`, `"duration_ms":\d+`, `"seconds":\d+`, `"last_used_at":"[^"]+"`, `"payment_signature":"[^"]+"`, `"retry_after":\d+`,
	`"runway_hours":"[^"]+"`, `"spend_per_hour":"[^"]+"`,
}, "|"))

// plain replaces what is by chance: the n-th id by one that ends in n, the n-th time by the n-th second after noon.
func (e *examples) plain(text []byte) any {
	shown := byChance.ReplaceAllStringFunc(string(text), func(found string) string {
		if shown := likely(found); shown != "" {
			return shown
		}
		if e.names[found] == "" {
			e.names[found] = placeholder(found, len(e.names)+1)
		}
		return e.names[found]
	})
	var value any
	if err := json.Unmarshal([]byte(shown), &value); err != nil {
		return shown // raw text
	}
	return value
}

// likely is one value for all of a kind. They have no numbers: two of them may be equal in one run and not in the next.
func likely(found string) string {
	for start, shown := range map[string]string{
		"whsec_": "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "evt_": "evt_0193a1b2c3d47e5f8a9b0c1d2e3f4a5b",
		"https://": "https://example.com", `"duration_ms"`: `"duration_ms":48`, `"seconds"`: `"seconds":3600`,
		`"last_used_at"`: `"last_used_at":"2026-11-30T12:00:00.000000Z"`, `"payment_signature"`: `"payment_signature":"eyJ4NDAyVmVyc2lvbiI6Mn0="`,
		`"retry_after"`: `"retry_after":30`, `"runway_hours"`: `"runway_hours":"8619.69"`, `"spend_per_hour"`: `"spend_per_hour":"58.00"`,
	} {
		if strings.HasPrefix(found, start) {
			return shown
		}
	}
	return ""
}

func placeholder(found string, n int) string {
	switch {
	case strings.HasPrefix(found, "aan_"):
		return found[:5] + "EXAMPLEexampleEXAMPLEe_" + fmt.Sprintf("%049d", n)
	case strings.HasPrefix(found, "0x"):
		return fmt.Sprintf("0x%064x", n)
	case found[10] == 'T':
		return fmt.Sprintf("2026-11-30T12:%02d:%02d.%06dZ", n/60, n%60, n)
	}
	return fmt.Sprintf("0193a1b2-c3d4-7e5f-8a9b-%012x", n)
}
