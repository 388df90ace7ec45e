package store_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aanet/store"
	"aanet/store/storetest"

	"github.com/google/uuid"
)

// verify gathers the differences by workspace.
func verify(t *testing.T, b *books) (checked int, found map[uuid.UUID][]string) {
	t.Helper()
	found = map[uuid.UUID][]string{}
	checked, err := b.VerifyLedger(t.Context(), func(d store.Difference) { found[d.Workspace] = append(found[d.Workspace], d.String()) })
	if err != nil {
		t.Fatal(err)
	}
	return checked, found
}

// sound demands that the books of every workspace add up.
func sound(t *testing.T, b *books) {
	t.Helper()
	for _, differences := range second(verify(t, b)) {
		t.Errorf("the ledger: %s", strings.Join(differences, "\n"))
	}
}

func second(_ int, found map[uuid.UUID][]string) map[uuid.UUID][]string { return found }

// busy is a workspace that has done a little of everything.
func (b *books) busy() (a account, subkey uuid.UUID) {
	b.t.Helper()
	a = b.open(uuid.New(), nil)
	key, subkey := a.mint()
	if err := b.Credit(b.t.Context(), store.Act{By: "cli:test", Reason: "a gift"}, a.id, uuid.New(), 30, false); err != nil {
		b.t.Fatal(err)
	}
	for n := range 5 {
		a.must(a.write(nil, fmt.Sprint("own", n), "text"))
		a.must(a.write(key, fmt.Sprint("sub", n), "text"))
	}
	if code, err := a.write(key, "own1", strings.Repeat("x", 10)); code != "" || err != nil {
		b.t.Fatal(code, err)
	}
	if code, err := a.call(key, "write_file", "PUT_FILE", 100_000, []any{"dear", []string{}, "x", 1, nil, false, nil, nil, nil}, 2); code != "INSUFFICIENT_BALANCE" || err != nil {
		b.t.Fatal(code, err)
	}
	return a, subkey
}

func TestLedgerOfSoundBooks(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	b.open(uuid.New(), nil)
	b.open(uuid.New(), new(time.Hour))
	b.busy()
	gone, _ := b.busy()
	gone.delete()
	freed, _ := b.busy()
	freed.delete()
	if done, err := b.FreeWorkspace(t.Context(), freed.id, 1000); !done || err != nil {
		t.Fatal(done, err)
	}
	checked, found := verify(t, b)
	if checked != 5 || len(found) != 0 {
		t.Errorf("checked %d, found %v", checked, found)
	}
}

