package rules

import (
	"fmt"
	"path"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

func testRules() []Rule {
	base := func(r Rule) Rule {
		r.Lens, r.Charge = prosecutor.Correctness, prosecutor.ChargeTests
		return r
	}
	return []Rule{
		base(Rule{
			ID: "test-deleted", Severity: prosecutor.High, Title: "Tests removed without replacement",
			Why:   "A test that is removed while the code it guards stays cannot fail any more. High when no declaration outside the tests goes with it and the diff adds no test; low when code of the same name goes; medium otherwise.",
			whole: deletedTests,
		}),
		base(Rule{
			ID: "test-skipped", Severity: prosecutor.High, Title: "Test switched off",
			Why:     "A skipped test, or one that returns first thing, passes whatever the code does. High when a test that existed is switched off without a condition; low when a new test starts out skipped.",
			langs:   of(golang, python, javascript, java, kotlin, csharp, rust, ruby, php),
			needles: []string{"kip", "xit(", "xtest(", "xdescribe(", "xcontext(", "Disabled", "Ignore", "#[ignore", "pending", "Incomplete", "return"},
			perFile: skippedTests,
		}),
		base(Rule{
			ID: "test-focused", Severity: prosecutor.High, Title: "Focused test",
			Why:     "A focused test silently switches every other test of its file or suite off.",
			langs:   of(javascript, ruby, golang),
			needles: []string{".only", "fit(", "fdescribe(", "fcontext(", "focus", "FIt(", "FDescribe(", "FContext(", "FEntry(", "FWhen(", "FDescribeTable(", "FSpecify("},
			perFile: focusedTests,
		}),
		base(Rule{
			ID: "test-emptied", Severity: prosecutor.High, Title: "Test emptied of its assertions",
			Why:     "A test whose assertions are removed still runs and still counts, and proves nothing. High when the whole remaining body is in the diff and asserts nothing; low when a file only loses assertions.",
			langs:   of(golang, python, javascript, java, kotlin, csharp, rust, ruby, php),
			perFile: emptiedTests,
		}),
		base(Rule{
			ID: "test-tautology", Severity: prosecutor.Medium, Title: "Assertion that cannot fail",
			Why:     "Asserting a constant exercises nothing; it only makes a test look like one.",
			langs:   of(golang, python, javascript, java, kotlin, csharp, rust, ruby, php),
			needles: []string{"assert", "Assert", "expect", "require", "should"},
			perFile: tautologies,
		}),
	}
}

// testDecl matches the line on which a test begins. The first non-empty group is its name.
var testDecl = map[lang]func() *matcher{
	golang:     named(`^func (?:\([^)]*\) )?((?:Test|Fuzz|Example)[A-Z0-9_]?\w*)\(`),
	python:     named(`^\s*(?:async )?def (test\w*)\(`),
	javascript: named("^\\s*(?:it|test|specify)(?:\\.(?:each|concurrent|skip|only|failing)\\b[^'\"`]*)?\\(\\s*['\"`](.+?)['\"`]\\s*,"),
	rust:       named(`^\s*(?:pub(?:\([a-z]+\))? )?(?:async )?fn (\w+)\s*\(\s*\)`),
	ruby:       named(`^\s*(?:def (test_\w+)|(?:it|specify|test)[ (]['"](.+?)['"])`),
	php:        named(`^\s*(?:public )?function (test\w+)\(`),
	java:       named(`^\s*(?:public |protected |private |internal )?(?:static )?(?:async )?(?:void|Task|fun) (\w+)\(`),
}

// testBegin returns what finds the begin of a test in a language, or nil.
func testBegin(l lang) func() *matcher {
	switch l {
	case kotlin, csharp:
		return testDecl[java]
	}
	return testDecl[l]
}

// matcher finds a name in a line.
type matcher struct{ find func(string) string }

// named makes a matcher that returns the first group that matched something.
func named(pattern string) func() *matcher {
	re := lazy(pattern)
	return func() *matcher {
		return &matcher{find: func(s string) string {
			m := re().FindStringSubmatch(s)
			for i := 1; i < len(m); i++ {
				if m[i] != "" {
					return m[i]
				}
			}
			return ""
		}}
	}
}

var testAttribute = lazy(`^\s*(?:#\[(?:[\w:]+::)?(?:test|rstest|test_case|proptest|quickcheck)\b|@(?:Test|ParameterizedTest|RepeatedTest)\b|\[(?:Test|Fact|Theory|TestMethod|TestCase)\b)`)

// testNames calls fn for each test that begins on a line of one operation, with its row.
func (f *file) testNames(op diff.Op, fn func(r *row, name string)) {
	get := testBegin(f.lang)
	if get == nil {
		return
	}
	switch f.lang {
	case golang:
		if !strings.HasSuffix(f.path, "_test.go") && !strings.HasSuffix(f.OldPath, "_test.go") {
			return
		}
	case rust, java, kotlin, csharp: // an attribute makes the test, anywhere
	default:
		if !f.test || f.fixture {
			return
		}
	}
	m := get()
	rows := f.rows()
	attribute := false
	for i := range rows {
		r := &rows[i]
		if r.Op != op || len(r.Text) > MaxLine {
			if r.Op == diff.Context {
				attribute = false
			}
			continue
		}
		switch f.lang {
		case rust, java, kotlin, csharp:
			if testAttribute().MatchString(r.Text) {
				attribute = true
				continue
			}
			if !attribute {
				continue
			}
			if name := m.find(r.Text); name != "" {
				fn(r, name)
				attribute = false
			} else if t := strings.TrimSpace(r.Text); t == "}" {
				attribute = false
			}
		default:
			if name := m.find(r.Text); name != "" {
				if f.lang == golang && (name == "TestMain" || strings.HasPrefix(name, "Example") && !strings.HasSuffix(r.Text, "{")) {
					continue
				}
				fn(r, name)
			}
		}
	}
}

// declaration matches what else a change may remove: when it goes, its tests may go with it.
var declaration = lazy(`^\s*(?:export |default |public |private |protected |internal |static |abstract |final |async |pub(?:\([a-z]+\))? |unsafe |const |extern )*(?:func(?:tion)?\*?|fn|def|class|struct|enum|trait|impl|interface|type|module|object|record|var|let|const)\b[^=;]*?(\w+)`)

var methodDeclaration = lazy(`^\s*(?:public|private|protected|internal|static)\b[\w<>\[\], ]*\b(\w+)\(`)

// deletedTests works on the whole change: a test that moved to another file is not gone.
func deletedTests(s *scan) {
	type removed struct {
		f    *file
		r    *row
		name string
	}
	var gone []removed
	added := map[string]int{}
	addedIn := map[*file]int{}
	addedTotal := 0
	for _, f := range s.files {
		if f.lostToRunners() {
			s.hitFile(f, prosecutor.High, fmt.Sprintf("The test file %s is renamed to %s, which no test runner picks up", quoteName(f.OldPath), quoteName(f.NewPath)))
		}
		if f.lang == other || f.Deleted == 0 && f.Added == 0 {
			continue
		}
		f.testNames(diff.Add, func(_ *row, name string) {
			added[f.testKey(name)]++
			addedIn[f]++
			addedTotal++
		})
		if f.Deleted > 0 {
			f.testNames(diff.Delete, func(r *row, name string) { gone = append(gone, removed{f, r, name}) })
		}
	}
	if len(gone) == 0 {
		return
	}
	perFile := map[*file][]removed{}
	var order []*file
	for _, g := range gone {
		if key := g.f.testKey(g.name); added[key] > 0 {
			added[key]-- // the same test, moved or edited
			addedIn[g.f]--
			addedTotal--
			continue
		}
		if perFile[g.f] == nil {
			order = append(order, g.f)
		}
		perFile[g.f] = append(perFile[g.f], g)
	}
	if len(order) == 0 {
		return
	}
	code := s.removedCode()
	for _, f := range order {
		list := perFile[f]
		// Renamed tests, and one test split in several: the file has as many as before.
		if addedIn[f] >= len(list) && f.Status != diff.Deleted || isVendored(f.path) {
			continue
		}
		severity := prosecutor.Low
		var names []string
		for _, g := range list {
			names = append(names, quoteName(g.name))
			if !code.explains(g.name, f.path) {
				severity = prosecutor.Medium
			}
		}
		if !code.any && addedTotal <= 0 {
			severity = prosecutor.High
		}
		const shown = 4
		rest := ""
		if len(names) > shown {
			rest = fmt.Sprintf(" and %d more", len(names)-shown)
			names = names[:shown]
		}
		what := count(len(list), "test") + " removed and not replaced: " + strings.Join(names, ", ") + rest
		if f.Status == diff.Deleted {
			what += ", with the whole file"
		}
		if severity == prosecutor.Low {
			what += "; code of that name goes too"
		}
		s.hit(f, list[0].r, severity, what)
	}
}

// lostToRunners reports whether a rename takes a test file out of what its language's test runner looks for.
func (f *file) lostToRunners() bool {
	if f.Status != diff.Renamed || isVendored(f.OldPath) || isFixture(f.NewPath) {
		return false
	}
	switch was := langOf(f.OldPath); was {
	case golang:
		return strings.HasSuffix(f.OldPath, "_test.go") && !strings.HasSuffix(f.NewPath, ".go")
	case python, javascript, ruby, php, java, kotlin, csharp, rust:
		base := strings.TrimSuffix(path.Base(f.OldPath), path.Ext(f.OldPath))
		return IsTest(f.OldPath) && !isFixture(f.OldPath) && f.lang == other && strings.Contains(strings.ToLower(base), "test")
	}
	return false
}

// testKey makes names of test functions comparable between files. In JavaScript and Ruby a name is a sentence.
func (f *file) testKey(name string) string { return fmt.Sprint(int(f.lang), name) }

func quoteName(name string) string {
	if len(name) > 80 {
		name = name[:80] + "..."
	}
	return "`" + strings.ToValidUTF8(name, "\uFFFD") + "`"
}

// removals is the code, as opposed to tests, that a change takes away.
type removals struct {
	any   bool
	names []string // of declarations and files, folded
}

// explains reports whether something that goes has a name that the test, or its file, carries.
func (c removals) explains(test, file string) bool {
	test, file = fold(test), fold(path.Base(file))
	for _, name := range c.names {
		if len(name) >= 4 && (strings.Contains(test, name) || strings.Contains(file, name)) {
			return true
		}
	}
	return false
}

func fold(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(s))
}

