package schemata_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/process"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/schemata"
	"github.com/prosecutor-bot/prosecutor/test/gittest"
)

// one finds the only mutant of an operator at a line with that replacement.
func one(t *testing.T, r *hollowtest.Report, file string, line int, op schemata.Operator, mutated string) hollowtest.Mutant {
	t.Helper()
	var found []hollowtest.Mutant
	for _, m := range r.Mutants {
		if m.File == file && m.Line == line && m.Operator == string(op) && (mutated == "" || m.Mutated == mutated) {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d mutants %s %q at %s:%d in\n%s", len(found), op, mutated, file, line, show(r))
	}
	return found[0]
}

func wantStatus(t *testing.T, m hollowtest.Mutant, status hollowtest.Status) {
	t.Helper()
	if m.Status != status {
		t.Errorf("%s:%d %s %q -> %q is %s (%s), want %s", m.File, m.Line, m.Operator, m.Original, m.Mutated, m.Status, m.Reason, status)
	}
}

func count(r *hollowtest.Report, pick func(hollowtest.Mutant) bool) int {
	n := 0
	for _, m := range r.Mutants {
		if pick(m) {
			n++
		}
	}
	return n
}

// change commits two trees and returns the repository and the changed lines between them.
func change(t *testing.T, base, head func(r *gittest.Repo)) (string, map[string][]int) {
	t.Helper()
	repo := gittest.New(t)
	base(repo)
	repo.Git("add", "-A")
	repo.Git("commit", "-q", "--allow-empty", "-m", "base")
	head(repo)
	repo.Git("add", "-A")
	repo.Git("commit", "-q", "--allow-empty", "-m", "head")
	d, err := diff.ParseString(repo.Git("diff", "-M", "HEAD~1", "HEAD") + "\n")
	if err != nil {
		t.Fatal(err)
	}
	return repo.Dir, hollowtest.ChangedLines(d)
}

func copied(t *testing.T, name string) func(r *gittest.Repo) {
	return func(r *gittest.Repo) {
		if err := os.CopyFS(r.Dir, os.DirFS(filepath.Join("..", "..", "..", "test", "hollow", name))); err != nil {
			t.Fatal(err)
		}
	}
}

// fixtureReports measures both fixture modules once for all cases that only read.
var fixtureReports = sync.OnceValues(func() (map[string]*hollowtest.Report, error) {
	reports := make(map[string]*hollowtest.Report)
	for name, files := range map[string][]string{
		"f": {"api/v2/a.go", "cat/c.go", "vetp/v.go", "rem/r.go"},
		"p": {"p.go"},
	} {
		dir, err := os.MkdirTemp("", "hollow-fixture-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "..", "test", "hollow", name))); err != nil {
			return nil, err
		}
		lines := make(map[string][]int)
		for _, f := range files {
			data, err := os.ReadFile(filepath.Join(dir, f))
			if err != nil {
				return nil, err
			}
			for i := range bytes.Count(data, []byte("\n")) {
				lines[f] = append(lines[f], i+1)
			}
		}
		if reports[name], err = (&schemata.Engine{PerLine: 50}).Measure(context.Background(), request(dir, lines)); err != nil {
			return nil, err
		}
	}
	return reports, nil
})

func fixtureReport(t *testing.T, name string) *hollowtest.Report {
	t.Helper()
	reports, err := fixtureReports()
	if err != nil {
		t.Fatal(err)
	}
	if testing.Verbose() {
		t.Log("\n" + show(reports[name]))
	}
	return reports[name]
}

func TestAcceptance01TestsOfAVersionedDirectory(t *testing.T) {
	r := fixtureReport(t, "f")
	boundary := one(t, r, "api/v2/a.go", 4, schemata.Boundary, "a >= b")
	wantStatus(t, boundary, hollowtest.Survived)
	if boundary.Hint != "no test reaches it with both sides equal" {
		t.Errorf("hint %q", boundary.Hint)
	}
	negation := one(t, r, "api/v2/a.go", 4, schemata.Negation, "a <= b")
	wantStatus(t, negation, hollowtest.Survived)
	if !slices.Equal(negation.Tests, []string{"TestMax"}) {
		t.Errorf("tests %v", negation.Tests)
	}
}

func TestAcceptance02StringsAreNotSubtracted(t *testing.T) {
	r := fixtureReport(t, "f")
	if n := count(r, func(m hollowtest.Mutant) bool { return m.File == "cat/c.go" && strings.Contains(m.Mutated, "-") }); n != 0 {
		t.Errorf("%d mutants with a minus", n)
	}
	wantStatus(t, one(t, r, "cat/c.go", 3, schemata.ReturnZero, `""`), hollowtest.Survived)
}

func TestAcceptance03VetKillsNothing(t *testing.T) {
	m := one(t, fixtureReport(t, "f"), "vetp/v.go", 3, schemata.LogicalSwap, "c != 'a' || c != 'b'")
	wantStatus(t, m, hollowtest.Survived)
	if !strings.HasPrefix(m.Hint, "no test reaches it with a value") {
		t.Errorf("hint %q", m.Hint)
	}
}

func TestAcceptance04NoIdentityMutant(t *testing.T) {
	r := fixtureReport(t, "f")
	for _, m := range r.Mutants {
		if m.Original == m.Mutated {
			t.Errorf("%+v changes nothing", m)
		}
	}
	m := one(t, r, "rem/r.go", 4, schemata.RemoveAssign, "")
	wantStatus(t, m, hollowtest.Killed)
	if m.Killer != "TestR" {
		t.Errorf("killer %q", m.Killer)
	}
}

func TestAcceptance05OnlyTheChangedLinesOfAHunk(t *testing.T) {
	original, err := os.ReadFile(filepath.Join("..", "..", "..", "test", "hollow", "f", "hunk", "h.go"))
	if err != nil {
		t.Fatal(err)
	}
	dir, lines := change(t, func(r *gittest.Repo) {
		copied(t, "f")(r)
		r.Write("hunk/h.go", strings.ReplaceAll(string(original), "> 1", "> 2"))
	}, func(r *gittest.Repo) { r.Write("hunk/h.go", string(original)) })
	if want := map[string][]int{"hunk/h.go": {5, 8}}; !cmp.Equal(lines, want) {
		t.Fatal(cmp.Diff(want, lines))
	}
	r := measure(t, request(dir, lines))
	relational := 0
	for _, m := range r.Mutants {
		if m.Line != 5 && m.Line != 8 {
			t.Errorf("mutant on line %d", m.Line)
		}
		if m.Operator == string(schemata.Boundary) || m.Operator == string(schemata.Negation) {
			relational++
			wantStatus(t, m, hollowtest.Survived)
		}
	}
	if relational != 4 {
		t.Errorf("%d relational mutants, want 4", relational)
	}
	if r.Outcome != hollowtest.Survivors {
		t.Errorf("outcome %s", r.Outcome)
	}
}

func TestAcceptance06NothingChanged(t *testing.T) {
	dir, lines := change(t, copied(t, "f"), func(*gittest.Repo) {})
	r := measure(t, request(dir, lines))
	if r.Outcome != hollowtest.NothingMutable || len(r.Mutants) != 0 || r.Reason == "" {
		t.Error(show(r))
	}
}

// verdicts is a report without what differs from run to run.
func verdicts(t *testing.T, r *hollowtest.Report) string {
	t.Helper()
	c := *r
	c.Mutants = slices.Clone(r.Mutants)
	for i := range c.Mutants {
		c.Mutants[i].DurationMS = 0
	}
	data, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAcceptance07TheSameVerdictsEveryTime(t *testing.T) {
	dir := fixture(t, "p")
	req := request(dir, allLines(t, dir, "p.go"))
	first := verdicts(t, fixtureReport(t, "p"))
	runs := 2
	if os.Getenv("PROSECUTOR_HOLLOW_LONG") != "" {
		runs = 10
	}
	for i := range runs {
		var stop atomic.Bool
		var hogs sync.WaitGroup
		if i%2 == 1 {
			for range 6 {
				hogs.Go(func() {
					for !stop.Load() {
						runtime.Gosched()
					}
				})
			}
		}
		got := verdicts(t, measure(t, req))
		stop.Store(true)
		hogs.Wait()
		if d := cmp.Diff(first, got); d != "" {
			t.Fatal(d)
		}
	}
}

func TestAcceptance08Generics(t *testing.T) {
	r := fixtureReport(t, "p")
	m := one(t, r, "p.go", 17, schemata.Boundary, "a >= b")
	wantStatus(t, m, hollowtest.Survived)
	if m.Hint != "no test reaches it with both sides equal" {
		t.Errorf("hint %q", m.Hint)
	}
	m = one(t, r, "p.go", 17, schemata.Negation, "a <= b")
	wantStatus(t, m, hollowtest.Killed)
	if m.Killer != "TestMax" {
		t.Errorf("killer %q", m.Killer)
	}
}

func TestAcceptance09NamedBool(t *testing.T) {
	wantStatus(t, one(t, fixtureReport(t, "p"), "p.go", 23, schemata.ReturnZero, "false"), hollowtest.Survived)
}

func TestAcceptance10ConstantsAreNotSwitched(t *testing.T) {
	r := fixtureReport(t, "p")
	m := one(t, r, "p.go", 10, schemata.Constant, "")
	wantStatus(t, m, hollowtest.Survived)
	if len(m.Tests) > 0 {
		t.Error("a constant has no place that tests could reach")
	}
	if n := count(r, func(m hollowtest.Mutant) bool { return m.Line == 59 }); n != 0 {
		t.Errorf("%d mutants in the length of an array", n)
	}
}

func TestAcceptance11PackageVariables(t *testing.T) {
	m := one(t, fixtureReport(t, "p"), "p.go", 12, schemata.IntLiteral, "")
	wantStatus(t, m, hollowtest.Survived)
	if len(m.Tests) != 11 {
		t.Errorf("%d tests, want all 11: %v", len(m.Tests), m.Tests)
	}
}

func TestAcceptance12TestsThatStartThemselvesAgain(t *testing.T) {
	m := one(t, fixtureReport(t, "p"), "p.go", 47, schemata.Negation, "")
	wantStatus(t, m, hollowtest.Killed)
	if m.Killer != "TestChild" {
		t.Errorf("killer %q", m.Killer)
	}
}

func TestAcceptance13EndlessLoops(t *testing.T) {
	m := one(t, fixtureReport(t, "p"), "p.go", 36, schemata.IncDec, "i--")
	if !m.Status.Noticed() {
		t.Errorf("%+v", m)
	}
	dir := write(t, map[string]string{
		"go.mod": "module ex.com/loop\n\ngo 1.22\n",
		"l.go": `package loop

func Count(n int) int {
	c := 0
	for i := 0; i < n; i++ {
		c++
	}
	return c
}
`,
		"l_test.go": `package loop

import "testing"

func TestCount(t *testing.T) {
	if Count(3) != 3 {
		t.Fatal()
	}
}
`})
	exec := &recorder{}
	req := request(dir, map[string][]int{"l.go": {5}})
	req.Exec = exec
	r := measure(t, req)
	m = one(t, r, "l.go", 5, schemata.IncDec, "i--")
	wantStatus(t, m, hollowtest.TimedOut)
	if !strings.Contains(m.Reason, "more than 20000 times") {
		t.Errorf("reason %q: not by the limit of evaluations", m.Reason)
	}
	for i, res := range exec.results {
		if exec.commands[i].Kind != hollowtest.TestCommand {
			continue
		}
		if res.TimedOut {
			t.Error("a limit of wall time was needed")
		}
		if res.PeakRSS > 50<<20 {
			t.Errorf("a test process took %d MB", res.PeakRSS>>20)
		}
	}
}

func TestAcceptance14TheRightSideOfAnAndIsNotReached(t *testing.T) {
	dir := write(t, map[string]string{
		"go.mod": "module ex.com/and\n\ngo 1.22\n",
		"a.go":   "package and\n\nfunc Both(a bool, n int) bool { return a && n > 3 }\n",
		"a_test.go": `package and

import "testing"

func TestBoth(t *testing.T) {
	if Both(false, 5) {
		t.Fatal()
	}
}
`})
	r := measure(t, request(dir, map[string][]int{"a.go": {3}}))
	wantStatus(t, one(t, r, "a.go", 3, schemata.Boundary, ""), hollowtest.NotCovered)
	wantStatus(t, one(t, r, "a.go", 3, schemata.Negation, ""), hollowtest.NotCovered)
	wantStatus(t, one(t, r, "a.go", 3, schemata.LogicalSwap, ""), hollowtest.Killed)
}

func TestAcceptance15ParallelTests(t *testing.T) {
	m := one(t, fixtureReport(t, "p"), "p.go", 53, schemata.Arithmetic, "n / 2")
	if !slices.Equal(m.Tests, []string{"TestParA", "TestParB"}) {
		t.Errorf("tests %v", m.Tests)
	}
	wantStatus(t, m, hollowtest.Killed)
}

func TestAcceptance16Untested(t *testing.T) {
	m := one(t, fixtureReport(t, "p"), "p.go", 55, schemata.Arithmetic, "n + 1")
	wantStatus(t, m, hollowtest.NotCovered)
}

func TestAcceptance17ErrorsMadeNil(t *testing.T) {
	m := one(t, fixtureReport(t, "p"), "p.go", 76, schemata.ReturnNilError, "nil")
	wantStatus(t, m, hollowtest.Killed)
	if m.Killer != "TestErr" {
		t.Errorf("killer %q", m.Killer)
	}
}

// small is a module with one function and one test file.
func small(t *testing.T, code, tests string) string {
	t.Helper()
	return write(t, map[string]string{
		"go.mod": "module ex.com/small\n\ngo 1.22\n", "s.go": "package small\n\n" + code, "s_test.go": "package small\n\n" + tests,
	})
}

func TestAcceptance18ExitBeforeTheTestsEnd(t *testing.T) {
	dir := small(t, "import \"os\"\n\nfunc Check(n int) {\n\tif n > 3 {\n\t\tos.Exit(0)\n\t}\n}\n", "import \"testing\"\n\nfunc TestCheck(t *testing.T) { Check(1) }\n")
	r := measure(t, request(dir, map[string][]int{"s.go": {6}}))
	m := one(t, r, "s.go", 6, schemata.ConditionTrue, "true")
	wantStatus(t, m, hollowtest.Undetermined)
	if r.Outcome != hollowtest.Survivors && r.Outcome != hollowtest.CouldNotMeasure {
		t.Errorf("outcome %s", r.Outcome)
	}
}

// recorder counts and keeps what plain processes did, and may answer in their place.
type recorder struct {
	process.Plain
	mu       sync.Mutex
	commands []hollowtest.Command
	results  []hollowtest.ExecResult
	instead  func(c hollowtest.Command) (hollowtest.ExecResult, error, bool)
	adjust   func(c *hollowtest.Command)
}

func (r *recorder) Run(ctx context.Context, c hollowtest.Command) (hollowtest.ExecResult, error) {
	if r.instead != nil {
		if res, err, ok := r.instead(c); ok {
			return res, err
		}
	}
	if r.adjust != nil {
		r.adjust(&c)
	}
	res, err := r.Plain.Run(ctx, c)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commands = append(r.commands, c)
	r.results = append(r.results, res)
	return res, err
}

func isMutant(c hollowtest.Command) bool {
	return c.Kind == hollowtest.TestCommand && strings.Contains(c.Argv[0], ".zz-") && !strings.HasSuffix(c.Argv[0], ".zz-record") && !strings.Contains(c.Argv[0], ".zz-1048576-")
}

func TestAcceptance19ProcessesThatGiveNoAnswer(t *testing.T) {
	code := func(n int) *int { return &n }
	for name, answer := range map[string]struct {
		res hollowtest.ExecResult
		err error
	}{
		"missing":        {err: errors.New("no such file or directory")},
		"not executable": {res: hollowtest.ExecResult{Exit: code(126)}},
		"not found":      {res: hollowtest.ExecResult{Exit: code(127)}},
		"killed":         {res: hollowtest.ExecResult{Signal: "SIGKILL"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := small(t, "func Add(a, b int) int { return a + b }\n", "import \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n")
			req := request(dir, map[string][]int{"s.go": {3}})
			req.Exec = &recorder{instead: func(c hollowtest.Command) (hollowtest.ExecResult, error, bool) {
				return answer.res, answer.err, isMutant(c)
			}}
			r := measure(t, req)
			if r.Summary.Undetermined != r.Summary.Total || r.Outcome != hollowtest.CouldNotMeasure {
				t.Error(show(r))
			}
		})
	}
}

func TestAcceptance20RedBaseline(t *testing.T) {
	dir := small(t, "func Add(a, b int) int { return a + b }\n", "import \"testing\"\n\nfunc TestGood(t *testing.T) {}\n\nfunc TestX(t *testing.T) {\n\tif Add(1, 2) != 4 {\n\t\tt.Fatal()\n\t}\n}\n")
	exec := &recorder{}
	req := request(dir, map[string][]int{"s.go": {3}})
	req.Exec = exec
	r := measure(t, req)
	if r.Problem != hollowtest.BaselineRed || r.Outcome != hollowtest.CouldNotMeasure || !strings.Contains(r.Reason, "TestX") || strings.Contains(r.Reason, "TestGood") {
		t.Error(show(r))
	}
	for _, c := range exec.commands {
		if isMutant(c) {
			t.Errorf("a mutant was run: %v", c.Argv)
		}
	}
}

func TestAcceptance21FlakyTestsDecideNothing(t *testing.T) {
	// The test fails every second time it is run.
	state := filepath.Join(t.TempDir(), "runs")
	dir := small(t, "func Add(a, b int) int { return a + b }\n", `import (
	"os"
	"testing"
)

func TestFlaky(t *testing.T) {
	Add(1, 2)
	f, err := os.OpenFile("`+state+`", os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString("x")
	info, err := f.Stat()
	if err != nil || info.Size()%2 == 0 {
		t.Fatal("every second time")
	}
}

func TestAdd(t *testing.T) {
	if Add(0, 2) < 0 {
		t.Fatal()
	}
}
`)
	r := measure(t, request(dir, map[string][]int{"s.go": {3}}))
	if !slices.Equal(r.Flaky, []string{"ex.com/small.TestFlaky"}) {
		t.Errorf("flaky %v", r.Flaky)
	}
	wantStatus(t, one(t, r, "s.go", 3, schemata.ReturnZero, ""), hollowtest.Survived)
	m := one(t, r, "s.go", 3, schemata.Arithmetic, "a - b")
	wantStatus(t, m, hollowtest.Killed)
	if m.Killer != "TestAdd" || slices.Contains(m.Tests, "TestFlaky") {
		t.Errorf("killer %q of %v", m.Killer, m.Tests)
	}
}

func TestAcceptance22Interrupted(t *testing.T) {
	dir := fixture(t, "p")
	before := tree(t, dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req := request(dir, allLines(t, dir, "p.go"))
	req.Progress = func(done, _ int) {
		if done == 10 {
			cancel()
		}
	}
	r, err := (&schemata.Engine{}).Measure(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	decided := count(r, func(m hollowtest.Mutant) bool { return m.Status != hollowtest.Skipped })
	pending := count(r, func(m hollowtest.Mutant) bool { return m.Pending })
	if decided < 10 || pending == 0 || r.Problem != hollowtest.Interrupted {
		t.Errorf("%d decided, %d pending: %s", decided, pending, show(r))
	}
	if r.Outcome == hollowtest.KilledAll || r.Outcome == hollowtest.NothingMutable {
		t.Errorf("outcome %s", r.Outcome)
	}
	if d := cmp.Diff(before, tree(t, dir)); d != "" {
		t.Error(d)
	}
}

// tree reads all files below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		info, err2 := d.Info()
		if err2 == nil {
			files[p] = info.Mode().String() + " " + info.ModTime().Format(time.RFC3339Nano) + " " + string(data)
		}
		return errors.Join(err, err2)
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestAcceptance23MemoryWithoutBound(t *testing.T) {
	dir := small(t, `import "bytes"

func Grow(grow bool) int {
	var all [][]byte
	for i := 0; i < 4; i++ {
		if grow {
			i = 0
			all = append(all, bytes.Repeat([]byte{1}, 64<<20))
		}
	}
	return len(all)
}
`, "import \"testing\"\n\nfunc TestGrow(t *testing.T) {\n\tif Grow(false) != 0 {\n\t\tt.Fatal()\n\t}\n}\n")
	// The cap is lowered, so that a busy machine reaches it before the limit of time.
	req := request(dir, map[string][]int{"s.go": {8}})
	req.Exec = &recorder{adjust: func(c *hollowtest.Command) {
		if c.Memory > 0 {
			c.Memory = 128 << 20
		}
	}}
	r := measure(t, req)
	m := one(t, r, "s.go", 8, schemata.ConditionTrue, "true")
	wantStatus(t, m, hollowtest.TimedOut)
	if !strings.Contains(m.Reason, "memory") {
		t.Errorf("reason %q", m.Reason)
	}
	wantStatus(t, one(t, r, "s.go", 8, schemata.ConditionFalse, "false"), hollowtest.Survived)
}

func TestAcceptance24OnlyOtherFilesChanged(t *testing.T) {
	dir, lines := change(t, copied(t, "p"), func(r *gittest.Repo) {
		data, err := os.ReadFile(filepath.Join(r.Dir, "p.go"))
		if err != nil {
			t.Fatal(err)
		}
		r.Write("p.go", "// Package p is commented.\n"+string(data), "README.md", "words\n", "go.mod", "module ex.com/p\ngo 1.22\n", "p_test.go", "package p\n\n// No test is left.\n")
	})
	r := measure(t, request(dir, lines))
	if r.Outcome != hollowtest.NothingMutable || len(r.Mutants) != 0 {
		t.Error(show(r))
	}
	reasons := map[string]string{}
	for _, f := range r.Files {
		reasons[f.Path] = f.Reason
	}
	if want := map[string]string{"p.go": "no changed line has code that a mutant would mean anything for", "p_test.go": "a test"}; !cmp.Equal(reasons, want) {
		t.Error(cmp.Diff(want, reasons))
	}
}

func TestAcceptance25TwoModules(t *testing.T) {
	dir, lines := change(t, func(r *gittest.Repo) {
		r.Write("a/go.mod", "module ex.com/a\n\ngo 1.22\n", "a/x/x.go", "package x\n\nfunc F(n int) int { return n }\n",
			"a/x/x_test.go", "package x\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) {\n\tif F(2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n",
			"b/go.mod", "module ex.com/b\n\nthis is no module file\n", "b/b.go", "package b\n")
	}, func(r *gittest.Repo) { r.Write("a/x/x.go", "package x\n\nfunc F(n int) int { return n + 1 }\n") })
	r := measure(t, request(dir, lines))
	if r.Outcome != hollowtest.KilledAll || len(r.Files) != 1 || r.Files[0].Path != "a/x/x.go" {
		t.Error(show(r))
	}
	wantStatus(t, one(t, r, "a/x/x.go", 3, schemata.Arithmetic, ""), hollowtest.Killed)
}

func TestAcceptance26Renames(t *testing.T) {
	dir, lines := change(t, copied(t, "f"), func(r *gittest.Repo) { r.Git("mv", "rem/r.go", "rem/s.go") })
	if r := measure(t, request(dir, lines)); r.Outcome != hollowtest.NothingMutable || len(r.Mutants) != 0 {
		t.Error(show(r))
	}
	dir, lines = change(t, copied(t, "p"), func(r *gittest.Repo) {
		r.Git("mv", "p.go", "q.go")
		data, err := os.ReadFile(filepath.Join(r.Dir, "q.go"))
		if err != nil {
			t.Fatal(err)
		}
		r.Write("q.go", strings.Replace(string(data), "n > 10", "n > 9", 1))
	})
	r := measure(t, request(dir, lines))
	if len(r.Mutants) == 0 {
		t.Error("no mutants")
	}
	for _, m := range r.Mutants {
		if m.File != "q.go" || m.Line != 23 {
			t.Errorf("%s:%d is mutated", m.File, m.Line)
		}
	}
}

func TestAcceptance27TestsOfImportingPackages(t *testing.T) {
	dir := write(t, map[string]string{
		"go.mod":      "module ex.com/m\n\ngo 1.22\n",
		"a/a.go":      "package a\n\nfunc Twice(n int) int { return n * 2 }\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestTwice(t *testing.T) { Twice(1) }\n",
		"b/b.go":      "package b\n\nimport \"ex.com/m/a\"\n\nfunc Four(n int) int { return a.Twice(a.Twice(n)) }\n",
		"c/c_test.go": "package c\n\nimport (\n\t\"testing\"\n\n\t\"ex.com/m/b\"\n)\n\nfunc TestFour(t *testing.T) {\n\tif b.Four(3) != 12 {\n\t\tt.Fatal()\n\t}\n}\n",
		"d/d_test.go": "package d\n\nimport \"testing\"\n\nfunc TestNothing(t *testing.T) {}\n",
	})
	r := measure(t, request(dir, map[string][]int{"a/a.go": {3}}))
	m := one(t, r, "a/a.go", 3, schemata.Arithmetic, "n / 2")
	wantStatus(t, m, hollowtest.Killed)
	if m.Killer != "ex.com/m/c.TestFour" || !slices.Equal(m.Tests, []string{"TestTwice", "ex.com/m/c.TestFour"}) {
		t.Errorf("killer %q of %v", m.Killer, m.Tests)
	}
	if r.Outcome != hollowtest.KilledAll {
		t.Error(show(r))
	}
}

func TestAcceptance29TheBudgetStarvesNoFileSilently(t *testing.T) {
	files := map[string]string{"go.mod": "module ex.com/m\n\ngo 1.22\n"}
	test := "package m\n\nimport \"testing\"\n\nfunc TestAll(t *testing.T) {\n"
	lines := make(map[string][]int)
	for _, c := range "abcdefgh" {
		files[string(c)+".go"] = "package m\n\nfunc F" + string(c) + "(n int) int {\n\treturn n * 7\n}\n"
		test += "\tif F" + string(c) + "(2) != 14 {\n\t\tt.Fatal()\n\t}\n"
		lines[string(c)+".go"] = []int{4}
	}
	files["m_test.go"] = test + "}\n"
	dir := write(t, files)
	req := request(dir, lines)
	req.MaxMutants = 5
	r := measure(t, req)
	if r.Outcome != hollowtest.CouldNotMeasure || r.Summary.Killed != 5 {
		t.Error(show(r))
	}
	starved := 0
	for _, f := range r.Files {
		pending := count(r, func(m hollowtest.Mutant) bool { return m.File == f.Path && m.Pending })
		if f.Attempted > 1 || f.Attempted+pending != 3 || f.Starved != (f.Attempted == 0) {
			t.Errorf("%+v with %d pending", f, pending)
		}
		if f.Starved {
			starved++
		}
	}
	if starved != 3 {
		t.Errorf("%d files starved, want 3", starved)
	}
	req.MaxMutants = 8
	r = measure(t, req)
	for _, f := range r.Files {
		if f.Attempted != 1 {
			t.Errorf("%+v in %s", f, show(r))
		}
	}
}

func TestAcceptance30Logging(t *testing.T) {
	dir := small(t, "import \"log/slog\"\n\nfunc F(n int) {\n\tslog.Info(\"n\", \"n\", n+1)\n}\n", "import \"testing\"\n\nfunc TestF(t *testing.T) { F(1) }\n")
	r := measure(t, request(dir, map[string][]int{"s.go": {6}}))
	if r.Outcome != hollowtest.NothingMutable || r.Summary.Skipped == 0 || r.Summary.Skipped != r.Summary.Total {
		t.Error(show(r))
	}
	for _, m := range r.Mutants {
		if m.Reason != "arid: logging, tracing and metrics" {
			t.Errorf("%+v", m)
		}
	}
}

func TestAcceptedMutants(t *testing.T) {
	dir := small(t, "func Max(a, b int) int {\n\tif a > b {\n\t\treturn a\n\t}\n\treturn b\n}\n", "import \"testing\"\n\nfunc TestMax(t *testing.T) {\n\tif Max(1, 2) != 2 || Max(3, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n")
	req := request(dir, map[string][]int{"s.go": {4}})
	if r := measure(t, req); r.Outcome != hollowtest.Survivors || r.Summary.Survived != 1 {
		t.Fatal(show(r))
	}
	req.Policy.Accepted = []config.AcceptedMutant{{Path: "s.go", Operator: "comparison_boundary", Original: "a > b", Reason: "of two equal numbers either is the greater"}}
	r := measure(t, req)
	m := one(t, r, "s.go", 4, schemata.Boundary, "")
	if r.Outcome != hollowtest.KilledAll || m.Status != hollowtest.Skipped || m.Reason != "accepted: of two equal numbers either is the greater" {
		t.Error(show(r))
	}
}

// What the package's own tests see counts, whatever those of importing packages see.
func TestHintsAreOfAllTests(t *testing.T) {
	dir := write(t, map[string]string{
		"go.mod":      "module ex.com/h\n\ngo 1.24\n",
		"h.go":        "package h\n\nfunc Max(a, b int) int {\n\tif a > b {\n\t\treturn a\n\t}\n\treturn b\n}\n",
		"h_test.go":   "package h\n\nimport \"testing\"\n\nfunc TestEqual(t *testing.T) { Max(2, 2) }\n",
		"u/u.go":      "package u\n\nimport \"ex.com/h\"\n\nfunc Top(a int) int { return h.Max(a, 1) }\n",
		"u/u_test.go": "package u\n\nimport \"testing\"\n\nfunc TestTop(t *testing.T) { Top(5) }\n",
	})
	m := one(t, measure(t, request(dir, map[string][]int{"h.go": {4}})), "h.go", 4, schemata.Boundary, "")
	wantStatus(t, m, hollowtest.Survived)
	if want := "a test sees the changed value, and none checks what comes of it"; m.Hint != want || len(m.Tests) != 2 {
		t.Errorf("hint %q of %v, want %q", m.Hint, m.Tests, want)
	}
}

// A step in front of a condition is switched like any other: building it alone would take a second.
func TestStepsInFrontOfConditions(t *testing.T) {
	code := `func Depth(s string) (most int) {
	level := 0
	for i := 0; i < len(s); i++ {
		switch level++; {
		case s[i] == '(':
			if most++; most < 0 {
				return -1
			}
		default:
			level--
		}
	}
	return most*10 + level
}
`
	dir := small(t, code, "import \"testing\"\n\nfunc TestDepth(t *testing.T) {\n\tif got := Depth(\"((x\"); got != 22 {\n\t\tt.Fatal(got)\n\t}\n}\n")
	exec := &recorder{}
	req := request(dir, map[string][]int{"s.go": {6, 8}})
	req.Exec = exec
	r := measure(t, req)
	for _, line := range []int{6, 8} {
		m := one(t, r, "s.go", line, schemata.IncDec, "")
		wantStatus(t, m, hollowtest.Killed)
		if m.Killer != "TestDepth" {
			t.Errorf("line %d was noticed by %q", line, m.Killer)
		}
	}
	builds := 0
	for _, c := range exec.commands {
		if slices.Contains(c.Argv, "-c") {
			builds++
		}
	}
	if builds != 1 {
		t.Errorf("%d builds, want one for all", builds)
	}
}
