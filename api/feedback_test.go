package api_test

import (
	"maps"
	"strings"
	"testing"

	"aanet/api/apitest"
)

func TestFeedback(t *testing.T) {
	play(t, apitest.Options{},
		scene{"sent by any key", feedbackSent},
		scene{"what is refused", feedbackRefused},
	)
}

func feedback(changed args) args {
	in := args{"category": "bug", "title": "t", "description": "d", "pledged_budget_usd": "0"}
	maps.Copy(in, changed)
	return in
}

func feedbackSent(t *testing.T, ws *apitest.Workspace) {
	a := ws.MintWith(t, args{"path_scope_prefix": "x", "budget_cap": 1})
	trial := ws.Trial(t)
	ws.Block(t, true)
	for _, agent := range []apitest.Agent{ws.Owner, a, trial.Owner} {
		sent := agent.In(t, "", "submit_feedback", feedback(nil))
		same(t, "code", sent.Code, "")
		same(t, "status over REST", sent.Status, 201)
		same(t, "status", sent.Text("status"), "open")
		same(t, "cost", sent.Cost, 0)
	}
	for _, changed := range []args{
		{"category": "feature"}, {"category": "pricing"}, {"category": "other"}, {"title": strings.Repeat("😀", 200)}, {"description": strings.Repeat("é", 4000)},
		{"description": "a\nb\t"}, {"pledged_budget_usd": "1000000000"}, {"pledged_budget_usd": "1000000000.00"}, {"pledged_budget_usd": "0.01"}, {"pledged_budget_usd": "999999999.99"},
	} {
		sent := ws.Owner.OK(t, "submit_feedback", feedback(changed))
		same(t, "logged", *ws.Last(t).Path, sent.Text("feedback_id"))
	}
	ws.Block(t, false)
	ws.Revoke(t, a)
	same(t, "a revoked key", a.In(t, "", "submit_feedback", feedback(nil)).Code, "UNAUTHENTICATED")
}

func feedbackRefused(t *testing.T, ws *apitest.Workspace) {
	for _, changed := range []args{
		{"category": "BUG"}, {"category": ""}, {"category": nil}, {"title": ""}, {"title": strings.Repeat("x", 201)}, {"title": "a\nb"}, {"title": "a\x00"},
		{"description": ""}, {"description": strings.Repeat("x", 4001)}, {"description": "a\x00"}, {"pledged_budget_usd": "-1"}, {"pledged_budget_usd": ""},
		{"pledged_budget_usd": 5}, {"pledged_budget_usd": "1e3"}, {"pledged_budget_usd": "0.001"}, {"pledged_budget_usd": "1000000000.01"}, {"pledged_budget_usd": "NaN"},
		{"pledged_budget_usd": " 1"}, {"pledged_budget_usd": "1."}, {"pledged_budget_usd": ".5"}, {"pledged_budget_usd": "٣"}, {"extra": "x"},
	} {
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "submit_feedback", feedback(changed))
	}
	ws.Owner.Refused(t, "INVALID_ARGUMENT", "submit_feedback", nil)
	ws.Owner.Refused(t, "MALFORMED", "submit_feedback", feedback(args{"title": malformed}))
}