// removedCode collects the declarations, and files, that the change takes out of what is not test code.
func (s *scan) removedCode() removals {
	var out removals
	removed := map[string]bool{}
	for _, f := range s.files {
		if f.test || !programming.has(f.lang) {
			continue
		}
		if f.Status == diff.Deleted {
			out.any = true
			base := path.Base(f.path)
			out.names = append(out.names, fold(strings.TrimSuffix(base, path.Ext(base))))
		}
		for i := range f.rows() {
			r := &f.all[i]
			if r.Op == diff.Context || len(r.Text) > MaxLine {
				continue
			}
			m := declaration().FindStringSubmatch(r.Text)
			if m == nil && f.lang != golang && f.lang != python {
				m = methodDeclaration().FindStringSubmatch(r.Text)
			}
			if m == nil {
				continue
			}
			if _, again := removed[m[1]]; r.Op == diff.Add || !again {
				removed[m[1]] = r.Op == diff.Delete
			}
		}
	}
	for name, gone := range removed {
		if gone {
			out.any = true
			out.names = append(out.names, fold(name))
		}
	}
	return out
}

var (
	// setUp is what stands in front of the first statement of a test without being one.
	setUp       = lazy(`^\s*(?:t|b)\.(?:Parallel|Helper|Log|Logf)\(`)
	earlyReturn = lazy(`^\s*return(?: Ok\(\(\)\)| nil| None| null| undefined)?\s*;?\s*$`)
	skipGo      = lazy(`^\s*(?:t|b|f|tb)\.(?:Skip|Skipf|SkipNow)\(`)
	skipPython  = lazy(`^\s*@(?:pytest\.mark\.skip\b|unittest\.skip\b|skip\b)(?:\(|\s*$)|^\s*pytestmark\s*=\s*pytest\.mark\.skip\b`)
	skipPyCall  = lazy(`^\s*(?:pytest\.skip|self\.skipTest)\(`)
	skipJS      = lazy(`^\s*(?:(?:it|test|describe|context|suite|specify)\.skip|xit|xtest|xdescribe|xcontext)\s*\(`)
	skipJVM     = lazy(`^\s*@(?:Disabled|Ignore)\b(?:\(|\s*$)`)
	skipCSharp  = lazy(`^\s*\[(?:Ignore\b|(?:Fact|Theory)\(\s*Skip\s*=)`)
	skipRust    = lazy(`^\s*#\[ignore\b`)
	skipRuby    = lazy(`^\s*(?:xit|xdescribe|xcontext|xspecify)[ (]['"]|^\s*(?:skip|pending)(?:\s*\(?['"].*|\s*)$`)
	skipPHP     = lazy(`^\s*\$this->markTest(?:Skipped|Incomplete)\(`)
)

