package convergence_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prosecutor-bot/prosecutor/config"
	. "github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

var later = start.Add(time.Hour)

func caseAt(head string) Case { return onHead(facts(), head).Case }

// full is a ledger with something in every field that an open change can have. Its lists have room to spare, as those
// that were read from JSON may have.
func full(t *testing.T) Ledger {
	t.Helper()
	review, queue := caseAt("h2"), caseAt("g1")
	remembered := func(id string, lap int, head string) Concern {
		c := Remember(accusation(id, prosecutor.High))
		c.Lap, c.Head = lap, head
		return c
	}
	a, b := remembered("a", 1, "h1"), remembered("b", 2, "h2")
	l := roundTrip(t, Ledger{
		Version: 1, Epoch: 2, Laps: 2, BudgetLaps: 2, Radius: prosecutor.RadiusMedium,
		Stages: map[Stage]StageState{
			StageReview:     {LastVerdict: LoopBack, Attempts: 2, LastFindingSignatures: []string{"s2"}, Decided: &review, DecidedAt: start},
			StageMergeQueue: {LastVerdict: Advance, Attempts: 1, LastFindingSignatures: []string{}, Decided: &queue, DecidedAt: start},
		},
		LapSignatures: [][]string{{"s1"}, {"s2"}}, LapDecisions: []Decision{LoopBack, LoopBack}, LapBlocking: []int{1, 1}, LapHeads: []string{"h1", "h2"},
		NotConverging: true,
		Accusations:   []Concern{a, b}, OpenConcerns: []Concern{a, b},
		Dismissals: []Settled{{ID: "d", How: ByDismissal, By: "ada", Reason: "wanted", At: start}},
		Current:    review,
		Waiting:    &Waiting{For: Held, Case: review, Since: start, Lenses: []prosecutor.Lens{prosecutor.Correctness}},
		Override:   &Override{Head: "h2", By: "ada", Reason: "hotfix", At: start},
		Entries:    []Entry{{Kind: EntryHold, Lens: prosecutor.Correctness, Head: "h2", Cause: "timeout", Times: 1, First: start, Last: start}},
		Counters:   map[EntryKind]int{EntryHold: 1},
		UpdatedAt:  start,
	})
	l.LapSignatures, l.LapDecisions = slices.Grow(l.LapSignatures, 4), slices.Grow(l.LapDecisions, 4)
	l.LapBlocking, l.LapHeads = slices.Grow(l.LapBlocking, 4), slices.Grow(l.LapHeads, 4)
	l.Accusations, l.OpenConcerns = slices.Grow(l.Accusations, 4), slices.Grow(l.OpenConcerns, 4)
	l.Dismissals, l.Entries = slices.Grow(l.Dismissals, 4), slices.Grow(l.Entries, 4)
	return l
}

func ledgerOf(l Ledger, _ Decision, _ []Cause) Ledger { return l }

