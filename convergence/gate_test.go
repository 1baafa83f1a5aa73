package convergence_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prosecutor-bot/prosecutor/config"
	. "github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// gate keeps the ledger of one change over several events.
type gate struct {
	t      *testing.T
	policy *config.Policy
	ledger Ledger
	asked  int // how often judges were asked
}

func newGate(t *testing.T) *gate {
	t.Helper()
	return &gate{t: t, policy: config.DefaultPolicy(), ledger: New()}
}

func (g *gate) decide(f Facts, outcomes ...LensOutcome) Ruling {
	g.t.Helper()
	r, next, err := Decide(context.Background(), f, g.ledger, g.policy, func(context.Context, []prosecutor.Lens) ([]LensOutcome, error) {
		g.asked++
		return outcomes, nil
	})
	if err != nil {
		g.t.Fatal(err)
	}
	if diff := cmp.Diff(r.Ledger, next); diff != "" {
		g.t.Errorf("two ledgers: %s", diff)
	}
	g.ledger = roundTrip(g.t, next)
	return r
}

func (g *gate) want(r Ruling, outcome Outcome, d Decision, reason Reason) {
	g.t.Helper()
	if r.Outcome != outcome || r.Decision != d || r.Reason != reason {
		g.t.Fatalf("got %v, want %s %s (%s)", r, outcome, d, reason)
	}
}

func ship(lens prosecutor.Lens) LensOutcome { return LensOutcome{Lens: lens, Verdict: prosecutor.Ship} }

func block(lens prosecutor.Lens, findings ...prosecutor.Finding) LensOutcome {
	return LensOutcome{Lens: lens, Verdict: prosecutor.Block, Findings: findings}
}

func failed(lens prosecutor.Lens, kinds ...prosecutor.ErrorKind) LensOutcome {
	return LensOutcome{Lens: lens, Verdict: prosecutor.Errored, ErrorKind: kinds[len(kinds)-1], Failures: kinds}
}

// accusation is a finding of a judge about a quotation.
func accusation(id string, severity prosecutor.Severity) prosecutor.Finding {
	return prosecutor.Finding{ID: id, Lens: prosecutor.Correctness, Source: prosecutor.FromModel, Severity: severity, Claimed: severity,
		Charge: prosecutor.ChargeCorrectness, Claim: id + " is wrong", Anchor: &prosecutor.Anchor{Path: "a.go", Side: prosecutor.Right, Quote: id}}
}

func withEvidence(f Facts, source prosecutor.EvidenceSource, state prosecutor.EvidenceState, findings ...prosecutor.Finding) Facts {
	f.Evidence = slices.DeleteFunc(slices.Clone(f.Evidence), func(e prosecutor.Evidence) bool { return e.Source == source })
	f.Evidence = append(f.Evidence, prosecutor.Evidence{Source: source, State: state, Findings: findings})
	return f
}

func onHead(f Facts, head string) Facts {
	f.Case.Head = head
	return f
}

func by(f Facts, e Event, s Sender) Facts {
	f.Event, f.Sender = e, s
	return f
}

var (
	writer  = Sender{Login: "ada", Type: User, Permission: PermissionWrite}
	reader  = Sender{Login: "eve", Type: User, Permission: PermissionRead}
	machine = Sender{Login: "robot[bot]", Type: Bot, Permission: PermissionAdmin}
)

func gone(prosecutor.Anchor) bool   { return false }
func stands(prosecutor.Anchor) bool { return true }

