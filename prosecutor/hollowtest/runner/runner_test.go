package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/process"
)

// change is one that adds files.
func change(t *testing.T, files map[string]string) Change {
	t.Helper()
	var text strings.Builder
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		lines := strings.SplitAfter(strings.TrimSuffix(files[name], "\n"), "\n")
		text.WriteString("diff --git a/" + name + " b/" + name + "\nnew file mode 100644\n--- /dev/null\n+++ b/" + name + "\n")
		text.WriteString("@@ -0,0 +1," + itoa(len(lines)) + " @@\n")
		for _, l := range lines {
			text.WriteString("+" + strings.TrimSuffix(l, "\n") + "\n")
		}
	}
	d, err := diff.ParseString(text.String())
	if err != nil {
		t.Fatal(err)
	}
	return Change{Head: "abc", Diff: d, Checkout: func(_ context.Context, dir string) error {
		for name, content := range files {
			p := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
				return err
			}
		}
		return nil
	}}
}

func itoa(n int) string { return string(rune('0'+n/10)) + string(rune('0'+n%10)) }

// engine answers as told, and remembers what it was asked.
type engine struct {
	asked  []hollowtest.Request
	answer func(hollowtest.Request) *hollowtest.Report
}

func (e *engine) Measure(_ context.Context, r hollowtest.Request) (*hollowtest.Report, error) {
	e.asked = append(e.asked, r)
	report := e.answer(r)
	report.Conclude()
	return report, nil
}

// with answers with one mutant of that status in every file.
func with(s hollowtest.Status) func(hollowtest.Request) *hollowtest.Report {
	return func(r hollowtest.Request) *hollowtest.Report {
		report := &hollowtest.Report{}
		for name := range r.Lines {
			report.Files = append(report.Files, hollowtest.FileReport{Path: name})
			report.Mutants = append(report.Mutants, hollowtest.Mutant{ID: name, File: name, Line: 1, Operator: "x", Original: "a", Mutated: "b", Status: s})
		}
		return report
	}
}

var policy = config.HollowTest{Mode: config.HollowGate, NotCovered: config.NotCoveredRed, Where: config.WhereSandbox, Command: "python3 -m unittest", Budget: config.Duration(time.Minute)}

