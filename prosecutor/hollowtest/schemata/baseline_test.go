package schemata_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// slowSuite is a module whose first test never ends.
func slowSuite(t *testing.T, more string) string {
	t.Helper()
	return write(t, map[string]string{
		"go.mod": "module ex.com/s\n\ngo 1.22\n",
		"s.go":   "package s\n\nfunc Add(a, b int) int { return a + b }\n\nfunc Half(n int) int { return n / 2 }\n",
		"a_test.go": `package s

import (
	"testing"
	"time"
)

func TestAsleep(t *testing.T) { time.Sleep(time.Hour) }
` + more,
		"s_test.go": `package s

import "testing"

func TestAdd(t *testing.T) {
	if Add(1, 2) != 3 {
		t.Fatal()
	}
}

func TestHalf(t *testing.T) { Half(4) }
`,
	})
}

// A suite that does not fit into the budget says what it can: what some tests notice is noticed, and nobody is accused
// before all tests of the package have answered.
func TestSuiteBeyondTheBudget(t *testing.T) {
	dir := slowSuite(t, "\nfunc TestOther(t *testing.T) {\n\tif Half(6) == 7 {\n\t\tt.Fatal()\n\t}\n}\n")
	req := request(dir, allLines(t, dir, "s.go"))
	req.Budget = 12 * time.Second
	r := measure(t, req)
	if r.Outcome != hollowtest.CouldNotMeasure || r.Problem != hollowtest.TimeLimit || !strings.Contains(r.Detail, "1 of the 4 tests of ex.com/s did not end") {
		t.Errorf("outcome %s, problem %q: %s", r.Outcome, r.Problem, r.Detail)
	}
	killed := 0
	for _, m := range r.Mutants {
		switch {
		case m.Line == 3 && m.Status == hollowtest.Killed && m.Killer == "TestAdd":
			killed++
		case m.Line == 5 && m.Status == hollowtest.Killed:
		case m.Line == 5 && m.Status == hollowtest.Skipped && m.Pending && strings.Contains(m.Reason, "no other test noticed it"):
			if strings.Join(m.Tests, " ") != "TestHalf TestOther" {
				t.Errorf("tests %v", m.Tests)
			}
		default:
			t.Errorf("line %d: %s is %s (%s)", m.Line, m.Operator, m.Status, m.Reason)
		}
	}
	if killed < 2 {
		t.Errorf("%d mutants of Add were killed: %s", killed, show(r))
	}

	req.Lines = map[string][]int{"s.go": {3}}
	if r := measure(t, req); r.Outcome != hollowtest.KilledAll {
		t.Errorf("the tests that end notice every mutant of Add: %s", show(r))
	}
}

func TestSuiteBeyondTheBudgetIsRedAllTheSame(t *testing.T) {
	dir := slowSuite(t, "\nfunc TestRed(t *testing.T) { t.Fatal() }\n")
	req := request(dir, map[string][]int{"s.go": {3}})
	req.Budget = 12 * time.Second
	if r := measure(t, req); r.Problem != hollowtest.BaselineRed || !strings.Contains(r.Detail, "TestRed") {
		t.Error(show(r))
	}
}

// Random property tests draw the same for every mutant and in every run, and what made one mutant fail is not kept for the
// next.
func TestRandomPropertiesAreSteady(t *testing.T) {
	var sums []string
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	version := ""
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); f[0] == "pgregory.net/rapid" {
			sums = append(sums, line)
			version = strings.TrimSuffix(f[1], "/go.mod")
		}
	}
	dir := write(t, map[string]string{
		"go.mod": "module ex.com/r\n\ngo 1.25\n\nrequire pgregory.net/rapid " + version + "\n",
		"go.sum": strings.Join(sums, ""),
		"r.go":   "package r\n\nfunc Low(n int) bool { return n%151 < 140 }\n",
		"r_test.go": `package r

import (
	"testing"

	"pgregory.net/rapid"
)

func TestLow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<40).Draw(t, "n")
		if Low(n) != (n%151 <= 139) {
			t.Fatal(n)
		}
	})
}
`,
	})
	req := request(dir, map[string][]int{"r.go": {3}})
	r := measure(t, req)
	if n := count(r, func(m hollowtest.Mutant) bool { return m.Status == hollowtest.Killed && m.Killer == "TestLow" }); n < 5 {
		t.Errorf("%d mutants were killed: %s", n, show(r))
	}
	first := verdicts(t, r)
	for range 3 {
		if again := verdicts(t, measure(t, req)); again != first {
			t.Errorf("%s\nand then\n%s", first, again)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "testdata")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a failure was stored: %v", err)
	}
}
