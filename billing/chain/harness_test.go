package chain_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"aanet/billing"
	"aanet/billing/chain"
	"aanet/billing/chaintest"
)

// deep is how many confirmations the tests ask for.
const deep = 3

// patience bounds one question to a node or to the facilitator, on a busy machine. Nothing waits for its end.
const patience = time.Minute

// evmWorld is one chain, a payer with ten dollars, and a receiver.
type evmWorld struct {
	t      *testing.T
	chain  *chaintest.Chain
	chains *chain.Chains
	payer  *chaintest.Wallet
	payTo  string
}

func newEVMWorld(t *testing.T, network string) *evmWorld {
	t.Helper()
	w := &evmWorld{t: t, chain: chaintest.Start(t, network), payer: chaintest.NewWallet(t), payTo: chaintest.NewWallet(t).Address}
	w.chain.Fund(w.payer.Address, 10*billing.PerUSD)
	w.chains = w.ask(patience)
	return w
}

// ask gives a new asker, which has not identified the node yet.
func (w *evmWorld) ask(timeout time.Duration) *chain.Chains {
	w.t.Helper()
	network := w.chain.Network.ID
	chains, err := chain.New(chain.Options{
		URLs: map[string]string{network: w.chain.URL}, Confirmations: map[string]uint64{network: deep}, Timeout: timeout,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return chains
}

// sign authorizes a dollar for some minutes.
func (w *evmWorld) sign() chaintest.Authorization {
	w.t.Helper()
	return w.payer.Authorize(w.chain, w.payTo, billing.PerUSD, w.in(5*time.Minute), "")
}

// in is a time of the chain's clock.
func (w *evmWorld) in(d time.Duration) time.Time {
	w.t.Helper()
	_, now := w.chain.Head()
	return now.Add(d)
}

func (w *evmWorld) query(a chaintest.Authorization) billing.PaymentQuery {
	w.t.Helper()
	return billing.PaymentQuery{
		Network: w.chain.Network.ID, Payer: a.From, PayTo: strings.ToLower(a.To), Amount: a.Amount, Nonce: a.Nonce,
		ValidBefore: a.ValidBefore, Payload: a.Payload, Since: w.in(0),
	}
}

// wants asks about a payment and compares state and transaction.
func (w *evmWorld) wants(q billing.PaymentQuery, state billing.PaymentState, transaction string) {
	w.t.Helper()
	wantsPayment(w.t, w.chains, q, state, transaction)
}

func wantsPayment(t *testing.T, chains *chain.Chains, q billing.PaymentQuery, state billing.PaymentState, transaction string) {
	t.Helper()
	finding, err := chains.Payment(t.Context(), q)
	switch {
	case err != nil:
		t.Fatal(err)
	case finding.State != state || finding.Transaction != transaction:
		t.Fatalf("found %d %q (%s), want %d %q", finding.State, finding.Transaction, finding.Reason, state, transaction)
	case finding.Reason == "":
		t.Fatal("no reason given")
	}
}

// wantsPayout asks about a payout and compares state and the step that decided.
func wantsPayout(t *testing.T, chains *chain.Chains, q billing.PayoutQuery, state billing.PayoutState, decisive string) {
	t.Helper()
	finding, err := chains.Payout(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if finding.State != state || (finding.Reason == "") != (state == billing.PayoutMade) {
		t.Fatalf("found %d (%s), want %d", finding.State, finding.Reason, state)
	}
	steps := finding.Steps
	var faults []string
	for _, s := range steps {
		if s.Detail == "" {
			t.Errorf("step %s says nothing", s.Name)
		}
		if s.State != billing.StepOK {
			faults = append(faults, s.Name)
		}
	}
	if got := strings.Join(faults, " "); got != decisive {
		t.Fatalf("steps at fault: %q, want %q: %+v", got, decisive, steps)
	}
}

// learnsNothing makes sure that an answer is an error, free of the node's URL.
func learnsNothing(t *testing.T, chains *chain.Chains, q billing.PaymentQuery, url string) {
	t.Helper()
	finding, err := chains.Payment(t.Context(), q)
	if err == nil {
		t.Fatalf("learnt %d (%s)", finding.State, finding.Reason)
	}
	if strings.Contains(err.Error(), url) || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error tells the URL, or what the node wrote: %v", err)
	}
}

func mismatched(err error) bool { return errors.Is(err, chain.ErrMismatch) }
