package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
	"github.com/prosecutor-bot/prosecutor/prosecutor/review"
)

// metrics count what judging comes to. Labels are bounded: judges are those of the server file.
type metrics struct {
	passes    *prometheus.CounterVec
	entries   *prometheus.CounterVec
	decisions *prometheus.CounterVec
}

func newMetrics(a *App, registry prometheus.Registerer) metrics {
	m := metrics{
		passes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "prosecutor_passes_total", Help: "Passes of judges, by verdict and kind of failure.",
		}, []string{"judge", "verdict", "kind"}),
		entries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "prosecutor_judge_failures_total", Help: "Lenses without a verdict that were held or let through.",
		}, []string{"effect"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "prosecutor_rulings_total", Help: "Rulings of the gate, by outcome and decision.",
		}, []string{"outcome", "decision"}),
	}
	if registry != nil {
		registry.MustRegister(m.passes, m.entries, m.decisions, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "prosecutor_providers_exhausted", Help: "Providers that are passed over until their credit or quota is back.",
		}, func() float64 { return float64(len(a.pool.Breakers())) }))
	}
	return m
}

// count counts a ruling that was stored.
func (m metrics) count(r *review.Result) {
	m.decisions.WithLabelValues(string(r.Ruling.Outcome.Public()), string(r.Ruling.Decision)).Inc()
	for _, e := range r.Ruling.Entries {
		m.entries.WithLabelValues(string(e.Kind)).Inc()
	}
}

// observe counts a pass.
func (m metrics) observe(e panel.Event) {
	if e.Kind == panel.PassDone {
		m.passes.WithLabelValues(e.Judge.ID, string(e.Verdict), string(e.ErrorKind)).Inc()
	}
}

// told counts passes, and logs a judge that failed: an exhausted provider in particular must not be swallowed.
func (w *judging) told(e panel.Event) {
	w.a.metrics.observe(e)
	if e.Kind == panel.FellBack || (e.Kind == panel.Finished && e.ErrorKind != "") {
		w.a.log.Warn().Str("judge", e.Judge.ID).Str("provider", e.Judge.Provider).Str("kind", string(e.ErrorKind)).
			Str("lens", string(e.Lens)).Int64("run", w.run.ID).Err(e.Err).Msg("a judge failed")
	}
}
