package glob_test

import (
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/prosecutor/blast/glob"
)

func match(t testing.TB, g, path string) bool {
	t.Helper()
	s, err := glob.New(g)
	if err != nil {
		t.Fatal(err)
	}
	_, ok := s.Match(path)
	return ok
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"src/**", "src/a.go", true},
		{"src/**", "src/a/b.go", true},
		{"src/**", "srcs/a.go", false},
		{"src/**", "x/src/a.go", false},
		{"src/**", "src", false},
		{"src/*/x/**", "src/a/x", false},
		{"src/*/x/**", "src/a/x/y", true},
		{"**/gen/**", "gen/a", true},
		{"**/gen/**", "a/gen", false},
		{"src/*", "src/a.go", true},
		{"src/*", "src/a/b.go", false},
		{"**/x", "x", true},
		{"**/x", "a/b/x", true},
		{"**/x", "a/bx", false},
		{"**/*.go", "a.go", true},
		{"**/*.go", "a/b/c.go", true},
		{"**/*.go", "a/b/c.goo", false},
		{"a/**/b", "a/b", true},
		{"a/**/b", "a/x/y/b", true},
		{"deploy/gate*.yaml", "deploy/gate-prod.yaml", true},
		{"deploy/gate*.yaml", "deploy/gate/prod.yaml", false},
		{"Internal/**", "internal/a", false},
		{"internal", "internal/a", false},
		{"{a,b}/**", "b/c", true},
		{"**", "any/path", true},
		{"db/migrations/**", "db/migrations/2 add.sql", true},
		{"internal/**", "internal/\xff\xfe.go", true},
		{"internal/*.go", "internal/\xff\xfe.go", true},
		{"internal/auth/**", "internal/auth/new\nline.go", true},
		{`a\*b`, "a*b", true},
		{`a\*b`, "axb", false},
	} {
		if got := match(t, c.glob, c.path); got != c.want {
			t.Errorf("%q matches %q: %v, want %v", c.glob, c.path, got, c.want)
		}
	}
}

func TestFirstGlobIsNamed(t *testing.T) {
	s, err := glob.New("docs/**", "**/*.go", "src/**")
	if err != nil {
		t.Fatal(err)
	}
	if g, ok := s.Match("src/a.go"); !ok || g != "**/*.go" {
		t.Errorf("matched %q, %v", g, ok)
	}
	if (glob.Set{}).Empty() != true || s.Empty() {
		t.Error("Empty")
	}
	if _, ok := (glob.Set{}).Match("a"); ok {
		t.Error("the zero set matches")
	}
}

func TestCovers(t *testing.T) {
	s, err := glob.New("internal/auth/**", "db/*.sql", "**/secret/*", "exact/file")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"internal/auth": true, "internal": true, "internal/auth/lib": true, "internal/author": false, "int": false,
		"db": true, "dbs": false, "exact": true, "exact/file": true, "exact/file/x": false, "secret": false, "a/secret": false, "": false,
		"**": false, // a name like any other, and no place that a glob names
	} {
		if _, got := s.Covers(path); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
}

func TestCoversNamesTheFirstGlob(t *testing.T) {
	s := glob.Must("docs/**", "internal/auth/*.go", "internal/**")
	for path, want := range map[string]string{"internal": "internal/auth/*.go", "internal/pay": "internal/**", "elsewhere": ""} {
		if g, _ := s.Covers(path); g != want {
			t.Errorf("%s: %q, want %q", path, g, want)
		}
	}
}

func TestMalformedGlobsAreReportedAndTheOthersKept(t *testing.T) {
	s, err := glob.New("a[", "b/**", "{c")
	if err == nil || !strings.Contains(err.Error(), `"a["`) || !strings.Contains(err.Error(), `"{c"`) {
		t.Errorf("error %v", err)
	}
	if _, ok := s.Match("b/x"); !ok {
		t.Error("the good glob was lost")
	}
}

func TestMustRefusesAMalformedGlob(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), `"a["`) {
			t.Errorf("panic with %v", err)
		}
	}()
	glob.Must("b/**", "a[")
}

// What doublestar says of a glob holds, but that "dir/**" is only what is below dir.
func TestPreparedEqualsDoublestar(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", "ab", "*", "**", "/", "/", "?", "[ab]", "{a,b}", `\*`, "é", ".go"})
	path := rapid.SampledFrom([]string{"a", "b", "ab", "/", "/", "*", "é", ".go", "\xff", " "})
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.Map(rapid.SliceOfN(piece, 0, 7), func(pieces []string) string { return strings.Join(pieces, "") }).
			Filter(doublestar.ValidatePattern).Draw(t, "glob")
		p := strings.Join(rapid.SliceOfN(path, 0, 7).Draw(t, "path"), "")
		s, err := glob.New(g)
		if err != nil {
			t.Fatal(err)
		}
		oracle := g
		if strings.HasSuffix(g, "/**") {
			oracle += "/*"
		}
		want := doublestar.MatchUnvalidated(oracle, p)
		if _, got := s.Match(p); got != want {
			t.Fatalf("glob %q, path %q: got %v, want %v", g, p, got, want)
		}
	})
}
