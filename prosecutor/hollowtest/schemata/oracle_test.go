package schemata

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// suite executes nothing: it says what a test binary would, whose tests take as long as they say.
type suite struct {
	tests []suiteTest
	crash func(suiteRun) bool // at the end, although the tests pass
	early func(suiteRun) bool // before any test
	err   error
	errAt int               // the run that cannot be started; 0 is all of them when there is an err
	logs  map[string]string // of recording runs, by name
	// slower is how many times longer tests take when they are recorded.
	slower int

	mu   sync.Mutex
	runs []suiteRun
}

type suiteTest struct {
	name   string
	took   time.Duration
	fails  func(run suiteRun) bool
	panics bool                    // instead of failing
	slow   func(run suiteRun) bool // takes an hour
}

// suiteRun is one start of the binary.
type suiteRun struct {
	name string // p1, p2, ... and r1, r2, ... when it recorded
	args string
	wall time.Duration
}

func always(suiteRun) bool { return true }
func never(suiteRun) bool  { return false }
func onlyIn(names ...string) func(suiteRun) bool {
	return func(r suiteRun) bool { return slices.Contains(names, r.name) }
}

func (s *suite) Run(_ context.Context, c hollowtest.Command) (hollowtest.ExecResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil && (s.errAt == 0 || s.errAt == len(s.runs)+1) {
		return hollowtest.ExecResult{}, s.err
	}
	record := strings.HasSuffix(c.Argv[0], recordSuffix)
	run := suiteRun{name: "p", args: strings.Join(c.Argv[1:], " "), wall: c.Wall}
	if record {
		run.name = "r"
	}
	nth := 1
	for _, r := range s.runs {
		if r.name[0] == run.name[0] {
			nth++
		}
	}
	run.name += strconv.Itoa(nth)
	s.runs = append(s.runs, run)
	if log := s.logs[run.name]; log != "" {
		if err := os.WriteFile(c.Argv[0]+".log", []byte(log), 0o600); err != nil {
			return hollowtest.ExecResult{}, err
		}
	}
	pattern := func(flag string) *regexp.Regexp {
		for _, a := range c.Argv[1:] {
			if p, ok := strings.CutPrefix(a, flag); ok {
				return regexp.MustCompile(p)
			}
		}
		return nil
	}
	only, skip := pattern("-test.run="), pattern("-test.skip=")
	var out bytes.Buffer
	var elapsed time.Duration
	exit, ran := 0, false
	res := hollowtest.ExecResult{PeakRSS: int64(10*nth + len(run.name))}
	if s.early != nil && s.early(run) {
		exit = 2
		res.Exit, res.Output = &exit, []byte("panic: no database\n")
		return res, nil
	}
	for _, t := range s.tests {
		if record && s.slower > 0 {
			t.took = time.Duration(s.slower) * t.took
		}
		if only != nil && !only.MatchString(t.name) || skip != nil && skip.MatchString(t.name) {
			continue
		}
		ran = true
		fmt.Fprintf(&out, "\x16=== RUN   %s\n", t.name)
		if t.slow != nil && t.slow(run) {
			t.took = time.Hour
		}
		if elapsed += t.took; c.Wall > 0 && elapsed > c.Wall {
			res.TimedOut, res.Signal, res.Output, res.Wall = true, "SIGKILL", out.Bytes(), c.Wall
			return res, nil
		}
		switch {
		case t.fails == nil || !t.fails(run):
			fmt.Fprintf(&out, "\x16--- PASS: %s (%.2fs)\n", t.name, t.took.Seconds())
		case t.panics:
			exit = 2
			res.Exit, res.Output, res.Wall = &exit, out.Bytes(), elapsed
			return res, nil
		default:
			exit = 1
			fmt.Fprintf(&out, "\x16--- FAIL: %s (%.2fs)\n", t.name, t.took.Seconds())
		}
	}
	switch exit {
	case 1:
		out.WriteString("\x16FAIL\n")
	case 0:
		if !ran {
			out.WriteString("testing: warning: no tests to run\n")
		}
		out.WriteString("\x16PASS\n")
		if s.crash != nil && s.crash(run) {
			exit = 3
		}
	}
	res.Exit, res.Output, res.Wall = &exit, out.Bytes(), elapsed
	return res, nil
}

