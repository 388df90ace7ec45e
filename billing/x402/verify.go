package x402

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	sdk "github.com/x402-foundation/x402/go"
)

// Verified is a facilitator's word that a payment can be settled.
type Verified struct {
	// Facilitator is who said so; Settle is to be asked of the same.
	Facilitator string
}

// Verify asks the network's facilitators in order until one gives a verdict. One that cannot be reached, hangs, or
// answers anything but a verdict is passed over. The error is an *InvalidError, or wraps ErrFacilitator with each
// facilitator's fault when none answered. Verifying moves no money and may be repeated.
func (g *Gateway) Verify(ctx context.Context, p Payment) (Verified, error) {
	var faults []error
	var doubt *InvalidError
	for _, f := range g.candidates(p.Network, p.FeePayer) {
		v := f.verify(ctx, p, g.verifyTimeout)
		switch {
		case v.valid:
			return Verified{f.name}, nil
		case v.final:
			return Verified{}, v.refusal
		case v.refusal != nil && doubt == nil:
			doubt = v.refusal
		}
		if v.fault != "" {
			faults = append(faults, fmt.Errorf("%s: %s", f.name, v.fault))
			f.wakeUp()
		}
		if ctx.Err() != nil {
			break
		}
	}
	if doubt != nil {
		return Verified{}, doubt
	}
	return Verified{}, errors.Join(append([]error{ErrFacilitator}, faults...)...)
}

// verdict is what came of one verification.
type verdict struct {
	valid   bool
	refusal *InvalidError
	// final is false for a refusal with HTTP 4xx: facilitators have called well-formed payments malformed that way, so
	// the next one is asked first.
	final bool
	fault string
}

func (f *facilitator) verify(ctx context.Context, p Payment, limit time.Duration) (v verdict) {
	f.call(ctx, EndpointVerify, limit, func(ctx context.Context, n *note) (string, string) {
		answer, err := f.client.Verify(ctx, p.Payload, p.Requirements)
		var refused *sdk.VerifyError
		status := int(n.status.Load())
		switch {
		case err == nil && answer.IsValid:
			v.valid = true
			return "ok", ""
		case err == nil:
			v.refusal, v.final = f.refusal(answer.InvalidReason, answer.InvalidMessage), true
			return "invalid", ""
		case errors.As(err, &refused) && isVerdictStatus(status):
			v.refusal = f.refusal(refused.InvalidReason, refused.InvalidMessage)
			return "invalid", ""
		}
		v.fault = n.fault(err)
		return "fault", v.fault
	})
	return v
}

// isVerdictStatus tells which answers with a reason are about the payment, and not about us or the facilitator.
func isVerdictStatus(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500
}

func (f *facilitator) refusal(reason, message string) *InvalidError {
	if reason = f.clean(reason); reason == "" {
		reason = "refused_by_facilitator"
	}
	if message = f.clean(message); message != "" {
		message = "the facilitator says: " + message
	}
	return &InvalidError{reason, message}
}
