package jobs

import (
	"context"
	"log/slog"
	"time"
)

// StartEvery is Start with all jobs at another interval.
func StartEvery(ctx context.Context, o Options, every time.Duration) (*Jobs, error) {
	log := slog.New(newDamped(o.Log.Handler()))
	expire, free := expireTrials(o.Store, log), freeWorkspaces(o.Store, log)
	expire.every, free.every = every, every
	return start(ctx, o.URL, log, expire, free, o.Reconcile)
}
