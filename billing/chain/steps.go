package chain

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"aanet/billing"
	"aanet/billing/x402"
)

// findingOf sums the steps up: one that is open outweighs those that are wrong, as the chain may still show something else.
func findingOf(steps []billing.PayoutStep) billing.PayoutFinding {
	for _, s := range steps {
		if s.State == billing.StepOpen {
			return billing.PayoutFinding{State: billing.PayoutPending, Reason: s.Detail, Steps: steps}
		}
	}
	var wrong []string
	for _, s := range steps {
		if s.State == billing.StepWrong {
			wrong = append(wrong, s.Detail)
		}
	}
	if len(wrong) > 0 {
		return billing.PayoutFinding{State: billing.PayoutWrong, Reason: strings.Join(wrong, "; "), Steps: steps}
	}
	return billing.PayoutFinding{State: billing.PayoutMade, Steps: steps}
}

func step(name string, ok bool, format string, args ...any) billing.PayoutStep {
	s := billing.PayoutStep{Name: name, State: billing.StepWrong, Detail: fmt.Sprintf(format, args...)}
	if ok {
		s.State = billing.StepOK
	}
	return s
}

func open(name, format string, args ...any) billing.PayoutStep {
	return billing.PayoutStep{Name: name, State: billing.StepOpen, Detail: fmt.Sprintf(format, args...)}
}

// movement is what one confirmed transaction did to balances of USDC, by wallet.
type movement struct {
	failed bool
	at     time.Time
	// received is what the refund's wallet has more by it, in 10^-6 USDC; senders are those who have less.
	received *big.Int
	senders  []string
}

// compare gives the steps that a confirmed transaction of either family must pass.
func (m movement) compare(q billing.PayoutQuery, same func(a, b string) bool) []billing.PayoutStep {
	if m.failed {
		return []billing.PayoutStep{step("outcome", false, "the transaction failed on the chain and moved nothing")}
	}
	// A block has whole seconds; a refund requested within one may be paid in it.
	inTime := !m.at.Before(q.After.Truncate(time.Second))
	foreign := slices.DeleteFunc(slices.Clone(m.senders), func(sender string) bool {
		return slices.ContainsFunc(q.From, func(allowed string) bool { return same(allowed, sender) })
	})
	senderOK := len(m.senders) > 0 && (len(q.From) == 0 || len(foreign) == 0)
	sender := "paid by " + strings.Join(m.senders, ", ")
	switch {
	case len(m.senders) == 0:
		sender = "no wallet paid USDC"
	case !senderOK:
		sender = "paid by " + strings.Join(foreign, ", ") + ", which is not a payout wallet"
	}
	return []billing.PayoutStep{
		step("outcome", true, "the transaction succeeded"),
		step("time", inTime, "it is of %s, the refund was requested at %s", m.at.UTC().Format(time.RFC3339), q.After.UTC().Format(time.RFC3339)),
		step("amount", m.received.String() == x402.Atomic(q.Amount), "%s received %s of the token's smallest units (10^-6 USDC), and must receive %s", q.To, m.received, x402.Atomic(q.Amount)),
		step("sender", senderOK, "%s", sender),
	}
}
