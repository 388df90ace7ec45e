package chain

import (
	"context"
	"errors"
	"strings"

	"aanet/billing"
)

// payout reads a final transaction and compares the balances of USDC before and after it, which holds for a token
// account that it created too.
func (s *solana) payout(ctx context.Context, q billing.PayoutQuery) ([]billing.PayoutStep, error) {
	signature := strings.TrimSpace(q.Transaction)
	if err := s.identify(ctx); err != nil {
		return nil, err
	}
	t, err := s.transaction(ctx, signature, finalized)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return s.notFinal(ctx, signature)
	}
	m, err := t.movement(s.network.Asset, q.To)
	if err != nil {
		return nil, err
	}
	steps := []billing.PayoutStep{
		step("transaction", true, "it is in slot %d", *t.Slot),
		step("confirmations", true, "it is final"),
	}
	return append(steps, m.compare(q, func(a, b string) bool { return a == b })...), nil
}

func (s *solana) notFinal(ctx context.Context, signature string) ([]billing.PayoutStep, error) {
	t, err := s.transaction(ctx, signature, confirmed)
	var refused *refusal
	switch {
	case err != nil && !errors.As(err, &refused):
		return nil, err
	case t == nil:
		return []billing.PayoutStep{open("transaction", "%s does not know the transaction yet", s.network.Name)}, nil
	}
	return []billing.PayoutStep{step("transaction", true, "it is in slot %d", *t.Slot), open("confirmations", "it is not final yet")}, nil
}