func TestEachEngineGetsItsFilesAndItsShare(t *testing.T) {
	goEngine, others := &engine{answer: with(hollowtest.Killed)}, &engine{answer: with(hollowtest.Survived)}
	c := change(t, map[string]string{"a.go": "1\n2\n3\n", "b.py": "1\n", "c.js": "1\n", "a_test.go": "1\n", "README": "1\n"})
	r, err := Measure(t.Context(), c, policy, Options{Exec: process.Plain{}, MaxMutants: 10, Engines: map[hollowtest.Language]hollowtest.Engine{
		hollowtest.Go: goEngine, hollowtest.Python: others, hollowtest.JavaScript: others,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(goEngine.asked) != 1 || len(others.asked) != 1 || len(goEngine.asked[0].Lines) != 1 || len(others.asked[0].Lines) != 2 {
		t.Fatalf("%+v\n%+v", goEngine.asked, others.asked)
	}
	g, o := goEngine.asked[0], others.asked[0]
	if g.MaxMutants != 6 || o.MaxMutants != 9 || g.Budget > 40*time.Second || o.Budget <= g.Budget || g.Scratch == o.Scratch {
		t.Errorf("shares: %d of mutants and %s, then %d and %s", g.MaxMutants, g.Budget, o.MaxMutants, o.Budget)
	}
	if r.Outcome != hollowtest.Survivors || r.Summary.Total != 3 || len(r.Files) != 3 || r.Files[0].Path != "a.go" {
		t.Errorf("%+v", r)
	}
}

func TestMergedReports(t *testing.T) {
	red := func(r hollowtest.Request) *hollowtest.Report {
		report := with(hollowtest.Skipped)(r)
		for i := range report.Mutants {
			report.Mutants[i].Pending = true
		}
		report.Problem, report.Detail = hollowtest.BaselineRed, "test_x"
		return report
	}
	for _, c := range []struct {
		name          string
		first, second func(hollowtest.Request) *hollowtest.Report
		want          hollowtest.Verdict
		reason        string
	}{
		{"both killed", with(hollowtest.Killed), with(hollowtest.Killed), hollowtest.KilledAll, "2 mutants, 2 killed"},
		{"one red", with(hollowtest.Killed), red, hollowtest.CouldNotMeasure, "test_x"},
		{"a survivor stands beside a red baseline", with(hollowtest.Survived), red, hollowtest.Survivors, "1 survived"},
		{"one undetermined", with(hollowtest.Killed), with(hollowtest.Undetermined), hollowtest.CouldNotMeasure, "b.py"},
	} {
		r, err := Measure(t.Context(), change(t, map[string]string{"a.go": "1\n", "b.py": "1\n"}), policy, Options{Exec: process.Plain{}, Engines: map[hollowtest.Language]hollowtest.Engine{
			hollowtest.Go: &engine{answer: c.first}, hollowtest.Python: &engine{answer: c.second},
		}})
		if err != nil || r.Outcome != c.want || !strings.Contains(r.Reason, c.reason) {
			t.Errorf("%s: %v, %s: %s", c.name, err, r.Outcome, r.Reason)
		}
	}
}

func TestWhatKeepsARunFromItsEnd(t *testing.T) {
	c := change(t, map[string]string{"a.go": "1\n"})
	good := map[hollowtest.Language]hollowtest.Engine{hollowtest.Go: &engine{answer: with(hollowtest.Killed)}}
	if r, err := Measure(t.Context(), change(t, map[string]string{"a.rb": "1\n"}), policy, Options{Exec: process.Plain{}, Engines: good}); err != nil || r.Outcome != hollowtest.CouldNotMeasure {
		t.Errorf("a language without an engine: %v, %+v", err, r)
	}
	p := policy
	p.Setup = "sh -c 'echo no; exit 3'"
	if r, err := Measure(t.Context(), c, p, Options{Exec: process.Plain{}, Engines: good}); err != nil || r.Outcome != hollowtest.CouldNotMeasure || r.Problem != hollowtest.SetupFailed || !strings.Contains(r.Reason, "no") {
		t.Errorf("a setup that fails: %v, %+v", err, r)
	}
	p.Setup = "sh -c 'echo ready >made'"
	seen := &engine{answer: func(r hollowtest.Request) *hollowtest.Report {
		if _, err := os.Stat(filepath.Join(r.Dir, "made")); err != nil {
			t.Error(err)
		}
		return with(hollowtest.Killed)(r)
	}}
	if r, err := Measure(t.Context(), c, p, Options{Exec: process.Plain{}, Engines: map[hollowtest.Language]hollowtest.Engine{hollowtest.Go: seen}}); err != nil || r.Outcome != hollowtest.KilledAll {
		t.Errorf("a setup: %v, %+v", err, r)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	broken := c
	broken.Checkout = func(ctx context.Context, _ string) error { return ctx.Err() }
	if r, err := Measure(ended, broken, policy, Options{Exec: process.Plain{}, Engines: good}); err != nil || r.Problem != hollowtest.Interrupted || r.Outcome != hollowtest.CouldNotMeasure {
		t.Errorf("interrupted: %v, %+v", err, r)
	}
	broken.Checkout = func(context.Context, string) error { return errors.New("no such commit") }
	if _, err := Measure(t.Context(), broken, policy, Options{Exec: process.Plain{}, Engines: good}); err == nil {
		t.Error("a head that cannot be written is no error")
	}
	if r, err := Measure(t.Context(), change(t, map[string]string{"README": "1\n"}), policy, Options{Exec: process.Plain{}, Engines: good}); err != nil || r.Outcome != hollowtest.NothingMutable {
		t.Errorf("no code: %v, %+v", err, r)
	}
	if _, err := Measure(t.Context(), c, policy, Options{}); err == nil {
		t.Error("no executor is no error")
	}
}

func TestInstalledDependenciesAreCopied(t *testing.T) {
	work := t.TempDir()
	for name, content := range map[string]string{"node_modules/dep/index.js": "module.exports = 2;\n", "sub/node_modules/inner/index.js": "module.exports = 3;\n"} {
		p := filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := change(t, map[string]string{"package.json": "{}\n", "sub/package.json": "{}\n", "sub/a.js": "1\n"})
	c.WorkTree = work
	e := &engine{answer: func(r hollowtest.Request) *hollowtest.Report {
		for _, name := range []string{"node_modules/dep/index.js", "sub/node_modules/inner/index.js"} {
			p := filepath.Join(r.Dir, name)
			if err := os.WriteFile(p, []byte("changed"), 0o644); err != nil {
				t.Error(err)
			}
		}
		return with(hollowtest.Killed)(r)
	}}
	if _, err := Measure(t.Context(), c, policy, Options{Exec: process.Plain{}, Engines: map[hollowtest.Language]hollowtest.Engine{hollowtest.JavaScript: e}}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(work, "node_modules/dep/index.js")); err != nil || string(data) != "module.exports = 2;\n" {
		t.Errorf("the work tree's own copy holds %q, %v", data, err)
	}
}

// pythonChange has a mutant that survives.
func pythonChange(t *testing.T) Change {
	return change(t, map[string]string{
		"m.py":      "def most(a, b):\n    if a > b:\n        return a\n    return b\n",
		"test_m.py": "import unittest\nfrom m import most\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(most(1, 2), 2)\n        self.assertEqual(most(2, 1), 2)\n",
	})
}

func TestEvidence(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Change, *config.HollowTest)
		in     Confinement
		state  prosecutor.EvidenceState
		detail string
	}{
		{"survivor", func(*Change, *config.HollowTest) {}, Plain, prosecutor.Red, "1 survived"},
		{"off", func(_ *Change, p *config.HollowTest) { p.Mode = config.HollowOff }, Plain, prosecutor.NotApplicable, "off"},
		{"in CI", func(_ *Change, p *config.HollowTest) { p.Where = config.WhereCI }, Plain, prosecutor.Unavailable, "workflow"},
		{"nothing to mutate", func(ch *Change, _ *config.HollowTest) { *ch = change(t, map[string]string{"README": "1\n"}) }, Sandboxed, prosecutor.NotApplicable, "no line"},
		{"no command", func(_ *Change, p *config.HollowTest) { p.Command = "" }, Plain, prosecutor.Unavailable, "hollow_test.command"},
		{"nowhere", func(*Change, *config.HollowTest) {}, "elsewhere", prosecutor.Unavailable, "elsewhere"},
		{"no head", func(ch *Change, _ *config.HollowTest) {
			ch.Checkout = func(context.Context, string) error { return errors.New("no such commit") }
		}, Plain, prosecutor.Unavailable, "no such commit"},
	} {
		ch, p := pythonChange(t), policy
		c.change(&ch, &p)
		e, _ := Evidence(t.Context(), ch, p, c.in, Options{})
		if e.Source != prosecutor.HollowTest || e.State != c.state || !strings.Contains(e.Detail, c.detail) {
			t.Errorf("%s: %s: %s", c.name, e.State, e.Detail)
		}
		if c.state == prosecutor.Red && (len(e.Findings) != 1 || e.Findings[0].Place.StartLine != 2) {
			t.Errorf("%s: %+v", c.name, e.Findings)
		}
	}
}

// Without a sandbox nothing runs, and nobody takes it for green.
func TestNoSandboxIsUnavailable(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	ran := false
	ch := pythonChange(t)
	ch.Checkout = func(context.Context, string) error { ran = true; return nil }
	e, r := Evidence(t.Context(), ch, policy, Sandboxed, Options{})
	if e.State != prosecutor.Unavailable || !strings.Contains(e.Detail, "no sandbox") || r != nil || ran {
		t.Errorf("%s: %s, %v, %t", e.State, e.Detail, r, ran)
	}
}

// TestSandboxedPython runs the whole of it where the tests of a stranger run.
func TestSandboxedPython(t *testing.T) {
	e, r := Evidence(t.Context(), pythonChange(t), policy, Sandboxed, Options{})
	if strings.Contains(e.Detail, "no sandbox") && os.Getenv("PROSECUTOR_TEST_NO_SANDBOX") == "1" {
		t.Logf("NOT CHECKED: %s", e.Detail)
		return
	}
	if e.State != prosecutor.Red || r == nil || r.Summary.Killed == 0 {
		t.Errorf("%s: %s", e.State, e.Detail)
	}
}
