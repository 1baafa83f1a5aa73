package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river/rivertype"

	"github.com/prosecutor-bot/prosecutor/app/store"
)

// Crashes of its process that a job survives. The first ones it is tried again at once, because it need not have been at
// fault; later ones put it off, so that others get done; the last one ends it.
const (
	crashesAtOnce = 5
	crashesAtMost = 100
)

const liveJobs = `('available', 'pending', 'running', 'retryable', 'scheduled')`

// createTables makes the queue's own tables beside those of River.
func (q *River) createTables(ctx context.Context) error {
	number := "INTEGER"
	if q.postgres() {
		number = "BIGINT"
	}
	return q.st.InTx(ctx, func(tx *store.Tx) error {
		for _, stmt := range []string{
			`CREATE TABLE IF NOT EXISTS queue_processes (id TEXT PRIMARY KEY, started_at ` + number + ` NOT NULL, beat_at ` + number + ` NOT NULL)`,
			// Jobs that were woken while they ran, and are to run again when they fall asleep.
			`CREATE TABLE IF NOT EXISTS queue_wakes (job_id ` + number + ` PRIMARY KEY)`,
			`CREATE TABLE IF NOT EXISTS queue_crashes (job_id ` + number + ` PRIMARY KEY, crashes ` + number + ` NOT NULL)`,
		} {
			if _, err := tx.SQL().ExecContext(ctx, stmt); err != nil {
				return err
			}
		}
		return nil
	})
}

func (q *River) postgres() bool { return q.st.Dialect() == store.Postgres }

// words of a statement that differ between the databases: what River writes as the time of a job, the time in milliseconds,
// the process that runs a job, and the number of a run in the arguments of a job.
type words struct{ now, later, millis, runner, runID string }

