package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/convergence"
)

// tables reads and writes the tables of a store, which are the same in every database.
type tables struct {
	postgres bool
	now      func() time.Time
	// explain turns an error of the database into one that says what to do; unreadable does so for a row that is there and
	// cannot be understood.
	explain    func(doing string, err error) error
	unreadable func(key convergence.Key, err error) error
}

// querier is what *sql.DB and *sql.Tx have in common for reading.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// bind writes the placeholders of a statement as the database wants them. No statement here has a question mark that is
// no placeholder.
func (t *tables) bind(query string) string {
	if !t.postgres {
		return query
	}
	var b strings.Builder
	n := 0
	for part := range strings.SplitSeq(query, "?") {
		if n > 0 {
			b.WriteString("$" + strconv.Itoa(n))
		}
		b.WriteString(part)
		n++
	}
	return b.String()
}

// lock keeps other writers from the ledger until the end of the transaction. In SQLite a transaction that writes is alone
// anyway.
func (t *tables) lock(ctx context.Context, tx *sql.Tx, key convergence.Key) error {
	if !t.postgres {
		return nil
	}
	// A lock on a name also serves a ledger that has no row yet.
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "ledger\n"+key.Repo+"\n"+key.Change)
	return err
}

func (t *tables) load(ctx context.Context, q querier, key convergence.Key) (convergence.Ledger, int64, error) {
	var raw string
	var revision int64
	err := q.QueryRowContext(ctx, t.bind(`SELECT ledger, revision FROM ledgers WHERE repo = ? AND change = ?`), key.Repo, key.Change).Scan(&raw, &revision)
	if errors.Is(err, sql.ErrNoRows) {
		return convergence.New(), 0, nil
	}
	if err != nil {
		return convergence.Ledger{}, 0, t.explain("loading the ledger of "+key.String(), err)
	}
	l, err := decode(raw)
	if err != nil {
		return convergence.Ledger{}, 0, t.unreadable(key, err)
	}
	return l, revision, nil
}

// rule is Store.Rule without the beginning and the end of the transaction.
func (t *tables) rule(ctx context.Context, tx *sql.Tx, key convergence.Key, rule func(convergence.Ledger) (convergence.Ruling, error)) (convergence.Ruling, error) {
	doing := "updating the ledger of " + key.String()
	if err := t.lock(ctx, tx, key); err != nil {
		return convergence.Ruling{}, t.explain(doing, err)
	}
	l, revision, err := t.load(ctx, tx, key)
	if err != nil {
		return convergence.Ruling{}, err
	}
	r, err := rule(l)
	if err != nil {
		return convergence.Ruling{}, err
	}
	raw, err := json.Marshal(r.Ledger)
	if err != nil {
		return convergence.Ruling{}, fmt.Errorf("%s: encoding it: %w", doing, err)
	}
	now := t.now()
	_, err = tx.ExecContext(ctx, t.bind(`INSERT INTO ledgers (repo, change, ledger, revision, updated_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (repo, change) DO UPDATE SET ledger = excluded.ledger, revision = excluded.revision, updated_at = excluded.updated_at`),
		key.Repo, key.Change, string(raw), revision+1, now.UnixMilli())
	if err != nil {
		return convergence.Ruling{}, t.explain(doing, err)
	}
	if worthKeeping(r) {
		if err := t.keep(ctx, tx, key, r, now); err != nil {
			return convergence.Ruling{}, t.explain(doing+" and its history", err)
		}
	}
	return r, nil
}

