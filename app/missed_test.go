package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/test/apptest"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// A pull request that is known is pushed to, and the event is lost: what is known of it is older than what GitHub says.
func TestMissedPushIsReconciled(t *testing.T) {
	w := apptest.New(t, apptest.Options{ReconcileAfter: time.Nanosecond})
	repo := sample(w)
	first := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Settle()
	concluded(t, w, repo, first, "success")
	w.GitHub.OnDelivery(func(githubtest.Delivery) githubtest.Passage { return githubtest.Lose })
	second := repo.Commit("docs", "Say still more", map[string]string{"README.md": "# pay\n\nRefunds, by hand.\n"})
	w.Settle()
	w.GitHub.OnDelivery(nil)
	w.App.Reconcile(context.Background())
	w.Settle()
	concluded(t, w, repo, second, "success")
	concluded(t, w, repo, first, "success")
	undoubled(t, w, pr)
}

// A pull request is closed before its judging begins and opened again, and the second event is lost: its head has a run, which
// has decided nothing.
func TestMissedReopeningIsReconciled(t *testing.T) {
	w := apptest.New(t, apptest.Options{ReconcileAfter: time.Nanosecond})
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	w.GitHub.OnDelivery(func(d githubtest.Delivery) githubtest.Passage {
		if d.Action == "reopened" {
			return githubtest.Lose
		}
		return githubtest.Deliver
	})
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	pr.Close()
	pr.Reopen()
	w.Settle()
	w.GitHub.OnDelivery(nil)
	w.App.Reconcile(context.Background())
	w.Settle()
	for _, r := range w.CheckRuns(repo, sha) {
		if r.Status != "completed" {
			t.Errorf("%+v", r)
		}
		if r.Conclusion == "success" {
			return
		}
	}
	t.Errorf("the head was not judged: %+v\n%s", w.CheckRuns(repo, sha), w.Logs)
}

// A push to a decided pull request is judged although nobody told that the pull request is open again.
func TestPushAfterAMissedReopeningIsJudged(t *testing.T) {
	w := apptest.New(t)
	repo := sample(w)
	first := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Settle()
	concluded(t, w, repo, first, "success")
	pr.Close()
	w.Settle()
	w.GitHub.OnDelivery(func(d githubtest.Delivery) githubtest.Passage {
		if d.Action == "reopened" {
			return githubtest.Lose
		}
		return githubtest.Deliver
	})
	pr.Reopen()
	w.Settle()
	second := repo.Commit("docs", "Say even more", map[string]string{"README.md": "# pay\n\nRefunds, and why.\n"})
	w.Settle()
	concluded(t, w, repo, second, "success")
}
