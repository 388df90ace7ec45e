package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"aanet/api/apitest"
	"aanet/store/storetest"
)

func TestSubkeys(t *testing.T) {
	play(t, apitest.Options{},
		scene{"mint and list", mintAndList},
		scene{"odd scopes never mean everything", oddScopes},
		scene{"caps in bounds", capBounds},
		scene{"a cap is spent to the last unit", capEdges},
		scene{"an update changes what it names", updates},
		scene{"a change binds from the next call", changesBind},
		scene{"the last use", lastUse},
		scene{"revoking", revoking},
		scene{"a revoked key on every operation", revokedEverywhere},
		scene{"the owner's operations", ownersOnly},
		scene{"ids that nothing has", unknownIDs},
		scene{"another tenant's ids", otherTenantsIDs},
		scene{"ten thousand", subkeyLimit},
	)
}

// entry is one sub-key of the list.
func entry(t *testing.T, ws *apitest.Workspace, a apitest.Agent) map[string]any {
	t.Helper()
	for _, row := range ws.Owner.OK(t, "list_subkeys", nil).Rows() {
		if row["subkey_id"] == any(a.ID) {
			return row
		}
	}
	t.Errorf("sub-key %s is not listed", a.ID)
	return nil
}

func mintAndList(t *testing.T, ws *apitest.Workspace) {
	if rows := ws.Owner.OK(t, "list_subkeys", nil).Rows(); rows == nil || len(rows) != 0 {
		t.Errorf("without sub-keys the list is %v", rows)
	}
	made := ws.Owner.Costs(t, 0, "mint_subkey", args{"label": "<b>é😀", "path_scope_prefix": "a/b/", "budget_cap": 9007199254740991})
	same(t, "status", made.Status, 201)
	if !strings.HasPrefix(made.Text("key"), "aan_s") {
		t.Errorf("the key begins %.5q", made.Text("key"))
	}
	same(t, "minting names the sub-key", *ws.Last(t).Path, made.Text("subkey_id"))
	same(t, "created_at", ws.Owner.OK(t, "list_subkeys", nil).Rows()[0]["created_at"], any(ws.Last(t).TS))
	second, third := ws.Mint(t), ws.Mint(t)
	ws.Revoke(t, second)
	second.Refused(t, "UNAUTHENTICATED", "get_workspace", nil)
	third.Write(t, "f", "x")

	list := ws.Owner.OK(t, "list_subkeys", nil)
	rows := list.Rows()
	same(t, "how many", len(rows), 3)
	same(t, "order", fmt.Sprint([]any{rows[0]["subkey_id"], rows[1]["subkey_id"], rows[2]["subkey_id"]}), fmt.Sprint([]string{made.Text("subkey_id"), second.ID, third.ID}))
	same(t, "label", rows[0]["label"], any("<b>é😀"))
	same(t, "scope", rows[0]["path_scope_prefix"], any("a/b"))
	same(t, "cap", fmt.Sprint(rows[0]["budget_cap"]), "9007199254740991")
	same(t, "last use of an unused key", rows[0]["last_used_at"], nil)
	same(t, "revoked", rows[1]["revoked"], any(true))
	same(t, "not revoked", rows[2]["revoked"], any(false))
	same(t, "no scope", rows[2]["path_scope_prefix"], nil)
	same(t, "no cap", rows[2]["budget_cap"], nil)
	same(t, "spent", apitest.Int(rows[2]["spent_so_far"]), 10)
	same(t, "last use", rows[2]["last_used_at"], any(ws.Last(t).TS))
	shown := fmt.Sprint(list.Body, ws.Owner.OK(t, "get_activity", nil).Body)
	for _, key := range []string{ws.Owner.Key, made.Text("key"), second.Key, third.Key} {
		if strings.Contains(shown, key[28:]) {
			t.Error("a key is shown again")
		}
	}
	for _, wrong := range []args{{}, {"label": ""}, {"label": strings.Repeat("é", 201)}, {"label": "a\nb"}, {"label": "a\x00"}, {"label": nil}, {"label": "x", "scope": "a"}} {
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "mint_subkey", wrong)
	}
	ws.Owner.OK(t, "mint_subkey", args{"label": strings.Repeat("😀", 200), "path_scope_prefix": nil, "budget_cap": nil})
}

