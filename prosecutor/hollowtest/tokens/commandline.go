package tokens

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// driver is a helper that keeps a test runner loaded.
type driver string

const (
	noDriver       driver = ""
	nodeDriver     driver = "node"
	unittestDriver driver = "unittest"
	pytestDriver   driver = "pytest"
)

// testCommand is the repository's test command, and what is known of it.
type testCommand struct {
	argv   []string
	driver driver
	python []string // the interpreter of a Python driver
	args   []string // of the runner that the driver loads
	onPath bool     // the directory of the tree is on Python's path
	build  []string // what builds the tests without running them, for Rust
}

// command reads the policy's command.
func (r *run) command() (*testCommand, error) {
	argv, err := Split(r.req.Policy.Command)
	if err != nil {
		return nil, fmt.Errorf("the test command (hollow_test.command): %w", err)
	}
	c := &testCommand{argv: argv}
	if !r.e.Whole {
		c.recognise(script(r.root, argv))
	}
	if argv[0] == "cargo" && len(argv) > 1 && argv[1] == "test" {
		c.build = []string{"cargo", "test", "--no-run"}
		for _, a := range argv[2:] {
			if a == "--" {
				break
			}
			c.build = append(c.build, a)
		}
	}
	return c, nil
}

// script looks behind `npm test` and its like, when the script is one plain command.
func script(root string, argv []string) []string {
	var name string
	switch {
	case len(argv) == 2 && slices.Contains([]string{"npm", "yarn", "pnpm"}, argv[0]) && slices.Contains([]string{"test", "t"}, argv[1]):
		name = "test"
	case len(argv) == 3 && slices.Contains([]string{"npm", "yarn", "pnpm"}, argv[0]) && argv[1] == "run":
		name = argv[2]
	default:
		return argv
	}
	data, err := os.ReadFile(filepath.Join(root, "package.json"))
	if err != nil {
		return argv
	}
	var pack struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal(data, &pack) != nil || pack.Scripts["pre"+name] != "" || pack.Scripts["post"+name] != "" {
		return argv
	}
	inner, err := Split(pack.Scripts[name])
	if err != nil {
		return argv
	}
	return inner
}

var pythonName = regexp.MustCompile(`^python(?:3(?:\.\d+)?)?$`)

// recognise finds the driver for a command. Options that a driver could not honour leave it without one.
func (c *testCommand) recognise(argv []string) {
	switch name := filepath.Base(argv[0]); {
	case name == "node" && len(argv) > 1 && slices.Contains(argv[1:], "--test"):
		for _, a := range argv[1:] {
			if strings.HasPrefix(a, "-") && a != "--test" && !strings.HasPrefix(a, "--test-concurrency") && !strings.HasPrefix(a, "--test-reporter") {
				return // flags may change how files are loaded
			}
		}
		c.driver, c.args = nodeDriver, argv
	case pythonName.MatchString(name) && len(argv) > 2 && argv[1] == "-m" && (argv[2] == "unittest" || argv[2] == "pytest"):
		c.driver, c.python, c.args, c.onPath = driver(argv[2]), argv[:1], argv[3:], true
	case name == "pytest" || name == "py.test":
		c.driver, c.python, c.args = pytestDriver, []string{"python3"}, argv[1:]
		if shebang := interpreter(argv[0]); shebang != "" {
			c.python = []string{shebang}
		}
	}
	if c.driver == pytestDriver && slices.ContainsFunc(c.args, func(a string) bool {
		return a == "-n" || strings.HasPrefix(a, "-n") || strings.HasPrefix(a, "--numprocesses") || strings.HasPrefix(a, "--dist") || strings.HasPrefix(a, "--cov") || strings.HasPrefix(a, "--forked")
	}) {
		c.driver = noDriver
	}
}

// interpreter is the Python of a script, by its first line.
func interpreter(script string) string {
	if !filepath.IsAbs(script) {
		return ""
	}
	data, err := os.ReadFile(script)
	if err != nil || !strings.HasPrefix(string(data), "#!/") {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	fields := strings.Fields(strings.TrimPrefix(line, "#!"))
	if len(fields) == 1 && strings.Contains(filepath.Base(fields[0]), "python") {
		return fields[0]
	}
	return ""
}

// serves reports whether the driver runs tests of that language.
func (d driver) serves(l hollowtest.Language) bool {
	switch d {
	case nodeDriver:
		return l == hollowtest.JavaScript
	case unittestDriver, pytestDriver:
		return l == hollowtest.Python
	default:
		return false
	}
}

// lookPath finds the program of a command in the PATH that the command will have.
func (r *run) lookPath(argv []string) ([]string, error) {
	if strings.Contains(argv[0], "/") {
		return argv, nil
	}
	for _, kv := range slices.Backward(r.env) {
		search, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(search) {
			p := filepath.Join(dir, argv[0])
			if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 && filepath.IsAbs(p) {
				return append([]string{p}, argv[1:]...), nil
			}
		}
		break
	}
	return nil, fmt.Errorf("%s is not installed", argv[0])
}
