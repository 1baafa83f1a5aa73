package tokens

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"golang.org/x/sync/errgroup"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

const (
	// recordWithin is how long the tests may take in a driver without a mutant.
	recordWithin = 10 * time.Minute
	// followEvery is how often the progress of a driver is looked at.
	followEvery = 100 * time.Millisecond
)

// driven is a mutant in the words of the drivers.
type driven struct {
	ID     int    `json:"id"`
	Path   string `json:"path"`
	Source string `json:"source"`
	Line   int    `json:"line"`
	Offset int    `json:"offset"` // in UTF-16 units
	Tests  []int  `json:"tests,omitempty"`
	Late   bool   `json:"late,omitempty"`
}

// driveSpec is what a driver is asked for.
type driveSpec struct {
	Mode    string    `json:"mode"`
	Kind    driver    `json:"kind"`
	Args    []string  `json:"args"`
	OnPath  bool      `json:"cwd_on_path"`
	Tree    string    `json:"tree"`
	Out     string    `json:"out"`
	Files   []string  `json:"files"`
	Mutants []driven  `json:"mutants"`
	Took    []float64 `json:"took"`   // seconds of each test
	Used    []float64 `json:"used"`   // seconds of the processor of each test file
	Counts  []int     `json:"counts"` // tests of each test file
	Dropped []string  `json:"dropped"`
	Wall    float64   `json:"wall"`   // of everything, in record mode: seconds, or milliseconds for node
	Load    float64   `json:"load"`   // seconds that loading the tests takes
	Memory  int64     `json:"memory"` // bytes
	Heap    int       `json:"heap"`   // MiB
}

// said is one line that a driver writes.
type said struct {
	Kind   string        `json:"kind"`
	OK     bool          `json:"ok"`
	Why    string        `json:"why"`
	Names  []string      `json:"names"`
	Took   []float64     `json:"took"`
	Used   []float64     `json:"used"`
	Load   float64       `json:"load"`
	Tests  []int         `json:"tests"`
	Red    [][]string    `json:"red"`
	Reach  map[int][]int `json:"reach"`
	Late   []int         `json:"late"`
	ID     int           `json:"id"`
	Result string        `json:"result"`
	Test   string        `json:"test"`
	MS     int64         `json:"ms"`
}

// driving is the state of a driver's work.
type driving struct {
	r       *run
	c       *testCommand
	dir     string
	files   []string // test files, of the node driver, relative to the tree
	mutants []*mutant
	record  said
	dropped []string
}

// drive decides what a driver can decide, and returns the other mutants: all of them when the driver does not agree with
// the command, or cannot be used.
func (r *run) drive(ctx context.Context, c *testCommand, queue []*mutant) ([]*mutant, error) {
	d := &driving{r: r, c: c, dir: filepath.Join(r.scratch, "drive")}
	var left []*mutant
	for _, m := range queue {
		if c.driver.serves(m.f.language) {
			d.mutants = append(d.mutants, m)
		} else {
			left = append(left, m)
		}
	}
	if len(d.mutants) == 0 {
		return queue, nil
	}
	if err := d.prepare(); err != nil {
		return nil, err
	}
	if c.driver == nodeDriver {
		ok, err := d.testFiles(ctx)
		if err != nil || !ok {
			return queue, ctx.Err()
		}
	}
	if !d.observe(ctx) {
		return queue, ctx.Err()
	}
	rest, err := d.decide(ctx)
	return append(left, rest...), err
}

// prepare writes the helpers and the mutated files.
func (d *driving) prepare() error {
	if err := os.MkdirAll(d.dir, 0o755); err != nil { //nolint:gosec // the tests may run as another account
		return err
	}
	names := []string{"drive.py"}
	if d.c.driver == nodeDriver {
		names = []string{"drive.cjs", "watch.cjs", "files.mjs"}
	}
	for _, name := range names {
		if _, err := helper(d.dir, name); err != nil {
			return err
		}
	}
	for i, m := range d.mutants {
		if err := os.WriteFile(d.mutated(i), m.source(), 0o644); err != nil { //nolint:gosec // see above
			return err
		}
	}
	return nil
}

func (d *driving) mutated(i int) string { return filepath.Join(d.dir, "mutant-"+strconv.Itoa(i)) }

