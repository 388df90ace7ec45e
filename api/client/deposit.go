package client

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Offer is how an amount can be paid: an x402 PaymentRequired. Raw is what a wallet signs from.
type Offer struct {
	Raw         json.RawMessage `json:"-"`
	X402Version int             `json:"x402Version"`
	Accepts     []OfferTerms    `json:"accepts"`
}

// OfferTerms is one way to pay.
type OfferTerms struct {
	Scheme            string `json:"scheme"`
	Network           string `json:"network"` // CAIP-2, such as eip155:8453
	Amount            string `json:"amount"`  // in the token's smallest unit
	Asset             string `json:"asset"`   // the token's address
	PayTo             string `json:"payTo"`
	MaxTimeoutSeconds int64  `json:"maxTimeoutSeconds"`
}

// OfferError is what Deposit answers without a payment: no refusal, the terms.
type OfferError struct{ Offer Offer }

// Error says how to go on.
func (*OfferError) Error() string { return "client: the service offers terms; sign one and send it" }

// DepositOffer asks how an amount can be paid ("0.25" to "100000" dollars). Nothing is written and nothing is owed.
func (c *Client) DepositOffer(ctx context.Context, amountUSD string, options ...CallOption) (Offer, error) {
	_, err := c.Deposit(ctx, DepositIn{AmountUSD: amountUSD}, options...)
	var offered *OfferError
	if errors.As(err, &offered) {
		return offered.Offer, nil
	}
	if err == nil {
		err = errors.New("client: a deposit without a payment was accepted")
	}
	return Offer{}, err
}

// SettleDeposit pays: it sends a signed payment, and sends the SAME one again for as long as its outcome is open or nobody
// answers, until ctx ends. Keep the signature until this has given an answer: signing anew could pay twice, sending the same
// one again never does, also from another program and after days. PAYMENT_ALREADY_USED with Text("tx_hash") means that this
// payment is in this workspace already. onOpen, if not nil, is told of every answer that leaves it open.
func (c *Client) SettleDeposit(ctx context.Context, amountUSD, signature string, onOpen func(error)) (DepositOut, error) {
	// From the signature, so that the same payment has the same key wherever it is sent from.
	hash := sha256.Sum256([]byte(signature))
	key := WithIdempotencyKey("x402-" + hex.EncodeToString(hash[:16]))
	for attempt := 1; ; attempt++ {
		out, err := c.Deposit(ctx, DepositIn{AmountUSD: amountUSD, PaymentSignature: &signature}, key)
		if err == nil || !Temporary(err) || ctx.Err() != nil {
			return out, err
		}
		if onOpen != nil {
			onOpen(err)
		}
		if !wait(ctx, max(pauseBefore(min(attempt, 6), err), settlePause)) {
			return out, err
		}
	}
}

const settlePause = time.Second // at least, between two rounds of the same payment

// offerOf reads an offer; nil when the answer is none.
func offerOf(resp *http.Response, answer []byte) *OfferError {
	header := resp.Header.Get("PAYMENT-REQUIRED")
	if resp.StatusCode != http.StatusPaymentRequired || header == "" {
		return nil
	}
	if raw, err := base64.StdEncoding.DecodeString(header); err == nil {
		answer = raw
	}
	offer := Offer{Raw: answer}
	if json.Unmarshal(answer, &offer) != nil {
		return nil
	}
	return &OfferError{offer}
}

// String shows one way to pay.
func (t OfferTerms) String() string {
	return fmt.Sprintf("%s of %s on %s to %s within %d s (%s)", t.Amount, t.Asset, t.Network, t.PayTo, t.MaxTimeoutSeconds, t.Scheme)
}
