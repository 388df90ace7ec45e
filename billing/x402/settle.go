package x402

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/x402-foundation/x402/go"
)

// State is how a settlement ended, as far as the facilitator's answer tells.
type State int

const (
	// Unknown means that the request went out and no clean success came back: the money may have moved. Only the chain
	// can tell; a refusal is no evidence, since facilitators report transfers that went through as failed.
	Unknown State = iota
	// Settled means that the facilitator reports the transfer on the right network with its transaction.
	Settled
	// NotSent means that certainly nothing was sent: no connection was ever made.
	NotSent
)

// String names the state as logs and rows have it.
func (s State) String() string {
	switch s {
	case Settled:
		return "settled"
	case NotSent:
		return "not_sent"
	default:
		return "unknown"
	}
}

// Outcome is the end of one settlement.
type Outcome struct {
	State State
	// Facilitator is who was asked; empty when there was none to ask.
	Facilitator string
	// Transaction is the hash on the chain. With Unknown it may be there too: as a hint, not as evidence.
	Transaction string
	// Network and Payer are the payment's.
	Network, Payer string
	// Reason says why it is not Settled; for the operator, without secrets.
	Reason string
	// Doubt, only with Settled, is what the answer says of the payment besides and cannot be: where the chain can be asked,
	// it should be.
	Doubt string
	// Response is the JSON for PAYMENT-RESPONSE; only with Settled.
	Response []byte

	amount string // what was to be settled, as the facilitator was told
}

// Header gives Response as PAYMENT-RESPONSE has it; empty when there is none.
func (o Outcome) Header() string {
	if len(o.Response) == 0 {
		return ""
	}
	text, _ := EncodeHeader(json.RawMessage(o.Response)) // written by Settle: valid JSON
	return text
}

// Settle asks one facilitator, once, to move the money: the named one, or the network's first when that is gone. It never
// asks a second one and never asks again; whoever calls it has committed before that it does, so that nobody else does.
// ctx should outlive the depositor's request, who may hang up: its end makes the outcome Unknown. The facilitator's own
// timeout bounds the call.
func (g *Gateway) Settle(ctx context.Context, p Payment, facilitatorName string) Outcome {
	o := Outcome{State: NotSent, Network: p.Network, Payer: p.Payer, Reason: "no facilitator for this network", amount: Atomic(p.Amount)}
	f := g.settler(p, facilitatorName)
	if f == nil {
		return o
	}
	o.Facilitator = f.name
	f.call(ctx, EndpointSettle, f.timeout, func(ctx context.Context, n *note) (string, string) {
		answer, err := f.client.Settle(ctx, p.Payload, p.Requirements)
		o.classify(f, n, answer, err)
		if o.State == Settled {
			return "ok", ""
		}
		return o.State.String(), n.faultOf(err)
	})
	if o.State != Settled {
		f.wakeUp()
	}
	return o
}

// settler finds the facilitator by name even when it is no longer live: it is the one that knows the payment.
func (g *Gateway) settler(p Payment, name string) *facilitator {
	for _, f := range g.facilitators {
		if f.name == name {
			return f
		}
	}
	if others := g.candidates(p.Network, p.FeePayer); len(others) > 0 {
		return others[0]
	}
	return nil
}

func (o *Outcome) classify(f *facilitator, n *note, answer *sdk.SettleResponse, err error) {
	o.State = Unknown
	if err != nil {
		var refused *sdk.SettleError
		switch {
		case errors.As(err, &refused):
			o.Transaction = cleanTransaction(f.clean(refused.Transaction))
			o.Reason = fmt.Sprintf("%s: %s", n.fault(err), f.clean(refused.ErrorReason))
		case !n.connected.Load():
			o.State, o.Reason = NotSent, n.fault(err)
		default:
			o.Reason = n.fault(err)
		}
		return
	}
	o.Transaction = cleanTransaction(f.clean(answer.Transaction))
	switch {
	case !answer.Success:
		o.Reason = "reported as failed: " + f.clean(answer.ErrorReason)
	case o.Transaction == "":
		o.Reason = "reported as settled without a transaction"
	case string(answer.Network) != o.Network:
		o.Reason = "reported as settled on another network"
	case !o.hasHash():
		o.Reason = "reported as settled with something that is no transaction"
	case answer.Amount != "" && answer.Amount != o.amount:
		o.Reason = "reported as settled with another amount"
	default:
		o.succeed()
		if n, _ := NetworkOf(o.Network); answer.Payer != "" && !n.same(answer.Payer, o.Payer) {
			o.Doubt = "reported as settled for another payer"
		}
	}
}

// hasHash tells whether Transaction can be one of the network, and gives it its one spelling.
func (o *Outcome) hasHash() bool {
	n, known := NetworkOf(o.Network)
	if !known {
		return false
	}
	hash, err := n.CheckTransaction(o.Transaction)
	if err == nil {
		o.Transaction = hash
	}
	return err == nil
}

// SettledBefore is the outcome of a settlement that succeeded in the past.
func SettledBefore(network, payer, transaction string) Outcome {
	o := Outcome{Network: network, Payer: payer, Transaction: transaction}
	o.succeed()
	return o
}

// succeed writes the answer for the payer anew: what the facilitator added to it may be of any size.
func (o *Outcome) succeed() {
	o.State, o.Reason = Settled, ""
	o.Response, _ = json.Marshal(struct { // strings and a bool: cannot fail
		Success     bool   `json:"success"`
		Transaction string `json:"transaction"`
		Network     string `json:"network"`
		Payer       string `json:"payer"`
	}{true, o.Transaction, o.Network, o.Payer})
}

// cleanTransaction takes a hash as long as the longest there is, without blanks; anything else counts as none.
func cleanTransaction(hash string) string {
	const longest = 128
	for _, c := range hash {
		if c <= ' ' || len(hash) > longest {
			return ""
		}
	}
	return hash
}

// faultOf is fault, or empty when there was an answer.
func (n *note) faultOf(err error) string {
	if err == nil {
		return ""
	}
	return n.fault(err)
}
