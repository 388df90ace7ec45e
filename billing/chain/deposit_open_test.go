package chain_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"aanet/api/apitest"
	"aanet/billing"
	"aanet/billing/chaintest"
	"aanet/billing/refunds"
	"aanet/store"
)

// unsettled posts a payment whose outcome stays open: no new challenge, and the advice when to send the same again.
func (s *shop) unsettled(ws *apitest.Workspace, usd, signature string) {
	s.t.Helper()
	a := s.refuses(ws, usd, signature, "PAYMENT_UNSETTLED")
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || a.header.Get("PAYMENT-REQUIRED") != "" {
		s.t.Errorf("the open payment is answered with %d %v %s", a.status, a.header, a.text)
	}
}

// decided checks that the payment was credited once, by a transaction, and can never be used again.
func (s *shop) decided(ws *apitest.Workspace, usd, signature, transaction string, units billing.Units) {
	s.t.Helper()
	a := s.refuses(ws, usd, signature, "PAYMENT_ALREADY_USED")
	if transaction != "" {
		same(s.t, "by the transaction", a.hash(), transaction)
	}
	ws.Funded(int64(units))
	ws.CheckLedger(s.t)
	same(s.t, "balance", ws.Balance(s.t), int64(units))
}

func TestPaymentWhoseAnswerIsLostIsCreditedByTheChain(t *testing.T) {
	s := newShop(t, false)
	ws, payer := s.Workspace(t, 0), s.rich()
	signature := payer.Pay(s.offer(ws, "1"), chaintest.Base)
	s.facilitator.LoseAnswers.Store(true)
	s.unsettled(ws, "1", signature)
	same(t, "received", s.base.Balance(s.payTo[chaintest.Base]), billing.PerUSD)
	s.reconcile()
	s.unsettled(ws, "1", signature) // seen, and not deep enough
	s.base.Mine(deep)
	s.reconcile()
	s.decided(ws, "1", signature, "", billing.PerUSD)
	same(t, "settled", s.facilitator.Settles.Load(), 1)
}

func TestPaymentThatAStrangerMinesFirstIsCreditedByItsTransaction(t *testing.T) {
	s := newShop(t, false)
	ws, payer := s.Workspace(t, 0), s.rich()
	challenge := s.offer(ws, "1")
	a := payer.Authorize(s.base, s.payTo[chaintest.Base], billing.PerUSD, time.Now().Add(time.Hour), "")
	signature := retold(t, payer.Pay(challenge, chaintest.Base), func(payment, _, _ map[string]any) {
		payment["payload"] = a.Inner()
	})
	var stranger string
	s.facilitator.BeforeSettle = func() { stranger = s.base.Submit(a) }
	s.unsettled(ws, "1", signature) // the facilitator says that it failed, which is no evidence
	s.base.Mine(deep)
	s.reconcile()
	s.decided(ws, "1", signature, stranger, billing.PerUSD)
	same(t, "received", s.base.Balance(s.payTo[chaintest.Base]), billing.PerUSD)
}

func TestPaymentThatWaitsInThePool(t *testing.T) {
	s := newShop(t, false)
	ws, payer := s.Workspace(t, 0), s.rich()
	signature := payer.Pay(s.offer(ws, "1"), chaintest.Base)
	s.base.Hold()
	before, enough := s.base.Sent(), make(chan struct{})
	s.facilitator.CutOff, s.facilitator.BeforeSettle = enough, func() {
		go func() {
			for s.base.Sent() == before {
				time.Sleep(time.Millisecond)
			}
			close(enough)
		}()
	}
	s.unsettled(ws, "1", signature)
	same(t, "received", s.base.Balance(s.payTo[chaintest.Base]), 0)
	s.base.Mine(deep)
	s.reconcile()
	s.decided(ws, "1", signature, "", billing.PerUSD)
	same(t, "received", s.base.Balance(s.payTo[chaintest.Base]), billing.PerUSD)
}

