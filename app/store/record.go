package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"github.com/prosecutor-bot/prosecutor/app/record"
)

// recordsAtOnce bounds how many records of a chain one transaction prunes, so that nobody waits long for it.
const recordsAtOnce = 500

// AppendRecord appends a record to the chain of its repository, and returns its number. The record is there when the
// transaction is committed, and only then, so that what depends on it belongs into the same transaction. An error means that
// the transaction must not be committed.
func (x *Tx) AppendRecord(ctx context.Context, r record.Record) (int64, error) {
	n, err := x.appendRecord(ctx, r)
	if err != nil {
		return 0, fmt.Errorf("recording the evidence of a %s in repository %d: %w", r.Kind, r.Repository.ID, err)
	}
	return n, nil
}

func (x *Tx) appendRecord(ctx context.Context, r record.Record) (int64, error) {
	if r.Repository.ID == 0 || r.KeepDays <= 0 {
		return 0, errors.New("the record lacks its repository, or how long it is kept")
	}
	last, err := x.chain(ctx, r.Repository.ID)
	if err != nil {
		return 0, err
	}
	r.At = record.At(x.Now())
	sealed, err := record.Seal(last, r)
	if err != nil {
		return 0, err
	}
	next := record.Point{Sequence: last.Sequence + 1, Hash: sealed.Hash}
	until := millis(r.At.Add(time.Duration(r.KeepDays) * 24 * time.Hour))
	if _, err := x.exec(ctx, `INSERT INTO records (repo_id, sequence, previous, hash, record, keep_until) VALUES (?, ?, ?, ?, ?, ?)`,
		r.Repository.ID, next.Sequence, string(sealed.Previous), string(sealed.Hash), string(sealed.Text), until); err != nil {
		return 0, err
	}
	if _, err := x.exec(ctx, `UPDATE record_chains SET sequence = ?, hash = ? WHERE repo_id = ?`, next.Sequence, string(next.Hash), r.Repository.ID); err != nil {
		return 0, err
	}
	return next.Sequence, nil
}

// CanRecord reports whether the chain of a repository takes another record, as far as that can be told before there is one.
func (x *Tx) CanRecord(ctx context.Context, repoID int64) error {
	if _, err := x.chain(ctx, repoID); err != nil {
		return fmt.Errorf("the evidence in repository %d cannot be recorded: %w", repoID, err)
	}
	return nil
}

// chain returns the last place of a chain, and keeps others from the chain until the transaction ends. A chain that is not
// there yet is begun.
func (x *Tx) chain(ctx context.Context, repoID int64) (record.Point, error) {
	if err := x.lock(ctx, repoID); err != nil {
		return record.Point{}, err
	}
	begun, err := x.exec(ctx, `INSERT INTO record_chains (repo_id, sequence, hash, checkpoint_sequence, checkpoint_hash) VALUES (?, 0, ?, 0, ?) ON CONFLICT (repo_id) DO NOTHING`,
		repoID, string(record.Genesis), string(record.Genesis))
	if err != nil {
		return record.Point{}, err
	}
	if begun > 0 {
		var left int64
		if err := x.row(ctx, `SELECT count(*) FROM records WHERE repo_id = ?`, repoID).Scan(&left); err != nil {
			return record.Point{}, err
		}
		if left > 0 {
			return record.Point{}, fmt.Errorf("its chain has %d records and no head: somebody has changed the database; restore it from a backup", left)
		}
	}
	query := `SELECT sequence, hash FROM record_chains WHERE repo_id = ?`
	if x.s.dialect == Postgres {
		query += ` FOR UPDATE`
	}
	var last record.Point
	err = x.row(ctx, query, repoID).Scan(&last.Sequence, &last.Hash)
	return last, err
}

// PruneRecords removes the records at the beginning of each chain that need not be kept any more, and leaves a checkpoint
// from which the chain is verified. What it removes it verifies first: records that do not verify are evidence of their own,
// so that a chain which is broken there is left as it is, and is among the errors. It returns how many it has removed.
func (s *Store) PruneRecords(ctx context.Context, now time.Time) (int64, error) {
	repos, err := collect(ctx, s, s.reader, func(rows *sql.Rows) (id int64, err error) { return id, rows.Scan(&id) },
		`SELECT c.repo_id FROM record_chains c JOIN records r ON r.repo_id = c.repo_id AND r.sequence = c.checkpoint_sequence + 1
			WHERE r.keep_until < ? ORDER BY c.repo_id`, millis(now))
	if err != nil {
		return 0, fmt.Errorf("looking for records to prune: %w", err)
	}
	var pruned int64
	var failed []error
	for _, repo := range repos {
		var n int64
		err := s.InTx(ctx, func(tx *Tx) (err error) {
			n, err = tx.pruneRecords(ctx, repo, now)
			return err
		})
		if err != nil {
			failed = append(failed, fmt.Errorf("pruning the records of repository %d: %w", repo, err))
			continue
		}
		pruned += n
	}
	return pruned, errors.Join(failed...)
}

