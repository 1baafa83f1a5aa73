package convergence_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/config"
	. "github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

func TestWhatGuardsSay(t *testing.T) {
	sentBack, _, _ := Record(New(), Result{Case: decidedCase(facts()), Decision: LoopBack, At: start}, 3)
	escalated, _, _ := Record(New(), Result{Case: facts().Case, Decision: LoopBack, At: start}, 1)
	switched := func(by string) Facts {
		f := facts()
		f.KillSwitch, f.SwitchedOff = true, by
		return f
	}
	unjudgeable := func(why Reason, detail string) Facts {
		f := facts()
		f.Unjudgeable, f.Unjudgeably = why, detail
		return f
	}
	draft, superseded, aimless := facts(), facts(), facts()
	draft.Draft, superseded.Superseded, aimless.Lenses = true, true, nil
	disabled := config.DefaultPolicy()
	disabled.Enabled = false

	for name, tt := range map[string]struct {
		facts  Facts
		ledger Ledger
		policy *config.Policy
		reason Reason
		detail string
		title  string
	}{
		"switched off":            {switched("by ada"), New(), nil, KillSwitch, "by ada", "Not judged: switched off (by ada)"},
		"switched off by nobody":  {switched(""), New(), nil, KillSwitch, "", "Not judged: switched off"},
		"disabled":                {facts(), New(), disabled, KillSwitch, "the policy has enabled: false", "Not judged: switched off (the policy has enabled: false)"},
		"draft":                   {draft, New(), nil, Draft, "", "Not judged: a draft"},
		"draft, asked by reader":  {by(draft, EventProsecute, reader), New(), nil, NotPermitted, "", "Not judged: only a person with write access may ask for this"},
		"event":                   {by(facts(), "star.created", writer), New(), nil, UnsupportedEvent, "star.created", "Not judged: the gate does not serve the event star.created"},
		"closed":                  {facts(), Close(New(), "merged", 0, start), nil, ChangeClosed, "merged", "Not judged: the change is closed"},
		"overridden":              {facts(), OverrideHead(sentBack, Override{Head: "h1", By: "ada"}), nil, Overridden, "ada", "Overridden by a person (ada)"},
		"escalated":               {facts(), escalated, nil, AwaitsPerson, "", "Not judged: escalated, and waits for a person with write access to run /prosecute"},
		"escalated, asked by bot": {by(facts(), EventProsecute, machine), escalated, nil, NotPermitted, "", "Not judged: only a person with write access may ask for this"},
		"decided":                 {facts(), sentBack, nil, AlreadyDecided, "", "Not judged again: already decided"},
		"decided, pushed again":   {by(facts(), EventPush, writer), sentBack, nil, AlreadyDecided, "", "Not judged again: already decided"},
		"superseded":              {superseded, New(), nil, Superseded, "", "Superseded by a newer head"},
		"broken policy":           {unjudgeable(BrokenPolicy, "line 3"), New(), nil, BrokenPolicy, "line 3", "Not judged: the policy file on the base branch is broken (line 3)"},
		"only excluded":           {unjudgeable(OnlyExcluded, ""), New(), nil, OnlyExcluded, "", "Not judged: only excluded files, too large to read"},
		"unreadable":              {unjudgeable(Internal, "the diff cannot be read"), New(), nil, Internal, "the diff cannot be read", "Not judged: the diff cannot be read"},
		"no lens":                 {aimless, New(), nil, Internal, "no lens was asked for: the blast radius of the case is not known", "Not judged: no lens was asked for: the blast radius of the case is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.policy == nil {
				tt.policy = config.DefaultPolicy()
			}
			r := Before(tt.facts, tt.ledger, tt.policy).Ruling
			if r == nil {
				t.Fatal("no guard ends the case")
			}
			if r.Reason != tt.reason || r.Detail != tt.detail || r.Title() != tt.title || r.Decision != "" || r.Asked {
				t.Errorf("got %v, detail %q, title %q, asked %v", r, r.Detail, r.Title(), r.Asked)
			}
		})
	}

	f := unjudgeable(BrokenPolicy, "line 3")
	if r := Before(f, New(), nil).Ruling; r.Detail != "line 3" || r.MaxLaps != 0 {
		t.Errorf("without a policy: %v, detail %q", r, r.Detail)
	}
}

