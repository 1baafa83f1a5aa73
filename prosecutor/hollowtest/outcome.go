package hollowtest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Problem says why a run as a whole gave no result.
type Problem string

// The problems of a run. A tool may have others; any text that is not empty is a problem.
const (
	NoProblem      Problem = ""
	BaselineRed    Problem = "baseline_red"    // the tests fail without any mutant
	TimeLimit      Problem = "time_limit"      // the run was cut off
	Interrupted    Problem = "interrupted"     // somebody ended the run
	SetupFailed    Problem = "setup_failed"    // the tree could not be prepared or built
	NoTestCommand  Problem = "no_test_command" // nobody said how the tests are run
	InternalFailed Problem = "internal_error"  // a bug of ours
)

// FileRun counts the mutants of one file.
type FileRun struct {
	Path string
	// Generated counts all mutants of the changed lines. Those that have none of the statuses below were selected and
	// never tried.
	Generated    int
	Killed       int
	TimedOut     int
	Survived     int
	NotCovered   int
	Invalid      int
	Undetermined int
	Skipped      int // left out for a stated reason, before or after a trial
}

// Count adds a mutant of that status.
func (f *FileRun) Count(s Status) {
	switch s {
	case Killed:
		f.Killed++
	case TimedOut:
		f.TimedOut++
	case Survived:
		f.Survived++
	case NotCovered:
		f.NotCovered++
	case Invalid:
		f.Invalid++
	case Skipped:
		f.Skipped++
	default:
		f.Undetermined++
	}
}

// selected is the number of mutants that a verdict is owed for.
func (f FileRun) selected() int { return f.Generated - f.Skipped }

// tried is the number of mutants that something is known of.
func (f FileRun) tried() int {
	return f.Killed + f.TimedOut + f.Survived + f.NotCovered + f.Invalid + f.Undetermined
}

// Run is what came out of one run.
type Run struct {
	// Files holds every eligible file with changed lines, also those without mutants or trials.
	Files   []FileRun
	Problem Problem
	Detail  string // of the problem, for people
	// Survivors and Uncovered describe the mutants that the files count as survived and not covered. Either list may be
	// shorter than the count (reports are capped), the counts decide.
	Survivors []Survivor
	Uncovered []prosecutor.Survivor
}

// Survivor is a mutant that survived, with what helps to write the missing test.
type Survivor struct {
	prosecutor.Survivor
	Tests []string // that run it and pass
	Hint  string   // of the missing assertion
}

// Why is the reason of an outcome in one word.
type Why string

// The reasons of an outcome. The outcome of a run with a problem has the problem as its reason.
const (
	WhyAllKilled       Why = "all_killed"
	WhySurvivors       Why = "survivors"
	WhyNotCovered      Why = "not_covered"
	WhyUndetermined    Why = "undetermined"
	WhyAllInvalid      Why = "all_invalid"
	WhyBudgetStarved   Why = "budget_starved" // a file that no mutant was spent on
	WhyUnfinished      Why = "unfinished"     // mutants left without a verdict
	WhyInconsistent    Why = "inconsistent"   // more verdicts than mutants, or negative counts: a bug
	WhyNothingMutable  Why = "nothing_mutable"
	WhyNoEligibleLines Why = "no_eligible_lines"
	WhyOff             Why = "off" // hollow_test.mode: off
)

// Outcome is the evidence of a run and its reason.
type Outcome struct {
	prosecutor.Evidence
	Why Why
}

// The rules of hollow-test's findings, as Finding.Rule names them.
const (
	RuleSurvivor   = "surviving-mutant"
	RuleNotCovered = "not-covered"
)

