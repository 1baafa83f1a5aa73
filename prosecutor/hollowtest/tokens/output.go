package tokens

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// runner is what is known of a test runner's output.
type runner struct {
	name    string
	count   *regexp.Regexp // the number of tests that ran, in its last match
	failure *regexp.Regexp // the name of a test that failed, in its first group
}

// runners are tried in this order.
var runners = []runner{
	{"node", regexp.MustCompile(`(?m)^(?:#|ℹ) tests (\d+)`), regexp.MustCompile(`(?m)^\s*(?:not ok \d+ - (.+?)(?: # .*)?|✖ (.+?)(?: \([\d.]+ms\))?)$`)},
	{"pytest", regexp.MustCompile(`(?m)^(?:=+ )?(?:.*?, )?(\d+) passed\b`), regexp.MustCompile(`(?m)^(?:FAILED|ERROR) (\S+)`)},
	{"unittest", regexp.MustCompile(`(?m)^Ran (\d+) tests? in `), regexp.MustCompile(`(?m)^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (.+)$`)},
	{"jest", regexp.MustCompile(`(?m)^Tests:\s.*?(\d+) total`), regexp.MustCompile(`(?m)^\s*● (.+)$`)},
	{"vitest", regexp.MustCompile(`(?m)^\s*Tests\s+.*?\((\d+)\)`), regexp.MustCompile(`(?m)^\s*(?:FAIL|×)\s+(.+)$`)},
	{"mocha", regexp.MustCompile(`(?m)^\s*(\d+) passing`), regexp.MustCompile(`(?m)^\s+1\) (.+?):?$`)},
	{"cargo", regexp.MustCompile(`(?m)^test result: .*? (\d+) passed`), regexp.MustCompile(`(?m)^test (\S+) \.\.\. FAILED$`)},
	{"surefire", regexp.MustCompile(`(?m)^(?:\[\w+\] )?Tests run: (\d+)`), regexp.MustCompile(`(?m)^\[ERROR\]\s+([\w.$]+[.:]\S+)`)},
	{"gradle", regexp.MustCompile(`(?m)^(\d+) tests completed`), regexp.MustCompile(`(?m)^(\S+ > .+) FAILED$`)},
	{"junit", regexp.MustCompile(`(?m)^\[\s*(\d+) tests (?:found|successful)`), regexp.MustCompile(`(?m)^\s*(?:JUnit \w+:)?(\S+) .*\[X\]`)},
	{"rspec", regexp.MustCompile(`(?m)^(\d+) examples?,`), regexp.MustCompile(`(?m)^rspec (\S+)`)},
	{"minitest", regexp.MustCompile(`(?m)^(\d+) (?:runs|tests), `), regexp.MustCompile(`(?m)^(?:\s*\d+\) )?(?:Failure|Error):\s*\n?\s*(\S+)`)},
}

// recognise returns the runner whose count is in the output, and the number of tests: the sum over a command that runs
// several suites.
func recognise(out []byte) (*runner, int) {
	for i := range runners {
		found := runners[i].count.FindAllSubmatch(out, -1)
		if len(found) == 0 {
			continue
		}
		sum := 0
		for _, m := range found {
			n, err := strconv.Atoi(string(m[1]))
			if err == nil {
				sum += n
			}
		}
		return &runners[i], sum
	}
	return nil, 0
}

// failing is the name of the first test that failed.
func (r *runner) failing(out []byte) string {
	m := r.failure.FindSubmatch(out)
	if m == nil {
		return ""
	}
	for _, g := range m[1:] {
		if s := strings.TrimSpace(strings.ToValidUTF8(string(g), "?")); s != "" {
			if len(s) > 200 {
				s = strings.ToValidUTF8(s[:200], "")
			}
			return s
		}
	}
	return ""
}

// compileError matches what compilers and type checkers say of a program that they refuse.
var compileError = regexp.MustCompile(`(?m)error TS\d+:|^\[ERROR\] COMPILATION ERROR|Compilation failed|could not compile|^error(?:\[E\d+\])?: |\.java:\d+: error: |> Task \S*compile\S* FAILED`)

// judge says what a run of the whole command shows. Only a test that ran and failed kills a mutant: a command that fails
// in its compiler found no program, and one that fails without naming a test gave no answer, if its runner names them.
func judge(res hollowtest.ExecResult, known *runner, tests int) (hollowtest.Status, string, string) {
	trial := hollowtest.Trial{Syntax: hollowtest.SyntaxOK, TimedOut: res.TimedOut || res.OutMemory, Signal: res.Signal, ExitCode: res.Exit}
	status := trial.Status()
	switch status {
	case hollowtest.TimedOut:
		if res.OutMemory {
			return status, "", "the tests went over their limit of memory or disk"
		}
		return status, "", "the tests went over their limit of time"
	case hollowtest.Survived:
		if r, n := recognise(res.Output); known != nil && (r != known || n != tests) {
			return hollowtest.Undetermined, "", "the command succeeded, and ran " + strconv.Itoa(n) + " tests where it runs " + strconv.Itoa(tests)
		}
		return status, "", ""
	case hollowtest.Killed:
		if known != nil {
			if name := known.failing(res.Output); name != "" {
				return status, name, ""
			}
		}
		switch {
		case res.Signal != "":
			return status, "the test process crashed (" + res.Signal + ")", ""
		case compileError.Match(res.Output):
			return hollowtest.Invalid, "", "it does not compile"
		case known != nil:
			return hollowtest.Undetermined, "", "the command failed, and names no test that did: " + lastLines(res.Output)
		}
		return status, "the test command", ""
	}
	return status, "", "the tests gave no answer: " + lastLines(res.Output)
}
