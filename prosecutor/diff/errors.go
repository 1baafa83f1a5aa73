package diff

import (
	"fmt"
	"strconv"
)

// SyntaxError says where and why a text is not a git diff. The whole diff is then refused: a part that could not be
// read is never skipped.
type SyntaxError struct {
	Line int    // 1-based line of the diff text
	File string // path of the section, as far as it is known; empty outside of a section
	Msg  string
}

// Error is one line; the path and quoted text are escaped and shortened.
func (e *SyntaxError) Error() string {
	if e.File == "" {
		return fmt.Sprintf("reading diff: line %d: %s", e.Line, e.Msg)
	}
	return fmt.Sprintf("reading diff: line %d, file %s: %s", e.Line, excerpt(e.File), e.Msg)
}

// LimitError says that a diff is larger than the reader was told to accept.
type LimitError struct {
	Line  int    // 1-based line of the diff text; 0 when the whole text is over the limit
	What  string // "line" or "diff"
	Limit int    // in bytes
}

// Error is one line.
func (e *LimitError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("reading diff: %s is over the limit of %d bytes", e.What, e.Limit)
	}
	return fmt.Sprintf("reading diff: line %d: %s is over the limit of %d bytes", e.Line, e.What, e.Limit)
}

// excerptBytes is how much of the text an error repeats.
const excerptBytes = 80

// excerpt quotes text for an error: hostile bytes are escaped and long text is cut.
func excerpt(s string) string {
	if len(s) > excerptBytes {
		return strconv.QuoteToASCII(s[:excerptBytes]) + "..."
	}
	return strconv.QuoteToASCII(s)
}
