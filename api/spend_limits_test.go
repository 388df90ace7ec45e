package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"aanet/api/apitest"
)

func TestSpendLimits(t *testing.T) {
	play(t, apitest.Options{},
		scene{"an hour slides", hourSlides},
		scene{"a day slides", daySlides},
		scene{"the tighter of two", tighterOfTwo},
		scene{"forty calls at once", limitRace},
		scene{"changing and clearing", changingLimits},
		scene{"wrong limits", wrongLimits},
		scene{"the order of 402", orderOfMoney},
	)
}

var tenUnits = args{"path": "f", "content": "x"}

func hourSlides(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"spend_limit_per_hour": 25})
	same(t, "left at first", a.OK(t, "get_remaining_balance", nil).Int("remaining"), 25)
	a.Costs(t, 10, "write_file", tenUnits)
	spent := instant(t, ws.Last(t).TS)
	half := a.On(ws.Later(t, 30*time.Minute))
	done := half.Costs(t, 10, "write_file", tenUnits)
	same(t, "left", *done.Remaining, 5)
	refused := half.Refused(t, "SPEND_LIMIT_EXCEEDED", "write_file", tenUnits)
	same(t, "status", refused.Status, 402)
	same(t, "required", refused.Int("required"), 10)
	same(t, "available", refused.Int("available"), 5)
	at := instant(t, refused.Text("available_at")).Sub(spent)
	if at < 59*time.Minute || at > 61*time.Minute {
		t.Errorf("available in %s", at)
	}
	same(t, "to the minute", instant(t, refused.Text("available_at")).Truncate(time.Minute).Format(time.RFC3339Nano), instant(t, refused.Text("available_at")).Format(time.RFC3339Nano))
	half.Costs(t, 1, "read_file", args{"path": "f"})
	past := a.On(ws.Later(t, 61*time.Minute))
	balance := past.OK(t, "get_remaining_balance", nil)
	same(t, "the first has left the window", balance.Int("key_window_remaining"), 14)
	same(t, "remaining", balance.Int("remaining"), 14)
	past.Costs(t, 10, "write_file", tenUnits)
	past.Refused(t, "SPEND_LIMIT_EXCEEDED", "write_file", tenUnits)
	same(t, "all of it leaves", *a.On(ws.Later(t, 3*time.Hour)).Costs(t, 10, "write_file", tenUnits).Remaining, 15)
}

func daySlides(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"spend_limit_per_day": 20})
	a.Costs(t, 10, "write_file", tenUnits)
	a.On(ws.Later(t, 12*time.Hour)).Costs(t, 10, "write_file", tenUnits)
	refused := a.On(ws.Later(t, 23*time.Hour)).Refused(t, "SPEND_LIMIT_EXCEEDED", "read_file", args{"path": "f"})
	at := time.Until(instant(t, refused.Text("available_at")))
	if at < 23*time.Hour+35*time.Minute || at > 24*time.Hour {
		t.Errorf("available in %s", at)
	}
	a.On(ws.Later(t, 24*time.Hour+time.Second)).Costs(t, 10, "write_file", tenUnits)
}

func tighterOfTwo(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"spend_limit_per_hour": 15, "spend_limit_per_day": 25, "budget_cap": 1_000})
	a.Costs(t, 10, "write_file", tenUnits)
	balance := a.OK(t, "get_remaining_balance", nil)
	same(t, "the hour is tighter", balance.Int("key_window_remaining"), 5)
	same(t, "cap", balance.Int("key_budget_remaining"), 990)
	later := a.On(ws.Later(t, 2*time.Hour))
	later.Costs(t, 10, "write_file", tenUnits)
	same(t, "now both are", later.OK(t, "get_remaining_balance", nil).Int("key_window_remaining"), 5)
	latest := a.On(ws.Later(t, 4*time.Hour))
	refused := latest.Refused(t, "SPEND_LIMIT_EXCEEDED", "write_file", tenUnits)
	same(t, "of the day", refused.Int("available"), 5)
	if at := time.Until(instant(t, refused.Text("available_at"))); at < 20*time.Hour {
		t.Errorf("available in %s, as if the hour were in the way", at)
	}
	big := args{"path": "f", "content": strings.Repeat("x", 9<<10)}
	same(t, "never", latest.Refused(t, "SPEND_LIMIT_EXCEEDED", "write_file", big).Body["available_at"], nil)
}

func limitRace(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"spend_limit_per_hour": 30})
	done := make([]bool, 40)
	apitest.Together(len(done), func(i int) { done[i] = a.Call(t, "write_file", tenUnits).Code == "" })
	n := 0
	for _, d := range done {
		if d {
			n++
		}
	}
	same(t, "three pass", n, 3)
	same(t, "spent", apitest.Int(entry(t, ws, a)["spent_so_far"]), 30)
}

