package casefile

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of the spec text. It is what the author says, not the change, so it may be cut when the cut is said.
const (
	maxSpecPart = 64 << 10 // bytes of one title or body
	maxClosing  = 10       // issues; the query asks for as many
)

type spec struct {
	text    string
	closing []Issue
	notes   []string
}

// specOf is what the change is meant to do: title, body, and the issues it closes.
func specOf(p *pull) spec {
	var s spec
	var b strings.Builder
	s.part(&b, fmt.Sprintf("the title of #%d", p.Number), "# "+strings.TrimSpace(normalised(p.Title)))
	s.part(&b, fmt.Sprintf("the description of #%d", p.Number), normalised(p.Body))
	hidden := 0
	for _, n := range p.ClosingIssuesReferences.Nodes {
		if n == nil {
			hidden++
			continue
		}
		name := fmt.Sprintf("#%d", n.Number)
		issue := Issue{Number: n.Number, Title: n.Title}
		if n.Repository != nil {
			issue.Repo = n.Repository.NameWithOwner
			name = issue.Repo + name
		}
		s.closing = append(s.closing, issue)
		s.part(&b, "the title of issue "+name, fmt.Sprintf("## Closes %s: %s", name, strings.TrimSpace(normalised(n.Title))))
		s.part(&b, "the text of issue "+name, normalised(n.Body))
	}
	if more := p.ClosingIssuesReferences.TotalCount - len(p.ClosingIssuesReferences.Nodes); more > 0 {
		s.cut(&b, fmt.Sprintf("only the first %d linked issues are shown; there are %d more", maxClosing, more))
	}
	if hidden > 0 {
		s.cut(&b, fmt.Sprintf("%d linked issues cannot be read by this App and are not shown", hidden))
	}
	s.text = strings.TrimSpace(b.String())
	return s
}

// part adds a text that somebody wrote, cut to its bound on a rune.
func (s *spec) part(b *strings.Builder, name, text string) {
	text = strings.TrimRight(text, "\n\t ")
	if text == "" {
		return
	}
	shown := text
	if len(shown) > maxSpecPart {
		shown = shown[:maxSpecPart]
		for len(shown) > 0 && !utf8.RuneStart(text[len(shown)]) {
			shown = shown[:len(shown)-1]
		}
	}
	b.WriteString(shown)
	b.WriteString("\n\n")
	if shown != text {
		s.cut(b, fmt.Sprintf("%s is %d bytes long; only the first %d are shown", name, len(text), len(shown)))
	}
}

func (s *spec) cut(b *strings.Builder, what string) {
	fmt.Fprintf(b, "[Cut: %s.]\n\n", what)
	s.notes = append(s.notes, "the spec was cut: "+what)
}

// normalised has the line ends of git and no invalid UTF-8.
func normalised(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\r\n", "\n"), "\uFFFD")
}
