// Package queue holds the durable jobs of the GitHub App, in the same database as its store, so that a job is enqueued in the
// transaction that makes it necessary. It is a narrow face of River.
package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/prosecutor-bot/prosecutor/app/store"
)

// Queue enqueues jobs and does them. Methods that end in Tx belong to the transaction that they are given: when it is not
// committed, they have not happened.
type Queue interface {
	// EnqueueTx enqueues a job and returns its id, or that of the job like it that is not finished.
	EnqueueTx(ctx context.Context, tx *store.Tx, job Job, opts ...EnqueueOption) (int64, error)
	// Enqueue is EnqueueTx in a transaction of its own.
	Enqueue(ctx context.Context, job Job, opts ...EnqueueOption) (int64, error)
	// CancelTx ends a job. One that runs, here or in another process, has its context cancelled. A job that is unknown or
	// finished stays as it is.
	CancelTx(ctx context.Context, tx *store.Tx, id int64) error
	// Cancel is CancelTx in a transaction of its own.
	Cancel(ctx context.Context, id int64) error
	// WakeTx has a job that sleeps, or waits for another attempt, run now. One that runs and then goes to sleep runs again at
	// once. A job that is unknown or finished stays as it is.
	WakeTx(ctx context.Context, tx *store.Tx, id int64) error
	// Wake is WakeTx in a transaction of its own.
	Wake(ctx context.Context, id int64) error
	// LiveTx reports whether a job is there and not finished. It stays as it is until the transaction ends.
	LiveTx(ctx context.Context, tx *store.Tx, id int64) (bool, error)
	// Stats counts the jobs.
	Stats(ctx context.Context) (Stats, error)
	// Orphans returns the ids of runs that are live or unpublished, and that no job is at. What cannot be published, because we
	// may not act for the repository, is none until we may.
	Orphans(ctx context.Context) ([]int64, error)
	// Start begins to work, until Stop. Handle must have been called.
	Start(ctx context.Context) error
	// Stop takes no more jobs, lets those under way finish for Options.Grace, cancels the contexts of the rest, and hands
	// back what they leave. It returns when no worker runs any more, or with the error of ctx.
	Stop(ctx context.Context) error
}

// Options of a queue. The zero value is ready for use; the workers are set by Handle.
type Options struct {
	// How many jobs of each kind this process does at the same time: judge (8), publish (4), resolve, command and explain
	// together (4), measure (1).
	Judges, Publishers, Controllers, Measurers int
	// JudgeTimeout is how long a judge job may run (10m), MeasureTimeout how long a measure job (30m), Timeout how long any
	// other one (2m). A job that seems to run for longer, and for two minutes longer than a judge job may, is taken for dead.
	JudgeTimeout, MeasureTimeout, Timeout time.Duration
	// Heartbeat is how often a process shows that it lives (15s), and Dead after what silence its jobs are given to others
	// (60s).
	Heartbeat, Dead time.Duration
	// Grace is how long Stop waits for jobs before it cancels them (20s).
	Grace time.Duration
	// Retention is how long finished jobs are kept to be looked at (72h).
	Retention time.Duration
	// Poll is how often the database is asked for jobs that nobody announced (1s).
	Poll time.Duration
	// RetryAfter says how long to wait after the n-th failed attempt, from 1; by default 2s, 10s, 30s, 2m, 5m, 10m.
	RetryAfter func(n int) time.Duration
	Logger     *slog.Logger          // discards by default
	Registry   prometheus.Registerer // of the metrics; may be nil
	// quick drops the random delays at the start, for tests.
	quick bool
}

