package publish

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// GitHub's limits. Some of its messages count characters and some bytes, so bytes are counted here: there are never fewer
// of them.
const (
	maxOutput  = 65_535 // summary and text of a check run (OpenAPI, checks/create)
	maxBody    = 65_536 // bodies of comments, reviews and review comments
	maxTitle   = 255
	maxMessage = 64 << 10 // message of an annotation
)

// joiner stands behind a sign that would make a mention or a reference of the text after it. GitHub looks for those in the
// rendered text, so a backslash does not keep it from them.
const joiner = "\u200d"

var ghReference = regexp.MustCompile(`(?i)\bgh\\-`)

// prose is one line of hostile text as Markdown: nothing in it is markup, HTML, a link, a mention or a reference.
func prose(s string, limit int) string {
	s = report.MarkdownText(report.OneLine(s, limit))
	s = strings.ReplaceAll(s, `\#`, `\#`+joiner)
	s = strings.ReplaceAll(s, `\: `, ": ") // no link and no emoji has a space there
	s = strings.ReplaceAll(s, "www.", `www\.`)
	return ghReference.ReplaceAllStringFunc(s, func(m string) string { return m + joiner })
}

// paragraphs is hostile text of several lines, each a paragraph of its own.
func paragraphs(s string, limit int) string {
	var b strings.Builder
	for _, line := range strings.Split(clip(s, 4*limit), "\n") {
		if line = prose(line, limit); line != "" {
			b.WriteString(line + "\n\n")
		}
	}
	return b.String()
}

// code is a code span around one line of hostile text. cell says that it stands in a table, where a bar ends the cell
// even inside of code.
func code(s string, limit int, cell bool) string {
	s = report.OneLine(s, limit)
	if s == "" {
		return ""
	}
	if cell && strings.Contains(s, "|") {
		if strings.Contains(s, `\`) {
			// A bar and a backslash in one cell of code get in each other's way, and our prose is stricter than the report's.
			return "<code>" + prose(s, limit) + "</code>"
		}
		return report.MarkdownCell(s)
	}
	ticks := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// excerpt is hostile code in a fence that it cannot close: at most 12 lines of 240 characters.
func excerpt(quote string) string { return fenced(quote, 12) }

// fenced is excerpt with so many lines.
func fenced(quote string, lines int) string {
	const width = 240
	all := strings.Split(strings.TrimSuffix(clip(quote, 64<<10), "\n"), "\n")
	more := ""
	if len(all) > lines {
		more = fmt.Sprintf("\n… and %s", count(len(all)-lines, "more line"))
		all = all[:lines]
	}
	for i, l := range all {
		l = report.Printable(clip(strings.TrimSuffix(l, "\r"), 4*width))
		if utf8.RuneCountInString(l) > width {
			l = string([]rune(l)[:width-1]) + "…"
		}
		all[i] = l
	}
	return report.MarkdownFence(strings.Join(all, "\n") + more)
}

func longestRun(s string) int {
	longest, run := 0, 0
	for i := 0; i < len(s); i++ {
		if s[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}

// clip cuts a text at so many bytes, before a character that does not fit.
func clip(s string, bytes int) string {
	if len(s) <= bytes {
		return s
	}
	bytes = max(bytes, 0)
	for bytes > 0 && !utf8.RuneStart(s[bytes]) {
		bytes--
	}
	return s[:bytes]
}

var fenceLine = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})")

// Cut shortens Markdown of ours to so many bytes. It cuts before a whole line, closes what is open there (a code fence,
// sections that fold), and says that it did, with the note. Text that fits is returned as it is.
func Cut(s string, limit int, note string) string {
	if len(s) <= limit {
		return s
	}
	var fence string
	details := 0
	closing := func() string {
		end := ""
		if fence != "" {
			end = fence + "\n"
		}
		return end + strings.Repeat("\n</details>\n", details) + "\n_" + note + "_\n"
	}
	var b strings.Builder
	for len(s) > 0 {
		line := s
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			line = s[:i+1]
		}
		wasFence, wasDetails := fence, details
		if m := fenceLine.FindStringSubmatch(line); m != nil {
			switch {
			case fence == "":
				fence = m[1]
			case strings.HasPrefix(m[1], fence) && strings.TrimSpace(line) == m[1]:
				fence = ""
			}
		} else if fence == "" {
			// Only lines of ours begin with a tag; hostile text has it in code or escaped.
			switch {
			case strings.HasPrefix(line, "<details>"):
				details++
			case strings.TrimSpace(line) == "</details>" && details > 0:
				details--
			}
		}
		if b.Len()+len(line)+len(closing()) > limit {
			fence, details = wasFence, wasDetails
			break
		}
		b.WriteString(line)
		s = s[len(line):]
	}
	if out := b.String() + closing(); len(out) <= limit {
		return out
	}
	return clip(note, limit)
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func words(s string) string { return strings.ReplaceAll(s, "_", " ") }

func short(sha string) string {
	if len(sha) > 10 {
		return sha[:10]
	}
	return sha
}
