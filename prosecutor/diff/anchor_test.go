package diff_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/test/corpustest"
	"github.com/prosecutor-bot/prosecutor/test/vectortest"
)

// TestVectorsAnchors checks where quotes land. Severity and verdict of these cases are package contract's.
func TestVectorsAnchors(t *testing.T) {
	t.Parallel()
	vectortest.Run(t, "anchors", func(t *testing.T, c vectortest.Case) {
		var in struct {
			vectortest.Diff
			Finding struct {
				Severity, Charge, Claim string
				Anchor                  *struct {
					Path, Side, Quote string
					Line              int
				}
			}
			ModelVerdict string `json:"model_verdict"`
		}
		vectortest.Decode(t, c.Input, &in)
		var want struct {
			Status      *string
			Path        *string
			Side        *string
			StartLine   *int    `json:"start_line"`
			EndLine     *int    `json:"end_line"`
			MatchedBy   *string `json:"matched_by"`
			Severity    string
			PassVerdict string `json:"pass_verdict"`
		}
		vectortest.Decode(t, c.Expect, &want)

		d, err := diff.ParseString(in.Text())
		if err != nil {
			t.Fatal(err)
		}
		var anchor prosecutor.Anchor
		if a := in.Finding.Anchor; a != nil {
			anchor = prosecutor.Anchor{Path: a.Path, Side: prosecutor.Side(a.Side), Quote: a.Quote, Line: a.Line}
		}
		got := d.Locate(anchor)

		// A field that a vector does not name is not checked, and of those it names null is the zero value: none of
		// these cases leaves a line or the way of matching open unless it is not anchored.
		if want.Status == nil || string(got.Status) != *want.Status {
			t.Errorf("status %q, want %q", got.Status, deref(want.Status))
		}
		if want.Path != nil && got.Path != *want.Path {
			t.Errorf("path %q, want %q", got.Path, *want.Path)
		}
		if want.Side != nil && string(got.Side) != *want.Side {
			t.Errorf("side %q, want %q", got.Side, *want.Side)
		}
		if got.StartLine != deref(want.StartLine) || got.EndLine != deref(want.EndLine) {
			t.Errorf("lines %d to %d, want %d to %d", got.StartLine, got.EndLine, deref(want.StartLine), deref(want.EndLine))
		}
		if got.MatchedBy != deref(want.MatchedBy) {
			t.Errorf("matched by %q, want %q", got.MatchedBy, deref(want.MatchedBy))
		}
	})
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

const anchors = `diff --git a/blank.go b/blank.go
index 1111111..2222222 100644
--- a/blank.go
+++ b/blank.go
@@ -1,3 +1,6 @@
 first
+
+	indented
+
 twice
 twice
diff --git a/kind b/kind
deleted file mode 100644
index 1111111..0000000
--- a/kind
+++ /dev/null
@@ -1,2 +0,0 @@
-was a file
-same
diff --git a/kind b/kind
new file mode 120000
index 0000000..2222222
--- /dev/null
+++ b/kind
@@ -0,0 +1 @@
+target
\ No newline at end of file
diff --git a/copied.go b/pasted.go
similarity index 50%
copy from copied.go
copy to pasted.go
index 1111111..2222222 100644
--- a/copied.go
+++ b/pasted.go
@@ -1 +1 @@
-original
+pasted
diff --git a/old.go b/new.go
similarity index 90%
rename from old.go
rename to new.go
index 1111111..2222222 100644
--- a/old.go
+++ b/new.go
@@ -1,4 +1,4 @@
 kept
-	shift()
+		shift()
 end
 twice
diff --git a/shift.go b/shift.go
index 1111111..2222222 100644
--- a/shift.go
+++ b/shift.go
@@ -1,5 +1,5 @@
-moved
 one
 two
 three
 four
+moved
@@ -21,2 +21,4 @@
 aa
+aa
+aa
 near
`

// TestLocate has what the vectors leave open.
func TestLocate(t *testing.T) {
	t.Parallel()
	d, err := diff.ParseString(anchors)
	if err != nil {
		t.Fatal(err)
	}
	const L, R = prosecutor.Left, prosecutor.Right
	at := func(path string, side prosecutor.Side, start, end int, by string) prosecutor.Place {
		return prosecutor.Place{Status: prosecutor.Anchored, Path: path, Side: side, StartLine: start, EndLine: end, MatchedBy: by}
	}
	ambiguous := func(path string) prosecutor.Place {
		return prosecutor.Place{Status: prosecutor.Ambiguous, Path: path}
	}
	unanchored := prosecutor.Place{Status: prosecutor.Unanchored}
	for _, c := range []struct {
		name   string
		anchor prosecutor.Anchor
		want   prosecutor.Place
	}{
		{"no file, though there is a quote", prosecutor.Anchor{Quote: "kept"}, prosecutor.Place{Status: prosecutor.NoFile}},
		{"blank in any script", prosecutor.Anchor{Path: "new.go", Quote: "\u00a0\u2003\n"}, unanchored},

		{"line feed at the end", prosecutor.Anchor{Path: "new.go", Side: R, Quote: "kept\n"}, at("new.go", R, 1, 1, "file")},
		{"blank lines around are there", prosecutor.Anchor{Path: "blank.go", Side: R, Quote: "\n\tindented\n\n"}, at("blank.go", R, 2, 4, "file")},
		{"blank lines around are not there", prosecutor.Anchor{Path: "new.go", Side: R, Quote: "\n\nkept\n\n"}, at("new.go", R, 1, 1, "file")},
		{"blank lines before count for the number", prosecutor.Anchor{Path: "blank.go", Side: R, Line: 2, Quote: "\nindented"}, at("blank.go", R, 3, 3, "line")},
		{"a blank line inside must be there", prosecutor.Anchor{Path: "new.go", Side: R, Quote: "kept\n\nshift()"}, unanchored},
		{"part of a line", prosecutor.Anchor{Path: "new.go", Side: R, Quote: "kep"}, unanchored},
		{"the marker is not part of the line", prosecutor.Anchor{Path: "new.go", Side: R, Quote: "+\t\tshift()"}, unanchored},

		{"exact text on the other side before folded text", prosecutor.Anchor{Path: "new.go", Side: R, Quote: "\tshift()"}, at("new.go", L, 2, 2, "file")},
		{"exact number before exact text", prosecutor.Anchor{Path: "new.go", Side: R, Line: 2, Quote: "\tshift()"}, at("new.go", R, 2, 2, "line")},

		{"no side: on one side only", prosecutor.Anchor{Path: "kind", Quote: "target"}, at("kind", R, 1, 1, "file")},
		{"no side: on both sides, one row", prosecutor.Anchor{Path: "shift.go", Quote: "two\nthree"}, at("shift.go", R, 2, 3, "file")},
		{"no side: two rows", prosecutor.Anchor{Path: "shift.go", Quote: "moved"}, ambiguous("shift.go")},
		{"no side: two rows, told apart by the number", prosecutor.Anchor{Path: "shift.go", Line: 5, Quote: "moved"}, at("shift.go", R, 5, 5, "line")},
		{"no side: number of one row on both sides", prosecutor.Anchor{Path: "new.go", Line: 3, Quote: "end"}, at("new.go", R, 3, 3, "line")},
		{"no side: number of either side", prosecutor.Anchor{Path: "shift.go", Line: 3, Quote: "two"}, at("shift.go", L, 3, 3, "line")},
		{"no side: the number of two rows", prosecutor.Anchor{Path: "new.go", Line: 2, Quote: "shift()"}, ambiguous("new.go")},
		{"a side that is none", prosecutor.Anchor{Path: "shift.go", Side: "right", Quote: "moved"}, ambiguous("shift.go")},

		{"no line, and a quote with a blank line in front", prosecutor.Anchor{Path: "new.go", Side: R, Quote: "\nkept"}, at("new.go", R, 1, 1, "file")},
		{"a negative line, and two blank lines in front", prosecutor.Anchor{Path: "new.go", Side: R, Line: -1, Quote: "\n\nkept"}, at("new.go", R, 1, 1, "file")},
		{"type change, old half", prosecutor.Anchor{Path: "kind", Side: L, Line: 1, Quote: "was a file"}, at("kind", L, 1, 1, "line")},
		{"type change, new half", prosecutor.Anchor{Path: "kind", Side: R, Line: 1, Quote: "target"}, at("kind", R, 1, 1, "line")},
		{"copied file by the name of its source", prosecutor.Anchor{Path: "copied.go", Side: R, Line: 1, Quote: "pasted"}, at("pasted.go", R, 1, 1, "diff")},
		{"renamed file by its old name", prosecutor.Anchor{Path: "old.go", Side: L, Line: 3, Quote: "end"}, at("new.go", L, 3, 3, "line")},

		{"overlapping matches", prosecutor.Anchor{Path: "shift.go", Side: R, Quote: "aa\naa"}, ambiguous("shift.go")},
		{"overlapping matches, told apart by the number", prosecutor.Anchor{Path: "shift.go", Side: R, Line: 22, Quote: "aa\naa"}, at("shift.go", R, 22, 23, "line")},
		{"all of the overlapping lines", prosecutor.Anchor{Path: "shift.go", Side: R, Quote: "aa\naa\naa\nnear"}, at("shift.go", R, 21, 24, "file")},
		{"across hunks", prosecutor.Anchor{Path: "shift.go", Side: L, Quote: "four\naa"}, unanchored},
		{"across files", prosecutor.Anchor{Path: "new.go", Side: R, Quote: "twice\none"}, unanchored},
		{"ambiguous over files", prosecutor.Anchor{Path: "other.go", Side: R, Quote: "twice"}, ambiguous("")},
		{"unique in the diff on the other side", prosecutor.Anchor{Path: "other.go", Side: R, Quote: "was a file"}, at("kind", L, 1, 1, "diff")},
		{"number of another file", prosecutor.Anchor{Path: "other.go", Side: R, Line: 1, Quote: "kept"}, at("new.go", R, 1, 1, "diff")},
		{"quote longer than the hunk", prosecutor.Anchor{Path: "kind", Side: R, Line: 1, Quote: "target\nmore"}, unanchored},
		{"number that is negative", prosecutor.Anchor{Path: "new.go", Side: R, Line: -1, Quote: "kept"}, at("new.go", R, 1, 1, "file")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := d.Locate(c.anchor); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// modify writes the section of a modified file of one hunk that starts at line 1.
func modify(path string, rows ...string) string {
	olds, news := 0, 0
	for _, row := range rows {
		if row[0] != '+' {
			olds++
		}
		if row[0] != '-' {
			news++
		}
	}
	return fmt.Sprintf("diff --git a/%[1]s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n@@ -1,%[2]d +1,%[3]d @@\n%[4]s\n",
		path, olds, news, strings.Join(rows, "\n"))
}

// TestLocateWhiteSpace has what folding is about: which bytes are white space, and what blank lines around a quote do to
// its number.
func TestLocateWhiteSpace(t *testing.T) {
	t.Parallel()
	text := modify("f", "-old", "+new", " form\ffeed", " vertical\vtab", " carriage\rreturn", " no\u00a0break", " \u00a0", " under_score", " last one")
	d, err := diff.ParseString(strings.Replace(text, "-1,8 +1,8", "-5,8 +5,8", 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, quote string
		line        int
		start, end  int // 0 where it is not found
		by          string
	}{
		{"form feed", "form feed", 0, 6, 6, "file"},
		{"vertical tab", "vertical tab", 0, 7, 7, "file"},
		{"a carriage return is nothing, not a space", "carriagereturn", 0, 8, 8, "file"},
		{"no-break space", "no break", 0, 0, 0, ""},
		{"a quote of a no-break space is blank", "\u00a0", 0, 0, 0, ""},
		{"a space is not any character", "under score", 0, 0, 0, ""},
		{"any character is not a space", "last_one", 0, 0, 0, ""},
		{"a blank line that is not there leaves no number open", "\nlast one", 0, 12, 12, "file"},
		{"a blank line above the hunk has a number", "\nnew", 4, 5, 5, "line"},
		{"two blank lines above the hunk", " \n\t\nnew", 3, 5, 5, "line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := prosecutor.Place{Status: prosecutor.Unanchored}
			if c.start > 0 {
				want = prosecutor.Place{Status: prosecutor.Anchored, Path: "f", Side: prosecutor.Right, StartLine: c.start, EndLine: c.end, MatchedBy: c.by}
			}
			got := d.Locate(prosecutor.Anchor{Path: "f", Side: prosecutor.Right, Line: c.line, Quote: c.quote})
			if got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// TestLocateBothSides has quotes without a side that stand on both: one place when they are the same rows, else two.
func TestLocateBothSides(t *testing.T) {
	t.Parallel()
	right := func(path string, start, end int, by string) prosecutor.Place {
		return prosecutor.Place{Status: prosecutor.Anchored, Path: path, Side: prosecutor.Right, StartLine: start, EndLine: end, MatchedBy: by}
	}
	ambiguous := func(path string) prosecutor.Place {
		return prosecutor.Place{Status: prosecutor.Ambiguous, Path: path}
	}
	for _, c := range []struct {
		name, text string
		anchor     prosecutor.Anchor
		want       prosecutor.Place
	}{
		{
			"the number of one row below a changed one", modify("f", "-old", "+new", " same"),
			prosecutor.Anchor{Path: "f", Line: 2, Quote: "same"}, right("f", 2, 2, "line"),
		},
		{
			"the number of an added row and of a row of both sides", modify("f", "+same", " same"),
			prosecutor.Anchor{Path: "f", Line: 1, Quote: "same"}, ambiguous("f"),
		},
		{
			"the number of a deleted row and of a row of both sides", modify("f", "-same", " same"),
			prosecutor.Anchor{Path: "f", Line: 1, Quote: "same"}, ambiguous("f"),
		},
		{
			"two runs that start in one row", modify("f", " same", "-\tend", "+end", " below"),
			prosecutor.Anchor{Path: "f", Line: 1, Quote: "same\n  end"}, ambiguous("f"),
		},
		{
			"two runs that end in one row", modify("f", "-\tstart", "+start", " same"),
			prosecutor.Anchor{Path: "f", Line: 1, Quote: "  start\nsame"}, ambiguous("f"),
		},
		{
			"new rows in one file, old ones in two", modify("f", "-moved", " kept", "+moved") + modify("g", "-moved", "+changed"),
			prosecutor.Anchor{Path: "other", Quote: "moved"}, ambiguous(""),
		},
		{
			"new rows in two files, old ones in the first", modify("f", "-moved", " kept", "+moved") + modify("g", "-old", "+moved"),
			prosecutor.Anchor{Path: "other", Quote: "moved"}, ambiguous(""),
		},
		{
			"new and old rows in one file", modify("f", "-moved", " kept", "+moved") + modify("g", "-old", "+new"),
			prosecutor.Anchor{Path: "other", Quote: "moved"}, ambiguous("f"),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, err := diff.ParseString(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Locate(c.anchor); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// TestLocateSelfSimilar looks for every short quote of two kinds of lines in every short file of them, so that quotes whose
// start stands in them again are found wherever they are, and nowhere else.
func TestLocateSelfSimilar(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 8; n++ {
		for _, file := range words(n) {
			text := fmt.Sprintf("diff --git a/f b/f\nnew file mode 100644\nindex 0000000..2222222\n--- /dev/null\n+++ b/f\n@@ -0,0 +1,%d @@\n+%s\n",
				n, strings.Join(strings.Split(file, ""), "\n+"))
			d, err := diff.ParseString(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, quote := range words(min(n, 5)) {
				want := prosecutor.Place{Status: prosecutor.Unanchored}
				if at := strings.Index(file, quote); at >= 0 {
					want = prosecutor.Place{
						Status: prosecutor.Anchored, Path: "f", Side: prosecutor.Right,
						StartLine: at + 1, EndLine: at + len(quote), MatchedBy: "file",
					}
					if at != strings.LastIndex(file, quote) {
						want = prosecutor.Place{Status: prosecutor.Ambiguous, Path: "f"}
					}
				}
				lines := strings.Join(strings.Split(quote, ""), "\n")
				if got := d.Locate(prosecutor.Anchor{Path: "f", Side: prosecutor.Right, Quote: lines}); got != want {
					t.Fatalf("%s in %s: %+v, want %+v", quote, file, got, want)
				}
			}
		}
	}
}

// words returns all words of n letters a and b.
func words(n int) []string {
	all := []string{""}
	for range n {
		var longer []string
		for _, w := range all {
			longer = append(longer, w+"a", w+"b")
		}
		all = longer
	}
	return all
}

// TestLocateRepeated counts comparisons by their effect: a quote of many equal lines in a diff of many more is only
// feasible when the search does not start over at every line.
func TestLocateRepeated(t *testing.T) {
	t.Parallel()
	const n = 200_000
	text := "diff --git a/f b/f\nnew file mode 100644\nindex 0000000..2222222\n--- /dev/null\n+++ b/f\n" +
		fmt.Sprintf("@@ -0,0 +1,%d @@\n", n) + strings.Repeat("+x\n", n)
	d, err := diff.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	got := d.Locate(prosecutor.Anchor{Path: "f", Quote: strings.Repeat("x\n", n/2) + "y\n"})
	if got.Status != prosecutor.Unanchored {
		t.Errorf("%+v", got)
	}
	got = d.Locate(prosecutor.Anchor{Path: "f", Quote: strings.Repeat("x\n", n/2)})
	if got != (prosecutor.Place{Status: prosecutor.Ambiguous, Path: "f"}) {
		t.Errorf("%+v", got)
	}
	got = d.Locate(prosecutor.Anchor{Path: "f", Quote: strings.Repeat(" x\r\n", n)})
	if got.StartLine != 1 || got.EndLine != n {
		t.Errorf("%+v", got)
	}
}

// TestCorpusLocate quotes the lines that the corpus gives with their SHA-1: each is found at its number, and one that is
// not there is not.
func TestCorpusLocate(t *testing.T) {
	t.Parallel()
	for _, e := range corpustest.Load(t) {
		t.Run(e.ID, func(t *testing.T) {
			t.Parallel()
			d, err := diff.ParseString(corpustest.Text(t, e))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range e.Commentable {
				path, side := positionPath(p), prosecutor.Side(p.Side)
				if !p.OK {
					quote := "no such line, surely not: " + p.Kind
					if got := d.Locate(prosecutor.Anchor{Path: path, Side: side, Line: p.Line, Quote: quote}); got.Status != prosecutor.Unanchored {
						t.Errorf("%q at %q %s %d: %+v", quote, path, side, p.Line, got)
					}
					continue
				}
				quote, ok := lineAt(d, path, side, p.Line)
				if sum := sha1.Sum([]byte(quote)); !ok || hex.EncodeToString(sum[:]) != p.SHA1 {
					t.Fatalf("%q %s %d: not the line of the corpus", path, side, p.Line)
				}
				want := prosecutor.Place{Status: prosecutor.Anchored, Path: path, Side: side, StartLine: p.Line, EndLine: p.Line, MatchedBy: "line"}
				if strings.TrimSpace(quote) == "" {
					want = prosecutor.Place{Status: prosecutor.Unanchored}
				}
				got := d.Locate(prosecutor.Anchor{Path: path, Side: side, Line: p.Line, Quote: quote})
				if got != want {
					t.Errorf("%q at %q %s %d: %+v", quote, path, side, p.Line, got)
				}
			}
		})
	}
}

func lineAt(d *diff.Diff, path string, side prosecutor.Side, line int) (text string, ok bool) {
	hunk, ok := d.Commentable(path, side, line)
	if !ok {
		return "", false
	}
	for l := range d.Find(path).Hunks[hunk].Lines() {
		if side == prosecutor.Left && l.Old == line || side == prosecutor.Right && l.New == line {
			return l.Text, true
		}
	}
	return "", false
}

// TestLocateProperties draws small diffs with many like lines, and compares with a search by brute force.
func TestLocateProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := drawDiff(t)
		d, err := diff.ParseString(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		checkLocate(t, d, prosecutor.Anchor{
			Path:  rapid.SampledFrom([]string{"f0", "f1", "f2"}).Draw(t, "path"),
			Side:  rapid.SampledFrom([]prosecutor.Side{prosecutor.Right, prosecutor.Left, ""}).Draw(t, "side"),
			Line:  rapid.IntRange(0, 12).Draw(t, "line"),
			Quote: strings.Join(rapid.SliceOfN(likeLines, 1, 3).Draw(t, "quote"), "\n"),
		})
	})
}

var likeLines = rapid.SampledFrom([]string{"a", "a", "a", " a", "b", "a\r", "", "a b", "a  b", "c"})

// drawDiff writes up to three modified files of up to two hunks.
func drawDiff(t *rapid.T) string {
	var b strings.Builder
	for i := range rapid.IntRange(1, 3).Draw(t, "files") {
		fmt.Fprintf(&b, "diff --git a/f%d b/f%d\n--- a/f%d\n+++ b/f%d\n", i, i, i, i)
		oldNext, newNext := 1, 1
		for range rapid.IntRange(1, 2).Draw(t, "hunks") {
			var rows []string
			olds, news := 0, 0
			for range rapid.IntRange(1, 6).Draw(t, "rows") {
				op := rapid.SampledFrom([]string{" ", "+", "-"}).Draw(t, "op")
				rows = append(rows, op+likeLines.Draw(t, "text")+"\n")
				if op != "+" {
					olds++
				}
				if op != "-" {
					news++
				}
			}
			gap := rapid.IntRange(0, 2).Draw(t, "gap")
			start := func(next, count int) int {
				if count == 0 {
					return next + gap - 1
				}
				return next + gap
			}
			fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n%s", start(oldNext, olds), olds, start(newNext, news), news, strings.Join(rows, ""))
			oldNext, newNext = oldNext+gap+olds, newNext+gap+news
		}
	}
	return b.String()
}

// window is a run of rows of one hunk that carries a quote on one side.
type window struct {
	file       string
	hunk       int
	side       prosecutor.Side
	start, end int
	exact      bool
	rows       string // which rows of the hunk
}

var whiteRun = regexp.MustCompile(`[ \t\v\f]+`)

func folded(s string) string {
	return strings.Trim(whiteRun.ReplaceAllString(strings.ReplaceAll(s, "\r", ""), " "), " ")
}

// windows lists every place that carries the quote.
func windows(d *diff.Diff, quote string) []window {
	exact := strings.Split(strings.TrimSuffix(quote, "\n"), "\n")
	loose := slices.Clone(exact)
	for i := range loose {
		loose[i] = folded(loose[i])
	}
	for len(loose) > 0 && loose[0] == "" {
		loose = loose[1:]
	}
	for len(loose) > 0 && loose[len(loose)-1] == "" {
		loose = loose[:len(loose)-1]
	}
	var out []window
	for _, f := range d.Files {
		for h := range f.Hunks {
			for _, side := range []prosecutor.Side{prosecutor.Right, prosecutor.Left} {
				var texts, folds, rows []string
				var numbers []int
				n := 0
				for l := range f.Hunks[h].Lines() {
					n++
					number := l.New
					if side == prosecutor.Left {
						number = l.Old
					}
					if number > 0 {
						texts, folds, numbers = append(texts, l.Text), append(folds, folded(l.Text)), append(numbers, number)
						rows = append(rows, fmt.Sprint(n, " "))
					}
				}
				for i := range texts {
					if end := i + len(exact); end <= len(texts) && slices.Equal(texts[i:end], exact) {
						out = append(out, window{f.Path(), h, side, numbers[i], numbers[end-1], true, strings.Join(rows[i:end], "")})
					}
					if end := i + len(loose); len(loose) > 0 && end <= len(texts) && slices.Equal(folds[i:end], loose) {
						out = append(out, window{f.Path(), h, side, numbers[i], numbers[end-1], false, strings.Join(rows[i:end], "")})
					}
				}
			}
		}
	}
	return out
}

// checkLocate compares Locate with the rule put as a filter over all windows. It does not know renames, copies and
// type changes by their old names.
func checkLocate(t fataler, d *diff.Diff, a prosecutor.Anchor) {
	t.Helper()
	got := d.Locate(a)
	want := prosecutor.Place{Status: prosecutor.Unanchored}
	if strings.TrimSpace(a.Quote) != "" {
		want = expectPlace(windows(d, a.Quote), a)
	}
	if got != want {
		t.Fatalf("%+v: %+v, want %+v", a, got, want)
	}
}

func expectPlace(all []window, a prosecutor.Anchor) prosecutor.Place {
	other := map[prosecutor.Side]prosecutor.Side{prosecutor.Left: prosecutor.Right, prosecutor.Right: prosecutor.Left}
	lead := 0
	for _, line := range strings.Split(a.Quote, "\n") {
		if folded(line) != "" {
			break
		}
		lead++
	}
	// pick returns the distinct windows that a filter lets through: one that is on both sides counts once, on the right.
	pick := func(keep func(w window) bool) []window {
		var out []window
		for _, w := range all {
			same := func(o window) bool { return o.file == w.file && o.hunk == w.hunk && o.rows == w.rows }
			if keep(w) && !slices.ContainsFunc(out, same) {
				out = append(out, w)
			}
		}
		return out
	}
	decide := func(found []window, by string) prosecutor.Place {
		if w := found[0]; len(found) == 1 {
			return prosecutor.Place{Status: prosecutor.Anchored, Path: w.file, Side: w.side, StartLine: w.start, EndLine: w.end, MatchedBy: by}
		}
		p := prosecutor.Place{Status: prosecutor.Ambiguous, Path: found[0].file}
		for _, w := range found {
			if w.file != p.Path {
				p.Path = ""
			}
		}
		return p
	}
	sideIs := func(w window, s prosecutor.Side) bool { return a.Side == "" || w.side == s }
	for _, exact := range []bool{true, false} {
		line := a.Line
		if !exact {
			line += lead
		}
		found := pick(func(w window) bool {
			return a.Line > 0 && w.file == a.Path && w.exact == exact && w.start == line && sideIs(w, a.Side)
		})
		if len(found) == 1 {
			return decide(found, "line")
		}
		if len(found) > 1 {
			break
		}
	}
	for _, by := range []string{"file", "diff"} {
		for _, exact := range []bool{true, false} {
			for _, side := range []prosecutor.Side{a.Side, other[a.Side]} {
				found := pick(func(w window) bool {
					return (by == "diff" || w.file == a.Path) && w.exact == exact && sideIs(w, side)
				})
				if len(found) > 0 {
					return decide(found, by)
				}
			}
		}
	}
	return prosecutor.Place{Status: prosecutor.Unanchored}
}