// WithDefaults returns the options with the defaults in place of what is not set.
func (o Options) WithDefaults() Options {
	number := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	duration := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	number(&o.Judges, 8)
	number(&o.Publishers, 4)
	number(&o.Controllers, 4)
	number(&o.Measurers, 1)
	duration(&o.JudgeTimeout, 10*time.Minute)
	duration(&o.MeasureTimeout, 30*time.Minute)
	duration(&o.Timeout, 2*time.Minute)
	duration(&o.Heartbeat, 15*time.Second)
	duration(&o.Dead, 60*time.Second)
	duration(&o.Grace, 20*time.Second)
	duration(&o.Retention, 72*time.Hour)
	duration(&o.Poll, time.Second)
	if o.RetryAfter == nil {
		o.RetryAfter = retryAfter
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func retryAfter(n int) time.Duration {
	steps := []time.Duration{2 * time.Second, 10 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute}
	return steps[min(max(n, 1), len(steps))-1]
}

// EnqueueOption adjusts EnqueueTx.
type EnqueueOption func(*river.InsertOpts)

// After delays a job. A job like it that is there already keeps its time.
func After(d time.Duration) EnqueueOption {
	return func(o *river.InsertOpts) {
		if d > 0 {
			o.ScheduledAt = time.Now().Add(d)
		}
	}
}

// River is a Queue in SQLite or PostgreSQL.
type River struct {
	st      *store.Store
	o       Options
	id      string // of this process
	client  *river.Client[*sql.Tx]
	workers Workers
	metrics *metrics

	mu       sync.Mutex
	running  bool
	stopped  bool
	presence *presence // SQLite: the lock that shows that this process lives
	cancel   context.CancelFunc
	beats    sync.WaitGroup
}

var _ Queue = (*River)(nil)

// New makes a queue over the store's database and brings its tables up to date. It does not work yet.
func New(ctx context.Context, st *store.Store, o Options) (*River, error) {
	q := &River{st: st, o: o.WithDefaults(), id: uuid.NewString()}
	var driver riverdriver.Driver[*sql.Tx]
	if st.Dialect() == store.Postgres {
		driver = riverdatabasesql.NewWithPgxListener(st.DB(), st.Listener())
	} else {
		driver = riversqlite.New(st.DB())
	}
	err := st.Migrate(ctx, func(ctx context.Context) error {
		m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: q.o.Logger})
		if err != nil {
			return err
		}
		if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return err
		}
		return q.createTables(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the queue: %w", err)
	}
	workers := river.NewWorkers()
	err = errors.Join(
		river.AddWorkerSafely(workers, &worker[JudgeArgs]{q: q, pick: func(w *Workers) func(context.Context, JudgeArgs) error { return w.Judge }}),
		river.AddWorkerSafely(workers, &worker[PublishArgs]{q: q, pick: func(w *Workers) func(context.Context, PublishArgs) error { return w.Publish }}),
		river.AddWorkerSafely(workers, &worker[ResolveArgs]{q: q, pick: func(w *Workers) func(context.Context, ResolveArgs) error { return w.Resolve }}),
		river.AddWorkerSafely(workers, &worker[CommandArgs]{q: q, pick: func(w *Workers) func(context.Context, CommandArgs) error { return w.Command }}),
		river.AddWorkerSafely(workers, &worker[ExplainArgs]{q: q, pick: func(w *Workers) func(context.Context, ExplainArgs) error { return w.Explain }}),
		river.AddWorkerSafely(workers, &worker[MeasureArgs]{q: q, pick: func(w *Workers) func(context.Context, MeasureArgs) error { return w.Measure }}),
	)
	if err != nil {
		return nil, fmt.Errorf("preparing the queue: %w", err)
	}
	q.client, err = river.NewClient(driver, &river.Config{
		ID:                          q.id,
		Workers:                     workers,
		Queues:                      map[string]river.QueueConfig{laneJudge: {MaxWorkers: q.o.Judges}, lanePublish: {MaxWorkers: q.o.Publishers}, laneControl: {MaxWorkers: q.o.Controllers}, laneMeasure: {MaxWorkers: q.o.Measurers}},
		JobTimeout:                  q.o.Timeout,
		RescueStuckJobsAfter:        max(q.o.JudgeTimeout, q.o.Timeout) + 2*time.Minute,
		SoftStopTimeout:             q.o.Grace,
		CompletedJobRetentionPeriod: q.o.Retention,
		CancelledJobRetentionPeriod: q.o.Retention,
		DiscardedJobRetentionPeriod: max(q.o.Retention, 7*24*time.Hour),
		FetchPollInterval:           q.o.Poll,
		FetchCooldown:               min(q.o.Poll, 100*time.Millisecond),
		RetryPolicy:                 retryPolicy{q.o.RetryAfter},
		Logger:                      q.o.Logger,
		TestOnly:                    q.o.quick,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the queue: %w", err)
	}
	if q.metrics, err = newMetrics(q); err != nil {
		return nil, err
	}
	return q, nil
}

// Handle sets the workers. It must be called before Start.
func (q *River) Handle(w Workers) { q.workers = w }

type retryPolicy struct{ after func(int) time.Duration }

// NextRetry implements river.ClientRetryPolicy.
func (p retryPolicy) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().Add(p.after(len(job.Errors) + 1))
}

// EnqueueTx implements Queue.
func (q *River) EnqueueTx(ctx context.Context, tx *store.Tx, job Job, opts ...EnqueueOption) (int64, error) {
	o := &river.InsertOpts{Queue: job.lane(), MaxAttempts: job.attempts(), UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: live}}
	for _, opt := range opts {
		opt(o)
	}
	res, err := q.client.InsertTx(ctx, tx.SQL(), job, o)
	if err != nil {
		return 0, fmt.Errorf("enqueueing a %s job: %w", job.Kind(), err)
	}
	if res.UniqueSkippedAsDuplicate && again(job) {
		// The one that is there may run, and have read past what this one is for.
		if err := q.runAgain(ctx, tx, res.Job.ID); err != nil {
			return 0, err
		}
	}
	return res.Job.ID, nil
}

