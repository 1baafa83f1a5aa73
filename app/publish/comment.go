package publish

import (
	"fmt"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence/rules"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// commentBody is the comment on the line that a group of findings accuses.
func (p *Publication) commentBody(t Target, g *group) string {
	var b strings.Builder
	first := g.first()
	b.WriteString(markFinding(first) + "\n")
	for _, f := range g.findings {
		fmt.Fprintf(&b, "**%s** · %s", safe(f.Severity), safe(f.Charge))
		if p.blocks(f) {
			b.WriteString(" · blocks")
		}
		if f.Standing {
			b.WriteString(" · of an earlier lap, and still there")
		}
		b.WriteString("\n\n" + paragraphs(f.Claim, 4000))
		b.WriteString(evidenceOf(f))
		if block := p.suggestion(f); block != "" {
			b.WriteString(block + "\n")
		}
	}
	foot := fmt.Sprintf("<sub>%s%s · %s · `%s`</sub>\n", by(first), mayDismiss(first), "reviewed "+short(safe(t.Head)), safe(first.ID))
	return Cut(b.String(), maxBody-len(foot)-1, "Cut: the check run has more.") + foot
}

// by says who accuses.
func by(f report.Finding) string {
	who := prose(f.Origin, 60)
	if f.Rule != "" {
		who = code(f.Rule, 80, false)
	}
	if f.Lens != "" {
		who += ", " + safe(f.Lens) + " lens"
	}
	return who
}

// evidenceOf is what a finding gives as evidence, unless that is the accused code itself.
func evidenceOf(f report.Finding) string {
	said := strings.Join(strings.Fields(f.Evidence), " ")
	if said == "" || said == strings.Join(strings.Fields(f.Quote), " ") {
		return ""
	}
	return "Evidence: " + paragraphs(f.Evidence, 2000)
}

// mayDismiss is the command that dismisses a finding from within its thread.
func mayDismiss(f report.Finding) string {
	if prosecutor.FindingSource(f.Source) != prosecutor.FromModel {
		return ""
	}
	return " · to dismiss it, reply <code>/prosecute dismiss &lt;reason&gt;</code>"
}

// suggestion is what the accuser wants the lines to become: as a suggestion that can be committed, if it replaces exactly
// the lines that the comment stands on, else as code to read.
func (p *Publication) suggestion(f report.Finding) string {
	text := strings.TrimSuffix(f.Suggestion, "\n")
	if strings.TrimSpace(text) == "" || strings.Contains(text, rules.Redacted) {
		return ""
	}
	if p.applies(f, text) {
		fence := strings.Repeat("`", max(3, longestRun(text)+1))
		return fence + "suggestion\n" + text + "\n" + fence + "\n"
	}
	return "Suggested instead:\n\n" + excerpt(text)
}

// maxSuggestion bounds a suggestion that can be committed.
const maxSuggestion = 16 << 10

// applies reports whether committing a suggestion does what was meant. The quotation has to be the very lines, white space
// included, on the new side; the suggestion has to differ, and may not have lost the indentation that all of the quoted
// lines have, since GitHub puts it in as it is. Carriage returns and hidden characters make it something to read.
func (p *Publication) applies(f report.Finding, text string) bool {
	if prosecutor.Side(f.Side) != prosecutor.Right || !p.commentable(f) || len(text) > maxSuggestion {
		return false
	}
	lines, ok := rightLines(p.Files, f.Path, f.StartLine, f.EndLine)
	if !ok {
		return false
	}
	have := strings.Join(lines, "\n")
	if have != strings.TrimSuffix(f.Quote, "\n") || have == text || strings.Contains(have, "\r") {
		return false
	}
	if !plainText(text) {
		return false
	}
	return len(indent(strings.Split(text, "\n"))) >= len(indent(lines))
}

// plainText reports whether a text shows all that it holds: no control characters but tabs and line feeds, nothing
// hidden.
func plainText(s string) bool {
	s = strings.ReplaceAll(s, "\t", "")
	return report.Printable(s) == s
}

// indent is the white space that all lines begin with; blank lines do not count.
func indent(lines []string) string {
	common, first := "", true
	for _, l := range lines {
		rest := strings.TrimLeft(l, " \t")
		if rest == "" {
			continue
		}
		own := l[:len(l)-len(rest)]
		if first {
			common, first = own, false
			continue
		}
		n := 0
		for n < len(common) && n < len(own) && common[n] == own[n] {
			n++
		}
		common = common[:n]
	}
	return common
}

// rightLines are lines of the new side of a file, if all of them are in one hunk.
func rightLines(d *diff.Diff, path string, start, end int) ([]string, bool) {
	i, ok := d.CommentableRange(path, prosecutor.Right, start, end)
	if !ok {
		return nil, false
	}
	var out []string
	for l := range d.Find(path).Hunks[i].Lines() {
		if l.New >= start && l.New <= end {
			out = append(out, l.Text)
		}
	}
	return out, len(out) == end-start+1
}
