package api_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/store/storetest"
	"aanet/webhooks"

	"github.com/google/uuid"
)

// reachable lets stories register names that need no resolver.
func reachable() apitest.Options {
	return apitest.Options{Webhooks: api.WebhookConfig{
		Guard: webhooks.NewGuard(webhooks.GuardOptions{
			HostPorts: []string{"receiver.test:443", "receiver.test:8443"}, Prefixes: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")},
		}),
	}}
}

func TestWebhooks(t *testing.T) {
	play(t, reachable(),
		scene{"register, list, delete", webhookLife},
		scene{"events that are accepted", webhookEvents},
		scene{"addresses that are refused", webhookAddresses},
		scene{"five active at most", webhookLimit},
		scene{"fifty in all", webhookRows},
		scene{"who may, and when", webhookCallers},
		scene{"another tenant's", webhookOfAnother},
		scene{"deliveries", webhookDeliveries},
		scene{"nothing is queued for refused calls", webhookQueue},
	)
}

const hookURL = "https://receiver.test/hook"

func registered(t *testing.T, ws *apitest.Workspace, events ...string) string {
	t.Helper()
	if events == nil {
		events = []string{"file_write"}
	}
	return ws.Owner.OK(t, "register_webhook", args{"url": hookURL, "events": events}).Text("webhook_id")
}

func webhookLife(t *testing.T, ws *apitest.Workspace) {
	if rows := ws.Owner.OK(t, "list_webhooks", nil).Rows(); rows == nil || len(rows) != 0 {
		t.Errorf("no webhook, and the list is %v", rows)
	}
	made := ws.Owner.Costs(t, 0, "register_webhook", args{"url": hookURL, "events": []string{"message", "file_write", "message"}})
	same(t, "status", made.Status, 201)
	same(t, "url", made.Text("url"), hookURL)
	same(t, "events, each once", fmt.Sprint(made.Texts("events")), "[file_write message]")
	if secret := made.Text("secret"); !strings.HasPrefix(secret, "whsec_") || len(secret) != 50 {
		t.Errorf("secret %q", secret)
	}
	id := made.Text("webhook_id")
	same(t, "log", shownRow(ws.Last(t)), "REGISTER_WEBHOOK "+id+" 0")
	second := registered(t, ws)
	rows := ws.Owner.Costs(t, 0, "list_webhooks", nil).Rows()
	same(t, "listed", len(rows), 2)
	same(t, "oldest first", rows[0]["webhook_id"], any(id))
	same(t, "fields", len(rows[0]), 7)
	same(t, "active", rows[0]["active"], any(true))
	same(t, "reason", rows[0]["disabled_reason"], nil)
	deleted := ws.Owner.Costs(t, 0, "delete_webhook", args{"webhook_id": id})
	same(t, "deleted", deleted.Body["deleted"], any(true))
	same(t, "log", shownRow(ws.Last(t)), "DELETE_WEBHOOK "+id+" 0")
	ws.Owner.Refused(t, "NOT_FOUND", "delete_webhook", args{"webhook_id": id})
	rows = ws.Owner.OK(t, "list_webhooks", nil).Rows()
	same(t, "left", len(rows), 1)
	same(t, "left", rows[0]["webhook_id"], any(second))
}

func webhookEvents(t *testing.T, ws *apitest.Workspace) {
	for _, events := range []any{[]string{}, []string{"x"}, []string{"file_write", "x"}, []string{"FILE_WRITE"}, []string{"ping"}, nil, "file_write", []int{1}, make([]string, 10_000)} {
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "register_webhook", args{"url": hookURL, "events": events})
	}
	ws.Owner.Refused(t, "INVALID_ARGUMENT", "register_webhook", args{"url": hookURL})
	for _, event := range []string{"file_write", "file_delete", "lock_available", "message", "balance_low"} {
		registered(t, ws, event)
	}
}

