package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"aanet/api"
)

var legacy = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

func TestInitializeEraProtocols(t *testing.T) {
	w := newWorld(t)
	key := "Authorization: Bearer " + w.subkey
	for _, version := range legacy {
		r := w.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, key)
		var hello struct {
			Result struct {
				ProtocolVersion, Instructions string
				ServerInfo                    struct{ Name, Version string }
				Capabilities                  map[string]any
			}
		}
		if err := json.Unmarshal([]byte(r.body), &hello); err != nil {
			t.Fatalf("%s: %d %s", version, r.status, r.body)
		}
		got := hello.Result
		if got.ProtocolVersion != version || got.ServerInfo.Name != "aanet" || got.ServerInfo.Version != "test" || !strings.Contains(got.Instructions, "aanet_create_trial_workspace") {
			t.Errorf("%s: %+v", version, got)
		}
		if len(got.Capabilities) != 1 || got.Capabilities["tools"] == nil {
			t.Errorf("%s: capabilities %v", version, got.Capabilities)
		}
		if r.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: a session was opened", version)
		}
		spoken := []string{key, "Mcp-Protocol-Version: " + version}
		if r := w.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, spoken...); r.status != http.StatusAccepted {
			t.Errorf("%s: initialized: %d %s", version, r.status, r.body)
		}
		if r := w.post(ping, spoken...); r.status != 200 || !strings.Contains(r.body, `"result":{}`) {
			t.Errorf("%s: ping: %d %s", version, r.status, r.body)
		}
		if len(w.list(spoken...)) == 0 {
			t.Errorf("%s: no tools", version)
		}
		w.call(w.subkey, "aanet_get_workspace", `{}`, spoken[1]).decode(t, &struct{}{})
	}
	r := w.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2099-01-01","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if !strings.Contains(r.body, `"protocolVersion":"2025-11-25"`) {
		t.Errorf("a version of the future: %d %s", r.status, r.body)
	}
}

func TestStatelessProtocol(t *testing.T) {
	w := newWorld(t)
	const version = "2026-07-28"
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	send := func(method, params string, headers ...string) reply {
		headers = append(headers, "Mcp-Protocol-Version: "+version, "Mcp-Method: "+method, "Authorization: Bearer "+w.subkey)
		return w.post(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+meta+`}}`, headers...)
	}
	if r := send("server/discover", ""); r.status != 200 || !strings.Contains(r.body, version) || !strings.Contains(r.body, "aanet_create_trial_workspace") ||
		!strings.Contains(r.body, `"cacheScope":"private"`) {
		t.Errorf("discover: %d %s", r.status, r.body)
	}
	r := send("tools/list", "")
	if r.status != 200 || !strings.Contains(r.body, `"cacheScope":"private"`) || !strings.Contains(r.body, `"ttlMs":300000`) || strings.Contains(r.body, "aanet_mint_subkey") {
		t.Errorf("list: %d %.300s", r.status, r.body)
	}
	r = send("tools/call", `"name":"aanet_get_workspace","arguments":{},`, "Mcp-Name: aanet_get_workspace")
	parse(t, r).decode(t, &struct{}{})
	r = send("tools/call", `"name":"aanet_get_workspace","arguments":{"x":1},`, "Mcp-Name: aanet_get_workspace")
	if p := parse(t, r).refused(t); r.status != 200 || p.Code != api.InvalidArgument {
		t.Errorf("refusal: %d %+v", r.status, p)
	}
	if r := send("tools/call", `"name":"aanet_get_workspace",`, "Mcp-Name: aanet_read_file"); r.status != 400 || !strings.Contains(r.body, "-32020") {
		t.Errorf("header mismatch: %d %s", r.status, r.body)
	}
	if r := send("no/such", ""); r.status != 404 || !strings.Contains(r.body, "-32601") {
		t.Errorf("unknown method: %d %s", r.status, r.body)
	}
}

// example is one good call of a tool, in an order that works.
type example struct{ Tool, Arguments string }

