// Package gittest makes real git repositories for tests, out of reach of the user's configuration.
package gittest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Repo is a repository in a temporary directory, on branch main, without commits.
type Repo struct {
	t   testing.TB
	Dir string
}

// New makes an empty repository.
func New(t testing.TB) *Repo {
	t.Helper()
	r := &Repo{t: t, Dir: t.TempDir()}
	r.Git("init", "-q", "-b", "main")
	return r
}

// Git runs git in the repository and returns its output without the last line feed. A failure fails the test.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.Dir
	cmd.Env = Env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// Env is a process environment in which git reads no configuration but the repository's and has fixed people and dates.
func Env() []string {
	env := []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=Dev One", "GIT_AUTHOR_EMAIL=dev.one@example.com", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME=Dev One", "GIT_COMMITTER_EMAIL=dev.one@example.com", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z",
	}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") {
			env = append(env, kv)
		}
	}
	return env
}

// Write writes files, given as path, content, path, content, ...
func (r *Repo) Write(pathsAndContents ...string) *Repo {
	r.t.Helper()
	for i := 0; i+1 < len(pathsAndContents); i += 2 {
		path := filepath.Join(r.Dir, filepath.FromSlash(pathsAndContents[i]))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(pathsAndContents[i+1]), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	return r
}

// Commit commits everything in the work tree and returns the commit's name.
func (r *Repo) Commit(message string) string {
	r.t.Helper()
	r.Git("add", "-A")
	r.Git("commit", "-q", "--allow-empty", "-m", message)
	return r.Git("rev-parse", "HEAD")
}
