package rest_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"aanet/api"
	"aanet/api/rest"
)

var update = flag.Bool("update", false, "write the generated files under docs/ anew")

// The reference under docs/ must be what the program says today.
func TestGeneratedDocsAreFresh(t *testing.T) {
	openAPI, err := rest.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"openapi.json": openAPI, "operations.md": rest.OperationsTable()} {
		file := "../../docs/" + name
		if *update {
			if err := os.WriteFile(file, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		there, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(there, content) {
			t.Errorf("docs/%s is stale (%v): run go test ./api/rest -run TestGeneratedDocs -update", name, err)
		}
	}
	again, err := rest.OpenAPI()
	if err != nil || !bytes.Equal(again, openAPI) {
		t.Error("two runs give two documents")
	}
}

// document is the part of OpenAPI that the tests look at.
type document struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Security    []any
		Parameters  []struct{ Name, In string }
		RequestBody *struct {
			Content map[string]struct{ Schema map[string]any }
		} `json:"requestBody"`
		Responses map[string]response
	}
	Components struct {
		Schemas   map[string]map[string]any
		Responses map[string]response
	}
}

// response is one of an operation's, or a reference to a shared one.
type response struct {
	Ref     string `json:"$ref"`
	Content map[string]struct{ Schema map[string]any }
}

func openAPI(t *testing.T) document {
	t.Helper()
	raw, err := rest.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(raw), `"$ref": "#/components/schemas/`) {
		name, _, _ := strings.Cut(part, `"`)
		if part != string(raw[:len(part)]) && doc.Components.Schemas[name] == nil {
			t.Errorf("reference to %s, which is not there", name)
		}
	}
	return doc
}

func TestOpenAPIHasEveryInputInItsPlace(t *testing.T) {
	doc := openAPI(t)
	ids := map[string]bool{}
	for _, op := range api.Operations() {
		o, ok := doc.Paths[strings.ReplaceAll(op.Path, "...}", "}")][strings.ToLower(op.Method)]
		if !ok || o.OperationID != op.Name || ids[o.OperationID] {
			t.Errorf("%s is not in the document, or twice", op.Name)
			continue
		}
		ids[o.OperationID] = true
		if (len(o.Security) == 0) != (op.Who == api.Anyone) {
			t.Errorf("%s: security %v for %s", op.Name, o.Security, op.Who)
		}
		places := map[string]string{}
		for _, p := range o.Parameters {
			if p.In != "header" {
				places[p.Name] = p.In
			}
		}
		if o.RequestBody != nil {
			for name := range o.RequestBody.Content["application/json"].Schema["properties"].(map[string]any) {
				places[name] = "body"
			}
		}
		for _, f := range op.In.Fields {
			want := "query"
			if op.HasBody() {
				want = "body"
			}
			if strings.Contains(op.Path, "{"+f.Name) {
				want = "path"
			}
			if f.Hidden || f.HeaderOnly {
				want = ""
			}
			if places[f.Name] != want {
				t.Errorf("%s: %s is in %q, want %q", op.Name, f.Name, places[f.Name], want)
			}
		}
	}
	if doc.Paths["/v1/workspaces/{workspace_id}/files"]["get"].OperationID != "read_root" {
		t.Error("the root directory is missing")
	}
}

func TestOpenAPINamesRefusals(t *testing.T) {
	codes := func(path, method, status string) string {
		doc := openAPI(t)
		name := strings.TrimPrefix(doc.Paths[path][method].Responses[status].Ref, "#/components/responses/")
		raw, err := json.Marshal(doc.Components.Responses[name].Content["application/problem+json"].Schema["allOf"])
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	file := "/v1/workspaces/{workspace_id}/files/{path}"
	for _, c := range []struct{ path, method, status, code string }{
		{file, "put", "409", "IS_DIRECTORY"}, {file, "put", "402", "BUDGET_EXCEEDED"}, {file, "put", "403", "SCOPE_DENIED"}, {file, "get", "404", "NOT_FOUND"},
		{"/v1/balance", "get", "401", "UNAUTHENTICATED"}, {"/v1/workspaces/{workspace_id}/activity", "get", "403", "OWNER_ONLY"},
	} {
		if got := codes(c.path, c.method, c.status); !strings.Contains(got, `"`+c.code+`"`) {
			t.Errorf("%s %s: %s lacks %s: %s", c.method, c.path, c.status, c.code, got)
		}
	}
	if got := codes("/v1/balance", "get", "402"); got != "null" {
		t.Errorf("a free operation lists %s", got)
	}
}
