package publish_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/app/publish"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a text with a file, with whatever differs between two runs of the emulator taken out.
func golden(t *testing.T, name, got string) {
	t.Helper()
	for _, r := range []struct{ from, to string }{
		{`[0-9a-f]{40}`, "HEAD"}, {"`[0-9a-f]{10}`", "`SHORT`"}, {`reviewed [0-9a-f]{10}`, "reviewed SHORT"},
		{`[0-9]+/1@`, "REPO/1@"}, {`[0-9]+/1/epoch`, "REPO/1/epoch"}, {`http://[0-9.:]+`, "http://HOST"}, {`/runs/[0-9]+`, "/runs/ID"},
		{`(history|v1 base64) [A-Za-z0-9+/=]+`, "$1 BASE64"},
	} {
		got = regexp.MustCompile(r.from).ReplaceAllString(got, r.to)
	}
	path := filepath.Join("testdata", name+".md")
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// twoFindings are one on lines that were added, with a suggestion, and one on lines that were deleted; then one that stands
// nowhere.
func twoFindings(d *diff.Diff) []report.Finding {
	deref := finding(d, prosecutor.Correctness, prosecutor.High, prosecutor.Right, "\tv := lookup(n)\n\treturn v.send()\n", "lookup may return nil, and @dev dereferences it.")
	deref.Evidence = "lookup documents that it returns nil for an unknown id."
	deref.Suggestion = "\tv := lookup(n)\n\tif v == nil {\n\t\treturn errUnknown\n\t}\n\treturn v.send()\n"
	guard := finding(d, prosecutor.Security, prosecutor.Critical, prosecutor.Left, "\tif n < 0 {\n\t\treturn errNegative\n\t}\n", "The guard against negative amounts is gone.")
	nowhere := finding(d, prosecutor.Correctness, prosecutor.Medium, prosecutor.Right, "\tnot in the diff\n", "A third thing.")
	return []report.Finding{guard, deref, nowhere}
}

func TestFirstPublication(t *testing.T) {
	w := newWorld(t)
	d := w.diff()
	pub := publication(convergence.LoopBack, d, twoFindings(d)...)
	w.s.ResetRequests()
	w.begin(w.target(), pub)
	out := w.publish(w.target(), pub)

	if diff := cmp.Diff([]string{
		"POST /repos/{owner}/{repo}/check-runs", "POST /graphql", "POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews",
		"POST /repos/{owner}/{repo}/issues/{issue_number}/comments", "PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}",
	}, w.calls()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	run := w.run(w.pr.HeadSHA())
	if run.Status != "completed" || run.Conclusion != "failure" || run.Title != "Blocked: 1 critical, 1 high, 1 medium" || run.ExternalID != w.target().ExternalID() {
		t.Errorf("check run %s %s %q %q", run.Status, run.Conclusion, run.Title, run.ExternalID)
	}
	if diff := cmp.Diff(map[string]int{"inline": 2, "table": 1}, out.Rungs); diff != "" {
		t.Errorf("rungs (-want +got):\n%s", diff)
	}
	reviews := w.reviews()
	if len(reviews) != 1 || reviews[0].State != "COMMENTED" || reviews[0].CommitID != w.pr.HeadSHA() || len(reviews[0].Comments) != 2 {
		t.Fatalf("reviews: %+v", reviews)
	}
	guard, deref := reviews[0].Comments[0], reviews[0].Comments[1]
	if guard.Side != "LEFT" || guard.StartLine != 4 || guard.Line != 6 {
		t.Errorf("the comment on deleted lines: %s %d-%d", guard.Side, guard.StartLine, guard.Line)
	}
	if deref.Side != "RIGHT" || deref.StartLine != 8 || deref.Line != 9 {
		t.Errorf("the comment on added lines: %s %d-%d", deref.Side, deref.StartLine, deref.Line)
	}
	comments := w.pr.IssueComments()
	if len(comments) != 1 || comments[0].ID != out.CommentID {
		t.Fatalf("comments: %+v", comments)
	}
	h, err := publish.ReadHandover(comments[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	if h.Head != w.pr.HeadSHA() || h.Decision != "LOOP_BACK" || len(h.Findings) != 2 || h.Findings[0].Severity != "critical" || h.Omitted != 0 {
		t.Errorf("handed over: %+v", h)
	}
	golden(t, "summary", run.Summary)
	golden(t, "text", run.Text)
	golden(t, "review", reviews[0].Body)
	golden(t, "comment-left", guard.Body)
	golden(t, "comment-suggestion", deref.Body)
	golden(t, "sticky", comments[0].Body)
}

func TestCleanAdvance(t *testing.T) {
	w := newWorld(t)
	pub := publication(convergence.Advance, w.diff())
	w.s.ResetRequests()
	w.begin(w.target(), pub)
	w.publish(w.target(), pub)
	if diff := cmp.Diff([]string{
		"POST /repos/{owner}/{repo}/check-runs", "POST /graphql", "PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}",
	}, w.calls()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if run := w.run(w.pr.HeadSHA()); run.Conclusion != "success" || run.Title != "Advance: 2 lenses, medium radius" {
		t.Errorf("check run %s %q", run.Conclusion, run.Title)
	}
	if len(w.reviews()) != 0 || len(w.pr.IssueComments()) != 0 {
		t.Error("a clean ADVANCE says something beside its check run")
	}
}

// The buttons: Dismiss only when exactly one finding of a judge blocks.
func TestActions(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func([]report.Finding) []report.Finding
		want   []string
	}{
		{"two block", func(f []report.Finding) []report.Finding { return f }, []string{"run_again", "explain"}},
		{"one blocks", func(f []report.Finding) []report.Finding { return f[1:] }, []string{"run_again", "explain", "dismiss:"}},
		{"one of evidence blocks", func(f []report.Finding) []report.Finding {
			f[1].Source, f[1].Origin = "evidence", "static_rules"
			return f[1:]
		}, []string{"run_again", "explain"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			d := w.diff()
			findings := tt.change(twoFindings(d))
			pub := publication(convergence.LoopBack, d, findings...)
			w.begin(w.target(), pub)
			w.publish(w.target(), pub)
			var got []string
			for _, a := range w.run(w.pr.HeadSHA()).Actions {
				if kind, id := publish.Action(a.Identifier); kind == publish.ActionDismiss {
					if id != findings[0].ID {
						t.Errorf("the button dismisses %s", id)
					}
					a.Identifier = "dismiss:"
				}
				got = append(got, a.Identifier)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whichever request is lost, before or after GitHub acted on it, a retry ends with each artefact once.
func TestRetryDoublesNothing(t *testing.T) {
	publishOnce := func(w *world, attempt int, checkRun int64) (int64, error) {
		target := w.target()
		target.Attempt = attempt
		d := w.diffWithout()
		pub := publication(convergence.Escalate, d, twoFindings(d)...)
		pub.Attempt, pub.CheckRunID = attempt, checkRun
		pub.Escalation = &publish.Escalation{Causes: []string{"lap_budget"}, Reviewers: []string{"ann"}}
		if checkRun == 0 {
			id, err := w.p.Begin(context.Background(), target, "Judging")
			if err != nil {
				return 0, err
			}
			pub.CheckRunID = id
		}
		_, err := w.p.Publish(context.Background(), target, pub)
		return pub.CheckRunID, err
	}
	first := newWorld(t)
	first.repo.Collaborator("ann", "write")
	for _, done := range []bool{false, true} {
		for n := 1; ; n++ {
			w := first.another(fmt.Sprintf("branch-%d-%v", n, done))
			w.diffWithout()
			w.wire.lose(n, done)
			id, err := publishOnce(w, 1, 0)
			w.wire.lose(0, false)
			if err == nil {
				if n < 9 {
					t.Fatalf("the %d. request is the last", n-1)
				}
				break
			}
			if _, err := publishOnce(w, 2, id); err != nil {
				t.Fatalf("request %d lost (done: %v), then: %v", n, done, err)
			}
			run := w.run(w.pr.HeadSHA())
			if run.Status != "completed" || run.Conclusion != "action_required" {
				t.Errorf("request %d lost (done: %v): check run %s %s", n, done, run.Status, run.Conclusion)
			}
			if r := w.reviews(); len(r) != 1 || len(r[0].Comments) != 2 {
				t.Errorf("request %d lost (done: %v): reviews %+v", n, done, r)
			}
			if c := w.pr.IssueComments(); len(c) != 2 {
				t.Errorf("request %d lost (done: %v): %d comments", n, done, len(c))
			}
			if diff := cmp.Diff([]string{"ann"}, w.pr.RequestedReviewers()); diff != "" {
				t.Errorf("request %d lost (done: %v): reviewers %s", n, done, diff)
			}
			if diff := cmp.Diff([]string{"needs-human"}, w.pr.Labels()); diff != "" {
				t.Errorf("request %d lost (done: %v): labels %s", n, done, diff)
			}
		}
	}
}

// diffWithout reads the diff once, so that reading it is none of the requests that a test counts.
func (w *world) diffWithout() *diff.Diff {
	if w.cached == nil {
		w.cached = w.diff()
	}
	return w.cached
}

func TestHeadMoved(t *testing.T) {
	w := newWorld(t)
	d := w.diff()
	target := w.target()
	pub := publication(convergence.LoopBack, d, twoFindings(d)...)
	w.begin(target, pub)
	newer := w.repo.Commit("feature", "More", map[string]string{"more.go": "package pay\n"})
	out := w.publish(target, pub)
	run := w.run(target.Head)
	if run.Conclusion != "cancelled" || run.Title != "Superseded by "+newer || out.Superseded != newer {
		t.Errorf("check run %s %q, superseded by %q", run.Conclusion, run.Title, out.Superseded)
	}
	if len(w.repo.CheckRuns(newer)) != 0 || len(w.reviews()) != 0 || len(w.pr.IssueComments()) != 0 {
		t.Error("something was published about a head that was not judged")
	}
}

func TestClosedWhileJudged(t *testing.T) {
	w := newWorld(t)
	d := w.diff()
	pub := publication(convergence.LoopBack, d, twoFindings(d)...)
	w.begin(w.target(), pub)
	w.pr.Close()
	if out := w.publish(w.target(), pub); !out.Closed {
		t.Error("not told that it was closed")
	}
	if run := w.run(w.pr.HeadSHA()); run.Conclusion != "cancelled" || len(w.reviews()) != 0 {
		t.Errorf("check run %s, %d reviews", run.Conclusion, len(w.reviews()))
	}
}

// A decision that took long is not concluded before the head was read once more.
func TestHeadIsReadAgainAfterAWhile(t *testing.T) {
	w := newWorld(t)
	d := w.diff()
	pub := publication(convergence.LoopBack, d, twoFindings(d)...)
	w.begin(w.target(), pub)
	first := true
	p := publish.New(publish.Options{Clients: w.clients, Now: func() time.Time {
		if !first {
			w.now = w.now.Add(time.Minute)
		}
		first = false
		return w.now
	}})
	w.s.ResetRequests()
	if _, err := p.Publish(context.Background(), w.target(), pub); err != nil {
		t.Fatal(err)
	}
	calls := w.calls()
	if n := len(calls); n < 2 || calls[n-2] != "GET /repos/{owner}/{repo}/pulls/{pull_number}" {
		t.Errorf("requests: %v", calls)
	}
}

// The second lap: what is open already is not posted again, and what is gone is resolved.
func TestSecondLap(t *testing.T) {
	lap := func(w *world, findings func(*diff.Diff) []report.Finding, heard ...string) publish.Published {
		d := w.diff()
		list := findings(d)
		decision := convergence.LoopBack
		if len(list) == 0 {
			decision = convergence.Advance
		}
		pub := publication(decision, d, list...)
		if heard != nil {
			pub.Heard = heard
		}
		w.begin(w.target(), pub)
		return w.publish(w.target(), pub)
	}
	fixed := strings.Replace(newFile, "\treturn charge(n)\n", "\tif n < 0 {\n\t\treturn errNegative\n\t}\n\treturn charge(n)\n", 1)
	fixed = strings.Replace(fixed, "\treturn v.send()\n", "\tif v == nil {\n\t\treturn errUnknown\n\t}\n\treturn v.send()\n", 1)
	none := func(*diff.Diff) []report.Finding { return nil }
	resolved := func(w *world) (n int) {
		for _, th := range w.pr.Threads() {
			if th.Resolved {
				n++
			}
		}
		return n
	}
	push := func(w *world, content string) {
		w.repo.Commit("feature", "Again", map[string]string{"pay.go": content})
	}

	t.Run("the same findings", func(t *testing.T) {
		w := newWorld(t)
		lap(w, twoFindings)
		push(w, newFile+"\n// more\n")
		out := lap(w, twoFindings)
		if len(w.reviews()) != 1 || len(w.pr.Threads()) != 2 || len(w.pr.IssueComments()) != 1 {
			t.Errorf("%d reviews, %d threads, %d comments", len(w.reviews()), len(w.pr.Threads()), len(w.pr.IssueComments()))
		}
		if diff := cmp.Diff(map[string]int{"thread": 2, "table": 1}, out.Rungs); diff != "" {
			t.Error(diff)
		}
		golden(t, "sticky-second-lap", w.pr.IssueComments()[0].Body)
	})
	t.Run("repaired", func(t *testing.T) {
		w := newWorld(t)
		lap(w, twoFindings)
		push(w, fixed)
		w.s.ResetRequests()
		if out := lap(w, none); out.Resolved != 2 || resolved(w) != 2 {
			t.Errorf("%d resolved, the answer says %d", resolved(w), out.Resolved)
		}
		// The diff is read by the test; check run, state, resolving, sticky comment, conclusion.
		if calls := w.calls(); len(calls) != 6 {
			t.Errorf("%d requests: %v", len(calls), calls)
		}
		if c := w.pr.IssueComments(); len(c) != 1 || !strings.Contains(c[0].Body, "Advance") || !strings.Contains(c[0].Body, "Earlier verdicts") {
			t.Errorf("comments: %+v", c)
		}
	})
	t.Run("not mentioned but still there", func(t *testing.T) {
		w := newWorld(t)
		lap(w, twoFindings)
		push(w, newFile+"\n// more\n")
		if lap(w, none); resolved(w) != 0 {
			t.Errorf("%d resolved", resolved(w))
		}
	})
	t.Run("nobody looked", func(t *testing.T) {
		w := newWorld(t)
		lap(w, twoFindings)
		push(w, fixed)
		if lap(w, none, "security"); resolved(w) != 1 {
			t.Errorf("%d resolved", resolved(w))
		}
	})
	t.Run("a human replied", func(t *testing.T) {
		w := newWorld(t)
		lap(w, twoFindings)
		w.pr.ReplyTo(w.pr.Threads()[0].Comments[0].ID, "dev", "I disagree")
		push(w, fixed)
		if lap(w, none); resolved(w) != 1 || w.pr.Threads()[0].Resolved {
			t.Errorf("%d resolved", resolved(w))
		}
	})
	t.Run("resolved by a person, and still accused", func(t *testing.T) {
		w := newWorld(t)
		lap(w, twoFindings)
		w.pr.Resolve("dev", w.pr.Threads()[1].Comments[0].ID)
		push(w, newFile+"\n// more\n")
		out := lap(w, twoFindings)
		if len(w.pr.Threads()) != 2 || out.Rungs["thread"] != 2 {
			t.Errorf("%d threads, rungs %v", len(w.pr.Threads()), out.Rungs)
		}
		if run := w.run(w.pr.HeadSHA()); run.Conclusion != "failure" {
			t.Errorf("resolving a thread makes %s of it", run.Conclusion)
		}
	})
	t.Run("back after we resolved it", func(t *testing.T) {
		w := newWorld(t)
		lap(w, twoFindings)
		push(w, fixed)
		lap(w, none)
		push(w, newFile)
		out := lap(w, twoFindings)
		if len(w.pr.Threads()) != 4 || out.Rungs["inline"] != 2 {
			t.Errorf("%d threads, rungs %v", len(w.pr.Threads()), out.Rungs)
		}
	})
	t.Run("a marker that somebody copied", func(t *testing.T) {
		w := newWorld(t)
		d := w.diff()
		w.pr.CommentOn("mallory", "pay.go", 8, fmt.Sprintf("<!-- prosecutor:finding %s by=correctness -->\nhello", twoFindings(d)[1].ID))
		if out := lap(w, twoFindings); out.Rungs["inline"] != 2 {
			t.Errorf("rungs %v", out.Rungs)
		}
	})
}

// A comment that GitHub refuses takes no other with it: its finding goes one rung down.
func TestRefusedComments(t *testing.T) {
	w := newWorld(t)
	// A diff that shows more than GitHub's: its last line is no longer part of the pull request.
	d := w.diff()
	wide, err := diff.ParseString("diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n pay\n+gone\n")
	if err != nil {
		t.Fatal(err)
	}
	d.Files = append(d.Files, wide.Files...)
	findings := twoFindings(d)
	extra := findings[1]
	extra.ID, extra.Path, extra.Quote, extra.StartLine, extra.EndLine, extra.Suggestion = "eeeeeeeeeeee", "README.md", "gone", 2, 2, ""
	pub := publication(convergence.LoopBack, d, append(findings, extra)...)
	w.begin(w.target(), pub)
	out := w.publish(w.target(), pub)
	if diff := cmp.Diff(map[string]int{"inline": 2, "annotation": 1, "table": 1}, out.Rungs); diff != "" {
		t.Errorf("rungs (-want +got):\n%s", diff)
	}
	run := w.run(w.pr.HeadSHA())
	if run.Conclusion != "failure" || len(run.Annotations) != 1 || len(out.Notes) != 1 {
		t.Errorf("check run %s with %d annotations, notes %q", run.Conclusion, len(run.Annotations), out.Notes)
	}
	if r := w.reviews(); len(r) != 1 || len(r[0].Comments) != 2 || !strings.Contains(r[0].Body, "did not take the others") {
		t.Errorf("reviews %+v", r)
	}
	for _, f := range pub.Result.Findings {
		if !strings.Contains(run.Summary, f.ID) {
			t.Errorf("the table has no %s", f.ID)
		}
	}
}

// More annotations than one request takes, and more than are shown at all.
func TestManyFindings(t *testing.T) {
	w := newWorld(t)
	d := w.diff()
	var findings []report.Finding
	for i := range 260 {
		f := twoFindings(d)[1]
		f.ID, f.Suggestion, f.Claim = fmt.Sprintf("%012x", i), "", fmt.Sprintf("Claim %d.", i)
		findings = append(findings, f)
	}
	pub := publication(convergence.LoopBack, d, findings...)
	w.begin(w.target(), pub)
	out := w.publish(w.target(), pub)
	if diff := cmp.Diff(map[string]int{"inline": 30, "annotation": 200, "table": 30}, out.Rungs); diff != "" {
		t.Errorf("rungs (-want +got):\n%s", diff)
	}
	run := w.run(w.pr.HeadSHA())
	if len(run.Annotations) != 200 || run.Conclusion != "failure" {
		t.Errorf("%d annotations, %s", len(run.Annotations), run.Conclusion)
	}
	// A retry after the batches were written writes none of them again.
	pub.Attempt = 2
	w.publish(w.target(), pub)
	if run := w.run(w.pr.HeadSHA()); len(run.Annotations) != 200 {
		t.Errorf("%d annotations after a retry", len(run.Annotations))
	}
}

func TestOpinions(t *testing.T) {
	lap := func(w *world, event string, decision convergence.Decision) {
		d := w.diff()
		var findings []report.Finding
		if decision != convergence.Advance {
			findings = twoFindings(d)
		}
		pub := publication(decision, d, findings...)
		pub.Policy.ReviewEvent = event
		w.begin(w.target(), pub)
		w.publish(w.target(), pub)
		w.repo.Commit("feature", "More", map[string]string{"more.go": fmt.Sprintf("package pay // %s\n", w.pr.HeadSHA())})
	}
	states := func(w *world) (out []string) {
		for _, r := range w.reviews() {
			out = append(out, r.State)
		}
		return out
	}
	for _, tt := range []struct {
		name, event string
		laps        []convergence.Decision
		want        []string
	}{
		{"comments only", config.ReviewComment, []convergence.Decision{convergence.LoopBack, convergence.Advance}, []string{"COMMENTED"}},
		{"a request is withdrawn", config.ReviewRequestChanges, []convergence.Decision{convergence.LoopBack, convergence.Advance}, []string{"DISMISSED"}},
		{"and not repeated", config.ReviewRequestChanges, []convergence.Decision{convergence.LoopBack, convergence.LoopBack}, []string{"CHANGES_REQUESTED"}},
		{"an approval of each head", config.ReviewApprove, []convergence.Decision{convergence.Advance, convergence.Advance}, []string{"APPROVED", "APPROVED"}},
		{"an approval that no longer holds", config.ReviewApprove, []convergence.Decision{convergence.Advance, convergence.LoopBack}, []string{"APPROVED", "CHANGES_REQUESTED"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			for _, d := range tt.laps {
				lap(w, tt.event, d)
			}
			if diff := cmp.Diff(tt.want, states(w)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("not judged after an approval", func(t *testing.T) {
		w := newWorld(t)
		lap(w, config.ReviewApprove, convergence.Advance)
		pub := publication(convergence.LoopBack, w.diff())
		pub.Policy.ReviewEvent, pub.Decision, pub.Result.Decision, pub.Result.Outcome = config.ReviewApprove, "", nil, "errored"
		pub.Conclusion, pub.Title = convergence.ActionRequired, "Not judged: an internal error while judging"
		w.begin(w.target(), pub)
		w.publish(w.target(), pub)
		if diff := cmp.Diff([]string{"DISMISSED"}, states(w)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a pull request of our own", func(t *testing.T) {
		w := newWorld(t)
		w.repo.Commit("ours", "Fix", map[string]string{"pay.go": newFile})
		w.pr = w.repo.OpenPR(githubtest.PR{Title: "Fix", Head: "ours", Author: w.s.App().BotLogin()})
		lap(w, config.ReviewApprove, convergence.LoopBack)
		if diff := cmp.Diff([]string{"COMMENTED"}, states(w)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestEscalation(t *testing.T) {
	w := newWorld(t)
	w.repo.Commit("main", "Owners", map[string]string{".github/CODEOWNERS": "* @ann\n*.go @dev @bob @acme/core mail@example.com\n!broken\n"})
	w.repo.Collaborator("ann", "write")
	w.repo.Collaborator("bob", "write")
	d := w.diff()
	pub := publication(convergence.Escalate, d, twoFindings(d)...)
	pub.Escalation = &publish.Escalation{
		Causes: []string{"lap_budget", "oscillation"}, Paths: []string{"pay.go"}, Base: w.repo.Head("main"),
		Lenses: []publish.Said{
			{Lens: "correctness", Judge: "gpt", Family: "openai", Verdict: "block", Claims: []string{"high correctness: lookup may return nil, and @dev dereferences it."}},
			{Lens: "security", Judge: "claude", Family: "anthropic", Verdict: "ship"},
		},
		Laps: []publish.Lap{{Head: w.pr.HeadSHA(), Decision: "LOOP_BACK", Blocking: 2}, {Head: w.pr.HeadSHA(), Decision: "ESCALATE", Blocking: 2}},
	}
	w.begin(w.target(), pub)
	out := w.publish(w.target(), pub)
	if diff := cmp.Diff([]string{"needs-human"}, w.pr.Labels()); diff != "" {
		t.Error(diff)
	}
	asked := strings.Join(w.pr.RequestedReviewers(), " ")
	if !strings.Contains(asked, "bob") || strings.Contains(asked, "dev") || strings.Contains(asked, "ann") {
		t.Errorf("asked %q, notes %q", asked, out.Notes)
	}
	comments := w.pr.IssueComments()
	if len(comments) != 2 {
		t.Fatalf("%d comments", len(comments))
	}
	golden(t, "escalation", comments[0].Body)

	// The same epoch escalates once, whatever is published again.
	second := w.target()
	second.Generation = 2
	w.begin(second, pub)
	w.publish(second, pub)
	if n := len(w.pr.IssueComments()); n != 2 {
		t.Errorf("%d comments after a second publication", n)
	}
	pub.Epoch = 2
	second.Generation = 3
	w.begin(second, pub)
	w.publish(second, pub)
	if n := len(w.pr.IssueComments()); n != 3 {
		t.Errorf("%d comments after an escalation of the next epoch", n)
	}

	// An ADVANCE takes the label away.
	advance := publication(convergence.Advance, d)
	second.Generation = 4
	w.begin(second, advance)
	w.publish(second, advance)
	if labels := w.pr.Labels(); len(labels) != 0 {
		t.Errorf("labels %q after an ADVANCE", labels)
	}
	// One that was never ours stays.
	other := newWorld(t)
	other.pr.Label("dev", "needs-human")
	clean := publication(convergence.Advance, other.diff())
	other.begin(other.target(), clean)
	other.publish(other.target(), clean)
	if diff := cmp.Diff([]string{"needs-human"}, other.pr.Labels()); diff != "" {
		t.Error(diff)
	}
}

// Begin finds the check run that a lost attempt made; a new generation gets a new one.
// A run that never had a check run gets none for being cancelled.
func TestCancelNothing(t *testing.T) {
	w := newWorld(t)
	target := w.target()
	if id, err := w.p.Cancel(context.Background(), target, 0, "superseded by 0123abc"); err != nil || id != 0 {
		t.Errorf("cancelled %d: %v", id, err)
	}
	if runs := w.repo.CheckRuns(target.Head); len(runs) != 0 {
		t.Errorf("%+v", runs)
	}
}

func TestBegin(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	target := w.target()
	first, err := w.p.Begin(ctx, target, "Judging")
	if err != nil {
		t.Fatal(err)
	}
	target.Attempt = 2
	again, err := w.p.Begin(ctx, target, "Judging")
	if err != nil || again != first {
		t.Errorf("a retry made %d beside %d: %v", again, first, err)
	}
	if run := w.run(target.Head); run.Status != "in_progress" || run.Title != "Judging" || run.StartedAt.IsZero() {
		t.Errorf("check run %s %q", run.Status, run.Title)
	}
	if err := w.p.Progress(ctx, target, first, "Waiting for CodeQL", "waiting for the analysis of @dev"); err != nil {
		t.Fatal(err)
	}
	if run := w.run(target.Head); run.Status != "in_progress" || run.Title != "Waiting for CodeQL" || strings.Contains(run.Summary, "@dev") {
		t.Errorf("check run %s %q %q", run.Status, run.Title, run.Summary)
	}
	if id, err := w.p.Cancel(ctx, target, 0, "superseded by 0123abc"); err != nil || id != first {
		t.Fatalf("cancelled %d, want %d, whose id was not recorded: %v", id, first, err)
	}
	if run := w.run(target.Head); run.Conclusion != "cancelled" || run.Title != "Superseded by 0123abc" {
		t.Errorf("check run %s %q", run.Conclusion, run.Title)
	}
	target.Generation, target.Attempt = 2, 0
	next, err := w.p.Begin(ctx, target, "Judging")
	if err != nil || next == first {
		t.Errorf("the next generation has check run %d: %v", next, err)
	}
}

// A merge group has a check run and nothing else.
func TestMergeGroup(t *testing.T) {
	w := newWorld(t)
	target := w.target()
	target.PR = 0
	pub := publication(convergence.Advance, nil)
	w.begin(target, pub)
	w.s.ResetRequests()
	w.publish(target, pub)
	if calls := w.calls(); len(calls) != 1 {
		t.Errorf("requests %v", calls)
	}
	if run := w.run(target.Head); run.Conclusion != "success" {
		t.Errorf("check run %s", run.Conclusion)
	}
}

// A waiting case updates its check run and says nothing else.
func TestWaiting(t *testing.T) {
	w := newWorld(t)
	d := w.diff()
	pub := publication(convergence.LoopBack, d, twoFindings(d)...)
	pub.CheckStatus, pub.Conclusion, pub.Decision, pub.Result.Outcome, pub.Title = convergence.CheckInProgress, "", "", "parked", "Waiting for CodeQL"
	w.begin(w.target(), pub)
	w.publish(w.target(), pub)
	if run := w.run(w.pr.HeadSHA()); run.Status != "in_progress" || run.Title != "Waiting for CodeQL" {
		t.Errorf("check run %s %q", run.Status, run.Title)
	}
	if len(w.reviews()) != 0 || len(w.pr.IssueComments()) != 0 {
		t.Error("a waiting case is told of")
	}
}

// A sticky comment that somebody deleted is made anew.
func TestDeletedSticky(t *testing.T) {
	w := newWorld(t)
	d := w.diff()
	pub := publication(convergence.LoopBack, d, twoFindings(d)...)
	w.begin(w.target(), pub)
	out := w.publish(w.target(), pub)
	w.pr.DeleteComment(out.CommentID, "dev")
	target := w.target()
	target.Generation = 2
	pub.CommentID = out.CommentID
	w.begin(target, pub)
	if again := w.publish(target, pub); again.CommentID == out.CommentID || len(w.pr.IssueComments()) != 1 {
		t.Errorf("comment %d, %d comments", again.CommentID, len(w.pr.IssueComments()))
	}
}

// A stored publication publishes the same.
func TestStoredPublication(t *testing.T) {
	w := newWorld(t)
	d := w.diff()
	pub := publication(convergence.LoopBack, d, twoFindings(d)...)
	w.begin(w.target(), pub)
	raw, err := json.Marshal(pub)
	if err != nil {
		t.Fatal(err)
	}
	var back publish.Publication
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&back)
	if err != nil || string(again) != string(raw) {
		t.Errorf("stored, read and stored again:\n%s\n%s\n%v", raw, again, err)
	}
	if out := w.publish(w.target(), &back); out.Rungs["inline"] != 2 {
		t.Errorf("rungs %v", out.Rungs)
	}
}
