package gitrepo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/test/gittest"
)

// git runs git in dir and returns what it says.
func git(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, gittest.Env(), strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestCheckoutWritesWhatWasCommitted(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "", "init", "-q")
	files := map[string]string{
		"a.txt": "line\r\nline\n", "empty": "", "dir/sub/b.sh": "#!/bin/sh\n", ".gitattributes": "*.txt text eol=lf export-ignore ident filter=evil\n",
		"odd \"name\"\n\t": "x", "ident.txt": "$Id$ $Format:%H$\n", "big": strings.Repeat("0123456789abcdef", 1<<16),
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "dir/sub/b.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../a.txt", filepath.Join(dir, "dir/link")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "", "-c", "core.autocrlf=false", "add", "-A")
	// The file is committed as it is, carriage returns included, past its own attributes.
	oid := git(t, dir, files["a.txt"], "hash-object", "-w", "--stdin", "--no-filters")
	git(t, dir, "", "update-index", "--cacheinfo", "100644,"+oid+",a.txt")
	git(t, dir, "", "commit", "-q", "-m", "x")
	git(t, dir, "", "config", "filter.evil.smudge", "touch "+filepath.Join(dir, "evil"))
	before := git(t, dir, "", "status", "--porcelain")
	r, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	to := t.TempDir()
	if err := r.Checkout(t.Context(), "HEAD", to); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != content {
			t.Errorf("%q holds %.40q, %v, want %.40q", name, got, err, content)
		}
	}
	if info, err := os.Stat(filepath.Join(to, "dir/sub/b.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the script: %v, %v", info, err)
	}
	if target, err := os.Readlink(filepath.Join(to, "dir/link")); err != nil || target != "../a.txt" {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "evil")); err == nil {
		t.Error("a filter ran")
	}
	if after := git(t, dir, "", "status", "--porcelain"); after != before {
		t.Errorf("the repository changed: %q, before %q", after, before)
	}
	if err := r.Checkout(t.Context(), "HEAD", to); err == nil {
		t.Error("files were overwritten")
	}
}

func TestCheckoutStaysInItsDirectory(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "", "init", "-q")
	blob := git(t, dir, "evil", "hash-object", "-w", "--stdin")
	outside := t.TempDir()
	link := git(t, dir, outside, "hash-object", "-w", "--stdin")
	up := git(t, dir, "100644 blob "+blob+"\tf\n", "mktree")
	for name, tree := range map[string]string{
		"dot dot":   git(t, dir, "040000 tree "+up+"\t..\n", "mktree"),
		"dot git":   git(t, dir, "040000 tree "+up+"\t.GIT\n", "mktree"),
		"link twin": git(t, dir, "120000 blob "+link+"\ta\n040000 tree "+up+"\ta\n", "mktree"),
	} {
		commit := git(t, dir, "", "commit-tree", "-m", "x", tree)
		r, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Checkout(t.Context(), commit, t.TempDir()); err == nil {
			t.Errorf("%s: no error", name)
		}
		r.Close()
		if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
			t.Errorf("%s: written outside: %v, %v", name, left, err)
		}
	}
}
