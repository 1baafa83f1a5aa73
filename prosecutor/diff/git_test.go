package diff_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/test/corpustest"
)

// repo is a bare repository that nothing of the machine's configuration reaches.
type repo struct {
	dir string
	env []string
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	home := t.TempDir()
	r := &repo{
		dir: filepath.Join(home, "repo.git"),
		env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C", "TZ=UTC",
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		},
	}
	r.git(t, nil, "init", "--quiet", "--bare", "--template=", r.dir)
	return r
}

// fataler is testing.T or rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (r *repo) git(t fataler, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = r.env
	if args[0] != "init" {
		cmd.Env = append(slices.Clip(r.env), "GIT_DIR="+r.dir)
	}
	cmd.Stdin = bytes.NewReader(stdin)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, problems.String())
	}
	return out.String()
}

// entry is one file of a tree. The content of a submodule is its commit.
type entry struct {
	mode, content string
}

type tree map[string]entry

// fits reports whether the path can stand beside the others: no file is also a directory.
func (tr tree) fits(path string) bool {
	if _, taken := tr[path]; taken {
		return false
	}
	for other := range tr {
		if strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/") {
			return false
		}
	}
	return true
}

// write stores two trees as commits, with one git process, and returns their names.
func (r *repo) write(t fataler, before, after tree) (a, b string) {
	var in bytes.Buffer
	for i, tr := range []tree{before, after} {
		fmt.Fprintf(&in, "commit refs/heads/t%d\ncommitter t <t@example.com> 0 +0000\ndata 0\ndeleteall\n", i)
		for _, path := range slices.Sorted(maps.Keys(tr)) {
			e := tr[path]
			if e.mode == string(diff.ModeSubmodule) {
				fmt.Fprintf(&in, "M %s %s %s\n", e.mode, e.content, cQuote(path))
				continue
			}
			fmt.Fprintf(&in, "M %s inline %s\ndata %d\n%s\n", e.mode, cQuote(path), len(e.content), e.content)
		}
	}
	in.WriteString("done\n")
	r.git(t, in.Bytes(), "fast-import", "--quiet", "--force", "--done")
	return "refs/heads/t0", "refs/heads/t1"
}

// cQuote writes every byte of a path as an octal escape.
func cQuote(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		fmt.Fprintf(&b, `\%03o`, path[i])
	}
	b.WriteByte('"')
	return b.String()
}

var (
	oddNames = rapid.SampledFrom([]string{
		"a", "b", "main.go", "src", "x b", " b", "b ", "a b", "two words.txt", "tab\there", "line\nfeed", `quote"d`, `back\slash`,
		`\`, `"`, "é", "日本", "\xff\xfe", "caf\xe9.txt", "dev", "null", " lead", "trail ", "a → b", "-dash", "+plus", "@@", "bell\a",
		"esc\x1b[0m", "del\x7f", "rename from x", "cr\r", "vt\v", "ff\f", "bs\b",
	})
	paths = rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(oddNames, 1, 3).Draw(t, "segments"), "/")
	})
	rows = rapid.OneOf(
		rapid.SampledFrom([]string{
			"", "", "x", "y", "\t", " ", "}", "return nil", "-- a/x", "++ b/x", "-- /dev/null", "@@ -1 +1 @@", "@@ -1,2 +1,2 @@ f", "diff --git a/x b/x",
			`\ No newline at end of file`, "\\", "+", "-", "+added", "-deleted", "Binary files a/x and b/x differ", "GIT binary patch", "index 00..11",
			"cr\r", "\r", "a\rb", "v\vt", "f\ff", "\u2028", "\u0085", "日本語", "\xff\xfe\xfd", "caf\xe9", "\ufeffbom", "\u202ebidi", "func f() {", "class A:",
			"<<<<<<< HEAD", "-Subproject commit", "similarity index 100%",
		}),
		rapid.StringMatching(`[a-c ]{0,6}`),
		rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat("long ", rapid.IntRange(20, 4000).Draw(t, "repeat"))
		}),
	)
	contents = rapid.Custom(func(t *rapid.T) string {
		n := rapid.SampledFrom([]int{0, 1, 1, 2, 3, 5, 12, 40}).Draw(t, "lines")
		text := strings.Join(rapid.SliceOfN(rows, n, n).Draw(t, "rows"), "\n")
		switch rapid.IntRange(0, 9).Draw(t, "end") {
		case 0, 1:
			return text
		case 2:
			return strings.ReplaceAll(text, "\n", "\r\n") + "\r\n"
		case 3:
			return text + "\x00\n"
		default:
			return text + "\n"
		}
	})
	fileModes = rapid.SampledFrom([]string{"100644", "100644", "100644", "100755"})
	// Four zeros are an abbreviated object name, and git's word for no object.
	commits = rapid.StringMatching(`[0-9a-f]{40}`).Filter(func(oid string) bool { return !strings.HasPrefix(oid, "0000") })
	entries = rapid.Custom(func(t *rapid.T) entry {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			return entry{"120000", paths.Draw(t, "target")}
		case 1:
			return entry{"160000", commits.Draw(t, "commit")}
		default:
			return entry{fileModes.Draw(t, "mode"), contents.Draw(t, "content")}
		}
	})
)

