package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"
)

// DeliveryState is what became of a delivery.
type DeliveryState string

// The states of a delivery. Only Done keeps a redelivery of the same event from being worked on again: that is what a
// redelivery is for.
const (
	Received DeliveryState = "received" // its transaction is under way
	Enqueued DeliveryState = "enqueued" // runs or jobs are at it
	Done     DeliveryState = "done"
	Failed   DeliveryState = "failed"  // its work was given up
	Ignored  DeliveryState = "ignored" // it asked for nothing that is to be done
)

// Delivery is one webhook event. GitHub keeps its GUID through redeliveries.
type Delivery struct {
	ID           int64
	GUID         string
	Event        string
	Action       string
	Installation int64
	RepoID       int64 // 0 when it is about no repository
	Sender       string
	State        DeliveryState
	Reason       string
	Attempts     int // how often it came
	Size         int // of the payload
	Payload      []byte
	ReceivedAt   time.Time
	FinishedAt   time.Time
}

// Receive records a delivery, before anything is done about it. fresh is false when its work is done already, and then there
// is nothing to do. Of the delivery it takes GUID, Event, Action, Installation, RepoID, Sender and Payload.
func (x *Tx) Receive(ctx context.Context, d Delivery) (out Delivery, fresh bool, err error) {
	if d.GUID == "" {
		return Delivery{}, false, errors.New("a delivery without a GUID cannot be recorded")
	}
	packed, err := pack(d.Payload)
	if err != nil {
		return Delivery{}, false, fmt.Errorf("packing the payload of delivery %s: %w", d.GUID, err)
	}
	if err := x.lock(ctx, d.RepoID); err != nil {
		return Delivery{}, false, err
	}
	// Inserting first leaves no gap between two processes that receive the same delivery: the second one waits here for the
	// first one's transaction, and then sees what came of it.
	var attempts int
	err = x.row(ctx, `INSERT INTO deliveries (guid, event, action, installation_id, repo_id, sender, state, reason, attempts, job_id, payload, size, received_at, finished_at)
		VALUES (?, ?, ?, ?, ?, ?, 'received', '', 1, 0, ?, ?, ?, 0)
		ON CONFLICT (guid) DO UPDATE SET attempts = deliveries.attempts + 1 RETURNING id, attempts, state, reason`,
		d.GUID, d.Event, d.Action, d.Installation, d.RepoID, d.Sender, packed, len(d.Payload), millis(x.Now())).Scan(&d.ID, &attempts, &d.State, &d.Reason)
	if err != nil {
		return Delivery{}, false, fmt.Errorf("recording delivery %s: %w", d.GUID, err)
	}
	d.Attempts = attempts
	if d.State == Done {
		return d, false, nil
	}
	if attempts > 1 {
		// The payload is stored anew, because that of a failed delivery may have been pruned.
		if _, err := x.exec(ctx, `UPDATE deliveries SET state = 'received', reason = '', job_id = 0, payload = ?, size = ?, finished_at = 0 WHERE id = ?`, packed, len(d.Payload), d.ID); err != nil {
			return Delivery{}, false, fmt.Errorf("recording delivery %s again: %w", d.GUID, err)
		}
		d.State, d.Reason = Received, ""
	}
	return d, true, nil
}

// SetDelivery records what became of a delivery. A delivery that is done stays done.
func (x *Tx) SetDelivery(ctx context.Context, id int64, state DeliveryState, reason string) error {
	var finished int64
	if state != Received && state != Enqueued {
		finished = millis(x.Now())
	}
	if _, err := x.exec(ctx, `UPDATE deliveries SET state = ?, reason = ?, finished_at = ? WHERE id = ? AND state <> 'done'`, string(state), reason, finished, id); err != nil {
		return fmt.Errorf("recording that delivery %d is %s: %w", id, state, err)
	}
	return nil
}

// SetDeliveryJob records the job that is at a delivery. Several deliveries can share one job.
func (x *Tx) SetDeliveryJob(ctx context.Context, id, job int64) error {
	if _, err := x.exec(ctx, `UPDATE deliveries SET job_id = ? WHERE id = ?`, job, id); err != nil {
		return fmt.Errorf("recording the job of delivery %d: %w", id, err)
	}
	return nil
}

