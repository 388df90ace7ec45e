package chaintest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	sdk "github.com/x402-foundation/x402/go"
	evmfacilitator "github.com/x402-foundation/x402/go/mechanisms/evm/exact/facilitator"
	svmfacilitator "github.com/x402-foundation/x402/go/mechanisms/svm/exact/facilitator"
)

// Facilitator is the SDK's, served over HTTP on loopback.
type Facilitator struct {
	// URL is its base address.
	URL string

	// Settles counts the requests to settle.
	Settles atomic.Int32
	// LoseAnswers breaks the connection after settling instead of answering.
	LoseAnswers atomic.Bool

	// BeforeSettle, if set before the first request, is called before each payment is settled.
	BeforeSettle func()
	// CutOff, if set before the first request, breaks the connection of a settlement when it is closed, as a timeout does:
	// what was sent by then stays sent.
	CutOff <-chan struct{}

	sdk *sdk.X402Facilitator
}

// StartFacilitator serves some EVM chains, and Solana unless it is nil, until the test ends.
func StartFacilitator(t testing.TB, solana *Solana, chains ...*Chain) *Facilitator {
	t.Helper()
	inner := sdk.Newx402Facilitator()
	for _, c := range chains {
		inner.Register([]sdk.Network{sdk.Network(c.Network.ID)}, evmfacilitator.NewExactEvmScheme(newRelay(c), nil))
	}
	if solana != nil {
		inner.Register([]sdk.Network{sdk.Network(solana.Network.ID)}, svmfacilitator.NewExactSvmScheme(newFeePayer(solana)))
	}
	f := &Facilitator{sdk: inner}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /supported", func(w http.ResponseWriter, _ *http.Request) { reply(w, inner.GetSupported()) })
	routes.HandleFunc("POST /verify", f.verify)
	routes.HandleFunc("POST /settle", f.settle)
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	f.URL = server.URL
	return f
}

type order struct {
	Payment      json.RawMessage `json:"paymentPayload"`
	Requirements json.RawMessage `json:"paymentRequirements"`
}

func readOrder(w http.ResponseWriter, r *http.Request) (o order, ok bool) {
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		http.Error(w, "not an order", http.StatusBadRequest)
		return o, false
	}
	return o, true
}

func (f *Facilitator) verify(w http.ResponseWriter, r *http.Request) {
	o, ok := readOrder(w, r)
	if !ok {
		return
	}
	answer, err := f.sdk.Verify(r.Context(), o.Payment, o.Requirements)
	var refused *sdk.VerifyError
	switch {
	case errors.As(err, &refused):
		answer = &sdk.VerifyResponse{InvalidReason: refused.InvalidReason, InvalidMessage: refused.InvalidMessage, Payer: refused.Payer}
	case err != nil:
		answer = &sdk.VerifyResponse{InvalidReason: "unexpected_error"}
	}
	reply(w, answer)
}

func (f *Facilitator) settle(w http.ResponseWriter, r *http.Request) {
	o, ok := readOrder(w, r)
	if !ok {
		return
	}
	f.Settles.Add(1)
	if f.BeforeSettle != nil {
		f.BeforeSettle()
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-f.CutOff:
			cancel()
		case <-ctx.Done():
		}
	}()
	answer, err := f.sdk.Settle(ctx, o.Payment, o.Requirements)
	var refused *sdk.SettleError
	switch {
	case errors.As(err, &refused):
		answer = &sdk.SettleResponse{
			ErrorReason: refused.ErrorReason, ErrorMessage: refused.ErrorMessage,
			Payer: refused.Payer, Transaction: refused.Transaction, Network: refused.Network,
		}
	case err != nil:
		answer = &sdk.SettleResponse{ErrorReason: "unexpected_error"}
	}
	if f.LoseAnswers.Load() || ctx.Err() != nil {
		panic(http.ErrAbortHandler)
	}
	reply(w, answer)
}

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // who asked may be gone
}
