package store

import (
	"context"
	"fmt"
	"time"
)

// Health is what the database shows of the service's state, by bounded work.
type Health struct {
	Now        time.Time
	Took       time.Duration // until the database had answered
	Replicas   int           // processes that showed within five seconds that somebody waits in them
	Due        int           // endpoints that work and have something to send, among the first HealthDueMost that are due
	OldestDue  *time.Time    // since when the first of them should have been served
	LastJob    *time.Time    // when a background job ended well; nil: none in the last day, or no job tables yet
	FailedJobs int           // background jobs that failed in the last hour; HealthDueMost: that many or more
}

// HealthDueMost is how far Health counts.
const HealthDueMost = 1000

// healthSQL reads the ends of indexes only.
const healthSQL = `
	select aanet_now(),
	       (select count(*) from replicas where beat_at > aanet_now() - interval '5 seconds'),
	       count(*) filter (where failures = 0), min(due_at) filter (where failures = 0)
	  from (select due_at, failures from webhooks where due_at <= aanet_now() order by due_at limit $1) due`

// Health looks at the database. Its error means that the database does not answer now.
func (s *Store) Health(ctx context.Context) (Health, error) {
	var h Health
	start := time.Now()
	err := poolError(s.pool.QueryRow(ctx, healthSQL, HealthDueMost).Scan(&h.Now, &h.Replicas, &h.Due, &h.OldestDue))
	h.Took = time.Since(start)
	if err == nil {
		h.LastJob, h.FailedJobs, err = s.jobHealth(ctx, HealthDueMost)
	}
	if err != nil {
		return Health{}, fmt.Errorf("health: %w", err)
	}
	return h, nil
}

// LaneQueues tells how many calls wait in all lanes, and the share of its room that the fullest one uses, 0 to 1.
func (s *Store) LaneQueues() (lanes, waiting int, fullest float64) {
	for _, l := range s.lanes.lanes {
		n := l.queue.len()
		waiting += n
		fullest = max(fullest, float64(n)/queueCallsMax)
	}
	return len(s.lanes.lanes), waiting, fullest
}
