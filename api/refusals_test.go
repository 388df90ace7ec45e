package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"aanet/api"
	"aanet/api/apitest"
)

// malformed is a text that no door can read.
var malformed = json.RawMessage(`"\ud800"`)

// orderOfRefusals lets several refusals apply at once and takes the first ground away step by step.
func orderOfRefusals(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	ws.Block(t, true)
	wrong := args{"label": malformed, "surplus": 1}
	stranger := a
	stranger.Key = a.Key[:len(a.Key)-1] + "~"
	same(t, "no key", stranger.In(t, uuid.NewString(), "mint_subkey", wrong).Code, "UNAUTHENTICATED")
	same(t, "wrong workspace", a.In(t, uuid.NewString(), "mint_subkey", args{"label": 7, "surplus": 1}).Code, "NOT_FOUND")
	a.Refused(t, "WORKSPACE_BLOCKED", "mint_subkey", wrong)
	ws.Owner.Refused(t, "WORKSPACE_BLOCKED", "mint_subkey", wrong)
	a.Refused(t, "OWNER_ONLY", "update_subkey", wrong)
	ws.Block(t, false)
	a.Refused(t, "OWNER_ONLY", "mint_subkey", wrong)
	same(t, "what the row of a caller who does not come to the input's faults says of them", ws.Last(t).Detail == nil, true)
	ws.Owner.Refused(t, "MALFORMED", "mint_subkey", wrong)
	if row := ws.Last(t); row.Detail == nil {
		t.Error("the row of a malformed input does not say what is wrong")
	}
	refused := ws.Owner.Refused(t, "INVALID_ARGUMENT", "mint_subkey", args{"label": "", "budget_cap": 0, "surplus": "secret"})
	same(t, "faults told", fieldsAtFault(refused), "label budget_cap surplus")
	for fields, in := range map[string]args{
		"path fencing_token":      {"path": "..", "content": "x", "lock_name": "l"},
		"path content lock_name":  {"path": "a//b", "fencing_token": 1},
		"lock_name":               {"path": "a", "content": "x", "lock_name": ".."},
		"stamp fencing_token":     {"path": "a", "content": strings.Repeat("x", api.FileBytesMax+1), "stamp": 5, "lock_name": "l"},
		"fencing_token":           {"path": "a", "content": strings.Repeat("x", api.FileBytesMax+1), "lock_name": "l"},
		"lock_name fencing_token": {"path": "a", "content": "x", "lock_name": 5, "fencing_token": 0},
	} {
		same(t, "faults of a write", fieldsAtFault(ws.Owner.Refused(t, "INVALID_ARGUMENT", "write_file", in)), fields)
	}
	same(t, "faults of an update", fieldsAtFault(ws.Owner.Refused(t, "INVALID_ARGUMENT", "update_subkey",
		args{"subkey_id": a.ID, "path_scope_prefix": "", "budget_cap": 5, "clear": []string{"budget_cap"}})), "path_scope_prefix budget_cap")
	if text, _ := json.Marshal(refused.Body); strings.Contains(string(text), "secret") {
		t.Errorf("the refusal repeats a value: %s", text)
	}
}

// fieldsAtFault are the fields that a refusal names, in its order.
func fieldsAtFault(refused apitest.Reply) string {
	var fields []string
	faults, _ := refused.Body["errors"].([]any)
	for _, f := range faults {
		fault, _ := f.(map[string]any)
		fields = append(fields, fmt.Sprint(fault["field"]))
	}
	return strings.Join(fields, " ")
}

