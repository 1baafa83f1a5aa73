// Package runner measures one change with mutation testing: it writes the head into a scratch directory, prepares it, asks
// the engine of each language, shares the budget among them, and merges what they found into one report and one piece of
// evidence. The repository is only read.
package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/schemata"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/tokens"
)

// Change is what is measured.
type Change struct {
	Head string // names the commit, for the memo and for people
	Diff *diff.Diff
	// Checkout writes the files of the head into an empty directory.
	Checkout func(ctx context.Context, dir string) error
	// WorkTree is a work tree of the same repository, whose installed dependencies (node_modules, .venv) the tests may use
	// where the head has none. They are copied or read, never written to. Empty means none.
	WorkTree string
}

// Options say how to measure.
type Options struct {
	// Exec runs builds and tests.
	Exec hollowtest.Executor
	// Fetch fetches dependencies: it has the network, and runs nothing that the change brings. nil means that nothing is
	// fetched.
	Fetch hollowtest.Executor
	// Scratch is an empty directory for everything that is written. Empty means a new one, removed at the end.
	Scratch string
	// Command stands for the policy's test command when it is not empty.
	Command string
	// Budget stands for the policy's budget when it is not 0.
	Budget time.Duration
	// MaxMutants bounds the mutants that are tried. 0 means no bound.
	MaxMutants int
	Seed       int64
	// Progress is told how many of the selected mutants are decided. It may be nil. It is called from one goroutine at a
	// time.
	Progress func(done, total int)
	// Engines overrides the engines of languages. A language without one is reported as such.
	Engines map[hollowtest.Language]hollowtest.Engine
}

// Engines returns the engine of every language that has one.
func Engines() map[hollowtest.Language]hollowtest.Engine {
	t := &tokens.Engine{}
	return map[hollowtest.Language]hollowtest.Engine{
		hollowtest.Go: &schemata.Engine{}, hollowtest.JavaScript: t, hollowtest.TypeScript: t, hollowtest.Python: t,
		hollowtest.Java: t, hollowtest.Rust: t, hollowtest.Ruby: t,
	}
}

// job is what one engine is asked for.
type job struct {
	engine    hollowtest.Engine
	languages []hollowtest.Language
	lines     map[string][]int
	weight    int // changed lines
}

// Measure measures a change. The error is for a head that cannot be written, or wrong use. Whatever else goes wrong is
// in the report, whose outcome is could_not_measure then. When ctx ends, what was decided is kept.
func Measure(ctx context.Context, c Change, p config.HollowTest, o Options) (*hollowtest.Report, error) {
	if o.Exec == nil {
		return nil, errors.New("hollow-test: no executor given")
	}
	if o.Engines == nil {
		o.Engines = Engines()
	}
	if o.Command != "" {
		p.Command = o.Command
	}
	if o.Budget <= 0 {
		o.Budget = time.Duration(p.Budget)
	}
	jobs, others, err := plan(c.Diff, p, o.Engines)
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return conclude(nil, others), nil
	}
	deadline := time.Now().Add(o.Budget)
	scratch, clean, err := makeScratch(o.Scratch)
	if err != nil {
		return nil, err
	}
	defer clean()
	tree := filepath.Join(scratch, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil { //nolint:gosec // the tests may run as another account
		return nil, fmt.Errorf("hollow-test: %w", err)
	}
	if err := c.Checkout(ctx, tree); err != nil {
		if ctx.Err() != nil {
			return interrupted(jobs, others), nil
		}
		return nil, err
	}
	s := &setup{c: c, p: p, o: o, tree: tree, scratch: scratch, jobs: jobs}
	if err := s.prepare(ctx, deadline); err != nil {
		if ctx.Err() != nil {
			return interrupted(jobs, others), nil
		}
		return unprepared(jobs, others, err), nil
	}
	reports, err := runJobs(ctx, jobs, s, deadline)
	if err != nil {
		return nil, err
	}
	return conclude(reports, others), nil
}

