package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/record"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/app/store/storetest"
)

func TestRecords(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		for _, c := range []struct {
			name string
			test func(*testing.T, storetest.Database)
		}{
			{"append", testAppendRecord},
			{"what lacks something", testRecordsThatLack},
			{"append at once", testAppendAtOnce},
			{"a transaction that is rolled back", testRecordRolledBack},
			{"a database that refuses", testRefusedRecords},
			{"append-only", testRecordsAreAppendOnly},
			{"found when changed", testChangedRecordsAreFound},
			{"a chain without its head", testLostHead},
			{"prune", testPruneRecords},
			{"prune in parts", testPruneInParts},
			{"a broken chain is not pruned", testBrokenIsNotPruned},
			{"a snapshot", testRecordsAreASnapshot},
			{"opened to be read", testOpenRecords},
			{"on existing data", testMigrateRecords},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(t, d) })
		}
	})
}

func aRecord(repo int64) record.Record {
	return record.Record{
		Kind: record.Decision, Software: record.Software{Name: "prosecutor", Version: "v1"}, Repository: record.Repository{ID: repo, Name: "acme/pay"},
		PullRequest: 2, Case: record.Case{Base: "b", Head: "h"}, Decision: "ADVANCE", KeepDays: 30,
	}
}

func appendRecords(t *testing.T, s *store.Store, repo int64, n int, keep ...int) {
	t.Helper()
	for i := range n {
		r := aRecord(repo)
		if len(keep) > 0 {
			r.KeepDays = keep[i%len(keep)]
		}
		storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.AppendRecord(ctx, r)
			return err
		})
	}
}

// verify verifies all chains of a store, or that of one repository.
func verify(t *testing.T, s *store.Store, repo int64, known ...record.Known) []record.Report {
	t.Helper()
	v := record.NewVerifier(known)
	if err := s.Records().Read(t.Context(), repo, v); err != nil {
		t.Fatal(err)
	}
	return v.Reports()
}

// intact fails unless a repository has one intact chain with these records.
func intact(t *testing.T, s *store.Store, repo, first, last int64) record.Report {
	t.Helper()
	r := verify(t, s, repo)
	if len(r) != 1 || r[0].Status != record.Intact || r[0].Checkpoint.Sequence != first-1 || r[0].Head.Sequence != last {
		t.Fatalf("%+v, want intact from %d to %d", r, first, last)
	}
	return r[0]
}

// collected is a sink that keeps what it is given.
type collected struct{ texts []string }

func (*collected) Begin(record.Repository, record.Point) error { return nil }
func (c *collected) Record(s record.Sealed) error {
	c.texts = append(c.texts, string(s.Text))
	return nil
}
func (*collected) End(*record.Point) error { return nil }

func testAppendRecord(t *testing.T, d storetest.Database) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := d.Open(t, store.WithClock(func() time.Time { return now }))
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		for i := range int64(3) {
			n, err := tx.AppendRecord(ctx, aRecord(1))
			if err != nil || n != i+1 {
				t.Errorf("record %d, %v", n, err)
			}
		}
		n, err := tx.AppendRecord(ctx, aRecord(1<<40))
		if err != nil || n != 1 {
			t.Errorf("record %d of another repository, %v", n, err)
		}
		return tx.CanRecord(ctx, 3)
	})
	r := intact(t, s, 1, 1, 3)
	intact(t, s, 1<<40, 1, 1)
	intact(t, s, 3, 1, 0)
	var c collected
	if err := s.Records().Read(t.Context(), 1, &c); err != nil || len(c.texts) != 3 || !strings.Contains(c.texts[2], `"at":"2026-03-01T12:00:00.000Z"`) {
		t.Errorf("%s, %v", c.texts, err)
	}
	all := verify(t, s, 0, record.Known{Repository: 1, Point: r.Head}, record.Known{Repository: 4, Point: r.Head})
	if len(all) != 4 || all[0].Status != record.Intact || all[1].Status != record.Intact || all[2].Status != record.Intact || all[3].Status != record.Broken {
		t.Errorf("%+v", all)
	}
	if got := verify(t, s, 4); len(got) != 0 {
		t.Errorf("%+v of a repository without records", got)
	}
}

