// Package schemata measures Go changes. It makes every mutant of the changed lines from the typed syntax tree, compiles
// all mutants of a package into one test binary through an overlay, and switches them on one at a time when the binary
// runs. A mutant costs one start of a process then, and no build.
//
// What cannot be switched (constants) is built alone. Nothing is written below the checkout.
package schemata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// Engine is the engine for Go. Its zero value is ready. It is safe for concurrent use.
type Engine struct {
	// Enable switches operators of OptIn on.
	Enable []Operator
	// Only restricts the engine to some operators; nil means all that are on.
	Only []Operator
	// PerLine bounds the mutants of one line; the severest are kept. 0 means 6.
	PerLine int
	// Workers is how many test processes run at once. 0 means the number of processors.
	Workers int
	// Alone bounds how many mutants are built one by one. 0 means 8.
	Alone int
}

var _ hollowtest.Engine = (*Engine)(nil)

const (
	defaultPerLine = 6
	defaultAlone   = 8
	// confirmWithin is how long a whole test suite may take to be run again for each survivor, against tests that leave
	// goroutines behind for others to be blamed.
	confirmWithin = time.Second
	// dependentShare is the part of the budget that the tests of importing packages get, and leastDependents its least.
	dependentShare  = 3
	leastDependents = 20 * time.Second
	// baselinePart is the part of the time left that tests get to run without a mutant, and leastBaseline the least time.
	baselinePart  = 2
	leastBaseline = time.Second
	// dependentWall is how long the tests of one importing package may take without a mutant.
	dependentWall = 30 * time.Second
)

// Reasons of mutants without a verdict.
const (
	reasonBudget      = "budget: the time was over before it was tried"
	reasonInterrupted = "interrupted before it was tried"
	reasonMost        = "budget: more mutants than the limit"
	reasonConstraint  = "build constraint: the file is not built here"
)

// run is the state of one measurement.
type run struct {
	e       *Engine
	req     hollowtest.Request
	tool    *toolchain
	runner  *runner
	report  *hollowtest.Report
	root    string
	mutants []*mutant // in the order of files and places
	mods    []*modRun
	files   map[string]*hollowtest.FileReport
	start   time.Time
	mu      sync.Mutex
	done    int
	total   int
	flaky   map[string]bool
}

// modRun is one module of a run.
type modRun struct {
	mod     *module
	targets []*listed
	pkgs    []*pkg
	ws      *workspace
	export  map[string]string
	oracles map[string]*oracle
	sites   map[*file][]*site
}

// Measure implements hollowtest.Engine.
func (e *Engine) Measure(ctx context.Context, req hollowtest.Request) (*hollowtest.Report, error) {
	if req.Exec == nil {
		return nil, errors.New("measuring Go: no executor given")
	}
	root, err := filepath.Abs(req.Dir)
	if err != nil {
		return nil, fmt.Errorf("measuring Go: %w", err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, fmt.Errorf("measuring Go: %w", err)
	}
	// Always a new directory: one that a killed run left behind in the same place is nothing to build on.
	scratch, err := os.MkdirTemp(req.Scratch, "prosecutor-hollow-")
	if err != nil {
		return nil, fmt.Errorf("measuring Go: %w", err)
	}
	defer removeAll(scratch)
	if err := os.Chmod(scratch, 0o755); err != nil { //nolint:gosec // the tests may run as another account
		return nil, fmt.Errorf("measuring Go: %w", err)
	}
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return nil, fmt.Errorf("measuring Go: %w", err)
	}
	r := &run{e: e, req: req, root: root, report: &hollowtest.Report{}, files: map[string]*hollowtest.FileReport{}, start: time.Now(), flaky: map[string]bool{}}
	inner := ctx
	if req.Budget > 0 {
		var cancel context.CancelFunc
		inner, cancel = context.WithTimeout(ctx, req.Budget)
		defer cancel()
	}
	err = r.measure(inner, scratch)
	switch {
	case ctx.Err() != nil:
		r.problem(hollowtest.Interrupted, "")
	case inner.Err() != nil:
		if r.done == 0 && len(r.mutants) > 0 {
			r.problem(hollowtest.TimeLimit, "no mutant was tried within "+req.Budget.String())
		} else if len(r.mutants) == 0 {
			r.problem(hollowtest.TimeLimit, "the packages could not be loaded within "+req.Budget.String())
		}
	case err != nil:
		r.problem(hollowtest.SetupFailed, err.Error())
	}
	r.finish(ctx.Err() != nil)
	return r.report, nil
}

