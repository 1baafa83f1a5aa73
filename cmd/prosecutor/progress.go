package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// progress shows one line per lens on a terminal while the judges work, and nothing elsewhere. The panel calls Observe
// one call at a time; clear comes after the last one.
type progress struct {
	term  terminal
	out   io.Writer
	lines []lensLine
	drawn int
}

type lensLine struct {
	lens prosecutor.Lens
	text string
}

func newProgress(t terminal, out io.Writer) *progress { return &progress{term: t, out: out} }

// Observe implements panel.Observer.
func (p *progress) Observe(e panel.Event) {
	if !p.term.isTerminal {
		return
	}
	text := describe(e)
	for i := range p.lines {
		if p.lines[i].lens == e.Lens {
			p.lines[i].text = text
			p.draw()
			return
		}
	}
	p.lines = append(p.lines, lensLine{e.Lens, text})
	order := prosecutor.Lenses()
	slices.SortStableFunc(p.lines, func(a, b lensLine) int { return slices.Index(order, a.lens) - slices.Index(order, b.lens) })
	p.draw()
}

func describe(e panel.Event) string {
	who := e.Judge.ID
	switch e.Kind {
	case panel.Waiting:
		return "waits for a judge"
	case panel.Started:
		return who + " is reading"
	case panel.PassDone:
		return fmt.Sprintf("%s: pass %d of %d, %s", who, e.Pass, e.Wanted, e.Verdict)
	case panel.FellBack:
		return fmt.Sprintf("%s failed (%s); asking the next judge", who, e.ErrorKind)
	default:
		if e.Verdict == prosecutor.Errored {
			return fmt.Sprintf("%s: no verdict (%s)", who, e.ErrorKind)
		}
		return fmt.Sprintf("%s: %s", who, e.Verdict)
	}
}

// draw writes all lines over those drawn before.
func (p *progress) draw() {
	var b bytes.Buffer
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	width := p.term.width
	if width < 40 {
		width = 40
	}
	for _, l := range p.lines {
		fmt.Fprintf(&b, "\r\x1b[2K  %-12s %s\n", l.lens, report.OneLine(l.text, width-16))
	}
	p.drawn = len(p.lines)
	p.out.Write(b.Bytes()) //nolint:errcheck // progress on a terminal that is gone is of no use to anybody
}

// clear takes the lines away, to make room for the report.
func (p *progress) clear() {
	if p.drawn == 0 {
		return
	}
	fmt.Fprintf(p.out, "\x1b[%dA\x1b[J", p.drawn)
	p.drawn = 0
}
