package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/sqlite/*.sql migrations/postgres/*.sql
var migrations embed.FS

const (
	// schemaVersion is the number of the last migration. Each migration sets it as the file's user_version, so that
	// opening an up-to-date file takes one query and no migration tool.
	schemaVersion = 1
	// applicationID marks a SQLite file as a store: "PROS".
	applicationID = 0x50524f53
	// attempts bounds how often two processes that create one file may get in each other's way.
	attempts = 50
	pause    = 20 * time.Millisecond
)

// prepare brings the file up to date.
func (s *SQLite) prepare(ctx context.Context) error {
	var err error
	for range attempts {
		var version int
		if version, err = s.version(ctx); err == nil {
			if version == schemaVersion {
				return nil
			}
			// Every migration is one transaction, so the loser of a race between two processes has changed nothing, and
			// finds the work of the winner when it looks again.
			err = s.migrate(ctx)
		}
		var file *FileError
		if errors.As(err, &file) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("opening the ledger store %s: %w", s.path, ctx.Err())
		case <-time.After(pause):
		}
	}
	return err
}

// version returns the schema version of the file, 0 for a new one, and an error for a file that this program must not
// touch.
func (s *SQLite) version(ctx context.Context) (int, error) {
	var id, version, strangers int
	err := s.writer.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
		(SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name NOT LIKE 'goose\_%' ESCAPE '\')`).Scan(&id, &version, &strangers)
	if err != nil {
		return 0, s.explain("reading the schema version", err)
	}
	switch {
	case id == applicationID && version > schemaVersion:
		return 0, &FileError{Path: s.path, Problem: fmt.Sprintf("has schema version %d, and this program knows %d", version, schemaVersion),
			Advice: "use the later version of prosecutor that wrote it; nothing was changed"}
	case id != applicationID && (id != 0 || version != 0 || strangers > 0):
		return 0, &FileError{Path: s.path, Problem: "is a SQLite database of something else", Advice: "name another file; nothing was changed"}
	}
	return version, nil
}

// migrate runs the migrations that the file has not seen.
func (s *SQLite) migrate(ctx context.Context) error {
	if _, err := s.writer.ExecContext(ctx, `PRAGMA journal_mode = WAL`); err != nil {
		return s.explain("switching to write-ahead logging", err)
	}
	files, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, s.writer, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("preparing the migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return s.explain("migrating", err)
	}
	return nil
}
