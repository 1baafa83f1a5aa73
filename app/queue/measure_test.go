package queue

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/riverqueue/river/rivertype"

	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/app/store/storetest"
)

func never(store.Measurement) bool { return false }

// want asks for the measurement of the head of a run.
func want(t *testing.T, q *River, r store.Run, again func(store.Measurement) bool) (m store.Measurement, abandoned bool) {
	t.Helper()
	storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) (err error) {
		m, abandoned, err = Measure(ctx, q, tx, r, "k", json.RawMessage(`{"x":1}`), again)
		return err
	})
	return m, abandoned
}

// judged is a run of a head of a pull request that its worker has begun.
func judged(t *testing.T, q *River, pr int, head string) store.Run {
	t.Helper()
	req := request(head)
	req.PR = pr
	return beginRun(t, q, submit(t, q, req).Run.ID)
}

// testMeasure has a judge job wait for a measurement, which is made once for all who ask.
func testMeasure(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	done, measured := make(chan int64, 10), make(chan int64, 10)
	release := make(chan struct{})
	w := idle()
	w.Judge = func(ctx context.Context, j JudgeArgs) error {
		var m store.Measurement
		err := q.st.InTx(ctx, func(tx *store.Tx) (err error) {
			r, err := tx.BeginRun(ctx, j.RunID)
			if err != nil {
				return err
			}
			m, _, err = Measure(ctx, q, tx, r, "k", json.RawMessage(`{"x":1}`), never)
			return err
		})
		if err != nil || !m.Done() {
			return errors.Join(err, Snooze(time.Hour))
		}
		done <- j.RunID
		return nil
	}
	w.Measure = func(ctx context.Context, j MeasureArgs) error {
		measured <- j.Measurement
		<-release
		return q.st.InTx(ctx, func(tx *store.Tx) error { return Measured(ctx, q, tx, j.Measurement, json.RawMessage(`"found"`)) })
	}
	begin(t, q, w)
	first, second := request("a"), request("a")
	second.PR = 3 // another pull request of the same head
	one, two := submit(t, q, first), submit(t, q, second)
	id := receive(t, measured, "measurement")
	until(t, "both wait", func() bool {
		return state(t, q, one.Run.JudgeJob) == "scheduled" && state(t, q, two.Run.JudgeJob) == "scheduled"
	})
	release <- struct{}{}
	receive(t, done, "judgement")
	receive(t, done, "judgement")
	last := run(t, q, two.Run.ID)
	m, abandoned := want(t, q, last, never)
	if m.ID != id || string(m.Evidence) != `"found"` || m.Tries != 1 || abandoned || m.DoneAt.IsZero() {
		t.Errorf("%+v, abandoned %v", m, abandoned)
	}
	// Somebody wants to know it anew.
	m, _ = want(t, q, last, func(m store.Measurement) bool { return m.Done() })
	if m.Done() || receive(t, measured, "second measurement") != id {
		t.Errorf("%+v", m)
	}
	release <- struct{}{}
	until(t, "it is known anew", func() bool {
		m, err := q.st.Measurement(t.Context(), id)
		return err == nil && m.Done() && m.Tries == 2
	})
	if len(measured) > 0 {
		t.Error("it was measured a third time")
	}
}

// testMeasureAbandoned has the jobs of a measurement die without an answer.
func testMeasureAbandoned(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	r := judged(t, q, 2, "a")
	for i := range 3 {
		m, abandoned := want(t, q, r, never)
		if abandoned {
			t.Fatalf("abandoned after %d jobs", i)
		}
		if same, _ := want(t, q, r, never); same.Job != m.Job {
			t.Errorf("job %d was enqueued beside %d", same.Job, m.Job)
		}
		if err := q.Cancel(t.Context(), m.Job); err != nil {
			t.Fatal(err)
		}
	}
	if m, abandoned := want(t, q, r, never); !abandoned || m.Done() {
		t.Errorf("%+v, abandoned %v", m, abandoned)
	}
	if _, abandoned := want(t, q, r, func(store.Measurement) bool { return true }); abandoned {
		t.Error("a person who asks cannot have it tried again")
	}
	// And one try it is: what asks by the time of the last one is told that it is over.
	asked := q.st.Now()
	once := func(m store.Measurement) bool { return m.AskedAt.Before(asked.Add(-time.Minute)) }
	m, _ := want(t, q, r, never)
	if err := q.Cancel(t.Context(), m.Job); err != nil {
		t.Fatal(err)
	}
	if m, abandoned := want(t, q, r, once); !abandoned || m.Tries != 4 {
		t.Errorf("%d tries, abandoned %v", m.Tries, abandoned)
	}
	// How often it was tried is not forgotten with the run.
	finish(t, q, r)
	if m, abandoned := want(t, q, judged(t, q, 2, "a"), never); !abandoned || m.Tries != 4 {
		t.Errorf("after the end of the run: %d tries, abandoned %v", m.Tries, abandoned)
	}
}

