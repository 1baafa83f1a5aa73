package queue

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/store"
)

// Submit asks for a run and does with the jobs what follows, all in the transaction: the judge job of a new run is enqueued,
// that of a live one that was told of news is woken, those of superseded runs are cancelled, and the check runs of superseded
// runs are concluded by publish jobs. Everything that wants a head judged comes through here.
func Submit(ctx context.Context, q Queue, tx *store.Tx, req store.RunRequest) (store.Started, error) {
	s, err := tx.StartRun(ctx, req)
	if err != nil {
		return store.Started{}, err
	}
	if err := Ended(ctx, q, tx, s.Superseded); err != nil {
		return store.Started{}, err
	}
	if s.Refused != "" || !s.Run.State.Live() {
		return s, nil
	}
	if !s.Created {
		// A live run without a job would swallow every event about its head.
		alive, err := q.LiveTx(ctx, tx, s.Run.JudgeJob)
		if err != nil {
			return store.Started{}, err
		}
		if alive {
			if s.Poked {
				err = q.WakeTx(ctx, tx, s.Run.JudgeJob)
			}
			return s, err
		}
	}
	delay := After(0)
	if s.Created {
		delay = After(req.Delay)
	}
	s.Run.JudgeJob, err = q.EnqueueTx(ctx, tx, judge(s.Run), delay)
	if err != nil {
		return store.Started{}, err
	}
	return s, tx.SetJudgeJob(ctx, s.Run.ID, s.Run.JudgeJob)
}

func judge(r store.Run) JudgeArgs {
	return JudgeArgs{RepoID: r.RepoID, PR: r.PR, Head: r.Head, Generation: r.Generation, RunID: r.ID}
}

// Ended does with the jobs what follows from the end of runs, as the store's CancelPull and CancelGroup return them: judge jobs are
// cancelled, with what is measured for nobody else, and publish jobs conclude what check runs there are.
func Ended(ctx context.Context, q Queue, tx *store.Tx, runs []store.Run) error {
	for _, r := range runs {
		if err := unmeasure(ctx, q, tx, r); err != nil {
			return err
		}
		if err := q.CancelTx(ctx, tx, r.JudgeJob); err != nil {
			return err
		}
		if r.PublishedAt.IsZero() {
			if err := publish(ctx, q, tx, r.ID); err != nil {
				return err
			}
			continue
		}
		if err := q.CancelTx(ctx, tx, r.PublishJob); err != nil {
			return err
		}
	}
	return nil
}

// Abandoned does with the jobs what follows when we may not act for a repository any more, with the runs that the store's
// CancelInstallation and CancelRepository return: all are cancelled. Orphans finds what is to be published when we may again.
func Abandoned(ctx context.Context, q Queue, tx *store.Tx, runs []store.Run) error {
	for _, r := range runs {
		if err := unmeasure(ctx, q, tx, r); err != nil {
			return err
		}
		for _, job := range []int64{r.JudgeJob, r.PublishJob} {
			if err := q.CancelTx(ctx, tx, job); err != nil {
				return err
			}
		}
	}
	return nil
}

func publish(ctx context.Context, q Queue, tx *store.Tx, run int64) error {
	job, err := q.EnqueueTx(ctx, tx, PublishArgs{RunID: run})
	if err != nil {
		return err
	}
	return tx.SetPublishJob(ctx, run, job)
}

// Finish records what a worker found, enqueues the publish job, submits a run for the news that came meanwhile, if any, and ends
// what is measured for nobody else.
// The ruling of the ledger belongs into the same transaction. The error is *store.NotLiveError when the run is not the
// worker's any more; then the transaction must not be committed.
func Finish(ctx context.Context, q Queue, tx *store.Tx, run store.Run, v store.Verdict) (store.Finished, error) {
	f, err := tx.FinishRun(ctx, run, v)
	if err != nil {
		return store.Finished{}, err
	}
	if err := publish(ctx, q, tx, run.ID); err != nil {
		return store.Finished{}, err
	}
	return f, after(ctx, q, tx, f)
}

// Skip is Finish for a run that has nothing to publish. One that has a check run under way must not be skipped.
func Skip(ctx context.Context, q Queue, tx *store.Tx, run store.Run, reason string) (store.Finished, error) {
	f, err := tx.SkipRun(ctx, run, reason)
	if err != nil {
		return store.Finished{}, err
	}
	return f, after(ctx, q, tx, f)
}

// after does what follows from the end of a run by its worker. What is measured is looked at last, since the run that follows
// has the same head and may want it.
func after(ctx context.Context, q Queue, tx *store.Tx, f store.Finished) error {
	if err := followUp(ctx, q, tx, f); err != nil {
		return err
	}
	return unmeasure(ctx, q, tx, f.Run)
}

