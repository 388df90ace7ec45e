package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// TransactionUsedError says that a transaction was recorded for another deposit on its network.
type TransactionUsedError struct{ Deposit uuid.UUID }

func (e *TransactionUsedError) Error() string {
	return fmt.Sprintf("this transaction is that of deposit %s already", e.Deposit)
}

// ClaimTransaction records that a transaction, in its one spelling, is about to credit a deposit: over all workspaces it
// counts for one on its network (CAIP-2). A claim whose deposit is gone, failed, or was credited by another transaction
// is passed on. Again for the same deposit it changes nothing. A *TransactionUsedError: it belongs to another deposit.
func (s *Store) ClaimTransaction(ctx context.Context, network, transaction string, c Claim) error {
	var owner uuid.UUID
	err := s.pool.QueryRow(ctx, `
		insert into credit_claims as k (network, tx_hash, workspace_id, deposit_id, claimed_at)
		values ($1, $2, $3, $4, aanet_now())
		on conflict (network, tx_hash) do update
		   set workspace_id = excluded.workspace_id, deposit_id = excluded.deposit_id, claimed_at = excluded.claimed_at
		 where k.deposit_id = excluded.deposit_id or not exists (
		       select 1 from deposits d where d.workspace_id = k.workspace_id and d.deposit_id = k.deposit_id
		          and (d.state in ('received', 'settling', 'unknown') or d.state = 'credited' and d.tx_hash = k.tx_hash))
		returning deposit_id`, network, transaction, c.Workspace, c.Deposit).Scan(&owner)
	if !errors.Is(err, pgx.ErrNoRows) {
		return poolError(err)
	}
	err = s.pool.QueryRow(ctx, `select deposit_id from credit_claims where network = $1 and tx_hash = $2`, network, transaction).Scan(&owner)
	switch {
	case errors.Is(err, pgx.ErrNoRows): // freed in between
		return fmt.Errorf("%w: the transaction's claim has just gone", ErrUnavailable)
	case err != nil:
		return poolError(err)
	}
	return &TransactionUsedError{owner}
}

// CreditDeposit is the operator's word that a transaction paid a deposit that is unknown. It may have paid one deposit only,
// unless shared says that the chain shows it to have paid this one too. Errors: ErrNoDeposit, a *StateError, a
// *TransactionUsedError.
func (s *Store) CreditDeposit(ctx context.Context, act Act, d Deposit, transaction string, shared bool) error {
	err := s.ClaimTransaction(ctx, d.Network, transaction, Claim{d.Workspace, d.ID})
	if err != nil && !(shared && errors.As(err, new(*TransactionUsedError))) {
		return err
	}
	err = s.decideDeposit(ctx, act, d, DepositCredited, transaction)
	var state *StateError
	if errors.As(err, &state) && (state.State != DepositCredited || state.Transaction == nil || *state.Transaction != transaction) {
		_, freed := s.pool.Exec(ctx, `delete from credit_claims where network = $1 and tx_hash = $2 and deposit_id = $3`, d.Network, transaction, d.ID)
		return errors.Join(err, poolError(freed))
	}
	return err
}
