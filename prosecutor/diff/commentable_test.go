package diff_test

import (
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

const ranges = `diff --git a/gone b/gone
deleted file mode 100644
index 1111111..0000000
--- a/gone
+++ /dev/null
@@ -1,2 +0,0 @@
-a
-b
diff --git a/kind b/kind
deleted file mode 100644
index 1111111..0000000
--- a/kind
+++ /dev/null
@@ -1 +0,0 @@
-was a file
diff --git a/kind b/kind
new file mode 120000
index 0000000..2222222
--- /dev/null
+++ b/kind
@@ -0,0 +1 @@
+target
\ No newline at end of file
diff --git a/before b/now
similarity index 90%
rename from before
rename to now
index 1111111..2222222 100644
--- a/before
+++ b/now
@@ -1,2 +1,2 @@
 a
-b
+B
@@ -3 +2,0 @@
-c
@@ -10,0 +10,2 @@
+d
+e
@@ -12 +13 @@
-f
+F
`

// TestCommentable has the edges: no lines on one side, hunks that touch, names that are not on the page.
func TestCommentable(t *testing.T) {
	t.Parallel()
	d, err := diff.ParseString(ranges)
	if err != nil {
		t.Fatal(err)
	}
	const L, R = prosecutor.Left, prosecutor.Right
	for _, c := range []struct {
		path       string
		side       prosecutor.Side
		start, end int
		hunk       int
		ok         bool
	}{
		{"gone", L, 1, 1, 0, true},
		{"gone", L, 1, 2, 0, true},
		{"gone", L, 1, 3, 0, false},
		{"gone", R, 0, 0, 0, false},
		{"gone", R, 1, 1, 0, false},
		{"kind", R, 1, 1, 0, true},
		{"kind", L, 1, 1, 0, false}, // the old half is not the file that Find returns
		{"now", L, 2, 2, 0, true},
		{"now", L, 3, 3, 1, true},
		{"now", L, 2, 3, 0, false}, // two hunks that touch
		{"now", L, 4, 4, 0, false},
		{"now", L, 10, 10, 0, false}, // the line before a hunk that only adds
		{"now", L, 11, 11, 0, false},
		{"now", L, 12, 12, 3, true},
		{"now", R, 2, 2, 0, true}, // also the line before a hunk that only deletes
		{"now", R, 3, 3, 0, false},
		{"now", R, 9, 9, 0, false},
		{"now", R, 10, 11, 2, true},
		{"now", R, 11, 10, 0, false},
		{"now", R, 12, 12, 0, false},
		{"now", R, 13, 13, 3, true},
		{"now", R, 14, 14, 0, false},
		{"now", R, -1, 1, 0, false},
		{"now", R, -1, -1, 0, false},
		{"now", R, 0, 0, 0, false},
		{"now", L, 0, 0, 0, false},
		{"now", "", -1, -1, 0, false},
		{"kind", L, 0, 0, 0, false},
		{"now", "", 1, 1, 0, false},
		{"now", "right", 1, 1, 0, false},
		{"before", L, 1, 1, 0, false},
		{"other", R, 1, 1, 0, false},
		{"", R, 1, 1, 0, false},
	} {
		hunk, ok := d.CommentableRange(c.path, c.side, c.start, c.end)
		if hunk != c.hunk || ok != c.ok {
			t.Errorf("%q %s %d to %d: hunk %d, %t, want %d, %t", c.path, c.side, c.start, c.end, hunk, ok, c.hunk, c.ok)
		}
		if c.start != c.end {
			continue
		}
		if hunk, ok := d.Commentable(c.path, c.side, c.start); hunk != c.hunk || ok != c.ok {
			t.Errorf("%q %s %d: hunk %d, %t, want %d, %t", c.path, c.side, c.start, hunk, ok, c.hunk, c.ok)
		}
	}
}

// TestRange has the numbers of a hunk's lines on each side.
func TestRange(t *testing.T) {
	t.Parallel()
	h := diff.Hunk{OldStart: 3, OldLines: 0, NewStart: 4, NewLines: 2}
	for side, want := range map[prosecutor.Side][2]int{
		prosecutor.Left:  {4, 0}, // behind line 3
		prosecutor.Right: {4, 2},
		"":               {0, 0},
		"right":          {0, 0},
	} {
		if first, lines := h.Range(side); first != want[0] || lines != want[1] {
			t.Errorf("%q: %d, %d, want %v", side, first, lines, want)
		}
	}
}

// TestFind finds files by the name they have on the page.
func TestFind(t *testing.T) {
	t.Parallel()
	d, err := diff.ParseString(ranges)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]*diff.File{
		"gone": d.Files[0], "kind": d.Files[2], "now": d.Files[3],
		"before": nil, "/dev/null": nil, "a/now": nil, "": nil,
	} {
		if got := d.Find(path); got != want {
			t.Errorf("Find(%q) = %v, want %v", path, got, want)
		}
	}
}