func (q *River) words() words {
	if q.postgres() {
		return words{
			now:    `now()`,
			later:  `now() + make_interval(secs => $1::float8)`,
			millis: `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`,
			runner: `j.attempted_by[array_upper(j.attempted_by, 1)]`,
			runID:  `(j.args->>'run_id')::bigint`,
		}
	}
	return words{
		now:    `datetime('now', 'subsec')`,
		later:  `datetime('now', 'subsec', $1 || ' seconds')`,
		millis: `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
		runner: `json_extract(j.attempted_by, '$[#-1]')`,
		runID:  `CAST(json_extract(j.args, '$.run_id') AS INTEGER)`,
	}
}

// WakeTx implements Queue.
func (q *River) WakeTx(ctx context.Context, tx *store.Tx, id int64) error {
	if id == 0 {
		return nil
	}
	doing := func(err error) error { return fmt.Errorf("waking job %d: %w", id, err) }
	// It may be about to fall asleep, in a transaction that is not ours.
	if _, err := q.hold(ctx, tx, id); err != nil {
		return doing(err)
	}
	res, err := tx.SQL().ExecContext(ctx, `UPDATE river_job SET state = 'available', scheduled_at = `+q.words().now+` WHERE id = $1 AND state IN ('scheduled', 'retryable')`, id)
	if err != nil {
		return doing(err)
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return q.runAgain(ctx, tx, id)
}

// hold keeps others from changing a job before the transaction ends, so that several statements see it in one state: each
// statement of a transaction in PostgreSQL sees what was committed before that statement. SQLite has one writer. It returns
// the state, "" for no such job.
func (q *River) hold(ctx context.Context, tx *store.Tx, id int64) (state string, err error) {
	query := `SELECT state FROM river_job WHERE id = $1`
	if q.postgres() {
		query += ` FOR UPDATE`
	}
	err = tx.SQL().QueryRowContext(ctx, query, id).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return state, err
}

// runAgain has a job that runs run again when it is through.
func (q *River) runAgain(ctx context.Context, tx *store.Tx, id int64) error {
	_, err := tx.SQL().ExecContext(ctx, `INSERT INTO queue_wakes (job_id) SELECT id FROM river_job WHERE id = $1 AND state = 'running' ON CONFLICT DO NOTHING`, id)
	if err != nil {
		return fmt.Errorf("having job %d run again: %w", id, err)
	}
	return nil
}

// clearWake forgets that a job was to be woken, because it begins.
func (q *River) clearWake(ctx context.Context, id int64) error {
	if _, err := q.st.DB().ExecContext(ctx, `DELETE FROM queue_wakes WHERE job_id = $1`, id); err != nil {
		return fmt.Errorf("beginning job %d: %w", id, err)
	}
	return nil
}

// wakeUp has those jobs run that were woken while they ran and have fallen asleep since. A job that again speaks of, and that
// has finished meanwhile, runs once more: what it is about has changed under it.
func (q *River) wakeUp(ctx context.Context) error {
	woken, err := q.woken(ctx)
	if err != nil {
		return fmt.Errorf("looking for jobs to wake: %w", err)
	}
	for _, id := range woken {
		// One transaction each: whoever ends jobs holds several of them, in an order of its own.
		if err := q.st.InTx(ctx, func(tx *store.Tx) error { return q.wakeOne(ctx, tx, id) }); err != nil {
			return fmt.Errorf("waking job %d: %w", id, err)
		}
	}
	return nil
}

// woken returns the jobs that are to run again and do not run.
func (q *River) woken(ctx context.Context) ([]int64, error) {
	rows, err := q.st.Reader().QueryContext(ctx, `SELECT job_id FROM queue_wakes
		WHERE NOT EXISTS (SELECT 1 FROM river_job j WHERE j.id = job_id AND j.state = 'running') ORDER BY job_id`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // what went wrong while reading is in rows.Err
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func (q *River) wakeOne(ctx context.Context, tx *store.Tx, id int64) error {
	state, err := q.hold(ctx, tx, id)
	if err != nil || state == "running" {
		return err
	}
	for _, stmt := range []string{
		`UPDATE river_job SET state = 'available', finalized_at = NULL, scheduled_at = ` + q.words().now + ` WHERE id = $1
			AND (state IN ('scheduled', 'retryable') OR state = 'completed' AND kind IN ('publish', 'resolve', 'explain', 'measure')
				AND NOT EXISTS (SELECT 1 FROM river_job o WHERE o.unique_key = river_job.unique_key AND o.id <> river_job.id AND o.state IN ` + liveJobs + `))`,
		`DELETE FROM queue_wakes WHERE job_id = $1`,
	} {
		if _, err := tx.SQL().ExecContext(ctx, stmt, id); err != nil {
			return err
		}
	}
	return nil
}

// LiveTx implements Queue.
func (q *River) LiveTx(ctx context.Context, tx *store.Tx, id int64) (bool, error) {
	state, err := q.hold(ctx, tx, id)
	if err != nil {
		return false, fmt.Errorf("looking for job %d: %w", id, err)
	}
	return slices.Contains(live, rivertype.JobState(state)), nil
}

// Orphans implements Queue.
func (q *River) Orphans(ctx context.Context) ([]int64, error) {
	query := `SELECT r.id FROM runs r WHERE
		r.state IN ('queued', 'judging', 'waiting') AND NOT EXISTS (SELECT 1 FROM river_job j WHERE j.id = r.judge_job AND j.state IN ` + liveJobs + `)
		OR r.state NOT IN ('queued', 'judging', 'waiting') AND r.published_at = 0 AND r.repo_id NOT IN (` + store.OutOfReach + `)
			AND NOT EXISTS (SELECT 1 FROM river_job j WHERE j.kind = 'publish' AND j.state IN ` + liveJobs + ` AND ` + q.words().runID + ` = r.id) ORDER BY r.id`
	rows, err := q.st.Reader().QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("looking for runs without a job: %w", err)
	}
	defer func() { _ = rows.Close() }() // what went wrong while reading is in rows.Err
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("looking for runs without a job: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// Stats are the numbers of a queue.
type Stats struct {
	// Jobs counts the jobs by kind and state, in River's words: available, running, scheduled, retryable, completed, cancelled,
	// discarded.
	Jobs map[string]map[string]int
	// Oldest is how long the job has waited that has been due for longest; 0 when none is due.
	Oldest time.Duration
	// Processes counts those that live.
	Processes int
}

// Waiting counts the jobs that are due.
func (s Stats) Waiting() int { return s.count("available") }

// Running counts the jobs that run, in any process.
func (s Stats) Running() int { return s.count("running") }

// Sleeping counts the jobs that wait for their time.
func (s Stats) Sleeping() int { return s.count("scheduled") + s.count("retryable") }

func (s Stats) count(state string) int {
	n := 0
	for _, states := range s.Jobs {
		n += states[state]
	}
	return n
}

// Stats implements Queue.
func (q *River) Stats(ctx context.Context) (Stats, error) {
	s := Stats{Jobs: map[string]map[string]int{}}
	doing := func(err error) error { return fmt.Errorf("counting jobs: %w", err) }
	rows, err := q.st.Reader().QueryContext(ctx, `SELECT kind, state, count(*) FROM river_job GROUP BY kind, state`)
	if err != nil {
		return Stats{}, doing(err)
	}
	defer func() { _ = rows.Close() }() // what went wrong while reading is in rows.Err
	for rows.Next() {
		var kind, state string
		var n int
		if err := rows.Scan(&kind, &state, &n); err != nil {
			return Stats{}, doing(err)
		}
		if s.Jobs[kind] == nil {
			s.Jobs[kind] = map[string]int{}
		}
		s.Jobs[kind][state] = n
	}
	if err := rows.Err(); err != nil {
		return Stats{}, doing(err)
	}
	age := `coalesce(max(unixepoch('subsec') - unixepoch(scheduled_at, 'subsec')), 0)`
	if q.postgres() {
		age = `coalesce(extract(epoch FROM max(now() - scheduled_at))::float8, 0)`
	}
	var seconds float64
	if err := q.st.Reader().QueryRowContext(ctx, `SELECT `+age+` FROM river_job WHERE state = 'available'`).Scan(&seconds); err != nil {
		return Stats{}, doing(err)
	}
	s.Oldest = time.Duration(max(seconds, 0) * float64(time.Second))
	err = q.st.Reader().QueryRowContext(ctx, `SELECT count(*) FROM queue_processes WHERE beat_at >= `+q.words().millis+` - $1`, q.o.Dead.Milliseconds()).Scan(&s.Processes)
	if err != nil {
		return Stats{}, doing(err)
	}
	return s, nil
}
