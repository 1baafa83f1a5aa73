package publish_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prosecutor-bot/prosecutor/app/publish"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/static"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
	"github.com/prosecutor-bot/prosecutor/prosecutor/review"
)

// judged is a case as the core decides it with the built-in rules as the only judge.
func judged(t *testing.T, w *world, policy *config.Policy, decide review.Decider, change ...func(*review.Case)) *publish.Publication {
	t.Helper()
	pool, err := judge.NewPool([]judge.Judge{static.New()}, judge.PoolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range w.diffWithout().Files {
		text.WriteString(f.Raw)
	}
	bench := &review.Bench{Panel: panel.New(pool, panel.Options{}), Decide: decide, Now: func() time.Time { return w.now }}
	c := review.Case{
		ID: convergence.Case{
			Key:  convergence.Key{Repo: "acme/pay", Change: "pull/1"},
			Base: w.pr.BaseSHA(), Head: w.pr.HeadSHA(), PolicyHash: policy.Hash(), SpecHash: "s",
		},
		Diff: text.String(), Spec: "Refunds", Policy: policy, Event: "pull_request.opened",
		ReadHead: func(context.Context, string) ([]byte, bool, error) { return []byte("x"), true, nil },
	}
	for _, f := range change {
		f(&c)
	}
	res, err := bench.Prosecute(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	pub := publish.From(res, res.Document(review.About{Version: "test", StaticOnly: true, Ledger: true, Explain: true}))
	pub.Author = "dev"
	// As it comes back out of the store.
	raw, err := json.Marshal(pub)
	if err != nil {
		t.Fatal(err)
	}
	var stored publish.Publication
	if err := json.Unmarshal(raw, &stored); err != nil {
		t.Fatal(err)
	}
	stored.Attempt = 1
	return &stored
}

func TestFromTheCore(t *testing.T) {
	t.Run("advance", func(t *testing.T) {
		w := newWorld(t)
		pub := judged(t, w, config.DefaultPolicy(), nil)
		if pub.Conclusion != convergence.Success || pub.Title != "Advance: 1 lens, low radius (static rules only)" || pub.Escalation != nil {
			t.Errorf("%s %q %+v", pub.Conclusion, pub.Title, pub.Escalation)
		}
		if diff := cmp.Diff([]string{"correctness", "static_rules"}, pub.Heard); diff != "" {
			t.Error(diff)
		}
		w.begin(w.target(), pub)
		w.publish(w.target(), pub)
		if run := w.run(w.pr.HeadSHA()); run.Conclusion != "success" || !strings.Contains(run.Summary, "**Static rules only**") {
			t.Errorf("check run %s\n%s", run.Conclusion, run.Summary)
		}
	})
	t.Run("a leaked key escalates at the first lap", func(t *testing.T) {
		w := newWorld(t)
		w.repo.Collaborator("ann", "write")
		key := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
		w.repo.Commit("feature", "Key", map[string]string{"key.go": "package pay\n\nconst token = \"" + key + "\"\n"})
		policy := config.DefaultPolicy()
		policy.Convergence.MaxLaps = 1
		policy.Escalation.Reviewers = []string{"ann"}
		pub := judged(t, w, policy, nil)
		if pub.Conclusion != convergence.ActionRequired || !strings.HasPrefix(pub.Title, "Escalated: lap budget 1/1, 1 ") || pub.Escalation == nil {
			t.Fatalf("%s %q %+v", pub.Conclusion, pub.Title, pub.Escalation)
		}
		w.begin(w.target(), pub)
		out := w.publish(w.target(), pub)
		if out.Rungs["inline"] != 1 {
			t.Errorf("rungs %v", out.Rungs)
		}
		run := w.run(w.pr.HeadSHA())
		all := run.Title + run.Summary + run.Text
		for _, c := range w.pr.IssueComments() {
			all += c.Body
		}
		for _, r := range w.reviews() {
			all += r.Body
			for _, c := range r.Comments {
				all += c.Body
			}
		}
		if strings.Contains(all, key) || strings.Contains(all, key[8:]) {
			t.Error("the key is published")
		}
		if diff := cmp.Diff([]string{"ann"}, w.pr.RequestedReviewers()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("overridden", func(t *testing.T) {
		w := newWorld(t)
		decide := func(ctx context.Context, q review.Question) (convergence.Ruling, error) {
			l := convergence.OverrideHead(convergence.Push(convergence.New(), q.Facts.Case.Head), convergence.Override{Head: q.Facts.Case.Head, By: "ann", Reason: "hotfix for @ops", At: q.Facts.Now})
			r, _, err := convergence.Decide(ctx, q.Facts, l, q.Policy, q.Ask, q.Verify)
			return r, err
		}
		pub := judged(t, w, config.DefaultPolicy(), decide)
		if pub.Conclusion != convergence.Neutral || pub.Title != "Overridden by @ann: hotfix for @ops" || pub.Decision != "" {
			t.Errorf("%s %q %s", pub.Conclusion, pub.Title, pub.Decision)
		}
		w.begin(w.target(), pub)
		w.publish(w.target(), pub)
		if run := w.run(w.pr.HeadSHA()); run.Conclusion != "neutral" || strings.Contains(run.Summary, "@ops") {
			t.Errorf("check run %s\n%s", run.Conclusion, run.Summary)
		}
	})
}

// A broken policy file concludes the check run with the place and the fix.
func TestBrokenPolicy(t *testing.T) {
	w := newWorld(t)
	problem := ".github/prosecutor.yml:3:1: unknown key \"max_lap\"; did you mean max_laps?\n  3 | max_lap: 2\n    | ^"
	pub := judged(t, w, config.DefaultPolicy(), nil, func(c *review.Case) {
		c.Unjudgeable, c.Unjudgeably = convergence.BrokenPolicy, problem
	})
	w.begin(w.target(), pub)
	w.publish(w.target(), pub)
	run := w.run(w.pr.HeadSHA())
	if run.Conclusion != "action_required" || !strings.HasPrefix(run.Title, "Not judged: the policy file on the base branch is broken") ||
		!strings.Contains(run.Summary, "did you mean max_laps?\n  3 | max_lap: 2\n") || !strings.Contains(run.Summary, "Repair the policy file on the base branch") {
		t.Errorf("check run %s %q\n%s", run.Conclusion, run.Title, run.Summary)
	}
	if len(w.reviews()) != 0 || len(w.pr.IssueComments()) != 1 {
		t.Errorf("%d reviews, %d comments", len(w.reviews()), len(w.pr.IssueComments()))
	}
}

// What a button asked for is said once.
func TestSay(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		if err := w.p.Say(context.Background(), w.target(), "explain 12", "Because."); err != nil {
			t.Fatal(err)
		}
	}
	if c := w.pr.IssueComments(); len(c) != 1 || !strings.HasSuffix(c[0].Body, "Because.") {
		t.Errorf("comments %+v", c)
	}
	if err := w.p.Say(context.Background(), w.target(), "explain 13", "Because."); err != nil {
		t.Fatal(err)
	}
	if c := w.pr.IssueComments(); len(c) != 2 {
		t.Errorf("comments %+v", c)
	}
}
