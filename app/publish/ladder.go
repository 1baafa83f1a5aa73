package publish

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// rung is how far up the ladder of semantics 10 a finding got.
type rung string

// The rungs, highest first.
const (
	onLine     rung = "inline"     // a review comment of this publication
	onThread   rung = "thread"     // a thread about it is there already, open or resolved by a person
	annotated  rung = "annotation" // an annotation of the check run
	tabled     rung = "table"      // a row of the check run's table
	onlyNumber rung = "counted"    // nothing but a number: even the table was full
)

const (
	// maxComments bounds the comments of one review: GitHub has been seen to fail on more than 30 to 40 in one request.
	maxComments = 30
	// annotationBatch is GitHub's limit for one request.
	annotationBatch = 50
	// maxAnnotations bounds a check run's annotations: pages with more than 270 of them have been seen to freeze.
	maxAnnotations = 200
)

// group is the findings of one identity: claims about one place share a comment.
type group struct {
	key      string // the identity, or a stand-in where there is none
	findings []report.Finding
	rung     rung
}

func (g *group) first() report.Finding { return g.findings[0] }

// severity is the highest of the group.
func (g *group) severity() prosecutor.Severity {
	top := prosecutor.Severity("")
	for _, f := range g.findings {
		if s := prosecutor.Severity(f.Severity); s.Rank() > top.Rank() {
			top = s
		}
	}
	return top
}

// groups groups the findings of a document, in its order.
func groups(doc *report.Document) []*group {
	var out []*group
	at := map[string]*group{}
	for i, f := range doc.Findings {
		key := f.ID
		if key == "" {
			key = fmt.Sprintf("unnamed:%d", i)
		}
		if g := at[key]; g != nil {
			g.findings = append(g.findings, f)
			continue
		}
		g := &group{key: key, findings: []report.Finding{f}, rung: tabled}
		at[key] = g
		out = append(out, g)
	}
	return out
}

// comment is a review comment and what it is about.
type comment struct {
	group *group
	draft *github.DraftReviewComment
}

// comments are the review comments of a publication: at most maxComments, each at a place where GitHub takes one. Groups
// with a thread are moved to that rung.
func (p *Publication) comments(t Target, all []*group, threaded map[string]bool) []comment {
	var out []comment
	for _, g := range all {
		f := g.first()
		if _, dismissed := p.Dismissed[f.ID]; dismissed {
			continue
		}
		if f.ID != "" && threaded[safe(f.ID)] {
			g.rung = onThread
			continue
		}
		if len(out) == maxComments || !g.severity().AtLeast(p.floor()) || !p.commentable(f) {
			continue
		}
		draft := &github.DraftReviewComment{
			Path: github.String(f.Path), Side: github.String(f.Side), Line: github.Int(f.EndLine),
			Body: github.String(p.commentBody(t, g)),
		}
		if f.StartLine < f.EndLine {
			draft.StartLine, draft.StartSide = github.Int(f.StartLine), github.String(f.Side)
		}
		out = append(out, comment{group: g, draft: draft})
	}
	return out
}

// floor is the least severity that is shown on a line. Findings below it stand in the summary only.
func (p *Publication) floor() prosecutor.Severity {
	if p.Policy.InlineSeverity == "" {
		return prosecutor.Low
	}
	return p.Policy.InlineSeverity
}

// commentable reports whether GitHub takes a comment at a finding's place: all of it in one hunk, on one side.
func (p *Publication) commentable(f report.Finding) bool {
	if p.Files == nil || !f.Anchored || f.ID == "" || !utf8.ValidString(f.Path) {
		return false
	}
	side := prosecutor.Side(f.Side)
	if side != prosecutor.Left && side != prosecutor.Right {
		return false
	}
	_, ok := p.Files.CommentableRange(f.Path, side, f.StartLine, f.EndLine)
	return ok
}

// annotations are the annotations for the groups that still stand on the table's rung, at most maxAnnotations. Annotations
// mark lines of the head's files only.
func (p *Publication) annotations(all []*group) []annotation {
	var out []annotation
	for _, g := range all {
		f := g.first()
		_, dismissed := p.Dismissed[f.ID]
		if g.rung != tabled || dismissed || len(out) == maxAnnotations || !g.severity().AtLeast(p.floor()) || !p.inHead(f) {
			continue
		}
		out = append(out, annotation{group: g, draft: &github.CheckRunAnnotation{
			Path: github.String(f.Path), StartLine: github.Int(f.StartLine), EndLine: github.Int(f.EndLine),
			AnnotationLevel: github.String(p.level(g)), Title: github.String(annotationTitle(f)),
			Message: github.String(annotationMessage(g)),
		}})
		g.rung = annotated
	}
	return out
}

// annotation is an annotation and what it is about.
type annotation struct {
	group *group
	draft *github.CheckRunAnnotation
}

func (p *Publication) inHead(f report.Finding) bool {
	if !f.Anchored || f.Path == "" || !utf8.ValidString(f.Path) || prosecutor.Side(f.Side) != prosecutor.Right ||
		f.StartLine < 1 || f.EndLine < f.StartLine {
		return false
	}
	if p.Files == nil {
		return true
	}
	file := p.Files.Find(f.Path)
	return file == nil || file.Status != diff.Deleted
}

func (p *Publication) level(g *group) string {
	for _, f := range g.findings {
		if p.blocks(f) {
			return "failure"
		}
	}
	if g.severity() == prosecutor.Low {
		return "notice"
	}
	return "warning"
}

// annotationTitle and annotationMessage are plain text: GitHub renders no Markdown there.
func annotationTitle(f report.Finding) string {
	return cleanTitle(fmt.Sprintf("%s: %s", f.Severity, f.Charge))
}

func annotationMessage(g *group) string {
	const perClaim = 8 << 10
	var b strings.Builder
	for i, f := range g.findings {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(clip(report.Printable(clip(f.Claim, perClaim)), perClaim))
		if strings.TrimSpace(f.Evidence) != "" {
			b.WriteString("\n\nEvidence: " + clip(report.Printable(clip(f.Evidence, perClaim)), perClaim))
		}
	}
	tail := fmt.Sprintf("\n\nFinding %s", safe(g.first().ID))
	if b.Len() == 0 {
		b.WriteString("No claim was given.")
	}
	return clip(b.String(), maxMessage-len(tail)) + tail
}

// rungs counts the findings by the rung of their group.
func rungs(all []*group) map[string]int {
	n := map[string]int{}
	for _, g := range all {
		n[string(g.rung)] += len(g.findings)
	}
	return n
}
