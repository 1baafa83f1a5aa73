package convergence

import (
	"fmt"
	"slices"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// verdict is what a lens counts as. A ship beside a blocking finding is no ship: the contract decides, and not whoever
// filled the outcome in (semantics 2, row 5).
func (o LensOutcome) verdict() prosecutor.Verdict {
	switch o.Verdict {
	case prosecutor.Block:
		if o.Refuted {
			return prosecutor.Ship
		}
		return prosecutor.Block
	case prosecutor.Ship:
		blocks := func(f prosecutor.Finding) bool { return f.Severity.Blocks() }
		if !o.Refuted && slices.ContainsFunc(o.Findings, blocks) {
			return prosecutor.Block
		}
		return prosecutor.Ship
	default:
		return prosecutor.Errored
	}
}

// fate is what becomes of a lens without a verdict.
type fate int

const (
	judged      fate = iota // it has a verdict
	held                    // it is waited for
	vetoes                  // it counts as a veto
	approves                // it counts as an approval, marked degraded
	noJudge                 // no independent judge is configured
	authFailed              // our credentials
	bug                     // ours
	interrupted             // the caller gave the case up
)

// gravest is the failure of a lens that counts most, over all judges that were tried. Exhaustion, rejected credentials
// and bugs count even when another judge failed in an ordinary way after them: with them mended, the first judge might
// have judged.
func (o LensOutcome) gravest() prosecutor.ErrorKind {
	kinds := append([]prosecutor.ErrorKind{o.ErrorKind}, o.Failures...)
	for _, k := range []prosecutor.ErrorKind{prosecutor.Canceled, prosecutor.Panic, prosecutor.Auth, prosecutor.Quota} {
		if slices.Contains(kinds, k) {
			return k
		}
	}
	return o.ErrorKind
}

// fateOf applies judge_failure to one lens (semantics 7), not yet knowing of the other lenses.
func fateOf(o LensOutcome, f Facts, p *config.Policy) fate {
	if v := o.verdict(); v == prosecutor.Block || v == prosecutor.Ship {
		if v == prosecutor.Ship && o.SameFamily && f.SelfModifying {
			// A change to the gate needs a judge of another family, whatever the policy relaxes (semantics 8 and 9).
			return noJudge
		}
		return judged
	}
	switch {
	case o.NoJudge:
		return noJudge
	case o.Waiting && o.Verdict == "":
		o.Verdict = prosecutor.Errored
	}
	if o.Verdict != prosecutor.Errored {
		return bug
	}
	switch o.gravest() {
	case prosecutor.Canceled:
		return interrupted
	case prosecutor.Panic:
		return bug
	case prosecutor.Auth:
		return authFailed
	case prosecutor.Quota:
		return held
	}
	switch {
	case o.Waiting:
		return held
	case p.JudgeFailure == config.FailureVeto:
		return vetoes
	case p.JudgeFailure == config.FailureApprove && !f.SelfModifying:
		return approves
	default:
		return held
	}
}

// tally is what came of the lenses that were asked.
type tally struct {
	blocked  []LensOutcome // real blocks
	shipped  []LensOutcome
	by       map[fate][]LensOutcome
	outcomes []LensOutcome // one of each asked lens, in order
}

func count(f Facts, p *config.Policy, lenses []prosecutor.Lens, outcomes []LensOutcome) tally {
	t := tally{by: map[fate][]LensOutcome{}}
	for _, lens := range lenses {
		o := one(lens, outcomes)
		t.outcomes = append(t.outcomes, o)
		got := fateOf(o, f, p)
		switch {
		case got != judged:
			t.by[got] = append(t.by[got], o)
		case o.verdict() == prosecutor.Block:
			t.blocked = append(t.blocked, o)
		default:
			t.shipped = append(t.shipped, o)
		}
	}
	// An approval needs somebody who really judged, and nobody is let through while the case waits for another lens.
	if len(t.blocked) == 0 && (len(t.shipped) == 0 || len(t.by[held]) > 0) {
		t.by[held] = append(t.by[held], t.by[approves]...)
		delete(t.by, approves)
	}
	return t
}

// one is the outcome of a lens. None at all, or two, is our bug.
func one(lens prosecutor.Lens, outcomes []LensOutcome) LensOutcome {
	found := LensOutcome{Lens: lens, Verdict: prosecutor.Errored, ErrorKind: prosecutor.Panic, Err: fmt.Errorf("the lens %s was asked and has no outcome", lens)}
	n := 0
	for _, o := range outcomes {
		if o.Lens != lens {
			continue
		}
		if n++; n > 1 {
			return LensOutcome{Lens: lens, Verdict: prosecutor.Errored, ErrorKind: prosecutor.Panic, Err: fmt.Errorf("the lens %s has %d outcomes", lens, n)}
		}
		found = o
	}
	return found
}

// combine makes a ruling of the outcomes of the lenses.
func combine(f Facts, step Step, p *config.Policy, outcomes []LensOutcome) Ruling {
	l := step.Ledger
	for _, o := range outcomes {
		for _, id := range o.RefutedConcerns {
			l = SettleConcern(l, Settled{ID: id, How: ByRefutation, At: f.Now})
		}
	}
	dismissed, outcomes := dismiss(l, outcomes)
	t := count(f, p, step.Lenses, outcomes)

	var current []prosecutor.Finding
	for _, o := range t.outcomes {
		current = append(current, o.Findings...)
	}
	standing := []prosecutor.Finding(nil)
	if f.stage() == StageReview {
		standing = StandingConcerns(l, append(slices.Clone(current), dismissed...), f.Stands)
	}

	r := ruling(f, l, p, Decided, Unanimous)
	r.LensesRun = step.Lenses
	r.Asked = true
	r.Findings = distinct(slices.Concat(shown(f), current, standing, dismissed))
	r.Dismissed = dismissed
	r.Standing = standing
	r.describe(t)

	switch {
	case len(t.by[interrupted]) > 0:
		r.Outcome, r.Reason = NotJudged, Canceled
		return r
	case len(t.blocked) > 0 || len(standing) > 0:
		// A block that is real decides at once, also while another lens is held or failed.
		return r.veto(l, p, t, standing)
	case len(t.by[bug]) > 0:
		return r.fail(PanicFailure, t.by[bug])
	case len(t.by[authFailed]) > 0:
		return r.fail(AuthFailure, t.by[authFailed])
	case len(t.by[vetoes]) > 0:
		return r.veto(l, p, t, standing)
	case len(t.by[noJudge]) > 0:
		r.Detail = "an independent judge is required for " + list(lensesOf(t.by[noJudge])) + ", and none is configured"
		return r.giveUp(l, NoIndependence)
	case len(t.by[held]) > 0:
		return r.hold(f, l, p, t, step.asked)
	case len(t.shipped) == 0:
		// Nothing above leaves a lens without a fate. An ADVANCE without a single ship must be impossible even so.
		return r.fail(PanicFailure, t.outcomes)
	}
	r.letThrough(t)
	return r.record(l, p, Result{Decision: Advance, Judged: true})
}

// dismiss takes out of the outcomes what a person dismissed.
func dismiss(l Ledger, outcomes []LensOutcome) (dismissed []prosecutor.Finding, rest []LensOutcome) {
	rest = slices.Clone(outcomes)
	for i, o := range rest {
		o = Refute(o, l.dismissed)
		var kept []prosecutor.Finding
		for _, f := range o.Findings {
			if f.Source == prosecutor.FromModel && l.dismissed(identity(f)) {
				dismissed = append(dismissed, f)
				continue
			}
			kept = append(kept, f)
		}
		o.Findings = kept
		rest[i] = o
	}
	return dismissed, rest
}

// describe fills in what every ruling says about the lenses.
func (r *Ruling) describe(t tally) {
	var rules, model bool
	for _, o := range t.outcomes {
		if v := o.verdict(); v != prosecutor.Ship && v != prosecutor.Block {
			r.Failed = append(r.Failed, o.Lens)
			continue
		}
		if o.Static {
			rules = true
		} else {
			model = true
		}
		if o.Refuted {
			r.Refuted = append(r.Refuted, o.Lens)
		}
		if o.SameFamily {
			r.SameFamily = append(r.SameFamily, o.Lens)
		}
	}
	r.StaticOnly = rules && !model
}

// veto is a LOOP_BACK by lenses, or by concerns that stand.
func (r Ruling) veto(l Ledger, p *config.Policy, t tally, standing []prosecutor.Finding) Ruling {
	r.Reason = LensVeto
	vetoing := lensesOf(append(slices.Clone(t.blocked), t.by[vetoes]...))
	if len(vetoing) == 0 {
		r.Reason = StandingConcern
	}
	for _, c := range standing {
		vetoing = appendOnce(vetoing, c.Lens)
	}
	r.Vetoes = inOrder(vetoing)
	r.Blocking = distinct(append(Contributing(t.blocked), standing...))
	open := make([]Concern, 0, len(standing))
	for _, c := range standing {
		open = append(open, Remember(c))
	}
	for _, o := range t.by[held] {
		r.Entries = append(r.Entries, entry(EntryHold, o, r))
	}
	r.letThrough(t)
	return r.record(l, p, Result{Decision: LoopBack, Judged: true, Accused: r.Blocking, OpenConcerns: open})
}

// letThrough marks the failed lenses that judge_failure: approve lets count as approvals.
func (r *Ruling) letThrough(t tally) {
	for _, o := range t.by[approves] {
		r.Entries = append(r.Entries, entry(EntryFailOpen, o, *r))
		r.Degraded = append(r.Degraded, o.Lens)
	}
}

// fail is a ruling on our own failure.
func (r Ruling) fail(reason Reason, of []LensOutcome) Ruling {
	r.Outcome, r.Reason = Errored, reason
	for _, o := range of {
		if o.Err != nil {
			r.Detail = fmt.Sprintf("%s: %v", o.Lens, o.Err)
			break
		}
	}
	return r
}

// hold waits for judges, and gives up on them when the hold has run out.
func (r Ruling) hold(f Facts, l Ledger, p *config.Policy, t tally, asked bool) Ruling {
	r.Reason = JudgeFailure
	limit := time.Duration(p.HoldFor)
	if r.Stage == StageMergeQueue {
		limit = time.Duration(p.MergeQueue.HoldFor)
	}
	waited := max(f.Waited, l.heldFor(r.Case, f.Now))
	lenses := inOrder(lensesOf(t.by[held]))
	for _, lens := range lenses {
		r.Entries = append(r.Entries, entry(EntryHold, one(lens, t.by[held]), r))
	}
	if waited >= limit {
		r.Detail = fmt.Sprintf("no judge for %s within %s", list(lenses), config.Duration(limit))
		return r.giveUp(l, NotJudgedInTime)
	}
	r.Outcome, r.HeldLenses = Held, lenses
	for _, o := range t.by[held] {
		if o.ResetAt.After(r.RetryAt) {
			r.RetryAt = o.ResetAt
		}
	}
	next := l.clone().enter(r.Entries)
	if r.Stage == StageReview {
		next = Hold(next, Waiting{For: Held, Case: r.Case, Since: f.Now, Lenses: lenses, RetryAt: r.RetryAt, Asked: asked})
	}
	return r.after(next)
}

// giveUp escalates without a lap.
func (r Ruling) giveUp(l Ledger, cause Cause) Ruling {
	next, decision, causes := GiveUp(l.clone().enter(r.Entries), Result{Stage: r.Stage, Case: r.Case, Radius: r.Radius, At: r.At}, cause)
	r.Outcome, r.Decision, r.Reason, r.Causes = Escalated, decision, cause, causes
	return r.after(next)
}

// entry records a lens without a verdict.
func entry(kind EntryKind, o LensOutcome, r Ruling) Entry {
	cause := string(o.gravest())
	if cause == "" {
		cause = "no judge is free"
	}
	return Entry{Kind: kind, Lens: o.Lens, Head: r.Case.Head, Cause: cause, Times: 1, First: r.At, Last: r.At}
}

func lensesOf(outcomes []LensOutcome) []prosecutor.Lens {
	out := make([]prosecutor.Lens, 0, len(outcomes))
	for _, o := range outcomes {
		out = append(out, o.Lens)
	}
	return out
}
