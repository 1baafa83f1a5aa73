package queue

import (
	"context"
	"encoding/json"

	"github.com/prosecutor-bot/prosecutor/app/store"
)

// measureAtMost bounds how often a measurement is begun whose jobs die without an answer.
const measureAtMost = 3

// Measure returns the measurement of the head of a run, and has one made where there is none: its job is enqueued, in the
// transaction. again has an answer found anew that is there already. abandoned says that no job is at it and that none is worth
// another try. The error is *store.NotLiveError when the run is not the worker's any more.
func Measure(ctx context.Context, q Queue, tx *store.Tx, run store.Run, key string, request json.RawMessage, again func(store.Measurement) bool) (m store.Measurement, abandoned bool, err error) {
	if m, err = tx.WantMeasurement(ctx, run, key, request); err != nil {
		return store.Measurement{}, false, err
	}
	if m.Done() && !again(m) {
		return m, false, nil
	}
	if !m.Done() && m.Job != 0 {
		alive, err := q.LiveTx(ctx, tx, m.Job)
		if err != nil || alive {
			return m, false, err
		}
		if m.Tries >= measureAtMost && !again(m) {
			return m, true, nil
		}
	}
	if m.Job, err = q.EnqueueTx(ctx, tx, MeasureArgs{Measurement: m.ID}); err != nil {
		return store.Measurement{}, false, err
	}
	m.Evidence = nil
	return m, false, tx.SetMeasurementJob(ctx, m.ID, m.Job)
}

// Measured records the evidence of a measurement, and wakes the runs that wait for it.
func Measured(ctx context.Context, q Queue, tx *store.Tx, id int64, evidence json.RawMessage) error {
	runs, err := tx.FinishMeasurement(ctx, id, evidence)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if err := q.WakeTx(ctx, tx, r.JudgeJob); err != nil {
			return err
		}
	}
	return nil
}

// unmeasure ends what is measured of a head that no live run has any more: whatever ends a run does so in its transaction, so
// that no measurement outlives the last one who wanted it. The job learns of it as one of a superseded run does, in whichever
// process it runs. A measurement whose jobs died without an answer stays, since it alone knows how often it was tried.
func unmeasure(ctx context.Context, q Queue, tx *store.Tx, r store.Run) error {
	unwanted, err := tx.UnwantedMeasurements(ctx, r.RepoID, r.Head)
	if err != nil {
		return err
	}
	for _, m := range unwanted {
		alive, err := q.LiveTx(ctx, tx, m.Job)
		if err != nil {
			return err
		}
		if !alive {
			continue
		}
		if err := q.CancelTx(ctx, tx, m.Job); err != nil {
			return err
		}
		if err := tx.DropMeasurement(ctx, m.ID); err != nil {
			return err
		}
	}
	return nil
}