func (x *Tx) pruneRecords(ctx context.Context, repoID int64, now time.Time) (int64, error) {
	if _, err := x.chain(ctx, repoID); err != nil {
		return 0, err
	}
	var checkpoint record.Point
	if err := x.row(ctx, `SELECT checkpoint_sequence, checkpoint_hash FROM record_chains WHERE repo_id = ?`, repoID).Scan(&checkpoint.Sequence, &checkpoint.Hash); err != nil {
		return 0, err
	}
	old, err := collect(ctx, x.s, x.tx, scanSealed, `SELECT previous, hash, record FROM records WHERE repo_id = ? AND sequence > ? AND sequence <= ?
		AND sequence < coalesce((SELECT min(sequence) FROM records WHERE repo_id = ? AND keep_until >= ?), ?) ORDER BY sequence`,
		repoID, checkpoint.Sequence, checkpoint.Sequence+recordsAtOnce, repoID, millis(now), int64(1)<<62)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	v := record.NewVerifier(nil)
	end := record.Point{Sequence: checkpoint.Sequence + int64(len(old)), Hash: old[len(old)-1].Hash}
	err = v.Begin(record.Repository{ID: repoID}, checkpoint)
	for _, r := range old {
		err = errors.Join(err, v.Record(r))
	}
	if err = errors.Join(err, v.End(&end)); err != nil {
		return 0, err
	}
	if r := v.Reports()[0]; r.Status != record.Intact {
		return 0, fmt.Errorf("its chain is broken at record %d, so that nothing is removed: %s; see prosecutor evidence verify", r.Sequence, r.Problem)
	}
	if _, err := x.exec(ctx, `UPDATE record_chains SET checkpoint_sequence = ?, checkpoint_hash = ? WHERE repo_id = ?`, end.Sequence, string(end.Hash), repoID); err != nil {
		return 0, err
	}
	return x.exec(ctx, `DELETE FROM records WHERE repo_id = ? AND sequence <= ?`, repoID, end.Sequence)
}

func scanSealed(rows *sql.Rows) (record.Sealed, error) {
	var s record.Sealed
	err := rows.Scan(&s.Previous, &s.Hash, &s.Text)
	return s, err
}

// Records reads chains of records.
type Records struct {
	s     *Store
	close func() error
}

// Records reads the chains of a store that is open.
func (s *Store) Records() *Records { return &Records{s: s, close: func() error { return nil }} }

// OpenRecords opens a database, named as for Open, to read its records. It writes nothing: a file that is not there is not
// made, and tables are not brought up to date. Errors never quote a URL.
func OpenRecords(ctx context.Context, database string) (*Records, error) {
	s := &Store{now: time.Now}
	var err error
	if strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://") {
		err = s.readPostgres(database)
	} else {
		err = s.readSQLite(database)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	r := &Records{s: s, close: s.reader.Close}
	if err := r.there(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the database: %w", err), r.Close())
	}
	return r, nil
}

func (s *Store) readPostgres(database string) error {
	s.dialect = Postgres
	config, err := pgx.ParseConfig(database)
	if err != nil {
		return errors.New("its URL is not one of PostgreSQL; it looks like postgres://user:password@host:5432/database?sslmode=verify-full")
	}
	config.RuntimeParams["default_transaction_read_only"] = "on"
	s.reader = stdlib.OpenDB(*config)
	return nil
}

func (s *Store) readSQLite(path string) error {
	s.dialect = SQLite
	if path == "" {
		path = DefaultFile
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s", abs)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", abs)
	}
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(abs), RawQuery: url.Values{
		"mode": {"ro"}, "_query_only": {"1"}, "_busy_timeout": {"10000"},
	}.Encode()}
	c, err := sqlite.NewConnector(name.String())
	if err != nil {
		return err
	}
	s.reader = sql.OpenDB(c)
	return nil
}

