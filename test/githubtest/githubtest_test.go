package githubtest_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// jwt signs claims as an App does.
func jwt(t *testing.T, app githubtest.App, claims map[string]any) string {
	t.Helper()
	block, _ := pem.Decode(app.PrivateKeyPEM)
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(payload)
	sum := sha256.Sum256([]byte(signed))
	sig, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(sig)
}

func goodClaims(app githubtest.App, now time.Time) map[string]any {
	return map[string]any{"iss": strconv.FormatInt(app.ID, 10), "iat": now.Add(-time.Minute).Unix(), "exp": now.Add(5 * time.Minute).Unix()}
}

func client(t *testing.T, s *githubtest.Server, token string) *github.Client {
	t.Helper()
	c, err := github.NewClient(nil).WithAuthToken(token).WithEnterpriseURLs(s.REST, s.REST)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func appClient(t *testing.T, s *githubtest.Server) *github.Client {
	t.Helper()
	return client(t, s, jwt(t, s.App(), goodClaims(s.App(), time.Now())))
}

// installed is a client of the App's installation on an account.
func installed(t *testing.T, s *githubtest.Server, account string, opts *github.InstallationTokenOptions) *github.Client {
	t.Helper()
	token, _, err := appClient(t, s).Apps.CreateInstallationToken(context.Background(), s.InstallationID(account), opts)
	if err != nil {
		t.Fatal(err)
	}
	return client(t, s, token.GetToken())
}

// must unwraps the three results of go-github's calls.
func must[T any](v T, _ *github.Response, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// status is the status of a failed call.
func status(err error) int {
	var e *github.ErrorResponse
	if errors.As(err, &e) {
		return e.Response.StatusCode
	}
	return 0
}

func setup(t *testing.T) (*githubtest.Server, *githubtest.Repo, *githubtest.PullRequest) {
	t.Helper()
	s := githubtest.New(t)
	repo := s.AddRepo("acme/pay", map[string]string{
		"pay.go": "package pay\n\nfunc Pay() int {\n\treturn 1\n}\n", "README.md": "# Pay\n", ".github/CODEOWNERS": "* @acme/core\n",
	})
	repo.Push(githubtest.Commit{Branch: "feature/x", Message: "Pay twice\n\nCo-authored-by: Claude <noreply@anthropic.com>", Author: "dev", Files: map[string]string{
		"pay.go": "package pay\n\nfunc Pay() int {\n\treturn 2\n}\n", "new file.txt": "hello\n", "README.md": githubtest.Removed,
	}})
	return s, repo, repo.OpenPR(githubtest.PR{Title: "Pay twice", Body: "Closes #9", Head: "feature/x"})
}

func TestAppAuthentication(t *testing.T) {
	s, _, _ := setup(t)
	ctx := context.Background()
	app := must(appClient(t, s).Apps.Get(ctx, ""))(t)
	if app.GetID() != s.App().ID || app.GetSlug() != "prosecutor" || app.GetPermissions().GetChecks() != "write" {
		t.Errorf("app: %+v", app)
	}
	now := time.Now()
	for _, tc := range []struct {
		name   string
		change func(map[string]any)
		want   int
	}{
		{"exp too far", func(c map[string]any) { c["exp"] = now.Add(11 * time.Minute).Unix() }, 401},
		{"expired", func(c map[string]any) { c["exp"] = now.Add(-time.Second).Unix() }, 401},
		{"iat ahead", func(c map[string]any) { c["iat"] = now.Add(30 * time.Second).Unix() }, 401},
		{"iat missing", func(c map[string]any) { delete(c, "iat") }, 401},
		{"stranger", func(c map[string]any) { c["iss"] = "1" }, 404},
		{"client id", func(c map[string]any) { c["iss"] = s.App().ClientID }, 0},
	} {
		claims := goodClaims(s.App(), now)
		tc.change(claims)
		_, _, err := client(t, s, jwt(t, s.App(), claims)).Apps.Get(ctx, "")
		if status(err) != tc.want {
			t.Errorf("%s: %v, want %d", tc.name, err, tc.want)
		}
	}
	if _, _, err := client(t, s, "ghs_wrong").Apps.ListRepos(ctx, nil); status(err) != 401 {
		t.Errorf("wrong token: %v", err)
	}
}

func TestInstallationTokens(t *testing.T) {
	s, repo, pr := setup(t)
	other := s.AddRepo("acme/other", map[string]string{"a": "b\n"})
	ctx := context.Background()
	full := installed(t, s, "acme", nil)
	if got := must(full.Apps.ListRepos(ctx, nil))(t); got.GetTotalCount() != 2 {
		t.Errorf("repositories: %d", got.GetTotalCount())
	}
	scoped := installed(t, s, "acme", &github.InstallationTokenOptions{RepositoryIDs: []int64{repo.ID()}, Permissions: &github.InstallationPermissions{Contents: github.String("read")}})
	must(scoped.Repositories.Get(ctx, "acme", "pay"))(t)
	if _, _, err := scoped.Repositories.Get(ctx, "acme", "other"); status(err) != 404 {
		t.Errorf("a repository out of scope: %v (%s)", err, other.FullName())
	}
	_, _, err := scoped.Checks.CreateCheckRun(ctx, "acme", "pay", github.CreateCheckRunOptions{Name: "n", HeadSHA: pr.HeadSHA()})
	if status(err) != 403 || !strings.Contains(err.Error(), "Resource not accessible by integration") {
		t.Errorf("a permission out of scope: %v", err)
	}
	_, _, err = appClient(t, s).Apps.CreateInstallationToken(ctx, s.InstallationID("acme"), &github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{Contents: github.String("write")}})
	if status(err) != 422 {
		t.Errorf("more than the installation has: %v", err)
	}
	s.Suspend("acme")
	if _, _, err := full.Repositories.Get(ctx, "acme", "pay"); status(err) != 403 {
		t.Errorf("suspended: %v", err)
	}
	s.Unsuspend("acme")
	s.Uninstall("acme")
	if _, _, err := full.Repositories.Get(ctx, "acme", "pay"); status(err) != 401 {
		t.Errorf("uninstalled: %v", err)
	}
}

func TestTokensExpire(t *testing.T) {
	now := time.Now()
	s := githubtest.New(t, githubtest.Options{Now: func() time.Time { return now }})
	s.AddRepo("acme/pay", map[string]string{"a": "b\n"})
	c := installed(t, s, "acme", nil)
	must(c.Repositories.Get(context.Background(), "acme", "pay"))(t)
	now = now.Add(time.Hour)
	if _, _, err := c.Repositories.Get(context.Background(), "acme", "pay"); status(err) != 401 {
		t.Errorf("after an hour: %v", err)
	}
}

func TestPullRequest(t *testing.T) {
	s, repo, pr := setup(t)
	ctx := context.Background()
	c := installed(t, s, "acme", nil)
	first := must(c.PullRequests.Get(ctx, "acme", "pay", 1))(t)
	if first.Mergeable != nil {
		t.Error("mergeable is known before anybody asked")
	}
	second := must(c.PullRequests.Get(ctx, "acme", "pay", 1))(t)
	if !second.GetMergeable() || second.GetMergeCommitSHA() == "" {
		t.Errorf("mergeable %v, merge commit %q", second.Mergeable, second.GetMergeCommitSHA())
	}
	if second.GetChangedFiles() != 3 || second.GetHead().GetSHA() != pr.HeadSHA() || second.GetCommits() != 1 {
		t.Errorf("pull request: %+v", second)
	}
	diff, _, err := c.PullRequests.GetRaw(ctx, "acme", "pay", 1, github.RawOptions{Type: github.Diff})
	if err != nil || !strings.Contains(diff, "+\treturn 2") {
		t.Errorf("diff: %v\n%s", err, diff)
	}
	files := must(c.PullRequests.ListFiles(ctx, "acme", "pay", 1, nil))(t)
	want := map[string]string{"README.md": "removed", "new file.txt": "added", "pay.go": "modified"}
	for _, f := range files {
		if want[f.GetFilename()] != f.GetStatus() || f.GetPatch() == "" {
			t.Errorf("file %s: %s %q", f.GetFilename(), f.GetStatus(), f.GetPatch())
		}
		delete(want, f.GetFilename())
	}
	if len(want) > 0 {
		t.Errorf("files missing: %v", want)
	}
	if commits := must(c.PullRequests.ListCommits(ctx, "acme", "pay", 1, nil))(t); len(commits) != 1 || commits[0].GetAuthor().GetLogin() != "dev" {
		t.Errorf("commits: %+v", commits)
	}
	if pulls := must(c.PullRequests.ListPullRequestsWithCommit(ctx, "acme", "pay", pr.HeadSHA(), nil))(t); len(pulls) != 1 {
		t.Errorf("pull requests of the head: %d", len(pulls))
	}
	repo.Commit("main", "Conflict", map[string]string{"pay.go": "package pay\n\nfunc Pay() int {\n\treturn 3\n}\n"})
	must(c.PullRequests.Get(ctx, "acme", "pay", 1))(t)
	if p := must(c.PullRequests.Get(ctx, "acme", "pay", 1))(t); p.Mergeable == nil || p.GetMergeable() || p.GetMergeableState() != "dirty" {
		t.Errorf("after a conflict: %v %s", p.Mergeable, p.GetMergeableState())
	}
	must(c.PullRequests.List(ctx, "acme", "pay", &github.PullRequestListOptions{State: "all", ListOptions: github.ListOptions{PerPage: 1}}))(t)
	cmp := must(c.Repositories.CompareCommits(ctx, "acme", "pay", "main", "feature/x", nil))(t)
	if cmp.GetStatus() != "diverged" || cmp.GetAheadBy() != 1 || len(cmp.Files) != 3 {
		t.Errorf("compare: %s %d %d", cmp.GetStatus(), cmp.GetAheadBy(), len(cmp.Files))
	}
}

func TestContents(t *testing.T) {
	s, _, pr := setup(t)
	ctx := context.Background()
	c := installed(t, s, "acme", nil)
	file, _, _, err := c.Repositories.GetContents(ctx, "acme", "pay", ".github/CODEOWNERS", &github.RepositoryContentGetOptions{Ref: "main"})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := file.GetContent(); err != nil || text != "* @acme/core\n" {
		t.Errorf("contents: %q %v", text, err)
	}
	_, dir, _, err := c.Repositories.GetContents(ctx, "acme", "pay", "", nil)
	if err != nil || len(dir) != 3 {
		t.Errorf("root: %d entries, %v", len(dir), err)
	}
	if _, _, _, err := c.Repositories.GetContents(ctx, "acme", "pay", "none", nil); status(err) != 404 {
		t.Errorf("missing: %v", err)
	}
	commit := must(c.Git.GetCommit(ctx, "acme", "pay", pr.HeadSHA()))(t)
	tree := must(c.Git.GetTree(ctx, "acme", "pay", commit.GetTree().GetSHA(), true))(t)
	if len(tree.Entries) != 4 {
		t.Errorf("tree: %+v", tree.Entries)
	}
	if raw, _, err := c.Git.GetBlobRaw(ctx, "acme", "pay", file.GetSHA()); err != nil || string(raw) != "* @acme/core\n" {
		t.Errorf("blob: %q %v", raw, err)
	}
	must(c.Git.GetRef(ctx, "acme", "pay", "heads/feature/x"))(t)
	must(c.Repositories.GetCommit(ctx, "acme", "pay", "feature/x", nil))(t)
	must(c.Repositories.GetBranch(ctx, "acme", "pay", "feature/x", 1))(t)
	must(c.Repositories.GetCodeownersErrors(ctx, "acme", "pay", nil))(t)
}

func TestCheckRuns(t *testing.T) {
	s, repo, pr := setup(t)
	ctx := context.Background()
	c := installed(t, s, "acme", nil)
	run := must(c.Checks.CreateCheckRun(ctx, "acme", "pay", github.CreateCheckRunOptions{Name: "prosecutor", HeadSHA: pr.HeadSHA(), Status: github.String("in_progress"), ExternalID: github.String("x")}))(t)
	if len(run.PullRequests) != 1 {
		t.Errorf("pull requests of the run: %+v", run.PullRequests)
	}
	annotation := &github.CheckRunAnnotation{Path: github.String("pay.go"), StartLine: github.Int(4), EndLine: github.Int(4), AnnotationLevel: github.String("warning"), Message: github.String("m")}
	for range 2 {
		must(c.Checks.UpdateCheckRun(ctx, "acme", "pay", run.GetID(), github.UpdateCheckRunOptions{
			Name: "prosecutor", Output: &github.CheckRunOutput{Title: github.String("t"), Summary: github.String("s"), Annotations: []*github.CheckRunAnnotation{annotation}},
		}))(t)
	}
	must(c.Checks.UpdateCheckRun(ctx, "acme", "pay", run.GetID(), github.UpdateCheckRunOptions{Name: "prosecutor", Conclusion: github.String("failure"), Actions: []*github.CheckRunAction{{Label: "l", Description: "d", Identifier: "i"}}}))(t)
	got := repo.CheckRuns(pr.HeadSHA())
	if len(got) != 1 || len(got[0].Annotations) != 2 || got[0].Status != "completed" || got[0].Conclusion != "failure" || len(got[0].Actions) != 1 {
		t.Errorf("check runs: %+v", got)
	}
	if list := must(c.Checks.ListCheckRunAnnotations(ctx, "acme", "pay", run.GetID(), nil))(t); len(list) != 2 {
		t.Errorf("annotations: %d", len(list))
	}
	repo.Check(pr.HeadSHA(), "build", "completed", "success", "")
	repo.Status(pr.HeadSHA(), "ci/old", "success", "fine")
	if list := must(c.Checks.ListCheckRunsForRef(ctx, "acme", "pay", pr.HeadSHA(), nil))(t); list.GetTotal() != 2 {
		t.Errorf("check runs for the head: %d", list.GetTotal())
	}
	must(c.Checks.ListCheckSuitesForRef(ctx, "acme", "pay", pr.HeadSHA(), nil))(t)
	if st := must(c.Repositories.GetCombinedStatus(ctx, "acme", "pay", pr.HeadSHA(), nil))(t); st.GetState() != "success" || st.GetTotalCount() != 1 {
		t.Errorf("status: %+v", st)
	}
	must(c.Repositories.ListStatuses(ctx, "acme", "pay", pr.HeadSHA(), nil))(t)
}

func TestReviewsAndComments(t *testing.T) {
	s, repo, pr := setup(t)
	ctx := context.Background()
	c := installed(t, s, "acme", nil)
	draft := func(path string, line int) *github.DraftReviewComment {
		return &github.DraftReviewComment{Path: github.String(path), Line: github.Int(line), Side: github.String("RIGHT"), Body: github.String("why?")}
	}
	_, _, err := c.PullRequests.CreateReview(ctx, "acme", "pay", 1, &github.PullRequestReviewRequest{Event: github.String("COMMENT"), Body: github.String("b"), Comments: []*github.DraftReviewComment{draft("pay.go", 4), draft("pay.go", 40)}})
	if status(err) != 422 || len(pr.Reviews()) != 0 {
		t.Errorf("a line out of the diff: %v, %d reviews", err, len(pr.Reviews()))
	}
	review := must(c.PullRequests.CreateReview(ctx, "acme", "pay", 1, &github.PullRequestReviewRequest{Event: github.String("REQUEST_CHANGES"), Body: github.String("b"), Comments: []*github.DraftReviewComment{draft("pay.go", 4)}}))(t)
	if review.GetState() != "CHANGES_REQUESTED" {
		t.Errorf("state: %s", review.GetState())
	}
	must(c.PullRequests.ListReviews(ctx, "acme", "pay", 1, nil))(t)
	must(c.PullRequests.ListReviewComments(ctx, "acme", "pay", 1, review.GetID(), nil))(t)
	notes := must(c.PullRequests.ListComments(ctx, "acme", "pay", 1, nil))(t)
	if len(notes) != 1 || notes[0].GetLine() != 4 || !strings.HasSuffix(notes[0].GetDiffHunk(), "+\treturn 2") {
		t.Fatalf("comments: %+v", notes)
	}
	must(c.PullRequests.CreateCommentInReplyTo(ctx, "acme", "pay", 1, "because", notes[0].GetID()))(t)
	pr.ReplyTo(notes[0].GetID(), "dev", "really?")
	if threads := pr.Threads(); len(threads) != 1 || len(threads[0].Comments) != 3 {
		t.Errorf("threads: %+v", threads)
	}
	repo.Commit("feature/x", "Shift", map[string]string{"pay.go": "// Package pay pays.\npackage pay\n\nfunc Pay() int {\n\treturn 2\n}\n"})
	if threads := pr.Threads(); threads[0].Line != 5 || threads[0].Outdated {
		t.Errorf("after the line moved: %+v", threads[0])
	}
	repo.Commit("feature/x", "Change", map[string]string{"pay.go": "// Package pay pays.\npackage pay\n\nfunc Pay() int {\n\treturn 4\n}\n"})
	if threads := pr.Threads(); threads[0].Line != 0 || !threads[0].Outdated {
		t.Errorf("after the line changed: %+v", threads[0])
	}
	must(c.PullRequests.ListReviewComments(ctx, "acme", "pay", 1, review.GetID(), nil))(t)
	if list := must(c.PullRequests.ListComments(ctx, "acme", "pay", 1, nil))(t); list[0].Line != nil || list[0].GetOriginalLine() != 4 {
		t.Errorf("an outdated comment: %+v", list[0])
	}
	must(c.PullRequests.DismissReview(ctx, "acme", "pay", 1, review.GetID(), &github.PullRequestReviewDismissalRequest{Message: github.String("m")}))(t)

	comment := must(c.Issues.CreateComment(ctx, "acme", "pay", 1, &github.IssueComment{Body: github.String("hello")}))(t)
	must(c.Issues.EditComment(ctx, "acme", "pay", comment.GetID(), &github.IssueComment{Body: github.String("bye")}))(t)
	must(c.Reactions.CreateIssueCommentReaction(ctx, "acme", "pay", comment.GetID(), "eyes"))(t)
	must(c.Reactions.CreatePullRequestCommentReaction(ctx, "acme", "pay", notes[0].GetID(), "+1"))(t)
	if list := must(c.Issues.ListComments(ctx, "acme", "pay", 1, nil))(t); len(list) != 1 || list[0].GetBody() != "bye" || list[0].GetUser().GetLogin() != "prosecutor[bot]" || list[0].GetReactions().GetEyes() != 1 {
		t.Errorf("comments: %+v", list)
	}
	must(c.Issues.AddLabelsToIssue(ctx, "acme", "pay", 1, []string{"needs-human"}))(t)
	if labels := pr.Labels(); len(labels) != 1 || labels[0] != "needs-human" {
		t.Errorf("labels: %v", labels)
	}
	if _, err := c.Issues.RemoveLabelForIssue(ctx, "acme", "pay", 1, "needs-human"); err != nil {
		t.Error(err)
	}
	repo.Collaborator("mia", "maintain")
	must(c.PullRequests.RequestReviewers(ctx, "acme", "pay", 1, github.ReviewersRequest{Reviewers: []string{"mia"}, TeamReviewers: []string{"core"}}))(t)
	if got := pr.RequestedReviewers(); len(got) != 2 {
		t.Errorf("requested: %v", got)
	}
	level := must(c.Repositories.GetPermissionLevel(ctx, "acme", "pay", "mia"))(t)
	if level.GetPermission() != "write" {
		t.Errorf("maintain is reported as %s", level.GetPermission())
	}
	must(c.Issues.Get(ctx, "acme", "pay", 1))(t)
}

func TestScanning(t *testing.T) {
	s, repo, _ := setup(t)
	ctx := context.Background()
	c := installed(t, s, "acme", nil)
	if _, _, err := c.CodeScanning.ListAlertsForRepo(ctx, "acme", "pay", nil); status(err) != 404 {
		t.Errorf("without an analysis: %v", err)
	}
	repo.Analysis(githubtest.Analysis{Ref: "refs/pull/1/merge", Results: 1})
	repo.Alert(githubtest.Alert{Ref: "refs/pull/1/merge", Rule: "go/sql-injection", SecuritySeverity: "high", Path: "pay.go", StartLine: 4})
	alerts := must(c.CodeScanning.ListAlertsForRepo(ctx, "acme", "pay", &github.AlertListOptions{Ref: "refs/pull/1/merge", State: "open"}))(t)
	if len(alerts) != 1 || alerts[0].GetRule().GetSecuritySeverityLevel() != "high" {
		t.Errorf("alerts: %+v", alerts)
	}
	must(c.CodeScanning.GetAlert(ctx, "acme", "pay", 1))(t)
	if list := must(c.CodeScanning.ListAnalysesForRepo(ctx, "acme", "pay", nil))(t); len(list) != 1 {
		t.Errorf("analyses: %+v", list)
	}
}

func TestRenamedRepository(t *testing.T) {
	s, repo, _ := setup(t)
	ctx := context.Background()
	c := installed(t, s, "acme", nil)
	repo.Rename("payments")
	got := must(c.Repositories.Get(ctx, "acme", "pay"))(t)
	if got.GetName() != "payments" {
		t.Errorf("name: %s", got.GetName())
	}
	must(c.Issues.CreateComment(ctx, "acme", "pay", 1, &github.IssueComment{Body: github.String("after the move")}))(t)
}

func TestConditionalRequestsAreFree(t *testing.T) {
	s, _, _ := setup(t)
	token, _, err := appClient(t, s).Apps.CreateInstallationToken(context.Background(), s.InstallationID("acme"), nil)
	if err != nil {
		t.Fatal(err)
	}
	get := func(tag string) (int, http.Header) {
		req, err := http.NewRequest(http.MethodGet, s.REST+"repos/acme/pay", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token.GetToken())
		req.Header.Set("If-None-Match", tag)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode, resp.Header
	}
	_, first := get("")
	code, second := get(first.Get("ETag"))
	if used := second.Get("X-RateLimit-Used"); code != http.StatusNotModified || used != first.Get("X-RateLimit-Used") {
		t.Errorf("%d, used %s then %s", code, first.Get("X-RateLimit-Used"), used)
	}
}
