package hollowtest

import (
	"context"
	"fmt"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Verdict is the outcome of a whole report in one word. Readers of the JSON decide by it and never by the absence of
// mutants.
type Verdict string

// The verdicts of a report.
const (
	KilledAll       Verdict = "killed_all"        // every selected mutant was noticed
	Survivors       Verdict = "survivors"         // a mutant survived, or no test reaches one
	NothingMutable  Verdict = "nothing_mutable"   // no changed line has code that a mutant would mean anything for
	CouldNotMeasure Verdict = "could_not_measure" // no answer; never to be taken for a good one
)

// Summary counts mutants by their status. Total counts all of them, the skipped ones included.
type Summary struct {
	Total        int `json:"total"`
	Killed       int `json:"killed"`
	Survived     int `json:"survived"`
	NotCovered   int `json:"not_covered"`
	TimedOut     int `json:"timed_out"`
	Invalid      int `json:"invalid"`
	Undetermined int `json:"undetermined"`
	Skipped      int `json:"skipped"`
}

// FileReport says what was tried in one changed file.
type FileReport struct {
	Path         string `json:"path"`
	MutableLines int    `json:"mutable_lines"`    // changed lines with at least one selected mutant
	Attempted    int    `json:"attempted"`        // mutants that have a status other than skipped
	Starved      bool   `json:"starved"`          // mutants were selected and none was tried
	Reason       string `json:"reason,omitempty"` // why the file has no mutants
}

// Mutant is one small change of the code and what became of it.
type Mutant struct {
	ID       string `json:"id"` // stable when lines shift: path, function, operator, code and order decide it
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column,omitempty"` // in bytes, from 1
	EndLine  int    `json:"end_line,omitempty"`
	EndCol   int    `json:"end_column,omitempty"` // of the first byte after the code
	Operator string `json:"operator"`
	Original string `json:"original"`
	Mutated  string `json:"mutated"`
	Status   Status `json:"status"`
	// Pending is set beside the status skipped when the mutant was selected and never tried, because the budget ended, the
	// run was interrupted or the limit of mutants was reached. Such a mutant owes a verdict; a report with one is never
	// clean.
	Pending    bool     `json:"pending,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	Tests      []string `json:"tests,omitempty"`  // tests that reach it; those of other packages are named with their package
	Killer     string   `json:"killer,omitempty"` // the test that failed
	Hint       string   `json:"hint,omitempty"`   // of the missing assertion
	DurationMS int64    `json:"duration_ms,omitempty"`
}

// Report is everything that one run found out.
type Report struct {
	Tool    string       `json:"tool"`
	Outcome Verdict      `json:"outcome"`
	Reason  string       `json:"reason"`
	Summary Summary      `json:"summary"`
	Files   []FileReport `json:"files"`
	Mutants []Mutant     `json:"mutants"`
	Flaky   []string     `json:"flaky,omitempty"` // tests that failed without any mutant now and then: they decided nothing
	// Problem is what kept the run from its end, empty when nothing did. It is part of Reason.
	Problem Problem `json:"problem,omitempty"`
	Detail  string  `json:"detail,omitempty"`
}

// Tool is what Report.Tool says.
const Tool = "prosecutor hollow-test"

// Request is a question to an engine.
type Request struct {
	// Dir is the root of a checkout of the head. Engines never write below it; the tests they run might.
	Dir string
	// Lines holds the changed lines of the files to mutate, by number on the new side, ascending, under paths relative to
	// Dir with slashes. Engines mutate the files of their languages and say so about each.
	Lines  map[string][]int
	Policy config.HollowTest
	// Budget bounds the whole measurement, builds included. What is not decided by then is pending.
	Budget time.Duration
	// MaxMutants bounds how many mutants are tried; 0 means no bound. Those beyond are pending.
	MaxMutants int
	Exec       Executor
	// Env is added to the environment of every process, and wins. Engines pass nothing else of their own environment on
	// but what the tool chain needs.
	Env []string
	// Scratch is a directory for everything that is written. Empty means a new one below the system's, removed at the end.
	Scratch string
	// Progress is told how many of the selected mutants are decided. It may be nil. It is called from one goroutine at a
	// time.
	Progress func(done, total int)
	// Seed is for engines that choose mutants at random: the same seed chooses the same ones. The engine for Go does not.
	Seed int64
}

// Engine measures the changes of some languages. It is safe for concurrent use.
type Engine interface {
	// Measure returns a report, also when little could be measured: then its outcome is could_not_measure with the
	// reason. The error is for callers' mistakes alone. When ctx ends, what was decided is kept and the rest is pending.
	Measure(ctx context.Context, r Request) (*Report, error)
}

// CommandKind tells builds, which read the repository and run only the tool chain, from tests, which run its code.
type CommandKind string

// The kinds of commands.
const (
	BuildCommand CommandKind = "build"
	TestCommand  CommandKind = "test"
)

// Command is a process to start. No shell is involved.
type Command struct {
	Kind CommandKind
	Argv []string // Argv[0] is a path or looked up in PATH
	Dir  string
	Env  []string // the whole environment
	// Read and Write name directories that the process needs, beside Dir and the system's own, absolute. A sandbox shows
	// them; others may ignore them.
	Read, Write []string
	Wall        time.Duration // limit of wall time; 0 means none
	Memory      int64         // limit of resident bytes of the process and its descendants; 0 means none
	Output      int           // at most that many last bytes of output are kept, and the first ones; 0 means 64 KiB
}

// ExecResult is what became of a process.
type ExecResult struct {
	Exit      *int   // nil when it did not exit by itself
	Signal    string // such as SIGKILL, when one ended it
	TimedOut  bool   // Wall was reached, and the process ended for it
	OutMemory bool   // Memory was reached, and the process ended for it
	Output    []byte // both streams, in order; the middle is left out when it is too long
	Wall, CPU time.Duration
	PeakRSS   int64 // bytes, of the largest process
}

// Executor starts processes: plainly, or in a sandbox. It is safe for concurrent use.
//
// Run waits for the end of the process and of its whole process group, which is killed when a limit is reached, when ctx
// ends, and when the process leaves children behind. The error says that the process could not be started, or that ctx
// ended; the tests gave no answer then.
type Executor interface {
	Run(ctx context.Context, c Command) (ExecResult, error)
}

// Facts returns what the report knows as the run that Decide judges.
func (r *Report) Facts() Run {
	run := Run{Problem: r.Problem, Detail: r.Detail}
	at := make(map[string]int)
	for _, f := range r.Files {
		at[f.Path] = len(run.Files)
		run.Files = append(run.Files, FileRun{Path: f.Path})
	}
	for i := range r.Mutants {
		m := &r.Mutants[i]
		k, ok := at[m.File]
		if !ok {
			k = len(run.Files)
			at[m.File] = k
			run.Files = append(run.Files, FileRun{Path: m.File})
		}
		run.Files[k].Generated++
		if m.Pending {
			continue
		}
		run.Files[k].Count(m.Status)
		survivor := prosecutor.Survivor{Path: m.File, Line: m.Line, Original: m.Original, Mutated: m.Mutated, Operator: m.Operator}
		switch m.Status {
		case Survived:
			run.Survivors = append(run.Survivors, Survivor{survivor, m.Tests, m.Hint})
		case NotCovered:
			run.Uncovered = append(run.Uncovered, survivor)
		}
	}
	return run
}

// Conclude counts the mutants and decides the outcome, by the same rules as Decide (semantics 5). Engines call it last.
func (r *Report) Conclude() {
	r.Tool = Tool
	r.Summary = Summary{}
	files := make(map[string]*FileReport)
	for i := range r.Files {
		f := &r.Files[i]
		f.MutableLines, f.Attempted, f.Starved = 0, 0, false
		files[f.Path] = f
	}
	lines := make(map[string]bool)
	selected := make(map[string]int)
	for i := range r.Mutants {
		m := &r.Mutants[i]
		r.Summary.count(m.Status)
		f := files[m.File]
		if f == nil || (m.Status == Skipped && !m.Pending) {
			continue
		}
		selected[m.File]++
		if m.Status != Skipped {
			f.Attempted++
		}
		if key := fmt.Sprintf("%s\x00%d", m.File, m.Line); !lines[key] {
			lines[key] = true
			f.MutableLines++
		}
	}
	for i := range r.Files {
		f := &r.Files[i]
		f.Starved = selected[f.Path] > 0 && f.Attempted == 0
	}
	if r.Files == nil {
		r.Files = []FileReport{}
	}
	if r.Mutants == nil {
		r.Mutants = []Mutant{}
	}
	o := Decide(r.Facts(), config.HollowTest{Mode: config.HollowGate, NotCovered: config.NotCoveredRed})
	r.Reason = o.Detail
	switch o.State {
	case prosecutor.Red:
		r.Outcome = Survivors
	case prosecutor.Clean:
		r.Outcome = KilledAll
	case prosecutor.NotApplicable:
		r.Outcome = NothingMutable
	default:
		r.Outcome = CouldNotMeasure
	}
}

func (s *Summary) count(status Status) {
	s.Total++
	switch status {
	case Killed:
		s.Killed++
	case Survived:
		s.Survived++
	case NotCovered:
		s.NotCovered++
	case TimedOut:
		s.TimedOut++
	case Invalid:
		s.Invalid++
	case Skipped:
		s.Skipped++
	default:
		s.Undetermined++
	}
}
