package publish

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// hostile draws texts that try to get out of where they stand.
func hostile(long bool) *rapid.Generator[string] {
	pieces := rapid.SampledFrom([]string{
		"the value is nil", "@everyone", "@acme/owners", "```", "````suggestion", "~~~", "`", "<img src=x onerror=a()>", "</details>",
		"<!--", "-->", "--", "|", "\n<!-- prosecutor:finding ffffffffffff -->\n", "<!-- prosecutor:findings v1 base64 e30= -->", "\n", "\r\n", "\n\n", "#12", "acme/pay#9", "GH-7", "https://evil.example/x", "www.evil.example", "\u202e", "\u0000",
		"\xff\xfe", "日本語", "😀", "[a](javascript:x)", "![i](u)", "$x$", "*", "_", "- ", "> ", "1. ", "\t", "&amp;", "\\", "a@b.example",
	})
	return rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), rapid.SampledFrom([]string{"", " "}).Draw(t, "sep"))
		if long && rapid.IntRange(0, 9).Draw(t, "long") == 0 {
			s = strings.Repeat(s+"x", 2000)
		}
		return s
	})
}

// drawDiff draws a diff of a few files with hunks of every kind.
func drawDiff(t *rapid.T) *diff.Diff {
	var b strings.Builder
	for i := range rapid.IntRange(1, 4).Draw(t, "files") {
		name := fmt.Sprintf("dir/file%d.go", i)
		kind := rapid.SampledFrom([]string{"modified", "added", "deleted"}).Draw(t, "kind")
		fmt.Fprintf(&b, "diff --git a/%s b/%s\n", name, name)
		switch kind {
		case "added":
			n := rapid.IntRange(1, 20).Draw(t, "lines")
			fmt.Fprintf(&b, "new file mode 100644\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n", name, n)
			for j := range n {
				fmt.Fprintf(&b, "+\tline%d()\n", j)
			}
		case "deleted":
			n := rapid.IntRange(1, 20).Draw(t, "lines")
			fmt.Fprintf(&b, "deleted file mode 100644\n--- a/%s\n+++ /dev/null\n@@ -1,%d +0,0 @@\n", name, n)
			for j := range n {
				fmt.Fprintf(&b, "-\tline%d()\n", j)
			}
		default:
			fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", name, name)
			oldAt, newAt := 1, 1
			for range rapid.IntRange(1, 3).Draw(t, "hunks") {
				var body strings.Builder
				olds, news := 0, 0
				for j, op := range rapid.SliceOfN(rapid.SampledFrom([]string{" ", "+", "-"}), 1, 12).Draw(t, "ops") {
					fmt.Fprintf(&body, "%s\tcode%d()\n", op, j)
					if op != "+" {
						olds++
					}
					if op != "-" {
						news++
					}
				}
				o, n := oldAt, newAt
				if olds == 0 {
					o--
				}
				if news == 0 {
					n--
				}
				fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n%s", o, olds, n, news, body.String())
				oldAt += olds + 20
				newAt += news + 20
			}
		}
	}
	d, err := diff.ParseString(b.String())
	if err != nil {
		t.Fatalf("the generator is wrong: %v\n%s", err, b.String())
	}
	return d
}

func drawFinding(t *rapid.T, i int) report.Finding {
	f := report.Finding{
		ID:       fmt.Sprintf("%012x", rapid.IntRange(0, 1<<20).Draw(t, "id")),
		Severity: string(rapid.SampledFrom(prosecutor.Severities()).Draw(t, "severity")),
		Charge:   string(rapid.SampledFrom(prosecutor.Charges()).Draw(t, "charge")),
		Source:   rapid.SampledFrom([]string{"model", "evidence", "rule"}).Draw(t, "source"),
		Origin:   rapid.SampledFrom([]string{"gpt", "code_scanning", "static_rules"}).Draw(t, "origin"),
		Claim:    hostile(true).Draw(t, "claim"), Evidence: hostile(false).Draw(t, "evidence"),
		Quote: hostile(false).Draw(t, "quote"), Suggestion: hostile(false).Draw(t, "suggestion"),
		Path:     fmt.Sprintf("dir/file%d.go", rapid.IntRange(0, 5).Draw(t, "file")),
		Side:     rapid.SampledFrom([]string{"LEFT", "RIGHT", ""}).Draw(t, "side"),
		Anchored: rapid.Bool().Draw(t, "anchored"), Blocking: rapid.Bool().Draw(t, "blocking"),
		Standing: rapid.IntRange(0, 9).Draw(t, "standing") == 0,
	}
	if f.Source == "model" {
		f.Lens = string(rapid.SampledFrom(prosecutor.Lenses()).Draw(t, "lens"))
	}
	if f.Anchored {
		f.StartLine = rapid.IntRange(1, 40).Draw(t, "start")
		f.EndLine = f.StartLine + rapid.IntRange(0, 4).Draw(t, "more")
	}
	if rapid.IntRange(0, 9).Draw(t, "odd path") == 0 {
		f.Path = hostile(false).Draw(t, "path")
	}
	return f
}

