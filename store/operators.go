package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Role is what an operator may do. A higher role may do all that a lower one may.
type Role string

// The roles, from the lowest.
const (
	RoleViewer   Role = "viewer"   // sees
	RoleOperator Role = "operator" // does the daily work: money, blocks, webhooks, feedback
	RoleAdmin    Role = "admin"    // manages operators too
)

// Roles are all there are, from the lowest.
func Roles() []Role { return []Role{RoleViewer, RoleOperator, RoleAdmin} }

// Includes tells whether a role may do what another one may.
func (r Role) Includes(other Role) bool { return other.rank() > 0 && r.rank() >= other.rank() }

func (r Role) rank() int {
	for i, known := range Roles() {
		if r == known {
			return i + 1
		}
	}
	return 0
}

var (
	// ErrNoOperator: there is no such operator.
	ErrNoOperator = errors.New("no such operator")
	// ErrOperatorExists: an operator has this email address, in whatever case.
	ErrOperatorExists = errors.New("an operator with this email address exists already")
	// ErrPasswordChanged: the operator has another password than the one that was checked, or is disabled.
	ErrPasswordChanged = errors.New("the password was changed meanwhile")
	// ErrLastAdmin: nobody would be left who can manage operators.
	ErrLastAdmin = errors.New("this is the last admin who is not disabled")
)

// Operator is a person who runs the service.
type Operator struct {
	ID           uuid.UUID
	Email, Name  string
	Role         Role
	PasswordHash string
	CreatedAt    time.Time
	LastLoginAt  *time.Time
	DisabledAt   *time.Time
}

const operatorColumns = `o.operator_id, o.email, o.name, o.role, o.password_hash, o.created_at, o.last_login_at, o.disabled_at`

// shown is an operator as the audit log keeps him; never his password.
func (o Operator) shown() map[string]any {
	return map[string]any{"email": o.Email, "name": o.Name, "role": o.Role, "disabled": o.DisabledAt != nil}
}

// Operators lists all operators by email address, disabled ones included.
func (s *Store) Operators(ctx context.Context) ([]Operator, error) {
	return collect[Operator](ctx, s, `select `+operatorColumns+` from operators o order by lower(o.email)`)
}

// OperatorByEmail finds an operator, disabled or not. ErrNoOperator: there is none.
func (s *Store) OperatorByEmail(ctx context.Context, email string) (Operator, error) {
	return collectOne[Operator](ctx, s, ErrNoOperator, `select `+operatorColumns+` from operators o where lower(o.email) = lower($1)`, email)
}

// OperatorByID finds an operator, disabled or not. ErrNoOperator: there is none.
func (s *Store) OperatorByID(ctx context.Context, id uuid.UUID) (Operator, error) {
	return collectOne[Operator](ctx, s, ErrNoOperator, `select `+operatorColumns+` from operators o where o.operator_id = $1`, id)
}

// CreateOperator adds an operator. ErrOperatorExists: the address is taken.
func (s *Store) CreateOperator(ctx context.Context, act Act, o Operator) error {
	return s.audited(ctx, act, func(tx pgx.Tx) (entry, error) {
		tag, err := tx.Exec(ctx, `insert into operators (operator_id, email, name, role, password_hash, created_at)
			values ($1, $2, $3, $4, $5, aanet_now()) on conflict do nothing`, o.ID, o.Email, o.Name, o.Role, o.PasswordHash)
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrOperatorExists
		}
		return entry{action: "operator.create", kind: "operator", subject: o.ID.String(), after: o.shown()}, err
	})
}

// SetOperatorRole gives an operator another role. Errors: ErrNoOperator, ErrLastAdmin.
func (s *Store) SetOperatorRole(ctx context.Context, act Act, id uuid.UUID, role Role) error {
	return s.changeOperator(ctx, act, id, "operator.role", func(o *Operator) bool {
		changed := o.Role != role
		o.Role = role
		return changed
	}, `update operators set role = $2 where operator_id = $1`, role)
}

