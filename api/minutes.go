package api

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"aanet/store"
)

const (
	minutesPause   = 10 * time.Second // between two looks for a minute that is over
	minutesTimeout = time.Second
	minutesKept    = 60 // that could not be written; older ones are lost
)

// Minutes count the answers of this process by minute, code and time taken, and write each minute down when it is over, for
// the operator's dashboard. A process that is killed loses the minute it was in.
type Minutes struct {
	now    func() time.Time
	mu     sync.Mutex
	counts map[time.Time]map[answered]int64
}

// ClientGone is the code under which a call counts whose client did not wait for the answer.
const ClientGone Code = "CLIENT_GONE"

type answered struct {
	code   string
	bucket int
}

// NewMinutes counts by a clock.
func NewMinutes(now func() time.Time) *Minutes {
	return &Minutes{now: now, counts: map[time.Time]map[answered]int64{}}
}

// add counts one answer; code is that of a refusal, or "". Pages, health checks and what belongs to no operation are no calls.
func (m *Minutes) add(operation string, code Code, seconds float64) {
	o := OperationNamed(operation)
	if o == nil {
		return
	}
	a := answered{code: string(code), bucket: -1}
	if code == "" {
		a.code = "OK"
	}
	if _, mayWait := o.In.Field("wait_seconds"); !mayWait { // that time would say nothing about the service
		a.bucket, _ = slices.BinarySearch(store.AnswerBounds, time.Duration(seconds*float64(time.Second)))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	minute := m.now().Truncate(time.Minute)
	if m.counts[minute] == nil {
		m.counts[minute] = map[answered]int64{}
	}
	m.counts[minute][a]++
}

// over takes the minutes that are over before a time, the oldest first.
func (m *Minutes) over(before time.Time) []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []time.Time
	for minute := range m.counts {
		if minute.Before(before) {
			all = append(all, minute)
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	for len(all) > minutesKept {
		delete(m.counts, all[0])
		all = all[1:]
	}
	return all
}

// Write writes down the minutes that began before a time and end with it. What fails is kept for the next try.
func (m *Minutes) Write(ctx context.Context, s *store.Store, before time.Time) error {
	for _, minute := range m.over(before) {
		m.mu.Lock()
		var all []store.Answered
		for a, calls := range m.counts[minute] {
			all = append(all, store.Answered{Code: a.code, Bucket: a.bucket, Calls: calls})
		}
		m.mu.Unlock()
		if err := s.AddAnswered(ctx, minute.UTC(), all); err != nil {
			return err
		}
		m.mu.Lock()
		delete(m.counts, minute)
		m.mu.Unlock()
	}
	return nil
}

// Run writes each minute when it is over, and at the end the one that is not.
func (m *Minutes) Run(ctx context.Context, s *store.Store, log *slog.Logger) {
	write := func(ctx context.Context, before time.Time) {
		ctx, cancel := context.WithTimeout(ctx, minutesTimeout)
		defer cancel()
		if err := m.Write(ctx, s, before); err != nil {
			log.WarnContext(ctx, "answers of the last minutes wait to be written", "error", err.Error())
		}
	}
	tick := time.NewTicker(minutesPause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			write(ctx, m.now().Truncate(time.Minute))
		case <-ctx.Done():
			write(context.WithoutCancel(ctx), m.now().Add(time.Minute))
			return
		}
	}
}
