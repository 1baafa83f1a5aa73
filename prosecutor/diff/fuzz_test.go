package diff_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/test/corpustest"
)

// seedBytes is the size up to which diffs of the corpus are seeds: larger ones only slow the fuzzer down.
const seedBytes = 4000

// seeds adds diffs of the corpus.
func seeds(f *testing.F, add func(text string)) {
	f.Helper()
	for _, e := range corpustest.Load(f) {
		if e.Bytes <= seedBytes {
			add(corpustest.Text(f, e))
		}
	}
	add(anchors)
	add(twoFiles)
	add(binary + literal + literal)
}

// FuzzParse reads any text, whole and in pieces. What is accepted must be the text again, with numbers that add up.
func FuzzParse(f *testing.F) {
	seeds(f, func(text string) {
		f.Add(text, byte(1))
		f.Add(text, byte(13))
	})
	f.Fuzz(func(t *testing.T, text string, size byte) {
		d, err := diff.ParseString(text)
		files, streamErr := stream(&pieces{text: text, size: int(size) + 1})
		if err != nil {
			var syntax *diff.SyntaxError
			if !errors.As(err, &syntax) || syntax.Line < 1 || syntax.Line > strings.Count(text, "\n")+1 {
				t.Fatalf("%v", err)
			}
			if d != nil {
				t.Fatal("a diff beside an error")
			}
			if streamErr == nil || streamErr.Error() != err.Error() {
				t.Fatalf("whole: %v\nstream: %v", err, streamErr)
			}
			return
		}
		if streamErr != nil {
			t.Fatalf("accepted, but not as a stream: %v", streamErr)
		}
		if d := cmp.Diff(d.Files, files, compareHunks); d != "" {
			t.Fatalf("(-whole +stream):\n%s", d)
		}
		if strings.TrimSpace(text) == "" {
			return
		}
		checkSections(t, text, d)
		for _, f := range d.Files {
			checkNumbers(t, f)
		}
	})
}

// pieces yields a text in pieces of one size.
type pieces struct {
	text string
	size int
}

func (p *pieces) Read(buf []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(buf, p.text[:min(p.size, len(p.text))])
	p.text = p.text[n:]
	return n, nil
}

// checkNumbers checks that a file's hunks hold the lines they say, in order, and that names, status and counts fit.
func checkNumbers(t *testing.T, f *diff.File) {
	t.Helper()
	if (f.OldPath == "") != (f.Status == diff.Added) || (f.NewPath == "") != (f.Status == diff.Deleted) {
		t.Fatalf("%s file from %q to %q", f.Status, f.OldPath, f.NewPath)
	}
	moved := f.Status == diff.Renamed || f.Status == diff.Copied
	if f.Similarity < -1 || f.Similarity > 100 || f.Similarity >= 0 && !moved {
		t.Fatalf("%s file, similarity %d", f.Status, f.Similarity)
	}
	if f.Binary && len(f.Hunks) > 0 {
		t.Fatal("a binary file with hunks")
	}
	added, deleted, lastOld, lastNew := 0, 0, 0, 0
	for i := range f.Hunks {
		h := &f.Hunks[i]
		olds, news := 0, 0
		for l := range h.Lines() {
			if l.Old > 0 {
				if l.Op == diff.Add || l.Old != h.OldStart+olds || l.Old <= lastOld {
					t.Fatalf("old number %d of %+v in hunk %d", l.Old, l, i)
				}
				lastOld = l.Old
				olds++
			}
			if l.New > 0 {
				if l.Op == diff.Delete || l.New != h.NewStart+news || l.New <= lastNew {
					t.Fatalf("new number %d of %+v in hunk %d", l.New, l, i)
				}
				lastNew = l.New
				news++
			}
			switch l.Op {
			case diff.Add:
				added++
			case diff.Delete:
				deleted++
			case diff.Context:
			default:
				t.Fatalf("operation %q", l.Op)
			}
		}
		if olds != h.OldLines || news != h.NewLines {
			t.Fatalf("hunk %d has %d and %d lines, says %d and %d", i, olds, news, h.OldLines, h.NewLines)
		}
	}
	if added != f.Added || deleted != f.Deleted || f.Changed() != added+deleted {
		t.Fatalf("%d and %d lines changed, says %d and %d", added, deleted, f.Added, f.Deleted)
	}
}

// FuzzLocate asks for any quote in any diff. A place must lie in the diff, and be the only one or the stated one.
func FuzzLocate(f *testing.F) {
	seeds(f, func(text string) {
		d, err := diff.ParseString(text)
		if err != nil || len(d.Files) == 0 {
			return
		}
		for _, file := range d.Files[:min(3, len(d.Files))] {
			f.Add(text, file.Path(), "RIGHT", "}\n", 3)
			for i := range file.Hunks[:min(1, len(file.Hunks))] {
				for l := range file.Hunks[i].Lines() {
					f.Add(text, file.Path(), "LEFT", l.Text+"\n", l.Old)
					f.Add(text, file.Path(), "", " "+l.Text, l.New)
				}
			}
		}
	})
	f.Fuzz(func(t *testing.T, text, path, side, quote string, line int) {
		d, err := diff.ParseString(text)
		if err != nil {
			return
		}
		got := d.Locate(prosecutor.Anchor{Path: path, Side: prosecutor.Side(side), Quote: quote, Line: line})
		if got.Status != prosecutor.Anchored {
			if got.StartLine != 0 || got.EndLine != 0 || got.MatchedBy != "" || got.Side != "" {
				t.Fatalf("a place that is none: %+v", got)
			}
			return
		}
		found := 0
		for _, w := range windows(d, quote) {
			if w.file == got.Path && w.side == got.Side && w.start == got.StartLine && w.end == got.EndLine {
				found++
			}
		}
		if found == 0 {
			t.Fatalf("the quote does not stand at %+v", got)
		}
		if got.MatchedBy == "line" && line < 1 {
			t.Fatalf("matched by a line that was not given: %+v", got)
		}
	})
}
