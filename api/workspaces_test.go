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

func TestWorkspaces(t *testing.T) {
	play(t, apitest.Options{},
		scene{"create and get", createAndGet},
		scene{"labels", labels},
		scene{"a trial", trial},
		scene{"a trial ends on time", trialEnds},
		scene{"deleting", deleteWorkspace},
		scene{"money under way holds a deletion up", deleteWaits},
	)
}

func createAndGet(t *testing.T, ws *apitest.Workspace) {
	made := ws.Anyone(t, "create_workspace", args{"label": "mine"})
	same(t, "status", made.Status, 201)
	same(t, "label", made.Text("label"), "mine")
	if id, err := uuid.Parse(made.Text("workspace_id")); err != nil || id.String() != made.Text("workspace_id") {
		t.Errorf("workspace_id %q", made.Text("workspace_id"))
	}
	if key := made.Text("owner_key"); !strings.HasPrefix(key, "aan_o") {
		t.Errorf("the owner key begins %.5q", key)
	}
	a := ws.Mint(t)
	a.Write(t, "f", "x")
	got := a.Costs(t, 0, "get_workspace", nil)
	want := map[string]any{
		"workspace_id": ws.ID, "label": "a story", "created_at": got.Body["created_at"], "deposit_balance": json.Number("999990"), "total_spent": json.Number("10"),
		"is_trial": false, "trial_expires_at": nil, "blocked": false,
	}
	same(t, "workspace", fmt.Sprint(got.Body), fmt.Sprint(want))
	instant(t, got.Text("created_at"))
	same(t, "remaining", *got.Remaining, 999_990)
}

func labels(t *testing.T, ws *apitest.Workspace) {
	for _, label := range []string{"x", `a"),(\,'` + "{}", strings.Repeat("😀", 200), "</script>", " "} {
		made := ws.Anyone(t, "create_workspace", args{"label": label})
		owner := apitest.Agent{Key: made.Text("owner_key")}.On(ws)
		// A refusal and a success carry the totals, label included, from call to call.
		same(t, "refused", owner.In(t, made.Text("workspace_id"), "read_file", args{"path": "f"}).Code, "NOT_FOUND")
		same(t, "label", owner.In(t, made.Text("workspace_id"), "get_workspace", nil).Text("label"), label)
	}
	for _, wrong := range []args{{}, {"label": ""}, {"label": strings.Repeat("é", 201)}, {"label": "a\nb"}, {"label": "a\x00b"}, {"label": 7}, {"label": nil}, {"label": "x", "extra": 1}} {
		same(t, fmt.Sprint(wrong), ws.Door.Call(t, "create_workspace", "", "", wrong).Code, "INVALID_ARGUMENT")
	}
	same(t, "bad UTF-8", ws.Door.Call(t, "create_workspace", "", "", args{"label": json.RawMessage("\"\xff\"")}).Code, "MALFORMED")
	same(t, "a key that is none does not matter", ws.Door.Call(t, "create_workspace", "nonsense", "", args{"label": "x"}).Code, "")
}

func trial(t *testing.T, ws *apitest.Workspace) {
	made := ws.Anyone(t, "create_trial_workspace", nil)
	same(t, "status", made.Status, 201)
	lasts := instant(t, made.Text("trial_expires_at")).Sub(instant(t, made.Text("created_at")))
	same(t, "lasts", lasts, 24*time.Hour)
	same(t, "an argument", ws.Door.Call(t, "create_trial_workspace", "", "", args{"label": "x"}).Code, "INVALID_ARGUMENT")
	mine := ws.Trial(t)
	got := mine.Owner.OK(t, "get_workspace", nil)
	same(t, "balance", got.Int("deposit_balance"), 100)
	same(t, "is_trial", got.Body["is_trial"], any(true))
	a := mine.Mint(t)
	a.Write(t, "f", "x")
	a.Acquire(t, "l", 60)
	for range 8 {
		a.Write(t, "f", "x")
	}
	a.Refused(t, "INSUFFICIENT_BALANCE", "write_file", args{"path": "f", "content": "x"})
	mine.CheckLedger(t)
}

func trialEnds(t *testing.T, ws *apitest.Workspace) {
	mine := ws.Trial(t)
	a := mine.Mint(t)
	a.Acquire(t, "l", 3600)
	before := mine.Later(t, 24*time.Hour-10*time.Minute)
	a.On(before).Read(t, "")
	before.Owner.OK(t, "get_workspace", nil)
	after := mine.Later(t, 24*time.Hour+time.Second)
	for _, o := range withKey(t) {
		for _, key := range []apitest.Agent{after.Owner, a.On(after)} {
			key.Refused(t, "UNAUTHENTICATED", o.Name, inputs(a.ID)[o.Name])
		}
	}
	// The first replica's clock did not pass the end: nothing but the time is against the key.
	same(t, "balance in time", mine.Balance(t), 94)
	ws.On(after.World).Owner.OK(t, "get_workspace", nil)
}

func deleteWorkspace(t *testing.T, ws *apitest.Workspace) {
	doomed := ws.World.Workspace(t, 500)
	a := doomed.Mint(t)
	a.Write(t, "f", "x")
	a.Acquire(t, "l", 60)
	a.Refused(t, "OWNER_ONLY", "delete_workspace", nil)
	doomed.Owner.Refused(t, "INVALID_ARGUMENT", "delete_workspace", args{"force": true})
	gone := doomed.Owner.Costs(t, 0, "delete_workspace", nil)
	same(t, "body", fmt.Sprint(gone.Body), fmt.Sprint(map[string]any{"workspace_id": doomed.ID, "deleted": true, "forfeited_units": json.Number("485")}))
	elsewhere := doomed.On(doomed.Replica(t))
	for _, o := range withKey(t) {
		for _, key := range []apitest.Agent{doomed.Owner, a, elsewhere.Owner, a.On(elsewhere)} {
			key.Refused(t, "UNAUTHENTICATED", o.Name, inputs(a.ID)[o.Name])
		}
	}
	same(t, "from another tenant", ws.Owner.In(t, doomed.ID, "read_file", args{"path": "f"}).Code, "NOT_FOUND")
	while := ws.World.Workspace(t, 0)
	while.Block(t, true)
	same(t, "nothing to forfeit, blocked", while.Owner.OK(t, "delete_workspace", nil).Int("forfeited_units"), 0)
}

func deleteWaits(t *testing.T, ws *apitest.Workspace) {
	storetest.Exec(t, ws.DSN, `insert into refunds (workspace_id, refund_id, state, units, network, destination, requested_at)
		values ($1::uuid, gen_random_uuid(), 'pending', 5, 'base', 'x', now())`, ws.ID)
	ws.Owner.Refused(t, "REFUND_PENDING", "delete_workspace", nil)
	storetest.Exec(t, ws.DSN, `update refunds set state = 'paid' where workspace_id = $1::uuid`, ws.ID)
	for _, state := range []string{"received", "settling", "unknown"} {
		storetest.Exec(t, ws.DSN, `insert into deposits (workspace_id, deposit_id, state, units, network, created_at)
			values ($1::uuid, gen_random_uuid(), $2, 5, 'base', now())`, ws.ID, state)
		ws.Owner.Refused(t, "DEPOSIT_PENDING", "delete_workspace", nil)
		storetest.Exec(t, ws.DSN, `update deposits set state = 'failed' where workspace_id = $1::uuid`, ws.ID)
	}
	same(t, "balance", ws.Balance(t), 1_000_000)
}