func (s *suite) args() []string {
	var all []string
	for _, r := range s.runs {
		all = append(all, r.args)
	}
	slices.Sort(all)
	return all
}

// oracleOf makes an oracle of a suite whose tests named in near are near to the mutants.
func oracleOf(t *testing.T, s *suite, near ...string) (*runner, *oracle) {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "p.test")
	if err := os.WriteFile(bin, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	o := &oracle{list: &listed{ImportPath: "ex.com/p", Dir: dir}, bin: bin}
	for _, test := range s.tests {
		o.tests = append(o.tests, testFunc{name: test.name, near: slices.Contains(near, test.name)})
	}
	return newRunner(s, nil, dir, 2), o
}

const second = time.Second

func TestBaselines(t *testing.T) {
	quick := func(name string, fails func(suiteRun) bool) suiteTest {
		return suiteTest{name: name, took: second, fails: fails}
	}
	for _, c := range []struct {
		name  string
		suite *suite
		limit time.Duration
		near  []string
		// What is known then.
		times, flaky, red, late string
		dead                    string
		serial                  bool
		runs                    int
	}{
		{name: "green", suite: &suite{tests: []suiteTest{quick("TestA", never), quick("TestB", nil)}}, times: "TestA TestB", runs: 2},
		{name: "green within the limit", suite: &suite{tests: []suiteTest{quick("TestA", never), quick("TestB", nil)}}, limit: 4 * second, times: "TestA TestB", runs: 2},
		{name: "no tests", suite: &suite{}, dead: runsNoTest, runs: 2},
		{name: "red", suite: &suite{tests: []suiteTest{quick("TestB", always), quick("TestA", always), quick("TestC", nil)}},
			red: "TestA TestB", dead: "its tests fail without a mutant: TestA, TestB", serial: true, runs: 4},
		{name: "red by a panic", suite: &suite{tests: []suiteTest{quick("TestA", nil), {name: "TestB", took: second, fails: always, panics: true}, quick("TestC", nil)}},
			red: "TestB", dead: "its tests fail without a mutant: TestB", serial: true, runs: 4},
		{name: "red by TestMain", suite: &suite{tests: []suiteTest{quick("TestA", nil)}, crash: always},
			red: "TestMain", dead: "its tests fail without a mutant: TestMain", serial: true, runs: 4},
		{name: "fails beside another process only", suite: &suite{tests: []suiteTest{quick("TestA", nil), quick("TestB", onlyIn("p1"))}},
			times: "TestA TestB", serial: true, runs: 4},
		{name: "two fail in one of two runs each", suite: &suite{tests: []suiteTest{quick("TestA", onlyIn("p1")), quick("TestB", onlyIn("r1")), quick("TestC", nil)}},
			times: "TestA TestB TestC", serial: true, runs: 4},
		{name: "flaky in the plain run", suite: &suite{tests: []suiteTest{quick("TestA", nil), quick("TestB", onlyIn("p1", "p2"))}},
			times: "TestA", flaky: "TestB", serial: true, runs: 6},
		{name: "flaky in the recording run", suite: &suite{tests: []suiteTest{quick("TestA", nil), quick("TestB", onlyIn("p1", "r2"))}},
			times: "TestA", flaky: "TestB", serial: true, runs: 6},
		{name: "flaky, and then another", suite: &suite{tests: []suiteTest{quick("TestA", onlyIn("r3")), quick("TestB", onlyIn("p1", "r2"))}},
			flaky: "TestB", dead: "its tests fail without a mutant now and then", serial: true, runs: 6},
		{name: "flaky, and then another in the plain run", suite: &suite{tests: []suiteTest{quick("TestA", onlyIn("p3")), quick("TestB", onlyIn("p1", "r2"))}},
			flaky: "TestB", dead: "its tests fail without a mutant now and then", serial: true, runs: 6},

		{name: "fails beside another process only, in the recording run", suite: &suite{tests: []suiteTest{quick("TestA", nil), quick("TestB", onlyIn("r1"))}},
			times: "TestA TestB", serial: true, runs: 4},

		{name: "the recording run takes too long", suite: &suite{tests: []suiteTest{{name: "TestA", took: time.Second, slow: onlyIn("r1")}, quick("TestB", nil)}}, limit: 8 * second,
			times: "TestA TestB", runs: 6},
		{name: "the plain run takes too long", suite: &suite{tests: []suiteTest{{name: "TestA", took: time.Second, slow: onlyIn("p1")}, quick("TestB", nil)}}, limit: 8 * second,
			times: "TestA TestB", runs: 6},
		{name: "recording takes longer", suite: &suite{tests: []suiteTest{quick("TestA", nil), quick("TestB", nil), quick("TestC", nil), quick("TestD", nil), quick("TestE", nil)}, slower: 2}, limit: 8 * second,
			times: "TestA TestB TestC TestD", late: "TestE", runs: 6},
		{name: "two are late and red", suite: &suite{tests: []suiteTest{quick("TestA", always), quick("TestB", always), {name: "TestC", took: time.Hour}}}, limit: 8 * second,
			red: "TestA TestB", dead: "its tests fail without a mutant: TestA, TestB", runs: 2},
		{name: "red and late at the second try", suite: &suite{tests: []suiteTest{quick("TestA", always), {name: "TestB", slow: onlyIn("p2")}}}, limit: 8 * second,
			red: "TestA", dead: "its tests fail without a mutant: TestA", serial: true, runs: 4},
		{name: "flaky, and late at the third try", suite: &suite{tests: []suiteTest{quick("TestA", onlyIn("p1", "p2")), {name: "TestB", slow: onlyIn("r3")}, quick("TestC", nil)}}, limit: 8 * second,
			times: "TestB TestC", flaky: "TestA", serial: true, runs: 10},
		{name: "late, and then it cannot begin", suite: &suite{tests: []suiteTest{{name: "TestA", took: time.Hour}, quick("TestB", nil)}, early: func(r suiteRun) bool { return r.name[0] == 'p' && r.name != "p1" }},
			limit: 8 * second, flaky: "TestMain", late: "TestA TestB", runs: 6},

		{name: "one never ends", suite: &suite{tests: []suiteTest{quick("TestA", nil), {name: "TestB", took: time.Hour}, quick("TestC", nil)}}, limit: 8 * second,
			times: "TestA TestC", late: "TestB", runs: 6},
		{name: "the near ones first", suite: &suite{tests: []suiteTest{{name: "TestA", took: 3 * second}, {name: "TestB", took: 3 * second}, {name: "TestC", took: second}, {name: "TestD", took: second}}},
			limit: 8 * second, near: []string{"TestD"}, times: "TestA TestC TestD", late: "TestB", runs: 8},
		{name: "late and red", suite: &suite{tests: []suiteTest{quick("TestA", always), {name: "TestB", took: time.Hour}}}, limit: 8 * second,
			red: "TestA", dead: "its tests fail without a mutant: TestA", late: "", runs: 2},
		{name: "late and flaky", suite: &suite{tests: []suiteTest{quick("TestA", onlyIn("p1")), {name: "TestB", took: time.Hour}, quick("TestC", nil)}}, limit: 8 * second,
			times: "TestC", flaky: "TestA", late: "TestB", runs: 6},
		{name: "red among the late ones", suite: &suite{tests: []suiteTest{{name: "TestA", took: time.Hour}, {name: "TestB", fails: always, panics: true}, quick("TestC", nil)}}, limit: 8 * second,
			red: "TestB", dead: "its tests fail without a mutant: TestB", runs: 4},
		{name: "flaky by a panic among the late ones", suite: &suite{tests: []suiteTest{{name: "TestA", took: time.Hour}, {name: "TestB", fails: onlyIn("p2"), panics: true}, quick("TestC", nil)}}, limit: 8 * second,
			times: "TestC", flaky: "TestB", late: "TestA", runs: 8},
		{name: "late at the second try", suite: &suite{tests: []suiteTest{quick("TestA", onlyIn("p1", "p2")), {name: "TestB", slow: onlyIn("p2")}, quick("TestC", nil)}},
			limit: 8 * second, times: "TestB TestC", flaky: "TestA", serial: true, runs: 8},
		{name: "nothing ends", suite: &suite{tests: []suiteTest{{name: "TestA", took: time.Hour}, {name: "TestB", took: time.Hour}}}, limit: 8 * second,
			late: "TestA TestB", runs: 8},
		{name: "no time for pieces", suite: &suite{tests: []suiteTest{{name: "TestA", took: time.Hour}, quick("TestB", nil)}}, limit: 500 * time.Millisecond,
			late: "TestA TestB", runs: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.suite
			r, o := oracleOf(t, s, c.near...)
			if err := r.baseline(context.Background(), o, c.limit); err != nil {
				t.Fatal(err)
			}
			for name, is := range o.flaky {
				if !is {
					t.Errorf("%s is half flaky", name)
				}
			}
			got := fmt.Sprintf("times %s, flaky %s, red %s, late %s, dead %q, serial %t, %d runs", strings.Join(sortedKeys(o.times), " "), strings.Join(sortedKeys(o.flaky), " "),
				strings.Join(o.red, " "), strings.Join(o.late, " "), o.dead, o.serial, len(s.runs))
			want := fmt.Sprintf("times %s, flaky %s, red %s, late %s, dead %q, serial %t, %d runs", c.times, c.flaky, c.red, c.late, c.dead, c.serial, c.runs)
			if got != want {
				t.Errorf("got  %s\nwant %s\n%s", got, want, strings.Join(s.args(), "\n"))
			}
		})
	}
}