// testMeasureUnwanted ends the runs of a head in every way there is, while it is measured.
func testMeasureUnwanted(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	for i, c := range []struct {
		name string
		end  func(ctx context.Context, tx *store.Tx, r store.Run) error
	}{
		{"finished", func(ctx context.Context, tx *store.Tx, r store.Run) error {
			_, err := Finish(ctx, q, tx, r, store.Verdict{Conclusion: "failure", Result: []byte(`{}`), Judged: true})
			return err
		}},
		{"skipped", func(ctx context.Context, tx *store.Tx, r store.Run) error {
			_, err := Skip(ctx, q, tx, r, "it is decided")
			return err
		}},
		{"given up", func(ctx context.Context, tx *store.Tx, r store.Run) error {
			_, err := Fail(ctx, q, tx, r.ID, "a panic")
			return err
		}},
		{"superseded", func(ctx context.Context, tx *store.Tx, r store.Run) error {
			req := request("newer")
			req.PR = r.PR
			_, err := Submit(ctx, q, tx, req)
			return err
		}},
		{"closed", func(ctx context.Context, tx *store.Tx, r store.Run) error {
			runs, err := tx.CancelPull(ctx, r.RepoID, r.PR, "closed")
			return errors.Join(err, Ended(ctx, q, tx, runs))
		}},
		{"uninstalled", func(ctx context.Context, tx *store.Tx, r store.Run) error {
			runs, err := tx.CancelInstallation(ctx, r.Installation, "uninstalled")
			return errors.Join(err, Abandoned(ctx, q, tx, runs))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, other := judged(t, q, 10+i, c.name), judged(t, q, 100+i, c.name)
			m, _ := want(t, q, r, never)
			finish(t, q, other)
			if s := state(t, q, m.Job); s != "available" {
				t.Errorf("the job is %s, although a live run waits for it", s)
			}
			storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) error { return c.end(ctx, tx, r) })
			if s := state(t, q, m.Job); s != "cancelled" {
				t.Errorf("the job is %s", s)
			}
			if _, err := q.st.Measurement(t.Context(), m.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("the measurement is there: %v", err)
			}
			// A worker that has not heard of it begins nothing that nobody would end.
			err := q.st.InTx(t.Context(), func(tx *store.Tx) error {
				_, _, err := Measure(t.Context(), q, tx, r, "k", json.RawMessage(`{}`), never)
				return err
			})
			var late *store.NotLiveError
			if !errors.As(err, &late) {
				t.Errorf("the worker of an ended run has it measured: %v", err)
			}
		})
	}
}

// testMeasureFollowUp has news come while a head is measured: the run that follows wants the measurement too.
func testMeasureFollowUp(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	r := judged(t, q, 2, "a")
	m, _ := want(t, q, r, never)
	submit(t, q, evidence("a"))
	if f := finish(t, q, r); f.Followup == nil {
		t.Fatal("no run followed")
	}
	if s := state(t, q, m.Job); s != "available" {
		t.Errorf("the job is %s", s)
	}
	if same, _ := want(t, q, judged(t, q, 2, "a"), never); same.ID != m.ID || same.Job != m.Job || same.Tries != 1 {
		t.Errorf("%+v, want %+v", same, m)
	}
}

// testMeasureElsewhere ends a run whose head is measured in another process.
func testMeasureElsewhere(t *testing.T, d storetest.Database) {
	url := d.URL(t)
	q, elsewhere := newQueue(t, storetest.Open(t, url), quick()), newQueue(t, storetest.Open(t, url), quick())
	began, ended := make(chan struct{}, 10), make(chan error, 10)
	w := idle()
	w.Judge = func(context.Context, JudgeArgs) error { return Snooze(time.Hour) }
	w.Measure = func(ctx context.Context, _ MeasureArgs) error {
		began <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ctx.Err()
	}
	begin(t, elsewhere, w)
	r := judged(t, q, 2, "a")
	m, _ := want(t, q, r, never)
	receive(t, began, "beginning")
	finish(t, q, r)
	if err := receive(t, ended, "end"); !errors.Is(err, rivertype.ErrJobCancelledRemotely) {
		t.Errorf("it ended for %v", err)
	}
	until(t, "the job is cancelled", func() bool { return state(t, q, m.Job) == "cancelled" })
	if len(began) > 0 {
		t.Error("it was begun again")
	}
}
