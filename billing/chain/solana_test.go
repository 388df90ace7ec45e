package chain_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/x402-foundation/x402/go/types"

	"aanet/billing"
	"aanet/billing/chain"
	"aanet/billing/chaintest"
	"aanet/billing/x402"
)

// solanaWorld is Solana, a payer with ten dollars, a receiver, and our gateway to the SDK's facilitator.
type solanaWorld struct {
	t           *testing.T
	chain       *chaintest.Solana
	chains      *chain.Chains
	facilitator *chaintest.Facilitator
	gateway     *x402.Gateway
	payer       *chaintest.SolanaWallet
	payTo       string
}

func newSolanaWorld(t *testing.T) *solanaWorld {
	t.Helper()
	w := &solanaWorld{t: t, chain: chaintest.StartSolana(t)}
	w.payer, w.payTo = w.chain.NewWallet(), w.chain.NewWallet().Address
	w.chain.Fund(w.payer.Address, 10*billing.PerUSD)
	w.chain.Fund(w.payTo, 0)
	w.facilitator = chaintest.StartFacilitator(t, w.chain)
	w.chains = w.ask(patience, w.payTo)
	var err error
	w.gateway, err = x402.New(x402.Options{
		Facilitators: []x402.Facilitator{{Name: "sdk", URL: w.facilitator.URL}},
		PayTo:        map[string]string{x402.SolanaID: w.payTo}, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.gateway.Start(t.Context())
	t.Cleanup(w.gateway.Stop)
	if !w.gateway.WaitFirst(t.Context()) {
		t.Fatal("the facilitator was not asked")
	}
	return w
}

func (w *solanaWorld) ask(timeout time.Duration, payTo string) *chain.Chains {
	w.t.Helper()
	chains, err := chain.New(chain.Options{
		URLs: map[string]string{x402.SolanaID: w.chain.URL}, PayTo: map[string]string{x402.SolanaID: payTo}, Timeout: timeout,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return chains
}

// sign makes a payment of a dollar as clients do, up to where it would be settled.
func (w *solanaWorld) sign() (x402.Payment, billing.PaymentQuery) {
	w.t.Helper()
	challenge, err := w.gateway.Challenge(sdk.ResourceInfo{URL: "https://aanet.example/deposits"}, billing.PerUSD)
	if err != nil {
		w.t.Fatal(err)
	}
	proof, err := x402.ParseProof(w.payer.Pay(challenge))
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := w.gateway.Match(proof, billing.PerUSD)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.gateway.Verify(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
	return p, billing.PaymentQuery{
		Network: p.Network, Payer: p.Payer, PayTo: w.payTo, Amount: p.Amount, Nonce: p.Nonce, Payload: p.Payload, Since: w.now(),
	}
}

// now is the chain's clock.
func (w *solanaWorld) now() time.Time {
	w.t.Helper()
	return w.chain.Now()
}

func (w *solanaWorld) settle(p x402.Payment) string {
	w.t.Helper()
	o := w.gateway.Settle(w.t.Context(), p, "sdk")
	if o.State != x402.Settled {
		w.t.Fatalf("settled as %s: %s", o.State, o.Reason)
	}
	return o.Transaction
}

func (w *solanaWorld) wants(q billing.PaymentQuery, state billing.PaymentState, transaction string) {
	w.t.Helper()
	wantsPayment(w.t, w.chains, q, state, transaction)
}

func TestSolanaPaymentFromSignatureToFinality(t *testing.T) {
	w := newSolanaWorld(t)
	p, q := w.sign()
	w.wants(q, billing.PaymentUnused, "")
	w.chain.Finalize(false)
	signature := w.settle(p)
	w.wants(q, billing.PaymentPending, "")
	w.chain.Finalize(true)
	w.wants(q, billing.PaymentMade, signature)
	if got := w.chain.Balance(w.payTo); got != billing.PerUSD {
		t.Errorf("the receiver has %s", got.USD())
	}

	again := w.gateway.Settle(t.Context(), p, "sdk")
	if again.State != x402.Unknown || w.chain.Balance(w.payTo) != billing.PerUSD {
		t.Errorf("settled again: %s, and the receiver has %s", again.State, w.chain.Balance(w.payTo).USD())
	}
	w.wants(q, billing.PaymentMade, signature) // whatever the facilitator says of the second
	for _, hint := range []string{signature, strings.Repeat("1", 64), "nonsense"} {
		q.Hint = hint
		w.wants(q, billing.PaymentMade, signature)
	}
	w.chain.Pass(time.Hour)
	w.wants(q, billing.PaymentMade, signature)
}

func TestSolanaPaymentWhoseAnswerWasLost(t *testing.T) {
	w := newSolanaWorld(t)
	w.facilitator.LoseAnswers.Store(true)
	p, q := w.sign()
	other, _ := w.sign() // of the same payer, amount and receiver
	if o := w.gateway.Settle(t.Context(), other, "sdk"); o.State != x402.Unknown {
		t.Fatalf("settled as %s", o.State)
	}
	w.wants(q, billing.PaymentUnused, "") // the other one's transfer is no evidence for this one
	if o := w.gateway.Settle(t.Context(), p, "sdk"); o.State != x402.Unknown {
		t.Fatalf("settled as %s", o.State)
	}
	finding, err := w.chains.Payment(t.Context(), q)
	if err != nil || finding.State != billing.PaymentMade || finding.Transaction == "" {
		t.Fatalf("found %+v, %v", finding, err)
	}
}

func TestSolanaPaymentExpires(t *testing.T) {
	w := newSolanaWorld(t)
	_, q := w.sign()
	w.chain.Pass(time.Minute)
	w.wants(q, billing.PaymentUnused, "") // a blockhash that is not known yet looks like this too
	w.chain.Pass(5 * time.Minute)
	w.wants(q, billing.PaymentDead, "")

	w.chain.Break(func(rw http.ResponseWriter, r *http.Request, c chaintest.Call) bool {
		switch c.Method {
		case "getFirstAvailableBlock": // the history was thrown away up to now
			return chaintest.Result("77")(rw, r, c)
		case "getBlockTime":
			return string(c.Params[0]) == "77" && chaintest.Result(fmt.Sprint(w.now().Unix()))(rw, r, c)
		}
		return false
	})
	learnsNothing(t, w.chains, q, w.chain.URL)
}

func TestSolanaHistoryIsSearchedPageByPage(t *testing.T) {
	w := newSolanaWorld(t)
	p, q := w.sign()
	signature := w.settle(p)
	for range 4 {
		other, _ := w.sign()
		w.settle(other)
	}
	full := 0
	w.chain.Break(chaintest.Fault(func(rw http.ResponseWriter, r *http.Request, c chaintest.Call) bool {
		var o struct {
			Before         string
			MinContextSlot uint64
		}
		if err := json.Unmarshal(c.Params[1], &o); err != nil {
			panic(err)
		}
		if o.MinContextSlot == 0 {
			t.Error("a node that is behind may answer")
		}
		if o.Before != "" {
			return false
		}
		full++ // the first page is full of a busy account's other transactions
		entry := fmt.Sprintf(`{"signature":%q,"slot":1,"blockTime":%d,"err":null}`, w.chain.Newest(w.payTo), w.now().Unix())
		return chaintest.Result("["+strings.Repeat(entry+",", 999)+entry+"]")(rw, r, c)
	}).On("getSignaturesForAddress"))
	w.wants(q, billing.PaymentMade, signature)
	if full != 1 || w.chain.Called("getSignaturesForAddress") < 2 {
		t.Errorf("%d full pages of %d", full, w.chain.Called("getSignaturesForAddress"))
	}
	if read := w.chain.Called("getTransaction"); read > 7 { // five, one of them twice, and margin for none
		t.Errorf("%d transactions were read: each is to be remembered", read)
	}
}

func TestSolanaNodesThatFailTeachNothing(t *testing.T) {
	w := newSolanaWorld(t)
	_, expired := w.sign()
	w.chain.Pass(6 * time.Minute)
	p, made := w.sign()
	signature := w.settle(p)
	_, unused := w.sign()
	truth := []struct {
		q           billing.PaymentQuery
		state       billing.PaymentState
		transaction string
	}{{expired, billing.PaymentDead, ""}, {made, billing.PaymentMade, signature}, {unused, billing.PaymentUnused, ""}}
	const short = 150 * time.Millisecond
	for name, fault := range faults {
		for _, method := range []string{"getGenesisHash", "isBlockhashValid", "getSignaturesForAddress", "getTransaction", "getBlockTime", "getFirstAvailableBlock"} {
			if method == "getSignaturesForAddress" && name == "a list" {
				continue // an empty history cannot be told from a true one
			}
			w.chain.Break(fault.On(method))
			for _, c := range truth {
				finding, err := w.ask(short, "").Payment(t.Context(), c.q)
				switch {
				case err != nil && (strings.Contains(err.Error(), w.chain.URL) || strings.Contains(err.Error(), "secret")):
					t.Errorf("%s %s: the error tells the URL, or what the node wrote: %v", method, name, err)
				case err == nil && finding.State != billing.PaymentPending && (finding.State != c.state || finding.Transaction != c.transaction):
					t.Errorf("%s %s: learnt %d (%s), the truth is %d", method, name, finding.State, finding.Reason, c.state)
				}
			}
		}
	}
	w.chain.Break(nil)
	for _, c := range truth {
		w.wants(c.q, c.state, c.transaction)
	}
}

func TestSolanaPaymentMustBeTheOneThatWasStored(t *testing.T) {
	w := newSolanaWorld(t)
	_, other := w.sign()
	for name, spoil := range map[string]func(*billing.PaymentQuery){
		"another hash":    func(q *billing.PaymentQuery) { q.Nonce = other.Nonce },
		"no payload":      func(q *billing.PaymentQuery) { q.Payload = nil },
		"no transaction":  func(q *billing.PaymentQuery) { q.Payload = []byte(`{"payload":{"transaction":""}}`) },
		"no base64":       func(q *billing.PaymentQuery) { q.Payload = []byte(`{"payload":{"transaction":"?"}}`) },
		"no such wallet":  func(q *billing.PaymentQuery) { q.PayTo = "nobody" },
		"an EVM receiver": func(q *billing.PaymentQuery) { q.PayTo = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913" },
	} {
		t.Run(name, func(t *testing.T) {
			_, q := w.sign()
			spoil(&q)
			learnsNothing(t, w.chains, q, w.chain.URL)
		})
	}
}

// A durable nonce outlives every blockhash, so time alone never makes such a payment dead.
func TestSolanaPaymentWithADurableNonceDoesNotExpire(t *testing.T) {
	w := newSolanaWorld(t)
	wire := append([]byte{0, 1, 0, 1, 2}, make([]byte, 3*32)...) // signer, system program, blockhash
	wire[5] = 9
	wire = append(wire, 1, 1, 1, 0, 4, 4, 0, 0, 0)
	message, err := x402.ReadSolanaMessage(wire)
	if err != nil {
		t.Fatal(err)
	}
	q := billing.PaymentQuery{
		Network: x402.SolanaID, Payer: w.payer.Address, PayTo: w.payTo, Amount: billing.PerUSD, Nonce: message.Hash, Since: w.now(),
		Payload: fmt.Appendf(nil, `{"payload":{"transaction":%q}}`, base64.StdEncoding.EncodeToString(wire)),
	}
	w.chain.Pass(time.Hour)
	w.wants(q, billing.PaymentUnused, "")
}

func TestPayoutOnSolana(t *testing.T) {
	w := newSolanaWorld(t)
	treasury, customer := w.payer, w.chain.NewWallet()
	const net = 3*billing.PerUSD + 7
	requested := w.now().Add(300 * time.Millisecond)
	w.chain.Finalize(false)
	right := treasury.Transfer(customer.Address, net) // into an account that it creates
	q := billing.PayoutQuery{
		Network: x402.SolanaID, Transaction: right, To: customer.Address, Amount: net, After: requested,
		From: []string{w.payTo, treasury.Address},
	}
	wantsPayout(t, w.chains, q, billing.PayoutPending, "confirmations")
	w.chain.Finalize(true)
	wantsPayout(t, w.chains, q, billing.PayoutMade, "")
	toHimself := customer.Transfer(customer.Address, net)

	for name, c := range map[string]struct {
		spoil    func(q *billing.PayoutQuery)
		state    billing.PayoutState
		decisive string
	}{
		"typed with blanks":         {func(q *billing.PayoutQuery) { q.Transaction = " " + right + "\n" }, billing.PayoutMade, ""},
		"anyone may pay":            {func(q *billing.PayoutQuery) { q.From = nil }, billing.PayoutMade, ""},
		"one unit more":             {func(q *billing.PayoutQuery) { q.Amount++ }, billing.PayoutWrong, "amount"},
		"one unit less":             {func(q *billing.PayoutQuery) { q.Amount-- }, billing.PayoutWrong, "amount"},
		"another wallet":            {func(q *billing.PayoutQuery) { q.To = w.payTo }, billing.PayoutWrong, "amount"},
		"the token account instead": {func(q *billing.PayoutQuery) { q.To = w.chain.TokenAccount(customer.Address) }, billing.PayoutWrong, "amount"},
		"before the request":        {func(q *billing.PayoutQuery) { q.After = w.now().Add(time.Hour) }, billing.PayoutWrong, "time"},
		"a foreign sender":          {func(q *billing.PayoutQuery) { q.From = q.From[:1] }, billing.PayoutWrong, "sender"},
		"paid to himself":           {func(q *billing.PayoutQuery) { q.Transaction = toHimself }, billing.PayoutWrong, "amount sender"},
		"an unknown transaction":    {func(q *billing.PayoutQuery) { q.Transaction = strings.Repeat("1", 64) }, billing.PayoutPending, "transaction"},
	} {
		t.Run(name, func(t *testing.T) {
			q := q
			c.spoil(&q)
			wantsPayout(t, w.chains, q, c.state, c.decisive)
		})
	}
}

func TestCheckOfSolana(t *testing.T) {
	w := newSolanaWorld(t)
	if err := w.chains.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := w.ask(patience, w.chain.NewWallet().Address).Check(t.Context()); !mismatched(err) {
		t.Errorf("a receiver without a token account: %v", err)
	}
	w.chain.Break(chaintest.Result(`"EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"`).On("getGenesisHash"))
	if err := w.ask(patience, w.payTo).Check(t.Context()); !mismatched(err) {
		t.Errorf("the development network: %v", err)
	}
	w.chain.Break(chaintest.Reset)
	if err := w.ask(patience, w.payTo).Check(t.Context()); err == nil || mismatched(err) {
		t.Errorf("a node that is away: %v", err)
	}
}

func TestTokenAccountsAreThoseOfTheSDK(t *testing.T) {
	chain := chaintest.StartSolana(t)
	for range 40 {
		wallet := chain.NewWallet().Address
		if got, err := x402.TokenAccount(wallet); err != nil || got != chain.TokenAccount(wallet) {
			t.Errorf("%s: %s, %v", wallet, got, err)
		}
	}
}
