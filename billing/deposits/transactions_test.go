package deposits_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"aanet/api/apitest"
	"aanet/billing"
	"aanet/billing/deposits"
	"aanet/billing/x402"
	"aanet/billing/x402/facilitatortest"
	"aanet/store"
)

var oneHash = "0x" + strings.Repeat("c0ffee99", 8)

// unknownDeposits makes deposits of a dollar, each of a workspace of its own, that nobody knows the outcome of.
func (v *town) unknownDeposits(t *testing.T, networks ...string) (owners []*apitest.Workspace, ids []uuid.UUID) {
	t.Helper()
	v.bank.Facilitator.On("settle", facilitatortest.Status(504))
	for _, network := range networks {
		ws := v.Workspace(t, 0)
		pay(t, ws, v.bank.Proof(t, network, billing.PerUSD).Encode(), "PAYMENT_UNSETTLED")
		all, err := v.Store.Deposits(t.Context(), mustUUID(t, ws.ID), 1)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d deposits, %v", len(all), err)
		}
		owners, ids = append(owners, ws), append(ids, all[0].ID)
	}
	return owners, ids
}

// wantBalances compares what came in by deposits.
func wantBalances(t *testing.T, owners []*apitest.Workspace, dollars ...int64) {
	t.Helper()
	for i, ws := range owners {
		if got := ws.Balance(t); got != dollars[i]*int64(billing.PerUSD) {
			t.Errorf("workspace %d has %d units, want %d dollars", i, got, dollars[i])
		}
		ws.Funded(dollars[i] * int64(billing.PerUSD))
		ws.CheckLedger(t)
	}
	verify(t, owners[0])
}

// TestATransactionIsNamedForOneDeposit has an operator who names one transaction again: in any spelling, for whichever
// workspace, and by whichever of several at once. On another network it is another transaction.
func TestATransactionIsNamedForOneDeposit(t *testing.T) {
	t.Parallel()
	v := newTown(t, nil)
	owners, ids := v.unknownDeposits(t, apitest.Base, apitest.Base, apitest.Base, "eip155:137")
	desk := deposits.Desk{Store: v.Store}
	var won atomic.Int32
	apitest.Together(6, func(i int) {
		_, err := desk.Credit(t.Context(), apitest.Operator, ids[i%3], oneHash)
		switch {
		case err == nil:
			won.Add(1)
		case !errors.As(err, new(*store.TransactionUsedError)) && !errors.As(err, new(*store.StateError)):
			t.Error(err)
		}
	})
	if won.Load() != 1 {
		t.Fatalf("one transaction credited %d deposits", won.Load())
	}
	var dollars [4]int64
	for i, id := range ids[:3] {
		_, err := desk.Credit(t.Context(), apitest.Operator, id, "0x"+strings.ToUpper(oneHash[2:]))
		if errors.As(err, new(*store.StateError)) {
			dollars[i] = 1
			continue
		}
		var used *store.TransactionUsedError
		if !errors.As(err, &used) || used.Deposit == id {
			t.Errorf("again: %v", err)
		}
	}
	if _, err := desk.Credit(t.Context(), apitest.Operator, ids[3], oneHash); err != nil {
		t.Errorf("on another network: %v", err)
	}
	dollars[3] = 1
	wantBalances(t, owners, dollars[:]...)
}

// TestAClaimInVainIsPassedOn names a transaction for a deposit that then fails, or is credited by another one: whoever
// claimed it was cut off. It is free for the deposit that it paid.
func TestAClaimInVainIsPassedOn(t *testing.T) {
	t.Parallel()
	v := newTown(t, nil)
	owners, ids := v.unknownDeposits(t, apitest.Base, apitest.Base, apitest.Base)
	desk := deposits.Desk{Store: v.Store}
	claim := func(i int) error {
		return v.Store.ClaimTransaction(t.Context(), apitest.Base, oneHash, store.Claim{Workspace: mustUUID(t, owners[i].ID), Deposit: ids[i]})
	}
	for range 2 {
		if err := claim(0); err != nil {
			t.Fatal(err)
		}
	}
	if err := claim(1); !errors.As(err, new(*store.TransactionUsedError)) {
		t.Errorf("claimed for another while the first is open: %v", err)
	}
	if _, err := desk.Fail(t.Context(), apitest.Operator, ids[0]); err != nil {
		t.Fatal(err)
	}
	if err := claim(1); err != nil {
		t.Errorf("after the first has failed: %v", err)
	}
	if _, err := desk.Credit(t.Context(), apitest.Operator, ids[1], "0x"+strings.Repeat("12", 32)); err != nil {
		t.Fatal(err)
	}
	if _, err := desk.Credit(t.Context(), apitest.Operator, ids[2], oneHash); err != nil {
		t.Errorf("after the second was credited by another one: %v", err)
	}
	wantBalances(t, owners, 0, 1, 1)
}

