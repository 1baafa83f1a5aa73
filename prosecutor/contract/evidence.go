package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// RuleSurvivors is the rule of the finding that stands for surviving mutants.
const RuleSurvivors = "surviving-mutants"

// SurvivorFinding returns the one critical `tests` finding that names all surviving mutants of the evidence, as "path:line
// operator", and shows in its evidence what each replaced by what (semantics 2, row 3). It returns nil when there are none.
func SurvivorFinding(e prosecutor.Evidence) *prosecutor.Finding {
	if len(e.Survivors) == 0 {
		return nil
	}
	names := make([]string, len(e.Survivors))
	unmoved := make([]string, len(e.Survivors))
	details := make([]string, len(e.Survivors))
	for i, s := range e.Survivors {
		names[i] = fmt.Sprintf("%s:%d %s", s.Path, s.Line, s.Operator)
		unmoved[i] = fmt.Sprintf("%s %s %q %q", s.Path, s.Operator, s.Original, s.Mutated)
		details[i] = fmt.Sprintf("%s: `%s` -> `%s`", names[i], s.Original, s.Mutated)
	}
	claim := "A mutant of the changed lines survived: no test fails when the code is wrong. "
	if len(names) > 1 {
		claim = fmt.Sprintf("%d mutants of the changed lines survived: no test fails when the code is wrong. ", len(names))
	}
	f := prosecutor.Finding{
		Source: prosecutor.FromEvidence, Origin: string(e.Source), Rule: RuleSurvivors,
		Severity: prosecutor.Critical, Claimed: prosecutor.Critical, Charge: prosecutor.ChargeTests,
		// The identity leaves the line numbers out, so that it survives a push that moves the code.
		Claim: strings.Join(unmoved, "\n"),
		Place: prosecutor.Place{Status: prosecutor.NoFile},
	}
	f.ID = prosecutor.Identify(f)
	f.Claim = claim + strings.Join(names, ", ")
	f.Evidence = strings.Join(details, "\n")
	return &f
}

// evidenceFindings returns what evidence holds against the change: the surviving mutants of any source, whatever its
// state, and the findings of every red source. Findings of a source that is not red do not join: they are below its
// threshold, or were accepted on the base branch.
func evidenceFindings(all []prosecutor.Evidence) []prosecutor.Finding {
	var list []prosecutor.Finding
	for _, e := range all {
		var own []prosecutor.Finding
		if e.State == prosecutor.Red {
			for _, f := range e.Findings {
				own = append(own, fromEvidence(e.Source, f))
			}
		}
		if s := SurvivorFinding(e); s != nil && !holds(own, s.ID) && !listed(own, e.Survivors) {
			own = append(own, *s)
		}
		list = append(list, own...)
	}
	return list
}

func fromEvidence(source prosecutor.EvidenceSource, f prosecutor.Finding) prosecutor.Finding {
	f.Source = prosecutor.FromEvidence
	if f.Origin == "" {
		f.Origin = string(source)
	}
	if f.Claimed == "" {
		f.Claimed = f.Severity
	}
	if f.Severity.Rank() == 0 {
		// A severity nobody knows is not a harmless one.
		f.Severity = prosecutor.High
	}
	if f.Place.Status == "" && f.Anchor == nil {
		f.Place.Status = prosecutor.NoFile
	}
	if f.ID == "" {
		f.ID = prosecutor.Identify(f)
	}
	return f
}

func holds(list []prosecutor.Finding, id string) bool {
	for i := range list {
		if list[i].ID == id {
			return true
		}
	}
	return false
}

// listed reports whether each survivor has a finding of its own that no model can overrule.
func listed(list []prosecutor.Finding, survivors []prosecutor.Survivor) bool {
	for _, s := range survivors {
		if !slices.ContainsFunc(list, func(f prosecutor.Finding) bool {
			return f.Severity == prosecutor.Critical && f.Charge == prosecutor.ChargeTests && f.Anchor != nil && f.Anchor.Path == s.Path && f.Anchor.Line == s.Line
		}) {
			return false
		}
	}
	return true
}

func blocks(list []prosecutor.Finding) bool {
	for i := range list {
		if list[i].Severity.Blocks() {
			return true
		}
	}
	return false
}
