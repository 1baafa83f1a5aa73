package evidence

import (
	"strings"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/blast/glob"
)

// Static decides the state of the static rules from their findings: red when one at or above high is not accepted, else
// clean. It is never unavailable. Every finding is kept, in its order.
//
// A finding is accepted when an entry of static_rules.accepted, of the policy of the base branch, names its rule exactly,
// the entry's glob matches its path, and the entry has a reason. Its severity is low from here on, so that it blocks
// nowhere; Claimed keeps what the rule said, and its evidence ends with the reason.
func Static(findings []prosecutor.Finding, accepted []config.AcceptedRule) prosecutor.Evidence {
	e := prosecutor.Evidence{Source: prosecutor.StaticRules, State: prosecutor.Clean}
	var taken int
	e.Findings, taken = accept(findings, accepted)
	blocking := 0
	for i := range e.Findings {
		if e.Findings[i].Severity.Blocks() {
			blocking++
		}
	}
	if blocking > 0 {
		e.State = prosecutor.Red
	}
	switch {
	case len(findings) == 0:
		e.Detail = "no finding"
	default:
		e.Detail = plural(len(findings), "finding", "findings")
	}
	if blocking > 0 {
		e.Detail += ", " + plural(blocking, "blocks", "block")
	}
	if taken > 0 {
		e.Detail += ", " + plural(taken, "accepted by the policy", "accepted by the policy")
	}
	return e
}

// accept marks the findings that an entry accepts, and counts them. The findings given are not changed.
func accept(findings []prosecutor.Finding, accepted []config.AcceptedRule) (marked []prosecutor.Finding, taken int) {
	entries := make([]acceptance, 0, len(accepted))
	for _, a := range accepted {
		// A glob that cannot be read accepts nothing; the policy's parser has reported it.
		if globs, err := glob.New(a.Path); err == nil && a.Rule != "" && strings.TrimSpace(a.Reason) != "" {
			entries = append(entries, acceptance{a, globs})
		}
	}
	marked = make([]prosecutor.Finding, len(findings))
	for i, f := range findings {
		for _, a := range entries {
			if a.covers(f) {
				if f.Claimed == "" {
					f.Claimed = f.Severity
				}
				f.Severity = prosecutor.Low
				f.Evidence = join(f.Evidence, "Accepted on the base branch: "+strings.TrimSpace(a.Reason))
				taken++
				break
			}
		}
		marked[i] = f
	}
	return marked, taken
}

type acceptance struct {
	config.AcceptedRule
	globs glob.Set
}

func (a acceptance) covers(f prosecutor.Finding) bool {
	path := f.Place.Path
	if path == "" && f.Anchor != nil {
		path = f.Anchor.Path
	}
	_, ok := a.globs.Match(path)
	return ok && f.Rule == a.Rule
}
