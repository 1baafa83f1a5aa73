package command

import (
	"fmt"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// Explanation is the reply to /prosecute explain: every rule that fired on the way to the decision on a head, from a
// document that was made with About.Explain.
func Explanation(d *report.Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "How the gate came to **%s** on `%s`:\n\n", report.MarkdownText(d.Verdict()), hexOnly(d.Case.Head))
	if len(d.Explain) == 0 {
		fmt.Fprintf(&b, "%s\n", report.MarkdownText(report.OneLine(d.Summary, 300)))
		return b.String()
	}
	b.WriteString("| rule | what it said |\n|---|---|\n")
	for i, s := range d.Explain {
		if i == 150 {
			fmt.Fprintf(&b, "\nand %d more.\n", len(d.Explain)-i)
			break
		}
		detail := strings.ReplaceAll(report.MarkdownText(report.OneLine(s.Detail, 300)), `\#`, "\\#\u200d")
		fmt.Fprintf(&b, "| %s | %s |\n", report.MarkdownText(s.Rule), detail)
	}
	return b.String()
}

func hexOnly(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'f' {
			return r
		}
		return -1
	}, s)
}