// transitions are all of them, on heads and things that full knows, and on others.
func transitions() map[string]func(Ledger) Ledger {
	c, s := prosecutor.Correctness, prosecutor.Security
	lap := func(head string, d Decision) Result {
		return Result{
			Case: caseAt(head), Radius: prosecutor.RadiusHigh, Decision: d, Signatures: []string{"of " + head}, Blocking: 3,
			Accused: []prosecutor.Finding{accusation("b", prosecutor.High), accusation("of "+head, prosecutor.High)}, Judged: true, At: later,
		}
	}
	group := lap("g2", LoopBack)
	group.Stage = StageMergeQueue
	held := func(l Ledger) Ledger {
		f := facts()
		f.Case, f.Now, f.Event, f.Sender = caseAt("h2"), later, EventProsecute, writer
		f.Lenses, f.Stands = []prosecutor.Lens{c, s}, gone
		return After(f, l, config.DefaultPolicy(), []LensOutcome{failed(c, prosecutor.Timeout), failed(s, prosecutor.Timeout)}).Ledger
	}
	return map[string]func(Ledger) Ledger{
		"push":           func(l Ledger) Ledger { return Push(l, "h3") },
		"same push":      func(l Ledger) Ledger { return Push(l, "h2") },
		"base":           func(l Ledger) Ledger { return BaseChange(l, "b2") },
		"policy":         func(l Ledger) Ledger { return PolicyChange(l, "p2") },
		"spec":           func(l Ledger) Ledger { return SpecChange(l, "s2") },
		"close":          func(l Ledger) Ledger { return Close(l, "merged", 0, later) },
		"reopen":         Reopen,
		"epoch":          func(l Ledger) Ledger { return NewEpoch(l, later) },
		"override":       func(l Ledger) Ledger { return OverrideHead(l, Override{Head: "h2", By: "eve", At: later}) },
		"park":           func(l Ledger) Ledger { return Hold(l, Waiting{For: Parked, Case: caseAt("h2"), Since: later}) },
		"hold":           held,
		"sent back":      func(l Ledger) Ledger { return ledgerOf(Record(l, lap("h3", LoopBack), 9)) },
		"let through":    func(l Ledger) Ledger { return ledgerOf(Record(l, lap("h4", Advance), 9)) },
		"looked at anew": func(l Ledger) Ledger { return ledgerOf(Record(l, lap("h2", LoopBack), 9)) },
		"group":          func(l Ledger) Ledger { return ledgerOf(Record(l, group, 9)) },
		"given up":       func(l Ledger) Ledger { return ledgerOf(GiveUp(l, lap("h3", ""), NotJudgedInTime)) },
		"refute":         func(l Ledger) Ledger { return SettleConcern(l, Settled{ID: "a", How: ByRefutation, At: later}) },
		"dismiss": func(l Ledger) Ledger {
			return SettleConcern(l, Settled{ID: "a", How: ByDismissal, By: "ada", At: later})
		},
		"dismiss other": func(l Ledger) Ledger {
			return SettleConcern(l, Settled{ID: "b", How: ByDismissal, By: "ada", At: later})
		},
	}
}

