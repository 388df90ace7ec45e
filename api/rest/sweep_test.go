package rest_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"aanet/api"
)

// hostile are values, as JSON, that no input takes well.
var hostile = []string{
	`null`, `""`, `" "`, `"\u0000"`, `"\ufffd"`, `"../../etc/passwd"`, `"' or 1=1 --"`, `"$1"`, `"{}"`, `"now"`, `"infinity"`, `"294277-01-01T00:00:00Z"`,
	`"0000-01-01T00:00:00Z"`, `"9999-12-31T23:59:59-23:59"`, `0`, `-1`, `1.5`, `1e400`, `1e2`, `9223372036854775808`, `-9223372036854775809`, `9007199254740993`,
	`true`, `[]`, `[null]`, `["a"]`, `{}`, `{"a":1}`, `"NaN"`, `"1e3"`, `"0x10"`, `"1_000"`, `"\\x00"`, `"%00"`, `"%"`, `"\u202e"`, `"` + strings.Repeat("é", 3000) + `"`,
	`"00000000-0000-0000-0000-000000000000"`, `"{00000000-0000-0000-0000-000000000000}"`, `"` + strings.Repeat("9", 5000) + `"`,
	strings.Repeat("[", 40) + strings.Repeat("]", 40),
}

// segments are hostile pieces of an address, as they are sent.
var segments = []string{"x", "..", "%2e%2e", "%00", "%FF", "%ED%A0%80", "%25", "%2F", "a%2Fb", "+", "'", ";", "%0D%0A", "00000000-0000-0000-0000-000000000000",
	"%F0%9F%90%98", strings.Repeat("y", 5000), "{}", "a:b", "*", ":a"}

// No input is an excuse for 5xx, and no answer shows a driver's words.
func TestNoInputBreaksAnything(t *testing.T) {
	s := start(t, nil)
	valid := map[string]string{
		"label": `"l"`, "path": `"p"`, "name": `"n"`, "content": `"c"`, "lease_seconds": `5`, "body": `"b"`, "category": `"bug"`, "title": `"t"`,
		"description": `"d"`, "pledged_budget_usd": `"0"`, "agents": `1`, "rounds_per_agent": `1`,
	}
	for _, op := range api.Operations() {
		if op.Name == "delete_workspace" {
			continue // ends the sweep; its only input is the address, which get_workspace has too
		}
		for _, f := range op.In.Fields {
			for _, value := range hostile {
				if f.Name == "immediate" && value == "true" {
					continue // ends the key of the sweep
				}
				s.survives(op, s.fill(op, valid, f.Name, value))
			}
		}
		for _, name := range op.PathParams() {
			for _, segment := range segments {
				s.survives(op, request{s.address(op, map[string]string{name: segment}), "", s.fill(op, valid, "", "").body})
			}
		}
		for i, value := range hostile {
			if i%4 != 0 && value[0] != '[' {
				continue // as a whole body or query, few of them differ
			}
			s.survives(op, request{s.address(op, nil), "", value})
			s.survives(op, request{s.address(op, nil), "?" + url.QueryEscape(value) + "=" + url.QueryEscape(value), ""})
		}
	}
	s.call("GET", "/v1/balance", "").is(200)
}

// request is what a call of the sweep sends.
type request struct{ address, query, body string }

// fill makes a request with good values, but for one.
func (s *service) fill(op *api.Op, valid map[string]string, name, value string) request {
	params, query, fields := map[string]string{}, url.Values{}, []string{}
	for _, f := range op.In.Fields {
		v := valid[f.Name]
		if f.Name == name {
			v = value
		}
		text := strings.Trim(v, `"`)
		switch {
		case v == "" || f.Hidden:
		case slices.Contains(op.PathParams(), f.Name):
			params[f.Name] = url.PathEscape(text)
		case op.HasBody():
			fields = append(fields, fmt.Sprintf("%q:%s", f.Name, v))
		default:
			query.Set(f.Name, text)
		}
	}
	r := request{s.address(op, params), "?" + query.Encode(), ""}
	if op.HasBody() {
		r.body = "{" + strings.Join(fields, ",") + "}"
	}
	return r
}

func (s *service) address(op *api.Op, params map[string]string) string {
	address := strings.ReplaceAll(op.Path, "...}", "}")
	for _, name := range op.PathParams() {
		value, given := params[name]
		if !given {
			value = map[bool]string{true: s.workspace, false: "x"}[name == "workspace_id"]
		}
		address = strings.ReplaceAll(address, "{"+name+"}", value)
	}
	return address
}

