package api_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"aanet/api"
	"aanet/api/apitest"
)

func TestCapIsExact(t *testing.T) {
	on := race(t, 10_000)
	defer on[0].CheckLedger(t)
	key, other := on[0].MintWith(t, args{"budget_cap": 30}), on[0].Mint(t)
	var codes tally
	apitest.Together(40, func(i int) {
		codes.add(key.On(on[i%2]).Call(t, "write_file", args{"path": fmt.Sprint(i), "content": "x"}))
	})
	codes.want(t, map[string]int{"": 3, "BUDGET_EXCEEDED": 37})
	same(t, "spent", apitest.Int(entry(t, on[0], key)["spent_so_far"]), 30)
	same(t, "balance", on[1].Balance(t), 9_970)
	same(t, "files", len(on[0].Owner.List(t, "")), 3)
	other.Write(t, "f", "x")
}

func TestDrainToZero(t *testing.T) {
	on := race(t, 107) // ten writes and seven reads
	defer on[0].CheckLedger(t)
	keys := [2]apitest.Agent{on[0].Mint(t), on[1].Mint(t)}
	var codes tally
	apitest.Together(30, func(i int) {
		codes.add(keys[i/2%2].On(on[i%2]).Call(t, "write_file", args{"path": "f", "content": "x"}))
	})
	codes.want(t, map[string]int{"": 10, "INSUFFICIENT_BALANCE": 20})
	apitest.Together(20, func(i int) { keys[0].On(on[i%2]).Call(t, "read_file", args{"path": "f"}) })
	same(t, "balance", on[0].Balance(t), 0)
}

func TestFileAgainstDirectory(t *testing.T) {
	on := race(t, 100_000)
	defer on[0].CheckLedger(t)
	for round := range 15 {
		a, b := fmt.Sprint("r", round), fmt.Sprint("r", round, "/sub/f")
		var answers [6]apitest.Reply
		apitest.Together(6, func(i int) {
			path, tool := a, "write_file"
			if i%2 == 1 {
				path = b
			}
			if i > 3 {
				tool = "append_file"
			}
			answers[i] = on[i/2%2].Owner.Call(t, tool, args{"path": path, "content": "x"})
		})
		isDirectory := on[0].Owner.OK(t, "read_file", args{"path": a}).Body["is_dir"] == any(true)
		for i, r := range answers {
			want := ""
			if i%2 == 0 && isDirectory {
				want = "IS_DIRECTORY"
			} else if i%2 == 1 && !isDirectory {
				want = "NOT_A_DIRECTORY"
			}
			same(t, fmt.Sprintf("round %d, call %d, directory %v", round, i, isDirectory), r.Code, want)
		}
	}
}

// TestPollingLosesNothing has writers and pollers on both replicas: passing on the last ts, a poller sees
// every message once and in order.
func TestPollingLosesNothing(t *testing.T) {
	on := race(t, 1_000_000)
	defer on[0].CheckLedger(t)
	key := on[0].Mint(t)
	const writers, each, pollers = 6, 40, 2
	var writing atomic.Int32
	writing.Store(writers)
	var seen [pollers][]string
	apitest.Together(writers+pollers, func(i int) {
		if i < writers {
			defer writing.Add(-1)
			for j := range each {
				on[i%2].Owner.Send(t, fmt.Sprint(i, " ", j))
			}
			return
		}
		in := args{"limit": 7}
		for done := false; ; {
			rows := key.On(on[i%2]).OK(t, "get_messages", in).Rows()
			for _, row := range rows {
				seen[i-writers] = append(seen[i-writers], fmt.Sprint(row["body"]))
				in["since"] = row["ts"]
			}
			if len(rows) == 0 {
				if done {
					return
				}
				done = writing.Load() == 0
			}
		}
	})
	for i, bodies := range seen {
		next := map[string]int{}
		for _, body := range bodies {
			var writer, n int
			if _, err := fmt.Sscan(body, &writer, &n); err != nil || n != next[fmt.Sprint(writer)] {
				t.Fatalf("poller %d saw %q where %d was due", i, body, next[fmt.Sprint(writer)])
			}
			next[fmt.Sprint(writer)]++
		}
		same(t, "messages seen", len(bodies), writers*each)
	}
}

