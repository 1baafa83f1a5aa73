package queue

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/app/store/storetest"
)

func never(store.Measurement) bool { return false }

// want asks for the measurement of a head.
func want(t *testing.T, q *River, head string, again func(store.Measurement) bool) (m store.Measurement, abandoned bool) {
	t.Helper()
	storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) (err error) {
		m, abandoned, err = Measure(ctx, q, tx, store.Measurement{RepoID: 1, Head: head, Key: "k", Request: json.RawMessage(`{"x":1}`)}, again)
		return err
	})
	return m, abandoned
}

// testMeasure has a judge job wait for a measurement, which is made once for all who ask.
func testMeasure(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	judged, measured := make(chan int64, 10), make(chan int64, 10)
	release := make(chan struct{})
	w := idle()
	w.Judge = func(ctx context.Context, j JudgeArgs) error {
		var m store.Measurement
		err := q.st.InTx(ctx, func(tx *store.Tx) (err error) {
			m, _, err = Measure(ctx, q, tx, store.Measurement{RepoID: 1, Head: j.Head, Key: "k"}, never)
			return err
		})
		if err != nil || !m.Done() {
			return errors.Join(err, Snooze(time.Hour))
		}
		judged <- j.RunID
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
	receive(t, judged, "judgement")
	receive(t, judged, "judgement")
	m, abandoned := want(t, q, "a", never)
	if m.ID != id || string(m.Evidence) != `"found"` || m.Tries != 1 || abandoned || m.DoneAt.IsZero() {
		t.Errorf("%+v, abandoned %v", m, abandoned)
	}
	// Somebody wants to know it anew.
	m, _ = want(t, q, "a", func(m store.Measurement) bool { return m.Done() })
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
	for i := range 3 {
		m, abandoned := want(t, q, "a", never)
		if abandoned {
			t.Fatalf("abandoned after %d jobs", i)
		}
		if same, _ := want(t, q, "a", never); same.Job != m.Job {
			t.Errorf("job %d was enqueued beside %d", same.Job, m.Job)
		}
		if err := q.Cancel(t.Context(), m.Job); err != nil {
			t.Fatal(err)
		}
	}
	if m, abandoned := want(t, q, "a", never); !abandoned || m.Done() {
		t.Errorf("%+v, abandoned %v", m, abandoned)
	}
	if _, abandoned := want(t, q, "a", func(store.Measurement) bool { return true }); abandoned {
		t.Error("a person who asks cannot have it tried again")
	}
	// And one try it is: what asks by the time of the last one is told that it is over.
	asked := q.st.Now()
	once := func(m store.Measurement) bool { return m.AskedAt.Before(asked.Add(-time.Minute)) }
	m, _ := want(t, q, "a", never)
	if err := q.Cancel(t.Context(), m.Job); err != nil {
		t.Fatal(err)
	}
	if m, abandoned := want(t, q, "a", once); !abandoned || m.Tries != 4 {
		t.Errorf("%d tries, abandoned %v", m.Tries, abandoned)
	}
}

// testMeasureUnwanted pushes a new head while the old one is measured.
func testMeasureUnwanted(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	began, ended := make(chan struct{}, 10), make(chan struct{}, 10)
	w := idle()
	w.Judge = func(context.Context, JudgeArgs) error { return Snooze(time.Hour) }
	w.Measure = func(ctx context.Context, _ MeasureArgs) error {
		began <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return ctx.Err()
	}
	begin(t, q, w)
	submit(t, q, request("old"))
	m, _ := want(t, q, "old", never)
	receive(t, began, "beginning")
	if forgotten := forget(t, q, m); forgotten {
		t.Error("a measurement that a live run waits for was forgotten")
	}
	submit(t, q, request("new"))
	receive(t, ended, "end")
	if _, err := q.st.Measurement(t.Context(), m.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the measurement is there: %v", err)
	}
	// One whose head nobody judges can be forgotten by its job.
	m, _ = want(t, q, "other", never)
	if wanted, err := q.st.Wanted(t.Context(), m); err != nil || wanted || !forget(t, q, m) {
		t.Errorf("wanted %v, %v", wanted, err)
	}
}

func forget(t *testing.T, q *River, m store.Measurement) (forgotten bool) {
	t.Helper()
	storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) (err error) {
		forgotten, err = tx.ForgetMeasurement(ctx, m)
		return err
	})
	return forgotten
}