func (s *service) survives(op *api.Op, r request) {
	s.t.Helper()
	a := s.call(op.Method, r.address+r.query, r.body)
	switch {
	case a.status >= 500 || a.json == nil:
		s.t.Errorf("%.200s %.200s: %d %.300s", a.what, r.body, a.status, a.body)
	case a.status >= 400:
		if a.json["code"] == nil || a.header.Get("X-AANet-Cost") != "0" || strings.Contains(a.body, "SQLSTATE") || strings.Contains(a.body, "pgx") {
			s.t.Errorf("%.200s %.200s: %.300s", a.what, r.body, a.body)
		}
	case a.json["result"] != nil:
		if _, ok := a.json["result"].([]any); !ok {
			s.t.Errorf("%.200s: result is no list: %.300s", a.what, a.body)
		}
	}
}

// What the operations answer is what their schemas say: every field, and null only where it may be.
func TestAnswersFitTheirSchemas(t *testing.T) {
	s := start(t, nil)
	doc := openAPI(t)
	minted := s.call("POST", s.at("/subkeys"), `{"label":"a"}`).is(201)
	steps := []struct{ name, method, address, body string }{
		{"write_file", "PUT", s.at("/files/d/f"), `{"content":"c"}`},
		{"read_file", "GET", s.at("/files/d/f"), ""},
		{"read_file", "GET", s.at("/files/d"), ""},
		{"read_root", "GET", s.at("/files"), ""},
		{"append_file", "POST", s.at("/files/d/f"), `{"content":"c"}`},
		{"acquire_lock", "PUT", s.at("/locks/l"), `{"lease_seconds":5}`},
		{"get_lock_status", "GET", s.at("/locks/l"), ""},
		{"get_lock_status", "GET", s.at("/locks/never"), ""},
		{"list_locks", "GET", s.at("/locks"), ""},
		{"send_message", "POST", s.at("/messages"), `{"body":"b"}`},
		{"get_messages", "GET", s.at("/messages"), ""},
		{"get_activity", "GET", s.at("/activity"), ""},
		{"get_activity_summary", "GET", s.at("/activity/summary"), ""},
		{"list_subkeys", "GET", s.at("/subkeys"), ""},
		{"revoke_subkey", "DELETE", s.at("/subkeys/" + minted.text("subkey_id")), ""},
		{"get_workspace", "GET", s.at(""), ""},
		{"get_pricing", "GET", "/v1/pricing", ""},
		{"get_remaining_balance", "GET", "/v1/balance", ""},
		{"get_forecast", "GET", s.at("/forecast"), ""},
		{"estimate_savings", "GET", "/v1/estimate?agents=10&rounds_per_agent=20", ""},
		{"delete_workspace", "DELETE", s.at(""), ""},
	}
	for _, step := range steps {
		a := s.call(step.method, step.address, step.body)
		schema := doc.success(step.name, fmt.Sprint(a.status))
		if schema == nil {
			t.Errorf("%s: no schema for %d %s", step.name, a.status, a.body)
			continue
		}
		if fault := doc.fault(schema, a.json); fault != "" {
			t.Errorf("%s: %s in %s", step.name, fault, a.body)
		}
	}
}

func (d document) success(operation, status string) map[string]any {
	for _, methods := range d.Paths {
		for _, o := range methods {
			if o.OperationID == operation {
				return o.Responses[status].Content["application/json"].Schema
			}
		}
	}
	return nil
}

// fault checks a value against the few words of JSON Schema that our outputs use.
func (d document) fault(schema map[string]any, value any) string {
	if reference, ok := schema["$ref"].(string); ok {
		return d.fault(d.Components.Schemas[strings.TrimPrefix(reference, "#/components/schemas/")], value)
	}
	if forms, ok := schema["anyOf"].([]any); ok {
		if value == nil {
			return ""
		}
		return d.fault(forms[0].(map[string]any), value)
	}
	ok := false
	switch v := value.(type) {
	case map[string]any:
		ok = schema["type"] == "object"
		properties, _ := schema["properties"].(map[string]any)
		for name, p := range properties {
			field, there := v[name]
			if fault := d.fault(p.(map[string]any), field); fault != "" || !there {
				return name + ": " + fault
			}
		}
		if len(v) != len(properties) {
			return "fields that the schema does not have"
		}
	case []any:
		ok = schema["type"] == "array"
		for _, item := range v {
			if fault := d.fault(schema["items"].(map[string]any), item); fault != "" {
				return fault
			}
		}
	case string:
		ok = schema["type"] == "string"
	case bool:
		ok = schema["type"] == "boolean"
	case float64:
		ok = schema["type"] == "number" || schema["type"] == "integer" && v == float64(int64(v))
	}
	if !ok {
		raw, _ := json.Marshal(value)
		return fmt.Sprintf("%s is not %v", raw, schema["type"])
	}
	return ""
}
