// Package storetest runs a test against every kind of database that the store knows: a SQLite file, and a real PostgreSQL
// server.
package storetest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/test/postgrestest"
)

// Database is one kind of database.
type Database struct {
	Dialect store.Dialect
	// URL makes a database of its own, with tables and nothing in them, and returns what store.Open takes.
	URL func(t *testing.T) string
}

// Open opens a store in a database of its own and closes it with the test.
func (d Database) Open(t *testing.T, opts ...store.Option) *store.Store {
	t.Helper()
	return Open(t, d.URL(t), opts...)
}

// Open opens a store and closes it with the test.
func Open(t *testing.T, url string, opts ...store.Option) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Each runs a test as a subtest for each kind of database. The tables are made once, by the store and then by prepare, and
// copied for each database that the test asks for.
func Each(t *testing.T, test func(t *testing.T, d Database), prepare ...func(context.Context, *store.Store) error) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		model := filepath.Join(t.TempDir(), "model.db")
		migrate(t, model, prepare)
		tables, err := os.ReadFile(model)
		if err != nil {
			t.Fatal(err)
		}
		test(t, Database{store.SQLite, func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "prosecutor.db")
			if err := os.WriteFile(path, tables, 0o600); err != nil { //nolint:gosec // in a directory of the test
				t.Fatal(err)
			}
			return path
		}})
	})
	t.Run("postgres", func(t *testing.T) {
		server := postgrestest.Start(t)
		model := server.Database(t)
		migrate(t, model, prepare)
		test(t, Database{store.Postgres, func(t *testing.T) string { return server.Copy(t, model) }})
	})
}

func migrate(t *testing.T, url string, prepare []func(context.Context, *store.Store) error) {
	t.Helper()
	s, err := store.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range prepare {
		if err := p(t.Context(), s); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// In runs fn in a transaction, and fails the test when it fails.
func In(t *testing.T, s *store.Store, fn func(ctx context.Context, tx *store.Tx) error) {
	t.Helper()
	if err := s.InTx(t.Context(), func(tx *store.Tx) error { return fn(t.Context(), tx) }); err != nil {
		t.Fatal(err)
	}
}
