package diff_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// checkSections checks that the sections are the whole text and start where they say.
func checkSections(t fataler, text string, d *diff.Diff) {
	t.Helper()
	line, rest := 1, text
	for _, f := range d.Files {
		if f.Line != line {
			t.Fatalf("%q starts at line %d, want %d", f.Path(), f.Line, line)
		}
		if !strings.HasPrefix(rest, f.Raw) {
			t.Fatalf("%q: its raw text is not the next part of the diff", f.Path())
		}
		rest = rest[len(f.Raw):]
		line += strings.Count(f.Raw, "\n")
	}
	if rest != "" {
		t.Fatalf("%d bytes of the diff belong to no file", len(rest))
	}
}

// checkStream checks that reading file by file gives the same.
func checkStream(t fataler, text string, d *diff.Diff) {
	t.Helper()
	files, err := stream(strings.NewReader(text))
	if err != nil {
		t.Fatalf("streaming: %v", err)
	}
	if d := cmp.Diff(d.Files, files, compareHunks); d != "" {
		t.Fatalf("streaming (-whole +stream):\n%s", d)
	}
}

func stream(src io.Reader, options ...diff.Option) ([]*diff.File, error) {
	r := diff.NewReader(src, options...)
	var files []*diff.File
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
}

// compareHunks compares hunks with their lines.
var compareHunks = cmp.Comparer(func(a, b diff.Hunk) bool {
	if a.OldStart != b.OldStart || a.OldLines != b.OldLines || a.NewStart != b.NewStart || a.NewLines != b.NewLines || a.Section != b.Section {
		return false
	}
	var lines []diff.Line
	for l := range a.Lines() {
		lines = append(lines, l)
	}
	for l := range b.Lines() {
		if len(lines) == 0 || lines[0] != l {
			return false
		}
		lines = lines[1:]
	}
	return len(lines) == 0
})

const twoFiles = `diff --git a/one.txt b/one.txt
index 5626abf..f719efd 100644
--- a/one.txt
+++ b/one.txt
@@ -1 +1 @@
-one
+two
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
`

// TestChunks reads the same text in the smallest and in odd pieces.
func TestChunks(t *testing.T) {
	t.Parallel()
	want, err := diff.ParseString(twoFiles)
	if err != nil {
		t.Fatal(err)
	}
	readers := map[string]func() io.Reader{
		"one byte":      func() io.Reader { return iotest.OneByteReader(strings.NewReader(twoFiles)) },
		"half":          func() io.Reader { return iotest.HalfReader(strings.NewReader(twoFiles)) },
		"data with EOF": func() io.Reader { return iotest.DataErrReader(strings.NewReader(twoFiles)) },
	}
	for name, open := range readers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := stream(open())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want.Files, files, compareHunks); d != "" {
				t.Errorf("Next (-want +got):\n%s", d)
			}
			got, err := diff.Parse(open())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got, compareHunks); d != "" {
				t.Errorf("Parse (-want +got):\n%s", d)
			}
		})
	}
}
