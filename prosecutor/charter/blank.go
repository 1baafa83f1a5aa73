package charter

import "unicode"

// Blank reports whether a text shows nothing to a reader: it has no letter, number, punctuation or symbol. White space,
// control and format characters such as a zero-width space are no words.
func Blank(s string) bool {
	for _, r := range s {
		if unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) {
			return false
		}
	}
	return true
}