// Enqueue implements Queue.
func (q *River) Enqueue(ctx context.Context, job Job, opts ...EnqueueOption) (id int64, err error) {
	err = q.st.InTx(ctx, func(tx *store.Tx) error {
		id, err = q.EnqueueTx(ctx, tx, job, opts...)
		return err
	})
	return id, err
}

// CancelTx implements Queue.
func (q *River) CancelTx(ctx context.Context, tx *store.Tx, id int64) error {
	if id == 0 {
		return nil
	}
	if _, err := q.client.JobCancelTx(ctx, tx.SQL(), id); err != nil && !errors.Is(err, river.ErrNotFound) {
		return fmt.Errorf("cancelling job %d: %w", id, err)
	}
	return nil
}

// Cancel implements Queue.
func (q *River) Cancel(ctx context.Context, id int64) error {
	return q.st.InTx(ctx, func(tx *store.Tx) error { return q.CancelTx(ctx, tx, id) })
}

// Wake implements Queue.
func (q *River) Wake(ctx context.Context, id int64) error {
	return q.st.InTx(ctx, func(tx *store.Tx) error { return q.WakeTx(ctx, tx, id) })
}

// Start implements Queue.
func (q *River) Start(ctx context.Context) error {
	if q.workers.Judge == nil || q.workers.Publish == nil || q.workers.Resolve == nil || q.workers.Command == nil || q.workers.Explain == nil || q.workers.Measure == nil {
		return errors.New("the queue was started without its workers")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running {
		return errors.New("the queue was started twice")
	}
	if err := q.appear(ctx); err != nil {
		return fmt.Errorf("starting the queue: %w", err)
	}
	// The queue is stopped by Stop and not by the context, so that jobs are handed back in order.
	ctx, q.cancel = context.WithCancel(context.WithoutCancel(ctx))
	events, unsubscribe := q.client.Subscribe(river.EventKindJobSnoozed, river.EventKindJobCompleted)
	if err := q.client.Start(ctx); err != nil {
		unsubscribe()
		q.cancel()
		return errors.Join(fmt.Errorf("starting the queue: %w", err), q.disappear(ctx))
	}
	q.running, q.stopped = true, false
	q.beats.Go(func() { q.beat(ctx) })
	q.beats.Go(func() {
		defer unsubscribe()
		q.watch(ctx, events)
	})
	return nil
}

// Stop implements Queue.
func (q *River) Stop(ctx context.Context) error {
	q.mu.Lock()
	if !q.running {
		q.mu.Unlock()
		return nil
	}
	q.stopped = true
	q.mu.Unlock()
	if err := q.client.Stop(ctx); err != nil {
		// Somebody ignores the end of its context. Its job is taken up again when this process is silent.
		return fmt.Errorf("stopping the queue: %w", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cancel()
	q.beats.Wait()
	q.running = false
	if err := q.disappear(ctx); err != nil {
		return fmt.Errorf("stopping the queue: %w", err)
	}
	return nil
}

func (q *River) stopping() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stopped
}

func stack() string { return string(debug.Stack()) }
