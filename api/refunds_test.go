package api_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"aanet/api/apitest"
	"aanet/billing"
	"aanet/billing/refunds"
	"aanet/billing/x402/facilitatortest"
	"aanet/store"
	"aanet/store/storetest"
)

const wallet = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

var toWallet = args{"network": "base", "destination_address": wallet}

// refunded asks for the balance back; so many units must be reserved.
func refunded(t *testing.T, ws *apitest.Workspace, in args, units int64) apitest.Reply {
	t.Helper()
	r := ws.Owner.OK(t, "request_refund", in)
	same(t, "gross", r.Text("gross_usd"), billing.Units(units).USD())
	ws.Funded(-units)
	return r
}

// refundsOf are the rows of get_refund_status, newest first.
func refundsOf(t *testing.T, ws *apitest.Workspace) []map[string]any {
	t.Helper()
	return ws.Owner.OK(t, "get_refund_status", nil).Rows()
}

func desk(ws *apitest.Workspace) refunds.Desk { return refunds.Desk{Store: ws.Store} }

func idOf(t *testing.T, r apitest.Reply) uuid.UUID {
	t.Helper()
	id, err := uuid.Parse(r.Text("refund_id"))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// hash is a transaction that nothing else in these tests has.
func hash() string { return "0x" + strings.ReplaceAll(uuid.NewString()+uuid.NewString(), "-", "") }

func TestRefunds(t *testing.T) {
	play(t, apitest.Options{},
		scene{"repeated under a key", func(t *testing.T, ws *apitest.Workspace) {
			answers := make([]apitest.Reply, 50)
			apitest.Together(len(answers), func(i int) { answers[i] = ws.Owner.OK(t, "request_refund", with(toWallet, "k")) })
			ws.Funded(-1_000_000)
			for _, r := range answers {
				same(t, "answer", fmt.Sprint(r.Status, r.Body), fmt.Sprint(answers[0].Status, answers[0].Body))
			}
			same(t, "net", answers[0].Text("net_payout_usd"), "9.98")
			same(t, "refunds", len(refundsOf(t, ws)), 1)
			same(t, "balance", ws.Balance(t), 0)
		}},
		scene{"reserve and pay", func(t *testing.T, ws *apitest.Workspace) {
			same(t, "refunds", len(refundsOf(t, ws)), 0)
			r := refunded(t, ws, toWallet, 1_000_000)
			same(t, "status", r.Text("status"), "pending")
			same(t, "HTTP status", r.Status, 201)
			same(t, "fee", r.Text("fee_usd"), "0.02")
			same(t, "net", r.Text("net_payout_usd"), "9.98")
			same(t, "stays", r.Text("not_refundable_usd"), "0.00")
			same(t, "address", r.Text("destination_address"), wallet)
			same(t, "balance", ws.Balance(t), 0)
			same(t, "row", shownRow(ws.Last(t)), "REFUND "+r.Text("refund_id")+" 0")
			ws.Owner.Refused(t, "INSUFFICIENT_BALANCE", "write_file", args{"path": "f", "content": "x"})
			again := ws.Owner.Refused(t, "NOTHING_TO_REFUND", "request_refund", toWallet)
			same(t, "refundable", again.Int("refundable"), 0)
			same(t, "fee", again.Int("fee"), 2000)
			ws.Owner.Refused(t, "REFUND_PENDING", "delete_workspace", nil)

			tx := hash()
			if _, err := desk(ws).Pay(t.Context(), idOf(t, r), tx, false, apitest.Operator); !errors.Is(err, refunds.ErrUnchecked) {
				t.Errorf("paid unchecked and unasked: %v", err)
			}
			if _, err := desk(ws).Pay(t.Context(), idOf(t, r), tx, true, apitest.Operator); err != nil {
				t.Fatal(err)
			}
			var state *store.StateError
			if _, err := desk(ws).Reject(t.Context(), idOf(t, r), store.Act{By: "operator@aanet.example", Reason: "late"}); !errors.As(err, &state) || state.State != "paid" {
				t.Errorf("rejected after it was paid: %v", err)
			}
			row := refundsOf(t, ws)[0]
			same(t, "status", row["status"], any("paid"))
			same(t, "transaction", row["tx_hash"], any(tx))
			same(t, "reason", row["reason"], nil)
			same(t, "balance", ws.Balance(t), 0)

			ws.Credit(t, 2_001)
			second := refunded(t, ws, toWallet, 2_001)
			same(t, "net", second.Text("net_payout_usd"), "0.00001")
			if _, err := desk(ws).Pay(t.Context(), idOf(t, second), strings.ToUpper(tx[2:]), true, apitest.Operator); err == nil {
				t.Error("a hash without 0x was taken")
			}
			if _, err := desk(ws).Pay(t.Context(), idOf(t, second), "0x"+strings.ToUpper(tx[2:]), true, apitest.Operator); !errors.Is(err, store.ErrPayoutUsed) {
				t.Errorf("one transaction pays two refunds: %v", err)
			}
			same(t, "refunds", len(refundsOf(t, ws)), 2)
		}},
		scene{"reject", func(t *testing.T, ws *apitest.Workspace) {
			r := refunded(t, ws, args{"network": "solana", "destination_address": facilitatortest.SolanaPayer}, 1_000_000)
			same(t, "net", r.Text("net_payout_usd"), "9.99")
			if _, err := desk(ws).Reject(t.Context(), idOf(t, r), store.Act{By: "operator@aanet.example", Reason: "wrong address"}); err != nil {
				t.Fatal(err)
			}
			ws.Funded(1_000_000)
			same(t, "balance", ws.Balance(t), 1_000_000)
			row := refundsOf(t, ws)[0]
			same(t, "status", row["status"], any("rejected"))
			same(t, "reason", row["reason"], any("wrong address"))
			same(t, "transaction", row["tx_hash"], nil)
			if _, err := desk(ws).Pay(t.Context(), idOf(t, r), facilitatortest.SolanaPayer, true, apitest.Operator); err == nil {
				t.Error("paid after it was rejected")
			}
		}},
		scene{"what stays", func(t *testing.T, ws *apitest.Workspace) {
			grant(t, ws, 50_000)
			ws.Owner.Write(t, "f", "x") // the grant is spent first
			r := refunded(t, ws, toWallet, 1_000_000)
			same(t, "stays", r.Text("not_refundable_usd"), "0.4999")
			same(t, "balance", ws.Balance(t), 49_990)
			ws.Owner.Refused(t, "NOTHING_TO_REFUND", "request_refund", toWallet)
			ws.Owner.Write(t, "g", "x")
		}},
		scene{"who may", func(t *testing.T, ws *apitest.Workspace) {
			key, trial := ws.Mint(t), ws.Trial(t)
			for _, tool := range []string{"request_refund", "get_refund_status"} {
				in := args{}
				if tool == "request_refund" {
					in = toWallet
				}
				key.Refused(t, "OWNER_ONLY", tool, in)
			}
			trial.Owner.Refused(t, "TRIAL_NOT_ALLOWED", "request_refund", toWallet)
			ws.Block(t, true)
			ws.Owner.Refused(t, "WORKSPACE_BLOCKED", "request_refund", toWallet)
			same(t, "refunds", len(refundsOf(t, ws)), 0)
			ws.Block(t, false)
		}},
		scene{"addresses", func(t *testing.T, ws *apitest.Workspace) {
			for _, c := range [][2]any{
				{"polygon", wallet}, {"Base", wallet}, {"", wallet}, {nil, wallet}, {"base", nil}, {"base", 7},
				{"base", facilitatortest.SolanaPayer}, {"solana", wallet}, {"base", wallet[:41]}, {"base", wallet[:41] + "D"},
				{"base", " " + wallet}, {"base", wallet + "\x00"}, {"base", "0x0000000000000000000000000000000000000000"},
				{"base", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"}, {"solana", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"},
				{"solana", "11111111111111111111111111111111"}, {"solana", ""},
			} {
				ws.Owner.Refused(t, "INVALID_ARGUMENT", "request_refund", args{"network": c[0], "destination_address": c[1]})
			}
			same(t, "balance", ws.Balance(t), 1_000_000)
			same(t, "refunds", len(refundsOf(t, ws)), 0)
		}},
	)
}

// TestDeletedAfterRefunds keeps the books true when a workspace goes whose refunds ended both ways.
func TestDeletedAfterRefunds(t *testing.T) {
	t.Parallel()
	ws := apitest.New(t, apitest.Options{}).Workspace(t, 1_000_000)
	paid := refunded(t, ws, toWallet, 1_000_000)
	if _, err := desk(ws).Pay(t.Context(), idOf(t, paid), hash(), true, apitest.Operator); err != nil {
		t.Fatal(err)
	}
	ws.Credit(t, 5_000)
	rejected := refunded(t, ws, toWallet, 5_000)
	ws.Owner.Refused(t, "REFUND_PENDING", "delete_workspace", nil)
	pending, err := ws.Store.PendingRefunds(t.Context(), store.Refund{}, 10)
	if err != nil || len(pending) != 1 || pending[0].Destination != wallet || pending[0].Units-pending[0].Fee != 3_000 {
		t.Errorf("the operator sees %+v, %v", pending, err)
	}
	if _, err := desk(ws).Reject(t.Context(), idOf(t, rejected), store.Act{By: "operator@aanet.example", Reason: "a story"}); err != nil {
		t.Fatal(err)
	}
	same(t, "forfeited", ws.Owner.OK(t, "delete_workspace", nil).Int("forfeited_units"), 5_000)
	if _, err := desk(ws).Reject(t.Context(), idOf(t, rejected), store.Act{By: "operator@aanet.example", Reason: "again"}); err == nil {
		t.Error("a refund of a deleted workspace was rejected again")
	}
	_, err = ws.Store.VerifyLedger(t.Context(), func(d store.Difference) { t.Error(d) })
	if err != nil {
		t.Error(err)
	}
	// Double entry: every unit that entered a workspace has left it.
	storetest.Exec(t, ws.DSN, `do $$ begin
		if (select sum(case when target = 'workspace' then units else -units end) from ledger_entries
			where 'workspace' in (source, target)) <> 0 or
			(select sum(case when target = 'reserved' then units else -units end) from ledger_entries
			where 'reserved' in (source, target)) <> 0 then
			raise exception 'the entries do not balance';
		end if; end $$`)
}

// grant gives units that cannot be refunded.
func grant(t *testing.T, ws *apitest.Workspace, units int64) {
	t.Helper()
	if err := ws.Store.Credit(t.Context(), apitest.Operator, uuid.MustParse(ws.ID), uuid.New(), units, false); err != nil {
		t.Fatal(err)
	}
	ws.Funded(units)
}

func TestRefundArithmetic(t *testing.T) {
	t.Parallel()
	world := apitest.New(t, apitest.Options{})
	for _, c := range []struct {
		balance         int64
		gross, fee, net string // empty: nothing to refund
	}{
		{0, "", "", ""}, {1, "", "", ""}, {1_999, "", "", ""}, {2_000, "", "", ""},
		{2_001, "0.02001", "0.02", "0.00001"},
		{29_000, "0.29", "0.02", "0.27"},
		{123_456_789, "1234.56789", "0.02", "1234.54789"},
		{9_007_199_254_740_991, "90071992547.40991", "0.02", "90071992547.38991"},
	} {
		ws := world.Workspace(t, c.balance)
		if c.gross == "" {
			ws.Owner.Refused(t, "NOTHING_TO_REFUND", "request_refund", toWallet)
			same(t, "balance", ws.Balance(t), c.balance)
			continue
		}
		r := refunded(t, ws, toWallet, c.balance)
		same(t, "gross", r.Text("gross_usd"), c.gross)
		same(t, "fee", r.Text("fee_usd"), c.fee)
		same(t, "net", r.Text("net_payout_usd"), c.net)
		ws.CheckLedger(t)
	}
}

// TestTenRefundsAndTwentyWrites has all at once, on two replicas: one refund, and the books are right.
func TestTenRefundsAndTwentyWrites(t *testing.T) {
	on := race(t, 1_000_000)
	key := on[0].Mint(t)
	var refunds, writes tally
	apitest.Together(30, func(i int) {
		if i%3 == 0 {
			refunds.add(on[i%2].Owner.Call(t, "request_refund", toWallet))
			return
		}
		writes.add(key.On(on[i%2]).Call(t, "write_file", args{"path": "f", "content": "x"}))
	})
	refunds.want(t, map[string]int{"": 1, "NOTHING_TO_REFUND": 9})
	if writes.codes[""]+writes.codes["INSUFFICIENT_BALANCE"] != 20 {
		t.Errorf("the writes: %v", writes.codes)
	}
	same(t, "balance", on[0].Balance(t), 0)
	same(t, "refunds", len(refundsOf(t, on[0])), 1)
	on[0].Funded(-(1_000_000 - 10*int64(writes.codes[""])))
	on[0].CheckLedger(t)
}

// TestPayAndRejectTogether has the operator click everything at once, in two windows: one of it happens.
func TestPayAndRejectTogether(t *testing.T) {
	on := race(t, 1_000_000)
	for range 5 {
		before := on[0].Balance(t)
		r := refunded(t, on[0], toWallet, before)
		var paid, rejected atomic.Int32
		apitest.Together(8, func(i int) {
			var err error
			d := refunds.Desk{Store: on[i/2%2].Store}
			if i%2 == 0 {
				_, err = d.Pay(t.Context(), idOf(t, r), hash(), true, apitest.Operator)
			} else {
				_, err = d.Reject(t.Context(), idOf(t, r), store.Act{By: "operator@aanet.example", Reason: "a story"})
			}
			var state *store.StateError
			switch {
			case err == nil && i%2 == 0:
				paid.Add(1)
			case err == nil:
				rejected.Add(1)
			case !errors.As(err, &state):
				t.Error(err)
			}
		})
		same(t, "decisions", paid.Load()+rejected.Load(), 1)
		on[0].Funded(int64(rejected.Load()) * before)
		same(t, "balance", on[0].Balance(t), int64(rejected.Load())*before)
		if paid.Load() == 1 {
			on[0].Credit(t, 1_000_000)
		}
		on[0].CheckLedger(t)
	}
	_, err := on[0].Store.VerifyLedger(t.Context(), func(d store.Difference) { t.Error(d) })
	if err != nil {
		t.Error(err)
	}
	// What a payout claimed in vain is free again: only the paid ones are left.
	storetest.Exec(t, on[0].DSN, `do $$ begin
		if exists (select from payout_claims c where not exists (
			select from refunds r where r.refund_id = c.refund_id and r.state = 'paid' and r.tx_hash = c.tx_hash)) then
			raise exception 'a payout is claimed that paid nothing';
		end if; end $$`)
}

// TestAPayoutThatWasCutOff has payouts that were claimed and never recorded, as when the process dies in between: the
// transaction is free for the refund that it paid, once the other one has ended without it.
func TestAPayoutThatWasCutOff(t *testing.T) {
	t.Parallel()
	v := apitest.New(t, apitest.Options{})
	tx := "0x" + strings.Repeat("5e", 32)
	for name, end := range map[string]func(t *testing.T, id uuid.UUID, on *apitest.Workspace) error{
		"rejected": func(t *testing.T, id uuid.UUID, on *apitest.Workspace) error {
			_, err := desk(on).Reject(t.Context(), id, apitest.Operator)
			return err
		},
		"paid by another": func(t *testing.T, id uuid.UUID, on *apitest.Workspace) error {
			_, err := desk(on).Pay(t.Context(), id, "0x"+strings.Repeat("5f", 32), true, apitest.Operator)
			return err
		},
	} {
		first, second := v.Workspace(t, 1_000_000), v.Workspace(t, 1_000_000)
		wrong, right := idOf(t, refunded(t, first, toWallet, 1_000_000)), idOf(t, refunded(t, second, toWallet, 1_000_000))
		storetest.Exec(t, v.DSN, `delete from payout_claims`)
		storetest.Exec(t, v.DSN, `insert into payout_claims (network, tx_hash, workspace_id, refund_id, claimed_at) values ('eip155:8453', $1, $2, $3, now())`, tx, first.ID, wrong)
		if _, err := desk(second).Pay(t.Context(), right, tx, true, apitest.Operator); !errors.Is(err, store.ErrPayoutUsed) {
			t.Errorf("%s: while the other refund is pending: %v", name, err)
		}
		if err := end(t, wrong, first); err != nil {
			t.Fatal(err)
		}
		if c, err := desk(second).Check(t.Context(), right, tx); err != nil || !c.Fits {
			t.Errorf("%s: looked at: %+v, %v", name, c, err)
		}
		if _, err := desk(second).Pay(t.Context(), right, tx, true, apitest.Operator); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPayoutIsChecked asks the chain, when it can be asked, and then nothing else counts.
func TestPayoutIsChecked(t *testing.T) {
	t.Parallel()
	ws := apitest.New(t, apitest.Options{}).Workspace(t, 1_000_000)
	r := refunded(t, ws, toWallet, 1_000_000)
	chain := &apitest.Chain{}
	d := refunds.Desk{Store: ws.Store, Evidence: chain, From: map[string][]string{apitest.Base: {facilitatortest.Payer}}}
	for _, f := range []billing.PayoutFinding{
		{State: billing.PayoutPending, Reason: "2 of 12 confirmations"},
		{State: billing.PayoutWrong, Reason: "it paid 1.00"},
	} {
		chain.ShowPayout(f)
		_, err := d.Pay(t.Context(), idOf(t, r), hash(), true, apitest.Operator)
		var payout *refunds.PayoutError
		if !errors.As(err, &payout) || payout.Later != (f.State == billing.PayoutPending) || !strings.Contains(err.Error(), f.Reason) {
			t.Errorf("%s: %v", f.Reason, err)
		}
	}
	chain.ShowPayout(billing.PayoutFinding{State: billing.PayoutMade})
	tx := hash()
	if _, err := d.Pay(t.Context(), idOf(t, r), tx, false, apitest.Operator); err != nil {
		t.Fatal(err)
	}
	asked := chain.AskedPayouts()[2]
	same(t, "network", asked.Network, apitest.Base)
	same(t, "transaction", asked.Transaction, tx)
	same(t, "wallet", asked.To, wallet)
	same(t, "amount", asked.Amount, 998_000)
	same(t, "from", asked.From[0], facilitatortest.Payer)
	if asked.After.IsZero() {
		t.Error("the chain was not told since when")
	}
	ws.CheckLedger(t)
}
