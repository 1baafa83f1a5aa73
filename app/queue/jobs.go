package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/prosecutor-bot/prosecutor/app/store"
)

// Job is a piece of work. It names what it is about and carries no content. A job whose unique fields equal those of one that
// is not finished is not enqueued again.
type Job interface {
	river.JobArgs
	// lane is the queue the job waits in, so that the long jobs never keep the short ones waiting.
	lane() string
	attempts() int
}

// The lanes.
const (
	laneJudge   = "judge"
	lanePublish = "publish"
	laneControl = "control"
	laneMeasure = "measure"
)

// JudgeArgs is a job that judges a run.
type JudgeArgs struct {
	RepoID     int64  `json:"repo_id" river:"unique"`
	PR         int    `json:"pr" river:"unique"`
	Head       string `json:"head" river:"unique"`
	Generation int    `json:"generation" river:"unique"`
	RunID      int64  `json:"run_id"`
}

// PublishArgs is a job that publishes what came of a run, or concludes its check run when nothing did.
type PublishArgs struct {
	RunID int64 `json:"run_id" river:"unique"`
}

// ResolveArgs is a job that finds the pull requests an event is about, which takes a request to GitHub that the receipt of the
// webhook has no time for, and starts their runs. Either SHA or Ref is set. The deliveries it is for are those that the store
// has down for the job.
type ResolveArgs struct {
	RepoID int64  `json:"repo_id" river:"unique"`
	SHA    string `json:"sha" river:"unique"`
	Ref    string `json:"ref" river:"unique"` // refs/heads/BRANCH that pull requests ask for, or refs/pull/N/...
	// Event tells apart what has different effects on the same commit.
	Event string `json:"event" river:"unique"`
}

// CommandArgs is a job that carries out what a person asked for in a comment, by a button or by a label, after looking up
// whether that person may.
type CommandArgs struct {
	Delivery int64 `json:"delivery" river:"unique"`
}

// ExplainArgs is a job that posts the explanation of a run's decision. However often it is asked for, in whichever process, there
// is one such job at a time, so that the next one finds what was posted. The deliveries it is for are those that the store has
// down for the job.
type ExplainArgs struct {
	RunID int64 `json:"run_id" river:"unique"`
}

// MeasureArgs is a job that runs the tests of a head against mutants of its change, in the sandbox, and stores the evidence.
type MeasureArgs struct {
	Measurement int64 `json:"measurement" river:"unique"`
}

// Kind implements river.JobArgs. A kind must never be renamed: jobs of the old name would be stranded.
func (JudgeArgs) Kind() string { return "judge" }

// Kind implements river.JobArgs.
func (PublishArgs) Kind() string { return "publish" }

// Kind implements river.JobArgs.
func (ResolveArgs) Kind() string { return "resolve" }

// Kind implements river.JobArgs.
func (CommandArgs) Kind() string { return "command" }

// Kind implements river.JobArgs.
func (ExplainArgs) Kind() string { return "explain" }

// Kind implements river.JobArgs.
func (MeasureArgs) Kind() string { return "measure" }

func (JudgeArgs) lane() string   { return laneJudge }
func (PublishArgs) lane() string { return lanePublish }
func (ResolveArgs) lane() string { return laneControl }
func (CommandArgs) lane() string { return laneControl }
func (ExplainArgs) lane() string { return laneControl }
func (MeasureArgs) lane() string { return laneMeasure }

func (JudgeArgs) attempts() int { return 6 }

// Publishing has been paid for, so it is tried for about an hour.
func (PublishArgs) attempts() int { return 12 }
func (ResolveArgs) attempts() int { return 8 }
func (CommandArgs) attempts() int { return 8 }
func (ExplainArgs) attempts() int { return 8 }

// A measurement fails where the repository cannot be fetched. What its tests do is no failure.
func (MeasureArgs) attempts() int { return 5 }

// again reports whether a job that runs already has to run once more when another one like it is enqueued. A judge job does
// not: its run knows of the news. A command is given once.
func again(job Job) bool {
	switch job.(type) {
	case PublishArgs, ResolveArgs, ExplainArgs, MeasureArgs:
		return true
	default:
		return false
	}
}

// live are the states of a job that is not finished. Uniqueness looks at these only: a finished job must not swallow the next
// one like it.
var live = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled,
}