// orderInside goes on where the caller may do such a thing: the input, the scope, the state, the money.
func orderInside(t *testing.T, ws *apitest.Workspace) {
	ws = ws.World.Workspace(t, 2_073)
	rich := ws.Mint(t)
	a := ws.MintWith(t, args{"path_scope_prefix": "in", "budget_cap": 5})
	rich.Write(t, "in/full", strings.Repeat("x", api.FileBytesMax))
	rich.Acquire(t, "in/l", 60)
	gone := ws.Mint(t)
	ws.Revoke(t, gone)
	same(t, "balance", ws.Balance(t), 12)
	write := func(path string, content any) args {
		return args{"path": path, "content": content, "if_match": "stale"}
	}
	huge := strings.Repeat("x", api.FileBytesMax+1)
	for _, c := range []struct {
		code, tool string
		in         args
	}{
		{"MALFORMED", "write_file", write("out/f", malformed)},
		{"INVALID_ARGUMENT", "write_file", write("out/../f", huge)},
		{"TOO_LARGE", "write_file", write("out/f", huge)},
		{"TOO_LARGE", "append_file", write("in", huge)},
		{"SCOPE_DENIED", "write_file", write("out/f", "x")},
		{"SCOPE_DENIED", "append_file", write("in-full/f", "x")},
		{"IS_DIRECTORY", "write_file", write("in", "x")},
		{"NOT_A_DIRECTORY", "append_file", write("in/full/x", "x")},
		{"CONFLICT", "append_file", write("in/full", "x")},
		{"CONFLICT", "write_file", write("in/new", "x")},
		{"CONFLICT", "delete_file", args{"path": "in/full", "if_match": "stale"}},
		{"TOO_LARGE", "append_file", args{"path": "in/full", "content": "x"}},
		{"NOT_FOUND", "read_file", args{"path": "in/none"}},
		{"NOT_FOUND", "delete_file", args{"path": "in/none"}},
		{"LOCK_HELD", "acquire_lock", lockArgs("in/l", 60)},
		{"NOT_LOCK_HOLDER", "renew_lock", lockArgs("in/l", 60)},
		{"NOT_FOUND", "renew_lock", lockArgs("in/none", 60)},
		{"NOT_FOUND", "send_message", args{"body": "b", "to_subkey_id": uuid.NewString()}},
		{"SUBKEY_REVOKED", "send_message", args{"body": "b", "to_subkey_id": gone.ID}},
		{"BUDGET_EXCEEDED", "write_file", args{"path": "in/new", "content": "x"}},
		{"INSUFFICIENT_BALANCE", "write_file", args{"path": "in/new", "content": strings.Repeat("x", 3000)}},
	} {
		a.Refused(t, c.code, c.tool, c.in)
	}
	same(t, "balance", ws.Balance(t), 12)
	ws.CheckLedger(t)
}

func blocked(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	ws.Owner.Write(t, "f", "x")
	ws.Block(t, true)
	before := ws.Balance(t)
	works := map[string]bool{
		"get_workspace": true, "list_subkeys": true, "update_subkey": true, "release_lock": true, "get_activity": true, "get_activity_summary": true,
		"submit_feedback": true, "get_remaining_balance": true, "get_forecast": true, "revoke_subkey": true, "delete_workspace": true,
	}
	for _, o := range withKey(t) {
		in := inputs(a.ID)[o.Name]
		switch {
		case !works[o.Name]:
			ws.Owner.Refused(t, "WORKSPACE_BLOCKED", o.Name, in)
		case o.Name == "release_lock":
			ws.Owner.Refused(t, "NOT_FOUND", o.Name, in)
		case o.Name != "revoke_subkey" && o.Name != "delete_workspace":
			ws.Owner.Costs(t, 0, o.Name, in)
		}
	}
	same(t, "blocked", ws.Owner.OK(t, "get_workspace", nil).Body["blocked"], any(true))
	same(t, "balance", ws.Balance(t), before)
	elsewhere := ws.On(ws.Replica(t))
	elsewhere.Block(t, false)
	same(t, "unblocked", ws.Owner.OK(t, "get_workspace", nil).Body["blocked"], any(false))
	ws.Owner.Write(t, "f", "y")
	ws.Block(t, true)
	ws.Revoke(t, a)
	elsewhere.Owner.Refused(t, "WORKSPACE_BLOCKED", "read_file", args{"path": "f"})
	ws.Block(t, false)
}

// refusalsLeaveNothing makes calls that money stops, and finds everything as it was.
func refusalsLeaveNothing(t *testing.T, ws *apitest.Workspace) {
	poor := ws.World.Workspace(t, 11)
	etag := poor.Owner.Write(t, "f", "kept")
	for _, c := range []struct {
		tool, path string
		in         args
	}{
		{"write_file", "f", args{"path": "f", "content": "x"}}, {"write_file", "new", args{"path": "new", "content": ""}},
		{"append_file", "f", args{"path": "f", "content": "x"}}, {"append_file", "new", args{"path": "new", "content": "x"}},
		{"acquire_lock", "l", lockArgs("l", 60)}, {"send_message", "topic", args{"body": "b", "topic": "topic"}},
	} {
		refused := poor.Owner.Refused(t, "INSUFFICIENT_BALANCE", c.tool, c.in)
		same(t, "available", refused.Int("available"), 1)
		same(t, "remaining", *refused.Remaining, 1)
		last := poor.Last(t)
		same(t, "status logged", last.Status, "INSUFFICIENT_BALANCE")
		same(t, "path logged", *last.Path, c.path)
	}
	poor.Owner.Costs(t, 1, "read_file", args{"path": "f"})
	poor.Owner.Refused(t, "INSUFFICIENT_BALANCE", "delete_file", args{"path": "f"})
	poor.Owner.Refused(t, "INSUFFICIENT_BALANCE", "get_messages", nil)
	poor.Owner.Refused(t, "INSUFFICIENT_BALANCE", "list_locks", nil)
	poor.Owner.Costs(t, 0, "get_lock_status", args{"name": "l"})
	poor.Credit(t, 100)
	read := poor.Owner.OK(t, "read_file", args{"path": "f"})
	if read.Text("content") != "kept" || read.Text("etag") != etag {
		t.Errorf("the file is now %v", read.Body)
	}
	poor.Owner.Refused(t, "NOT_FOUND", "read_file", args{"path": "new"})
	same(t, "lock", poor.Owner.OK(t, "get_lock_status", args{"name": "l"}).Text("status"), "never_held")
	same(t, "messages", len(poor.Owner.Inbox(t, nil)), 0)
	poor.CheckLedger(t)
}

