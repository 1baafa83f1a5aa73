package generated

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// checkAttr asks git itself what the attributes of paths are.
func checkAttr(t interface {
	Fatalf(string, ...any)
}, dir string, paths, attrs []string) map[string]map[string]string {
	args := append([]string{"-c", "core.attributesFile=/dev/null", "-c", "core.ignoreCase=false", "check-attr", "-z", "--stdin"}, attrs...)
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_ATTR_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git check-attr: %v: %s", err, &stderr)
	}
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	result := make(map[string]map[string]string)
	for i := 0; i+2 < len(fields); i += 3 {
		if result[fields[i]] == nil {
			result[fields[i]] = make(map[string]string)
		}
		result[fields[i]][fields[i+1]] = fields[i+2]
	}
	return result
}

// asGit writes a value as git check-attr prints it.
func asGit(v value) string {
	switch v.state {
	case set:
		return "set"
	case unset:
		return "unset"
	case valued:
		return v.text
	default:
		return "unspecified"
	}
}

func repository(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func compareWithGit(t interface {
	Fatalf(string, ...any)
}, dir string, contents map[string]string, paths []string) {
	attrs := []string{"linguist-generated", "linguist-vendored", "m", "binary"}
	var files []*attributeFile
	for _, d := range []string{"", "a", "a/b"} {
		name := filepath.Join(dir, d, ".gitattributes")
		if err := os.WriteFile(name, []byte(contents[d]), 0o644); err != nil {
			t.Fatalf("%v", err)
		}
		files = append(files, parseAttributes(d, []byte(contents[d])))
	}
	want := checkAttr(t, dir, paths, attrs)
	for _, p := range paths {
		on := files[:1]
		if strings.HasPrefix(p, "a/") {
			on = files[:2]
		}
		if strings.HasPrefix(p, "a/b/") {
			on = files[:3]
		}
		got := attributesOf(p, on)
		for _, attr := range attrs {
			if g, w := asGit(got[attr]), want[p][attr]; g != w {
				t.Fatalf("%q %s: got %q, git says %q\nroot %q\na %q\na/b %q", p, attr, g, w, contents[""], contents["a"], contents["a/b"])
			}
		}
	}
}

func TestAttributesAgreeWithGit(t *testing.T) {
	dir := repository(t)
	piece := rapid.SampledFrom([]string{
		"a", "b", "x", ".go", "/", "/", "*", "*", "**", "**/", "/**", "?", "[ab]", "[!a]", "[^b]", "[a-x]", "[[:alpha:]]", "[]a]", "[a",
		"[[:nope:]]", "[a-]", `[\]]`, "[[:a]", `\*`, `\`, "é", "-", "!", "\"", "#", "[b/]", `[\a-x]`,
	})
	pat := rapid.OneOf(
		rapid.Map(rapid.SliceOfN(piece, 1, 6), func(p []string) string { return strings.Join(p, "") }),
		rapid.Map(rapid.SliceOfN(piece, 1, 4), func(p []string) string { return `"` + strings.Join(p, "") + `"` }),
		rapid.SampledFrom([]string{"*", "*.go", "a/**", "/a", "a/", "a/b/*.go", `"a\040b"`, `"a\141"`, "[attr]m", "[attr]binary", "[attr]", `"[attr]m"`, "[attr]-m", "[attr]x y"}),
	)
	assign := rapid.SampledFrom([]string{
		"linguist-generated", "-linguist-generated", "!linguist-generated", "linguist-generated=false", "linguist-generated=true",
		"linguist-generated=", "linguist-vendored", "-linguist-vendored", "!linguist-vendored", "m", "-m", "!m", "m=1", "binary",
		"-binary", "a b", "b@d", "--x", "=1", "-linguist-vendored=x", "linguist-generated=a=b",
	})
	space := rapid.SampledFrom([]string{" ", "\t", "  ", " \t"})
	line := rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		b.WriteString(rapid.SampledFrom([]string{"", "", "", " ", "\t", "#"}).Draw(t, "indent"))
		b.WriteString(pat.Draw(t, "pattern"))
		for _, a := range rapid.SliceOfN(assign, 0, 3).Draw(t, "attributes") {
			b.WriteString(space.Draw(t, "space") + a)
		}
		return b.String() + rapid.SampledFrom([]string{"\n", "\n", "\r\n", " \n", ""}).Draw(t, "end")
	})
	file := rapid.Map(rapid.SliceOfN(line, 0, 5), func(l []string) string { return strings.Join(l, "") })
	names := rapid.SampledFrom([]string{"a", "b", "x", "ab", "xa", "x.go", "a b", "é", "a*", "]", "-", "!a", "\"a", "#a", "[a", `\a`, "A"})
	p := rapid.Map(rapid.SliceOfN(names, 1, 4), func(s []string) string { return strings.Join(s, "/") })
	rapid.Check(t, func(t *rapid.T) {
		contents := map[string]string{
			"":    file.Draw(t, "root"),
			"a":   file.Draw(t, "a"),
			"a/b": file.Draw(t, "a/b"),
		}
		compareWithGit(t, dir, contents, rapid.SliceOfNDistinct(p, 1, 20, rapid.ID[string]).Draw(t, "paths"))
	})
}

func TestAttributeRules(t *testing.T) {
	dir := repository(t)
	paths := []string{"x.go", "a/x.go", "a/b/x.go", "a/b/c/x.go", "b/x.go", "a b", "gen/x.go", "A/x.go", "a/gen/deep/x.go", "ax/y/b"}
	long := "x.go " + strings.Repeat("m ", 1100) + "linguist-generated\n"
	for name, contents := range map[string]map[string]string{
		"last line wins":            {"": "*.go linguist-generated\nx.go -linguist-generated\n"},
		"deeper directory wins":     {"": "*.go linguist-generated\n", "a": "*.go -linguist-generated\n", "a/b": "x.go linguist-generated=true\n"},
		"unspecified again":         {"": "*.go linguist-generated\n", "a": "*.go !linguist-generated\n"},
		"macro":                     {"": "[attr]m linguist-generated -linguist-vendored\n*.go m\n", "a": "x.go -m\n"},
		"macro after use":           {"": "*.go m\n[attr]m linguist-generated\n[attr]m linguist-vendored\n"},
		"macro below the root":      {"a": "[attr]m linguist-generated\n*.go m\n"},
		"macro within itself":       {"": "[attr]m m linguist-generated\n*.go m\n"},
		"binary redefined":          {"": "[attr]binary linguist-generated\n*.go binary\n"},
		"negative pattern":          {"": "*.go linguist-generated\n!x.go -linguist-generated\n"},
		"directory pattern":         {"": "a/ linguist-generated\ngen/** linguist-generated\n"},
		"anchored":                  {"": "/x.go linguist-generated\na/x.go linguist-vendored\n", "a": "/x.go linguist-generated=1\n"},
		"quoted":                    {"": "\"a b\" linguist-generated\n\"\\141/x.go\" linguist-vendored\n"},
		"bad attribute voids line":  {"": "*.go linguist-generated b@d\n"},
		"byte order mark":           {"": "\xef\xbb\xbf*.go linguist-generated\n"},
		"carriage returns":          {"": "*.go linguist-generated\r\nx.go -linguist-generated\r\n"},
		"overly long line":          {"": long},
		"doublestar after literals": {"": "a**/b linguist-generated\n"},
		"no line feed at the end":   {"": "*.go linguist-generated"},
		"zero byte":                 {"": "*.go linguist-generated\x00 b@d\n"},
	} {
		t.Run(name, func(t *testing.T) { compareWithGit(t, dir, contents, paths) })
	}
}

// Every byte is in the named classes that git has it in.
func TestClassesAgreeWithGit(t *testing.T) {
	dir := repository(t)
	var content strings.Builder
	var attrs []string
	for name := range classes {
		attrs = append(attrs, "is-"+name, "no-"+name)
		content.WriteString("[[:" + name + ":]] is-" + name + "\n[^[:" + name + ":]] no-" + name + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitattributes"), []byte(content.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for b := 1; b < 256; b++ {
		if p := string([]byte{byte(b)}); p != "/" && p != "." {
			paths = append(paths, p)
		}
	}
	want := checkAttr(t, dir, paths, attrs)
	files := []*attributeFile{parseAttributes("", []byte(content.String()))}
	for _, p := range paths {
		got := attributesOf(p, files)
		for _, attr := range attrs {
			if g, w := asGit(got[attr]), want[p][attr]; g != w {
				t.Errorf("%q %s: got %q, git says %q", p, attr, g, w)
			}
		}
	}
}

// A pattern of many stars must not take for ever.
func TestManyStarsEnd(t *testing.T) {
	w := compileWild(strings.Repeat("*a", 60) + "b")
	if w.match(strings.Repeat("a", 300)) {
		t.Error("matched")
	}
	w = compileWild(strings.Repeat("**/a/", 40) + "b")
	if w.match(strings.Repeat("a/", 200) + "c") {
		t.Error("matched")
	}
}

func FuzzAttributes(f *testing.F) {
	f.Add("*.go linguist-generated\n[attr]m -linguist-vendored\n\"a\\101\" m\n", "a/b.go")
	f.Add("[a-[:alpha:]-z]**/x !m\n", "a/x")
	f.Fuzz(func(t *testing.T, content, name string) {
		if name == "" {
			return
		}
		attributesOf(name, []*attributeFile{parseAttributes("", []byte(content))})
	})
}
