package casefile

import (
	"strings"
	"testing"

	"github.com/google/go-github/v62/github"
	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// TestQuotedNamesAreReadBack holds the quoting to the parser.
func TestQuotedNamesAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[^/\x00]{1,12}`).Filter(func(s string) bool { return !strings.Contains(s, "\uFFFD") }).Draw(t, "name")
		before := map[string]treeFile{name: {diff.ModeRegular, shaA}}
		after := map[string]treeFile{name: {diff.ModeRegular, shaB}}
		text, why, err := section(&github.CommitFile{
			Filename: github.String(name), SHA: github.String(shaB), Status: github.String("modified"), Changes: github.Int(2),
			Patch: github.String("@@ -1 +1 @@\n-a\n+b"),
		}, before, after)
		if err != nil || why != "" {
			t.Fatalf("%q: %s, %v", name, why, err)
		}
		d, err := diff.ParseString(text)
		if err != nil {
			t.Fatalf("%q: %v\n%s", name, err, text)
		}
		if len(d.Files) != 1 || d.Files[0].NewPath != name || d.Files[0].OldPath != name {
			t.Fatalf("%q was read back as %q", name, d.Files[0].NewPath)
		}
	})
}

func TestSections(t *testing.T) {
	type tree = map[string]treeFile
	str, num := github.String, github.Int
	for _, c := range []struct {
		name          string
		file          github.CommitFile
		before, after tree
		want          string
		unseen        bool
		stale         bool
		notWhole      bool
	}{
		{
			name: "added", file: github.CommitFile{Filename: str("x"), Status: str("added"), SHA: str(shaB), Patch: str("@@ -0,0 +1 @@\n+b"), Changes: num(1)},
			after: tree{"x": {diff.ModeExecutable, shaB}},
			want:  "diff --git a/x b/x\nnew file mode 100755\nindex " + noBlob + ".." + shaB + "\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n",
		},
		{
			name: "added empty", file: github.CommitFile{Filename: str("x"), Status: str("added"), SHA: str(emptyBlob)},
			after: tree{"x": {diff.ModeRegular, emptyBlob}},
			want:  "diff --git a/x b/x\nnew file mode 100644\nindex " + noBlob + ".." + emptyBlob + "\n",
		},
		{
			name: "removed", file: github.CommitFile{Filename: str("x"), Status: str("removed"), SHA: str(shaA), Patch: str("@@ -1 +0,0 @@\n-a"), Changes: num(1)},
			before: tree{"x": {diff.ModeRegular, shaA}},
			want:   "diff --git a/x b/x\ndeleted file mode 100644\nindex " + shaA + ".." + noBlob + "\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
		},
		{
			name: "mode only", file: github.CommitFile{Filename: str("x"), Status: str("modified"), SHA: str(shaA)},
			before: tree{"x": {diff.ModeRegular, shaA}}, after: tree{"x": {diff.ModeExecutable, shaA}},
			want: "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
		},
		{
			name: "renamed", file: github.CommitFile{Filename: str("y"), PreviousFilename: str("x"), Status: str("renamed"), SHA: str(shaA)},
			before: tree{"x": {diff.ModeRegular, shaA}}, after: tree{"y": {diff.ModeRegular, shaA}},
			want: "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
		},
		{
			name: "binary", file: github.CommitFile{Filename: str("x"), Status: str("modified"), SHA: str(shaB)},
			before: tree{"x": {diff.ModeRegular, shaA}}, after: tree{"x": {diff.ModeRegular, shaB}},
			want: "diff --git a/x b/x\nindex " + shaA + ".." + shaB + " 100644\nBinary files a/x and b/x differ\n",
		},
		{
			name: "too large to list", file: github.CommitFile{Filename: str("x"), Status: str("modified"), SHA: str(shaB), Changes: num(30000)},
			before: tree{"x": {diff.ModeRegular, shaA}}, after: tree{"x": {diff.ModeRegular, shaB}},
			want:   "diff --git a/x b/x\nindex " + shaA + ".." + shaB + " 100644\nBinary files a/x and b/x differ\n",
			unseen: true,
		},
		{
			name: "submodule", file: github.CommitFile{Filename: str("x"), Status: str("modified"), SHA: str(shaB), Changes: num(2), Patch: str("@@ -1 +1 @@\n-Subproject commit " + shaA + "\n+Subproject commit " + shaB)},
			before: tree{"x": {diff.ModeSubmodule, shaA}}, after: tree{"x": {diff.ModeSubmodule, shaB}},
			want: "diff --git a/x b/x\nindex " + shaA + ".." + shaB + " 160000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-Subproject commit " + shaA + "\n+Subproject commit " + shaB + "\n",
		},
		{
			name: "a symbolic link out of a file", file: github.CommitFile{Filename: str("x"), Status: str("modified"), SHA: str(shaB)},
			before: tree{"x": {diff.ModeRegular, shaA}}, after: tree{"x": {diff.ModeSymlink, shaB}}, notWhole: true,
		},
		{
			name: "a name that is no UTF-8", file: github.CommitFile{Filename: str("caf\uFFFD"), Status: str("modified"), SHA: str(shaB), Changes: num(2), Patch: str("@@ -1 +1 @@\n-a\n+b")},
			before: tree{"caf\uFFFD": {diff.ModeRegular, shaA}}, after: tree{"caf\uFFFD": {diff.ModeRegular, shaB}}, notWhole: true,
		},
		{
			name: "text that is no UTF-8", file: github.CommitFile{Filename: str("x"), Status: str("modified"), SHA: str(shaB), Changes: num(2), Patch: str("@@ -1 +1 @@\n-a\n+\uFFFD")},
			before: tree{"x": {diff.ModeRegular, shaA}}, after: tree{"x": {diff.ModeRegular, shaB}},
			want:   "diff --git a/x b/x\nindex " + shaA + ".." + shaB + " 100644\nBinary files a/x and b/x differ\n",
			unseen: true,
		},
		{
			name: "of another push", file: github.CommitFile{Filename: str("x"), Status: str("modified"), SHA: str(shaC)},
			before: tree{"x": {diff.ModeRegular, shaA}}, after: tree{"x": {diff.ModeRegular, shaB}}, stale: true,
		},
		{
			name: "not in the head", file: github.CommitFile{Filename: str("x"), Status: str("modified"), SHA: str(shaC)},
			before: tree{"x": {diff.ModeRegular, shaA}}, stale: true,
		},
		{
			name: "added and there before", file: github.CommitFile{Filename: str("x"), Status: str("added"), SHA: str(shaB), Patch: str("@@ -0,0 +1 @@\n+b"), Changes: num(1)},
			before: tree{"x": {diff.ModeRegular, shaB}}, after: tree{"x": {diff.ModeRegular, shaB}}, stale: true,
		},
		{
			name: "removed and there", file: github.CommitFile{Filename: str("x"), Status: str("removed"), SHA: str(shaA)},
			before: tree{"x": {diff.ModeRegular, shaA}}, after: tree{"x": {diff.ModeRegular, shaA}}, stale: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, why, err := section(&c.file, c.before, c.after)
			retry, stale := errorAs[*RetryableError](err)
			_, whole := errorAs[*errNotWhole](err)
			switch {
			case stale != c.stale || stale && !retry.Stale, whole != c.notWhole:
				t.Fatalf("got %v", err)
			case c.stale || c.notWhole:
				return
			case err != nil, text != c.want, (why != "") != c.unseen:
				t.Fatalf("got %q, why %q, %v; want %q", text, why, err, c.want)
			}
			if _, err := checkedDiff(text, 1); err != nil {
				t.Errorf("the parser does not take it: %v", err)
			}
		})
	}
}
