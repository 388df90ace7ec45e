package admin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"aanet/api/apitest"
	"aanet/store"
	"aanet/store/storetest"
)

// evil is what a tenant might write wherever he can write something.
const evil = `"><img src=x onerror=alert(1)></script><script>alert(2)</script>{{.}}`

// The tenant's own: no page may show any of it.
const (
	secretContent = "the-content-of-a-file"
	secretBody    = "the-body-of-a-message"
)

// stage is a workspace in which everything has a hostile name.
func (h *house) stage(t *testing.T) (*apitest.Workspace, apitest.Agent) {
	t.Helper()
	ws := h.World.Workspace(t, 1_000_000)
	id := uuid.MustParse(ws.ID)
	storetest.Exec(t, h.DSN, `update workspaces set label = $2 where workspace_id = $1`, id, evil)
	agent := ws.MintWith(t, apitest.Args{"label": "agent " + evil})
	directory := strings.ReplaceAll(evil, "/", "|")
	agent.Write(t, directory+"/"+directory, secretContent)
	agent.Append(t, "notes.txt", secretContent)
	agent.Acquire(t, "lock "+evil, 300)
	agent.OK(t, "send_message", apitest.Args{"body": secretBody + evil, "topic": evil})
	agent.Call(t, "read_file", apitest.Args{"path": "missing " + directory})
	ws.Owner.OK(t, "submit_feedback", apitest.Args{"category": "bug", "title": evil, "description": evil, "pledged_budget_usd": "1200.50"})
	storetest.Exec(t, h.DSN, `insert into webhooks (workspace_id, webhook_id, url, events, payload_version, secret, enabled_at, created_seq, created_at, disabled_reason)
		values ($1, $2, $3, '{message}', 1, '', now(), 1, now(), $3)`, id, uuid.New(), "https://hooks.example/"+evil)
	storetest.Exec(t, h.DSN, `insert into deposits (workspace_id, deposit_id, state, units, network, payer, tx_hash, reason, created_at)
		values ($1, $2, 'failed', 500, 'eip155:8453', $3, $3, $3, now())`, id, uuid.New(), evil)
	storetest.Exec(t, h.DSN, `insert into refunds (workspace_id, refund_id, state, units, network, destination, reason, requested_at, resolved_at)
		values ($1, $2, 'rejected', 500, 'base', $3, $3, now(), now())`, id, uuid.New(), evil)
	if err := h.Store.RollUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ws, agent
}

// safe demands that a page shows hostile text as text, and nothing that is the tenant's alone.
func safe(t *testing.T, path string, p page) {
	t.Helper()
	for _, markup := range []string{"<img", "<script>", "</script><", "onerror=alert(1)>", secretContent, secretBody} {
		if strings.Contains(p.body, markup) {
			t.Errorf("%s holds %q", path, markup)
		}
	}
	if !strings.Contains(p.header.Get("Content-Security-Policy"), "default-src 'none'") || p.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: headers %v", path, p.header)
	}
}

func TestWorkspacePages(t *testing.T) {
	h := open(t, nil)
	ws, agent := h.stage(t)
	b := h.as(t, store.RoleViewer)
	here := "/admin/workspaces/" + ws.ID
	directory := strings.ReplaceAll(evil, "/", "|")
	for path, texts := range map[string][]string{
		"/admin":                                           {"Overview", "$1,200.50", evil, "Calls a minute", "Owed to workspaces"},
		"/admin/workspaces":                                {evil, ws.ID},
		"/admin/workspaces?order=balance":                  {evil, "Largest balance"},
		"/admin/workspaces?order=active":                   {evil},
		"/admin/workspaces?order=blocked":                  {"There is none."},
		"/admin/workspaces?order=" + url.QueryEscape(evil): {evil},
		here:                                               {evil, "Balance, 24 hours", "Messages sent", "Numbers"},
		here + "?range=quarter":                            {"Balance, 90 days"},
		here + "/keys":                                     {"agent " + evil, agent.ID, "Owner key", agent.Key[len(agent.Key)-4:]},
		here + "/activity":                                 {"PUT_FILE", "LOCK_ACQUIRE", "lock " + evil, "NOT_FOUND", "SEND_MESSAGE"},
		here + "/activity?operation=put_file":              {"PUT_FILE", directory},
		here + "/activity?refused=yes":                     {"missing " + directory},
		here + "/activity?key=" + agent.ID:                 {"APPEND_FILE"},
		here + "/activity?key=" + url.QueryEscape(evil):    {"No such row", evil},
		here + "/files":                                    {directory + "/", "notes.txt", "21 B"},
		here + "/files?path=" + url.QueryEscape(directory): {directory, "All files"},
		here + "/locks":                                    {"lock " + evil, agent.ID},
		here + "/webhooks":                                 {"https://hooks.example/" + evil},
		here + "/money":                                    {"credit", "failed", "rejected", evil, "a story"},
		"/admin/prices":                                    {"write_file", "$0.00008", "AANET_RATE_LIMITS"},
		"/admin/search":                                    {"Search"},
		"/admin/search?q=" + url.QueryEscape(evil):         {evil, ws.ID},
		"/admin/search?q=" + agent.ID:                      {agent.ID, evil},
		"/admin/search?q=" + url.QueryEscape("nothing "+evil): {"Nothing is known by nothing " + evil},
		"/admin/search?q=" + ws.Owner.Key:                     {"This looks like a key"},
	} {
		safe(t, path, b.see(path, texts...))
	}
	if p := b.get("/admin/search?q=" + ws.Owner.Key); strings.Contains(p.body, ws.Owner.Key) {
		t.Error("a key that was pasted is shown")
	}
	for _, path := range []string{
		"/admin/workspaces/" + uuid.NewString(), "/admin/workspaces/x", here + "/nothing", here + "/files?path=%00", here + "/files?path=%ff",
	} {
		if p := b.get(path); p.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, p.status)
		}
	}
	for _, path := range []string{"/admin", here, here + "/files", "/admin/search?q=x", "/admin/prices"} {
		if p := h.browser(t).get(path); p.status != http.StatusSeeOther {
			t.Errorf("%s without a session: %d", path, p.status)
		}
	}
}