func (w *world) examples() []example {
	const hook = `{"url":"https://1.1.1.1/hook","events":["file_write"]}` // an address: no resolver is asked
	var webhook struct {
		ID string `json:"webhook_id"`
	}
	w.call(w.owner, "aanet_register_webhook", hook).decode(w.t, &webhook)
	return []example{
		{"aanet_create_workspace", `{"label":"x"}`},
		{"aanet_create_trial_workspace", `{}`},
		{"aanet_get_workspace", `{}`},
		{"aanet_mint_subkey", `{"label":"helper","path_scope_prefix":"notes","budget_cap":50}`},
		{"aanet_list_subkeys", `{}`},
		{"aanet_update_subkey", fmt.Sprintf(`{"subkey_id":%q,"budget_cap":60}`, w.subkeyID)},
		{"aanet_rotate_key", fmt.Sprintf(`{"subkey_id":%q}`, w.subkeyID)},
		{"aanet_write_file", `{"path":"notes/a","content":"one","idempotency_key":"k"}`},
		{"aanet_append_file", `{"path":"notes/a","content":" two"}`},
		{"aanet_read_file", `{"path":"notes/a"}`},
		{"aanet_delete_file", `{"path":"notes/a"}`},
		{"aanet_acquire_lock", `{"name":"l","lease_seconds":60}`},
		{"aanet_renew_lock", `{"name":"l","lease_seconds":60}`},
		{"aanet_get_lock_status", `{"name":"l"}`},
		{"aanet_list_locks", `{}`},
		{"aanet_release_lock", `{"name":"l"}`},
		{"aanet_send_message", `{"body":"hello","topic":"t"}`},
		{"aanet_get_messages", `{"topic":"t"}`},
		{"aanet_wait", `{"after":0,"wait_seconds":1}`},
		{"aanet_get_activity", `{"limit":5}`},
		{"aanet_get_activity_summary", `{}`},
		{"aanet_register_webhook", hook},
		{"aanet_list_webhooks", `{}`},
		{"aanet_get_webhook_deliveries", fmt.Sprintf(`{"webhook_id":%q}`, webhook.ID)},
		{"aanet_delete_webhook", fmt.Sprintf(`{"webhook_id":%q}`, webhook.ID)},
		{"aanet_submit_feedback", `{"category":"other","title":"t","description":"d","pledged_budget_usd":"0"}`},
		{"aanet_estimate_savings", `{"agents":10,"rounds_per_agent":20}`},
		{"aanet_get_pricing", `{}`},
		{"aanet_get_remaining_balance", `{}`},
		{"aanet_get_forecast", `{}`},
		{"aanet_get_refund_status", `{}`},
		{"aanet_revoke_subkey", fmt.Sprintf(`{"subkey_id":%q}`, w.subkeyID)},
		{"aanet_delete_workspace", `{}`},
	}
}

// What the protocol finds wrong with params is told without them: they may hold a payment's signature.
func TestProtocolErrorsShowNothingOfTheParams(t *testing.T) {
	w := newWorld(t)
	for _, message := range []string{
		`"id":7,"method":"tools/call","params":{"name":5,"_meta":{"x402/payment":"SECRET"}}`,
		`"id":7,"method":"tools/call","params":{"name":"aanet_deposit","_meta":["SECRET"]}`,
		`"id":7,"method":"tools/call","params":{"name":"aanet_deposit","inputResponses":"SECRET","_meta":{"progressToken":1}}`,
		`"id":7,"method":"tools/call","params":"SECRET"`,
		`"id":7,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":"SECRET"}`,
		`"id":7,"method":"tools/list","params":{"cursor":["SECRET"]}`,
		`"id":7,"method":"ping","params":"SECRET"`,
		`"id":7,"method":"resources/read","params":{"uri":["SECRET"]}`,
	} {
		r := w.post(`{"jsonrpc":"2.0",`+message+`}`, "Authorization: Bearer "+w.owner)
		body := r.body[strings.IndexByte(r.body, '{'):] // behind the beginning of an event
		var got struct {
			ID    int
			Error struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || r.status != 200 || got.ID != 7 || got.Error.Code != -32602 {
			t.Errorf("%s: %d %s %v", message, r.status, r.body, err)
		}
		for _, unwanted := range []string{"SECRET", "mcp.", "unmarshal"} {
			if strings.Contains(r.body, unwanted) {
				t.Errorf("%s: shows %s: %s", message, unwanted, r.body)
			}
		}
	}
	for _, id := range []string{`true`, `{}`, `[1]`} {
		r := w.post(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
		if r.status != 400 || !strings.Contains(r.body, `-32600`) || strings.Contains(r.body, "interface") {
			t.Errorf("id %s: %d %s", id, r.status, r.body)
		}
	}
}
