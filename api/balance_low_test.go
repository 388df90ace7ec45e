package api_test

import (
	"fmt"
	"testing"

	"aanet/api/apitest"
)

func TestBalanceLow(t *testing.T) {
	play(t, reachable(),
		scene{"once, and again after money came", warnedOnce},
		scene{"each its own mark", ownMarks},
		scene{"a webhook that was disabled", disabledWarning},
		scene{"registering for it", registerForWarning},
	)
}

func warned(t *testing.T, ws *apitest.Workspace, below int64) string {
	t.Helper()
	return ws.Owner.OK(t, "register_webhook", args{"url": hookURL, "events": []string{"balance_low"}, "balance_low_units": below}).Text("webhook_id")
}

// warnings are the webhooks that were warned, in order.
func warnings(t *testing.T, ws *apitest.Workspace) (ids []string) {
	t.Helper()
	for _, row := range ws.Log(t) {
		if row.Operation == "BALANCE_LOW" {
			same(t, "cost", row.Cost, 0)
			ids = append(ids, *row.Path)
		}
	}
	return ids
}

func warnedOnce(t *testing.T, world *apitest.Workspace) {
	ws := world.World.Workspace(t, 115)
	a := ws.Mint(t)
	id := warned(t, ws, 100)
	a.Costs(t, 10, "write_file", tenUnits)
	same(t, "above the mark", len(warnings(t, ws)), 0)
	a.Costs(t, 5, "acquire_lock", lockArgs("l", 60))
	same(t, "at the mark", len(warnings(t, ws)), 0)
	done := a.Costs(t, 1, "read_file", args{"path": "f"})
	same(t, "remaining", *done.Remaining, 99)
	last := ws.Last(t)
	same(t, "the warning follows the call", shownRow(last), "BALANCE_LOW "+id+" 0")
	same(t, "and says", *last.Detail, "the balance fell below 100 units")
	same(t, "queued", queued(t, ws), 1)
	a.Costs(t, 1, "read_file", args{"path": "f"})
	ws.Credit(t, 1)
	a.Costs(t, 1, "read_file", args{"path": "f"})
	same(t, "once", len(warnings(t, ws)), 1)
	ws.Credit(t, 2)
	same(t, "balance", ws.Balance(t), 100)
	a.Costs(t, 1, "read_file", args{"path": "f"})
	same(t, "again", len(warnings(t, ws)), 2)
	ws.Owner.OK(t, "delete_webhook", args{"webhook_id": id})
	ws.Credit(t, 10)
	a.Costs(t, 10, "write_file", tenUnits)
	same(t, "not for a deleted one", len(warnings(t, ws)), 2)
	ws.CheckLedger(t)
}

func ownMarks(t *testing.T, world *apitest.Workspace) {
	ws := world.World.Workspace(t, 100)
	low, high := warned(t, ws, 75), warned(t, ws, 95)
	files := registered(t, ws, "file_write")
	already := warned(t, ws, 1_000) // it is below that now: there is nothing to cross
	apitest.Together(3, func(i int) { ws.Owner.Costs(t, 10, "write_file", args{"path": fmt.Sprint(i), "content": "x"}) })
	same(t, "in order", fmt.Sprint(warnings(t, ws)), fmt.Sprint([]string{high, low}))
	same(t, "queued", queued(t, ws), 5) // and three writes for the other
	ws.Credit(t, 2_000)
	ws.Owner.OK(t, "delete_webhook", args{"webhook_id": files})
	for range 110 {
		ws.Owner.Costs(t, 10, "write_file", tenUnits)
	}
	same(t, "the highest mark is crossed", fmt.Sprint(warnings(t, ws)), fmt.Sprint([]string{high, low, already}))
}

func disabledWarning(t *testing.T, world *apitest.Workspace) {
	ws := world.World.Workspace(t, 100)
	id := warned(t, ws, 95)
	disable(t, ws, []any{id})
	ws.Owner.Costs(t, 10, "write_file", tenUnits)
	same(t, "disabled", len(warnings(t, ws)), 0)
	ws.Owner.OK(t, "enable_webhook", args{"webhook_id": id})
	same(t, "it learns of it when it is enabled", len(warnings(t, ws)), 1)
}

func registerForWarning(t *testing.T, ws *apitest.Workspace) {
	made := ws.Owner.OK(t, "register_webhook", args{"url": hookURL, "events": []string{"message", "balance_low"}})
	same(t, "mark", made.Int("balance_low_units"), 1000)
	same(t, "listed", apitest.Int(ws.Owner.OK(t, "list_webhooks", nil).Rows()[0]["balance_low_units"]), 1000)
	same(t, "none", ws.Owner.OK(t, "register_webhook", args{"url": hookURL, "events": []string{"message"}}).Body["balance_low_units"], nil)
	for _, wrong := range []args{{"events": []string{"message"}, "balance_low_units": 5}, {"events": []string{"balance_low"}, "balance_low_units": 0}} {
		wrong["url"] = hookURL
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "register_webhook", wrong)
	}
}