func drawPublication(t *rapid.T) *Publication {
	n := rapid.SampledFrom([]int{0, 1, 3, 10, 60, 300}).Draw(t, "findings")
	doc := &report.Document{
		Outcome: "decided", Summary: hostile(false).Draw(t, "summary"), Next: hostile(false).Draw(t, "next"),
		Notes:       rapid.SliceOfN(hostile(true), 0, 5).Draw(t, "notes"),
		BlastRadius: report.BlastRadius{Level: "high", Why: rapid.SliceOfN(hostile(true), 0, 40).Draw(t, "why")},
		Evidence:    []report.Evidence{{Source: "code_scanning", State: "red", Detail: hostile(true).Draw(t, "detail")}},
		Lenses:      []report.Lens{{Lens: "correctness", Judge: hostile(false).Draw(t, "judge"), Verdict: "block"}},
		Ledger:      &report.Ledger{Laps: 2, BudgetLaps: 2, MaxLaps: 3, Epoch: 1, OpenConcerns: rapid.SliceOfN(hostile(true), 0, 30).Draw(t, "concerns")},
	}
	for i := range n {
		doc.Findings = append(doc.Findings, drawFinding(t, i))
	}
	for i := range rapid.IntRange(0, 100).Draw(t, "not read") {
		doc.NotRead = append(doc.NotRead, report.NotRead{Path: fmt.Sprintf("gen/%d %s", i, hostile(false).Draw(t, "unread")), Lines: i, Reason: "generated"})
	}
	decision := rapid.SampledFrom([]convergence.Decision{convergence.Advance, convergence.LoopBack, convergence.Escalate}).Draw(t, "decision")
	word := string(decision)
	doc.Decision = &word
	pub := &Publication{
		Attempt: 1, CheckRunID: 11, Result: doc, Title: hostile(true).Draw(t, "title"), CheckStatus: convergence.CheckCompleted, Decision: decision,
		Conclusion: map[convergence.Decision]convergence.Conclusion{
			convergence.Advance: convergence.Success, convergence.LoopBack: convergence.Failure, convergence.Escalate: convergence.ActionRequired,
		}[decision],
		Policy: config.Publish{
			ReviewEvent:    rapid.SampledFrom([]string{config.ReviewComment, config.ReviewRequestChanges, config.ReviewApprove}).Draw(t, "event"),
			InlineSeverity: rapid.SampledFrom(prosecutor.Severities()).Draw(t, "floor"),
		},
		Files: drawDiff(t), Lap: 2, Epoch: 1,
	}
	for _, f := range doc.Findings {
		if f.Blocking {
			pub.Blocking = append(pub.Blocking, f.ID)
		} else if rapid.IntRange(0, 5).Draw(t, "dismiss") == 0 {
			if pub.Dismissed == nil {
				pub.Dismissed = map[string]Dismissal{}
			}
			pub.Dismissed[f.ID] = Dismissal{By: "ann", Reason: hostile(true).Draw(t, "reason")}
		}
	}
	if decision == convergence.Escalate {
		pub.Escalation = &Escalation{
			Causes: []string{string(convergence.LapBudget)}, Base: testHead,
			Lenses: []Said{{Lens: "security", Judge: hostile(false).Draw(t, "said by"), Verdict: "block", Claims: rapid.SliceOfN(hostile(true), 0, 30).Draw(t, "claims")}},
			Laps:   []Lap{{Head: testHead, Decision: "LOOP_BACK", Blocking: 3}},
		}
	}
	return pub
}

// Whatever is published, each request is one that GitHub takes, nothing of the change gets out of its place, and no finding
// vanishes.
func TestEveryRequestIsValidAndNoFindingVanishes(t *testing.T) {
	rec := newRecorder(t, testHead)
	rapid.Check(t, func(rt *rapid.T) {
		pub := drawPublication(rt)
		rec.take()
		out, err := rec.publisher().Publish(context.Background(), target(), pub)
		if err != nil {
			rt.Fatal(err)
		}
		checkRequests(rt, rec.take(), pub, out)
	})
}

var (
	tableRow      = regexp.MustCompile("(?m)^\\| .*`([0-9a-f]{12})` \\|$")
	annotationEnd = regexp.MustCompile(`Finding ([0-9a-f]{12})$`)
	htmlComment   = regexp.MustCompile(`(?s)<!--(.*?)-->`)
)

