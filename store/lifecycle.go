package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
)

// codeNotFound is what the functions of the operator and of the background work refuse with.
const codeNotFound = "NOT_FOUND"

// ExpiredTrials lists up to limit trials whose time is over and which are not closed yet, the oldest
// first. They are unreachable already: closing them only ends their books and frees their rows.
func (s *Store) ExpiredTrials(ctx context.Context, limit int) ([]uuid.UUID, error) {
	// The clock as a subquery is read once, so that the partial index on the time is used.
	return s.workspaces(ctx, `
		select workspace_id from workspaces
		 where trial_expires_at <= (select aanet_now()) and deleted_at is null
		 order by trial_expires_at limit $1`, limit)
}

// ExpireTrial closes a trial whose time is over and forfeits what is left of its balance. It does
// nothing to a workspace that is gone already, or that is no such trial.
func (s *Store) ExpireTrial(ctx context.Context, workspace uuid.UUID) error {
	closing, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make an id: %w", err)
	}
	_, err = s.Do(ctx, Call{Function: "expire_trial", Workspace: workspace, Args: []any{closing}})
	return err
}

// GoneWorkspaces lists up to limit workspaces that were deleted and still occupy rows, the oldest first.
func (s *Store) GoneWorkspaces(ctx context.Context, limit int) ([]uuid.UUID, error) {
	return s.workspaces(ctx, `
		select workspace_id from workspaces
		 where deleted_at is not null and freed_at is null order by deleted_at limit $1`, limit)
}

// FreeWorkspace deletes up to rows rows of a workspace that is gone; 2 kB of a file's body count as a
// row. done tells that nothing is left but the money records and feedback, which stay for good.
// ErrNoWorkspace: it is unknown, or not gone.
func (s *Store) FreeWorkspace(ctx context.Context, workspace uuid.UUID, rows int) (done bool, err error) {
	result, err := s.Do(ctx, Call{Function: "free_workspace", Workspace: workspace, Args: []any{rows}, Into: []any{&done}})
	if err != nil {
		return false, err
	}
	if result.Code == codeNotFound {
		return false, fmt.Errorf("free %s, which is not a deleted workspace: %w", workspace, ErrNoWorkspace)
	}
	return done, nil
}

func (s *Store) workspaces(ctx context.Context, sql string, args ...any) ([]uuid.UUID, error) {
	rows, err := collect[struct{ ID uuid.UUID }](ctx, s, sql, args...)
	ids := make([]uuid.UUID, 0, len(rows))
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return ids, err
}
