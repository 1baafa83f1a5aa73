package convergence

import (
	"slices"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// LedgerVersion is the version of the ledger's JSON. A ledger of a later version must not be changed by this program.
const LedgerVersion = 1

// Retention is how long a closed ledger is kept unless the policy says otherwise (semantics 6).
const Retention = 180 * 24 * time.Hour

// Ledger is what is known about the laps of one change (semantics 6). It is the only owner of these counters. The
// transitions of this package take a ledger and return the next one; they never change the one they were given, and
// callers must not either. The zero value is the ledger of a change that nobody has looked at.
type Ledger struct {
	Version int `json:"version"`
	Epoch   int `json:"epoch"` // the first is 1; a person who reopens an escalation begins the next

	Laps       int               `json:"laps"`        // of this epoch
	BudgetLaps int               `json:"budget_laps"` // of this epoch since its last ADVANCE
	Radius     prosecutor.Radius `json:"blast_radius,omitempty"`

	Stages map[Stage]StageState `json:"stages"`

	LapSignatures [][]string `json:"lap_signatures"` // of this epoch, by lap; an ADVANCE has none
	LapDecisions  []Decision `json:"lap_decisions"`  // of this epoch, by lap
	LapBlocking   []int      `json:"lap_blocking"`   // number of blocking findings, by lap
	LapHeads      []string   `json:"lap_heads"`      // by lap
	NotConverging bool       `json:"not_converging"` // blocking findings rose over three laps running

	// Accusations are the blocking findings of judges in this epoch. Those of an earlier lap whose lines still stand are
	// standing concerns.
	Accusations  []Concern `json:"accusations,omitempty"`
	OpenConcerns []Concern `json:"open_concerns"` // standing concerns that are not settled
	Dismissals   []Settled `json:"dismissals,omitempty"`

	Converged bool    `json:"converged"`
	Escalated bool    `json:"escalated"` // waits for a person
	Causes    []Cause `json:"escalation_causes,omitempty"`

	Current  Case      `json:"current"`           // the newest case that is known
	Waiting  *Waiting  `json:"waiting,omitempty"` // what the current case waits for
	Override *Override `json:"override,omitempty"`

	Entries  []Entry           `json:"entries,omitempty"` // holds and fail-opens, oldest first
	Counters map[EntryKind]int `json:"counters"`

	Closed    bool      `json:"closed"`
	Outcome   string    `json:"outcome,omitempty"` // of a closed change: merged or closed
	ClosedAt  time.Time `json:"closed_at,omitzero"`
	KeepDays  int       `json:"keep_days,omitempty"` // how long a closed ledger is kept
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// Cause is why a ledger is escalated. It is a Reason.
type Cause = Reason

// StageState is what a ledger holds about one stage. A stage without a last verdict has not been visited.
type StageState struct {
	LastVerdict           Decision  `json:"last_verdict,omitempty"`
	Attempts              int       `json:"attempts"` // heads decided in this stage in this epoch
	LastFindingSignatures []string  `json:"last_finding_signatures"`
	Decided               *Case     `json:"decided,omitempty"` // what the last verdict is about
	DecidedAt             time.Time `json:"decided_at,omitzero"`
}

// Waiting is what the current case waits for.
type Waiting struct {
	For     Outcome                     `json:"for"` // parked: evidence; held: judges
	Case    Case                        `json:"case"`
	Since   time.Time                   `json:"since,omitzero"`
	Sources []prosecutor.EvidenceSource `json:"sources,omitempty"`
	Lenses  []prosecutor.Lens           `json:"lenses,omitempty"`
	RetryAt time.Time                   `json:"retry_at,omitzero"`
	// Asked is set when a person had asked past a guard. The event that ends the waiting then need not ask again.
	Asked bool `json:"asked,omitempty"`
}

// Override is a person's word against the gate for one head. It is never an ADVANCE and ends with the next push.
type Override struct {
	Head   string    `json:"head"`
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at,omitzero"`
}

// EntryKind is the kind of an entry.
type EntryKind string

// The kinds of entries.
const (
	EntryHold     EntryKind = "hold"      // a lens without a verdict is waited for
	EntryFailOpen EntryKind = "fail_open" // a lens without a verdict counts as an approval
)

// Entry records that a lens had no verdict and was held, or let through (semantics 7). Repetitions on one head are
// counted in one entry.
type Entry struct {
	Kind  EntryKind       `json:"kind"`
	Lens  prosecutor.Lens `json:"lens"`
	Head  string          `json:"head"`
	Cause string          `json:"cause,omitempty"` // kind of the failure, or that no judge was free
	Times int             `json:"times"`
	First time.Time       `json:"first,omitzero"`
	Last  time.Time       `json:"last,omitzero"`
}

// New returns the ledger of a change that nobody has looked at.
func New() Ledger { return Ledger{}.clone() }

// clone returns a ledger that shares no memory with l that a transition writes to, with the zero value made whole.
func (l Ledger) clone() Ledger {
	if l.Version == 0 {
		l.Version = LedgerVersion
	}
	if l.Epoch == 0 {
		l.Epoch = 1
	}
	stages := make(map[Stage]StageState, len(l.Stages)+1)
	for k, v := range l.Stages {
		stages[k] = v
	}
	l.Stages = stages
	counters := make(map[EntryKind]int, len(l.Counters)+1)
	for k, v := range l.Counters {
		counters[k] = v
	}
	l.Counters = counters
	l.LapSignatures = cloned(l.LapSignatures)
	l.LapDecisions = cloned(l.LapDecisions)
	l.LapBlocking = cloned(l.LapBlocking)
	l.LapHeads = cloned(l.LapHeads)
	l.OpenConcerns = cloned(l.OpenConcerns)
	l.Accusations = slices.Clone(l.Accusations)
	l.Dismissals = slices.Clone(l.Dismissals)
	l.Entries = slices.Clone(l.Entries)
	return l
}

// cloned is a copy that is never nil, so that JSON shows an empty list as one.
func cloned[T any](list []T) []T { return append(make([]T, 0, len(list)+1), list...) }

// Review returns the state of the stage review.
func (l Ledger) Review() StageState { return l.Stages[StageReview] }

// lapOf reports whether the last recorded lap is that of the head.
func (l Ledger) lapOf(head string) bool {
	n := len(l.LapHeads)
	return n > 0 && l.LapHeads[n-1] == head
}

// settle recomputes converged. It is true exactly when the last decision of the review is ADVANCE for the current case,
// no concern is open, and the merge queue, where this head has visited it, agrees.
func (l Ledger) settle() Ledger {
	review := l.Stages[StageReview]
	queue := l.Stages[StageMergeQueue]
	l.Converged = review.LastVerdict == Advance && review.Decided != nil &&
		review.Decided.identity() == l.Current.identity() &&
		(queue.LastVerdict == "" || queue.LastVerdict == Advance) &&
		len(l.OpenConcerns) == 0
	return l
}

// Push records that the change has a new head. What was decided, waited for or overridden belongs to the old one, and so
// does a visit of the merge queue.
func Push(l Ledger, head string) Ledger {
	l = l.clone()
	if l.Current.Head == head {
		return l.settle()
	}
	l.Current.Head = head
	l.Override = nil
	if queue, visited := l.Stages[StageMergeQueue]; visited {
		queue.LastVerdict, queue.Decided = "", nil
		l.Stages[StageMergeQueue] = queue
	}
	return l.moved()
}

// BaseChange records that the base commit of the change is another one.
func BaseChange(l Ledger, base string) Ledger {
	l = l.clone()
	l.Current.Base = base
	return l.moved()
}

// PolicyChange records that the policy that judges the change is another one.
func PolicyChange(l Ledger, policyHash string) Ledger {
	l = l.clone()
	l.Current.PolicyHash = policyHash
	return l.moved()
}

// SpecChange records that the title, the body or a linked issue was edited. It never makes a lap.
func SpecChange(l Ledger, specHash string) Ledger {
	l = l.clone()
	l.Current.SpecHash = specHash
	return l.moved()
}

// moved ends the waiting of a case that is no longer the current one.
func (l Ledger) moved() Ledger {
	if l.Waiting != nil && l.Waiting.Case.identity() != l.Current.identity() {
		l.Waiting = nil
	}
	return l.settle()
}

// begin makes a case the current one.
func begin(l Ledger, c Case) Ledger {
	l = Push(l, c.Head)
	l.Current = c.identity()
	return l.moved()
}

// Reopen records that a closed change was opened again. It goes on where it was.
func Reopen(l Ledger) Ledger {
	l = l.clone()
	l.Closed, l.Outcome, l.ClosedAt, l.KeepDays = false, "", time.Time{}, 0
	return l.settle()
}

// Close records that the change was merged or closed. keep is how long the ledger is kept; 0 means Retention.
func Close(l Ledger, outcome string, keep time.Duration, at time.Time) Ledger {
	l = l.clone()
	if keep <= 0 {
		keep = Retention
	}
	const day = 24 * time.Hour
	l.Closed, l.Outcome, l.ClosedAt = true, outcome, at
	l.KeepDays = int((keep + day - 1) / day)
	l.Waiting = nil
	l.UpdatedAt = at
	return l.settle()
}

// NewEpoch records that a person reopened an escalation: laps and attempts start again, repetitions and concerns are
// looked for inside the new epoch only, and the decision on the head is to be made again. Dismissals are final and stay.
func NewEpoch(l Ledger, at time.Time) Ledger {
	l = l.clone()
	l.Epoch++
	l.Laps, l.BudgetLaps = 0, 0
	l.LapSignatures, l.LapDecisions = [][]string{}, []Decision{}
	l.LapBlocking, l.LapHeads = []int{}, []string{}
	l.NotConverging = false
	l.Accusations, l.OpenConcerns = nil, []Concern{}
	l.Escalated, l.Causes = false, nil
	l.Waiting = nil
	for stage, s := range l.Stages {
		s.Attempts, s.Decided, s.LastFindingSignatures = 0, nil, nil
		l.Stages[stage] = s
	}
	l.UpdatedAt = at
	return l.settle()
}

// OverrideHead records that a person overrode the gate for the current head.
func OverrideHead(l Ledger, o Override) Ledger {
	l = l.clone()
	l.Override = &o
	// The case waits for nothing any more. What a person had asked for before is answered as well.
	l.Waiting = nil
	l.UpdatedAt = o.At
	return l.settle()
}

// Hold records that a case waits, for evidence (Parked) or for judges (Held). It costs no lap. A case that goes on
// waiting for the same keeps the time it began to.
func Hold(l Ledger, w Waiting) Ledger {
	l = l.clone()
	if old := l.Waiting; old != nil && old.For == w.For && old.Case.identity() == w.Case.identity() && !old.Since.IsZero() {
		w.Since = old.Since
		w.Asked = w.Asked || old.Asked
	}
	l.Current = w.Case.identity()
	l.Waiting = &w
	return l.settle()
}

// heldFor is how long the case has waited for judges.
func (l Ledger) heldFor(c Case, now time.Time) time.Duration {
	w := l.Waiting
	if w == nil || w.For != Held || w.Case.identity() != c.identity() || w.Since.IsZero() {
		return 0
	}
	return max(0, now.Sub(w.Since))
}

// enter appends entries, and counts what repeats an entry of the same head.
func (l Ledger) enter(entries []Entry) Ledger {
	for _, e := range entries {
		l.Counters[e.Kind]++
		same := func(o Entry) bool {
			return o.Kind == e.Kind && o.Lens == e.Lens && o.Head == e.Head && o.Cause == e.Cause
		}
		if i := slices.IndexFunc(l.Entries, same); i >= 0 {
			l.Entries[i].Times++
			l.Entries[i].Last = e.Last
			continue
		}
		l.Entries = append(l.Entries, e)
	}
	return l
}

// Result is what evidence and lenses say about a case before the ledger's rules.
type Result struct {
	Stage      Stage // empty means StageReview
	Case       Case
	Radius     prosecutor.Radius
	Decision   Decision             // Advance or LoopBack; anything else is taken for LoopBack
	Signatures []string             // of what contributed to a veto and of red evidence; order and repetition do not matter
	Blocking   int                  // number of blocking findings
	Accused    []prosecutor.Finding // blocking findings of judges, standing concerns included
	// Judged says that judges were asked, so that OpenConcerns is the whole list. Otherwise the open concerns stay.
	Judged       bool
	OpenConcerns []Concern
	At           time.Time
}

// Record records a result and applies the ledger's rules to it (semantics 6): a lap for a head that differs from the last
// recorded one, the budget, and oscillation. It returns the decision and, when that is ESCALATE, its causes. Recording a
// result again replaces what was recorded for the same head and costs nothing. maxLaps is convergence.max_laps.
//
// A merge group has no laps, no budget and no oscillation: of it only the stage is recorded.
func Record(l Ledger, r Result, maxLaps int) (Ledger, Decision, []Cause) {
	l = l.clone()
	if r.Stage == "" {
		r.Stage = StageReview
	}
	if r.Decision != Advance {
		r.Decision = LoopBack
	}
	signatures := cloned(r.Signatures)
	slices.Sort(signatures)
	signatures = slices.Compact(signatures)
	blocking := r.Blocking
	if r.Decision == Advance {
		signatures, blocking = []string{}, 0
	}

	if r.Stage == StageMergeQueue {
		before := l.Stages[r.Stage].Decided
		l = l.visit(r, r.Decision, signatures, before == nil || before.Head != r.Case.Head)
		return l.settle(), r.Decision, nil
	}

	spent := !l.lapOf(r.Case.Head)
	if spent {
		l.Laps++
		l.LapSignatures = append(l.LapSignatures, signatures)
		l.LapDecisions = append(l.LapDecisions, r.Decision)
		l.LapBlocking = append(l.LapBlocking, blocking)
		l.LapHeads = append(l.LapHeads, r.Case.Head)
	}
	last := len(l.LapHeads) - 1
	l.LapSignatures[last], l.LapBlocking[last] = signatures, blocking
	l.LapDecisions[last] = r.Decision
	l.BudgetLaps = l.sinceAdvance()
	l.NotConverging = rising(l.LapBlocking)

	decision, causes := r.Decision, []Cause(nil)
	if decision == LoopBack {
		if last > 0 && len(signatures) > 0 && slices.Equal(signatures, l.LapSignatures[last-1]) {
			causes = append(causes, Oscillation)
		}
		if l.BudgetLaps >= maxLaps {
			causes = append(causes, LapBudget)
		}
		if len(causes) > 0 {
			decision = Escalate
		}
	}
	l.LapDecisions[last] = decision
	l.Escalated, l.Causes = decision == Escalate, causes

	l.Current = r.Case.identity()
	l.Waiting, l.Override = nil, nil
	l.Radius = r.Radius
	l.accuse(r.Accused, r.Case.Head)
	if r.Judged {
		l.OpenConcerns = cloned(r.OpenConcerns)
	}
	l = l.visit(r, decision, signatures, spent)
	return l.settle(), decision, causes
}

// GiveUp records that judges were given up on: ESCALATE as not judged, or for want of an independent judge. It locks like
// any other escalation and costs no lap (semantics 7). Given up on in the merge queue, a case locks nothing: the change
// leaves the queue, and its own head was judged.
func GiveUp(l Ledger, r Result, cause Cause) (Ledger, Decision, []Cause) {
	l = l.clone()
	if r.Stage == "" {
		r.Stage = StageReview
	}
	s := l.Stages[r.Stage]
	s.LastVerdict, s.DecidedAt = Escalate, r.At
	c := r.Case
	s.Decided = &c
	l.Stages[r.Stage] = s
	l.UpdatedAt = r.At
	causes := []Cause{cause}
	if r.Stage == StageReview {
		l.Current = r.Case.identity()
		l.Radius = r.Radius
		l.Escalated, l.Causes = true, causes
		l.Waiting = nil
	}
	return l.settle(), Escalate, causes
}

// visit records a verdict of a stage.
func (l Ledger) visit(r Result, d Decision, signatures []string, attempt bool) Ledger {
	s := l.Stages[r.Stage]
	if attempt {
		s.Attempts++
	}
	c := r.Case
	s.LastVerdict, s.LastFindingSignatures, s.Decided, s.DecidedAt = d, signatures, &c, r.At
	l.Stages[r.Stage] = s
	l.UpdatedAt = r.At
	return l
}

// sinceAdvance is the number of laps since the epoch's last ADVANCE.
func (l Ledger) sinceAdvance() int {
	n := 0
	for i := len(l.LapDecisions) - 1; i >= 0 && l.LapDecisions[i] != Advance; i-- {
		n++
	}
	return n
}

// rising reports whether the last three counts rise strictly.
func rising(counts []int) bool {
	n := len(counts)
	return n >= 3 && counts[n-3] < counts[n-2] && counts[n-2] < counts[n-1]
}
