package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// answersKept is how long the first answer of a call with an idempotency key is given to its repeats, as
// functions/replay.sql has it.
const answersKept = 24 * time.Hour

// OldAnswers lists up to limit workspaces with answers that are no longer kept. Those of a workspace that
// is gone are freed with it.
func (s *Store) OldAnswers(ctx context.Context, limit int) ([]uuid.UUID, error) {
	return s.workspaces(ctx, `
		select distinct i.workspace_id from (
		       select o.workspace_id from idempotency_keys o where o.created_at <= (select aanet_now()) - $2::interval order by o.created_at limit 10000) i
		  join workspaces w on w.workspace_id = i.workspace_id
		 where w.deleted_at is null and (w.trial_expires_at is null or w.trial_expires_at > aanet_now()) limit $1`, limit, answersKept)
}

// ForgetAnswers frees up to rows answers that are no longer kept. It does nothing in a workspace that is gone.
func (s *Store) ForgetAnswers(ctx context.Context, workspace uuid.UUID, rows int) error {
	_, err := s.Do(ctx, Call{Function: "tidy_answers", Workspace: workspace, Args: []any{rows}})
	return err
}
