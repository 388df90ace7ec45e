package x402

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/x402-foundation/x402/go/types"

	"aanet/billing"
)

// Payment is a proof that matches the server's own terms: what Verify and Settle are asked about. It holds nothing that
// could not be stored, so that a settlement can be taken up again after a restart.
type Payment struct {
	// Key, Network (CAIP-2) and Payer are those of the proof.
	Key, Network, Payer string
	// Amount is exactly what is paid.
	Amount billing.Units
	// Nonce is that of the authorization on EVM chains, as 0x and hex; on Solana the message's hash in base64.
	Nonce string
	// ValidBefore is when an EVM authorization dies; zero on Solana, where the blockhash decides.
	ValidBefore time.Time
	// FeePayer is the facilitator's account that pays the fee; Solana only.
	FeePayer string
	// Payload and Requirements are the JSON that a facilitator gets.
	Payload, Requirements []byte
}

// validityMargin is how long an authorization must still be valid: verifying and settling take a while.
const validityMargin = 10 * time.Second

// Match compares a proof with the server's own terms for the amount. The error is an *InvalidError, or ErrFacilitator
// when the network is configured but nothing is known of its facilitators (Solana).
func (g *Gateway) Match(p Proof, amount billing.Units) (Payment, error) {
	n := p.Network
	if g.payTo[n.ID] == "" {
		return Payment{}, invalid("network", "the payment is for a network that is not offered")
	}
	payment := Payment{Key: p.Key, Network: n.ID, Payer: p.Payer, Amount: amount}
	if p.solana != nil {
		payment.FeePayer = p.solana.feePayer.String()
	}
	terms := g.terms(n, amount, payment.FeePayer)
	if err := matchAccepted(n, p.accepted, terms); err != nil {
		return Payment{}, err
	}
	var err error
	if p.solana != nil {
		payment.Nonce = p.solana.hash
		err = g.matchSolana(n, p.solana, amount)
	} else {
		payment.Nonce, payment.ValidBefore = p.evm.Nonce, unixTime(p.evm.ValidBefore)
		err = matchEVM(n, p.evm, terms, g.now())
	}
	if err != nil {
		return Payment{}, err
	}
	if payment.Requirements, err = json.Marshal(terms); err != nil {
		return Payment{}, fmt.Errorf("encode the requirements: %w", err)
	}
	payment.Payload, err = json.Marshal(struct {
		Version  int                       `json:"x402Version"`
		Payload  any                       `json:"payload"`
		Accepted types.PaymentRequirements `json:"accepted"`
		Resource *types.ResourceInfo       `json:"resource,omitempty"`
	}{protocolVersion, p.payload, terms, p.resource})
	if err != nil {
		return Payment{}, fmt.Errorf("encode the payload: %w", err)
	}
	return payment, nil
}

// matchAccepted refuses a payer whose idea of the terms is another one, though his signature may fit.
func matchAccepted(n Network, a accepted, terms types.PaymentRequirements) error {
	switch {
	case !n.same(a.Asset, terms.Asset):
		return invalid("asset", "the payment is in another token")
	case a.Amount != terms.Amount:
		return invalid("amount", "the payment was made for another amount_usd")
	case !n.same(a.PayTo, terms.PayTo):
		return invalid("pay_to", "the payment is to another address")
	}
	return nil
}

func matchEVM(n Network, a *authorization, terms types.PaymentRequirements, now time.Time) error {
	switch {
	case !n.same(a.To, terms.PayTo):
		return invalid("pay_to", "the authorization is for another address")
	case a.Value != terms.Amount:
		return invalid("amount", "the authorization is for another amount")
	case n.same(a.From, terms.PayTo):
		return invalid("payer", "the payer is the receiver")
	case !unixTime(a.ValidBefore).After(now.Add(validityMargin)):
		return invalid("expired", "the authorization is expired, or too close to it")
	case unixTime(a.ValidAfter).After(now):
		return invalid("not_yet_valid", "the authorization is not valid yet")
	}
	return nil
}

func (g *Gateway) matchSolana(n Network, p *solanaPayment, amount billing.Units) error {
	const usdcDecimals = 6
	atomic := int64(amount) * atomicPerUnit
	receiver, err := TokenAccount(g.payTo[n.ID])
	switch {
	case err != nil:
		return fmt.Errorf("the receiver on %s: %w", n.Name, err)
	case p.mint.String() != n.Asset || p.decimals != usdcDecimals:
		return invalid("asset", "the transaction moves another token")
	case p.amount > math.MaxInt64 || int64(p.amount) != atomic:
		return invalid("amount", "the transaction moves another amount")
	case p.destination.String() != receiver:
		return invalid("pay_to", "the transaction pays another account")
	case p.source == p.destination || p.authority.String() == g.payTo[n.ID]:
		return invalid("payer", "the payer is the receiver")
	case p.authority == p.feePayer:
		return invalid("fee_payer", "the payer of the fee cannot be the payer of the deposit")
	}
	if len(g.candidates(n.ID, "")) == 0 {
		return fmt.Errorf("%s: %w", n.Name, ErrFacilitator)
	}
	if len(g.candidates(n.ID, p.feePayer.String())) == 0 {
		return invalid("fee_payer", "the fee payer is not the one that the challenge named")
	}
	return nil
}
