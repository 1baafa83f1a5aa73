package convergence

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Step is what the gate says before a judge is asked: a final ruling, or which lenses to ask.
type Step struct {
	Ruling *Ruling           // final; no judge is asked
	Lenses []prosecutor.Lens // to be asked, in their order, when Ruling is nil
	Ledger Ledger            // with the case as the current one, and the new epoch if a person opened it

	asked bool // a person asked past a guard
}

// Before is the first half of the gate: guards, the rows that need no judge, and the deterministic layer (semantics 5,
// steps 1 and 2).
func Before(f Facts, l Ledger, p *config.Policy) Step {
	l = l.clone()
	switch {
	case p == nil:
		return guarded(f, l, p, BrokenPolicy, f.Unjudgeably)
	case f.Superseded:
		return guarded(f, l, p, Superseded, "")
	case f.stage() == StageReview:
		l = begin(l, f.Case)
	}
	// Whatever lets a draft be judged has a decided case judged again as well, so again says that somebody asked.
	may := granted(f, l)
	l, reason, detail := admit(f, l, p, may)
	if reason != "" {
		return guarded(f, l, p, reason, detail)
	}

	w := weigh(f, p)
	if f.Preflight != nil {
		reason := NoChange
		if f.Preflight.Charge == prosecutor.ChargeScope {
			reason = TooLarge
		}
		// A change that no judge can read may still leak a key: what evidence has found already is not hidden.
		return final(sendBack(f, l, p, reason, w, append([]prosecutor.Finding{*f.Preflight}, w.findings...)))
	}
	if len(w.red) > 0 {
		return final(sendBack(f, l, p, RedEvidence, w, w.findings))
	}
	if len(w.pending) > 0 {
		r := ruling(f, l, p, Parked, PendingEvidence)
		r.WaitsFor = w.pending
		r.Findings = shown(f)
		if f.stage() == StageReview {
			r.Ledger = Hold(l, Waiting{For: Parked, Case: r.Case, Since: f.Now, Sources: w.pending, Asked: may.again})
		}
		return final(r)
	}
	lenses := inOrder(f.Lenses)
	if len(lenses) == 0 {
		r := ruling(f, l, p, Errored, Internal)
		r.Detail = "no lens was asked for: the blast radius of the case is not known"
		return final(r)
	}
	return Step{Lenses: lenses, Ledger: l, asked: may.again}
}

func final(r Ruling) Step { return Step{Ruling: &r, Ledger: r.Ledger} }

func guarded(f Facts, l Ledger, p *config.Policy, reason Reason, detail string) Step {
	outcome := NotJudged
	if reason == Internal {
		outcome = Errored
	}
	r := ruling(f, l, p, outcome, reason)
	r.Detail = detail
	return final(r)
}

// granted is what the event asks for and its sender may ask for, or what a person had asked for before the case waited.
func granted(f Facts, l Ledger) asks {
	if w := l.Waiting; w != nil && w.Asked && f.stage() == StageReview {
		return asks{again: true, draft: true}
	}
	if !f.Sender.mayAsk(f.Event) {
		return asks{}
	}
	event, _ := supported(f.Event)
	return event
}

// admit asks the guards. It returns the ledger, in a new epoch when a person opened one, and the reason of the guard that
// ends the case, if one does.
func admit(f Facts, l Ledger, p *config.Policy, may asks) (next Ledger, reason Reason, detail string) {
	event, served := supported(f.Event)
	// refuse names a guard that was not passed, or that the one who asked past it may not.
	refuse := func(guard Reason, asked bool) Reason {
		if asked {
			return NotPermitted
		}
		return guard
	}

	switch {
	case f.KillSwitch:
		return l, KillSwitch, f.SwitchedOff
	case !p.Enabled:
		return l, KillSwitch, "the policy has enabled: false"
	case f.Draft && !may.draft:
		return l, refuse(Draft, event.draft), ""
	case !served:
		return l, UnsupportedEvent, string(f.Event)
	case f.Event == EventReopened:
		l = Reopen(l)
	case l.Closed:
		return l, ChangeClosed, l.Outcome
	}
	// An override is a person's word about this head, whatever the gate had asked of people before.
	if o := l.Override; o != nil && o.Head == f.Case.Head && f.stage() == StageReview {
		switch {
		case !may.again:
			return l, refuse(Overridden, event.again), o.By
		case o.At.After(f.Now):
			// Given while judges were at work on what was asked for before it: the later word counts.
			return l, Overridden, o.By
		}
	}
	if l.Escalated {
		switch {
		case !event.reopen:
			return l, AwaitsPerson, ""
		case !f.Sender.MayReopen():
			return l, NotPermitted, ""
		}
		l = NewEpoch(l, f.Now)
	}
	if l.decided(f) && !may.again {
		return l, refuse(AlreadyDecided, event.again), ""
	}
	return l, f.Unjudgeable, f.Unjudgeably
}

