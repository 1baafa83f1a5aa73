// Package store keeps what the GitHub App must not lose: deliveries, runs, pull requests, installations, kill switches and,
// through package convergence/store, the ledgers. All of it is in one database, SQLite or PostgreSQL, and so is the queue, so
// that what belongs together is one transaction: a delivery with the run and the job it leads to; a ruling of the ledger with
// the result of the run and the job that publishes it.
//
// Methods of Store read, each with a statement of its own. Methods of Tx read and write inside a transaction of InTx.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/prosecutor-bot/prosecutor/convergence"
	ledgers "github.com/prosecutor-bot/prosecutor/convergence/store"
)

// DefaultFile is the SQLite file that is used when no database is named.
const DefaultFile = "prosecutor.db"

// transactions bounds how often a transaction is tried that PostgreSQL has broken off because of others.
const transactions = 5

// Dialect is the kind of database.
type Dialect string

// The kinds of database.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Store is an open database. It is safe for concurrent use, and the database for use by several processes.
type Store struct {
	dialect  Dialect
	path     string  // of a SQLite file
	writer   *sql.DB // SQLite: one connection whose transactions take the write lock at once
	reader   *sql.DB // SQLite: connections that can only read; PostgreSQL: the same handle
	listener *pgxpool.Pool
	now      func() time.Time
	sqlite   *ledgers.SQLite   // either
	postgres *ledgers.Postgres // or
}

// Option adjusts Open.
type Option func(*Store)

// WithClock sets the clock that dates the rows. The default is time.Now.
func WithClock(now func() time.Time) Option { return func(s *Store) { s.now = now } }

// Open opens the database and brings its tables up to date. A URL that begins with postgres:// or postgresql:// names a
// PostgreSQL database; anything else is the path of a SQLite file, DefaultFile when it is empty, which is created when it is
// missing. Errors never quote a URL, because it holds a password.
func Open(ctx context.Context, database string, opts ...Option) (*Store, error) {
	s := &Store{now: time.Now}
	for _, o := range opts {
		o(s)
	}
	var err error
	if strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://") {
		err = s.openPostgres(ctx, database)
	} else {
		err = s.openSQLite(ctx, database)
	}
	if err == nil {
		err = s.migrate(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) openSQLite(ctx context.Context, path string) error {
	if path == "" {
		path = DefaultFile
	}
	s.dialect = SQLite
	l, err := ledgers.Open(ctx, path, ledgers.WithClock(s.now))
	if err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	s.sqlite, s.path = l, l.Path()
	s.writer, s.reader = l.Handles()
	return nil
}

func (s *Store) openPostgres(ctx context.Context, url string) error {
	s.dialect = Postgres
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// pgx blanks the password in its errors, but not in every malformed URL.
		return errors.New("opening the database: its URL is not one of PostgreSQL; it looks like postgres://user:password@host:5432/database?sslmode=verify-full")
	}
	s.writer = stdlib.OpenDB(*config.ConnConfig)
	s.reader = s.writer
	s.writer.SetMaxOpenConns(20)
	s.writer.SetMaxIdleConns(10)
	s.writer.SetConnMaxIdleTime(5 * time.Minute)
	if err := s.writer.PingContext(ctx); err != nil {
		return fmt.Errorf("opening the database: PostgreSQL does not answer; check the host, the user and its password, and that the database exists: %w", err)
	}
	// Listening takes a connection for good, so it does not come out of the pool that works.
	config.MinConns, config.MaxConns = 0, 1
	if s.listener, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	if s.postgres, err = ledgers.NewPostgres(ctx, s.writer, s.now); err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	return nil
}

// Close closes the database. Nothing may be using it any more.
func (s *Store) Close() error {
	if s.listener != nil {
		s.listener.Close()
	}
	if s.sqlite != nil {
		return s.sqlite.Close()
	}
	if s.writer != nil {
		return s.writer.Close()
	}
	return nil
}

// Dialect is the kind of database.
func (s *Store) Dialect() Dialect { return s.dialect }

// Path is the SQLite file, as an absolute path; empty with PostgreSQL.
func (s *Store) Path() string { return s.path }

// DB is the handle that writes, for the queue, which keeps its jobs in the same database. On SQLite it has one connection:
// whoever uses it inside a transaction waits for himself for ever.
func (s *Store) DB() *sql.DB { return s.writer }

// Reader is a handle for reading. On SQLite it cannot write, and does not wait for writers.
func (s *Store) Reader() *sql.DB { return s.reader }

// Listener is the pool from which the queue takes its connection for PostgreSQL's notifications; nil on SQLite.
func (s *Store) Listener() *pgxpool.Pool { return s.listener }

// Now is the store's clock.
func (s *Store) Now() time.Time { return s.now() }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.reader.PingContext(ctx); err != nil {
		return fmt.Errorf("the database does not answer: %w", err)
	}
	return nil
}

