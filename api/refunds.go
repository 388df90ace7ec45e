package api

import (
	"context"
	"slices"
	"strings"

	"aanet/billing"
	"aanet/billing/x402"
)

const refundPath = workspacePath + "/refunds"

func refundOps() []*Op {
	return []*Op{
		op(Def{
			Name: "request_refund", Log: "REFUND", Method: "POST", Path: refundPath, Who: Owner,
			Price: billing.PriceOf("request_refund"), Status: 201, NotForTrials: true, Destructive: true,
			Summary: "Ask for the balance back in USDC.",
			Doc: `Reserves the whole balance and asks the operator to pay it in USDC on base or solana to a wallet of yours, less a fee (get_pricing). Units granted as ` +
				`not refundable stay (not_refundable_usd). The address is checked, but nobody can call a payment back: a wallet, not an exchange's contract. A rejected ` +
				`refund comes back. Free; owner key. Refusals: OWNER_ONLY, TRIAL_NOT_ALLOWED, WORKSPACE_BLOCKED, INVALID_ARGUMENT, NOTHING_TO_REFUND.`,
		}, requestRefund),
		op(Def{
			Name: "get_refund_status", Log: "REFUND_STATUS", Method: "GET", Path: refundPath, Who: Owner,
			Price: billing.PriceOf("get_refund_status"), WhileBlocked: true, ReadOnly: true, Idempotent: true,
			Summary: "Show refunds and what became of them.",
			Doc: `Every refund, newest first: pending, paid (with tx_hash) or rejected (credited back; reason says why), amounts in dollars, network and address. Free; ` +
				`owner key. Refusals: OWNER_ONLY.`,
		}, refundStatus),
	}
}

// RequestRefundIn is the input of request_refund.
type RequestRefundIn struct {
	Network     string `json:"network" check:"refund_network" doc:"base or solana."`
	Destination string `json:"destination_address" check:"word" doc:"Your wallet on that network: 0x and 40 hex digits (mixed case must be EIP-55), or a Solana public key."`
}

// fault refuses an address that is no wallet of the network.
func (in RequestRefundIn) fault() (*FieldFault, []string) {
	n, known := x402.ByShort(in.Network)
	if !known { // the check of the field says so
		return nil, nil
	}
	if err := n.CheckWallet(in.Destination); err != nil {
		return &FieldFault{"destination_address", err.Error()}, []string{"destination_address"}
	}
	return nil, nil
}

// RequestRefundOut is the output of request_refund. Money is in dollars.
type RequestRefundOut struct {
	RefundID         string `json:"refund_id"`
	Status           string `json:"status"`
	GrossUSD         string `json:"gross_usd"`
	FeeUSD           string `json:"fee_usd"`
	NetPayoutUSD     string `json:"net_payout_usd"`
	Network          string `json:"network"`
	Destination      string `json:"destination_address"`
	RequestedAt      Time   `json:"requested_at"`
	NotRefundableUSD string `json:"not_refundable_usd"`
}

func requestRefund(ctx context.Context, c *Caller, in RequestRefundIn) (RequestRefundOut, error) {
	fee, offered := c.svc.config.RefundFees[in.Network]
	if !offered {
		return RequestRefundOut{}, refusef(Unavailable, "Refunds on %s are not set up here.", in.Network)
	}
	if c.svc.isReceiver(in.Network, in.Destination) {
		refusal := Refuse(InvalidArgument)
		refusal.Errors = []FieldFault{{"destination_address", "is this service's own wallet; give one of yours"}}
		return RequestRefundOut{}, c.refuse(ctx, refusal, nil)
	}
	id := newID()
	out := RequestRefundOut{RefundID: id.String(), Status: "pending", Network: in.Network, Destination: in.Destination}
	var gross, stays billing.Units
	err := c.do(ctx, fn{
		name: "request_refund", args: []any{id, in.Network, in.Destination, int64(fee)},
		into: []any{&gross, &stays, &out.RequestedAt.Time}, once: true, made: []any{&out.RefundID, &fee},
	})
	out.GrossUSD, out.FeeUSD, out.NetPayoutUSD, out.NotRefundableUSD = gross.USD(), fee.USD(), (gross - fee).USD(), stays.USD()
	return out, err
}

// isReceiver tells whether an address takes deposits on the network, or on another one on which it is the same wallet.
func (s *Service) isReceiver(network, address string) bool {
	n, known := x402.ByShort(network)
	if !known || s.config.Deposits == nil {
		return false
	}
	return slices.ContainsFunc(x402.Networks(), func(other x402.Network) bool {
		payTo := s.config.Deposits.Gateway.PayTo(other.ID)
		return other.IsSolana() == n.IsSolana() && (address == payTo || !n.IsSolana() && strings.EqualFold(address, payTo))
	})
}

// RefundOut is a refund in a list. Money is in dollars.
type RefundOut struct {
	RefundID         string  `json:"refund_id"`
	Status           string  `json:"status"`
	GrossUSD         string  `json:"gross_usd"`
	FeeUSD           string  `json:"fee_usd"`
	NetPayoutUSD     string  `json:"net_payout_usd"`
	Network          string  `json:"network"`
	Destination      string  `json:"destination_address"`
	RequestedAt      Time    `json:"requested_at"`
	NotRefundableUSD string  `json:"not_refundable_usd"`
	TxHash           *string `json:"tx_hash"`
	ResolvedAt       *Time   `json:"resolved_at"`
	Reason           *string `json:"reason"`
}

func refundStatus(ctx context.Context, c *Caller, _ struct{}) (List[RefundOut], error) {
	if _, err := c.inquire(ctx, nil); err != nil {
		return List[RefundOut]{}, err
	}
	rows, err := c.svc.store.Refunds(ctx, c.Workspace())
	if err != nil {
		return List[RefundOut]{}, storeError(err)
	}
	out := make([]RefundOut, len(rows))
	for i, r := range rows {
		gross, fee := billing.Units(r.Units), billing.Units(r.Fee)
		out[i] = RefundOut{
			RefundID: r.ID.String(), Status: r.State, GrossUSD: gross.USD(), FeeUSD: fee.USD(), NetPayoutUSD: (gross - fee).USD(),
			Network: r.Network, Destination: r.Destination, RequestedAt: Time{r.RequestedAt}, NotRefundableUSD: billing.Units(r.Stays).USD(),
			TxHash: r.Transaction, ResolvedAt: timeOrNil(r.ResolvedAt), Reason: r.Reason,
		}
	}
	return listOf(out), nil
}