func changingLimits(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"path_scope_prefix": "in", "budget_cap": 500, "spend_limit_per_hour": 10, "spend_limit_per_day": 400})
	write := args{"path": "in/f", "content": "x"}
	a.Costs(t, 10, "write_file", write)
	a.Refused(t, "SPEND_LIMIT_EXCEEDED", "write_file", write)
	raised := ws.Owner.OK(t, "update_subkey", args{"subkey_id": a.ID, "spend_limit_per_hour": 20})
	same(t, "hour", raised.Int("spend_limit_per_hour"), 20)
	same(t, "day", raised.Int("spend_limit_per_day"), 400)
	same(t, "what was spent counts on", *a.Costs(t, 10, "write_file", write).Remaining, 0)
	lowered := ws.Owner.OK(t, "update_subkey", args{"subkey_id": a.ID, "spend_limit_per_hour": 5})
	same(t, "hour", lowered.Int("spend_limit_per_hour"), 5)
	same(t, "nothing is left, and no less", a.OK(t, "get_remaining_balance", nil).Int("remaining"), 0)
	cleared := ws.Owner.OK(t, "update_subkey", args{"subkey_id": a.ID, "clear": []string{"spend_limit_per_hour", "budget_cap"}})
	same(t, "hour", cleared.Body["spend_limit_per_hour"], nil)
	same(t, "cap", cleared.Body["budget_cap"], nil)
	same(t, "scope", cleared.Text("path_scope_prefix"), "in")
	same(t, "the day's is left", *a.Costs(t, 10, "write_file", write).Remaining, 370)
	all := []string{"spend_limit_per_day", "path_scope_prefix", "spend_limit_per_hour", "budget_cap"}
	free := ws.Owner.OK(t, "update_subkey", args{"subkey_id": a.ID, "clear": all})
	for _, name := range all {
		same(t, name, free.Body[name], nil)
		same(t, name+" in the list", entry(t, ws, a)[name], nil)
	}
	a.Write(t, "anywhere", "x")
	same(t, "no window", a.OK(t, "get_remaining_balance", nil).Body["key_window_remaining"], nil)
	ws.Owner.OK(t, "update_subkey", args{"subkey_id": a.ID, "spend_limit_per_hour": 15})
	same(t, "a new limit counts from now on", a.OK(t, "get_remaining_balance", nil).Int("remaining"), 15)
}

func wrongLimits(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"spend_limit_per_hour": 7})
	for _, wrong := range []any{0, -1, 1.5, "", true, json.RawMessage("9007199254740992")} {
		for _, name := range []string{"spend_limit_per_hour", "spend_limit_per_day"} {
			ws.Owner.Refused(t, "INVALID_ARGUMENT", "mint_subkey", args{"label": "l", name: wrong})
			ws.Owner.Refused(t, "INVALID_ARGUMENT", "update_subkey", args{"subkey_id": a.ID, name: wrong})
		}
	}
	for _, wrong := range []args{
		{"clear": []string{"label"}}, {"clear": []string{""}}, {"clear": "budget_cap"}, {"clear": []int{1}},
		{"clear": []string{"budget_cap"}, "budget_cap": 5}, {"clear": []string{"path_scope_prefix"}, "path_scope_prefix": "a"},
		{"clear": []string{"spend_limit_per_hour"}, "spend_limit_per_hour": 5}, {"clear": []string{"spend_limit_per_day"}, "spend_limit_per_day": 5},
	} {
		wrong["subkey_id"] = a.ID
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "update_subkey", wrong)
	}
	same(t, "limit", apitest.Int(entry(t, ws, a)["spend_limit_per_hour"]), 7)
	ws.Owner.OK(t, "update_subkey", args{"subkey_id": a.ID, "clear": []string{}})
	ws.Owner.OK(t, "update_subkey", args{"subkey_id": a.ID, "clear": []string{"budget_cap", "budget_cap"}})
}

func orderOfMoney(t *testing.T, ws *apitest.Workspace) {
	poor := ws.World.Workspace(t, 9)
	a := poor.MintWith(t, args{"budget_cap": 5, "spend_limit_per_hour": 2})
	a.Refused(t, "INSUFFICIENT_BALANCE", "write_file", tenUnits)
	poor.Credit(t, 100)
	a.Refused(t, "BUDGET_EXCEEDED", "write_file", tenUnits)
	poor.Owner.OK(t, "update_subkey", args{"subkey_id": a.ID, "budget_cap": 50})
	a.Refused(t, "SPEND_LIMIT_EXCEEDED", "write_file", tenUnits)
	a.Refused(t, "NOT_FOUND", "delete_file", args{"path": "f"})
	a.Costs(t, 0, "get_lock_status", args{"name": "never"})
	poor.CheckLedger(t)
}
