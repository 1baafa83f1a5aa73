package convergence_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/config"
	. "github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

func oneOf[T any](t *rapid.T, label string, of ...T) T { return rapid.SampledFrom(of).Draw(t, label) }

// rarely is true about once in n times.
func rarely(t *rapid.T, label string, n int) bool { return rapid.IntRange(1, n).Draw(t, label) == n }

func anyFacts(t *rapid.T, now time.Time) Facts {
	n := rapid.IntRange(1, 3).Draw(t, "lenses")
	f := Facts{
		Event: oneOf[Event](t, "event", EventPush, EventPush, EventPush, EventProsecute, EventRerun, EventChecksFinished, EventResume, EventReview, "pull_request.labeled"),
		Sender: Sender{
			Type:       oneOf(t, "type", User, User, Bot, ""),
			Permission: oneOf(t, "permission", PermissionWrite, PermissionAdmin, PermissionRead, PermissionNone, ""),
		},
		Case: Case{
			Key:  Key{Repo: "r", Change: "pull/1"},
			Base: oneOf(t, "base", "b1", "b1", "b1", "b2"), Head: oneOf(t, "head", "h1", "h2", "h3", "h4"),
			PolicyHash: oneOf(t, "policy", "p1", "p1", "p1", "p2"), SpecHash: oneOf(t, "spec", "s1", "s1", "s1", "s2"),
		},
		Now:        now,
		KillSwitch: rarely(t, "kill switch", 20), Draft: rarely(t, "draft", 10), Superseded: rarely(t, "superseded", 20),
		Radius: prosecutor.Radii()[n-1], Lenses: prosecutor.Lenses()[:n], SelfModifying: rarely(t, "self-modifying", 4),
		TouchesTests: rapid.Bool().Draw(t, "tests"),
	}
	if rarely(t, "merge group", 8) {
		f.Stage = StageMergeQueue
	}
	if rarely(t, "unjudgeable", 20) {
		f.Unjudgeable = oneOf(t, "why", BrokenPolicy, OnlyExcluded, Internal)
	}
	if rarely(t, "preflight", 15) {
		f.Preflight = &prosecutor.Finding{ID: "pre", Source: prosecutor.FromRule, Severity: prosecutor.Critical, Charge: oneOf(t, "charge", prosecutor.ChargeSpec, prosecutor.ChargeScope), Claim: "pre"}
	}
	for _, source := range prosecutor.EvidenceSources() {
		state := oneOf(t, string(source), prosecutor.Clean, prosecutor.Clean, prosecutor.Clean, prosecutor.NotApplicable, prosecutor.Pending, prosecutor.Unavailable, prosecutor.Red)
		f.Evidence = append(f.Evidence, prosecutor.Evidence{Source: source, State: state})
	}
	f.Stands = oneOf(t, "stands", stands, gone, gone)
	return f
}

func anyOutcomes(t *rapid.T, lenses []prosecutor.Lens) []LensOutcome {
	var out []LensOutcome
	for _, lens := range lenses {
		if rarely(t, "missing", 30) {
			continue
		}
		o := LensOutcome{Lens: lens, Verdict: oneOf(t, "verdict", prosecutor.Ship, prosecutor.Ship, prosecutor.Ship, prosecutor.Block, prosecutor.Errored)}
		switch o.Verdict {
		case prosecutor.Errored:
			o.ErrorKind = oneOf(t, "kind", prosecutor.Timeout, prosecutor.Transport, prosecutor.Refusal, prosecutor.Quota, prosecutor.Auth, prosecutor.Panic, prosecutor.SchemaViolation, prosecutor.Canceled)
			o.NoJudge, o.Waiting = rarely(t, "no judge", 8), rarely(t, "waiting", 8)
		case prosecutor.Block:
			for range rapid.IntRange(0, 2).Draw(t, "findings") {
				f := accusation(oneOf(t, "finding", "a", "b", "c"), oneOf(t, "severity", prosecutor.Critical, prosecutor.High, prosecutor.Medium))
				f.Lens = lens
				o.Findings = append(o.Findings, f)
			}
			o.Refuted = rarely(t, "refuted", 5)
		default:
			o.SameFamily = rarely(t, "same family", 5)
		}
		out = append(out, o)
	}
	return out
}

func anyPolicy(t *rapid.T) *config.Policy {
	p := config.DefaultPolicy()
	p.JudgeFailure = oneOf(t, "judge_failure", config.FailureHold, config.FailureVeto, config.FailureApprove)
	p.Convergence.MaxLaps = rapid.IntRange(1, 4).Draw(t, "max_laps")
	p.HollowTest.Mode = oneOf(t, "mode", config.HollowGate, config.HollowEvidence, config.HollowOff)
	p.HollowTest.Required = rapid.Bool().Draw(t, "required")
	p.Enabled = !rarely(t, "disabled", 20)
	return p
}