// edit changes some lines of a file.
func edit(t *rapid.T, content string) string {
	lines := strings.SplitAfter(content, "\n")
	for range rapid.IntRange(1, 3).Draw(t, "edits") {
		i := rapid.IntRange(0, len(lines)-1).Draw(t, "at")
		switch rapid.IntRange(0, 3).Draw(t, "edit") {
		case 0:
			lines = slices.Insert(lines, i, rows.Draw(t, "row")+"\n")
		case 1:
			lines[i] = rows.Draw(t, "row") + "\n"
		case 2:
			lines[i] = ""
		case 3:
			lines[len(lines)-1] = strings.TrimSuffix(lines[len(lines)-1], "\n")
		}
	}
	return strings.Join(lines, "")
}

// change draws what becomes of one file.
func change(t *rapid.T, path string, e entry, after tree) {
	put := func(path string, e entry) {
		if after.fits(path) {
			after[path] = e
		}
	}
	text := e
	if e.mode == "100644" || e.mode == "100755" {
		text.content = edit(t, e.content)
	}
	switch rapid.IntRange(0, 10).Draw(t, "fate") {
	case 0: // deleted
	case 1:
		put(path, e)
	case 2:
		put(path, entries.Draw(t, "other")) // often a type change
	case 3:
		put(paths.Draw(t, "to"), e)
	case 4:
		put(paths.Draw(t, "to"), text)
	case 5:
		put(path, e)
		put(paths.Draw(t, "to"), text)
	case 6:
		if e.mode == "100644" {
			e.mode = "100755"
		}
		put(path, e)
	case 7:
		if e.mode == "100755" {
			text.mode = "100644"
		}
		put(path, text)
	case 8:
		if e.mode != "160000" && e.mode != "120000" {
			e.content = ""
		}
		put(path, e)
	default:
		put(path, text)
	}
}

