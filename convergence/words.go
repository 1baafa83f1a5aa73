// Package convergence decides what becomes of a case. It holds the gate (semantics 5), the ledger of laps (semantics 6)
// and what a failed judge means (semantics 7).
//
// Everything in it is a pure function over explicit state: facts, a ledger and a policy go in, a ruling and the next
// ledger come out. It does no I/O, starts no goroutine and reads no clock; times are arguments. It knows neither GitHub
// nor models. All of it is safe for concurrent use as long as callers do not change a value they have passed in.
//
// Decide is the whole way of one event. Before and After are its two halves, for callers that store the ledger in
// between, as store.Judge does.
package convergence

// Decision is what the gate says about a case. It is not a verdict: a verdict belongs to one pass or lens, and the types
// do not convert by accident. The empty decision means that there is none.
type Decision string

// The decisions.
const (
	Advance  Decision = "ADVANCE"
	LoopBack Decision = "LOOP_BACK"
	Escalate Decision = "ESCALATE"
)

// Outcome is how the gate left a case.
type Outcome string

// The outcomes.
const (
	Decided   Outcome = "decided"    // there is a decision, and it is recorded as a lap
	Parked    Outcome = "parked"     // waits for evidence
	Held      Outcome = "held"       // waits for a judge
	Escalated Outcome = "escalated"  // judges were given up on: ESCALATE as not judged, which costs no lap
	NotJudged Outcome = "not_judged" // a guard ended the case
	Errored   Outcome = "errored"    // our own failure: credentials, a bug
)

// Public is the outcome in the five words that reports use: escalated reads not_judged there, because the decision
// ESCALATE stands beside it.
func (o Outcome) Public() Outcome {
	if o == Escalated {
		return NotJudged
	}
	return o
}

// Reason says why the gate ruled as it did.
type Reason string

// Reasons of decisions.
const (
	Unanimous       Reason = "unanimous"        // every lens shipped
	RedEvidence     Reason = "red_evidence"     // deterministic evidence is red, or unavailable where that counts as red
	LensVeto        Reason = "lens_veto"        // a lens blocks
	StandingConcern Reason = "standing_concern" // an earlier accusation still stands, unrefuted and unmentioned
	NoChange        Reason = "no_change"        // row 1 of semantics 2
	TooLarge        Reason = "too_large"        // row 2 of semantics 2
	LapBudget       Reason = "lap_budget"       // the lap that was sent back reached the budget
	Oscillation     Reason = "oscillation"      // two laps running were sent back for the same findings
	NotJudgedInTime Reason = "not_judged"       // no judge could be had within the hold
	NoIndependence  Reason = "independence"     // an independent judge is required, and none is configured
)

// Reasons of waiting and of failing.
const (
	PendingEvidence Reason = "pending_evidence"
	JudgeFailure    Reason = "judge_failure"
	AuthFailure     Reason = "auth"
	PanicFailure    Reason = "panic"    // a bug of ours in a pass, or an answer of the panel that cannot be
	Internal        Reason = "internal" // anything else of ours that failed
)

// Reasons of guards.
const (
	KillSwitch       Reason = "kill_switch"
	Draft            Reason = "draft"
	UnsupportedEvent Reason = "unsupported_event"
	AlreadyDecided   Reason = "already_decided"
	AwaitsPerson     Reason = "escalated" // escalated before, and no person has reopened the case
	NotPermitted     Reason = "not_permitted"
	Superseded       Reason = "superseded" // a newer case of the same change is known
	Canceled         Reason = "canceled"   // the caller gave the case up while it was judged
	ChangeClosed     Reason = "closed"
	Overridden       Reason = "overridden"    // a person overrode the gate for this head
	BrokenPolicy     Reason = "broken_policy" // the base branch's policy file cannot be read
	OnlyExcluded     Reason = "only_excluded" // only excluded files, too large to read
)

// Stage is where a case is judged. Each stage has counters of its own.
type Stage string

// The stages. The empty stage means StageReview.
const (
	StageReview     Stage = "review"      // the head of a pull request
	StageMergeQueue Stage = "merge_queue" // the head of a merge group
)
