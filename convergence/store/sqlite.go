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

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/prosecutor-bot/prosecutor/convergence"
)

// busyTimeout is how long a writer waits for another process. A write takes milliseconds, so that whoever waits longer
// waits for something that is stuck.
const busyTimeout = 10 * time.Second

// SQLite is a Store in one SQLite file. It writes through one connection and reads through others, so that readers never
// wait for writers.
//
// The file is in WAL mode with synchronous=FULL: what Update and Rule have acknowledged is on the disk and survives the end
// of the process and the loss of power. A decision takes minutes and money to make again, and the one fsync of a commit
// takes milliseconds.
type SQLite struct {
	tables
	path   string
	writer *sql.DB
	reader *sql.DB
}

var _ Store = (*SQLite)(nil)

// Option adjusts Open.
type Option func(*SQLite)

// WithClock sets the clock that dates the rows. The default is time.Now.
func WithClock(now func() time.Time) Option { return func(s *SQLite) { s.now = now } }

// Open opens the store in the file, and creates it if there is none: the file with mode 0600, and directories that are
// missing above it with 0700, because ledgers quote the code of private repositories. A file of an older schema is
// brought up to date. A file that is damaged, is not a store, or is of a newer schema is an error of type *FileError, and
// is left as it was.
func Open(ctx context.Context, path string, opts ...Option) (*SQLite, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger store %s: %w", path, err)
	}
	if err := create(abs); err != nil {
		return nil, fmt.Errorf("opening the ledger store: %w", err)
	}
	s := &SQLite{path: abs}
	s.now, s.explain, s.unreadable = time.Now, s.explainError, s.explainRow
	for _, o := range opts {
		o(s)
	}
	s.writer, err = connect(abs, url.Values{"_txlock": {"immediate"}, "_synchronous": {"FULL"}})
	if err != nil {
		return nil, s.explain("opening", err)
	}
	s.writer.SetMaxOpenConns(1)
	if s.reader, err = connect(abs, url.Values{"_query_only": {"1"}}); err != nil {
		return nil, errors.Join(s.explain("opening", err), s.Close())
	}
	s.reader.SetMaxOpenConns(4)
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// create makes the file if there is none.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil { //nolint:gosec // the operator names the file
		return fmt.Errorf("creating its directory: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the operator names the file
	if errors.Is(err, fs.ErrExist) {
		info, err := os.Stat(path) //nolint:gosec // the operator names the file
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", path)
		}
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// connect makes a pool of connections. It does not touch the file yet.
func connect(path string, q url.Values) (*sql.DB, error) {
	q.Set("_busy_timeout", fmt.Sprint(busyTimeout.Milliseconds()))
	q.Set("_foreign_keys", "1")
	q.Set("_error_rc", "1")
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	c, err := sqlite.NewConnector(name.String())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

// Path is the file of the store.
func (s *SQLite) Path() string { return s.path }

// Close implements Store. It also brings the write-ahead log into the file when no other process uses it.
func (s *SQLite) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing the ledger store %s: %w", s.path, err)
	}
	return nil
}

// Load implements Store.
func (s *SQLite) Load(ctx context.Context, key convergence.Key) (convergence.Ledger, error) {
	l, _, err := s.load(ctx, s.reader, key)
	return l, err
}

// Update implements Store.
func (s *SQLite) Update(ctx context.Context, key convergence.Key, change func(convergence.Ledger) (convergence.Ledger, error)) error {
	_, err := s.inTx(ctx, s.writer, key, ledgerOnly(change))
	return err
}

// Rule implements Store.
func (s *SQLite) Rule(ctx context.Context, key convergence.Key, rule func(convergence.Ledger) (convergence.Ruling, error)) (convergence.Ruling, error) {
	return s.inTx(ctx, s.writer, key, rule)
}

// History implements Store.
func (s *SQLite) History(ctx context.Context, key convergence.Key, limit int) ([]Record, error) {
	return s.history(ctx, s.reader, key, limit)
}

// List implements Store.
func (s *SQLite) List(ctx context.Context) ([]Summary, error) { return s.list(ctx, s.reader) }

// In is the store inside a transaction on the handle that Handles returns for writing.
func (s *SQLite) In(tx *sql.Tx) *Tx { return &Tx{t: &s.tables, tx: tx} }

// Handles returns the store's own handles, for who keeps more in the same file: the one connection that writes, whose
// transactions take the write lock at once, and the pool that can only read. Close closes them.
func (s *SQLite) Handles() (writer, reader *sql.DB) { return s.writer, s.reader }

// Check reads the whole file and reports damage. It takes as long as the file is large.
func (s *SQLite) Check(ctx context.Context) error {
	const doing = "checking the store"
	rows, err := s.reader.QueryContext(ctx, `PRAGMA integrity_check`)
	if err != nil {
		return s.explain(doing, err)
	}
	defer func() { _ = rows.Close() }() // what went wrong while reading is in rows.Err
	var faults []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return s.explain(doing, err)
		}
		if line != "ok" {
			faults = append(faults, line)
		}
	}
	if err := rows.Err(); err != nil {
		return s.explain(doing, err)
	}
	if len(faults) > 0 {
		return s.damaged(errors.New(strings.Join(faults, "; ")))
	}
	return nil
}

// FileError says that the file of a store cannot be used as it is, and what to do about it. The file was not changed.
type FileError struct {
	Path    string
	Problem string // what is wrong with it
	Advice  string // what to do
	Err     error  // the cause; may be nil
}

// Error implements error.
func (e *FileError) Error() string {
	msg := fmt.Sprintf("the ledger store %s %s", e.Path, e.Problem)
	if e.Err != nil {
		msg += fmt.Sprintf(" (%v)", e.Err)
	}
	return msg + ": " + e.Advice
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

func (s *SQLite) damaged(err error) error {
	return &FileError{Path: s.path, Problem: "is damaged", Err: err,
		Advice: "restore it from a backup, or move it away together with its -wal and -shm files to begin with empty ledgers; nothing was deleted"}
}

func (s *SQLite) explainRow(key convergence.Key, err error) error {
	e := &FileError{Path: s.path, Problem: fmt.Sprintf("holds a ledger of %s that cannot be read", key), Err: err,
		Advice: "restore the file from a backup; nothing was changed"}
	if errors.Is(err, errVersion) {
		e.Advice = "use that version of prosecutor, or a later one; nothing was changed"
	}
	return e
}

// explainError turns an error of the database into one that says what to do.
func (s *SQLite) explainError(doing string, err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff { // the primary code
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return s.damaged(err)
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return fmt.Errorf("%s: another process has been writing to the ledger store %s for %v; find out whether it is stuck, and try again: %w", doing, s.path, busyTimeout, err)
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
			return fmt.Errorf("%s: the ledger store %s or its directory cannot be written; check who owns them: %w", doing, s.path, err)
		case sqlite3.SQLITE_FULL:
			return fmt.Errorf("%s: no space is left for the ledger store %s; free some, and try again: %w", doing, s.path, err)
		}
	}
	return fmt.Errorf("%s in the ledger store %s: %w", doing, s.path, err)
}
