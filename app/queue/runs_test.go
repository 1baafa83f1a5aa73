package queue

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/app/store/storetest"
	"github.com/prosecutor-bot/prosecutor/convergence"
)

func request(head string) store.RunRequest {
	return store.RunRequest{Installation: 9, RepoID: 1, Owner: "acme", Repo: "pay", PR: 2, Head: head, Base: "base", Cause: store.CausePush, Event: convergence.EventPush}
}

func evidence(head string) store.RunRequest {
	r := request(head)
	r.Cause, r.Event = store.CauseEvidence, "check_run.completed"
	return r
}

func submit(t *testing.T, q *River, req store.RunRequest) store.Started {
	t.Helper()
	var s store.Started
	storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) (err error) {
		s, err = Submit(ctx, q, tx, req)
		return err
	})
	return s
}

func run(t *testing.T, q *River, id int64) store.Run {
	t.Helper()
	r, err := q.st.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func beginRun(t *testing.T, q *River, id int64) store.Run {
	t.Helper()
	var r store.Run
	storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) (err error) {
		r, err = tx.BeginRun(ctx, id)
		return err
	})
	return r
}

func finish(t *testing.T, q *River, r store.Run) store.Finished {
	t.Helper()
	var f store.Finished
	storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) (err error) {
		f, err = Finish(ctx, q, tx, r, store.Verdict{Conclusion: "success", Result: []byte(`{"decision":"ADVANCE"}`), Judged: true})
		return err
	})
	return f
}

func testSubmit(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	req := request("a")
	req.Delay = time.Hour
	s := submit(t, q, req)
	if !s.Created || s.Run.Generation != 1 || state(t, q, s.Run.JudgeJob) != "scheduled" {
		t.Fatalf("%+v, job %s", s, state(t, q, s.Run.JudgeJob))
	}
	if got := run(t, q, s.Run.ID); got.JudgeJob != s.Run.JudgeJob || got.State != store.RunQueued {
		t.Errorf("%+v", got)
	}
	// The same head again: nothing new.
	again := submit(t, q, req)
	if again.Created || again.Poked || again.Run.ID != s.Run.ID || state(t, q, s.Run.JudgeJob) != "scheduled" {
		t.Errorf("%+v", again)
	}
	// News have the job run now.
	news := submit(t, q, evidence("a"))
	if news.Created || !news.Poked || news.Run.ID != s.Run.ID || state(t, q, s.Run.JudgeJob) != "available" {
		t.Errorf("%+v, job %s", news, state(t, q, s.Run.JudgeJob))
	}
	if n := jobs(t, q); n != 1 {
		t.Errorf("%d jobs", n)
	}
}

// testSubmitDead joins a run whose job is gone: it gets another one, or it would swallow every event from then on.
func testSubmitDead(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	s := submit(t, q, request("a"))
	if err := q.Cancel(t.Context(), s.Run.JudgeJob); err != nil {
		t.Fatal(err)
	}
	again := submit(t, q, request("a"))
	if again.Created || again.Run.ID != s.Run.ID || again.Run.JudgeJob == s.Run.JudgeJob || state(t, q, again.Run.JudgeJob) != "available" {
		t.Errorf("%+v", again)
	}
}