// decided reports whether the case, with its evidence as it is, has been decided and waits for nothing.
func (l Ledger) decided(f Facts) bool {
	s := l.Stages[f.stage()]
	if s.Decided == nil || *s.Decided != f.thisCase() {
		return false
	}
	return f.stage() != StageReview || l.Waiting == nil
}

// After is the second half of the gate: it combines what came of the lenses, applies judge_failure, and then the ledger's
// rules (semantics 5 to 7). l is the ledger of the Step, or a later state of it: After asks the guards again, so that a
// case that was superseded, closed or decided while it was judged stays undecided. A lens that was asked and has no
// outcome is our own failure; outcomes of lenses that were not asked are ignored.
func After(f Facts, l Ledger, p *config.Policy, outcomes []LensOutcome) Ruling {
	if f.stage() == StageReview && l.Current.identity() != (Case{}) && l.Current.identity() != f.Case.identity() {
		r := guarded(f, l.clone(), p, Superseded, "").Ruling
		r.Asked = true
		return *r
	}
	step := Before(f, l, p)
	if step.Ruling != nil {
		step.Ruling.Asked = true
		return *step.Ruling
	}
	return combine(f, step, p, outcomes)
}

// Option adjusts Decide.
type Option func(*consultation)

type consultation struct {
	verify func(context.Context, prosecutor.Finding) (bool, error)
}

// WithVerifier has standing concerns put to a fresh verification call. verify reports whether the concern is refuted; one
// that cannot be told, or an error, leaves it standing.
func WithVerifier(verify func(context.Context, prosecutor.Finding) (refuted bool, err error)) Option {
	return func(c *consultation) { c.verify = verify }
}

// Ask asks the judges under every lens.
type Ask func(ctx context.Context, lenses []prosecutor.Lens) ([]LensOutcome, error)

// Decide is the one seam for every event: it asks the guards and the evidence, then the judges where that is called for,
// and applies the ledger's rules. It returns the ruling and the next ledger, which is also the ruling's.
//
// A failed judge is no error here, it is ruled on. An error means that nothing was judged: then the ruling is Errored, or
// NotJudged when ctx was canceled, and the ledger that is returned has recorded nothing but that the case is the current one.
func Decide(ctx context.Context, f Facts, l Ledger, p *config.Policy, ask func(context.Context, []prosecutor.Lens) ([]LensOutcome, error), opts ...Option) (Ruling, Ledger, error) {
	step := Before(f, l, p)
	if step.Ruling != nil {
		return *step.Ruling, step.Ledger, nil
	}
	outcomes, err := Consult(ctx, f, step, p, ask, opts...)
	if err != nil {
		r := Failed(f, step.Ledger, p, err)
		return r, r.Ledger, err
	}
	r := After(f, step.Ledger, p, outcomes)
	return r, r.Ledger, nil
}

// Consult asks the judges for a step without a ruling, and puts standing concerns to the verifier. What it returns is for
// After. Most callers want Decide.
func Consult(ctx context.Context, f Facts, step Step, p *config.Policy, ask Ask, opts ...Option) ([]LensOutcome, error) {
	var c consultation
	for _, o := range opts {
		o(&c)
	}
	outcomes, err := ask(ctx, slices.Clone(step.Lenses))
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("asking the judges about %s at %s: %w", f.Case.Key, f.Case.Head, err)
	}
	if c.verify == nil {
		return outcomes, nil
	}
	var refuted, upheld []string
	for _, concern := range After(f, step.Ledger, p, outcomes).Standing {
		ok, err := c.verify(ctx, concern)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("verifying concern %s of %s: %w", concern.ID, f.Case.Key, ctx.Err())
		}
		if err == nil && ok {
			refuted = append(refuted, concern.ID)
		} else {
			upheld = append(upheld, concern.ID)
		}
	}
	// Several claims about one place share an identity, and all of them have to be refuted.
	refuted = slices.DeleteFunc(refuted, func(id string) bool { return slices.Contains(upheld, id) })
	if len(refuted) == 0 {
		return outcomes, nil
	}
	return append(slices.Clone(outcomes), LensOutcome{RefutedConcerns: refuted}), nil
}

