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
	set := map[string]bool{}
	if a.green() {
		return set
	}
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
	res, exe, err := r.run(ctx, runSpec{o: o, suffix: recordSuffix, args: args, wall: wall, output: baselineOutput, keepLink: true})
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
		if !late() && len(o.flaky) > 0 {
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
	maps.Copy(o.times, recorded.out.passed)
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
// left, first those that are nearest to the mutants, without those that were running when the time was over. It is the
// difference between no answer and most of it: a mutant that the known tests notice is noticed, whatever the late ones do.
func (r *runner) piecemeal(ctx context.Context, o *oracle, recorded, plain answer, left time.Duration) error {
	end := time.Now().Add(left)
	slow := make(map[string]bool)
	for {
		progress := o.settle(recorded, plain, slow)
		if len(o.red) > 0 {
			o.dead = "its tests fail without a mutant: " + strings.Join(o.red, ", ")
			return nil
		}
		next := o.waiting(slow)
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

// settle takes over the tests that passed in both runs, and marks those that were running when the time was over. It
// returns false when nothing new is known.
func (o *oracle) settle(recorded, plain answer, slow map[string]bool) bool {
	before := len(o.times) + len(o.flaky) + len(slow)
	o.blame(recorded.failures(), plain.failures())
	room := longestPattern - len(quoteTests(sortedKeys(o.times)))
	for _, t := range sortedKeys(plain.out.passed) {
		_, twice := recorded.out.passed[t]
		_, known := o.times[t]
		if !twice || known || o.flaky[t] {
			continue
		}
		if room -= patternLen(t); room <= 0 {
			break
		}
		o.times[t] = plain.out.passed[t]
		o.total += plain.out.passed[t]
	}
	for _, a := range []answer{recorded, plain} {
		o.rss = max(o.rss, a.res.PeakRSS)
		if a.res.TimedOut && a.out.running != "" {
			slow[a.out.running] = true
		}
	}
	return len(o.times)+len(o.flaky)+len(slow) > before
}

// waiting names the tests to run next, as many as a command line holds.
func (o *oracle) waiting(slow map[string]bool) []string {
	var near, others []string
	room := longestPattern
	for _, t := range o.tests {
		if _, known := o.times[t.name]; known || o.flaky[t.name] || slow[t.name] {
			continue
		}
		if room -= patternLen(t.name); room <= 0 {
			break
		}
		if t.near {
			near = append(near, t.name)
		} else {
			others = append(others, t.name)
		}
	}
	if len(near) > 0 {
		return near
	}
	return others
}

// patternLen is what the name of a test adds to a pattern.
func patternLen(name string) int { return len(regexp.QuoteMeta(name)) + 1 }

// unheard says how much of the tests did not answer in time.
func (o *oracle) unheard() string {
	return fmt.Sprintf("%d of the %d tests of %s did not end within their part of the budget", len(o.late), len(o.tests), o.list.ImportPath)
}
