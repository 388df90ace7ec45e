package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Act is who does an operator's action, and why. Each action writes it into the audit log, in the transaction that
// has the effect.
type Act struct {
	By       string     // an operator's email address, or "cli:" and the name of the machine's user
	Operator *uuid.UUID // nil: the command line
	Reason   string     // up to 500 characters
	Address  string     // of the client; empty: the command line
}

// argument is an Act as SQL functions take it (functions/write_audit.sql). Each has an id of its own.
func (a Act) argument() (json.RawMessage, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make an id: %w", err)
	}
	return json.Marshal(map[string]any{"id": id, "by": a.By, "operator": a.Operator, "reason": a.Reason, "address": a.Address})
}

// AuditRow is one action of an operator.
type AuditRow struct {
	ID            uuid.UUID
	At            time.Time
	Actor         string
	Operator      *uuid.UUID
	Action        string // such as refund.pay
	SubjectKind   string // what Subject is: workspace, refund, deposit, webhook, feedback, operator or jobs
	Subject       string
	Workspace     *uuid.UUID
	Reason        string
	Before, After json.RawMessage // JSON objects; nil: there was, or is, nothing
	Address       string
}

const auditColumns = `audit_id, at, actor, operator_id, action, subject_kind, subject_id, workspace, reason, before, after, address`

// AuditFilter narrows the audit log; empty fields do not. Limit is required.
type AuditFilter struct {
	Actor, Action, Subject string
	Workspace              *uuid.UUID
	Before                 *AuditRow // rows older than this one
	Limit                  int
}

// Audit reads the audit log, newest first.
func (s *Store) Audit(ctx context.Context, f AuditFilter) ([]AuditRow, error) {
	var at *time.Time
	var id *uuid.UUID
	if f.Before != nil {
		at, id = &f.Before.At, &f.Before.ID
	}
	return collect[AuditRow](ctx, s, `select `+auditColumns+` from operator_audit
		 where ($1::text is null or actor = $1) and ($2::text is null or action = $2) and ($3::text is null or subject_id = $3)
		   and ($4::uuid is null or workspace = $4) and ($5::timestamptz is null or (at, audit_id) < ($5, $6))
		 order by at desc, audit_id desc limit $7`,
		orNull(f.Actor), orNull(f.Action), orNull(f.Subject), f.Workspace, at, id, f.Limit)
}

// LastAct is the newest action on a subject; false when there is none.
func (s *Store) LastAct(ctx context.Context, subject string) (AuditRow, bool, error) {
	rows, err := s.Audit(ctx, AuditFilter{Subject: subject, Limit: 1})
	if err != nil || len(rows) == 0 {
		return AuditRow{}, false, err
	}
	return rows[0], true, nil
}

// RecordAct writes down an action whose effect is in nobody's hands here, before it is asked for. asked is what for, as
// JSON; nil: nothing more than the subject says.
func (s *Store) RecordAct(ctx context.Context, act Act, action, kind, subject string, asked any) error {
	return s.audited(ctx, act, func(pgx.Tx) (entry, error) {
		return entry{action: action, kind: kind, subject: subject, after: asked}, nil
	})
}

// entry is what an action on the pool tells the audit log beside who did it.
type entry struct {
	action, kind, subject string
	workspace             *uuid.UUID
	before, after         any
}

// audited runs an operator's action in a transaction together with its audit row. An entry without an action had no
// effect and leaves no row.
func (s *Store) audited(ctx context.Context, act Act, do func(tx pgx.Tx) (entry, error)) error {
	argument, err := act.argument()
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		e, err := do(tx)
		if err != nil || e.action == "" {
			return err
		}
		_, err = tx.Exec(ctx, `select write_audit($1, aanet_now(), $2, $3, $4, $5, $6, $7)`,
			argument, e.action, e.kind, e.subject, e.workspace, e.before, e.after)
		return err
	})
	return auditedError(err)
}
