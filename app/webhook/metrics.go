package webhook

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of the receiver. The labels are what we serve and how we answer: whoever can reach us can send any header.
type metrics struct {
	known   map[string]handler
	total   *prometheus.CounterVec
	seconds prometheus.Histogram
}

func newMetrics(r prometheus.Registerer, known map[string]handler) (*metrics, error) {
	m := &metrics{
		known: known,
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "prosecutor_webhook_deliveries_total",
			Help: "Requests to the webhook, by event and outcome: enqueued, done, duplicate, ignored, bad_method, bad_signature, malformed, too_large, unavailable."}, []string{"event", "outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "prosecutor_webhook_seconds", Help: "How long answers to the webhook took.",
			Buckets: []float64{0.002, 0.005, 0.01, 0.05, 0.2, 1, 5, 10}}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.total, m.seconds} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("registering the metrics of the webhook: %w", err)
		}
	}
	return m, nil
}

// label is the event, or "other".
func (m *metrics) label(event string) string {
	if _, ok := m.known[event]; !ok {
		return "other"
	}
	return event
}

func (m *metrics) observe(event, outcome string, took time.Duration) {
	m.total.WithLabelValues(m.label(event), outcome).Inc()
	m.seconds.Observe(took.Seconds())
}
