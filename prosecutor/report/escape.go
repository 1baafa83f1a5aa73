package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShownLine is how many characters of one line a person is shown.
const maxShownLine = 240

// Printable makes hostile text safe for a terminal: control characters, bidirectional and other invisible format
// characters and invalid UTF-8 become visible escapes. Line feeds stay, tabs become four spaces.
func Printable(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteByte('\n')
		case r == '\t':
			b.WriteString("    ")
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u{%04x}`, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// plain reports whether s is printable ASCII and line feeds only, which is nearly always.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != '\n' && (c < 0x20 || c > 0x7e) {
			return false
		}
	}
	return true
}

// hidden reports whether a character shows nothing, or reorders what is shown.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) || r == 0xfffe || r == 0xffff ||
		(r >= 0xfe00 && r <= 0xfe0f) || (r >= 0xe0000 && r <= 0xe0fff)
}

// OneLine is Printable on a single line, cut at limit characters (0: maxShownLine).
func OneLine(s string, limit int) string {
	if limit <= 0 {
		limit = maxShownLine
	}
	// A line of megabytes is cut before it is escaped; each character needs at most four bytes.
	if len(s) > limit*4 {
		s = strings.ToValidUTF8(s[:limit*4], "?") + "…"
	}
	s = strings.Join(strings.Fields(strings.ReplaceAll(Printable(s), "\n", " ")), " ")
	return cut(s, limit)
}

// cut shortens s to limit characters and marks the cut.
func cut(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit-1 {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
