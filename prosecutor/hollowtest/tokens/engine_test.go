package tokens

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/process"
)

// tree writes the files of an archive into a new directory.
func tree(t testing.TB, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range archive.Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func fixture(t testing.TB, name string) *txtar.Archive {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// lines are all lines of a file of an archive.
func lines(a *txtar.Archive, names ...string) map[string][]int {
	all := map[string][]int{}
	for _, f := range a.Files {
		if slices.Contains(names, f.Name) {
			for i := range strings.Count(string(f.Data), "\n") {
				all[f.Name] = append(all[f.Name], i+1)
			}
		}
	}
	return all
}

// counting counts the test commands that it starts, by their program.
type counting struct {
	process.Plain
	mu   sync.Mutex
	argv [][]string
}

func (c *counting) Run(ctx context.Context, cmd hollowtest.Command) (hollowtest.ExecResult, error) {
	c.mu.Lock()
	c.argv = append(c.argv, cmd.Argv)
	c.mu.Unlock()
	return c.Plain.Run(ctx, cmd)
}

// started counts the commands with such an argument.
func (c *counting) started(argument string) int {
	n := 0
	for _, argv := range c.argv {
		if slices.ContainsFunc(argv, func(a string) bool { return strings.Contains(a, argument) }) {
			n++
		}
	}
	return n
}

func measure(t testing.TB, e *Engine, a *txtar.Archive, command string, changed map[string][]int, change func(*hollowtest.Request)) (*hollowtest.Report, *counting) {
	t.Helper()
	exec := &counting{}
	req := hollowtest.Request{
		Dir: tree(t, a), Lines: changed, Policy: config.HollowTest{Mode: config.HollowGate, Command: command}, Budget: 5 * time.Minute, Exec: exec,
		Scratch: t.TempDir(),
	}
	if change != nil {
		change(&req)
	}
	before := contents(t, req.Dir)
	r, err := e.Measure(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if after := contents(t, req.Dir); after != before {
		t.Errorf("the checkout changed:\n%s\nbefore:\n%s", after, before)
	}
	return r, exec
}

// contents is everything below a directory as one text.
func contents(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		fmt.Fprintf(&b, "%s\n%s\n", p, data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// statuses lists mutants as "line operator: mutated = status".
func statuses(r *hollowtest.Report) []string {
	var out []string
	for _, m := range r.Mutants {
		out = append(out, fmt.Sprintf("%s:%d %s %s = %s", m.File, m.Line, m.Operator, m.Mutated, m.Status))
	}
	return out
}

func dump(r *hollowtest.Report) string {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// without drops the lines that hold one of the texts.
func without(a *txtar.Archive, changed map[string][]int, texts ...string) map[string][]int {
	for _, f := range a.Files {
		source := strings.Split(string(f.Data), "\n")
		changed[f.Name] = slices.DeleteFunc(changed[f.Name], func(n int) bool {
			return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(source[n-1], text) })
		})
	}
	return changed
}

var drivers = []struct {
	name, archive, command, helper string
	files                          []string
	loops                          []string // lines whose mutants hang
}{
	{"unittest", "python.txtar", "python3 -m unittest", "drive.py", []string{"shop/cart.py"}, []string{"while", "n -= 1", "append"}},
	{"node", "node.txtar", "npm test", "drive.cjs", []string{"cart.js", "names.mjs"}, []string{"while", "n -= 1"}},
}

// A helper that keeps the runner loaded must say of every mutant what the whole command says of it.
func TestDriversAgreeWithTheWholeCommand(t *testing.T) {
	for _, c := range drivers {
		t.Run(c.name, func(t *testing.T) {
			a := fixture(t, c.archive)
			changed := without(a, lines(a, c.files...), c.loops...)
			some := func(r *hollowtest.Request) { r.MaxMutants = 12 }
			driven, exec := measure(t, &Engine{Workers: 2}, a, c.command, changed, some)
			if n := exec.started(c.helper); n != 3 {
				t.Errorf("the helper was started %d times, not once to record and once for each worker", n)
			}
			whole, exec := measure(t, &Engine{Workers: 2, Whole: true}, a, c.command, changed, some)
			if n := exec.started(c.helper); n != 0 {
				t.Errorf("the helper was started %d times", n)
			}
			// The whole command does not tell which tests reach what.
			got, want := statuses(driven), statuses(whole)
			if len(got) != len(want) || len(got) < 12 || driven.Summary.Killed < 5 {
				t.Fatalf("%+v, with the whole command %+v\n%s", driven.Summary, whole.Summary, driven.Detail)
			}
			for i := range got {
				if strings.Replace(got[i], "= not_covered", "= survived", 1) != want[i] {
					t.Errorf("the helper says %s\nthe command says %s", got[i], want[i])
				}
			}
		})
	}
}

func TestDriversDecideEverything(t *testing.T) {
	for _, c := range drivers {
		t.Run(c.name, func(t *testing.T) {
			a := fixture(t, c.archive)
			r, exec := measure(t, &Engine{Workers: 2}, a, c.command, lines(a, c.files...), nil)
			if r.Problem != "" || r.Outcome != hollowtest.Survivors {
				t.Fatal(dump(r))
			}
			if len(exec.argv) > 6 {
				t.Errorf("%d processes were started for %d mutants", len(exec.argv), r.Summary.Total)
			}
			for _, m := range r.Mutants {
				if m.Status == hollowtest.Killed && m.Killer == "" {
					t.Errorf("killed by nobody: %+v", m)
				}
				if m.Status == hollowtest.Undetermined || m.Pending {
					t.Errorf("undecided: %+v", m)
				}
			}
			if r.Summary.TimedOut == 0 || r.Summary.Killed < 15 || r.Summary.Survived == 0 {
				t.Errorf("%+v", r.Summary)
			}
			again, _ := measure(t, &Engine{Workers: 1}, a, c.command, lines(a, c.files...), nil)
			if !slices.Equal(statuses(again), statuses(r)) {
				t.Errorf("with one worker:\n%q\nwith two:\n%q", statuses(again), statuses(r))
			}
		})
	}
}

// archive makes an archive of names and contents.
func archive(pairs ...string) *txtar.Archive {
	a := &txtar.Archive{}
	for i := 0; i < len(pairs); i += 2 {
		a.Files = append(a.Files, txtar.File{Name: pairs[i], Data: []byte(pairs[i+1])})
	}
	return a
}

const (
	maxPy     = "def most(a, b):\n    if a > b:\n        return a\n    return b\n"
	testMaxPy = "import unittest\nfrom m import most\n\n\nclass T(unittest.TestCase):\n    def test_most(self):\n        self.assertEqual(most(1, 2), 2)\n"
)

func TestNobodyReachesIt(t *testing.T) {
	a := archive("m.py", maxPy+"\n\ndef lost(a):\n    return a + 1\n", "test_m.py", testMaxPy)
	r, _ := measure(t, &Engine{}, a, "python3 -m unittest", lines(a, "m.py"), nil)
	for _, m := range r.Mutants {
		if want := m.Line == 3 || m.Line > 4; (m.Status == hollowtest.NotCovered) != want {
			t.Errorf("line %d: %s", m.Line, m.Status)
		}
		if m.Line == 2 && !slices.Equal(m.Tests, []string{"test_m.T.test_most"}) {
			t.Errorf("reached by %q", m.Tests)
		}
	}
}

func TestProblemsOfTheCommand(t *testing.T) {
	for _, c := range []struct {
		name, command string
		archive       *txtar.Archive
		want          hollowtest.Problem
		detail        string
	}{
		{"no command", "", archive("m.py", maxPy, "test_m.py", testMaxPy), hollowtest.NoTestCommand, ""},
		{"red", "python3 -m unittest", archive("m.py", maxPy, "test_m.py", strings.Replace(testMaxPy, ", 2)\n", ", 3)\n", 1)), hollowtest.BaselineRed, "test_most"},
		{"red whole", "true && python3 -m unittest", archive("m.py", maxPy, "test_m.py", strings.Replace(testMaxPy, ", 2)\n", ", 3)\n", 1)), hollowtest.BaselineRed, "test_most"},
		{"no tests", "python3 -m unittest discover", archive("m.py", maxPy, "check.py", ""), hollowtest.NoTestCommand, "Ran 0 tests"},
		{"broken tests", "python3 -m unittest", archive("m.py", maxPy, "test_m.py", "import nowhere\n"), hollowtest.BaselineRed, "test_m"},
		{"missing program", "no-such-program --test", archive("m.py", maxPy), hollowtest.SetupFailed, "no-such-program"},
		{"open quote", "python3 '", archive("m.py", maxPy), hollowtest.SetupFailed, "quote"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := measure(t, &Engine{}, c.archive, c.command, lines(c.archive, "m.py"), nil)
			if r.Problem != c.want || !strings.Contains(r.Detail, c.detail) || r.Outcome != hollowtest.CouldNotMeasure {
				t.Errorf("%s %q %q", r.Outcome, r.Problem, r.Detail)
			}
			if r.Summary.Killed+r.Summary.Survived > 0 {
				t.Errorf("mutants were tried: %+v", r.Summary)
			}
		})
	}
}

func TestFlakyTestsDecideNothing(t *testing.T) {
	flaky := `

class Flaky(unittest.TestCase):
    def test_flaky(self):
        import os
        name = os.path.join(os.environ["TMPDIR"], "seen")
        seen = os.path.exists(name)
        open(name, "w").close()
        most(2, 1)
        self.assertTrue(seen)
`
	a := archive("m.py", maxPy, "test_m.py", testMaxPy+flaky)
	r, _ := measure(t, &Engine{Workers: 1}, a, "python3 -m unittest", lines(a, "m.py"), nil)
	if !slices.Equal(r.Flaky, []string{"test_m.Flaky.test_flaky"}) {
		t.Fatalf("flaky: %q\n%s", r.Flaky, dump(r))
	}
	for _, m := range r.Mutants {
		if strings.Contains(m.Killer, "Flaky") || slices.Contains(m.Tests, "test_m.Flaky.test_flaky") {
			t.Errorf("%+v", m)
		}
	}
	whole, _ := measure(t, &Engine{Workers: 1, Whole: true}, a, "python3 -m unittest", lines(a, "m.py"), nil)
	if whole.Problem != hollowtest.BaselineRed || len(whole.Flaky) != 1 {
		t.Errorf("the whole command: %s", dump(whole))
	}
}

func TestLanguagesWithoutASyntaxCheckAreSaidToBe(t *testing.T) {
	a := archive("a.ts", "export const f = (a: number, b: number) => a < b;\n", "test.js", "")
	r, _ := measure(t, &Engine{}, a, "node --test", lines(a, "a.ts"), func(r *hollowtest.Request) { r.Env = []string{"PATH=/nowhere"} })
	if r.Outcome != hollowtest.CouldNotMeasure || len(r.Files) != 1 || !strings.HasPrefix(r.Files[0].Reason, "unsupported") {
		t.Error(dump(r))
	}
}

func TestNonsenseIsInvalid(t *testing.T) {
	// A statement that is the only one before "else" cannot go, and continue is none inside of a switch.
	a := archive("a.js", "exports.f = (a) => {\n  switch (a) {\n    case 1:\n      break;\n  }\n  return a;\n};\n",
		"a.test.js", "const t = require('node:test');\nconst { f } = require('./a.js');\nt('f', () => { f(1); });\n")
	r, _ := measure(t, &Engine{}, a, "node --test", lines(a, "a.js"), nil)
	found := false
	for _, m := range r.Mutants {
		if m.Operator == string(LoopBranch) {
			found = true
			if m.Status != hollowtest.Invalid {
				t.Errorf("%+v", m)
			}
		}
	}
	if !found {
		t.Error(dump(r))
	}
}

func TestBudgetStarvesNoFileSilently(t *testing.T) {
	files := []string{"test_m.py", testMaxPy, "m.py", maxPy}
	var names []string
	for i := range 8 {
		name := fmt.Sprintf("f%d.py", i)
		names = append(names, name)
		files = append(files, name, maxPy)
	}
	a := archive(files...)
	r, _ := measure(t, &Engine{}, a, "python3 -m unittest", lines(a, names...), func(r *hollowtest.Request) { r.MaxMutants = 5 })
	starved := 0
	for _, f := range r.Files {
		if f.Starved {
			starved++
		}
	}
	if tried := r.Summary.Total - r.Summary.Skipped; tried != 5 || starved != 3 || r.Outcome == hollowtest.KilledAll {
		t.Errorf("%d tried, %d starved, %s", tried, starved, r.Outcome)
	}
	a = archive("m.py", maxPy, "test_m.py", testMaxPy)
	r, _ = measure(t, &Engine{}, a, "python3 -m unittest", lines(a, "m.py"), func(r *hollowtest.Request) { r.Budget = time.Nanosecond })
	if r.Outcome != hollowtest.CouldNotMeasure || r.Problem != hollowtest.TimeLimit {
		t.Errorf("no time: %s %s", r.Outcome, r.Problem)
	}
}

func TestInterruptedMutantsArePending(t *testing.T) {
	a := archive("m.py", maxPy, "test_m.py", testMaxPy)
	ctx, cancel := context.WithCancel(t.Context())
	req := hollowtest.Request{
		Dir: tree(t, a), Lines: lines(a, "m.py"), Policy: config.HollowTest{Command: "true && python3 -m unittest"}, Exec: &counting{}, Scratch: t.TempDir(),
		Progress: func(int, int) { cancel() },
	}
	r, err := (&Engine{Workers: 1}).Measure(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	pending := 0
	for _, m := range r.Mutants {
		if m.Pending {
			pending++
		}
	}
	if r.Problem != hollowtest.Interrupted || pending == 0 || pending == len(r.Mutants) {
		t.Error(dump(r))
	}
}

func TestMutantsThatCrashOrExit(t *testing.T) {
	a := archive("m.py", "import os\n\n\ndef f(a):\n    if a > 3:\n        os._exit(0)\n    return a\n",
		"test_m.py", "import unittest\nimport m\n\n\nclass T(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(m.f(3), 3)\n")
	for _, e := range []*Engine{{}, {Whole: true}} {
		r, _ := measure(t, e, a, "python3 -m unittest", lines(a, "m.py"), nil)
		for _, m := range r.Mutants {
			if m.Operator == string(Boundary) && m.Status != hollowtest.Undetermined {
				t.Errorf("tests that end early without a word: %+v", m)
			}
		}
	}
}

func TestAcceptedMutantsAreSkipped(t *testing.T) {
	a := archive("m.py", maxPy, "test_m.py", testMaxPy)
	r, _ := measure(t, &Engine{}, a, "python3 -m unittest", lines(a, "m.py"), func(r *hollowtest.Request) {
		r.Policy.Accepted = []config.AcceptedMutant{{Path: "m.py", Operator: "comparison_boundary", Original: "if a > b:", Reason: "equal values are the same"}}
	})
	for _, m := range r.Mutants {
		if m.Operator == "comparison_boundary" && (m.Status != hollowtest.Skipped || m.Reason != "accepted: equal values are the same" || m.Pending) {
			t.Errorf("%+v", m)
		}
	}
}

// pytest finds its tests and runs them in another way, and says the same.
func TestPytestAgreesWithUnittest(t *testing.T) {
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), name, "-c", "import pytest").Run() == nil {
			python = name
			break
		}
	}
	if python == "" {
		fmt.Fprintln(os.Stderr, "NOT CHECKED: "+t.Name()+": pytest is not installed")
		return
	}
	a := fixture(t, "python.txtar")
	changed := without(a, lines(a, "shop/cart.py"), "while", "n -= 1", "append")
	want, _ := measure(t, &Engine{Workers: 2}, a, "python3 -m unittest", changed, nil)
	got, exec := measure(t, &Engine{Workers: 2}, a, python+" -m pytest -q", changed, nil)
	if n := exec.started("drive.py"); n != 3 || !slices.Equal(statuses(got), statuses(want)) {
		t.Errorf("the helper was started %d times:\n%s", n, dump(got))
	}
}
