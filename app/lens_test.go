package app_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/test/apptest"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// lens= has one lens asked again while the others keep their verdicts; dry= only raises the number of passes; and no option
// can ADVANCE on fewer lenses than the blast radius asks for.
func TestOptionsOfARerun(t *testing.T) {
	j := &scripted{id: "one", family: "fern"}
	var mu sync.Mutex
	var asked []prosecutor.Lens
	blockSecurity := true
	j.answer = func(_ context.Context, _ int, req judge.Request) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, req.Lens)
		if req.Lens == prosecutor.Security && blockSecurity {
			return `{"verdict":"block","findings":[{"severity":"high","charge":"security","claim":"The limit is not checked.","anchor":{"path":"refund.go","side":"RIGHT","quote":"const Limit = 200"}}]}`, nil
		}
		return ship, nil
	}
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}})
	repo := withPolicy(w, "blast_radius:\n  critical: [refund.go]\n")
	repo.Collaborator("maintainer", "write")
	sha := repo.Commit("limit", "Raise the limit", map[string]string{"refund.go": "package pay\n\n// Limit is the largest refund.\nconst Limit = 200\n"})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Raise the limit", Head: "limit"})
	w.Settle()
	concluded(t, w, repo, sha, "failure")
	if len(asked) != 3 {
		t.Fatalf("asked %v", asked)
	}
	mu.Lock()
	asked, blockSecurity = nil, false
	mu.Unlock()
	pr.Comment("maintainer", "/prosecute lens=security")
	w.Settle()
	if len(asked) != 1 || asked[0] != prosecutor.Security {
		t.Errorf("lens=security asked %v", asked)
	}
	if c := latest(w, repo, sha); c.Conclusion != "success" || !strings.Contains(c.Title, "3 lenses") {
		t.Errorf("check run %s %q\n%s", c.Conclusion, c.Title, c.Summary)
	}
	mu.Lock()
	asked = nil
	mu.Unlock()
	pr.Comment("maintainer", "/prosecute dry=2")
	w.Settle()
	if len(asked) != 6 {
		t.Errorf("dry=2 asked %v", asked)
	}
}

// A finding that a person dismisses by its id, or in its thread, no longer blocks.
func TestDismissal(t *testing.T) {
	j := &scripted{id: "one", family: "fern"}
	j.answer = func(context.Context, int, judge.Request) (string, error) {
		return `{"verdict":"block","findings":[{"severity":"high","charge":"correctness","claim":"The limit is too high.","anchor":{"path":"refund.go","side":"RIGHT","quote":"const Limit = 200"}}]}`, nil
	}
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}})
	repo := sample(w)
	repo.Collaborator("maintainer", "write")
	sha := repo.Commit("limit", "Raise the limit", map[string]string{"refund.go": "package pay\n\n// Limit is the largest refund.\nconst Limit = 200\n"})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Raise the limit", Head: "limit", Author: "dev"})
	w.Settle()
	concluded(t, w, repo, sha, "failure")
	comments := pr.ReviewComments()
	if len(comments) != 1 {
		t.Fatalf("review comments: %+v\n%s", comments, w.Logs)
	}
	pr.ReplyTo(comments[0].ID, "dev", "/prosecute dismiss it is mine")
	w.Settle()
	if c := latest(w, repo, sha); c.Conclusion != "failure" {
		t.Fatalf("the author dismissed a finding: %+v", c)
	}
	pr.ReplyTo(comments[0].ID, "maintainer", "/prosecute dismiss the business asked for it")
	w.Settle()
	if c := latest(w, repo, sha); c.Conclusion != "success" {
		t.Errorf("check run %s %q after the dismissal\n%s\n%s", c.Conclusion, c.Title, c.Summary, w.Logs)
	}
}

// The Dismiss button obeys the rule of the comment: an author presses it in vain unless the policy lets authors dismiss.
func TestDismissButton(t *testing.T) {
	for _, tt := range []struct {
		name, policy, by, want string
	}{
		{"author", "dismiss:\n  author: false\n", "dev", "failure"},
		{"author allowed", "dismiss:\n  author: true\n", "dev", "success"},
		{"maintainer", "dismiss:\n  author: false\n", "maintainer", "success"},
		{"reader", "dismiss:\n  author: true\n", "reader", "failure"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := &scripted{id: "one", family: "fern"}
			j.answer = func(context.Context, int, judge.Request) (string, error) {
				return `{"verdict":"block","findings":[{"severity":"high","charge":"correctness","claim":"The limit is too high.","anchor":{"path":"refund.go","side":"RIGHT","quote":"const Limit = 200"}}]}`, nil
			}
			w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}})
			repo := withPolicy(w, tt.policy)
			repo.Collaborator("maintainer", "write")
			repo.Collaborator("dev", "write")
			repo.Collaborator("reader", "read")
			sha := repo.Commit("limit", "Raise the limit", map[string]string{"refund.go": "package pay\n\n// Limit is the largest refund.\nconst Limit = 200\n"})
			w.Settle()
			repo.OpenPR(githubtest.PR{Title: "Raise the limit", Head: "limit", Author: "dev"})
			w.Settle()
			c := concluded(t, w, repo, sha, "failure")
			var dismiss string
			for _, a := range c.Actions {
				if a.Label == "Dismiss" {
					dismiss = a.Identifier
					if id := strings.TrimPrefix(dismiss, "dismiss:"); a.Description != "Dismiss "+id+" without a reason" {
						t.Errorf("the button says %q", a.Description)
					}
				}
			}
			if dismiss == "" {
				t.Fatalf("no button to dismiss the one finding: %+v\n%s", c.Actions, w.Logs)
			}
			repo.RequestAction(c.ID, dismiss, tt.by)
			w.Settle()
			if c := latest(w, repo, sha); c.Conclusion != tt.want {
				t.Errorf("check run %s %q after the button, want %s\n%s", c.Conclusion, c.Title, tt.want, w.Logs)
			}
			said := tt.by + " pressed Dismiss for finding " + strings.TrimPrefix(dismiss, "dismiss:") + ", which takes no reason"
			if shown := strings.Contains(latest(w, repo, sha).Summary, said); shown != (tt.want == "success") {
				t.Errorf("shown as dismissed with %q: %v\n%s", said, shown, latest(w, repo, sha).Summary)
			}
		})
	}
}

// The buttons of the check run: explain replies once, however often it is pressed.
func TestExplainButton(t *testing.T) {
	w := apptest.New(t)
	repo, pr, c := leaked(t, w)
	before := len(pr.IssueComments())
	repo.RequestAction(c.ID, "explain", "maintainer")
	repo.RequestAction(c.ID, "explain", "maintainer")
	w.Settle()
	if n := len(pr.IssueComments()) - before; n != 1 {
		t.Errorf("%d explanations, want one\n%s", n, w.Logs)
	}
	repo.RequestAction(c.ID, "run_again", "maintainer")
	w.Settle()
	if n := len(w.CheckRuns(repo, pr.HeadSHA())); n != 2 {
		t.Errorf("%d check runs after the button, want a new one\n%s", n, w.Logs)
	}
}
