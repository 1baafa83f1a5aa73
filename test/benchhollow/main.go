// Command benchhollow measures the Go engine of hollow-test beside gremlins v0.6.0, on pairs of tags of public modules,
// with the same operators, in one run on one machine.
//
// Each pair becomes two commits of a fresh repository. Both tools get a build cache that holds the dependencies and
// nothing of the module itself: the repositories are at new paths each time. What gremlins would take for as many mutants
// as ours ran is computed from its own fixed cost (a dry run) and its own cost per mutant.
//
//	go run ./test/benchhollow [-only mux,pflag] [-peer=false] [-gremlins .cache/bin/gremlins]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/process"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/schemata"
)

// gremlinsOperators are the five that gremlins has on by default.
var gremlinsOperators = []schemata.Operator{schemata.Boundary, schemata.Negation, schemata.IncDec, schemata.Unary, schemata.Arithmetic}

type input struct {
	name, module, base, head string
	whole                    bool // every line counts as changed
}

var inputs = []input{
	{"mux", "github.com/gorilla/mux", "v1.8.0", "v1.8.1", false},
	{"pflag", "github.com/spf13/pflag", "v1.0.5", "v1.0.6", false},
	{"gitdiff", "github.com/bluekeyes/go-gitdiff", "v0.8.0", "v0.8.1", false},
	{"version", "github.com/hashicorp/go-version", "v1.6.0", "v1.7.0", false},
	{"version-whole", "github.com/hashicorp/go-version", "v1.6.0", "v1.7.0", true},
	{"mux-whole", "github.com/gorilla/mux", "v1.8.0", "v1.8.1", true},
}

// cost is wall and CPU time.
type cost struct{ wall, cpu time.Duration }

func main() {
	only := flag.String("only", "", "names of inputs, separated by commas")
	peer := flag.Bool("peer", true, "run gremlins too")
	gremlins := flag.String("gremlins", ".cache/bin/gremlins", "the binary of gremlins v0.6.0; installed when it is missing")
	show := flag.Bool("show", false, "list the mutants that were not killed")
	full := flag.Bool("full", true, "measure with all operators too")
	flag.Parse()
	if err := run(*only, *peer, *gremlins, *show, *full); err != nil {
		fmt.Fprintln(os.Stderr, "benchhollow:", err)
		os.Exit(1)
	}
}

func run(only string, peer bool, gremlins string, show, full bool) error {
	if peer {
		var err error
		if gremlins, err = install(gremlins); err != nil {
			return err
		}
	}
	missed := 0
	for _, in := range inputs {
		if only != "" && !strings.Contains(","+only+",", ","+in.name+",") {
			continue
		}
		n, err := measure(in, peer, gremlins, show, full)
		if err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
		missed += n
	}
	for _, more := range []struct {
		name    string
		measure func() (int, error)
	}{{"limits", limits}, {"own", own}, {"languages", languages}} {
		name := more.name
		if only != "" && !strings.Contains(","+only+",", ","+name+",") {
			continue
		}
		n, err := more.measure()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		missed += n
	}
	if missed > 0 {
		fmt.Printf("%d targets missed\n", missed)
	}
	return nil
}

func install(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(abs); err == nil {
		return abs, nil
	}
	cmd := exec.Command("go", "install", "github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0")
	cmd.Env = append(os.Environ(), "GOBIN="+filepath.Dir(abs))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("installing gremlins: %w: %s", err, out)
	}
	return abs, nil
}

// command runs a command in a directory and returns its output and cost.
func command(dir string, env []string, argv ...string) (string, cost, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err := cmd.Run()
	c := cost{wall: time.Since(start)}
	if cmd.ProcessState != nil {
		c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(out.String()))
	}
	return out.String(), c, err
}

func download(module, version string) (string, error) {
	out, _, err := command(os.TempDir(), []string{"GOFLAGS=-mod=mod"}, "go", "mod", "download", "-json", module+"@"+version)
	if err != nil {
		return "", err
	}
	var m struct{ Dir, Error string }
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		return "", fmt.Errorf("reading go mod download: %w", err)
	}
	if m.Error != "" {
		return "", errors.New(m.Error)
	}
	return m.Dir, nil
}