func TestEvidenceTurnsRedAfterAdvance(t *testing.T) {
	g := newGate(t)
	g.want(g.decide(facts(), ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
	f := by(withEvidence(facts(), prosecutor.CIChecks, prosecutor.Red), EventChecksFinished, Sender{})
	r := g.decide(f)
	g.want(r, Decided, LoopBack, RedEvidence)
	if g.asked != 1 || r.LapSpent || r.Laps != 1 || g.ledger.Converged || r.BudgetLaps != 1 {
		t.Errorf("asked %d times, ruling %+v", g.asked, r)
	}
	g.want(g.decide(f), NotJudged, "", AlreadyDecided)

	r = g.decide(by(facts(), EventChecksFinished, Sender{}), ship(prosecutor.Correctness))
	g.want(r, Decided, Advance, Unanimous)
	if g.asked != 2 || r.LapSpent || r.Laps != 1 || !g.ledger.Converged {
		t.Errorf("asked %d times, ruling %+v", g.asked, r)
	}
}

// TestEvidencePendsAgain re-runs CI on a decided head: the case waits, and what it comes back to is decided, though the
// states are those that were decided before.
func TestEvidencePendsAgain(t *testing.T) {
	g := newGate(t)
	g.want(g.decide(withEvidence(facts(), prosecutor.CIChecks, prosecutor.Red)), Decided, LoopBack, RedEvidence)
	g.want(g.decide(withEvidence(facts(), prosecutor.CIChecks, prosecutor.Pending)), Parked, "", PendingEvidence)
	r := g.decide(withEvidence(facts(), prosecutor.CIChecks, prosecutor.Red))
	g.want(r, Decided, LoopBack, RedEvidence)
	if r.LapSpent || r.Laps != 1 {
		t.Errorf("a second look at one head spent a lap: %+v", r)
	}
	if g.ledger.Waiting != nil {
		t.Errorf("still waiting: %+v", g.ledger.Waiting)
	}
}

func TestPreflight(t *testing.T) {
	empty := prosecutor.Finding{ID: "e", Source: prosecutor.FromRule, Severity: prosecutor.Critical, Charge: prosecutor.ChargeSpec, Claim: "no committed change"}
	large := prosecutor.Finding{ID: "l", Source: prosecutor.FromRule, Severity: prosecutor.Critical, Charge: prosecutor.ChargeScope, Claim: "split the change"}
	secret := prosecutor.Finding{ID: "s", Source: prosecutor.FromEvidence, Severity: prosecutor.Critical, Charge: prosecutor.ChargeSecurity, Claim: "a key"}

	g := newGate(t)
	f := facts()
	f.Preflight = &empty
	r := g.decide(f)
	g.want(r, Decided, LoopBack, NoChange)
	if g.asked != 0 || len(r.Findings) != 1 || len(r.Blocking) != 1 || !r.LapSpent || len(r.LensesRun) != 0 {
		t.Errorf("asked %d times, ruling %+v", g.asked, r)
	}

	f = withEvidence(onHead(facts(), "h2"), prosecutor.CodeScanning, prosecutor.Pending)
	f = withEvidence(f, prosecutor.StaticRules, prosecutor.Red, secret)
	f.Preflight = &large
	r = g.decide(f)
	g.want(r, Decided, LoopBack, TooLarge)
	if got := []string{r.Blocking[0].ID, r.Blocking[1].ID}; !slices.Equal(got, []string{"l", "s"}) || !slices.Equal(r.RedSources, []prosecutor.EvidenceSource{prosecutor.StaticRules}) {
		t.Errorf("blocking %v, red %v", got, r.RedSources)
	}

	// Guards come first, and once a case was decided nothing is asked again.
	g.want(g.decide(f), NotJudged, "", AlreadyDecided)
}

func TestWhoMayAskAgain(t *testing.T) {
	f := facts()
	draft := facts()
	draft.Draft = true
	for _, tt := range []struct {
		name  string
		facts Facts
		want  Reason
	}{
		{"a push", f, AlreadyDecided},
		{"a push of a writer", by(f, EventPush, writer), AlreadyDecided},
		{"the command of a writer", by(f, EventProsecute, writer), Unanimous},
		{"the command of a reader", by(f, EventProsecute, reader), NotPermitted},
		{"the command of a bot", by(f, EventProsecute, machine), NotPermitted},
		{"the command of nobody", by(f, EventProsecute, Sender{}), NotPermitted},
		{"the button", by(f, EventRerun, Sender{}), Unanimous},
		{"the button for all", by(f, EventRerunAll, writer), Unanimous},
		{"the button, by a reader", by(f, EventRerun, reader), NotPermitted},
		{"the button, by a bot", by(f, EventRerun, machine), NotPermitted},
		{"the button, by a bot of unknown permission", by(f, EventRerun, Sender{Type: Bot}), NotPermitted},
		{"a local review", by(f, EventReview, Sender{}), Unanimous},
		{"a draft pushed", draft, Draft},
		{"a draft, the command of a writer", by(draft, EventProsecute, writer), Unanimous},
		{"a draft, the command of a reader", by(draft, EventProsecute, reader), NotPermitted},
		{"a draft, the button", by(draft, EventRerun, Sender{}), Draft},
		{"a draft, a local review", by(draft, EventReview, Sender{}), Unanimous},
		{"a maintainer", by(f, EventProsecute, Sender{Type: User, Permission: PermissionMaintain}), Unanimous},
		{"an admin", by(f, EventProsecute, Sender{Type: User, Permission: PermissionAdmin}), Unanimous},
		{"triage", by(f, EventProsecute, Sender{Type: User, Permission: PermissionTriage}), NotPermitted},
		{"a dismissal", by(f, EventDismiss, writer), Unanimous},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t)
			g.want(g.decide(facts(), ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
			r := g.decide(tt.facts, ship(prosecutor.Correctness))
			if r.Reason != tt.want || r.Laps != 1 {
				t.Errorf("got %v, laps %d", r, r.Laps)
			}
		})
	}
	// On a head that nobody has judged a command is as good as a push, whoever gives it.
	g := newGate(t)
	g.want(g.decide(by(facts(), EventProsecute, reader), ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
}

// TestAskedDraftThatWaits asks for a draft whose CI is running. The event that ends the waiting need not ask again.
func TestAskedDraftThatWaits(t *testing.T) {
	g := newGate(t)
	f := withEvidence(facts(), prosecutor.CIChecks, prosecutor.Pending)
	f.Draft = true
	g.want(g.decide(by(f, EventProsecute, writer)), Parked, "", PendingEvidence)
	f = facts()
	f.Draft = true
	g.want(g.decide(by(f, EventChecksFinished, Sender{}), failed(prosecutor.Correctness, prosecutor.Timeout)), Held, "", JudgeFailure)
	g.want(g.decide(by(f, EventResume, Sender{}), ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
	g.want(g.decide(by(onHead(f, "h2"), EventPush, writer)), NotJudged, "", Draft)
}

func TestHeldRerunIsNotForgotten(t *testing.T) {
	g := newGate(t)
	g.want(g.decide(facts(), ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
	g.want(g.decide(by(facts(), EventRerun, Sender{}), failed(prosecutor.Correctness, prosecutor.Quota)), Held, "", JudgeFailure)
	r := g.decide(by(facts(), EventResume, Sender{}), block(prosecutor.Correctness))
	g.want(r, Decided, LoopBack, LensVeto)
	if r.LapSpent {
		t.Error("a re-run spent a lap")
	}
}

func TestHoldRunsOut(t *testing.T) {
	g := newGate(t)
	f := facts()
	reset := start.Add(30 * time.Minute)
	o := failed(prosecutor.Correctness, prosecutor.Quota)
	o.ResetAt = reset
	r := g.decide(f, o)
	g.want(r, Held, "", JudgeFailure)
	if !r.RetryAt.Equal(reset) || r.Title() != "Waiting for a judge: correctness (quota), not before 12:30 UTC" || r.CheckRun() != (CheckRun{Status: CheckInProgress}) {
		t.Errorf("ruling %+v, title %q", r, r.Title())
	}
	f.Now = start.Add(2*time.Hour - time.Second)
	g.want(g.decide(f, o), Held, "", JudgeFailure)
	if len(g.ledger.Entries) != 1 || g.ledger.Entries[0].Times != 2 || g.ledger.Counters[EntryHold] != 2 {
		t.Errorf("entries %+v, counters %v", g.ledger.Entries, g.ledger.Counters)
	}
	f.Now = start.Add(2 * time.Hour)
	r = g.decide(f, o)
	g.want(r, Escalated, Escalate, NotJudgedInTime)
	if r.LapSpent || r.Laps != 0 || !g.ledger.Escalated || r.CheckRun().Conclusion != ActionRequired || !strings.HasPrefix(r.Title(), "Not judged: ") {
		t.Errorf("ruling %+v, title %q", r, r.Title())
	}
	if r.Outcome.Public() != NotJudged {
		t.Errorf("reports show %s", r.Outcome.Public())
	}
	g.want(g.decide(onHead(f, "h2"), ship(prosecutor.Correctness)), NotJudged, "", AwaitsPerson)
	g.want(g.decide(by(onHead(f, "h2"), EventProsecute, writer), ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
	if g.ledger.Epoch != 2 || g.ledger.Laps != 1 {
		t.Errorf("ledger %+v", g.ledger)
	}
}

// TestHoldBelongsToItsCase starts the clock again for a new head.
func TestHoldBelongsToItsCase(t *testing.T) {
	g := newGate(t)
	f := facts()
	g.want(g.decide(f, failed(prosecutor.Correctness, prosecutor.Timeout)), Held, "", JudgeFailure)
	f = onHead(f, "h2")
	f.Now = start.Add(3 * time.Hour)
	g.want(g.decide(f, failed(prosecutor.Correctness, prosecutor.Timeout)), Held, "", JudgeFailure)
}

func TestJudgeFailureMixed(t *testing.T) {
	const c, s, x = prosecutor.Correctness, prosecutor.Security, prosecutor.Spec
	grave := accusation("q", prosecutor.High)
	waiting := LensOutcome{Lens: s, Waiting: true}
	noJudge := LensOutcome{Lens: s, Verdict: prosecutor.Errored, NoJudge: true}
	sameFamily := ship(s)
	sameFamily.SameFamily = true
	blockedBySame := block(s, grave)
	blockedBySame.SameFamily = true
	lying := ship(s)
	lying.Findings = []prosecutor.Finding{grave}
	refuted := block(s, grave)
	refuted.Refuted = true
	for _, tt := range []struct {
		name     string
		setting  config.JudgeFailure
		self     bool
		outcomes []LensOutcome // of correctness, security, spec
		outcome  Outcome
		decision Decision
		reason   Reason
		degraded []prosecutor.Lens
		held     []prosecutor.Lens
		vetoes   []prosecutor.Lens
	}{
		{"a quota beside an ordinary failure, approve", config.FailureApprove, false, []LensOutcome{ship(c), failed(s, prosecutor.Timeout), failed(x, prosecutor.Quota)},
			Held, "", JudgeFailure, nil, []prosecutor.Lens{s, x}, nil},
		{"a quota beside an ordinary failure, veto", config.FailureVeto, false, []LensOutcome{ship(c), failed(s, prosecutor.Timeout), failed(x, prosecutor.Quota)},
			Decided, LoopBack, LensVeto, nil, nil, []prosecutor.Lens{s}},
		{"a quota and then a failure of another judge, veto", config.FailureVeto, false, []LensOutcome{ship(c), ship(x), failed(s, prosecutor.Quota, prosecutor.Timeout)},
			Held, "", JudgeFailure, nil, []prosecutor.Lens{s}, nil},
		{"a quota and then a failure of another judge, approve", config.FailureApprove, false, []LensOutcome{ship(c), ship(x), failed(s, prosecutor.Quota, prosecutor.Timeout)},
			Held, "", JudgeFailure, nil, []prosecutor.Lens{s}, nil},
		{"credentials and then a failure of another judge, approve", config.FailureApprove, false, []LensOutcome{ship(c), ship(x), failed(s, prosecutor.Auth, prosecutor.Timeout)},
			Errored, "", AuthFailure, nil, nil, nil},
		{"credentials beside a veto by failure", config.FailureVeto, false, []LensOutcome{ship(c), failed(s, prosecutor.Timeout), failed(x, prosecutor.Auth)},
			Errored, "", AuthFailure, nil, nil, nil},
		{"credentials beside a block", config.FailureHold, false, []LensOutcome{block(c, grave), ship(s), failed(x, prosecutor.Auth)},
			Decided, LoopBack, LensVeto, nil, nil, []prosecutor.Lens{c}},
		{"a bug beside credentials", config.FailureHold, false, []LensOutcome{failed(c, prosecutor.Auth), failed(s, prosecutor.Panic), ship(x)},
			Errored, "", PanicFailure, nil, nil, nil},
		{"given up on", config.FailureApprove, false, []LensOutcome{ship(c), ship(s), failed(x, prosecutor.Canceled)},
			NotJudged, "", Canceled, nil, nil, nil},
		{"given up on beside a block", config.FailureApprove, false, []LensOutcome{block(c, grave), ship(s), failed(x, prosecutor.Canceled)},
			NotJudged, "", Canceled, nil, nil, nil},
		{"no judge is free, approve", config.FailureApprove, false, []LensOutcome{ship(c), waiting, ship(x)},
			Held, "", JudgeFailure, nil, []prosecutor.Lens{s}, nil},
		{"no judge is free, veto", config.FailureVeto, false, []LensOutcome{ship(c), waiting, ship(x)},
			Held, "", JudgeFailure, nil, []prosecutor.Lens{s}, nil},
		{"no independent judge, approve", config.FailureApprove, false, []LensOutcome{ship(c), noJudge, ship(x)},
			Escalated, Escalate, NoIndependence, nil, nil, nil},
		{"no independent judge beside a hold", config.FailureHold, false, []LensOutcome{failed(c, prosecutor.Timeout), noJudge, ship(x)},
			Escalated, Escalate, NoIndependence, nil, nil, nil},
		{"no independent judge beside a block", config.FailureHold, false, []LensOutcome{block(c, grave), noJudge, ship(x)},
			Decided, LoopBack, LensVeto, nil, nil, []prosecutor.Lens{c}},
		{"own family, self-modifying", config.FailureHold, true, []LensOutcome{ship(c), sameFamily, ship(x)},
			Escalated, Escalate, NoIndependence, nil, nil, nil},
		{"a block of the own family, self-modifying", config.FailureHold, true, []LensOutcome{ship(c), blockedBySame, ship(x)},
			Decided, LoopBack, LensVeto, nil, nil, []prosecutor.Lens{s}},
		{"no judge is free, and yet there is a verdict", config.FailureHold, false, []LensOutcome{ship(c), {Lens: s, Waiting: true, Verdict: "sulks"}, ship(x)},
			Errored, "", PanicFailure, nil, nil, nil},
		{"own family", config.FailureHold, false, []LensOutcome{ship(c), sameFamily, ship(x)},
			Decided, Advance, Unanimous, nil, nil, nil},
		{"a lens without an outcome", config.FailureApprove, false, []LensOutcome{ship(c), ship(s)},
			Errored, "", PanicFailure, nil, nil, nil},
		{"a lens with two outcomes", config.FailureApprove, false, []LensOutcome{ship(c), ship(s), ship(x), ship(x)},
			Errored, "", PanicFailure, nil, nil, nil},
		{"a lens without a verdict", config.FailureApprove, false, []LensOutcome{ship(c), ship(s), {Lens: x}},
			Errored, "", PanicFailure, nil, nil, nil},
		{"a verdict in the wrong case", config.FailureApprove, false, []LensOutcome{ship(c), ship(s), {Lens: x, Verdict: "Ship"}},
			Errored, "", PanicFailure, nil, nil, nil},
		{"a ship beside a grave finding", config.FailureHold, false, []LensOutcome{ship(c), lying, ship(x)},
			Decided, LoopBack, LensVeto, nil, nil, []prosecutor.Lens{s}},
		{"a refuted block", config.FailureHold, false, []LensOutcome{ship(c), refuted, ship(x)},
			Decided, Advance, Unanimous, nil, nil, nil},
		{"an unknown setting holds", "whatever", false, []LensOutcome{ship(c), failed(s, prosecutor.Timeout), ship(x)},
			Held, "", JudgeFailure, nil, []prosecutor.Lens{s}, nil},
		{"an unknown kind of failure is an ordinary one", config.FailureApprove, false, []LensOutcome{ship(c), failed(s, "sulking"), ship(x)},
			Decided, Advance, Unanimous, []prosecutor.Lens{s}, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t)
			g.policy.JudgeFailure = tt.setting
			f := facts()
			f.Radius, f.Lenses, f.SelfModifying = prosecutor.RadiusHigh, prosecutor.Lenses(), tt.self
			r := g.decide(f, tt.outcomes...)
			g.want(r, tt.outcome, tt.decision, tt.reason)
			for name, pair := range map[string][2][]prosecutor.Lens{"degraded": {tt.degraded, r.Degraded}, "held": {tt.held, r.HeldLenses}, "vetoes": {tt.vetoes, r.Vetoes}} {
				if diff := cmp.Diff(pair[0], pair[1], cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
			if r.LapSpent != (r.Outcome == Decided) {
				t.Errorf("lap spent: %v", r.LapSpent)
			}
			if (r.CheckRun().Conclusion == Success) != (r.Decision == Advance) {
				t.Errorf("check run %+v", r.CheckRun())
			}
		})
	}
}

func TestGuardsInOrder(t *testing.T) {
	all := by(facts(), "pull_request.labeled", Sender{})
	all.KillSwitch, all.Draft, all.SwitchedOff = true, true, "operator"
	g := newGate(t)
	r := g.decide(all)
	g.want(r, NotJudged, "", KillSwitch)
	if r.CheckRun() != (CheckRun{}) {
		t.Errorf("a draft has a check run: %+v", r.CheckRun())
	}
	all.KillSwitch = false
	g.want(g.decide(all), NotJudged, "", Draft)
	all.Draft = false
	g.want(g.decide(all), NotJudged, "", UnsupportedEvent)

	g.policy.Enabled = false
	r = g.decide(by(facts(), EventProsecute, writer))
	g.want(r, NotJudged, "", KillSwitch)
	if r.CheckRun().Conclusion != Neutral || !strings.Contains(r.Title(), "enabled: false") {
		t.Errorf("check run %+v, title %q", r.CheckRun(), r.Title())
	}
	if g.asked != 0 || g.ledger.Laps != 0 {
		t.Errorf("a guard let judges be asked")
	}
}

func TestUnjudgeable(t *testing.T) {
	for reason, outcome := range map[Reason]Outcome{BrokenPolicy: NotJudged, OnlyExcluded: NotJudged, Internal: Errored} {
		g := newGate(t)
		f := facts()
		f.Unjudgeable, f.Unjudgeably = reason, "line 3"
		r := g.decide(f)
		g.want(r, outcome, "", reason)
		if r.CheckRun() != (CheckRun{CheckCompleted, ActionRequired}) || !strings.HasPrefix(r.Title(), "Not judged: ") {
			t.Errorf("check run %+v, title %q", r.CheckRun(), r.Title())
		}
	}
	r, _, err := Decide(t.Context(), facts(), New(), nil, nil)
	if err != nil || r.Reason != BrokenPolicy || r.CheckRun().Conclusion != ActionRequired {
		t.Errorf("without a policy: %v, %v", r, err)
	}
	g := newGate(t)
	f := facts()
	f.Lenses = nil
	g.want(g.decide(f), Errored, "", Internal)
}

func TestClosedAndReopened(t *testing.T) {
	g := newGate(t)
	g.want(g.decide(facts(), block(prosecutor.Correctness)), Decided, LoopBack, LensVeto)
	g.ledger = Close(g.ledger, "closed", 0, start)
	r := g.decide(onHead(facts(), "h2"))
	g.want(r, NotJudged, "", ChangeClosed)
	if r.CheckRun() != (CheckRun{}) {
		t.Errorf("the check run of a closed change is touched: %+v", r.CheckRun())
	}
	r = g.decide(by(onHead(facts(), "h2"), EventReopened, writer), ship(prosecutor.Correctness))
	g.want(r, Decided, Advance, Unanimous)
	if r.Laps != 2 || g.ledger.Closed || g.ledger.KeepDays != 0 {
		t.Errorf("ledger %+v", g.ledger)
	}
}

func TestOverride(t *testing.T) {
	g := newGate(t)
	g.want(g.decide(facts(), block(prosecutor.Correctness)), Decided, LoopBack, LensVeto)
	g.ledger = OverrideHead(g.ledger, Override{Head: "h1", By: "ada", Reason: "hotfix", At: start})
	r := g.decide(withEvidence(facts(), prosecutor.CIChecks, prosecutor.Red))
	g.want(r, NotJudged, "", Overridden)
	if r.CheckRun().Conclusion != Neutral || !strings.Contains(r.Title(), "ada") || g.ledger.Converged {
		t.Errorf("check run %+v, title %q, converged %v", r.CheckRun(), r.Title(), g.ledger.Converged)
	}
	g.want(g.decide(by(facts(), EventProsecute, reader)), NotJudged, "", NotPermitted)
	overridden := g.ledger
	g.want(g.decide(by(facts(), EventProsecute, writer), block(prosecutor.Correctness)), Decided, LoopBack, LensVeto)
	if g.ledger.Override != nil {
		t.Error("the override outlives a new decision")
	}
	if l := Push(Push(overridden, "h2"), "h1"); l.Override != nil {
		t.Error("the override outlives two pushes")
	}
	g.ledger = overridden
	g.want(g.decide(onHead(facts(), "h2"), ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
}

// TestEpochThatFailed reopens an escalation, and then nobody can judge. The head has still to be judged in the new epoch.
func TestEpochThatFailed(t *testing.T) {
	g := newGate(t)
	g.policy.Convergence.MaxLaps = 1
	g.want(g.decide(facts(), block(prosecutor.Correctness)), Decided, Escalate, LapBudget)
	g.want(g.decide(by(facts(), EventProsecute, writer), failed(prosecutor.Correctness, prosecutor.Auth)), Errored, "", AuthFailure)
	r := g.decide(by(facts(), EventReconcile, Sender{}), ship(prosecutor.Correctness))
	g.want(r, Decided, Advance, Unanimous)
	if r.Epoch != 2 || r.Laps != 1 {
		t.Errorf("ruling %+v", r)
	}
}

func TestRecordOfAdvanceHasNoSignatures(t *testing.T) {
	r := Result{Case: facts().Case, Decision: Advance, Signatures: []string{"remark"}, Blocking: 2, At: start}
	l, _, _ := Record(New(), r, 3)
	if len(l.LapSignatures[0]) != 0 || l.LapBlocking[0] != 0 || len(l.Review().LastFindingSignatures) != 0 {
		t.Errorf("ledger %+v", l)
	}
}

func TestHoldKeepsWhoAskedAndSince(t *testing.T) {
	c := facts().Case
	l := Hold(New(), Waiting{For: Held, Case: c, Since: start, Asked: true})
	l = Hold(l, Waiting{For: Held, Case: c, Since: start.Add(time.Hour)})
	if !l.Waiting.Since.Equal(start) || !l.Waiting.Asked {
		t.Errorf("waiting %+v", l.Waiting)
	}
	l = Hold(l, Waiting{For: Parked, Case: c, Since: start.Add(2 * time.Hour)})
	if l.Waiting.Since.Equal(start) {
		t.Errorf("waiting for something else keeps the time: %+v", l.Waiting)
	}
}

func TestSuperseded(t *testing.T) {
	p := config.DefaultPolicy()
	step := Before(facts(), New(), p)
	if step.Ruling != nil || !slices.Equal(step.Lenses, []prosecutor.Lens{prosecutor.Correctness}) {
		t.Fatalf("step %+v", step)
	}
	ships := []LensOutcome{ship(prosecutor.Correctness)}
	for name, change := range map[string]func(Ledger) Ledger{
		"push":   func(l Ledger) Ledger { return Push(l, "h2") },
		"base":   func(l Ledger) Ledger { return BaseChange(l, "b2") },
		"policy": func(l Ledger) Ledger { return PolicyChange(l, "p2") },
		"spec":   func(l Ledger) Ledger { return SpecChange(l, "s2") },
	} {
		r := After(facts(), change(step.Ledger), p, ships)
		if r.Reason != Superseded || r.Detail != "" || !r.Asked || r.Ledger.Laps != 0 || r.CheckRun() != (CheckRun{CheckCompleted, Cancelled}) {
			t.Errorf("%s: %v, check run %+v", name, r, r.CheckRun())
		}
	}
	// Whatever else happened while judges were at work, the check run in progress is concluded.
	draft, closed := facts(), Close(step.Ledger, "closed", 0, start)
	draft.Draft = true
	decided := After(facts(), step.Ledger, p, ships).Ledger
	for name, r := range map[string]Ruling{
		"draft":   After(draft, step.Ledger, p, ships),
		"closed":  After(facts(), closed, p, ships),
		"decided": After(facts(), decided, p, ships),
	} {
		if r.Outcome != NotJudged || r.CheckRun() != (CheckRun{CheckCompleted, Cancelled}) {
			t.Errorf("%s: %v, check run %+v", name, r, r.CheckRun())
		}
	}
	f := facts()
	f.Superseded = true
	if r := *Before(f, New(), p).Ruling; r.Reason != Superseded || r.Ledger.Current != (Case{}) {
		t.Errorf("%v, ledger %+v", r, r.Ledger)
	}
}

func TestMergeGroup(t *testing.T) {
	g := newGate(t)
	g.want(g.decide(facts(), ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
	group := by(onHead(facts(), "g1"), EventMergeGroup, Sender{})
	group.Stage = StageMergeQueue
	group = withEvidence(group, prosecutor.HollowTest, prosecutor.Unavailable)

	r := g.decide(group, ship(prosecutor.Correctness))
	g.want(r, Decided, Advance, Unanimous)
	if r.LapSpent || !g.ledger.Converged || g.ledger.Current.Head != "h1" {
		t.Errorf("ledger %+v", g.ledger)
	}
	group = onHead(group, "g2")
	group.TouchesTests = true
	r = g.decide(group)
	g.want(r, Decided, LoopBack, RedEvidence)
	if r.LapSpent || g.ledger.Laps != 1 || g.ledger.Converged || g.ledger.Stages[StageMergeQueue].Attempts != 2 {
		t.Errorf("ledger %+v", g.ledger)
	}

	// A group is never sent to people for its laps, and a hold that ran out does not lock the change.
	for _, head := range []string{"g3", "g4", "g5", "g6"} {
		g.want(g.decide(onHead(group, head)), Decided, LoopBack, RedEvidence)
	}
	group = withEvidence(onHead(group, "g7"), prosecutor.HollowTest, prosecutor.Clean)
	group.Waited = 20 * time.Minute
	r = g.decide(group, failed(prosecutor.Correctness, prosecutor.Timeout))
	g.want(r, Escalated, Escalate, NotJudgedInTime)
	if g.ledger.Escalated || g.ledger.Converged || r.CheckRun().Conclusion != ActionRequired {
		t.Errorf("ledger %+v", g.ledger)
	}
	g.want(g.decide(onHead(facts(), "h2"), ship(prosecutor.Correctness)), Decided, Advance, Unanimous)
	if !g.ledger.Converged {
		t.Errorf("a push has left the merge queue, ledger %+v", g.ledger)
	}
}

func TestStandingConcerns(t *testing.T) {
	a := accusation("a", prosecutor.High)
	first := func(t *testing.T) *gate {
		g := newGate(t)
		g.policy.Convergence.MaxLaps = 9
		g.want(g.decide(facts(), block(prosecutor.Correctness, a, accusation("remark", prosecutor.Low))), Decided, LoopBack, LensVeto)
		if len(g.ledger.OpenConcerns) != 0 {
			t.Fatalf("a finding of this lap is no concern of an earlier one: %+v", g.ledger.OpenConcerns)
		}
		return g
	}
	second := func(look func(prosecutor.Anchor) bool) Facts {
		f := onHead(facts(), "h2")
		f.Stands = look
		return f
	}
	shipped := ship(prosecutor.Correctness)

	t.Run("fixed", func(t *testing.T) {
		g := first(t)
		looked := []string{}
		r := g.decide(second(func(at prosecutor.Anchor) bool {
			looked = append(looked, at.Path+" "+string(at.Side)+" "+at.Quote)
			return false
		}), shipped)
		g.want(r, Decided, Advance, Unanimous)
		if !slices.Contains(looked, "a.go RIGHT a") || !g.ledger.Converged {
			t.Errorf("looked for %q, ledger %+v", looked, g.ledger)
		}
		// The lines are back: so is the accusation.
		f := second(stands)
		f.Case.Head = "h3"
		g.want(g.decide(f, shipped), Decided, LoopBack, StandingConcern)
	})
	t.Run("unmentioned", func(t *testing.T) {
		g := first(t)
		r := g.decide(second(stands), shipped)
		// The same accusation stands against two laps running: that is a repetition.
		g.want(r, Decided, Escalate, Oscillation)
		if r.SentBack != StandingConcern || len(r.Standing) != 1 || !slices.Equal(r.Vetoes, []prosecutor.Lens{prosecutor.Correctness}) {
			t.Errorf("ruling %+v", r)
		}
		if len(g.ledger.OpenConcerns) != 1 || g.ledger.OpenConcerns[0].ID != "a" || g.ledger.Converged {
			t.Errorf("ledger %+v", g.ledger)
		}
	})
	t.Run("nobody can look", func(t *testing.T) {
		g := first(t)
		if r := g.decide(second(nil), shipped); r.Decision == Advance {
			t.Errorf("got %v", r)
		}
	})
	t.Run("repeated in other words", func(t *testing.T) {
		g := first(t)
		again := a
		again.Claim = "a is really wrong"
		r := g.decide(second(stands), block(prosecutor.Correctness, again))
		g.want(r, Decided, LoopBack, LensVeto)
		if len(r.Standing) != 0 || len(g.ledger.OpenConcerns) != 0 {
			t.Errorf("ruling %+v", r)
		}
	})
	t.Run("refuted", func(t *testing.T) {
		g := first(t)
		for _, head := range []string{"h2", "h3"} {
			verified := 0
			f := second(stands)
			f.Case.Head = head
			r, next, err := Decide(t.Context(), f, g.ledger, g.policy, func(context.Context, []prosecutor.Lens) ([]LensOutcome, error) {
				return []LensOutcome{shipped}, nil
			}, WithVerifier(func(_ context.Context, got prosecutor.Finding) (bool, error) {
				verified++
				return got.ID == "a" && got.Anchor.Quote == "a", nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			g.want(r, Decided, Advance, Unanimous)
			if (verified == 1) != (head == "h2") || !next.Converged {
				t.Errorf("%s: verified %d times, ledger %+v", head, verified, next)
			}
			g.ledger = next
		}
		// A refutation settles what was said; a judge may accuse again.
		f := second(stands)
		f.Case.Head = "h4"
		g.want(g.decide(f, block(prosecutor.Correctness, a)), Decided, LoopBack, LensVeto)
	})
	t.Run("verifier fails", func(t *testing.T) {
		g := first(t)
		for name, answer := range map[string]struct {
			refuted bool
			err     error
		}{"error": {true, errors.New("overloaded")}, "upheld": {false, nil}} {
			r, _, err := Decide(t.Context(), second(stands), g.ledger, g.policy, func(context.Context, []prosecutor.Lens) ([]LensOutcome, error) {
				return []LensOutcome{shipped}, nil
			}, WithVerifier(func(context.Context, prosecutor.Finding) (bool, error) { return answer.refuted, answer.err }))
			if err != nil || r.Decision == Advance || len(r.Standing) != 1 {
				t.Errorf("%s: %v, %v", name, r, err)
			}
		}
	})
	t.Run("dismissed", func(t *testing.T) {
		g := first(t)
		g.ledger = SettleConcern(g.ledger, Settled{ID: "a", How: ByDismissal, By: "ada", Reason: "wanted", At: start})
		r := g.decide(second(stands), block(prosecutor.Correctness, a, accusation("remark", prosecutor.Low)))
		g.want(r, Decided, Advance, Unanimous)
		if !slices.Equal(r.Refuted, []prosecutor.Lens{prosecutor.Correctness}) || len(r.Dismissed) != 1 || r.Dismissed[0].ID != "a" || len(r.Findings) != 2 {
			t.Errorf("ruling %+v", r)
		}
		f := second(stands)
		f.Case.Head = "h3"
		other := accusation("b", prosecutor.Critical)
		r = g.decide(f, block(prosecutor.Correctness, a, other))
		g.want(r, Decided, LoopBack, LensVeto)
		if len(r.Blocking) != 1 || r.Blocking[0].ID != "b" {
			t.Errorf("a dismissed finding blocks: %+v", r.Blocking)
		}
	})
	t.Run("of a lens that is no longer asked", func(t *testing.T) {
		g := newGate(t)
		g.policy.Convergence.MaxLaps = 9
		f := facts()
		f.Lenses = prosecutor.Lenses()[:2]
		s := accusation("s", prosecutor.High)
		s.Lens = prosecutor.Security
		g.want(g.decide(f, shipped, block(prosecutor.Security, s)), Decided, LoopBack, LensVeto)
		r := g.decide(second(stands), shipped)
		if r.Decision == Advance || !slices.Equal(r.Vetoes, []prosecutor.Lens{prosecutor.Security}) {
			t.Errorf("got %v, vetoes %v", r, r.Vetoes)
		}
	})
	t.Run("of the lap at hand", func(t *testing.T) {
		g := first(t)
		f := by(facts(), EventRerun, Sender{})
		f.Stands = stands
		g.want(g.decide(f, shipped), Decided, Advance, Unanimous)
		if len(g.ledger.Accusations) != 0 {
			t.Errorf("the replaced decision is remembered: %+v", g.ledger.Accusations)
		}
	})
	t.Run("of an earlier epoch", func(t *testing.T) {
		g := newGate(t)
		g.policy.Convergence.MaxLaps = 1
		g.want(g.decide(facts(), block(prosecutor.Correctness, a)), Decided, Escalate, LapBudget)
		g.want(g.decide(by(second(stands), EventProsecute, writer), shipped), Decided, Advance, Unanimous)
	})
	t.Run("through a lap of red evidence", func(t *testing.T) {
		g := first(t)
		g.want(g.decide(withEvidence(second(stands), prosecutor.CIChecks, prosecutor.Red)), Decided, LoopBack, RedEvidence)
		f := second(stands)
		f.Case.Head = "h3"
		r := g.decide(f, shipped)
		if r.Decision != LoopBack || len(r.Standing) != 1 || len(g.ledger.OpenConcerns) != 1 {
			t.Errorf("got %v", r)
		}
		// Nobody was asked about it in such a lap, so an open concern stays open.
		g.ledger = Push(g.ledger, "h4")
		f = withEvidence(second(stands), prosecutor.StaticRules, prosecutor.Red)
		f.Case.Head = "h4"
		g.want(g.decide(f), Decided, LoopBack, RedEvidence)
		if len(g.ledger.OpenConcerns) != 1 {
			t.Errorf("open concerns %+v", g.ledger.OpenConcerns)
		}
	})
	t.Run("two claims about one place", func(t *testing.T) {
		g := newGate(t)
		g.policy.Convergence.MaxLaps = 9
		other := a
		other.Claim = "a is slow"
		g.want(g.decide(facts(), block(prosecutor.Correctness, a, other)), Decided, LoopBack, LensVeto)
		for _, refuting := range []string{a.Claim, other.Claim, "is"} {
			r, _, err := Decide(t.Context(), second(stands), g.ledger, g.policy, func(context.Context, []prosecutor.Lens) ([]LensOutcome, error) {
				return []LensOutcome{shipped}, nil
			}, WithVerifier(func(_ context.Context, f prosecutor.Finding) (bool, error) {
				return strings.Contains(f.Claim, refuting), nil
			}))
			if err != nil {
				t.Fatal(err)
			}
			if (r.Decision == Advance) != (refuting == "is") {
				t.Errorf("refuting what contains %q: %v, standing %d", refuting, r, len(r.Standing))
			}
		}
		// Said again in other words it is one accusation, of its first lap.
		reworded := a
		reworded.Claim = "a is plainly wrong"
		g.decide(second(stands), block(prosecutor.Correctness, reworded))
		if len(g.ledger.Accusations) != 1 || g.ledger.Accusations[0].Lap != 1 || g.ledger.Accusations[0].Claim != reworded.Claim {
			t.Errorf("accusations %+v", g.ledger.Accusations)
		}
	})
	t.Run("without a quotation", func(t *testing.T) {
		g := newGate(t)
		blank := a
		blank.Anchor = &prosecutor.Anchor{Path: "a.go", Quote: " \n"}
		g.want(g.decide(facts(), block(prosecutor.Correctness, blank)), Decided, LoopBack, LensVeto)
		g.want(g.decide(second(stands), shipped), Decided, Advance, Unanimous)
	})
	t.Run("of evidence", func(t *testing.T) {
		g := newGate(t)
		survivor := accusation("m", prosecutor.Critical)
		survivor.Source = prosecutor.FromEvidence
		g.want(g.decide(facts(), block(prosecutor.Correctness, survivor)), Decided, LoopBack, LensVeto)
		g.want(g.decide(second(stands), shipped), Decided, Advance, Unanimous)
	})
}

func TestRefute(t *testing.T) {
	high, medium, low := accusation("h", prosecutor.High), accusation("m", prosecutor.Medium), accusation("l", prosecutor.Low)
	survivor := accusation("e", prosecutor.High)
	survivor.Source = prosecutor.FromEvidence
	for _, tt := range []struct {
		name     string
		findings []prosecutor.Finding
		gone     string
		want     prosecutor.Verdict
	}{
		{"the only one", []prosecutor.Finding{high}, "h", prosecutor.Ship},
		{"beside a low one", []prosecutor.Finding{high, low}, "h", prosecutor.Ship},
		{"beside a medium one", []prosecutor.Finding{high, medium}, "h", prosecutor.Block},
		{"with the medium one", []prosecutor.Finding{high, medium}, "hm", prosecutor.Ship},
		{"another one", []prosecutor.Finding{high}, "x", prosecutor.Block},
		{"one of two", []prosecutor.Finding{high, accusation("i", prosecutor.Critical)}, "h", prosecutor.Block},
		{"nothing of a remark", []prosecutor.Finding{low}, "x", prosecutor.Block},
		{"nothing at all", nil, "x", prosecutor.Block},
		{"evidence", []prosecutor.Finding{survivor}, "e", prosecutor.Block},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Refute(block(prosecutor.Correctness, tt.findings...), func(id string) bool { return strings.Contains(tt.gone, id) })
			if o.Verdict != tt.want || o.Refuted != (tt.want == prosecutor.Ship) {
				t.Errorf("got %s, refuted %v", o.Verdict, o.Refuted)
			}
		})
	}
}

func TestFindingsOnce(t *testing.T) {
	g := newGate(t)
	survivor := accusation("m", prosecutor.Critical)
	survivor.Source, survivor.Lens = prosecutor.FromEvidence, ""
	f := withEvidence(facts(), prosecutor.HollowTest, prosecutor.Red, survivor)
	f.Lenses = prosecutor.Lenses()[:2]
	g.policy.HollowTest.Mode = config.HollowEvidence
	r := g.decide(f, block(prosecutor.Correctness, survivor), block(prosecutor.Security, survivor))
	g.want(r, Decided, LoopBack, LensVeto)
	if len(r.Findings) != 1 || len(r.Blocking) != 1 {
		t.Errorf("%d findings, %d blocking", len(r.Findings), len(r.Blocking))
	}
}

func TestContributing(t *testing.T) {
	low := accusation("l", prosecutor.Low)
	medium := accusation("m", prosecutor.Medium)
	high := accusation("h", prosecutor.High)
	refuted := block(prosecutor.Spec, high)
	refuted.Refuted = true
	got := []string{}
	for _, f := range Contributing([]LensOutcome{block(prosecutor.Correctness, high, medium), block(prosecutor.Security, medium, low), refuted, failed(prosecutor.Spec, prosecutor.Timeout)}) {
		got = append(got, f.ID)
	}
	if !slices.Equal(got, []string{"h", "m", "l"}) {
		t.Errorf("got %v", got)
	}
}

func TestTitles(t *testing.T) {
	g := newGate(t)
	static := ship(prosecutor.Correctness)
	static.Static = true
	if got := g.decide(facts(), static).Title(); got != "ADVANCE: correctness agrees (static rules only)" {
		t.Errorf("title %q", got)
	}
	r := g.decide(withEvidence(onHead(facts(), "h2"), prosecutor.CIChecks, prosecutor.Red, prosecutor.Finding{Claim: "c"}))
	if got := r.Title(); got != "LOOP_BACK: red evidence: ci_checks" {
		t.Errorf("title %q", got)
	}
	r = g.decide(withEvidence(onHead(facts(), "h3"), prosecutor.CIChecks, prosecutor.Red, prosecutor.Finding{Claim: "c"}))
	if got := r.Title(); got != "ESCALATE: red evidence: ci_checks; the same findings two laps running" {
		t.Errorf("title %q", got)
	}
	if got := g.decide(onHead(facts(), "h4")).Title(); !strings.Contains(got, "/prosecute") {
		t.Errorf("title %q", got)
	}
	g = newGate(t)
	g.policy.JudgeFailure = config.FailureApprove
	f := facts()
	f.Lenses = prosecutor.Lenses()[:2]
	if got := g.decide(f, ship(prosecutor.Correctness), failed(prosecutor.Security, prosecutor.Timeout)).Title(); got != "ADVANCE: correctness agrees, degraded: security did not judge" {
		t.Errorf("title %q", got)
	}
}

// TestContributingFindingsAreOfTheirLens: what a judge said belongs to the lens it was asked under, evidence to none.
func TestContributingFindingsAreOfTheirLens(t *testing.T) {
	said, elsewhere, survivor := accusation("said", prosecutor.High), accusation("elsewhere", prosecutor.High), accusation("survivor", prosecutor.High)
	said.Lens, elsewhere.Lens, survivor.Lens, survivor.Source = "", prosecutor.Security, "", prosecutor.FromEvidence
	want := map[string]prosecutor.Lens{"said": prosecutor.Spec, "elsewhere": prosecutor.Security, "survivor": ""}
	got := map[string]prosecutor.Lens{}
	for _, f := range Contributing([]LensOutcome{block(prosecutor.Spec, said, elsewhere, survivor)}) {
		got[f.ID] = f.Lens
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
