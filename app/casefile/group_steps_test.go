package casefile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAssign(t *testing.T) {
	queue := func(pr string) GroupRequest {
		return GroupRequest{HeadRef: "refs/heads/gh-readonly-queue/main/pr-" + pr + "-" + shaA}
	}
	for _, c := range []struct {
		name string
		r    GroupRequest
		in   []step
		want []int
		why  string
	}{
		{"merges", queue("2"), []step{{"b", "1", 1}, {"1", "2", 2}}, []int{1, 2}, ""},
		{"one without a number", queue("2"), []step{{"b", "1", 0}}, []int{2}, ""},
		{"a rebased one", queue("2"), []step{{"b", "1", 0}, {"1", "2", 0}, {"2", "3", 0}}, []int{2}, ""},
		{"another number than the branch's", queue("2"), []step{{"b", "1", 3}}, nil, "the last commit names #3 and the queue's branch #2"},
		{"named twice", queue("2"), []step{{"b", "1", 2}, {"1", "2", 2}}, nil, "#2 is named by more than one commit"},
		{"one in the middle unnamed", queue("3"), []step{{"b", "1", 1}, {"1", "2", 0}, {"2", "3", 3}}, nil, "not every commit of the group names its pull request"},
		{"nothing says which", GroupRequest{HeadRef: "refs/heads/x"}, []step{{"b", "1", 0}}, nil, "not every commit of the group names its pull request"},
		{"empty", queue("2"), nil, nil, "the group has no commits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, why, err := assign(c.in, c.r, 1)
			if err != nil || why != c.why {
				t.Fatalf("got why %q, %v", why, err)
			}
			var prs []int
			for _, s := range got {
				prs = append(prs, s.pr)
			}
			if diff := cmp.Diff(c.want, prs); diff != "" {
				t.Error(diff)
			}
			if len(got) > 0 && (got[0].from != "b" || got[len(got)-1].to != c.in[len(c.in)-1].to) {
				t.Errorf("the steps do not cover the group: %+v", got)
			}
		})
	}
}

func TestClaimed(t *testing.T) {
	for message, want := range map[string]int{
		"Merge pull request #12 from acme/feature\n\nPay once": 12,
		"Pay once (#12)":                    12,
		"Pay once (#12)\n\nCloses #3":       12,
		"Pay once, as #12 asked":            0,
		"Revert \"Pay once (#12)\"":         0,
		"Revert \"Pay once (#12)\" (#14)":   14,
		"Pay once\n\nMerge pull request #9": 0,
		"":                                  0,
	} {
		if got := claimed(message); got != want {
			t.Errorf("%q: got %d, want %d", message, got, want)
		}
	}
}
