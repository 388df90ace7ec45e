package chain

import (
	"context"
	"fmt"
	"strings"

	"aanet/billing"
	"aanet/billing/x402"
)

// payment decides by the state of the nonce as of a block that is deep enough to stay. Only what that block shows is
// called made or dead; the newest block merely tells apart what is on its way and what is not.
func (e *evm) payment(ctx context.Context, q billing.PaymentQuery) (billing.PaymentFinding, error) {
	nonce := strings.ToLower(q.Nonce)
	if !wordForm.MatchString(nonce) || !addressForm.MatchString(strings.ToLower(q.Payer)) || q.ValidBefore.IsZero() {
		return billing.PaymentFinding{}, fmt.Errorf("not an authorization: nonce %q of %q", q.Nonce, q.Payer)
	}
	if err := e.identify(ctx); err != nil {
		return billing.PaymentFinding{}, err
	}
	head, err := e.block(ctx, "latest")
	if err != nil {
		return billing.PaymentFinding{}, err
	}
	if uint64(*head.Number)+1 < e.confirmations {
		return pending("the chain is shorter than the confirmations that are asked for"), nil
	}
	deep, err := e.block(ctx, quantity(uint64(*head.Number)+1-e.confirmations).String())
	if err != nil {
		return billing.PaymentFinding{}, err
	}
	used, err := e.authorizationUsed(ctx, q.Payer, nonce, deep.Number.String())
	switch {
	case err != nil:
		return billing.PaymentFinding{}, err
	case used:
		return e.spent(ctx, q, nonce, deep)
	case !deep.time().Before(q.ValidBefore):
		// The token asks for a block time below validBefore, and every later block has a later time.
		return billing.PaymentFinding{State: billing.PaymentDead, Reason: fmt.Sprintf(
			"the authorization expired unused: block %d of %s is past it", *deep.Number, deep.time())}, nil
	}
	used, err = e.authorizationUsed(ctx, q.Payer, nonce, head.Number.String())
	switch {
	case err != nil:
		return billing.PaymentFinding{}, err
	case used:
		return pending(fmt.Sprintf("the authorization is used, with less than %d confirmations", e.confirmations)), nil
	}
	return billing.PaymentFinding{State: billing.PaymentUnused, Reason: fmt.Sprintf(
		"the authorization is unused as of block %d", *head.Number)}, nil
}

func pending(reason string) billing.PaymentFinding {
	return billing.PaymentFinding{State: billing.PaymentPending, Reason: reason}
}

// spent finds out what the used nonce was used for.
func (e *evm) spent(ctx context.Context, q billing.PaymentQuery, nonce string, deep block) (billing.PaymentFinding, error) {
	if hint := strings.ToLower(q.Hint); wordForm.MatchString(hint) {
		finding, found, err := e.usedBy(ctx, q, nonce, hint, deep)
		if err != nil || found {
			return finding, err
		}
	}
	found, err := e.findAuthorization(ctx, q.Payer, nonce, q.Since, deep)
	switch {
	case err != nil:
		return billing.PaymentFinding{}, err
	case found == nil:
		return pending("the authorization is used, but the node does not find by which transaction"), nil
	}
	finding, certain, err := e.usedBy(ctx, q, nonce, found.Transaction, deep)
	if err == nil && !certain {
		err = fmt.Errorf("receipt of %s: %w", found.Transaction, errNonsense)
	}
	return finding, err
}

// usedBy looks into one transaction for the use of the nonce; found tells whether it is there.
func (e *evm) usedBy(ctx context.Context, q billing.PaymentQuery, nonce, transaction string, deep block) (_ billing.PaymentFinding, found bool, _ error) {
	r, err := e.receipt(ctx, transaction)
	if err != nil || r == nil || *r.Status != 1 || *r.Block > *deep.Number {
		return billing.PaymentFinding{}, false, err
	}
	for i, l := range r.Logs {
		switch {
		case !isAuthorization(l, e.network.Asset, q.Payer, nonce):
			continue
		case l.Topics[0] == eventAuthorizationCanceled:
			return billing.PaymentFinding{State: billing.PaymentDead, Reason: "the payer cancelled the authorization by " + transaction}, true, nil
		}
		// The transfer of an authorization is the very next log: one transaction may carry several of one payer, and
		// another one's transfer is no evidence for this.
		if i+1 < len(r.Logs) {
			return e.judgeTransfer(q, r.Logs[i+1], transaction), true, nil
		}
		return pending("the authorization is used by " + transaction + ", which shows no transfer"), true, nil
	}
	return billing.PaymentFinding{}, false, nil
}

func (e *evm) judgeTransfer(q billing.PaymentQuery, l entry, transaction string) billing.PaymentFinding {
	from, to, amount, ok := l.transfer(e.network.Asset)
	switch {
	case !ok || !strings.EqualFold(from, q.Payer):
		return pending("the authorization is used by " + transaction + ", which shows no transfer for it")
	case !strings.EqualFold(to, q.PayTo) || amount.String() != x402.Atomic(q.Amount):
		return billing.PaymentFinding{State: billing.PaymentDead, Reason: fmt.Sprintf(
			"the payer used the nonce for another transfer: %s to %s by %s", amount, to, transaction)}
	}
	return billing.PaymentFinding{State: billing.PaymentMade, Transaction: transaction, Reason: "the transfer is confirmed"}
}
