package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// The states of a deposit. Which moves there are is said in functions/move_deposit.sql.
const (
	DepositReceived = "received" // claimed, not yet verified; nothing was sent
	DepositSettling = "settling" // a facilitator was asked to settle it, or is about to be
	DepositUnknown  = "unknown"  // it was asked, and only the chain or the operator can tell what came of it
	DepositCredited = "credited"
	DepositFailed   = "failed"  // it can never be paid
	DepositDropped  = "dropped" // no state of a row: nothing was sent, and the row is gone
)

// Who decided a deposit.
const (
	ByFacilitator = "facilitator"
	ByChain       = "chain"
	ByOperator    = "operator"
)

var (
	// ErrNoDeposit: there is no such deposit, or its workspace is gone.
	ErrNoDeposit = errors.New("no such deposit")
	// ErrDepositsOpen: too many deposits of the workspace are not decided yet.
	ErrDepositsOpen = errors.New("too many deposits of the workspace are not decided yet")
)

// StateError says that a deposit or a refund cannot go where it was told to go, as it has moved meanwhile.
type StateError struct {
	State       string  `json:"state"`   // the one it is in
	Attempt     int     `json:"attempt"` // of a deposit: settles sent so far
	Transaction *string `json:"tx_hash"` // of what is credited or paid
}

func (e *StateError) Error() string { return "its state is " + e.State }

// Deposit is one payment that a workspace sent.
type Deposit struct {
	Workspace   uuid.UUID
	ID          uuid.UUID
	State       string
	Units       int64
	Network     string // CAIP-2
	Key         string // of the payment, over all workspaces
	Payer       string
	Payment     []byte // JSON of x402.Payment
	Facilitator string // who was asked last; empty when nobody was
	Attempt     int    // settles sent so far
	Transaction string
	Reason      string
	ResolvedBy  string
	CreatedAt   time.Time
	SettlingAt  *time.Time // of the last settle
	ResolvedAt  *time.Time
	Age         time.Duration // since the last settle, or since it came, by the database's clock
}

const depositColumns = `workspace_id, deposit_id, state, units, network, coalesce(payment_key, ''), coalesce(payer, ''),
	coalesce(payment::text, '')::bytea, coalesce(facilitator, ''), attempt, coalesce(tx_hash, ''), coalesce(reason, ''),
	coalesce(resolved_by, ''), created_at, settling_at, resolved_at,
	aanet_now() - coalesce(settling_at, created_at)`

// Claim is who may bring a payment in.
type Claim struct {
	Workspace, Deposit uuid.UUID
}

// ClaimOf finds who has claimed a payment; false when nobody has.
func (s *Store) ClaimOf(ctx context.Context, key string) (c Claim, found bool, err error) {
	err = s.pool.QueryRow(ctx, `select workspace_id, deposit_id from payment_claims where payment_key = $1`, key).Scan(&c.Workspace, &c.Deposit)
	if errors.Is(err, pgx.ErrNoRows) {
		return Claim{}, false, nil
	}
	return c, err == nil, poolError(err)
}

// ClaimPayment claims a payment for a deposit, once over all workspaces and processes. False: somebody was first.
func (s *Store) ClaimPayment(ctx context.Context, key string, c Claim) (bool, error) {
	tag, err := s.pool.Exec(ctx, `insert into payment_claims (payment_key, workspace_id, deposit_id, claimed_at)
		values ($1, $2, $3, aanet_now()) on conflict (payment_key) do nothing`, key, c.Workspace, c.Deposit)
	return tag.RowsAffected() == 1, poolError(err)
}

// CommitClaim makes a claim final, so that its deposit may be settled. False: it is the caller's no longer.
func (s *Store) CommitClaim(ctx context.Context, key string, deposit uuid.UUID) (bool, error) {
	tag, err := s.pool.Exec(ctx, `update payment_claims set committed = true where payment_key = $1 and deposit_id = $2`, key, deposit)
	return tag.RowsAffected() == 1, poolError(err)
}

// FreeClaim gives a payment free again, so that it may come once more. Its deposit must not have a row, nor get one.
func (s *Store) FreeClaim(ctx context.Context, deposit uuid.UUID) error {
	_, err := s.pool.Exec(ctx, `delete from payment_claims where deposit_id = $1`, deposit)
	return poolError(err)
}

// FreeLooseClaims frees claims older than grace that were never made final and whose deposits have no row: whoever made
// them died in between. Should he only be slow, he finds the claim gone when he wants to make it final. freed counts.
func (s *Store) FreeLooseClaims(ctx context.Context, grace time.Duration) (freed int64, err error) {
	tag, err := s.pool.Exec(ctx, `
		delete from payment_claims c
		 where not committed and claimed_at < (select aanet_now()) - $1::interval
		   and not exists (select 1 from deposits d where d.workspace_id = c.workspace_id and d.deposit_id = c.deposit_id)`, grace)
	return tag.RowsAffected(), poolError(err)
}

