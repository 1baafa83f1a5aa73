package tokens

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// place is one copy of the tree with what belongs to it.
type place struct {
	tree string
	env  []string
	dirs []string // that tests may write to, beside the tree
}

// whole runs the whole test command for each mutant.
type whole struct {
	r        *run
	c        *testCommand
	places   []*place
	wall     time.Duration
	memory   int64
	known    *runner
	tests    int
	quiet    sync.RWMutex // held alone by runs that nothing may disturb
	compiled bool         // a build's results stay in the tree
}

// test decides the mutants of the queue: with the driver where there is one, and with the whole command where not.
func (r *run) test(ctx context.Context, c *testCommand, queue []*mutant) error {
	left := queue
	if c.driver != noDriver {
		var err error
		if left, err = r.drive(ctx, c, queue); err != nil {
			return err
		}
		if len(left) == 0 {
			return nil
		}
	}
	w := &whole{r: r, c: c}
	for _, m := range left {
		if m.f.language == hollowtest.Java || m.f.language == hollowtest.Rust {
			w.compiled = true
		}
	}
	if ok, err := w.baseline(ctx, len(left)); err != nil || !ok {
		return err
	}
	return w.run(ctx, left)
}

// place returns the copy of the tree of that number, and makes it first where needed.
func (r *run) place(ctx context.Context, i int) (*place, error) {
	for len(r.trees) <= i {
		tree := filepath.Join(r.scratch, "tree"+strconv.Itoa(len(r.trees)))
		if err := forkTree(ctx, r.root, tree); err != nil {
			return nil, fmt.Errorf("copying the tree: %w", err)
		}
		r.trees = append(r.trees, tree)
	}
	own := filepath.Join(r.scratch, "place"+strconv.Itoa(i))
	p := &place{tree: r.trees[i]}
	for _, name := range []string{"home", "tmp"} {
		dir := filepath.Join(own, name)
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the tests may run as another account
			return nil, err
		}
		p.dirs = append(p.dirs, dir)
	}
	path := ""
	for _, kv := range r.env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	p.env = unique(append(append([]string{}, r.env...), "HOME="+p.dirs[0], "TMPDIR="+p.dirs[1], "PWD="+p.tree,
		"PATH="+filepath.Join(p.tree, "node_modules", ".bin")+string(os.PathListSeparator)+path))
	return p, nil
}