// testFiles asks node's runner which files it runs, and whether they are green. false leaves the question to the whole
// command.
func (d *driving) testFiles(ctx context.Context) (bool, error) {
	p, err := d.r.place(ctx, 0)
	if err != nil {
		return false, err
	}
	argv := []string{d.c.args[0], "--test-reporter=" + filepath.Join(d.dir, "files.mjs"), "--test-reporter-destination=stdout"}
	for _, a := range d.c.args[1:] {
		if !strings.HasPrefix(a, "--test-reporter") {
			argv = append(argv, a)
		}
	}
	res, err := d.start(ctx, p, argv, d.dir, recordWithin)
	if err != nil || res.Exit == nil || *res.Exit != 0 {
		return false, err
	}
	for line := range strings.Lines(string(res.Output)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "PROSECUTOR-FILE ")
		var file string
		if !ok || json.Unmarshal([]byte(name), &file) != nil {
			continue
		}
		rel, err := filepath.Rel(p.tree, file)
		if err != nil || strings.HasPrefix(rel, "..") {
			return false, nil
		}
		if !slices.Contains(d.files, rel) {
			d.files = append(d.files, rel)
		}
	}
	return len(d.files) > 0, nil
}

// start runs a driver or a runner in a copy of the tree, which the driver writes mutants into.
func (d *driving) start(ctx context.Context, p *place, argv []string, out string, wall time.Duration) (hollowtest.ExecResult, error) {
	if found, err := lookIn(p.env, argv[0]); err == nil {
		argv = append([]string{found}, argv[1:]...)
	}
	return d.r.req.Exec.Run(ctx, hollowtest.Command{
		Kind: hollowtest.TestCommand, Argv: argv, Dir: p.tree, Env: p.env, Read: append([]string{d.dir}, d.r.read...),
		Write: append([]string{out}, p.dirs...), Wall: wall, Output: 1 << 20,
	})
}

// ask starts a driver, and returns what it said.
func (d *driving) ask(ctx context.Context, worker int, s driveSpec, wall time.Duration, hear func(said)) ([]said, error) {
	p, err := d.r.place(ctx, worker)
	if err != nil {
		return nil, err
	}
	out := filepath.Join(d.dir, fmt.Sprintf("out-%s-%d-%d", s.Mode, worker, time.Now().UnixNano()))
	if err := os.Mkdir(out, 0o755); err != nil { //nolint:gosec // the tests may run as another account
		return nil, err
	}
	s.Kind, s.Args, s.OnPath, s.Tree = d.c.driver, d.c.args, d.c.onPath, p.tree
	if s.Args == nil {
		s.Args = []string{}
	}
	s.Out, s.Dropped = filepath.Join(out, "said"), d.dropped
	if s.Dropped == nil {
		s.Dropped = []string{}
	}
	s.Memory, s.Heap = memoryFloor, memoryFloor>>20
	for _, f := range d.files {
		s.Files = append(s.Files, filepath.Join(p.tree, f))
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	spec := filepath.Join(d.dir, filepath.Base(out)+".json")
	if err := os.WriteFile(spec, data, 0o644); err != nil { //nolint:gosec // the tests may run as another account
		return nil, err
	}
	argv := append(slices.Clone(d.c.python), filepath.Join(d.dir, "drive.py"), spec)
	if d.c.driver == nodeDriver {
		argv = []string{d.c.args[0], "--no-warnings", "--test-reporter=tap", "--test-reporter-destination=stdout", filepath.Join(d.dir, "drive.cjs"), spec}
	}
	ended := make(chan struct{})
	heard := make(chan []said, 1)
	go func() { heard <- follow(s.Out, ended, hear) }()
	_, err = d.start(ctx, p, argv, out, wall)
	close(ended)
	return <-heard, err
}

// follow reads what a driver says while it says it.
func follow(name string, ended <-chan struct{}, hear func(said)) []said {
	var all []said
	var offset int64
	for last := false; ; {
		if data, err := readFrom(name, offset); err == nil {
			whole := data[:bytes.LastIndexByte(data, '\n')+1]
			offset += int64(len(whole))
			scanner := bufio.NewScanner(bytes.NewReader(whole))
			scanner.Buffer(nil, 256<<20)
			for scanner.Scan() {
				var s said
				if json.Unmarshal(scanner.Bytes(), &s) != nil {
					continue // a line that was cut off when the driver was killed
				}
				all = append(all, s)
				if hear != nil {
					hear(s)
				}
			}
		}
		if last {
			return all
		}
		select {
		case <-ended:
			last = true
		case <-time.After(followEvery):
		}
	}
}

func readFrom(name string, offset int64) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err != nil || int64(len(data)) < offset {
		return nil, err
	}
	return data[offset:], nil
}