func TestPaymentThatNeverCameFailsOnlyWhenItIsDead(t *testing.T) {
	s := newShop(t, false)
	ws, payer := s.Workspace(t, 0), s.rich()
	challenge := s.offer(ws, "1")
	a := payer.Authorize(s.base, s.payTo[chaintest.Base], billing.PerUSD, time.Now().Add(20*time.Minute), "")
	signature := retold(t, payer.Pay(challenge, chaintest.Base), func(payment, _, _ map[string]any) { payment["payload"] = a.Inner() })
	s.facilitator.BeforeSettle = func() { panic(http.ErrAbortHandler) } // it dies before it has sent anything
	s.unsettled(ws, "1", signature)
	s.reconcile()
	s.unsettled(ws, "1", signature)

	s.base.Pass(30 * time.Minute)
	s.base.Break(chaintest.Answer(http.StatusInternalServerError, ""))
	s.base.Mine(deep)
	s.reconcile()
	s.unsettled(ws, "1", signature) // the node is away: nothing was learnt
	s.base.Break(nil)
	s.reconcile()
	if r := s.post(ws, "1", signature); r.code() == "PAYMENT_UNSETTLED" || r.status == http.StatusOK {
		t.Errorf("the dead payment is answered with %d %s", r.status, r.text)
	}
	same(t, "balance", ws.Balance(t), 0)
	same(t, "received", s.base.Balance(s.payTo[chaintest.Base]), 0)
	ws.CheckLedger(t)
}

// Money in by the chain, money out by the chain: the operator's payout counts only when it is the right one.
func TestRefundIsPaidOutOnTheChain(t *testing.T) {
	s := newShop(t, false)
	ws, payer, treasury := s.Workspace(t, 0), s.rich(), s.rich()
	s.base.Endow(treasury)
	s.accepts(ws, "5", payer.Pay(s.offer(ws, "5"), chaintest.Avalanche), 5*billing.PerUSD)

	refund := ws.Owner.OK(t, "request_refund", apitest.Args{"network": "base", "destination_address": payer.Address})
	same(t, "net", refund.Text("net_payout_usd"), "4.98")
	id := uuid.MustParse(refund.Text("refund_id"))
	desk := refunds.Desk{Store: s.Store, From: map[string][]string{chaintest.Base: {treasury.Address}}, Evidence: s.evidence}
	refused := func(what, transaction string, later bool) {
		t.Helper()
		_, err := desk.Pay(t.Context(), id, transaction, true, apitest.Operator) // not even unchecked, where a chain can be asked
		var wrong *refunds.PayoutError
		if !errors.As(err, &wrong) || wrong.Later != later || wrong.Reason == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	net := 5*billing.PerUSD - billing.PerUSD/50
	foreign := s.rich()
	s.base.Endow(foreign)
	s.base.Mine(deep)
	tooLittle := s.base.Transfer(treasury, payer.Address, net-1)
	elsewhere := s.base.Transfer(treasury, s.payTo[chaintest.Base], net)
	byForeign := s.base.Transfer(foreign, payer.Address, net)
	right := s.base.Transfer(treasury, payer.Address, net)
	refused("not deep enough", right, true)
	s.base.Mine(deep)
	refused("too little", tooLittle, false)
	refused("to another wallet", elsewhere, false)
	refused("by a foreign wallet", byForeign, false)
	s.base.Break(chaintest.Hang)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := desk.Pay(ctx, id, right, true, apitest.Operator); err == nil {
		t.Error("paid while the chain could not be asked")
	}
	s.base.Break(nil)
	if _, err := desk.Pay(t.Context(), id, right, false, apitest.Operator); err != nil {
		t.Fatal(err)
	}
	if _, err := desk.Pay(t.Context(), id, right, false, apitest.Operator); err == nil {
		t.Error("paid twice")
	}
	ws.Funded(-5 * int64(billing.PerUSD))
	ws.CheckLedger(t)

	// A second refund of the same amount cannot be paid by the same transaction.
	s.accepts(ws, "5", payer.Pay(s.offer(ws, "5"), chaintest.Base), 5*billing.PerUSD)
	again := ws.Owner.OK(t, "request_refund", apitest.Args{"network": "base", "destination_address": payer.Address})
	if _, err := desk.Pay(t.Context(), uuid.MustParse(again.Text("refund_id")), right, false, apitest.Operator); !errors.Is(err, store.ErrPayoutUsed) {
		t.Errorf("one transaction paid two refunds: %v", err)
	}
}
