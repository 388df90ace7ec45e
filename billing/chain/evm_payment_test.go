package chain_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"aanet/billing"
	"aanet/billing/chaintest"
)

func TestPaymentFromSignatureToConfirmation(t *testing.T) {
	w := newEVMWorld(t, chaintest.Base)
	q := w.query(w.sign())
	w.wants(q, billing.PaymentUnused, "")

	w.chain.Hold()
	a := w.sign()
	q = w.query(a)
	transaction := w.chain.Submit(a)
	w.wants(q, billing.PaymentUnused, "") // in the pool: not made as of now

	for range deep - 1 {
		w.chain.Mine(1)
		w.wants(q, billing.PaymentPending, "")
	}
	w.chain.Mine(1)
	w.wants(q, billing.PaymentMade, transaction)

	q.Hint = transaction
	w.wants(q, billing.PaymentMade, transaction)
	if got := w.chain.Balance(w.payTo); got != billing.PerUSD {
		t.Errorf("the receiver has %s", got.USD())
	}
}

func TestPaymentVerdicts(t *testing.T) {
	w := newEVMWorld(t, chaintest.Avalanche)
	for name, story := range map[string]func(t *testing.T) (q billing.PaymentQuery, state billing.PaymentState, transaction string){
		"a stranger mined it": func(*testing.T) (billing.PaymentQuery, billing.PaymentState, string) {
			a := w.sign()
			q := w.query(a)
			q.Hint = "0x" + a.Nonce[2:] // no transaction at all
			return q, billing.PaymentMade, w.chain.Submit(a)
		},
		"the hint is another payment's": func(*testing.T) (billing.PaymentQuery, billing.PaymentState, string) {
			a := w.sign()
			q := w.query(a)
			q.Hint = w.chain.Submit(w.sign())
			return q, billing.PaymentMade, w.chain.Submit(a)
		},
		"expired unused": func(*testing.T) (billing.PaymentQuery, billing.PaymentState, string) {
			q := w.query(w.sign())
			w.chain.Pass(6 * time.Minute)
			return q, billing.PaymentDead, ""
		},
		"used just before it expired": func(*testing.T) (billing.PaymentQuery, billing.PaymentState, string) {
			a := w.sign()
			q := w.query(a)
			transaction := w.chain.Submit(a)
			w.chain.Pass(6 * time.Minute)
			return q, billing.PaymentMade, transaction
		},
		"sent too late": func(*testing.T) (billing.PaymentQuery, billing.PaymentState, string) {
			a := w.sign()
			q := w.query(a)
			w.chain.Pass(6 * time.Minute)
			w.chain.Submit(a) // fails on the chain
			return q, billing.PaymentDead, ""
		},
		"cancelled by the payer": func(*testing.T) (billing.PaymentQuery, billing.PaymentState, string) {
			a := w.sign()
			q := w.query(a)
			w.chain.Cancel(w.payer, a.Nonce)
			return q, billing.PaymentDead, ""
		},
		"the payer has no money": func(t *testing.T) (billing.PaymentQuery, billing.PaymentState, string) {
			a := chaintest.NewWallet(t).Authorize(w.chain, w.payTo, billing.PerUSD, w.in(5*time.Minute), "")
			q := w.query(a)
			w.chain.Submit(a) // fails on the chain, and could succeed later
			return q, billing.PaymentUnused, ""
		},
		"the nonce went to somebody else": func(t *testing.T) (billing.PaymentQuery, billing.PaymentState, string) {
			a := w.sign()
			q := w.query(a)
			w.chain.Submit(w.payer.Authorize(w.chain, chaintest.NewWallet(t).Address, a.Amount, a.ValidBefore, a.Nonce))
			return q, billing.PaymentDead, ""
		},
		"the nonce went to another amount": func(*testing.T) (billing.PaymentQuery, billing.PaymentState, string) {
			a := w.sign()
			q := w.query(a)
			w.chain.Submit(w.payer.Authorize(w.chain, w.payTo, a.Amount-1, a.ValidBefore, a.Nonce))
			return q, billing.PaymentDead, ""
		},
		"one transaction, two nonces, one payment": func(t *testing.T) (billing.PaymentQuery, billing.PaymentState, string) {
			// The first nonce goes elsewhere; the second one's transfer is just what the first one's should be.
			a, b := w.sign(), w.sign()
			q, other := w.query(a), w.query(b)
			elsewhere := w.payer.Authorize(w.chain, chaintest.NewWallet(t).Address, a.Amount, a.ValidBefore, a.Nonce)
			transaction := w.chain.SubmitTogether(elsewhere, b)
			w.chain.Mine(deep)
			wantsPayment(t, w.chains, other, billing.PaymentMade, transaction)
			return q, billing.PaymentDead, ""
		},
		"not deep enough": func(*testing.T) (billing.PaymentQuery, billing.PaymentState, string) {
			a := w.sign()
			q := w.query(a)
			w.chain.Mine(deep)
			w.chain.Submit(a)
			return q, billing.PaymentPending, ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			q, state, transaction := story(t)
			if state != billing.PaymentPending {
				w.chain.Mine(deep)
			}
			wantsPayment(t, w.chains, q, state, transaction)
		})
	}
}

