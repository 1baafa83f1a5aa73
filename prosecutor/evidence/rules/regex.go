package rules

import (
	"regexp"
	"strings"
	"sync"
)

// lazy compiles a pattern when it is first used: a run of the program that checks nothing pays nothing for it.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// around calls fn with windows of at most MaxLine bytes of s that hold the needle, until fn returns false. Every
// occurrence lies in some window, with up to a quarter of the window before it. At most maxWindows windows are visited.
func around(s, needle string, fn func(window string) bool) {
	if len(s) <= MaxLine {
		if strings.Contains(s, needle) {
			fn(s)
		}
		return
	}
	const maxWindows = 64
	from := 0
	for range maxWindows {
		i := strings.Index(s[from:], needle)
		if i < 0 {
			return
		}
		i += from
		start := max(from, i-MaxLine/4)
		end := min(len(s), i+3*MaxLine/4)
		if !fn(s[start:end]) || end == len(s) {
			return
		}
		// The next window overlaps, so that what begins near the end of this one is seen whole.
		from = max(i+len(needle), end-MaxLine/4)
	}
}
