package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Webhook is an endpoint as its owner sees it.
type Webhook struct {
	ID             uuid.UUID
	URL            string
	Events         []string
	Active         bool
	DisabledReason *string
	CreatedAt      time.Time

	BalanceLowUnits *int64 // it is warned of a balance below this; nil: of none
}

// Webhooks lists a workspace's webhooks, oldest first, disabled ones included.
func (s *Store) Webhooks(ctx context.Context, workspace uuid.UUID) ([]Webhook, error) {
	return collect[Webhook](ctx, s, `
		select webhook_id, url, events, active, disabled_reason, created_at, balance_low_units
		  from webhooks where workspace_id = $1 and deleted_at is null order by created_seq`, workspace)
}

// HasWebhook tells whether a workspace has this webhook, active or disabled.
func (s *Store) HasWebhook(ctx context.Context, workspace, webhook uuid.UUID) (bool, error) {
	var has bool
	err := s.pool.QueryRow(ctx, `
		select exists (select 1 from webhooks where workspace_id = $1 and webhook_id = $2 and deleted_at is null)`,
		workspace, webhook).Scan(&has)
	return has, poolError(err)
}

// WebhookAttempt is one attempt to deliver an event. StatusCode is nil when there was no answer; Error
// is nil for a success; an attempt that is not Finished is under way.
type WebhookAttempt struct {
	DeliveryID uuid.UUID
	EventSeq   int64
	EventType  string
	Attempt    int
	StartedAt  time.Time
	Finished   bool
	DurationMS *int64
	StatusCode *int
	Success    bool
	Error      *string
}

// WebhookAttempts lists the attempts of a webhook, newest first.
func (s *Store) WebhookAttempts(ctx context.Context, workspace, webhook uuid.UUID, limit int64) ([]WebhookAttempt, error) {
	return collect[WebhookAttempt](ctx, s, `
		select delivery_id, seq, event_type, attempt, started_at, finished, duration_ms::bigint, status_code, success, error
		  from webhook_attempts where workspace_id = $1 and webhook_id = $2 order by log_seq desc limit $3`, workspace, webhook, limit)
}

// AttemptedEvent gives the seq of the event that an attempt of the webhook was about; 0 when there is no such attempt.
func (s *Store) AttemptedEvent(ctx context.Context, workspace, webhook, delivery uuid.UUID) (int64, error) {
	var seq int64
	err := s.pool.QueryRow(ctx, `
		select coalesce((select seq from webhook_attempts where workspace_id = $1 and webhook_id = $2 and delivery_id = $3), 0)`,
		workspace, webhook, delivery).Scan(&seq)
	return seq, poolError(err)
}

// MissedEvents lists up to limit events since a time, oldest first, that the webhook subscribes to, that
// were never delivered to it and do not wait to be.
func (s *Store) MissedEvents(ctx context.Context, workspace, webhook uuid.UUID, since time.Time, limit int) ([]int64, error) {
	// Sets, not joins: a join by nested loops, which a planner without statistics chooses, looks at every later attempt
	// for each event.
	rows, err := searched[struct{ Seq int64 }](ctx, s, `
		with begin as materialized (select first_seq_since($1, $3) as seq)
		(select e.seq from activity e, webhooks w
		  where e.workspace_id = $1 and e.seq >= (select seq from begin) and e.status = 'OK' and w.workspace_id = $1 and w.webhook_id = $2
		    and (event_of(e.operation) = any(w.events) or e.operation = 'PING_WEBHOOK' and e.path = $2::text)
		except select a.seq from webhook_attempts a
		  where a.workspace_id = $1 and a.webhook_id = $2 and a.log_seq > (select seq from begin) and (a.success or not a.finished)
		except select d.seq from webhook_deliveries d where d.workspace_id = $1 and d.webhook_id = $2)
		order by seq limit $4`, workspace, webhook, since, limit)
	seqs := make([]int64, len(rows))
	for i, row := range rows {
		seqs[i] = row.Seq
	}
	return seqs, err
}

// Retention of webhooks: how long attempts can be seen, and how long what waits for a disabled one.
const (
	attemptsKept = 30 * 24 * time.Hour
	heldKept     = 3 * 24 * time.Hour
)

// UntidyWebhooks lists up to limit workspaces whose webhooks have rows that are no longer needed.
func (s *Store) UntidyWebhooks(ctx context.Context, limit int) ([]uuid.UUID, error) {
	return s.workspaces(ctx, `
		select distinct h.workspace_id from webhooks h join workspaces w on w.workspace_id = h.workspace_id
		 where w.deleted_at is null and (w.trial_expires_at is null or w.trial_expires_at > aanet_now()) and (h.deleted_at is not null
		    or (select a.started_at from webhook_attempts a where a.workspace_id = h.workspace_id and a.webhook_id = h.webhook_id
		         order by a.log_seq limit 1) < aanet_now() - $2::interval
		    or not h.active and (select d.queued_at from webhook_deliveries d where d.workspace_id = h.workspace_id and d.webhook_id = h.webhook_id
		         order by d.turn limit 1) < aanet_now() - $3::interval)
		 limit $1`, limit, attemptsKept, heldKept)
}

// TidyWebhooks frees up to rows rows of a workspace's webhooks: those of deleted ones, attempts of more
// than 30 days ago, and events held for more than three days for a disabled one. It does nothing in a
// workspace that is gone.
func (s *Store) TidyWebhooks(ctx context.Context, workspace uuid.UUID, rows int) error {
	_, err := s.Do(ctx, Call{Function: "tidy_webhooks", Workspace: workspace, Args: []any{rows, attemptsKept, heldKept}})
	return err
}

// WaitingEvents counts the deliveries that wait in a workspace.
func (s *Store) WaitingEvents(ctx context.Context, workspace uuid.UUID) (int64, error) {
	var n int64
	err := s.pool.QueryRow(ctx, `select count(*) from webhook_deliveries where workspace_id = $1`, workspace).Scan(&n)
	return n, poolError(err)
}
