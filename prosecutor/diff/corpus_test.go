package diff_test

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/test/corpustest"
)

// TestCorpus compares what the parser says of every diff of the corpus with what git said when the corpus was made.
func TestCorpus(t *testing.T) {
	t.Parallel()
	for _, e := range corpustest.Load(t) {
		t.Run(e.ID, func(t *testing.T) {
			t.Parallel()
			text := corpustest.Text(t, e)
			d, err := diff.ParseString(text)
			if err != nil {
				t.Fatal(err)
			}
			checkSections(t, text, d)
			checkStream(t, text, d)
			checkFiles(t, e, d)
			for _, p := range e.Commentable {
				checkPosition(t, p, d)
			}
		})
	}
}

// file is what git says of a file, in one form for the corpus and for the parser. A type change is one of them.
type file struct {
	Old, New         string
	Status           string
	OldMode, NewMode string
	Similarity       int
	Binary           bool
	Added, Deleted   int
	Hunks            []corpustest.Hunk
}

var letters = map[diff.Status]string{
	diff.Added: "A", diff.Deleted: "D", diff.Modified: "M", diff.Renamed: "R", diff.Copied: "C",
}

func parsed(f *diff.File) file {
	out := file{
		Old: f.OldPath, New: f.NewPath, Status: letters[f.Status],
		OldMode: string(f.OldMode), NewMode: string(f.NewMode),
		Similarity: f.Similarity, Binary: f.Binary, Added: f.Added, Deleted: f.Deleted,
	}
	for _, h := range f.Hunks {
		out.Hunks = append(out.Hunks, corpustest.Hunk{OldStart: h.OldStart, OldLines: h.OldLines, NewStart: h.NewStart, NewLines: h.NewLines})
	}
	return out
}

func wanted(f corpustest.File) file {
	text := func(s *string, b64 []byte) string {
		if b64 != nil {
			return string(b64)
		}
		if s == nil {
			return ""
		}
		return *s
	}
	count := func(n *int, none int) int {
		if n == nil {
			return none
		}
		return *n
	}
	return file{
		Old: text(f.OldPath, f.OldPathB64), New: text(f.NewPath, f.NewPathB64), Status: f.Status,
		OldMode: text(f.OldMode, nil), NewMode: text(f.NewMode, nil),
		Similarity: count(f.Similarity, -1), Binary: f.Binary,
		Added: count(f.Added, 0), Deleted: count(f.Deleted, 0), Hunks: f.Hunks,
	}
}

func checkFiles(t *testing.T, e corpustest.Entry, d *diff.Diff) {
	t.Helper()
	sections := d.Files
	take := func() (f file, raw string) {
		if len(sections) == 0 {
			t.Fatalf("only %d sections", len(d.Files))
		}
		f, raw = parsed(sections[0]), sections[0].Raw
		sections = sections[1:]
		return f, raw
	}
	for _, f := range e.Files {
		want := wanted(f)
		got, raw := take()
		if want.Status == "T" {
			second, _ := take()
			if got.Status != "D" || second.Status != "A" || got.New != "" || second.Old != "" {
				t.Errorf("type change is not a deletion and an addition: %+v, %+v", got, second)
			}
			got.Status, got.New, got.NewMode = "T", second.New, second.NewMode
			got.Binary = got.Binary || second.Binary
			got.Added += second.Added
			got.Deleted += second.Deleted
			got.Hunks = append(got.Hunks, second.Hunks...)
		}
		relax(&want, raw)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("file %q (-git +parser):\n%s", want.New+want.Old, diff)
		}
	}
	if len(sections) > 0 {
		t.Errorf("%d sections more than git has files", len(sections))
	}
}

// relax takes from the truth what a section does not show: where content did not change there is no index line, no mode
// unless it changed, and no word of the file being binary.
func relax(want *file, raw string) {
	if strings.Contains(raw, "\nindex ") {
		return
	}
	want.Binary = false
	if want.OldMode == want.NewMode {
		want.OldMode, want.NewMode = "", ""
	}
}

// positionPath is the path of a position. The index gives the bytes of a renamed file's old name even where the new name,
// which is meant, is UTF-8.
func positionPath(p corpustest.Position) string {
	if p.PathB64 != nil && strings.ContainsRune(p.Path, utf8.RuneError) {
		return string(p.PathB64)
	}
	return p.Path
}

func checkPosition(t *testing.T, p corpustest.Position, d *diff.Diff) {
	t.Helper()
	path := positionPath(p)
	side := prosecutor.Side(p.Side)
	hunk, ok := d.Commentable(path, side, p.Line)
	if ok != p.OK {
		t.Errorf("comment on %q %s %d (%s): ok = %t, want %t", path, p.Side, p.Line, p.Kind, ok, p.OK)
		return
	}
	if !ok {
		return
	}
	found := false
	for l := range d.Find(path).Hunks[hunk].Lines() {
		n := l.New
		if side == prosecutor.Left {
			n = l.Old
		}
		if n != p.Line {
			continue
		}
		found = true
		sum := sha1.Sum([]byte(l.Text))
		if got := hex.EncodeToString(sum[:]); got != p.SHA1 {
			t.Errorf("%q %s %d (%s): content %q has SHA-1 %s, want %s", path, p.Side, p.Line, p.Kind, l.Text, got, p.SHA1)
		}
	}
	if !found {
		t.Errorf("%q %s %d (%s): not in hunk %d", path, p.Side, p.Line, p.Kind, hunk)
	}
}