// observe runs the tests without a mutant, twice, and learns which tests reach which mutant. false means that the driver
// does not see what the command sees, so that the command decides.
func (d *driving) observe(ctx context.Context) bool {
	s := driveSpec{Mode: "record", Wall: recordWithin.Seconds()}
	if d.c.driver == nodeDriver {
		s.Wall = float64(recordWithin.Milliseconds())
	}
	for i := range d.mutants {
		s.Mutants = append(s.Mutants, d.describe(i))
	}
	heard, err := d.ask(ctx, 0, s, 2*recordWithin, nil)
	if err != nil || len(heard) == 0 || !heard[0].OK || len(heard[0].Names) == 0 || len(heard[0].Took) != len(heard[0].Names) || len(heard[0].Red) != 2 {
		return false
	}
	d.record = heard[0]
	for _, name := range d.record.Red[0] {
		if slices.Contains(d.record.Red[1], name) {
			return false // red, or red only here
		}
	}
	// A test that fails now and then decides nothing.
	d.dropped = append(slices.Clone(d.record.Red[0]), d.record.Red[1]...)
	slices.Sort(d.dropped)
	d.dropped = slices.Compact(d.dropped)
	return true
}

func (d *driving) describe(i int) driven {
	m := d.mutants[i]
	return driven{ID: i, Path: m.File, Source: d.mutated(i), Line: m.Line, Offset: len(utf16.Encode([]rune(string(m.f.src[:m.edit.start]))))}
}

// decide runs the mutants that tests reach, in as many copies as there are workers. It returns those that the driver
// gave no answer to.
func (d *driving) decide(ctx context.Context) ([]*mutant, error) {
	d.r.report.Flaky = append(d.r.report.Flaky, d.dropped...)
	late := make(map[int]bool)
	for _, id := range d.record.Late {
		late[id] = true
	}
	var todo []driven
	for i, m := range d.mutants {
		item := d.describe(i)
		item.Late = late[i]
		for _, t := range d.record.Reach[i] {
			if !slices.Contains(d.dropped, d.record.Names[t]) {
				item.Tests = append(item.Tests, t)
			}
		}
		if len(item.Tests) == 0 {
			m.settle(hollowtest.NotCovered, "no test reaches it")
			d.r.progress()
			continue
		}
		if !item.Late {
			for _, t := range item.Tests {
				m.Tests = append(m.Tests, d.record.Names[t])
			}
		}
		todo = append(todo, item)
	}
	if d.c.driver == nodeDriver {
		for i := range todo {
			slices.SortStableFunc(todo[i].Tests, func(a, b int) int { return int(1e6 * (d.record.Took[a] - d.record.Took[b])) })
		}
	}
	workers := min(d.r.workers(), max(len(todo), 1))
	for i := range workers {
		if _, err := d.r.place(ctx, i); err != nil {
			return nil, err
		}
	}
	shares := make([][]driven, workers)
	for i, item := range todo {
		shares[i%workers] = append(shares[i%workers], item)
	}
	g, inner := errgroup.WithContext(ctx)
	for w, share := range shares {
		g.Go(func() error { return d.work(inner, w, share) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var left []*mutant
	for _, m := range d.mutants {
		if !m.decided {
			left = append(left, m)
		}
	}
	return left, nil
}

// work runs one share. A driver that dies takes one mutant with it, which is left to the whole command; the others are
// asked for again.
func (d *driving) work(ctx context.Context, worker int, share []driven) error {
	for len(share) > 0 {
		s := driveSpec{Mode: "run", Mutants: share, Took: d.record.Took, Used: d.record.Used, Counts: d.record.Tests, Load: d.record.Load}
		heard, err := d.ask(ctx, worker, s, 0, d.hear)
		if err != nil {
			return err
		}
		doubtful, started := -1, map[int]bool{}
		finished := false
		for _, line := range heard {
			switch line.Kind {
			case "start":
				doubtful = line.ID
				started[line.ID] = true
			case "result":
				doubtful = -1
			case "end":
				finished = true
			}
		}
		// The copy may have been left with a mutant.
		for _, item := range share {
			if err := put(d.r.trees[worker], d.mutants[item.ID].File, d.mutants[item.ID].f.src); err != nil {
				return err
			}
		}
		if finished || len(started) == 0 || doubtful < 0 {
			return nil
		}
		share = slices.DeleteFunc(share, func(item driven) bool { return started[item.ID] })
	}
	return nil
}

// hear settles the mutant that a driver has a result for.
func (d *driving) hear(s said) {
	if s.Kind != "result" || s.ID < 0 || s.ID >= len(d.mutants) {
		return
	}
	m := d.mutants[s.ID]
	d.r.mu.Lock()
	m.DurationMS = s.MS
	switch s.Result {
	case "passed":
		m.settle(hollowtest.Survived, "")
	case "failed":
		m.settle(hollowtest.Killed, "")
		m.Killer = s.Test
	case "time", "processor":
		m.settle(hollowtest.TimedOut, "the tests went over their limit of time")
	case "memory":
		m.settle(hollowtest.TimedOut, "the tests went over their limit of memory or disk")
	}
	decided := m.decided
	d.r.mu.Unlock()
	if decided {
		d.r.progress()
	}
}
