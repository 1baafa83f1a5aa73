package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/sqlite/*.sql migrations/postgres/*.sql
var migrations embed.FS

const (
	// schemaVersion is the number of the last migration.
	schemaVersion = 3
	// versionTable is where the migration tool keeps what it has done.
	versionTable = "app_migrations"
	// migrationLock is the advisory lock of PostgreSQL that lets one process at a time migrate: "PROS" and "tabl" in ASCII.
	migrationLock = 0x50524f537461626c
	// attempts bounds how often two processes that create one SQLite file may get in each other's way.
	attempts = 50
	pause    = 20 * time.Millisecond
)

// migrate brings the tables up to date.
func (s *Store) migrate(ctx context.Context) error {
	return s.Migrate(ctx, func(ctx context.Context) error {
		dialect, dir := goose.DialectSQLite3, "migrations/sqlite"
		if s.dialect == Postgres {
			dialect, dir = goose.DialectPostgres, "migrations/postgres"
		}
		files, err := fs.Sub(migrations, dir)
		if err != nil {
			return err
		}
		p, err := goose.NewProvider(dialect, s.writer, files, goose.WithDisableGlobalRegistry(true), goose.WithTableName(versionTable))
		if err != nil {
			return fmt.Errorf("preparing the migrations: %w", err)
		}
		version, err := p.GetDBVersion(ctx)
		if err != nil {
			return fmt.Errorf("reading the schema version of the database: %w", err)
		}
		if version > schemaVersion {
			return &NewerError{Version: version}
		}
		if _, err := p.Up(ctx); err != nil {
			return fmt.Errorf("migrating the database: %w", err)
		}
		return nil
	})
}

// NewerError says that a later version of the program has written the database.
type NewerError struct{ Version int64 }

// Error implements error.
func (e *NewerError) Error() string {
	return fmt.Sprintf("the database has schema version %d, and this program knows %d: use the later version of prosecutor that wrote it; nothing was changed", e.Version, schemaVersion)
}

// Migrate runs a migration of somebody who keeps tables in the same database, the queue for one, so that no other process
// migrates at the same time. On SQLite that cannot be prevented, so there it is tried again when it fails: every migration
// must be one transaction, and must do nothing when it was done.
func (s *Store) Migrate(ctx context.Context, up func(context.Context) error) error {
	if s.dialect == Postgres {
		return s.migrateLocked(ctx, up)
	}
	var err error
	for range attempts {
		if err = up(ctx); err == nil {
			return nil
		}
		if _, newer := err.(*NewerError); newer { //nolint:errorlint // made here, and never wrapped
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
	return err
}

func (s *Store) migrateLocked(ctx context.Context, up func(context.Context) error) error {
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting to migrate: %w", err)
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, int64(migrationLock)); err != nil {
		return fmt.Errorf("waiting for other processes to migrate: %w", err)
	}
	defer func() {
		// The lock ends with the connection at the latest, and the pool would keep that open.
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, int64(migrationLock))
	}()
	return up(ctx)
}
