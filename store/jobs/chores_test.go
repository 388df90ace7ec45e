package jobs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
)

func TestChoreWorksUntilNothingIsLeft(t *testing.T) {
	left := map[uuid.UUID]int{uuid.New(): 1, uuid.New(): 3}
	stuck := uuid.New()
	held := errors.New("the row is held")
	var log bytes.Buffer
	c := chore{turn: time.Minute, log: slog.New(slog.NewTextHandler(&log, nil)),
		list: func(context.Context, int) ([]uuid.UUID, error) {
			ids := []uuid.UUID{stuck}
			for id, steps := range left {
				if steps > 0 {
					ids = append(ids, id)
				}
			}
			return ids, nil
		},
		step: func(_ context.Context, id uuid.UUID) error {
			if id == stuck {
				return held
			}
			left[id]--
			return nil
		},
	}
	if err := c.run(t.Context()); !errors.Is(err, held) {
		t.Errorf("a round in which nothing could be done: %v", err)
	}
	for id, steps := range left {
		if steps != 0 {
			t.Errorf("%s: %d steps left behind the one that is stuck", id, steps)
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines != 3 {
		t.Errorf("%d rounds with a failure were logged:\n%s", lines, &log)
	}
}

func TestChoreEndsItsTurn(t *testing.T) {
	steps := 0
	c := chore{turn: 300 * time.Millisecond, log: slog.New(slog.DiscardHandler),
		list: func(context.Context, int) ([]uuid.UUID, error) { return make([]uuid.UUID, pageSize), nil },
		step: func(context.Context, uuid.UUID) error { steps++; return nil },
	}
	var snooze *river.JobSnoozeError
	if err := c.run(t.Context()); !errors.As(err, &snooze) || snooze.Duration != turnPause || steps == pageSize {
		t.Errorf("%d steps, then %v", steps, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.run(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("told to end: %v", err)
	}
	away := errors.New("away")
	c.list = func(context.Context, int) ([]uuid.UUID, error) { return nil, away }
	if err := c.run(t.Context()); !errors.Is(err, away) {
		t.Errorf("no list: %v", err)
	}
}

func TestDampedLog(t *testing.T) {
	var out bytes.Buffer
	next := slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}})
	log := newDamped(next).WithAttrs([]slog.Attr{slog.Int("a", 1)}).WithGroup("g")
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, m := range []struct {
		after time.Duration
		level slog.Level
		text  string
	}{
		{0, slog.LevelInfo, "chat"},
		{0, slog.LevelError, "lost"},
		{time.Second, slog.LevelError, "lost"},
		{2 * time.Second, slog.LevelWarn, "lost"},
		{29 * time.Second, slog.LevelError, "lost"},
		{31 * time.Second, slog.LevelError, "lost"},
		{32 * time.Second, slog.LevelError, "lost"},
		{90 * time.Second, slog.LevelError, "lost"},
		{200 * time.Second, slog.LevelError, "lost"},
	} {
		if !log.Enabled(t.Context(), m.level) {
			continue
		}
		if err := log.Handle(t.Context(), slog.NewRecord(start.Add(m.after), m.level, m.text, 0)); err != nil {
			t.Fatal(err)
		}
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{"msg=lost a=1", "msg=lost a=1", "msg=lost a=1 g.repeated=2", "msg=lost a=1 g.repeated=1", "msg=lost a=1"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestDampedLogForgets(t *testing.T) {
	d := newDamped(slog.DiscardHandler)
	for n := range 5 * dampedLines {
		d.seen.take(strings.Repeat("x", n), time.Time{})
	}
	if n := len(d.seen.lines); n > dampedLines {
		t.Errorf("%d messages are remembered", n)
	}
}
