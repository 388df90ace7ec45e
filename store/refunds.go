package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// The states of a refund.
const (
	RefundPending  = "pending"
	RefundPaid     = "paid"
	RefundRejected = "rejected"
)

var (
	// ErrNoRefund: there is no such refund, or its workspace is gone.
	ErrNoRefund = errors.New("no such refund")
	// ErrPayoutUsed: the transaction is recorded as the payout of another refund.
	ErrPayoutUsed = errors.New("this transaction is the payout of another refund already")
)

// Refund is money that a workspace asked back. Units were taken from its balance; Units minus Fee is paid out.
type Refund struct {
	Workspace   uuid.UUID
	ID          uuid.UUID
	State       string
	Units, Fee  int64
	Stays       int64  // units that were not refundable and stayed behind
	Network     string // base or solana
	Destination string
	Transaction *string
	Checked     bool // the chain was asked whether the payout is right
	Reason      *string
	RequestedAt time.Time
	ResolvedAt  *time.Time
}

const refundColumns = `workspace_id, refund_id, state, units, fee, stays, network, destination, tx_hash, checked, reason, requested_at, resolved_at`

// Refunds lists the refunds of a workspace, newest first.
func (s *Store) Refunds(ctx context.Context, workspace uuid.UUID) ([]Refund, error) {
	return collect[Refund](ctx, s, `select `+refundColumns+` from refunds where workspace_id = $1 order by requested_at desc, refund_id desc`, workspace)
}

// PendingRefunds lists what waits for the operator, the oldest first, from behind the one given (the zero Refund: from
// the first).
func (s *Store) PendingRefunds(ctx context.Context, after Refund, limit int) ([]Refund, error) {
	return collect[Refund](ctx, s, `select `+refundColumns+` from refunds
		 where state = 'pending' and (requested_at, refund_id) > ($1, $2) order by requested_at, refund_id limit $3`, after.RequestedAt, after.ID, limit)
}

// FindRefund reads a refund of any workspace, for the operator.
func (s *Store) FindRefund(ctx context.Context, refund uuid.UUID) (Refund, error) {
	return collectOne[Refund](ctx, s, ErrNoRefund, `select `+refundColumns+` from refunds where refund_id = $1`, refund)
}

// PayRefund records the payout of a pending refund. network is the CAIP-2 name and transaction the hash in its one
// spelling: it can be the payout of one refund only, over all workspaces. Errors: ErrNoRefund, ErrPayoutUsed, a *StateError.
func (s *Store) PayRefund(ctx context.Context, act Act, r Refund, network, transaction string, checked bool) error {
	// A claim is passed on when the refund that it is for was rejected, or paid by another transaction: whoever made it
	// was cut off before he took it back.
	tag, err := s.pool.Exec(ctx, `insert into payout_claims as k (network, tx_hash, workspace_id, refund_id, claimed_at)
		values ($1, $2, $3, $4, aanet_now())
		on conflict (network, tx_hash) do update
		   set workspace_id = excluded.workspace_id, refund_id = excluded.refund_id, claimed_at = excluded.claimed_at
		 where k.refund_id = excluded.refund_id or not exists (
		       select 1 from refunds r where r.workspace_id = k.workspace_id and r.refund_id = k.refund_id
		          and (r.state = 'pending' or r.state = 'paid' and r.tx_hash = k.tx_hash))`, network, transaction, r.Workspace, r.ID)
	if err != nil {
		return poolError(err)
	}
	if tag.RowsAffected() == 0 {
		return ErrPayoutUsed
	}
	err = s.resolveRefund(ctx, act, r, RefundPaid, &transaction, checked)
	var state *StateError
	if errors.As(err, &state) && (state.Transaction == nil || *state.Transaction != transaction) {
		// It was rejected, or paid by another transaction, so this one is free for the refund that it paid.
		_, freed := s.pool.Exec(ctx, `delete from payout_claims where network = $1 and tx_hash = $2 and refund_id = $3`, network, transaction, r.ID)
		return errors.Join(err, poolError(freed))
	}
	return err
}

// RejectRefund ends a pending refund and gives its units back to the balance; the owner sees the reason. Errors:
// ErrNoRefund, a *StateError.
func (s *Store) RejectRefund(ctx context.Context, act Act, r Refund) error {
	return s.resolveRefund(ctx, act, r, RefundRejected, nil, false)
}

func (s *Store) resolveRefund(ctx context.Context, act Act, r Refund, to string, transaction *string, checked bool) error {
	result, err := s.act(ctx, "operator_refund", act, r.Workspace, r.ID, to, transaction, checked)
	if err != nil {
		return err
	}
	return moved(result, ErrNoRefund)
}

// PayoutOf tells which refund a transaction paid, or is about to; false: none.
func (s *Store) PayoutOf(ctx context.Context, network, transaction string) (refund uuid.UUID, found bool, err error) {
	err = s.pool.QueryRow(ctx, `select k.refund_id from payout_claims k join refunds r on r.workspace_id = k.workspace_id and r.refund_id = k.refund_id
		 where k.network = $1 and k.tx_hash = $2 and (r.state = 'pending' or r.state = 'paid' and r.tx_hash = k.tx_hash)`, network, transaction).Scan(&refund)
	if errors.Is(err, pgx.ErrNoRows) {
		return refund, false, nil
	}
	return refund, err == nil, poolError(err)
}
