package app_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/test/apptest"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
	"github.com/prosecutor-bot/prosecutor/test/postgrestest"
)

// blocking is a judge that blocks what raises the limit.
func blocking() *scripted {
	j := &scripted{id: "one", family: "fern"}
	j.answer = func(_ context.Context, _ int, req judge.Request) (string, error) {
		if strings.Contains(req.Messages[len(req.Messages)-1].Text, "+const Limit = 200") {
			return `{"verdict":"block","findings":[{"severity":"high","charge":"correctness","claim":"The limit is too high.","anchor":{"path":"refund.go","side":"RIGHT","quote":"const Limit = 200"}}]}`, nil
		}
		return ship, nil
	}
	return j
}

// Two processes over one database take turns in answering the webhook, are both told everything, at times at the same
// moment, and both take jobs. Nothing is judged, shown or said twice.
func TestReplicasOverOnePostgreSQLDatabase(t *testing.T) {
	t.Parallel()
	j := blocking()
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}, Database: postgrestest.Start(t).Database(t), Replicas: 2})
	const pulls = 4
	var repos [pulls]*githubtest.Repo
	var prs [pulls]*githubtest.PullRequest
	var first, second [pulls]string
	for i := range pulls {
		repos[i] = w.GitHub.AddRepo(fmt.Sprintf("acme/pay%d", i), map[string]string{
			"README.md": "# pay\n", "refund.go": "package pay\n\n// Limit is the largest refund.\nconst Limit = 100\n",
		})
	}
	// Each delivery comes twice at the same moment, so that each replica gets one of them.
	w.GitHub.OnDelivery(func(githubtest.Delivery) githubtest.Passage { return githubtest.Double })
	for i, repo := range repos {
		first[i] = repo.Commit("limit", "Raise the limit", limits)
		prs[i] = repo.OpenPR(githubtest.PR{Title: "Raise the limit", Head: "limit", Author: "dev"})
	}
	w.Settle()
	for i, repo := range repos {
		concluded(t, w, repo, first[i], "failure")
		if n := len(prs[i].Reviews()); n != 1 {
			t.Errorf("%s: %d reviews", repo.FullName(), n)
		}
		undoubled(t, w, prs[i])
	}
	if n := j.count(); n != pulls {
		t.Errorf("%d calls for %d heads", n, pulls)
	}

	// Two heads come one right after the other: the older one may be judged before it is superseded, or not.
	var middle [pulls]string
	for i, repo := range repos {
		middle[i] = repo.Commit("limit", "Document it", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
		second[i] = repo.Commit("limit", "Lower the limit", map[string]string{"refund.go": "package pay\n\n// Limit is the largest refund of all.\nconst Limit = 100\n"})
	}
	w.Settle()
	for i, repo := range repos {
		concluded(t, w, repo, second[i], "success")
		for _, r := range w.CheckRuns(repo, middle[i]) {
			if r.Status != "completed" {
				t.Errorf("%s: check run %q of the superseded head is %s", repo.FullName(), r.Title, r.Status)
			}
		}
		undoubled(t, w, prs[i])
	}

	// A redelivery is answered by whichever replica has its turn; in two rounds each has had each.
	w.GitHub.OnDelivery(nil)
	calls, guids := j.count(), map[string]bool{}
	for _, d := range w.GitHub.Deliveries() {
		if d.Event == "pull_request" && !guids[d.GUID] {
			guids[d.GUID] = true
			for range 2 {
				if err := w.GitHub.Redeliver(d.GUID); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	w.Settle()
	for i, repo := range repos {
		concluded(t, w, repo, first[i], "failure")
		concluded(t, w, repo, second[i], "success")
		undoubled(t, w, prs[i])
	}
	if n := j.count() - calls; n != 0 {
		t.Errorf("%d calls for redeliveries", n)
	}
	for _, repo := range repos {
		if all := recordsOf(t, w, repo); len(all) < 2 || all[0].Decision != "LOOP_BACK" || all[len(all)-1].Decision != "ADVANCE" {
			t.Errorf("%s: records %v", repo.FullName(), story(all))
		}
	}
}

// Whichever processes take the presses of a button, what it asks for is said once: no press has anything posted itself.
func TestReplicasExplainOnce(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(*testing.T) string{
		"sqlite":   func(*testing.T) string { return "" },
		"postgres": func(t *testing.T) string { return postgrestest.Start(t).Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apptest.New(t, apptest.Options{Database: database(t), Replicas: 2})
			repo, pr, check := leaked(t, w)
			gate := make(chan struct{})
			posts := w.GitHub.Inject(githubtest.Fault{Method: "POST", Route: commentsRoute, Kind: githubtest.Latency, Gate: gate, Times: -1})
			before := len(pr.IssueComments())
			const presses = 6
			for range presses {
				repo.RequestAction(check.ID, "explain", "maintainer")
			}
			w.Until(func() bool { return posts.Hits() > 0 && completed(t, w, "command") == presses })
			close(gate)
			w.Settle()
			if n := len(pr.IssueComments()) - before; n != 1 || posts.Hits() != 1 {
				t.Errorf("%d explanations, posted %d times\n%s", n, posts.Hits(), w.Logs)
			}
			settled(t, w)
		})
	}
}

// An explanation that GitHub did not take is not lost, and one whose receipt was lost is not doubled.
func TestExplanationIsNeitherLostNorDoubled(t *testing.T) {
	for name, kind := range map[string]githubtest.Kind{"refused": githubtest.ServerError, "broken off": githubtest.Closed, "taken in silence": githubtest.AnswerLost} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := apptest.New(t)
			repo, pr, check := leaked(t, w)
			before := len(pr.IssueComments())
			posts := w.GitHub.Inject(githubtest.Fault{Method: "POST", Route: commentsRoute, Kind: kind})
			repo.RequestAction(check.ID, "explain", "maintainer")
			w.Until(func() bool { return posts.Hits() > 0 && completed(t, w, "explain") == 1 })
			w.Settle()
			if n := len(pr.IssueComments()) - before; n != 1 {
				t.Errorf("%d explanations\n%s", n, w.Logs)
			}
			settled(t, w)
		})
	}
}

