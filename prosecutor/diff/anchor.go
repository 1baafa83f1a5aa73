package diff

import (
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Locate looks for the quoted code of an anchor in the diff (semantics 2, "Anchors").
//
// It asks, in this order: do the quoted lines stand at the stated line of the stated file and side; do they stand once
// in that file; do they stand once in the diff. The last two take the best of these matches that there are: exact text
// on the stated side, exact text on the other side, text with white space folded on the stated side, on the other side.
// One match is the place, several are ambiguous and get no line. Quotes match whole lines, inside one hunk and on one
// side. No line is ever guessed.
//
// Folding drops carriage returns and white space at both ends of a line, makes one space of every other run of ASCII
// white space, and ignores blank lines at both ends of the quote. Without a stated side both sides count alike, and a
// place that is on both is one place, on the new side. A renamed file may be named as it was before. An ambiguous place
// names the file when all matches are in one.
func (d *Diff) Locate(a prosecutor.Anchor) prosecutor.Place {
	if a.Path == "" {
		return prosecutor.Place{Status: prosecutor.NoFile}
	}
	q, ok := newQuote(a.Quote, a.Side)
	if !ok {
		return prosecutor.Place{Status: prosecutor.Unanchored}
	}
	files := d.named(a.Path)
	if m, ok := q.atLine(files, a.Line); ok {
		return m.place("line")
	}
	if t := q.search(files); t.count > 0 {
		return t.place("file")
	}
	if t := q.search(d.Files); t.count > 0 {
		return t.place("diff")
	}
	return prosecutor.Place{Status: prosecutor.Unanchored}
}

// named returns the sections of the file an anchor names: both of a type change; or a renamed file by its old name,
// where no file has that name now.
func (d *Diff) named(path string) []*File {
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

// quote is a quoted piece of code, prepared for looking it up.
type quote struct {
	patterns [2]pattern         // the ways to compare, better first
	sides    [2]prosecutor.Side // in the order to look at them
	stated   bool               // the first side is what the accuser said
	rows     []row              // buffer
}

// newQuote fails for a blank quote.
func newQuote(text string, side prosecutor.Side) (*quote, bool) {
	if strings.TrimSpace(text) == "" {
		return nil, false
	}
	exact := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	folded := make([]string, len(exact))
	for i, line := range exact {
		folded[i] = fold(line)
	}
	// The quote is not blank, so that one of its lines is not.
	lead, end := 0, len(folded)
	for folded[lead] == "" {
		lead++
	}
	for folded[end-1] == "" {
		end--
	}
	q := &quote{
		patterns: [2]pattern{
			{lines: exact, equal: func(line, want string) bool { return line == want }},
			{lines: folded[lead:end], lead: lead, equal: equalFolded},
		},
		sides:  [2]prosecutor.Side{prosecutor.Right, prosecutor.Left},
		stated: side == prosecutor.Left || side == prosecutor.Right,
	}
	if side == prosecutor.Left {
		q.sides = [2]prosecutor.Side{prosecutor.Left, prosecutor.Right}
	}
	for i := range q.patterns {
		q.patterns[i].prepare()
	}
	return q, true
}

// match is a run of lines that carries the quote on one side of a hunk.
type match struct {
	file       *File
	side       prosecutor.Side
	start, end int
}

func (m match) place(by string) prosecutor.Place {
	return prosecutor.Place{
		Status: prosecutor.Anchored, Path: m.file.Path(), Side: m.side,
		StartLine: m.start, EndLine: m.end, MatchedBy: by,
	}
}

// tally counts matches of one kind.
type tally struct {
	match
	count   int
	oneFile bool
}

func (t *tally) add(o tally) {
	if t.count == 0 {
		*t = o
		return
	}
	if o.count > 0 {
		t.oneFile = t.oneFile && o.oneFile && t.file.Path() == o.file.Path()
		t.count += o.count
	}
}

func (t *tally) place(by string) prosecutor.Place {
	if t.count == 1 {
		return t.match.place(by)
	}
	p := prosecutor.Place{Status: prosecutor.Ambiguous}
	if t.oneFile {
		p.Path = t.file.Path()
	}
	return p
}

// row is one line of a hunk on one side.
type row struct {
	text   string
	number int
	// both counts this row and those right above it that are on both sides of the diff.
	both int
}

// load reads the rows of a hunk on a side.
func (q *quote) load(h *Hunk, side prosecutor.Side) []row {
	q.rows = q.rows[:0]
	var both int
	for l := range h.Lines() {
		if l.Op == Context {
			both++
		} else {
			both = 0
		}
		n := l.New
		if side == prosecutor.Left {
			n = l.Old
		}
		if n > 0 {
			q.rows = append(q.rows, row{text: l.Text, number: n, both: both})
		}
	}
	return q.rows
}

// atLine looks for the quote at the stated line. A number belongs to its side, so the other side is not tried. Without a
// stated side the number must mean one place.
func (q *quote) atLine(files []*File, line int) (m match, ok bool) {
	if line < 1 {
		return match{}, false
	}
	sides := q.sides[:]
	if q.stated {
		sides = sides[:1]
	}
	for i := range q.patterns {
		p := &q.patterns[i]
		first, count := line+p.lead, 0
		for _, side := range sides {
			for _, f := range files {
				h, end, ok := q.startsAt(p, f, side, first)
				// The rows that stood there on the first side are not a second place.
				if ok && (count == 0 || end.both < len(p.lines) || !h.sameRow(first)) {
					m = match{f, side, first, end.number}
					count++
				}
			}
		}
		if count > 0 {
			return m, count == 1
		}
	}
	return match{}, false
}

// startsAt reports whether a pattern starts at a line of a file, and returns its hunk and its last row.
func (q *quote) startsAt(p *pattern, f *File, side prosecutor.Side, line int) (h *Hunk, end row, ok bool) {
	hunk, ok := f.Commentable(side, line)
	if !ok {
		return nil, row{}, false
	}
	h = &f.Hunks[hunk]
	rows := q.load(h, side)
	rows = rows[line-rows[0].number:]
	if !p.starts(rows) {
		return nil, row{}, false
	}
	return h, rows[len(p.lines)-1], true
}

// sameRow reports whether a number means the same row on both sides of the hunk.
func (h *Hunk) sameRow(number int) bool {
	for l := range h.Lines() {
		if l.Old == number && l.New == number {
			return true
		}
	}
	return false
}

// search counts the matches in files and returns those of the best kind that has any.
func (q *quote) search(files []*File) tally {
	var found [2][2]tally // by pattern and side
	for _, f := range files {
		for h := range f.Hunks {
			for s, side := range q.sides {
				rows := q.load(&f.Hunks[h], side)
				for i := range q.patterns {
					p := &q.patterns[i]
					p.find(rows, func(start, end int) {
						if s == 1 && rows[end].both >= len(p.lines) {
							return // the same rows as on the first side
						}
						found[i][s].add(tally{match: match{f, side, rows[start].number, rows[end].number}, count: 1, oneFile: true})
					})
				}
			}
		}
	}
	for i := range found {
		if !q.stated {
			found[i][0].add(found[i][1])
		}
		for _, t := range found[i] {
			if t.count > 0 {
				return t
			}
		}
	}
	return tally{}
}

// pattern is what to look for, and how.
type pattern struct {
	lines []string
	lead  int // lines of the quote before these
	equal func(line, want string) bool
	// back[i] is how many lines at the start of the pattern also stand right before line i+1 of it (Knuth, Morris and
	// Pratt). It keeps the search linear for quotes and diffs of ever the same line.
	back []int
}

func (p *pattern) prepare() {
	p.back = make([]int, len(p.lines))
	n := 0
	for i := 1; i < len(p.lines); i++ {
		for n > 0 && p.lines[i] != p.lines[n] {
			n = p.back[n-1]
		}
		if p.lines[i] == p.lines[n] {
			n++
		}
		p.back[i] = n
	}
}

// find calls yield with the first and last index of every run of rows that is the pattern. Runs may overlap.
func (p *pattern) find(rows []row, yield func(start, end int)) {
	n := 0
	for i := range rows {
		for n > 0 && (n == len(p.lines) || !p.equal(rows[i].text, p.lines[n])) {
			n = p.back[n-1]
		}
		if p.equal(rows[i].text, p.lines[n]) {
			n++
		}
		if n == len(p.lines) {
			yield(i-n+1, i)
		}
	}
}

// starts reports whether rows start with the pattern.
func (p *pattern) starts(rows []row) bool {
	if len(rows) < len(p.lines) {
		return false
	}
	for i, want := range p.lines {
		if !p.equal(rows[i].text, want) {
			return false
		}
	}
	return true
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

// equalFolded reports whether fold(line) is want, without making it.
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