// keep appends a ruling to the history.
func (t *tables) keep(ctx context.Context, tx *sql.Tx, key convergence.Key, r convergence.Ruling, now time.Time) error {
	causes, err := json.Marshal(append([]convergence.Reason{}, r.Causes...))
	if err != nil {
		return err
	}
	found, err := json.Marshal(findings(r))
	if err != nil {
		return err
	}
	at := r.At
	if at.IsZero() {
		at = now
	}
	_, err = tx.ExecContext(ctx, t.bind(`INSERT INTO decisions (repo, change, stage, event, base, head, policy_hash, spec_hash, evidence_states,
		outcome, decision, reason, causes, findings, laps, epoch, decided_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
		key.Repo, key.Change, string(r.Stage), string(r.Event), r.Case.Base, r.Case.Head, r.Case.PolicyHash, r.Case.SpecHash, r.Case.EvidenceStates,
		string(r.Outcome), string(r.Decision), string(r.Reason), string(causes), string(found), r.Laps, r.Epoch, at.UnixMilli())
	return err
}

func (t *tables) history(ctx context.Context, q querier, key convergence.Key, limit int) ([]Record, error) {
	doing := "reading the history of " + key.String()
	rows, err := q.QueryContext(ctx, t.bind(`SELECT id, stage, event, base, head, policy_hash, spec_hash, evidence_states, outcome, decision, reason, causes, findings,
		laps, epoch, decided_at FROM decisions WHERE repo = ? AND change = ? ORDER BY id DESC LIMIT ?`), key.Repo, key.Change, max(limit, 0))
	if err != nil {
		return nil, t.explain(doing, err)
	}
	defer func() { _ = rows.Close() }() // what went wrong while reading is in rows.Err
	var out []Record
	for rows.Next() {
		r := Record{Case: convergence.Case{Key: key}}
		var causes, found string
		var at int64
		err := rows.Scan(&r.ID, &r.Stage, &r.Event, &r.Case.Base, &r.Case.Head, &r.Case.PolicyHash, &r.Case.SpecHash, &r.Case.EvidenceStates,
			&r.Outcome, &r.Decision, &r.Reason, &causes, &found, &r.Laps, &r.Epoch, &at)
		if err != nil {
			return nil, t.explain(doing, err)
		}
		if err := errors.Join(json.Unmarshal([]byte(causes), &r.Causes), json.Unmarshal([]byte(found), &r.Findings)); err != nil {
			return nil, t.unreadable(key, err)
		}
		r.At = time.UnixMilli(at).UTC()
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, t.explain(doing, err)
	}
	return out, nil
}

func (t *tables) list(ctx context.Context, q querier) ([]Summary, error) {
	const doing = "listing the ledgers"
	rows, err := q.QueryContext(ctx, `SELECT repo, change, ledger, updated_at FROM ledgers ORDER BY repo, change`)
	if err != nil {
		return nil, t.explain(doing, err)
	}
	defer func() { _ = rows.Close() }() // what went wrong while reading is in rows.Err
	var out []Summary
	for rows.Next() {
		var sum Summary
		var raw string
		var at int64
		if err := rows.Scan(&sum.Key.Repo, &sum.Key.Change, &raw, &at); err != nil {
			return nil, t.explain(doing, err)
		}
		if sum.Ledger, err = decode(raw); err != nil {
			return nil, t.unreadable(sum.Key, err)
		}
		sum.UpdatedAt = time.UnixMilli(at).UTC()
		out = append(out, sum)
	}
	if err := rows.Err(); err != nil {
		return nil, t.explain(doing, err)
	}
	return out, nil
}

// inTx runs a change of one ledger in a transaction of its own.
func (t *tables) inTx(ctx context.Context, db *sql.DB, key convergence.Key, rule func(convergence.Ledger) (convergence.Ruling, error)) (convergence.Ruling, error) {
	doing := "updating the ledger of " + key.String()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return convergence.Ruling{}, t.explain(doing, err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit there is nothing to roll back, and before it nothing is changed
	r, err := t.rule(ctx, tx, key, rule)
	if err != nil {
		return convergence.Ruling{}, err
	}
	if err := tx.Commit(); err != nil {
		return convergence.Ruling{}, t.explain(doing, err)
	}
	return r, nil
}

// ledgerOnly makes a rule of a change that is no ruling.
func ledgerOnly(change func(convergence.Ledger) (convergence.Ledger, error)) func(convergence.Ledger) (convergence.Ruling, error) {
	return func(l convergence.Ledger) (convergence.Ruling, error) {
		next, err := change(l)
		return convergence.Ruling{Ledger: next}, err
	}
}

// Tx is a Store inside a transaction that somebody else began and will end, so that a ruling can be stored together with
// what follows from it. Nothing is kept unless that transaction is committed. It is for one goroutine.
type Tx struct {
	t  *tables
	tx *sql.Tx
}

var _ Store = (*Tx)(nil)

// Load implements Store.
func (x *Tx) Load(ctx context.Context, key convergence.Key) (convergence.Ledger, error) {
	l, _, err := x.t.load(ctx, x.tx, key)
	return l, err
}

// Update implements Store. The ledger stays locked until the end of the transaction.
func (x *Tx) Update(ctx context.Context, key convergence.Key, change func(convergence.Ledger) (convergence.Ledger, error)) error {
	_, err := x.t.rule(ctx, x.tx, key, ledgerOnly(change))
	return err
}

// Rule implements Store. The ledger stays locked until the end of the transaction.
func (x *Tx) Rule(ctx context.Context, key convergence.Key, rule func(convergence.Ledger) (convergence.Ruling, error)) (convergence.Ruling, error) {
	return x.t.rule(ctx, x.tx, key, rule)
}

// History implements Store.
func (x *Tx) History(ctx context.Context, key convergence.Key, limit int) ([]Record, error) {
	return x.t.history(ctx, x.tx, key, limit)
}

// List implements Store.
func (x *Tx) List(ctx context.Context) ([]Summary, error) { return x.t.list(ctx, x.tx) }

// Close implements Store. It does nothing: the transaction is ended by whoever began it.
func (x *Tx) Close() error { return nil }
