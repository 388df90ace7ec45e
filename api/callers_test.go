package api_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"aanet/api"
	"aanet/api/apitest"
)

// inputs has one acceptable input for every operation that takes a key.
func inputs(subkey string) map[string]args {
	return map[string]args{
		"get_workspace": {}, "delete_workspace": {}, "mint_subkey": {"label": "l"}, "list_subkeys": {}, "update_subkey": {"subkey_id": subkey, "budget_cap": 1},
		"revoke_subkey": {"subkey_id": subkey}, "read_file": {"path": "f"}, "write_file": {"path": "f", "content": "x"}, "append_file": {"path": "f", "content": "x"},
		"delete_file": {"path": "f"}, "acquire_lock": {"name": "l", "lease_seconds": 60}, "renew_lock": {"name": "l", "lease_seconds": 60}, "release_lock": {"name": "l"},
		"get_lock_status": {"name": "l"}, "list_locks": {}, "send_message": {"body": "b"}, "get_messages": {}, "get_activity": {}, "get_activity_summary": {},
		"submit_feedback":       {"category": "bug", "title": "t", "description": "d", "pledged_budget_usd": "0"},
		"get_remaining_balance": {}, "get_forecast": {},
	}
}

// withKey lists the operations that take a key and that the table above knows.
func withKey(t *testing.T) []*api.Op {
	t.Helper()
	known := inputs("")
	var ops []*api.Op
	for _, o := range api.Operations() {
		if _, ok := known[o.Name]; ok {
			ops = append(ops, o)
		}
	}
	if len(ops) != len(known) {
		t.Errorf("%d of %d operations exist", len(ops), len(known))
	}
	return ops
}

func revokedEverywhere(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	a.Acquire(t, "l", 60)
	ws.Revoke(t, a)
	for _, o := range withKey(t) {
		before := len(ws.Log(t))
		refused := a.Refused(t, "UNAUTHENTICATED", o.Name, inputs(a.ID)[o.Name])
		same(t, o.Name+": status", refused.Status, 401)
		if refused.Remaining != nil {
			t.Errorf("%s tells a revoked key that %d units remain", o.Name, *refused.Remaining)
		}
		a.Refused(t, "UNAUTHENTICATED", o.Name, args{"nonsense": true})
		rows := ws.Log(t)[before:]
		if len(rows) != 2 || rows[0].Operation != o.Log || rows[0].Status != "UNAUTHENTICATED" || rows[0].SubkeyID == nil || *rows[0].SubkeyID != a.ID {
			t.Errorf("%s with a revoked key left the rows %+v", o.Name, rows)
		}
	}
}

func ownersOnly(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	for _, o := range withKey(t) {
		if o.Who != api.Owner {
			continue
		}
		before := len(ws.Log(t))
		a.Refused(t, "OWNER_ONLY", o.Name, inputs(a.ID)[o.Name])
		a.Refused(t, "OWNER_ONLY", o.Name, args{"nonsense": true})
		rows := ws.Log(t)[before:]
		if len(rows) != 2 || rows[0].Operation != o.Log || rows[0].Status != "OWNER_ONLY" || *rows[0].SubkeyID != a.ID {
			t.Errorf("%s with a sub-key left the rows %+v", o.Name, rows)
		}
	}
}

func TestCallers(t *testing.T) {
	play(t, apitest.Options{},
		scene{"keys that are none", strangers},
		scene{"a wrong workspace id", wrongWorkspace},
		scene{"the order of refusals", orderOfRefusals},
		scene{"the order once the caller is admitted", orderInside},
		scene{"a blocked workspace", blocked},
		scene{"refusals leave nothing", refusalsLeaveNothing},
		scene{"what is logged", whatIsLogged},
	)
}

func strangers(t *testing.T, ws *apitest.Workspace) {
	other := ws.World.Workspace(t, 0)
	deleted := ws.World.Workspace(t, 0)
	deleted.Owner.OK(t, "delete_workspace", nil)
	before := len(ws.Log(t))
	mistyped := []byte(ws.Owner.Key)
	mistyped[40] ^= 1
	for _, key := range []string{"", "x", "aan_o", string(mistyped), ws.Owner.Key + "x", " " + ws.Owner.Key, deleted.Owner.Key, "ключ"} {
		for _, o := range withKey(t) {
			refused := ws.Door.Call(t, o.Name, key, ws.ID, inputs(uuid.NewString())[o.Name])
			same(t, o.Name+" with a key that is none", refused.Code, "UNAUTHENTICATED")
		}
	}
	same(t, "rows", len(ws.Log(t)), before)
	other.Owner.OK(t, "get_workspace", nil)
}

func wrongWorkspace(t *testing.T, ws *apitest.Workspace) {
	other := ws.World.Workspace(t, 1000)
	theirs := len(other.Log(t))
	a := ws.Mint(t)
	for _, key := range []apitest.Agent{ws.Owner, a} {
		random := key.In(t, uuid.NewString(), "read_file", args{"path": "f"})
		for _, id := range []string{other.ID, uuid.Nil.String(), "x", "unknown", "{" + ws.ID + "}", " " + ws.ID, "A" + ws.ID[1:] + "\x00", "../" + ws.ID, randomText(4_000)} {
			for _, o := range withKey(t) {
				sampled := id != other.ID && o.Name != "read_file" && o.Name != "delete_workspace"
				if !o.InWorkspace() || sampled {
					continue
				}
				before := ws.Last(t).Seq
				refused := key.In(t, id, o.Name, inputs(a.ID)[o.Name])
				same(t, o.Name+" elsewhere", refused.Code, "NOT_FOUND")
				same(t, o.Name+" elsewhere", fmt.Sprint(refused.Body), fmt.Sprint(random.Body))
				last := ws.Last(t)
				if last.Seq != before+1 || last.Operation != o.Log || last.Status != "NOT_FOUND" {
					t.Errorf("%s elsewhere left the row %+v", o.Name, last)
				}
			}
		}
	}
	same(t, "rows over there", len(other.Log(t)), theirs)
}
