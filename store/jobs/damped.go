package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	dampedFor   = 30 * time.Second // how long the same message is held back after it was shown
	dampedLines = 200              // different messages remembered
)

// damped is a log handler for a chatty library: warnings and errors only, and each message at most
// once in dampedFor with the number of those held back ("repeated"). A database that is away
// otherwise brings dozens of lines a minute from every process.
type damped struct {
	next slog.Handler
	seen *seen
}

// seen is shared by all handlers that were derived from one.
type seen struct {
	mu    sync.Mutex
	lines map[string]*line
}

type line struct {
	shown time.Time
	held  int
}

func newDamped(next slog.Handler) *damped {
	return &damped{next: next, seen: &seen{lines: map[string]*line{}}}
}

// Enabled lets warnings and errors pass that the next handler wants.
func (d *damped) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && d.next.Enabled(ctx, level)
}

// Handle passes the record on, unless the same message was shown a moment ago.
func (d *damped) Handle(ctx context.Context, r slog.Record) error {
	held, show := d.seen.take(r.Level.String()+r.Message, r.Time)
	if !show {
		return nil
	}
	if held > 0 {
		r.AddAttrs(slog.Int("repeated", held))
	}
	return d.next.Handle(ctx, r)
}

// WithAttrs is as slog asks for.
func (d *damped) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &damped{next: d.next.WithAttrs(attrs), seen: d.seen}
}

// WithGroup is as slog asks for.
func (d *damped) WithGroup(name string) slog.Handler {
	return &damped{next: d.next.WithGroup(name), seen: d.seen}
}

// take tells whether a message is to be shown at a time, and how many were held back before it.
func (s *seen) take(message string, at time.Time) (held int, show bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[message]
	if l != nil && at.Sub(l.shown) < dampedFor {
		l.held++
		return 0, false
	}
	if l != nil {
		held = l.held
	}
	if len(s.lines) >= dampedLines {
		clear(s.lines) // messages that carry values: forgetting them all only shows some once more
	}
	s.lines[message] = &line{shown: at}
	return held, true
}
