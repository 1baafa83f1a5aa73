package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"github.com/prosecutor-bot/prosecutor/app/store"
)

// appear shows that this process lives, and takes up the jobs of those that have died before. On SQLite, whose file only
// processes of one machine share, the operating system knows whether another one lives; when none does, nobody has to be
// waited for.
func (q *River) appear(ctx context.Context) error {
	alone := false
	if path := q.st.Path(); path != "" {
		p, first, err := appear(path + ".lock")
		if err != nil {
			return err
		}
		q.presence, alone = p, first
	}
	err := q.register(ctx, alone)
	if q.presence != nil {
		// Until here nobody else could take itself to be alone, and this process had no jobs to lose.
		err = errors.Join(err, q.presence.share())
	}
	if err != nil {
		if q.presence != nil {
			err = errors.Join(err, q.presence.close())
			q.presence = nil
		}
		return err
	}
	return nil
}

func (q *River) register(ctx context.Context, alone bool) error {
	w := q.words()
	return q.st.InTx(ctx, func(tx *store.Tx) error {
		if alone {
			if _, err := tx.SQL().ExecContext(ctx, `DELETE FROM queue_processes`); err != nil {
				return fmt.Errorf("forgetting dead processes: %w", err)
			}
		}
		//nolint:gosec // the words are literals
		_, err := tx.SQL().ExecContext(ctx, `INSERT INTO queue_processes (id, started_at, beat_at) VALUES ($1, `+w.millis+`, `+w.millis+`)
			ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at`, q.id)
		if err != nil {
			return fmt.Errorf("recording a heartbeat: %w", err)
		}
		return q.bury(ctx, tx)
	})
}

// disappear says that this process has stopped. What its workers left is free at once.
func (q *River) disappear(ctx context.Context) error {
	err := q.st.InTx(ctx, func(tx *store.Tx) error {
		if _, err := tx.SQL().ExecContext(ctx, `DELETE FROM queue_processes WHERE id = $1`, q.id); err != nil {
			return err
		}
		return q.bury(ctx, tx)
	})
	if q.presence != nil {
		err = errors.Join(err, q.presence.close())
		q.presence = nil
	}
	return err
}

// beat shows every Heartbeat that this process lives, looks for those that do not, and wakes jobs whose waking got lost.
func (q *River) beat(ctx context.Context) {
	ticker := time.NewTicker(q.o.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := errors.Join(q.register(ctx, false), q.wakeUp(ctx))
		if err != nil && ctx.Err() == nil {
			q.o.Logger.ErrorContext(ctx, "the heartbeat of the queue failed; it is tried again", "error", err)
		}
	}
}

// watch wakes jobs that were woken while they ran, right after they have fallen asleep.
func (q *River) watch(ctx context.Context, events <-chan *river.Event) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-events:
			if !ok {
				return
			}
			if err := q.wakeUp(ctx); err != nil && ctx.Err() == nil {
				q.o.Logger.ErrorContext(ctx, "waking a job failed; it is tried again with the next heartbeat", "error", err)
			}
		}
	}
}

// bury makes the jobs of dead processes available again. The attempt that died with the process does not count, since the
// job need not have been at fault.
func (q *River) bury(ctx context.Context, tx *store.Tx) error {
	w := q.words()
	dead := q.o.Dead.Milliseconds()
	found, err := q.lost(ctx, tx)
	if err != nil {
		return fmt.Errorf("looking for the jobs of dead processes: %w", err)
	}
	for _, j := range found {
		if err := q.takeUp(ctx, tx, j.id, j.crashes); err != nil {
			return fmt.Errorf("taking up job %d of a dead process: %w", j.id, err)
		}
	}
	if _, err := tx.SQL().ExecContext(ctx, `DELETE FROM queue_processes WHERE beat_at < `+w.millis+` - $1`, dead); err != nil {
		return fmt.Errorf("forgetting dead processes: %w", err)
	}
	if _, err := tx.SQL().ExecContext(ctx, `DELETE FROM queue_crashes WHERE job_id NOT IN (SELECT id FROM river_job WHERE state IN `+liveJobs+`)`); err != nil {
		return fmt.Errorf("forgetting crashes: %w", err)
	}
	if len(found) > 0 {
		q.metrics.recovered.Add(float64(len(found)))
		q.o.Logger.WarnContext(ctx, "took up the jobs of dead processes", "jobs", len(found))
	}
	return nil
}

// lostJob is a job of a dead process, and how many processes have died with it.
type lostJob struct{ id, crashes int64 }

// lost finds the jobs of dead processes.
func (q *River) lost(ctx context.Context, tx *store.Tx) ([]lostJob, error) {
	w := q.words()
	query := `SELECT j.id, coalesce((SELECT crashes FROM queue_crashes c WHERE c.job_id = j.id), 0) + 1 FROM river_job j
		WHERE j.state = 'running' AND NOT EXISTS (SELECT 1 FROM queue_processes p WHERE p.id = ` + w.runner + ` AND p.beat_at >= ` + w.millis + ` - $1)`
	if q.postgres() {
		query += ` FOR UPDATE OF j SKIP LOCKED` // another process is at those
	}
	rows, err := tx.SQL().QueryContext(ctx, query, q.o.Dead.Milliseconds())
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // what went wrong while reading is in rows.Err
	var found []lostJob
	for rows.Next() {
		var j lostJob
		if err := rows.Scan(&j.id, &j.crashes); err != nil {
			return nil, err
		}
		found = append(found, j)
	}
	return found, rows.Err()
}

func (q *River) takeUp(ctx context.Context, tx *store.Tx, id, crashes int64) error {
	w := q.words()
	_, err := tx.SQL().ExecContext(ctx, `INSERT INTO queue_crashes (job_id, crashes) VALUES ($1, $2) ON CONFLICT (job_id) DO UPDATE SET crashes = excluded.crashes`, id, crashes)
	if err != nil {
		return err
	}
	cancelled := `json_extract(metadata, '$.cancel_attempted_at') IS NOT NULL`
	if q.postgres() {
		cancelled = `metadata ? 'cancel_attempted_at'`
	}
	// A job that somebody cancelled while it ran is not taken up.
	res, err := tx.SQL().ExecContext(ctx, `UPDATE river_job SET state = 'cancelled', finalized_at = `+w.now+` WHERE id = $1 AND state = 'running' AND `+cancelled, id)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return err
	}
	if crashes > crashesAtMost {
		_, err = tx.SQL().ExecContext(ctx, `UPDATE river_job SET state = 'discarded', finalized_at = `+w.now+` WHERE id = $1 AND state = 'running'`, id)
		return err
	}
	if crashes <= crashesAtOnce {
		_, err = tx.SQL().ExecContext(ctx, `UPDATE river_job SET state = 'available', attempt = CASE WHEN attempt > 0 THEN attempt - 1 ELSE 0 END, scheduled_at = `+w.now+`
			WHERE id = $1 AND state = 'running'`, id)
		return err
	}
	wait := min(crashes-crashesAtOnce, 30) // seconds
	_, err = tx.SQL().ExecContext(ctx, `UPDATE river_job SET state = 'scheduled', attempt = CASE WHEN attempt > 0 THEN attempt - 1 ELSE 0 END, scheduled_at = `+w.later+`
		WHERE id = $2 AND state = 'running'`, wait, id)
	return err
}