func skippedTests(s *scan, f *file) {
	if f.lang != rust && f.lang != java && f.lang != kotlin && f.lang != csharp && !f.test {
		return
	}
	if f.fixture {
		return
	}
	rows := f.masked()
	s.added(f, func(i int, r *row) {
		inside := earlyReturn().MatchString(r.code) // the skip stands inside the body of a test, not above it
		if inside {
			s.firstStatement(f, rows, i)
			return
		}
		switch f.lang {
		case golang:
			inside = skipGo().MatchString(r.code)
			if !inside {
				return
			}
		case python:
			if inside = skipPyCall().MatchString(r.code); !inside && !skipPython().MatchString(r.code) {
				return
			}
		case javascript:
			if !skipJS().MatchString(r.code) {
				return
			}
			// The same title without skip is deleted, or a new one.
			existing := s.titleDeleted(f, r.Text)
			s.hitSkip(f, r, existing)
			return
		case java, kotlin:
			if !skipJVM().MatchString(r.code) {
				return
			}
		case csharp:
			if !skipCSharp().MatchString(r.code) {
				return
			}
		case rust:
			if !skipRust().MatchString(r.code) {
				return
			}
		case ruby:
			if !skipRuby().MatchString(r.text) {
				return
			}
			inside = strings.Contains(r.code, "skip") || strings.Contains(r.code, "pending")
			if !inside {
				s.hitSkip(f, r, s.titleDeleted(f, r.Text))
				return
			}
		case php:
			if inside = skipPHP().MatchString(r.code); !inside {
				return
			}
		}
		if inside {
			s.firstStatement(f, rows, i)
			return
		}
		// An attribute or decorator: the test is the next line that is not one.
		next := r
		for j := i; next != nil && j < len(rows); j++ {
			next = nextNew(rows, j)
			if next == nil {
				break
			}
			if t := strings.TrimSpace(next.code); next.Op != diff.Delete && t != "" && !strings.HasPrefix(t, "@") && !strings.HasPrefix(t, "#[") && !strings.HasPrefix(t, "[") {
				break
			}
		}
		s.hitSkip(f, r, next != nil && next.Op == diff.Context)
	})
}

