package api_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"aanet/api/apitest"
)

func TestRotation(t *testing.T) {
	play(t, apitest.Options{},
		scene{"a sub-key", rotateSubkey},
		scene{"the owner's own key", rotateOwner},
		scene{"ten minutes", rotationEnds},
		scene{"at once", rotateAtOnce},
		scene{"again before the new one is used", rotateAgain},
		scene{"what cannot be rotated", rotateNothing},
		scene{"what stays", rotationKeeps},
	)
}

// rotate replaces an agent's key and gives the agent with the new one.
func rotate(t *testing.T, ws *apitest.Workspace, a apitest.Agent, more args) apitest.Agent {
	t.Helper()
	in := args{"subkey_id": a.ID}
	for name, value := range more {
		in[name] = value
	}
	a.Key = ws.Owner.OK(t, "rotate_key", in).Text("key")
	return a
}

func rotateSubkey(t *testing.T, ws *apitest.Workspace) {
	old := ws.Mint(t)
	made := ws.Owner.Costs(t, 0, "rotate_key", args{"subkey_id": old.ID})
	same(t, "status", made.Status, 200)
	same(t, "whose", made.Text("subkey_id"), old.ID)
	same(t, "logged", shownRow(ws.Last(t)), "ROTATE_KEY "+old.ID+" 0")
	same(t, "valid until", instant(t, made.Text("previous_valid_until")).Sub(instant(t, ws.Last(t).TS)), 10*time.Minute)
	old.Write(t, "f", "the old one still works")
	old.Write(t, "f", "and again")
	fresh := old
	fresh.Key = made.Text("key")
	fresh.OK(t, "get_remaining_balance", nil)
	refused := old.Refused(t, "UNAUTHENTICATED", "write_file", args{"path": "f", "content": "x"})
	same(t, "status", refused.Status, 401)
	same(t, "logged, as it can be attributed", shownRow(ws.Last(t)), "PUT_FILE f 0")
	same(t, "to its holder", *ws.Last(t).SubkeyID, old.ID)
	fresh.Write(t, "f", "only the new one")
	same(t, "spent", apitest.Int(entry(t, ws, fresh)["spent_so_far"]), 30)
}

func rotateOwner(t *testing.T, ws *apitest.Workspace) {
	old := ws.Owner
	made := old.OK(t, "rotate_key", nil)
	same(t, "whose", made.Body["subkey_id"], nil)
	old.OK(t, "get_workspace", nil)
	ws.Owner.Key = made.Text("key")
	ws.Owner.OK(t, "list_subkeys", nil)
	old.Refused(t, "UNAUTHENTICATED", "get_workspace", nil)
}

func rotationEnds(t *testing.T, ws *apitest.Workspace) {
	old := ws.Mint(t)
	fresh := rotate(t, ws, old, nil)
	old.On(ws.Later(t, 5*time.Minute)).Write(t, "f", "x")
	later := ws.Later(t, 11*time.Minute)
	old.On(later).Refused(t, "UNAUTHENTICATED", "read_file", args{"path": "f"})
	fresh.On(later).Read(t, "f")
}

func rotateAtOnce(t *testing.T, ws *apitest.Workspace) {
	old := ws.Mint(t)
	middle := rotate(t, ws, old, nil)
	fresh := rotate(t, ws, old, args{"immediate": true})
	old.Refused(t, "UNAUTHENTICATED", "get_remaining_balance", nil)
	middle.Refused(t, "UNAUTHENTICATED", "get_remaining_balance", nil)
	fresh.OK(t, "get_remaining_balance", nil)
}

func rotateAgain(t *testing.T, ws *apitest.Workspace) {
	first := ws.Mint(t)
	second := rotate(t, ws, first, nil)
	third := rotate(t, ws, first, nil)
	first.Write(t, "f", "neither of the new ones was used")
	second.Write(t, "f", "now one was")
	first.Refused(t, "UNAUTHENTICATED", "read_file", args{"path": "f"})
	second.Read(t, "f")
	third.Read(t, "f")
	second.Refused(t, "UNAUTHENTICATED", "read_file", args{"path": "f"})
	fourth := rotate(t, ws, third, nil)
	third.Read(t, "f")
	fourth.Read(t, "f")
	third.Refused(t, "UNAUTHENTICATED", "read_file", args{"path": "f"})
}

func rotateNothing(t *testing.T, ws *apitest.Workspace) {
	a, gone := ws.Mint(t), ws.Mint(t)
	ws.Revoke(t, gone)
	ws.Owner.Refused(t, "NOT_FOUND", "rotate_key", args{"subkey_id": uuid.NewString()})
	ws.Owner.Refused(t, "NOT_FOUND", "rotate_key", args{"subkey_id": ws.World.Workspace(t, 0).Mint(t).ID})
	ws.Owner.Refused(t, "NOT_FOUND", "rotate_key", args{"subkey_id": ""})
	ws.Owner.Refused(t, "SUBKEY_REVOKED", "rotate_key", args{"subkey_id": gone.ID})
	ws.Owner.Refused(t, "INVALID_ARGUMENT", "rotate_key", args{"immediate": "now"})
	a.Refused(t, "OWNER_ONLY", "rotate_key", nil)
	old := a
	fresh := rotate(t, ws, a, nil)
	ws.Revoke(t, a)
	old.Refused(t, "UNAUTHENTICATED", "get_workspace", nil)
	fresh.Refused(t, "UNAUTHENTICATED", "get_workspace", nil)
	ws.Block(t, true)
	ws.Owner = rotate(t, ws, ws.Owner, args{"subkey_id": nil})
	ws.Owner.OK(t, "get_workspace", nil)
	ws.Block(t, false)
}

func rotationKeeps(t *testing.T, ws *apitest.Workspace) {
	old := ws.MintWith(t, args{"path_scope_prefix": "in", "budget_cap": 100, "spend_limit_per_hour": 60})
	token := old.Acquire(t, "in/l", 60)
	since := ws.Owner.OK(t, "send_message", args{"body": "to you", "to_subkey_id": old.ID})
	same(t, "sent", since.Code, "")
	fresh := rotate(t, ws, old, nil)
	fresh.OK(t, "write_file", fenced("in/f", "x", "in/l", token))
	fresh.Refused(t, "SCOPE_DENIED", "read_file", args{"path": "out"})
	same(t, "inbox", len(fresh.Inbox(t, nil)), 1)
	row := entry(t, ws, fresh)
	same(t, "spent", apitest.Int(row["spent_so_far"]), 16)
	same(t, "cap", apitest.Int(row["budget_cap"]), 100)
	same(t, "left of the hour", fresh.OK(t, "get_remaining_balance", nil).Int("key_window_remaining"), 44)
	fresh.OK(t, "release_lock", args{"name": "in/l"})
}