// A slow suite is run in pieces: near tests, then others, each for two thirds of the time that is left, and all that the
// runs record adds up.
func TestPieces(t *testing.T) {
	s := &suite{tests: []suiteTest{
		{name: "TestA", took: 3 * second}, {name: "TestB", took: 3 * second}, {name: "TestC", took: second}, {name: "TestD", took: second},
	}}
	r, o := oracleOf(t, s, "TestD")
	s.logs = map[string]string{"r1": "t 7 1 TestA\nr 7 1 5\nk 9\n", "r3": "t 8 1 TestD\nr 8 1 5\nk 3\n"}
	if err := r.baseline(context.Background(), o, 8*second); err != nil {
		t.Fatal(err)
	}
	const all = "-test.v=test2json -test.timeout=0"
	want := []string{
		all, all + " -test.parallel=1", all + " -test.parallel=1 -test.run=^(?:TestB)$", all + " -test.parallel=1 -test.run=^(?:TestC)$", all + " -test.parallel=1 -test.run=^(?:TestD)$",
		all + " -test.run=^(?:TestB)$", all + " -test.run=^(?:TestC)$", all + " -test.run=^(?:TestD)$",
	}
	if d := cmp.Diff(want, s.args()); d != "" {
		t.Error(d)
	}
	walls := map[string][2]time.Duration{
		"p1": {4 * second, 4 * second}, "r1": {4 * second, 4 * second},
		"p2": {0, 2667 * time.Millisecond}, "r2": {0, 2667 * time.Millisecond},
		"p3": {0, 2667 * time.Millisecond}, "r3": {0, 2667 * time.Millisecond},
		"p4": {0, 2667 * time.Millisecond}, "r4": {0, 2667 * time.Millisecond},
	}
	for _, run := range s.runs {
		if run.wall < walls[run.name][0] || run.wall > walls[run.name][1] {
			t.Errorf("%s: wall %s", run.name, run.wall)
		}
	}
	if d := cmp.Diff(map[string]time.Duration{"TestA": 3 * second, "TestC": second, "TestD": second}, o.times); d != "" || o.total != 5*second {
		t.Errorf("total %s: %s", o.total, d)
	}
	if o.rss != 42 || !o.reach[5]["TestD"] || !o.reach[5]["TestA"] || o.ticks != 9 {
		t.Errorf("memory %d, reach %v, turns %d", o.rss, o.reach, o.ticks)
	}
	if got := o.unheard(); got != "1 of the 4 tests of ex.com/p did not end within their part of the budget" {
		t.Error(got)
	}

	// Mutants meet the known tests and no others, also those that are reached before any test.
	for _, c := range []struct {
		reach      map[string]bool
		first, all []string
		reached    bool
		asked      string
	}{
		{map[string]bool{"TestD": true, "TestB": true}, nil, []string{"TestD"}, true, "-test.run=^(?:TestD)$"},
		{map[string]bool{"TestB": true}, nil, nil, false, ""},
		{map[string]bool{"": true, "TestB": true}, nil, nil, true, "-test.run=^(?:TestA|TestC|TestD)$"},
		{map[string]bool{"TestA": true, "TestB": true, "TestC": true, "TestD": true}, nil, []string{"TestA", "TestC", "TestD"}, true, "-test.run=^(?:TestA|TestC|TestD)$"},
	} {
		o.reach[1] = c.reach
		first, all, reached := o.covering(&mutant{id: 1})
		if !slices.Equal(first, c.first) || !slices.Equal(all, c.all) || reached != c.reached {
			t.Errorf("%v: first %v, all %v, %t", c.reach, first, all, reached)
		}
		if !reached {
			continue
		}
		s.runs = nil
		if v, err := r.try(context.Background(), o, 1, all); err != nil || v.status != hollowtest.Survived || !strings.HasSuffix(s.runs[0].args, c.asked) {
			t.Errorf("%v: %v, %v, asked %q", c.reach, v, err, s.args())
		}
	}

	// Nobody is known.
	o.times = map[string]time.Duration{}
	o.reach[1] = map[string]bool{"": true}
	if _, _, reached := o.covering(&mutant{id: 1}); reached {
		t.Error("there is no test to be asked")
	}
}