// firstStatement accuses row i when it is the first statement of a test. Further down a branch may lead there.
func (s *scan) firstStatement(f *file, rows []row, i int) {
	prev, at := prevNew(rows, i)
	for prev != nil && (blank(prev.code) || len(prev.Text) > MaxLine || setUp().MatchString(prev.code)) {
		prev, at = prevNew(rows, at)
	}
	// Without a line above, what leads here is not in the diff: it may be a condition.
	begin := testBegin(f.lang)
	if prev == nil || begin == nil || begin().find(prev.Text) == "" {
		return
	}
	if f.lang == golang && !strings.Contains(prev.Text, "testing.") || f.lang == rust && !testAbove(rows, at) {
		return
	}
	s.hitSkip(f, &rows[i], prev.Op == diff.Context)
}

// testAbove reports whether the row above i, on the new side, marks a test.
func testAbove(rows []row, i int) bool {
	prev, _ := prevNew(rows, i)
	return prev != nil && testAttribute().MatchString(prev.Text)
}

func (s *scan) hitSkip(f *file, r *row, existing bool) {
	if existing {
		s.hit(f, r, prosecutor.High, "An existing test is switched off without a condition")
		return
	}
	s.hit(f, r, prosecutor.Low, "A test is added that never runs")
}

var title = lazy("['\"`](.+?)['\"`]")

