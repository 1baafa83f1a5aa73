package review

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// measure is the evidence of hollow-test: not applicable when the change has no line that could be mutated, or the policy
// switched it off, what the case's own HollowTest finds otherwise. It is unavailable, and never clean, where that is not
// there, and where running the tests would be in vain because nobody is going to judge the case.
func (c *Case) measure(ctx context.Context, d *diff.Diff, text string) (prosecutor.Evidence, error) {
	p := c.Policy.HollowTest
	switch {
	case p.Mode == config.HollowOff:
		return evidence.NotApplicable(prosecutor.HollowTest, "switched off by the policy"), nil
	case c.Stage == convergence.StageMergeQueue && !p.Configured():
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
	if c.HollowTest != nil && !c.KillSwitch && c.Unjudgeable == "" && contract.Preflight(text) == nil {
		return c.HollowTest(ctx, d)
	}
	slices.Sort(eligible)
	shown := eligible
	if len(shown) > 3 {
		shown = shown[:3]
	}
	return evidence.Unavailable(prosecutor.HollowTest, fmt.Sprintf("not run: whether a test would notice a fault in %s is not known", strings.Join(shown, ", "))), nil
}
