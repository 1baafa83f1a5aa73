package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Measurement is evidence about a head that takes a job of its own to find out, such as hollow-test. It belongs to the head
// and to Key, which stands for all else that decides it, and not to a run: it is found out once, however often it is asked for
// (semantics 3).
type Measurement struct {
	ID       int64
	RepoID   int64
	Head     string
	Key      string
	Request  json.RawMessage // what the job needs to know
	Evidence json.RawMessage // nil until it is done
	Tries    int             // how often a job was enqueued for it
	Job      int64           // the last one

	AskedAt, DoneAt time.Time // when the last job was enqueued, and when the evidence came
}

// Done reports whether the evidence is there.
func (m Measurement) Done() bool { return m.Evidence != nil }

const measurementColumns = `id, repo_id, head, key, request, evidence, tries, job_id, asked_at, done_at`

func scanMeasurement(rows *sql.Rows) (Measurement, error) {
	var m Measurement
	var request, evidence string
	var asked, done int64
	err := rows.Scan(&m.ID, &m.RepoID, &m.Head, &m.Key, &request, &evidence, &m.Tries, &m.Job, &asked, &done)
	m.Request = json.RawMessage(request)
	if evidence != "" {
		m.Evidence = json.RawMessage(evidence)
	}
	m.AskedAt, m.DoneAt = moment(asked), moment(done)
	return m, err
}

func (s *Store) measurement(ctx context.Context, q querier, where string, args ...any) (Measurement, error) {
	list, err := collect(ctx, s, q, scanMeasurement, `SELECT `+measurementColumns+` FROM measurements WHERE `+where, args...)
	if err != nil {
		return Measurement{}, fmt.Errorf("reading a measurement: %w", err)
	}
	if len(list) == 0 {
		return Measurement{}, fmt.Errorf("measurement: %w", ErrNotFound)
	}
	return list[0], nil
}

// Measurement returns a measurement; the error is ErrNotFound when there is none.
func (s *Store) Measurement(ctx context.Context, id int64) (Measurement, error) {
	return s.measurement(ctx, s.reader, `id = ?`, id)
}

// WantMeasurement returns the measurement of the head of a run and of that key. It is recorded when it is new; then it has no
// job. Package queue's Measure enqueues one; use that. The error is *NotLiveError when the run is not the worker's any more:
// what was measured for it is dropped already, and nobody would end what is begun now.
func (x *Tx) WantMeasurement(ctx context.Context, run Run, key string, request json.RawMessage) (Measurement, error) {
	if _, err := x.claimed(ctx, run); err != nil {
		return Measurement{}, wrap("asking for a measurement for run %d", run.ID, err)
	}
	_, err := x.exec(ctx, `INSERT INTO measurements (repo_id, head, key, request, evidence, tries, job_id, asked_at, done_at) VALUES (?, ?, ?, ?, '', 0, 0, ?, 0)
		ON CONFLICT (repo_id, head, key) DO NOTHING`, run.RepoID, run.Head, key, string(request), millis(x.Now()))
	if err != nil {
		return Measurement{}, fmt.Errorf("recording a measurement of %s: %w", run.Head, err)
	}
	return x.s.measurement(ctx, x.tx, `repo_id = ? AND head = ? AND key = ?`, run.RepoID, run.Head, key)
}

// SetMeasurementJob notes the job that is at a measurement, and forgets what an earlier one found.
func (x *Tx) SetMeasurementJob(ctx context.Context, id, job int64) error {
	_, err := x.exec(ctx, `UPDATE measurements SET job_id = ?, tries = tries + 1, evidence = '', asked_at = ?, done_at = 0 WHERE id = ?`, job, millis(x.Now()), id)
	if err != nil {
		return fmt.Errorf("recording the job of measurement %d: %w", id, err)
	}
	return nil
}

// FinishMeasurement records the evidence, and returns the live runs of the head, which may wait for it. Package queue's
// Measured wakes their jobs; use that.
func (x *Tx) FinishMeasurement(ctx context.Context, id int64, evidence json.RawMessage) ([]Run, error) {
	m, err := x.s.measurement(ctx, x.tx, `id = ?`, id)
	if err != nil {
		return nil, err
	}
	if err := x.lock(ctx, m.RepoID); err != nil {
		return nil, err
	}
	if _, err := x.exec(ctx, `UPDATE measurements SET evidence = ?, done_at = ? WHERE id = ?`, string(evidence), millis(x.Now()), id); err != nil {
		return nil, fmt.Errorf("recording the evidence of measurement %d: %w", id, err)
	}
	return x.s.runs(ctx, x.tx, `repo_id = ? AND head = ? AND state IN `+liveStates+` ORDER BY id`, m.RepoID, m.Head)
}

// UnwantedMeasurements returns what is not done of the measurements of a head that no live run has.
func (x *Tx) UnwantedMeasurements(ctx context.Context, repoID int64, head string) ([]Measurement, error) {
	list, err := collect(ctx, x.s, x.tx, scanMeasurement, `SELECT `+measurementColumns+` FROM measurements WHERE repo_id = ? AND head = ? AND evidence = ''
		AND NOT EXISTS (SELECT 1 FROM runs WHERE repo_id = ? AND head = ? AND state IN `+liveStates+`) ORDER BY id`, repoID, head, repoID, head)
	if err != nil {
		return nil, fmt.Errorf("looking for the measurements of %s: %w", head, err)
	}
	return list, nil
}

// DropMeasurement removes a measurement. Its job, should it still run, has nowhere left to record what it finds.
func (x *Tx) DropMeasurement(ctx context.Context, id int64) error {
	if _, err := x.exec(ctx, `DELETE FROM measurements WHERE id = ?`, id); err != nil {
		return fmt.Errorf("dropping measurement %d: %w", id, err)
	}
	return nil
}
