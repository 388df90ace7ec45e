package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"
)

// ReconcileDeposits brings deposits to an end that nobody works on.
type ReconcileDeposits struct{}

// Kind names the job in its table.
func (ReconcileDeposits) Kind() string { return "reconcile_deposits" }

const (
	reconcileEvery = 15 * time.Second
	reconcileTurn  = 40 * time.Second // of one run, below the minute that a job has
)

// reconcile is work that is done as a whole, not workspace by workspace.
func reconcile(work func(context.Context) error) func(context.Context, *river.Job[ReconcileDeposits]) error {
	return func(ctx context.Context, _ *river.Job[ReconcileDeposits]) error {
		turn, end := context.WithTimeout(ctx, reconcileTurn)
		defer end()
		if err := work(turn); err != nil && !(errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil) {
			return fmt.Errorf("reconcile the deposits: %w", err)
		}
		return nil // what a long turn left is the next one's
	}
}
