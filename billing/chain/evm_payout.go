package chain

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"aanet/billing"
)

// payout reads a transaction's receipt once it is deep enough, and what its Transfers did to the refund's wallet.
func (e *evm) payout(ctx context.Context, q billing.PayoutQuery) ([]billing.PayoutStep, error) {
	transaction := strings.ToLower(strings.TrimSpace(q.Transaction))
	if !wordForm.MatchString(transaction) {
		return []billing.PayoutStep{step("transaction", false, "not the hash of a transaction: 0x and 64 hexadecimal digits")}, nil
	}
	if err := e.identify(ctx); err != nil {
		return nil, err
	}
	r, err := e.receipt(ctx, transaction)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return []billing.PayoutStep{open("transaction", "%s does not know the transaction yet", e.network.Name)}, nil
	}
	head, err := e.block(ctx, "latest")
	if err != nil {
		return nil, err
	}
	steps := []billing.PayoutStep{step("transaction", true, "it is in block %d", uint64(*r.Block))}
	confirmed := uint64(0)
	if *head.Number >= *r.Block {
		confirmed = uint64(*head.Number-*r.Block) + 1
	}
	if confirmed < e.confirmations {
		return append(steps, open("confirmations", "%d of %d confirmations", confirmed, e.confirmations)), nil
	}
	b, err := e.block(ctx, r.Block.String())
	if err != nil {
		return nil, err
	}
	if b.Hash != r.BlockHash {
		return nil, fmt.Errorf("receipt and block %d are of different branches: %w", uint64(*r.Block), errNonsense)
	}
	steps = append(steps, step("confirmations", true, "%d confirmations", confirmed))
	m := e.movement(r, q.To)
	m.at = b.time()
	return append(steps, m.compare(q, strings.EqualFold)...), nil
}

// movement sums up the transfers of the token that touch a wallet: what it passed on in the same transaction it did not
// get.
func (e *evm) movement(r *receipt, wallet string) movement {
	m := movement{failed: *r.Status != 1, received: new(big.Int)}
	for _, l := range r.Logs {
		from, to, amount, ok := l.transfer(e.network.Asset)
		if !ok {
			continue
		}
		if strings.EqualFold(from, wallet) {
			m.received.Sub(m.received, amount)
		}
		if strings.EqualFold(to, wallet) {
			m.received.Add(m.received, amount)
			if !slices.Contains(m.senders, from) {
				m.senders = append(m.senders, from)
			}
		}
	}
	return m
}
