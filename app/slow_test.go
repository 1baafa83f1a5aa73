package app_test

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/test/apptest"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// A job that may read its case for a short time waits for its judges for as long as they may take.
func TestSlowJudgesAreNotCutOff(t *testing.T) {
	t.Parallel()
	const reading = 3 * time.Second
	j := &scripted{id: "one", family: "fern"}
	j.answer = func(ctx context.Context, _ int, _ judge.Request) (string, error) {
		select {
		case <-time.After(2 * reading):
			return ship, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}, ReadingTime: reading})
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Settle()
	concluded(t, w, repo, sha, "success")
}

// A judge that was given more time than a pass has by default has it in the App, too.
func TestJudgesHaveTheTimeOfTheServerFile(t *testing.T) {
	t.Parallel()
	left := make(chan time.Duration, 1)
	j := &scripted{id: "one", family: "fern"}
	j.answer = func(ctx context.Context, _ int, _ judge.Request) (string, error) {
		end, _ := ctx.Deadline()
		left <- time.Until(end)
		return ship, nil
	}
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}, Limits: map[string]judge.Limits{"one": {Timeout: 30 * time.Minute}}})
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Settle()
	concluded(t, w, repo, sha, "success")
	if d := <-left; d < 20*time.Minute {
		t.Errorf("a judge that may take half an hour was given %v", d)
	}
}

// A job that cannot read its case ends and is tried again.
func TestReadingACaseHasAnEnd(t *testing.T) {
	t.Parallel()
	w := apptest.New(t, apptest.Options{ReadingTime: 3 * time.Second})
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	gate := make(chan struct{})
	held := w.GitHub.Inject(githubtest.Fault{Path: regexp.MustCompile("graphql#Case"), Kind: githubtest.Latency, Gate: gate, Times: -1})
	repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Until(func() bool { return held.Hits() > 1 })
	close(gate)
	w.Settle()
	concluded(t, w, repo, sha, "success")
}