func followUp(ctx context.Context, q Queue, tx *store.Tx, f store.Finished) error {
	if f.Followup == nil {
		return nil
	}
	s, err := Submit(ctx, q, tx, *f.Followup)
	if err != nil || s.Refused == "" {
		return err
	}
	for _, d := range f.Followup.Deliveries {
		if err := tx.SetDelivery(ctx, d, store.Ignored, s.Refused); err != nil {
			return err
		}
	}
	return nil
}

// Fail records that a run was given up, cancels its judge job, and enqueues the publish job that says so.
func Fail(ctx context.Context, q Queue, tx *store.Tx, run int64, reason string) (store.Run, error) {
	r, err := tx.FailRun(ctx, run, reason)
	if err != nil {
		return store.Run{}, err
	}
	return r, Ended(ctx, q, tx, []store.Run{r})
}

// maxReason bounds the reason that is kept of a failure, in bytes.
const maxReason = 500

// GiveUp records that a job has failed for good: a judge job's run fails, and its check run is concluded by a publish job;
// the deliveries of any other job fail, so that a redelivery starts anew. A run whose publication failed stays to be
// published, and Orphans finds it. An error is logged: then Orphans finds the run.
func (q *River) GiveUp(ctx context.Context, job Job, cause error) {
	reason := cause.Error()
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "..."
	}
	q.o.Logger.ErrorContext(ctx, "a job was given up", "kind", job.Kind(), "job", JobID(ctx), "error", reason)
	err := q.st.InTx(ctx, func(tx *store.Tx) error {
		switch j := job.(type) {
		case JudgeArgs:
			return q.fail(ctx, tx, j.RunID, reason, q.workers.Failed)
		case PublishArgs:
			return nil
		default:
			return tx.FailDeliveries(ctx, JobID(ctx), reason)
		}
	})
	if j, ok := job.(JudgeArgs); ok && err != nil && q.workers.Failed != nil {
		// What a failure adds to the books must not keep its check run in progress for ever.
		q.o.Logger.ErrorContext(ctx, "a failed run could not be put on record", "run", j.RunID, "error", err)
		err = q.st.InTx(ctx, func(tx *store.Tx) error { return q.fail(ctx, tx, j.RunID, reason, nil) })
	}
	if err != nil {
		q.o.Logger.ErrorContext(ctx, "a job that was given up could not be recorded", "kind", job.Kind(), "job", JobID(ctx), "error", err)
	}
}

// fail is Fail for a run that may have ended already, which then stays as it is.
func (q *River) fail(ctx context.Context, tx *store.Tx, id int64, reason string, failed func(context.Context, *store.Tx, store.Run) error) error {
	run, err := Fail(ctx, q, tx, id, reason)
	var late *store.NotLiveError
	switch {
	case errors.As(err, &late), errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil || failed == nil:
		return err
	default:
		return failed(ctx, tx, run)
	}
}

// Wait puts a run to sleep, and returns what its worker has to return: a Snooze of d, or of no time at all when news have come
// since the run began. The error is *store.NotLiveError when the run is not the worker's any more.
func Wait(ctx context.Context, st *store.Store, run store.Run, reason string, d time.Duration) error {
	var again bool
	err := st.InTx(ctx, func(tx *store.Tx) (err error) {
		again, err = tx.WaitRun(ctx, run, reason)
		return err
	})
	if err != nil {
		return err
	}
	if again {
		d = 0
	}
	return Snooze(d)
}

// SetCheckRun records the check run that a worker has made. When the run has ended meanwhile, a publish job concludes it.
func SetCheckRun(ctx context.Context, q Queue, tx *store.Tx, run, checkRunID int64) (store.Run, error) {
	r, err := tx.SetCheckRun(ctx, run, checkRunID)
	if err != nil {
		return store.Run{}, err
	}
	if !r.State.Live() && r.PublishedAt.IsZero() {
		err = publish(ctx, q, tx, run)
	}
	return r, err
}

// Resume takes up a run that Orphans has found: a live one gets a judge job again, any other one a publish job.
func Resume(ctx context.Context, q Queue, tx *store.Tx, run int64) error {
	r, err := tx.Rehome(ctx, run)
	if err != nil {
		return err
	}
	if !r.State.Live() {
		if !r.PublishedAt.IsZero() {
			return nil
		}
		return publish(ctx, q, tx, run)
	}
	alive, err := q.LiveTx(ctx, tx, r.JudgeJob)
	if err != nil || alive {
		return err
	}
	job, err := q.EnqueueTx(ctx, tx, judge(r))
	if err != nil {
		return err
	}
	return tx.SetJudgeJob(ctx, run, job)
}
