package openapitest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

const (
	balanceBody = `{"remaining":100,"key_budget_remaining":null,"key_window_remaining":null,"workspace_balance":100,"workspace_id":"w",
		"key":{"kind":"owner","subkey_id":null,"label":null,"path_scope_prefix":null,"budget_cap":null,"spent_so_far":0,"spend_limit_per_hour":null,"spend_limit_per_day":null}}`
	problemBody = `{"type":"about:blank","title":"Unauthorized","status":401,"code":"UNAUTHENTICATED","detail":"d"}`
)

// told is what the checker says of an answer. Headers are "Name: value" in lines.
func told(method, address string, status int, headers, body string) string {
	answer := &http.Response{StatusCode: status, Header: http.Header{}, Request: &http.Request{Method: method}}
	for line := range strings.SplitSeq(headers, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		answer.Header.Add(name, value)
	}
	return strings.Join(Faults(method, address, answer, []byte(body)), "\n")
}

const (
	success = "Content-Type: application/json\nX-AANet-Cost: 0\nX-Request-Id: r\nX-AANet-Remaining-Balance: 100"
	refusal = "Content-Type: application/problem+json\nX-AANet-Cost: 0\nX-Request-Id: r\nWWW-Authenticate: Bearer"
)

func TestFaults(t *testing.T) {
	const balance = "/v1/balance"
	for _, c := range []struct {
		what, method, address string
		status                int
		headers, body, want   string
	}{
		{"a right answer", "GET", balance, 200, success, balanceBody, ""},
		{"its head", "HEAD", balance, 200, success, "", ""},
		{"a right refusal", "GET", balance, 401, refusal, problemBody, ""},
		{"another status", "GET", balance, 201, success, balanceBody, "no answer 201 of get_remaining_balance"},
		{"a surplus field", "GET", balance, 200, success, strings.Replace(balanceBody, "{", `{"more":1,`, 1), "more"},
		{"a surplus field within", "GET", balance, 200, success, strings.Replace(balanceBody, `"kind"`, `"more":1,"kind"`, 1), "more"},
		{"a lacking field", "GET", balance, 200, success, strings.Replace(balanceBody, `"remaining":100,`, "", 1), "remaining"},
		{"a wrong type", "GET", balance, 200, success, strings.Replace(balanceBody, `:100`, `:"100"`, 1), "remaining"},
		{"no JSON", "GET", balance, 200, success, "x", "invalid character"},
		{"another media type", "GET", balance, 200, strings.Replace(success, "json", "xml", 1), balanceBody, "no media type application/xml"},
		{"a lacking header", "GET", balance, 200, strings.Replace(success, "X-Request-Id: r\n", "", 1), balanceBody, "no X-Request-Id"},
		{"an undocumented header", "GET", balance, 200, success + "\nETag: x", balanceBody, "Etag"},
		{"a header of ours", "GET", balance, 200, success + "\nX-AANet-New: x", balanceBody, "X-Aanet-New"},
		{"a header twice", "GET", balance, 200, success + "\nX-AANet-Cost: 0", balanceBody, "X-Aanet-Cost"},
		{"no integer", "GET", balance, 200, strings.Replace(success, ": 100", ": ten", 1), balanceBody, "no integer"},
		{"a code of no such status", "GET", balance, 401, refusal, strings.Replace(problemBody, "UNAUTHENTICATED", "NOT_FOUND", 1), "NOT_FOUND does not equal"},
		{"a refusal without its fields", "GET", balance, 429, refusal + "\nRetry-After: 1", strings.Replace(strings.Replace(problemBody, "UNAUTHENTICATED", "RATE_LIMITED", 1), "401", "429", 1), "retry_after"},
		{"a surplus field of a refusal", "GET", balance, 401, refusal, strings.Replace(problemBody, "{", `{"more":1,`, 1), "nevaluated"},
		{"a success of nothing", "GET", "/v1/nothing", 200, success, balanceBody, "no such operation"},
		{"nothing", "GET", "/v1/nothing", 404, refusal, strings.Replace(problemBody, "UNAUTHENTICATED", "NOT_FOUND", 1), ""},
		{"no such method", "PATCH", balance, 405, refusal, strings.Replace(problemBody, "UNAUTHENTICATED", "METHOD_NOT_ALLOWED", 1), ""},
		{"a method that there is not", "PATCH", balance, 200, success, balanceBody, "no such operation"},
	} {
		got := told(c.method, c.address, c.status, c.headers, c.body)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: told %q, want %q", c.what, got, c.want)
		}
	}
}

// Addresses lead to the operation that serves them, slashes in paths and names included.
func TestAddresses(t *testing.T) {
	d, err := published()
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]string{
		"GET /v1/workspaces/w/files": "read_root", "GET /v1/workspaces/w/files/": "read_root", "HEAD /v1/workspaces/w/files/a/b": "read_file",
		"PUT /v1/workspaces/w/files/": "write_file", "POST /v1/workspaces/trial": "create_trial_workspace", "GET /v1/workspaces/trial": "get_workspace",
		"GET /v1/workspaces/w/activity/summary": "get_activity_summary", "GET /v1/workspaces/w/locks": "list_locks", "GET /v1/workspaces/w/locks/a%2Fb": "get_lock_status",
		"DELETE /v1/workspaces/w/webhooks/a%2Fb": "delete_webhook", "PUT /v1/workspaces/w/files/a%0Ab": "write_file", "POST /v1/pricing": "",
	} {
		method, address, _ := strings.Cut(call, " ")
		got := ""
		if _, o := d.find(method, decoded(address)); o != nil {
			got = o.OperationID
		}
		if got != want {
			t.Errorf("%s is %q, want %q", call, got, want)
		}
	}
}

// Every schema of the document can be used, not only those that a story happens to come by.
func TestEverySchemaResolves(t *testing.T) {
	d, err := published()
	if err != nil {
		t.Fatal(err)
	}
	for path, operations := range d.Paths {
		for method, o := range operations {
			for status, r := range o.Responses {
				for media, content := range r.Content {
					if _, err := d.schema(content.Schema); err != nil && media != "" {
						t.Errorf("%s %s %s: %v", method, path, status, err)
					}
				}
			}
		}
	}
	if _, err := d.schema(json.RawMessage(`{"$ref":"#/components/schemas/Missing"}`)); err == nil {
		t.Error("a reference to nothing resolves")
	}
}