// Failed is the ruling on a case that could not be judged because of err: our failure, or that we were told to stop.
func Failed(f Facts, l Ledger, p *config.Policy, err error) Ruling {
	outcome, reason := Errored, Internal
	if errors.Is(err, context.Canceled) {
		outcome, reason = NotJudged, Canceled
	}
	r := ruling(f, l.clone(), p, outcome, reason)
	r.Asked = true
	if err != nil {
		r.Detail = err.Error()
	}
	return r
}

// ruling is the ground of every ruling. The ledger is that after the ruling, as far as it is known.
func ruling(f Facts, l Ledger, p *config.Policy, outcome Outcome, reason Reason) Ruling {
	r := Ruling{
		Outcome: outcome, Reason: reason,
		Event: f.Event, Stage: f.stage(), Case: f.thisCase(), Radius: f.Radius, Draft: f.Draft, At: f.Now,
	}
	if p != nil {
		r.MaxLaps = p.Convergence.MaxLaps
	}
	return r.after(l)
}

// after puts the next ledger into the ruling.
func (r Ruling) after(l Ledger) Ruling {
	r.Ledger = l
	r.Laps, r.BudgetLaps, r.Epoch, r.NotConverging = l.Laps, l.BudgetLaps, l.Epoch, l.NotConverging
	return r
}

// record applies the ledger's rules to a decision.
func (r Ruling) record(l Ledger, p *config.Policy, result Result) Ruling {
	result.Stage, result.Case, result.Radius, result.At = r.Stage, r.Case, r.Radius, r.At
	result.Signatures = Signatures(r.Blocking)
	result.Blocking = len(r.Blocking)
	next, decision, causes := Record(l.enter(r.Entries), result, p.Convergence.MaxLaps)
	r.LapSpent = next.Laps > l.Laps
	r.Decision, r.Causes = decision, causes
	if result.Decision == LoopBack {
		r.SentBack = r.Reason
	}
	if len(causes) > 0 {
		r.Reason = causes[0]
	}
	return r.after(next)
}

// sendBack is a LOOP_BACK without a judge.
func sendBack(f Facts, l Ledger, p *config.Policy, reason Reason, w weighed, blocking []prosecutor.Finding) Ruling {
	r := ruling(f, l, p, Decided, reason)
	r.RedSources = w.red
	r.Blocking = distinct(blocking)
	r.Findings = shown(f)
	if f.Preflight != nil {
		r.Findings = distinct(append([]prosecutor.Finding{*f.Preflight}, r.Findings...))
	}
	return r.record(l, p, Result{Decision: LoopBack})
}

// shown is every finding of the evidence, red or not, in the order of the sources.
func shown(f Facts) []prosecutor.Finding {
	var out []prosecutor.Finding
	for _, e := range sorted(f.Evidence) {
		out = append(out, e.Findings...)
	}
	return distinct(out)
}

// distinct leaves out what was found twice, such as evidence that every lens was shown.
func distinct(findings []prosecutor.Finding) []prosecutor.Finding {
	type key struct{ id, claim string }
	seen := make(map[key]bool, len(findings))
	var out []prosecutor.Finding
	for _, f := range findings {
		k := key{identity(f), f.Claim}
		if !seen[k] {
			seen[k] = true
			out = append(out, f)
		}
	}
	return out
}

// inOrder returns the lenses in their fixed order, each once. Unknown lenses come last.
func inOrder(lenses []prosecutor.Lens) []prosecutor.Lens {
	var out []prosecutor.Lens
	for _, lens := range prosecutor.Lenses() {
		if slices.Contains(lenses, lens) {
			out = append(out, lens)
		}
	}
	for _, lens := range lenses {
		out = appendOnce(out, lens)
	}
	return out
}
