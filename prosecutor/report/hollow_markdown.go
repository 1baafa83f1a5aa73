package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// HollowMarkdown writes a report of hollow-test for a pull request.
func HollowMarkdown(w io.Writer, r *hollowtest.Report, source Source) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "## hollow-test: %s\n\n**%s.** %s\n", MarkdownText(words(string(r.Outcome))), hollowHeadline(r), MarkdownText(OneLine(r.Reason, 600)))
	f := &files{source: source}
	for _, m := range hollow(r) {
		fmt.Fprintf(&b, "\n### %s %s\n\n", MarkdownCode(OneLine(fmt.Sprintf("%s:%d", m.File, m.Line), 200)), MarkdownText(words(string(m.Status))+" ("+OneLine(m.Operator, 60)+")"))
		fence := MarkdownFence(strings.Join(f.difference(m), "\n"))
		ticks := fence[:strings.IndexByte(fence, '\n')]
		b.WriteString(ticks + "diff" + fence[len(ticks):])
		if len(m.Tests) > 0 && m.Status == hollowtest.Survived {
			fmt.Fprintf(&b, "\nRun by: %s\n", MarkdownText(hollowTests(m)))
		}
		if m.Hint != "" {
			fmt.Fprintf(&b, "\nHint: %s\n", MarkdownText(OneLine(m.Hint, 400)))
		}
	}
	for _, g := range hollowGroups(r) {
		fmt.Fprintf(&b, "\n### %s\n\n", g.title)
		for _, l := range g.lines {
			fmt.Fprintf(&b, "* %s\n", MarkdownText(l))
		}
	}
	if len(r.Files) > 0 {
		b.WriteString("\n| file | mutable lines | mutants tried | |\n|---|---|---|---|\n")
		for _, file := range r.Files {
			fmt.Fprintf(&b, "| %s | %d | %d | %s |\n", MarkdownCell(OneLine(file.Path, 200)), file.MutableLines, file.Attempted, MarkdownText(OneLine(file.Reason, 200)))
		}
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the Markdown report: %w", err)
	}
	return nil
}
