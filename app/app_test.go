package app_test

import (
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/test/apptest"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

func sample(w *apptest.World) *githubtest.Repo {
	return w.GitHub.AddRepo("acme/pay", map[string]string{
		"README.md": "# pay\n", "refund.go": "package pay\n\n// Limit is the largest refund.\nconst Limit = 100\n",
	})
}

func TestPullRequestIsJudgedAndPublished(t *testing.T) {
	w := apptest.New(t)
	repo := sample(w)
	good := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	bad := repo.Commit("leak", "Settings", map[string]string{"settings.env": "GITHUB_TOKEN=ghp_" + "R7xK2mQ9vLpT4wZc8NbY1sHd6JfGu3EaXo5V\n"})
	w.Settle()
	repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	leak := repo.OpenPR(githubtest.PR{Title: "Settings", Head: "leak"})
	w.Settle()

	for sha, want := range map[string]string{good: "success", bad: "failure"} {
		runs := w.CheckRuns(repo, sha)
		if len(runs) != 1 || runs[0].Status != "completed" || runs[0].Conclusion != want {
			t.Errorf("check runs of %s: %+v, want one that concludes %s\n%s", sha, runs, want, w.Logs)
		}
	}
	if reviews := leak.Reviews(); len(reviews) != 1 || reviews[0].CommitID != bad || len(reviews[0].Comments) != 1 {
		t.Errorf("reviews: %+v", reviews)
	}
	if strings.Contains(w.Logs.String(), "ghp_") {
		t.Error("a secret of the change is in the log")
	}
}
