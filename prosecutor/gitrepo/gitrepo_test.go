package gitrepo_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/prosecutor/gitrepo"
	"github.com/prosecutor-bot/prosecutor/test/gittest"
)

func open(t *testing.T, dir string) *gitrepo.Repo {
	t.Helper()
	r, err := gitrepo.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, dir, want string }{
		{"no repository", t.TempDir(), "is not in a git repository"},
		{"no directory", filepath.Join(t.TempDir(), "gone"), "no such file or directory"},
		{"a file", file, "is not a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := gitrepo.Open(context.Background(), c.dir)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Open = %v, want %q in it", err, c.want)
			}
		})
	}
}

// A pull request is compared with the merge base, not with the tip of its base branch.
func TestMergeBaseIsThePullRequests(t *testing.T) {
	g := gittest.New(t)
	fork := g.Write("a.txt", "a\n").Commit("base")
	g.Git("checkout", "-q", "-b", "feature")
	head := g.Write("b.txt", "b\n").Commit("feature")
	g.Git("checkout", "-q", "main")
	tip := g.Write("c.txt", "c\n").Commit("main goes on")

	r := open(t, g.Dir)
	got, err := r.MergeBase(context.Background(), tip, head)
	if err != nil || got != fork {
		t.Fatalf("MergeBase = %q, %v, want %q", got, err, fork)
	}
	text, err := r.Diff(context.Background(), got, head)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "b.txt") || strings.Contains(text, "c.txt") {
		t.Errorf("diff is not the pull request's:\n%s", text)
	}
}

func TestMergeBaseOfUnrelatedHistories(t *testing.T) {
	g := gittest.New(t)
	a := g.Write("a", "a").Commit("a")
	g.Git("checkout", "-q", "--orphan", "other")
	b := g.Write("b", "b").Commit("b")
	_, err := open(t, g.Dir).MergeBase(context.Background(), a, b)
	if err == nil || !strings.Contains(err.Error(), "no common history") {
		t.Errorf("MergeBase = %v", err)
	}
}

// Neither the user's configuration nor the attributes of the change alter the diff: a change must not be able to hide
// its content behind "-diff", and a driver of the configuration must not run.
func TestDiffIgnoresConfigurationAndAttributes(t *testing.T) {
	g := gittest.New(t)
	base := g.Write("a.go", "package a\n\nvar X = 1\n").Commit("base")
	head := g.Write("a.go", "package a\n\nvar X = 2\n", ".gitattributes", "*.go -diff diff=evil\n").Commit("hide")
	r := open(t, g.Dir)
	plain, err := r.Diff(context.Background(), base, head)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(plain, "-var X = 1\n+var X = 2\n") {
		t.Fatalf("the change hid itself:\n%s", plain)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	for _, kv := range [][2]string{
		{"diff.evil.command", "touch " + ran}, {"diff.evil.textconv", "touch " + ran}, {"diff.external", "touch " + ran},
		{"diff.noprefix", "true"}, {"diff.mnemonicPrefix", "true"}, {"diff.context", "0"}, {"diff.interHunkContext", "9"},
		{"diff.algorithm", "patience"}, {"color.diff", "always"}, {"diff.submodule", "log"}, {"core.quotePath", "false"},
		{"diff.wsErrorHighlight", "all"}, {"diff.colorMoved", "zebra"}, {"diff.renames", "copies"}, {"diff.suppressBlankEmpty", "true"},
		{"diff.relative", "true"}, {"core.fsmonitor", "touch " + ran}, {"diff.srcPrefix", "x/"}, {"diff.dstPrefix", "y/"},
	} {
		g.Git("config", kv[0], kv[1])
	}
	configured, err := r.Diff(context.Background(), base, head)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain, configured); diff != "" {
		t.Errorf("configuration changed the diff (-plain +configured):\n%s", diff)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a configured program ran")
	}
}

func TestReadFile(t *testing.T) {
	g := gittest.New(t)
	odd := "dir/with\nnewline \"quoted\".txt"
	base := g.Write("a.txt", "one\n", odd, "odd\n", "empty", "").Commit("base")
	g.Write("a.txt", "two\n").Commit("head")
	r := open(t, g.Dir)
	for _, c := range []struct {
		path, want string
		ok         bool
	}{
		{"a.txt", "one\n", true}, {"empty", "", true}, {odd, "odd\n", true},
		{"gone", "", false}, {"dir", "", false}, {"gone\nodd", "", false}, {"a.txt\x00", "", false},
	} {
		got, ok, err := r.ReadFile(context.Background(), base, c.path)
		if err != nil || ok != c.ok || string(got) != c.want {
			t.Errorf("ReadFile(%q) = %q, %v, %v, want %q, %v", c.path, got, ok, err, c.want, c.ok)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.ReadFile(context.Background(), base, "a.txt"); err == nil {
		t.Error("a closed repository still reads: could not tell must not become absent")
	}
}

func TestCommitsOldestFirst(t *testing.T) {
	g := gittest.New(t)
	base := g.Write("a", "1").Commit("base")
	g.Write("a", "2").Commit("first\n\nbody\n\nCo-authored-by: X <x@example.com>")
	head := g.Write("a", "3").Commit("second")
	list, err := open(t, g.Dir).Commits(context.Background(), base, head, 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range list {
		got = append(got, c.Message+"|"+c.AuthorEmail)
	}
	want := []string{"first\n\nbody\n\nCo-authored-by: X <x@example.com>|dev.one@example.com", "second|dev.one@example.com"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRefsThatNameNothing(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "1").Commit("base")
	r := open(t, g.Dir)
	for _, ref := range []string{"", "nope", "--all", "-h", "HEAD:a", "a\x00b"} {
		if sha, err := r.Commit(context.Background(), ref); err == nil {
			t.Errorf("Commit(%q) = %q, want an error", ref, sha)
		}
	}
}

// A hook's environment points git at another repository; the directory that was asked for is read all the same.
func TestEnvironmentOfAHookIsIgnored(t *testing.T) {
	other := gittest.New(t)
	other.Write("other", "1").Commit("other")
	g := gittest.New(t)
	sha := g.Write("mine", "1").Commit("mine")
	t.Setenv("GIT_DIR", filepath.Join(other.Dir, ".git"))
	t.Setenv("GIT_WORK_TREE", other.Dir)
	got, err := open(t, g.Dir).Commit(context.Background(), "HEAD")
	if err != nil || got != sha {
		t.Errorf("Commit(HEAD) = %q, %v, want %q", got, err, sha)
	}
}

// All work trees of one repository share the ledger, so they share the key's directory.
func TestWorktreesShareTheCommonDirectory(t *testing.T) {
	g := gittest.New(t)
	g.Write("a", "1").Commit("base")
	wt := filepath.Join(t.TempDir(), "wt")
	g.Git("worktree", "add", "-q", "-b", "side", wt)
	a, b := open(t, g.Dir), open(t, wt)
	if a.CommonDir != b.CommonDir {
		t.Errorf("common directories differ: %q and %q", a.CommonDir, b.CommonDir)
	}
	if a.Branch != "main" || b.Branch != "side" {
		t.Errorf("branches = %q and %q", a.Branch, b.Branch)
	}
}
