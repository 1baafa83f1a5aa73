package schemata

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// oracle is the test binary of one package, with everything that its runs without a mutant showed.
type oracle struct {
	mod  *module
	list *listed
	bin  string

	tests    []testFunc // in the source
	times    map[string]time.Duration
	total    time.Duration // of a whole run, process included
	rss      int64
	flaky    map[string]bool
	serial   bool // its tests do not bear a second process beside them
	hits     map[int32]int64
	ticks    int64
	reach    map[int32]map[string]bool // tests by mutant; "" is the time before any test
	infected map[int32]map[string]bool
	red      []string // tests that fail without a mutant, always
	dead     string   // why it answers nothing
	// late names the tests that did not pass or fail within their time. What the others do not notice, these might.
	late []string

	alone sync.RWMutex // held for writing by the only run of a serial oracle

	killMu sync.Mutex
	kills  map[string]int
}

// runner executes test binaries.
type runner struct {
	exec    hollowtest.Executor
	env     []string
	scratch string
	read    []string // directories of the tool chain, for tests that build
	slots   chan int // numbers of workers
	// quiet is held for reading by every run, and for writing by one that must be alone on the machine.
	quiet sync.RWMutex
	seq   sync.Mutex
	n     int
}

func newRunner(exec hollowtest.Executor, env []string, scratch string, workers int) *runner {
	r := &runner{exec: exec, env: env, scratch: scratch, slots: make(chan int, workers)}
	for i := range workers {
		r.slots <- i
	}
	return r
}

// runSpec is one start of a test binary.
type runSpec struct {
	o      *oracle
	suffix string // of the file's name; empty starts the original program
	args   []string
	wall   time.Duration
	memory int64
	output int
	alone  bool
}

// run starts a test binary in its package's directory, with a home and a temporary directory of its own.
func (r *runner) run(ctx context.Context, s runSpec) (hollowtest.ExecResult, string, error) {
	var worker int
	select {
	case worker = <-r.slots:
		defer func() { r.slots <- worker }()
	case <-ctx.Done():
		return hollowtest.ExecResult{}, "", ctx.Err()
	}
	if s.alone {
		r.quiet.Lock()
		defer r.quiet.Unlock()
	} else {
		r.quiet.RLock()
		defer r.quiet.RUnlock()
	}
	if s.o.serial {
		s.o.alone.Lock()
		defer s.o.alone.Unlock()
	}
	r.seq.Lock()
	r.n++
	n := r.n
	r.seq.Unlock()
	place := filepath.Join(r.scratch, "w"+strconv.Itoa(worker))
	home, tmp := filepath.Join(place, "home"), filepath.Join(place, "tmp"+strconv.Itoa(n))
	links := filepath.Join(filepath.Dir(s.o.bin), "run")
	writable := []string{place}
	if s.suffix == recordSuffix {
		// The recording stands beside the executable. No other run may write to where executables are.
		links = filepath.Join(place, "record"+strconv.Itoa(n))
		writable = append(writable, links)
	}
	for _, d := range []string{home, tmp, links} {
		if err := os.MkdirAll(d, 0o755); err != nil { //nolint:gosec // the tests may run as another account
			return hollowtest.ExecResult{}, "", fmt.Errorf("preparing a run: %w", err)
		}
	}
	defer removeAll(tmp)
	exe := s.o.bin
	if s.suffix != "" {
		exe = filepath.Join(links, strconv.Itoa(n)+"."+filepath.Base(s.o.bin)+".zz-"+s.suffix)
		link := os.Link
		if s.suffix == recordSuffix {
			link = copyFile // whoever may write there may not change the binary of all other runs
		}
		if err := link(s.o.bin, exe); err != nil {
			return hollowtest.ExecResult{}, "", fmt.Errorf("preparing a run: %w", err)
		}
		defer removeAll(exe)
	}
	res, err := r.exec.Run(ctx, hollowtest.Command{
		Kind: hollowtest.TestCommand, Argv: append([]string{exe}, s.args...), Dir: s.o.list.Dir,
		Env:  append(slices.Clone(r.env), "HOME="+home, "TMPDIR="+tmp, "PWD="+s.o.list.Dir),
		Read: append([]string{filepath.Dir(s.o.bin)}, r.read...), Write: writable, Wall: s.wall, Memory: s.memory, Output: s.output,
	})
	return res, exe, err
}

