package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// entry is one log line that a contract wrote.
type entry struct {
	Address     string    `json:"address"`
	Topics      []string  `json:"topics"`
	Data        string    `json:"data"`
	Transaction string    `json:"transactionHash"`
	Block       *quantity `json:"blockNumber"`
	Index       *quantity `json:"logIndex"`
	Removed     bool      `json:"removed"`
}

// is tells whether the token wrote it, and as which event.
func (l entry) is(token, event string) bool {
	return !l.Removed && strings.EqualFold(l.Address, token) && len(l.Topics) > 0 && l.Topics[0] == event
}

// transfer takes a Transfer apart.
func (l entry) transfer(token string) (from, to string, amount *big.Int, ok bool) {
	const topics = 3
	if !l.is(token, eventTransfer) || len(l.Topics) != topics || !wordForm.MatchString(l.Data) {
		return "", "", nil, false
	}
	amount, ok = new(big.Int).SetString(l.Data[2:], 16)
	return addressIn(l.Topics[1]), addressIn(l.Topics[2]), amount, ok
}

// receipt is what a transaction did.
type receipt struct {
	Transaction string    `json:"transactionHash"`
	Status      *quantity `json:"status"`
	Block       *quantity `json:"blockNumber"`
	BlockHash   string    `json:"blockHash"`
	Logs        []entry   `json:"logs"`
}

// receipt is nil while the transaction is not in any block that the node knows.
func (e *evm) receipt(ctx context.Context, transaction string) (*receipt, error) {
	var r receipt
	found, err := e.node.ask(ctx, &r, "eth_getTransactionReceipt", transaction)
	if err != nil || !found || (r.Block == nil && r.BlockHash == "") {
		return nil, err
	}
	if r.Transaction != transaction || r.Status == nil || r.Block == nil {
		return nil, fmt.Errorf("receipt: %w", errNonsense)
	}
	return &r, nil
}

const (
	// windowLargest is how many blocks one search for logs covers at first, and windowSmallest what it shrinks to at
	// nodes that refuse; windowsAtMost bounds one search.
	windowLargest  = 2000
	windowSmallest = 10
	windowShrink   = 5
	windowsAtMost  = 400
	// clockMargin is how far the clocks of chains and ours may differ.
	clockMargin = 5 * time.Minute
)

// findAuthorization looks for the log of a used or cancelled nonce, from the blocks of since up to a block. It is nil
// when those that could be searched have none.
func (e *evm) findAuthorization(ctx context.Context, payer, nonce string, since time.Time, last block) (*entry, error) {
	first, err := e.firstBlock(ctx, since.Add(-clockMargin), last)
	if err != nil {
		return nil, err
	}
	topics := []any{[]string{eventAuthorizationUsed, eventAuthorizationCanceled}, wordOf(payer), nonce}
	size := quantity(windowLargest)
	for searched := 0; first <= *last.Number && searched < windowsAtMost; searched++ {
		to := min(first+size-1, *last.Number)
		var logs []entry
		err := e.node.need(ctx, &logs, "eth_getLogs", map[string]any{
			"address": e.network.Asset, "topics": topics, "fromBlock": first.String(), "toBlock": to.String(),
		})
		var refused *refusal
		switch {
		case errors.As(err, &refused) && size > windowSmallest:
			size = max(size/windowShrink, windowSmallest) // most nodes limit the range, each in its own words
			continue
		case err != nil:
			return nil, err
		}
		for _, l := range logs {
			if isAuthorization(l, e.network.Asset, payer, nonce) && l.Block != nil && *l.Block <= *last.Number {
				return &l, nil
			}
		}
		first = to + 1
	}
	return nil, nil
}

// isAuthorization tells whether a log is of this nonce of this payer, used or cancelled.
func isAuthorization(l entry, token, payer, nonce string) bool {
	const topics = 3
	return (l.is(token, eventAuthorizationUsed) || l.is(token, eventAuthorizationCanceled)) &&
		len(l.Topics) == topics && l.Topics[1] == wordOf(payer) && l.Topics[2] == nonce
}

// firstBlock finds a block that is older than an instant, and not much: in growing strides backwards, then by halves.
func (e *evm) firstBlock(ctx context.Context, at time.Time, last block) (quantity, error) {
	const firstStride, growth = quantity(256), quantity(4)
	younger, older := *last.Number, quantity(0)
	for stride := firstStride; stride < younger; stride *= growth {
		b, err := e.block(ctx, (younger - stride).String())
		if err != nil {
			return 0, err
		}
		if b.time().Before(at) {
			older = *b.Number
			break
		}
		younger = *b.Number
	}
	for younger > older+windowLargest {
		middle := older + (younger-older)/2
		b, err := e.block(ctx, middle.String())
		if err != nil {
			return 0, err
		}
		if b.time().Before(at) {
			older = middle
		} else {
			younger = middle
		}
	}
	return older, nil
}
