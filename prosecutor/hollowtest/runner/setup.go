package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/process"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/tokens"
)

// setup prepares the tree of a head before anything is measured.
type setup struct {
	c       Change
	p       config.HollowTest
	o       Options
	tree    string
	scratch string
	jobs    []*job
	env     []string // what tests need beyond the engines' own environment
}

// maxDependencies bounds what is copied of installed dependencies.
const maxDependencies = 2 << 30

// prepare brings the dependencies in, without running anything of the change, and then runs the policy's setup command
// where the tests run.
func (s *setup) prepare(ctx context.Context, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for _, j := range s.jobs {
		for _, l := range j.languages {
			var err error
			switch l {
			case hollowtest.Go:
				err = s.goModules(ctx, j)
			case hollowtest.JavaScript, hollowtest.TypeScript:
				err = s.nodeModules(ctx, j)
			case hollowtest.Python:
				s.virtualEnv()
			}
			if err != nil {
				return err
			}
		}
	}
	if strings.TrimSpace(s.p.Setup) == "" {
		return nil
	}
	argv, err := tokens.Split(s.p.Setup)
	if err != nil {
		return fmt.Errorf("hollow_test.setup: %w", err)
	}
	env, read, err := tokens.Environment(s.scratch, s.env)
	if err != nil {
		return err
	}
	res, err := s.o.Exec.Run(ctx, hollowtest.Command{
		Kind: hollowtest.TestCommand, Argv: argv, Dir: s.tree, Env: env, Read: read, Write: []string{s.tree, filepath.Join(s.scratch, "home")}, Wall: time.Until(deadline),
	})
	if err != nil {
		return fmt.Errorf("hollow_test.setup: %w", err)
	}
	if res.Exit == nil || *res.Exit != 0 {
		return fmt.Errorf("hollow_test.setup failed; %s", tail(res.Output))
	}
	return nil
}

// roots lists the directories, from the root of the tree, of the nearest file of that name above each changed file.
func (s *setup) roots(j *job, marker string) []string {
	var dirs []string
	for name := range j.lines {
		for dir := path.Dir(name); ; dir = path.Dir(dir) {
			if info, err := os.Lstat(filepath.Join(s.tree, filepath.FromSlash(dir), marker)); err == nil && info.Mode().IsRegular() {
				if !slices.Contains(dirs, dir) {
					dirs = append(dirs, dir)
				}
				break
			}
			if dir == "." {
				break
			}
		}
	}
	slices.Sort(dirs)
	return dirs
}

// goModules downloads modules, which runs nothing.
func (s *setup) goModules(ctx context.Context, j *job) error {
	if _, plain := s.o.Exec.(process.Plain); plain || s.o.Fetch == nil {
		return nil // without a sandbox the go command fetches what it needs by itself
	}
	for _, dir := range s.roots(j, "go.mod") {
		if err := s.fetch(ctx, dir, "go", "mod", "download"); err != nil {
			return err
		}
	}
	return nil
}

// nodeModules copies the installed packages of the work tree, or installs them without their scripts.
func (s *setup) nodeModules(ctx context.Context, j *job) error {
	dirs := s.roots(j, "package.json")
	// A workspace has its packages at the root.
	if !slices.Contains(dirs, ".") {
		dirs = append(dirs, ".")
	}
	for _, dir := range dirs {
		to := filepath.Join(s.tree, filepath.FromSlash(dir), "node_modules")
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		if s.c.WorkTree != "" {
			from := filepath.Join(s.c.WorkTree, filepath.FromSlash(dir), "node_modules")
			if info, err := os.Lstat(from); err == nil && info.IsDir() {
				if err := tokens.CopyTree(ctx, from, to, maxDependencies); err != nil {
					return fmt.Errorf("copying %s: %w", from, err)
				}
				continue
			}
		}
		if _, err := os.Lstat(filepath.Join(s.tree, filepath.FromSlash(dir), "package-lock.json")); err != nil || s.o.Fetch == nil {
			continue
		}
		if err := s.fetch(ctx, dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"); err != nil {
			return err
		}
	}
	return nil
}

// virtualEnv lets the tests use the virtual environment of the work tree. Their own code comes first, also where the
// work tree is installed in there.
func (s *setup) virtualEnv() {
	if s.c.WorkTree == "" {
		return
	}
	for _, name := range []string{".venv", "venv"} {
		dir := filepath.Join(s.c.WorkTree, name)
		if _, err := os.Stat(filepath.Join(dir, "pyvenv.cfg")); err != nil {
			continue
		}
		s.env = append(s.env, "VIRTUAL_ENV="+dir, "PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
		return
	}
}

// fetching are the variables that say how dependencies are reached. A package manager other than Go's may write them where the
// change tells it to (.npmrc), so that it gets none with a credential in it.
var fetching = regexp.MustCompile(`^(?:GOPROXY|GONOPROXY|GOPRIVATE|GOSUMDB|GONOSUMDB|GOINSECURE|GOVCS|(?i:https?_proxy|no_proxy))$`)

// fetch runs a package manager with the network.
func (s *setup) fetch(ctx context.Context, dir string, argv ...string) error {
	if _, err := exec.LookPath(argv[0]); err != nil {
		return fmt.Errorf("fetching dependencies: %w", err)
	}
	env, read, err := tokens.Environment(s.scratch, nil)
	if err != nil {
		return err
	}
	write := []string{s.tree, filepath.Join(s.scratch, "home")}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); fetching.MatchString(name) && (argv[0] == "go" || hollowtest.Harmless(kv)) {
			env = append(env, kv)
		}
	}
	if argv[0] == "go" {
		out, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOCACHE").Output() // asked outside of the tree: nothing of the change counts
		if err != nil {
			return fmt.Errorf("asking for the module cache: %w", err)
		}
		dirs := strings.Fields(string(out))
		if len(dirs) != 2 {
			return errors.New("asking for the module cache: go env named none")
		}
		env = append(env, "GOMODCACHE="+dirs[0], "GOCACHE="+dirs[1], "GOFLAGS=-modcacherw")
		for _, d := range dirs {
			if err := os.MkdirAll(d, 0o755); err != nil { //nolint:gosec // the go command's own mode
				return fmt.Errorf("preparing the module cache: %w", err)
			}
		}
		write = append(write, dirs...)
	}
	res, err := s.o.Fetch.Run(ctx, hollowtest.Command{
		Kind: hollowtest.BuildCommand, Argv: argv, Dir: filepath.Join(s.tree, filepath.FromSlash(dir)), Env: env, Read: read, Write: write,
	})
	if err != nil {
		return fmt.Errorf("fetching dependencies with %s: %w", strings.Join(argv[:2], " "), err)
	}
	if res.Exit == nil || *res.Exit != 0 {
		return fmt.Errorf("%s failed; %s", strings.Join(argv[:2], " "), tail(res.Output))
	}
	return nil
}
