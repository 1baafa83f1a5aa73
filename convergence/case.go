package convergence

import (
	"fmt"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Key names the change that a ledger belongs to.
type Key struct {
	Repo   string `json:"repo"`   // owner/name, or whatever names a local repository
	Change string `json:"change"` // the pull request or the branch, such as pull/12
}

// String is the key as messages show it.
func (k Key) String() string { return k.Repo + " " + k.Change }

// Case is one change at one base, head, policy and spec (semantics 1). Cases compare with ==.
type Case struct {
	Key
	Base       string `json:"base"`
	Head       string `json:"head"`
	PolicyHash string `json:"policy_hash"`
	SpecHash   string `json:"spec_hash"`
	// EvidenceStates is the fingerprint of the evidence, as EvidenceStates makes it. The gate fills it in; what a caller
	// puts here is not used.
	EvidenceStates string `json:"evidence_states,omitempty"`
}

// identity is the case without its evidence: what a decision has to be about to be current.
func (c Case) identity() Case {
	c.EvidenceStates = ""
	return c
}

// Facts is everything the gate is told about one event and its case. The gate never looks anything up.
type Facts struct {
	Event  Event
	Sender Sender
	Stage  Stage // empty means StageReview
	Case   Case
	Now    time.Time // when; recorded in the ledger, and compared with the beginning of a hold

	KillSwitch   bool   // the operator or the repository switched judging off
	SwitchedOff  string // which switch, and by whom, for the title
	Draft        bool
	Superseded   bool   // a newer head is known, or the change was closed while it was judged
	Unjudgeable  Reason // BrokenPolicy, OnlyExcluded or Internal when the case cannot be put to anybody; else empty
	Unjudgeably  string // what exactly, for the title
	TouchesTests bool   // the case touches test files; asked for merge groups

	Radius        prosecutor.Radius
	Lenses        []prosecutor.Lens // what the blast radius asks for; at least one
	SelfModifying bool

	Evidence  []prosecutor.Evidence // of every configured source
	Preflight *prosecutor.Finding   // rows 1 and 2 of semantics 2: the one finding, or nil

	// Stands reports whether an accused quotation still stands in the head (semantics 6, standing concerns). Without it
	// nobody can tell, so every accusation of an earlier lap counts as standing.
	Stands func(prosecutor.Anchor) bool

	// Waited is how long the case has waited for a judge. The longer one of it and what the ledger knows counts, so it
	// can be left out where ledgers are kept.
	Waited time.Duration
}

func (f Facts) stage() Stage {
	if f.Stage == "" {
		return StageReview
	}
	return f.Stage
}

// thisCase is the case with the fingerprint of its evidence.
func (f Facts) thisCase() Case {
	c := f.Case
	c.EvidenceStates = EvidenceStates(f.Evidence)
	return c
}

// LensOutcome is what came of one lens: the panel's result, in the gate's words.
type LensOutcome struct {
	Lens      prosecutor.Lens
	Verdict   prosecutor.Verdict
	ErrorKind prosecutor.ErrorKind // why the last judge failed; only with the verdict error
	// Failures are the kinds of all failures of this lens, also of judges that another one replaced. They need not
	// repeat ErrorKind. Of a lens that failed in the end, the gravest counts.
	Failures []prosecutor.ErrorKind
	Err      error // the last failure in words

	Judge      string // the judge's name
	Family     string
	Static     bool // the built-in rules judged, no model
	SameFamily bool // the judge is of a family the builder used
	NoJudge    bool // an independent judge is required, and none is configured
	Waiting    bool // no judge failed, but none was free: busy, or its breaker is open
	ResetAt    time.Time

	Refuted  bool // every blocking finding was refuted or dismissed: the lens counts as ship (semantics 2)
	Findings []prosecutor.Finding
	// RefutedConcerns are the identities of standing concerns that a fresh verification refuted. They need not belong to
	// this lens.
	RefutedConcerns []string
}

// Refute returns the outcome after the findings named in gone, by identity, were refuted or dismissed: when nothing above
// low is left of a lens that blocked, it counts as ship, marked refuted (semantics 2). Findings of evidence and rules are
// never refuted here; they end where they were made. At least one finding has to be gone, so that a block with nothing
// but remarks stays a block.
func Refute(o LensOutcome, gone func(id string) bool) LensOutcome {
	if o.Verdict != prosecutor.Block {
		return o
	}
	hit := false
	for _, f := range o.Findings {
		switch {
		case f.Source == prosecutor.FromModel && gone(identity(f)):
			hit = true
		case f.Severity != prosecutor.Low:
			return o
		}
	}
	if hit {
		o.Verdict, o.Refuted = prosecutor.Ship, true
	}
	return o
}

// Ruling is what the gate says about one event.
type Ruling struct {
	Outcome  Outcome
	Decision Decision // empty unless decided or escalated
	Reason   Reason   // the first cause of ESCALATE, else why
	Causes   []Reason // of ESCALATE: all causes
	SentBack Reason   // what sent the case back, before the ledger made an escalation of it; empty for others
	Detail   string   // more about the reason, in words; may be empty

	Event  Event
	Stage  Stage
	Case   Case // with the fingerprint of the evidence
	Radius prosecutor.Radius
	Draft  bool
	At     time.Time

	Asked      bool                        // judges were asked before the ruling, whether or not it uses their answers
	LensesRun  []prosecutor.Lens           // the lenses whose answers it uses, in their order; empty when no judge was asked
	RedSources []prosecutor.EvidenceSource // red, or unavailable where that counts as red
	WaitsFor   []prosecutor.EvidenceSource // pending
	Vetoes     []prosecutor.Lens           // lenses that block, failed ones under judge_failure: veto among them
	Failed     []prosecutor.Lens           // lenses without a verdict in the end
	HeldLenses []prosecutor.Lens           // failed lenses that are waited for
	Degraded   []prosecutor.Lens           // failed lenses that count as approvals
	Refuted    []prosecutor.Lens           // lenses that ship because what they accused was refuted or dismissed
	SameFamily []prosecutor.Lens           // lenses judged by a family of the builder
	StaticOnly bool                        // lenses were judged, and none of them by a model
	RetryAt    time.Time                   // when a held case is worth another try, if a provider said so

	Findings  []prosecutor.Finding // all of them, standing concerns included
	Blocking  []prosecutor.Finding // those that sent the case back
	Standing  []prosecutor.Finding // those of Blocking that no judge repeated in this lap
	Dismissed []prosecutor.Finding // those that a person dismissed; they are in Findings too

	Entries []Entry // holds and fail-opens of this ruling

	Laps          int // after the ruling
	BudgetLaps    int // after the ruling: since the epoch's last ADVANCE
	MaxLaps       int
	Epoch         int
	LapSpent      bool
	NotConverging bool

	Ledger Ledger // after the ruling
}

// String is the ruling in one line, for logs and tests.
func (r Ruling) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", r.Outcome)
	if r.Decision != "" {
		fmt.Fprintf(&b, " %s", r.Decision)
	}
	fmt.Fprintf(&b, " (%s)", r.Reason)
	return b.String()
}
