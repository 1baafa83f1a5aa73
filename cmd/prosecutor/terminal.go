package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminal tells what a stream can show.
type terminal struct {
	isTerminal bool
	color      bool
	width      int // columns; 0 when it is no terminal
}

// terminalOf looks at a stream. Colours are used on a terminal only, and not when NO_COLOR is set to anything (no-color.org)
// or TERM is "dumb".
func terminalOf(w io.Writer, getenv func(string) string) terminal {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return terminal{}
	}
	t := terminal{isTerminal: true, color: getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
	if cols, _, err := term.GetSize(int(f.Fd())); err == nil {
		t.width = cols
	}
	return t
}
