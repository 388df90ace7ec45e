package store

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
