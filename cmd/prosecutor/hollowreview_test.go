package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
	"github.com/prosecutor-bot/prosecutor/test/gittest"
)

const (
	goFee  = "package fee\n\n// Of is the fee of an amount.\nfunc Of(n int) int {\n\tif n > 50 {\n\t\treturn n / 10\n\t}\n\treturn 1\n}\n"
	goTest = "package fee\n\nimport \"testing\"\n\nfunc TestOf(t *testing.T) {\n\tfor in, want := range map[int]int{%s} {\n\t\tif got := Of(in); got != want {\n\t\t\tt.Errorf(\"Of(%%d) = %%d\", in, got)\n\t\t}\n\t}\n}\n"
)

// feeRepo is a repository whose branch adds a function of Go and a test with those cases.
func feeRepo(t *testing.T, cases string, base ...string) *gittest.Repo {
	t.Helper()
	r := gittest.New(t)
	r.Write(append([]string{"go.mod", "module ex.com/fee\n\ngo 1.24\n"}, base...)...).Commit("base")
	r.Git("checkout", "-q", "-b", "feature")
	r.Write("fee.go", goFee, "fee_test.go", strings.Replace(strings.ReplaceAll(goTest, "%%", "%"), "%s", cases, 1)).Commit("Add a fee")
	return r
}

func evidenceOf(t *testing.T, doc report.Document, source string) report.Evidence {
	t.Helper()
	for _, e := range doc.Evidence {
		if e.Source == source {
			return e
		}
	}
	t.Fatalf("no evidence of %s in %+v", source, doc.Evidence)
	return report.Evidence{}
}

// unconfined is a server file that runs tests without a sandbox, so that these tests need none.
func unconfined(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "server.yml")
	if err := os.WriteFile(file, []byte("hollow_test:\n  sandbox: none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const (
	tight    = "0: 1, 50: 1, 51: 5, 60: 6, 105: 10"
	hollow50 = "0: 1, 60: 6"
)

func TestReviewRunsTheTestsAgainstMutants(t *testing.T) {
	server := unconfined(t)
	for _, c := range []struct {
		name, cases string
		base        []string // files of the base
		args        []string
		code        int
		decision    string
		state       string
		detail      string
		survivors   int // findings of survivors
	}{
		{"tests that notice every fault", tight, nil, nil, exitOK, "ADVANCE", "clean", "killed", 0},
		{"tests that do not ask at the boundary", hollow50, nil, nil, exitBlocked, "LOOP_BACK", "red", "survived", 1},
		{"judges see the survivors and cannot overrule them", hollow50, []string{".github/prosecutor.yml", "hollow_test:\n  mode: evidence\n"}, nil, exitBlocked, "LOOP_BACK", "red", "survived", 1},
		{"switched off", hollow50, []string{".github/prosecutor.yml", "hollow_test:\n  mode: off\n"}, nil, exitOK, "ADVANCE", "not_applicable", "switched off", 0},
		{"not wanted now", hollow50, nil, []string{"--no-hollow-test"}, exitOK, "ADVANCE", "unavailable", "not run", 0},
		{"required and not wanted", hollow50, []string{".github/prosecutor.yml", "hollow_test:\n  required: true\n"}, []string{"--no-hollow-test"}, exitBlocked, "LOOP_BACK", "unavailable", "not run", 0},
		{"in CI", hollow50, []string{".github/prosecutor.yml", "hollow_test:\n  where: ci\n"}, nil, exitOK, "ADVANCE", "unavailable", "workflow", 0},
		{"tests that fail", "0: 2", nil, nil, exitOK, "ADVANCE", "unavailable", "fail before", 0},
		{"accepted at the base", hollow50, []string{".github/prosecutor.yml", `hollow_test:
  accepted:
    - {path: fee.go, operator: comparison_boundary, original: n > 50, reason: a fee of 50 is 5 or 1}
    - {path: fee.go, operator: literal_int, original: "50", reason: the same}
`}, nil, exitOK, "ADVANCE", "clean", "killed", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := feeRepo(t, c.cases, c.base...)
			o := reviewJSON(t, r.Dir, append([]string{"--no-ledger", "--config", server}, c.args...)...)
			if o.code != c.code || o.doc.Decision == nil || *o.doc.Decision != c.decision {
				t.Errorf("exit code %d: %s %s", o.code, o.stdout, o.stderr)
			}
			if e := evidenceOf(t, o.doc, "hollow_test"); e.State != c.state || !strings.Contains(e.Detail, c.detail) {
				t.Errorf("hollow-test is %s: %s", e.State, e.Detail)
			}
			n := 0
			for _, f := range o.doc.Findings {
				if f.Origin == "hollow_test" {
					n++
					if f.Path != "fee.go" || f.StartLine != 5 || f.Severity != "critical" || !f.Blocking || !strings.Contains(f.Evidence, "TestOf") || !strings.Contains(f.Claim, "n > 50") {
						t.Errorf("%+v", f)
					}
				}
			}
			if n != c.survivors {
				t.Errorf("%d findings of hollow-test, want %d", n, c.survivors)
			}
		})
	}
}

