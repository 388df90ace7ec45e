package chain

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"aanet/billing"
	"aanet/billing/x402"
)

const (
	// blockhashLife is longer than any blockhash is valid (150 slots, at most two minutes or so).
	blockhashLife = 5 * time.Minute
	// signaturesPage is the most that a node lists at once; historyPages bounds one search.
	signaturesPage = 1000
	historyPages   = 50
	// codeUnsupportedVersion is how nodes refuse to show a transaction of a version that we did not ask for.
	codeUnsupportedVersion = -32015
)

// payment first asks whether the blockhash still lives and then searches the history, so that a transaction that lands
// in between is seen.
func (s *solana) payment(ctx context.Context, q billing.PaymentQuery) (billing.PaymentFinding, error) {
	message, err := messageOf(q)
	if err != nil {
		return billing.PaymentFinding{}, err
	}
	account, err := x402.TokenAccount(q.PayTo)
	if err != nil {
		return billing.PaymentFinding{}, err
	}
	if err := s.identify(ctx); err != nil {
		return billing.PaymentFinding{}, err
	}
	life, err := s.blockhash(ctx, message, q.Since)
	if err != nil {
		return billing.PaymentFinding{}, err
	}
	found, err := s.find(ctx, q, account, life.slot)
	switch {
	case err != nil:
		return billing.PaymentFinding{}, err
	case found != "":
		return s.judge(ctx, q, found)
	case !life.over:
		return billing.PaymentFinding{State: billing.PaymentUnused, Reason: life.reason}, nil
	}
	if err := s.reachesBack(ctx, q.Since.Add(-clockMargin)); err != nil {
		return billing.PaymentFinding{}, err
	}
	return billing.PaymentFinding{State: billing.PaymentDead, Reason: life.reason}, nil
}

// messageOf reads the payer's transaction, which must be the one that the deposit was made for.
func messageOf(q billing.PaymentQuery) (x402.SolanaMessage, error) {
	var payload struct {
		Payload struct {
			Transaction string `json:"transaction"`
		} `json:"payload"`
	}
	if err := json.Unmarshal(q.Payload, &payload); err != nil {
		return x402.SolanaMessage{}, errors.New("the payload is not an x402 payment")
	}
	raw, err := base64.StdEncoding.DecodeString(payload.Payload.Transaction)
	if err != nil {
		return x402.SolanaMessage{}, errors.New("the payload's transaction is not base64")
	}
	message, err := x402.ReadSolanaMessage(raw)
	if err == nil && message.Hash != q.Nonce {
		err = errors.New("the payload's transaction has another message hash")
	}
	return message, err
}

// life is what is known of a blockhash as of a finalized slot.
type life struct {
	slot   uint64
	over   bool
	reason string
}

// blockhash tells whether the message can still get into the chain. A blockhash that is too young to be finalized is
// not valid at that commitment either, so it counts as over only once the finalized chain is well past the time at
// which the payment was made.
func (s *solana) blockhash(ctx context.Context, message x402.SolanaMessage, since time.Time) (life, error) {
	var answer struct {
		Context struct {
			Slot uint64 `json:"slot"`
		} `json:"context"`
		Value *bool `json:"value"`
	}
	if err := s.node.need(ctx, &answer, "isBlockhashValid", message.Blockhash, options{"commitment": finalized}); err != nil {
		return life{}, err
	}
	l := life{slot: answer.Context.Slot, reason: "no transaction with this message, and it can still come"}
	switch {
	case answer.Value == nil:
		return life{}, fmt.Errorf("isBlockhashValid: %w", errNonsense)
	case *answer.Value:
		return l, nil
	case message.Durable:
		l.reason = "no transaction with this message; it has a durable nonce and does not expire by itself"
		return l, nil
	}
	at, err := s.slotTime(ctx, l.slot)
	if err != nil {
		return life{}, err
	}
	if l.over = !at.Before(since.Add(blockhashLife)); l.over {
		l.reason = fmt.Sprintf("its blockhash is no longer valid at finalized slot %d, and no transaction has this message", l.slot)
	}
	return l, nil
}

