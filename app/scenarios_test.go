package app_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/test/apptest"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// scripted is a judge that answers as it is told. It counts its calls.
type scripted struct {
	id, family string

	mu    sync.Mutex
	calls int
	// answer is asked for each call, with the prompt; nil means ship. It may block.
	answer func(ctx context.Context, n int, req judge.Request) (string, error)
}

const ship = `{"verdict":"ship","findings":[]}`

func (s *scripted) Info() judge.Info {
	return judge.Info{ID: s.id, Family: s.family, Provider: s.family + "-cloud", Model: s.id}
}

func (s *scripted) Ask(ctx context.Context, req judge.Request) (judge.Reply, error) {
	s.mu.Lock()
	s.calls++
	n, answer := s.calls, s.answer
	s.mu.Unlock()
	if answer == nil {
		return judge.Reply{Text: ship}, nil
	}
	text, err := answer(ctx, n, req)
	return judge.Reply{Text: text}, err
}

func (s *scripted) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// concluded fails unless a head has exactly one check run of ours, which is concluded so.
func concluded(t *testing.T, w *apptest.World, repo *githubtest.Repo, sha, conclusion string) githubtest.CheckRun {
	t.Helper()
	runs := w.CheckRuns(repo, sha)
	if len(runs) != 1 || runs[0].Status != "completed" || runs[0].Conclusion != conclusion {
		t.Fatalf("check runs of %.7s: %+v, want one that concludes %s\n%s", sha, runs, conclusion, w.Logs)
	}
	return runs[0]
}

// undoubled fails when the pull request has two sticky comments of ours, or a line two comments about one finding.
func undoubled(t *testing.T, w *apptest.World, pr *githubtest.PullRequest) {
	t.Helper()
	ours := 0
	for _, c := range pr.IssueComments() {
		if c.Author == w.GitHub.App().BotLogin() && strings.Contains(c.Body, "prosecutor:sticky") {
			ours++
		}
	}
	if ours > 1 {
		t.Errorf("%d sticky comments", ours)
	}
	seen := map[string]bool{}
	for _, c := range pr.ReviewComments() {
		key := fmt.Sprint(c.Path, c.Line, c.Body)
		if seen[key] {
			t.Errorf("a doubled comment at %s:%d", c.Path, c.Line)
		}
		seen[key] = true
	}
}

const leak = "GITHUB_TOKEN=ghp_" + "R7xK2mQ9vLpT4wZc8NbY1sHd6JfGu3EaXo5V\n"

func TestDuplicateAndRepeatedDeliveriesJudgeOnce(t *testing.T) {
	j := &scripted{id: "one", family: "fern"}
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}})
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	w.GitHub.OnDelivery(func(d githubtest.Delivery) githubtest.Passage { return githubtest.Double })
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Settle()
	w.GitHub.OnDelivery(nil)
	for _, d := range w.GitHub.Deliveries() {
		if d.Event == "pull_request" {
			if err := w.GitHub.Redeliver(d.GUID); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Settle()
	concluded(t, w, repo, sha, "success")
	undoubled(t, w, pr)
	if n := j.count(); n != 1 {
		t.Errorf("%d calls for one head", n)
	}
}

func TestPushDuringJudgingSupersedes(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	j := &scripted{id: "one", family: "fern"}
	j.answer = func(ctx context.Context, n int, _ judge.Request) (string, error) {
		if n == 1 {
			close(started)
			select {
			case <-release:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return ship, nil
	}
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}})
	repo := sample(w)
	first := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	<-started
	second := repo.Commit("docs", "Say it better", map[string]string{"README.md": "# pay\n\nRefunds, mostly.\n"})
	close(release)
	w.Settle()
	old := concluded(t, w, repo, first, "cancelled")
	if !strings.Contains(strings.ToLower(old.Title), "superseded by "+second[:7]) {
		t.Errorf("title = %q", old.Title)
	}
	concluded(t, w, repo, second, "success")
	undoubled(t, w, pr)
}

func TestForcePushJudgesTheNewHeadOnly(t *testing.T) {
	w := apptest.New(t)
	repo := sample(w)
	first := repo.Commit("docs", "Leak", map[string]string{"a.env": leak})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Settle()
	concluded(t, w, repo, first, "failure")
	second := repo.ForcePush("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	concluded(t, w, repo, second, "success")
	undoubled(t, w, pr)
}

func TestClosedPullRequestIsNotJudged(t *testing.T) {
	started := make(chan struct{})
	j := &scripted{id: "one", family: "fern"}
	j.answer = func(ctx context.Context, n int, _ judge.Request) (string, error) {
		close(started)
		<-ctx.Done()
		return "", ctx.Err()
	}
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}})
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	<-started
	pr.Close()
	w.Settle()
	concluded(t, w, repo, sha, "cancelled")
}

// A check run whose making was never answered is concluded with its run all the same: the process that made it may be dead.
func TestCheckRunThatNobodyKnowsIsConcluded(t *testing.T) {
	w := apptest.New(t)
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	w.GitHub.Inject(githubtest.Fault{Kind: githubtest.AnswerLost, Method: "POST", Route: "/repos/{owner}/{repo}/check-runs", Times: -1})
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Until(func() bool { return len(w.CheckRuns(repo, sha)) > 0 })
	pr.Close()
	w.Settle()
	concluded(t, w, repo, sha, "cancelled")
}