// repository makes a repository with the two versions as commits and returns the changed lines.
func repository(dir string, in input) (map[string][]int, error) {
	git := func(args ...string) (string, error) {
		out, _, err := command(dir, []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.com", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.com"}, append([]string{"git"}, args...)...)
		return out, err
	}
	if _, err := git("init", "-q", "-b", "main"); err != nil {
		return nil, err
	}
	for _, version := range []string{in.base, in.head} {
		from, err := download(in.module, version)
		if err != nil {
			return nil, err
		}
		if err := empty(dir); err != nil {
			return nil, err
		}
		if err := copyTree(from, dir); err != nil {
			return nil, err
		}
		if _, err := git("add", "-A"); err != nil {
			return nil, err
		}
		if _, err := git("commit", "-q", "-m", version); err != nil {
			return nil, err
		}
	}
	if in.whole {
		text, err := git("diff", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "HEAD")
		if err != nil {
			return nil, err
		}
		return changed(text)
	}
	text, err := git("diff", "-M", "HEAD~1", "HEAD")
	if err != nil {
		return nil, err
	}
	return changed(text)
}

func changed(text string) (map[string][]int, error) {
	d, err := diff.ParseString(text)
	if err != nil {
		return nil, err
	}
	lines := hollowtest.ChangedLines(d)
	for name := range lines {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			delete(lines, name)
		}
	}
	return lines, nil
}

func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyTree copies a module out of the cache, whose files are read-only.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	})
}

func cpu() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

// ours runs the engine.
func ours(dir string, lines map[string][]int, only []schemata.Operator) (*hollowtest.Report, cost, time.Duration, error) {
	start, used := time.Now(), cpu()
	fixed := time.Duration(0)
	e := &schemata.Engine{Only: only, PerLine: 50}
	r, err := e.Measure(context.Background(), hollowtest.Request{
		Dir: dir, Lines: lines, Budget: time.Hour, Exec: process.Plain{},
		Progress: func(done, _ int) {
			if done == 1 {
				fixed = time.Since(start)
			}
		},
	})
	return r, cost{time.Since(start), cpu() - used}, fixed, err
}

func executed(r *hollowtest.Report) int {
	return r.Summary.Killed + r.Summary.Survived + r.Summary.TimedOut
}

