package app_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/test/apptest"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// The budgets of requests to GitHub for one decision: token creation and git transport do not count.
const (
	firstBudget  = 12
	repushBudget = 9
	chainBudget  = 6 // requests one after another
)

// counted leaves out what does not count.
func counted(all []apptest.Call) []apptest.Call {
	return slices.DeleteFunc(all, func(c apptest.Call) bool {
		return strings.HasSuffix(c.Path, "/access_tokens") || strings.Contains(c.Path, "/app/")
	})
}

// chain is the longest run of requests of which each began only when the one before it had been answered.
func chain(calls []apptest.Call) int {
	sorted := slices.Clone(calls)
	slices.SortFunc(sorted, func(a, b apptest.Call) int { return a.Start.Compare(b.Start) })
	longest := make([]int, len(sorted))
	best := 0
	for i, c := range sorted {
		longest[i] = 1
		for j := range i {
			if !sorted[j].End.After(c.Start) {
				longest[i] = max(longest[i], longest[j]+1)
			}
		}
		best = max(best, longest[i])
	}
	return best
}

// A repository with everything that costs requests: a policy, a scanning tool, required checks.
func TestRequestBudget(t *testing.T) {
	w := apptest.New(t, apptest.Options{Latency: 50 * time.Millisecond})
	// News about evidence that comes after the decision costs a look of its own, which is not the decision's.
	w.GitHub.OnDelivery(func(d githubtest.Delivery) githubtest.Passage {
		if d.Event == "check_run" || d.Event == "check_suite" {
			return githubtest.Lose
		}
		return githubtest.Deliver
	})
	repo := w.GitHub.AddRepo("acme/pay", map[string]string{
		"README.md": "# pay\n", "refund.go": "package pay\n\n// Limit is the largest refund.\nconst Limit = 100\n",
		".github/prosecutor.yml": "checks:\n  required: [build]\n",
	})
	repo.Analysis(githubtest.Analysis{CommitSHA: repo.Head("main")})
	ready := func(sha string) {
		repo.Check(sha, "build", "completed", "success", "")
		repo.Analysis(githubtest.Analysis{Ref: "refs/pull/1/merge", CommitSHA: sha})
	}
	first := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	ready(first)
	w.Settle()
	w.Calls.Take()
	repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Settle()
	concluded(t, w, repo, first, "success")
	report(t, "the first decision", counted(w.Calls.Take()), firstBudget)

	second := repo.Commit("docs", "Settings", map[string]string{"a.env": leak})
	ready(second)
	w.Settle()
	concluded(t, w, repo, second, "failure")
	report(t, "a re-push", counted(w.Calls.Take()), repushBudget)
}

func report(t *testing.T, what string, calls []apptest.Call, budget int) {
	t.Helper()
	t.Logf("%s: %d requests, %d one after another", what, len(calls), chain(calls))
	for _, c := range calls {
		t.Logf("  %s..%s %-6s %s", c.Start.Format("05.000"), c.End.Format("05.000"), c.Method, c.Path)
	}
	if len(calls) > budget {
		t.Errorf("%s costs %d requests, at most %d are allowed", what, len(calls), budget)
	}
	if n := chain(calls); n > chainBudget {
		t.Errorf("%s has %d requests one after another, at most %d are allowed", what, n, chainBudget)
	}
}
