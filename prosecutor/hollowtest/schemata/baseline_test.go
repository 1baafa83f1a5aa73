package schemata_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// slowSuite is a module whose first test never ends, and an executor that gives tests without a mutant a few seconds. What
// it is asked for says which tests were heard first.
func slowSuite(t *testing.T, more string) (string, *recorder) {
	t.Helper()
	dir := write(t, map[string]string{
		"go.mod": "module ex.com/s\n\ngo 1.22\n",
		"s.go": `package s

func Add(a, b int) int { return a + b }

func Half(n int) int { return n / 2 }

const start = 10

func From(n int) int { return start + n }
`,
		"a_test.go": `package s

import (
	"testing"
	"time"
)

func TestAsleep(t *testing.T) { time.Sleep(time.Hour) }

func TestFar(t *testing.T) {}
` + more,
		"help_test.go": "package s\n\nfunc sum() int { return Add(1, 2) }\n",
		// Near for the name of its file.
		"s_test.go": `package s

import "testing"

func TestAdd(t *testing.T) {
	if sum() != 3 {
		t.Fatal()
	}
}

func TestFrom(t *testing.T) {
	if f := From; f(1) != 11 {
		t.Fatal()
	}
}
`,
		// Near for what it names.
		"z_test.go": "package s\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) { Half(4) }\n",
	})
	exec := &recorder{adjust: func(c *hollowtest.Command) {
		if c.Kind == hollowtest.TestCommand && !isMutant(*c) {
			c.Wall = min(c.Wall, 4*time.Second)
		}
	}}
	return dir, exec
}

// pieces are the tests that runs without a mutant were started for, in order.
func pieces(r *recorder) []string {
	var all []string
	for _, c := range r.commands {
		if !strings.HasSuffix(c.Argv[0], ".zz-record") {
			continue
		}
		piece := "all"
		for _, a := range c.Argv {
			if p, ok := strings.CutPrefix(a, "-test.run="); ok {
				piece = p
			}
		}
		all = append(all, piece)
	}
	return all
}

// A suite that does not fit into the budget says what it can: what some tests notice is noticed, and nobody is accused
// before all tests of the package have answered. The tests that have most to say are heard first.
func TestSuiteBeyondTheBudget(t *testing.T) {
	dir, exec := slowSuite(t, "")
	req := request(dir, map[string][]int{"s.go": {3, 5, 7}})
	req.Exec = exec
	r := measure(t, req)
	if r.Outcome != hollowtest.CouldNotMeasure || r.Problem != hollowtest.TimeLimit || !strings.Contains(r.Detail, "1 of the 5 tests of ex.com/s did not end") {
		t.Errorf("outcome %s, problem %q: %s", r.Outcome, r.Problem, r.Detail)
	}
	killers := make(map[string]int)
	for _, m := range r.Mutants {
		switch {
		case m.Status == hollowtest.Killed:
			killers[m.Killer]++
		case m.Line == 5 && m.Status == hollowtest.Skipped && m.Pending && strings.Contains(m.Reason, "no other test noticed it"):
			if strings.Join(m.Tests, " ") != "TestHalf" {
				t.Errorf("tests %v", m.Tests)
			}
			killers[""]++
		default:
			t.Errorf("line %d: %s is %s (%s)", m.Line, m.Operator, m.Status, m.Reason)
		}
	}
	if d := cmp.Diff(map[string]int{"TestAdd": 2, "TestFrom": 1, "": 3}, killers); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"all", "^(?:TestAdd|TestFrom|TestHalf)$", "^(?:TestFar)$", "^(?:TestAsleep)$"}, pieces(exec)); d != "" {
		t.Error(d)
	}
}

// What the tests that end notice needs no others. A mutant that is built alone meets the same tests as the others.
func TestSuiteBeyondTheBudgetMayBeEnough(t *testing.T) {
	dir, exec := slowSuite(t, "")
	req := request(dir, map[string][]int{"s.go": {7}})
	req.Exec = exec
	if r := measure(t, req); r.Outcome != hollowtest.KilledAll {
		t.Error(show(r))
	}
	if d := cmp.Diff([]string{"all", "^(?:TestAdd|TestFrom)$", "^(?:TestFar|TestHalf)$", "^(?:TestAsleep)$"}, pieces(exec)); d != "" {
		t.Error(d)
	}
}

func TestSuiteBeyondTheBudgetIsRedAllTheSame(t *testing.T) {
	dir, exec := slowSuite(t, "\nfunc TestHalfRed(t *testing.T) {\n\tHalf(1)\n\tt.Fatal()\n}\n")
	req := request(dir, map[string][]int{"s.go": {5}})
	req.Exec = exec
	if r := measure(t, req); r.Problem != hollowtest.BaselineRed || !strings.Contains(r.Detail, "TestHalfRed") {
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

// What builds are configured with wins over what makes them faster.
func TestConfiguredFlagsAreKept(t *testing.T) {
	dir := write(t, map[string]string{
		"go.mod":    "module ex.com/s\n\ngo 1.22\n",
		"s.go":      "package s\n\nvar version = \"none\"\n\nfunc Version(v string) string { return v + version }\n",
		"s_test.go": "package s\n\nimport \"testing\"\n\nfunc TestVersion(t *testing.T) {\n\tif Version(\"v\") != \"v1\" {\n\t\tt.Fatal()\n\t}\n}\n",
	})
	builds := func(flags string) string {
		exec := &recorder{}
		req := request(dir, map[string][]int{"s.go": {5}})
		req.Exec, req.Env = exec, []string{"GOFLAGS=" + flags}
		if r := measure(t, req); strings.Contains(flags, "-X") && r.Outcome != hollowtest.KilledAll {
			t.Errorf("GOFLAGS=%s: %s", flags, show(r))
		}
		for _, c := range exec.commands {
			if len(c.Argv) > 2 && c.Argv[1] == "test" {
				return strings.Join(c.Argv, " ") + " "
			}
		}
		return ""
	}
	for _, c := range []struct {
		flags    string
		ld, fast bool
	}{
		{"", true, true},
		{"-ldflags=-X=ex.com/s.version=1", false, true},
		{"-count=1 --ldflags=-X=ex.com/s.version=1", false, true},
		{"'-ldflags=-X=ex.com/s.version=1 -s' -gcflags=all=-l", false, false},
		{"-gcflags=all=-l", true, false},
	} {
		argv := builds(c.flags)
		if strings.Contains(argv, " -ldflags=-s -w ") != c.ld || strings.Contains(argv, " -gcflags=-dwarf=false ") != c.fast {
			t.Errorf("GOFLAGS=%s: %s", c.flags, argv)
		}
	}
}