// copyFile copies an executable. No process may start meanwhile: it would keep the file open for writing for a moment, and
// a file that is open for writing cannot be executed.
func copyFile(from, to string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755) //nolint:gosec // the tests may run as another account
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// removeAll removes what tests left, also directories that they made unwritable.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	walk := func(p string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return os.Chmod(p, 0o700) //nolint:gosec // a directory must be entered to be emptied
		}
		return nil
	}
	if err := filepath.WalkDir(dir, walk); err != nil {
		return
	}
	if err := os.RemoveAll(dir); err != nil {
		return
	}
}

func quoteTests(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n)
	}
	return "^(?:" + strings.Join(quoted, "|") + ")$"
}

func (o *oracle) baseArgs() []string {
	args := []string{"-test.v=test2json", "-test.timeout=0"}
	if len(o.flaky) > 0 {
		var names []string
		for n := range o.flaky {
			names = append(names, n)
		}
		sort.Strings(names)
		args = append(args, "-test.skip="+quoteTests(names))
	}
	return args
}

const (
	baselineOutput = 32 << 20
	// mostRecording bounds what a recording may hold, in bytes.
	mostRecording = 512 << 20
	recordSuffix  = "record"
	// decoy is a number that no mutant has: with it a test cannot tell a run of the original by the executable's name.
	decoy = 1 << 20
)

// readLog reads what a recording run wrote: tests with their numbers by process, reached and infected mutants, and counts.
func (o *oracle) readLog(name string) error {
	// The tests could have put anything in its place.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading a recording: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > mostRecording {
		return fmt.Errorf("reading a recording: %s is no file of a sensible size", filepath.Base(name))
	}
	tests := make(map[string]string)
	sc := bufio.NewScanner(io.LimitReader(f, mostRecording))
	sc.Buffer(nil, 1<<20)
	put := func(m map[int32]map[string]bool, f []string) {
		id, err := strconv.ParseInt(f[3], 10, 32)
		if err != nil {
			return
		}
		if m[int32(id)] == nil {
			m[int32(id)] = map[string]bool{}
		}
		m[int32(id)][tests[f[1]+" "+f[2]]] = true
	}
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		switch {
		case len(f) == 4 && f[0] == "t":
			tests[f[1]+" "+f[2]] = f[3]
		case len(f) == 4 && f[0] == "r":
			put(o.reach, f)
		case len(f) == 4 && f[0] == "i":
			put(o.infected, f)
		case len(f) == 3 && f[0] == "h":
			id, err := strconv.ParseInt(f[1], 10, 32)
			n, err2 := strconv.ParseInt(f[2], 10, 64)
			if err == nil && err2 == nil {
				o.hits[int32(id)] = max(o.hits[int32(id)], n)
			}
		case len(f) == 2 && f[0] == "k":
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				o.ticks = max(o.ticks, n)
			}
		}
	}
	return sc.Err()
}

// trial is what the tests of one oracle said about a mutant.
type trial struct {
	status hollowtest.Status
	killer string
	reason string
}

// exitLimit is switches.Exit.
const exitLimit = 97

// Limits of a mutant's process. The recorded counts are rounded down to powers of two, so that each is doubled.
const (
	leastHits   = 20_000
	leastTicks  = 1 << 20
	moreOften   = 2 * 20
	leastWall   = 2 * time.Second
	wallFactor  = 10
	wallExtra   = time.Second
	aloneFactor = 3
	leastMemory = 1 << 30
	rssFactor   = 8
	trialOutput = 256 << 10
	// inTurnWithin is how long tests may take that are not let run in parallel.
	inTurnWithin = 500 * time.Millisecond
)

// try runs tests against a mutant. Nil tests mean all of them, and 0 the original program.
func (r *runner) try(ctx context.Context, o *oracle, id int32, tests []string) (trial, error) {
	hits := max(leastHits, moreOften*o.hits[id])
	ticks := max(leastTicks, moreOften*o.ticks)
	if id == 0 {
		id = decoy
	}
	suffix := fmt.Sprintf("%d-%d-%d", id, hits, ticks)
	args := append(o.baseArgs(), "-test.failfast")
	if o.expected(tests) <= inTurnWithin {
		// In turn, parallel tests fail in the same order each time.
		args = append(args, "-test.parallel=1")
	}
	if tests == nil && len(o.late) > 0 {
		tests = sortedKeys(o.times)
	}
	if tests != nil && (len(tests) < len(o.times) || len(o.late) > 0) {
		if pattern := quoteTests(tests); len(pattern) <= longestPattern {
			args = append(args, "-test.run="+pattern)
		}
	}
	spec := runSpec{
		o: o, suffix: suffix, args: args, wall: max(leastWall, wallFactor*o.expected(tests)+wallExtra),
		memory: max(leastMemory, rssFactor*o.rss), output: trialOutput,
	}
	res, _, err := r.run(ctx, spec)
	if err == nil && res.TimedOut {
		// A busy machine is slow as well. Only a second, quiet run decides.
		spec.alone, spec.wall = true, aloneFactor*spec.wall
		res, _, err = r.run(ctx, spec)
	}
	if err != nil {
		if ctx.Err() != nil {
			return trial{}, ctx.Err()
		}
		return trial{status: hollowtest.Undetermined, reason: "the tests could not be started: " + err.Error()}, nil
	}
	return o.judge(res, hits, ticks, spec.wall), nil
}

