package app_test

import (
	"context"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/test/apptest"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

func withPolicy(w *apptest.World, policy string) *githubtest.Repo {
	return w.GitHub.AddRepo("acme/pay", map[string]string{
		"README.md": "# pay\n", "refund.go": "package pay\n\n// Limit is the largest refund.\nconst Limit = 100\n", ".github/prosecutor.yml": policy,
	})
}

// latest is the newest check run of ours on a head.
func latest(w *apptest.World, repo *githubtest.Repo, sha string) githubtest.CheckRun {
	var last githubtest.CheckRun
	for _, r := range w.CheckRuns(repo, sha) {
		if r.ID > last.ID {
			last = r
		}
	}
	return last
}

// A case waits for a required check with its check run in progress, and goes on when the check has reported.
func TestRequiredCheckParksTheCase(t *testing.T) {
	j := &scripted{id: "one", family: "fern"}
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}})
	repo := withPolicy(w, "checks:\n  required: [build]\n")
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Until(func() bool { return strings.Contains(latest(w, repo, sha).Title, "build") })
	if c := latest(w, repo, sha); c.Status != "in_progress" || j.count() != 0 {
		t.Fatalf("check run %+v after %d calls, want it in progress without a call", c, j.count())
	}
	repo.Check(sha, "build", "completed", "success", "")
	w.Until(func() bool { return latest(w, repo, sha).Status == "completed" })
	concluded(t, w, repo, sha, "success")
	if j.count() != 1 {
		t.Errorf("%d calls", j.count())
	}
}

// A check that turns red after ADVANCE replaces the decision without a call, and turning green again has the judges decide.
func TestEvidenceThatChangesAfterTheDecision(t *testing.T) {
	j := &scripted{id: "one", family: "fern"}
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}})
	repo := withPolicy(w, "checks:\n  required: [build]\n")
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	repo.Check(sha, "build", "completed", "success", "")
	w.Settle()
	repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Until(func() bool { return latest(w, repo, sha).Conclusion == "success" })
	repo.Check(sha, "build", "completed", "failure", "")
	w.Until(func() bool { return latest(w, repo, sha).Conclusion == "failure" })
	if j.count() != 1 {
		t.Errorf("%d calls, want none for evidence that turned red", j.count())
	}
	repo.Check(sha, "build", "completed", "success", "")
	w.Until(func() bool { return latest(w, repo, sha).Conclusion == "success" })
	if j.count() != 2 {
		t.Errorf("%d calls, want one more after the evidence turned clean", j.count())
	}
	l, err := w.Store.Ledgers().Load(context.Background(), ledgerKey(repo, 1))
	if err != nil || l.Laps != 1 {
		t.Errorf("laps = %d, %v: evidence that changes costs none", l.Laps, err)
	}
}

func TestBrokenPolicyIsNamedAndJudgesNothing(t *testing.T) {
	j := &scripted{id: "one", family: "fern"}
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}})
	repo := withPolicy(w, "blast_radius:\n  medium_lines: many\n")
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Settle()
	c := concluded(t, w, repo, sha, "action_required")
	if !strings.HasPrefix(c.Title, "Not judged") || !strings.Contains(c.Summary, "medium_lines") || j.count() != 0 {
		t.Errorf("check run %q after %d calls: %s", c.Title, j.count(), c.Summary)
	}
}

func TestCodeScanningAlertBlocks(t *testing.T) {
	w := apptest.New(t)
	repo := sample(w)
	repo.Analysis(githubtest.Analysis{CommitSHA: repo.Head("main")})
	sha := repo.Commit("docs", "Change", map[string]string{"refund.go": "package pay\n\n// Limit is the largest refund.\nconst Limit = 200\n"})
	w.Settle()
	repo.Analysis(githubtest.Analysis{Ref: "refs/pull/1/merge", CommitSHA: sha, Results: 1})
	repo.Alert(githubtest.Alert{Ref: "refs/pull/1/merge", CommitSHA: sha, Rule: "go/limit", SecuritySeverity: "high", Severity: "error", Path: "refund.go", StartLine: 4, EndLine: 4, Description: "A limit", Message: "too high"})
	repo.OpenPR(githubtest.PR{Title: "Change", Head: "docs"})
	w.Until(func() bool { return latest(w, repo, sha).Status == "completed" })
	c := latest(w, repo, sha)
	if c.Conclusion != "failure" || !strings.Contains(c.Summary, "code scanning | red") {
		t.Errorf("check run %s: %s", c.Conclusion, c.Summary)
	}
}