// DeliveriesOfJob returns the ids of the deliveries that a job is at and that are not finished, by id.
func (x *Tx) DeliveriesOfJob(ctx context.Context, job int64) ([]int64, error) {
	ids, err := collect(ctx, x.s, x.tx, func(rows *sql.Rows) (int64, error) {
		var id int64
		err := rows.Scan(&id)
		return id, err
	}, `SELECT id FROM deliveries WHERE job_id = ? AND job_id <> 0 AND state = 'enqueued' ORDER BY id`, job)
	if err != nil {
		return nil, fmt.Errorf("reading the deliveries of job %d: %w", job, err)
	}
	return ids, nil
}

// FailDeliveries records that a job was given up, and with it the deliveries it was at.
func (x *Tx) FailDeliveries(ctx context.Context, job int64, reason string) error {
	_, err := x.exec(ctx, `UPDATE deliveries SET state = 'failed', reason = ?, finished_at = ? WHERE job_id = ? AND job_id <> 0 AND state = 'enqueued'`, reason, millis(x.Now()), job)
	if err != nil {
		return fmt.Errorf("failing the deliveries of job %d: %w", job, err)
	}
	return nil
}

const deliveryColumns = `id, guid, event, action, installation_id, repo_id, sender, state, reason, attempts, size, received_at, finished_at`

func scanDelivery(scan func(...any) error, more ...any) (Delivery, error) {
	var d Delivery
	var received, finished int64
	err := scan(append([]any{&d.ID, &d.GUID, &d.Event, &d.Action, &d.Installation, &d.RepoID, &d.Sender, &d.State, &d.Reason, &d.Attempts, &d.Size, &received, &finished}, more...)...)
	d.ReceivedAt, d.FinishedAt = moment(received), moment(finished)
	return d, err
}

// ErrNotFound says that there is no such row.
var ErrNotFound = errors.New("not found")

// Delivery returns a delivery with its payload, which is nil after it was pruned. The error is ErrNotFound when there is none.
func (s *Store) Delivery(ctx context.Context, id int64) (Delivery, error) {
	return s.delivery(ctx, s.reader, `id = ?`, id)
}

// DeliveryByGUID is Delivery for GitHub's identifier.
func (s *Store) DeliveryByGUID(ctx context.Context, guid string) (Delivery, error) {
	return s.delivery(ctx, s.reader, `guid = ?`, guid)
}

func (s *Store) delivery(ctx context.Context, q querier, where string, arg any) (Delivery, error) {
	var packed []byte
	found, err := collect(ctx, s, q, func(rows *sql.Rows) (Delivery, error) { return scanDelivery(rows.Scan, &packed) },
		`SELECT `+deliveryColumns+`, payload FROM deliveries WHERE `+where, arg)
	if err != nil {
		return Delivery{}, fmt.Errorf("reading delivery %v: %w", arg, err)
	}
	if len(found) == 0 {
		return Delivery{}, fmt.Errorf("delivery %v: %w", arg, ErrNotFound)
	}
	d := found[0]
	if packed != nil {
		if d.Payload, err = unpack(packed, d.Size); err != nil {
			return Delivery{}, fmt.Errorf("unpacking the payload of delivery %v: %w", arg, err)
		}
	}
	return d, nil
}

// Deliveries counts the deliveries by state.
func (s *Store) Deliveries(ctx context.Context) (map[DeliveryState]int, error) {
	type count struct {
		state DeliveryState
		n     int
	}
	list, err := collect(ctx, s, s.reader, func(rows *sql.Rows) (count, error) {
		var c count
		err := rows.Scan(&c.state, &c.n)
		return c, err
	},
		`SELECT state, count(*) FROM deliveries GROUP BY state`)
	if err != nil {
		return nil, fmt.Errorf("counting deliveries: %w", err)
	}
	out := make(map[DeliveryState]int, len(list))
	for _, c := range list {
		out[c.state] = c.n
	}
	return out, nil
}

func pack(payload []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(payload); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func unpack(packed []byte, size int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	payload, err := io.ReadAll(io.LimitReader(r, int64(size)+1))
	if err == nil && len(payload) != size {
		err = fmt.Errorf("it has not the %d bytes it was stored with", size)
	}
	return payload, err
}
