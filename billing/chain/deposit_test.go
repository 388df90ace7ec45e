package chain_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aanet/api/apitest"
	"aanet/billing"
	"aanet/billing/chaintest"
	"aanet/billing/x402"
)

// The money of a deposit moves by the exact amount on the chain that the client chose.
func TestDepositMovesMoneyOnTwoChains(t *testing.T) {
	s := newShop(t, false)
	ws, payer := s.Workspace(t, 0), s.rich()
	for _, c := range []struct {
		chain *chaintest.Chain
		usd   string
		units billing.Units
	}{{s.base, "1.23456", 123_456}, {s.avalanche, "0.25", 25_000}, {s.base, "7", 700_000}} {
		network, before := c.chain.Network.ID, c.chain.Balance(s.payTo[c.chain.Network.ID])
		payers := c.chain.Balance(payer.Address)
		a := s.accepts(ws, c.usd, payer.Pay(s.offer(ws, c.usd), network), c.units)
		same(t, "network", a.network(), network)
		same(t, "received", c.chain.Balance(s.payTo[network])-before, c.units)
		same(t, "paid", payers-c.chain.Balance(payer.Address), c.units)

		text, err := base64.StdEncoding.DecodeString(a.header.Get(x402.HeaderResponse))
		var told struct {
			Success                     bool
			Transaction, Network, Payer string
		}
		if err != nil || json.Unmarshal(text, &told) != nil || !told.Success || told.Transaction != a.hash() || told.Network != network || !strings.EqualFold(told.Payer, payer.Address) {
			t.Errorf("PAYMENT-RESPONSE is %s", text)
		}
		// The hash is of the transaction that paid: the chain itself says so.
		c.chain.Mine(deep)
		wantsPayout(t, s.evidence, billing.PayoutQuery{
			Network: network, Transaction: a.hash(), To: s.payTo[network], Amount: c.units, From: []string{payer.Address},
		}, billing.PayoutMade, "")
	}
	same(t, "balance", ws.Balance(t), 848_456)
	ws.CheckLedger(t)
}

// Whoever pays something else than was asked for is refused before anything is settled.
func TestPaymentsThatAreRefused(t *testing.T) {
	s := newShop(t, false)
	ws, payer, poor := s.Workspace(t, 0), s.rich(), chaintest.NewWallet(t)
	stranger := chaintest.NewWallet(t).Address
	sign := func(usd string) string { return payer.Pay(s.offer(ws, usd), chaintest.Base) }
	onAvalanche := func() string { return payer.Pay(s.offer(ws, "1"), chaintest.Avalanche) }
	authorize := func(to string, until time.Time) map[string]any {
		return payer.Authorize(s.base, to, billing.PerUSD, until, "").Inner()
	}
	set := func(name string, value any) func(m map[string]any) { return func(m map[string]any) { m[name] = value } }
	inAccepted := func(signature string, change func(map[string]any)) string {
		return retold(t, signature, func(_, _, accepted map[string]any) { change(accepted) })
	}
	inAuthorization := func(signature string, change func(map[string]any)) string {
		return retold(t, signature, func(_, authorization, _ map[string]any) { change(authorization) })
	}
	inPayment := func(signature string, change func(map[string]any)) string {
		return retold(t, signature, func(payment, _, _ map[string]any) { change(payment) })
	}
	baseTerms := func(m map[string]any) {
		for _, terms := range s.offer(ws, "1").Accepts {
			if terms.Network == chaintest.Base {
				m["accepted"] = terms
			}
		}
	}
	for _, c := range []struct{ name, usd, signature string }{
		{"signed for another amount", "5", sign("1")},
		{"another amount, with a lie about it", "5", inAccepted(sign("1"), set("amount", "5000000"))},
		{"the amount changed after signing", "5", inAuthorization(inAccepted(sign("1"), set("amount", "5000000")), set("value", "5000000"))},
		{"another receiver", "1", inAccepted(sign("1"), set("payTo", stranger))},
		{"another receiver, with a lie about it", "1", inPayment(sign("1"), set("payload", authorize(stranger, time.Now().Add(time.Hour))))},
		{"the receiver changed after signing", "1", inAuthorization(inPayment(sign("1"), set("payload", authorize(stranger, time.Now().Add(time.Hour)))), set("to", s.payTo[chaintest.Base]))},
		{"expired", "1", inPayment(sign("1"), set("payload", authorize(s.payTo[chaintest.Base], time.Now().Add(-time.Minute))))},
		{"about to expire", "1", inPayment(sign("1"), set("payload", authorize(s.payTo[chaintest.Base], time.Now().Add(5*time.Second))))},
		{"longer valid than was signed", "1", inAuthorization(sign("1"), set("validBefore", "4102444800"))},
		{"another nonce", "1", inAuthorization(sign("1"), set("nonce", "0x"+strings.Repeat("7", 64)))},
		{"another payer", "1", inAuthorization(sign("1"), set("from", stranger))},
		{"version 1", "1", inPayment(sign("1"), set("x402Version", 1))},
		{"signed for another chain", "1", inPayment(onAvalanche(), baseTerms)},
		{"another network", "1", inAccepted(onAvalanche(), set("network", chaintest.Base))},
		{"a network that is not offered", "1", inAccepted(sign("1"), set("network", "eip155:137"))},
		{"a test network", "1", inAccepted(sign("1"), set("network", "eip155:84532"))},
		{"another token", "1", inAccepted(sign("1"), set("asset", stranger))},
		{"no money", "1", poor.Pay(s.offer(ws, "1"), chaintest.Base)},
		{"more than there is", "100.00001", sign("100.00001")},
		{"no payment", "1", base64.StdEncoding.EncodeToString([]byte(`{}`))},
	} {
		t.Run(c.name, func(t *testing.T) {
			sent := s.base.Sent() + s.avalanche.Sent()
			a := s.refuses(ws, c.usd, c.signature, "PAYMENT_INVALID")
			if a.status != http.StatusUnprocessableEntity || a.body["reason"] == nil || a.header.Get(x402.HeaderRequired) != "" {
				t.Errorf("the refusal is %d %s", a.status, a.text)
			}
			same(t, "transactions", s.base.Sent()+s.avalanche.Sent(), sent)
		})
	}
	same(t, "settled", s.facilitator.Settles.Load(), 0)
	same(t, "received", s.base.Balance(s.payTo[chaintest.Base])+s.base.Balance(stranger), 0)
	same(t, "balance", ws.Balance(t), 0)
	ws.CheckLedger(t)
	s.accepts(ws, "1", sign("1"), billing.PerUSD) // nothing of it stands in the way of the right one
}