// A merge group whose members are converged, in one step each and without a common file, carries their decisions over.
func TestMergeGroupCarriesTheDecisionOver(t *testing.T) {
	j := &scripted{id: "one", family: "fern"}
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}})
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Settle()
	concluded(t, w, repo, sha, "success")
	calls := j.count()
	group := repo.MergeGroup(pr)
	w.Settle()
	concluded(t, w, repo, group.HeadSHA, "success")
	if j.count() != calls {
		t.Errorf("%d calls for a group that carries over", j.count()-calls)
	}
}

func TestKillSwitchCountsFromThoseWhoMayWrite(t *testing.T) {
	w := apptest.New(t)
	repo := sample(w)
	repo.Collaborator("maintainer", "write")
	repo.Collaborator("triager", "triage")
	sha := repo.Commit("leak", "Settings", map[string]string{"a.env": leak})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Settings", Head: "leak"})
	w.Settle()
	concluded(t, w, repo, sha, "failure")
	pr.Label("triager", "prosecutor:off")
	w.Settle()
	if c := latest(w, repo, sha); c.Conclusion == "neutral" {
		t.Fatalf("somebody without write access switched the gate off: %+v", c)
	}
	pr.Unlabel("triager", "prosecutor:off")
	w.Settle()
	pr.Label("maintainer", "prosecutor:off")
	w.Settle()
	if c := latest(w, repo, sha); c.Conclusion != "neutral" || !strings.Contains(c.Title, "maintainer") {
		t.Errorf("check run %+v, want neutral, by whom", c)
	}
}

// Whatever goes through the App, no key, token or secret comes out of it: not in a log, a check run, a review or a comment.
func TestNoSecretComesOut(t *testing.T) {
	w := apptest.New(t)
	repo := sample(w)
	sha := repo.Commit("leak", "Settings", map[string]string{"a.env": leak + "PRIVATE=-----BEGIN RSA PRIVATE KEY-----\n"})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Settings " + strings.TrimSpace(leak), Body: leak, Head: "leak"})
	w.GitHub.ExpireTokens()
	w.Settle()
	var all strings.Builder
	all.WriteString(w.Logs.String())
	for _, c := range w.CheckRuns(repo, sha) {
		all.WriteString(c.Title + c.Summary + c.Text)
		for _, a := range c.Annotations {
			all.WriteString(a.Title + a.Message + a.Raw)
		}
	}
	for _, r := range pr.Reviews() {
		all.WriteString(r.Body)
	}
	for _, c := range pr.ReviewComments() {
		all.WriteString(c.Body)
	}
	for _, c := range pr.IssueComments() {
		all.WriteString(c.Body)
	}
	text := all.String()
	for _, block := range regexp.MustCompile(`base64 ([A-Za-z0-9+/=]+)`).FindAllStringSubmatch(text, -1) {
		raw, err := base64.StdEncoding.DecodeString(block[1])
		if err != nil {
			t.Errorf("a hidden block is no base64: %v", err)
		}
		text += string(raw)
	}
	if !strings.Contains(text, "a.env") {
		t.Fatal("nothing was published, so that nothing was looked at")
	}
	for _, secret := range []string{
		"R7xK2mQ9vLpT4wZc8NbY1sHd6JfGu3EaXo5V", "ghs_", w.GitHub.App().WebhookSecret, "Bearer ", "eyJhbGciOi",
		strings.Split(string(w.GitHub.App().PrivateKeyPEM), "\n")[1],
	} {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%q came out: ...%s...", secret, text[max(0, i-80):min(len(text), i+80)])
		}
	}
}
