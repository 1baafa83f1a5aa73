package schemata

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/process"
)

// TestOperators holds every line of testdata/operators to the mutants that its comment lists: operator "mutated", or the
// reason of a mutant that is left out.
func TestOperators(t *testing.T) {
	dir := t.TempDir()
	src, err := os.ReadFile(filepath.Join("testdata", "operators.go.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module ex.com/o\n\ngo 1.22\n", "o.go": string(src)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, r := loadFile(t, dir, "o.go")
	mutants, sites := generate(f, func(Operator) bool { return true })
	got := make(map[int][]string)
	used := make(map[Operator]bool)
	var most int32
	for _, m := range mutants {
		text := fmt.Sprintf("%s %q", m.op, m.mutated())
		if m.skip != "" {
			text = "skip " + strings.TrimPrefix(m.skip, "arid: ")
		} else {
			used[m.op] = true
			if !m.alone {
				most++
				m.id = most
			}
		}
		if !slices.Contains(got[m.line], text) {
			got[m.line] = append(got[m.line], text)
		}
	}
	want := make(map[int][]string)
	for i, line := range strings.Split(string(src), "\n") {
		if _, list, ok := strings.Cut(line, "// want "); ok {
			want[i+1] = strings.Split(list, "; ")
		}
	}
	for i := range got {
		slices.Sort(got[i])
	}
	for i := range want {
		slices.Sort(want[i])
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for op := range severity {
		if !used[op] {
			t.Errorf("no example of %s", op)
		}
	}
	// All of them compile together.
	ws, err := newWorkspace(r.tool, f.pkg.mod, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws.packages, ws.sites = []*pkg{f.pkg}, map[*file][]*site{f: sites}
	if err := ws.render(); err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		if m.alone && m.op != Constant {
			t.Errorf("line %d: %s %q has to be built alone: %s", m.line, m.op, m.mutated(), m.why)
		}
	}
}

// loadFile type-checks a module of one package whose every line has changed.
func loadFile(t *testing.T, dir, name string) (*file, *run) {
	t.Helper()
	r := &run{root: dir, e: &Engine{}}
	r.req.Exec = process.Plain{}
	ctx := context.Background()
	if err := r.prepare(ctx, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	mod, err := r.tool.loadModule(ctx, dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range mod.packages {
		export, err := r.tool.exportData(ctx, mod, []*listed{list})
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.tool.load(mod, list, export, dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range p.files {
			if f.path == name {
				f.lines = make(map[int]bool)
				for i := range strings.Count(string(f.src), "\n") + 1 {
					f.lines[i+1] = true
				}
				return f, r
			}
		}
	}
	t.Fatalf("no file %s", name)
	return nil, nil
}

// TestDocumentedOperators holds the table of docs/hollow-test.md to the operators that exist.
func TestDocumentedOperators(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "hollow-test.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := make(map[Operator]bool)
	optional := make(map[Operator]bool)
	_, table, _ := strings.Cut(string(data), "| operator | example | becomes |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)`( \\(opt-in\\))? \\|").FindAllStringSubmatch(table, -1) {
		documented[Operator(m[1])] = true
		optional[Operator(m[1])] = m[2] != ""
	}
	for op := range severity {
		if !documented[op] {
			t.Errorf("%s is not documented", op)
		}
		if optional[op] != slices.Contains(OptIn(), op) {
			t.Errorf("%s: documented as opt-in: %v", op, optional[op])
		}
	}
	for op := range documented {
		if _, ok := severity[op]; !ok {
			t.Errorf("%s is documented and does not exist", op)
		}
	}
}

func TestFlatten(t *testing.T) {
	for src, want := range map[string]string{
		"f(\n\ta, // first\n\tb,\n)":              "f ( a , b , )",
		"x := func() {\n\ta()\n\tb()\n}":          "x := func ( ) { a ( ) ; b ( ) ; }",
		"s := `a\nb`":                             `s := "a\nb"`,
		"a.b[1:2] /* c */ + 0x1p-2 - 'x' &^ y...": "a . b [ 1 : 2 ] + 0x1p-2 - 'x' &^ y ...",
	} {
		if got, ok := flatten(src); !ok || got != want {
			t.Errorf("flatten(%q) = %q, %v, want %q", src, got, ok, want)
		}
	}
	if _, ok := flatten("'"); ok {
		t.Error("what does not scan is flattened")
	}
}

func TestSwitchesKeepTheirPromise(t *testing.T) {
	data, err := switchFiles.ReadFile("switches/switches.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), fmt.Sprintf("const Exit = %d\n", exitLimit)) {
		t.Errorf("package switches exits with another code than %d", exitLimit)
	}
}

func TestParseOutput(t *testing.T) {
	out := parseOutput([]byte("\x16=== RUN   TestA\nprinted\x16--- PASS: TestA (0.25s)\n\x16=== RUN   TestB\n\x16=== RUN   TestB/sub\n--- FAIL: TestFake (0.00s)\nPASS\n"))
	if out.running != "TestB" || len(out.failed) != 0 || out.green || out.complete || out.passed["TestA"] != 250e6 {
		t.Errorf("%+v", out)
	}
	out = parseOutput([]byte("\x16=== RUN   TestA\n\x16    --- FAIL: TestA/sub (0.00s)\n\x16--- FAIL: TestA (0.00s)\n\x16FAIL\n"))
	if !slices.Equal(out.failed, []string{"TestA"}) || !out.complete || out.green || out.running != "" {
		t.Errorf("%+v", out)
	}
	out = parseOutput([]byte("testing: warning: no tests to run\n\x16PASS\n"))
	if !out.noTests || !out.green || out.ran {
		t.Errorf("%+v", out)
	}
}
