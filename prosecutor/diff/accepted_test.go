package diff_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// TestNoBody has sections that end behind their header: only a mode or a name changed, or the file is empty.
func TestNoBody(t *testing.T) {
	t.Parallel()
	sha1 := "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391" // git hash-object -t blob /dev/null
	sha256 := "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
	for _, c := range []struct {
		name, text string
		want       diff.File
	}{
		{
			"mode", "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
			diff.File{OldPath: "f", NewPath: "f", Status: diff.Modified, OldMode: "100644", NewMode: "100755", Similarity: -1},
		},
		{
			"mode, and an index line of one content", "diff --git a/f b/f\nold mode 100644\nnew mode 100755\nindex 1111111..1111111\n",
			diff.File{
				OldPath: "f", NewPath: "f", Status: diff.Modified, OldMode: "100644", NewMode: "100755",
				OldOID: "1111111", NewOID: "1111111", Similarity: -1,
			},
		},
		{
			"name", "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n",
			diff.File{OldPath: "f", NewPath: "g", Status: diff.Renamed, Similarity: 100},
		},
		{
			"name, without its similarity", renamed,
			diff.File{OldPath: "f", NewPath: "g", Status: diff.Renamed, Similarity: -1},
		},
		{
			"copy", "diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n",
			diff.File{OldPath: "f", NewPath: "g", Status: diff.Copied, Similarity: 100},
		},
		{
			"name and mode", "diff --git a/f b/g\nold mode 100755\nnew mode 100644\nsimilarity index 100%\nrename from f\nrename to g\n",
			diff.File{OldPath: "f", NewPath: "g", Status: diff.Renamed, OldMode: "100755", NewMode: "100644", Similarity: 100},
		},
		{
			"new and empty", "diff --git a/f b/f\nnew file mode 100644\nindex 0000000..e69de29\n",
			diff.File{NewPath: "f", Status: diff.Added, NewMode: "100644", OldOID: "0000000", NewOID: "e69de29", Similarity: -1},
		},
		{
			"deleted and empty, full SHA-1", "diff --git a/f b/f\ndeleted file mode 100755\nindex " + sha1 + ".." + strings.Repeat("0", 40) + "\n",
			diff.File{OldPath: "f", Status: diff.Deleted, OldMode: "100755", OldOID: sha1, NewOID: strings.Repeat("0", 40), Similarity: -1},
		},
		{
			"new and empty, full SHA-256", "diff --git a/f b/f\nnew file mode 100644\nindex " + strings.Repeat("0", 64) + ".." + sha256 + "\n",
			diff.File{NewPath: "f", Status: diff.Added, NewMode: "100644", OldOID: strings.Repeat("0", 64), NewOID: sha256, Similarity: -1},
		},
		{
			"deleted and empty, shortest SHA-256", "diff --git a/f b/f\ndeleted file mode 100644\nindex 473a..0000\n",
			diff.File{OldPath: "f", Status: diff.Deleted, OldMode: "100644", OldOID: "473a", NewOID: "0000", Similarity: -1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, err := diff.ParseString(c.text)
			if err != nil {
				t.Fatal(err)
			}
			c.want.Line, c.want.Raw = 1, c.text
			if d := cmp.Diff([]*diff.File{&c.want}, d.Files, compareHunks); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestOrder has files in any order, and the two halves of a type change among them.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{named("c") + named("a") + named("b") + named("d"), []string{"c", "a", "b", "d"}},
		{named("e") + deleted + added + named("g"), []string{"e", "f", "f", "g"}},
		{named("g") + deleted + added + named("e"), []string{"g", "f", "f", "e"}},
		{named("g") + named("e") + deleted + added, []string{"g", "e", "f", "f"}},
	} {
		d, err := diff.ParseString(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.want, err)
			continue
		}
		var got []string
		for _, f := range d.Files {
			got = append(got, f.Path())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
		checkStream(t, c.text, d)
	}
}

// TestManyHunks has files of few and of many hunks in a row. What one file has is neither lost nor changed by the next,
// not even by an append.
func TestManyHunks(t *testing.T) {
	t.Parallel()
	counts := []int{1, 300, 2, 0, 255, 256, 257, 3, 1000, 1}
	var b strings.Builder
	for i, n := range counts {
		path := fmt.Sprintf("f%d", i)
		if n == 0 {
			b.WriteString(named(path))
			continue
		}
		fmt.Fprintf(&b, "diff --git a/%[1]s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n", path)
		for h := range n {
			fmt.Fprintf(&b, "@@ -%[1]d +%[1]d @@\n-old %[2]d\n+new %[2]d of %[3]s\n", 2*h+1, h, path)
		}
	}
	d, err := diff.ParseString(b.String())
	if err != nil {
		t.Fatal(err)
	}
	checkStream(t, b.String(), d)
	for _, f := range d.Files {
		_ = append(f.Hunks, diff.Hunk{OldStart: -1})
	}
	for i, f := range d.Files {
		if len(f.Hunks) != counts[i] || (f.Hunks == nil) != (counts[i] == 0) || f.Added != counts[i] || f.Deleted != counts[i] {
			t.Fatalf("%s: %d hunks, %d added, %d deleted, want %d", f.Path(), len(f.Hunks), f.Added, f.Deleted, counts[i])
		}
		for h := range f.Hunks {
			want := []diff.Line{
				{Op: diff.Delete, Text: fmt.Sprintf("old %d", h), Old: 2*h + 1},
				{Op: diff.Add, Text: fmt.Sprintf("new %d of %s", h, f.Path()), New: 2*h + 1},
			}
			if got := slices.Collect(f.Hunks[h].Lines()); !slices.Equal(got, want) {
				t.Fatalf("%s, hunk %d: %+v, want %+v", f.Path(), h, got, want)
			}
		}
	}
}

// TestAllocations counts what a diff of many small files takes: files and hunks come in pieces, which double from 4 to 256,
// and sorted names are not kept. It is not parallel, since allocations are counted for all tests.
func TestAllocations(t *testing.T) {
	var b strings.Builder
	for i := range 500 {
		path := fmt.Sprintf("/%04d", i)
		b.WriteString(strings.ReplaceAll(deleted+added, "/f", path))
	}
	text := b.String()
	got := testing.AllocsPerRun(5, func() {
		if d, err := diff.ParseString(text); err != nil || len(d.Files) != 1000 {
			t.Fatal(d, err)
		}
	})
	// 9 pieces of files, as many of hunks, 12 lists of the files that grow, and a few for the whole. With the race detector a
	// piece of files takes two.
	if got > 50 {
		t.Errorf("%v allocations for 1000 files", got)
	}
}

// TestHunkHeader has the headers that are rarely seen.
func TestHunkHeader(t *testing.T) {
	t.Parallel()
	const rows = "-a\n+b\n"
	for _, c := range []struct {
		header, rows string
		want         diff.Hunk
	}{
		{"@@ -1 +1 @@", rows, diff.Hunk{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1}},
		{"@@ -10,1 +10,1 @@", rows, diff.Hunk{OldStart: 10, OldLines: 1, NewStart: 10, NewLines: 1}},
		{"@@ -0,0 +1 @@", "+b\n", diff.Hunk{OldStart: 0, OldLines: 0, NewStart: 1, NewLines: 1}},
		{"@@ -1 +0,0 @@", "-a\n", diff.Hunk{OldStart: 1, OldLines: 1, NewStart: 0, NewLines: 0}},
		{"@@ -1 +1 @@ ", rows, diff.Hunk{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1}},
		{"@@ -1 +1 @@  func f() @@\r", rows, diff.Hunk{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1, Section: " func f() @@\r"}},
		{"@@ -2147483647 +2147483647 @@", rows, diff.Hunk{OldStart: math.MaxInt32, OldLines: 1, NewStart: math.MaxInt32, NewLines: 1}},
	} {
		t.Run(c.header, func(t *testing.T) {
			t.Parallel()
			d, err := diff.ParseString(modified + c.header + "\n" + c.rows)
			if err != nil {
				t.Fatal(err)
			}
			h := d.Files[0].Hunks[0]
			got := diff.Hunk{OldStart: h.OldStart, OldLines: h.OldLines, NewStart: h.NewStart, NewLines: h.NewLines, Section: h.Section}
			if got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// TestBinaryLines has every first letter of a line of a binary patch, which says how many bytes the line holds, and every
// character behind it. Five digits stand for four bytes.
func TestBinaryLines(t *testing.T) {
	t.Parallel()
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	accepted := func(line string) bool {
		_, err := diff.ParseString(binary + "delta 52\n" + line + "\n\n" + literal)
		return err == nil
	}
	for c := 1; c < 256; c++ {
		bytes := strings.IndexByte(letters, byte(c)) + 1
		groups := (bytes + 3) / 4
		for n := range 70 {
			for digits := max(0, 5*n-1); digits <= 5*n+1; digits++ {
				if got, want := accepted(string([]byte{byte(c)})+strings.Repeat("0", digits)), bytes > 0 && digits == 5*groups; got != want {
					t.Errorf("%q and %d digits: %t, want %t", byte(c), digits, got, want)
				}
			}
		}
		if c == '\n' {
			continue
		}
		digit := c > ' ' && c < 0x7f && !strings.ContainsRune(`"',./:[\]`, rune(c))
		for _, way := range []string{"A%s0000", "A0000%s"} {
			if got := accepted(fmt.Sprintf(way, string([]byte{byte(c)}))); got != digit {
				t.Errorf("digit %q: %t, want %t", byte(c), got, digit)
			}
		}
	}
}

// TestMarks has the marks of files without a line feed at their end. The side that ends first need not be the old one.
func TestMarks(t *testing.T) {
	t.Parallel()
	const mark = "\\ No newline at end of file\n"
	for _, c := range []struct {
		header, rows string
		want         []bool // by row
	}{
		{"@@ -1 +1 @@", "-a\n+b\n", []bool{false, false}},
		{"@@ -1 +1 @@", "-a\n" + mark + "+b\n", []bool{true, false}},
		{"@@ -1 +1 @@", "-a\n+b\n" + mark, []bool{false, true}},
		{"@@ -1 +1 @@", "-a\n" + mark + "+b\n" + mark, []bool{true, true}},
		{"@@ -1 +1 @@", "+b\n" + mark + "-a\n", []bool{true, false}},
		{"@@ -1,2 +1 @@", "-a\n b\n" + mark, []bool{false, true}},
	} {
		d, err := diff.ParseString(modified + c.header + "\n" + c.rows)
		if err != nil {
			t.Fatalf("%q: %v", c.rows, err)
		}
		var got []bool
		for l := range d.Files[0].Hunks[0].Lines() {
			got = append(got, l.NoEOL)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.rows, got, c.want)
		}
	}
}

// TestNames writes every byte that a name can have as git may write it: with its escape, in octal, or as it is.
func TestNames(t *testing.T) {
	t.Parallel()
	escapes := map[byte]string{
		'\a': `\a`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\v': `\v`, '\f': `\f`, '\r': `\r`, '"': `\"`, '\\': `\\`,
	}
	for c := 1; c < 256; c++ {
		name := string([]byte{byte(c)})
		other, ok := escapes[byte(c)]
		if !ok {
			other = name
		}
		octal := fmt.Sprintf(`\%03o`, c)
		for written, name := range map[string]string{
			octal: name, other: name, "x" + octal + "y": "x" + name + "y", "x" + other + "y": "x" + name + "y",
		} {
			a, b := `"a/`+written+`"`, `"b/`+written+`"`
			for _, text := range []string{
				"diff --git " + a + " " + b + "\nold mode 100644\nnew mode 100755\n",
				"diff --git " + a + " " + b + "\nindex 1111111..2222222 100644\n--- " + a + "\n+++ " + b + "\n@@ -1 +1 @@\n-a\n+b\n",
				"diff --git " + a + " " + b + "\nindex 1111111..2222222 100644\nBinary files " + a + " and " + b + " differ\n",
				"diff --git a/from " + b + "\nrename from from\nrename to \"" + written + "\"\n",
			} {
				d, err := diff.ParseString(text)
				if err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				if got := d.Files[0].Path(); got != name {
					t.Errorf("%q: %q, want %q", text, got, name)
				}
			}
		}
	}
}

// TestNotNames has quoted names that git does not write, where a name is read and where it is compared.
func TestNotNames(t *testing.T) {
	t.Parallel()
	for _, quoted := range []string{
		`"`, `"x`, `"x\`, `"x\"`, `"x\q"`, `"x\1"`, `"x\12"`, `"x\12`, `"x\178"`, `"x\187"`, `"x\1/7"`, `"x\17/"`, `"x\400"`, `"x\8"`, `"x\000"`, `"x"y`, `""`,
	} {
		inner := strings.TrimPrefix(quoted, `"`)
		for _, text := range []string{
			"diff --git a/f b/x\nrename from f\nrename to " + quoted + "\n",
			"diff --git a/f \"b/" + inner + "\nrename from f\nrename to x\n",
			"diff --git a/f \"b/" + inner + "\nrename from f\nrename to " + quoted + "\n",
			"diff --git \"a/" + inner + " \"b/" + inner + "\nold mode 100644\nnew mode 100755\n",
			"diff --git a/x b/x\nindex 1111111..2222222 100644\n--- \"a/" + inner + "\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
		} {
			if d, err := diff.ParseString(text); err == nil {
				t.Errorf("%q: the name %q", text, d.Files[0].Path())
			}
		}
	}
}

// TestNotPairs has diff --git lines that do not name the files of the other lines.
func TestNotPairs(t *testing.T) {
	t.Parallel()
	for _, names := range []string{
		`a/f`, `a/f `, `a/f b/`, `a/f b/gx`, `a/fx b/g`, `a/f  b/g`, `a/fb/g`, `a/ b/g`, `a/f g`, `f b/g`, `b/f a/g`, `a/f b/g `, `a/g b/f`,
		`"a/f" "b/g"x`, `"a/f""b/g"`, `"a/f" "b/g`, `"a/f" "g"`, `"f" "b/g"`, `"a/f\"" "b/g"`,
	} {
		text := "diff --git " + names + "\nsimilarity index 100%\nrename from f\nrename to g\n"
		if d, err := diff.ParseString(text); err == nil {
			t.Errorf("%s names %s and %s", names, d.Files[0].OldPath, d.Files[0].NewPath)
		}
	}
	for _, names := range []string{
		`a/f`, `ff`, `a/fa/f`, `a/f b/g`, `a/f b/ff`, `a/ff b/f`, `a/f b/f `, `a/f  b/f`, `a/fxb/f`, `a/fb/f`, `f b/f`, `x/f b/f`, `a/f f`, `a/f x/f`, `a/ b/`, `b/f a/f`,
		`"a/f"`, `"a/f" b/f`, `a/f "b/f"`, `"a/f""b/f"`, `"a/f"x"b/f"`, `"a/f" "b/g"`, `"a/f" "b/f"x`, `"a/f" "b/f`, `"a/f "b/f"`, `"f" "b/f"`, `"a/f" "f"`, `"a/" "b/"`, `""`, `"`,
	} {
		text := "diff --git " + names + "\nold mode 100644\nnew mode 100755\n"
		if d, err := diff.ParseString(text); err == nil {
			t.Errorf("%s names %s", names, d.Files[0].Path())
		}
	}
	short := `diff --git "a/x\001" "b/x\001"` + "\n" + `--- "a/x"` + "\n" + `+++ "b/x\001"` + "\n@@ -1 +1 @@\n-a\n+b\n"
	if _, err := diff.ParseString(short); err == nil {
		t.Errorf("%q: a name that ends before its last byte", short)
	}
	quote := `diff --git "a/x\"y" "b/x\"y"` + "\n" + `--- "a/x"y"` + "\n" + `+++ "b/x\"y"` + "\n@@ -1 +1 @@\n-a\n+b\n"
	if _, err := diff.ParseString(quote); err == nil {
		t.Errorf("%q: a quote in a name without its backslash", quote)
	}
}

// TestWords has the words for what happened to a file, and the modes as git writes them.
func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		added:      "added",
		deleted:    "deleted",
		named("f"): "modified",
		renamed:    "renamed",
		"diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n": "copied",
	} {
		d, err := diff.ParseString(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(d.Files[0].Status); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for mode, want := range map[diff.Mode]string{
		diff.ModeRegular: "100644", diff.ModeExecutable: "100755", diff.ModeSymlink: "120000", diff.ModeSubmodule: "160000",
	} {
		if string(mode) != want {
			t.Errorf("%q, want %q", mode, want)
		}
	}
}

// TestKinds asks for the kinds of a file that either side makes it.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before, after      diff.Mode
		symlink, submodule bool
	}{
		{diff.ModeRegular, diff.ModeExecutable, false, false},
		{diff.ModeSymlink, "", true, false},
		{"", diff.ModeSymlink, true, false},
		{diff.ModeSubmodule, "", false, true},
		{"", diff.ModeSubmodule, false, true},
	} {
		f := diff.File{OldMode: c.before, NewMode: c.after}
		if f.Symlink() != c.symlink || f.Submodule() != c.submodule {
			t.Errorf("%q to %q: symlink %t, submodule %t", c.before, c.after, f.Symlink(), f.Submodule())
		}
	}
}

// TestLines reads the rows of a hunk: empty rows, marks, and only as many as are asked for.
func TestLines(t *testing.T) {
	t.Parallel()
	d, err := diff.ParseString(modified + "@@ -3,3 +3,4 @@\n\n a\r\n-b\n\\ No newline at end of file\n+c\n++\n\\ No newline at end of file\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []diff.Line{
		{Op: diff.Context, Old: 3, New: 3},
		{Op: diff.Context, Text: "a\r", Old: 4, New: 4},
		{Op: diff.Delete, Text: "b", Old: 5, NoEOL: true},
		{Op: diff.Add, Text: "c", New: 5},
		{Op: diff.Add, Text: "+", New: 6, NoEOL: true},
	}
	f := d.Files[0]
	for n := range want {
		var got []diff.Line
		for l := range f.Hunks[0].Lines() {
			if got = append(got, l); len(got) == n+1 {
				break
			}
		}
		if d := cmp.Diff(want[:n+1], got); d != "" {
			t.Errorf("%d lines (-want +got):\n%s", n+1, d)
		}
	}
	if f.Added != 2 || f.Deleted != 1 || f.Changed() != 3 {
		t.Errorf("%d added, %d deleted, %d changed", f.Added, f.Deleted, f.Changed())
	}
}