// Workers do the jobs. A worker returns nil when its job is done, Snooze to be called again later, Cancel when calling it again
// would be of no use, and any other error to be called again soon, a limited number of times. Its context ends when the job is
// cancelled, when it has run too long, and when the process stops; a worker that returns the context's error then is called
// again by the next process. A worker can be called twice for one job, when its process seemed to have died, so it must be
// idempotent. A panic is an error.
type Workers struct {
	Judge   func(ctx context.Context, job JudgeArgs) error
	Publish func(ctx context.Context, job PublishArgs) error
	Resolve func(ctx context.Context, job ResolveArgs) error
	Command func(ctx context.Context, job CommandArgs) error
	Explain func(ctx context.Context, job ExplainArgs) error
	Measure func(ctx context.Context, job MeasureArgs) error
	// GaveUp is called after the last attempt of a job has failed, or Cancel was returned, before the job is put away. The
	// default is the queue's GiveUp. It is not called for a job that died with its processes: Orphans finds the runs of those.
	GaveUp func(ctx context.Context, job Job, cause error)
	// Failed is called by the queue's GiveUp for a run that has failed, in the transaction that says so. When it fails, the run
	// fails without it. It may be nil.
	Failed func(ctx context.Context, tx *store.Tx, run store.Run) error
}

// Snooze is the error that a worker returns to be called again after d, at once when d is not positive. It uses up no attempt
// and holds no worker meanwhile.
func Snooze(d time.Duration) error { return &snoozeError{max(d, 0)} }

type snoozeError struct{ d time.Duration }

func (e *snoozeError) Error() string { return fmt.Sprintf("snoozed for %v", e.d) }

// Cancel is the error that a worker returns when calling it again would be of no use.
func Cancel(err error) error {
	if err == nil {
		err = errors.New("cancelled")
	}
	return &cancelError{err}
}

type cancelError struct{ err error }

func (e *cancelError) Error() string { return e.err.Error() }
func (e *cancelError) Unwrap() error { return e.err }

type attemptKey struct{}

type attempt struct {
	job   int64
	n, of int
	begun int
}

// Attempt is which attempt of its job a worker is called for, from 1, and how many there are at most. It is 0, 0 outside of a
// worker.
func Attempt(ctx context.Context) (n, of int) {
	a, _ := ctx.Value(attemptKey{}).(attempt)
	return a.n, a.of
}

// Begun is how often a worker was called for its job so far, from 1, whether the attempt counted or not: an attempt that died with
// its process, or was put off, does not, and may have done a part. It is 0 outside of a worker.
func Begun(ctx context.Context) int {
	a, _ := ctx.Value(attemptKey{}).(attempt)
	return a.begun
}

// JobID is the job that a worker, or GaveUp, is called for; 0 outside of those.
func JobID(ctx context.Context) int64 {
	a, _ := ctx.Value(attemptKey{}).(attempt)
	return a.job
}

// worker adapts a function of Workers to River.
type worker[T Job] struct {
	river.WorkerDefaults[T]
	q    *River
	pick func(*Workers) func(context.Context, T) error
}

// Timeout implements river.Worker.
func (w *worker[T]) Timeout(*river.Job[T]) time.Duration {
	var job T
	switch job.lane() {
	case laneJudge:
		return w.q.o.JudgeTimeout
	case laneMeasure:
		return w.q.o.MeasureTimeout
	default:
		return w.q.o.Timeout
	}
}

// Work implements river.Worker.
func (w *worker[T]) Work(ctx context.Context, job *river.Job[T]) error {
	// What woke the job has done so: whatever comes from here on is newer than what the worker reads.
	if err := w.q.clearWake(ctx, job.ID); err != nil {
		return err
	}
	began := time.Now()
	ctx = context.WithValue(ctx, attemptKey{}, attempt{job.ID, job.Attempt, job.MaxAttempts, len(job.AttemptedBy)})
	err := w.run(ctx, job.Args)
	w.q.metrics.observe(job.Kind, err, time.Since(began))
	var snooze *snoozeError
	var cancel *cancelError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &snooze):
		return river.JobSnooze(snooze.d)
	case errors.As(err, &cancel):
		w.gaveUp(ctx, job.Args, cancel.err)
		return river.JobCancel(cancel.err)
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), rivertype.ErrJobCancelledRemotely):
		return river.JobCancel(err)
	case job.Attempt >= job.MaxAttempts && !w.q.stopping():
		w.gaveUp(ctx, job.Args, err)
	}
	return err
}

// run calls the worker, and turns a panic into an error, so that a last attempt that panics is seen to be the last one.
func (w *worker[T]) run(ctx context.Context, job T) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: stack()}
			w.q.o.Logger.ErrorContext(ctx, "a worker panicked", "kind", job.Kind(), "panic", fmt.Sprint(p), "stack", err.(*PanicError).Stack) //nolint:errorlint // made above
		}
	}()
	return w.pick(&w.q.workers)(ctx, job)
}

func (w *worker[T]) gaveUp(ctx context.Context, job T, cause error) {
	give := w.q.workers.GaveUp
	if give == nil {
		give = w.q.GiveUp
	}
	// The job's own time may be up, and that is no reason not to say so.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.q.o.Timeout)
	defer cancel()
	give(ctx, job, cause)
}

// PanicError is the error of a worker that panicked.
type PanicError struct {
	Value any
	Stack string
}

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