// titleDeleted reports whether a deleted line names the same test as text does.
func (s *scan) titleDeleted(f *file, text string) bool {
	m := title().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	for i := range f.rows() {
		if r := &f.all[i]; r.Op == diff.Delete && strings.Contains(r.Text, m[0]) {
			return !strings.Contains(r.Text, "skip") && !strings.HasPrefix(strings.TrimSpace(r.Text), "x")
		}
	}
	return false
}

var (
	focusJS   = lazy(`^\s*(?:(?:it|test|describe|context|suite|specify|fixture|scenario|feature)(?:\.(?:concurrent|sequential|parallel|serial))?\.only\b|(?:fit|fdescribe|fcontext)\s*\()`)
	focusRuby = lazy(`^\s*(?:(?:fit|fdescribe|fcontext|fspecify)[ (]['"]|(?:it|describe|context|specify|feature|scenario)\b.*,\s*(?::focus\b|focus:\s*true|:focus\s*=>\s*true))`)
	focusGo   = lazy(`^\s*(?:var _ = )?F(?:It|Describe|Context|When|Entry|DescribeTable|Specify|DescribeTableSubtree)\(`)
)

func focusedTests(s *scan, f *file) {
	if !f.test || f.fixture {
		return
	}
	s.added(f, func(_ int, r *row) {
		found := false
		switch f.lang {
		case javascript:
			found = focusJS().MatchString(r.code)
		case ruby:
			found = focusRuby().MatchString(r.text)
		case golang:
			found = strings.HasSuffix(f.path, "_test.go") && focusGo().MatchString(r.code)
		}
		if found {
			s.hit(f, r, prosecutor.High, "A focused test is committed: the other tests of its suite no longer run")
		}
	})
}

// assertion matches a line that can fail a test. It is generous: a helper that gets the test's handle counts.
var assertion = map[lang]func() *matcher{
	golang:     yes(`\b(?:t|b|f|tb)\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow|Run)\(|\b(?:assert|require|is|must|qt|check|c)\.\w+\(|\bExpect\(|[(,]\s*(?:t|b|f|tb)\s*[,)]|\bpanic\(|// Output:|\.Check\(|\.Assert\(|cmp\.Diff`),
	python:     yes(`\bassert\b|\.assert\w*\(|\bassert_\w+|self\.fail\(|pytest\.(?:raises|fail|warns)|\braise\b|expect\(|\bcheck\w*\(|\bverify\w*\(`),
	javascript: yes(`\bexpect\w*\b|\bassert\w*\b|\.should\b|\bt\.\w+\(|\bthrow\b|\bverify\w*\(|\bcheck\w*\(|\bmatch(?:es)?Snapshot`),
	rust:       yes(`assert\w*!|panic!|\bshould_panic\b|\?;|\?$|\.unwrap\w*\(|\.expect\w*\(|unreachable!|\bassert_\w+|\bcheck_\w+|\w+!\(|\)\.await`),
	ruby:       yes(`\bassert\w*|\bexpect\w*|\bshould\w*|\brefute\w*|\bmust_\w+|\braise\b`),
	php:        yes(`assert\w*\(|expect\w*\(|->should\w*|\bfail\(`),
	java:       yes(`(?i)assert\w*|verify\w*\(|expect\w*|\bfail\(|should\w*|\bthrow\b|andExpect|StepVerifier`),
}

// yes makes a matcher that returns what it matches.
func yes(pattern string) func() *matcher {
	re := lazy(pattern)
	return func() *matcher {
		return &matcher{find: func(s string) string { return re().FindString(s) }}
	}
}

// assertionOf returns what finds an assertion in a language, or nil.
func assertionOf(l lang) func() *matcher {
	switch l {
	case kotlin, csharp:
		return assertion[java]
	}
	return assertion[l]
}

