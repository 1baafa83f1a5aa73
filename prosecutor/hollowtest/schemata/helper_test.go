package schemata_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/process"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/schemata"
)

// fixture copies one of the modules of test/hollow.
func fixture(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "..", "test", "hollow", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// write makes the files of a txtar-like map below a new directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// allLines are the lines of files, as if a change had added them all.
func allLines(t *testing.T, dir string, names ...string) map[string][]int {
	t.Helper()
	lines := make(map[string][]int)
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range strings.Count(string(data), "\n") + 1 {
			lines[name] = append(lines[name], i+1)
		}
	}
	return lines
}

func request(dir string, lines map[string][]int) hollowtest.Request {
	return hollowtest.Request{Dir: dir, Lines: lines, Budget: 5 * time.Minute, Exec: process.Plain{}}
}

func measure(t *testing.T, r hollowtest.Request) *hollowtest.Report {
	t.Helper()
	return measureWith(t, &schemata.Engine{PerLine: 50}, r)
}

func measureWith(t *testing.T, e *schemata.Engine, r hollowtest.Request) *hollowtest.Report {
	t.Helper()
	report, err := e.Measure(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Verbose() {
		t.Log("\n" + show(report))
	}
	return report
}

func show(r *hollowtest.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (%s) %+v\n", r.Outcome, r.Reason, r.Problem, r.Summary)
	for _, f := range r.Files {
		fmt.Fprintf(&b, "  %+v\n", f)
	}
	for _, m := range r.Mutants {
		fmt.Fprintf(&b, "  %s:%d %s %q -> %q: %s", m.File, m.Line, m.Operator, m.Original, m.Mutated, m.Status)
		if m.Pending {
			b.WriteString(" (pending)")
		}
		fmt.Fprintf(&b, " %q killer=%q tests=%v hint=%q %dms\n", m.Reason, m.Killer, m.Tests, m.Hint, m.DurationMS)
	}
	if len(r.Flaky) > 0 {
		fmt.Fprintf(&b, "  flaky: %v\n", r.Flaky)
	}
	return b.String()
}
