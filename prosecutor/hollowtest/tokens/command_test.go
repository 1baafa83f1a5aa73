package tokens

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

func TestSplit(t *testing.T) {
	for command, want := range map[string][]string{
		"npm test":                  {"npm", "test"},
		"  a\t b\n":                 {"a", "b"},
		`a "b c" 'd  e' f\ g ""`:    {"a", "b c", "d  e", "f g", ""},
		`a "b\"c\d"`:                {"a", `b"c\d`},
		`a 'b\c'`:                   {"a", `b\c`},
		"a b#c":                     {"a", "b#c"},
		"a && b":                    {"sh", "-c", "a && b"},
		"a | b":                     {"sh", "-c", "a | b"},
		"a $HOME":                   {"sh", "-c", "a $HOME"},
		`a "$HOME"`:                 {"sh", "-c", `a "$HOME"`},
		"a '$HOME'":                 {"a", "$HOME"},
		"a *.js":                    {"sh", "-c", "a *.js"},
		"X=1 a":                     {"sh", "-c", "X=1 a"},
		"a --x=1":                   {"a", "--x=1"},
		"a\nb":                      {"sh", "-c", "a\nb"},
		"python3 -m pytest -k 'a*'": {"python3", "-m", "pytest", "-k", "a*"},
	} {
		got, err := Split(command)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", command, got, err, want)
		}
	}
	for _, command := range []string{"", " \n", "a 'b", `a "b`, `a \`} {
		if got, err := Split(command); err == nil {
			t.Errorf("%q: no error but %q", command, got)
		}
	}
}

func TestDriversAreChosenByTheCommand(t *testing.T) {
	dir := t.TempDir()
	pack := `{"scripts": {"test": "node --test", "unit": "mocha", "all": "node --test && eslint .", "pre": "node --test", "prepre": "make"}}`
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(pack), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]driver{
		"node --test": nodeDriver, "node --test test/": nodeDriver, "npm test": nodeDriver, "yarn test": nodeDriver, "npm run test": nodeDriver,
		"npm run unit": noDriver, "npm run all": noDriver, "npm run pre": noDriver, "node test.js": noDriver, "node --test --import ./x.js": noDriver,
		"python3 -m unittest": unittestDriver, "python -m unittest discover -s t": unittestDriver, "python3 -m pytest -q": pytestDriver, "pytest": pytestDriver,
		"pytest -n 4": noDriver, "pytest --cov=x": noDriver, "python3 -W error -m unittest": noDriver, "make test": noDriver, "python3 -m unittest && true": noDriver,
	} {
		r := &run{e: &Engine{}, root: dir}
		r.req.Policy.Command = command
		c, err := r.command()
		if err != nil || c.driver != want {
			t.Errorf("%q: driver %q, %v, want %q", command, c.driver, err, want)
		}
	}
}

func TestJudge(t *testing.T) {
	exit := func(n int) *int { return &n }
	for _, c := range []struct {
		name, baseline string
		res            hollowtest.ExecResult
		want           hollowtest.Status
		killer         string
	}{
		{"node", "# tests 3\n", hollowtest.ExecResult{Exit: exit(1), Output: []byte("ok 1 - a\nnot ok 2 - b c\n# tests 3\n")}, hollowtest.Killed, "b c"},
		{"node spec", "ℹ tests 3\n", hollowtest.ExecResult{Exit: exit(1), Output: []byte("✔ a (1.2ms)\n✖ b (0.5ms)\nℹ tests 3\n")}, hollowtest.Killed, "b"},
		{"unittest", "Ran 3 tests in 0.1s\n", hollowtest.ExecResult{Exit: exit(1), Output: []byte("FAIL: test_a (x.T)\nRan 3 tests in 0.1s\n")}, hollowtest.Killed, "test_a (x.T)"},
		{"pytest", "3 passed in 0.1s\n", hollowtest.ExecResult{Exit: exit(1), Output: []byte("FAILED t.py::test_a - x\n1 failed, 2 passed in 0.1s\n")}, hollowtest.Killed, "t.py::test_a"},
		{"jest", "Tests:       3 passed, 3 total\n", hollowtest.ExecResult{Exit: exit(1), Output: []byte("  ● suite › a\nTests: 1 failed, 3 total\n")}, hollowtest.Killed, "suite › a"},
		{"mocha", "  3 passing (5ms)\n", hollowtest.ExecResult{Exit: exit(1), Output: []byte("  2 passing\n  1 failing\n\n  1) suite a:\n")}, hollowtest.Killed, "suite a"},
		{"cargo", "test result: ok. 3 passed; 0 failed\n", hollowtest.ExecResult{Exit: exit(101), Output: []byte("test tests::a ... FAILED\n")}, hollowtest.Killed, "tests::a"},
		{"survivor", "# tests 3\n", hollowtest.ExecResult{Exit: exit(0), Output: []byte("# tests 3\n")}, hollowtest.Survived, ""},
		{"fewer tests", "# tests 3\n", hollowtest.ExecResult{Exit: exit(0), Output: []byte("# tests 2\n")}, hollowtest.Undetermined, ""},
		{"no tests", "# tests 3\n", hollowtest.ExecResult{Exit: exit(0)}, hollowtest.Undetermined, ""},
		{"type error", "# tests 3\n", hollowtest.ExecResult{Exit: exit(2), Output: []byte("a.ts(1,2): error TS2322: x\n")}, hollowtest.Invalid, ""},
		{"rust does not compile", "test result: ok. 3 passed\n", hollowtest.ExecResult{Exit: exit(101), Output: []byte("error[E0308]: mismatched types\n")}, hollowtest.Invalid, ""},
		{"a linter", "# tests 3\n", hollowtest.ExecResult{Exit: exit(1), Output: []byte("1 problem\n")}, hollowtest.Undetermined, ""},
		{"an unknown runner", "fine\n", hollowtest.ExecResult{Exit: exit(1), Output: []byte("bad\n")}, hollowtest.Killed, "the test command"},
		{"a crash", "# tests 3\n", hollowtest.ExecResult{Signal: "SIGSEGV"}, hollowtest.Killed, "the test process crashed (SIGSEGV)"},
		{"killed from outside", "# tests 3\n", hollowtest.ExecResult{Signal: "SIGKILL"}, hollowtest.Undetermined, ""},
		{"not found", "fine\n", hollowtest.ExecResult{Exit: exit(127)}, hollowtest.Undetermined, ""},
		{"time", "# tests 3\n", hollowtest.ExecResult{TimedOut: true, Signal: "SIGKILL"}, hollowtest.TimedOut, ""},
		{"memory", "# tests 3\n", hollowtest.ExecResult{OutMemory: true, Signal: "SIGKILL"}, hollowtest.TimedOut, ""},
	} {
		known, n := recognise([]byte(c.baseline))
		status, killer, reason := judge(c.res, known, n)
		if status != c.want || killer != c.killer {
			t.Errorf("%s: %s by %q (%s), want %s by %q", c.name, status, killer, reason, c.want, c.killer)
		}
	}
}

func TestEnvironmentKeepsSecretsOut(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "s3cret")
	t.Setenv("PROSECUTOR_KEY", "s3cret")
	env, _, err := Environment(t.TempDir(), []string{"EXTRA=1", "HOME=/mine"})
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(env, "\n"); strings.Contains(text, "s3cret") || !strings.Contains(text, "EXTRA=1") || strings.Count("\n"+text, "\nHOME=") != 1 || !strings.Contains(text, "HOME=/mine") {
		t.Errorf("%s", text)
	}
}

func TestCopiesAreWholeAndBounded(t *testing.T) {
	from := t.TempDir()
	for _, name := range []string{"a", "sub/b", "node_modules/dep/c"} {
		p := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../a", filepath.Join(from, "sub/link")); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "to")
	if err := forkTree(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "sub/b", "node_modules/dep/c", "sub/link"} {
		want, _ := os.ReadFile(filepath.Join(from, name))
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != string(want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if err := put(to, "a", []byte("mutated")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(from, "a")); err != nil || string(got) != "a" {
		t.Errorf("the original holds %q, %v", got, err)
	}
	if err := CopyTree(t.Context(), from, filepath.Join(t.TempDir(), "to"), 5); err == nil {
		t.Error("no limit")
	}
}
