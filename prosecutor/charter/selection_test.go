package charter_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/generated"
	"github.com/prosecutor-bot/prosecutor/test/corpustest"
)

// section is the diff of one file with one changed line of the given length.
func section(name string, length int) string {
	return "diff --git a/" + name + " b/" + name + "\nindex 1111111..2222222 100644\n--- a/" + name + "\n+++ b/" + name +
		"\n@@ -1 +1 @@\n-old\n+" + strings.Repeat("n", length) + "\n"
}

func rename(from, to string) string {
	return "diff --git a/" + from + " b/" + to + "\nsimilarity index 90%\nrename from " + from + "\nrename to " + to +
		"\nindex 1111111..2222222 100644\n--- a/" + from + "\n+++ b/" + to + "\n@@ -1 +1 @@\n-old\n+new\n"
}

func parse(t testing.TB, text string) *diff.Diff {
	t.Helper()
	d, err := diff.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSelect(t *testing.T) {
	globs := func(list ...string) config.Diff { return config.Diff{Exclude: &list} }
	none := globs()
	const long = charter.MaxCodePoints
	src, gen, lock := section("src/a.go", 3), section("gen/a.pb.go", 3), section("go.sum", 3)
	link := "diff --git a/internal b/internal\nnew file mode 120000\nindex 0000000..2222222\n--- /dev/null\n+++ b/internal\n@@ -0,0 +1 @@\n+/tmp/x\n\\ No newline at end of file\n"
	for _, c := range []struct {
		name string
		diff string
		sel  charter.Selection
		want string
		out  []charter.Excluded
		err  error  // is
		bad  string // a malformed glob that the error must name
	}{
		{
			name: "default leaves generated files out", diff: src + gen + lock,
			sel:  charter.Selection{Generated: map[string]string{"gen/a.pb.go": "linguist-generated", "go.sum": "lock file"}},
			want: src,
			out:  []charter.Excluded{{Path: "gen/a.pb.go", Lines: 2, Reason: "linguist-generated"}, {Path: "go.sum", Lines: 2, Reason: "lock file"}},
		},
		{
			name: "vendored code is code", diff: src + section("vendor/x/a.go", 3) + lock, want: src + section("vendor/x/a.go", 3),
			sel: charter.Selection{Generated: map[string]string{"vendor/x/a.go": generated.VendoredPath, "src/a.go": generated.VendoredAttribute, "go.sum": generated.LockFile}},
			out: []charter.Excluded{{Path: "go.sum", Lines: 2, Reason: generated.LockFile}},
		},
		{
			name: "the policy may leave vendored code out", diff: src + section("vendor/x/a.go", 3), want: src, sel: charter.Selection{Policy: globs("vendor/**")},
			out: []charter.Excluded{{Path: "vendor/x/a.go", Lines: 2, Reason: "diff.exclude vendor/**"}},
		},
		{
			name: "a link in the place of critical code is read", diff: src + link, want: src + link,
			sel: charter.Selection{Policy: globs("internal"), Critical: []string{"internal/auth/**"}},
		},
		{name: "nothing to leave out", diff: src + gen, want: src + gen},
		{
			name: "an empty list leaves nothing out", diff: src + gen, want: src + gen,
			sel: charter.Selection{Policy: none, Generated: map[string]string{"gen/a.pb.go": "linguist-generated"}},
		},
		{
			name: "a list replaces the default", diff: src + gen + lock, want: src + gen,
			sel: charter.Selection{Policy: globs("*.sum"), Generated: map[string]string{"gen/a.pb.go": "linguist-generated"}},
			out: []charter.Excluded{{Path: "go.sum", Lines: 2, Reason: "diff.exclude *.sum"}},
		},
		{name: "a star stays in its directory", diff: src + gen, want: src + gen, sel: charter.Selection{Policy: globs("*.pb.go")}},
		{
			name: "two stars cross directories", diff: src + gen, want: src, sel: charter.Selection{Policy: globs("**/*.pb.go")},
			out: []charter.Excluded{{Path: "gen/a.pb.go", Lines: 2, Reason: "diff.exclude **/*.pb.go"}},
		},
		{name: "globs are case-sensitive", diff: src + gen, want: src + gen, sel: charter.Selection{Policy: globs("GEN/**")}},
		{name: "globs match the whole path", diff: src + gen, want: src + gen, sel: charter.Selection{Policy: globs("gen", "a.pb.go")}},
		{name: "a directory glob is not a file of that name", diff: src + section("gen", 3), want: src + section("gen", 3), sel: charter.Selection{Policy: globs("gen/**")}},
		{
			name: "critical is never left out", diff: src + gen + lock, want: src + lock,
			sel: charter.Selection{Critical: []string{"**/*.sum"}, Generated: map[string]string{"gen/a.pb.go": "linguist-generated", "go.sum": "lock file"}},
			out: []charter.Excluded{{Path: "gen/a.pb.go", Lines: 2, Reason: "linguist-generated"}},
		},
		{
			name: "critical beats the policy's list", diff: src + gen, want: src + gen,
			sel: charter.Selection{Policy: globs("**"), Critical: []string{"gen/**", "src/**"}},
		},
		{
			name: "a rename into a generated place is read", diff: src + rename("src/x.go", "gen/x.go"), want: src + rename("src/x.go", "gen/x.go"),
			sel: charter.Selection{Policy: globs("gen/**")},
		},
		{
			name: "a rename out of a generated place is read", diff: src + rename("gen/x.go", "src/x.go"), want: src + rename("gen/x.go", "src/x.go"),
			sel: charter.Selection{Policy: globs("gen/**")},
		},
		{
			name: "a rename inside a generated place is left out", diff: src + rename("gen/x.go", "gen/y.go"), want: src,
			sel: charter.Selection{Policy: globs("gen/**")},
			out: []charter.Excluded{{Path: "gen/y.go", Lines: 2, Reason: "diff.exclude gen/**"}},
		},
		{
			name: "a rename whose old name is critical is read", diff: src + rename("gen/x.go", "gen/y.go"), want: src + rename("gen/x.go", "gen/y.go"),
			sel: charter.Selection{Policy: globs("gen/**"), Critical: []string{"gen/x.go"}},
		},
		{
			name: "when nothing would be left nothing is left out", diff: gen + lock, want: gen + lock,
			sel: charter.Selection{Policy: globs("**")},
		},
		{
			name: "nothing left and too long is not judged", diff: section("gen/a", long) + lock, err: charter.ErrOnlyExcluded,
			sel: charter.Selection{Policy: globs("**")},
		},
		{
			name: "nothing left and just short enough", diff: section("g", long-len(section("g", 0))), want: section("g", long-len(section("g", 0))),
			sel: charter.Selection{Policy: globs("**")},
		},
		{
			name: "nothing left and one too long", diff: section("g", long-len(section("g", 0))+1), err: charter.ErrOnlyExcluded,
			sel: charter.Selection{Policy: globs("**")},
		},
		{name: "too long with nothing to leave out is for the contract to refuse", diff: section("a", long), want: section("a", long)},
		{name: "a bad glob in the list", diff: src, sel: charter.Selection{Policy: globs("a[")}, bad: `"a["`},
		{name: "a bad critical glob", diff: src, sel: charter.Selection{Critical: []string{"a["}}, bad: `"a["`},
		{name: "no files", diff: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, out, err := charter.Select(parse(t, c.diff), c.sel)
			if c.bad != "" {
				if err == nil || errors.Is(err, charter.ErrOnlyExcluded) || !strings.Contains(err.Error(), c.bad) {
					t.Errorf("the error does not name the glob: %v", err)
				}
				err = nil
			}
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if text != c.want {
				t.Errorf("text %.300q, want %.300q", text, c.want)
			}
			if d := cmp.Diff(c.out, out); d != "" {
				t.Errorf("excluded (-want +got):\n%s", d)
			}
		})
	}
}

