package schemata_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/process"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/schemata"
)

const addCode = "package m\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n"

const addTest = "package m\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n"

// TestShapesOfModules measures the same function in modules of all shapes: its three mutants are killed in each.
func TestShapesOfModules(t *testing.T) {
	for name, c := range map[string]struct {
		files  map[string]string
		file   string
		killer string
	}{
		"module without a version": {files: map[string]string{"go.mod": "module ex.com/m\n", "m.go": addCode, "m_test.go": addTest}},
		"old language version":     {files: map[string]string{"go.mod": "module ex.com/m\n\ngo 1.12\n", "m.go": addCode, "m_test.go": addTest}},
		"old version and a constraint": {files: map[string]string{
			"go.mod": "module ex.com/m\n\ngo 1.16\n", "m.go": "// Copyright.\n\n//go:build " + runtime.GOOS + " || never\n// +build " + runtime.GOOS + " never\n\n// Package m adds.\n" + addCode, "m_test.go": addTest}},
		"comment after the package clause": {files: map[string]string{"go.mod": "module ex.com/m\n\ngo 1.22\n", "m.go": strings.Replace(addCode, "package m", "package m // adds", 1), "m_test.go": addTest}},
		"external tests": {files: map[string]string{"go.mod": "module ex.com/m\n\ngo 1.22\n", "m.go": addCode,
			"x_test.go": "package m_test\n\nimport (\n\t\"testing\"\n\n\t\"ex.com/m\"\n)\n\nfunc TestAdd(t *testing.T) {\n\tif m.Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n"}},
		"TestMain": {files: map[string]string{"go.mod": "module ex.com/m\n\ngo 1.22\n", "m.go": addCode, "m_test.go": addTest,
			"main_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) {\n\tcode := m.Run()\n\tos.Exit(code)\n}\n"}},
		"only a TestMain notices": {files: map[string]string{"go.mod": "module ex.com/m\n\ngo 1.22\n", "m.go": addCode,
			"main_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestNothing(t *testing.T) {}\n\nfunc TestMain(m *testing.M) {\n\tcode := m.Run()\n\tif Add(1, 2) != 3 {\n\t\tcode = 1\n\t}\n\tos.Exit(code)\n}\n"}, killer: "TestMain"},
		"fuzz seeds": {files: map[string]string{"go.mod": "module ex.com/m\n\ngo 1.22\n", "m.go": addCode,
			"m_test.go": "package m\n\nimport \"testing\"\n\nfunc FuzzAdd(f *testing.F) {\n\tf.Add(1, 2)\n\tf.Fuzz(func(t *testing.T, a, b int) {\n\t\tif Add(a, b) != b+a {\n\t\t\tt.Fatal()\n\t\t}\n\t})\n}\n"}, killer: "FuzzAdd"},
		"example": {files: map[string]string{"go.mod": "module ex.com/m\n\ngo 1.22\n", "m.go": addCode,
			"m_test.go": "package m_test\n\nimport (\n\t\"fmt\"\n\n\t\"ex.com/m\"\n)\n\nfunc ExampleAdd() {\n\tfmt.Println(m.Add(1, 2))\n\t// Output: 3\n}\n"}, killer: "ExampleAdd"},
		"subtests in parallel": {files: map[string]string{"go.mod": "module ex.com/m\n\ngo 1.22\n", "m.go": addCode,
			"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestOther(t *testing.T) { t.Parallel() }\n\nfunc TestAdd(t *testing.T) {\n\tfor _, n := range []int{1, 2} {\n\t\tt.Run(\"n\", func(t *testing.T) {\n\t\t\tt.Parallel()\n\t\t\tif Add(n, 2) != n+2 {\n\t\t\t\tt.Fatal()\n\t\t\t}\n\t\t})\n\t}\n}\n"}},
		"internal package of a sub-directory module": {files: map[string]string{"README.md": "x\n", "go/go.mod": "module ex.com/m\n\ngo 1.22\n", "go/internal/m/m.go": addCode, "go/internal/m/m_test.go": addTest}, file: "go/internal/m/m.go"},
		"package main": {files: map[string]string{"go.mod": "module ex.com/m\n\ngo 1.22\n", "cmd/x/m.go": strings.Replace(addCode, "package m", "package main", 1) + "\nfunc main() {}\n",
			"cmd/x/m_test.go": strings.Replace(addTest, "package m", "package main", 1)}, file: "cmd/x/m.go"},
		"workspace": {files: map[string]string{"go.work": "go 1.22\n\nuse (\n\t./a\n\t./b\n)\n", "a/go.mod": "module ex.com/a\n\ngo 1.22\n", "a/m.go": addCode, "a/m_test.go": "package m\n\nimport (\n\t\"testing\"\n\n\t\"ex.com/b\"\n)\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != b.Three {\n\t\tt.Fatal()\n\t}\n}\n",
			"b/go.mod": "module ex.com/b\n\ngo 1.22\n", "b/b.go": "package b\n\nconst Three = 3\n"}, file: "a/m.go"},
		"module outside of the workspace": {files: map[string]string{"go.work": "go 1.22\n\nuse ./b\n", "a/go.mod": "module ex.com/a\n\ngo 1.22\n", "a/m.go": addCode, "a/m_test.go": addTest,
			"b/go.mod": "module ex.com/b\n\ngo 1.22\n", "b/b.go": "package b\n"}, file: "a/m.go"},
		"vendored": {files: map[string]string{"go.mod": "module ex.com/m\n\ngo 1.22\n\nrequire ex.com/dep v1.0.0\n", "m.go": addCode, "m_test.go": strings.Replace(strings.Replace(addTest, "import \"testing\"", "import (\n\t\"testing\"\n\n\t\"ex.com/dep\"\n)", 1), "!= 3", "!= dep.Three", 1),
			"vendor/modules.txt": "# ex.com/dep v1.0.0\n## explicit\nex.com/dep\n", "vendor/ex.com/dep/d.go": "package dep\n\nconst Three = 3\n"}},
		"embedded files": {files: map[string]string{"go.mod": "module ex.com/m\n\ngo 1.22\n", "three.txt": "3", "m.go": strings.Replace(addCode, "package m\n", "package m\n\nimport _ \"embed\"\n\n//go:embed three.txt\nvar Three string\n", 1),
			"m_test.go": strings.Replace(addTest, "!= 3", "!= int(Three[0]-'0')", 1)}},
		"the runtime's name is taken": {files: map[string]string{"go.mod": "module ex.com/m\n\ngo 1.22\n", "m.go": strings.Replace(addCode, "a + b", "a + (b)", 1), "m_test.go": addTest, "z.go": "package m\n\nvar on = 1\n\nvar _ = on\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, c.files)
			file := c.file
			if file == "" {
				file = "m.go"
			}
			before := tree(t, dir)
			r := measure(t, request(dir, allLines(t, dir, file)))
			if r.Outcome != hollowtest.KilledAll || r.Summary.Killed != 2 || r.Summary.Total != 2 {
				t.Fatal(show(r))
			}
			killer := c.killer
			if killer == "" {
				killer = "TestAdd"
			}
			for _, m := range r.Mutants {
				if m.Killer != killer {
					t.Errorf("killer %q, want %q", m.Killer, killer)
				}
			}
			if d := cmp.Diff(before, tree(t, dir)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestUnmeasurable holds what cannot be measured to say so, and to be no good result.
func TestUnmeasurable(t *testing.T) {
	mod := "module ex.com/m\n\ngo 1.22\n"
	for name, c := range map[string]struct {
		files   map[string]string
		outcome hollowtest.Verdict
		reason  string
	}{
		"no module":            {map[string]string{"m.go": addCode}, hollowtest.CouldNotMeasure, "m.go"},
		"does not compile":     {map[string]string{"go.mod": mod, "m.go": addCode + "\nvar x int = \"\"\n", "m_test.go": addTest}, hollowtest.CouldNotMeasure, "does not compile"},
		"does not parse":       {map[string]string{"go.mod": mod, "m.go": addCode + "\nfunc {\n", "m_test.go": addTest}, hollowtest.CouldNotMeasure, "m.go"},
		"tests do not compile": {map[string]string{"go.mod": mod, "m.go": addCode, "m_test.go": addTest + "\nvar x int = \"\"\n"}, hollowtest.CouldNotMeasure, "do not build"},
		"missing dependency":   {map[string]string{"go.mod": mod, "m.go": "package m\n\nimport _ \"ex.com/none\"\n\nfunc Add(a, b int) int { return a + b }\n", "m_test.go": addTest}, hollowtest.CouldNotMeasure, "ex.com/none"},
		"no tests":             {map[string]string{"go.mod": mod, "m.go": addCode}, hollowtest.Survivors, "not covered"},
		"a suite that never runs": {map[string]string{"go.mod": mod, "m.go": addCode, "m_test.go": addTest,
			"main_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n"}, hollowtest.CouldNotMeasure, ""},
		"constraint":            {map[string]string{"go.mod": mod, "m.go": "//go:build never\n\n" + addCode, "o.go": "package m\n", "m_test.go": "package m\n"}, hollowtest.NothingMutable, "1 skipped"},
		"only constrained file": {map[string]string{"go.mod": mod, "m.go": "//go:build never\n\n" + addCode}, hollowtest.NothingMutable, "1 skipped"},
		"testdata":              {map[string]string{"go.mod": mod, "testdata/m.go": addCode, "o.go": "package m\n"}, hollowtest.NothingMutable, "1 skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, c.files)
			file := "m.go"
			if c.files[file] == "" {
				file = "testdata/m.go"
			}
			r := measure(t, request(dir, allLines(t, dir, file)))
			if r.Outcome != c.outcome || !strings.Contains(r.Reason, c.reason) {
				t.Error(show(r))
			}
			if r.Reason == "" || len(r.Files) != 1 {
				t.Error(show(r))
			}
		})
	}
}

func TestGeneratedFiles(t *testing.T) {
	code := "// Code generated by x. DO NOT EDIT.\n\n" + addCode
	dir := write(t, map[string]string{"go.mod": "module ex.com/m\n\ngo 1.22\n", "m.go": code, "m_test.go": addTest})
	if r := measure(t, request(dir, map[string][]int{"m.go": {6}})); r.Outcome != hollowtest.NothingMutable || r.Files[0].Reason != "generated file" {
		t.Error(show(r))
	}
	// A change that brings the line along cannot excuse itself.
	if r := measure(t, request(dir, map[string][]int{"m.go": {1, 6}})); r.Outcome != hollowtest.KilledAll {
		t.Error(show(r))
	}
}

func TestSameBaseNames(t *testing.T) {
	files := map[string]string{"go.mod": "module ex.com/m\n\ngo 1.22\n"}
	lines := map[string][]int{}
	for _, d := range []string{"a/util", "b/util", "c/v2", "d/v2"} {
		files[d+"/m.go"], files[d+"/m_test.go"] = addCode, addTest
		lines[d+"/m.go"] = []int{4}
	}
	dir := write(t, files)
	if r := measure(t, request(dir, lines)); r.Outcome != hollowtest.KilledAll || r.Summary.Killed != 8 {
		t.Error(show(r))
	}
}

func TestOptInOperators(t *testing.T) {
	dir := small(t, "import \"sync\"\n\nvar mu sync.Mutex\n\nfunc F(n int) int {\n\tmu.Lock()\n\tdefer mu.Unlock()\n\treturn n\n}\n",
		"import \"testing\"\n\nfunc TestF(t *testing.T) {\n\tif F(1)+F(2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n")
	req := request(dir, map[string][]int{"s.go": {8, 9}})
	if r := measure(t, req); len(r.Mutants) != 0 {
		t.Error(show(r))
	}
	r := measureWith(t, &schemata.Engine{Enable: schemata.OptIn()}, req)
	wantStatus(t, one(t, r, "s.go", 8, schemata.RemoveLock, ""), hollowtest.Killed)
	m := one(t, r, "s.go", 9, schemata.RemoveUnlock, "")
	if !m.Status.Noticed() || m.Killer != "TestF" {
		t.Errorf("%+v", m)
	}
}

func TestFewPerLine(t *testing.T) {
	dir := small(t, "func F(a, b, c, d int) bool { return a+b < c*d && a-b > c%7 || a == b && c < 3 }\n", "import \"testing\"\n\nfunc TestF(t *testing.T) { F(1, 2, 3, 4) }\n")
	r := measureWith(t, &schemata.Engine{}, request(dir, map[string][]int{"s.go": {3}}))
	if n := count(r, func(m hollowtest.Mutant) bool { return m.Status != hollowtest.Skipped }); n != 6 {
		t.Error(show(r))
	}
	for _, m := range r.Mutants {
		if m.Status == hollowtest.Skipped && (m.Pending || m.Reason != "more than 6 mutants on the line") {
			t.Errorf("%+v", m)
		}
	}
}

func TestBudgetEnds(t *testing.T) {
	dir := small(t, "func Add(a, b int) int { return a + b }\n", "import (\n\t\"testing\"\n\t\"time\"\n)\n\nfunc TestAdd(t *testing.T) {\n\ttime.Sleep(30 * time.Second)\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n")
	req := request(dir, map[string][]int{"s.go": {3}})
	req.Budget = 3 * time.Second
	r := measure(t, req)
	if r.Outcome != hollowtest.CouldNotMeasure || r.Problem != hollowtest.TimeLimit || r.Summary.Skipped != r.Summary.Total {
		t.Error(show(r))
	}
	for _, m := range r.Mutants {
		if !m.Pending {
			t.Errorf("%+v", m)
		}
	}
}

// TestOwnEnvironmentStaysOwn holds test processes to an environment without what this process has in its own.
func TestOwnEnvironmentStaysOwn(t *testing.T) {
	t.Setenv("PROSECUTOR_SECRET", "hush")
	exec := &recorder{}
	dir := small(t, "func Add(a, b int) int { return a + b }\n", "import \"testing\"\n\nfunc TestAdd(t *testing.T) { Add(1, 2) }\n")
	req := request(dir, map[string][]int{"s.go": {3}})
	req.Exec, req.Env = exec, []string{"GIVEN=yes"}
	measure(t, req)
	for _, c := range exec.commands {
		for _, e := range c.Env {
			if strings.Contains(e, "hush") {
				t.Errorf("%v is given %q", c.Argv, e)
			}
		}
		if !slices.Contains(c.Env, "GIVEN=yes") {
			t.Errorf("%v is not given GIVEN", c.Argv)
		}
	}
}

// TestKilledAtAnyPoint kills a measuring process at random points: the checkout is the same to the byte, no process is
// left, and the next run works.
func TestKilledAtAnyPoint(t *testing.T) {
	if dir := os.Getenv("SCHEMATA_KILL_DIR"); dir != "" {
		req := request(dir, allLines(t, dir, "p.go"))
		req.Scratch = os.Getenv("SCHEMATA_KILL_SCRATCH")
		r, err := (&schemata.Engine{}).Measure(context.Background(), req)
		fmt.Println(r.Outcome, err)
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("processes are found through /proc")
	}
	kills := 4
	if os.Getenv("PROSECUTOR_HOLLOW_LONG") != "" {
		kills = 20
	}
	dir := fixture(t, "p")
	before := tree(t, dir)
	scratch := t.TempDir()
	for i := range kills {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledAtAnyPoint$")
		cmd.Env = append(os.Environ(), "SCHEMATA_KILL_DIR="+dir, "SCHEMATA_KILL_SCRATCH="+scratch)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case <-done:
		case <-time.After(time.Duration(i*300+100) * time.Millisecond):
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-done
		}
		if d := cmp.Diff(before, tree(t, dir)); d != "" {
			t.Fatal(d)
		}
		gone := false
		var left []string
		for deadline := time.Now().Add(20 * time.Second); !gone && time.Now().Before(deadline); {
			left = below(scratch)
			gone = len(left) == 0
			runtime.Gosched()
		}
		if !gone {
			t.Fatalf("left behind: %v", left)
		}
	}
	req := request(dir, allLines(t, dir, "p.go"))
	req.Scratch = scratch
	if r := measure(t, req); r.Outcome != hollowtest.Survivors || r.Problem != "" {
		t.Error(show(r))
	}
}

// below lists the processes whose executable or directory is below a directory.
func below(dir string) []string {
	var found []string
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, e := range entries {
		for _, link := range []string{"exe", "cwd"} {
			if to, err := os.Readlink(filepath.Join(e, link)); err == nil && strings.HasPrefix(to, dir) {
				found = append(found, e+" "+to)
			}
		}
	}
	return found
}

func TestProcessGroupsEndWhole(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are found through /proc")
	}
	// The test leaves a child behind that would run for a minute.
	dir := small(t, "func Add(a, b int) int { return a + b }\n", `import (
	"os/exec"
	"testing"
)

func TestAdd(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if Add(1, 2) != 3 {
		t.Fatal()
	}
}
`)
	start := time.Now()
	r := measure(t, request(dir, map[string][]int{"s.go": {3}}))
	if r.Outcome != hollowtest.KilledAll {
		t.Error(show(r))
	}
	if left := below(dir); len(left) > 0 || time.Since(start) > 50*time.Second {
		t.Errorf("left behind after %s: %v", time.Since(start), left)
	}
}

var _ hollowtest.Executor = process.Plain{}
