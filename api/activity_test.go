package api_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"aanet/api/apitest"
)

func TestActivity(t *testing.T) {
	play(t, apitest.Options{},
		scene{"newest first, page by page", activityPages},
		scene{"filters combine", activityFilters},
		scene{"the summary", activitySummary},
		scene{"the first row", firstRow},
		scene{"a clock that goes back", clockGoesBack},
	)
}

func activityPages(t *testing.T, ws *apitest.Workspace) {
	for i := range 25 {
		ws.Owner.Write(t, fmt.Sprint(i), "x")
	}
	log := ws.Log(t)
	for _, limit := range []int{1, 7, 500} {
		in, seen := args{"limit": limit}, []apitest.Row{}
		for {
			rows := ws.Owner.OK(t, "get_activity", in).Rows()
			if len(rows) == 0 {
				break
			}
			for _, row := range rows {
				seen = append(seen, apitest.Row{Seq: apitest.Int(row["seq"])})
			}
			in["before_seq"] = seen[len(seen)-1].Seq
		}
		same(t, "rows", len(seen), len(log))
		if !slices.IsSortedFunc(seen, func(a, b apitest.Row) int { return int(b.Seq - a.Seq) }) {
			t.Error("the log is not newest first")
		}
	}
	same(t, "before the first", len(ws.Owner.OK(t, "get_activity", args{"before_seq": 1}).Rows()), 0)
	same(t, "without a limit", len(ws.Owner.OK(t, "get_activity", nil).Rows()), len(log))
	for _, wrong := range []args{{"limit": 0}, {"limit": 501}, {"limit": -1}, {"before_seq": 0}, {"before_seq": "x"}, {"before_seq": 1.5}, {"status": "OK"}} {
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "get_activity", wrong)
	}
}

func activityFilters(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	for _, agent := range []apitest.Agent{a, b, a} {
		agent.Write(t, "f", "x")
		agent.Read(t, "f")
	}
	since := ws.Last(t).TS
	a.Write(t, "f", "y")
	a.Write(t, "f", "z")
	a.Refused(t, "NOT_FOUND", "read_file", args{"path": "none"})
	count := func(in args) int { return len(ws.Owner.OK(t, "get_activity", in).Rows()) }
	same(t, "of a", count(args{"subkey_id": a.ID}), 7)
	same(t, "of b", count(args{"subkey_id": b.ID}), 2)
	same(t, "reads", count(args{"operation": "GET_FILE"}), 4)
	same(t, "writes of a", count(args{"subkey_id": a.ID, "operation": "PUT_FILE"}), 4)
	same(t, "since is inclusive", count(args{"since": since}), 4)
	same(t, "writes of a since", count(args{"subkey_id": a.ID, "operation": "PUT_FILE", "since": since}), 2)
	same(t, "the newest of them", count(args{"subkey_id": a.ID, "operation": "PUT_FILE", "since": since, "limit": 1}), 1)
	last := ws.Last(t).Seq
	same(t, "and before", count(args{"subkey_id": a.ID, "operation": "PUT_FILE", "since": since, "before_seq": last - 1}), 1)
	same(t, "minting", count(args{"operation": "MINT_SUBKEY"}), 2)
	for _, none := range []args{
		{"operation": "put_file"}, {"operation": ""}, {"operation": "NONSENSE"}, {"operation": "GET%"}, {"subkey_id": uuid.NewString()}, {"subkey_id": ""}, {"subkey_id": "x"},
		{"subkey_id": "a\x00"}, {"since": "2999-01-01T00:00:00Z"},
	} {
		if rows := ws.Owner.OK(t, "get_activity", none).Rows(); rows == nil || len(rows) != 0 {
			t.Errorf("%v gives %v", none, rows)
		}
	}
	for _, wrong := range []args{{"operation": randomText(3_000)}, {"operation": "a\x00"}} {
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "get_activity", wrong)
	}
}

func activitySummary(t *testing.T, ws *apitest.Workspace) {
	a, b := ws.Mint(t), ws.Mint(t)
	a.Write(t, "f", "x")
	a.Write(t, "f", "y")
	since := ws.Last(t).TS
	b.Read(t, "f")
	ws.Owner.Read(t, "f")
	b.Refused(t, "NOT_FOUND", "read_file", args{"path": "none"})
	sums := func(in args) map[string]string {
		groups := map[string]string{}
		for _, row := range ws.Owner.Costs(t, 0, "get_activity_summary", in).Rows() {
			groups[fmt.Sprint(row["subkey_id"], " ", row["operation"])] = fmt.Sprint(row["calls"], "/", row["total_cost"])
		}
		return groups
	}
	none := "<nil> "
	both := map[string]string{
		none + "CREATE_WORKSPACE": "1/0", none + "ADJUSTMENT": "1/0", none + "MINT_SUBKEY": "2/0", none + "GET_FILE": "1/1", a.ID + " PUT_FILE": "2/20", b.ID + " GET_FILE": "2/1",
	}
	same(t, "by default", fmt.Sprint(sums(nil)), fmt.Sprint(both))
	same(t, "by both", fmt.Sprint(sums(args{"group_by": "subkey_operation"})), fmt.Sprint(both))
	same(t, "by key", fmt.Sprint(sums(args{"group_by": "subkey"})), fmt.Sprint(map[string]string{"<nil> <nil>": "5/1", a.ID + " <nil>": "2/20", b.ID + " <nil>": "2/1"}))
	same(t, "by operation", fmt.Sprint(sums(args{"group_by": "operation"})), fmt.Sprint(map[string]string{
		none + "CREATE_WORKSPACE": "1/0", none + "ADJUSTMENT": "1/0", none + "MINT_SUBKEY": "2/0", none + "GET_FILE": "3/2", none + "PUT_FILE": "2/20",
	}))
	same(t, "since", fmt.Sprint(sums(args{"since": since, "group_by": "operation"})), fmt.Sprint(map[string]string{none + "GET_FILE": "3/2", none + "PUT_FILE": "1/10"}))
	if rows := ws.Owner.OK(t, "get_activity_summary", args{"since": "2999-01-01T00:00:00Z"}).Rows(); rows == nil || len(rows) != 0 {
		t.Errorf("a summary of nothing is %v", rows)
	}
	for _, wrong := range []args{{"group_by": ""}, {"group_by": "day"}, {"group_by": "Subkey"}, {"limit": 1}} {
		ws.Owner.Refused(t, "INVALID_ARGUMENT", "get_activity_summary", wrong)
	}
}

func firstRow(t *testing.T, ws *apitest.Workspace) {
	first := ws.Log(t)[0]
	same(t, "row", shownRow(first), "CREATE_WORKSPACE <nil> 0")
	same(t, "seq", first.Seq, 1)
	same(t, "ts", first.TS, ws.Owner.OK(t, "get_workspace", nil).Text("created_at"))
	if at := instant(t, first.TS); at.Location() != time.UTC {
		t.Error("the timestamp is not in UTC")
	}
}

// clockGoesBack has one replica an hour ahead: the log's clock stands and still rises by a microsecond a row.
func clockGoesBack(t *testing.T, ws *apitest.Workspace) {
	ahead := ws.Later(t, time.Hour)
	last := ahead.Owner.Send(t, "from ahead")
	for i := range 5 {
		ts := ws.Owner.Send(t, fmt.Sprint(i))
		same(t, "ts", instant(t, ts), instant(t, last).Add(time.Microsecond))
		same(t, "messages since", len(ws.Owner.Inbox(t, args{"since": last})), 1)
		last = ws.Last(t).TS
	}
}