func testRecordsThatLack(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	for _, r := range []record.Record{{KeepDays: 1}, {Repository: record.Repository{ID: 1}}, {Repository: record.Repository{ID: 1}, KeepDays: -1}} {
		err := s.InTx(t.Context(), func(tx *store.Tx) error {
			_, err := tx.AppendRecord(t.Context(), r)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "lacks") {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// Several processes append to one chain at once: it has no gap, and verifies.
func testAppendAtOnce(t *testing.T, d storetest.Database) {
	url := d.URL(t)
	var wg sync.WaitGroup
	const writers, each = 4, 10
	for range writers {
		s := storetest.Open(t, url)
		wg.Go(func() {
			for range each {
				err := s.InTx(t.Context(), func(tx *store.Tx) error {
					_, err := tx.AppendRecord(t.Context(), aRecord(1))
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	intact(t, storetest.Open(t, url), 1, 1, writers*each)
}

func testRecordRolledBack(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	appendRecords(t, s, 1, 1)
	err := s.InTx(t.Context(), func(tx *store.Tx) error {
		for _, repo := range []int64{1, 2} {
			if _, err := tx.AppendRecord(t.Context(), aRecord(repo)); err != nil {
				t.Error(err)
			}
		}
		return errBoom
	})
	if !errors.Is(err, errBoom) {
		t.Error(err)
	}
	intact(t, s, 1, 1, 1)
	if r := verify(t, s, 2); len(r) != 0 {
		t.Errorf("%+v", r)
	}
	appendRecords(t, s, 1, 1)
	intact(t, s, 1, 1, 2)
}

// Whatever of a record the database refuses, the caller hears of it.
func testRefusedRecords(t *testing.T, d storetest.Database) {
	for _, what := range []string{"INSERT ON records", "UPDATE ON record_chains", "INSERT ON record_chains"} {
		s := d.Open(t)
		if what != "INSERT ON record_chains" {
			appendRecords(t, s, 1, 1)
		}
		_, table, _ := strings.Cut(what, " ON ")
		if d.Dialect == store.SQLite {
			run1(t, s, `CREATE TRIGGER refused BEFORE `+what+` BEGIN SELECT RAISE(ABORT, 'the disk is broken'); END`)
		} else {
			run1(t, s, `CREATE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the disk is broken'; END; $$`)
			run1(t, s, `CREATE TRIGGER refused BEFORE `+what+` FOR EACH ROW EXECUTE FUNCTION refused()`)
		}
		err := s.InTx(t.Context(), func(tx *store.Tx) error {
			_, err := tx.AppendRecord(t.Context(), aRecord(1))
			if err == nil || !strings.Contains(err.Error(), "recording the evidence of a decision in repository 1") || !strings.Contains(err.Error(), "the disk is broken") {
				t.Errorf("%s: %v", what, err)
			}
			return err
		})
		if err == nil {
			t.Errorf("%s: the transaction was committed", what)
		}
		for _, r := range verify(t, s, 0) {
			if r.Status != record.Intact || table == "records" && r.Head.Sequence != 1 {
				t.Errorf("%s: %+v", what, r)
			}
		}
	}
}

func testRecordsAreAppendOnly(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	appendRecords(t, s, 1, 3)
	for _, q := range []string{`UPDATE records SET record = '{}'`, `DELETE FROM records WHERE sequence = 3`, `DELETE FROM records`} {
		if _, err := s.DB().ExecContext(t.Context(), q); err == nil || !strings.Contains(err.Error(), "append-only") && !strings.Contains(err.Error(), "checkpoint") {
			t.Errorf("%s: %v", q, err)
		}
	}
	if d.Dialect == store.Postgres {
		if _, err := s.DB().ExecContext(t.Context(), `TRUNCATE records`); err == nil {
			t.Error("the records were truncated")
		}
	}
	intact(t, s, 1, 1, 3)
}

// unguard takes away what keeps the records from being changed, as the owner of the database can.
func unguard(t *testing.T, s *store.Store) {
	t.Helper()
	for _, name := range []string{"records_are_not_changed", "records_are_not_deleted"} {
		q := `DROP TRIGGER ` + name
		if s.Dialect() == store.Postgres {
			q += ` ON records`
		}
		run1(t, s, q)
	}
}

func run1(t *testing.T, s *store.Store, query string) {
	t.Helper()
	if _, err := s.DB().ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func testChangedRecordsAreFound(t *testing.T, d storetest.Database) {
	for _, c := range []struct {
		name, change string
		sequence     int64
	}{
		{"altered", `UPDATE records SET record = replace(record, 'ADVANCE', 'ESCALATE') WHERE sequence = 2`, 2},
		{"removed", `DELETE FROM records WHERE sequence = 2`, 2},
		{"the first removed", `DELETE FROM records WHERE sequence = 1`, 1},
		{"the last removed", `DELETE FROM records WHERE sequence = 4`, 4},
		{"moved", `UPDATE records SET sequence = 9 WHERE sequence = 2`, 2},
		{"inserted", `INSERT INTO records (repo_id, sequence, previous, hash, record, keep_until) SELECT repo_id, 5, previous, hash, record, keep_until FROM records WHERE sequence = 4`, 5},
		{"a head set back", `UPDATE record_chains SET sequence = 3`, 4},
		{"the hash of the head", `UPDATE record_chains SET hash = checkpoint_hash`, 4},
		{"a checkpoint set", `UPDATE record_chains SET checkpoint_sequence = 1, checkpoint_hash = hash`, 2},
		{"the head removed", `DELETE FROM record_chains`, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := d.Open(t)
			appendRecords(t, s, 1, 4)
			unguard(t, s)
			run1(t, s, c.change)
			if r := verify(t, s, 0); len(r) != 1 || r[0].Status != record.Broken || r[0].Sequence != c.sequence {
				t.Errorf("%+v, want broken at %d", r, c.sequence)
			}
		})
	}
}

// Nothing is appended to a chain that cannot go on where it was.
func testLostHead(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	appendRecords(t, s, 1, 2)
	run1(t, s, `DELETE FROM record_chains`)
	for what, try := range map[string]func(tx *store.Tx) error{
		"append": func(tx *store.Tx) error { _, err := tx.AppendRecord(t.Context(), aRecord(1)); return err },
		"look":   func(tx *store.Tx) error { return tx.CanRecord(t.Context(), 1) },
	} {
		if err := s.InTx(t.Context(), try); err == nil || !strings.Contains(err.Error(), "2 records and no head") || !strings.Contains(err.Error(), "backup") {
			t.Errorf("%s: %v", what, err)
		}
	}
	appendRecords(t, s, 2, 1)
}

func testPruneRecords(t *testing.T, d storetest.Database) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := d.Open(t, store.WithClock(func() time.Time { return now }))
	appendRecords(t, s, 1, 5, 10, 10, 20, 10, 10) // the third keeps those behind it
	appendRecords(t, s, 2, 2, 90)
	known := record.Known{Repository: 1, Point: intact(t, s, 1, 1, 5).Head}
	prune := func(after time.Duration, want int64) {
		t.Helper()
		if n, err := s.PruneRecords(t.Context(), now.Add(after)); err != nil || n != want {
			t.Errorf("%d pruned after %v, %v; want %d", n, after, err, want)
		}
	}
	const days = 24 * time.Hour
	prune(10*days, 0)
	intact(t, s, 1, 1, 5)
	prune(10*days+time.Millisecond, 2)
	intact(t, s, 1, 3, 5)
	prune(11*days, 0)
	prune(21*days, 3)
	if r := intact(t, s, 1, 6, 5); r.Head != known.Point {
		t.Errorf("%+v", r)
	}
	intact(t, s, 2, 1, 2)
	// The chain goes on where it was.
	appendRecords(t, s, 1, 2)
	intact(t, s, 1, 6, 7)
	if r := verify(t, s, 1, known); r[0].Status != record.Intact {
		t.Errorf("%+v", r)
	}
	// A checkpoint that is no longer the one is found.
	run1(t, s, `UPDATE record_chains SET checkpoint_hash = '`+strings.Repeat("ab", 32)+`' WHERE repo_id = 1`)
	if r := verify(t, s, 1); r[0].Status != record.Broken || r[0].Sequence != 6 || !strings.Contains(r[0].Problem, "checkpoint") {
		t.Errorf("%+v", r)
	}
	if r := verify(t, s, 1, known); r[0].Status != record.Broken || r[0].Sequence != 5 {
		t.Errorf("%+v", r)
	}
}

func testPruneInParts(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		for range 501 {
			if _, err := tx.AppendRecord(ctx, aRecord(1)); err != nil {
				return err
			}
		}
		return nil
	})
	late := time.Now().Add(31 * 24 * time.Hour)
	for _, want := range []int64{500, 1, 0} {
		if n, err := s.PruneRecords(t.Context(), late); err != nil || n != want {
			t.Errorf("%d, %v", n, err)
		}
	}
	intact(t, s, 1, 502, 501)
}

// What was changed is evidence, and stays; other chains are pruned all the same.
func testBrokenIsNotPruned(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	for repo := range int64(4) {
		appendRecords(t, s, repo+1, 3)
	}
	unguard(t, s)
	run1(t, s, `UPDATE records SET record = '{}' WHERE repo_id = 1 AND sequence = 2`)
	run1(t, s, `DELETE FROM records WHERE repo_id = 2 AND sequence = 3`)
	run1(t, s, `UPDATE record_chains SET checkpoint_sequence = 1, checkpoint_hash = hash WHERE repo_id = 3`)
	n, err := s.PruneRecords(t.Context(), time.Now().Add(31*24*time.Hour))
	if err == nil || !strings.Contains(err.Error(), "repository 1") || !strings.Contains(err.Error(), "broken at record 2") || !strings.Contains(err.Error(), "repository 3") {
		t.Error(err)
	}
	// The second has lost only what stands behind what is pruned, and its head shows it.
	if n != 5 {
		t.Errorf("%d pruned", n)
	}
	for repo, want := range map[int64]record.Status{1: record.Broken, 2: record.Broken, 3: record.Broken, 4: record.Intact} {
		if r := verify(t, s, repo); r[0].Status != want {
			t.Errorf("%+v", r)
		}
	}
	var left int
	if err := s.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM records WHERE repo_id IN (1, 3)`).Scan(&left); err != nil || left != 6 {
		t.Errorf("%d records left, %v", left, err)
	}
}

// during is a sink that does something while it is given a chain.
type during struct {
	*record.Verifier
	do func()
}

func (d during) Begin(repo record.Repository, checkpoint record.Point) error {
	d.do()
	return d.Verifier.Begin(repo, checkpoint)
}

// Records that come while others are read are no break.
func testRecordsAreASnapshot(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	appendRecords(t, s, 1, 2)
	v := record.NewVerifier(nil)
	if err := s.Records().Read(t.Context(), 0, during{v, func() { appendRecords(t, s, 1, 1) }}); err != nil {
		t.Fatal(err)
	}
	if r := v.Reports(); r[0].Status != record.Intact || r[0].Head.Sequence != 2 {
		t.Errorf("%+v", r)
	}
	intact(t, s, 1, 1, 3)
	if err := s.Records().Read(t.Context(), 0, failing{}); !errors.Is(err, errBoom) {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Begin(record.Repository, record.Point) error { return errBoom }
func (failing) Record(record.Sealed) error                  { return errBoom }
func (failing) End(*record.Point) error                     { return errBoom }

func testOpenRecords(t *testing.T, d storetest.Database) {
	url := d.URL(t)
	s := storetest.Open(t, url)
	appendRecords(t, s, 1, 2)
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.SeeRepository(ctx, store.Repository{ID: 1, Installation: 9, Owner: "Acme", Name: "pay"})
	})
	r, err := store.OpenRecords(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	v := record.NewVerifier(nil)
	id, errName := r.Repository(t.Context(), "acme", "PAY")
	_, errOther := r.Repository(t.Context(), "acme", "other")
	if err := errors.Join(r.Read(t.Context(), id, v), errName, r.Close()); err != nil || id != 1 || !errors.Is(errOther, store.ErrNotFound) {
		t.Errorf("%d, %v, %v", id, err, errOther)
	}
	if got := v.Reports(); len(got) != 1 || got[0].Status != record.Intact || got[0].Repository.Name != "Acme/pay" {
		t.Errorf("%+v", got)
	}
}

// before3 makes a database one that the program before the records has written.
func before3(t *testing.T, s *store.Store) {
	t.Helper()
	run1(t, s, `DROP TABLE records`)
	run1(t, s, `DROP TABLE record_chains`)
	if s.Dialect() == store.Postgres {
		run1(t, s, `DROP FUNCTION records_are_append_only`)
		run1(t, s, `DROP FUNCTION records_behind_a_checkpoint`)
	}
	run1(t, s, `DELETE FROM app_migrations WHERE version_id >= 3`)
}

func testMigrateRecords(t *testing.T, d storetest.Database) {
	url := d.URL(t)
	s := storetest.Open(t, url)
	id := start(t, s, request("a", store.CausePush, receive(t, s, "one"))).Run.ID
	before3(t, s)
	if _, err := store.OpenRecords(t.Context(), url); err == nil || !strings.Contains(err.Error(), "no evidence records") {
		t.Error(err)
	}
	now := storetest.Open(t, url)
	if r := run(t, now, id); r.Head != "a" {
		t.Errorf("%+v", r)
	}
	appendRecords(t, now, 1, 2)
	intact(t, now, 1, 1, 2)
}

func TestOpenRecordsWritesNothing(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := filepath.Join(dir, "other.db")
	db, err := sql.Open("sqlite", other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE mine (id INTEGER)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for database, want := range map[string]string{
		filepath.Join(dir, "missing.db"): "there is no file",
		dir:                              "not a regular file",
		file("text.db", "not a database, but long enough to be looked at"): "cannot be read",
		file("empty.db", ""): "no evidence records",
		other:                "no evidence records",
		"postgres://prosecutor:hunter2@127.0.0.1:1/x?sslmode=disable&connect_timeout=1": "does not answer",
		"postgres://prosecutor:hunter2@[::1/x":                                          "its URL is not one of PostgreSQL",
	} {
		r, err := store.OpenRecords(t.Context(), database)
		if err == nil {
			r.Close()
			t.Errorf("%s was opened", database)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", database, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "missing.db")); err == nil {
		t.Error("a file was made")
	}
	t.Chdir(dir)
	if _, err := store.OpenRecords(t.Context(), ""); err == nil || !strings.Contains(err.Error(), store.DefaultFile) {
		t.Error(err)
	}
	// A database is not changed, not even its file.
	s := storetest.Open(t, filepath.Join(dir, "prosecutor.db"))
	appendRecords(t, s, 1, 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.OpenRecords(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	x, err := record.NewExporter(&b, record.Software{}, time.Now())
	if err := errors.Join(err, r.Read(t.Context(), 0, x), r.Close()); err != nil || b.Len() != 0 {
		t.Errorf("%v, %d bytes before the end", err, b.Len())
	}
	if records, chains, err := x.Close(); err != nil || records != 3 || chains != 1 {
		t.Error(fmt.Sprint(records, chains), err)
	}
	if after, err := os.ReadFile(s.Path()); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed, %v", err)
	}
}
