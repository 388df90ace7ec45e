package chain_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"aanet/billing"
	"aanet/billing/chain"
	"aanet/billing/chaintest"
)

// longRangesRefused is a node that searches few blocks at a time.
func longRangesRefused(most uint64) chaintest.Fault {
	return chaintest.Fault(func(w http.ResponseWriter, r *http.Request, c chaintest.Call) bool {
		var filter struct{ FromBlock, ToBlock string }
		if err := json.Unmarshal(c.Params[0], &filter); err != nil {
			panic(err)
		}
		if number(filter.ToBlock)-number(filter.FromBlock) < most {
			return false
		}
		return chaintest.Refuse(-32005, "query exceeds max block range")(w, r, c)
	}).On("eth_getLogs")
}

func number(quantity string) uint64 {
	n, err := strconv.ParseUint(strings.TrimPrefix(quantity, "0x"), 16, 64)
	if err != nil {
		panic(err)
	}
	return n
}

var faults = map[string]chaintest.Fault{
	"hangs":               chaintest.Hang,
	"breaks off":          chaintest.Reset,
	"500":                 chaintest.Answer(http.StatusInternalServerError, "secret"),
	"500 with a result":   chaintest.Answer(http.StatusInternalServerError, `{"jsonrpc":"2.0","id":1,"result":"0x0"}`),
	"429":                 chaintest.Answer(http.StatusTooManyRequests, `slow down, secret`),
	"a redirect":          chaintest.Redirect,
	"nothing":             chaintest.Answer(http.StatusOK, ""),
	"a page":              chaintest.Answer(http.StatusOK, "<html>secret</html>"),
	"another id":          chaintest.Answer(http.StatusOK, `{"jsonrpc":"2.0","id":123456,"result":"0x0"}`),
	"no result":           chaintest.Answer(http.StatusOK, `{"jsonrpc":"2.0","id":1}`),
	"a refusal":           chaintest.Refuse(-32000, "secret"),
	"an endless answer":   chaintest.Answer(http.StatusOK, strings.Repeat(" ", 5<<20)),
	"a result of null":    chaintest.Result(`null`),
	"a result of nothing": chaintest.Result(`"0x"`),
	"a result too long":   chaintest.Result(`"0x` + strings.Repeat("0", 128) + `"`),
	"a result of seven":   chaintest.Result(`"0x` + strings.Repeat("0", 63) + `7"`),
	"an empty object":     chaintest.Result(`{}`),
	"a list":              chaintest.Result(`[]`),
	"a negative number":   chaintest.Result(`-1`),
}

// A payment that is dead, one that is made and one that is unused: whatever the node does wrong, and at whichever
// question, nothing may be learnt that is not so.
func TestNodesThatFailTeachNothing(t *testing.T) {
	w := newEVMWorld(t, chaintest.Base)
	expired := w.query(w.sign())
	w.chain.Pass(6 * time.Minute)
	paid := w.sign()
	made := w.query(paid)
	transaction := w.chain.Submit(paid)
	w.chain.Mine(deep)
	unused := w.query(w.sign())
	truth := []struct {
		q           billing.PaymentQuery
		state       billing.PaymentState
		transaction string
	}{{expired, billing.PaymentDead, ""}, {made, billing.PaymentMade, transaction}, {unused, billing.PaymentUnused, ""}}

	const short = 100 * time.Millisecond
	methods := []string{"eth_chainId", "eth_getBlockByNumber", "eth_call", "eth_getLogs", "eth_getTransactionReceipt"}
	for name, fault := range faults {
		for _, method := range methods {
			w.chain.Break(fault.On(method))
			for _, c := range truth {
				finding, err := w.ask(short).Payment(t.Context(), c.q)
				switch {
				case err != nil && (strings.Contains(err.Error(), w.chain.URL) || strings.Contains(err.Error(), "secret")):
					t.Errorf("%s %s: the error tells the URL, or what the node wrote: %v", method, name, err)
				case err == nil && (finding.State == billing.PaymentDead || finding.State == billing.PaymentMade || finding.State == billing.PaymentUnused) && (finding.State != c.state || finding.Transaction != c.transaction):
					t.Errorf("%s %s: learnt %d (%s), the truth is %d", method, name, finding.State, finding.Reason, c.state)
				}
			}
		}
		w.chain.Break(fault)
		learnsNothing(t, w.ask(short), expired, w.chain.URL)
	}
	w.chain.Break(nil)
	for _, c := range truth {
		w.wants(c.q, c.state, c.transaction)
	}
}