func oddScopes(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"path_scope_prefix": "kept"})
	for _, scope := range []string{"", "/", ".", "..", "notes/..", "../x", "a//b", "a//", "/a", "a\x00", `a\b`, "a/./b", randomText(3_000)} {
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "mint_subkey", args{"label": "l", "path_scope_prefix": scope})
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "update_subkey", args{"subkey_id": a.ID, "path_scope_prefix": scope})
	}
	same(t, "scope", entry(t, ws, a)["path_scope_prefix"], any("kept"))
	star := ws.MintWith(t, args{"path_scope_prefix": "*"})
	star.Write(t, "*/a", "x")
	star.Refused(t, "SCOPE_DENIED", "write_file", args{"path": "a", "content": ""})
	under := ws.MintWith(t, args{"path_scope_prefix": "team_a%"})
	under.Refused(t, "SCOPE_DENIED", "write_file", args{"path": "teamXa%/x", "content": ""})
	composed := ws.MintWith(t, args{"path_scope_prefix": "caf\u00e9"})
	composed.Write(t, "caf\u00e9/x", "x")
	composed.Refused(t, "SCOPE_DENIED", "read_file", args{"path": "cafe\u0301/x"})
}

func capBounds(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"budget_cap": 7})
	for _, wrong := range []any{0, -1, 1.5, "", "ten", true, json.RawMessage("9007199254740992"), json.RawMessage("9007199254740993"), json.RawMessage("9223372036854775808"), json.RawMessage("1e30")} {
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "mint_subkey", args{"label": "l", "budget_cap": wrong})
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "update_subkey", args{"subkey_id": a.ID, "budget_cap": wrong})
	}
	same(t, "cap", apitest.Int(entry(t, ws, a)["budget_cap"]), 7)
}

func capEdges(t *testing.T, ws *apitest.Workspace) {
	write := args{"path": "f", "content": "x"} // 10 units
	equal, less := ws.MintWith(t, args{"budget_cap": 10}), ws.MintWith(t, args{"budget_cap": 9})
	done := equal.Costs(t, 10, "write_file", write)
	same(t, "left at equality", *done.Remaining, 0)
	refused := equal.Refused(t, "BUDGET_EXCEEDED", "write_file", write)
	same(t, "required", refused.Int("required"), 10)
	same(t, "available", refused.Int("available"), 0)
	refused = less.Refused(t, "BUDGET_EXCEEDED", "write_file", write)
	same(t, "available", refused.Int("available"), 9)
	same(t, "status", refused.Status, 402)
	less.Costs(t, 1, "read_file", args{"path": "f"})
	equal.Costs(t, 0, "get_lock_status", args{"name": "never"})
	equal.OK(t, "get_workspace", nil)
	balance := less.OK(t, "get_remaining_balance", nil)
	same(t, "remaining", balance.Int("remaining"), 8)
	same(t, "key_budget_remaining", balance.Int("key_budget_remaining"), 8)

	ws.Owner.OK(t, "update_subkey", args{"subkey_id": equal.ID, "budget_cap": 5})
	refused = equal.Refused(t, "BUDGET_EXCEEDED", "read_file", args{"path": "f"})
	same(t, "available below what was spent", refused.Int("available"), 0)
	same(t, "remaining below what was spent", equal.OK(t, "get_remaining_balance", nil).Int("key_budget_remaining"), 0)
	ws.Owner.OK(t, "update_subkey", args{"subkey_id": equal.ID, "budget_cap": 11})
	equal.Costs(t, 1, "read_file", args{"path": "f"})
	equal.Refused(t, "BUDGET_EXCEEDED", "read_file", args{"path": "f"})
}

