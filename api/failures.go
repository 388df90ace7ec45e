package api

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// outagePause is between two lines of the log about calls that could not be taken: an outage fails every call.
const outagePause = time.Second

// failures logs calls that failed through no fault of their callers.
type failures struct {
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	told   time.Time // when a line about an outage was last written
	unsaid int       // calls since then without a line
}

// failed logs a bug each time, and an outage now and then.
func (f *failures) failed(ctx context.Context, o *Op, r Request, code Code, cause error) {
	attrs := []any{"operation", o.Name, "request_id", r.ID, "error", cause.Error()}
	if code != Unavailable {
		f.log.ErrorContext(ctx, "call failed", attrs...)
		return
	}
	if unsaid, ok := f.tell(); ok {
		f.log.WarnContext(ctx, "calls are put off", append(attrs, "others_since_last", unsaid)...)
	}
}

func (f *failures) tell() (unsaid int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if now.Sub(f.told) < outagePause {
		f.unsaid++
		return 0, false
	}
	unsaid, f.told, f.unsaid = f.unsaid, now, 0
	return unsaid, true
}
