package deposits

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"aanet/billing"
	"aanet/billing/x402"
	"aanet/store"
)

// Desk is the operator's side of deposits: those that nothing else can decide.
type Desk struct {
	Store *store.Store
	// Evidence asks the chains; nil when no RPC URL is configured.
	Evidence billing.Evidence
}

// Credit records the transaction that paid a deposit whose outcome is unknown, and adds its units to the balance. One
// that is recorded for another deposit is refused, unless the chain shows that it made this payment too. Errors:
// store.ErrNoDeposit, *store.StateError, *store.TransactionUsedError, *x402.TransactionError.
func (d Desk) Credit(ctx context.Context, act store.Act, id uuid.UUID, transaction string) (store.Deposit, error) {
	found, err := d.Store.FindDeposit(ctx, id)
	if err != nil {
		return found, err
	}
	n, known := x402.NetworkOf(found.Network)
	if !known {
		return found, fmt.Errorf("the network %q is not known", found.Network)
	}
	hash, err := n.CheckTransaction(transaction)
	if err != nil {
		return found, err
	}
	err = d.Store.CreditDeposit(ctx, act, found, hash, false)
	if errors.As(err, new(*store.TransactionUsedError)) && d.shows(ctx, found, hash) {
		err = d.Store.CreditDeposit(ctx, act, found, hash, true)
	}
	return found, err
}

// shows tells whether the chain can be asked, and shows that the transaction made the deposit's payment.
func (d Desk) shows(ctx context.Context, of store.Deposit, transaction string) bool {
	of.Transaction = transaction // where the chain looks first
	k, err := d.Look(ctx, of)
	return err == nil && k.Asked && k.Away == nil && k.Finding.State == billing.PaymentMade && k.Finding.Transaction == transaction
}

// Fail records that a deposit whose outcome is unknown can never be paid. Errors: store.ErrNoDeposit, *store.StateError.
func (d Desk) Fail(ctx context.Context, act store.Act, id uuid.UUID) (store.Deposit, error) {
	found, err := d.Store.FindDeposit(ctx, id)
	if err != nil {
		return found, err
	}
	return found, d.Store.FailDeposit(ctx, act, found)
}

// Known is what can be said about an open deposit, for the operator who has to decide.
type Known struct {
	Payment x402.Payment
	// PayTo is the wallet that it pays, as it was when it was made.
	PayTo string
	// Asked tells that the chain was asked; then Finding is its answer, or Away why there is none.
	Asked   bool
	Finding billing.PaymentFinding
	Away    error
}

// Look reads a deposit's payment, and asks its chain about it where that can be asked.
func (d Desk) Look(ctx context.Context, of store.Deposit) (Known, error) {
	p, q, err := queryOf(of)
	k := Known{Payment: p, PayTo: q.PayTo}
	if err != nil || d.Evidence == nil || !d.Evidence.Covers(of.Network) {
		return k, err
	}
	k.Asked = true
	k.Finding, k.Away = d.Evidence.Payment(ctx, q)
	return k, nil
}