// Answers that would be right if they were what was asked for, and receipts that do not fit the chain.
func TestNodesThatContradictThemselvesTeachNothing(t *testing.T) {
	w := newEVMWorld(t, chaintest.Base)
	w.chain.Endow(w.payer)
	a := w.sign()
	made := w.query(a)
	made.Hint = w.chain.Submit(a)
	w.chain.Mine(deep)
	payout := billing.PayoutQuery{Network: chaintest.Base, Transaction: made.Hint, To: w.payTo, Amount: billing.PerUSD}
	w.wants(made, billing.PaymentMade, made.Hint)
	wantsPayout(t, w.chains, payout, billing.PayoutMade, "")
	if asked := w.chain.Called("eth_chainId"); asked != 1 {
		t.Errorf("the chain was identified %d times", asked)
	}

	inReceipt := func(name, value string) chaintest.Fault {
		return w.chain.Change(http.StatusOK, func(answer map[string]any) {
			var r map[string]any
			if err := json.Unmarshal(answer["result"].(json.RawMessage), &r); err != nil {
				panic(err)
			}
			r[name] = value
			answer["result"] = r
		}).On("eth_getTransactionReceipt")
	}
	other := "0x" + strings.Repeat("5", 64)
	for _, c := range []struct {
		name    string
		fault   chaintest.Fault
		payment bool // whether the payment may still be found
		payout  bool
	}{
		{"another question's answer", w.chain.Change(http.StatusOK, func(answer map[string]any) { answer["id"] = 0 }), false, false},
		{"the answer with a bad status", w.chain.Change(http.StatusBadGateway, func(map[string]any) {}), false, false},
		{"a receipt from a younger block", inReceipt("blockNumber", "0xffffff"), false, false},
		{"a receipt from another branch", inReceipt("blockHash", other), true, false},
		{"a receipt of another transaction", inReceipt("transactionHash", other), false, false},
		{"a receipt of failure", inReceipt("status", "0x0"), false, false},
	} {
		w.chain.Break(c.fault)
		finding, err := w.chains.Payment(t.Context(), made)
		if (err == nil && finding.State == billing.PaymentMade) != c.payment || err == nil && finding.State == billing.PaymentDead {
			t.Errorf("%s: payment found as %d (%s), %v", c.name, finding.State, finding.Reason, err)
		}
		if paid, err := w.chains.Payout(t.Context(), payout); (err == nil && paid.State == billing.PayoutMade) != c.payout {
			t.Errorf("%s: payout found as %d (%s), %v", c.name, paid.State, paid.Reason, err)
		}
	}
}

func TestPaymentThatIsNoAuthorizationIsNotAskedAbout(t *testing.T) {
	w := newEVMWorld(t, chaintest.Base)
	for name, spoil := range map[string]func(*billing.PaymentQuery){
		"no nonce":    func(q *billing.PaymentQuery) { q.Nonce = "" },
		"short nonce": func(q *billing.PaymentQuery) { q.Nonce = "0x12" },
		"no payer":    func(q *billing.PaymentQuery) { q.Payer = "" },
		"no end":      func(q *billing.PaymentQuery) { q.ValidBefore = time.Time{} },
		"no node":     func(q *billing.PaymentQuery) { q.Network = chaintest.Avalanche },
	} {
		t.Run(name, func(t *testing.T) {
			q := w.query(w.sign())
			spoil(&q)
			learnsNothing(t, w.chains, q, w.chain.URL)
		})
	}
}

func TestCheckOfTokensAndChains(t *testing.T) {
	base, avalanche := newEVMWorld(t, chaintest.Base), newEVMWorld(t, chaintest.Avalanche)
	both := map[string]string{chaintest.Base: base.chain.URL, chaintest.Avalanche: avalanche.chain.URL}
	check := func(urls map[string]string) error {
		chains, err := chain.New(chain.Options{URLs: urls, Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		return chains.Check(t.Context())
	}
	if err := check(both); err != nil {
		t.Error(err)
	}
	swapped := check(map[string]string{chaintest.Base: avalanche.chain.URL})
	if !mismatched(swapped) || !strings.Contains(swapped.Error(), "Base") {
		t.Errorf("another chain: %v", swapped)
	}
	other := `"0x` + strings.Repeat("ab", 32) + `"`
	for name, c := range map[string]struct {
		fault    chaintest.Fault
		mismatch bool
	}{
		"another domain": {chaintest.Result(other).On("eth_call"), true},
		"no contract":    {chaintest.Result(`"0x"`).On("eth_call"), false},
		"node away":      {chaintest.Reset, false},
	} {
		base.chain.Break(c.fault)
		if err := check(both); err == nil || mismatched(err) != c.mismatch {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfigurationOfNodes(t *testing.T) {
	_, err := chain.New(chain.Options{URLs: map[string]string{
		"eip155:1": "http://127.0.0.1:1", chaintest.Base: "ftp://secret/", chaintest.Avalanche: "secret",
	}})
	if err == nil || strings.Contains(err.Error(), "secret") || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%v", err)
	}
	none, err := chain.New(chain.Options{})
	if err != nil || none.Covers(chaintest.Base) || none.Check(t.Context()) != nil {
		t.Errorf("without nodes: %v", err)
	}
}
