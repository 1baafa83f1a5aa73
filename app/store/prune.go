package store

import (
	"context"
	"fmt"
	"time"
)

// Pruned counts what Prune has removed.
type Pruned struct {
	Payloads   int64
	Deliveries int64
	Runs       int64

	Measurements int64
}

// Prune removes what is no longer needed: payloads of deliveries that were finished before payloads, deliveries finished
// before rows, runs whose check run was concluded before rows, or that ended before and never could be shown, and measurements last asked for before rows. Ledgers and their history are not touched.
//
// A delivery must be kept as long as GitHub can redeliver it, which is three days, or it would be worked on twice.
func (s *Store) Prune(ctx context.Context, payloads, rows time.Time) (Pruned, error) {
	var p Pruned
	err := s.InTx(ctx, func(x *Tx) error {
		p = Pruned{}
		for _, step := range []struct {
			count *int64
			query string
			at    time.Time
		}{
			{&p.Payloads, `UPDATE deliveries SET payload = NULL WHERE payload IS NOT NULL AND finished_at > 0 AND finished_at < ?`, payloads},
			{&p.Runs, `DELETE FROM runs WHERE ended_at > 0 AND (CASE WHEN published_at > 0 THEN published_at ELSE ended_at END) < ? AND state NOT IN ` + liveStates, rows},
			{&p.Measurements, `DELETE FROM measurements WHERE asked_at < ?`, rows},
			{&p.Deliveries, `DELETE FROM deliveries WHERE finished_at > 0 AND finished_at < ? AND NOT EXISTS (SELECT 1 FROM run_deliveries WHERE delivery_id = deliveries.id)`, rows},
		} {
			n, err := x.exec(ctx, step.query, millis(step.at))
			if err != nil {
				return fmt.Errorf("pruning the database: %w", err)
			}
			*step.count = n
		}
		return nil
	})
	return p, err
}
