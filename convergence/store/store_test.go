package store

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

var (
	key   = convergence.Key{Repo: "owner/name", Change: "pull/12"}
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// The test binary is also the second process of the tests: it then updates one ledger again and again.
const (
	childFile  = "STORE_TEST_CHILD_FILE"
	childTimes = "STORE_TEST_CHILD_TIMES" // 0 means until killed
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		os.Exit(child(path))
	}
	goleak.VerifyTestMain(m)
}

// child adds laps to the ledger and acknowledges each on its standard output.
func child(path string) int {
	ctx := context.Background()
	times, err := strconv.Atoi(os.Getenv(childTimes))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	s, err := openURL(ctx, path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer s.Close()
	for i := 0; times == 0 || i < times; i++ {
		laps, err := lap(ctx, s)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Printf("%d\n", laps)
	}
	return 0
}

// lap records one more lap, on a head of its own, and a ruling about it.
func lap(ctx context.Context, s Store) (int, error) {
	r, err := s.Rule(ctx, key, func(l convergence.Ledger) (convergence.Ruling, error) {
		c := convergence.Case{Key: key, Head: fmt.Sprintf("head-%d", l.Laps+1)}
		next, decision, _ := convergence.Record(l, convergence.Result{Case: c, Decision: convergence.Advance}, 3)
		return convergence.Ruling{Outcome: convergence.Decided, Decision: decision, Reason: convergence.Unanimous, Case: c, Laps: next.Laps, Ledger: next}, nil
	})
	return r.Laps, err
}

func startChild(t *testing.T, path string, times int) (*exec.Cmd, io.Reader, *strings.Builder) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFile+"="+path, childTimes+"="+strconv.Itoa(times))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out, &stderr
}

func open(t *testing.T, path string, opts ...Option) *SQLite {
	t.Helper()
	s, err := Open(t.Context(), path, opts...)
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

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "a b?c#d%20", "ledgers.db") }

