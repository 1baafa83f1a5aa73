package convergence_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prosecutor-bot/prosecutor/config"
	. "github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// allLenses is a gate that asks all lenses, and the facts for it.
func allLenses(t *testing.T, setting config.JudgeFailure) (*gate, Facts) {
	t.Helper()
	g := newGate(t)
	g.policy.JudgeFailure = setting
	f := facts()
	f.Radius, f.Lenses = prosecutor.RadiusHigh, prosecutor.Lenses()
	return g, f
}

func TestWhatFailuresSay(t *testing.T) {
	const c, s, x = prosecutor.Correctness, prosecutor.Security, prosecutor.Spec
	because := func(o LensOutcome, why string) LensOutcome {
		o.Err = errors.New(why)
		return o
	}
	noJudge := func(lens prosecutor.Lens) LensOutcome {
		return LensOutcome{Lens: lens, Verdict: prosecutor.Errored, NoJudge: true}
	}
	for name, tt := range map[string]struct {
		outcomes []LensOutcome
		waited   time.Duration
		reason   Reason
		detail   string
	}{
		"credentials":                      {[]LensOutcome{ship(c), failed(s, prosecutor.Auth), because(failed(x, prosecutor.Auth), "401")}, 0, AuthFailure, "spec: 401"},
		"the first of two":                 {[]LensOutcome{because(failed(c, prosecutor.Panic), "nil map"), because(failed(s, prosecutor.Panic), "out of range"), ship(x)}, 0, PanicFailure, "correctness: nil map"},
		"a bug after rejected credentials": {[]LensOutcome{ship(c), ship(s), {Lens: x, Verdict: prosecutor.Errored, ErrorKind: prosecutor.Panic, Failures: []prosecutor.ErrorKind{prosecutor.Auth}}}, 0, PanicFailure, ""},
		"without words":                    {[]LensOutcome{ship(c), ship(s), failed(x, prosecutor.Auth)}, 0, AuthFailure, ""},
		"no outcome":                       {[]LensOutcome{ship(c), ship(s)}, 0, PanicFailure, "spec: the lens spec was asked and has no outcome"},
		"two outcomes":                     {[]LensOutcome{ship(c), ship(s), ship(x), ship(x)}, 0, PanicFailure, "spec: the lens spec has 2 outcomes"},
		"independence":                     {[]LensOutcome{noJudge(c), ship(s), noJudge(x)}, 0, NoIndependence, "an independent judge is required for correctness, spec, and none is configured"},
		"out of time":                      {[]LensOutcome{failed(c, prosecutor.Timeout), ship(s), failed(x, prosecutor.Quota)}, 2 * time.Hour, NotJudgedInTime, "no judge for correctness, spec within 2h"},
	} {
		t.Run(name, func(t *testing.T) {
			g, f := allLenses(t, config.FailureHold)
			f.Waited = tt.waited
			r := g.decide(f, tt.outcomes...)
			if r.Reason != tt.reason || r.Detail != tt.detail || !r.Asked {
				t.Errorf("got %v, detail %q, asked %v", r, r.Detail, r.Asked)
			}
		})
	}
}

