// Package evidence turns the raw facts of a source of deterministic evidence into one of the five states of semantics 5,
// with its findings. Its functions are pure: whoever collects the facts (from GitHub, or from a local repository) does
// the I/O, decides nothing, and leaves out nothing that failed.
//
// A state says what the source found; whether it counts as red is the gate's decision (convergence.CountsAsRed).
package evidence

import (
	"strconv"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// NotApplicable is the evidence of a source that has nothing to say about the case, such as code scanning without GitHub.
// The detail says why.
func NotApplicable(source prosecutor.EvidenceSource, why string) prosecutor.Evidence {
	return prosecutor.Evidence{Source: source, State: prosecutor.NotApplicable, Detail: why}
}

// Unavailable is the evidence of a source that should have answered and did not. The detail says why.
func Unavailable(source prosecutor.EvidenceSource, why string) prosecutor.Evidence {
	return prosecutor.Evidence{Source: source, State: prosecutor.Unavailable, Detail: why}
}

// mostSummary bounds what is taken over of a text that somebody else's tool wrote, in code points.
const mostSummary = 1000

// brief shortens a foreign text on a code point.
func brief(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "\uFFFD")
	n := 0
	for i := range s {
		if n++; n > mostSummary {
			return s[:i] + "…"
		}
	}
	return s
}

// list joins names for a sentence: the first few, and how many more there are.
func list(names []string) string {
	const most = 5
	quoted := make([]string, 0, most)
	for _, n := range names[:min(most, len(names))] {
		quoted = append(quoted, strconv.Quote(n))
	}
	s := strings.Join(quoted, ", ")
	if more := len(names) - most; more > 0 {
		s += " and " + strconv.Itoa(more) + " more"
	}
	return s
}

// join puts the parts of a text that are not empty on lines of their own.
func join(parts ...string) string {
	var lines []string
	for _, p := range parts {
		if p != "" {
			lines = append(lines, p)
		}
	}
	return strings.Join(lines, "\n")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