// TestTransitionsLeaveLedgersAlone: neither the ledger that a transition was given changes, nor another one that was made
// of it.
func TestTransitionsLeaveLedgersAlone(t *testing.T) {
	text := func(l Ledger) string {
		raw, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for first, one := range transitions() {
		for second, other := range transitions() {
			given := full(t)
			before := text(given)
			made := one(given)
			if diff := cmp.Diff(before, text(given)); diff != "" {
				t.Fatalf("%s changed the ledger it was given: %s", first, diff)
			}
			was := text(made)
			other(given)
			if diff := cmp.Diff(was, text(made)); diff != "" {
				t.Errorf("%s changed the ledger that %s had made: %s", second, first, diff)
			}
		}
	}
}

func TestTransitionsMakeTheZeroLedgerWhole(t *testing.T) {
	for name, change := range transitions() {
		l := change(Ledger{})
		if l.Version != 1 || l.Epoch < 1 || l.Stages == nil || l.Counters == nil || l.LapSignatures == nil ||
			l.LapDecisions == nil || l.LapBlocking == nil || l.LapHeads == nil || l.OpenConcerns == nil {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if l := Push(Ledger{Version: 7}, "h1"); l.Version != 7 {
		t.Errorf("a ledger of version 7 became one of %d", l.Version)
	}
}

func TestNewLedgerAsJSON(t *testing.T) {
	got, err := json.Marshal(New())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":1,"epoch":1,"laps":0,"budget_laps":0,"stages":{},"lap_signatures":[],"lap_decisions":[],"lap_blocking":[],"lap_heads":[],` +
		`"not_converging":false,"open_concerns":[],"converged":false,"escalated":false,` +
		`"current":{"repo":"","change":"","base":"","head":"","policy_hash":"","spec_hash":""},"counters":{},"closed":false}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestWhatTransitionsChange says what becomes of each field of a full ledger. Whatever a row does not name stays.
func TestWhatTransitionsChange(t *testing.T) {
	stage := func(l *Ledger, s Stage, change func(*StageState)) {
		state := l.Stages[s]
		change(&state)
		l.Stages[s] = state
	}
	leftQueue := func(l *Ledger) {
		stage(l, StageMergeQueue, func(s *StageState) { s.LastVerdict, s.Decided = "", nil })
	}
	visited := func(head string, d Decision, signatures ...string) func(*StageState) {
		c := caseAt(head)
		return func(s *StageState) {
			s.LastVerdict, s.LastFindingSignatures, s.Decided, s.DecidedAt = d, signatures, &c, later
		}
	}
	// decided is what every decision of the review does.
	decided := func(l *Ledger, head string) {
		l.Current = caseAt(head)
		l.Waiting, l.Override, l.Radius, l.UpdatedAt = nil, nil, prosecutor.RadiusHigh, later
		l.OpenConcerns = []Concern{}
	}
	accused := func(id string, lap int, head string) Concern {
		c := Remember(accusation(id, prosecutor.High))
		c.Lap, c.Head = lap, head
		return c
	}
	for name, want := range map[string]func(*Ledger){
		"push": func(l *Ledger) {
			l.Current.Head = "h3"
			l.Waiting, l.Override = nil, nil
			leftQueue(l)
		},
		"same push": func(*Ledger) {},
		"base":      func(l *Ledger) { l.Current.Base, l.Waiting = "b2", nil },
		"policy":    func(l *Ledger) { l.Current.PolicyHash, l.Waiting = "p2", nil },
		"spec":      func(l *Ledger) { l.Current.SpecHash, l.Waiting = "s2", nil },
		"close": func(l *Ledger) {
			l.Closed, l.Outcome, l.ClosedAt, l.KeepDays, l.UpdatedAt = true, "merged", later, 180, later
			l.Waiting = nil
		},
		"reopen": func(*Ledger) {},
		"epoch": func(l *Ledger) {
			l.Epoch, l.Laps, l.BudgetLaps, l.UpdatedAt = 3, 0, 0, later
			l.LapSignatures, l.LapDecisions, l.LapBlocking, l.LapHeads = [][]string{}, []Decision{}, []int{}, []string{}
			l.NotConverging, l.Waiting = false, nil
			l.Accusations, l.OpenConcerns = nil, []Concern{}
			again := func(s *StageState) { s.Attempts, s.Decided, s.LastFindingSignatures = 0, nil, nil }
			stage(l, StageReview, again)
			stage(l, StageMergeQueue, again)
		},
		"override": func(l *Ledger) {
			l.Override, l.Waiting, l.UpdatedAt = &Override{Head: "h2", By: "eve", At: later}, nil, later
		},
		"park": func(l *Ledger) { l.Waiting = &Waiting{For: Parked, Case: caseAt("h2"), Since: later} },
		"hold": func(l *Ledger) {
			l.Waiting = &Waiting{For: Held, Case: caseAt("h2"), Since: start, Lenses: []prosecutor.Lens{prosecutor.Correctness, prosecutor.Security}, Asked: true}
			l.Waiting.Case.EvidenceStates = "code_scanning=clean ci_checks=clean"
			l.Entries[0].Times, l.Entries[0].Last = 2, later
			l.Entries = append(l.Entries, Entry{Kind: EntryHold, Lens: prosecutor.Security, Head: "h2", Cause: "timeout", Times: 1, First: later, Last: later})
			l.Counters[EntryHold] = 3
		},
		"sent back": func(l *Ledger) {
			decided(l, "h3")
			l.Laps, l.BudgetLaps = 3, 3
			l.LapSignatures, l.LapDecisions = [][]string{{"s1"}, {"s2"}, {"of h3"}}, []Decision{LoopBack, LoopBack, LoopBack}
			l.LapBlocking, l.LapHeads = []int{1, 1, 3}, []string{"h1", "h2", "h3"}
			l.NotConverging = false
			l.Accusations = []Concern{accused("a", 1, "h1"), accused("b", 2, "h2"), accused("of h3", 3, "h3")}
			stage(l, StageReview, visited("h3", LoopBack, "of h3"))
			stage(l, StageReview, func(s *StageState) { s.Attempts = 3 })
		},
		"let through": func(l *Ledger) {
			decided(l, "h4")
			l.Laps, l.BudgetLaps = 3, 0
			l.LapSignatures, l.LapDecisions = [][]string{{"s1"}, {"s2"}, {}}, []Decision{LoopBack, LoopBack, Advance}
			l.LapBlocking, l.LapHeads = []int{1, 1, 0}, []string{"h1", "h2", "h4"}
			l.NotConverging = false
			l.Accusations = []Concern{accused("a", 1, "h1"), accused("b", 2, "h2"), accused("of h4", 3, "h4")}
			l.Converged = true
			stage(l, StageReview, visited("h4", Advance))
			stage(l, StageReview, func(s *StageState) { s.Attempts = 3 })
		},
		"looked at anew": func(l *Ledger) {
			decided(l, "h2")
			l.LapSignatures, l.LapBlocking = [][]string{{"s1"}, {"of h2"}}, []int{1, 3}
			l.NotConverging = false
			l.Accusations = []Concern{accused("a", 1, "h1"), accused("b", 2, "h2"), accused("of h2", 2, "h2")}
			stage(l, StageReview, visited("h2", LoopBack, "of h2"))
		},
		"group": func(l *Ledger) {
			l.UpdatedAt = later
			stage(l, StageMergeQueue, visited("g2", LoopBack, "of g2"))
			stage(l, StageMergeQueue, func(s *StageState) { s.Attempts = 2 })
		},
		"given up": func(l *Ledger) {
			l.Current, l.Radius, l.UpdatedAt = caseAt("h3"), prosecutor.RadiusHigh, later
			l.Escalated, l.Causes = true, []Cause{NotJudgedInTime}
			l.Waiting = nil
			c := caseAt("h3")
			stage(l, StageReview, func(s *StageState) { s.LastVerdict, s.Decided, s.DecidedAt = Escalate, &c, later })
		},
		"refute": func(l *Ledger) {
			l.Accusations[0].Settled = ByRefutation
			l.OpenConcerns = l.OpenConcerns[1:]
		},
		"dismiss": func(l *Ledger) {
			l.Accusations[0].Settled = ByDismissal
			l.OpenConcerns = l.OpenConcerns[1:]
			l.Dismissals = append(l.Dismissals, Settled{ID: "a", How: ByDismissal, By: "ada", At: later})
		},
		"dismiss other": func(l *Ledger) {
			l.Accusations[1].Settled = ByDismissal
			l.OpenConcerns = l.OpenConcerns[:1]
			l.Dismissals = append(l.Dismissals, Settled{ID: "b", How: ByDismissal, By: "ada", At: later})
		},
	} {
		t.Run(name, func(t *testing.T) {
			expected := full(t)
			want(&expected)
			if diff := cmp.Diff(expected, transitions()[name](full(t)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPushOfAChangeThatNeverQueued(t *testing.T) {
	if l := Push(New(), "h1"); len(l.Stages) != 0 {
		t.Errorf("a push visited %v", l.Stages)
	}
}

// TestNewEpochEndsConvergence: the head is to be decided again, whatever was decided about it.
func TestNewEpochEndsConvergence(t *testing.T) {
	l, _, _ := Record(New(), Result{Case: caseAt("h1"), Decision: Advance, At: start}, 3)
	if next := NewEpoch(l, later); !l.Converged || next.Converged {
		t.Errorf("converged %v, then %v", l.Converged, next.Converged)
	}
}

func TestClosedChangeIsKeptForWholeDays(t *testing.T) {
	for keep, want := range map[time.Duration]int{
		0: 180, -time.Hour: 180, time.Nanosecond: 1, 24 * time.Hour: 1, 25 * time.Hour: 2, 48 * time.Hour: 2, 365 * 24 * time.Hour: 365,
	} {
		if l := Close(New(), "closed", keep, later); l.KeepDays != want {
			t.Errorf("%s: kept for %d days, want %d", keep, l.KeepDays, want)
		}
	}
}

func TestReopenedChangeGoesOnWhereItWas(t *testing.T) {
	open := full(t)
	open.Waiting = nil
	again := Reopen(Close(open, "closed", time.Hour, open.UpdatedAt))
	if diff := cmp.Diff(open, again); diff != "" {
		t.Errorf("(-open +reopened):\n%s", diff)
	}
}

func TestGivingUpInTheMergeQueueLocksNothing(t *testing.T) {
	want := full(t)
	group := caseAt("g2")
	s := want.Stages[StageMergeQueue]
	s.LastVerdict, s.Decided, s.DecidedAt = Escalate, &group, later
	want.Stages[StageMergeQueue] = s
	want.UpdatedAt = later
	got, decision, causes := GiveUp(full(t), Result{Stage: StageMergeQueue, Case: group, Radius: prosecutor.RadiusHigh, At: later}, NotJudgedInTime)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if decision != Escalate || !slices.Equal(causes, []Cause{NotJudgedInTime}) {
		t.Errorf("got %s %v", decision, causes)
	}
}

func TestSecondLookAtAGroupIsNoAttempt(t *testing.T) {
	l := New()
	for i, want := range []struct {
		head     string
		attempts int
	}{{"", 1}, {"", 1}, {"g1", 2}, {"g1", 2}, {"g2", 3}} {
		l, _, _ = Record(l, Result{Stage: StageMergeQueue, Case: caseAt(want.head), Decision: LoopBack}, 3)
		if got := l.Stages[StageMergeQueue].Attempts; got != want.attempts {
			t.Errorf("decision %d, on %q: %d attempts, want %d", i, want.head, got, want.attempts)
		}
	}
}

// TestWhatRecordDecides: only an ADVANCE stays one, and only what was sent back can escalate.
func TestWhatRecordDecides(t *testing.T) {
	for _, tt := range []struct {
		decision Decision
		maxLaps  int
		want     Decision
		causes   []Cause
	}{
		{Advance, 3, Advance, nil},
		{Advance, 0, Advance, nil},
		{LoopBack, 2, LoopBack, nil},
		{LoopBack, 1, Escalate, []Cause{LapBudget}},
		{"", 2, LoopBack, nil},
		{"advance", 2, LoopBack, nil},
		{Escalate, 2, LoopBack, nil},
		{Escalate, 1, Escalate, []Cause{LapBudget}},
	} {
		l, got, causes := Record(New(), Result{Case: caseAt("h1"), Decision: tt.decision}, tt.maxLaps)
		if got != tt.want || !slices.Equal(causes, tt.causes) || l.Review().LastVerdict != tt.want || !slices.Equal(l.LapDecisions, []Decision{tt.want}) ||
			l.Escalated != (tt.want == Escalate) || !slices.Equal(l.Causes, tt.causes) {
			t.Errorf("%q with a budget of %d: %s %v, ledger %+v", tt.decision, tt.maxLaps, got, causes, l)
		}
	}
}

// TestSameFindingsInAnyOrderAreARepetition: signatures are a set.
func TestSameFindingsInAnyOrderAreARepetition(t *testing.T) {
	l, _, _ := Record(New(), Result{Case: caseAt("h1"), Signatures: []string{"b", "a", "b"}}, 9)
	l, d, causes := Record(l, Result{Case: caseAt("h2"), Signatures: []string{"a", "a", "b"}}, 9)
	if d != Escalate || !slices.Equal(causes, []Cause{Oscillation}) {
		t.Errorf("got %s %v", d, causes)
	}
	if diff := cmp.Diff([][]string{{"a", "b"}, {"a", "b"}}, l.LapSignatures); diff != "" {
		t.Error(diff)
	}
}

// TestNotConverging: the number of blocking findings has to rise strictly over the last three laps.
func TestNotConverging(t *testing.T) {
	for _, tt := range []struct {
		blocking []int
		want     bool
	}{
		{[]int{1, 2}, false},
		{[]int{1, 2, 3}, true},
		{[]int{2, 2, 3}, false},
		{[]int{5, 2, 3}, false},
		{[]int{1, 2, 2}, false},
		{[]int{1, 3, 2}, false},
		{[]int{9, 1, 2, 3}, true},
		{[]int{1, 2, 3, 3}, false},
	} {
		l := New()
		for i, n := range tt.blocking {
			l, _, _ = Record(l, Result{Case: caseAt(fmt.Sprint("h", i)), Signatures: []string{fmt.Sprint(i)}, Blocking: n}, 99)
		}
		if l.NotConverging != tt.want {
			t.Errorf("%v: not converging = %v", tt.blocking, l.NotConverging)
		}
	}
}

// TestHoldGoesOn: the clock goes on for the same case that waits for the same, and that somebody asked is not forgotten.
func TestHoldGoesOn(t *testing.T) {
	w := func(of Outcome, head string, since time.Time, asked bool) Waiting {
		return Waiting{For: of, Case: caseAt(head), Since: since, Asked: asked}
	}
	for name, tt := range map[string]struct{ before, now, want Waiting }{
		"the same":            {w(Held, "h1", start, false), w(Held, "h1", later, false), w(Held, "h1", start, false)},
		"asked before":        {w(Held, "h1", start, true), w(Held, "h1", later, false), w(Held, "h1", start, true)},
		"asked now":           {w(Held, "h1", start, false), w(Held, "h1", later, true), w(Held, "h1", start, true)},
		"another head":        {w(Held, "h1", start, true), w(Held, "h2", later, false), w(Held, "h2", later, false)},
		"for something else":  {w(Parked, "h1", start, true), w(Held, "h1", later, false), w(Held, "h1", later, false)},
		"since nobody knows":  {w(Held, "h1", time.Time{}, false), w(Held, "h1", later, false), w(Held, "h1", later, false)},
		"asked, nobody knows": {w(Held, "h1", time.Time{}, true), w(Held, "h1", later, false), w(Held, "h1", later, false)},
	} {
		l := Hold(Hold(New(), tt.before), tt.now)
		if diff := cmp.Diff(&tt.want, l.Waiting); diff != "" || l.Current != tt.now.Case {
			t.Errorf("%s: current %+v, waiting %s", name, l.Current, diff)
		}
	}
}

// TestHoldOfUnknownBeginning: nobody is given up on because the beginning of a hold, or the time, is not known.
func TestHoldOfUnknownBeginning(t *testing.T) {
	for name, tt := range map[string]struct{ since, now time.Time }{"since": {time.Time{}, start}, "now": {start, time.Time{}}} {
		g := newGate(t)
		g.ledger = Hold(g.ledger, Waiting{For: Held, Case: facts().Case, Since: tt.since})
		f := facts()
		f.Now = tt.now
		if r := g.decide(f, failed(prosecutor.Correctness, prosecutor.Timeout)); r.Outcome != Held || r.LapSpent {
			t.Errorf("%s is not known: %v", name, r)
		}
	}
}

// TestHoldOfTheReviewIsNotThatOfAGroup: each has a clock of its own.
func TestHoldOfTheReviewIsNotThatOfAGroup(t *testing.T) {
	g := newGate(t)
	g.want(g.decide(facts(), failed(prosecutor.Correctness, prosecutor.Timeout)), Held, "", JudgeFailure)
	group := by(onHead(facts(), "g1"), EventMergeGroup, Sender{})
	group.Stage, group.Now = StageMergeQueue, start.Add(24*time.Hour)
	g.want(g.decide(group, failed(prosecutor.Correctness, prosecutor.Timeout)), Held, "", JudgeFailure)
}

// TestEntriesCountWhatRepeats: one entry for kind, lens, head and cause.
func TestEntriesCountWhatRepeats(t *testing.T) {
	const c, s = prosecutor.Correctness, prosecutor.Security
	g := newGate(t)
	hold := func(head string, now time.Time, outcomes ...LensOutcome) {
		f := onHead(facts(), head)
		f.Now, f.Lenses = now, []prosecutor.Lens{c, s}
		g.want(g.decide(f, outcomes...), Held, "", JudgeFailure)
	}
	hold("h1", start, failed(c, prosecutor.Timeout), ship(s))
	hold("h1", later, failed(c, prosecutor.Timeout), failed(s, prosecutor.Timeout))
	hold("h1", later, failed(c, prosecutor.Quota), ship(s))
	hold("h2", later, failed(c, prosecutor.Timeout), ship(s))
	entry := func(lens prosecutor.Lens, head, cause string, times int, first time.Time) Entry {
		return Entry{Kind: EntryHold, Lens: lens, Head: head, Cause: cause, Times: times, First: first, Last: later}
	}
	want := []Entry{
		entry(c, "h1", "timeout", 2, start), entry(s, "h1", "timeout", 1, later),
		entry(c, "h1", "quota", 1, later), entry(c, "h2", "timeout", 1, later),
	}
	if diff := cmp.Diff(want, g.ledger.Entries); diff != "" || g.ledger.Counters[EntryHold] != 5 {
		t.Errorf("counters %v, entries %s", g.ledger.Counters, diff)
	}
}
