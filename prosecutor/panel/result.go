package panel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
)

// Attempt is what one judge did under one lens.
type Attempt struct {
	Judge      judge.Info
	SameFamily bool
	Verdict    prosecutor.Verdict
	ErrorKind  prosecutor.ErrorKind
	Err        error
	Passes     []contract.Pass
	Dry        int       // consecutive ships
	ResetAt    time.Time // when the provider may be asked again, if it said so
}

func (a *Attempt) note(p contract.Pass) {
	a.Passes = append(a.Passes, p)
	a.Verdict, a.ErrorKind, a.Err, a.ResetAt = p.Verdict, p.ErrorKind, p.Err, p.ResetAt
	if p.Verdict == prosecutor.Ship {
		a.Dry++
	}
}

// LensResult is what came of one lens.
type LensResult struct {
	Lens  prosecutor.Lens
	Judge judge.Info // whose verdict it is, or who failed last; zero when nobody was asked

	Verdict prosecutor.Verdict
	// ErrorKind says why the lens has no verdict. It is Quota as soon as an eligible judge's provider is exhausted,
	// whatever else failed: that is waited for (semantics 7). It is Canceled when the caller gave up, and empty when
	// NoJudge is set, or when no judge came free before the caller's deadline and none has failed.
	ErrorKind prosecutor.ErrorKind
	Err       error // safe to show

	Passes   []contract.Pass // of Judge
	Dry      int             // consecutive ships of Judge
	Calls    int             // requests to judges, repairs included, over all attempts
	Attempts []Attempt       // every judge that was asked, in order; the last one is Judge

	SameFamily   bool // Judge is of a builder's family
	Independence config.Independence
	Skipped      []judge.Skip // passed over in the last choice of a judge
	NoJudge      bool         // independence is required, and no independent judge is configured
	// Waiting means that an eligible judge is left that was not asked: it is busy, or its provider is exhausted.
	Waiting bool
	ResetAt time.Time // when it is worth trying again, if a provider said so

	Refuted bool              // a block that ApplyVerifications turned into a ship
	Settled map[string]Ruling // by finding ID: what ApplyVerifications was told
}

// Findings returns the findings of all passes, in the order they were made. What was found twice, by identity, is
// there once, at its most severe. Those of a judge that failed later are among them: a failure takes no accusation back.
func (r LensResult) Findings() []prosecutor.Finding {
	var all []prosecutor.Finding
	at := map[string]int{}
	for _, p := range r.allPasses() {
		for _, f := range p.Findings {
			i, seen := at[f.ID]
			switch {
			case !seen || f.ID == "":
				at[f.ID] = len(all)
				all = append(all, f)
			case f.Severity.Rank() > all[i].Severity.Rank():
				all[i] = f
			}
		}
	}
	return all
}

// Failures returns the kinds of all failures, in order, also of judges that another one replaced.
func (r LensResult) Failures() []prosecutor.ErrorKind {
	var kinds []prosecutor.ErrorKind
	for _, a := range r.Attempts {
		if a.Verdict == prosecutor.Errored {
			kinds = append(kinds, a.ErrorKind)
		}
	}
	if r.Verdict == prosecutor.Errored && r.ErrorKind != "" && !slices.Contains(kinds, r.ErrorKind) {
		kinds = append(kinds, r.ErrorKind)
	}
	return kinds
}

// PassesBegun is the number of passes of all judges.
func (r LensResult) PassesBegun() int { return len(r.allPasses()) }

func (r LensResult) allPasses() []contract.Pass {
	if len(r.Attempts) == 0 {
		return r.Passes
	}
	var all []contract.Pass
	for _, a := range r.Attempts {
		all = append(all, a.Passes...)
	}
	return all
}

// add makes an attempt the lens's own.
func (r *LensResult) add(a Attempt) {
	r.Attempts = append(r.Attempts, a)
	r.Judge, r.SameFamily = a.Judge, a.SameFamily
	r.Verdict, r.ErrorKind, r.Err = a.Verdict, a.ErrorKind, a.Err
	r.Passes, r.Dry = a.Passes, a.Dry
	for _, p := range a.Passes {
		r.Calls += p.Calls
	}
	if a.Verdict != prosecutor.Errored {
		r.ResetAt = time.Time{}
		return
	}
	r.resetAt(a.ResetAt)
}

func (r *LensResult) fail(kind prosecutor.ErrorKind, err error) {
	r.Verdict, r.ErrorKind, r.Err = prosecutor.Errored, kind, err
}

// unserved ends a lens that got no judge, or none after its last one failed.
func (r *LensResult) unserved(ctx context.Context, sel judge.Selection, err error) {
	var unavailable *judge.UnavailableError
	switch {
	case !errors.As(err, &unavailable) && errors.Is(ctx.Err(), context.DeadlineExceeded):
		r.Waiting = true
		r.fail(r.ErrorKind, joined(r.Err, err))
	case !errors.As(err, &unavailable):
		r.fail(prosecutor.Canceled, joined(r.Err, err))
	case sel.Outcome == judge.OutcomeEscalate:
		r.NoJudge = true
		r.fail("", err)
	default:
		r.resetAt(unavailable.ResetAt)
		r.Waiting = slices.ContainsFunc(sel.Skipped, func(s judge.Skip) bool { return s.Why == judge.SkipBreakerOpen })
		if r.Waiting || slices.Contains(r.Failures(), prosecutor.Quota) {
			r.fail(prosecutor.Quota, joined(r.Err, err))
		}
		// Otherwise everybody was asked and failed, and the last failure says why.
	}
}

// joined is what went wrong first and what followed, on one line.
func joined(first, then error) error {
	if first == nil {
		return then
	}
	return fmt.Errorf("%w; then %w", first, then)
}

// resetAt keeps the earliest time.
func (r *LensResult) resetAt(t time.Time) {
	if !t.IsZero() && (r.ResetAt.IsZero() || t.Before(r.ResetAt)) {
		r.ResetAt = t
	}
}

// ApplyVerifications returns the result after some of its findings were settled, by finding ID: by a verification, or by
// a person who dismissed them. When every critical and high finding of a lens that blocked was refuted or dismissed, and
// nothing else of it is above low, the lens counts as ship, marked refuted (semantics 2). Only what a model accused is
// settled this way: evidence and rules are not refuted by a model, and findings without an ID by nothing.
func ApplyVerifications(r LensResult, settled map[string]Ruling) LensResult {
	r.Settled = settled
	if r.Verdict != prosecutor.Block {
		return r
	}
	gone := 0
	for _, f := range r.Findings() {
		ruling := settled[f.ID]
		switch {
		case f.Source == prosecutor.FromModel && f.ID != "" && (ruling == Refuted || ruling == Dismissed):
			gone++
		case f.Severity != prosecutor.Low:
			return r
		}
	}
	if gone > 0 {
		r.Verdict, r.Refuted = prosecutor.Ship, true
	}
	return r
}