// whatIsLogged makes one good call of each kind and compares the rows.
func whatIsLogged(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	for _, c := range []struct {
		tool string
		in   args
		row  string // operation, path, cost; empty for none
	}{
		{"write_file", args{"path": "d/f", "content": "x"}, "PUT_FILE d/f 10"}, {"append_file", args{"path": "d/f", "content": ""}, "APPEND_FILE d/f 8"},
		{"read_file", args{"path": "d/f"}, "GET_FILE d/f 1"}, {"read_file", args{"path": "d"}, "GET_FILE d 1"}, {"delete_file", args{"path": "d/f"}, "DELETE_FILE d/f 1"},
		{"acquire_lock", lockArgs("l", 60), "LOCK_ACQUIRE l 5"}, {"renew_lock", lockArgs("l", 60), "LOCK_RENEW l 2"},
		{"get_lock_status", args{"name": "l"}, "LOCK_STATUS l 1"}, {"get_lock_status", args{"name": "never"}, "LOCK_STATUS never 0"},
		{"list_locks", nil, "LIST_LOCKS <nil> 1"}, {"release_lock", args{"name": "l"}, "LOCK_RELEASE l 0"},
		{"send_message", args{"body": "b", "topic": "t"}, "SEND_MESSAGE t 3"}, {"send_message", args{"body": "b"}, "SEND_MESSAGE <nil> 3"},
		{"get_messages", args{"topic": "t"}, "GET_MESSAGES t 1"}, {"get_messages", nil, "GET_MESSAGES <nil> 1"},
		{"get_workspace", nil, ""}, {"get_remaining_balance", nil, ""}, {"list_subkeys", nil, ""}, {"get_activity", nil, ""},
		{"get_activity_summary", nil, ""}, {"get_forecast", nil, ""}, {"get_pricing", nil, ""}, {"estimate_savings", args{"agents": 1, "rounds_per_agent": 1}, ""},
		{"update_subkey", args{"subkey_id": a.ID, "budget_cap": 9}, "UPDATE_SUBKEY " + a.ID + " 0"},
		{"revoke_subkey", args{"subkey_id": a.ID}, "REVOKE_SUBKEY " + a.ID + " 0"}, {"revoke_subkey", args{"subkey_id": a.ID}, "REVOKE_SUBKEY " + a.ID + " 0"},
	} {
		before := ws.Last(t).Seq
		ws.Owner.OK(t, c.tool, c.in)
		last := ws.Last(t)
		if c.row == "" {
			same(t, c.tool+": rows", last.Seq-before, 0)
			continue
		}
		same(t, c.tool+": rows", last.Seq-before, 1)
		same(t, c.tool+": row", shownRow(last), c.row)
		same(t, c.tool+": status", last.Status, "OK")
	}
	refused := ws.Owner.Refused(t, "INVALID_ARGUMENT", "write_file", args{"path": "d/f", "content": 7})
	last := ws.Last(t)
	same(t, "a wrong input", shownRow(last), "PUT_FILE d/f 0")
	same(t, "its status", last.Status, refused.Code)
	if last.Detail == nil || !strings.Contains(*last.Detail, "content") {
		t.Errorf("the row of a wrong input says %v", last.Detail)
	}
	ws.Owner.Refused(t, "INVALID_ARGUMENT", "write_file", args{"path": "d//f", "content": "x"})
	same(t, "a wrong path", shownRow(ws.Last(t)), "PUT_FILE <nil> 0")
}