func TestDeletedBranchAndRenamedRepository(t *testing.T) {
	w := apptest.New(t)
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Settle()
	concluded(t, w, repo, sha, "success")
	repo.Rename("payments")
	second := repo.Commit("docs", "Say it better", map[string]string{"README.md": "# pay\n\nRefunds, mostly.\n"})
	w.Settle()
	concluded(t, w, repo, second, "success")
	repo.DeleteBranch("docs")
	w.Settle()
	undoubled(t, w, pr)
}

func TestTokenThatExpiresMidCase(t *testing.T) {
	j := &scripted{id: "one", family: "fern"}
	var w *apptest.World
	j.answer = func(context.Context, int, judge.Request) (string, error) {
		w.GitHub.ExpireTokens() // an hour went by while the model thought
		return ship, nil
	}
	w = apptest.New(t, apptest.Options{Judges: []judge.Judge{j}})
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Settle()
	concluded(t, w, repo, sha, "success")
	undoubled(t, w, pr)
	if n := j.count(); n != 1 {
		t.Errorf("the model was paid %d times", n)
	}
}

func TestRevokedInstallationStopsItsJobs(t *testing.T) {
	started := make(chan struct{})
	j := &scripted{id: "one", family: "fern"}
	j.answer = func(ctx context.Context, n int, _ judge.Request) (string, error) {
		close(started)
		<-ctx.Done()
		return "", ctx.Err()
	}
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}})
	repo := sample(w)
	repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	<-started
	w.GitHub.Uninstall("acme")
	w.Settle()
	if n := j.count(); n != 1 {
		t.Errorf("%d calls, want the one that was under way", n)
	}
}

func TestDraftHasNoCheckRunUntilItIsReady(t *testing.T) {
	w := apptest.New(t)
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs", Draft: true})
	w.Settle()
	if runs := w.CheckRuns(repo, sha); len(runs) != 0 {
		t.Fatalf("a draft has a check run: %+v", runs)
	}
	pr.Ready()
	w.Settle()
	concluded(t, w, repo, sha, "success")
}

func TestRerunMakesANewCheckRun(t *testing.T) {
	w := apptest.New(t)
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Settle()
	first := concluded(t, w, repo, sha, "success")
	repo.Rerequest(first.ID)
	w.Settle()
	runs := w.CheckRuns(repo, sha)
	if len(runs) != 2 {
		t.Fatalf("%d check runs after a re-run, want a new one: %+v\n%s", len(runs), runs, w.Logs)
	}
	for _, r := range runs {
		if r.Status != "completed" || r.Conclusion != "success" {
			t.Errorf("check run %+v", r)
		}
	}
}

func TestCommandsOfPeople(t *testing.T) {
	w := apptest.New(t)
	repo := sample(w)
	repo.Collaborator("maintainer", "write")
	repo.Collaborator("stranger", "read")
	sha := repo.Commit("leak", "Settings", map[string]string{"a.env": leak})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Settings", Head: "leak", Author: "dev"})
	w.Settle()
	concluded(t, w, repo, sha, "failure")

	pr.Comment("stranger", "/prosecute override because I say so")
	w.Settle()
	concluded(t, w, repo, sha, "failure")

	id := pr.Comment("maintainer", "/prosecute override a test fixture, not a key")
	w.Settle()
	runs := w.CheckRuns(repo, sha)
	last := runs[0]
	for _, r := range runs {
		if r.ID > last.ID {
			last = r
		}
	}
	if last.Conclusion != "neutral" || !strings.Contains(last.Title, "maintainer") {
		t.Errorf("after an override: %+v\n%s", last, w.Logs)
	}
	if len(repo.Reactions(id)) == 0 {
		t.Error("the command was not marked as seen")
	}
	pr.Comment("maintainer", "/prosecute help")
	w.Settle()
	found := false
	for _, c := range pr.IssueComments() {
		found = found || (c.Author == w.GitHub.App().BotLogin() && strings.Contains(c.Body, "/prosecute dismiss"))
	}
	if !found {
		t.Error("no usage was replied")
	}
}

// A delivery that failed is asked for again, and a head whose event left no trace at all is found among the open pull
// requests.
func TestMissedEventsAreReconciled(t *testing.T) {
	for name, passage := range map[string]githubtest.Passage{"failed": githubtest.Fail, "lost without a trace": githubtest.Lose} {
		t.Run(name, func(t *testing.T) {
			w := apptest.New(t, apptest.Options{ReconcileAfter: time.Nanosecond})
			repo := sample(w)
			sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
			w.Settle()
			w.GitHub.OnDelivery(func(d githubtest.Delivery) githubtest.Passage { return passage })
			pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
			w.Settle()
			w.GitHub.OnDelivery(nil)
			w.App.Reconcile(context.Background())
			w.Settle()
			w.App.Reconcile(context.Background())
			w.Settle()
			concluded(t, w, repo, sha, "success")
			undoubled(t, w, pr)
		})
	}
}

func TestFailedJudgeHoldsWithAnOpenCheckRun(t *testing.T) {
	j := &scripted{id: "one", family: "fern"}
	j.answer = func(context.Context, int, judge.Request) (string, error) {
		return "", &judge.Error{Kind: "transport", Provider: "fern-cloud", Status: 503, Err: errors.New("service unavailable")}
	}
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}})
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Until(func() bool {
		runs := w.CheckRuns(repo, sha)
		return len(runs) == 1 && strings.Contains(runs[0].Title, "correctness")
	})
	if runs := w.CheckRuns(repo, sha); runs[0].Status != "in_progress" {
		t.Errorf("check run %+v, want it in progress while the case is held", runs[0])
	}
}
