package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/test/postgrestest"
)

// database is one kind of database.
type database struct {
	name string
	url  func(t *testing.T) string // of an empty one; a path, or a connection string
	open func(t *testing.T, url string, opts ...Option) *opened
}

// opened is a store, with a handle on its tables.
type opened struct {
	Store
	db    *sql.DB
	close func() error
}

// Close implements Store.
func (o *opened) Close() error { return errors.Join(o.Store.Close(), o.close()) }

// openURL opens a store in whatever the URL names.
func openURL(ctx context.Context, url string, opts ...Option) (*opened, error) {
	if !strings.HasPrefix(url, "postgres://") {
		s, err := Open(ctx, url, opts...)
		if err != nil {
			return nil, err
		}
		return &opened{Store: s, db: s.writer, close: func() error { return nil }}, nil
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		return nil, err
	}
	clock := &SQLite{tables: tables{now: time.Now}}
	for _, o := range opts {
		o(clock)
	}
	s, err := NewPostgres(ctx, db, clock.now)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &opened{Store: s, db: db, close: db.Close}, nil
}

func openDatabase(t *testing.T, url string, opts ...Option) *opened {
	t.Helper()
	s, err := openURL(t.Context(), url, opts...)
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

// each runs a test against every kind of database.
func each(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, database{"sqlite", file, openDatabase}) })
	t.Run("postgres", func(t *testing.T) {
		server := postgrestest.Start(t)
		test(t, database{"postgres", func(t *testing.T) string { return server.Database(t) }, openDatabase})
	})
}

// TestConformance is the suite that both databases pass.
func TestConformance(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		for _, c := range []struct {
			name string
			test func(*testing.T, database)
		}{
			{"load unknown", testLoadUnknown},
			{"update survives reopening", testUpdateSurvivesReopening},
			{"an error writes nothing", testUpdateErrorWritesNothing},
			{"history is append-only", testHistoryIsAppendOnly},
			{"guards leave no history", testGuardsLeaveNoHistory},
			{"unreadable ledgers", testUnreadableLedgers},
			{"concurrent opening", testConcurrentOpening},
			{"processes take turns", testProcessesTakeTurns},
			{"killed writer", testKilledWriter},
			{"judge", testJudge},
			{"judge an old head", testJudgeOfAnOldHead},
			{"judge twice at once", testJudgeTwiceAtOnce},
			{"judge fails", testJudgeFails},
			{"a transaction of the caller", testCallersTransaction},
			{"ledgers apart", testLedgersApart},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(t, d) })
		}
	})
}

// in is the store inside a transaction.
func (o *opened) in(tx *sql.Tx) *Tx {
	switch s := o.Store.(type) {
	case *SQLite:
		return s.In(tx)
	case *Postgres:
		return s.In(tx)
	default:
		panic("a store of no kind")
	}
}

func testCallersTransaction(t *testing.T, d database) {
	s := d.open(t, d.url(t))
	if _, err := s.db.ExecContext(t.Context(), `CREATE TABLE beside (id INTEGER)`); err != nil {
		t.Fatal(err)
	}
	try := func(commit bool) {
		t.Helper()
		tx, err := s.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(t.Context(), `INSERT INTO beside VALUES (1)`); err != nil {
			t.Fatal(err)
		}
		inside := s.in(tx)
		r, err := Judge(t.Context(), inside, facts("h1"), config.DefaultPolicy(), shipping)
		if err != nil || r.Decision != convergence.Advance {
			t.Fatalf("%v, %v", r, err)
		}
		// The transaction sees what it has written, and nobody else does.
		l, err := inside.Load(t.Context(), key)
		h, errHistory := inside.History(t.Context(), key, 9)
		all, errList := inside.List(t.Context())
		if err := errors.Join(err, errHistory, errList, inside.Close()); err != nil || l.Laps != 1 || len(h) != 1 || len(all) != 1 {
			t.Errorf("%+v, %+v, %+v, %v", l, h, all, err)
		}
		if l, err := s.Load(t.Context(), key); err != nil || l.Laps != 0 {
			t.Errorf("%+v, %v", l, err)
		}
		if commit {
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := func(laps, rows int) {
		t.Helper()
		var n int
		if err := s.db.QueryRowContext(t.Context(), `SELECT count(*) FROM beside`).Scan(&n); err != nil || n != rows {
			t.Errorf("%d rows beside, %v", n, err)
		}
		l, err := s.Load(t.Context(), key)
		h, errHistory := s.History(t.Context(), key, 9)
		if err := errors.Join(err, errHistory); err != nil || l.Laps != laps || len(h) != laps {
			t.Errorf("%+v, %+v, %v", l, h, err)
		}
	}
	try(false)
	want(0, 0)
	try(true)
	want(1, 1)
}

// testLedgersApart writes a ledger while another one is being written.
func testLedgersApart(t *testing.T, d database) {
	if d.name == "sqlite" {
		return // one writer at a time
	}
	s := d.open(t, d.url(t))
	other := convergence.Key{Repo: key.Repo, Change: "pull/13"}
	err := s.Update(t.Context(), key, func(l convergence.Ledger) (convergence.Ledger, error) {
		err := s.Update(t.Context(), other, func(l convergence.Ledger) (convergence.Ledger, error) { return convergence.Push(l, "b"), nil })
		return convergence.Push(l, "a"), err
	})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := s.List(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestNewerPostgres(t *testing.T) {
	url := postgrestest.Start(t).Database(t)
	s := openDatabase(t, url)
	if _, err := s.db.ExecContext(t.Context(), `INSERT INTO `+versionTable+` (version_id, is_applied) VALUES (999, true)`); err != nil {
		t.Fatal(err)
	}
	again, err := openURL(t.Context(), url)
	if err == nil {
		again.Close()
		t.Fatal("it was opened")
	}
	if !strings.Contains(err.Error(), "schema version 999") || !strings.Contains(err.Error(), "later version") {
		t.Error(err)
	}
}
