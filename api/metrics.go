package api

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics count the calls of all doors. Labels hold neither ids nor names of things.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	minutes  *Minutes
}

// NewMetrics registers the metrics; nil registers nothing, for tests.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aanet_requests_total", Help: "Calls answered, by door, operation and HTTP status (of a refusal over MCP: the status it has over REST).",
		}, []string{"door", "operation", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "aanet_request_seconds", Help: "Time from a call's arrival to its answer.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"door", "operation"}),
	}
	if registerer != nil {
		registerer.MustRegister(m.requests, m.seconds)
	}
	return m
}

// CountMinutes has every answer counted in minutes too. Call it before the first one.
func (m *Metrics) CountMinutes(minutes *Minutes) { m.minutes = minutes }

// Observe counts one call. door is "rest" or "mcp"; operation is Op.Name, or a fixed word where there was none; code is
// that of a refusal, or "".
func (m *Metrics) Observe(door, operation string, status int, code Code, seconds float64) {
	m.requests.WithLabelValues(door, operation, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(door, operation).Observe(seconds)
	if m.minutes != nil {
		m.minutes.add(operation, code, seconds)
	}
}