// Decide turns a run into evidence (semantics 5, hollow-test). Red is asked first: a survivor is proven whatever else
// went wrong, except where the tests fail without any mutant or the facts contradict each other, for then nothing is
// proven. Clean needs a verdict for every selected mutant of every file. The requirements of a policy or a merge group
// change no state; they change what counts as red (convergence.CountsAsRed).
//
// A red outcome has one critical finding for each survivor, at its line, and one high finding for each file with mutants
// that no test reaches. Under hollow_test.not_covered: report the latter are medium and make nothing red.
func Decide(r Run, p config.HollowTest) Outcome {
	if p.Mode == config.HollowOff {
		return outcome(prosecutor.NotApplicable, WhyOff, "hollow-test is switched off (hollow_test.mode)")
	}
	var total FileRun
	for _, f := range r.Files {
		if f.broken() {
			return outcome(prosecutor.Unavailable, WhyInconsistent, fmt.Sprintf("the counts of %q contradict each other: %+v", f.Path, f))
		}
		total.add(f)
	}
	report := p.NotCovered == config.NotCoveredReport
	if r.Problem != BaselineRed && (total.Survived > 0 || total.NotCovered > 0 && !report) {
		why := WhySurvivors
		if total.Survived == 0 {
			why = WhyNotCovered
		}
		o := outcome(prosecutor.Red, why, summary(total, r))
		if n := unlisted(r.Survivors); n > 0 {
			o.Detail += fmt.Sprintf("; %s not listed here: prosecutor hollow-test shows all", plural(n, "survivor"))
		}
		for _, s := range r.Survivors {
			o.Survivors = append(o.Survivors, s.Survivor)
		}
		o.Findings = findings(r, report)
		return o
	}
	if r.Problem != NoProblem {
		return outcome(prosecutor.Unavailable, Why(r.Problem), r.Problem.sentence(r.Detail))
	}
	if len(r.Files) == 0 {
		return outcome(prosecutor.NotApplicable, WhyNoEligibleLines, "no line of a source file was added or changed")
	}
	if why, detail := unmeasured(r.Files); why != "" {
		return outcome(prosecutor.Unavailable, why, detail)
	}
	if total.selected() == 0 {
		detail := "nothing on the changed lines can be mutated"
		if total.Skipped > 0 {
			detail = fmt.Sprintf("nothing on the changed lines is worth a mutant: %d skipped", total.Skipped)
		}
		return outcome(prosecutor.NotApplicable, WhyNothingMutable, detail)
	}
	why := WhyAllKilled
	if total.NotCovered > 0 {
		why = WhyNotCovered
	}
	o := outcome(prosecutor.Clean, why, summary(total, r))
	o.Findings = findings(r, report)
	return o
}

func outcome(state prosecutor.EvidenceState, why Why, detail string) Outcome {
	return Outcome{Evidence: prosecutor.Evidence{Source: prosecutor.HollowTest, State: state, Detail: detail}, Why: why}
}

// broken reports whether the counts cannot be true.
func (f FileRun) broken() bool {
	return min(f.Generated, f.Killed, f.TimedOut, f.Survived, f.NotCovered, f.Invalid, f.Undetermined, f.Skipped) < 0 ||
		f.tried() > f.selected()
}

func (f *FileRun) add(g FileRun) {
	f.Generated += g.Generated
	f.Killed += g.Killed
	f.TimedOut += g.TimedOut
	f.Survived += g.Survived
	f.NotCovered += g.NotCovered
	f.Invalid += g.Invalid
	f.Undetermined += g.Undetermined
	f.Skipped += g.Skipped
}

// unmeasured names the first way in which files were not measured, and the files. One measured file does not vouch for
// another.
func unmeasured(files []FileRun) (Why, string) {
	for _, c := range []struct {
		why  Why
		text string
		is   func(FileRun) bool
	}{
		{WhyUndetermined, "the tests gave no answer to mutants of", func(f FileRun) bool { return f.Undetermined > 0 }},
		{WhyAllInvalid, "no mutant was a valid program in", func(f FileRun) bool { return f.Invalid > 0 && f.Invalid == f.selected() }},
		{WhyBudgetStarved, "the budget reached no mutant of", func(f FileRun) bool { return f.selected() > 0 && f.tried() == 0 }},
		{WhyUnfinished, "mutants were left without a verdict in", func(f FileRun) bool { return f.tried() < f.selected() }},
	} {
		var names []string
		for _, f := range files {
			if c.is(f) {
				names = append(names, strconv.Quote(f.Path))
			}
		}
		if len(names) > 0 {
			return c.why, c.text + " " + some(names)
		}
	}
	return "", ""
}