// decidedCase is the case of the facts as a decision about it is recorded.
func decidedCase(f Facts) Case {
	c := f.Case
	c.EvidenceStates = EvidenceStates(f.Evidence)
	return c
}

// TestGuardedLedgerIsWhole: a guard changes nothing, but what it returns can be stored.
func TestGuardedLedgerIsWhole(t *testing.T) {
	f := facts()
	f.Superseded = true
	if diff := cmp.Diff(New(), Before(f, Ledger{}, config.DefaultPolicy()).Ledger); diff != "" {
		t.Error(diff)
	}
}

func TestReopenedChangeThatWasNotClosed(t *testing.T) {
	f := by(facts(), EventReopened, writer)
	step := Before(f, New(), config.DefaultPolicy())
	if step.Ruling != nil || step.Ledger.Closed {
		t.Errorf("step %+v", step)
	}
}

func TestOverrideStandsUntilAskedAfterIt(t *testing.T) {
	sentBack := func(t *testing.T) *gate {
		g := newGate(t)
		g.want(g.decide(facts(), block(prosecutor.Correctness)), Decided, LoopBack, LensVeto)
		return g
	}
	at := func(f Facts, minutes int) Facts {
		f.Now = start.Add(time.Duration(minutes) * time.Minute)
		return f
	}
	override := Override{Head: "h1", By: "ada", At: start.Add(time.Minute)}

	t.Run("what was asked before it has waited", func(t *testing.T) {
		g := sentBack(t)
		g.want(g.decide(by(facts(), EventProsecute, writer), failed(prosecutor.Correctness, prosecutor.Quota)), Held, "", JudgeFailure)
		g.ledger = OverrideHead(g.ledger, override)
		g.want(g.decide(at(by(facts(), EventPolicyOrBase, Sender{}), 2)), NotJudged, "", Overridden)
	})
	t.Run("what was asked before it was being judged", func(t *testing.T) {
		g := sentBack(t)
		f := by(facts(), EventProsecute, writer)
		step := Before(f, g.ledger, g.policy)
		r := After(f, OverrideHead(step.Ledger, override), g.policy, []LensOutcome{block(prosecutor.Correctness)})
		g.want(r, NotJudged, "", Overridden)
		if r.Detail != "ada" || r.Ledger.Override == nil || r.CheckRun().Conclusion != Neutral {
			t.Errorf("ruling %+v", r)
		}
	})
	t.Run("what was asked after it waits", func(t *testing.T) {
		g := sentBack(t)
		g.ledger = OverrideHead(g.ledger, override)
		f := at(by(facts(), EventProsecute, writer), 2)
		g.want(g.decide(withEvidence(f, prosecutor.CIChecks, prosecutor.Pending)), Parked, "", PendingEvidence)
		g.want(g.decide(at(by(facts(), EventChecksFinished, Sender{}), 3), ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
	})
	t.Run("and says nothing about another head", func(t *testing.T) {
		g := sentBack(t)
		g.ledger = OverrideHead(g.ledger, Override{Head: "h0", By: "ada", At: start})
		g.want(g.decide(facts()), NotJudged, "", AlreadyDecided)
	})
	t.Run("and says nothing about the merge queue", func(t *testing.T) {
		g := sentBack(t)
		g.ledger = OverrideHead(g.ledger, override)
		group := by(facts(), EventMergeGroup, Sender{})
		group.Stage = StageMergeQueue
		g.want(g.decide(group, ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
	})
}

// TestWaitingAsksForNothingByItself: only a person's request is remembered, and only for the case it was made about.
func TestWaitingAsksForNothingByItself(t *testing.T) {
	pending := withEvidence(facts(), prosecutor.CIChecks, prosecutor.Pending)

	g := newGate(t)
	g.want(g.decide(by(pending, EventPush, writer)), Parked, "", PendingEvidence)
	draft := by(facts(), EventChecksFinished, Sender{})
	draft.Draft = true
	g.want(g.decide(draft), NotJudged, "", Draft)

	g = newGate(t)
	group := by(onHead(facts(), "g1"), EventMergeGroup, Sender{})
	group.Stage = StageMergeQueue
	g.want(g.decide(facts(), ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
	g.want(g.decide(group, ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
	g.want(g.decide(by(pending, EventProsecute, writer)), Parked, "", PendingEvidence)
	g.want(g.decide(group), NotJudged, "", AlreadyDecided)
}

// TestWaitingMergeGroupIsNotRemembered: what the ledger waits for belongs to the review.
func TestWaitingMergeGroupIsNotRemembered(t *testing.T) {
	for name, outcome := range map[string]Outcome{"pending evidence": Parked, "no judge": Held} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			g.want(g.decide(facts(), ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
			group := by(onHead(facts(), "g1"), EventMergeGroup, Sender{})
			group.Stage = StageMergeQueue
			if outcome == Parked {
				group = withEvidence(group, prosecutor.CIChecks, prosecutor.Pending)
			}
			r := g.decide(group, failed(prosecutor.Correctness, prosecutor.Timeout))
			if r.Outcome != outcome || g.ledger.Waiting != nil || g.ledger.Current != facts().Case || !g.ledger.Converged {
				t.Errorf("got %v, ledger %+v", r, g.ledger)
			}
		})
	}
}

func TestAfterWithoutAKnownCase(t *testing.T) {
	r := After(facts(), New(), config.DefaultPolicy(), []LensOutcome{ship(prosecutor.Correctness)})
	if r.Decision != Advance {
		t.Errorf("got %v", r)
	}
}

func TestLensesAreAskedInOrderAndOnce(t *testing.T) {
	f := facts()
	f.Lenses = []prosecutor.Lens{"style", prosecutor.Spec, prosecutor.Correctness, prosecutor.Spec, "style"}
	want := []prosecutor.Lens{prosecutor.Correctness, prosecutor.Spec, "style"}
	if got := Before(f, New(), config.DefaultPolicy()).Lenses; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// TestEvidenceIsShown: whatever evidence has found is in the ruling, also what blocks nothing.
func TestEvidenceIsShown(t *testing.T) {
	finding := func(id string, severity prosecutor.Severity) prosecutor.Finding {
		return prosecutor.Finding{ID: id, Source: prosecutor.FromEvidence, Severity: severity, Claim: id}
	}
	remark, secret, leak := finding("remark", prosecutor.Low), finding("secret", prosecutor.Critical), finding("leak", prosecutor.High)
	accepted := withEvidence(facts(), prosecutor.StaticRules, prosecutor.Clean, remark)
	red := withEvidence(withEvidence(accepted, prosecutor.CodeScanning, prosecutor.Red, secret), prosecutor.CIChecks, prosecutor.Red, leak, secret)
	empty := red
	empty.Preflight = &prosecutor.Finding{ID: "empty", Source: prosecutor.FromRule, Severity: prosecutor.Critical, Charge: prosecutor.ChargeSpec, Claim: "empty"}
	for name, tt := range map[string]struct {
		facts    Facts
		outcome  Outcome
		findings []string
		blocking []string
	}{
		"beside a judge": {accepted, Decided, []string{"remark", "wrong"}, []string{"wrong"}},
		"while it pends": {withEvidence(accepted, prosecutor.HollowTest, prosecutor.Pending), Parked, []string{"remark"}, nil},
		"red":            {red, Decided, []string{"secret", "leak", "remark"}, []string{"secret", "leak"}},
		"no change":      {empty, Decided, []string{"empty", "secret", "leak", "remark"}, []string{"empty", "secret", "leak"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			r := g.decide(tt.facts, block(prosecutor.Correctness, accusation("wrong", prosecutor.High)))
			if r.Outcome != tt.outcome || !slices.Equal(ids(r.Findings), tt.findings) || !slices.Equal(ids(r.Blocking), tt.blocking) {
				t.Errorf("got %v, findings %v, blocking %v", r, ids(r.Findings), ids(r.Blocking))
			}
		})
	}
}

func ids(findings []prosecutor.Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.ID)
	}
	return out
}

// TestSentBackIsOfWhatWasSentBack: an escalation still says what it was sent back for, and an ADVANCE was not sent back.
func TestSentBackIsOfWhatWasSentBack(t *testing.T) {
	g := newGate(t)
	g.policy.Convergence.MaxLaps = 2
	if r := g.decide(facts(), ship(prosecutor.Correctness)); r.SentBack != "" {
		t.Errorf("%v: sent back for %s", r, r.SentBack)
	}
	if r := g.decide(onHead(facts(), "h2"), block(prosecutor.Correctness)); r.SentBack != LensVeto {
		t.Errorf("%v: sent back for %s", r, r.SentBack)
	}
	r := g.decide(onHead(facts(), "h3"), block(prosecutor.Correctness))
	g.want(r, Decided, Escalate, LapBudget)
	if r.SentBack != LensVeto || !slices.Equal(r.Causes, []Reason{LapBudget}) || r.Title() != "ESCALATE: vetoed by correctness; lap budget 2/2" {
		t.Errorf("sent back for %s, causes %v, title %q", r.SentBack, r.Causes, r.Title())
	}
}

func TestRisingFindingsAreShown(t *testing.T) {
	g := newGate(t)
	g.policy.Convergence.MaxLaps = 9
	var found []prosecutor.Finding
	for i, title := range []string{"LOOP_BACK: vetoed by correctness", "LOOP_BACK: vetoed by correctness", "LOOP_BACK: vetoed by correctness; not converging"} {
		found = append(found, accusation(fmt.Sprint("f", i), prosecutor.High))
		r := g.decide(onHead(facts(), fmt.Sprint("h", i)), block(prosecutor.Correctness, found...))
		if r.Title() != title {
			t.Errorf("lap %d: title %q", r.Laps, r.Title())
		}
	}
}

func TestJudgingThatIsGivenUp(t *testing.T) {
	stood := accusation("a", prosecutor.High)
	before, _, _ := Record(New(), Result{Case: facts().Case, Decision: LoopBack, Blocking: 1, Accused: []prosecutor.Finding{stood}, Judged: true, At: start}, 9)
	f := onHead(facts(), "h2")
	ships := func(context.Context, []prosecutor.Lens) ([]LensOutcome, error) {
		return []LensOutcome{ship(prosecutor.Correctness)}, nil
	}
	for name, tt := range map[string]struct {
		atAsking bool
		detail   string
	}{
		"while the judges are asked":        {true, "asking the judges about r pull/1 at h2: context canceled"},
		"while a standing concern is asked": {false, "verifying concern a of r pull/1: context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, next, err := Decide(ctx, f, before, config.DefaultPolicy(), func(ctx context.Context, lenses []prosecutor.Lens) ([]LensOutcome, error) {
				if tt.atAsking {
					cancel()
				}
				return ships(ctx, lenses)
			}, WithVerifier(func(context.Context, prosecutor.Finding) (bool, error) {
				cancel()
				return true, nil
			}))
			if !errors.Is(err, context.Canceled) || r.Outcome != NotJudged || r.Reason != Canceled || r.Detail != tt.detail || !r.Asked {
				t.Errorf("got %v, detail %q, asked %v, error %v", r, r.Detail, r.Asked, err)
			}
			// Nothing is recorded but the case that is the current one.
			if diff := cmp.Diff(Push(before, "h2").LapHeads, next.LapHeads); diff != "" || next.Current != f.Case || next.Converged {
				t.Errorf("ledger %+v", next)
			}
		})
	}
}

// TestUpheldConcernAddsNoOutcome: what a verifier upholds is told to nobody, since it stands anyway.
func TestUpheldConcernAddsNoOutcome(t *testing.T) {
	p := config.DefaultPolicy()
	before, _, _ := Record(New(), Result{Case: facts().Case, Decision: LoopBack, Accused: []prosecutor.Finding{accusation("a", prosecutor.High)}, Judged: true, At: start}, 9)
	f := onHead(facts(), "h2")
	for name, tt := range map[string]struct {
		refuted bool
		want    []LensOutcome
	}{
		"upheld":  {false, []LensOutcome{ship(prosecutor.Correctness)}},
		"refuted": {true, []LensOutcome{ship(prosecutor.Correctness), {RefutedConcerns: []string{"a"}}}},
	} {
		got, err := Consult(t.Context(), f, Before(f, before, p), p, func(context.Context, []prosecutor.Lens) ([]LensOutcome, error) {
			return []LensOutcome{ship(prosecutor.Correctness)}, nil
		}, WithVerifier(func(context.Context, prosecutor.Finding) (bool, error) { return tt.refuted, nil }))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestFailedKeepsTheLedger(t *testing.T) {
	r := Failed(facts(), Push(New(), "h1"), config.DefaultPolicy(), errors.New("the disk is full"))
	if r.Outcome != Errored || r.Reason != Internal || r.Detail != "the disk is full" || !r.Asked || r.Ledger.Current.Head != "h1" {
		t.Errorf("ruling %+v", r)
	}
}
