package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// unmeasured is the evidence of hollow-test where nobody ran it: not applicable when the change has no line that could be
// mutated, or the policy switched it off, and unavailable otherwise. It is never clean.
func unmeasured(d *diff.Diff, p config.HollowTest, stage convergence.Stage) (prosecutor.Evidence, error) {
	switch {
	case p.Mode == config.HollowOff:
		return evidence.NotApplicable(prosecutor.HollowTest, "switched off by the policy"), nil
	case stage == convergence.StageMergeQueue && !p.Configured():
		return evidence.NotApplicable(prosecutor.HollowTest, "not configured for this repository"), nil
	}
	targets, err := hollowtest.NewTargets(p)
	if err != nil {
		return prosecutor.Evidence{}, fmt.Errorf("hollow_test globs: %w", err)
	}
	var eligible []string
	for path := range hollowtest.ChangedLines(d) {
		if targets.Of(path).Eligible {
			eligible = append(eligible, path)
		}
	}
	if len(eligible) == 0 {
		return evidence.NotApplicable(prosecutor.HollowTest, "no changed line that could be mutated"), nil
	}
	slices.Sort(eligible)
	shown := eligible
	if len(shown) > 3 {
		shown = shown[:3]
	}
	return evidence.Unavailable(prosecutor.HollowTest, fmt.Sprintf("not run: whether a test would notice a fault in %s is not known", strings.Join(shown, ", "))), nil
}