func TestRevokeUnderLoad(t *testing.T) {
	on := race(t, 1_000_000)
	defer on[0].CheckLedger(t)
	key := on[0].Mint(t)
	var revoked atomic.Bool
	apitest.Together(9, func(i int) {
		if i == 8 {
			time.Sleep(30 * time.Millisecond)
			on[1].Revoke(t, key)
			revoked.Store(true)
			return
		}
		for j := range 60 {
			after := revoked.Load()
			in := args{"path": fmt.Sprint(i), "content": "x"}
			if j%3 == 0 {
				if r := key.On(on[i%2]).Call(t, "acquire_lock", lockArgs(fmt.Sprint(i), 60)); after && r.Code != "UNAUTHENTICATED" {
					t.Errorf("acquire after the revocation: %d %s", r.Status, r.Code)
				}
				continue
			}
			r := key.On(on[i%2]).Call(t, "write_file", in)
			if r.Code != "UNAUTHENTICATED" && (after || r.Code != "") {
				t.Errorf("write, revoked %v: %d %s", after, r.Status, r.Code)
			}
		}
	})
	same(t, "locks of nobody", len(on[0].Owner.OK(t, "list_locks", nil).Rows()), 0)
	last := int64(0)
	for _, row := range on[0].Log(t) {
		if row.Operation == "REVOKE_SUBKEY" {
			last = row.Seq
		}
		if last > 0 && row.SubkeyID != nil && row.Status != "UNAUTHENTICATED" {
			t.Errorf("row %d after the revocation: %s %s", row.Seq, row.Operation, row.Status)
		}
	}
}

func TestDeleteDuringTraffic(t *testing.T) {
	on := race(t, 0)
	defer on[0].CheckLedger(t)
	for range 5 { // so that calls which share the deletion's transaction are among them
		deleteDuringTraffic(t, on)
	}
}

func deleteDuringTraffic(t *testing.T, on [2]*apitest.Workspace) {
	t.Helper()
	doomed := on[0].World.Workspace(t, 1_000_000)
	both := [2]*apitest.Workspace{doomed, doomed.On(on[1].World)}
	key := doomed.Mint(t)
	var gone atomic.Bool
	apitest.Together(11, func(i int) {
		if i == 10 {
			time.Sleep(20 * time.Millisecond)
			both[1].Owner.OK(t, "delete_workspace", nil)
			gone.Store(true)
			return
		}
		for j, left := 0, 5; left > 0; j++ {
			after := gone.Load()
			if after {
				left--
			}
			r := key.On(both[i%2]).Call(t, []string{"write_file", "append_file"}[j%2], args{"path": fmt.Sprint(i), "content": "x"})
			if r.Code != "UNAUTHENTICATED" && (after || r.Code != "") {
				t.Errorf("write, deleted %v: %d %s", after, r.Status, r.Code)
			}
		}
	})
	key.Refused(t, "UNAUTHENTICATED", "read_file", args{"path": "0"})
}

// TestOwnerAtWork has the owner change and list keys while these work: nothing waits for ever, nothing fails.
func TestOwnerAtWork(t *testing.T) {
	on := race(t, 1_000_000)
	defer on[0].CheckLedger(t)
	keys := make([]apitest.Agent, 8)
	for i := range keys {
		keys[i] = on[0].Mint(t)
	}
	apitest.Together(18, func(i int) {
		if i < 16 {
			for j := range 15 {
				keys[i%8].On(on[i/8]).OK(t, "write_file", args{"path": fmt.Sprint(i, "/", j), "content": "x"})
			}
			return
		}
		ws := on[i-16]
		for j := range 10 {
			ws.Owner.OK(t, "update_subkey", args{"subkey_id": keys[j%8].ID, "budget_cap": 500_000 + j})
			ws.Owner.OK(t, "list_subkeys", nil)
			ws.Revoke(t, ws.Mint(t))
			ws.Owner.OK(t, "get_activity_summary", nil)
		}
	})
	same(t, "spent", 1_000_000-on[0].Balance(t), 16*15*10)
}

// TestCallersWhoLeave lets clients hang up in the middle of appends: what was logged, charged and stored agree.
func TestCallersWhoLeave(t *testing.T) {
	on := race(t, 1_000_000)
	defer on[0].CheckLedger(t)
	appending := apitest.Operation(t, "append_file")
	apitest.Together(100, func(i int) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%10)*300*time.Microsecond)
		defer cancel()
		on[i%2].Service.Call(ctx, appending, api.Request{
			Credential: on[0].Owner.Key, Workspace: &on[0].ID, Input: map[string]any{"path": "log", "content": "<x>"},
		})
	})
	for _, ws := range on { // what was sent before this call is done after it
		ws.Balance(t)
	}
	done := 0
	for _, row := range on[0].Log(t) {
		if row.Operation == "APPEND_FILE" && row.Status == "OK" {
			done++
		}
	}
	on[0].Owner.Append(t, "log", "")
	same(t, "stored", len(on[0].Owner.Read(t, "log")), 3*done)
	same(t, "charged", 1_000_000-on[0].Balance(t), int64(done*10+8+1))
}
