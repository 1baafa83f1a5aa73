package queue

import (
	"context"
	"encoding/json"

	"github.com/prosecutor-bot/prosecutor/app/store"
)

// measureAtMost bounds how often a measurement is begun whose jobs die without an answer.
const measureAtMost = 3

// Measure returns the measurement of a head, and has one made where there is none: its job is enqueued, in the transaction.
// again has an answer found anew that is there already. abandoned says that no job is at it and that none is worth another
// try.
func Measure(ctx context.Context, q Queue, tx *store.Tx, want store.Measurement, again func(store.Measurement) bool) (m store.Measurement, abandoned bool, err error) {
	if m, err = tx.WantMeasurement(ctx, want); err != nil {
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
