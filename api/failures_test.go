package api

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// An outage fails every call: one line a second tells of it and of how many others there were. A bug is told each time.
func TestFailuresInTheLog(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(1000, 0)
	f := &failures{log: slog.New(slog.NewTextHandler(&log, nil)), now: func() time.Time { return now }}
	fail := func(code Code) {
		f.failed(t.Context(), &Op{Def: Def{Name: "op"}}, Request{ID: "r"}, code, errors.New("cause"))
	}
	for range 50 {
		fail(Unavailable)
	}
	now = now.Add(time.Second)
	fail(Unavailable)
	fail(Internal)
	fail(Internal)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines:\n%s", len(lines), log.String())
	}
	for i, want := range []string{"others_since_last=0", "others_since_last=49", "level=ERROR", "level=ERROR"} {
		if !strings.Contains(lines[i], want) || !strings.Contains(lines[i], "request_id=r") {
			t.Errorf("line %d is %s, want %s", i, lines[i], want)
		}
	}
}
