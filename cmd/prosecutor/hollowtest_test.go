package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/test/gittest"
)

const (
	pyMost     = "def most(a, b):\n    if a > b:\n        return a\n    return b\n"
	pyTestMost = `import unittest
from m import most


class T(unittest.TestCase):
    def test_most(self):
        self.assertEqual(most(1, 2), 2)
        self.assertEqual(most(2, 1), 2)
`
)

// pythonRepo is a repository whose branch adds a function; more are further files of the change.
func pythonRepo(t *testing.T, more ...string) *gittest.Repo {
	t.Helper()
	r := gittest.New(t)
	r.Write("README", "x\n").Commit("base")
	r.Git("checkout", "-q", "-b", "feature")
	r.Write(append([]string{"m.py", pyMost, "test_m.py", pyTestMost}, more...)...).Commit("change")
	return r
}

// hollow runs hollow-test in this process.
func hollow(t *testing.T, dir string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	root := newRootCommand()
	root.SetArgs(append([]string{"hollow-test", "--repo", dir}, args...))
	root.SetOut(&out)
	root.SetErr(&err)
	return execute(context.Background(), root), out.String(), err.String()
}

func hollowJSON(t *testing.T, dir string, args ...string) (int, hollowtest.Report) {
	t.Helper()
	code, stdout, stderr := hollow(t, dir, append(args, "--format", "json")...)
	var r hollowtest.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("exit code %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
	return code, r
}

func TestHollowTestExitCodes(t *testing.T) {
	for _, c := range []struct {
		name string
		more []string
		args []string
		code int
		want hollowtest.Verdict
	}{
		// Equal arguments are all that is not tried.
		{"survivors", nil, []string{"--test-cmd", "python3 -m unittest"}, exitBlocked, hollowtest.Survivors},
		{
			"killed all", []string{"m.py", "def double(a):\n    return a * 2\n", "test_m.py", "import unittest\nimport m\n\n\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(m.double(3), 6)\n"},
			[]string{"--test-cmd", "python3 -m unittest"}, exitOK, hollowtest.KilledAll,
		},
		{"nothing mutable", []string{"README", "y\n"}, []string{"--base", "feature~1", "--head", "docs"}, exitOK, hollowtest.NothingMutable},
		{"no command", nil, nil, exitFailure, hollowtest.CouldNotMeasure},
		{"red", nil, []string{"--test-cmd", "false"}, exitFailure, hollowtest.CouldNotMeasure},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := pythonRepo(t, c.more...)
			r.Git("checkout", "-q", "-b", "docs", "main")
			r.Write("README", "z\n").Commit("docs")
			r.Git("checkout", "-q", "feature")
			args := c.args
			if c.name == "nothing mutable" {
				args = []string{"--base", "main", "--head", "docs"}
			}
			code, report := hollowJSON(t, r.Dir, args...)
			if code != c.code || report.Outcome != c.want || report.Reason == "" || report.Tool != hollowtest.Tool {
				t.Errorf("exit code %d, %s: %s", code, report.Outcome, report.Reason)
			}
		})
	}
}

func TestHollowTestFormatsAndOutput(t *testing.T) {
	r := pythonRepo(t)
	for format, want := range map[string]string{
		"text": "-     if a > b:\n  +     if a >= b:\n  run by: test_m.T.test_most\n  hint: ", "md": "```diff\n-     if a > b:\n+     if a >= b:\n", "json": `"outcome": "survivors"`,
		"sarif": `"startLine": 2`, "stryker": `"schemaVersion": "2"`,
	} {
		file := filepath.Join(t.TempDir(), "out")
		code, stdout, stderr := hollow(t, r.Dir, "--test-cmd", "python3 -m unittest", "--format", format, "--output", file)
		if code != exitBlocked || stdout != "" || stderr != "" {
			t.Errorf("%s: exit code %d, %q, %q", format, code, stdout, stderr)
		}
		data, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s lacks %q: %v\n%s", format, want, err, data)
		}
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"--format", []string{"--format", "xml"}}, {"negative", []string{"--max", "-1"}}, {"does not touch", []string{"--target", "other.py"}},
		{"names no commit", []string{"--base", "nowhere"}}, {"--output", []string{"--test-cmd", "python3 -m unittest", "--output", filepath.Join(t.TempDir(), "no", "dir")}},
	} {
		if code, _, stderr := hollow(t, r.Dir, c.args...); code != exitFailure || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d: %s", c.args, code, stderr)
		}
	}
}

func TestHollowTestMeasuresTheHeadAndOneFileIfAsked(t *testing.T) {
	r := pythonRepo(t, "lib/n.py", "def n(a):\n    return a + 1\n")
	// What is not committed does not count, and stays.
	r.Write("m.py", "this is no program\n", "untracked.py", "x = 1\n")
	before := snapshot(t, r.Dir)
	code, report := hollowJSON(t, r.Dir, "--test-cmd", "python3 -m unittest", "--target", "m.py")
	if code != exitBlocked || len(report.Files) != 1 || report.Files[0].Path != "m.py" {
		t.Errorf("exit code %d, %+v", code, report.Files)
	}
	if after := snapshot(t, r.Dir); after != before {
		t.Error("the repository changed")
	}
	code, report = hollowJSON(t, r.Dir, "--test-cmd", "python3 -m unittest", "--max", "1")
	if code == exitOK || report.Outcome == hollowtest.KilledAll {
		t.Errorf("exit code %d, %s", code, report.Outcome)
	}
}