// there reports whether the database has records, or may have some.
func (r *Records) there(ctx context.Context) error {
	query := `SELECT count(*) FROM sqlite_schema WHERE name = 'record_chains'`
	if r.s.dialect == Postgres {
		query = `SELECT count(*) FROM pg_catalog.pg_class WHERE oid = to_regclass('record_chains')`
	}
	var n int
	switch err := r.s.reader.QueryRowContext(ctx, query).Scan(&n); {
	case err != nil && r.s.dialect == Postgres:
		return fmt.Errorf("PostgreSQL does not answer; check the host, the user and its password, and that the database exists: %w", err)
	case err != nil:
		return fmt.Errorf("the file cannot be read: is it a database of prosecutor serve, and may it be read? %w", err)
	case n == 0:
		return errors.New("it has no evidence records: it is none of prosecutor serve, or older than they are")
	}
	return nil
}

// Close ends the use of a database that OpenRecords has opened.
func (r *Records) Close() error { return r.close() }

// Repository returns the number of a repository, by its name. The error is ErrNotFound when nobody knows it.
func (r *Records) Repository(ctx context.Context, owner, name string) (int64, error) {
	ids, err := collect(ctx, r.s, r.s.reader, func(rows *sql.Rows) (id int64, err error) { return id, rows.Scan(&id) },
		`SELECT id FROM repositories WHERE lower(owner) = lower(?) AND lower(name) = lower(?) ORDER BY removed, updated_at DESC`, owner, name)
	if err != nil {
		return 0, fmt.Errorf("looking for repository %s/%s: %w", owner, name, err)
	}
	if len(ids) == 0 {
		return 0, fmt.Errorf("repository %s/%s: %w", owner, name, ErrNotFound)
	}
	return ids[0], nil
}

// chainRow is a chain as the database has it.
type chainRow struct {
	repo       record.Repository
	hasHead    bool
	head       record.Point
	checkpoint record.Point
}

// Read gives the chain of a repository, or all chains when repoID is 0, to a sink, as they were at one moment.
func (r *Records) Read(ctx context.Context, repoID int64, sink record.Sink) error {
	var options *sql.TxOptions // of SQLite, which reads a snapshot anyway
	if r.s.dialect == Postgres {
		options = &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
	}
	tx, err := r.s.reader.BeginTx(ctx, options)
	if err != nil {
		return fmt.Errorf("reading records: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // it has written nothing
	chains, err := collect(ctx, r.s, tx, func(rows *sql.Rows) (c chainRow, err error) {
		err = rows.Scan(&c.repo.ID, &c.repo.Name, &c.hasHead, &c.head.Sequence, &c.head.Hash, &c.checkpoint.Sequence, &c.checkpoint.Hash)
		return c, err
	}, `SELECT k.repo_id, coalesce(r.owner || '/' || r.name, ''), c.repo_id IS NOT NULL, coalesce(c.sequence, 0), coalesce(c.hash, ''),
			coalesce(c.checkpoint_sequence, 0), coalesce(c.checkpoint_hash, '')
		FROM (SELECT repo_id FROM record_chains UNION SELECT repo_id FROM records) k
		LEFT JOIN record_chains c ON c.repo_id = k.repo_id LEFT JOIN repositories r ON r.id = k.repo_id
		WHERE k.repo_id = ? OR CAST(? AS BIGINT) = 0 ORDER BY k.repo_id`, repoID, repoID)
	if err != nil {
		return fmt.Errorf("reading the chains of records: %w", err)
	}
	for _, c := range chains {
		if err := r.s.readChain(ctx, tx, c, sink); err != nil {
			return fmt.Errorf("reading the records of repository %d: %w", c.repo.ID, err)
		}
	}
	return nil
}

func (s *Store) readChain(ctx context.Context, tx *sql.Tx, c chainRow, sink record.Sink) error {
	var head *record.Point
	if c.hasHead {
		head = &c.head
	} else {
		c.checkpoint = record.Start()
	}
	if err := sink.Begin(c.repo, c.checkpoint); err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, s.bind(`SELECT previous, hash, record FROM records WHERE repo_id = ? ORDER BY sequence`), c.repo.ID)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // what went wrong while reading is in rows.Err
	for rows.Next() {
		sealed, err := scanSealed(rows)
		if err != nil {
			return err
		}
		if err := sink.Record(sealed); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return sink.End(head)
}