func testLoadUnknown(t *testing.T, d database) {
	s := d.open(t, d.url(t))
	l, err := s.Load(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(convergence.New(), l); diff != "" {
		t.Error(diff)
	}
	all, err := s.List(t.Context())
	if err != nil || len(all) != 0 {
		t.Errorf("looking created a ledger: %v, %v", all, err)
	}
}

func testUpdateSurvivesReopening(t *testing.T, d database) {
	path := d.url(t)
	s := d.open(t, path, WithClock(func() time.Time { return start }))
	var want convergence.Ledger
	err := s.Update(t.Context(), key, func(l convergence.Ledger) (convergence.Ledger, error) {
		f := prosecutor.Finding{ID: "0123456789ab", Lens: prosecutor.Correctness, Source: prosecutor.FromModel, Severity: prosecutor.High, Claim: "it's \"wrong\" – 'really'\x00",
			Anchor: &prosecutor.Anchor{Path: "a.go", Side: prosecutor.Right, Quote: "x := 1"}}
		want, _, _ = convergence.Record(l, convergence.Result{
			Case: convergence.Case{Key: key, Base: "b", Head: "h", PolicyHash: "p", SpecHash: "s", EvidenceStates: "ci_checks=clean"}, Radius: prosecutor.RadiusHigh,
			Decision: convergence.LoopBack, Signatures: []string{"s1"}, Blocking: 1, Accused: []prosecutor.Finding{f}, Judged: true, At: start,
		}, 3)
		return want, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = d.open(t, path)
	got, err := s.Load(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	all, err := s.List(t.Context())
	if err != nil || len(all) != 1 || all[0].Key != key || !all[0].UpdatedAt.Equal(start) {
		t.Errorf("list: %+v, %v", all, err)
	}
}

func testUpdateErrorWritesNothing(t *testing.T, d database) {
	s := d.open(t, d.url(t))
	boom := errors.New("boom")
	err := s.Update(t.Context(), key, func(l convergence.Ledger) (convergence.Ledger, error) { return convergence.Push(l, "h"), boom })
	if !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic was swallowed")
			}
		}()
		_ = s.Update(t.Context(), key, func(convergence.Ledger) (convergence.Ledger, error) { panic("boom") })
	}()
	ctx, cancel := context.WithCancel(t.Context())
	err = s.Update(ctx, key, func(l convergence.Ledger) (convergence.Ledger, error) {
		cancel()
		return convergence.Push(l, "h"), nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if all, err := s.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("a failed update was stored: %v, %v", all, err)
	}
	if _, err := lap(t.Context(), s); err != nil {
		t.Errorf("the store cannot be used after failed updates: %v", err)
	}
}

func testHistoryIsAppendOnly(t *testing.T, d database) {
	s := d.open(t, d.url(t))
	for range 3 {
		if _, err := lap(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	history, err := s.History(t.Context(), key, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(history) != 2 || history[0].Case.Head != "head-3" || history[1].Case.Head != "head-2" || history[0].Laps != 3 {
		t.Errorf("history: %+v", history)
	}
	for _, stmt := range []string{`UPDATE decisions SET decision = 'ADVANCE'`, `DELETE FROM decisions`} {
		if _, err := s.db.ExecContext(t.Context(), stmt); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", stmt, err)
		}
	}
}

func testGuardsLeaveNoHistory(t *testing.T, d database) {
	s := d.open(t, d.url(t))
	for _, r := range []convergence.Ruling{
		{Outcome: convergence.NotJudged, Reason: convergence.AlreadyDecided, Ledger: convergence.New()},
		{Outcome: convergence.NotJudged, Reason: convergence.UnsupportedEvent, Ledger: convergence.New()},
		{Outcome: convergence.NotJudged, Reason: convergence.KillSwitch, Ledger: convergence.New()},
	} {
		if _, err := s.Rule(t.Context(), key, func(convergence.Ledger) (convergence.Ruling, error) { return r, nil }); err != nil {
			t.Fatal(err)
		}
	}
	history, err := s.History(t.Context(), key, 10)
	if err != nil || len(history) != 1 || history[0].Reason != convergence.KillSwitch {
		t.Errorf("history: %+v, %v", history, err)
	}
}

func TestModes(t *testing.T) {
	path := file(t)
	s := open(t, path)
	if _, err := lap(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", dir.Mode(), err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", suffix, info, err)
		}
	}
	var mode, sync string
	if err := s.writer.QueryRowContext(t.Context(), `SELECT (SELECT journal_mode FROM pragma_journal_mode), (SELECT synchronous FROM pragma_synchronous)`).Scan(&mode, &sync); err != nil {
		t.Fatal(err)
	}
	if mode != "wal" || sync != "2" {
		t.Errorf("journal mode %s, synchronous %s", mode, sync)
	}
}

func TestReaderCannotWrite(t *testing.T) {
	s := open(t, file(t))
	if _, err := s.reader.ExecContext(t.Context(), `INSERT INTO ledgers VALUES ('r', 'c', '{}', 1, 1)`); err == nil {
		t.Error("a reading connection wrote")
	}
}

func TestSchemaVersionIsThatOfTheMigrations(t *testing.T) {
	s := open(t, file(t))
	files, err := migrations.ReadDir("migrations/sqlite")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != schemaVersion {
		t.Errorf("%d migrations, schema version %d", len(files), schemaVersion)
	}
	var user, ran int
	err = s.reader.QueryRowContext(t.Context(), `SELECT (SELECT user_version FROM pragma_user_version), (SELECT max(version_id) FROM goose_db_version)`).Scan(&user, &ran)
	if err != nil || user != schemaVersion || ran != schemaVersion {
		t.Errorf("user_version %d, migrated to %d, %v", user, ran, err)
	}
}

// execIn runs statements on a file behind the store's back.
func execIn(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, stmt := range statements {
		if _, err := db.Exec(stmt); err != nil {
			t.Fatalf("%s: %v", stmt, err)
		}
	}
}

func TestFilesThatAreNoStore(t *testing.T) {
	closed := func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "ledgers.db")
		s := open(t, path)
		for range 200 {
			if _, err := lap(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, tt := range map[string]struct {
		make    func(t *testing.T) string
		problem string
		advice  string
	}{
		"garbage": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "ledgers.db")
			if err := os.WriteFile(path, []byte(strings.Repeat("no database at all\n", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, "is damaged", "backup"},
		"damaged": {func(t *testing.T) string {
			path := closed(t)
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt([]byte(strings.Repeat("\xff", 3*4096)), 100); err != nil {
				t.Fatal(err)
			}
			return path
		}, "is damaged", "backup"},
		"newer schema": {func(t *testing.T) string {
			path := closed(t)
			execIn(t, path, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion+1))
			return path
		}, fmt.Sprintf("has schema version %d, and this program knows %d", schemaVersion+1, schemaVersion), "later version"},
		"another program's": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "ledgers.db")
			execIn(t, path, "CREATE TABLE songs (title TEXT)")
			return path
		}, "something else", "another file"},
		"another application id": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "ledgers.db")
			execIn(t, path, "PRAGMA application_id = 42")
			return path
		}, "something else", "another file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := tt.make(t)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), path)
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			var fe *FileError
			if !errors.As(err, &fe) || fe.Path != path {
				t.Fatalf("error %v", err)
			}
			if !strings.Contains(fe.Problem, tt.problem) || !strings.Contains(fe.Advice, tt.advice) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v", err)
			}
			after, err := os.ReadFile(path)
			if err != nil || string(before) != string(after) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