// some joins the first names and counts the others.
func some(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func (p Problem) sentence(detail string) string {
	var text string
	switch p {
	case BaselineRed:
		text = "the tests fail before anything is mutated"
	case TimeLimit:
		text = "the run was cut off by its time limit"
	case Interrupted:
		text = "the run was interrupted"
	case SetupFailed:
		text = "the tree could not be prepared"
	case NoTestCommand:
		text = "no test command is configured (hollow_test.command)"
	case InternalFailed:
		text = "mutation testing broke down"
	default:
		text = string(p)
	}
	if detail != "" {
		text += ": " + detail
	}
	return text
}

// summary counts the mutants by status, the statuses that do not occur left out.
func summary(f FileRun, r Run) string {
	parts := []string{plural(f.Generated, "mutant")}
	for _, c := range []struct {
		n    int
		word string
	}{
		{f.Killed, "killed"}, {f.TimedOut, "timed out"}, {f.Survived, "survived"}, {f.NotCovered, "not covered"}, {f.Invalid, "invalid"},
		{f.Undetermined, "undetermined"}, {f.Skipped, "skipped"}, {f.selected() - f.tried(), "pending"},
	} {
		if c.n > 0 {
			parts = append(parts, strconv.Itoa(c.n)+" "+c.word)
		}
	}
	text := strings.Join(parts, ", ")
	if r.Problem != NoProblem {
		text += "; " + r.Problem.sentence(r.Detail)
	}
	return text
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// findings lists the survivors one by one, and the files with mutants that no test reaches.
func findings(r Run, report bool) []prosecutor.Finding {
	var all []prosecutor.Finding
	seen := make(map[string]int)
	for _, line := range shown(r.Survivors) {
		s := line[0]
		claim := fmt.Sprintf("No test fails when %s becomes %s (%s).", code(s.Original), code(s.Mutated), s.Operator)
		// The identity holds no line numbers, so that twins in one file are told apart by their order.
		if seen[s.Path+"\x00"+claim]++; seen[s.Path+"\x00"+claim] > 1 {
			claim += fmt.Sprintf(" This is place %d in the file.", seen[s.Path+"\x00"+claim])
		}
		all = append(all, finding(RuleSurvivor, prosecutor.Critical, s.Path, s.Line, claim, proof(line)))
	}
	for _, f := range r.Files {
		if f.NotCovered == 0 {
			continue
		}
		severity := prosecutor.High
		if report {
			severity = prosecutor.Medium
		}
		var places []string
		line := 0
		for _, s := range r.Uncovered {
			if s.Path == f.Path {
				if line == 0 {
					line = s.Line
				}
				places = append(places, fmt.Sprintf("line %d: %s (%s)", s.Line, code(s.Original), s.Operator))
			}
		}
		evidence := plural(f.NotCovered, "mutant") + " of the changed lines in no test's reach"
		if len(places) > 0 {
			evidence += ": " + some(places)
		}
		all = append(all, finding(RuleNotCovered, severity, f.Path, line, "No test reaches some of the changed code.", evidence))
	}
	return all
}

// How many survivors have a finding of their own: one a line, so many a file and a change. More would not be read; all mutants
// of a line nearly always have one fate (Petrovic et al., ICSE 2021, whose bound for a file this is).
const (
	mostOfFile   = 7
	mostOfChange = 20
)

// shown groups the survivors by line, and leaves out the lines beyond the bounds.
func shown(survivors []Survivor) [][]Survivor {
	type place struct {
		path string
		line int
	}
	at := make(map[place]int)
	files := make(map[string]int)
	var lines [][]Survivor
	for _, s := range survivors {
		p := place{s.Path, s.Line}
		if i, ok := at[p]; ok {
			lines[i] = append(lines[i], s)
			continue
		}
		if files[s.Path] == mostOfFile || len(lines) == mostOfChange {
			continue
		}
		files[s.Path]++
		at[p] = len(lines)
		lines = append(lines, []Survivor{s})
	}
	return lines
}

// unlisted counts the survivors without a finding.
func unlisted(survivors []Survivor) int {
	n := len(survivors)
	for _, line := range shown(survivors) {
		n -= len(line)
	}
	return n
}

// proof says which tests pass with the first survivor of a line, what they lack, and what else of the line survives.
func proof(line []Survivor) string {
	var parts []string
	switch tests := line[0].Tests; len(tests) {
	case 0:
	case 1:
		parts = append(parts, "It is run by "+tests[0]+", which passes.")
	default:
		parts = append(parts, "It is run by "+some(tests)+", which pass.")
	}
	if hint := line[0].Hint; hint != "" {
		parts = append(parts, strings.ToUpper(hint[:1])+hint[1:]+".")
	}
	var others []string
	for _, s := range line[1:] {
		others = append(others, fmt.Sprintf("%s as %s (%s)", code(s.Original), code(s.Mutated), s.Operator))
	}
	if len(others) > 0 {
		parts = append(parts, "On the same line survive too: "+some(others)+".")
	}
	return strings.Join(parts, " ")
}

// code writes a piece of code into a sentence on one line.
func code(s string) string {
	if q := strconv.Quote(s); strings.ContainsAny(s, "`\n\r") {
		return q
	}
	return "`" + s + "`"
}

func finding(rule string, severity prosecutor.Severity, file string, line int, claim, evidence string) prosecutor.Finding {
	f := prosecutor.Finding{
		Source: prosecutor.FromEvidence, Origin: string(prosecutor.HollowTest), Rule: rule,
		Severity: severity, Claimed: severity, Charge: prosecutor.ChargeTests, Claim: claim, Evidence: evidence,
		Anchor: &prosecutor.Anchor{Path: file, Side: prosecutor.Right, Line: line},
		Place:  prosecutor.Place{Status: prosecutor.Ambiguous, Path: file, Side: prosecutor.Right},
	}
	if line > 0 {
		f.Place.Status, f.Place.MatchedBy = prosecutor.Anchored, "line"
		f.Place.StartLine, f.Place.EndLine = line, line
	}
	f.ID = prosecutor.Identify(f)
	return f
}