// emptiedTests looks at tests that lose assertions in this change.
func emptiedTests(s *scan, f *file) {
	if f.Status == diff.Deleted || f.Deleted == 0 || !f.test || f.fixture {
		return
	}
	if f.lang == golang && !strings.HasSuffix(f.path, "_test.go") {
		return
	}
	asserts, begins := assertionOf(f.lang), testBegin(f.lang)
	if asserts == nil || begins == nil {
		return
	}
	rows := f.masked()
	lost, gained, tests := 0, 0, 0
	var first *row
	for i := range rows {
		r := &rows[i]
		if len(r.Text) > MaxLine {
			continue
		}
		switch r.Op {
		case diff.Delete:
			if begins().find(r.Text) != "" {
				tests++
			} else if isAssertion(asserts(), r.Text) {
				lost++
				if first == nil {
					first = r
				}
			}
		case diff.Add:
			if isAssertion(asserts(), r.text) {
				gained++
			}
		}
	}
	if lost == 0 {
		return
	}
	found := false
	for i := range rows {
		r := &rows[i]
		if r.Op == diff.Delete || len(r.Text) > MaxLine {
			continue
		}
		name := begins().find(r.Text)
		if name == "" {
			continue
		}
		if victim := emptiedBody(asserts(), rows, i); victim != nil {
			found = true
			s.hit(f, victim, prosecutor.High, fmt.Sprintf("The test %s loses its last assertion and stays: it can no longer fail", quoteName(name)))
		}
	}
	if !found && gained == 0 && tests == 0 {
		s.hit(f, first, prosecutor.Low, fmt.Sprintf("The file loses %s and gains none", count(lost, "assertion")))
	}
}

func isAssertion(m *matcher, line string) bool {
	t := strings.TrimSpace(line)
	if t == "" || strings.HasPrefix(t, "//") && !strings.HasPrefix(t, "// Output:") || strings.HasPrefix(t, "#") && !strings.HasPrefix(t, "#[should_panic") ||
		strings.HasPrefix(t, "import ") || strings.HasPrefix(t, "from ") || strings.HasPrefix(t, "use ") {
		return false
	}
	return m.find(line) != ""
}

// emptiedBody returns a deleted assertion of the test that begins at row i, when the rest of its body is in the hunk, has
// lines, and asserts nothing. The body ends at the first line that is indented no deeper than its first.
func emptiedBody(m *matcher, rows []row, i int) *row {
	depth := indent(rows[i].Text)
	var victim *row
	for j := i + 1; j < len(rows) && rows[j].hunk == rows[i].hunk; j++ {
		r := &rows[j]
		if len(r.Text) > MaxLine {
			return nil
		}
		if r.Op == diff.Delete {
			if indent(r.Text) > depth && isAssertion(m, r.Text) && victim == nil {
				victim = r
			}
			continue
		}
		if !blank(r.Text) && indent(r.Text) <= depth {
			t := strings.TrimSpace(r.Text)
			if strings.HasPrefix(t, ")") && strings.HasSuffix(t, ":") || t == "{" {
				continue // parameters over several lines, or a brace of its own
			}
			return victim
		}
		if isAssertion(m, r.text) {
			return nil
		}
	}
	return nil
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

var (
	tautologyCall = lazy(`\bassert!\(\s*true\s*[,)]|\bassert_eq!\(\s*(?:true\s*,\s*true|1\s*,\s*1)\s*\)|\b(?:assert|require)\.(?:True|Equal|EqualValues)\(t,\s*(?:true\s*[,)]|true,\s*true|1,\s*1)|\bassertTrue\(\s*[Tt]rue\s*\)|\bassertFalse\(\s*(?i:false)\s*\)|\bassertEquals?\(\s*(?:1\s*,\s*1|[Tt]rue\s*,\s*[Tt]rue)\s*\)|\bAssert\.True\(\s*true\s*\)|\bexpect\(\s*(?:true|1)\s*\)\.(?:toBe|toEqual|toStrictEqual)\(\s*(?:true|1)\s*\)|\bexpect\(\s*true\s*\)\.(?:toBeTruthy|toBeDefined)\(\)|\bexpect\(true\)\.to\s+(?:be|eq)\b|\bassert\.ok\(\s*true\s*\)`)
	tautologyPy   = lazy(`^\s*assert\s+(?:True|1\s*==\s*1|True\s*(?:is|==)\s*True)\s*(?:,.*)?$`)
)

func tautologies(s *scan, f *file) {
	if f.fixture || (!f.test && f.lang != rust) {
		return
	}
	s.added(f, func(_ int, r *row) {
		if f.lang == python && tautologyPy().MatchString(r.text) || tautologyCall().MatchString(r.code) {
			s.hit(f, r, prosecutor.Medium, "The assertion compares constants and cannot fail")
		}
	})
}
