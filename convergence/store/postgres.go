package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"

	"github.com/prosecutor-bot/prosecutor/convergence"
)

const (
	// versionTable is where the migration tool keeps what it has done in PostgreSQL, where the database may hold other
	// programs' tables too.
	versionTable = "ledger_migrations"
	// migrationLock is the advisory lock that lets one process at a time migrate: "PROS" and "ledg" in ASCII.
	migrationLock = 0x50524f536c656467
)

// Postgres is a Store in a PostgreSQL database, for any number of processes. Writers of one ledger take turns by an advisory
// lock; writers of different ones do not wait for each other.
type Postgres struct {
	tables
	db *sql.DB
}

var _ Store = (*Postgres)(nil)

// NewPostgres makes a store of the database, and brings its tables up to date first. The handle stays the caller's: Close
// does not close it.
func NewPostgres(ctx context.Context, db *sql.DB, now func() time.Time) (*Postgres, error) {
	s := &Postgres{db: db}
	s.postgres, s.now = true, now
	if s.now == nil {
		s.now = time.Now
	}
	s.explain, s.unreadable = s.explainError, s.explainRow
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Postgres) prepare(ctx context.Context) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return s.explain("connecting", err)
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, int64(migrationLock)); err != nil {
		return s.explain("waiting for other processes to migrate", err)
	}
	defer func() {
		// The lock ends with the connection at the latest, and the pool would keep that open.
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, int64(migrationLock))
	}()
	files, err := fs.Sub(migrations, "migrations/postgres")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectPostgres, s.db, files, goose.WithDisableGlobalRegistry(true), goose.WithTableName(versionTable))
	if err != nil {
		return fmt.Errorf("preparing the migrations: %w", err)
	}
	version, err := p.GetDBVersion(ctx)
	if err != nil {
		return s.explain("reading the schema version", err)
	}
	if version > schemaVersion {
		return fmt.Errorf("the ledger tables in PostgreSQL have schema version %d, and this program knows %d: use the later version of prosecutor that wrote them; nothing was changed", version, schemaVersion)
	}
	if _, err := p.Up(ctx); err != nil {
		return s.explain("migrating", err)
	}
	return nil
}

// In is the store inside a transaction on the same database.
func (s *Postgres) In(tx *sql.Tx) *Tx { return &Tx{t: &s.tables, tx: tx} }

// Load implements Store.
func (s *Postgres) Load(ctx context.Context, key convergence.Key) (convergence.Ledger, error) {
	l, _, err := s.load(ctx, s.db, key)
	return l, err
}

// Update implements Store.
func (s *Postgres) Update(ctx context.Context, key convergence.Key, change func(convergence.Ledger) (convergence.Ledger, error)) error {
	_, err := s.inTx(ctx, s.db, key, ledgerOnly(change))
	return err
}

// Rule implements Store.
func (s *Postgres) Rule(ctx context.Context, key convergence.Key, rule func(convergence.Ledger) (convergence.Ruling, error)) (convergence.Ruling, error) {
	return s.inTx(ctx, s.db, key, rule)
}

// History implements Store.
func (s *Postgres) History(ctx context.Context, key convergence.Key, limit int) ([]Record, error) {
	return s.history(ctx, s.db, key, limit)
}

// List implements Store.
func (s *Postgres) List(ctx context.Context) ([]Summary, error) { return s.list(ctx, s.db) }

// Close implements Store. It does nothing: the handle is closed by whoever opened it.
func (s *Postgres) Close() error { return nil }

func (s *Postgres) explainRow(key convergence.Key, err error) error {
	if errors.Is(err, errVersion) {
		return fmt.Errorf("PostgreSQL holds a ledger of %s that cannot be read; use that version of prosecutor, or a later one; nothing was changed: %w", key, err)
	}
	return fmt.Errorf("PostgreSQL holds a ledger of %s that cannot be read; restore it from a backup; nothing was changed: %w", key, err)
}

// explainError turns an error of the database into one that says what to do. It never quotes the connection string, which
// holds a password.
func (s *Postgres) explainError(doing string, err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code {
		case "42501": // insufficient_privilege
			return fmt.Errorf("%s: the database user may not do that; grant it the right to create and change tables in its schema: %w", doing, err)
		case "53100": // disk_full
			return fmt.Errorf("%s: no space is left for PostgreSQL; free some, and try again: %w", doing, err)
		case "53300": // too_many_connections
			return fmt.Errorf("%s: PostgreSQL has no connection left; raise max_connections or run fewer processes: %w", doing, err)
		}
	}
	return fmt.Errorf("%s in PostgreSQL: %w", doing, err)
}
