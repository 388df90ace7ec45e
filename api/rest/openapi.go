package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"aanet/api"
)

// object is a JSON object whose order does not matter; encoding sorts it.
type object = map[string]any

// OpenAPI is docs/openapi.json and /openapi.json: OpenAPI 3.1 of every operation. The same definitions
// give the same bytes.
func OpenAPI() ([]byte, error) {
	named, shared := schemas{"Problem": problemSchema(), "Timestamp": timestampSchema()}, object{misdirectedCode: misdirectedObject()}
	paths := object{}
	for _, op := range api.Operations() {
		path := strings.ReplaceAll(op.Path, "...}", "}")
		add(paths, path, op, operationObject(named, shared, op, op.Name))
		if root, ok := strings.CutSuffix(op.Path, "/{path...}"); ok && op.Method == http.MethodGet {
			add(paths, root, op, rootObject(operationObject(named, shared, op, "read_root")))
		}
	}
	document := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "AANet", "version": "1",
			"description": "Shared files, locks and messages for agents that work together. Paths of files and names of locks may contain slashes, " +
				"written as they are or as %2F. A HEAD request is a GET without the body and costs the same.",
		},
		"tags":    tagObjects(),
		"servers": []any{object{"url": "/"}},
		"paths":   paths,
		"components": object{
			"schemas":         named,
			"responses":       shared,
			"securitySchemes": object{"key": object{"type": "http", "scheme": "bearer", "description": "An owner key or a sub-key."}},
			"headers":         headerObjects(),
		},
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return b.Bytes(), nil
}

func add(paths object, path string, op *api.Op, operation object) {
	item, ok := paths[path].(object)
	if !ok {
		item = object{}
		paths[path] = item
	}
	item[strings.ToLower(op.Method)] = operation
}

// rootObject makes of read_file its form without a path.
func rootObject(operation object) object {
	operation["summary"] = "List the root directory."
	operation["parameters"] = slices.DeleteFunc(operation["parameters"].([]any), func(p any) bool {
		return p.(object)["name"] == "path"
	})
	return operation
}

func operationObject(named schemas, shared object, op *api.Op, id string) object {
	o := object{
		"operationId": id, "summary": op.Summary, "description": op.Doc, "tags": []string{tagOf(op)},
		"parameters": parameters(op), "responses": responses(named, shared, op),
		"x-aanet-who": op.Who.String(), "x-aanet-units": priceText(op),
		"security": []any{},
	}
	if !op.RESTOnly {
		o["x-aanet-tool"] = op.Tool()
	}
	if op.Who != api.Anyone {
		o["security"] = []any{object{"key": []any{}}}
	}
	if op.HasBody() {
		o["requestBody"] = requestBody(op)
	}
	return o
}

func parameters(op *api.Op) []any {
	list := []any{}
	for _, name := range op.PathParams() {
		p := object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}, "description": "The workspace's id.", "example": exampleWorkspace}
		if f, ok := op.In.Field(name); ok {
			p["description"], p["schema"] = f.Doc, withoutDoc(f)
			p["example"] = exampleInput(op, name)
		}
		list = append(list, p)
	}
	for _, f := range op.In.Fields {
		switch {
		case f.Hidden:
			list = append(list, headerParameter("If-None-Match", "*: create only; CONFLICT when the file exists."))
		case f.HeaderOnly:
			list = append(list, headerParameter(f.Header, f.Doc))
			continue
		case !op.HasBody() && !slices.Contains(op.PathParams(), f.Name):
			p := object{"name": f.Name, "in": "query", "required": f.Required, "schema": withoutDoc(&f), "description": f.Doc}
			if value := exampleInput(op, f.Name); value != nil {
				p["example"] = value
			}
			list = append(list, p)
		}
		if f.Header != "" {
			list = append(list, headerParameter(f.Header, "The same as "+f.Name+"."))
		}
		if op.Name == "wait" && f.Name == "after" {
			list = append(list, headerParameter("Last-Event-ID", "Of a stream: counts more than after."))
		}
		if f.Name == "if_match" {
			list = append(list, headerParameter("If-Match", "The same as if_match: one strong etag."))
		}
	}
	if hasEtag(op) && op.Method == http.MethodGet {
		list = append(list, headerParameter("If-None-Match", "Etags that need not be sent again: 304 when one is current."))
	}
	return list
}

