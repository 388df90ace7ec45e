package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// The states of feedback. It begins open; operators move it as they like.
const (
	FeedbackOpen     = "open"
	FeedbackPlanned  = "planned"
	FeedbackDone     = "done"
	FeedbackDeclined = "declined"
)

// FeedbackStates are all there are.
func FeedbackStates() []string {
	return []string{FeedbackOpen, FeedbackPlanned, FeedbackDone, FeedbackDeclined}
}

// ErrNoFeedback: there is no such feedback.
var ErrNoFeedback = errors.New("no such feedback")

// Feedback is what a workspace wants, and what it pledged for it.
type Feedback struct {
	Workspace   uuid.UUID
	ID          uuid.UUID
	Subkey      *uuid.UUID // nil: the owner
	Category    string
	Title       string
	Description string
	PledgedUSD  string // an exact decimal with two decimals
	Status      string
	Notes       string // the operators' own
	CreatedAt   time.Time
	TriagedAt   *time.Time
}

const feedbackColumns = `workspace_id, feedback_id, subkey_id, category, title, description, pledged_budget_usd::text, status, notes, created_at, triaged_at`

// FeedbackPage lists feedback of one state, the highest pledge first and then the newest, from behind the one given
// (nil: from the first).
func (s *Store) FeedbackPage(ctx context.Context, status string, after *Feedback, limit int) ([]Feedback, error) {
	if after == nil {
		after = &Feedback{PledgedUSD: "Infinity"}
	}
	// With the table's name: the column that is selected is text, and is called the same.
	return collect[Feedback](ctx, s, `select `+feedbackColumns+` from feedback
		 where status = $1 and (pledged_budget_usd, created_at, feedback_id) < ($2::text::numeric, $3, $4)
		 order by feedback.pledged_budget_usd desc, feedback.created_at desc, feedback.feedback_id desc limit $5`,
		status, after.PledgedUSD, after.CreatedAt, after.ID, limit)
}

// FindFeedback reads one. ErrNoFeedback: there is none of this id.
func (s *Store) FindFeedback(ctx context.Context, id uuid.UUID) (Feedback, error) {
	return collectOne[Feedback](ctx, s, ErrNoFeedback, `select `+feedbackColumns+` from feedback where feedback_id = $1`, id)
}

// TriageFeedback sets state and notes, the last one wins; nothing new leaves no audit row. Error: ErrNoFeedback.
func (s *Store) TriageFeedback(ctx context.Context, act Act, f Feedback, status, notes string) error {
	return s.audited(ctx, act, func(tx pgx.Tx) (entry, error) {
		var wasStatus, wasNotes string
		err := tx.QueryRow(ctx, `select status, notes from feedback where workspace_id = $1 and feedback_id = $2 for update`,
			f.Workspace, f.ID).Scan(&wasStatus, &wasNotes)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return entry{}, ErrNoFeedback
		case err != nil || wasStatus == status && wasNotes == notes:
			return entry{}, err
		}
		_, err = tx.Exec(ctx, `update feedback set status = $3, notes = $4, triaged_at = aanet_now() where workspace_id = $1 and feedback_id = $2`,
			f.Workspace, f.ID, status, notes)
		return entry{
			action: "feedback.triage", kind: "feedback", subject: f.ID.String(), workspace: &f.Workspace,
			before: map[string]any{"status": wasStatus, "notes": wasNotes}, after: map[string]any{"status": status, "notes": notes},
		}, err
	})
}
