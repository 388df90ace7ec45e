package chain_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"aanet/api/apitest"
	"aanet/billing"
	"aanet/billing/refunds"
	"aanet/billing/x402"
)

// Solana's runtime executes what the SDK's client signs.
func TestDepositOnSolana(t *testing.T) {
	s := newShop(t, true)
	ws, other, payer := s.Workspace(t, 0), s.Workspace(t, 0), s.solana.NewWallet()
	s.solana.Fund(payer.Address, 10*billing.PerUSD)
	payTo := s.payTo[x402.SolanaID]
	received := func(units billing.Units) {
		t.Helper()
		same(t, "received", s.solana.Balance(payTo), units)
	}

	signature := payer.Pay(s.offer(ws, "1.5"))
	s.refuses(ws, "1", signature, "PAYMENT_INVALID") // more than asked for is not the amount either
	s.refuses(ws, "2", signature, "PAYMENT_INVALID")
	received(0)
	paid := s.accepts(ws, "1.5", signature, 150_000)
	same(t, "network", paid.network(), x402.SolanaID)
	received(150_000)
	same(t, "own hash", s.refuses(ws, "1.5", signature, "PAYMENT_ALREADY_USED").hash(), paid.hash())
	same(t, "foreign hash", s.refuses(other, "1.5", signature, "PAYMENT_ALREADY_USED").hash(), "")

	expired := payer.Pay(s.offer(ws, "1"))
	s.solana.Pass(3 * time.Minute)
	s.refuses(ws, "1", expired, "PAYMENT_INVALID")

	s.facilitator.LoseAnswers.Store(true)
	s.solana.Finalize(false)
	lost := payer.Pay(s.offer(ws, "1"))
	s.unsettled(ws, "1", lost)
	s.reconcile()
	s.unsettled(ws, "1", lost)
	s.solana.Finalize(true)
	s.reconcile()
	s.refuses(ws, "1", lost, "PAYMENT_ALREADY_USED")
	ws.Funded(100_000)
	received(250_000)
	s.facilitator.LoseAnswers.Store(false)

	ten := payer.Pay(s.offer(ws, "2"))
	settled := s.facilitator.Settles.Load()
	apitest.Together(10, func(int) { s.post(ws, "2", ten) })
	ws.Funded(200_000)
	received(450_000)
	same(t, "settled", s.facilitator.Settles.Load()-settled, 1)
	same(t, "balance", ws.Balance(t), 450_000)
	ws.CheckLedger(t)
}

func TestRefundIsPaidOutOnSolana(t *testing.T) {
	s := newShop(t, true)
	ws, payer, treasury := s.Workspace(t, 0), s.solana.NewWallet(), s.solana.NewWallet()
	customer := s.solana.NewWallet() // without a token account yet
	s.solana.Fund(payer.Address, 10*billing.PerUSD)
	s.solana.Fund(treasury.Address, 100*billing.PerUSD)
	s.accepts(ws, "3", payer.Pay(s.offer(ws, "3")), 3*billing.PerUSD)

	refund := ws.Owner.OK(t, "request_refund", apitest.Args{"network": "solana", "destination_address": customer.Address})
	same(t, "net", refund.Text("net_payout_usd"), "2.99")
	const net = 299_000
	id := uuid.MustParse(refund.Text("refund_id"))
	desk := refunds.Desk{Store: s.Store, From: map[string][]string{x402.SolanaID: {treasury.Address}}, Evidence: s.evidence}
	for what, transaction := range map[string]string{
		"too much":            treasury.Transfer(customer.Address, net+1),
		"to another wallet":   treasury.Transfer(s.solana.NewWallet().Address, net),
		"by a foreign wallet": payer.Transfer(customer.Address, net),
	} {
		var wrong *refunds.PayoutError
		if _, err := desk.Pay(t.Context(), id, transaction, true, apitest.Operator); !errors.As(err, &wrong) || wrong.Later {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := desk.Pay(t.Context(), id, treasury.Transfer(customer.Address, net), false, apitest.Operator); err != nil {
		t.Error(err)
	}
	ws.Funded(-3 * int64(billing.PerUSD))
	ws.CheckLedger(t)
}
