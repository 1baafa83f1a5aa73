package ghclient

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the Prometheus metrics of the clients. Labels are from fixed sets: no installation, repository or path is a
// label. The lowest budget of all installations is one gauge; which installation it is, the log says.
type metrics struct {
	requests    *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	limits      *prometheus.CounterVec
	held        *prometheus.CounterVec
	retries     *prometheus.CounterVec
	minted      *prometheus.CounterVec
	cacheHits   prometheus.Counter
	cacheMisses prometheus.Counter
	skew        atomic.Int64
	all         []prometheus.Collector
}

const namespace, subsystem = "prosecutor", "github"

func newMetrics(c *Clients) *metrics {
	m := &metrics{}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
		m.all = append(m.all, v)
		return v
	}
	gauge := func(name, help string, value func() float64) {
		m.all = append(m.all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, value))
	}
	m.requests = counter("requests_total", "Requests sent to GitHub, by endpoint and status (0: no answer).", "method", "route", "status")
	m.duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "request_seconds",
		Help: "Time from sending a request to the end of its answer.", Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	}, []string{"method"})
	m.all = append(m.all, m.duration)
	m.limits = counter("limits_total", "Requests that GitHub refused for a rate limit, by kind.", "kind")
	m.held = counter("held_total", "Requests held back instead of sent, by reason.", "reason")
	m.retries = counter("retries_total", "Requests sent again, by reason.", "reason")
	m.minted = counter("tokens_total", "Installation tokens asked for, by result.", "result")
	cache := counter("cache_total", "Reads of immutable objects, by result.", "result")
	m.cacheHits, m.cacheMisses = cache.WithLabelValues("hit"), cache.WithLabelValues("miss")
	gauge("cache_bytes", "Memory of the cache of immutable objects.", func() float64 { return float64(c.cache.size()) })
	gauge("budget_lowest_ratio", "The lowest share of hourly REST requests that an installation has left; 1 when none is known.", c.lowestBudget)
	gauge("paused_installations", "Installations that wait for the end of a secondary limit.", c.paused)
	gauge("clock_skew_seconds", "How much the clock of this host is ahead of GitHub's.", func() float64 { return c.Skew().Seconds() })
	return m
}

// register adds the metrics to a registry, all or none.
func (m *metrics) register(r prometheus.Registerer) error {
	if r == nil {
		return nil
	}
	for i, collector := range m.all {
		if err := r.Register(collector); err != nil {
			for _, done := range m.all[:i] {
				r.Unregister(done)
			}
			return err
		}
	}
	return nil
}

// methods are those that have a label of their own.
var methods = map[string]bool{http.MethodGet: true, http.MethodPost: true, http.MethodPatch: true, http.MethodPut: true, http.MethodDelete: true, http.MethodHead: true}

func (m *metrics) request(req *http.Request, route string, status int, took time.Duration) {
	method := req.Method
	if !methods[method] {
		method = "other"
	}
	if status < 0 || status > 599 {
		status = 0
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.duration.WithLabelValues(method).Observe(took.Seconds())
}

// sawClock keeps the latest difference to GitHub's clock.
func (m *metrics) sawClock(ahead time.Duration) { m.skew.Store(int64(ahead)) }

// Skew returns how much the clock of this host was ahead of GitHub's at the last answer, negative when it was behind. It
// is exact to about a second, and zero within that.
func (c *Clients) Skew() time.Duration {
	d := time.Duration(c.metrics.skew.Load())
	if d.Abs() < 2*time.Second {
		return 0
	}
	return d
}

func (c *Clients) budgets() []Budget {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Budget, 0, len(c.accounts))
	for _, a := range c.accounts {
		out = append(out, a.budget())
	}
	return out
}

func (c *Clients) lowestBudget() float64 {
	lowest := 1.0
	for _, b := range c.budgets() {
		if b.Limit > 0 {
			lowest = min(lowest, float64(b.Remaining)/float64(b.Limit))
		}
	}
	return lowest
}

func (c *Clients) paused() float64 {
	n := 0
	for _, b := range c.budgets() {
		if !b.PausedUntil.IsZero() {
			n++
		}
	}
	return float64(n)
}
