package githubtest_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// lines is a file of n lines.
func lines(n int) string { return strings.Repeat("line\n", n) }

func TestDiffsHaveLimits(t *testing.T) {
	ctx := context.Background()
	for _, tc := range []struct {
		name  string
		files func() map[string]string
		says  string
	}{
		{"files", func() map[string]string {
			files := map[string]string{}
			for i := range 301 {
				files[fmt.Sprintf("f%03d", i)] = "x\n"
			}
			return files
		}, "maximum number of files (300)"},
		{"lines", func() map[string]string { return map[string]string{"big": lines(20_001)} }, "maximum number of lines (20000)"},
		{"bytes", func() map[string]string {
			return map[string]string{"wide": strings.Repeat(strings.Repeat("x", 1000)+"\n", 1100)}
		}, "maximum size"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := githubtest.New(t)
			repo := s.AddRepo("acme/pay", map[string]string{"a": "a\n"})
			repo.Commit("feature", "Much", tc.files())
			repo.OpenPR(githubtest.PR{Title: "Much", Head: "feature"})
			c := installed(t, s, "acme", nil)
			_, _, err := c.PullRequests.GetRaw(ctx, "acme", "pay", 1, github.RawOptions{Type: github.Diff})
			if status(err) != http.StatusNotAcceptable || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "too_large") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestFilesOfAPullRequestAreCapped(t *testing.T) {
	s := githubtest.New(t)
	repo := s.AddRepo("acme/pay", map[string]string{"a": "a\n"})
	files := map[string]string{"0-large": lines(20_001), "1-binary": "\x01\x00\x02"}
	for i := range 3000 {
		files[fmt.Sprintf("f%04d", i)] = "x\n"
	}
	repo.Commit("feature", "Much", files)
	repo.OpenPR(githubtest.PR{Title: "Much", Head: "feature"})
	c := installed(t, s, "acme", nil)
	ctx := context.Background()
	if p := must(c.PullRequests.Get(ctx, "acme", "pay", 1))(t); p.GetChangedFiles() != 3002 {
		t.Errorf("changed files: %d", p.GetChangedFiles())
	}
	seen := 0
	opts := &github.ListOptions{PerPage: 300} // silently 100
	for {
		list, resp, err := c.PullRequests.ListFiles(ctx, "acme", "pay", 1, opts)
		if err != nil {
			t.Fatal(err)
		}
		if seen == 0 && (len(list) != 100 || list[0].Patch != nil || list[1].Patch != nil || list[2].Patch == nil) {
			t.Errorf("%d files on the first page; the large and the binary one have no patch", len(list))
		}
		seen += len(list)
		if resp.NextPage == 0 {
			break
		}
		opts.Page = resp.NextPage
	}
	if seen != 3000 {
		t.Errorf("%d files listed", seen)
	}
}

func TestCommitsOfAPullRequestAreCapped(t *testing.T) {
	s := githubtest.New(t)
	repo := s.AddRepo("acme/pay", map[string]string{"a": "a\n"})
	var history strings.Builder
	for i := range 250 {
		fmt.Fprintf(&history, "commit refs/heads/feature\ncommitter dev <dev@example.com> %d +0000\ndata 1\nm\n", 1_780_000_000+i)
		if i == 0 {
			history.WriteString("from refs/heads/main\n")
		}
		fmt.Fprintf(&history, "M 100644 inline a\ndata 4\n%04d\n", i)
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = repo.Dir(), strings.NewReader(history.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("fast-import: %v %s", err, out)
	}
	repo.Commit("feature", "The last of many", map[string]string{"b": "b\n"})
	repo.OpenPR(githubtest.PR{Title: "Long", Head: "feature"})
	c := installed(t, s, "acme", nil)
	list, resp, err := c.PullRequests.ListCommits(context.Background(), "acme", "pay", 1, &github.ListOptions{PerPage: 100})
	if err != nil {
		t.Fatal(err)
	}
	last := must(c.PullRequests.ListCommits(context.Background(), "acme", "pay", 1, &github.ListOptions{PerPage: 100, Page: resp.LastPage}))(t)
	if len(list) != 100 || resp.LastPage != 3 || len(last) != 50 {
		t.Errorf("%d commits, %d pages, %d on the last", len(list), resp.LastPage, len(last))
	}
	cmp := must(c.Repositories.CompareCommits(context.Background(), "acme", "pay", "main", "feature", nil))(t)
	if cmp.GetTotalCommits() != 251 || len(cmp.Commits) != 250 {
		t.Errorf("compare: %d of %d", len(cmp.Commits), cmp.GetTotalCommits())
	}
}

func TestKindsOfFiles(t *testing.T) {
	s := githubtest.New(t)
	body := lines(20)
	repo := s.AddRepo("acme/pay", map[string]string{"old.txt": body, "mode.sh": "#!/bin/sh\n", "link": githubtest.Symlink("old.txt"), "gone": "g\n", "bin": "\x00\x01"})
	repo.Commit("feature", "Kinds", map[string]string{
		"old.txt": githubtest.Removed, "new name.txt": body + "more\n", "mode.sh": githubtest.Executable("#!/bin/sh\n"), "link": "a file now\n", "gone": githubtest.Removed,
		"bin": "\x00\x02", "größe.txt": "ö\n", "no-newline": "x",
	})
	repo.OpenPR(githubtest.PR{Title: "Kinds", Head: "feature"})
	c := installed(t, s, "acme", nil)
	files := must(c.PullRequests.ListFiles(context.Background(), "acme", "pay", 1, nil))(t)
	want := map[string]string{
		"new name.txt": "renamed old.txt +1-0 true", "mode.sh": "modified  +0-0 false", "link": "changed  +1-1 true", "gone": "removed  +0-1 true",
		"bin": "modified  +0-0 false", "größe.txt": "added  +1-0 true", "no-newline": "added  +1-0 true",
	}
	for _, f := range files {
		got := fmt.Sprintf("%s %s +%d-%d %v", f.GetStatus(), f.GetPreviousFilename(), f.GetAdditions(), f.GetDeletions(), f.Patch != nil)
		if want[f.GetFilename()] != got {
			t.Errorf("%s: %s, want %s", f.GetFilename(), got, want[f.GetFilename()])
		}
		delete(want, f.GetFilename())
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	file, _, _, err := c.Repositories.GetContents(context.Background(), "acme", "pay", "größe.txt", &github.RepositoryContentGetOptions{Ref: "feature"})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := file.GetContent(); err != nil || text != "ö\n" {
		t.Errorf("contents: %q %v", text, err)
	}
}

func TestForks(t *testing.T) {
	s, repo, _ := setup(t)
	fork := repo.Fork("mallory")
	head := fork.Commit("patch", "Sneak", map[string]string{"pay.go": "package pay\n\nfunc Pay() int {\n\treturn 0\n}\n"})
	pr := repo.OpenPR(githubtest.PR{Title: "Sneak", Head: "mallory:patch", Author: "mallory"})
	ctx := context.Background()
	c := installed(t, s, "acme", nil)
	got := must(c.PullRequests.Get(ctx, "acme", "pay", pr.Number()))(t)
	if got.GetHead().GetRepo().GetFullName() != "mallory/pay" || got.GetHead().GetSHA() != head || got.GetHead().GetLabel() != "mallory:patch" {
		t.Errorf("head: %+v", got.GetHead())
	}
	run := must(c.Checks.CreateCheckRun(ctx, "acme", "pay", github.CreateCheckRunOptions{Name: "prosecutor", HeadSHA: head}))(t)
	if len(run.PullRequests) != 0 {
		t.Errorf("a check on a fork's head lists %d pull requests", len(run.PullRequests))
	}
	if pulls := must(c.PullRequests.ListPullRequestsWithCommit(ctx, "acme", "pay", head, nil))(t); len(pulls) != 1 || pulls[0].GetNumber() != pr.Number() {
		t.Errorf("pull requests of a fork's head: %+v", pulls)
	}
	next := fork.Commit("patch", "Sneak more", map[string]string{"x": "x\n"})
	if pr.HeadSHA() != next {
		t.Error("a push to the fork does not move the pull request")
	}
	if cmp := must(c.Repositories.CompareCommits(ctx, "acme", "pay", "main", "mallory:patch", nil))(t); cmp.GetAheadBy() != 2 {
		t.Errorf("compare with a fork: %d ahead", cmp.GetAheadBy())
	}
}

func TestPullRequestsOutliveTheirFork(t *testing.T) {
	s, repo, _ := setup(t)
	fork := repo.Fork("mallory")
	head := fork.Commit("patch", "Sneak", map[string]string{"x": "x\n"})
	pr := repo.OpenPR(githubtest.PR{Title: "Sneak", Head: "mallory:patch", Author: "mallory"})
	fork.Delete()
	c := installed(t, s, "acme", nil)
	ctx := context.Background()
	got := must(c.PullRequests.Get(ctx, "acme", "pay", pr.Number()))(t)
	if got.GetHead().Repo != nil || got.GetHead().GetSHA() != head {
		t.Errorf("head: %+v", got.GetHead())
	}
	if files := must(c.PullRequests.ListFiles(ctx, "acme", "pay", pr.Number(), nil))(t); len(files) != 1 {
		t.Errorf("files: %+v", files)
	}
}

func TestArchivedRepositoriesAreReadOnly(t *testing.T) {
	s, repo, _ := setup(t)
	repo.Archive()
	c := installed(t, s, "acme", nil)
	must(c.Repositories.Get(context.Background(), "acme", "pay"))(t)
	_, _, err := c.Issues.CreateComment(context.Background(), "acme", "pay", 1, &github.IssueComment{Body: github.String("b")})
	if status(err) != http.StatusForbidden || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("%v", err)
	}
}

func TestForcePushesAndDeletedBranches(t *testing.T) {
	s, repo, pr := setup(t)
	ctx := context.Background()
	c := installed(t, s, "acme", nil)
	before := pr.HeadSHA()
	after := repo.ForcePush("feature/x", "Anew", map[string]string{"z": "z\n"})
	if pr.HeadSHA() != after || before == after {
		t.Errorf("head %s, want %s", pr.HeadSHA(), after)
	}
	must(c.Git.GetCommit(ctx, "acme", "pay", before))(t) // the old head can still be read
	repo.DeleteBranch("feature/x")
	if pr.State() != "closed" {
		t.Errorf("after its branch was deleted the pull request is %s", pr.State())
	}
	if _, _, err := c.Git.GetRef(ctx, "acme", "pay", "heads/feature/x"); status(err) != http.StatusNotFound {
		t.Errorf("deleted branch: %v", err)
	}
	if ref := must(c.Git.GetRef(ctx, "acme", "pay", "pull/1/head"))(t); ref.GetObject().GetSHA() != after {
		t.Errorf("refs/pull/1/head is %s", ref.GetObject().GetSHA())
	}
}

func TestMerging(t *testing.T) {
	s, repo, pr := setup(t)
	repo.Collaborator("mia", "write")
	pr.Merge("mia")
	c := installed(t, s, "acme", nil)
	got := must(c.PullRequests.Get(context.Background(), "acme", "pay", 1))(t)
	if !got.GetMerged() || got.GetMergedBy().GetLogin() != "mia" || got.GetMergeCommitSHA() != repo.Head("main") || got.GetState() != "closed" || pr.State() != "merged" {
		t.Errorf("%+v", got)
	}
}

func TestClone(t *testing.T) {
	s, repo, pr := setup(t)
	token, _, err := appClient(t, s).Apps.CreateInstallationToken(context.Background(), s.InstallationID("acme"), nil)
	if err != nil {
		t.Fatal(err)
	}
	git := func(dir string, args ...string) (string, error) {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	dir := t.TempDir()
	url := strings.Replace(s.URL, "http://", "http://x-access-token:"+token.GetToken()+"@", 1) + "/acme/pay.git"
	if out, err := git(dir, "clone", "-q", url, "full"); err != nil {
		t.Fatalf("clone: %v %s", err, out)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "full", "README.md")); err != nil || string(data) != "# Pay\n" {
		t.Errorf("README.md: %q %v", data, err)
	}
	// The way of a bare local clone: nothing but the commits that are asked for, without their blobs.
	if out, err := git(dir, "init", "-q", "--bare", "bare"); err != nil {
		t.Fatalf("init: %v %s", err, out)
	}
	bare := filepath.Join(dir, "bare")
	if out, err := git(bare, "fetch", "-q", "--filter=blob:none", url, pr.HeadSHA(), fmt.Sprintf("refs/pull/%d/head", pr.Number())); err != nil {
		t.Fatalf("fetch: %v %s", err, out)
	}
	for name, wrong := range map[string]string{
		"no token": s.URL + "/acme/pay.git", "wrong token": strings.Replace(s.URL, "http://", "http://x-access-token:ghs_no@", 1) + "/acme/pay.git",
		"no such repository": strings.Replace(url, "/pay.git", "/none.git", 1),
	} {
		if out, err := git(dir, "clone", "-q", wrong, "wrong"); err == nil {
			t.Errorf("%s: cloned: %s", name, out)
		}
	}
	if out, err := git(filepath.Join(dir, "full"), "push", "origin", "HEAD:refs/heads/pushed"); err == nil {
		t.Errorf("pushed: %s", out)
	}
	repo.SetPrivate(false)
	if out, err := git(dir, "clone", "-q", s.URL+"/acme/pay.git", "public"); err != nil {
		t.Errorf("clone of a public repository: %v %s", err, out)
	}
}

func TestWritingThroughGitData(t *testing.T) {
	permissions := map[string]string{"contents": "write", "metadata": "read", "pull_requests": "write"}
	s := githubtest.New(t, githubtest.Options{Permissions: permissions})
	repo := s.AddRepo("acme/pay", map[string]string{"dir/a": "a\n", "dir/b": "b\n", "c": "c\n"})
	ctx := context.Background()
	c := installed(t, s, "acme", nil)
	head := repo.Head("main")
	blob := must(c.Git.CreateBlob(ctx, "acme", "pay", &github.Blob{Content: github.String("new\n"), Encoding: github.String("utf-8")}))(t)
	base := must(c.Git.GetCommit(ctx, "acme", "pay", head))(t)
	tree := must(c.Git.CreateTree(ctx, "acme", "pay", base.GetTree().GetSHA(), []*github.TreeEntry{
		{Path: github.String("dir/a"), Mode: github.String("100644"), Type: github.String("blob"), SHA: blob.SHA},
		{Path: github.String("dir/b"), Mode: github.String("100644"), Type: github.String("blob")}, // without a SHA: removed
	}))(t)
	commit := must(c.Git.CreateCommit(ctx, "acme", "pay", &github.Commit{Message: github.String("Fix"), Tree: tree, Parents: []*github.Commit{{SHA: &head}}}, nil))(t)
	must(c.Git.CreateRef(ctx, "acme", "pay", &github.Reference{Ref: github.String("refs/heads/fix"), Object: &github.GitObject{SHA: commit.SHA}}))(t)
	pr := must(c.PullRequests.Create(ctx, "acme", "pay", &github.NewPullRequest{Title: github.String("Fix"), Head: github.String("fix"), Base: github.String("main")}))(t)
	files := must(c.PullRequests.ListFiles(ctx, "acme", "pay", pr.GetNumber(), nil))(t)
	if len(files) != 2 || files[0].GetStatus() != "modified" || files[1].GetStatus() != "removed" {
		t.Errorf("files: %+v", files)
	}
	written := must(c.Repositories.CreateFile(ctx, "acme", "pay", "bin/new file", &github.RepositoryContentFileOptions{
		Message: github.String("Add"), Content: []byte("\x00removed"), Branch: github.String("fix"),
	}))(t)
	if repo.Head("fix") != written.GetSHA() || written.Content.GetSize() != 8 {
		t.Errorf("written: %+v", written)
	}
	repo.Commit("main", "Go on", map[string]string{"c": "d\n"})
	tip := repo.Head("main")
	_, _, err := c.Git.UpdateRef(ctx, "acme", "pay", &github.Reference{Ref: github.String("refs/heads/fix"), Object: &github.GitObject{SHA: &tip}}, false)
	if status(err) != http.StatusUnprocessableEntity {
		t.Errorf("not a fast forward: %v", err)
	}
	if _, err := c.Git.DeleteRef(ctx, "acme", "pay", "refs/heads/fix"); err != nil {
		t.Error(err)
	}
}

func TestMergeGroups(t *testing.T) {
	s, repo, pr := setup(t)
	repo.Commit("other", "Other", map[string]string{"other": "o\n"})
	second := repo.OpenPR(githubtest.PR{Title: "Other", Head: "other"})
	g := repo.MergeGroup(pr, second)
	c := installed(t, s, "acme", nil)
	cmp := must(c.Repositories.CompareCommits(context.Background(), "acme", "pay", g.BaseSHA, g.HeadSHA, nil))(t)
	if len(cmp.Files) != 4 || !strings.HasPrefix(g.HeadRef, "refs/heads/gh-readonly-queue/main/pr-2-") {
		t.Errorf("%s has %d files", g.HeadRef, len(cmp.Files))
	}
	g.Destroy("merged")
	if repo.Head(strings.TrimPrefix(g.HeadRef, "refs/heads/")) != "" {
		t.Error("the group's branch is still there")
	}
}

func TestPeopleWriteNoChecks(t *testing.T) {
	s, repo, pr := setup(t)
	repo.Collaborator("rita", "admin")
	ctx := context.Background()
	c := client(t, s, s.UserToken("rita"))
	must(c.Repositories.Get(ctx, "acme", "pay"))(t)
	if _, _, err := c.Checks.CreateCheckRun(ctx, "acme", "pay", github.CreateCheckRunOptions{Name: "n", HeadSHA: pr.HeadSHA()}); status(err) != http.StatusForbidden {
		t.Errorf("a person made a check run: %v", err)
	}
	if _, _, err := client(t, s, s.UserToken("nobody")).Repositories.Get(ctx, "acme", "pay"); status(err) != http.StatusNotFound {
		t.Errorf("a stranger sees a private repository: %v", err)
	}
}

func TestOthersCheckRunsAreTheirs(t *testing.T) {
	s, repo, pr := setup(t)
	id := repo.Check(pr.HeadSHA(), "build", "completed", "success", "github-actions")
	c := installed(t, s, "acme", nil)
	_, _, err := c.Checks.UpdateCheckRun(context.Background(), "acme", "pay", id, github.UpdateCheckRunOptions{Name: "build", Conclusion: github.String("failure")})
	if status(err) != http.StatusForbidden {
		t.Errorf("%v", err)
	}
}

func TestLinksAreFollowed(t *testing.T) {
	s := githubtest.New(t)
	s.AddRepo("acme/pay", map[string]string{
		"dir/file": "content\n", "dir/near": githubtest.Symlink("file"), "far": githubtest.Symlink("dir/file"), "out": githubtest.Symlink("../../etc/passwd"),
		"absolute": githubtest.Symlink("/etc/passwd"),
	})
	c := installed(t, s, "acme", nil)
	for name, want := range map[string]string{"dir/near": "file", "far": "file", "out": "symlink", "absolute": "symlink"} {
		file, _, _, err := c.Repositories.GetContents(context.Background(), "acme", "pay", name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if file.GetType() != want || file.GetPath() != name {
			t.Errorf("%s is a %s at %s, want a %s", name, file.GetType(), file.GetPath(), want)
		}
		if text, err := file.GetContent(); want == "file" && (err != nil || text != "content\n") {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
}

func TestCommentsKnowTheirPlace(t *testing.T) {
	s := githubtest.New(t)
	old := make([]string, 60)
	for i := range old {
		old[i] = fmt.Sprintf("line %d", i+1)
	}
	changed := append([]string(nil), old...)
	changed[1], changed[49] = "second", "fiftieth"
	text := func(l []string) string { return strings.Join(l, "\n") + "\n" }
	repo := s.AddRepo("acme/pay", map[string]string{"f": text(old)})
	repo.Commit("feature", "Two hunks", map[string]string{"f": text(changed)})
	pr := repo.OpenPR(githubtest.PR{Title: "Two hunks", Head: "feature"})
	c := installed(t, s, "acme", nil)
	ctx := context.Background()
	post := func(comment *github.PullRequestComment) (*github.PullRequestComment, error) {
		comment.Body, comment.CommitID, comment.Path = github.String("b"), github.String(pr.HeadSHA()), github.String("f")
		got, _, err := c.PullRequests.CreateComment(ctx, "acme", "pay", 1, comment)
		return got, err
	}
	for _, tc := range []struct {
		name    string
		comment github.PullRequestComment
		want    string // empty: fine
	}{
		{"new line", github.PullRequestComment{Line: github.Int(50), Side: github.String("RIGHT")}, ""},
		{"old line", github.PullRequestComment{Line: github.Int(50), Side: github.String("LEFT")}, ""},
		{"context", github.PullRequestComment{Line: github.Int(53), Side: github.String("RIGHT")}, ""},
		{"range", github.PullRequestComment{StartLine: github.Int(48), Line: github.Int(50), Side: github.String("RIGHT")}, ""},
		{"from old to new", github.PullRequestComment{StartLine: github.Int(50), StartSide: github.String("LEFT"), Line: github.Int(50), Side: github.String("RIGHT")}, ""},
		{"position", github.PullRequestComment{Position: github.Int(3)}, ""},
		{"file", github.PullRequestComment{SubjectType: github.String("file")}, ""},
		{"outside", github.PullRequestComment{Line: github.Int(30), Side: github.String("RIGHT")}, "line must be part of the diff and Pull request review thread diff hunk can't be blank"},
		{"two hunks", github.PullRequestComment{StartLine: github.Int(2), Line: github.Int(50), Side: github.String("RIGHT")}, "same hunk"},
		{"backwards", github.PullRequestComment{StartLine: github.Int(50), Line: github.Int(48), Side: github.String("RIGHT")}, "must precede"},
		{"same line", github.PullRequestComment{StartLine: github.Int(50), Line: github.Int(50), Side: github.String("RIGHT")}, "must precede"},
		{"position of a header", github.PullRequestComment{Position: github.Int(300)}, "Position could not be resolved"},
	} {
		_, err := post(&tc.comment)
		if tc.want == "" && err != nil || tc.want != "" && (status(err) != http.StatusUnprocessableEntity || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	notes := pr.ReviewComments()
	if notes[0].Line != 50 || notes[5].Line != 2 || notes[5].Side != "RIGHT" {
		t.Errorf("by position: %+v", notes[5])
	}
	rest := must(c.PullRequests.ListComments(ctx, "acme", "pay", 1, nil))(t)
	// The first hunk has a header, one context line, -, +, three context lines; then the second's header, three lines, - and +.
	if rest[0].GetPosition() != 12 || rest[1].GetPosition() != 11 {
		t.Errorf("positions %d and %d", rest[0].GetPosition(), rest[1].GetPosition())
	}
}

func TestReviewsOfOnesOwn(t *testing.T) {
	s, repo, _ := setup(t)
	repo.Collaborator("dev", "write")
	c := client(t, s, s.UserToken("dev"))
	ctx := context.Background()
	for _, event := range []string{"APPROVE", "REQUEST_CHANGES"} {
		_, _, err := c.PullRequests.CreateReview(ctx, "acme", "pay", 1, &github.PullRequestReviewRequest{Event: github.String(event), Body: github.String("b")})
		if status(err) != http.StatusUnprocessableEntity || !strings.Contains(err.Error(), "your own pull request") {
			t.Errorf("%s: %v", event, err)
		}
	}
	pending := must(c.PullRequests.CreateReview(ctx, "acme", "pay", 1, &github.PullRequestReviewRequest{}))(t)
	if _, _, err := c.PullRequests.CreateReview(ctx, "acme", "pay", 1, &github.PullRequestReviewRequest{}); status(err) != http.StatusUnprocessableEntity {
		t.Errorf("a second pending review: %v", err)
	}
	app := installed(t, s, "acme", nil)
	if list := must(app.PullRequests.ListReviews(ctx, "acme", "pay", 1, nil))(t); len(list) != 0 {
		t.Errorf("others see the pending review: %+v", list)
	}
	must(c.PullRequests.SubmitReview(ctx, "acme", "pay", 1, pending.GetID(), &github.PullRequestReviewRequest{Event: github.String("COMMENT"), Body: github.String("b")}))(t)
	if list := must(app.PullRequests.ListReviews(ctx, "acme", "pay", 1, nil))(t); len(list) != 1 || list[0].GetState() != "COMMENTED" {
		t.Errorf("submitted: %+v", list)
	}
}
