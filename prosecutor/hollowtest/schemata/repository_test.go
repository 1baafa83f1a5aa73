package schemata

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/process"
)

// TestInstrumentsRealCode makes every mutant of every file of real packages and type-checks them all together: some of
// this module, or all packages of the modules in PROSECUTOR_HOLLOW_MODULES (a list of directories).
func TestInstrumentsRealCode(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dirs, prefixes := []string{root}, []string{"/prosecutor/hollowtest", "/prosecutor/diff", "/convergence", "/config"}
	if given := os.Getenv("PROSECUTOR_HOLLOW_MODULES"); given != "" {
		dirs, prefixes = filepath.SplitList(given), nil
	}
	for _, dir := range dirs {
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			t.Fatal(err)
		}
		r := &run{root: dir, e: &Engine{}}
		r.req.Exec = process.Plain{}
		r.req.Env = []string{"GOFLAGS=-mod=mod -modfile=" + modfile(t, dir)}
		if dir == root {
			r.req.Env = nil
		}
		ctx := context.Background()
		if err := r.prepare(ctx, t.TempDir()); err != nil {
			t.Fatal(err)
		}
		mod, err := r.tool.loadModule(ctx, dir, ".")
		if err != nil {
			t.Fatal(err)
		}
		var lists []*listed
		for _, name := range sortedKeys(mod.packages) {
			rel := strings.TrimPrefix(name, mod.path)
			if prefixes == nil || slices.Contains(prefixes, rel) {
				lists = append(lists, mod.packages[name])
			}
		}
		export, err := r.tool.exportData(ctx, mod, lists)
		if err != nil {
			t.Fatal(err)
		}
		total, alone, packages := 0, 0, 0
		for _, list := range lists {
			p, err := r.tool.load(mod, list, export, dir)
			if err != nil {
				t.Logf("%s: %v", list.ImportPath, err)
				continue
			}
			packages++
			ws, err := newWorkspace(r.tool, mod, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			ws.packages = []*pkg{p}
			var all []*mutant
			var most int32
			for _, f := range p.files {
				f.lines = make(map[int]bool)
				for i := range strings.Count(string(f.src), "\n") + 1 {
					f.lines[i+1] = true
				}
				mutants, sites := generate(f, func(Operator) bool { return true })
				ws.sites[f] = sites
				for _, m := range mutants {
					if m.skip == "" && !m.alone {
						most++
						m.id = most
					}
				}
				all = append(all, mutants...)
			}
			if err := ws.render(); err != nil {
				t.Errorf("%s: %v", list.ImportPath, err)
			}
			for _, m := range all {
				total++
				if m.alone && m.op != Constant {
					alone++
					t.Logf("%s:%d: %s %q -> %q: %s", m.file.path, m.line, m.op, m.original(), m.mutated(), m.why)
				}
			}
		}
		t.Logf("%s: %d packages, %d mutants, %d of them cannot be switched", dir, packages, total, alone)
		if total == 0 || alone*100 > total {
			t.Errorf("%s: %d of %d mutants cannot be switched", dir, alone, total)
		}
	}
}

// modfile copies the go.mod of a read-only module, so that its requirements may be completed.
func modfile(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "go.mod")
	for _, ext := range []string{"mod", "sum"} {
		data, err := os.ReadFile(filepath.Join(dir, "go."+ext))
		if err != nil {
			continue
		}
		if err := os.WriteFile(strings.TrimSuffix(to, "mod")+ext, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}