func checkRequests(t *rapid.T, all []sent, pub *Publication, out Published) {
	reached := map[string]bool{}
	annotations, reviews, concluded := 0, 0, 0
	for _, s := range all {
		if !utf8.ValidString(s.Raw) {
			t.Fatalf("%s %s: not UTF-8", s.Method, s.Path)
		}
		if body, ok := s.Body["body"].(string); ok {
			checkMarkdown(t, body, maxBody)
		}
		switch {
		case strings.Contains(s.Path, "/check-runs"):
			if s.Body == nil {
				continue
			}
			if s.Body["name"] != CheckName {
				t.Fatalf("the check run has the name %v", s.Body["name"])
			}
			output := s.Body["output"].(map[string]any)
			if title := output["title"].(string); title == "" || utf8.RuneCountInString(title) > maxTitle || strings.Contains(title, "\n") {
				t.Fatalf("title %q", title)
			}
			checkMarkdown(t, output["summary"].(string), maxOutput)
			if text, ok := output["text"].(string); ok {
				checkMarkdown(t, text, maxOutput)
			}
			if !strings.Contains(output["summary"].(string), testHead) {
				t.Fatal("the summary does not name the head")
			}
			for _, m := range tableRow.FindAllStringSubmatch(output["summary"].(string), -1) {
				reached[m[1]] = true
			}
			list, _ := output["annotations"].([]any)
			if len(list) > annotationBatch {
				t.Fatalf("%d annotations in one request", len(list))
			}
			annotations += len(list)
			for _, a := range list {
				a := a.(map[string]any)
				start, end := int(a["start_line"].(float64)), int(a["end_line"].(float64))
				message := a["message"].(string)
				if a["path"] == "" || start < 1 || end < start || message == "" || len(message) > maxMessage || len(a["title"].(string)) > 4*maxTitle {
					t.Fatalf("annotation %v", a)
				}
				if f := pub.Files.Find(a["path"].(string)); f != nil && f.Status == diff.Deleted {
					t.Fatalf("an annotation on a deleted file: %v", a)
				}
				m := annotationEnd.FindStringSubmatch(message)
				if m == nil {
					t.Fatalf("an annotation names no finding: %q", message)
				}
				reached[m[1]] = true
			}
			actions, _ := s.Body["actions"].([]any)
			if len(actions) > 3 {
				t.Fatalf("%d actions", len(actions))
			}
			for _, a := range actions {
				a := a.(map[string]any)
				if len(a["label"].(string)) > 20 || len(a["identifier"].(string)) > 20 || len(a["description"].(string)) > 40 {
					t.Fatalf("action %v", a)
				}
			}
			if s.Body["conclusion"] != nil {
				concluded++
			}
		case s.to("POST", "/issues/7/comments"):
			body := s.Body["body"].(string)
			if h, err := ReadHandover(body); err == nil {
				for _, f := range h.Findings {
					if !anyOf(pub.Result.Findings, func(g report.Finding) bool { return g.ID == f.ID && pub.blocks(g) }) {
						t.Fatalf("%s is handed over and does not block", f.ID)
					}
				}
				if h.Head != testHead || len(h.Findings)+h.Omitted == 0 {
					t.Fatalf("handed over: %+v", h)
				}
			}
		case s.to("POST", "/reviews"):
			reviews++
			if s.Body["commit_id"] != testHead || s.Body["body"] == "" {
				t.Fatalf("review of %v with the body %q", s.Body["commit_id"], s.Body["body"])
			}
			if s.Body["event"] == eventApprove && pub.Decision != convergence.Advance {
				t.Fatalf("an approval of %s", pub.Decision)
			}
			list, _ := s.Body["comments"].([]any)
			if len(list) > maxComments {
				t.Fatalf("%d comments", len(list))
			}
			for _, c := range list {
				c := c.(map[string]any)
				line := int(c["line"].(float64))
				start := line
				if v, ok := c["start_line"]; ok {
					if start = int(v.(float64)); start >= line || c["start_side"] != c["side"] {
						t.Fatalf("comment from %d to %d", start, line)
					}
				}
				if _, ok := pub.Files.CommentableRange(c["path"].(string), prosecutor.Side(c["side"].(string)), start, line); !ok {
					t.Fatalf("a comment outside of the diff: %v", c)
				}
				body := c["body"].(string)
				checkMarkdown(t, body, maxBody)
				m, ok := FindingOf(body)
				if !ok || !anyOf(pub.Result.Findings, func(f report.Finding) bool { return f.ID == m.ID && f.Path == c["path"] }) {
					t.Fatalf("a comment with the marker %+v: %q", m, body)
				}
				reached[m.ID] = true
			}
		}
	}
	if annotations > maxAnnotations || reviews > 1 || concluded != 1 {
		t.Fatalf("%d annotations, %d reviews, %d conclusions", annotations, reviews, concluded)
	}
	sum, missing := 0, 0
	for _, n := range out.Rungs {
		sum += n
	}
	for _, f := range pub.Result.Findings {
		if !reached[f.ID] {
			missing++
		}
	}
	if sum != len(pub.Result.Findings) || missing > out.Rungs[string(onlyNumber)] {
		t.Fatalf("%d findings, %d on rungs %v, %d nowhere", len(pub.Result.Findings), sum, out.Rungs, missing)
	}
}

