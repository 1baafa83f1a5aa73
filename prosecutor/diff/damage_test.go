package diff_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/test/corpustest"
)

// damageBytes is the size up to which diffs are damaged at every place.
const damageBytes = 6000

// damaged yields the text cut off before every line and in the middle of every line, and the text without each of its
// lines. It tells where the text goes on behind the damage.
func damaged(text string, yield func(kind, text, next string)) {
	lines := splitLines(text)
	at := 0
	for i, line := range lines {
		if at > 0 {
			yield("cut off", text[:at], line)
		}
		if len(line) > 1 {
			yield("cut off", text[:at+len(line)/2], line[len(line)/2:])
		}
		yield("line lost", text[:at]+text[at+len(line):], strings.Join(lines[i+1:min(i+2, len(lines))], ""))
		at += len(line)
	}
}

// TestCorpusDamage cuts diffs off at every line and in every line. A cut is noticed unless what is left is a whole diff of
// its own: it ends before a file, a hunk or a mark of the end of a file, or the content that changed beside a mode or
// name was not yet announced.
func TestCorpusDamage(t *testing.T) {
	t.Parallel()
	whole := []string{"diff --git ", "@@ -", `\ No newline`, "index ", "similarity index "}
	for _, e := range corpustest.Load(t) {
		if e.Bytes > damageBytes {
			continue
		}
		t.Run(e.ID, func(t *testing.T) {
			t.Parallel()
			damaged(corpustest.Text(t, e), func(kind, text, next string) {
				_, err := diff.ParseString(text)
				var syntax *diff.SyntaxError
				if err != nil && !errors.As(err, &syntax) {
					t.Fatalf("%s: %v is not a syntax error", kind, err)
				}
				if err != nil && (syntax.Line < 1 || syntax.Line > strings.Count(text, "\n")+1) {
					t.Errorf("%s: line %d is not in the text", kind, syntax.Line)
				}
				begins := func(start string) bool { return strings.HasPrefix(next, start) }
				if kind == "cut off" && err == nil && !slices.ContainsFunc(whole, begins) {
					t.Errorf("cut off before %q, and not noticed:\n%s", next, text)
				}
			})
		})
	}
}