func headerParameter(name, doc string) object {
	return object{"name": name, "in": "header", "required": false, "schema": object{"type": "string"}, "description": doc}
}

func withoutDoc(f *api.Field) object {
	schema := f.Schema()
	delete(schema, "description")
	return schema
}

// requestBody has the inputs that are not in the address or in a header of their own.
func requestBody(op *api.Op) object {
	schema := op.InputSchema()
	elsewhere := func(name string) bool {
		f, known := op.In.Field(name)
		return slices.Contains(op.PathParams(), name) || known && f.HeaderOnly
	}
	schema["properties"] = slices.DeleteFunc(schema["properties"].(api.Properties), func(p api.Property) bool { return elsewhere(p.Name) })
	required := false
	if names, ok := schema["required"].([]string); ok {
		names = slices.DeleteFunc(names, elsewhere)
		delete(schema, "required")
		if required = len(names) > 0; required {
			schema["required"] = names
		}
	}
	content := object{"schema": schema}
	if example := exampleBody(op, elsewhere); example != nil {
		content["example"] = example
	}
	return object{"required": required, "content": object{typeJSON: content}}
}

func hasEtag(op *api.Op) bool { return op.Out.Implements(taggedType) }

// responses are the success, or the two of a file that may be new, and each refusal status with its codes.
func responses(named schemas, shared object, op *api.Op) object {
	success := object{
		"description": op.Summary, "headers": headersOf(op),
		"content": object{typeJSON: object{"schema": named.of(op.Out)}},
	}
	usual := strconv.Itoa(max(op.Status, http.StatusOK))
	all := object{usual: success}
	if _, writes := op.In.Field("content"); writes {
		all["201"] = withExample(op, "201", success)
	}
	if hasEtag(op) && op.Method == http.MethodGet {
		success["content"].(object)["text/plain"] = object{"schema": object{"type": "string"}}
		all["304"] = object{"description": "The etag given is current.", "headers": headersOf(op)}
	}
	if op.Offer != "" {
		all["402"] = offerObject(op)
	}
	if op.Name == "wait" {
		success["content"].(object)[typeEvents] = object{"schema": object{"type": "string"}}
	}
	all[usual] = withExample(op, usual, success)
	byStatus := map[int][]api.Code{}
	for _, code := range refusalsOf(op) {
		status := api.Codes()[code]
		byStatus[status] = append(byStatus[status], code)
	}
	all["421"] = object{"$ref": "#/components/responses/" + misdirectedCode}
	for status, codes := range byStatus {
		all[strconv.Itoa(status)] = refusalReference(shared, op, codes)
	}
	return all
}

// refusalReference names the response of these codes, which many operations share.
func refusalReference(shared object, op *api.Op, codes []api.Code) object {
	words := make([]string, len(codes))
	for i, code := range codes {
		words[i] = string(code)
	}
	name := strings.Join(words, ".")
	if op.Who == api.Anyone {
		name += ".anyone"
	}
	shared[name] = refusalObject(codes, op.Who != api.Anyone)
	return object{"$ref": "#/components/responses/" + name}
}

// refusalObject is a refusal for any of the codes. hasKey: the caller may be known by a key, and is told what it has left.
func refusalObject(codes []api.Code, hasKey bool) object {
	var words []string
	headers := object{}
	for _, code := range codes {
		words = append(words, string(code)+": "+api.Describe(code))
		if api.Refuse(code).RetryAfter() > 0 {
			headers["Retry-After"] = headerReference("Retry-After")
		}
	}
	names := []string{"X-AANet-Cost", "X-Request-Id"}
	switch {
	case slices.Contains(codes, api.Unauthenticated):
		names = append(names, "WWW-Authenticate")
	case hasKey:
		names = append(names, "X-AANet-Remaining-Balance")
	}
	for _, name := range names {
		headers[name] = headerReference(name)
	}
	return object{
		"description": strings.Join(words, "\n"), "headers": headers,
		"content": object{typeProblem: object{"schema": object{"allOf": []any{
			object{"$ref": "#/components/schemas/Problem"},
			object{"properties": object{"code": object{"enum": codes}}},
		}}, "examples": exampleRefusals(codes)}},
	}
}
