// Package app is the GitHub App: it takes events in, has each head judged once, and shows the decision. The parts live in
// the packages below it; this one wires them and holds what carries a job out.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/prosecutor-bot/prosecutor/app/casefile"
	"github.com/prosecutor-bot/prosecutor/app/command"
	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/app/publish"
	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/app/webhook"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
	"github.com/prosecutor-bot/prosecutor/prosecutor/review"
)

// Options are what an App needs. Store, Clients, Judges and Secrets are required.
type Options struct {
	Store   *store.Store
	Clients *ghclient.Clients
	Judges  []judge.Judge
	Limits  map[string]judge.Limits // by judge
	AppID   int64
	Slug    string   // the App's name in URLs; its bot account is SLUG[bot]
	Secrets [][]byte // of the webhook; any of them is accepted
	GitDir  string   // for clones of changes that GitHub does not show in full; empty: such changes have unseen files
	Version string
	// HollowTest says how tests of changes are run. The zero value is the default of the server file.
	HollowTest config.HollowTestServer

	Queue    queue.Options
	Now      func() time.Time      // nil means time.Now
	Logger   *zerolog.Logger       // nil means no logs
	Registry prometheus.Registerer // nil means no metrics

	// SweepEvery is how often orphaned runs are looked for (3m), ReconcileEvery how often missed deliveries and heads are (10m).
	SweepEvery, ReconcileEvery time.Duration
	// ReconcileAfter is how long ago a pull request must have changed before its missing check run counts as missed (2m): a
	// younger one has its webhook under way.
	ReconcileAfter time.Duration
	// ReadingTime is how long a judge job may read its case, and then rule on it (10m). Its judges have what time they need.
	ReadingTime time.Duration
}

// App is the running GitHub App. It is safe for concurrent use.
type App struct {
	o         Options
	store     *store.Store
	queue     *queue.River
	clients   *ghclient.Clients
	casefiles *casefile.Collector
	publisher *publish.Publisher
	commands  *command.Handler
	panel     *panel.Panel
	pool      *judge.Pool
	bench     bench
	hook      http.Handler
	static    bool
	log       zerolog.Logger
	now       func() time.Time
	metrics   metrics
}

// New wires an App. Nothing works yet.
func New(ctx context.Context, o Options) (*App, error) {
	if o.Store == nil || o.Clients == nil || len(o.Judges) == 0 {
		return nil, errors.New("an App needs a store, the clients of GitHub and at least one judge")
	}
	a := &App{o: o, store: o.Store, clients: o.Clients, now: o.Now, static: review.StaticOnly(o.Judges), log: zerolog.Nop()}
	if a.now == nil {
		a.now = time.Now
	}
	if o.Logger != nil {
		a.log = *o.Logger
	}
	if a.o.SweepEvery <= 0 {
		a.o.SweepEvery = 3 * time.Minute
	}
	if a.o.ReconcileEvery <= 0 {
		a.o.ReconcileEvery = 10 * time.Minute
	}
	if a.o.ReconcileAfter <= 0 {
		a.o.ReconcileAfter = 2 * time.Minute
	}
	if a.o.ReadingTime <= 0 {
		a.o.ReadingTime = 10 * time.Minute
	}
	if a.o.HollowTest == (config.HollowTestServer{}) {
		a.o.HollowTest = config.DefaultServer().HollowTest
	}
	var err error
	if a.pool, err = judge.NewPool(o.Judges, judge.PoolOptions{Limits: o.Limits, Now: o.Now}); err != nil {
		return nil, err
	}
	a.metrics = newMetrics(a, o.Registry)
	a.panel = panel.New(a.pool, panel.Options{Now: o.Now})
	a.casefiles, err = casefile.New(casefile.Options{
		Clients: o.Clients, Now: o.Now, AppID: o.AppID, CheckName: publish.CheckName,
		GitDir: o.GitDir, HTML: o.Clients.HTMLURL().String(), Token: o.Clients.Token,
	})
	if err != nil {
		return nil, err
	}
	a.publisher = publish.New(publish.Options{Clients: o.Clients, Now: o.Now})
	a.commands = command.NewHandler(o.Clients)
	logs := slog.New(zerolog.NewSlogHandler(a.log))
	qo := o.Queue
	if qo.Logger == nil {
		qo.Logger = logs
	}
	if qo.Registry == nil {
		qo.Registry = o.Registry
	}
	if qo.Measurers == 0 {
		qo.Measurers = a.o.HollowTest.Concurrency
	}
	if qo.JudgeTimeout == 0 {
		qo.JudgeTimeout = longestJudging + 2*a.o.ReadingTime // a judge job has an allowance of its own
	}
	if qo.MeasureTimeout == 0 {
		qo.MeasureTimeout = time.Duration(a.o.HollowTest.MaxBudget) + fetchTime
	}
	qo = qo.WithDefaults()
	a.bench = bench{judges: a.pool.Infos(), limits: o.Limits, workers: qo.Judges}
	if a.queue, err = queue.New(ctx, o.Store, qo); err != nil {
		return nil, err
	}
	a.queue.Handle(queue.Workers{
		Judge: a.judge, Publish: a.publish, Resolve: a.resolving(), Command: a.command, Explain: a.explain, Measure: a.measure, GaveUp: a.gaveUp,
		Failed: a.recordFailure,
	})
	a.hook, err = webhook.New(webhook.Options{
		Secrets: o.Secrets, Store: o.Store, Queue: a.queue, AppID: o.AppID, Login: o.Slug + "[bot]", Logger: logs, Registry: o.Registry,
	})
	if err != nil {
		return nil, fmt.Errorf("the webhook: %w", err)
	}
	return a, nil
}

// Handler serves the webhook and the pages that an operator's machines ask: /healthz, /readyz.
func (a *App) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/github/hook", a.hook)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", a.ready)
	return mux
}

// Run works until ctx ends, and then stops within grace: jobs that are under way finish, or are handed back to the queue.
func (a *App) Run(ctx context.Context, grace time.Duration) error {
	if err := a.queue.Start(ctx); err != nil {
		return fmt.Errorf("starting the queue: %w", err)
	}
	sweep := time.NewTicker(a.o.SweepEvery)
	defer sweep.Stop()
	reconcile := time.NewTicker(a.o.ReconcileEvery)
	defer reconcile.Stop()
	a.Sweep(ctx)
	a.Reconcile(ctx)
	for {
		select {
		case <-ctx.Done():
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
			defer cancel()
			return a.queue.Stop(stop)
		case <-sweep.C:
			a.Sweep(ctx)
		case <-reconcile.C:
			a.Reconcile(ctx)
		}
	}
}

// Idle reports whether nothing is left to do: no job is due or runs, and no run waits to be published.
func (a *App) Idle(ctx context.Context) (bool, error) {
	stats, err := a.queue.Stats(ctx)
	if err != nil {
		return false, err
	}
	runs, err := a.store.UnpublishedRuns(ctx)
	if err != nil {
		return false, err
	}
	live, err := a.store.LiveRuns(ctx)
	return stats.Waiting()+stats.Running() == 0 && len(runs) == 0 && len(live) == 0, err
}