func TestDamageBehindTheHeader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledgers.db")
	s := open(t, path)
	for range 100 {
		if _, err := lap(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("\xff", int(info.Size())-8192)), 8192); err != nil {
		t.Fatal(err)
	}
	f.Close()
	s = open(t, path)
	var fe *FileError
	if err := s.Check(t.Context()); !errors.As(err, &fe) {
		t.Errorf("check: %v", err)
	}
}

func testUnreadableLedgers(t *testing.T, d database) {
	for name, tt := range map[string]struct{ ledger, want string }{
		"newer":      {fmt.Sprintf(`{"version": %d}`, convergence.LedgerVersion+1), "later"},
		"no JSON":    {`{"version": 1, "laps": `, "backup"},
		"wrong type": {`{"version": 1, "laps": "three"}`, "backup"},
	} {
		t.Run(name, func(t *testing.T) {
			s := d.open(t, d.url(t))
			if _, err := s.db.ExecContext(t.Context(), `INSERT INTO ledgers VALUES ($1, $2, $3, 1, 1)`, key.Repo, key.Change, tt.ledger); err != nil {
				t.Fatal(err)
			}
			_, loadErr := s.Load(t.Context(), key)
			_, listErr := s.List(t.Context())
			updateErr := s.Update(t.Context(), key, func(l convergence.Ledger) (convergence.Ledger, error) { return l, nil })
			for _, err := range []error{loadErr, listErr, updateErr} {
				var fe *FileError
				if err == nil || errors.As(err, &fe) != (d.name == "sqlite") || !strings.Contains(err.Error(), key.String()) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v", err)
				}
			}
			var kept string
			if err := s.db.QueryRowContext(t.Context(), `SELECT ledger FROM ledgers`).Scan(&kept); err != nil || kept != tt.ledger {
				t.Errorf("the ledger was changed to %s, %v", kept, err)
			}
		})
	}
}

func TestUnfinishedCreationIsFinished(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledgers.db")
	// What is left when the process ends after the migration tool made its table and before the first migration.
	execIn(t, path, "CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))",
		"INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)")
	s := open(t, path)
	if _, err := lap(t.Context(), s); err != nil {
		t.Error(err)
	}
}

