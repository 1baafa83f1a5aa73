package hollowtest

import "slices"

// Status is what became of one mutant.
type Status string

// The statuses of a mutant.
const (
	Killed       Status = "killed"       // a test that passes without the mutant failed
	TimedOut     Status = "timed_out"    // the tests hung or outgrew their limits: noticed, and shown apart
	Survived     Status = "survived"     // all tests passed
	NotCovered   Status = "not_covered"  // no test reaches the mutated code
	Invalid      Status = "invalid"      // the mutant is not a program: thrown away
	Undetermined Status = "undetermined" // the tests gave no answer
	Skipped      Status = "skipped"      // not tried, for a stated reason: a suppression rule, an accepted mutant
)

// Statuses returns all statuses, in the order of reports.
func Statuses() []Status {
	return []Status{Killed, TimedOut, Survived, NotCovered, Invalid, Undetermined, Skipped}
}

// Noticed reports whether the tests noticed the mutant.
func (s Status) Noticed() bool { return s == Killed || s == TimedOut }

// Fold returns the status in the words of a report that counts a time-out as a kill.
func (s Status) Fold() Status {
	if s.Noticed() {
		return Killed
	}
	return s
}

// Syntax is the result of checking that a mutant is a program of its language at all.
type Syntax string

// The results of the check.
const (
	SyntaxOK      Syntax = "ok"
	SyntaxInvalid Syntax = "invalid"
	CheckerFailed Syntax = "checker_failed" // the check itself did not work
)

// Build is the result of compiling or type-checking a mutant.
type Build string

// The results of a build. NoBuild is that of a language without one.
const (
	NoBuild     Build = ""
	BuildOK     Build = "ok"
	BuildFailed Build = "failed"
)

// Trial holds the raw facts of running the tests against one mutant.
type Trial struct {
	Syntax     Syntax
	Build      Build
	SpawnError bool   // the tests could not be started
	TimedOut   bool   // their limit of time, evaluations or memory was reached; not the budget of the whole run
	Signal     string // the signal that ended them, such as SIGKILL; empty when they exited
	NoTestRan  bool   // the runner said that it ran no test
	ExitCode   *int   // nil when there is none
}

// ownSignals are raised by a program's own fault: tests that crash have noticed the mutant. Any other signal comes from
// somebody else, who ended the run.
var ownSignals = []string{"SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS"}

// Exit codes of shells, as POSIX and its shells give them.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSIGINT        = 128 + 2
	exitSIGKILL       = 128 + 9
	exitSIGTERM       = 128 + 15
)

// Status decides what a trial shows. Only tests that ran and failed kill a mutant, only tests that ran and passed let it
// survive. What is not known is undetermined; it is never taken for a kill.
func (t Trial) Status() Status {
	switch {
	case t.Syntax == SyntaxInvalid:
		return Invalid
	case t.Syntax != SyntaxOK:
		return Undetermined
	case t.Build == BuildFailed:
		return Invalid
	case t.Build != BuildOK && t.Build != NoBuild, t.SpawnError:
		return Undetermined
	case t.TimedOut:
		return TimedOut
	case slices.Contains(ownSignals, t.Signal):
		return Killed
	case t.Signal != "", t.NoTestRan, t.ExitCode == nil:
		return Undetermined
	}
	switch *t.ExitCode {
	case 0:
		return Survived
	case exitNotExecutable, exitNotFound, exitSIGINT, exitSIGKILL, exitSIGTERM:
		return Undetermined
	default:
		return Killed
	}
}
