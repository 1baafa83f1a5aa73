package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of a queue. Labels are kinds, states and outcomes only: repositories would be without bound.
type metrics struct {
	q         *River
	up        *prometheus.Desc
	jobs      *prometheus.Desc
	oldest    *prometheus.Desc
	processes *prometheus.Desc
	done      *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	recovered prometheus.Counter
}

func newMetrics(q *River) (*metrics, error) {
	m := &metrics{
		q:         q,
		up:        prometheus.NewDesc("prosecutor_database_up", "1 when the database has answered, 0 when it has not; then nothing is said of the jobs in it.", nil, nil),
		jobs:      prometheus.NewDesc("prosecutor_queue_jobs", "Jobs in the database, by kind and state.", []string{"kind", "state"}, nil),
		oldest:    prometheus.NewDesc("prosecutor_queue_oldest_due_seconds", "How long the job has waited that has been due for longest.", nil, nil),
		processes: prometheus.NewDesc("prosecutor_queue_processes", "Processes that work on the queue.", nil, nil),
		done:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "prosecutor_queue_job_attempts_total", Help: "Attempts of jobs, by kind and outcome: done, snoozed, cancelled, failed."}, []string{"kind", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "prosecutor_queue_job_seconds", Help: "How long attempts of jobs took, by kind.",
			Buckets: []float64{0.05, 0.2, 1, 5, 15, 60, 180, 600}}, []string{"kind"}),
		recovered: prometheus.NewCounter(prometheus.CounterOpts{Name: "prosecutor_queue_jobs_recovered_total", Help: "Jobs taken up from processes that had died."}),
	}
	if q.o.Registry == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m, m.done, m.seconds, m.recovered} {
		if err := q.o.Registry.Register(c); err != nil {
			return nil, fmt.Errorf("registering the metrics of the queue: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) observe(kind string, err error, took time.Duration) {
	outcome := "failed"
	var snooze *snoozeError
	var cancel *cancelError
	switch {
	case err == nil:
		outcome = "done"
	case errors.As(err, &snooze):
		outcome = "snoozed"
	case errors.As(err, &cancel), errors.Is(err, context.Canceled):
		outcome = "cancelled"
	}
	m.done.WithLabelValues(kind, outcome).Inc()
	m.seconds.WithLabelValues(kind).Observe(took.Seconds())
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.up, m.jobs, m.oldest, m.processes} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It asks the database, for five seconds at most. A database that is away is no error:
// that is when the other metrics of the process are needed most.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s, err := m.q.Stats(ctx)
	if err != nil {
		ch <- prometheus.MustNewConstMetric(m.up, prometheus.GaugeValue, 0)
		return
	}
	ch <- prometheus.MustNewConstMetric(m.up, prometheus.GaugeValue, 1)
	for kind, states := range s.Jobs {
		for state, n := range states {
			ch <- prometheus.MustNewConstMetric(m.jobs, prometheus.GaugeValue, float64(n), kind, state)
		}
	}
	ch <- prometheus.MustNewConstMetric(m.oldest, prometheus.GaugeValue, s.Oldest.Seconds())
	ch <- prometheus.MustNewConstMetric(m.processes, prometheus.GaugeValue, float64(s.Processes))
}