func testConcurrentOpening(t *testing.T, d database) {
	path := d.url(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := openURL(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := lap(t.Context(), s); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	l, err := d.open(t, path).Load(t.Context(), key)
	if err != nil || l.Laps != 8 {
		t.Errorf("%d laps, %v", l.Laps, err)
	}
}

func testProcessesTakeTurns(t *testing.T, d database) {
	const each = 60
	path := d.url(t)
	var children []*exec.Cmd
	var errs []*strings.Builder
	for range 2 {
		cmd, out, stderr := startChild(t, path, each)
		go io.Copy(io.Discard, out)
		children, errs = append(children, cmd), append(errs, stderr)
	}
	s := d.open(t, path)
	for range each {
		if _, err := lap(t.Context(), s); err != nil {
			t.Error(err)
		}
	}
	for i, cmd := range children {
		if err := cmd.Wait(); err != nil {
			t.Errorf("child: %v: %s", err, errs[i])
		}
	}
	l, err := s.Load(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if l.Laps != 3*each {
		t.Errorf("%d laps, want %d: an update was lost", l.Laps, 3*each)
	}
	whole(t, s, 3*each, 3*each)
}

// whole checks that the ledger holds between least and most laps, that no part of it is missing, and that the history has
// one row for each of them.
func whole(t *testing.T, s *opened, least, most int) int {
	t.Helper()
	if file, ok := s.Store.(*SQLite); ok {
		if err := file.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}
	l, err := s.Load(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if l.Laps < least || l.Laps > most {
		t.Errorf("%d laps, want %d to %d", l.Laps, least, most)
	}
	for i, head := range l.LapHeads {
		if head != fmt.Sprintf("head-%d", i+1) {
			t.Fatalf("lap %d has head %s", i+1, head)
		}
	}
	history, err := s.History(t.Context(), key, most+10)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.LapHeads) != l.Laps || len(history) != l.Laps {
		t.Errorf("%d laps, %d heads, %d rows of history", l.Laps, len(l.LapHeads), len(history))
	}
	return l.Laps
}

// testKilledWriter kills a process that updates a ledger as fast as it can, at random moments. What it has acknowledged
// has to be there afterwards, and nothing may be there by half.
func testKilledWriter(t *testing.T, d database) {
	path := d.url(t)
	laps := 0
	for round := range 10 {
		cmd, out, stderr := startChild(t, path, 0)
		lines := bufio.NewScanner(out)
		acknowledged := laps
		// After a random number of acknowledgements the child is somewhere in one of the next updates.
		for n := rand.IntN(25); n >= 0 && lines.Scan(); n-- {
			acknowledged = number(t, lines.Text())
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			acknowledged = number(t, lines.Text())
		}
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
			t.Fatalf("the child ended by itself: %v: %s", err, stderr)
		}
		s := d.open(t, path)
		// One update may have been committed without having been acknowledged.
		laps = whole(t, s, acknowledged, acknowledged+1)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func facts(head string) convergence.Facts {
	return convergence.Facts{
		Event: convergence.EventPush, Case: convergence.Case{Key: key, Base: "b", Head: head, PolicyHash: "p", SpecHash: "s"}, Now: start,
		Radius: prosecutor.RadiusLow, Lenses: []prosecutor.Lens{prosecutor.Correctness},
	}
}

func shipping(context.Context, []prosecutor.Lens) ([]convergence.LensOutcome, error) {
	return []convergence.LensOutcome{{Lens: prosecutor.Correctness, Verdict: prosecutor.Ship}}, nil
}

func testJudge(t *testing.T, d database) {
	s := d.open(t, d.url(t))
	p := config.DefaultPolicy()
	finding := prosecutor.Finding{ID: "a", Source: prosecutor.FromModel, Severity: prosecutor.High, Charge: prosecutor.ChargeCorrectness, Claim: "wrong",
		Anchor: &prosecutor.Anchor{Path: "a.go", Side: prosecutor.Right, Quote: "x"}}
	r, err := Judge(t.Context(), s, facts("h1"), p, func(context.Context, []prosecutor.Lens) ([]convergence.LensOutcome, error) {
		return []convergence.LensOutcome{{Lens: prosecutor.Correctness, Verdict: prosecutor.Block, Findings: []prosecutor.Finding{finding}}}, nil
	})
	if err != nil || r.Decision != convergence.LoopBack {
		t.Fatalf("%v, %v", r, err)
	}
	f := facts("h2")
	f.Stands = func(prosecutor.Anchor) bool { return true }
	verified := 0
	r, err = Judge(t.Context(), s, f, p, shipping, convergence.WithVerifier(func(_ context.Context, got prosecutor.Finding) (bool, error) {
		verified++
		return got.ID == "a", nil
	}))
	if err != nil || r.Decision != convergence.Advance || verified != 1 {
		t.Fatalf("%v, %v, %d verified", r, err, verified)
	}
	r, err = Judge(t.Context(), s, f, p, func(context.Context, []prosecutor.Lens) ([]convergence.LensOutcome, error) {
		t.Error("a decided case was judged again")
		return nil, nil
	})
	if err != nil || r.Reason != convergence.AlreadyDecided {
		t.Fatalf("%v, %v", r, err)
	}
	history, err := s.History(t.Context(), key, 10)
	if err != nil || len(history) != 2 {
		t.Fatalf("history: %+v, %v", history, err)
	}
	want := []Finding{{ID: "a", Source: prosecutor.FromModel, Severity: prosecutor.High, Charge: prosecutor.ChargeCorrectness, Claim: "wrong",
		Path: "a.go", Side: prosecutor.Right, Quote: "x", Blocks: true}}
	if diff := cmp.Diff(want, history[1].Findings); diff != "" {
		t.Error(diff)
	}
	l, err := s.Load(t.Context(), key)
	if err != nil || !l.Converged || l.Laps != 2 {
		t.Errorf("ledger: %+v, %v", l, err)
	}
}

// testJudgeOfAnOldHead pushes while the judges are at work: the verdict on the old head must not become a lap.
func testJudgeOfAnOldHead(t *testing.T, d database) {
	s := d.open(t, d.url(t))
	p := config.DefaultPolicy()
	r, err := Judge(t.Context(), s, facts("h1"), p, func(ctx context.Context, lenses []prosecutor.Lens) ([]convergence.LensOutcome, error) {
		if r, err := Judge(ctx, s, facts("h2"), p, shipping); err != nil || r.Decision != convergence.Advance {
			t.Errorf("the newer head: %v, %v", r, err)
		}
		return shipping(ctx, lenses)
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Reason != convergence.Superseded || r.CheckRun().Conclusion != convergence.Cancelled {
		t.Errorf("%v, check run %v", r, r.CheckRun())
	}
	l, err := s.Load(t.Context(), key)
	if err != nil || l.Laps != 1 || l.LapHeads[0] != "h2" || !l.Converged {
		t.Errorf("ledger: %+v, %v", l, err)
	}
}

func testJudgeTwiceAtOnce(t *testing.T, d database) {
	s := d.open(t, d.url(t))
	p := config.DefaultPolicy()
	r, err := Judge(t.Context(), s, facts("h1"), p, func(ctx context.Context, lenses []prosecutor.Lens) ([]convergence.LensOutcome, error) {
		if r, err := Judge(ctx, s, facts("h1"), p, shipping); err != nil || r.Decision != convergence.Advance {
			t.Errorf("the other delivery: %v, %v", r, err)
		}
		return shipping(ctx, lenses)
	})
	if err != nil || r.Reason != convergence.AlreadyDecided {
		t.Errorf("%v, %v", r, err)
	}
}

func testJudgeFails(t *testing.T, d database) {
	s := d.open(t, d.url(t))
	boom := errors.New("boom")
	r, err := Judge(t.Context(), s, facts("h1"), config.DefaultPolicy(), func(context.Context, []prosecutor.Lens) ([]convergence.LensOutcome, error) { return nil, boom })
	if !errors.Is(err, boom) || r.Outcome != convergence.Errored || r.Decision != "" {
		t.Errorf("%v, %v", r, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err = Judge(t.Context(), s, facts("h1"), config.DefaultPolicy(), shipping)
	if err == nil || r.Outcome != convergence.Errored || r.Decision != "" {
		t.Errorf("a closed store: %v, %v", r, err)
	}
}