// TestEverySequenceOfEvents sends random events to one ledger and checks what always has to hold.
func TestEverySequenceOfEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPolicy(t)
		l := New()
		now := start
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "minutes")) * time.Minute)
			f := anyFacts(t, now)
			before := asJSON(t, l)
			var outcomes []LensOutcome
			asked := false
			r, next, err := Decide(context.Background(), f, l, p, func(_ context.Context, lenses []prosecutor.Lens) ([]LensOutcome, error) {
				asked = true
				if !slices.Equal(lenses, f.Lenses) {
					t.Fatalf("asked %v, the radius says %v", lenses, f.Lenses)
				}
				outcomes = anyOutcomes(t, lenses)
				return outcomes, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if asJSON(t, l) != before {
				t.Fatalf("the ledger that was given was changed")
			}
			t.Logf("%s %s %s -> %v, laps %d, epoch %d", f.Event, f.Stage, f.Case.Head, r, next.Laps, next.Epoch)
			checkRuling(t, f, p, l, r, next, asked, outcomes)
			checkLedger(t, f, l, r, next)
			again(t, f, p, r, next)

			var back Ledger
			if err := json.Unmarshal([]byte(asJSON(t, next)), &back); err != nil {
				t.Fatal(err)
			}
			l = back
		}
	})
}

