package review_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/static"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
	"github.com/prosecutor-bot/prosecutor/prosecutor/review"
)

const (
	goChange  = "diff --git a/fee.go b/fee.go\n--- a/fee.go\n+++ b/fee.go\n@@ -1,3 +1,3 @@\n package fee\n \n-func Of(n int) int { return n }\n+func Of(n int) int { return n + 1 }\n"
	docChange = "diff --git a/README b/README\n--- a/README\n+++ b/README\n@@ -1 +1 @@\n-a\n+b\n"
)

func bench(t *testing.T) *review.Bench {
	t.Helper()
	pool, err := judge.NewPool([]judge.Judge{static.New()}, judge.PoolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &review.Bench{Panel: panel.New(pool, panel.Options{})}
}

// Running the tests of a change is dear, so they are run once for all passes, and only where it can matter.
func TestWhenTheTestsAreRun(t *testing.T) {
	with := func(text string, change func(*review.Case)) review.Case {
		c := review.Case{
			ID:    convergence.Case{Key: convergence.Key{Repo: "r", Change: "c"}, Base: "b", Head: "h"},
			Event: convergence.EventReviewReopen, Sender: convergence.Sender{Login: "x", Type: convergence.User, Permission: convergence.PermissionAdmin},
			Diff: text, Policy: config.DefaultPolicy(),
			Evidence: []prosecutor.Evidence{
				{Source: prosecutor.CodeScanning, State: prosecutor.NotApplicable}, {Source: prosecutor.CIChecks, State: prosecutor.NotApplicable},
			},
		}
		c.Policy.Prosecution.DryPasses = 3
		if change != nil {
			change(&c)
		}
		return c
	}
	clean := prosecutor.Evidence{Source: prosecutor.HollowTest, State: prosecutor.Clean, Detail: "measured"}
	for _, c := range []struct {
		name   string
		text   string
		change func(*review.Case)
		runs   int
		state  prosecutor.EvidenceState
	}{
		{"three passes", goChange, nil, 1, prosecutor.Clean},
		{"known already", goChange, func(c *review.Case) { c.Evidence = append(c.Evidence, clean) }, 0, prosecutor.Clean},
		{"nothing to mutate", docChange, nil, 0, prosecutor.NotApplicable},
		{"off", goChange, func(c *review.Case) { c.Policy.HollowTest.Mode = config.HollowOff }, 0, prosecutor.NotApplicable},
		{"a merge group that nobody configured it for", goChange, func(c *review.Case) { c.Stage = convergence.StageMergeQueue }, 0, prosecutor.NotApplicable},
		{"a merge group that it is required for", goChange, func(c *review.Case) { c.Stage, c.Policy.HollowTest.Required = convergence.StageMergeQueue, true }, 1, prosecutor.Clean},
		{"judging is switched off", goChange, func(c *review.Case) { c.KillSwitch = true }, 0, prosecutor.Unavailable},
		{"a broken policy", goChange, func(c *review.Case) { c.Unjudgeable = convergence.BrokenPolicy }, 0, prosecutor.Unavailable},
		{"too large to judge", strings.Replace(goChange, "n + 1", "n + "+strings.Repeat("1", 120_000), 1), nil, 0, prosecutor.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs := 0
			cs := with(c.text, c.change)
			cs.HollowTest = func(_ context.Context, d *diff.Diff) (prosecutor.Evidence, error) {
				runs++
				if d.Find("fee.go") == nil {
					t.Error("it is asked about another change")
				}
				return clean, nil
			}
			r, err := bench(t).Prosecute(t.Context(), cs)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(r.Evidence, func(e prosecutor.Evidence) bool { return e.Source == prosecutor.HollowTest })
			if runs != c.runs || i < 0 || r.Evidence[i].State != c.state {
				t.Errorf("%d runs, want %d; evidence %+v, want %s", runs, c.runs, r.Evidence, c.state)
			}
		})
	}
	t.Run("it breaks down", func(t *testing.T) {
		broken := errors.New("no disk")
		cs := with(goChange, nil)
		cs.HollowTest = func(context.Context, *diff.Diff) (prosecutor.Evidence, error) { return prosecutor.Evidence{}, broken }
		if _, err := bench(t).Prosecute(t.Context(), cs); !errors.Is(err, broken) {
			t.Errorf("%v, want %v", err, broken)
		}
	})
}