func webhookAddresses(t *testing.T, ws *apitest.Workspace) {
	for _, url := range []any{
		"", "x", "http://receiver.test/", "https://10.0.0.1/", "https://127.0.0.1/", "https://[::1]/", "https://localhost/", "https://169.254.169.254/latest",
		"https://user@receiver.test/", "https://receiver.test/#x", "https://receiver.test:22/", "https://2130706433/", "https://0x7f.1/", "https://no-such-host.invalid/",
		hookURL + strings.Repeat("a", 2048), "https://receiver.test/\x00", nil, 5,
	} {
		refused := ws.Owner.Refused(t, "INVALID_ARGUMENT", "register_webhook", args{"url": url, "events": []string{"message"}})
		faults, _ := refused.Body["errors"].([]any)
		if len(faults) != 1 || strings.Contains(fmt.Sprint(faults), "127.") {
			t.Errorf("%v: faults %v", url, faults)
		}
	}
	both := ws.Owner.Refused(t, "INVALID_ARGUMENT", "register_webhook", args{"url": "http://x", "events": []string{}})
	same(t, "faults", len(both.Body["errors"].([]any)), 2)
	for _, url := range []string{"https://receiver.test:8443/?a=b", "https://10.9.1.1:9000/", "https://1.1.1.1/"} {
		same(t, "url", ws.Owner.OK(t, "register_webhook", args{"url": url, "events": []string{"message"}}).Text("url"), url)
	}
}

func webhookLimit(t *testing.T, ws *apitest.Workspace) {
	codes := make([]string, 12)
	apitest.Together(len(codes), func(i int) {
		codes[i] = ws.Owner.Call(t, "register_webhook", args{"url": hookURL, "events": []string{"message"}}).Code
	})
	made := 0
	for _, code := range codes {
		if code == "" {
			made++
		} else {
			same(t, "refusal", code, "WEBHOOK_LIMIT")
		}
	}
	same(t, "made", made, 5)
	rows := ws.Owner.OK(t, "list_webhooks", nil).Rows()
	same(t, "listed", len(rows), 5)
	ws.Owner.OK(t, "delete_webhook", args{"webhook_id": rows[0]["webhook_id"]})
	registered(t, ws)
	ws.Owner.Refused(t, "WEBHOOK_LIMIT", "register_webhook", args{"url": hookURL, "events": []string{"message"}})
	ws.Owner.OK(t, "enable_webhook", args{"webhook_id": rows[1]["webhook_id"]}) // one that is active already
}

func webhookRows(t *testing.T, ws *apitest.Workspace) {
	for range 10 {
		var ids []any
		for range 5 {
			ids = append(ids, registered(t, ws))
		}
		disable(t, ws, ids)
	}
	ws.Owner.Refused(t, "WEBHOOK_LIMIT", "register_webhook", args{"url": hookURL, "events": []string{"message"}})
	same(t, "listed", len(ws.Owner.OK(t, "list_webhooks", nil).Rows()), 50)
}

func webhookCallers(t *testing.T, ws *apitest.Workspace) {
	id, a := registered(t, ws), ws.Mint(t)
	good := args{"url": hookURL, "events": []string{"message"}}
	bad := args{"url": "http://x", "events": []string{}}
	for _, tool := range []string{"delete_webhook", "get_webhook_deliveries", "ping_webhook", "enable_webhook", "rotate_webhook_secret"} {
		a.Refused(t, "OWNER_ONLY", tool, args{"webhook_id": id})
	}
	a.Refused(t, "OWNER_ONLY", "list_webhooks", nil)
	a.Refused(t, "OWNER_ONLY", "register_webhook", good)
	a.Refused(t, "OWNER_ONLY", "register_webhook", bad)
	a.Refused(t, "OWNER_ONLY", "redeliver_events", args{"webhook_id": id, "since": "2026-01-01T00:00:00Z"})
	ws.Block(t, true)
	ws.Owner.Refused(t, "WORKSPACE_BLOCKED", "register_webhook", bad)
	for _, tool := range []string{"ping_webhook", "enable_webhook"} {
		ws.Owner.Refused(t, "WORKSPACE_BLOCKED", tool, args{"webhook_id": id})
	}
	ws.Owner.OK(t, "list_webhooks", nil)
	ws.Owner.OK(t, "get_webhook_deliveries", args{"webhook_id": id})
	ws.Owner.OK(t, "rotate_webhook_secret", args{"webhook_id": id})
	ws.Owner.OK(t, "delete_webhook", args{"webhook_id": id})
	ws.Block(t, false)
	trial := ws.World.Trial(t)
	registered(t, trial)
	trial.CheckLedger(t)
}