// TestWhatRulingsSayOfLenses: which lenses failed, were refuted or had a judge of the builder's family.
func TestWhatRulingsSayOfLenses(t *testing.T) {
	const c, s, x = prosecutor.Correctness, prosecutor.Security, prosecutor.Spec
	static, related := ship(c), ship(s)
	static.Static, related.SameFamily = true, true
	refuted := block(x, accusation("q", prosecutor.High))
	refuted.Refuted = true
	// The panel marks a refuted block as the ship that it counts as, and leaves its findings.
	shipped := refuted
	shipped.Verdict = prosecutor.Ship
	type lenses = []prosecutor.Lens
	for name, tt := range map[string]struct {
		outcomes                    []LensOutcome
		decision                    Decision
		failed, refuted, sameFamily lenses
		static                      bool
	}{
		"all by models":         {[]LensOutcome{ship(c), ship(s), ship(x)}, Advance, nil, nil, nil, false},
		"marked":                {[]LensOutcome{static, related, refuted}, Advance, nil, lenses{x}, lenses{s}, false},
		"marked as a ship":      {[]LensOutcome{static, related, shipped}, Advance, nil, lenses{x}, lenses{s}, false},
		"a failure before":      {[]LensOutcome{failed(c, prosecutor.Timeout), related, refuted}, Advance, lenses{c}, lenses{x}, lenses{s}, false},
		"a failure and a block": {[]LensOutcome{failed(c, prosecutor.Timeout), related, block(x)}, LoopBack, lenses{c}, nil, lenses{s}, false},
		"rules and a failure":   {[]LensOutcome{static, failed(s, prosecutor.Timeout), failed(x, prosecutor.Timeout)}, Advance, lenses{s, x}, nil, nil, true},
		"nothing but failures":  {[]LensOutcome{failed(c, prosecutor.Timeout), failed(s, prosecutor.Timeout), failed(x, prosecutor.Timeout)}, "", lenses{c, s, x}, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, f := allLenses(t, config.FailureApprove)
			r := g.decide(f, tt.outcomes...)
			if r.Decision != tt.decision || r.StaticOnly != tt.static || !r.Asked || !slices.Equal(r.LensesRun, prosecutor.Lenses()) {
				t.Errorf("got %v, static only %v, asked %v, lenses %v", r, r.StaticOnly, r.Asked, r.LensesRun)
			}
			for what, pair := range map[string][2]lenses{"failed": {tt.failed, r.Failed}, "refuted": {tt.refuted, r.Refuted}, "same family": {tt.sameFamily, r.SameFamily}} {
				if diff := cmp.Diff(pair[0], pair[1], cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: %s", what, diff)
				}
			}
		})
	}
}

