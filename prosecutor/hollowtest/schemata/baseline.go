package schemata

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

const (
	// wholePart is the part, in tenths, of the time for a baseline that all tests at once get. When they take longer the
	// rest is for running them piece by piece.
	wholePart = 5
	// leastPiece is the shortest time in which it makes sense to start some of the tests.
	leastPiece = 200 * time.Millisecond
	// longestPattern bounds the names of tests on a command line, in bytes. Linux takes 128 KiB for one argument.
	longestPattern = 64 << 10
	// runsNoTest is why an oracle answers nothing whose package has test files and no tests.
	runsNoTest = "it runs no test"
)

// testFunc is a test in the source.
type testFunc struct {
	name string
	file string // its base name
	uses map[string]bool
	near bool // to the mutants, by the names of files and functions
}

// markNear finds the tests that most likely reach the mutants: those in the test file of a mutated file, and those that
// name a mutated function.
func (o *oracle) markNear(mutants []*mutant) {
	files, functions := make(map[string]bool), make(map[string]bool)
	for _, m := range mutants {
		if m.skip != "" || m.pending {
			continue
		}
		functions[m.fn[strings.LastIndexByte(m.fn, '.')+1:]] = true
		if m.file.pkg.list == o.list {
			dir := strings.LastIndexByte(m.file.path, '/') + 1
			files[strings.TrimSuffix(m.file.path[dir:], ".go")+"_test.go"] = true
		}
	}
	for i := range o.tests {
		t := &o.tests[i]
		t.near = files[t.file]
		for name := range t.uses {
			t.near = t.near || functions[name]
		}
	}
}

// answer is what one run of the tests said.
type answer struct {
	out testOutput
	res hollowtest.ExecResult
}

func (a answer) green() bool {
	return a.res.Exit != nil && *a.res.Exit == 0 && (a.out.green || a.out.noTests)
}

// failures names the tests that failed, or that ran when the process ended by itself. A failure that no test can be blamed
// for is blamed on the process.
func (a answer) failures() map[string]bool {
	if a.green() {
		return nil
	}
	set := make(map[string]bool)
	for _, t := range a.out.failed {
		set[t] = true
	}
	switch {
	case len(set) > 0, a.res.TimedOut:
	case a.out.running != "":
		set[a.out.running] = true
	default:
		set["TestMain"] = true
	}
	return set
}

// record runs tests one after the other and adds what they reach.
func (r *runner) record(ctx context.Context, o *oracle, wall time.Duration, args ...string) (answer, error) {
	args = append(append(o.baseArgs(), "-test.parallel=1"), args...)
	res, exe, err := r.run(ctx, runSpec{o: o, suffix: recordSuffix, args: args, wall: wall, output: baselineOutput})
	if err != nil {
		return answer{}, err
	}
	return answer{parseOutput(res.Output), res}, o.readLog(exe + ".log")
}

// plain runs tests as they are.
func (r *runner) plain(ctx context.Context, o *oracle, wall time.Duration, args ...string) (answer, error) {
	res, _, err := r.run(ctx, runSpec{o: o, args: append(o.baseArgs(), args...), wall: wall, output: baselineOutput})
	return answer{parseOutput(res.Output), res}, err
}

// both records, and runs the tests as they are beside it.
func (r *runner) both(ctx context.Context, o *oracle, wall time.Duration, args ...string) (recorded, plain answer, err error) {
	beside := make(chan error, 1)
	go func() {
		var err error
		plain, err = r.plain(ctx, o, wall, args...)
		beside <- err
	}()
	recorded, err = r.record(ctx, o, wall, args...)
	return recorded, plain, errors.Join(err, <-beside)
}

// inTurn runs the tests as they are, and records then.
func (r *runner) inTurn(ctx context.Context, o *oracle, wall time.Duration) (recorded, plain answer, err error) {
	if plain, err = r.plain(ctx, o, wall); err != nil {
		return recorded, plain, err
	}
	o.forget()
	recorded, err = r.record(ctx, o, wall)
	return recorded, plain, err
}

// forget drops what was recorded.
func (o *oracle) forget() {
	o.hits, o.reach, o.infected, o.ticks = map[int32]int64{}, map[int32]map[string]bool{}, map[int32]map[string]bool{}, 0
}

