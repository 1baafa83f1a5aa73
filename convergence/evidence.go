package convergence

import (
	"slices"
	"strings"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// EvidenceContext is what the meaning of a piece of evidence depends on besides the policy.
type EvidenceContext struct {
	MergeGroup   bool // the case is the head of a merge group
	TouchesTests bool // the case touches test files
}

// CountsAsRed reports whether a piece of evidence blocks at the gate: the column "red" of the table in semantics 5, and
// semantics 11 for merge groups. Pending evidence is not red, it is waited for. Whatever cannot be told to be green is
// red, except for hollow-test, which may be missing unless the policy or a merge group that touches tests requires it.
func CountsAsRed(e prosecutor.Evidence, p *config.Policy, in EvidenceContext) bool {
	if ignored(e, p) {
		return false
	}
	hollow := e.Source == prosecutor.HollowTest
	must := in.MergeGroup && in.TouchesTests
	switch e.State {
	case prosecutor.Clean, prosecutor.NotApplicable, prosecutor.Pending:
		return false
	case prosecutor.Unavailable:
		return !hollow || must || p.HollowTest.Required
	case prosecutor.Red:
		// Under hollow_test.mode: evidence the judges see the survivors and cannot overrule them, so the gate lets the
		// case through to them.
		return !hollow || must || p.HollowTest.Mode != config.HollowEvidence
	default:
		return true
	}
}

// ignored reports whether the policy switched the source off.
func ignored(e prosecutor.Evidence, p *config.Policy) bool {
	return e.Source == prosecutor.HollowTest && p.HollowTest.Mode == config.HollowOff
}

// EvidenceStates is the fingerprint of the evidence of a case: the state of each source, in the fixed order of sources.
// Two cases of equal fingerprints have nothing new to decide (semantics 5, guards).
func EvidenceStates(evidence []prosecutor.Evidence) string {
	var parts []string
	for _, e := range sorted(evidence) {
		parts = append(parts, string(e.Source)+"="+string(e.State))
	}
	return strings.Join(slices.Compact(parts), " ")
}

// sorted returns the evidence in the fixed order of sources, unknown sources last.
func sorted(evidence []prosecutor.Evidence) []prosecutor.Evidence {
	order := prosecutor.EvidenceSources()
	rank := func(s prosecutor.EvidenceSource) int {
		if i := slices.Index(order, s); i >= 0 {
			return i
		}
		return len(order)
	}
	out := slices.Clone(evidence)
	slices.SortStableFunc(out, func(a, b prosecutor.Evidence) int {
		if d := rank(a.Source) - rank(b.Source); d != 0 {
			return d
		}
		if d := strings.Compare(string(a.Source), string(b.Source)); d != 0 {
			return d
		}
		return strings.Compare(string(a.State), string(b.State))
	})
	return out
}

// weighed is the evidence of a case, sorted by what it means.
type weighed struct {
	red      []prosecutor.EvidenceSource
	pending  []prosecutor.EvidenceSource
	findings []prosecutor.Finding // of red evidence
}

func weigh(f Facts, p *config.Policy) weighed {
	in := EvidenceContext{MergeGroup: f.stage() == StageMergeQueue, TouchesTests: f.TouchesTests}
	var w weighed
	for _, e := range sorted(f.Evidence) {
		switch {
		case CountsAsRed(e, p, in):
			w.red = appendOnce(w.red, e.Source)
			w.findings = append(w.findings, e.Findings...)
		case e.State == prosecutor.Pending && !ignored(e, p):
			w.pending = appendOnce(w.pending, e.Source)
		}
	}
	return w
}

func appendOnce[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}