func testSupersede(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	began := make(chan store.Run, 10)
	ended := make(chan error, 10)
	published := make(chan int64, 10)
	w := idle()
	w.Judge = func(ctx context.Context, j JudgeArgs) error {
		if j.Head != "old" {
			return nil
		}
		var r store.Run
		err := q.st.InTx(ctx, func(tx *store.Tx) (err error) {
			r, err = tx.BeginRun(ctx, j.RunID)
			return err
		})
		if err != nil {
			return err
		}
		began <- r
		<-ctx.Done()
		// What it has found comes too late.
		err = q.st.InTx(context.WithoutCancel(ctx), func(tx *store.Tx) error {
			_, err := Finish(context.WithoutCancel(ctx), q, tx, r, store.Verdict{Conclusion: "success"})
			return err
		})
		ended <- err
		return ctx.Err()
	}
	w.Publish = func(_ context.Context, j PublishArgs) error {
		published <- j.RunID
		return nil
	}
	begin(t, q, w)
	old := submit(t, q, request("old"))
	receive(t, began, "job")
	s := submit(t, q, request("new"))
	if !s.Created || len(s.Superseded) != 1 || s.Superseded[0].ID != old.Run.ID {
		t.Fatalf("%+v", s)
	}
	var late *store.NotLiveError
	if err := receive(t, ended, "end"); !errors.As(err, &late) || late.Run.State != store.RunSuperseded {
		t.Error(err)
	}
	if id := receive(t, published, "publication"); id != old.Run.ID {
		t.Errorf("published run %d", id)
	}
	got := run(t, q, old.Run.ID)
	if got.State != store.RunSuperseded || got.SupersededBy != "new" || got.Reason != "superseded by new" {
		t.Errorf("%+v", got)
	}
	until(t, "the old job was cancelled", func() bool { return state(t, q, old.Run.JudgeJob) == "cancelled" })
	// One that had not begun has nothing to conclude.
	before := jobs(t, q)
	storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) error {
		runs, err := tx.CancelPull(ctx, 1, 2, "closed")
		if err != nil || len(runs) != 1 || runs[0].State != store.RunCancelled || runs[0].PublishedAt.IsZero() {
			t.Errorf("%+v", runs)
		}
		return errors.Join(err, Ended(ctx, q, tx, runs))
	})
	if n := jobs(t, q); n != before {
		t.Errorf("%d more jobs", n-before)
	}
}

// testFollowUp has news come while a run is judged, which may have read past them.
func testFollowUp(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	s := submit(t, q, request("a"))
	r := beginRun(t, q, s.Run.ID)
	if got := submit(t, q, evidence("a")); got.Created || !got.Poked {
		t.Errorf("%+v", got)
	}
	f := finish(t, q, r)
	if f.Followup == nil || f.Run.State != store.RunJudged || state(t, q, run(t, q, r.ID).PublishJob) != "available" {
		t.Fatalf("%+v", f)
	}
	live, err := q.st.LiveRuns(t.Context())
	if err != nil || len(live) != 1 || live[0].Generation != 2 || live[0].Cause != store.CauseEvidence || live[0].JudgeJob == 0 {
		t.Fatalf("%+v, %v", live, err)
	}
	// Nothing came meanwhile: nothing follows.
	if f := finish(t, q, beginRun(t, q, live[0].ID)); f.Followup != nil {
		t.Errorf("%+v", f)
	}
	if live, err := q.st.LiveRuns(t.Context()); err != nil || len(live) != 0 {
		t.Errorf("%+v, %v", live, err)
	}
}

// testLateCheckRun has a run superseded between the making of its check run and the recording of it.
func testLateCheckRun(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	s := submit(t, q, request("old"))
	beginRun(t, q, s.Run.ID)
	submit(t, q, request("new"))
	// The publisher has found no check run, and has taken it that there is none.
	storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.PublishRun(ctx, s.Run.ID, 0, "", nil)
		return err
	})
	if err := q.Cancel(t.Context(), run(t, q, s.Run.ID).PublishJob); err != nil {
		t.Fatal(err)
	}
	storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) error {
		_, err := SetCheckRun(ctx, q, tx, s.Run.ID, 77)
		return err
	})
	r := run(t, q, s.Run.ID)
	if r.CheckRunID != 77 || !r.PublishedAt.IsZero() || r.State != store.RunSuperseded || state(t, q, r.PublishJob) != "available" {
		t.Errorf("%+v", r)
	}
	// A publisher that had read the run before that knows of no check run, and must not say that all is published.
	err := q.st.InTx(t.Context(), func(tx *store.Tx) error {
		_, err := tx.PublishRun(t.Context(), s.Run.ID, 0, "", nil)
		return err
	})
	if r := run(t, q, s.Run.ID); err == nil || !r.PublishedAt.IsZero() {
		t.Errorf("check run 77 was never concluded and counts as published: %v, %+v", err, r)
	}
}