// baseline runs the command without any mutant: it must succeed, and run tests, once alone and once in every copy at the
// same time. false means that the report says why it does not.
func (w *whole) baseline(ctx context.Context, mutants int) (bool, error) {
	first, err := w.r.place(ctx, 0)
	if err != nil {
		return false, err
	}
	w.places = []*place{first}
	if w.c.build != nil {
		res, err := w.start(ctx, first, w.c.build, 0)
		if err != nil {
			return false, err
		}
		if res.Exit == nil || *res.Exit != 0 {
			return false, fmt.Errorf("the tests do not build: %s", lastLines(res.Output))
		}
	}
	res, err := w.start(ctx, first, w.c.argv, 0)
	if err != nil {
		return false, err
	}
	w.known, w.tests = recognise(res.Output)
	if res.Exit == nil || *res.Exit != 0 {
		return false, w.red(ctx, first, res)
	}
	if w.known != nil && w.tests == 0 {
		w.r.problem(hollowtest.NoTestCommand, "the command runs no test: "+lastLines(res.Output))
		return false, nil
	}
	w.wall = max(3*res.Wall+2*time.Second, 4*time.Second)
	w.memory = max(memoryFloor, memoryFactor*res.PeakRSS)
	for i := 1; i < min(w.r.workers(), mutants); i++ {
		p, err := w.r.place(ctx, i)
		if err != nil {
			return false, err
		}
		w.places = append(w.places, p)
	}
	results := make([]hollowtest.ExecResult, len(w.places))
	g, inner := errgroup.WithContext(ctx)
	for i, p := range w.places {
		g.Go(func() error {
			var err error
			results[i], err = w.start(inner, p, w.c.argv, 4*w.wall)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return false, err
	}
	for _, again := range results {
		if again.Exit != nil && *again.Exit == 0 && w.same(again) {
			continue
		}
		if len(w.places) > 1 {
			// Copies get in each other's way: they share a port, or a file outside of the tree.
			w.places = w.places[:1]
			alone, err := w.start(ctx, first, w.c.argv, 4*w.wall)
			if err != nil {
				return false, err
			}
			if alone.Exit != nil && *alone.Exit == 0 && w.same(alone) {
				break
			}
			again = alone
		}
		return false, w.flaky(again)
	}
	return true, nil
}

func (w *whole) same(res hollowtest.ExecResult) bool {
	k, n := recognise(res.Output)
	return k == w.known && n == w.tests
}

// red reports a command that fails without any mutant.
func (w *whole) red(ctx context.Context, p *place, res hollowtest.ExecResult) error {
	name := w.failing(res)
	again, err := w.start(ctx, p, w.c.argv, 0)
	if err != nil {
		return err
	}
	if again.Exit != nil && *again.Exit == 0 {
		return w.flaky(res)
	}
	if res.Exit != nil && *res.Exit == 127 {
		w.r.problem(hollowtest.SetupFailed, "the test command was not found: "+lastLines(res.Output))
		return nil
	}
	if name == "" {
		name = lastLines(res.Output)
	}
	w.r.problem(hollowtest.BaselineRed, name)
	return nil
}

// flaky reports a command that fails now and then. Its failures would prove nothing.
func (w *whole) flaky(res hollowtest.ExecResult) error {
	name := w.failing(res)
	if name != "" {
		w.r.report.Flaky = append(w.r.report.Flaky, name)
	} else {
		name = lastLines(res.Output)
	}
	w.r.problem(hollowtest.BaselineRed, "now and then: "+name)
	return nil
}

func (w *whole) failing(res hollowtest.ExecResult) string {
	k, _ := recognise(res.Output)
	if k == nil {
		return ""
	}
	return k.failing(res.Output)
}

// start runs a command in a copy of the tree.
func (w *whole) start(ctx context.Context, p *place, argv []string, wall time.Duration) (hollowtest.ExecResult, error) {
	c := hollowtest.Command{
		Kind: hollowtest.TestCommand, Argv: argv, Dir: p.tree, Env: p.env, Read: w.r.read, Write: p.dirs, Wall: wall, Memory: w.memory, Output: 1 << 20,
	}
	if w.compiled {
		c.Write = append([]string{p.tree}, p.dirs...)
	}
	if found, err := lookIn(p.env, argv[0]); err == nil {
		c.Argv = append([]string{found}, argv[1:]...)
	}
	return w.r.req.Exec.Run(ctx, c)
}

// run tries the mutants, each in a copy that is free.
func (w *whole) run(ctx context.Context, queue []*mutant) error {
	free := make(chan *place, len(w.places))
	for _, p := range w.places {
		free <- p
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(len(w.places))
	for _, m := range queue {
		g.Go(func() error {
			p := <-free
			defer func() { free <- p }()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := w.try(ctx, p, m); err != nil {
				return err
			}
			w.r.progress()
			return nil
		})
	}
	return g.Wait()
}

// try runs one mutant. The file is put back whatever happens.
func (w *whole) try(ctx context.Context, p *place, m *mutant) error {
	begun := time.Now()
	if err := put(p.tree, m.File, m.source()); err != nil {
		return err
	}
	defer func() {
		m.DurationMS = time.Since(begun).Milliseconds()
	}()
	err := w.tryHere(ctx, p, m)
	return errors.Join(err, put(p.tree, m.File, m.f.src))
}

func (w *whole) tryHere(ctx context.Context, p *place, m *mutant) error {
	w.quiet.RLock()
	if m.f.language == hollowtest.Rust {
		if w.c.build == nil {
			w.quiet.RUnlock()
			m.settle(hollowtest.Undetermined, "unsupported: Rust is mutated where the test command is cargo test")
			return nil
		}
		res, err := w.start(ctx, p, w.c.build, 0)
		if err != nil || res.Exit == nil || *res.Exit != 0 {
			w.quiet.RUnlock()
			if err == nil {
				m.settle(hollowtest.Invalid, "it does not compile")
			}
			return err
		}
	}
	res, err := w.start(ctx, p, w.c.argv, w.wall)
	w.quiet.RUnlock()
	// What used the processor all the time hangs. What did not may have been kept waiting, and gets another chance alone.
	if err == nil && res.TimedOut && res.CPU < w.wall*7/10 {
		w.quiet.Lock()
		res, err = w.start(ctx, p, w.c.argv, 3*w.wall)
		w.quiet.Unlock()
	}
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		m.settle(hollowtest.Undetermined, "the tests could not be started: "+err.Error())
		return nil
	}
	status, killer, reason := judge(res, w.known, w.tests)
	m.settle(status, reason)
	m.Killer = killer
	return nil
}

// put writes a file of a copy. Nothing is written through links: copies may share a file that is not mutated, and the
// tests may have left anything.
func put(tree, name string, content []byte) error {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // the file was closed, and its error seen
	name = filepath.FromSlash(name)
	mode := os.FileMode(0o644)
	if info, err := root.Lstat(name); err == nil {
		mode = info.Mode().Perm()
	}
	temporary := name + ".prosecutor"
	if err := root.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return root.Rename(temporary, name)
}

// lookIn finds a program in the PATH of an environment.
func lookIn(env []string, name string) (string, error) {
	r := &run{env: env}
	argv, err := r.lookPath([]string{name})
	if err != nil {
		return "", err
	}
	return argv[0], nil
}