// plan sorts the changed lines by engine. others are the eligible files without an engine.
func plan(d *diff.Diff, p config.HollowTest, engines map[hollowtest.Language]hollowtest.Engine) ([]*job, []hollowtest.FileReport, error) {
	targets, err := hollowtest.NewTargets(p)
	if err != nil {
		return nil, nil, fmt.Errorf("hollow_test globs: %w", err)
	}
	lines := hollowtest.ChangedLines(d)
	names := make([]string, 0, len(lines))
	for name := range lines {
		names = append(names, name)
	}
	slices.Sort(names)
	var jobs []*job
	var others []hollowtest.FileReport
	for _, name := range names {
		t := targets.Of(name)
		if !t.Eligible {
			continue
		}
		e := engines[t.Language]
		if e == nil {
			others = append(others, hollowtest.FileReport{Path: name, Reason: "there is no mutation testing for " + string(t.Language)})
			continue
		}
		i := slices.IndexFunc(jobs, func(j *job) bool { return j.engine == e })
		if i < 0 {
			i = len(jobs)
			jobs = append(jobs, &job{engine: e, lines: map[string][]int{}})
		}
		j := jobs[i]
		j.lines[name] = lines[name]
		j.weight += len(lines[name])
		if !slices.Contains(j.languages, t.Language) {
			j.languages = append(j.languages, t.Language)
		}
	}
	return jobs, others, nil
}

// runJobs asks one engine after the other, as each uses the whole machine. Each has a share of the time and of the mutants
// by its changed lines, and what it leaves goes to the next.
func runJobs(ctx context.Context, jobs []*job, s *setup, deadline time.Time) ([]*hollowtest.Report, error) {
	weight := 0
	for _, j := range jobs {
		weight += j.weight
	}
	left := s.o.MaxMutants
	var reports []*hollowtest.Report
	doneBefore, totalBefore := 0, 0
	for i, j := range jobs {
		req := hollowtest.Request{
			Dir: s.tree, Lines: j.lines, Policy: s.p, Budget: max(time.Until(deadline)*time.Duration(j.weight)/time.Duration(max(weight, 1)), time.Millisecond),
			Exec: s.o.Exec, Env: s.env, Scratch: filepath.Join(s.scratch, fmt.Sprintf("engine%d", i)), Seed: s.o.Seed,
		}
		if s.o.MaxMutants > 0 {
			req.MaxMutants = max(left*j.weight/max(weight, 1), 1)
		}
		if s.o.Progress != nil {
			base, all := doneBefore, totalBefore
			req.Progress = func(done, total int) { s.o.Progress(base+done, all+total) }
		}
		if err := os.Mkdir(req.Scratch, 0o755); err != nil { //nolint:gosec // the tests may run as another account
			return nil, fmt.Errorf("hollow-test: %w", err)
		}
		r, err := j.engine.Measure(ctx, req)
		if err != nil {
			return nil, fmt.Errorf("hollow-test: %w", err)
		}
		reports = append(reports, r)
		weight -= j.weight
		tried := r.Summary.Total - r.Summary.Skipped
		left = max(left-tried, 0)
		doneBefore, totalBefore = doneBefore+tried, totalBefore+tried
	}
	return reports, nil
}

func makeScratch(dir string) (string, func(), error) {
	clean := func() {}
	if dir == "" {
		d, err := os.MkdirTemp("", "prosecutor-hollow-")
		if err != nil {
			return "", nil, fmt.Errorf("hollow-test: a scratch directory: %w", err)
		}
		dir, clean = d, func() { RemoveAll(d) }
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		clean()
		return "", nil, fmt.Errorf("hollow-test: the scratch directory: %w", err)
	}
	return real, clean, nil
}

// RemoveAll removes a scratch directory, also where tests left directories that cannot be entered.
func RemoveAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	//nolint:errcheck // what cannot be entered even so is left to the system's cleaning of temporary files
	fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			return root.Chmod(p, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir) // see above
}
