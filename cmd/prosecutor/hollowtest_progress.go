package main

import (
	"fmt"
	"io"
	"strings"
)

// hollowBar shows how many mutants are decided on a terminal, and nothing elsewhere. Its methods are called by one
// goroutine at a time.
type hollowBar struct {
	term  terminal
	out   io.Writer
	shown string
}

func newHollowBar(t terminal, out io.Writer) *hollowBar { return &hollowBar{term: t, out: out} }

// show draws the bar, if it would look different from the one drawn.
func (b *hollowBar) show(done, total int) {
	if !b.term.isTerminal || total <= 0 {
		return
	}
	const width = 30
	full := min(done*width/total, width)
	text := fmt.Sprintf("  [%s%s] %d of %d mutants", strings.Repeat("#", full), strings.Repeat(".", width-full), done, total)
	if text == b.shown {
		return
	}
	b.shown = text
	fmt.Fprintf(b.out, "\r\x1b[2K%s", text)
}

// clear takes the bar away.
func (b *hollowBar) clear() {
	if b.shown != "" {
		fmt.Fprint(b.out, "\r\x1b[2K")
		b.shown = ""
	}
}