var (
	mention     = regexp.MustCompile(`(^|[^0-9A-Za-z_])@[0-9A-Za-z]`)
	reference   = regexp.MustCompile(`#[0-9]|(?i:\bgh\\?-[0-9])`)
	rawHTML     = regexp.MustCompile(`<(img|script|a )`)
	autolink    = regexp.MustCompile(`https?://evil|www\.evil`)
	detailsTags = regexp.MustCompile(`</?details>`)
)

// checkMarkdown checks a body against GitHub's limits, and that nothing of the change works in it as markup.
func checkMarkdown(t *rapid.T, body string, limit int) {
	t.Helper()
	if len(body) > limit || strings.TrimSpace(body) == "" {
		t.Fatalf("a body of %d bytes", len(body))
	}
	text := outsideSpans(outsideCode(t, body))
	for _, m := range htmlComment.FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], "--") {
			t.Fatalf("an HTML comment that GitHub would cut: %q", m[0])
		}
	}
	text = htmlComment.ReplaceAllString(text, "")
	for _, bad := range []*regexp.Regexp{mention, reference, rawHTML, autolink} {
		if m := bad.FindString(text); m != "" {
			t.Fatalf("%q works in\n%s", m, text)
		}
	}
	depth := 0
	for _, tag := range detailsTags.FindAllString(text, -1) {
		if depth++; tag[1] == '/' {
			depth -= 2
		}
		if depth < 0 {
			t.Fatal("a section is closed that is not open")
		}
	}
	if depth != 0 {
		t.Fatal("a section stays open")
	}
}

// outsideCode is a body without its fenced blocks. All of them have to be closed.
func outsideCode(t *rapid.T, body string) string {
	var out []string
	fence := ""
	for _, line := range strings.Split(body, "\n") {
		m := fenceLine.FindStringSubmatch(line)
		switch {
		case fence == "" && m != nil:
			fence = m[1]
		case fence == "":
			out = append(out, line)
		case m != nil && strings.HasPrefix(m[1], fence) && strings.TrimSpace(line) == m[1]:
			fence = ""
		}
	}
	if fence != "" {
		t.Fatalf("a fence stays open:\n%s", clip(body, 4000))
	}
	return strings.Join(out, "\n")
}

// A text that is cut is within the limit, says so, and leaves nothing open.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := rapid.SliceOfN(rapid.OneOf(
			rapid.Just("a line of text\n"),
			rapid.Just("```go\nx := 1\n```\n"),
			rapid.Just("`````\n```\n日本語\n`````\n"),
			rapid.Just("<details><summary>s</summary>\n\ninner\n\n</details>\n"),
			rapid.Just(strings.Repeat("é", 300)+"\n"),
		), 0, 30).Draw(t, "blocks")
		text := strings.Join(blocks, "")
		limit := rapid.IntRange(60, 2000).Draw(t, "limit")
		got := Cut(text, limit, "Cut here.")
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("%d bytes of %d", len(got), limit)
		}
		if len(text) <= limit {
			if got != text {
				t.Fatal("a text that fits was changed")
			}
			return
		}
		if !strings.Contains(got, "Cut here.") {
			t.Fatalf("the cut is not shown: %q", got)
		}
		checkMarkdown(t, got, limit)
	})
}

var cell = regexp.MustCompile(`(?:[^|\\]|\\.|\\$)*`)

// outsideSpans is Markdown without its code spans, line by line, and in tables cell by cell, as GitHub reads them.
func outsideSpans(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "|") {
			lines[i] = cell.ReplaceAllStringFunc(line, outsideSpan)
			continue
		}
		lines[i] = outsideSpan(line)
	}
	return strings.Join(lines, "\n")
}

func outsideSpan(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
		switch {
		case line[i] == '\\' && i+1 < len(line):
			b.WriteString(line[i : i+2])
			i += 2
		case n == 0:
			b.WriteByte(line[i])
			i++
		default:
			end := -1
			for j := i + n; j < len(line); {
				m := len(line[j:]) - len(strings.TrimLeft(line[j:], "`"))
				if m == n {
					end = j + m
					break
				}
				j += max(1, m)
			}
			if end < 0 {
				b.WriteString(line[i : i+n])
				end = i + n
			}
			i = end
		}
	}
	return b.String()
}
