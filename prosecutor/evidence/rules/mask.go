package rules

import (
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// maskState is what a line starts in.
type maskState int

const (
	inCode maskState = iota
	inBlock
	inRaw      // Go raw string, JavaScript template
	inTriple1  // '''
	inTriple2  // """
	inJavaText // text block of Java, Kotlin, Scala, Swift
)

// mask fills text and code of the rows of the new side. It is a lexer for whole lines, not a parser: the state is
// carried through a hunk and starts as code at each one, since the lines before it are not in the diff. Where a hunk
// shows the end of a block comment that it did not see begin, the lines before it are taken to be comment.
func mask(l lang, rows []row) {
	state, hunk, start, opened := inCode, -1, 0, false
	for i := range rows {
		r := &rows[i]
		if r.hunk != hunk {
			state, hunk, start, opened = inCode, r.hunk, i, false
		}
		if r.Op == diff.Delete || len(r.Text) > MaxLine {
			continue
		}
		if state == inCode && hasBlockComments(l) {
			if !opened {
				if closing := strings.Index(r.Text, "*/"); closing >= 0 && !strings.Contains(r.Text[:closing], "/*") {
					for j := start; j < i; j++ {
						if rows[j].Op != diff.Delete {
							rows[j].text, rows[j].code = "", ""
						}
					}
					opened = true
					state = inBlock
				}
			}
			if strings.Contains(r.Text, "/*") {
				opened = true
			}
			// The middle of a block comment in the usual layout, whose begin is above the hunk.
			if state == inCode {
				if t := strings.TrimLeft(r.Text, " \t"); strings.HasPrefix(t, "* ") || t == "*" {
					r.text, r.code = "", ""
					continue
				}
			}
		}
		r.text, r.code, state = maskLine(l, r.Text, state)
	}
}

func hasBlockComments(l lang) bool {
	return of(golang, javascript, java, kotlin, csharp, rust, php, c, swift, scala).has(l)
}

func hasHashComments(l lang) bool {
	return of(python, ruby, shell, yaml, php, dockerfile, makefile).has(l)
}

// maskLine blanks the comments of one line (text), and also the content of its strings (code). Lengths stay.
func maskLine(l lang, s string, state maskState) (text, code string, next maskState) {
	if l == other {
		return s, s, inCode
	}
	if state == inCode && !strings.ContainsAny(s, "\"'`#/*") {
		return s, s, inCode
	}
	t, k := []byte(s), []byte(s)
	blankBoth := func(i, j int) {
		for ; i < j; i++ {
			t[i], k[i] = ' ', ' '
		}
	}
	blankCode := func(i, j int) {
		for ; i < j; i++ {
			k[i] = ' '
		}
	}
	block, hash := hasBlockComments(l), hasHashComments(l)
	i := 0
	for i < len(s) {
		switch state {
		case inBlock:
			end := strings.Index(s[i:], "*/")
			if end < 0 {
				blankBoth(i, len(s))
				return string(t), string(k), inBlock
			}
			blankBoth(i, i+end+2)
			i += end + 2
			state = inCode
			continue
		case inRaw:
			end := closeRaw(l, s[i:])
			if end < 0 {
				blankCode(i, len(s))
				return string(t), string(k), inRaw
			}
			blankCode(i, i+end)
			i += end + 1
			state = inCode
			continue
		case inTriple1, inTriple2, inJavaText:
			quote := `"""`
			if state == inTriple1 {
				quote = "'''"
			}
			end := strings.Index(s[i:], quote)
			if end < 0 {
				blankCode(i, len(s))
				return string(t), string(k), state
			}
			blankCode(i, i+end)
			i += end + 3
			state = inCode
			continue
		}
		ch := s[i]
		switch {
		case block && ch == '/' && strings.HasPrefix(s[i:], "/*"):
			state = inBlock
		case block && ch == '/' && strings.HasPrefix(s[i:], "//"):
			blankBoth(i, len(s))
			return string(t), string(k), inCode
		case hash && ch == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t' || l == python || l == php):
			blankBoth(i, len(s))
			return string(t), string(k), inCode
		case l == yaml || l == makefile || l == dockerfile:
			i++ // quotes need not pair in plain scalars and shell fragments
		case ch == '`' && (l == golang || l == javascript):
			state = inRaw
			i++
		case l == python && strings.HasPrefix(s[i:], "'''"):
			state = inTriple1
			i += 3
		case l == python && strings.HasPrefix(s[i:], `"""`):
			state = inTriple2
			i += 3
		case of(java, kotlin, scala, swift).has(l) && strings.HasPrefix(s[i:], `"""`):
			state = inJavaText
			i += 3
		case ch == '"' || (ch == '\'' && quotesWithApostrophe(l)):
			end := closeQuote(s, i)
			blankCode(i+1, end)
			i = end + 1
		case ch == '\'':
			// A character literal; otherwise a lifetime, a digit separator or an apostrophe.
			if end := closeQuote(s, i); end-i <= 12 && end < len(s) && (end == i+2 || strings.HasPrefix(s[i+1:], `\`)) {
				blankCode(i+1, end)
				i = end + 1
			} else {
				i++
			}
		default:
			i++
		}
	}
	if state == inCode || state == inBlock {
		return string(t), string(k), state
	}
	return string(t), string(k), state
}

func quotesWithApostrophe(l lang) bool { return of(python, javascript, ruby, php, shell).has(l) }

// closeQuote returns the index of the quote that closes the one at i, or the length of s.
func closeQuote(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			j++
		case s[i]:
			return j
		}
	}
	return len(s)
}

// closeRaw returns the index of the closing back quote, or -1.
func closeRaw(l lang, s string) int {
	for j := 0; j < len(s); j++ {
		switch s[j] {
		case '\\':
			if l == javascript {
				j++
			}
		case '`':
			return j
		}
	}
	return -1
}