func updates(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"path_scope_prefix": "a", "budget_cap": 50})
	for _, c := range []struct {
		in    args
		scope string
		limit int64
	}{
		{args{"budget_cap": 60}, "a", 60},
		{args{"path_scope_prefix": nil}, "a", 60},
		{args{"path_scope_prefix": nil, "budget_cap": nil}, "a", 60},
		{args{}, "a", 60},
		{args{"path_scope_prefix": "b/c/"}, "b/c", 60},
		{args{"path_scope_prefix": "d", "budget_cap": 1}, "d", 1},
	} {
		c.in["subkey_id"] = a.ID
		updated := ws.Owner.Costs(t, 0, "update_subkey", c.in)
		same(t, "scope", updated.Text("path_scope_prefix"), c.scope)
		same(t, "cap", updated.Int("budget_cap"), c.limit)
		same(t, "the list's entry", fmt.Sprint(entry(t, ws, a)), fmt.Sprint(updated.Body))
	}
	ws.Revoke(t, a)
	ws.Owner.Refused(t, "SUBKEY_REVOKED", "update_subkey", args{"subkey_id": a.ID, "budget_cap": 70})
	ws.Owner.Refused(t, "INVALID_ARGUMENT", "update_subkey", args{"subkey_id": a.ID, "label": "new"})
}

func changesBind(t *testing.T, ws *apitest.Workspace) {
	elsewhere := ws.On(ws.Replica(t))
	a := ws.Mint(t)
	ws.Owner.Write(t, "x/f", "x")
	ws.Owner.Write(t, "y/f", "y")
	for range 5 {
		a.Read(t, "x/f")
		a.On(elsewhere).Read(t, "y/f")
	}
	ws.Owner.OK(t, "update_subkey", args{"subkey_id": a.ID, "path_scope_prefix": "x"})
	a.On(elsewhere).Refused(t, "SCOPE_DENIED", "read_file", args{"path": "y/f"})
	a.On(elsewhere).Read(t, "x/f")
	elsewhere.Owner.OK(t, "update_subkey", args{"subkey_id": a.ID, "budget_cap": 1})
	a.Refused(t, "BUDGET_EXCEEDED", "read_file", args{"path": "x/f"})
	ws.Owner.OK(t, "update_subkey", args{"subkey_id": a.ID, "budget_cap": 100})
	a.On(elsewhere).Read(t, "x/f")
	elsewhere.Revoke(t, a)
	a.Refused(t, "UNAUTHENTICATED", "read_file", args{"path": "x/f"})
}

func revoking(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	for _, name := range []string{"b", "a", "expired", "c/released"} {
		a.Acquire(t, name, 60)
	}
	a.OK(t, "renew_lock", lockArgs("a", 3600))
	a.OK(t, "renew_lock", lockArgs("b", 3600))
	a.OK(t, "release_lock", args{"name": "c/released"})
	b.Acquire(t, "b's", 3600)
	ws = ws.Later(t, 2*time.Minute)
	before := len(ws.Log(t))
	revoked := ws.Owner.Costs(t, 0, "revoke_subkey", args{"subkey_id": a.ID})
	same(t, "subkey_id", revoked.Text("subkey_id"), a.ID)
	same(t, "revoked", revoked.Body["revoked"], any(true))
	same(t, "released", fmt.Sprint(revoked.Texts("released_locks")), "[a b]")
	var logged []string
	for _, row := range ws.Log(t)[before:] {
		logged = append(logged, row.Operation+" "+*row.Path+" "+row.Status)
		same(t, "by the owner", row.SubkeyID, nil)
	}
	same(t, "rows", fmt.Sprint(logged), "[REVOKE_SUBKEY "+a.ID+" OK LOCK_RELEASE a OK LOCK_RELEASE b OK]")
	again := ws.Owner.OK(t, "revoke_subkey", args{"subkey_id": a.ID})
	if released := again.Texts("released_locks"); released == nil || len(released) != 0 {
		t.Errorf("revoking again released %v", again.Body["released_locks"])
	}
	status := b.On(ws).OK(t, "get_lock_status", args{"name": "a"})
	same(t, "status", status.Text("status"), "free")
	same(t, "release_count", status.Int("release_count"), 1)
	b.On(ws).Acquire(t, "a", 60)
	same(t, "b keeps its own", ws.Owner.OK(t, "get_lock_status", args{"name": "b's"}).Text("holder_subkey_id"), b.ID)
}

