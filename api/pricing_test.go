package api_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/billing"
)

func TestPricing(t *testing.T) {
	play(t, apitest.Options{},
		scene{"the estimate", estimate},
		scene{"the price table", priceTable},
		scene{"a round costs 16", oneRound},
		scene{"the balance and who I am", balanceOf},
		scene{"the forecast", forecast},
	)
}

func estimate(t *testing.T, ws *apitest.Workspace) {
	got := ws.Anyone(t, "estimate_savings", args{"agents": 10, "rounds_per_agent": 20})
	want := `{"aanet_units":3200,"aanet_usd":"0.032","relay_tokens":1920000,"relay_usd_high":"19.20","relay_usd_low":"3.84","rounds":200,"savings_ratio_high":"600","savings_ratio_low":"120"}`
	text, err := json.Marshal(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "estimate", string(text), want)
	for _, wrong := range []args{
		{}, {"agents": 1}, {"agents": 0, "rounds_per_agent": 1}, {"agents": 1001, "rounds_per_agent": 1}, {"agents": -1, "rounds_per_agent": 1},
		{"agents": 1.5, "rounds_per_agent": 1}, {"agents": "x", "rounds_per_agent": 1}, {"agents": 1, "rounds_per_agent": 1001},
	} {
		same(t, fmt.Sprint(wrong), ws.Door.Call(t, "estimate_savings", "", "", wrong).Code, "INVALID_ARGUMENT")
	}
}

func priceTable(t *testing.T, ws *apitest.Workspace) {
	got := ws.Anyone(t, "get_pricing", nil)
	shown := map[string]bool{}
	rows, _ := got.Body["operations"].([]any)
	for _, r := range rows {
		row, _ := r.(map[string]any)
		name, _ := row["operation"].(string)
		price := billing.PriceOf(name)
		same(t, name, fmt.Sprint(row["units"], "+", row["units_per_kib"]), fmt.Sprint(int64(price.Base), "+", int64(price.PerKiB)))
		shown[name] = true
	}
	for _, o := range api.Operations() {
		if !shown[o.Name] {
			t.Errorf("%s has no price on show", o.Name)
		}
	}
	same(t, "unit_usd", got.Text("unit_usd"), "0.00001")
	same(t, "trial_units", got.Int("trial_units"), 100)
	same(t, "trial_seconds", got.Int("trial_seconds"), 86_400)
}

func oneRound(t *testing.T, ws *apitest.Workspace) {
	before := ws.Balance(t)
	ws.Owner.Write(t, "f", fmt.Sprintf("%01024d", 1))
	ws.Owner.Read(t, "f")
	ws.Owner.Acquire(t, "l", 60)
	ws.Owner.OK(t, "release_lock", args{"name": "l"})
	same(t, "a round", before-ws.Balance(t), 16)
}

func balanceOf(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"label": "me", "path_scope_prefix": "a", "budget_cap": 100})
	a.Write(t, "a/f", "x")
	ws.Owner.Read(t, "a/f")
	for _, c := range []struct {
		who  apitest.Agent
		want string
	}{
		{a, `{"key":{"budget_cap":100,"kind":"subkey","label":"me","path_scope_prefix":"a","spend_limit_per_day":null,"spend_limit_per_hour":null,"spent_so_far":10,"subkey_id":"` + a.ID + `"},` +
			`"key_budget_remaining":90,"key_window_remaining":null,"remaining":90,"workspace_balance":999989,"workspace_id":"` + ws.ID + `"}`},
		{ws.Owner, `{"key":{"budget_cap":null,"kind":"owner","label":null,"path_scope_prefix":null,"spend_limit_per_day":null,"spend_limit_per_hour":null,"spent_so_far":1,"subkey_id":null},` +
			`"key_budget_remaining":null,"key_window_remaining":null,"remaining":999989,"workspace_balance":999989,"workspace_id":"` + ws.ID + `"}`},
	} {
		got := c.who.In(t, "", "get_remaining_balance", nil)
		text, err := json.Marshal(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "balance", string(text), c.want)
		same(t, "cost", got.Cost, 0)
	}
	poor := ws.World.Workspace(t, 7)
	b := poor.MintWith(t, args{"budget_cap": 100})
	got := b.OK(t, "get_remaining_balance", nil)
	same(t, "remaining", got.Int("remaining"), 7)
	same(t, "of the key", got.Int("key_budget_remaining"), 100)
}

func forecast(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	fresh := ws.Owner.Costs(t, 0, "get_forecast", nil)
	same(t, "balance", fresh.Int("balance"), 1_000_000)
	if top, ok := fresh.Body["top_spenders"].([]any); !ok || len(top) != 0 {
		t.Errorf("without spend the top spenders are %v", fresh.Body["top_spenders"])
	}
	for _, w := range windows(t, fresh) {
		same(t, "runway without spend", w["runway_hours"], nil)
		same(t, "spend per hour", w["spend_per_hour"], any("0.00"))
		same(t, "since", w["since"], any(ws.Owner.OK(t, "get_workspace", nil).Text("created_at")))
	}
	for range 6 {
		a.Write(t, "f", "x")
	}
	ws.Owner.Read(t, "f")

	ws = ws.Later(t, 2*time.Hour)
	later := ws.Owner.OK(t, "get_forecast", nil)
	hour, day, week := windows(t, later)[0], windows(t, later)[1], windows(t, later)[2]
	same(t, "names", fmt.Sprint(hour["window"], day["window"], week["window"]), "1h24h7d")
	same(t, "the last hour", fmt.Sprint([]any{hour["seconds"], hour["spent"], hour["spend_per_hour"], hour["runway_hours"]}), "[3600 0 0.00 <nil>]")
	seconds := apitest.Int(day["seconds"])
	if seconds < 7200 || seconds > 7260 {
		t.Errorf("the day covers %d seconds of a workspace that is two hours old", seconds)
	}
	same(t, "the day", fmt.Sprint(day["spent"]), "61")
	same(t, "the week", fmt.Sprint(week["spent"], week["seconds"]), fmt.Sprint("61", day["seconds"]))
	same(t, "runway", day["runway_hours"], any(hundredths(999_939*seconds, 61*3600)))
	same(t, "spend per hour", day["spend_per_hour"], any(hundredths(61*3600, seconds)))
	same(t, "top spenders", fmt.Sprint(later.Body["top_spenders"]), fmt.Sprintf("[map[spent:60 subkey_id:%s] map[spent:1 subkey_id:<nil>]]", a.ID))

	next := ws.Later(t, 48*time.Hour)
	old := next.Owner.OK(t, "get_forecast", nil)
	same(t, "spent in the day after", fmt.Sprint(windows(t, old)[1]["spent"]), "0")
	same(t, "top spenders of the day after", fmt.Sprint(old.Body["top_spenders"]), "[]")
	same(t, "spent in the week", fmt.Sprint(windows(t, old)[2]["spent"]), "61")
}

// hundredths is a ÷ b with two decimals, rounded down.
func hundredths(a, b int64) string { return fmt.Sprintf("%d.%02d", a/b, a%b*100/b) }

func windows(t *testing.T, r apitest.Reply) []map[string]any {
	t.Helper()
	list, _ := r.Body["windows"].([]any)
	if len(list) != 3 {
		t.Fatalf("the windows are %v", r.Body["windows"])
	}
	all := make([]map[string]any, len(list))
	for i, w := range list {
		all[i], _ = w.(map[string]any)
	}
	return all
}
