package schemata

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// apply returns the source of a file with one mutant in it, and whether it needs package switches.
func apply(m *mutant, runtimePath string) (text string, needsRuntime bool) {
	src := string(m.file.src)
	text = src[:m.lo] + m.text + src[m.hi:]
	if strings.Contains(m.text, runtimeName+".") {
		end := m.file.pkg.fset.Position(m.file.ast.Name.End()).Offset
		return text[:end] + fmt.Sprintf("; import %s %q", runtimeName, runtimePath) + text[end:], true
	}
	return text, false
}

// loners builds and tries the mutants one by one that no switch can hold, against the tests of their own package.
func (r *run) loners(ctx context.Context, scratch string) error {
	n := 0
	for _, m := range r.mutants {
		if !m.alone || m.skip != "" || m.pending {
			continue
		}
		n++
		if err := r.loner(ctx, m, filepath.Join(scratch, "alone", fmt.Sprint(n))); err != nil {
			return err
		}
		r.progress()
	}
	return nil
}

func (r *run) loner(ctx context.Context, m *mutant, dir string) error {
	start := time.Now()
	p := m.file.pkg
	defer func() { m.duration = time.Since(start).Milliseconds() }()
	if !p.list.hasTests() {
		m.status, m.reason = hollowtest.NotCovered, "its package has no tests"
		return nil
	}
	o, err := r.buildAlone(ctx, m, dir)
	var failed *buildError
	switch {
	case errors.As(err, &failed):
		m.status, m.reason = hollowtest.Invalid, firstLine(failed.output)
		return nil
	case err != nil:
		return err
	}
	defer removeAll(dir)
	if known := r.known(m); known != nil {
		o.take(known)
	} else if err := r.greenAlone(ctx, m, o, dir); err != nil {
		return err
	}
	if o.dead != "" {
		m.status, m.reason = hollowtest.Undetermined, o.dead
		return nil
	}
	v, err := r.runner.try(ctx, o, 0, nil)
	if err != nil {
		return err
	}
	m.status, m.reason = v.status, v.reason
	if v.killer != "" {
		m.killer = o.name(v.killer, m)
	}
	if m.status == hollowtest.Survived {
		m.hint = "no test depends on it"
	}
	return nil
}

// known returns the oracle of a mutant's own package when it has one.
func (r *run) known(m *mutant) *oracle {
	for _, mod := range r.mods {
		if mod.mod == m.file.pkg.mod {
			return mod.oracles[m.file.pkg.list.ImportPath]
		}
	}
	return nil
}

// greenAlone runs the tests of the original program, for a package that has only mutants of this kind.
func (r *run) greenAlone(ctx context.Context, m *mutant, o *oracle, dir string) error {
	ws, err := newWorkspace(r.tool, m.file.pkg.mod, filepath.Join(dir, "plain"))
	if err != nil {
		return err
	}
	bins, err := ws.compile(ctx, filepath.Join(dir, "plainbin"), []*listed{o.list})
	if err != nil {
		return err
	}
	// The names are what is asked for. The tests of the plain program are not instrumented.
	names, err := ws.instrumentTests(o.list)
	if err != nil {
		return err
	}
	plain := &oracle{mod: o.mod, list: o.list, bin: bins[o.list.ImportPath], tests: names}
	plain.markNear([]*mutant{m})
	if err := r.baselines(ctx, []*oracle{plain}, 0); err != nil {
		return err
	}
	if len(plain.red) > 0 {
		r.problem(hollowtest.BaselineRed, strings.Join(plain.red, ", "))
	}
	o.take(plain)
	for _, mod := range r.mods {
		if mod.mod == o.mod {
			mod.oracles[o.list.ImportPath] = plain
		}
	}
	return nil
}

// take takes over what the runs of another build of the same tests showed.
func (o *oracle) take(known *oracle) {
	o.times, o.total, o.rss, o.flaky, o.serial, o.dead = known.times, known.total, known.rss, known.flaky, known.serial, known.dead
	o.tests, o.late = known.tests, known.late
}

// buildAlone compiles the tests of a mutant's package with nothing but that mutant.
func (r *run) buildAlone(ctx context.Context, m *mutant, dir string) (*oracle, error) {
	p := m.file.pkg
	ws, err := newWorkspace(r.tool, p.mod, dir)
	if err != nil {
		return nil, err
	}
	text, needs := apply(m, ws.runtimePath())
	if err := ws.write(m.file.abs, text); err != nil {
		return nil, err
	}
	if needs {
		if err := ws.writeRuntime(0); err != nil {
			return nil, err
		}
	}
	bins, err := ws.compile(ctx, filepath.Join(dir, "bin"), []*listed{p.list})
	if err != nil {
		return nil, err
	}
	if bins[p.list.ImportPath] == "" {
		return nil, fmt.Errorf("the go command built no test binary of %s", p.list.ImportPath)
	}
	return &oracle{mod: p.mod, list: p.list, bin: bins[p.list.ImportPath], kills: map[string]int{}}, nil
}

func firstLine(s string) string {
	for _, line := range strings.Split(s, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return "it does not compile"
}