func subkeyLimit(t *testing.T, ws *apitest.Workspace) {
	storetest.Exec(t, ws.DSN, `
		insert into keys (workspace_id, key_hash, subkey_id, last4, label, minted_seq, created_at)
		select $1::uuid, sha256(('many' || n)::bytea), gen_random_uuid(), 'many', 'many', 0, now() from generate_series(1, 9999) n`, ws.ID)
	ws.Revoke(t, ws.Mint(t))
	ws.Owner.Refused(t, "SUBKEY_LIMIT", "mint_subkey", args{"label": "one too many"})
	same(t, "how many are listed", len(ws.Owner.OK(t, "list_subkeys", nil).Rows()), 10_000)
}

func unknownIDs(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	random := ws.Owner.Refused(t, "NOT_FOUND", "revoke_subkey", args{"subkey_id": uuid.NewString()})
	for _, id := range []string{
		"x", "", "../y", strings.ToUpper(a.ID), "{" + a.ID + "}", "urn:uuid:" + a.ID, strings.ReplaceAll(a.ID, "-", ""), a.ID + " ", uuid.Nil.String(),
		ws.ID, "a\x00b", "\n", strings.Repeat("z", 4_000),
	} {
		for _, tool := range []string{"revoke_subkey", "update_subkey"} {
			refused := ws.Owner.Refused(t, "NOT_FOUND", tool, args{"subkey_id": id})
			same(t, "answer", fmt.Sprint(refused.Body), fmt.Sprint(random.Body))
		}
	}
	same(t, "rows of refusals are logged", ws.Last(t).Status, "NOT_FOUND")
	a.OK(t, "get_workspace", nil)
}

func otherTenantsIDs(t *testing.T, ws *apitest.Workspace) {
	other := ws.World.Workspace(t, 1000)
	theirs := other.Mint(t)
	before := len(other.Log(t))
	for _, tool := range []string{"revoke_subkey", "update_subkey"} {
		stranger := ws.Owner.Refused(t, "NOT_FOUND", tool, args{"subkey_id": theirs.ID})
		random := ws.Owner.Refused(t, "NOT_FOUND", tool, args{"subkey_id": uuid.NewString()})
		same(t, tool, fmt.Sprint(stranger.Body), fmt.Sprint(random.Body))
	}
	ws.Owner.Refused(t, "NOT_FOUND", "send_message", args{"body": "b", "to_subkey_id": theirs.ID})
	same(t, "activity of their key", len(ws.Owner.OK(t, "get_activity", args{"subkey_id": theirs.ID}).Rows()), 0)
	theirs.OK(t, "get_workspace", nil)
	same(t, "rows over there", len(other.Log(t)), before)
	other.CheckLedger(t)
}

// lastUse is fresh to the second whatever the call was: charged, free, refused or repeated.
func lastUse(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	in := with(args{"path": "f", "content": "x"}, "k")
	for i, use := range []func(apitest.Agent){
		func(a apitest.Agent) { a.OK(t, "write_file", in) },
		func(a apitest.Agent) { a.OK(t, "get_remaining_balance", nil) },
		func(a apitest.Agent) { a.OK(t, "get_workspace", nil) },
		func(a apitest.Agent) { same(t, "replayed", a.OK(t, "write_file", in).Replayed, true) },
		func(a apitest.Agent) { a.Refused(t, "NOT_FOUND", "read_file", args{"path": "none"}) },
		func(a apitest.Agent) { a.Refused(t, "INVALID_ARGUMENT", "read_file", args{"path": ".."}) },
		func(a apitest.Agent) { a.OK(t, "get_lock_status", args{"name": "never"}) },
	} {
		later := ws.Later(t, time.Duration(i+1)*time.Hour)
		before := time.Now().Add(time.Duration(i+1)*time.Hour - time.Second)
		use(a.On(later))
		text, _ := entry(t, ws, a)["last_used_at"].(string)
		if used := instant(t, text); used.Before(before) || used.After(time.Now().Add(time.Duration(i+1)*time.Hour)) {
			t.Errorf("use %d: %s, want about %s", i, text, before)
		}
	}
}