// The sandbox is the default: a change is not trusted because somebody reviews it.
func TestReviewRunsTheTestsInTheSandbox(t *testing.T) {
	r := feeRepo(t, tight)
	r.Write("fee_outside_test.go", `package fee

import (
	"net"
	"os"
	"testing"
)

func TestInside(t *testing.T) {
	if os.Getenv("PROSECUTOR_SECRET") != "" {
		t.Error("the environment of the reviewer is there")
	}
	if _, err := net.Dial("tcp", os.Getenv("nowhere")+"192.0.2.1:80"); err == nil {
		t.Error("the network is there")
	}
}
`).Commit("Ask where the tests are")
	t.Setenv("PROSECUTOR_SECRET", "x")
	o := reviewJSON(t, r.Dir, "--no-ledger")
	e := evidenceOf(t, o.doc, "hollow_test")
	if e.State == "unavailable" && strings.Contains(e.Detail, "sandbox") && os.Getenv("PROSECUTOR_TEST_NO_SANDBOX") == "1" {
		t.Logf("NOT CHECKED: %s", e.Detail)
		return
	}
	if e.State != "clean" {
		t.Errorf("hollow-test is %s: %s", e.State, e.Detail)
	}
}

// A change must not say itself who judges it and whether its tests need a sandbox.
func TestReviewRefusesTheServerFileOfTheChange(t *testing.T) {
	r := feeRepo(t, tight)
	r.Write("prosecutor-server.yml", "hollow_test:\n  sandbox: none\n").Commit("Bring a server file")
	run := func(args ...string) (int, string) {
		cmd := program(t.Context(), t, r.Dir, t.TempDir(), append([]string{"review", "--no-ledger", "--no-hollow-test"}, args...)...)
		out, err := cmd.CombinedOutput()
		return exitCode(err), string(out)
	}
	if code, out := run(); code != exitFailure || !strings.Contains(out, "brings its own prosecutor-server.yml") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if code, out := run("--config", "prosecutor-server.yml"); code != exitOK {
		t.Errorf("named: exit code %d: %s", code, out)
	}
	// One that the base has is the maintainers' own.
	r.Git("checkout", "-q", "-b", "next")
	r.Write("fee.go", strings.Replace(goFee, "n / 10", "n / 10 + 1", 1)).Commit("Raise the fee")
	if code, out := run("--base", "HEAD~1"); code != exitOK {
		t.Errorf("of the base: exit code %d: %s", code, out)
	}
	// And one beside the repository is the user's.
	r.Git("rm", "-q", "prosecutor-server.yml")
	r.Commit("Remove it")
	r.Write("prosecutor-server.yml", "hollow_test:\n  sandbox: none\n")
	if code, out := run("--base", "HEAD~2"); code != exitOK {
		t.Errorf("not of the repository: exit code %d: %s", code, out)
	}
}
