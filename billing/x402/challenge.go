package x402

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/x402-foundation/x402/go/types"

	"aanet/billing"
)

const (
	protocolVersion = 2
	schemeExact     = "exact"
	// challengeSeconds is how long the payer's authorization should be valid; what he signs may be longer.
	challengeSeconds = 300
)

// The headers of x402 over HTTP; each holds JSON in base64.
const (
	HeaderRequired  = "PAYMENT-REQUIRED"
	HeaderSignature = "PAYMENT-SIGNATURE"
	HeaderResponse  = "PAYMENT-RESPONSE"
)

// Challenge says how an amount can be paid: one entry for each network that can be offered now, always in the same
// order. It is ErrNoNetwork when there is none.
func (g *Gateway) Challenge(resource types.ResourceInfo, amount billing.Units) (types.PaymentRequired, error) {
	required := types.PaymentRequired{X402Version: protocolVersion, Resource: &resource}
	for _, n := range networks {
		if terms, err := g.requirements(n, amount); err == nil {
			required.Accepts = append(required.Accepts, terms)
		}
	}
	if len(required.Accepts) == 0 {
		for _, f := range g.facilitators {
			f.wakeUp()
		}
		return types.PaymentRequired{}, ErrNoNetwork
	}
	return required, nil
}

// Requirements are the server's own terms for an amount on a network, as a challenge would offer them now. It is
// ErrNoNetwork when the network is not offered.
func (g *Gateway) Requirements(network string, amount billing.Units) (types.PaymentRequirements, error) {
	n, known := NetworkOf(network)
	if !known {
		return types.PaymentRequirements{}, fmt.Errorf("%s: %w", network, ErrNoNetwork)
	}
	return g.requirements(n, amount)
}

func (g *Gateway) requirements(n Network, amount billing.Units) (types.PaymentRequirements, error) {
	candidates := g.candidates(n.ID, "")
	if g.payTo[n.ID] == "" || len(candidates) == 0 {
		return types.PaymentRequirements{}, fmt.Errorf("%s: %w", n.Name, ErrNoNetwork)
	}
	k, _, _ := candidates[0].kindOf(n.ID)
	return g.terms(n, amount, k.feePayer), nil
}

// terms are the requirements whatever the facilitators say; feePayer is for Solana only.
func (g *Gateway) terms(n Network, amount billing.Units, feePayer string) types.PaymentRequirements {
	extra := map[string]any{"name": n.DomainName, "version": n.DomainVersion}
	if n.IsSolana() {
		extra = map[string]any{"feePayer": feePayer}
	}
	return types.PaymentRequirements{
		Scheme: schemeExact, Network: n.ID, Asset: n.Asset, Amount: Atomic(amount), PayTo: g.payTo[n.ID],
		MaxTimeoutSeconds: challengeSeconds, Extra: extra,
	}
}

// EncodeHeader gives a value as the headers of x402 have it: JSON in base64.
func EncodeHeader(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode an x402 header: %w", err)
	}
	return base64.StdEncoding.EncodeToString(text), nil
}