func testOrphans(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	orphans := func() []int64 {
		ids, err := q.Orphans(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	live := submit(t, q, request("a")).Run
	other := request("b")
	other.PR = 3
	done := submit(t, q, other).Run
	finish(t, q, beginRun(t, q, done.ID))
	if ids := orphans(); len(ids) != 0 {
		t.Fatalf("runs %v have jobs", ids)
	}
	for _, job := range []int64{live.JudgeJob, run(t, q, done.ID).PublishJob} {
		if err := q.Cancel(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	if ids := orphans(); !slices.Equal(ids, []int64{live.ID, done.ID}) {
		t.Fatalf("runs %v", ids)
	}
	see := func(installation int64, removed bool) {
		storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) error {
			return tx.SeeRepository(ctx, store.Repository{ID: 1, Installation: installation, Owner: "acme", Name: "pay", Removed: removed})
		})
	}
	see(9, true)
	if ids := orphans(); !slices.Equal(ids, []int64{live.ID}) {
		t.Errorf("runs %v, although nothing can be published", ids)
	}
	see(10, false)
	storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(Resume(ctx, q, tx, live.ID), Resume(ctx, q, tx, done.ID))
	})
	if ids := orphans(); len(ids) != 0 {
		t.Fatalf("runs %v have jobs again", ids)
	}
	if r := run(t, q, done.ID); r.Installation != 10 {
		t.Errorf("a run of a repository of installation 10 is resumed for %d", r.Installation)
	}
	before := jobs(t, q)
	storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(Resume(ctx, q, tx, live.ID), Resume(ctx, q, tx, done.ID))
	})
	if n := jobs(t, q); n != before {
		t.Errorf("%d more jobs", n-before)
	}
	// A run that is given up is not live, and its failure is to be published.
	storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) error {
		r, err := Fail(ctx, q, tx, live.ID, "it crashed")
		if err != nil || r.State != store.RunFailed {
			t.Errorf("%+v", r)
		}
		return err
	})
	if r := run(t, q, live.ID); state(t, q, r.PublishJob) != "available" || state(t, q, r.JudgeJob) != "cancelled" {
		t.Errorf("%+v", r)
	}
}

// testGiveUp has the workers fail for good, and nobody say what follows from that.
func testGiveUp(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	var delivery int64
	var command int64
	storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) error {
		d, _, err := tx.Receive(ctx, store.Delivery{GUID: "g", Payload: []byte("{}")})
		if err != nil {
			return err
		}
		delivery = d.ID
		if command, err = q.EnqueueTx(ctx, tx, CommandArgs{Delivery: d.ID}); err != nil {
			return err
		}
		return errors.Join(tx.SetDeliveryJob(ctx, d.ID, command), tx.SetDelivery(ctx, d.ID, store.Enqueued, ""))
	})
	judged := submit(t, q, request("a")).Run
	published := make(chan int64, 10)
	w := idle()
	w.Judge = func(context.Context, JudgeArgs) error { return Cancel(errors.New(strings.Repeat("ö", maxReason))) }
	w.Command = func(context.Context, CommandArgs) error { return Cancel(errBoom) }
	w.Publish = func(_ context.Context, j PublishArgs) error {
		published <- j.RunID
		return nil
	}
	begin(t, q, w)
	if id := receive(t, published, "publication"); id != judged.ID {
		t.Errorf("run %d was published", id)
	}
	r := run(t, q, judged.ID)
	if r.State != store.RunFailed || !strings.HasSuffix(r.Reason, "ö...") || len(r.Reason) > maxReason+3 {
		t.Errorf("%+v", r)
	}
	until(t, "the delivery failed", func() bool {
		d, err := q.st.Delivery(t.Context(), delivery)
		return err == nil && d.State == store.Failed && d.Reason == "boom"
	})
}

// testWait has a worker wait for evidence that comes before it sleeps, and again after.
func testWait(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	began, release := make(chan int, 10), make(chan struct{}, 10)
	w := idle()
	w.Judge = func(ctx context.Context, j JudgeArgs) error {
		var r store.Run
		if err := q.st.InTx(ctx, func(tx *store.Tx) (err error) {
			r, err = tx.BeginRun(ctx, j.RunID)
			return err
		}); err != nil {
			return err
		}
		began <- r.Claim
		<-release
		return Wait(ctx, q.st, r, "waiting for CodeQL", time.Hour)
	}
	begin(t, q, w)
	s := submit(t, q, request("a"))
	receive(t, began, "first look")
	submit(t, q, evidence("a")) // it has looked already, and does not sleep yet
	release <- struct{}{}
	receive(t, began, "second look")
	release <- struct{}{}
	until(t, "the run waited", func() bool {
		return run(t, q, s.Run.ID).State == store.RunWaiting && state(t, q, s.Run.JudgeJob) == "scheduled"
	})
	submit(t, q, evidence("a"))
	receive(t, began, "third look")
	release <- struct{}{}
}
