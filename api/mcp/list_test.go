package mcp_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"

	"aanet/api"
	"aanet/api/mcp"
)

var update = flag.Bool("update", false, "write the generated reference anew")

// added are the optional properties that the contract's text adds to its schemas.
var added = map[string][]string{
	"aanet_read_file":    {"limit", "after", "offset", "max_bytes"},
	"aanet_get_activity": {"before_seq"},
	"aanet_write_file":   {"lock_name", "fencing_token", "idempotency_key"},
	"aanet_append_file":  {"lock_name", "fencing_token", "idempotency_key"},
	"aanet_delete_file":  {"lock_name", "fencing_token", "idempotency_key"},
	"aanet_mint_subkey":  {"spend_limit_per_hour", "spend_limit_per_day", "idempotency_key"},

	"aanet_update_subkey":    {"spend_limit_per_hour", "spend_limit_per_day", "clear", "idempotency_key"},
	"aanet_revoke_subkey":    {"idempotency_key"},
	"aanet_acquire_lock":     {"wait_seconds", "idempotency_key"},
	"aanet_renew_lock":       {"idempotency_key"},
	"aanet_release_lock":     {"idempotency_key"},
	"aanet_send_message":     {"idempotency_key"},
	"aanet_register_webhook": {"balance_low_units", "idempotency_key"},
	"aanet_delete_webhook":   {"idempotency_key"},
	"aanet_request_refund":   {"idempotency_key"},
	"aanet_deposit":          {"idempotency_key"},
	"aanet_get_messages":     {"wait_seconds"},
	"aanet_submit_feedback":  {"idempotency_key"},
}

type listedTool struct {
	Name, Title, Description  string
	InputSchema, OutputSchema map[string]any
	Annotations               struct{ ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint *bool }
}

func (w *world) list(headers ...string) []listedTool {
	w.t.Helper()
	var answer struct {
		Result struct{ Tools []listedTool }
	}
	r := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, headers...)
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil || len(answer.Result.Tools) == 0 {
		w.t.Fatalf("HTTP %d %s: %v", r.status, r.body, err)
	}
	return answer.Result.Tools
}

func names(tools []listedTool) (all []string) {
	for _, t := range tools {
		all = append(all, t.Name)
	}
	slices.Sort(all)
	return all
}

// undescribed removes descriptions: the contract leaves them to us.
func undescribed(schema map[string]any) map[string]any {
	for _, p := range schema["properties"].(map[string]any) {
		delete(p.(map[string]any), "description")
	}
	return schema
}

func TestStrangersSeeTheContract(t *testing.T) {
	file, err := os.ReadFile("testdata/contract.json")
	if err != nil {
		t.Fatal(err)
	}
	contract := map[string]struct{ InputSchema, OutputSchema map[string]any }{}
	if err := json.Unmarshal(file, &contract); err != nil {
		t.Fatal(err)
	}
	listed := map[string]listedTool{}
	for _, tool := range newWorld(t).list() {
		listed[tool.Name] = tool
	}
	for _, name := range slices.Sorted(maps.Keys(contract)) {
		tool, there := listed[name]
		if !there {
			t.Errorf("%s is not listed", name)
			continue
		}
		want := contract[name].InputSchema
		want["additionalProperties"] = false
		got := undescribed(tool.InputSchema)
		for _, extra := range added[name] {
			_, listed := got["properties"].(map[string]any)[extra]
			required, _ := got["required"].([]any)
			if !listed || slices.Contains(required, any(extra)) {
				t.Errorf("%s: %s is not an optional property", name, extra)
			}
			delete(got["properties"].(map[string]any), extra)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: input\n got %v\nwant %v", name, got, want)
		}
		if !reflect.DeepEqual(tool.OutputSchema, contract[name].OutputSchema) {
			t.Errorf("%s: output\n got %v\nwant %v", name, tool.OutputSchema, contract[name].OutputSchema)
		}
	}
}

func TestEveryToolIsDescribed(t *testing.T) {
	tools := newWorld(t).list()
	if len(tools) != len(api.Tools()) {
		t.Errorf("%d tools for %d operations", len(tools), len(api.Tools()))
	}
	undescribed := []string{"idempotency_key"} // explained once, in the instructions
	for _, tool := range tools {
		if n := len(tool.Description); n == 0 || n > 900 || tool.Title == "" || len(tool.Name) > 64 {
			t.Errorf("%s: title %q, %d characters of description", tool.Name, tool.Title, n)
		}
		a := tool.Annotations
		if a.ReadOnlyHint == nil || a.DestructiveHint == nil || a.IdempotentHint == nil || a.OpenWorldHint == nil {
			t.Errorf("%s: an annotation is missing: %+v", tool.Name, a)
		}
		if tool.InputSchema["additionalProperties"] != false {
			t.Errorf("%s takes unknown arguments", tool.Name)
		}
		for name, p := range tool.InputSchema["properties"].(map[string]any) {
			if p.(map[string]any)["description"] == nil && !slices.Contains(undescribed, name) {
				t.Errorf("%s: %s has no description", tool.Name, name)
			}
		}
	}
}

func TestListByKindOfKey(t *testing.T) {
	w := newWorld(t)
	var all, anyKey []string
	for _, op := range api.Tools() {
		all = append(all, op.Tool())
		if op.Who != api.Owner {
			anyKey = append(anyKey, op.Tool())
		}
	}
	slices.Sort(all)
	slices.Sort(anyKey)
	badKey := w.owner[:len(w.owner)-1] + "!"
	for name, test := range map[string]struct {
		headers  []string
		want     []string
		required bool
	}{
		"stranger":    {nil, all, true},
		"bad key":     {[]string{"Authorization: Bearer " + badKey}, all, true},
		"two headers": {[]string{"Authorization: Bearer " + w.owner, "Authorization: Bearer " + w.owner}, all, true},
		"owner":       {[]string{"Authorization: Bearer " + w.owner}, all, false},
		"any case":    {[]string{"Authorization: bEARER " + w.owner}, all, false},
		"sub-key":     {[]string{"Authorization: Bearer " + w.subkey}, anyKey, false},
	} {
		tools := w.list(test.headers...)
		if got := names(tools); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v", name, got)
		}
		for _, tool := range tools {
			if tool.Name != "aanet_read_file" {
				continue
			}
			required, _ := tool.InputSchema["required"].([]any)
			if slices.Contains(required, any("api_key")) != test.required || slices.Contains(required, any("workspace_id")) != test.required {
				t.Errorf("%s: requires %v", name, required)
			}
			if !slices.Contains(required, any("path")) {
				t.Errorf("%s: path is not required", name)
			}
		}
	}
	w.call(w.owner, "aanet_revoke_subkey", `{"subkey_id":"`+w.subkeyID+`"}`)
	if got := names(w.list("Authorization: Bearer " + w.subkey)); !slices.Equal(got, all) {
		t.Errorf("a revoked key sees %v", got)
	}
}

func TestReferenceIsFresh(t *testing.T) {
	const file = "../../docs/tools.json"
	want, err := mcp.Reference()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != string(want) {
		t.Errorf("%s is stale (%v): go test ./api/mcp -run Reference -update", file, err)
	}
}