func TestPaymentExpiresWithTheConfirmedBlockAndNotWithTheNewest(t *testing.T) {
	w := newEVMWorld(t, chaintest.Base)
	w.chain.Mine(deep)
	a := w.sign()
	q := w.query(a)
	w.chain.Pass(6 * time.Minute)
	for range deep - 1 {
		w.wants(q, billing.PaymentUnused, "") // a reorganisation could still take the late block away
		w.chain.Mine(1)
	}
	w.wants(q, billing.PaymentDead, "")
}

func TestReorganisationTakesAPaymentBack(t *testing.T) {
	w := newEVMWorld(t, chaintest.Base)
	w.chain.Mine(deep)
	a := w.sign()
	q := w.query(a)
	w.chain.Submit(a)
	w.wants(q, billing.PaymentPending, "")

	w.chain.Forget(1)
	w.wants(q, billing.PaymentUnused, "")

	transaction := w.chain.Submit(a)
	w.chain.Mine(deep)
	w.wants(q, billing.PaymentMade, transaction)
}

func TestPaymentIsFoundWhereNodesAllowFewBlocksOnly(t *testing.T) {
	w := newEVMWorld(t, chaintest.Base)
	a := w.sign()
	q := w.query(a)
	w.chain.Pass(3 * time.Minute)
	w.chain.Mine(60)
	transaction := w.chain.Submit(a)
	w.chain.Mine(30)
	w.chain.Break(longRangesRefused(12))
	w.wants(q, billing.PaymentMade, transaction)
	if w.chain.Called("eth_getLogs") < 5 {
		t.Errorf("%d searches: the limit was not felt", w.chain.Called("eth_getLogs"))
	}

	w.chain.Break(chaintest.Result(`[]`).On("eth_getLogs")) // a node without an index
	w.wants(q, billing.PaymentPending, "")
}

// A chain of ten million blocks, in which the search has to begin near the payment.
func TestSearchForAPaymentBeginsSoonBeforeIt(t *testing.T) {
	w := newEVMWorld(t, chaintest.Base)
	const head, secondsABlock = 10_000_000, 2
	var from, to []uint64
	w.chain.Break(func(rw http.ResponseWriter, r *http.Request, c chaintest.Call) bool {
		switch c.Method {
		case "eth_getBlockByNumber":
			n := uint64(head)
			if tag := text(c.Params[0]); tag != "latest" {
				n = number(tag)
			}
			return chaintest.Result(fmt.Sprintf(`{"number":"0x%x","timestamp":"0x%x","hash":"0x%064x"}`, n, n*secondsABlock, n))(rw, r, c)
		case "eth_call":
			return chaintest.Result(fmt.Sprintf(`"0x%064x"`, 1))(rw, r, c)
		case "eth_getLogs":
			var filter struct{ FromBlock, ToBlock string }
			if err := json.Unmarshal(c.Params[0], &filter); err != nil {
				panic(err)
			}
			from, to = append(from, number(filter.FromBlock)), append(to, number(filter.ToBlock))
			return chaintest.Result(`[]`)(rw, r, c)
		}
		return false
	})
	q := w.query(w.sign())
	for _, blocksAgo := range []uint64{1, 10, 1_000, 50_000, 700_000} {
		from, to = nil, nil
		before := w.chain.Called("eth_getBlockByNumber")
		q.Since = time.Unix((head-int64(blocksAgo))*secondsABlock, 0)
		w.wants(q, billing.PaymentPending, "")
		const margin, atMost = 150, 2_400 // five minutes must be searched, one window more may be
		first := head - blocksAgo - margin
		if from[0] > first || from[0] < first-atMost {
			t.Errorf("%d blocks ago: searched from %d, want shortly before %d", blocksAgo, from[0], first)
		}
		for i := range from {
			if i > 0 && from[i] != to[i-1]+1 {
				t.Fatalf("searched %d to %d, and then from %d", from[i-1], to[i-1], from[i])
			}
		}
		if last := to[len(to)-1]; last != head-deep+1 {
			t.Errorf("%d blocks ago: searched until %d only", blocksAgo, last)
		}
		if n := w.chain.Called("eth_getBlockByNumber") - before; n > 25 {
			t.Errorf("%d blocks ago: %d blocks were read to find the first", blocksAgo, n)
		}
	}
}

func text(raw json.RawMessage) (s string) {
	if err := json.Unmarshal(raw, &s); err != nil {
		panic(err)
	}
	return s
}
