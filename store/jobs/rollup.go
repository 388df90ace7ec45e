package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"aanet/store"
)

// RollUp counts what the logs of all workspaces say, for the operator and for long summaries.
type RollUp struct{}

// Kind names the job in its table.
func (RollUp) Kind() string { return "roll_up" }

// ForgetRollups ends what is kept of those sums longer than it should be.
type ForgetRollups struct{}

// Kind names the job in its table.
func (ForgetRollups) Kind() string { return "forget_rollups" }

const (
	rollUpEvery = 30 * time.Second
	forgetEvery = time.Hour
	wholeTurn   = 40 * time.Second // of one run, below the minute that a job has
)

// whole is work that is done as a whole, not workspace by workspace. What a long turn left is the next one's.
type whole struct {
	every time.Duration
	what  string
	do    func(context.Context) error
}

func (w whole) run(ctx context.Context) error {
	turn, end := context.WithTimeout(ctx, wholeTurn)
	defer end()
	if err := w.do(turn); err != nil && !(errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil) {
		return fmt.Errorf("%s: %w", w.what, err)
	}
	return nil
}

func rollUp(s *store.Store) whole { return whole{rollUpEvery, "roll up", s.RollUp} }

func forgetRollups(s *store.Store) whole {
	return whole{forgetEvery, "forget roll-ups", s.ForgetRollups}
}
