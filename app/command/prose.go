package command

import (
	"regexp"
	"sort"
	"strings"
)

// A command has to be text that GitHub shows as the writer's own. This is CommonMark as far as that needs: fenced code, code
// spans over lines, block quotes with the lines that lazily go on in them, HTML comments, and the HTML elements that show
// code or quotations. Indented code needs no rule, since a command has three spaces before it at most. Where a line cannot
// be told, it is no command.

var (
	// fence begins or ends fenced code, also behind the marks of list items.
	fence = regexp.MustCompile("^((?: *(?:[-+*]|[0-9]{1,9}[.)])[ \t]+)*[ \t]*)(`{3,}|~{3,})(.*)$")
	quote = regexp.MustCompile(`^ {0,3}>`)
	// element begins HTML in which text is code or somebody else's words.
	element = regexp.MustCompile(`(?i)<(pre|blockquote|script|style|textarea|template|math|svg|code|samp|kbd|tt)(?:[ \t/][^>]*)?>`)
)

// prose returns the lines of a comment that are text, with up to three spaces before them taken away.
func prose(body string) []string {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body), "\n")
	text := make([]bool, len(lines))
	var (
		open   string // the fence that is open
		indent int    // what may stand before the one that closes it, less three
		until  string // what ends the HTML that is open, in lower case
		quoted bool   // lines go on lazily in a quotation
	)
	for i, line := range lines {
		m := fence.FindStringSubmatch(line)
		switch {
		case open != "":
			closing := m != nil && m[2][0] == open[0] && len(m[2]) >= len(open) && strings.TrimSpace(m[3]) == "" &&
				strings.TrimSpace(m[1]) == "" && len(m[1]) <= indent+3
			if closing {
				open = ""
			}
		case until != "":
			if strings.TrimSpace(line) == "" && inline(until) {
				until = ""
			}
			until = scan(line, until)
		case strings.TrimSpace(line) == "":
			quoted = false
		case quote.MatchString(line):
			quoted = true
		case m != nil && (m[2][0] == '~' || !strings.Contains(m[3], "`")):
			open, indent, quoted = m[2], len(m[1]), false
		default:
			text[i] = !quoted
			until = scan(line, "")
		}
	}
	outsideSpans(lines, text)
	var out []string
	for i, line := range lines {
		if text[i] {
			out = append(out, line[min(3, len(line)-len(strings.TrimLeft(line, " "))):])
		}
	}
	return out
}

// inline reports whether the open HTML ends with its paragraph.
func inline(until string) bool {
	switch until {
	case "</code", "</samp", "</kbd", "</tt":
		return true
	default:
		return false
	}
}

// scan goes over a line of HTML and returns what ends what is open behind it; empty when nothing is.
func scan(line, until string) string {
	if until == "" {
		line = blankSpans(line)
	}
	for {
		if until != "" {
			i := strings.Index(strings.ToLower(line), until)
			if i < 0 {
				return until
			}
			line, until = line[i+len(until):], ""
			continue
		}
		comment, m := strings.Index(line, "<!--"), element.FindStringSubmatchIndex(line)
		switch {
		case comment >= 0 && (m == nil || comment < m[0]):
			line, until = line[comment+len("<!--"):], "-->"
		case m != nil:
			line, until = line[m[1]:], "</"+strings.ToLower(line[m[2]:m[3]])
		default:
			return ""
		}
	}
}

// blankSpans takes the code spans out of one line: a tag in them is none.
func blankSpans(line string) string {
	out := []byte(line)
	for _, s := range spans(line) {
		for i := s[0]; i < s[1]; i++ {
			out[i] = ' '
		}
	}
	return string(out)
}

// spans returns where code spans begin and end: a run of backticks, and the next run as long as it. A run without such a
// one is text. A backslash keeps a backtick from beginning a span, and not from ending one.
func spans(text string) [][2]int {
	starts := map[int][]int{} // of the runs, by their length
	for i := 0; i < len(text); {
		n := ticks(text[i:])
		if n > 0 {
			starts[n] = append(starts[n], i)
		}
		i += max(1, n)
	}
	var out [][2]int
	for i := 0; i < len(text); {
		n := ticks(text[i:])
		switch {
		case text[i] == '\\':
			i += 2
		case n == 0:
			i++
		default:
			at := starts[n]
			next := sort.SearchInts(at, i+n)
			starts[n] = at[min(next, len(at)):]
			if next == len(at) {
				i += n
				continue
			}
			out = append(out, [2]int{i, at[next] + n})
			i = at[next] + n
		}
	}
	return out
}

// ticks is the length of the run of backticks that a text begins with.
func ticks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

// outsideSpans takes lines from the text that begin inside of a code span. A span lies within one paragraph: lines of text
// with no other line between them.
func outsideSpans(lines []string, text []bool) {
	for i := 0; i < len(lines); {
		if !text[i] {
			i++
			continue
		}
		j, joined, starts := i, strings.Builder{}, []int(nil)
		for j < len(lines) && text[j] {
			starts = append(starts, joined.Len())
			joined.WriteString(lines[j] + "\n")
			j++
		}
		within, k := spans(joined.String()), 0
		for n, start := range starts {
			for k < len(within) && within[k][1] <= start {
				k++
			}
			if k < len(within) && within[k][0] < start {
				text[i+n] = false
			}
		}
		i = j
	}
}
