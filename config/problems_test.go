package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestProblemIsOneLine(t *testing.T) {
	for _, c := range []struct {
		problem Problem
		want    string
	}{
		{Problem{File: "p.yml", Line: 3, Column: 5, Key: "a.b", Message: "unknown key", Allowed: "c, d", Suggestion: "c"}, `p.yml:3:5: a.b: unknown key; allowed: c, d; did you mean "c"?`},
		{Problem{File: "p.yml", Message: "the file is too large"}, "p.yml: the file is too large"},
		{Problem{Line: 1, Column: 1, Message: "m"}, "1:1: m"},
		{Problem{Message: "m"}, "m"},
		{Problem{File: "a\nb.yml", Line: 1, Column: 1, Message: "m"}, `"a\nb.yml":1:1: m`},
	} {
		if got := c.problem.String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	keys := []string{"medium_lines", "critical", "source", "lenses", "max_laps", "low", "high"}
	for s, want := range map[string]string{
		"medium_line": "medium_lines", "mediumLines": "medium_lines", "MEDIUM-LINES": "medium_lines", "sorce": "source", "hgih": "high",
		"lens": "lenses", "lo": "low", "laps": "", "colour": "", "": "", "x": "", "maxlap": "max_laps", strings.Repeat("medium_lines", 9): "",
	} {
		if got := nearest(s, keys); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "bc", 1}, {"kitten", "sitting", 3}, {"é", "e", 1}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestFilesThatAreNoText(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		want string
	}{
		"utf16 little":   {"\xff\xfea\x00", "p.yml: the file is UTF-16; save it as UTF-8"},
		"utf16 big":      {"\xfe\xff\x00a", "p.yml: the file is UTF-16; save it as UTF-8"},
		"invalid utf8":   {"enabled: true\n# \xc3\x28\n", "p.yml:2:3: the file is not valid UTF-8 here"},
		"cut utf8":       {"# \xe2\x82", "p.yml:1:3: the file is not valid UTF-8 here"},
		"nul":            {"enabled: true\x00\n", "p.yml:1:14: the file holds the invisible character U+0000 here"},
		"escape":         {"# \x1b[2J", "p.yml:1:3: the file holds the invisible character U+001B here"},
		"lone return":    {"enabled: true\rfix: {}\n", "p.yml:1:14: the file holds the invisible character U+000D here"},
		"right to left":  {"fix: {} # \u202eeurt\n", "p.yml:1:11: the file holds the invisible character U+202E here"},
		"line separator": {"a\u2028b", "p.yml:1:2: the file holds the invisible character U+2028 here"},
		"inner mark":     {"é\ufeff", "p.yml:1:2: the file holds the invisible character U+FEFF here"},
		"too large":      {strings.Repeat("#", MaxFileSize+1), "p.yml: the file has 1048577 bytes; at most 1048576 are read"},
		"deep flow":      {strings.Repeat("[", 1000), "p.yml:1:21: lists and keys are nested more than 20 deep"},
		"deep list":      {strings.Repeat("- ", 1000), "p.yml:1:41: lists and keys are nested more than 20 deep"},
		"deep keys":      {deepKeys(30), "p.yml:21:22: lists and keys are nested more than 20 deep"},
		"many keys":      {strings.Repeat("a: b\n", 10_001), "p.yml:10001:2: the file has more than 10000 keys"},
		"alias bomb":     {"a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "p.yml:1:4: anchors are not supported; write the value out, or put a text that starts with & in quotes"},
	} {
		_, err := ParsePolicy("p.yml", []byte(c.data))
		if err == nil {
			t.Errorf("%s is accepted", name)
			continue
		}
		if !slices.Contains(strings.Split(err.Error(), "\n"), c.want) {
			t.Errorf("%s: got %q, want %q", name, err, c.want)
		}
	}
}

func deepKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestFilesThatAreOddAndFine(t *testing.T) {
	want := DefaultPolicy()
	want.HoldFor = Duration(time.Hour)
	for name, text := range map[string]string{
		"byte order mark": "\ufeffhold_for: 1h\n",
		"windows lines":   "hold_for: 1h\r\nfix:\r\n  width: 3\r\n",
		"no last newline": "hold_for: 1h",
		"trailing tabs":   "hold_for: 1h\t\n",
		"replacement":     "hold_for: 1h # \ufffd\n",
	} {
		got, err := ParsePolicy("p.yml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got.Hash() != want.Hash() {
			t.Errorf("%s: hold_for is %s", name, got.HoldFor)
		}
	}
}

func TestWindowsLinesKeepTheirPlaces(t *testing.T) {
	_, err := ParsePolicy("p.yml", []byte("\ufefffix:\r\n  width: 3\r\n  widht: 4\r\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "p.yml:3:3: fix.widht: ") {
		t.Errorf("got %v", err)
	}
}

func TestReportsAreBounded(t *testing.T) {
	_, err := ParsePolicy("p.yml", []byte(strings.Repeat("x: 1\n", 5000)))
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	if last := problems[len(problems)-1]; len(problems) != maxProblems+1 || last.String() != "p.yml: 4900 more problems are not shown" {
		t.Errorf("%d problems, the last is %s", len(problems), last)
	}
}

func TestLoadTellsAFileThatIsWrongFromOneThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	wrong, right := filepath.Join(dir, "wrong.yml"), filepath.Join(dir, "right.yml")
	for path, text := range map[string]string{wrong: "x: 1\n", right: ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, load := range map[string]func(string) error{
		"policy": func(path string) error { _, err := LoadPolicy(path); return err },
		"server": func(path string) error { _, err := LoadServer(path); return err },
	} {
		var problems Problems
		if err := load(right); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := load(wrong); !errors.As(err, &problems) || problems[0].File != wrong {
			t.Errorf("%s: a wrong file gives %v", name, err)
		}
		if err := load(filepath.Join(dir, "none.yml")); !errors.Is(err, os.ErrNotExist) || errors.As(err, &problems) {
			t.Errorf("%s: no file gives %v", name, err)
		}
		if err := load(dir); err == nil || errors.As(err, &problems) {
			t.Errorf("%s: a directory gives %v", name, err)
		}
	}
}
