package wire

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// credential matches what looks like a key or a token, whoever it belongs to: a provider may echo a rejected key in
// part, and a command may print its own. Compiled on first use, since most runs have no error to show.
var credential = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i:\bbearer\s+)[^\s"',;]{6,}` +
		`|\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|ghs|ghu|ghr|glpat|github_pat)[-_][A-Za-z0-9*_.-]{6,}` +
		`|\b(?:AIza|AKIA|ya29\.)[A-Za-z0-9*_.-]{8,}`)
})

// ansi matches terminal escape sequences.
var ansi = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])`)
})

// hidden stands where a credential stood.
const hidden = "***"

// Clean makes a text from outside fit for an error message: the secrets and whatever looks like a credential are
// hidden, terminal escapes, control and invisible formatting characters and invalid UTF-8 are dropped, white space is
// folded so that it stays on one line, and of what is longer than limit code points only the start is kept. Secrets
// shorter than four bytes are not looked for: they would hide half of every text.
func Clean(text string, limit int, secrets ...string) string {
	for _, s := range secrets {
		if len(s) >= 4 {
			text = strings.ReplaceAll(text, s, hidden)
		}
	}
	text = ansi().ReplaceAllString(text, "")
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		default:
			return r
		}
	}, text)
	// Again: an escape or an invisible character in the middle of a secret hid it from the first look.
	for _, s := range secrets {
		if len(s) >= 4 {
			text = strings.ReplaceAll(text, s, hidden)
		}
	}
	text = credential().ReplaceAllString(text, hidden)
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit]) + "..."
}