// measure prints the rows of one input and returns how many targets were missed.
func measure(in input, peer bool, gremlins string, show, full bool) (int, error) {
	root, err := os.MkdirTemp("", "benchhollow-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(root)
	dir := filepath.Join(root, "repo")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return 0, err
	}
	lines, err := repository(dir, in)
	if err != nil {
		return 0, err
	}
	// The dependencies are compiled before anything is measured.
	warm := filepath.Join(root, "warm")
	if err := os.Mkdir(warm, 0o755); err != nil {
		return 0, err
	}
	if err := copyTree(dir, warm); err != nil {
		return 0, err
	}
	if _, _, err := command(warm, nil, "go", "test", "-vet=off", "-run=^$", "./..."); err != nil {
		return 0, err
	}
	fmt.Printf("== %s %s..%s: %d files\n", in.module, in.base, in.head, len(lines))
	missed := 0
	target := func(ok bool, format string, args ...any) {
		mark := "ok    "
		if !ok {
			mark = "MISSED"
			missed++
		}
		fmt.Printf("   %s %s\n", mark, fmt.Sprintf(format, args...))
	}
	r, c, fixed, err := ours(dir, lines, gremlinsOperators)
	if err != nil {
		return 0, err
	}
	n := executed(r)
	marginal := time.Duration(0)
	if n > 0 {
		marginal = (c.wall - fixed) / time.Duration(n)
	}
	row := func(what string, c cost, r *hollowtest.Report) {
		s := r.Summary
		fmt.Printf("   %-22s wall %6.2fs  cpu %6.2fs  %4d mutants: killed %d, survived %d, timed out %d, not covered %d, invalid %d, undetermined %d, skipped %d (%s)\n", what,
			c.wall.Seconds(), c.cpu.Seconds(), s.Total, s.Killed, s.Survived, s.TimedOut, s.NotCovered, s.Invalid, s.Undetermined, s.Skipped, r.Outcome)
		if r.Problem != "" {
			fmt.Println("   ", r.Reason)
		}
		if show {
			for _, m := range r.Mutants {
				if m.Status != hollowtest.Killed {
					fmt.Printf("      %s:%d %s %q -> %q %s %s %s\n", m.File, m.Line, m.Operator, m.Original, m.Mutated, m.Status, m.Reason, m.Hint)
				}
			}
		}
	}
	row("ours, gremlins' five", c, r)
	if full {
		all, ca, _, err := ours(dir, lines, nil)
		if err != nil {
			return 0, err
		}
		row("ours, all operators", ca, all)
	}
	if n == 0 {
		return missed, nil
	}
	// One stripped build of the changed packages, at a path that the cache has not seen.
	build := filepath.Join(root, "build")
	if err := os.Mkdir(build, 0o755); err != nil {
		return 0, err
	}
	if err := copyTree(dir, build); err != nil {
		return 0, err
	}
	args := []string{"go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", filepath.Join(root, "bin") + "/"}
	seen := map[string]bool{}
	for name := range lines {
		if p := "./" + filepath.Dir(name); !seen[p] {
			seen[p] = true
			args = append(args, p)
		}
	}
	_, once, err := command(build, nil, args...)
	if err != nil {
		return 0, err
	}
	limit := once.wall*13/10 + 500*time.Millisecond
	target(fixed <= limit, "fixed cost %.2fs, at most %.2fs (one stripped go test -c is %.2fs)", fixed.Seconds(), limit.Seconds(), once.wall.Seconds())
	fmt.Printf("          each further mutant %.1fms\n", float64(marginal.Microseconds())/1000)
	if !peer {
		return missed, nil
	}
	g, err := runGremlins(dir, gremlins, in.whole)
	if err != nil {
		return 0, err
	}
	fmt.Printf("   %-22s wall %6.2fs  cpu %6.2fs  %4d mutants executed (dry run %.2fs)\n", "gremlins v0.6.0", g.all.wall.Seconds(), g.all.cpu.Seconds(), g.executed, g.dry.wall.Seconds())
	if g.executed == 0 {
		return missed, nil
	}
	perWall := (g.all.wall - g.dry.wall) / time.Duration(g.executed)
	perCPU := (g.all.cpu - g.dry.cpu) / time.Duration(g.executed)
	asMany := cost{g.dry.wall + perWall*time.Duration(n), g.dry.cpu + perCPU*time.Duration(n)}
	factor := 1.0
	switch {
	case n >= 100:
		factor = 50
	case n >= 40:
		factor = 15
	case n >= 14:
		factor = 8
	}
	wall, used := asMany.wall.Seconds()/c.wall.Seconds(), asMany.cpu.Seconds()/c.cpu.Seconds()
	target(wall >= factor, "%d mutants: 1/%.1f of gremlins' wall time (%.1fs for as many), at most 1/%.0f", n, wall, asMany.wall.Seconds(), factor)
	target(used >= factor, "%d mutants: 1/%.1f of gremlins' CPU time, at most 1/%.0f", n, used, factor)
	if n >= 4 {
		target(perWall >= 100*marginal, "each further mutant: 1/%.0f of gremlins' %.2fs, at most 1/100", perWall.Seconds()/marginal.Seconds(), perWall.Seconds())
	}
	return missed, nil
}

// peerRun is what gremlins took and how many mutants it ran.
type peerRun struct {
	all, dry cost
	executed int
}

func runGremlins(dir, gremlins string, whole bool) (peerRun, error) {
	var g peerRun
	args := []string{gremlins, "unleash", "--timeout-coefficient", "100"}
	if !whole {
		args = append(args, "--diff", "HEAD~1")
	}
	if _, _, err := command(dir, nil, "go", "clean", "-testcache"); err != nil {
		return g, err
	}
	var err error
	if _, g.dry, err = command(dir, nil, append(args, "--dry-run", ".")...); err != nil {
		return g, err
	}
	if _, _, err := command(dir, nil, "go", "clean", "-testcache"); err != nil {
		return g, err
	}
	report := filepath.Join(filepath.Dir(dir), "gremlins.json")
	if _, g.all, err = command(dir, nil, append(args, "-o", report, ".")...); err != nil {
		return g, err
	}
	data, err := os.ReadFile(report)
	if err != nil {
		return g, fmt.Errorf("reading gremlins' report: %w", err)
	}
	var out struct {
		Files []struct {
			Mutations []struct{ Status string }
		}
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return g, fmt.Errorf("reading gremlins' report: %w", err)
	}
	for _, f := range out.Files {
		for _, m := range f.Mutations {
			switch m.Status {
			case "KILLED", "LIVED", "TIMED OUT":
				g.executed++
			}
		}
	}
	return g, nil
}