// TestEntriesOfLensesWithoutAVerdict: each hold and each approval by failure, with its cause.
func TestEntriesOfLensesWithoutAVerdict(t *testing.T) {
	const c, s, x = prosecutor.Correctness, prosecutor.Security, prosecutor.Spec
	grave := accusation("q", prosecutor.High)
	busy := LensOutcome{Lens: s, Waiting: true}
	worst := LensOutcome{Lens: s, Verdict: prosecutor.Errored, ErrorKind: prosecutor.Quota, Failures: []prosecutor.ErrorKind{prosecutor.Timeout}}
	unnoted := LensOutcome{Lens: s, Verdict: prosecutor.Errored, ErrorKind: prosecutor.Quota}
	broken := LensOutcome{Lens: s, Waiting: true, Failures: []prosecutor.ErrorKind{prosecutor.Quota}}
	for name, tt := range map[string]struct {
		setting  config.JudgeFailure
		outcomes []LensOutcome
		outcome  Outcome
		want     []Entry
	}{
		"a failure":                   {config.FailureHold, []LensOutcome{ship(c), failed(s, prosecutor.Timeout), ship(x)}, Held, []Entry{{Kind: EntryHold, Lens: s, Cause: "timeout"}}},
		"nobody is free":              {config.FailureHold, []LensOutcome{ship(c), busy, ship(x)}, Held, []Entry{{Kind: EntryHold, Lens: s, Cause: "no judge is free"}}},
		"a quota, and nobody is free": {config.FailureHold, []LensOutcome{ship(c), broken, ship(x)}, Held, []Entry{{Kind: EntryHold, Lens: s, Cause: "quota"}}},
		"a quota after a failure":     {config.FailureApprove, []LensOutcome{ship(c), worst, ship(x)}, Held, []Entry{{Kind: EntryHold, Lens: s, Cause: "quota"}}},
		"a quota without its history": {config.FailureApprove, []LensOutcome{ship(c), unnoted, ship(x)}, Held, []Entry{{Kind: EntryHold, Lens: s, Cause: "quota"}}},
		"the gravest one":             {config.FailureApprove, []LensOutcome{ship(c), failed(s, prosecutor.Quota, prosecutor.Timeout), ship(x)}, Held, []Entry{{Kind: EntryHold, Lens: s, Cause: "quota"}}},
		"let through":                 {config.FailureApprove, []LensOutcome{ship(c), failed(s, prosecutor.Refusal), ship(x)}, Decided, []Entry{{Kind: EntryFailOpen, Lens: s, Cause: "refusal"}}},
		"beside a block":              {config.FailureHold, []LensOutcome{block(c, grave), failed(s, prosecutor.Timeout), failed(x, prosecutor.Quota)}, Decided, []Entry{{Kind: EntryHold, Lens: s, Cause: "timeout"}, {Kind: EntryHold, Lens: x, Cause: "quota"}}},
		"both, beside a block":        {config.FailureApprove, []LensOutcome{block(c, grave), failed(s, prosecutor.Timeout), failed(x, prosecutor.Quota)}, Decided, []Entry{{Kind: EntryHold, Lens: x, Cause: "quota"}, {Kind: EntryFailOpen, Lens: s, Cause: "timeout"}}},
		"a veto by failure":           {config.FailureVeto, []LensOutcome{ship(c), failed(s, prosecutor.Timeout), ship(x)}, Decided, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g, f := allLenses(t, tt.setting)
			r := g.decide(f, tt.outcomes...)
			for i := range tt.want {
				tt.want[i].Head, tt.want[i].Times, tt.want[i].First, tt.want[i].Last = "h1", 1, start, start
			}
			if diff := cmp.Diff(tt.want, r.Entries, cmpopts.EquateEmpty()); diff != "" || r.Outcome != tt.outcome {
				t.Errorf("got %v, entries %s", r, diff)
			}
			if diff := cmp.Diff(r.Entries, g.ledger.Entries, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("in the ledger: %s", diff)
			}
		})
	}
}

// TestHeldCaseIsTriedWhenTheLastProviderIsBack, whichever lens it serves.
func TestHeldCaseIsTriedWhenTheLastProviderIsBack(t *testing.T) {
	g, f := allLenses(t, config.FailureHold)
	until := func(lens prosecutor.Lens, hours int) LensOutcome {
		o := failed(lens, prosecutor.Quota)
		o.ResetAt = start.Add(time.Duration(hours) * time.Hour)
		return o
	}
	r := g.decide(f, until(prosecutor.Correctness, 1), until(prosecutor.Security, 3), until(prosecutor.Spec, 2))
	if want := start.Add(3 * time.Hour); !r.RetryAt.Equal(want) || !g.ledger.Waiting.RetryAt.Equal(want) {
		t.Errorf("retry at %s, waiting %+v", r.RetryAt, g.ledger.Waiting)
	}
}

// TestNobodyIsLetThroughBesideAStandingConcern that stands while no lens was judged.
func TestNobodyIsLetThroughBesideAStandingConcern(t *testing.T) {
	g := newGate(t)
	g.policy.JudgeFailure = config.FailureApprove
	g.policy.Convergence.MaxLaps = 9
	g.want(g.decide(facts(), block(prosecutor.Correctness, accusation("a", prosecutor.High), accusation("b", prosecutor.High))), Decided, LoopBack, LensVeto)
	f := onHead(facts(), "h2")
	f.Stands = func(a prosecutor.Anchor) bool { return a.Quote == "a" }
	r := g.decide(f, failed(prosecutor.Correctness, prosecutor.Timeout))
	g.want(r, Decided, LoopBack, StandingConcern)
	if len(r.Degraded) != 0 || len(r.Entries) != 1 || r.Entries[0].Kind != EntryHold || r.Title() != "LOOP_BACK: an earlier concern still stands" {
		t.Errorf("degraded %v, entries %+v, title %q", r.Degraded, r.Entries, r.Title())
	}
}

