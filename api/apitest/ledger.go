package apitest

import (
	"encoding/json"
	"testing"
)

// Row is one row of the activity log.
type Row struct {
	Seq       int64   `json:"seq"`
	TS        string  `json:"ts"`
	SubkeyID  *string `json:"subkey_id"`
	Operation string  `json:"operation"`
	Path      *string `json:"path"`
	Cost      int64   `json:"cost_charged"`
	Status    string  `json:"status"`
	Detail    *string `json:"detail"`
}

// Log is the whole activity log, oldest first.
func (ws *Workspace) Log(t testing.TB) []Row {
	t.Helper()
	var newestFirst []Row
	args := Args{"limit": 500}
	for {
		page := rowsOf(t, ws.Owner.OK(t, "get_activity", args))
		if len(page) == 0 {
			break
		}
		newestFirst = append(newestFirst, page...)
		args["before_seq"] = page[len(page)-1].Seq
	}
	rows := make([]Row, len(newestFirst))
	for i, row := range newestFirst {
		rows[len(rows)-1-i] = row
	}
	return rows
}

func rowsOf(t testing.TB, r Reply) []Row {
	t.Helper()
	text, err := json.Marshal(r.Body["result"])
	if err != nil {
		t.Errorf("encode rows: %v", err)
	}
	var rows []Row
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Errorf("rows: %v", err)
	}
	return rows
}

// Last is the newest row of the log.
func (ws *Workspace) Last(t testing.TB) Row {
	t.Helper()
	rows := rowsOf(t, ws.Owner.OK(t, "get_activity", Args{"limit": 1}))
	if len(rows) != 1 {
		t.Errorf("the log has no newest row")
		return Row{}
	}
	return rows[0]
}

// CheckLedger holds the workspace to the identity of the ledger: what came in is balance and spent, and
// spent is the sum of the log, of the keys and of the summary. No call of it may be under way.
func (ws *Workspace) CheckLedger(t testing.TB) {
	t.Helper()
	state := ws.Owner.OK(t, "get_workspace", nil)
	balance, spent := state.Int("deposit_balance"), state.Int("total_spent")
	ws.funds.Lock()
	came := ws.funds.units
	ws.funds.Unlock()
	if balance < 0 || came != balance+spent {
		t.Errorf("%d units came in, the balance is %d and %d are spent", came, balance, spent)
	}
	if logged := ws.sumOfLog(t); logged != spent {
		t.Errorf("%d units are spent and the log sums to %d", spent, logged)
	}
	if keys := ws.sumOfKeys(t) + ws.sumOfDeliveries(t); keys != spent {
		t.Errorf("%d units are spent and the sum of keys and deliveries is %d", spent, keys)
	}
	for _, by := range []string{"subkey_operation", "subkey", "operation"} {
		var sum int64
		for _, row := range ws.Owner.OK(t, "get_activity_summary", Args{"group_by": by}).Rows() {
			sum += Int(row["total_cost"])
		}
		if sum != spent {
			t.Errorf("%d units are spent and the summary by %s says %d", spent, by, sum)
		}
	}
}

// sumOfLog sums the log and checks that it has no gap, that its clock rises and that refusals are free.
func (ws *Workspace) sumOfLog(t testing.TB) int64 {
	t.Helper()
	var sum int64
	ts := ""
	for i, row := range ws.Log(t) {
		sum += row.Cost
		if row.Seq != int64(i)+1 {
			t.Errorf("row %d of the log has seq %d", i+1, row.Seq)
		}
		if row.TS <= ts {
			t.Errorf("row %d has ts %s after %s", row.Seq, row.TS, ts)
		}
		if row.Status != "OK" && row.Cost != 0 {
			t.Errorf("row %d: %s was refused as %s and cost %d", row.Seq, row.Operation, row.Status, row.Cost)
		}
		ts = row.TS
	}
	return sum
}

func (ws *Workspace) sumOfDeliveries(t testing.TB) (sum int64) {
	t.Helper()
	for _, row := range ws.Owner.OK(t, "get_activity_summary", Args{"group_by": "operation"}).Rows() {
		if row["operation"] == "WEBHOOK_DELIVERY" {
			sum = Int(row["total_cost"])
		}
	}
	return sum
}

func (ws *Workspace) sumOfKeys(t testing.TB) int64 {
	t.Helper()
	key, ok := ws.Owner.OK(t, "get_remaining_balance", nil).Body["key"].(map[string]any)
	if !ok {
		t.Errorf("get_remaining_balance does not tell the key")
	}
	sum := Int(key["spent_so_far"])
	for _, row := range ws.Owner.OK(t, "list_subkeys", nil).Rows() {
		sum += Int(row["spent_so_far"])
	}
	return sum
}