// baseline runs the tests without a mutant: once to record, and beside it once as they are. Tests that fail in one of two
// quiet runs are flaky; tests that fail in both are red. When all tests take longer than most of the time given, those
// that ended count, and the others are late. 0 is time without limit.
func (r *runner) baseline(ctx context.Context, o *oracle, limit time.Duration) error {
	o.flaky, o.kills, o.times = map[string]bool{}, map[string]int{}, map[string]time.Duration{}
	o.forget()
	wall := limit * wholePart / 10
	recorded, plain, err := r.both(ctx, o, wall)
	if err != nil {
		return err
	}
	late := func() bool { return recorded.res.TimedOut || plain.res.TimedOut }
	if !late() && (!recorded.green() || !plain.green()) {
		// Once more, one after the other: what fails beside another process only is neither red nor flaky.
		o.serial = true
		if recorded, plain, err = r.inTurn(ctx, o, wall); err != nil {
			return err
		}
		if !late() {
			o.blame(recorded.failures(), plain.failures())
		}
		if len(o.red) > 0 {
			o.dead = "its tests fail without a mutant: " + strings.Join(o.red, ", ")
			return nil
		}
		if len(o.flaky) > 0 {
			if recorded, plain, err = r.inTurn(ctx, o, wall); err != nil {
				return err
			}
			if !late() && (!recorded.green() || !plain.green()) {
				o.dead = "its tests fail without a mutant now and then"
				return nil
			}
		}
	}
	if late() {
		return r.piecemeal(ctx, o, recorded, plain, limit-wall)
	}
	if !recorded.out.ran {
		o.dead = runsNoTest
		return nil
	}
	maps.Copy(o.times, plain.out.passed)
	o.total = plain.res.Wall
	o.rss = max(plain.res.PeakRSS, recorded.res.PeakRSS)
	return nil
}

// blame takes tests that failed in both of two runs for red, and those that failed in one for flaky.
func (o *oracle) blame(a, b map[string]bool) {
	for t := range a {
		if b[t] {
			o.red = append(o.red, t)
		} else {
			o.flaky[t] = true
		}
	}
	for t := range b {
		if !a[t] {
			o.flaky[t] = true
		}
	}
	slices.Sort(o.red)
}

// piecemeal takes what ended of tests that do not fit into their time, and goes on with the others while there is some
// left: first those that are nearest to the mutants, last those that were running when the time was over, which may have
// used it up. It is the difference between no answer and most of it: a mutant that the known tests notice is noticed, whatever the late ones do.
func (r *runner) piecemeal(ctx context.Context, o *oracle, recorded, plain answer, left time.Duration) error {
	end := time.Now().Add(left)
	cut := make(map[string]int) // how often a test was running when the time was over
	for {
		progress := o.settle(recorded, plain, cut)
		if len(o.red) > 0 {
			o.dead = "its tests fail without a mutant: " + strings.Join(o.red, ", ")
			return nil
		}
		next := o.waiting(cut)
		wall := time.Until(end) * 2 / 3
		if !progress || len(next) == 0 || wall < leastPiece {
			break
		}
		var err error
		if recorded, plain, err = r.both(ctx, o, wall, "-test.run="+quoteTests(next)); err != nil {
			return err
		}
	}
	for _, t := range o.tests {
		if _, known := o.times[t.name]; !known && !o.flaky[t.name] {
			o.late = append(o.late, t.name)
		}
	}
	return nil
}

// settle takes over the tests that passed in both runs, and counts those that were running when the time was over. It
// returns false when nothing new is known.
func (o *oracle) settle(recorded, plain answer, cut map[string]int) bool {
	before := len(o.times) + len(o.flaky)
	progress := false
	o.blame(recorded.failures(), plain.failures())
	known := sortedKeys(o.times)
	for _, t := range sortedKeys(plain.out.passed) {
		if _, twice := recorded.out.passed[t]; twice {
			known = append(known, t)
		}
	}
	for _, t := range fitting(known)[len(o.times):] {
		o.times[t] = plain.out.passed[t]
		o.total += plain.out.passed[t]
	}
	o.rss = max(o.rss, recorded.res.PeakRSS, plain.res.PeakRSS)
	for t := range map[string]bool{recorded.out.running: true, plain.out.running: true} {
		if t != "" {
			cut[t]++
			progress = true
		}
	}
	return progress || len(o.times)+len(o.flaky) > before
}

// waiting names the tests to run next, as many as a command line holds. A test that was cut off has one more try.
func (o *oracle) waiting(cut map[string]int) []string {
	var near, others, again []string
	for _, t := range o.tests {
		_, known := o.times[t.name]
		switch {
		case known || o.flaky[t.name] || cut[t.name] > 1:
		case cut[t.name] == 1:
			again = append(again, t.name)
		case t.near:
			near = append(near, t.name)
		default:
			others = append(others, t.name)
		}
	}
	for _, names := range [][]string{near, others, again} {
		if len(names) > 0 {
			return fitting(names)
		}
	}
	return nil
}

// fitting returns the first tests that a pattern has room for.
func fitting(names []string) []string {
	length := len(quoteTests(nil)) - len("|")
	for i, t := range names {
		if length += len(regexp.QuoteMeta(t)) + len("|"); length > longestPattern {
			return names[:i]
		}
	}
	return names
}

// unheard says how much of the tests did not answer in time.
func (o *oracle) unheard() string {
	return fmt.Sprintf("%d of the %d tests of %s did not end within their part of the budget", len(o.late), len(o.tests), o.list.ImportPath)
}