func webhookOfAnother(t *testing.T, ws *apitest.Workspace) {
	other := ws.World.Workspace(t, 100)
	theirs := registered(t, other)
	for _, id := range []string{theirs, "x", "", "../y", strings.ToUpper(theirs), "{" + theirs + "}", "00000000-0000-0000-0000-000000000000"} {
		for _, tool := range []string{"delete_webhook", "get_webhook_deliveries", "ping_webhook", "enable_webhook", "rotate_webhook_secret"} {
			ws.Owner.Refused(t, "NOT_FOUND", tool, args{"webhook_id": id})
		}
	}
	same(t, "log", ws.Last(t).Status, "NOT_FOUND")
	same(t, "theirs", other.Owner.OK(t, "list_webhooks", nil).Rows()[0]["active"], any(true))
	for _, row := range other.Log(t) {
		if strings.HasPrefix(row.Operation, "DELETE") || strings.HasPrefix(row.Operation, "PING") {
			t.Errorf("logged there: %+v", row)
		}
	}
}

func webhookDeliveries(t *testing.T, ws *apitest.Workspace) {
	id := registered(t, ws)
	if rows := ws.Owner.Costs(t, 0, "get_webhook_deliveries", args{"webhook_id": id}).Rows(); rows == nil || len(rows) != 0 {
		t.Errorf("no attempt, and the list is %v", rows)
	}
	for _, limit := range []any{0, 201, -1, 1.5} {
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "get_webhook_deliveries", args{"webhook_id": id, "limit": limit})
	}
	ws.Owner.OK(t, "get_webhook_deliveries", args{"webhook_id": id, "limit": 200})
	for _, wrong := range []args{
		{"webhook_id": id},
		{"webhook_id": id, "since": "now"},
		{"webhook_id": id, "since": "2020-01-01T00:00:00Z"},
		{"webhook_id": id, "since": "2026-11-30T00:00:00Z", "delivery_id": id},
	} {
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "redeliver_events", wrong)
	}
	ws.Owner.Refused(t, "NOT_FOUND", "redeliver_events", args{"webhook_id": id, "delivery_id": id})
	same(t, "event id of a ping", ws.Owner.OK(t, "ping_webhook", args{"webhook_id": id}).Text("event_id"),
		fmt.Sprintf("evt_%s_%d", strings.ReplaceAll(ws.ID, "-", ""), ws.Last(t).Seq))
}

// webhookQueue looks at what waits: nobody delivers in these stories.
func webhookQueue(t *testing.T, ws *apitest.Workspace) {
	poor := ws.World.Workspace(t, 10)
	registered(t, poor, "file_write", "file_delete", "message", "lock_available")
	poor.Owner.Refused(t, "INSUFFICIENT_BALANCE", "write_file", args{"path": "a", "content": strings.Repeat("x", 2000)})
	poor.Owner.Refused(t, "NOT_FOUND", "delete_file", args{"path": "a"})
	same(t, "after refusals", queued(t, poor), 0)
	poor.Owner.Write(t, "a", "x")
	same(t, "after a write", queued(t, poor), 1)
	poor.Owner.Refused(t, "INSUFFICIENT_BALANCE", "send_message", args{"body": "x"})
	same(t, "after a refused message", queued(t, poor), 1)
}

// disable does what ten failed attempts do.
func disable(t *testing.T, ws *apitest.Workspace, ids []any) {
	t.Helper()
	storetest.Exec(t, ws.DSN, `with gone as (
		update webhooks set active = false, disabled_reason = 'failing', due_at = null where workspace_id = $1 and webhook_id::text = any($2))
		update workspaces set webhooks = 0 where workspace_id = $1`, ws.ID, ids)
}

// queued counts the deliveries that wait in a workspace.
func queued(t *testing.T, ws *apitest.Workspace) int64 {
	t.Helper()
	n, err := ws.Store.WaitingEvents(t.Context(), uuid.MustParse(ws.ID))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
