package app_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/test/apptest"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// departure is a way for the App to lose a repository, and to get it back.
type departure struct {
	name        string
	leave, back func(*githubtest.Server)
}

func departures() []departure {
	return []departure{
		{"suspended", func(g *githubtest.Server) { g.Suspend("acme") }, func(g *githubtest.Server) { g.Unsuspend("acme") }},
		{"uninstalled", func(g *githubtest.Server) { g.Uninstall("acme") }, func(g *githubtest.Server) { g.Install("acme") }},
		{"removed", func(g *githubtest.Server) { g.SelectRepos("acme") }, func(g *githubtest.Server) { g.SelectRepos("acme", "pay") }},
	}
}

// away has the App lose its repository and get it back, and hear of either by an event, or by asking GitHub when the events
// are lost. It checks that nothing is tried again and again meanwhile.
func away(t *testing.T, w *apptest.World, d departure, lost bool, gone func()) {
	t.Helper()
	ctx := context.Background()
	if lost {
		w.GitHub.OnDelivery(func(githubtest.Delivery) githubtest.Passage { return githubtest.Lose })
	}
	d.leave(w.GitHub)
	gone()
	if lost {
		w.App.Reconcile(ctx)
	}
	w.Settle()
	if live, err := w.Store.LiveRuns(ctx); err != nil || len(live) != 0 {
		t.Errorf("live runs %+v, %v", live, err)
	}
	before := jobsOf(t, w)
	w.App.Sweep(ctx)
	w.App.Reconcile(ctx)
	w.Settle()
	if n := jobsOf(t, w) - before; n != 0 {
		t.Errorf("%d more jobs for what cannot be reached", n)
	}
	d.back(w.GitHub)
	if err := w.GitHub.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	w.GitHub.OnDelivery(nil)
	w.App.Reconcile(ctx)
	w.App.Sweep(ctx)
}

func jobsOf(t *testing.T, w *apptest.World) (n int) {
	t.Helper()
	if err := w.Store.Reader().QueryRowContext(context.Background(), `SELECT count(*) FROM river_job`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A head that was being judged when the App lost its repository is judged again when it is back, and the check run that was
// left in progress is concluded.
func TestWhatWasBeingJudgedIsJudgedAgain(t *testing.T) {
	t.Parallel()
	for _, d := range departures() {
		for _, lost := range []bool{false, true} {
			name := d.name
			if lost {
				name += ", unheard"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := apptest.New(t, apptest.Options{ReconcileAfter: time.Nanosecond})
				repo := withPolicy(w, "checks:\n  required: [build]\n")
				sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
				w.Settle()
				pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
				w.Until(func() bool { return strings.Contains(latest(w, repo, sha).Title, "build") })
				away(t, w, d, lost, func() {})
				w.Until(func() bool { return strings.Contains(latest(w, repo, sha).Title, "build") })
				repo.Check(sha, "build", "completed", "success", "")
				w.Settle()
				runs := w.CheckRuns(repo, sha)
				if len(runs) != 2 || runs[0].Conclusion != "cancelled" || runs[1].Conclusion != "success" {
					t.Errorf("%+v\n%s", runs, w.Logs)
				}
				undoubled(t, w, pr)
			})
		}
	}
}

// A verdict that could not be shown, because the App had just lost the repository, is shown when it is back.
func TestAVerdictOutlivesTheInstallation(t *testing.T) {
	t.Parallel()
	for _, d := range departures() {
		for _, lost := range []bool{false, true} {
			name := d.name
			if lost {
				name += ", unheard"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := apptest.New(t, apptest.Options{ReconcileAfter: time.Nanosecond})
				repo := sample(w)
				sha := repo.Commit("leak", "Settings", map[string]string{"a.env": leak})
				w.Settle()
				gate := make(chan struct{})
				held := w.GitHub.Inject(githubtest.Fault{Method: "POST", Route: "/repos/{owner}/{repo}/pulls/{pull_number}/reviews", Kind: githubtest.Latency, Gate: gate})
				pr := repo.OpenPR(githubtest.PR{Title: "Settings", Head: "leak", Author: "dev"})
				w.Until(func() bool { return held.Hits() == 1 })
				away(t, w, d, lost, func() {
					if !lost {
						w.Until(func() bool { return reachOf(t, w, repo) })
					}
					close(gate)
				})
				w.Settle()
				concluded(t, w, repo, sha, "failure")
				if n := len(pr.Reviews()); n != 1 {
					t.Errorf("%d reviews\n%s", n, w.Logs)
				}
				undoubled(t, w, pr)
			})
		}
	}
}

// reachOf reports whether the store knows that a repository is out of reach.
func reachOf(t *testing.T, w *apptest.World, repo *githubtest.Repo) bool {
	t.Helper()
	var n int
	err := w.Store.Reader().QueryRowContext(context.Background(), `SELECT count(*) FROM repositories WHERE id = $1 AND id IN (`+store.OutOfReach+`)`, repo.ID()).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}
