package api

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/x402-foundation/x402/go/types"

	"aanet/billing"
	"aanet/billing/deposits"
	"aanet/billing/x402"
	"aanet/store"
)

func depositOps() []*Op {
	return []*Op{
		op(Def{
			Name: "deposit", Log: "DEPOSIT", Method: "POST", Path: workspacePath + "/deposits", Who: Owner,
			Price: billing.PriceOf("deposit"), NotForTrials: true, OpenWorld: true,
			Offer:   "Without a payment: how the amount can be paid, an x402 PaymentRequired, also in the header PAYMENT-REQUIRED. Nothing was written.",
			Summary: "Add USDC to the balance by x402.",
			Doc: `Step 1: amount_usd alone ("0.25" to "100000", at most 5 decimals) answers an x402 v2 PaymentRequired (an offer; nothing is written). Step 2: the same ` +
				`amount_usd with payment_signature (base64 of the PaymentPayload; or _meta x402/payment) credits amount_usd × 100,000 units. Clients cap a payment at ` +
				`$1 by default: raise that. After PAYMENT_UNSETTLED or UNAVAILABLE send the SAME signature again, never a new one. Free; owner key. Refusals: ` +
				`OWNER_ONLY, TRIAL_NOT_ALLOWED, WORKSPACE_BLOCKED, PAYMENT_INVALID (reason), PAYMENT_ALREADY_USED, DEPOSIT_PENDING (too many are undecided), ` +
				`FACILITATOR_ERROR (nothing was sent), PAYMENT_UNSETTLED.`,
		}, deposit),
	}
}

// DepositIn is the input of deposit. The signature may also come as x402 has it: in a header, or in MCP's _meta.
type DepositIn struct {
	AmountUSD        string  `json:"amount_usd" check:"amount" doc:"Dollars as a decimal string, 0.25 to 100000, at most 5 decimals."`
	PaymentSignature *string `json:"payment_signature" header:"PAYMENT-SIGNATURE" meta:"x402/payment" doc:"The x402 payment payload in base64; without it the terms are answered."`
}

func amountFault(s string) string {
	if _, err := x402.ParseAmount(s); err != nil {
		return err.Error()
	}
	return ""
}

// DepositOut is the output of deposit: what was credited, unless it carries an offer.
type DepositOut struct {
	WorkspaceID    string        `json:"workspace_id"`
	DepositedUnits billing.Units `json:"deposited_units"`
	TxHash         string        `json:"tx_hash"`
	Network        string        `json:"network"`

	offer   *types.PaymentRequired
	receipt deposits.Receipt
}

// The names by which x402 carries its answers in MCP.
const metaPaymentResponse = "x402/payment-response"

// present shows an offer in place of the output, and what x402 wants beside either.
func (o DepositOut) present(a *Answer) {
	if o.offer == nil {
		a.Headers = map[string]string{x402.HeaderResponse: o.receipt.Header}
		a.Meta = map[string]any{metaPaymentResponse: json.RawMessage(o.receipt.Response)}
		return
	}
	header, err := x402.EncodeHeader(o.offer)
	if err != nil {
		refusal := Refuse(Internal)
		a.Out, a.Refusal, a.Status = nil, refusal, refusal.Status()
		return
	}
	a.Out, a.Offer, a.Status = o.offer, true, 402
	a.Headers = map[string]string{x402.HeaderRequired: header, "Cache-Control": "no-store"}
}

func deposit(ctx context.Context, c *Caller, in DepositIn) (DepositOut, error) {
	if _, err := c.inquire(ctx, nil); err != nil {
		return DepositOut{}, err
	}
	amount, err := x402.ParseAmount(in.AmountUSD)
	if err != nil {
		return DepositOut{}, err // the check of the field has read it
	}
	engine := c.svc.config.Deposits
	if engine == nil {
		return DepositOut{}, c.depositError(ctx, x402.ErrNoNetwork)
	}
	if in.PaymentSignature == nil {
		offer, err := engine.Offer(c.resource(), amount)
		if err != nil {
			return DepositOut{}, c.depositError(ctx, err)
		}
		return DepositOut{offer: &offer}, nil
	}
	begun, err := c.begin(ctx)
	if err != nil {
		return DepositOut{}, err
	}
	receipt, err := engine.Take(ctx, c.Workspace(), amount, *in.PaymentSignature)
	var used *deposits.UsedError
	if errors.As(err, &used) && used.Receipt != nil && begun != nil && used.CreditedAt.After(*begun) {
		c.replayed = true // it was credited by a call that this one repeats
		receipt, err = *used.Receipt, nil
	}
	if err != nil {
		return DepositOut{}, c.depositError(ctx, err)
	}
	c.end(ctx)
	_, _ = c.inquire(ctx, nil) // so that the answer tells the new balance; without it it tells the old one
	return DepositOut{
		WorkspaceID: c.Workspace().String(), DepositedUnits: receipt.Units, TxHash: receipt.Transaction, Network: receipt.Network, receipt: receipt,
	}, nil
}

// resource is what an offer says is paid for.
func (c *Caller) resource() types.ResourceInfo {
	return types.ResourceInfo{
		URL:         c.svc.config.PublicURL + "/v1/workspaces/" + c.Workspace().String() + "/deposits",
		Description: "Deposit into an AANet workspace", MimeType: "application/json",
	}
}

// paymentRetry is after how many seconds the same payment is worth sending again.
const paymentRetry = 5

// depositError makes the refusal of a deposit. Those that are the caller's doing are logged in the workspace.
func (c *Caller) depositError(ctx context.Context, err error) error {
	var invalid *x402.InvalidError
	var used *deposits.UsedError
	switch {
	case errors.As(err, &invalid):
		return c.refuse(ctx, refusef(PaymentInvalid, "%s", sentence(invalid.Error())).with("reason", invalid.Reason), nil)
	case errors.As(err, &used):
		refusal := Refuse(PaymentAlreadyUsed)
		if used.Transaction != "" {
			refusal.with("tx_hash", used.Transaction)
		}
		return c.refuse(ctx, refusal, nil)
	case errors.Is(err, deposits.ErrUnsettled):
		return Refuse(PaymentUnsettled)
	case errors.Is(err, x402.ErrFacilitator):
		c.svc.log.WarnContext(ctx, "no facilitator answered", "error", err.Error())
		return Refuse(FacilitatorError)
	case errors.Is(err, x402.ErrNoNetwork):
		return refusef(Unavailable, "No network can be offered for deposits at the moment. Nothing was sent.").with("retry_after", paymentRetry)
	case errors.Is(err, store.ErrNoWorkspace): // deleted since the caller was proved; nothing was sent
		if _, refused := c.inquire(ctx, nil); refused != nil {
			return refused
		}
	case errors.Is(err, deposits.ErrOpen):
		return c.refuse(ctx, refusef(DepositPending, "%d payments of this workspace are not decided yet, and no more are taken meanwhile. "+
			"Nothing was sent: send the same signature again when one is credited or failed.", c.svc.config.Deposits.OpenMax), nil)
	case errors.Is(err, deposits.ErrBusy):
		return refusef(Unavailable, "Too many payments are under way. Nothing was sent: the same signature may be sent again.")
	}
	return storeError(err)
}

// sentence begins with a capital and ends with a full stop; s is not empty.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }
