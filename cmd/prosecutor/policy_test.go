package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/config"
)

// runPolicy runs `prosecutor policy` with arguments and returns what it wrote.
func runPolicy(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, problems bytes.Buffer
	cmd := newPolicyCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&problems)
	cmd.SetArgs(args)
	err = cmd.Execute()
	return out.String(), problems.String(), err
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPolicySchemaIsPrinted(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []byte
	}{
		{[]string{"schema"}, config.PolicySchema()},
		{[]string{"schema", "--server"}, config.ServerSchema()},
	} {
		stdout, stderr, err := runPolicy(t, "", c.args...)
		if err != nil || stderr != "" {
			t.Fatalf("%v: %v %q", c.args, err, stderr)
		}
		if !json.Valid([]byte(stdout)) || stdout != string(c.want) {
			t.Errorf("%v printed something else than the schema", c.args)
		}
	}
}

func TestPolicyCheckNamesValidFilesWithTheirHash(t *testing.T) {
	path := writeConfig(t, "convergence: {max_laps: 2}\n")
	stdout, stderr, err := runPolicy(t, "", "check", path)
	if err != nil || stderr != "" {
		t.Fatalf("%v %q", err, stderr)
	}
	policy := config.DefaultPolicy()
	policy.Convergence.MaxLaps = 2
	if want := path + ": ok (hash " + policy.Hash() + ")\n"; stdout != want {
		t.Errorf("got %q, want %q", stdout, want)
	}
}

func TestPolicyCheckReportsEveryProblemOfEveryFile(t *testing.T) {
	bad := writeConfig(t, "prosecution:\n  dry_pases: 2\nhold_for: 7\n")
	good := writeConfig(t, "")
	missing := filepath.Join(t.TempDir(), "none.yml")
	stdout, stderr, err := runPolicy(t, "", "check", bad, missing, good)
	if err == nil || err.Error() != "2 of 3 files are not valid" {
		t.Errorf("error: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if len(lines) != 3 {
		t.Fatalf("want three lines on standard error, got %q", stderr)
	}
	if want := bad + `:2:3: prosecution.dry_pases: unknown key; allowed: dry_passes; did you mean "dry_passes"?`; lines[0] != want {
		t.Errorf("got %q, want %q", lines[0], want)
	}
	if !strings.HasPrefix(lines[1], bad+":3:11: hold_for: ") || !strings.Contains(lines[2], "none.yml") {
		t.Errorf("got %q", lines[1:])
	}
	if !strings.HasPrefix(stdout, good+": ok (hash ") {
		t.Errorf("the valid file after the others is not reported: %q", stdout)
	}
}

func TestPolicyCheckReadsStandardInput(t *testing.T) {
	stdout, _, err := runPolicy(t, "enabled: false\n", "check", "-")
	if err != nil || !strings.HasPrefix(stdout, "(standard input): ok (hash ") {
		t.Errorf("%q %v", stdout, err)
	}
	_, stderr, err := runPolicy(t, "enabled: maybe\n", "check", "-")
	if err == nil || !strings.HasPrefix(stderr, "(standard input):1:10: enabled: ") {
		t.Errorf("%q %v", stderr, err)
	}
	_, stderr, err = runPolicy(t, strings.Repeat("#", config.MaxFileSize+10), "check", "-")
	if err == nil || !strings.Contains(stderr, "at most") {
		t.Errorf("%q %v", stderr, err)
	}
}

func TestPolicyCheckOfTheServerFile(t *testing.T) {
	good := writeConfig(t, "judges:\n  - {name: a, adapter: command, command: [agent, --json]}\n")
	stdout, stderr, err := runPolicy(t, "", "check", "--server", good)
	if err != nil || stdout != good+": ok (1 judge)\n" {
		t.Errorf("%q %q %v", stdout, stderr, err)
	}
	const secret = "sk-proj-0123456789abcdefghij"
	bad := writeConfig(t, "judges:\n  - {name: a, adapter: openai, model: m, api_key_env: "+secret+"}\n")
	_, stderr, err = runPolicy(t, "", "check", "--server", bad)
	if err == nil || !strings.Contains(stderr, "judges[0].api_key_env") || strings.Contains(stderr, secret) {
		t.Errorf("%q %v", stderr, err)
	}
	if _, _, err := runPolicy(t, "", "check", "--server"); err == nil {
		t.Error("a check of no server file succeeds")
	}
}

func TestPolicyCheckWithoutFilesChecksTheRepositorysPolicy(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Dir(config.PolicyPath), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config.PolicyPath, []byte("retention: 1y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, err := runPolicy(t, "", "check")
	if err == nil || !strings.HasPrefix(stderr, config.PolicyPath+":1:12: retention: ") {
		t.Errorf("%q %v", stderr, err)
	}
}
