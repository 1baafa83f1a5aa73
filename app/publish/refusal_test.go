package publish

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// Whatever GitHub refuses for good, the check run concludes with the decision, and no finding is lost. What it refuses for
// now is an error, so that the publication is tried again.
func TestRefusals(t *testing.T) {
	const text = "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1 +1,2 @@\n package a\n+var A = 1\n"
	publication := func(t *testing.T) *Publication {
		d, err := diff.ParseString(text)
		if err != nil {
			t.Fatal(err)
		}
		word := "ESCALATE"
		at := func(id string, path string, line int) report.Finding {
			return report.Finding{
				ID: id, Lens: "correctness", Source: "model", Origin: "gpt", Severity: "high", Charge: "correctness", Blocking: true,
				Path: path, Side: "RIGHT", StartLine: line, EndLine: line, Anchored: true, Claim: "A claim.",
			}
		}
		return &Publication{
			Attempt: 1, CheckRunID: 11, Title: "Escalated", CheckStatus: convergence.CheckCompleted, Conclusion: convergence.ActionRequired,
			Decision: convergence.Escalate, Policy: config.Publish{ReviewEvent: config.ReviewRequestChanges}, Files: d, Lap: 3, Epoch: 1,
			Blocking:   []string{"aaaaaaaaaaaa", "bbbbbbbbbbbb"},
			Result:     &report.Document{Outcome: "decided", Decision: &word, Findings: []report.Finding{at("aaaaaaaaaaaa", "a.go", 2), at("bbbbbbbbbbbb", "b.go", 9)}},
			Escalation: &Escalation{Reviewers: []string{"ann", "bob"}},
		}
	}
	is := func(method, part string) func(sent) bool {
		return func(s sent) bool { return s.Method == method && strings.Contains(s.Path, part) }
	}
	hasAnnotations := func(s sent) bool { return strings.Contains(s.Raw, `"annotations"`) }
	tooLong := func(s sent) bool {
		return strings.Contains(s.Path, "check-runs") && strings.Contains(s.Raw, "aaaaaaaaaaaa")
	}
	for _, tt := range []struct {
		name   string
		refuse func(sent) bool
		status int
		fails  bool
		rungs  map[string]int
		notes  int
	}{
		{name: "nothing", refuse: func(sent) bool { return false }, rungs: map[string]int{"inline": 1, "annotation": 1}},
		{name: "reviews", refuse: is("POST", "/reviews"), status: 422, rungs: map[string]int{"annotation": 2}, notes: 3},
		{name: "reviews, for a locked conversation", refuse: is("POST", "/reviews"), status: 403, rungs: map[string]int{"annotation": 2}, notes: 1},
		{name: "comments", refuse: is("POST", "/issues/7/comments"), status: 403, rungs: map[string]int{"inline": 1, "annotation": 1}, notes: 2},
		{name: "labels", refuse: is("POST", "/labels"), status: 404, rungs: map[string]int{"inline": 1, "annotation": 1}, notes: 1},
		{name: "one reviewer", refuse: func(s sent) bool {
			return strings.Contains(s.Path, "requested_reviewers") && strings.Contains(s.Raw, "bob")
		}, status: 422, rungs: map[string]int{"inline": 1, "annotation": 1}},
		{name: "annotations", refuse: hasAnnotations, status: 422, rungs: map[string]int{"inline": 1, "table": 1}, notes: 1},
		{name: "the whole report", refuse: tooLong, status: 422, rungs: map[string]int{"inline": 1, "table": 1}, notes: 1},
		{name: "reviews, for now", refuse: is("POST", "/reviews"), status: 502, fails: true},
		{name: "comments, for now", refuse: is("POST", "/issues/7/comments"), status: 503, fails: true},
		{name: "the conclusion, for now", refuse: is("PATCH", "/check-runs/"), status: 500, fails: true},
		{name: "credentials", refuse: is("POST", "/labels"), status: 401, fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec := newRecorder(t, testHead)
			rec.refuse = func(s sent) (int, string) {
				if tt.refuse(s) {
					return tt.status, http.StatusText(tt.status)
				}
				return 0, ""
			}
			pub := publication(t)
			out, err := rec.publisher().Publish(context.Background(), target(), pub)
			if (err != nil) != tt.fails {
				t.Fatalf("error %v", err)
			}
			if tt.fails {
				return
			}
			last := rec.take()
			end := last[len(last)-1]
			if end.Method != http.MethodPatch || end.Body["conclusion"] != "action_required" {
				t.Errorf("the last request is %s %s: %s", end.Method, end.Path, end.Raw)
			}
			for r, n := range tt.rungs {
				if out.Rungs[r] != n {
					t.Errorf("rungs %v, want %v", out.Rungs, tt.rungs)
				}
			}
			if len(out.Notes) != tt.notes {
				t.Errorf("notes %q", out.Notes)
			}
		})
	}
}

// A head that moved is seen also when GitHub refuses the review because of it.
func TestRefusedBecauseTheHeadMoved(t *testing.T) {
	rec := newRecorder(t, testHead)
	rec.refuse = func(s sent) (int, string) {
		if s.to("POST", "/reviews") {
			rec.head = strings.Repeat("f", 40)
			return 422, "The commit_id is not part of the pull request"
		}
		return 0, ""
	}
	d, err := diff.ParseString("diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1 +1,2 @@\n package a\n+var A = 1\n")
	if err != nil {
		t.Fatal(err)
	}
	word := "LOOP_BACK"
	pub := &Publication{
		Attempt: 1, CheckRunID: 11, Title: "Blocked", CheckStatus: convergence.CheckCompleted, Conclusion: convergence.Failure, Decision: convergence.LoopBack, Files: d,
		Result: &report.Document{Outcome: "decided", Decision: &word, Findings: []report.Finding{{
			ID: "aaaaaaaaaaaa", Source: "model", Severity: "high", Charge: "correctness", Blocking: true, Path: "a.go", Side: "RIGHT", StartLine: 2, EndLine: 2, Anchored: true, Claim: "A claim.",
		}}},
	}
	out, err := rec.publisher().Publish(context.Background(), target(), pub)
	if err != nil || out.Superseded != strings.Repeat("f", 40) {
		t.Fatalf("superseded by %q, %v", out.Superseded, err)
	}
	all := rec.take()
	if end := all[len(all)-1]; end.Body["conclusion"] != "cancelled" {
		t.Errorf("the last request: %s", end.Raw)
	}
	for _, s := range all {
		if s.to("POST", "/comments") {
			t.Errorf("a comment about a head that moved: %s", s.Raw)
		}
	}
}
