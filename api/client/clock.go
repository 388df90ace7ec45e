package client

import (
	"context"
	"time"
)

// now is the time of this machine, with its monotonic reading: differences are right although the clock may be set.
func now() time.Time { return time.Now() }

// wait pauses; it is false, at once when that can be known, if ctx ends before.
func wait(ctx context.Context, pause time.Duration) bool {
	if end, ends := ctx.Deadline(); ends && end.Before(now().Add(pause)) {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