func (s *solana) slotTime(ctx context.Context, slot uint64) (time.Time, error) {
	var seconds int64
	if err := s.node.need(ctx, &seconds, "getBlockTime", slot); err != nil {
		return time.Time{}, err
	}
	if seconds <= 0 {
		return time.Time{}, fmt.Errorf("getBlockTime: %w", errNonsense)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// reachesBack makes sure that the node still has the history in which a payment would stand: what it has thrown away
// looks like what never was.
func (s *solana) reachesBack(ctx context.Context, to time.Time) error {
	var first uint64
	if err := s.node.need(ctx, &first, "getFirstAvailableBlock"); err != nil {
		return err
	}
	if first == 0 {
		return nil
	}
	at, err := s.slotTime(ctx, first)
	if err == nil && at.After(to) {
		err = fmt.Errorf("the node's history begins at %s only", at.Format(time.RFC3339))
	}
	return err
}

type signature struct {
	Signature string `json:"signature"`
	BlockTime *int64 `json:"blockTime"`
}

// find searches the history of the receiving account for a transaction with the message; empty means that there is
// none. The node must know the chain up to a slot at least.
func (s *solana) find(ctx context.Context, q billing.PaymentQuery, account string, slot uint64) (string, error) {
	if q.Hint != "" {
		hash, err := s.hashOf(ctx, q.Hint)
		var refused *refusal
		switch {
		case err != nil && !errors.As(err, &refused) && !errors.Is(err, errNotShown): // a hint may be nonsense
			return "", err
		case err == nil && hash == q.Nonce:
			return q.Hint, nil
		}
	}
	candidates, err := s.history(ctx, account, q.Since.Add(-clockMargin), slot)
	if err != nil {
		return "", err
	}
	for _, candidate := range slices.Backward(candidates) { // oldest first: the payment came soon after the row
		hash, err := s.hashOf(ctx, candidate)
		if err != nil {
			return "", err
		}
		if hash == q.Nonce {
			return candidate, nil
		}
	}
	return "", nil
}

// history lists the transactions of an account from the newest back to an instant.
func (s *solana) history(ctx context.Context, account string, since time.Time, slot uint64) (all []string, _ error) {
	before := ""
	for range historyPages {
		o := options{"commitment": confirmed, "limit": signaturesPage, "minContextSlot": slot}
		if before != "" {
			o["before"] = before
		}
		var page []signature
		if err := s.node.need(ctx, &page, "getSignaturesForAddress", account, o); err != nil {
			return nil, err
		}
		for _, entry := range page {
			if entry.BlockTime != nil && time.Unix(*entry.BlockTime, 0).Before(since) {
				return all, nil
			}
			all = append(all, entry.Signature)
		}
		if len(page) < signaturesPage {
			return all, nil
		}
		before = page[len(page)-1].Signature
	}
	return nil, errors.New("the receiving account has too many transactions since then to search them")
}

var errNotShown = errors.New("the node lists a transaction and does not show it")

// hashOf is empty for transactions that cannot be ours.
func (s *solana) hashOf(ctx context.Context, signature string) (string, error) {
	if hash, known := s.hashes.get(signature); known {
		return hash, nil
	}
	t, err := s.transaction(ctx, signature, confirmed)
	var refused *refusal
	switch {
	case errors.As(err, &refused) && refused.Code == codeUnsupportedVersion:
		s.hashes.put(signature, "")
		return "", nil
	case err != nil:
		return "", err
	case t == nil:
		return "", errNotShown
	}
	message, err := t.message()
	if err != nil {
		return "", err
	}
	s.hashes.put(signature, message.Hash)
	return message.Hash, nil
}

// judge looks at the transaction that has the message.
func (s *solana) judge(ctx context.Context, q billing.PaymentQuery, signature string) (billing.PaymentFinding, error) {
	t, err := s.transaction(ctx, signature, finalized)
	switch {
	case err != nil:
		return billing.PaymentFinding{}, err
	case t == nil:
		return pending("the transaction " + signature + " is not final yet"), nil
	}
	m, err := t.movement(s.network.Asset, q.PayTo)
	switch {
	case err != nil:
		return billing.PaymentFinding{}, err
	case m.failed:
		return billing.PaymentFinding{State: billing.PaymentDead, Reason: "the transaction " + signature + " failed on the chain"}, nil
	case m.received.String() != x402.Atomic(q.Amount) || !slices.Contains(m.senders, q.Payer):
		return pending(fmt.Sprintf("the transaction %s brought the receiver %s of the token's smallest units, paid by %v", signature, m.received, m.senders)), nil
	}
	return billing.PaymentFinding{State: billing.PaymentMade, Transaction: signature, Reason: "the transfer is final"}, nil
}
