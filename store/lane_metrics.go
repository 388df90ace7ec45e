package store

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// laneMetrics are the lanes' figures for Prometheus. No label carries an id or a path.
type laneMetrics struct {
	calls    prometheus.Histogram // calls a batch
	waited   prometheus.Histogram // seconds from put to send
	duration prometheus.Histogram // seconds a batch took, retries included
	queued   prometheus.Histogram // calls left waiting when a batch was taken
	failures prometheus.Counter   // batches that had to be undone
}

func newLaneMetrics(reg prometheus.Registerer) *laneMetrics {
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	m := &laneMetrics{
		calls:    histogram("aanet_lane_batch_calls", "Calls sent together as one transaction.", prometheus.ExponentialBuckets(1, 2, 8)),
		waited:   histogram("aanet_lane_wait_seconds", "Time a call waited for its lane.", prometheus.ExponentialBuckets(0.0001, 3, 10)),
		duration: histogram("aanet_lane_batch_seconds", "Time one batch took.", prometheus.ExponentialBuckets(0.0003, 3, 10)),
		queued:   histogram("aanet_lane_queue_calls", "Calls left waiting when a batch was taken.", prometheus.ExponentialBuckets(1, 3, 8)),
		failures: prometheus.NewCounter(prometheus.CounterOpts{Name: "aanet_lane_batches_undone_total", Help: "Batches that were rolled back and sent again in parts."}),
	}
	reg.MustRegister(m.calls, m.waited, m.duration, m.queued, m.failures)
	return m
}

func (m *laneMetrics) batch(batch []*pending, left int) {
	m.calls.Observe(float64(len(batch)))
	m.queued.Observe(float64(left))
	now := time.Now()
	for _, p := range batch {
		m.waited.Observe(now.Sub(p.since).Seconds())
	}
}

// LaneFigures are how the lanes of this process have done since it started.
type LaneFigures struct {
	Lanes        int
	Waiting      int64 // calls that wait in their queues now
	Calls        int64
	Batches      int64
	Undone       int64         // batches that were rolled back and sent again in parts
	WaitP99      time.Duration // 99 of 100 calls waited no longer for their lane
	BatchP99     time.Duration // 99 of 100 batches took no longer
	WaitingCalls int           // calls and streams that wait for an event
}

// LaneFigures reads them.
func (s *Store) LaneFigures() LaneFigures {
	f := LaneFigures{Lanes: len(s.lanes.lanes), WaitingCalls: s.Waiting()}
	for _, l := range s.lanes.lanes {
		f.Waiting += int64(l.queue.len())
	}
	m := s.lanes.metrics
	var calls, undone dto.Metric
	if m.calls.Write(&calls) == nil && m.failures.Write(&undone) == nil { // they only fail on a metric of another kind
		f.Batches, f.Calls = int64(calls.GetHistogram().GetSampleCount()), int64(calls.GetHistogram().GetSampleSum())
		f.Undone = int64(undone.GetCounter().GetValue())
	}
	f.WaitP99, f.BatchP99 = p99(m.waited), p99(m.duration)
	return f
}

// p99 is the upper bound of the bucket of a histogram of seconds in which the 99th hundredth is.
func p99(h prometheus.Histogram) time.Duration {
	var m dto.Metric
	if err := h.Write(&m); err != nil || m.GetHistogram().GetSampleCount() == 0 {
		return 0
	}
	count := m.GetHistogram().GetSampleCount()
	last := 0.0
	for _, b := range m.GetHistogram().GetBucket() {
		last = b.GetUpperBound()
		if b.GetCumulativeCount() >= count-count/100 {
			break
		}
	}
	return time.Duration(last * float64(time.Second))
}