// TestAFacilitatorNamesOneTransactionTwice is believed where nothing else can be asked, as a transaction of an EVM chain
// may carry several payments; on Solana it is one payment, and where the chain can be asked it decides.
func TestAFacilitatorNamesOneTransactionTwice(t *testing.T) {
	t.Parallel()
	solanaHash := facilitatortest.Transaction(facilitatortest.Request{Terms: facilitatortest.Terms{Network: x402.SolanaID}, Payment: []byte(`{"payload":1}`)})
	for name, c := range map[string]struct {
		network, hash string
		finding       *billing.PaymentFinding // what the chain shows of the second
		answer        string                  // to the second
		dollars       int64                   // of the second, in the end
	}{
		"EVM, nobody to ask":        {apitest.Base, oneHash, nil, "", 1},
		"EVM, the chain shows both": {apitest.Base, oneHash, &billing.PaymentFinding{State: billing.PaymentMade, Transaction: oneHash, Reason: "there"}, "PAYMENT_UNSETTLED", 1},
		"EVM, the chain shows one":  {apitest.Base, oneHash, &billing.PaymentFinding{State: billing.PaymentDead, Reason: "never made"}, "PAYMENT_UNSETTLED", 0},
		"Solana, nobody to ask":     {x402.SolanaID, solanaHash, nil, "PAYMENT_UNSETTLED", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newTown(t, nil)
			v.bank.Facilitator.On("settle", facilitatortest.SettledBut("transaction", c.hash))
			owners := []*apitest.Workspace{v.Workspace(t, 0), v.Workspace(t, 0)}
			pay(t, owners[0], v.bank.Proof(t, c.network, billing.PerUSD).Encode(), "")
			if c.finding != nil {
				v.bank.Chain.ShowPayment(*c.finding)
			}
			second := v.bank.Proof(t, c.network, billing.PerUSD).Encode()
			pay(t, owners[1], second, c.answer)
			v.reconcile(t)
			wantBalances(t, owners, 1, c.dollars)
			if c.dollars == 1 {
				pay(t, owners[1], second, "PAYMENT_ALREADY_USED")
			}
		})
	}
}

// TestTheChainLetsTheOperatorNameATransactionAgain when it shows the second payment in it.
func TestTheChainLetsTheOperatorNameATransactionAgain(t *testing.T) {
	t.Parallel()
	v := newTown(t, nil)
	owners, ids := v.unknownDeposits(t, apitest.Base, apitest.Base)
	desk := deposits.Desk{Store: v.Store, Evidence: v.bank.Chain}
	if _, err := desk.Credit(t.Context(), apitest.Operator, ids[0], oneHash); err != nil {
		t.Fatal(err)
	}
	for _, no := range []billing.PaymentFinding{
		{State: billing.PaymentPending}, {State: billing.PaymentUnused}, {State: billing.PaymentDead},
		{State: billing.PaymentMade, Transaction: "0x" + strings.Repeat("99", 32)},
	} {
		v.bank.Chain.ShowPayment(no)
		if _, err := desk.Credit(t.Context(), apitest.Operator, ids[1], oneHash); !errors.As(err, new(*store.TransactionUsedError)) {
			t.Errorf("while the chain shows %+v: %v", no, err)
		}
	}
	v.bank.Chain.ShowPayment(billing.PaymentFinding{State: billing.PaymentMade, Transaction: oneHash})
	if _, err := desk.Credit(t.Context(), apitest.Operator, ids[1], oneHash); err != nil {
		t.Error(err)
	}
	wantBalances(t, owners, 1, 1)
}

// TestASuccessForAnotherPayer is a doubt that the chain clears, where it can be asked.
func TestASuccessForAnotherPayer(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]bool{"nobody to ask": false, "the chain can be asked": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newTown(t, nil)
			v.bank.Facilitator.On("settle", facilitatortest.SettledBut("payer", apitest.ReceiverEVM))
			ws := v.Workspace(t, 0)
			signature := v.proof(t)
			if !asked {
				pay(t, ws, signature, "")
				credited(t, ws, signature, "")
				return
			}
			v.bank.Chain.ShowPayment(billing.PaymentFinding{State: billing.PaymentPending})
			pay(t, ws, signature, "PAYMENT_UNSETTLED")
			if d := open(t, v.Store); d.Transaction == "" || d.Reason != "reported as settled for another payer" {
				t.Errorf("the operator sees %+v", d)
			}
			v.bank.Chain.ShowPayment(billing.PaymentFinding{State: billing.PaymentMade, Transaction: oneHash})
			v.reconcile(t)
			credited(t, ws, signature, oneHash)
		})
	}
}