func TestConcernThatStoodIsClosedWhenItsLinesAreGone(t *testing.T) {
	g := newGate(t)
	g.policy.Convergence.MaxLaps = 9
	g.want(g.decide(facts(), block(prosecutor.Correctness, accusation("a", prosecutor.High), accusation("b", prosecutor.High))), Decided, LoopBack, LensVeto)
	f := onHead(facts(), "h2")
	f.Stands = func(a prosecutor.Anchor) bool { return a.Quote == "a" }
	g.want(g.decide(f, ship(prosecutor.Correctness)), Decided, LoopBack, StandingConcern)
	if len(g.ledger.OpenConcerns) != 1 {
		t.Fatalf("open concerns %+v", g.ledger.OpenConcerns)
	}
	f = onHead(facts(), "h3")
	f.Stands = gone
	g.want(g.decide(f, ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
	if len(g.ledger.OpenConcerns) != 0 || !g.ledger.Converged {
		t.Errorf("ledger %+v", g.ledger)
	}
}

// TestMergeGroupHasNoStandingConcerns: they are of the change's own laps.
func TestMergeGroupHasNoStandingConcerns(t *testing.T) {
	g := newGate(t)
	g.want(g.decide(facts(), block(prosecutor.Correctness, accusation("a", prosecutor.High))), Decided, LoopBack, LensVeto)
	group := by(onHead(facts(), "g1"), EventMergeGroup, Sender{})
	group.Stage, group.Stands = StageMergeQueue, stands
	g.ledger.Current.Head = "h2"
	g.want(g.decide(group, ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
}

// TestEvidenceIsNotDismissed: a person's word about a finding of a judge does not reach evidence of the same identity.
func TestEvidenceIsNotDismissed(t *testing.T) {
	g := newGate(t)
	g.ledger = SettleConcern(g.ledger, Settled{ID: "m", How: ByDismissal, By: "ada", At: start})
	survivor, said := accusation("m", prosecutor.Critical), accusation("m", prosecutor.High)
	survivor.Source, survivor.Claim = prosecutor.FromEvidence, "a mutant survived"
	r := g.decide(facts(), block(prosecutor.Correctness, survivor, said))
	g.want(r, Decided, LoopBack, LensVeto)
	if len(r.Blocking) != 1 || r.Blocking[0].Claim != survivor.Claim || len(r.Dismissed) != 1 || r.Dismissed[0].Claim != said.Claim {
		t.Errorf("blocking %+v, dismissed %+v", r.Blocking, r.Dismissed)
	}
}

// TestDismissedFindingIsKnownWithoutAnID by what identifies it.
func TestDismissedFindingIsKnownWithoutAnID(t *testing.T) {
	g := newGate(t)
	f := accusation("", prosecutor.High)
	g.ledger = SettleConcern(g.ledger, Settled{ID: prosecutor.Identify(f), How: ByDismissal, By: "ada", At: start})
	r := g.decide(facts(), block(prosecutor.Correctness, f))
	g.want(r, Decided, Advance, Unanimous)
	if !slices.Equal(r.Refuted, []prosecutor.Lens{prosecutor.Correctness}) {
		t.Errorf("ruling %+v", r)
	}
}

// TestRefuteIsForBlocks: a failure does not become a ship because its findings are gone, and a ship is not marked.
func TestRefuteIsForBlocks(t *testing.T) {
	everything := func(string) bool { return true }
	for _, verdict := range []prosecutor.Verdict{prosecutor.Ship, prosecutor.Errored, ""} {
		o := LensOutcome{Lens: prosecutor.Spec, Verdict: verdict, Findings: []prosecutor.Finding{accusation("a", prosecutor.High)}}
		if diff := cmp.Diff(o, Refute(o, everything)); diff != "" {
			t.Errorf("%q: %s", verdict, diff)
		}
	}
}