// DropDeposit takes a deposit away for which certainly nothing was sent, and frees its payment. attempt is the number of
// settles that the caller knows of. ErrNoDeposit: it is gone already; *StateError: it has moved on, and stays.
func (s *Store) DropDeposit(ctx context.Context, workspace, deposit uuid.UUID, attempt int) error {
	// The claim is no longer final before the row goes, so that FreeLooseClaims can end what is cut off here.
	if _, err := s.pool.Exec(ctx, `update payment_claims set committed = false where deposit_id = $1`, deposit); err != nil {
		return poolError(err)
	}
	if err := s.MoveDeposit(ctx, workspace, deposit, Move{To: DepositDropped, Attempt: &attempt}); err != nil {
		return err
	}
	return s.FreeClaim(ctx, deposit)
}

// ReceiveDeposit writes a claimed payment down as received, unless the workspace has openMax others that are not decided.
// Errors: ErrNoWorkspace, ErrDepositsOpen.
func (s *Store) ReceiveDeposit(ctx context.Context, d Deposit, openMax int) error {
	result, err := s.Do(ctx, Call{
		Function: "receive_deposit", Workspace: d.Workspace,
		Args: []any{d.ID, d.Units, d.Network, d.Key, d.Payer, json.RawMessage(d.Payment), openMax},
	})
	switch {
	case err != nil || result.Code == "":
		return err
	case result.Code == codeNotFound:
		return ErrNoWorkspace
	}
	return ErrDepositsOpen
}

// Move is one move of a deposit; functions/move_deposit.sql says which there are.
type Move struct {
	To          string
	Attempt     *int   // the settle that it is about; nil: any
	Facilitator string // who is asked; with DepositSettling
	Transaction string
	By          string // with DepositCredited and DepositFailed
	Reason      string
}

// MoveDeposit moves a deposit on, once: ErrNoDeposit, or a *StateError when it has moved meanwhile.
func (s *Store) MoveDeposit(ctx context.Context, workspace, deposit uuid.UUID, m Move) error {
	result, err := s.Do(ctx, Call{
		Function: "move_deposit", Workspace: workspace,
		Args: []any{deposit, m.To, m.Attempt, orNull(m.Facilitator), orNull(m.Transaction), m.By, orNull(m.Reason)},
	})
	if err != nil {
		return err
	}
	return moved(result, ErrNoDeposit)
}

// FailDeposit is the operator's word that a deposit that is unknown was never paid. Errors: ErrNoDeposit, a *StateError.
func (s *Store) FailDeposit(ctx context.Context, act Act, d Deposit) error {
	return s.decideDeposit(ctx, act, d, DepositFailed, "")
}

func (s *Store) decideDeposit(ctx context.Context, act Act, d Deposit, to, transaction string) error {
	result, err := s.act(ctx, "operator_deposit", act, d.Workspace, d.ID, to, orNull(transaction))
	if err != nil {
		return err
	}
	return moved(result, ErrNoDeposit)
}

// moved turns the refusal of a move into an error.
func moved(result Result, none error) error {
	switch result.Code {
	case "":
		return nil
	case codeNotFound:
		return none
	case "CONFLICT":
		state := &StateError{}
		if err := json.Unmarshal(result.Info, state); err != nil {
			return fmt.Errorf("read the state: %w", err)
		}
		return state
	}
	return fmt.Errorf("refused with %s", result.Code)
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Deposits lists the newest deposits of a workspace.
func (s *Store) Deposits(ctx context.Context, workspace uuid.UUID, limit int) ([]Deposit, error) {
	return collect[Deposit](ctx, s, `select `+depositColumns+` from deposits where workspace_id = $1 order by created_at desc, deposit_id desc limit $2`, workspace, limit)
}

// DepositOf reads one deposit of a workspace. ErrNoDeposit: it has none of this id.
func (s *Store) DepositOf(ctx context.Context, workspace, deposit uuid.UUID) (Deposit, error) {
	return collectOne[Deposit](ctx, s, ErrNoDeposit, `select `+depositColumns+` from deposits where workspace_id = $1 and deposit_id = $2`, workspace, deposit)
}

// FindDeposit reads a deposit of any workspace, for the operator.
func (s *Store) FindDeposit(ctx context.Context, deposit uuid.UUID) (Deposit, error) {
	return collectOne[Deposit](ctx, s, ErrNoDeposit, `select `+depositColumns+` from deposits where deposit_id = $1`, deposit)
}

// OpenDeposits lists deposits that are not decided, the oldest first, from behind the one given (the zero Deposit: from
// the first).
func (s *Store) OpenDeposits(ctx context.Context, after Deposit, limit int) ([]Deposit, error) {
	return collect[Deposit](ctx, s, `select `+depositColumns+` from deposits
		 where state in ('received', 'settling', 'unknown') and (created_at, deposit_id) > ($1, $2)
		 order by created_at, deposit_id limit $3`, after.CreatedAt, after.ID, limit)
}

// DepositTotal is the sum of the deposits of one network that are in one state.
type DepositTotal struct {
	Network, State string
	Count, Units   int64
}

// DepositTotals sums the deposits by network and state.
func (s *Store) DepositTotals(ctx context.Context) ([]DepositTotal, error) {
	return collect[DepositTotal](ctx, s, `
		select network, state, count(*), sum(units)::bigint from deposits group by network, state order by network, state`)
}
