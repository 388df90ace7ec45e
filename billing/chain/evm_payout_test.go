package chain_test

import (
	"strings"
	"testing"
	"time"

	"aanet/billing"
	"aanet/billing/chaintest"
)

func TestPayoutOnEVM(t *testing.T) {
	w := newEVMWorld(t, chaintest.Base)
	treasury, customer := w.payer, chaintest.NewWallet(t)
	w.chain.Endow(treasury)
	const net = 3*billing.PerUSD + 7
	requested := w.in(0).Add(300 * time.Millisecond) // of the last block's second, as clocks have it
	right := w.chain.Transfer(treasury, customer.Address, net)
	q := billing.PayoutQuery{
		Network: chaintest.Base, Transaction: right, To: customer.Address, Amount: net, After: requested,
		From: []string{chaintest.NewWallet(t).Address, strings.ToLower(treasury.Address)},
	}
	wantsPayout(t, w.chains, q, billing.PayoutPending, "confirmations")
	w.chain.Mine(deep)
	wantsPayout(t, w.chains, q, billing.PayoutMade, "")

	for name, c := range map[string]struct {
		spoil    func(q *billing.PayoutQuery)
		state    billing.PayoutState
		decisive string
	}{
		"typed with blanks and in capitals": {func(q *billing.PayoutQuery) { q.Transaction = " 0x" + strings.ToUpper(right[2:]) + "\n" }, billing.PayoutMade, ""},
		"anyone may pay":                    {func(q *billing.PayoutQuery) { q.From = nil }, billing.PayoutMade, ""},
		"one unit more":                     {func(q *billing.PayoutQuery) { q.Amount++ }, billing.PayoutWrong, "amount"},
		"one unit less":                     {func(q *billing.PayoutQuery) { q.Amount-- }, billing.PayoutWrong, "amount"},
		"another wallet":                    {func(q *billing.PayoutQuery) { q.To = w.payTo }, billing.PayoutWrong, "amount sender"},
		"the sender's wallet":               {func(q *billing.PayoutQuery) { q.To = treasury.Address }, billing.PayoutWrong, "amount sender"},
		"before the request":                {func(q *billing.PayoutQuery) { q.After = w.in(time.Hour) }, billing.PayoutWrong, "time"},
		"a foreign sender":                  {func(q *billing.PayoutQuery) { q.From = q.From[:1] }, billing.PayoutWrong, "sender"},
		"an unknown transaction":            {func(q *billing.PayoutQuery) { q.Transaction = "0x" + strings.Repeat("1", 64) }, billing.PayoutPending, "transaction"},
		"no hash":                           {func(q *billing.PayoutQuery) { q.Transaction = "paid by bank" }, billing.PayoutWrong, "transaction"},
	} {
		t.Run(name, func(t *testing.T) {
			q := q
			c.spoil(&q)
			wantsPayout(t, w.chains, q, c.state, c.decisive)
		})
	}
}

func TestPayoutsThatMovedNothingOrSomethingElse(t *testing.T) {
	w := newEVMWorld(t, chaintest.Base)
	customer := chaintest.NewWallet(t)
	w.chain.Endow(w.payer)
	w.chain.Endow(customer)
	w.chain.Fund(customer.Address, billing.PerUSD)
	q := billing.PayoutQuery{Network: chaintest.Base, To: customer.Address, Amount: billing.PerUSD, After: w.in(0)}

	otherToken := w.chain.OtherToken(customer.Address, billing.PerUSD)
	failed := w.chain.Transfer(w.payer, customer.Address, 1000*billing.PerUSD)
	toHimself := w.chain.Transfer(customer, customer.Address, billing.PerUSD)
	twice := w.chain.SubmitTogether(
		w.payer.Authorize(w.chain, customer.Address, billing.PerUSD, w.in(time.Minute), ""),
		w.payer.Authorize(w.chain, customer.Address, billing.PerUSD, w.in(time.Minute), ""))
	halves := w.chain.SubmitTogether(
		w.payer.Authorize(w.chain, customer.Address, billing.PerUSD/4, w.in(time.Minute), ""),
		w.payer.Authorize(w.chain, customer.Address, billing.PerUSD-billing.PerUSD/4, w.in(time.Minute), ""))
	andBack := w.chain.SubmitTogether(
		w.payer.Authorize(w.chain, customer.Address, billing.PerUSD, w.in(time.Minute), ""),
		customer.Authorize(w.chain, w.payer.Address, billing.PerUSD, w.in(time.Minute), ""))
	w.chain.Mine(deep)

	for _, c := range []struct {
		name, transaction string
		state             billing.PayoutState
		decisive          string
	}{
		{"another token", otherToken, billing.PayoutWrong, "amount sender"},
		{"failed on the chain", failed, billing.PayoutWrong, "outcome"},
		{"paid to himself", toHimself, billing.PayoutWrong, "amount"},
		{"paid twice", twice, billing.PayoutWrong, "amount"},
		{"paid in two parts", halves, billing.PayoutMade, ""},
		{"paid and taken back", andBack, billing.PayoutWrong, "amount"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := q
			q.Transaction = c.transaction
			wantsPayout(t, w.chains, q, c.state, c.decisive)
		})
	}
}

func TestPayoutIsNotDecidedByNodesThatFail(t *testing.T) {
	w := newEVMWorld(t, chaintest.Base)
	w.chain.Endow(w.payer)
	q := billing.PayoutQuery{
		Network: chaintest.Base, To: w.payTo, Amount: billing.PerUSD, After: w.in(0),
		Transaction: w.chain.Transfer(w.payer, w.payTo, billing.PerUSD),
	}
	w.chain.Mine(deep)
	for name, fault := range faults {
		for _, method := range []string{"eth_chainId", "eth_getBlockByNumber", "eth_getTransactionReceipt"} {
			w.chain.Break(fault.On(method))
			finding, err := w.ask(100*time.Millisecond).Payout(t.Context(), q)
			if err == nil && finding.State == billing.PayoutWrong {
				t.Errorf("%s %s: found wrong (%s)", method, name, finding.Reason)
			}
			if err != nil && (strings.Contains(err.Error(), w.chain.URL) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("%s %s: the error tells the URL, or what the node wrote: %v", method, name, err)
			}
		}
	}
}
