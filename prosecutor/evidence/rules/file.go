package rules

import (
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// file is one changed file, with what the rules ask about it. Rows and masks are computed when first asked for.
type file struct {
	*diff.File
	index   int
	path    string
	lang    lang
	test    bool // test code, or what only tests read
	fixture bool // data of tests, examples, snapshots
	doc     bool // prose
	rowsOK  bool
	maskOK  bool
	all     []row
	grams   *grams
}

// row is one line of a hunk.
type row struct {
	diff.Line
	hunk int
	test bool   // test code inside a source file, as Rust has it
	text string // comments blanked
	code string // comments and the content of strings blanked
}

// at orders rows; both sides share one scale, which is good enough for sorting.
func (r *row) at() int {
	if r == nil {
		return 0
	}
	return max(r.Old, r.New)
}

func (r *row) side() (prosecutor.Side, int) {
	if r.Op == diff.Delete {
		return prosecutor.Left, r.Old
	}
	return prosecutor.Right, r.New
}

func newFile(df *diff.File, index int) *file {
	path := df.Path()
	f := &file{File: df, index: index, path: path, lang: langOf(path)}
	f.test, f.fixture, f.doc = IsTest(path), isFixture(path), isDoc(path)
	return f
}

// within reports whether a rule has anything to look for in the file.
func (f *file) within(r *Rule) bool {
	if r.langs != 0 && !r.langs.has(f.lang) {
		return false
	}
	if r.needles == nil {
		return true
	}
	return f.containsAny(r.needles)
}

func containsAny(s string, needles []string) bool {
	for _, n := range needles {
		if strings.Contains(s, n) {
			return true
		}
	}
	return false
}

// rows returns all lines of the file, in order.
func (f *file) rows() []row {
	if f.rowsOK {
		return f.all
	}
	f.rowsOK = true
	n := 0
	for i := range f.Hunks {
		n += f.Hunks[i].OldLines + f.Hunks[i].NewLines
	}
	f.all = make([]row, 0, min(n, 1<<16))
	for i := range f.Hunks {
		// A test module runs to the end of its file, by convention.
		section := f.Hunks[i].Section
		test := f.lang == rust && (strings.HasPrefix(section, "mod test") || strings.Contains(section, "fn test_"))
		for l := range f.Hunks[i].Lines() {
			test = test || f.lang == rust && l.Op != diff.Delete && strings.TrimSpace(l.Text) == "#[cfg(test)]"
			f.all = append(f.all, row{Line: l, hunk: i, test: test, text: l.Text, code: l.Text})
		}
	}
	return f.all
}

// masked returns all lines with text and code computed for the new side. Deleted lines keep their text as it is.
func (f *file) masked() []row {
	rows := f.rows()
	if f.maskOK {
		return rows
	}
	f.maskOK = true
	mask(f.lang, rows)
	return rows
}

// added calls fn for each added line that is not machine-made and holds one of the rule's needles. Test code inside a
// source file is shown only to rules about tests.
func (s *scan) added(f *file, fn func(i int, r *row)) {
	needles := f.present(s.rule.needles)
	rows := f.masked()
	for i := range rows {
		r := &rows[i]
		if s.ended(i) {
			return
		}
		if r.Op != diff.Add || len(r.Text) > MaxLine || r.test && s.rule.Charge != prosecutor.ChargeTests {
			continue
		}
		if s.rule.needles != nil && !containsAny(r.Text, needles) {
			continue
		}
		fn(i, r)
	}
}

// ended reports whether the caller has given up. It looks once in many rows.
func (s *scan) ended(i int) bool { return i&1023 == 1023 && s.ctx.Err() != nil }

// nextNew returns the next row of the new side behind i in the same hunk, or nil.
func nextNew(rows []row, i int) *row {
	for j := i + 1; j < len(rows) && rows[j].hunk == rows[i].hunk; j++ {
		if rows[j].Op != diff.Delete {
			return &rows[j]
		}
	}
	return nil
}

// prevNew returns the last row of the new side before i in the same hunk, with its index, or nil.
func prevNew(rows []row, i int) (*row, int) {
	for j := i - 1; j >= 0 && rows[j].hunk == rows[i].hunk; j-- {
		if rows[j].Op != diff.Delete {
			return &rows[j], j
		}
	}
	return nil, -1
}

// indent is the width of the white space in front of a line. A tab counts four.
func indent(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			n++
		case '\t':
			n += 4
		default:
			return n
		}
	}
	return n
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