func (r *run) problem(p hollowtest.Problem, detail string) {
	if r.report.Problem == hollowtest.NoProblem {
		r.report.Problem, r.report.Detail = p, detail
	}
}

func (r *run) workers() int {
	if r.e.Workers > 0 {
		return r.e.Workers
	}
	return runtime.GOMAXPROCS(0)
}

func (r *run) measure(ctx context.Context, scratch string) error {
	byModule := r.group()
	if len(byModule) == 0 {
		return nil
	}
	if err := r.prepare(ctx, scratch); err != nil {
		return err
	}
	for _, rel := range sortedKeys(byModule) {
		if err := r.loadModule(ctx, rel, byModule[rel], scratch); err != nil {
			return err
		}
	}
	r.pick()
	for _, m := range r.mods {
		if err := r.build(ctx, m, scratch); err != nil {
			return err
		}
	}
	if r.report.Problem != hollowtest.NoProblem {
		return nil
	}
	for _, o := range r.allOracles() {
		o.markNear(r.mutants)
	}
	if err := r.baselines(ctx, r.allOracles(), 0); err != nil {
		return err
	}
	var red []string
	for _, o := range r.allOracles() {
		for _, t := range o.red {
			red = append(red, o.name(t, nil))
		}
	}
	if len(red) > 0 {
		r.problem(hollowtest.BaselineRed, strings.Join(red, ", "))
		return nil
	}
	if err := r.own(ctx); err != nil {
		return err
	}
	if err := r.verifyKillers(ctx, r.allOracles()); err != nil {
		return err
	}
	if err := r.loners(ctx, scratch); err != nil {
		return err
	}
	return r.dependents(ctx, scratch)
}

// group sorts the changed Go files by module, and says about the others why they have no mutants.
func (r *run) group() map[string][]string {
	byModule := make(map[string][]string)
	for _, name := range sortedKeys(r.req.Lines) {
		if path.Ext(name) != ".go" || len(r.req.Lines[name]) == 0 {
			continue
		}
		r.files[name] = &hollowtest.FileReport{Path: name}
		rel := findModule(r.root, name)
		if rel == "" {
			r.unmeasured(name, "no go.mod is above it")
			continue
		}
		byModule[rel] = append(byModule[rel], name)
	}
	return byModule
}

// unmeasured records that a file could not be measured: its changed lines owe a verdict that nobody can give.
func (r *run) unmeasured(name, reason string) {
	r.files[name].Reason = reason
	r.note(name, hollowtest.Undetermined, reason)
}

// ignored records that a file is left out for a stated reason.
func (r *run) ignored(name, reason string) {
	r.files[name].Reason = reason
	r.note(name, hollowtest.Skipped, reason)
}