func TestLedgerFindsCorruption(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	b.exec("alter table workspaces drop constraint workspaces_balance_check, drop constraint workspaces_check")
	bystander, _ := b.busy()
	for _, c := range []struct{ what, sql, want string }{
		{"a unit too many", "update workspaces set balance = balance + 1 where workspace_id = $1", "deposits + adjustments = balance + spent + refunds + forfeited: 1030, 1031"},
		{"a unit too many that can be refunded", "update workspaces set granted = granted - 1, balance = balance + 40 where workspace_id = $1", "deposits + adjustments = "},
		{"a negative balance", "update workspaces set balance = -3 where workspace_id = $1", "0 <= balance: 0, -3"},
		{"a negative grant", "update workspaces set granted = -1 where workspace_id = $1", "0 <= granted: 0, -1"},
		{"more granted than there is", "update workspaces set granted = balance + 1 where workspace_id = $1", "granted <= balance"},
		{"more granted than was given", "update workspaces set granted = 31 where workspace_id = $1", "granted <= grants given: 31, 30"},
		{"a grant that can be refunded", "update adjustments set refundable = false where workspace_id = $1", "balance - granted <= deposits + refundable credits - refunds: 920, 0"},
		{"spending not counted", "update workspaces set spent = spent - 1, balance = balance + 1 where workspace_id = $1", "spent = sum of keys + owner + deliveries: 109, 110"},
		{"spending of the owner not counted", "update workspaces set owner_spent = 49 where workspace_id = $1", "spent by the owner = sum of its log: 49, 50"},
		{"deliveries never made", "update workspaces set delivery_spent = 2 where workspace_id = $1", "spent on deliveries = sum of their log: 2, 0"},
		{"an owner's row taken for a delivery", "update activity set operation = 'WEBHOOK_DELIVERY' where workspace_id = $1 and path = 'own0'", "spent on deliveries = sum of their log: 0, 10"},
		{"a lost credit", "delete from adjustments where workspace_id = $1 and units = 30", "deposits + adjustments = balance + spent + refunds + forfeited: 1000, 1030"},
		{"a deposit not added", "insert into deposits (workspace_id, deposit_id, state, units, network, created_at) values ($1, gen_random_uuid(), 'credited', 5, 'x', now())", "deposits + adjustments = balance + spent + refunds + forfeited: 1035, 1030"},
		{"a refund not taken", "insert into refunds (workspace_id, refund_id, state, units, network, destination, requested_at) values ($1, gen_random_uuid(), 'paid', 5, 'x', 'y', now())", "deposits + adjustments = balance + spent + refunds + forfeited: 1030, 1035"},
		{"a reserve not taken", "insert into refunds (workspace_id, refund_id, state, units, network, destination, requested_at) values ($1, gen_random_uuid(), 'pending', 5, 'x', 'y', now())", "deposits + adjustments = balance + spent + refunds + forfeited: 1030, 1035"},
		{"a closing entry while alive", "insert into adjustments (workspace_id, adjustment_id, kind, units, reason, created_at) values ($1, gen_random_uuid(), 'forfeit', 5, 'x', now())", "forfeited by a workspace that is alive = 0: 5, 0"},
		{"money in a deleted workspace", "update workspaces set deleted_at = now() where workspace_id = $1", "balance of a deleted workspace = 0: 920, 0"},
		{"a key that spent more than it says", "update keys set spent = spent - 1 where workspace_id = $1 and subkey_id is not null", " = sum of its log: 59, 60"},
		{"a key that is lost", "delete from keys where workspace_id = $1 and subkey_id is not null", "which does not exist = 0: 60, 0"},
		{"a row lost in the middle", "delete from activity where workspace_id = $1 and seq = 2", "rows of the log = seq (no gaps): 15, 16"},
		{"the first row lost", "delete from activity where workspace_id = $1 and seq = 1", "first seq of the log = 1: 2, 1"},
		{"the last row lost", "delete from activity where workspace_id = $1 and seq = 16", "last seq of the log = seq: 15, 16"},
		{"the whole log lost", "delete from activity where workspace_id = $1", "rows of the log = seq (no gaps): 0, 16"},
		{"a row before the first", "insert into activity (workspace_id, seq, ts, operation) values ($1, 0, now(), 'x')", "first seq of the log = 1: 0, 1"},
		{"a row after the last", "insert into activity (workspace_id, seq, ts, operation) values ($1, 17, now(), 'x')", "last seq of the log = seq: 17, 16"},
		{"a cost changed", "update activity set cost = cost + 1 where workspace_id = $1 and path = 'sub0'", "spent = sum of the log: 110, 111"},
		{"a cost moved to another key", "update activity set subkey_id = null where workspace_id = $1 and path = 'sub0'", "spent by the owner = sum of its log: 50, 60"},
		{"a refusal that cost something", "update activity set status = 'CONFLICT' where workspace_id = $1 and path = 'sub0'", "refusals that cost something = 0: 1, 0"},
		{"two rows of one time", "update activity set ts = (select ts from activity where workspace_id = $1 and seq = 4) where workspace_id = $1 and seq = 5", "rows of the log that are not later than the one before = 0: 1, 0"},
		{"a row that goes back in time", "update activity set ts = ts - interval '1 hour' where workspace_id = $1 and seq = 5", "rows of the log that are not later than the one before = 0: 1, 0"},
		{"another last time", "update workspaces set last_ts = last_ts + interval '1 second' where workspace_id = $1", "last time of the log = last_ts"},
		{"sums that do not fit", "insert into deposits (workspace_id, deposit_id, state, units, network, created_at) select $1, gen_random_uuid(), 'credited', 9223372036854775807, 'x', now() from generate_series(1, 2)", "does not fit 64 bits"},
	} {
		a, _ := b.busy()
		b.exec(c.sql, a.id)
		_, found := verify(t, b)
		if got := strings.Join(found[a.id], "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q, got:\n%s", c.what, c.want, got)
		}
		if len(found[bystander.id]) != 0 {
			t.Errorf("%s: another workspace is reported: %v", c.what, found[bystander.id])
		}
		// What is left of the case must not be met again.
		b.exec("delete from workspaces where workspace_id = $1", a.id)
	}
}

// A long log is read in pieces; what is wrong at the seam of two must be found too.
func TestLedgerOfALongLog(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a := b.open(uuid.New(), nil)
	b.exec(`insert into activity (workspace_id, seq, ts, operation)
		select $1, w.seq + n, w.last_ts + n * interval '1 microsecond', 'GET_FILE' from workspaces w, generate_series(1, 40500) n where w.workspace_id = $1`, a.id)
	b.exec(`update workspaces set seq = seq + 40500, last_ts = last_ts + interval '40500 microseconds' where workspace_id = $1`, a.id)
	sound(t, b)
	b.exec(`update activity set ts = (select ts from activity where workspace_id = $1 and seq = 20000) where workspace_id = $1 and seq = 20001`, a.id)
	if _, found := verify(t, b); len(found[a.id]) != 1 || !strings.Contains(found[a.id][0], "not later than the one before = 0: 1, 0") {
		t.Errorf("two rows of one time at the seam: %v", found)
	}
}

func TestLedgerBesideTraffic(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	var writers sync.WaitGroup
	var passes atomic.Int32
	for range 4 {
		a := b.open(uuid.New(), nil)
		key, _ := a.mint()
		// For every write that the slowest of three passes could leave time for.
		if err := b.Credit(t.Context(), because, a.id, uuid.New(), 1_000_000, true); err != nil {
			t.Fatal(err)
		}
		writers.Go(func() {
			for n := 0; n < 60 || passes.Load() < 3 && n < 5000; n++ {
				if code, err := a.write(key, fmt.Sprint("f", n%7), "text"); code != "" || err != nil {
					t.Errorf("write: %q, %v", code, err)
				}
			}
			if code, err := a.call(nil, "delete_workspace", "DELETE_WORKSPACE", 0, []any{uuid.New()}, 1); code != "" || err != nil {
				t.Errorf("delete: %q, %v", code, err)
			}
			if _, err := b.FreeWorkspace(t.Context(), a.id, 1000); err != nil {
				t.Error(err)
			}
		})
	}
	ended := make(chan struct{})
	go func() { writers.Wait(); close(ended) }()
	for running := true; running; {
		sound(t, b)
		passes.Add(1)
		select {
		case <-ended:
			running = false
		default:
		}
	}
	if sound(t, b); passes.Load() < 3 {
		t.Errorf("only %d passes beside the traffic", passes.Load())
	}
}
