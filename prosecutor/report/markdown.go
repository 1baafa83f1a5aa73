package report

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"
)

// Markdown writes the document as GitHub-flavoured Markdown. Text of the change cannot break out: it is escaped where
// it is prose, and fenced with more backticks than it contains where it is code; nobody is mentioned by it.
func Markdown(w io.Writer, d *Document) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "## %s: %s\n\n", d.Verdict(), MarkdownText(OneLine(d.Summary, 0)))
	if d.StaticRulesOnly {
		b.WriteString("**Static rules only**: no model judged this change.\n\n")
	}
	fmt.Fprintf(&b, "`%s` → `%s` · %s, %s changed\n\n", shortSHA(d.Case.MergeBase), shortSHA(d.Case.Head),
		count(d.BlastRadius.Files, "file"), count(d.BlastRadius.ChangedLines, "line"))
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "> Note: %s\n\n", MarkdownText(OneLine(n, 0)))
	}
	if d.BlastRadius.Level != "" {
		fmt.Fprintf(&b, "**Blast radius: %s**", d.BlastRadius.Level)
		if d.BlastRadius.SelfModifying {
			b.WriteString(" (changes the gate itself)")
		}
		b.WriteString("\n\n")
		for _, why := range d.BlastRadius.Why {
			fmt.Fprintf(&b, "- %s\n", MarkdownText(OneLine(why, 0)))
		}
		b.WriteString("\n")
	}
	if len(d.Evidence) > 0 {
		b.WriteString("| evidence | state | detail |\n|---|---|---|\n")
		for _, e := range d.Evidence {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", words(e.Source), words(e.State), MarkdownText(OneLine(e.Detail, 0)))
		}
		b.WriteString("\n")
	}
	if len(d.Lenses) > 0 {
		b.WriteString("| lens | verdict | judge | passes |\n|---|---|---|---|\n")
		for _, l := range d.Lenses {
			verdict := l.Verdict
			if l.ErrorKind != "" {
				verdict += " (" + words(l.ErrorKind) + ")"
			}
			if l.Degraded {
				verdict += ", degraded"
			}
			if l.Refuted {
				verdict += ", refuted"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", l.Lens, verdict, MarkdownText(OneLine(l.Judge, 60)), len(l.Passes))
		}
		b.WriteString("\n")
	}
	if len(d.Findings) > 0 {
		fmt.Fprintf(&b, "### Findings (%s)\n\n", Tally(d))
	}
	for _, f := range d.Findings {
		where := f.Where()
		if where == "" {
			where = "the change as a whole"
		}
		fmt.Fprintf(&b, "**%s** · %s · %s · `%s`\n\n", f.Severity, f.Charge, MarkdownCode(OneLine(where, 200)), f.ID)
		for _, par := range strings.Split(f.Claim, "\n") {
			if par = OneLine(par, 2000); par != "" {
				fmt.Fprintf(&b, "%s\n\n", MarkdownText(par))
			}
		}
		if strings.TrimSpace(f.Quote) != "" {
			b.WriteString(MarkdownFence(quoteExcerpt(f.Quote)) + "\n")
		}
		if f.Evidence != "" {
			fmt.Fprintf(&b, "Evidence: %s\n\n", MarkdownText(OneLine(f.Evidence, 1000)))
		}
	}
	if len(d.NotRead) > 0 {
		b.WriteString("### Not read by the judges\n\n")
		for _, n := range d.NotRead {
			fmt.Fprintf(&b, "- %s: %s, %s\n", MarkdownCode(OneLine(n.Path, 200)), count(n.Lines, "changed line"), MarkdownText(OneLine(n.Reason, 0)))
		}
		b.WriteString("\n")
	}
	if l := d.Ledger; l != nil {
		fmt.Fprintf(&b, "Ledger: lap %d, %d of %d since the last ADVANCE, epoch %d", l.Laps, l.BudgetLaps, l.MaxLaps, l.Epoch)
		if l.Converged {
			b.WriteString(", converged")
		}
		b.WriteString(".\n\n")
	}
	if len(d.Explain) > 0 {
		b.WriteString("| rule | what it said |\n|---|---|\n")
		for _, s := range d.Explain {
			fmt.Fprintf(&b, "| %s | %s |\n", MarkdownText(s.Rule), MarkdownText(OneLine(s.Detail, 0)))
		}
		b.WriteString("\n")
	}
	if d.Next != "" {
		fmt.Fprintf(&b, "%s\n", MarkdownText(OneLine(d.Next, 600)))
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the Markdown report: %w", err)
	}
	return nil
}

// MarkdownText escapes one line of prose: nothing in it is markup, a mention, an issue reference or HTML.
func MarkdownText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch r {
		case '\\', '`', '*', '_', '{', '}', '[', ']', '(', ')', '#', '+', '-', '!', '|', '~', '>', '$', ':':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '<', '&':
			b.WriteString(html.EscapeString(string(r)))
		case '@':
			// A zero-width joiner after the sign keeps GitHub from notifying anyone; a backslash would not.
			b.WriteString("@\u200d")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// MarkdownCell is MarkdownCode for a cell of a table, where a bar ends the cell even inside of code. There a bar is escaped
// with a backslash, but a backslash before it is then taken for an escape of its own; a text with both is escaped as prose.
func MarkdownCell(s string) string {
	switch {
	case !strings.Contains(s, "|"):
		return MarkdownCode(s)
	case strings.Contains(s, `\`):
		return "<code>" + MarkdownText(s) + "</code>"
	default:
		return strings.ReplaceAll(MarkdownCode(s), "|", `\|`)
	}
}

// MarkdownCode is an inline code span around one line, whatever backticks are in it. It is not for tables: see MarkdownCell.
func MarkdownCode(s string) string {
	ticks := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// MarkdownFence is a fenced block that its content cannot close.
func MarkdownFence(s string) string {
	fence := strings.Repeat("`", max(3, longestRun(s)+1))
	return fence + "\n" + strings.TrimSuffix(s, "\n") + "\n" + fence + "\n"
}

func longestRun(s string) int {
	longest, run := 0, 0
	for i := 0; i < len(s); i++ {
		if s[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}

// quoteExcerpt is a quote made printable and bounded.
func quoteExcerpt(q string) string {
	lines := strings.Split(strings.TrimSuffix(q, "\n"), "\n")
	more := ""
	if len(lines) > maxQuoteLines {
		more = fmt.Sprintf("\n… and %s", count(len(lines)-maxQuoteLines, "more line"))
		lines = lines[:maxQuoteLines]
	}
	for i, l := range lines {
		lines[i] = cut(Printable(clip(strings.TrimSuffix(l, "\r"), 4*maxShownLine)), maxShownLine)
	}
	return strings.Join(lines, "\n") + more
}
