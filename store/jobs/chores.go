package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"aanet/store"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
)

const (
	turnTime  = 3 * time.Second       // how long one run of a chore goes on
	turnPause = time.Second           // between two runs while there is more to do
	stepPause = 10 * time.Millisecond // between two steps, so that tenants of the same lane get theirs
	pageSize  = 50                    // workspaces that are looked at together
	freeRows  = 500                   // rows that one step frees: some milliseconds
)

// chore does one short step for each of the workspaces that need it, round after round, until none does.
type chore struct {
	every time.Duration // between two runs
	turn  time.Duration // how long one run goes on
	list  func(ctx context.Context, limit int) ([]uuid.UUID, error)
	step  func(ctx context.Context, workspace uuid.UUID) error
	log   *slog.Logger
}

// chores are those of the service.
type chores struct {
	expire, free, tidy, forget chore
	rollUp, forgetRollups      whole
}

func choresOf(s *store.Store, log *slog.Logger) chores {
	return chores{expireTrials(s, log), freeWorkspaces(s, log), tidyWebhooks(s, log), forgetAnswers(s, log), rollUp(s), forgetRollups(s)}
}

// ExpireTrials closes trials whose time is over. They are unreachable before that.
type ExpireTrials struct{}

// Kind names the job in its table.
func (ExpireTrials) Kind() string { return "expire_trials" }

// FreeWorkspaces deletes the rows of workspaces that are gone.
type FreeWorkspaces struct{}

// Kind names the job in its table.
func (FreeWorkspaces) Kind() string { return "free_workspaces" }

// TidyWebhooks frees what webhooks no longer need.
type TidyWebhooks struct{}

// Kind names the job in its table.
func (TidyWebhooks) Kind() string { return "tidy_webhooks" }

// ForgetAnswers frees the answers that are no longer kept for repeats.
type ForgetAnswers struct{}

// Kind names the job in its table.
func (ForgetAnswers) Kind() string { return "forget_answers" }

func expireTrials(s *store.Store, log *slog.Logger) chore {
	return chore{every: 30 * time.Second, turn: turnTime, list: s.ExpiredTrials, step: s.ExpireTrial, log: log}
}

// freeWorkspaces counts the log before it goes.
func freeWorkspaces(s *store.Store, log *slog.Logger) chore {
	step := func(ctx context.Context, workspace uuid.UUID) error {
		if err := s.RollUpWorkspace(ctx, workspace); err != nil {
			return err
		}
		_, err := s.FreeWorkspace(ctx, workspace, freeRows)
		return err
	}
	return chore{every: 10 * time.Second, turn: turnTime, list: s.GoneWorkspaces, step: step, log: log}
}

func tidyWebhooks(s *store.Store, log *slog.Logger) chore {
	step := func(ctx context.Context, workspace uuid.UUID) error { return s.TidyWebhooks(ctx, workspace, freeRows) }
	return chore{every: 5 * time.Minute, turn: turnTime, list: s.UntidyWebhooks, step: step, log: log}
}

func forgetAnswers(s *store.Store, log *slog.Logger) chore {
	step := func(ctx context.Context, workspace uuid.UUID) error { return s.ForgetAnswers(ctx, workspace, freeRows) }
	return chore{every: 5 * time.Minute, turn: turnTime, list: s.OldAnswers, step: step, log: log}
}

// run works for about its turn at most. It asks for another run soon when there is more to do, and
// fails when nothing could be done: the next period then tries again.
func (c chore) run(ctx context.Context) error {
	turn, end := context.WithTimeout(ctx, c.turn)
	defer end()
	for turn.Err() == nil {
		workspaces, err := c.list(ctx, pageSize)
		if err != nil || len(workspaces) == 0 {
			return err
		}
		done, err := c.round(ctx, turn, workspaces)
		if err != nil && done == 0 {
			return err
		}
		if err != nil {
			c.log.WarnContext(ctx, "some workspaces have to wait for the next round", "error", err.Error())
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return river.JobSnooze(turnPause)
}

// round makes one step for each workspace. One that fails, such as one whose row is held by somebody
// else, does not stop the others. done counts the steps that were made.
func (c chore) round(ctx, turn context.Context, workspaces []uuid.UUID) (done int, err error) {
	for _, workspace := range workspaces {
		if stepErr := c.step(ctx, workspace); stepErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", workspace, stepErr))
		} else {
			done++
		}
		select {
		case <-turn.Done():
			return done, err
		case <-time.After(stepPause):
		}
	}
	return done, err
}