// Ledgers are the ledgers, each access a transaction of its own. Inside a transaction use Tx.Ledgers.
func (s *Store) Ledgers() ledgers.Store {
	if s.sqlite != nil {
		return s.sqlite
	}
	return s.postgres
}

const ledgerPrefix = "github:"

// LedgerKey names the ledger of a pull request. It goes by the repository's number, which stays when the repository is
// renamed or moved.
func LedgerKey(repoID int64, pr int) convergence.Key {
	return convergence.Key{Repo: ledgerPrefix + strconv.FormatInt(repoID, 10), Change: "pull/" + strconv.Itoa(pr)}
}

// Tx is a transaction. It is for one goroutine, and ends with the function that InTx gave it to.
type Tx struct {
	s  *Store
	tx *sql.Tx
}

// InTx runs fn in a transaction that writes. When fn returns nil the transaction is committed and everything fn did stays,
// also when the power fails right afterwards; otherwise, or when fn panics, nothing of it does. PostgreSQL can break off a
// transaction because of others; then fn is called again, so it must have no effect but on the transaction.
func (s *Store) InTx(ctx context.Context, fn func(tx *Tx) error) error {
	for try := 1; ; try++ {
		err := s.inTx(ctx, fn)
		if err == nil || try == transactions || !brokenOff(err) || ctx.Err() != nil {
			return err
		}
	}
}

func (s *Store) inTx(ctx context.Context, fn func(tx *Tx) error) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit there is nothing to roll back, and before it nothing is kept
	if err := fn(&Tx{s: s, tx: tx}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing a transaction: %w", err)
	}
	return nil
}

// brokenOff reports whether PostgreSQL gave up a transaction in favour of another one.
func brokenOff(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01") // serialization_failure, deadlock_detected
}

// SQL is the transaction, for the queue.
func (x *Tx) SQL() *sql.Tx { return x.tx }

// Now is the store's clock.
func (x *Tx) Now() time.Time { return x.s.now() }

// Ledgers are the ledgers inside the transaction. They can be given to convergence/store's Judge, too, when all of a case is
// decided without waiting for anybody.
func (x *Tx) Ledgers() ledgers.Store {
	if x.s.sqlite != nil {
		return x.s.sqlite.In(x.tx)
	}
	return &txLedgers{Store: x.s.postgres.In(x.tx), x: x}
}

// txLedgers are ledgers whose writers take the lock of the repository first.
type txLedgers struct {
	ledgers.Store
	x *Tx
}

// Update implements the ledgers' Store.
func (l *txLedgers) Update(ctx context.Context, key convergence.Key, change func(convergence.Ledger) (convergence.Ledger, error)) error {
	if err := l.lock(ctx, key); err != nil {
		return err
	}
	return l.Store.Update(ctx, key, change)
}

// Rule implements the ledgers' Store.
func (l *txLedgers) Rule(ctx context.Context, key convergence.Key, rule func(convergence.Ledger) (convergence.Ruling, error)) (convergence.Ruling, error) {
	if err := l.lock(ctx, key); err != nil {
		return convergence.Ruling{}, err
	}
	return l.Store.Rule(ctx, key, rule)
}

func (l *txLedgers) lock(ctx context.Context, key convergence.Key) error {
	id, err := strconv.ParseInt(strings.TrimPrefix(key.Repo, ledgerPrefix), 10, 64)
	if err != nil {
		return nil //nolint:nilerr // a ledger of something else, which nobody writes together with what is here
	}
	return l.x.lock(ctx, id)
}

// lock makes the transactions about a repository take turns, until they end. Each takes it before it locks anything else of
// the repository, a row or a ledger, so that no two wait for each other. They take milliseconds, and on SQLite all
// transactions take turns anyway.
func (x *Tx) lock(ctx context.Context, repoID int64) error {
	if x.s.dialect == SQLite || repoID == 0 {
		return nil
	}
	if _, err := x.tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('repository ' || $1::bigint, 0))`, repoID); err != nil {
		return fmt.Errorf("waiting for other transactions about repository %d: %w", repoID, err)
	}
	return nil
}

// bind writes the placeholders of a statement as the database wants them. No statement here has a question mark that is no
// placeholder.
func (s *Store) bind(query string) string {
	if s.dialect == SQLite {
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

func (x *Tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := x.tx.ExecContext(ctx, x.s.bind(query), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (x *Tx) row(ctx context.Context, query string, args ...any) *sql.Row {
	return x.tx.QueryRowContext(ctx, x.s.bind(query), args...)
}

// querier is what *sql.DB and *sql.Tx have in common for reading.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// collect reads all rows of a statement.
func collect[T any](ctx context.Context, s *Store, q querier, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, s.bind(query), args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // what went wrong while reading is in rows.Err
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// millis and moment translate times: 0 is the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// stamp is the time as rows hold it.
func (x *Tx) stamp() time.Time { return moment(millis(x.Now())) }

func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