func TestACommandLineHoldsOnlySoManyTests(t *testing.T) {
	s := &suite{}
	for i := range 3000 {
		s.tests = append(s.tests, suiteTest{name: fmt.Sprintf("TestOfAGoodLengthNumber%04d", i), took: time.Millisecond})
	}
	s.tests = append(s.tests, suiteTest{name: "TestZ", took: time.Hour})
	r, o := oracleOf(t, s)
	if err := r.baseline(context.Background(), o, 8*second); err != nil {
		t.Fatal(err)
	}
	if known := len(quoteTests(sortedKeys(o.times))); known >= longestPattern || known < longestPattern*9/10 || len(o.times)+len(o.late) != len(s.tests) {
		t.Errorf("%d tests with a pattern of %d bytes are known, and %d late", len(o.times), known, len(o.late))
	}
	o.times = map[string]time.Duration{}
	if n := len(quoteTests(o.waiting(nil))); n > longestPattern || n < longestPattern*9/10 {
		t.Errorf("a pattern of %d bytes", n)
	}
	for i := range o.tests {
		o.tests[i].near = true
	}
	if n := len(quoteTests(o.waiting(nil))); n > longestPattern || n < longestPattern*9/10 {
		t.Errorf("a pattern of %d bytes", n)
	}
	// To the byte.
	long := strings.Repeat("x", longestPattern-len("^(?:TestA|TestB.|Test)$")-len(`\`))
	names := []string{"TestA", "TestB.", "Test" + long, "T"}
	if got := fitting(names); len(got) != 3 || len(quoteTests(got)) != longestPattern {
		t.Errorf("%d tests in %d bytes", len(got), len(quoteTests(got)))
	}
	names[2] += "x"
	if got := fitting(names); len(got) != 2 {
		t.Errorf("%d tests in %d bytes", len(got), len(quoteTests(got)))
	}
	if got := fitting(names[:1]); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// What is recorded by runs that do not count is forgotten, and the times are those without recording.
func TestRecordings(t *testing.T) {
	s := &suite{
		tests: []suiteTest{{name: "TestA", took: second, fails: onlyIn("p1")}, {name: "TestB", took: second}}, slower: 3,
		logs: map[string]string{"r1": "t 7 1 TestA\nr 7 1 5\nk 9\n", "r2": "t 7 1 TestA\nr 7 1 6\n"},
	}
	r, o := oracleOf(t, s)
	if err := r.baseline(context.Background(), o, 0); err != nil {
		t.Fatal(err)
	}
	if len(o.reach) != 1 || !o.reach[6]["TestA"] || o.ticks != 0 {
		t.Errorf("reach %v, %d turns", o.reach, o.ticks)
	}
	if d := cmp.Diff(map[string]time.Duration{"TestA": second, "TestB": second}, o.times); d != "" || o.total != 2*second || o.rss != 22 {
		t.Errorf("total %s, memory %d: %s", o.total, o.rss, d)
	}
}

func TestBaselineThatCannotBeStarted(t *testing.T) {
	broken := errors.New("no more processes")
	for at := range 7 {
		r, o := oracleOf(t, &suite{tests: []suiteTest{{name: "TestA", fails: onlyIn("p1", "p2")}}, err: broken, errAt: at})
		if err := r.baseline(context.Background(), o, 0); !errors.Is(err, broken) {
			t.Errorf("run %d of 6: %v", at, err)
		}
	}
	for at := 3; at <= 4; at++ {
		r, o := oracleOf(t, &suite{tests: []suiteTest{{name: "TestA", took: time.Hour}, {name: "TestB"}}, err: broken, errAt: at})
		if err := r.baseline(context.Background(), o, 8*second); !errors.Is(err, broken) {
			t.Errorf("run %d of 4: %v", at, err)
		}
	}
}

func TestNearTests(t *testing.T) {
	p, other := &pkg{list: &listed{}}, &pkg{list: &listed{}}
	tests := []testFunc{
		{name: "TestFile", file: "a_test.go"},
		{name: "TestName", file: "x_test.go", uses: map[string]bool{"t": true, "Grow": true}},
		{name: "TestMethod", file: "x_test.go", uses: map[string]bool{"Shrink": true}},
		{name: "TestSkipped", file: "x_test.go", uses: map[string]bool{"Skip": true}},
		{name: "TestPending", file: "x_test.go", uses: map[string]bool{"Wait": true}},
		{name: "TestFar", file: "x_test.go", uses: map[string]bool{"t": true}},
	}
	mutants := []*mutant{
		{file: &file{pkg: p, path: "deep/in/x.go"}, fn: "Skip", skip: "arid"},
		{file: &file{pkg: p, path: "deep/in/a.go"}, fn: "Grow"},
		{file: &file{pkg: p, path: "deep/in/a.go"}, fn: "Plant[T].Shrink"},
		{file: &file{pkg: p, path: "deep/in/x.go"}, fn: "Wait", pending: true},
	}
	for _, c := range []struct {
		of   *pkg
		want string
	}{{p, "TestFile TestName TestMethod"}, {other, "TestName TestMethod"}} {
		o := &oracle{list: c.of.list, tests: slices.Clone(tests)}
		o.markNear(mutants)
		var near []string
		for _, t := range o.tests {
			if t.near {
				near = append(near, t.name)
			}
		}
		if got := strings.Join(near, " "); got != c.want {
			t.Errorf("near: %s, want %s", got, c.want)
		}
	}
}

// Where the tests of a mutant's own package give no answer, nobody can say that they do not reach it.
func TestOracleThatAnswersNothing(t *testing.T) {
	own, importer := &listed{ImportPath: "ex.com/p"}, &listed{ImportPath: "ex.com/q"}
	s := &suite{tests: []suiteTest{{name: "TestQ"}}}
	r, alive := oracleOf(t, s)
	alive.list = importer
	importer.Dir = t.TempDir()
	if err := r.baseline(context.Background(), alive, 0); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dead   string
		reach  bool // by the importing package
		kills  bool
		status hollowtest.Status
		reason string
	}{
		{"its tests fail without a mutant now and then", false, false, hollowtest.Undetermined, "its tests fail without a mutant now and then"},
		{"its tests fail without a mutant now and then", true, false, hollowtest.Undetermined, "its tests fail without a mutant now and then"},
		{"its tests fail without a mutant now and then", true, true, hollowtest.Killed, ""},
		{runsNoTest, false, false, hollowtest.NotCovered, "no test reaches it"},
		{runsNoTest, true, false, hollowtest.Survived, ""},
	} {
		m := &mutant{id: 1, file: &file{pkg: &pkg{list: own}}}
		alive.reach = map[int32]map[string]bool{}
		if c.reach {
			alive.reach[1] = map[string]bool{"TestQ": true}
		}
		s.tests[0].fails = nil
		if c.kills {
			s.tests[0].fails = always
		}
		run := &run{e: &Engine{}, runner: r}
		if err := run.ask(context.Background(), m, []*oracle{{list: own, dead: c.dead}, alive}); err != nil {
			t.Fatal(err)
		}
		if m.status != c.status || m.reason != c.reason {
			t.Errorf("%+v: %s %q", c, m.status, m.reason)
		}
	}
}

// A survivor of tests that have not all been heard is none. Where those are of another package it stays one, with a note.
func TestUnheardTests(t *testing.T) {
	own, importer, stranger := &listed{ImportPath: "ex.com/p", TestGoFiles: []string{"p_test.go"}}, &listed{ImportPath: "ex.com/q", Imports: []string{"ex.com/p"}, TestGoFiles: []string{"q_test.go"}},
		&listed{ImportPath: "ex.com/r", TestGoFiles: []string{"r_test.go"}}
	mod := &module{packages: map[string]*listed{"ex.com/p": own, "ex.com/q": importer, "ex.com/r": stranger}}
	oracles := func(late string) map[string]*oracle {
		all := make(map[string]*oracle)
		for _, l := range mod.packages {
			o := &oracle{list: l, tests: []testFunc{{name: "TestA"}, {name: "TestB"}}}
			if l.ImportPath == late {
				o.late = []string{"TestB"}
			}
			all[l.ImportPath] = o
		}
		return all
	}
	const note = "1 of the 2 tests of ex.com/%s did not end within their part of the budget"
	for _, c := range []struct {
		late    string
		status  hollowtest.Status
		want    hollowtest.Status
		reason  string
		problem string
	}{
		{"ex.com/p", hollowtest.Survived, hollowtest.Skipped, "budget: no other test noticed it, and " + fmt.Sprintf(note, "p"), fmt.Sprintf(note, "p")},
		{"ex.com/p", hollowtest.NotCovered, hollowtest.Skipped, "budget: no other test noticed it, and " + fmt.Sprintf(note, "p"), fmt.Sprintf(note, "p")},
		{"ex.com/p", hollowtest.Killed, hollowtest.Killed, "", ""},
		{"ex.com/p", hollowtest.TimedOut, hollowtest.TimedOut, "", ""},
		{"ex.com/p", hollowtest.Undetermined, hollowtest.Undetermined, "", ""},
		{"ex.com/q", hollowtest.Survived, hollowtest.Survived, fmt.Sprintf(note, "q"), ""},
		{"ex.com/q", hollowtest.Killed, hollowtest.Killed, "", ""},
		{"ex.com/r", hollowtest.Survived, hollowtest.Survived, "", ""},
		{"", hollowtest.Survived, hollowtest.Survived, "", ""},
	} {
		m := &mutant{id: 1, file: &file{pkg: &pkg{list: own, mod: mod}}, status: c.status, hint: "none"}
		elsewhere := &mutant{id: 2, file: &file{pkg: &pkg{list: own, mod: &module{}}}, status: hollowtest.Survived}
		r := &run{report: &hollowtest.Report{}, mutants: []*mutant{m, elsewhere}, mods: []*modRun{{mod: mod, oracles: oracles(c.late)}}}
		r.unheard()
		if m.status != c.want || m.reason != c.reason || r.report.Detail != c.problem || m.pending != (c.want == hollowtest.Skipped) || (m.hint == "") != m.pending {
			t.Errorf("late %q, %s: %s pending %t %q, hint %q, problem %q", c.late, c.status, m.status, m.pending, m.reason, m.hint, r.report.Detail)
		}
		if elsewhere.status != hollowtest.Survived || elsewhere.reason != "" {
			t.Errorf("late %q: a mutant of another module is %s %q", c.late, elsewhere.status, elsewhere.reason)
		}
	}
}
