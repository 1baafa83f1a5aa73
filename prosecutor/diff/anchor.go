package diff

import (
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Locate looks for the quoted code of an anchor in the diff (semantics 2, "Anchors").
//
// It asks, in this order: do the quoted lines stand at the stated line of the stated file and side; do they stand once
// in that file; do they stand once in the diff. The last two compare exact text before text with white space folded,
// and the stated side before the other one. The first answer with a match decides: one match is the place, several are
// ambiguous and get no line. Quotes match whole lines, inside one hunk and on one side. No line is ever guessed.
//
// Without a stated side both sides count together, and a place on both is one place, on the new side.
func (d *Diff) Locate(a prosecutor.Anchor) prosecutor.Place {
	if a.Path == "" {
		return prosecutor.Place{Status: prosecutor.NoFile}
	}
	q, ok := newQuote(a.Quote)
	if !ok {
		return prosecutor.Place{Status: prosecutor.Unanchored}
	}
	files := d.stated(a.Path)
	if m := q.atLine(files, a.Side, a.Line); m != nil {
		return m.place("line")
	}
	for _, stage := range []struct {
		name  string
		files []*File
	}{{"file", files}, {"diff", d.Files}} {
		if found := q.search(stage.files, a.Side); len(found) == 1 {
			return found[0].place(stage.name)
		} else if len(found) > 1 {
			return ambiguous(found)
		}
	}
	return prosecutor.Place{Status: prosecutor.Unanchored}
}

// stated returns the sections of the file an anchor names: the two of a type change, and the renamed file when it is
// named as it was before and nothing else has that name.
func (d *Diff) stated(path string) []*File {
	var files, renamed []*File
	for _, f := range d.Files {
		switch {
		case f.Path() == path:
			files = append(files, f)
		case f.Status == Renamed && f.OldPath == path:
			renamed = append(renamed, f)
		}
	}
	if files == nil {
		return renamed
	}
	return files
}

// match is a run of rows that carries the quote on one side of one hunk.
type match struct {
	file        *File
	hunk        int
	first, last int // rows of the hunk
	side        prosecutor.Side
	start, end  int // line numbers on the side
}

func (m *match) place(by string) prosecutor.Place {
	return prosecutor.Place{
		Status: prosecutor.Anchored, Path: m.file.Path(), Side: m.side,
		StartLine: m.start, EndLine: m.end, MatchedBy: by,
	}
}

// ambiguous names the file when all matches are in one.
func ambiguous(found []match) prosecutor.Place {
	p := prosecutor.Place{Status: prosecutor.Ambiguous, Path: found[0].file.Path()}
	for _, m := range found {
		if m.file.Path() != p.Path {
			p.Path = ""
		}
	}
	return p
}

// quote is a quoted piece of code, in lines.
type quote struct {
	exact  []string
	folded []string // without the blank lines at both ends
	lead   int      // blank lines at the start that folded leaves out
}

// newQuote splits a quote into lines. It fails for a blank quote.
func newQuote(text string) (quote, bool) {
	if strings.TrimSpace(text) == "" {
		return quote{}, false
	}
	var q quote
	q.exact = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	q.folded = make([]string, len(q.exact))
	for i, line := range q.exact {
		q.folded[i] = fold(line)
	}
	for len(q.folded) > 0 && q.folded[0] == "" {
		q.folded = q.folded[1:]
		q.lead++
	}
	for len(q.folded) > 0 && q.folded[len(q.folded)-1] == "" {
		q.folded = q.folded[:len(q.folded)-1]
	}
	return q, len(q.folded) > 0
}

// levels are the two ways to compare, better first.
func (q *quote) levels() [2]level {
	return [2]level{
		{lines: q.exact, equal: func(line, want string) bool { return line == want }},
		{lines: q.folded, lead: q.lead, equal: equalFolded},
	}
}

type level struct {
	lines []string
	lead  int
	equal func(line, want string) bool
}

// sides are the sides to look at, in order.
func sides(stated prosecutor.Side) []prosecutor.Side {
	if stated == prosecutor.Left {
		return []prosecutor.Side{prosecutor.Left, prosecutor.Right}
	}
	return []prosecutor.Side{prosecutor.Right, prosecutor.Left}
}

// atLine looks for the quote at the stated line. A number belongs to its side, so the other side is not tried; when no
// side is stated, the number must mean one place only.
func (q *quote) atLine(files []*File, side prosecutor.Side, line int) *match {
	if line < 1 {
		return nil
	}
	for _, l := range q.levels() {
		var found []match
		for _, s := range sides(side) {
			if side != "" && s != side {
				continue
			}
			for _, f := range files {
				h, ok := f.Commentable(s, line+l.lead)
				if !ok {
					continue
				}
				for _, m := range l.inHunk(f, h, s) {
					if m.start == line+l.lead {
						found = add(found, m)
					}
				}
			}
		}
		if len(found) == 1 {
			return &found[0]
		}
	}
	return nil
}

// search returns the matches of the best way to compare that has any.
func (q *quote) search(files []*File, side prosecutor.Side) []match {
	for _, l := range q.levels() {
		var found []match
		for _, s := range sides(side) {
			for _, f := range files {
				for h := range f.Hunks {
					for _, m := range l.inHunk(f, h, s) {
						found = add(found, m)
					}
				}
			}
			if side != "" && len(found) > 0 {
				return found
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// add adds a match unless the same rows are there already, from the other side.
func add(found []match, m match) []match {
	for _, f := range found {
		if f.file == m.file && f.hunk == m.hunk && f.first == m.first && f.last == m.last {
			return found
		}
	}
	return append(found, m)
}

// inHunk returns all places of one side of a hunk where the lines stand.
func (l level) inHunk(f *File, hunk int, side prosecutor.Side) []match {
	type row struct{ index, number int }
	var rows []row
	var texts []string
	index := -1
	for line := range f.Hunks[hunk].Lines() {
		index++
		n := line.New
		if side == prosecutor.Left {
			n = line.Old
		}
		if n == 0 {
			continue
		}
		rows = append(rows, row{index, n})
		texts = append(texts, line.Text)
	}
	var found []match
next:
	for i := 0; i+len(l.lines) <= len(texts); i++ {
		for j, want := range l.lines {
			if !l.equal(texts[i+j], want) {
				continue next
			}
		}
		end := i + len(l.lines) - 1
		found = append(found, match{
			file: f, hunk: hunk, side: side,
			first: rows[i].index, last: rows[end].index, start: rows[i].number, end: rows[end].number,
		})
	}
	return found
}

// fold drops carriage returns and white space at both ends, and makes one space of every other run of blanks. Only
// ASCII white space counts: other spaces are content.
func fold(line string) string {
	var b strings.Builder
	space := false
	for i := range len(line) {
		switch c := line[i]; {
		case c == '\r':
		case blank(c):
			space = b.Len() > 0
		default:
			if space {
				b.WriteByte(' ')
				space = false
			}
			b.WriteByte(c)
		}
	}
	return b.String()
}

// equalFolded reports whether line, folded, is want.
func equalFolded(line, want string) bool {
	n, space := 0, false
	for i := range len(line) {
		c := line[i]
		if c == '\r' {
			continue
		}
		if blank(c) {
			space = n > 0
			continue
		}
		if space {
			if n == len(want) || want[n] != ' ' {
				return false
			}
			n++
			space = false
		}
		if n == len(want) || want[n] != c {
			return false
		}
		n++
	}
	return n == len(want)
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\v' || c == '\f' }