// expected is how long tests took without a mutant.
func (o *oracle) expected(tests []string) time.Duration {
	if tests == nil {
		return o.total
	}
	var sum time.Duration
	for _, t := range tests {
		sum += o.times[t]
	}
	return min(sum, max(o.total, sum))
}

func (o *oracle) judge(res hollowtest.ExecResult, hits, ticks int64, wall time.Duration) trial {
	out := parseOutput(res.Output)
	limited := res.Exit != nil && *res.Exit == exitLimit && bytes.Contains(res.Output, []byte("\nhollow-test: the mutant passed its limit of "))
	t := hollowtest.Trial{
		Syntax: hollowtest.SyntaxOK, Build: hollowtest.BuildOK, TimedOut: limited || res.TimedOut || res.OutMemory,
		Signal: res.Signal, ExitCode: res.Exit,
		// Tests that end the process themselves have passed no more than they have failed.
		NoTestRan: res.Exit != nil && *res.Exit == 0 && (!out.green || !out.ran),
	}
	v := trial{status: t.Status()}
	switch v.status {
	case hollowtest.Killed:
		switch {
		case len(out.failed) > 0:
			v.killer = slices.Min(out.failed)
		case out.running != "":
			v.killer = out.running
		case out.ran:
			v.killer = "TestMain"
		default:
			v.killer = "init"
			v.reason = "the program fails before its first test"
		}
	case hollowtest.TimedOut:
		switch {
		case limited && bytes.Contains(res.Output, []byte("its limit of turns")):
			v.reason = fmt.Sprintf("loops turned more than %d times", ticks)
		case limited:
			v.reason = fmt.Sprintf("the code was evaluated more than %d times", hits)
		case res.OutMemory:
			v.reason = "the memory outgrew its limit"
		default:
			v.reason = fmt.Sprintf("the tests took more than %s", wall.Round(time.Millisecond))
		}
		v.killer = out.running
	case hollowtest.Undetermined:
		switch {
		case t.Signal != "":
			v.reason = "the tests were ended by " + t.Signal
		case t.NoTestRan:
			v.reason = "the process ended by itself before the tests had passed or failed"
		case res.Exit != nil:
			v.reason = fmt.Sprintf("the tests could not be run (exit code %d)", *res.Exit)
		}
	}
	return v
}

// Tests are run by classes of how long they take, the fast ones first. The classes are wide, so that the same test is the
// first to fail each time.
const (
	fastTest   = 300 * time.Millisecond
	mediumTest = 2 * time.Second
)

// byClass splits tests by how long they take without a mutant.
func (o *oracle) byClass(tests []string) [][]string {
	var classes [3][]string
	for _, t := range tests {
		switch d := o.times[t]; {
		case d < fastTest:
			classes[0] = append(classes[0], t)
		case d < mediumTest:
			classes[1] = append(classes[1], t)
		default:
			classes[2] = append(classes[2], t)
		}
	}
	return slices.DeleteFunc(classes[:], func(c []string) bool { return len(c) == 0 })
}

// covering returns the tests that reach a mutant, and first those whose values it changed when they are not all of them.
// Nil with true means that all tests have to run, for it is reached before any of them.
func (o *oracle) covering(m *mutant) (first, all []string, reached bool) {
	set, ok := o.reach[m.id]
	if !ok {
		return nil, nil, false
	}
	if set[""] {
		return nil, nil, len(o.times) > 0 || len(o.late) == 0
	}
	for t := range set {
		if _, known := o.times[t]; !o.flaky[t] && (known || len(o.late) == 0) {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return nil, nil, len(o.late) == 0
	}
	sort.Strings(all)
	if m.infects {
		for _, t := range all {
			if o.infected[m.id][t] {
				first = append(first, t)
			}
		}
		if len(first) == len(all) {
			first = nil
		}
	}
	return first, all, true
}

// killed counts what a test noticed.
func (o *oracle) killed(test string) {
	o.killMu.Lock()
	defer o.killMu.Unlock()
	o.kills[test]++
}