// TestGit generates repositories, lets git compare two trees, and holds the parser to what git says without a patch
// (--raw and --numstat) and to the contents themselves.
func TestGit(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	rapid.Check(t, func(t *rapid.T) {
		before, after := tree{}, tree{}
		for range rapid.IntRange(0, 6).Draw(t, "files") {
			if path := paths.Draw(t, "path"); before.fits(path) {
				before[path] = entries.Draw(t, "entry")
			}
		}
		for _, path := range slices.Sorted(maps.Keys(before)) {
			change(t, path, before[path], after)
		}
		for range rapid.IntRange(0, 2).Draw(t, "new files") {
			if path := paths.Draw(t, "path"); after.fits(path) {
				after[path] = entries.Draw(t, "entry")
			}
		}
		draw := func(name string, choices ...string) string { return rapid.SampledFrom(choices).Draw(t, name) }
		options := strings.Fields(strings.Join([]string{
			draw("renames", "-M", "-M", "-M", "-M30%", "-C", "-C --find-copies-harder", "--no-renames", "-B -M"),
			draw("index", "--full-index", "--full-index", "--abbrev=4", ""),
			draw("binary", "", "", "--binary"),
			draw("context", "", "", "-U0", "-U1", "-U30", "-W"),
			draw("algorithm", "", "--patience", "--minimal"),
		}, " "))
		config := []string{
			"-c", "core.quotePath=" + draw("quotePath", "true", "true", "false"),
			"-c", "diff.suppressBlankEmpty=" + draw("suppressBlankEmpty", "false", "false", "true"),
		}
		a, b := r.write(t, before, after)
		text := r.git(t, nil, slices.Concat(config, []string{"diff"}, options, []string{a, b})...)
		// Without a patch, and before it: raw entries, then counts, all with NUL and with full object names.
		list := r.git(t, nil, slices.Concat([]string{"diff"}, options, []string{"--raw", "--numstat", "-z", "--abbrev=40", a, b})...)

		d, err := diff.ParseString(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		checkSections(t, text, d)
		checkStream(t, text, d)
		checkAgainstGit(t, text, parseList(t, list), d, before, after)
	})
}

// change as git lists it.
type listed struct {
	file
	oldOID, newOID string
}

// parseList reads the output of git diff --raw --numstat -z.
func parseList(t fataler, list string) []listed {
	t.Helper()
	fields := strings.Split(strings.TrimSuffix(list, "\x00"), "\x00")
	next := func() string {
		if len(fields) == 0 {
			t.Fatalf("git's list ends early: %q", list)
		}
		f := fields[0]
		fields = fields[1:]
		return f
	}
	var out []listed
	for len(fields) > 0 && strings.HasPrefix(fields[0], ":") {
		f := strings.Fields(strings.TrimPrefix(next(), ":"))
		l := listed{oldOID: f[2], newOID: f[3]}
		l.OldMode, l.NewMode, l.Status = f[0], f[1], f[4][:1]
		l.Similarity = -1
		l.Old = next()
		l.New = l.Old
		switch l.Status {
		case "R", "C":
			n, err := strconv.Atoi(f[4][1:])
			if err != nil {
				t.Fatalf("similarity: %v", err)
			}
			l.Similarity = n
			l.New = next()
		case "A":
			l.Old, l.OldMode = "", ""
		case "D":
			l.New, l.NewMode = "", ""
		}
		out = append(out, l)
	}
	for i := range out {
		f := strings.SplitN(next(), "\t", 3)
		if f[0] == "-" {
			out[i].Binary = true
		} else {
			out[i].Added, _ = strconv.Atoi(f[0])
			out[i].Deleted, _ = strconv.Atoi(f[1])
		}
		if f[2] == "" {
			next()
			next()
		}
	}
	return out
}

var hunkAtColumnZero = regexp.MustCompile(`(?m)^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: (.*))?$`)

// hunksOf finds hunk headers by column alone: inside a hunk nothing but a row's mark stands there.
func hunksOf(section string) []corpustest.Hunk {
	var out []corpustest.Hunk
	number := func(s string) int {
		if s == "" {
			return 1
		}
		n, _ := strconv.Atoi(s)
		return n
	}
	for _, m := range hunkAtColumnZero.FindAllStringSubmatch(section, -1) {
		out = append(out, corpustest.Hunk{OldStart: number(m[1]), OldLines: number(m[2]), NewStart: number(m[3]), NewLines: number(m[4])})
	}
	return out
}

func checkAgainstGit(t *rapid.T, patch string, list []listed, d *diff.Diff, before, after tree) {
	t.Helper()
	files := d.Files
	take := func() *diff.File {
		if len(files) == 0 {
			t.Fatalf("git lists more files than were read from\n%s", patch)
		}
		f := files[0]
		files = files[1:]
		return f
	}
	for _, want := range list {
		if want.Status == "T" {
			deleted, added := take(), take()
			one := want
			one.Status, one.New, one.NewMode = "D", "", ""
			one.Added, one.Binary = deleted.Added, deleted.Binary
			two := want
			two.Status, two.Old, two.OldMode = "A", "", ""
			two.Deleted, two.Binary = added.Deleted, added.Binary
			if !want.Binary && (deleted.Added != 0 || added.Deleted != 0) || want.Binary != (deleted.Binary || added.Binary) {
				t.Fatalf("type change of %q: wrong counts or binary", want.Old)
			}
			if want.Binary {
				one.Deleted, two.Added = deleted.Deleted, added.Added // git counts neither half
			} else {
				// The patch removes all of the old content and adds all of the new. The counts are of a comparison of the
				// two, which leaves out the lines that both have.
				one.Deleted, two.Added = len(splitLines(text(before[want.Old]))), len(splitLines(text(after[want.New])))
				if same := one.Deleted - want.Deleted; same < 0 || same != two.Added-want.Added {
					t.Fatalf("type change of %q: git counts -%d +%d of -%d +%d", want.Old, want.Deleted, want.Added, one.Deleted, two.Added)
				}
			}
			one.newOID, two.oldOID = strings.Repeat("0", 40), strings.Repeat("0", 40)
			checkFile(t, one, deleted, before, tree{})
			checkFile(t, two, added, tree{}, after)
			continue
		}
		checkFile(t, want, take(), before, after)
	}
	if len(files) > 0 {
		t.Fatalf("%d more files than git lists were read from\n%s", len(files), patch)
	}
}

func checkFile(t *rapid.T, want listed, f *diff.File, before, after tree) {
	t.Helper()
	want.Hunks = hunksOf(f.Raw)
	for i, m := range hunkAtColumnZero.FindAllStringSubmatch(f.Raw, -1) {
		if i < len(f.Hunks) && f.Hunks[i].Section != m[5] {
			t.Fatalf("section text %q, want %q\n%s", f.Hunks[i].Section, m[5], f.Raw)
		}
	}
	relax(&want.file, f.Raw)
	if d := cmp.Diff(want.file, parsed(f), cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("(-git +parser):\n%s\n%s", d, f.Raw)
	}
	if !strings.HasPrefix(want.oldOID, f.OldOID) || !strings.HasPrefix(want.newOID, f.NewOID) {
		t.Fatalf("objects %s and %s, want %s and %s", f.OldOID, f.NewOID, want.oldOID, want.newOID)
	}
	if f.Binary {
		return
	}
	checkContent(t, f, text(before[f.OldPath]), text(after[f.NewPath]))
}

// text is what git compares of an entry.
func text(e entry) string {
	if e.mode == string(diff.ModeSubmodule) {
		return "Subproject commit " + e.content + "\n"
	}
	return e.content
}

// checkContent rebuilds the new content from the old one and the hunks, and checks every line, its numbers, and which
// lines may be commented on.
func checkContent(t *rapid.T, f *diff.File, before, after string) {
	t.Helper()
	oldLines, newLines := splitLines(before), splitLines(after)
	oldShown, newShown := map[int]int{}, map[int]int{}
	var rebuilt strings.Builder
	copied := 0 // old lines that are in rebuilt or left out of it
	for i := range f.Hunks {
		h := &f.Hunks[i]
		first := h.OldStart
		if h.OldLines == 0 {
			first++
		}
		for ; copied < first-1; copied++ {
			rebuilt.WriteString(oldLines[copied])
		}
		for l := range h.Lines() {
			whole := l.Text
			if !l.NoEOL {
				whole += "\n"
			}
			if l.Op != diff.Add {
				if l.Old < 1 || l.Old > len(oldLines) || oldLines[l.Old-1] != whole {
					t.Fatalf("old line %d of %q is not %q\n%s", l.Old, f.OldPath, whole, f.Raw)
				}
				oldShown[l.Old] = i
				copied++
			}
			if l.Op != diff.Delete {
				if l.New < 1 || l.New > len(newLines) || newLines[l.New-1] != whole {
					t.Fatalf("new line %d of %q is not %q\n%s", l.New, f.NewPath, whole, f.Raw)
				}
				newShown[l.New] = i
				rebuilt.WriteString(whole)
			}
		}
	}
	if f.Status != diff.Deleted {
		for ; copied < len(oldLines); copied++ {
			rebuilt.WriteString(oldLines[copied])
		}
	}
	if rebuilt.String() != after {
		t.Fatalf("the hunks make %q of %q, want %q\n%s", rebuilt.String(), before, after, f.Raw)
	}
	for side, shown := range map[prosecutor.Side]map[int]int{prosecutor.Left: oldShown, prosecutor.Right: newShown} {
		for line := -1; line <= max(len(oldLines), len(newLines))+2; line++ {
			wantHunk, want := shown[line]
			hunk, ok := f.Commentable(side, line)
			if ok != want || hunk != wantHunk {
				t.Fatalf("%s %d of %q: hunk %d, %t, want %d, %t\n%s", side, line, f.Path(), hunk, ok, wantHunk, want, f.Raw)
			}
		}
	}
}

// splitLines splits after every line feed.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