// DisableOperator ends an operator's sessions and lets him open no more; EnableOperator takes that back.
// Errors: ErrNoOperator, ErrLastAdmin.
func (s *Store) DisableOperator(ctx context.Context, act Act, id uuid.UUID, at time.Time) error {
	return s.changeOperator(ctx, act, id, "operator.disable", func(o *Operator) bool {
		changed := o.DisabledAt == nil
		o.DisabledAt = &at
		return changed
	}, `with ended as (delete from operator_sessions where operator_id = $1)
		update operators set disabled_at = $2 where operator_id = $1`, at)
}

// EnableOperator lets a disabled operator log in again. Error: ErrNoOperator.
func (s *Store) EnableOperator(ctx context.Context, act Act, id uuid.UUID) error {
	return s.changeOperator(ctx, act, id, "operator.enable", func(o *Operator) bool {
		changed := o.DisabledAt != nil
		o.DisabledAt = nil
		return changed
	}, `update operators set disabled_at = null where operator_id = $1`)
}

// SetOperatorPassword replaces the hash of a password and ends all sessions of the operator. Error: ErrNoOperator.
func (s *Store) SetOperatorPassword(ctx context.Context, act Act, id uuid.UUID, hash string) error {
	return s.changeOperator(ctx, act, id, "operator.password", func(*Operator) bool { return true },
		`with ended as (delete from operator_sessions where operator_id = $1)
		update operators set password_hash = $2 where operator_id = $1`, hash)
}

// ChangeOwnPassword does the same in the name of the operator himself, who has shown that he knows the password that
// hashes to former, and keeps his session of this token. Errors: ErrNoOperator, ErrPasswordChanged.
func (s *Store) ChangeOwnPassword(ctx context.Context, act Act, id uuid.UUID, former, hash string, tokenHash []byte) error {
	knew := false
	err := s.changeOperator(ctx, act, id, "operator.password", func(o *Operator) bool {
		knew = o.PasswordHash == former && o.DisabledAt == nil
		return knew
	}, `with ended as (delete from operator_sessions where operator_id = $1 and token_hash <> $3)
		update operators set password_hash = $2 where operator_id = $1`, hash, tokenHash)
	if err == nil && !knew {
		err = ErrPasswordChanged
	}
	return err
}

// changeOperator makes one change; change tells how the operator is after it, and whether that differs. A change that
// changes nothing leaves no audit row.
func (s *Store) changeOperator(ctx context.Context, act Act, id uuid.UUID, action string, change func(*Operator) bool, sql string, args ...any) error {
	return s.audited(ctx, act, func(tx pgx.Tx) (entry, error) {
		// All admins are locked, so that two who disable each other do not both succeed.
		rows, err := tx.Query(ctx, `select `+operatorColumns+` from operators o
			 where o.operator_id = $1 or o.role = 'admin' order by o.operator_id for update`, id)
		if err != nil {
			return entry{}, err
		}
		locked, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Operator])
		if err != nil {
			return entry{}, err
		}
		var was, is *Operator
		admins := 0
		for _, o := range locked {
			if o.ID == id {
				former := o
				was = &former
				if !change(&o) {
					return entry{}, nil
				}
				is = &o
			}
			if o.Role == RoleAdmin && o.DisabledAt == nil {
				admins++
			}
		}
		switch {
		case was == nil:
			return entry{}, ErrNoOperator
		case admins == 0 && was.Role == RoleAdmin && was.DisabledAt == nil:
			return entry{}, ErrLastAdmin
		}
		_, err = tx.Exec(ctx, sql, append([]any{id}, args...)...)
		return entry{action: action, kind: "operator", subject: id.String(), before: was.shown(), after: is.shown()}, err
	})
}

// auditedError keeps refusals as they are and explains the database's own failures.
func auditedError(err error) error {
	for _, refusal := range []error{ErrNoOperator, ErrOperatorExists, ErrLastAdmin, ErrPasswordChanged, ErrNoFeedback} {
		if errors.Is(err, refusal) {
			return refusal
		}
	}
	return poolError(err)
}
