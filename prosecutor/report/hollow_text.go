package report

import (
	"fmt"
	"io"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// HollowText writes a report of hollow-test for a person at a terminal: what survived, as small diffs.
func HollowText(w io.Writer, r *hollowtest.Report, source Source, o TextOptions) error {
	if o.Width <= 0 {
		o.Width = 100
	}
	p := &textPrinter{o: o}
	s := onAmber
	switch r.Outcome {
	case hollowtest.KilledAll:
		s = onGreen
	case hollowtest.Survivors:
		s = onRed
	}
	label := words(string(r.Outcome))
	if o.Color {
		label = " " + label + " "
	}
	p.line("%s  %s", p.paint(s, label), p.paint(bold, hollowHeadline(r)))
	p.wrapped("", r.Reason, dim)
	f := &files{source: source}
	for _, m := range hollow(r) {
		word := red
		if m.Status == hollowtest.NotCovered {
			word = yellow
		}
		p.line("\n%s  %s  %s", p.paint(bold, fmt.Sprintf("%s:%d", OneLine(m.File, 120), m.Line)), p.paint(word, words(string(m.Status))), p.paint(dim, OneLine(m.Operator, 60)))
		for _, l := range f.difference(m) {
			c := green
			if l[0] == '-' {
				c = red
			}
			p.line("  %s", p.paint(c, l))
		}
		switch {
		case m.Status == hollowtest.NotCovered:
		case len(m.Tests) > 0:
			p.wrapped("  ", "run by: "+hollowTests(m), dim)
		}
		if m.Hint != "" {
			p.wrapped("  ", "hint: "+m.Hint, cyan)
		}
	}
	for _, g := range hollowGroups(r) {
		p.section(g.title)
		for _, l := range g.lines {
			p.wrapped("  ", l, dim)
		}
	}
	if _, err := w.Write(p.b.Bytes()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

type hollowGroup struct {
	title string
	lines []string
}

// hollowGroups lists what has no verdict, and why.
func hollowGroups(r *hollowtest.Report) []hollowGroup {
	var groups []hollowGroup
	add := func(title string, lines []string) {
		if len(lines) > 0 {
			groups = append(groups, hollowGroup{title, lines})
		}
	}
	add("Pending", leftOver(r, func(m *hollowtest.Mutant) bool { return m.Pending }))
	add("No answer", leftOver(r, func(m *hollowtest.Mutant) bool { return m.Status == hollowtest.Undetermined }))
	add("Skipped", leftOver(r, func(m *hollowtest.Mutant) bool { return m.Status == hollowtest.Skipped && !m.Pending }))
	var flaky, starved []string
	for _, name := range r.Flaky {
		flaky = append(flaky, OneLine(name, 200))
	}
	add("Tests that fail now and then, and decided nothing", flaky)
	for _, f := range r.Files {
		if f.Starved {
			starved = append(starved, OneLine(f.Path, 200))
		}
	}
	add("Files in which nothing was decided", starved)
	return groups
}
