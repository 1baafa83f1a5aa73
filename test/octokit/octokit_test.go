// Package octokit_test drives the emulator of GitHub with a client that nobody here wrote.
package octokit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// install puts Octokit, as package-lock.json pins it, into the repository's .cache and returns the directory.
func install(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: this test needs Node.js 18 or newer with npm (.ci/install installs them)", err)
		}
	}
	dir, err := filepath.Abs("../../.cache/octokit")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	same := true
	for _, name := range []string{"package.json", "package-lock.json", "client.mjs"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if old, err := os.ReadFile(to); name == "package-lock.json" && (err != nil || !bytes.Equal(old, data)) {
			same = false
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json")); err == nil && same {
		return dir
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm ci in %s: %v\n%s", dir, err, out)
	}
	return dir
}

func TestOctokitReadsAPullRequest(t *testing.T) {
	dir := install(t)
	s := githubtest.New(t)
	repo := s.AddRepo("acme/pay", map[string]string{"pay.go": "package pay\n\nvar Rate = 1\n", "README.md": "# Pay\n"})
	head := repo.Commit("feature/rate", "Raise the rate", map[string]string{"pay.go": "package pay\n\nvar Rate = 2\n", "b.txt": "b\n", "c.txt": "c\n"})
	pr := repo.OpenPR(githubtest.PR{Title: "Raise the rate", Head: "feature/rate", Author: "dev"})
	for i := range 3 {
		id := repo.Check(head, fmt.Sprintf("build %d", i), "in_progress", "", "")
		repo.SetOutput(id, "Built", "Fine.", githubtest.Annotation{Path: "pay.go", StartLine: 3, EndLine: 3, Level: "warning", Message: fmt.Sprintf("note %d", i)})
		repo.Check(head, fmt.Sprintf("build %d", i), "completed", "success", "")
	}
	repo.Collaborator("rita", "write")
	pr.Review("rita", "REQUEST_CHANGES", "Not yet.")
	note := pr.CommentOn("rita", "pay.go", 3, "Why two?")
	pr.ReplyTo(note, "dev", "Inflation.")
	pr.CommentOn("rita", "b.txt", 1, "What is b?")
	pr.Resolve("dev", note)
	pr.Comment("dev", "Ready.")

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "client.mjs")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "REST="+s.REST, "TOKEN="+s.UserToken("rita"), "OWNER=acme", "REPO=pay", "PULL="+strconv.Itoa(pr.Number()))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("octokit: %v\n%s", err, stderr.String())
	}
	var got struct {
		Head string
		Runs []struct{ Name, Status, Conclusion, Title, App string }

		Annotations []struct {
			Path    string
			Line    int
			Level   string
			Message string
		}
		Suites  int
		Reviews []struct{ State, Body, Author string }
		Notes   []struct {
			Path   string
			Line   int
			Body   string
			Author string
			Reply  bool
		}
		Threads []struct {
			Path               string
			Line               int
			Resolved, Outdated bool
			Authors            []string
		}
		Comments  []string
		Files     []string
		Diff, Raw string
		Missing   int
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("octokit printed %q: %v", out, err)
	}
	if got.Head != head || got.Missing != 404 || got.Raw != "# Pay\n" || !bytes.Contains([]byte(got.Diff), []byte("+var Rate = 2")) {
		t.Errorf("head %s, missing %d, raw %q, diff %q", got.Head, got.Missing, got.Raw, got.Diff)
	}
	if len(got.Runs) != 3 || got.Runs[0].Status != "completed" || got.Runs[0].Conclusion != "success" || got.Runs[0].Title != "Built" || got.Runs[0].App != "github-actions" {
		t.Errorf("check runs: %+v", got.Runs)
	}
	if len(got.Annotations) != 3 || got.Annotations[0].Line != 3 || got.Annotations[0].Level != "warning" {
		t.Errorf("annotations: %+v", got.Annotations)
	}
	if len(got.Reviews) != 4 || got.Reviews[0].State != "CHANGES_REQUESTED" || got.Reviews[0].Author != "rita" {
		t.Errorf("reviews: %+v", got.Reviews)
	}
	if len(got.Notes) != 3 || got.Notes[0].Line != 3 || !got.Notes[1].Reply {
		t.Errorf("review comments: %+v", got.Notes)
	}
	if len(got.Threads) != 2 || !got.Threads[0].Resolved || !slices.Equal(got.Threads[0].Authors, []string{"rita", "dev"}) || got.Threads[1].Resolved {
		t.Errorf("threads: %+v", got.Threads)
	}
	if !slices.Equal(got.Files, []string{"b.txt", "c.txt", "pay.go"}) || !slices.Equal(got.Comments, []string{"Ready."}) || got.Suites != 2 {
		t.Errorf("files %v, comments %v, suites %d", got.Files, got.Comments, got.Suites)
	}
	comments := pr.IssueComments()
	if len(comments) != 2 || comments[1].Author != "rita" || len(comments[1].Reactions) != 1 {
		t.Errorf("comments after Octokit: %+v", comments)
	}
}
