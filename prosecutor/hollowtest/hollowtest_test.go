package hollowtest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

func TestTargetsByConvention(t *testing.T) {
	targets, err := hollowtest.NewTargets(config.HollowTest{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]hollowtest.Target{
		"refund.go":                                 {true, hollowtest.Go, hollowtest.IsSource},
		"test/helpers/run.go":                       {true, hollowtest.Go, hollowtest.IsSource},
		"_test.go":                                  {false, hollowtest.Go, hollowtest.IsTestFile},
		"src/refund.jsx":                            {true, hollowtest.JavaScript, hollowtest.IsSource},
		"src/refund-test.cjs":                       {false, hollowtest.JavaScript, hollowtest.IsTestFile},
		"src/__mocks__/fs.js":                       {false, hollowtest.JavaScript, hollowtest.IsTestFile},
		"lib/inspect.js":                            {true, hollowtest.JavaScript, hollowtest.IsSource},
		"src/refund_test.ts":                        {false, hollowtest.TypeScript, hollowtest.IsTestFile},
		"src/refund.e2e.ts":                         {false, hollowtest.TypeScript, hollowtest.IsTestFile},
		"src/specification.mts":                     {true, hollowtest.TypeScript, hollowtest.IsSource},
		"tests/pay/helpers.py":                      {false, hollowtest.Python, hollowtest.IsTestFile},
		"app/testing.py":                            {true, hollowtest.Python, hollowtest.IsSource},
		"app/contest.py":                            {true, hollowtest.Python, hollowtest.IsSource},
		"src/main/java/a/Refund.java":               {true, hollowtest.Java, hollowtest.IsSource},
		"src/main/java/a/Contest.java":              {true, hollowtest.Java, hollowtest.IsSource},
		"src/main/java/a/Testimony.java":            {true, hollowtest.Java, hollowtest.IsSource},
		"src/test/java/a/Helper.java":               {false, hollowtest.Java, hollowtest.IsTestFile},
		"src/integrationTest/java/a/X.java":         {false, hollowtest.Java, hollowtest.IsTestFile},
		"src/testFixtures/java/a/X.java":            {false, hollowtest.Java, hollowtest.IsTestFile},
		"a/RefundTest.java":                         {false, hollowtest.Java, hollowtest.IsTestFile},
		"a/RefundIT.java":                           {false, hollowtest.Java, hollowtest.IsTestFile},
		"a/TestRefund.java":                         {false, hollowtest.Java, hollowtest.IsTestFile},
		"src/refund.rs":                             {true, hollowtest.Rust, hollowtest.IsSource},
		"tests/refund.rs":                           {false, hollowtest.Rust, hollowtest.IsTestFile},
		"src/refund/tests.rs":                       {false, hollowtest.Rust, hollowtest.IsTestFile},
		"src/attests.rs":                            {true, hollowtest.Rust, hollowtest.IsSource},
		"lib/refund.rb":                             {true, hollowtest.Ruby, hollowtest.IsSource},
		"spec/refund_helper.rb":                     {false, hollowtest.Ruby, hollowtest.IsTestFile},
		"lib/refund_spec.rb":                        {false, hollowtest.Ruby, hollowtest.IsTestFile},
		"lib/aspect.rb":                             {true, hollowtest.Ruby, hollowtest.IsSource},
		"README.md":                                 {false, hollowtest.NoLanguage, hollowtest.NotLanguage},
		"go":                                        {false, hollowtest.NoLanguage, hollowtest.NotLanguage},
		"Refund.GO":                                 {false, hollowtest.NoLanguage, hollowtest.NotLanguage},
		"dir.go/Makefile":                           {false, hollowtest.NoLanguage, hollowtest.NotLanguage},
		"a/" + strings.Repeat("d/", 50) + "x.go":    {true, hollowtest.Go, hollowtest.IsSource},
		"internal/pay/testdata/deep/down/sample.go": {false, hollowtest.Go, hollowtest.IsTestFile},
	} {
		if got := targets.Of(path); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
}

func TestTargetGlobs(t *testing.T) {
	targets, err := hollowtest.NewTargets(config.HollowTest{SourceGlobs: []string{"tests/harness/**"}, TestGlobs: []string{"tests/**", "checks/**"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := targets.Of("tests/harness/a.py"); !got.Eligible {
		t.Errorf("where the globs contradict each other, more is measured: %+v", got)
	}
	if got := targets.Of("tests/harness/a.zig"); got.Eligible {
		t.Errorf("no glob makes a language: %+v", got)
	}
	for _, p := range []config.HollowTest{{SourceGlobs: []string{"a["}}, {TestGlobs: []string{"a["}}} {
		if _, err := hollowtest.NewTargets(p); err == nil {
			t.Errorf("%+v was taken", p)
		}
	}
}

func TestLinksAndSubmodulesHaveNoLines(t *testing.T) {
	d, err := diff.ParseString("diff --git a/l.go b/l.go\nnew file mode 120000\nindex 0000000..1de5659\n--- /dev/null\n+++ b/l.go\n@@ -0,0 +1 @@\n+target.go\n\\ No newline at end of file\n" +
		"diff --git a/sub.go b/sub.go\nindex 1111111..2222222 160000\n--- a/sub.go\n+++ b/sub.go\n@@ -1 +1 @@\n-Subproject commit 1111111111111111111111111111111111111111\n+Subproject commit 2222222222222222222222222222222222222222\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := hollowtest.ChangedLines(d); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func code(n int) *int { return &n }

func TestTrial(t *testing.T) {
	ok := func(change func(*hollowtest.Trial)) hollowtest.Trial {
		t := hollowtest.Trial{Syntax: hollowtest.SyntaxOK, Build: hollowtest.BuildOK}
		change(&t)
		return t
	}
	for name, c := range map[string]struct {
		trial hollowtest.Trial
		want  hollowtest.Status
	}{
		"nothing is known":         {hollowtest.Trial{}, hollowtest.Undetermined},
		"no exit code":             {ok(func(*hollowtest.Trial) {}), hollowtest.Undetermined},
		"an unknown build":         {ok(func(t *hollowtest.Trial) { t.Build = "cached"; t.ExitCode = code(1) }), hollowtest.Undetermined},
		"timed out":                {ok(func(t *hollowtest.Trial) { t.TimedOut = true; t.Signal = "SIGKILL" }), hollowtest.TimedOut},
		"crashed":                  {ok(func(t *hollowtest.Trial) { t.Signal = "SIGSEGV" }), hollowtest.Killed},
		"ended by somebody":        {ok(func(t *hollowtest.Trial) { t.Signal = "SIGTERM" }), hollowtest.Undetermined},
		"killed behind a shell":    {ok(func(t *hollowtest.Trial) { t.ExitCode = code(137) }), hollowtest.Undetermined},
		"interrupted in a shell":   {ok(func(t *hollowtest.Trial) { t.ExitCode = code(130) }), hollowtest.Undetermined},
		"crashed behind a shell":   {ok(func(t *hollowtest.Trial) { t.ExitCode = code(139) }), hollowtest.Killed},
		"no test ran and passed":   {ok(func(t *hollowtest.Trial) { t.ExitCode = code(0); t.NoTestRan = true }), hollowtest.Undetermined},
		"no test ran and failed":   {ok(func(t *hollowtest.Trial) { t.ExitCode = code(5); t.NoTestRan = true }), hollowtest.Undetermined},
		"unusual code of failure":  {ok(func(t *hollowtest.Trial) { t.ExitCode = code(2) }), hollowtest.Killed},
		"negative code":            {ok(func(t *hollowtest.Trial) { t.ExitCode = code(-1) }), hollowtest.Killed},
		"build failed, then timed": {ok(func(t *hollowtest.Trial) { t.Build = hollowtest.BuildFailed; t.TimedOut = true }), hollowtest.Invalid},
	} {
		if got := c.trial.Status(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestOutcomes(t *testing.T) {
	file := func(change func(*hollowtest.FileRun)) hollowtest.FileRun {
		f := hollowtest.FileRun{Path: "a.go"}
		change(&f)
		return f
	}
	for _, c := range []struct {
		name   string
		run    hollowtest.Run
		policy config.HollowTest
		state  prosecutor.EvidenceState
		why    hollowtest.Why
		detail string
	}{
		{"budget ended in the middle", hollowtest.Run{Files: []hollowtest.FileRun{{Path: "a.go", Generated: 9, Killed: 5}}}, config.HollowTest{},
			prosecutor.Unavailable, hollowtest.WhyUnfinished, `left without a verdict in "a.go"`},
		{"budget ended in one of two files", hollowtest.Run{Files: []hollowtest.FileRun{{Path: "b.go", Generated: 1, Killed: 1}, {Path: "a.go", Generated: 9, Killed: 8}}},
			config.HollowTest{}, prosecutor.Unavailable, hollowtest.WhyUnfinished, `"a.go"`},
		{"unfinished beside a survivor", hollowtest.Run{Files: []hollowtest.FileRun{{Path: "a.go", Generated: 9, Killed: 5, Survived: 1}}}, config.HollowTest{},
			prosecutor.Red, hollowtest.WhySurvivors, "9 mutants, 5 killed, 1 survived, 3 pending"},
		{"every count is named", hollowtest.Run{Files: []hollowtest.FileRun{{Path: "a.go", Generated: 36, Killed: 1, TimedOut: 2, Survived: 3, NotCovered: 4, Invalid: 5, Undetermined: 6, Skipped: 7}}},
			config.HollowTest{}, prosecutor.Red, hollowtest.WhySurvivors,
			"36 mutants, 1 killed, 2 timed out, 3 survived, 4 not covered, 5 invalid, 6 undetermined, 7 skipped, 8 pending"},
		{"survivor before the time limit", hollowtest.Run{Problem: hollowtest.TimeLimit, Files: []hollowtest.FileRun{{Path: "a.go", Generated: 9, Survived: 1}}},
			config.HollowTest{}, prosecutor.Red, hollowtest.WhySurvivors, "cut off"},
		{"survivor under red tests", hollowtest.Run{Problem: hollowtest.BaselineRed, Detail: "TestA", Files: []hollowtest.FileRun{{Path: "a.go", Generated: 9, Survived: 1}}},
			config.HollowTest{}, prosecutor.Unavailable, "baseline_red", "before anything is mutated: TestA"},
		{"killed, but interrupted", hollowtest.Run{Problem: hollowtest.Interrupted, Files: []hollowtest.FileRun{{Path: "a.go", Generated: 1, Killed: 1}}},
			config.HollowTest{}, prosecutor.Unavailable, "interrupted", "interrupted"},
		{"timed out is noticed", hollowtest.Run{Files: []hollowtest.FileRun{{Path: "a.go", Generated: 3, Killed: 1, TimedOut: 2}}}, config.HollowTest{},
			prosecutor.Clean, hollowtest.WhyAllKilled, "3 mutants, 1 killed, 2 timed out"},
		{"not covered", hollowtest.Run{Files: []hollowtest.FileRun{{Path: "a.go", Generated: 3, Killed: 1, NotCovered: 2}}}, config.HollowTest{},
			prosecutor.Red, hollowtest.WhyNotCovered, "2 not covered"},
		{"not covered, reported only", hollowtest.Run{Files: []hollowtest.FileRun{{Path: "a.go", Generated: 3, Killed: 1, NotCovered: 2}}},
			config.HollowTest{NotCovered: config.NotCoveredReport}, prosecutor.Clean, hollowtest.WhyNotCovered, "2 not covered"},
		{"not covered beside a survivor", hollowtest.Run{Files: []hollowtest.FileRun{{Path: "a.go", Generated: 3, Survived: 1, NotCovered: 2}}}, config.HollowTest{},
			prosecutor.Red, hollowtest.WhySurvivors, "1 survived, 2 not covered"},
		{"all skipped", hollowtest.Run{Files: []hollowtest.FileRun{{Path: "a.go", Generated: 2, Skipped: 2}}}, config.HollowTest{},
			prosecutor.NotApplicable, hollowtest.WhyNothingMutable, "2 skipped"},
		{"some skipped", hollowtest.Run{Files: []hollowtest.FileRun{{Path: "a.go", Generated: 3, Skipped: 2, Killed: 1}}}, config.HollowTest{},
			prosecutor.Clean, hollowtest.WhyAllKilled, "2 skipped"},
		{"invalid and skipped", hollowtest.Run{Files: []hollowtest.FileRun{{Path: "a.go", Generated: 3, Skipped: 2, Invalid: 1}}}, config.HollowTest{},
			prosecutor.Unavailable, hollowtest.WhyAllInvalid, `"a.go"`},
		{"more verdicts than mutants", hollowtest.Run{Files: []hollowtest.FileRun{{Path: "a.go", Generated: 1, Killed: 2}}}, config.HollowTest{},
			prosecutor.Unavailable, hollowtest.WhyInconsistent, "contradict"},
		{"negative counts", hollowtest.Run{Files: []hollowtest.FileRun{file(func(f *hollowtest.FileRun) { f.Killed = -1 })}}, config.HollowTest{},
			prosecutor.Unavailable, hollowtest.WhyInconsistent, "contradict"},
		{"switched off", hollowtest.Run{Files: []hollowtest.FileRun{{Path: "a.go", Generated: 1, Survived: 1}}}, config.HollowTest{Mode: config.HollowOff},
			prosecutor.NotApplicable, hollowtest.WhyOff, "switched off"},
		{"a problem of another tool", hollowtest.Run{Problem: "sandbox_denied"}, config.HollowTest{}, prosecutor.Unavailable, "sandbox_denied", "sandbox_denied"},
	} {
		o := hollowtest.Decide(c.run, c.policy)
		if o.State != c.state || o.Why != c.why || !strings.Contains(o.Detail, c.detail) || o.Source != prosecutor.HollowTest {
			t.Errorf("%s: %s, %s, %q; want %s, %s, %q", c.name, o.State, o.Why, o.Detail, c.state, c.why, c.detail)
		}
	}
}

func TestFindings(t *testing.T) {
	run := hollowtest.Run{
		Files: []hollowtest.FileRun{{Path: "a.go", Generated: 5, Survived: 3, NotCovered: 1, Killed: 1}, {Path: "b.go", Generated: 1, NotCovered: 1}},
		Survivors: []hollowtest.Survivor{
			{prosecutor.Survivor{Path: "a.go", Line: 3, Operator: "boundary", Original: "n < 10", Mutated: "n <= 10"}, []string{"TestN"}, "no test has both sides equal"},
			{prosecutor.Survivor{Path: "a.go", Line: 3, Operator: "literal_int", Original: "10", Mutated: "11"}, nil, ""},
			{prosecutor.Survivor{Path: "a.go", Line: 8, Operator: "boundary", Original: "n < 10", Mutated: "n <= 10"}, []string{"TestN", "TestM"}, ""},
		},
		Uncovered: []prosecutor.Survivor{{Path: "a.go", Line: 20, Operator: "return", Original: "return `x`\n"}},
	}
	o := hollowtest.Decide(run, config.HollowTest{})
	type short struct {
		Rule     string
		Severity prosecutor.Severity
		Path     string
		Line     int
		Claim    string
		Evidence string
	}
	var got []short
	ids := map[string]bool{}
	for _, f := range o.Findings {
		got = append(got, short{f.Rule, f.Severity, f.Place.Path, f.Place.StartLine, f.Claim, f.Evidence})
		ids[f.ID] = true
		if f.Charge != prosecutor.ChargeTests || f.Source != prosecutor.FromEvidence {
			t.Errorf("%+v", f)
		}
	}
	want := []short{
		{"surviving-mutant", prosecutor.Critical, "a.go", 3, "No test fails when `n < 10` becomes `n <= 10` (boundary).",
			"It is run by TestN, which passes. No test has both sides equal. On the same line survive too: `10` as `11` (literal_int)."},
		{"surviving-mutant", prosecutor.Critical, "a.go", 8, "No test fails when `n < 10` becomes `n <= 10` (boundary). This is place 2 in the file.",
			"It is run by TestN, TestM, which pass."},
		{"not-covered", prosecutor.High, "a.go", 20, "No test reaches some of the changed code.",
			"1 mutant of the changed lines in no test's reach: line 20: \"return `x`\\n\" (return)"},
		{"not-covered", prosecutor.High, "b.go", 0, "No test reaches some of the changed code.", "1 mutant of the changed lines in no test's reach"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(ids) != len(want) {
		t.Errorf("%d identities of %d findings", len(ids), len(want))
	}
	if want := []prosecutor.Survivor{run.Survivors[0].Survivor, run.Survivors[1].Survivor, run.Survivors[2].Survivor}; !slices.Equal(want, o.Survivors) {
		t.Errorf("survivors: %+v, want %+v", o.Survivors, want)
	}
	run.Survivors[0].Line = 30
	if moved := hollowtest.Decide(run, config.HollowTest{}); moved.Findings[0].ID != o.Findings[0].ID {
		t.Error("the identity does not survive a push that moves the code")
	}

	run.Files = []hollowtest.FileRun{{Path: "a.go", Generated: 2, NotCovered: 1, Killed: 1}}
	run.Survivors = nil
	reported := hollowtest.Decide(run, config.HollowTest{NotCovered: config.NotCoveredReport})
	if len(reported.Findings) != 1 || reported.Findings[0].Severity.Blocks() {
		t.Errorf("%+v", reported.Findings)
	}
}

// Nobody reads a hundred survivors: one a line, seven a file and twenty a change are listed, and the rest is counted.
func TestFindingsAreBounded(t *testing.T) {
	var run hollowtest.Run
	for file := range 4 {
		name := string(rune('a'+file)) + ".go"
		for line := range 10 {
			for _, op := range []string{"x", "y"} {
				run.Survivors = append(run.Survivors, hollowtest.Survivor{Survivor: prosecutor.Survivor{Path: name, Line: line + 1, Operator: op, Original: "a", Mutated: "b"}})
			}
		}
		run.Files = append(run.Files, hollowtest.FileRun{Path: name, Generated: 20, Survived: 20})
	}
	o := hollowtest.Decide(run, config.HollowTest{})
	count := map[string]int{}
	for _, f := range o.Findings {
		count[f.Place.Path]++
	}
	if want := map[string]int{"a.go": 7, "b.go": 7, "c.go": 6}; !maps.Equal(count, want) || len(o.Survivors) != 80 {
		t.Errorf("findings by file: %v, want %v; %d survivors", count, want, len(o.Survivors))
	}
	if want := "80 mutants, 80 survived; 40 survivors not listed here: prosecutor hollow-test shows all"; o.Detail != want {
		t.Errorf("%q, want %q", o.Detail, want)
	}
}

// Whatever the counts, clean means that every selected mutant was noticed, and a survivor is never anything but red.
func TestCleanIsProven(t *testing.T) {
	count := rapid.IntRange(0, 2)
	file := rapid.Custom(func(t *rapid.T) hollowtest.FileRun {
		f := hollowtest.FileRun{Path: rapid.SampledFrom([]string{"a.go", "b.go"}).Draw(t, "path"), Generated: rapid.IntRange(0, 9).Draw(t, "generated")}
		for _, s := range hollowtest.Statuses() {
			for range count.Draw(t, string(s)) {
				f.Count(s)
			}
		}
		return f
	})
	rapid.Check(t, func(t *rapid.T) {
		run := hollowtest.Run{
			Files:   rapid.SliceOfN(file, 0, 3).Draw(t, "files"),
			Problem: rapid.SampledFrom([]hollowtest.Problem{"", "", "", hollowtest.TimeLimit, hollowtest.BaselineRed}).Draw(t, "problem"),
		}
		o := hollowtest.Decide(run, config.HollowTest{})
		noticed, selected, survived := 0, 0, 0
		for _, f := range run.Files {
			noticed += f.Killed + f.TimedOut + f.Invalid
			selected += f.Generated - f.Skipped
			survived += f.Survived
		}
		switch o.State {
		case prosecutor.Clean:
			if noticed != selected || noticed == 0 || survived > 0 || run.Problem != "" {
				t.Fatalf("clean: %+v", run)
			}
		case prosecutor.NotApplicable:
			if selected > 0 || survived > 0 {
				t.Fatalf("not applicable: %+v", run)
			}
		case prosecutor.Red:
			if run.Problem == hollowtest.BaselineRed {
				t.Fatalf("red tests prove nothing: %+v", run)
			}
		case prosecutor.Unavailable:
			if survived > 0 && run.Problem != hollowtest.BaselineRed && o.Why != hollowtest.WhyInconsistent {
				t.Fatalf("a survivor was lost: %+v", run)
			}
		default:
			t.Fatalf("state %q", o.State)
		}
	})
}