// Without anything to leave out, judges read what git wrote, byte for byte; with some of it left out, the rest of it.
func TestCorpusIsReadByteForByte(t *testing.T) {
	for _, e := range corpustest.Load(t) {
		t.Run(e.ID, func(t *testing.T) {
			text := corpustest.Text(t, e)
			d := parse(t, text)
			got, out, err := charter.Select(d, charter.Selection{})
			if err != nil || len(out) != 0 || got != text {
				t.Fatalf("the text differs, or %d files are left out, or %v", len(out), err)
			}
			b := &charter.Brief{Diff: d, Text: got}
			if sections, _ := readBack(t, userText(t, b.Request("correctness", nonce))); sections["diff"] != text {
				t.Error("the prompt does not hold the diff as it is")
			}
			// Leave out every second file, by name; the text is that of all sections that are not listed as left out.
			half := map[string]string{}
			for i, f := range d.Files {
				if i%2 == 1 {
					half[f.OldPath], half[f.NewPath] = "test", "test"
				}
			}
			got, out, err = charter.Select(d, charter.Selection{Generated: half})
			if err != nil {
				t.Fatal(err)
			}
			listed := map[string]bool{}
			for _, x := range out {
				listed[x.Path] = true
			}
			var want strings.Builder
			for _, f := range d.Files {
				if !listed[f.Path()] {
					want.WriteString(f.Raw)
				}
			}
			// Names that files share (the source of a copy, a rename into a freed name) may mark every file; then nothing is
			// left out, because nothing would be left to read.
			named := func(f *diff.File) bool {
				return (f.OldPath == "" || half[f.OldPath] != "") && (f.NewPath == "" || half[f.NewPath] != "")
			}
			some := slices.ContainsFunc(d.Files, named)
			all := !slices.ContainsFunc(d.Files, func(f *diff.File) bool { return !named(f) })
			if got != want.String() || (len(out) > 0) != (some && !all) {
				t.Errorf("%d of %d files are left out, and the text is not that of the others", len(out), len(d.Files))
			}
		})
	}
}
