package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Brief is a workspace in a few words, beside something that is to be decided about it.
type Brief struct {
	ID             uuid.UUID
	Label          string
	CreatedAt      time.Time
	TrialExpiresAt *time.Time // nil: not a trial
	DeletedAt      *time.Time
	Blocked        bool
	BlockedReason  *string
	Balance        int64
	Spent          int64
}

// BriefOf reads a workspace, also one that is gone. ErrNoWorkspace: there was never one of this id.
func (s *Store) BriefOf(ctx context.Context, workspace uuid.UUID) (Brief, error) {
	return collectOne[Brief](ctx, s, ErrNoWorkspace, `
		select workspace_id, label, created_at, trial_expires_at, deleted_at, blocked, blocked_reason, balance, spent
		  from workspaces where workspace_id = $1`, workspace)
}

// WatchedWebhook is a webhook as an operator sees it.
type WatchedWebhook struct {
	Workspace      uuid.UUID
	ID             uuid.UUID
	URL            string
	Events         []string
	Active         bool
	DisabledReason *string
	DisabledAt     *time.Time
	Failures       int // failed attempts in a row
	Parked         bool
	DueAt          *time.Time
	CreatedAt      time.Time
}

const watchedColumns = `workspace_id, webhook_id, url, events, active, disabled_reason, disabled_at, failures, parked, due_at, created_at`

// FailingWebhooks lists webhooks that fail or are disabled, those with most failures first, from behind the one given
// (nil: from the first).
func (s *Store) FailingWebhooks(ctx context.Context, after *WatchedWebhook, limit int) ([]WatchedWebhook, error) {
	var failures *int
	var id *uuid.UUID
	if after != nil {
		failures, id = &after.Failures, &after.ID
	}
	return collect[WatchedWebhook](ctx, s, `select `+watchedColumns+` from webhooks
		 where deleted_at is null and (failures > 0 or not active) and ($1::integer is null or (failures, webhook_id) < ($1, $2))
		 order by failures desc, webhook_id desc limit $3`, failures, id, limit)
}

// FindWebhook reads a webhook of any workspace. ErrNoWebhook: there is none of this id, or it was deleted.
func (s *Store) FindWebhook(ctx context.Context, webhook uuid.UUID) (WatchedWebhook, error) {
	return collectOne[WatchedWebhook](ctx, s, ErrNoWebhook, `select `+watchedColumns+` from webhooks where webhook_id = $1 and deleted_at is null`, webhook)
}