func asJSON(t *rapid.T, l Ledger) string {
	raw, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// green says whether the evidence lets judges be asked, written down once more and independently.
func green(f Facts, p *config.Policy) bool {
	for _, e := range f.Evidence {
		hollow := e.Source == prosecutor.HollowTest
		if hollow && p.HollowTest.Mode == config.HollowOff {
			continue
		}
		strict := hollow && f.Stage == StageMergeQueue && f.TouchesTests
		switch e.State {
		case prosecutor.Clean, prosecutor.NotApplicable:
		case prosecutor.Red:
			if !hollow || strict || p.HollowTest.Mode == config.HollowGate {
				return false
			}
		case prosecutor.Unavailable:
			if !hollow || strict || p.HollowTest.Required {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func checkRuling(t *rapid.T, f Facts, p *config.Policy, before Ledger, r Ruling, next Ledger, asked bool, outcomes []LensOutcome) {
	guarded := f.KillSwitch || !p.Enabled || f.Superseded || !Supported(f.Event) || f.Unjudgeable != "" ||
		before.Escalated && (f.Event != EventProsecute || !f.Sender.MayReopen())
	if guarded && (asked || r.Decision != "") {
		t.Fatalf("a guarded case: asked %v, ruling %v", asked, r)
	}
	if asked && (!green(f, p) || f.Preflight != nil) {
		t.Fatalf("judges were asked beside evidence %s, preflight %v", EvidenceStates(f.Evidence), f.Preflight)
	}
	if (r.CheckRun().Conclusion == Success) != (r.Decision == Advance) {
		t.Fatalf("%v concludes %v", r, r.CheckRun())
	}
	if (r.Decision != "") != (r.Outcome == Decided || r.Outcome == Escalated) {
		t.Fatalf("%v", r)
	}
	if asked && r.CheckRun().Status == CheckNone {
		t.Fatalf("%v leaves the check run of asked judges open", r)
	}
	if r.Title() == "" || r.Reason == "" {
		t.Fatalf("%v has no title", r)
	}
	if r.Decision == LoopBack && f.Stage != StageMergeQueue && r.BudgetLaps >= r.MaxLaps {
		t.Fatalf("lap %d of %d was sent back", r.BudgetLaps, r.MaxLaps)
	}
	if r.Decision != Advance {
		return
	}
	if !asked || !green(f, p) || f.Preflight != nil || guarded {
		t.Fatalf("ADVANCE without judges or beside red evidence")
	}
	real := 0
	for _, lens := range f.Lenses {
		i := slices.IndexFunc(outcomes, func(o LensOutcome) bool { return o.Lens == lens })
		if i < 0 {
			t.Fatalf("ADVANCE without an outcome of %s", lens)
		}
		o := outcomes[i]
		switch {
		case o.Verdict == prosecutor.Ship && (!o.SameFamily || !f.SelfModifying), o.Verdict == prosecutor.Block && o.Refuted:
			real++
		case o.Verdict == prosecutor.Errored && p.JudgeFailure == config.FailureApprove && !f.SelfModifying && !o.NoJudge && !o.Waiting &&
			slices.Contains([]prosecutor.ErrorKind{prosecutor.Timeout, prosecutor.Transport, prosecutor.Refusal, prosecutor.SchemaViolation}, o.ErrorKind):
			if !slices.Contains(r.Degraded, lens) || !slices.ContainsFunc(r.Entries, func(e Entry) bool { return e.Kind == EntryFailOpen && e.Lens == lens }) {
				t.Fatalf("%s was let through without a mark: %+v", lens, r)
			}
		default:
			t.Fatalf("ADVANCE over %+v", o)
		}
	}
	if real == 0 {
		t.Fatalf("ADVANCE though nobody judged")
	}
	if len(next.OpenConcerns) > 0 && f.Stage != StageMergeQueue {
		t.Fatalf("ADVANCE beside open concerns %+v", next.OpenConcerns)
	}
}

func checkLedger(t *rapid.T, f Facts, before Ledger, r Ruling, next Ledger) {
	if diff := cmp.Diff(next, r.Ledger); diff != "" {
		t.Fatalf("two ledgers: %s", diff)
	}
	switch {
	case next.Epoch == before.Epoch+1:
		if !before.Escalated || f.Event != EventProsecute || !f.Sender.MayReopen() {
			t.Fatalf("an epoch was opened by %s of %+v, escalated %v", f.Event, f.Sender, before.Escalated)
		}
		if next.Laps > 1 {
			t.Fatalf("a new epoch begins with %d laps", next.Laps)
		}
	case next.Epoch != before.Epoch:
		t.Fatalf("epoch %d -> %d", before.Epoch, next.Epoch)
	default:
		if next.Laps < before.Laps || next.Laps > before.Laps+1 {
			t.Fatalf("laps %d -> %d", before.Laps, next.Laps)
		}
		if before.Laps > 0 && before.LapHeads[before.Laps-1] == f.Case.Head && next.Laps != before.Laps {
			t.Fatalf("a second look at one head spent a lap")
		}
		if before.Escalated && !next.Escalated {
			t.Fatalf("an escalation ended by itself")
		}
	}
	if next.Laps > before.Laps && (r.Outcome != Decided || f.Stage == StageMergeQueue) {
		t.Fatalf("%v spent a lap", r)
	}
	if r.LapSpent && r.Outcome != Decided {
		t.Fatalf("%v says it spent a lap", r)
	}
	for name, n := range map[string]int{"signatures": len(next.LapSignatures), "decisions": len(next.LapDecisions), "blocking": len(next.LapBlocking), "heads": len(next.LapHeads)} {
		if n != next.Laps {
			t.Fatalf("%d laps, %d %s", next.Laps, n, name)
		}
	}
	if next.BudgetLaps > next.Laps {
		t.Fatalf("budget laps %d of %d", next.BudgetLaps, next.Laps)
	}
	review := next.Review()
	if next.Converged {
		d := *review.Decided
		d.EvidenceStates = ""
		if review.LastVerdict != Advance || d != next.Current || len(next.OpenConcerns) > 0 || next.Escalated {
			t.Fatalf("converged: %+v", next)
		}
	}
	if r.Decision == Advance && f.Stage != StageMergeQueue && next.Stages[StageMergeQueue].LastVerdict == "" && !next.Converged {
		t.Fatalf("ADVANCE and not converged: %+v", next)
	}
	for _, e := range r.Entries {
		if !slices.ContainsFunc(next.Entries, func(o Entry) bool { return o.Kind == e.Kind && o.Lens == e.Lens && o.Head == e.Head }) {
			t.Fatalf("entry %+v is not in the ledger", e)
		}
	}
}

// again repeats the event automatically on a decided case: nothing may happen.
func again(t *rapid.T, f Facts, p *config.Policy, r Ruling, l Ledger) {
	if r.Outcome != Decided || f.Draft {
		return
	}
	f.Event, f.Sender = EventReconcile, Sender{}
	same, next, err := Decide(context.Background(), f, l, p, func(context.Context, []prosecutor.Lens) ([]LensOutcome, error) {
		t.Fatalf("a decided case was judged again")
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if same.Outcome != NotJudged || same.Reason != AlreadyDecided && same.Reason != AwaitsPerson {
		t.Fatalf("again: %v", same)
	}
	if diff := cmp.Diff(l, next); diff != "" {
		t.Fatalf("again changed the ledger: %s", diff)
	}
}

// TestRecordTwice records one result twice.
func TestRecordTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := New()
		maxLaps := rapid.IntRange(1, 5).Draw(t, "max laps")
		for range rapid.IntRange(1, 8).Draw(t, "results") {
			r := Result{
				Case:       Case{Key: Key{Repo: "r", Change: "c"}, Head: oneOf(t, "head", "h1", "h2", "h3"), Base: oneOf(t, "base", "b1", "b2")},
				Stage:      oneOf(t, "stage", StageReview, StageReview, StageMergeQueue),
				Decision:   oneOf(t, "decision", Advance, LoopBack, LoopBack),
				Signatures: rapid.SliceOfN(rapid.SampledFrom([]string{"s1", "s2", "s3"}), 0, 3).Draw(t, "signatures"),
				Blocking:   rapid.IntRange(0, 4).Draw(t, "blocking"),
				Accused:    []prosecutor.Finding{accusation(oneOf(t, "accused", "a", "b"), prosecutor.High)},
				Judged:     true,
				At:         start,
			}
			once, d1, c1 := Record(l, r, maxLaps)
			twice, d2, c2 := Record(once, r, maxLaps)
			if d1 != d2 || !slices.Equal(c1, c2) {
				t.Fatalf("%s %v, then %s %v", d1, c1, d2, c2)
			}
			if diff := cmp.Diff(once, twice); diff != "" {
				t.Fatalf("recording again changed the ledger: %s", diff)
			}
			if d1 == Advance && r.Decision != Advance {
				t.Fatalf("%s became ADVANCE", r.Decision)
			}
			l = once
		}
	})
}