func TestHollowTestMeasuresWholeFiles(t *testing.T) {
	r := pythonRepo(t, "lib/n.py", "def n(a):\n    return a + 1\n", "lib/deep/d.py", "def d(a):\n    return a + 1\n", "library.py", "x = 1 + 1\n")
	// The base is the head: nothing changed, and every line is measured all the same.
	code, report := hollowJSON(t, r.Dir, "--base", "HEAD", "--test-cmd", "python3 -m unittest", "--whole", "--target", "lib/", "--target", "m.py")
	var paths []string
	for _, f := range report.Files {
		paths = append(paths, f.Path)
	}
	if want := []string{"lib/deep/d.py", "lib/n.py", "m.py"}; code != exitBlocked || !slices.Equal(paths, want) || report.Summary.Killed == 0 || report.Summary.Survived+report.Summary.NotCovered == 0 {
		t.Errorf("exit code %d, %v of %v: %+v", code, paths, want, report.Summary)
	}
	for _, args := range [][]string{{"--whole"}, {"--whole", "--target", "li"}} {
		if code, _, stderr := hollow(t, r.Dir, args...); code != exitFailure || !strings.Contains(stderr, "--target") && !strings.Contains(stderr, "name at least one") {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
}

func TestHollowTestReadsThePolicyOfTheBase(t *testing.T) {
	r := gittest.New(t)
	r.Write(".github/prosecutor.yml", "hollow_test:\n  command: python3 -m unittest\n").Commit("base")
	r.Git("checkout", "-q", "-b", "feature")
	r.Write("m.py", pyMost, "test_m.py", pyTestMost, ".github/prosecutor.yml", "hollow_test:\n  command: \"true\"\n").Commit("change")
	if code, report := hollowJSON(t, r.Dir); code != exitBlocked || report.Summary.Killed == 0 {
		t.Errorf("exit code %d: %s", code, report.Reason)
	}
}

func TestHollowTestInTheSandbox(t *testing.T) {
	r := pythonRepo(t, "test_m.py", pyTestMost+`
    def test_alone(self):
        import socket
        with self.assertRaises(OSError):
            socket.create_connection(("192.0.2.1", 80), 1)
        import os
        self.assertNotIn("PROSECUTOR_SECRET", os.environ)
        with self.assertRaises(OSError):
            open("/etc/shadow").read()
`)
	t.Setenv("PROSECUTOR_SECRET", "x")
	code, stdout, stderr := hollow(t, r.Dir, "--sandbox", "--test-cmd", "python3 -m unittest", "--format", "json")
	if strings.Contains(stderr, "no sandbox") && os.Getenv("PROSECUTOR_TEST_NO_SANDBOX") == "1" {
		t.Logf("NOT CHECKED: %s", stderr)
		return
	}
	var report hollowtest.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != exitBlocked || report.Summary.Killed == 0 {
		t.Errorf("exit code %d, %v: %s %s", code, err, report.Reason, stderr)
	}
}

// snapshot is every file below a directory, git's own included, with its content.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(p + " " + info.Mode().String() + "\n")
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(p)
		b.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestKilledHollowTestLeavesNothing kills the command at many points: the repository is untouched, no process stays, and
// the next run works.
func TestKilledHollowTestLeavesNothing(t *testing.T) {
	marker := "prosecutor-kill-" + filepath.Base(t.TempDir()) + "-" + time.Now().Format("150405.000000")
	r := pythonRepo(t, "test_m.py", strings.Replace(pyTestMost, "        self.assertEqual(most(1, 2), 2)\n",
		"        import subprocess, sys\n        p = subprocess.Popen([sys.executable, \"-c\", \"import time; time.sleep(600)\", \""+marker+"\"]); import time; time.sleep(0.05); p.kill(); p.wait()\n        self.assertEqual(most(1, 2), 2)\n", 1))
	before := snapshot(t, r.Dir)
	tmp := t.TempDir()
	for i := range 20 {
		cmd := program(t.Context(), t, r.Dir, t.TempDir(), "hollow-test", "--test-cmd", "python3 -m unittest")
		cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(i*i*4)*time.Millisecond, func() { _ = cmd.Process.Kill() }) // it may have ended by itself
		_ = cmd.Wait()                                                                                    // killed, or done
		timer.Stop()
		if after := snapshot(t, r.Dir); after != before {
			t.Fatalf("the repository changed in run %d", i)
		}
	}
	left := ""
	for range 200 {
		out, err := exec.CommandContext(t.Context(), "pgrep", "-f", marker).Output()
		if left = string(out); err != nil || left == "" {
			left = ""
			break
		}
		<-time.After(20 * time.Millisecond)
	}
	if left != "" {
		t.Errorf("processes were left: %s", left)
	}
	if code, report := hollowJSON(t, r.Dir, "--test-cmd", "python3 -m unittest"); code != exitBlocked || report.Summary.Killed == 0 {
		t.Errorf("the next run: exit code %d, %s", code, report.Reason)
	}
}
