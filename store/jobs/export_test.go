package jobs

import (
	"context"
	"log/slog"
	"time"
)

// StartEvery is Start with all jobs at another interval.
func StartEvery(ctx context.Context, o Options, every time.Duration) (*Jobs, error) {
	log := slog.New(newDamped(o.Log.Handler()))
	do := choresOf(o.Store, log)
	do.expire.every, do.free.every, do.tidy.every, do.forget.every = every, every, every, every
	do.rollUp.every, do.forgetRollups.every = every, every
	return start(ctx, o.URL, log, do, o.Reconcile)
}