var nextLink = regexp.MustCompile(`href="([^"]+)">Next page<`)

// walk follows a list to its end and gives what the pattern finds on all pages.
func (b *browser) walk(path string, pattern *regexp.Regexp) (found []string) {
	b.t.Helper()
	for range 20 {
		p := b.see(path)
		for _, m := range pattern.FindAllStringSubmatch(p.body, -1) {
			found = append(found, m[1])
		}
		next := nextLink.FindStringSubmatch(p.body)
		if next == nil {
			return found
		}
		path = strings.ReplaceAll(next[1], "&amp;", "&")
	}
	b.t.Fatalf("%s has no end", path)
	return nil
}

// Every list shows each row once, over all its pages.
func TestListsArePagedCompletely(t *testing.T) {
	h := open(t, nil)
	ws := h.World.Workspace(t, 1_000_000)
	id := uuid.MustParse(ws.ID)
	const rows = 120
	storetest.Exec(t, h.DSN, `insert into keys (workspace_id, key_hash, subkey_id, last4, label, minted_seq, created_at)
		select $1, decode(lpad(to_hex(i), 64, '0'), 'hex'), ('00000000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, 'abcd', 'key', i + 1, now() from generate_series(1, $2::int) i`, id, rows)
	storetest.Exec(t, h.DSN, `insert into locks (workspace_id, name, held, lease_expires_at, fencing_token, acquire_count, last_acquired_at)
		select $1, 'lock' || lpad(i::text, 4, '0') || ' ', true, now() + interval '1 hour', i, 1, now() from generate_series(1, $2::int) i`, id, rows)
	storetest.Exec(t, h.DSN, `insert into files (workspace_id, path, etag, size, body, created_at, updated_at)
		select $1, case when i % 3 = 0 then 'file' || lpad(i::text, 4, '0') || '/x' else 'file' || lpad(i::text, 4, '0') end, 'v1', 1, 'x', now(), now() from generate_series(1, $2::int) i`, id, rows)
	storetest.Exec(t, h.DSN, `insert into adjustments (workspace_id, adjustment_id, kind, units, reason, created_at)
		select $1, ('00000000-0000-7000-9000-' || lpad(i::text, 12, '0'))::uuid, 'credit', 1, 'row', now() - (i / 7) * interval '1 minute' from generate_series(1, $2::int) i`, id, rows)
	storetest.Exec(t, h.DSN, `with w as (update workspaces set seq = seq + $2, last_ts = now() where workspace_id = $1 returning seq)
		insert into activity (workspace_id, seq, ts, operation, path) select $1, seq - $2 + i, now(), 'ROW', 'row' || i || '.' from w cross join generate_series(1, $2::bigint) i`, id, rows)
	storetest.Exec(t, h.DSN, `insert into workspaces (workspace_id, label, created_at, last_ts, refusal_at)
		select ('00000000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, 'one', now(), now(), now() from generate_series(1, $1::int) i`, rows)
	if err := h.Store.RollUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := h.as(t, store.RoleViewer)
	here := "/admin/workspaces/" + ws.ID
	for path, pattern := range map[string]string{
		here + "/keys": `>(00000000-0000-7000-8000-\d{12})<`, here + "/locks": `>(lock\d{4}) <`, here + "/files": `>(file\d{4})/?<`,
		here + "/money": `>(00000000-0000-7000-9000-\d{12})<`, here + "/activity?operation=ROW": `>(row\d+)\.<`,
		"/admin/workspaces?order=newest": `>(00000000-0000-7000-8000-\d{12})<`, "/admin/workspaces?order=balance": `>(00000000-0000-7000-8000-\d{12})<`,
		"/admin/workspaces?order=active": `>(00000000-0000-7000-8000-\d{12})<`,
	} {
		found := b.walk(path, regexp.MustCompile(pattern))
		all := len(found)
		slices.Sort(found)
		if different := len(slices.Compact(found)); all != rows || different != rows {
			t.Errorf("%s shows %d rows, %d of them different; want %d", path, all, different, rows)
		}
	}
	for _, forged := range []string{"x", "bnVsbA", "IngiOg", "eyJJRCI6MX0", "ImFcdTAwMDAi", strings.Repeat("A", 2000)} {
		for _, list := range []string{"/keys", "/locks", "/files", "/money", "/activity"} {
			if p := b.get(here + list + "?after=" + forged); p.status != http.StatusOK {
				t.Errorf("%s after %q: %d", list, forged, p.status)
			}
		}
	}
	if p := b.get(fmt.Sprintf("/admin/workspaces?after=%s", "eyJSYW5rIjotMX0")); p.status != http.StatusOK {
		t.Errorf("a forged place: %d", p.status)
	}
}
