package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
	"github.com/prosecutor-bot/prosecutor/test/gittest"
)

// runMain makes the test binary behave as the program, for tests that need a process of their own.
const runMain = "PROSECUTOR_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		main()
		return
	}
	testscript.Main(m, map[string]func(){"prosecutor": main})
}

// TestScripts runs the command as people do, in processes of its own, with real git.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			for _, kv := range gittest.Env() {
				if strings.HasPrefix(kv, "GIT_") {
					name, value, _ := strings.Cut(kv, "=")
					env.Setenv(name, value)
				}
			}
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			return nil
		},
	})
}

// program is the command in a process of its own, in dir, with its ledger in state.
func program(ctx context.Context, t testing.TB, dir, state string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = dir
	cmd.Env = append(gittest.Env(), runMain+"=1", "XDG_STATE_HOME="+state)
	return cmd
}

// outcome is what a run of review came to.
type outcome struct {
	code   int
	doc    report.Document
	stdout string
	stderr string
}

// reviewJSON runs review --format json in the process of the test and decodes what it prints.
func reviewJSON(t testing.TB, dir string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	root := newRootCommand()
	root.SetArgs(append([]string{"review", "--repo", dir, "--format", "json"}, args...))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	o := outcome{code: execute(context.Background(), root), stdout: stdout.String(), stderr: stderr.String()}
	if err := json.Unmarshal(stdout.Bytes(), &o.doc); err != nil && stdout.Len() > 0 {
		t.Fatalf("not JSON: %v\n%s", err, stdout.String())
	}
	return o
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}