func (r *run) note(name string, status hollowtest.Status, reason string) {
	r.report.Mutants = append(r.report.Mutants, hollowtest.Mutant{
		ID: "file:" + name, File: name, Line: r.req.Lines[name][0], Operator: "file", Original: path.Base(name), Mutated: path.Base(name),
		Status: status, Reason: reason,
	})
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// inherited lists the variables that a tool chain may need from this process's environment. Whatever else is in it is
// nobody's business.
var inherited = regexp.MustCompile(`^(?:PATH|HOME|USER|LOGNAME|LANG|LC_[A-Z]+|TZ|SHELL|TERM|GO[A-Z0-9]*|CGO_[A-Z]+|CC|CXX|AR|PKG_CONFIG(?:_PATH)?|SSL_CERT_(?:FILE|DIR)|(?i:https?_proxy|no_proxy)|XDG_CACHE_HOME|XDG_CONFIG_HOME|LD_LIBRARY_PATH|NIX_[A-Z_]+)$`)

// steady makes random property tests (pgregory.net/rapid) show each mutant the same inputs, and keeps them from storing what
// made one mutant fail beside the tests, where they would show it to the next.
var steady = []string{"RAPID_SEED=1", "RAPID_NOFAILFILE=true", "RAPID_SHRINKTIME=0s"}

// prepare asks the tool chain for its settings.
func (r *run) prepare(ctx context.Context, scratch string) error {
	var env []string
	flags := ""
	for _, e := range os.Environ() {
		name, value, _ := strings.Cut(e, "=")
		if name == "GOFLAGS" {
			flags = value
			continue
		}
		if inherited.MatchString(name) && name != "GOCOVERDIR" {
			env = append(env, e)
		}
	}
	for _, e := range r.req.Env {
		if v, ok := strings.CutPrefix(e, "GOFLAGS="); ok {
			flags = v
		} else {
			env = append(env, e)
		}
	}
	if !strings.Contains(flags, "-buildvcs") {
		flags = strings.TrimSpace(flags + " -buildvcs=false")
	}
	tmp := filepath.Join(scratch, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return fmt.Errorf("preparing a run: %w", err)
	}
	env = append(env, "GOFLAGS="+flags, "TMPDIR="+tmp, "GOTMPDIR="+tmp)
	r.tool = &toolchain{exec: r.req.Exec, env: env, scratch: scratch}
	out, err := r.tool.run(ctx, r.root, env, "env", "-json", "GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT", "GOARCH", "GOTOOLCHAIN")
	if err != nil {
		return err
	}
	var settings map[string]string
	if i := strings.IndexByte(string(out), '{'); i < 0 || json.Unmarshal(out[i:], &settings) != nil {
		return fmt.Errorf("reading the settings of the go command: %q", out)
	}
	r.tool.goarch = settings["GOARCH"]
	r.tool.write = []string{settings["GOCACHE"]}
	r.tool.read = []string{r.root, settings["GOMODCACHE"], settings["GOROOT"]}
	tests := make([]string, 0, len(env))
	for _, e := range env {
		if name, _, _ := strings.Cut(e, "="); name != "HOME" && name != "TMPDIR" && name != "GOTMPDIR" && !strings.HasPrefix(name, "XDG_") {
			tests = append(tests, e)
		}
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		if settings[name] != "" {
			tests = append(tests, name+"="+settings[name])
		}
	}
	r.runner = newRunner(r.req.Exec, slices.Concat(tests, steady, r.req.Env), scratch, r.workers())
	r.runner.read = []string{r.root, settings["GOROOT"], settings["GOMODCACHE"]}
	return nil
}

// loadModule type-checks the changed packages of a module and makes their mutants.
func (r *run) loadModule(ctx context.Context, rel string, names []string, scratch string) error {
	mod, err := r.tool.loadModule(ctx, r.root, rel)
	if err != nil {
		return err
	}
	m := &modRun{mod: mod, oracles: map[string]*oracle{}, sites: map[*file][]*site{}}
	wanted := make(map[*listed][]string)
	for _, name := range names {
		abs := filepath.Join(r.root, filepath.FromSlash(name))
		p := mod.byDir[filepath.Dir(abs)]
		base := filepath.Base(abs)
		switch {
		case p == nil && ignoredPath(name):
			r.ignored(name, "the go command leaves directories of this name out")
		case p == nil:
			out, err := r.tool.excluded(ctx, mod, abs)
			if err != nil {
				return err
			}
			if out {
				r.ignored(name, reasonConstraint)
			} else {
				r.unmeasured(name, "it belongs to no package that is built here")
			}
		case slices.Contains(p.TestGoFiles, base), slices.Contains(p.XTestGoFiles, base), strings.HasSuffix(base, "_test.go"):
			r.files[name].Reason = "a test"
		case slices.Contains(p.IgnoredGoFiles, base), strings.HasPrefix(base, "_"), strings.HasPrefix(base, "."):
			r.ignored(name, reasonConstraint)
		case slices.Contains(p.GoFiles, base), slices.Contains(p.CgoFiles, base):
			wanted[p] = append(wanted[p], name)
		default:
			r.unmeasured(name, "it belongs to no package that is built here")
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for p := range wanted {
		m.targets = append(m.targets, p)
	}
	sort.Slice(m.targets, func(i, j int) bool { return m.targets[i].ImportPath < m.targets[j].ImportPath })
	if m.export, err = r.tool.exportData(ctx, mod, m.targets); err != nil {
		return err
	}
	for _, list := range m.targets {
		p, err := r.tool.load(mod, list, m.export, r.root)
		if err != nil {
			return err
		}
		m.pkgs = append(m.pkgs, p)
		for _, f := range p.files {
			if slices.Contains(wanted[list], f.path) {
				r.mutate(m, f)
			}
		}
	}
	if m.ws, err = newWorkspace(r.tool, mod, filepath.Join(scratch, "build", strings.ReplaceAll(rel, "/", "+"))); err != nil {
		return err
	}
	m.ws.packages, m.ws.sites = m.pkgs, m.sites
	r.mods = append(r.mods, m)
	return nil
}

func ignoredPath(name string) bool {
	for _, d := range strings.Split(path.Dir(name), "/") {
		if d == "testdata" || d == "vendor" || strings.HasPrefix(d, "_") || strings.HasPrefix(d, ".") && d != "." {
			return true
		}
	}
	return false
}

var generatedLine = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// mutate makes the mutants of a file.
func (r *run) mutate(m *modRun, f *file) {
	f.lines = make(map[int]bool)
	for _, l := range r.req.Lines[f.path] {
		f.lines[l] = true
	}
	if at := generatedLine.FindIndex(f.src); at != nil && !f.lines[lineAt(f.src, at[0])] {
		// A change that adds the line itself cannot excuse itself with it.
		r.ignored(f.path, "generated file")
		return
	}
	optional := OptIn()
	mutants, sites := generate(f, func(op Operator) bool {
		if r.e.Only != nil && !slices.Contains(r.e.Only, op) {
			return false
		}
		return !slices.Contains(optional, op) || slices.Contains(r.e.Enable, op)
	})
	m.sites[f] = sites
	for _, mu := range mutants {
		for _, a := range r.req.Policy.Accepted {
			if mu.skip == "" && a.Path == f.path && a.Operator == string(mu.op) && strings.TrimSpace(a.Original) == strings.TrimSpace(mu.original()) {
				mu.skip = "accepted: " + a.Reason
			}
		}
	}
	r.mutants = append(r.mutants, mutants...)
	if len(mutants) == 0 {
		r.files[f.path].Reason = "no changed line has code that a mutant would mean anything for"
	}
}

// pick leaves mutants out that the limits have no room for, and numbers the others.
func (r *run) pick() {
	perLine := r.e.PerLine
	if perLine == 0 {
		perLine = defaultPerLine
	}
	type place struct {
		file string
		line int
	}
	lines := make(map[place][]*mutant)
	files := make(map[string][]*mutant)
	for _, m := range r.mutants {
		if m.skip == "" {
			p := place{m.file.path, m.line}
			lines[p] = append(lines[p], m)
		}
	}
	for _, list := range lines {
		sort.SliceStable(list, func(i, j int) bool { return severity[list[i].op] < severity[list[j].op] })
		for i, m := range list {
			if i >= perLine {
				m.skip = fmt.Sprintf("more than %d mutants on the line", perLine)
			}
		}
	}
	alone := 0
	most := r.e.Alone
	if most == 0 {
		most = defaultAlone
	}
	for _, m := range r.mutants {
		if m.skip == "" && m.alone {
			if alone++; alone > most {
				m.skip = fmt.Sprintf("more than %d mutants would have to be built alone: %s", most, m.why)
			}
		}
		if m.skip == "" {
			files[m.file.path] = append(files[m.file.path], m)
		}
	}
	// Files take turns, and within a file lines do, so that a limit starves none of them silently.
	var order []*mutant
	queues := make([][]*mutant, 0, len(files))
	for _, name := range sortedKeys(files) {
		queues = append(queues, byTurns(files[name]))
	}
	for len(queues) > 0 {
		var rest [][]*mutant
		for _, q := range queues {
			order = append(order, q[0])
			if len(q) > 1 {
				rest = append(rest, q[1:])
			}
		}
		queues = rest
	}
	var next int32
	for i, m := range order {
		if r.req.MaxMutants > 0 && i >= r.req.MaxMutants {
			m.pending, m.status, m.reason = true, hollowtest.Skipped, reasonMost
			continue
		}
		r.total++
		if !m.alone {
			next++
			m.id = next
		}
	}
}

// byTurns orders the mutants of a file: the severest of each line, then the next of each line, and so on.
func byTurns(list []*mutant) []*mutant {
	rank := make(map[*mutant]int)
	seen := make(map[int]int)
	sorted := slices.Clone(list)
	sort.SliceStable(sorted, func(i, j int) bool { return severity[sorted[i].op] < severity[sorted[j].op] })
	for _, m := range sorted {
		rank[m] = seen[m.line]
		seen[m.line]++
	}
	sort.SliceStable(sorted, func(i, j int) bool {
		a, b := sorted[i], sorted[j]
		if rank[a] != rank[b] {
			return rank[a] < rank[b]
		}
		return a.line < b.line
	})
	return sorted
}

// build instruments and compiles the changed packages of a module.
func (r *run) build(ctx context.Context, m *modRun, scratch string) error {
	var most int32
	for _, mu := range r.mutants {
		most = max(most, mu.id)
	}
	if most == 0 {
		return nil
	}
	if err := m.ws.render(); err != nil {
		return err
	}
	if err := m.ws.writeRuntime(most); err != nil {
		return err
	}
	var tested []*listed
	tests := make(map[string][]testFunc)
	for _, p := range m.targets {
		if !p.hasTests() {
			continue
		}
		found, err := m.ws.instrumentTests(p)
		if err != nil {
			return err
		}
		tests[p.ImportPath] = found
		tested = append(tested, p)
	}
	if len(tested) == 0 {
		return nil
	}
	bins, err := m.ws.compile(ctx, filepath.Join(scratch, "bin"), tested)
	if err != nil {
		return err
	}
	for _, p := range tested {
		if bins[p.ImportPath] == "" {
			return fmt.Errorf("the go command built no test binary of %s", p.ImportPath)
		}
		m.oracles[p.ImportPath] = &oracle{mod: m.mod, list: p, bin: bins[p.ImportPath], tests: tests[p.ImportPath]}
	}
	return nil
}

func (r *run) allOracles() []*oracle {
	var all []*oracle
	for _, m := range r.mods {
		for _, name := range sortedKeys(m.oracles) {
			all = append(all, m.oracles[name])
		}
	}
	return all
}

// baselines runs the tests without a mutant, those of each package no longer than most when that is not 0, and all of
// them no longer than half of the time that is left.
func (r *run) baselines(outer context.Context, oracles []*oracle, most time.Duration) error {
	g, ctx := errgroup.WithContext(outer)
	atOnce := max(1, r.workers()/2)
	g.SetLimit(atOnce)
	var end time.Time
	if deadline, ok := outer.Deadline(); ok {
		end = time.Now().Add(time.Until(deadline) / baselinePart)
	}
	for i, o := range oracles {
		g.Go(func() error {
			limit := most
			if !end.IsZero() {
				share := max(time.Until(end)/time.Duration((len(oracles)-i+atOnce-1)/atOnce), leastBaseline)
				if limit == 0 || share < limit {
					limit = share
				}
			}
			return r.runner.baseline(ctx, o, limit)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, o := range oracles {
		for t := range o.flaky {
			r.flaky[o.name(t, nil)] = true
		}
	}
	return nil
}

// name is how a test is called in reports: by itself in the mutant's package, with its package elsewhere.
func (o *oracle) name(test string, m *mutant) string {
	if m != nil && m.file.pkg.list.ImportPath == o.list.ImportPath {
		return test
	}
	return o.list.ImportPath + "." + test
}

// own tries every mutant of the build against the tests of the changed packages, its own first.
func (r *run) own(ctx context.Context) error {
	all := r.allOracles()
	var todo []*mutant
	for _, m := range r.mutants {
		if m.id != 0 {
			todo = append(todo, m)
		}
	}
	// The numbers are the turns of files and lines.
	sort.Slice(todo, func(i, j int) bool { return todo[i].id < todo[j].id })
	return r.each(ctx, todo, func(ctx context.Context, m *mutant) error {
		own := m.file.pkg.list.ImportPath
		list := slices.Clone(all)
		sort.SliceStable(list, func(i, j int) bool { return list[i].list.ImportPath == own && list[j].list.ImportPath != own })
		if err := r.ask(ctx, m, list); err != nil {
			return err
		}
		r.progress()
		return nil
	})
}

func (r *run) each(ctx context.Context, todo []*mutant, f func(context.Context, *mutant) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.workers())
	for _, m := range todo {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { return f(ctx, m) })
	}
	return g.Wait()
}

func (r *run) progress() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	if r.req.Progress != nil {
		r.req.Progress(r.done, r.total)
	}
}

// ask tries a mutant against oracles until one notices it, and sets its verdict.
func (r *run) ask(ctx context.Context, m *mutant, oracles []*oracle) error {
	start := time.Now()
	verdict := trial{status: hollowtest.NotCovered, reason: "no test reaches it"}
	if m.status == hollowtest.Survived || m.status == hollowtest.Undetermined {
		verdict = trial{status: m.status, reason: m.reason}
	}
	var tests []string
	var err error
	seen := false // by a test, that the mutant changes something
	for _, o := range oracles {
		if o.dead != "" {
			if o.list == m.file.pkg.list && o.dead != runsNoTest {
				verdict = trial{status: hollowtest.Undetermined, reason: o.dead}
			}
			continue
		}
		first, all, reached := o.covering(m)
		if !reached {
			continue
		}
		covering := all
		if covering == nil {
			for t := range o.times {
				covering = append(covering, t)
			}
		}
		for _, t := range covering {
			tests = append(tests, o.name(t, m))
		}
		never := m.infects && len(o.infected[m.id]) == 0
		seen = seen || !never
		var v trial
		if never && o.list != m.file.pkg.list {
			// Tests of other packages that never see another value are not run for it.
			v = trial{status: hollowtest.Survived}
		} else if v, err = r.decide(ctx, o, m, first, all); err != nil {
			return err
		}
		if v.status.Noticed() || v.status == hollowtest.Undetermined || verdict.status == hollowtest.NotCovered {
			verdict = v
			if v.killer != "" {
				verdict.killer = o.name(v.killer, m)
			}
		}
		if v.status.Noticed() {
			break
		}
	}
	sort.Strings(tests)
	r.mu.Lock()
	defer r.mu.Unlock()
	m.status, m.reason, m.killer = verdict.status, verdict.reason, verdict.killer
	m.tests = slices.Compact(slices.Sorted(slices.Values(append(m.tests, tests...))))
	m.duration += time.Since(start).Milliseconds()
	m.seen = m.seen || seen
	m.hint = ""
	if m.status == hollowtest.Survived {
		m.hint = hintFor(m, !m.seen)
	}
	return nil
}

// decide runs the tests of one oracle against a mutant: first those whose values it changes, then the others that reach
// it, and all of them in the end when that is cheap. Fast tests come before slow ones. Slow tests whose values it does not
// change are not run: they see what they have always seen.
func (r *run) decide(ctx context.Context, o *oracle, m *mutant, first, all []string) (trial, error) {
	var batches [][]string
	switch {
	case all == nil:
	case first == nil:
		batches = o.byClass(all)
	default:
		batches = o.byClass(first)
		var others []string
		for _, t := range all {
			if !slices.Contains(first, t) && o.times[t] < fastTest {
				others = append(others, t)
			}
		}
		if len(others) > 0 && o.expected(others) <= confirmWithin {
			batches = append(batches, others)
		}
	}
	for _, tests := range batches {
		v, err := r.runner.try(ctx, o, m.id, tests)
		if err != nil || v.status != hollowtest.Survived {
			o.note(v)
			return v, err
		}
	}
	if all != nil && (o.total > confirmWithin || len(all) == len(o.times) && len(batches) == 1) {
		return trial{status: hollowtest.Survived}, nil
	}
	v, err := r.runner.try(ctx, o, m.id, nil)
	o.note(v)
	return v, err
}

func (o *oracle) note(v trial) {
	if v.status == hollowtest.Killed {
		o.killed(v.killer)
	}
}

// verifyKillers runs the tests that killed mutants twice more without any. Those that fail are flaky, and what they
// killed is tried again without them.
func (r *run) verifyKillers(ctx context.Context, oracles []*oracle) error {
	for _, o := range oracles {
		if o.dead != "" {
			continue
		}
		for range 2 {
			var tests []string
			o.killMu.Lock()
			for t := range o.kills {
				if _, ok := o.times[t]; ok && !o.flaky[t] {
					tests = append(tests, t)
				}
			}
			o.killMu.Unlock()
			if len(tests) == 0 {
				break
			}
			sort.Strings(tests)
			v, err := r.runner.try(ctx, o, 0, tests)
			if err != nil {
				return err
			}
			if v.status != hollowtest.Killed {
				continue
			}
			o.flaky[v.killer] = true
			r.flaky[o.name(v.killer, nil)] = true
			if err := r.again(ctx, o, v.killer); err != nil {
				return err
			}
		}
	}
	return nil
}

// again tries the mutants once more that a flaky test killed.
func (r *run) again(ctx context.Context, o *oracle, flaky string) error {
	var todo []*mutant
	for _, m := range r.mutants {
		if m.id != 0 && m.status == hollowtest.Killed && m.killer == o.name(flaky, m) {
			m.status, m.tests = "", nil
			todo = append(todo, m)
		}
	}
	return r.each(ctx, todo, func(ctx context.Context, m *mutant) error { return r.ask(ctx, m, r.allOracles()) })
}

// dependents asks the tests of packages that import the changed ones about the mutants that nobody has noticed.
func (r *run) dependents(outer context.Context, scratch string) error {
	const chunk = 6
	ctx := outer
	if r.req.Budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(outer, max(r.req.Budget/dependentShare, leastDependents))
		defer cancel()
	}
	for _, m := range r.mods {
		asked := make(map[string]bool)
		for {
			open := make(map[string][]*mutant)
			for _, mu := range r.mutants {
				if mu.id != 0 && mu.file.pkg.mod == m.mod && (mu.status == hollowtest.Survived || mu.status == hollowtest.NotCovered) {
					open[mu.file.pkg.list.ImportPath] = append(open[mu.file.pkg.list.ImportPath], mu)
				}
			}
			var next []*listed
			for _, target := range sortedKeys(open) {
				for _, name := range m.mod.dependents(target) {
					if m.oracles[name] == nil && !asked[name] && len(next) < chunk {
						asked[name] = true
						next = append(next, m.mod.packages[name])
					}
				}
			}
			if len(next) == 0 {
				break
			}
			if err := r.askDependents(ctx, m, next, open, scratch); err != nil {
				if ctx.Err() == nil {
					return err
				}
				unasked(open, "the tests of some importing packages were not run: budget")
				return outer.Err()
			}
		}
	}
	return nil
}

func (r *run) askDependents(ctx context.Context, m *modRun, next []*listed, open map[string][]*mutant, scratch string) error {
	tests := make(map[string][]testFunc)
	for _, p := range next {
		found, err := m.ws.instrumentTests(p)
		if err != nil {
			return err
		}
		tests[p.ImportPath] = found
	}
	bins, err := m.ws.compile(ctx, filepath.Join(scratch, "bin"), next)
	var failed *buildError
	if errors.As(err, &failed) {
		// One package that does not build must not silence the others.
		bins = map[string]string{}
		for _, p := range next {
			one, err := m.ws.compile(ctx, filepath.Join(scratch, "bin"), []*listed{p})
			if err != nil && !errors.As(err, &failed) {
				return err
			}
			if bin := one[p.ImportPath]; bin != "" {
				bins[p.ImportPath] = bin
			}
		}
	} else if err != nil {
		return err
	}
	var fresh []*oracle
	for _, p := range next {
		if bins[p.ImportPath] != "" {
			fresh = append(fresh, &oracle{mod: m.mod, list: p, bin: bins[p.ImportPath], tests: tests[p.ImportPath]})
		}
	}
	for _, o := range fresh {
		for _, target := range sortedKeys(open) {
			o.markNear(open[target])
		}
	}
	if err := r.baselines(ctx, fresh, dependentWall); err != nil {
		return err
	}
	var todo []*mutant
	for _, target := range sortedKeys(open) {
		for _, mu := range open[target] {
			if slices.ContainsFunc(fresh, func(o *oracle) bool { return o.dead == "" && o.reach[mu.id] != nil }) {
				todo = append(todo, mu)
			}
		}
	}
	sort.Slice(todo, func(i, j int) bool { return todo[i].id < todo[j].id })
	if err := r.each(ctx, todo, func(ctx context.Context, mu *mutant) error { return r.ask(ctx, mu, fresh) }); err != nil {
		return err
	}
	if err := r.verifyKillers(ctx, fresh); err != nil {
		return err
	}
	for _, o := range fresh {
		switch {
		case o.dead == runsNoTest:
		case o.dead != "":
			unasked(open, o.list.ImportPath+" was not asked: "+o.dead)
		case len(o.late) > 0:
			unasked(open, o.unheard())
		}
	}
	return nil
}

// unasked says beside unnoticed mutants that not everybody was asked. They stay what they are: a change may not pass
// because the time was too short to clear it.
func unasked(open map[string][]*mutant, why string) {
	for _, list := range open {
		for _, mu := range list {
			if mu.status == hollowtest.Survived || mu.status == hollowtest.NotCovered {
				mu.reason = strings.TrimPrefix(mu.reason+"; "+why, "; ")
			}
		}
	}
}

// unheard withdraws the verdict of mutants that nobody noticed, where tests of their own package are yet to answer: to
// call those tests hollow takes all of them. Late tests of other packages are only named.
func (r *run) unheard() {
	for _, m := range r.mods {
		for _, name := range sortedKeys(m.oracles) {
			o := m.oracles[name]
			if len(o.late) == 0 {
				continue
			}
			open := make(map[string][]*mutant)
			for _, mu := range r.mutants {
				target := mu.file.pkg.list.ImportPath
				switch {
				case mu.file.pkg.mod != m.mod || mu.status != hollowtest.Survived && mu.status != hollowtest.NotCovered:
				case target == name:
					mu.status, mu.pending, mu.hint = hollowtest.Skipped, true, ""
					mu.reason = "budget: no other test noticed it, and " + o.unheard()
					r.problem(hollowtest.TimeLimit, o.unheard())
				case slices.Contains(m.mod.dependents(target), name):
					open[target] = append(open[target], mu)
				}
			}
			unasked(open, o.unheard())
		}
	}
}

// finish writes the report.
func (r *run) finish(interrupted bool) {
	r.unheard()
	for _, name := range sortedKeys(r.files) {
		r.report.Files = append(r.report.Files, *r.files[name])
	}
	for _, m := range r.mutants {
		if m.skip != "" {
			m.status, m.reason = hollowtest.Skipped, m.skip
		}
		if m.status == "" {
			m.status, m.pending, m.reason = hollowtest.Skipped, true, reasonBudget
			switch {
			case interrupted:
				m.reason = reasonInterrupted
			case r.report.Problem != hollowtest.NoProblem:
				m.reason = "not tried: " + strings.ReplaceAll(string(r.report.Problem), "_", " ")
			}
		}
		start := r.position(m.file, m.lo)
		end := r.position(m.file, m.hi)
		r.report.Mutants = append(r.report.Mutants, hollowtest.Mutant{
			ID: m.key, File: m.file.path, Line: m.line, Column: start.Column, EndLine: end.Line, EndCol: end.Column, Operator: string(m.op),
			Original: m.original(), Mutated: m.mutated(), Status: m.status, Pending: m.pending, Reason: m.reason, Tests: m.tests,
			Killer: m.killer, Hint: m.hint, DurationMS: m.duration,
		})
	}
	sort.SliceStable(r.report.Mutants, func(i, j int) bool {
		a, b := r.report.Mutants[i], r.report.Mutants[j]
		if a.File != b.File {
			return a.File < b.File
		}
		return a.Line < b.Line
	})
	r.report.Flaky = sortedKeys(r.flaky)
	r.report.Conclude()
}

type position struct{ Line, Column int }

func (r *run) position(f *file, offset int) position {
	last := strings.LastIndexByte(string(f.src[:offset]), '\n')
	return position{lineAt(f.src, offset), offset - last}
}