// A proof counts once, in one workspace, however often and by however many it is sent.
func TestPaymentIsUsedOnce(t *testing.T) {
	s := newShop(t, false)
	ws, other, payer := s.Workspace(t, 0), s.Workspace(t, 0), s.rich()
	signature := payer.Pay(s.offer(ws, "1"), chaintest.Base)
	paid := s.accepts(ws, "1", signature, billing.PerUSD)

	same(t, "own hash", s.refuses(ws, "1", signature, "PAYMENT_ALREADY_USED").hash(), paid.hash())
	same(t, "own hash, for another amount", s.refuses(ws, "5", signature, "PAYMENT_ALREADY_USED").hash(), paid.hash())
	foreign := s.refuses(other, "1", signature, "PAYMENT_ALREADY_USED")
	if foreign.hash() != "" || strings.Contains(string(foreign.text), ws.ID) {
		t.Errorf("another workspace learns %s", foreign.text)
	}
	respelled := retold(t, signature, func(_, authorization, _ map[string]any) {
		authorization["from"] = strings.ToLower(payer.Address)
	})
	s.refuses(other, "1", respelled, "PAYMENT_ALREADY_USED")

	tenth := payer.Pay(s.offer(ws, "2"), chaintest.Base)
	sent, settled := s.base.Sent(), s.facilitator.Settles.Load()
	var credited atomic.Int32
	apitest.Together(10, func(int) {
		switch a := s.post(ws, "2", tenth); {
		case a.status == http.StatusOK:
			credited.Add(1)
		case a.code() != "PAYMENT_ALREADY_USED" && a.code() != "PAYMENT_UNSETTLED":
			t.Errorf("one of ten is answered with %d %s", a.status, a.text)
		}
	})
	ws.Funded(2 * int64(billing.PerUSD))
	same(t, "credited", credited.Load(), 1)
	same(t, "settled", s.facilitator.Settles.Load()-settled, 1)
	same(t, "transactions", s.base.Sent()-sent, 1)
	same(t, "received", s.base.Balance(s.payTo[chaintest.Base]), 3*billing.PerUSD)
	same(t, "balance", ws.Balance(t), 300_000)
	same(t, "another balance", other.Balance(t), 0)
	ws.CheckLedger(t)
}
