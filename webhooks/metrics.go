package webhooks

import (
	"aanet/store"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the engine's figures for Prometheus. No label carries an id or an address.
type metrics struct {
	attempts *prometheus.CounterVec
	duration prometheus.Histogram
	serving  prometheus.Gauge
	disabled prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aanet_webhook_attempts_total", Help: "Attempts to deliver an event, by outcome.",
		}, []string{"outcome"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "aanet_webhook_attempt_seconds", Help: "Time one attempt took.", Buckets: prometheus.ExponentialBuckets(0.005, 3, 8),
		}),
		serving:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "aanet_webhook_endpoints_serving", Help: "Endpoints being served now."}),
		disabled: prometheus.NewCounter(prometheus.CounterOpts{Name: "aanet_webhooks_disabled_total", Help: "Endpoints that were disabled because they failed."}),
	}
	reg.MustRegister(m.attempts, m.duration, m.serving, m.disabled)
	for _, outcome := range []string{store.AttemptSucceeded, store.AttemptFailed, store.AttemptUnknown} {
		m.attempts.WithLabelValues(outcome)
	}
	return m
}

func (m *metrics) observe(o store.Outcome) {
	m.attempts.WithLabelValues(o.Result).Inc()
	m.duration.Observe(o.Duration.Seconds())
}