// A process dies when it has replied and before it has recorded that: whoever takes the job up finds the reply.
func TestAReplyThatOutlivedItsProcessIsNotDoubled(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	_, pr, _ := leaked(t, w)
	before := len(pr.IssueComments())
	pr.Comment("maintainer", "/prosecute explain")
	w.Settle()
	// What is left of a job whose process has died: it is there again, and its attempt does not count.
	for _, stmt := range []string{
		`UPDATE deliveries SET state = 'enqueued', finished_at = 0 WHERE event = 'issue_comment'`,
		`UPDATE river_job SET state = 'available', finalized_at = NULL, attempt = attempt - 1 WHERE kind = 'command'`,
	} {
		if _, err := w.Store.DB().ExecContext(context.Background(), stmt); err != nil {
			t.Fatal(err)
		}
	}
	w.Until(func() bool { return completed(t, w, "command") == 1 })
	w.Settle()
	if n := len(pr.IssueComments()) - before; n != 2 {
		t.Errorf("%d comments, want the command and one reply\n%s", n, w.Logs)
	}
	settled(t, w)
}

const commentsRoute = "/repos/{owner}/{repo}/issues/{issue_number}/comments"

// leaked is a pull request that is sent back, with its check run.
func leaked(t *testing.T, w *apptest.World) (*githubtest.Repo, *githubtest.PullRequest, githubtest.CheckRun) {
	t.Helper()
	repo := sample(w)
	repo.Collaborator("maintainer", "write")
	sha := repo.Commit("leak", "Settings", map[string]string{"a.env": leak})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Settings", Head: "leak", Author: "dev"})
	w.Settle()
	return repo, pr, concluded(t, w, repo, sha, "failure")
}

// completed counts the jobs of a kind that are done.
func completed(t *testing.T, w *apptest.World, kind string) (n int) {
	t.Helper()
	err := w.Store.Reader().QueryRowContext(context.Background(), `SELECT count(*) FROM river_job WHERE state = 'completed' AND kind = $1`, kind).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// settled checks that every delivery has come to its end.
func settled(t *testing.T, w *apptest.World) {
	t.Helper()
	states, err := w.Store.Deliveries(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for state, n := range states {
		if state != store.Done && state != store.Ignored {
			t.Errorf("%d deliveries are %s", n, state)
		}
	}
}

// The way of one pull request over PostgreSQL: blocked, explained, dismissed by a person, pushed, run again.
func TestOnePullRequestOverPostgreSQL(t *testing.T) {
	t.Parallel()
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{blocking()}, Database: postgrestest.Start(t).Database(t)})
	repo := sample(w)
	repo.Collaborator("maintainer", "write")
	sha := repo.Commit("limit", "Raise the limit", limits)
	pr := repo.OpenPR(githubtest.PR{Title: "Raise the limit", Head: "limit", Author: "dev"})
	w.Settle()
	concluded(t, w, repo, sha, "failure")
	pr.ReplyTo(pr.ReviewComments()[0].ID, "maintainer", "/prosecute dismiss the business asked for it")
	w.Settle()
	if c := latest(w, repo, sha); c.Conclusion != "success" {
		t.Errorf("check run %s %q after the dismissal\n%s", c.Conclusion, c.Title, w.Logs)
	}
	sha = repo.Commit("limit", "Document it", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	repo.Rerequest(concluded(t, w, repo, sha, "success").ID)
	w.Settle()
	if runs := w.CheckRuns(repo, sha); len(runs) != 2 || latest(w, repo, sha).Conclusion != "success" {
		t.Errorf("check runs after a re-run: %+v\n%s", runs, w.Logs)
	}
	undoubled(t, w, pr)
}
