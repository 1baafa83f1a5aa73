package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// commands are the lines that the runner of GitHub Actions obeys: those that begin with two colons while it listens.
func commands(t *testing.T, out string) []string {
	t.Helper()
	var obeyed []string
	stopped := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		switch word, stop := strings.CutPrefix(line, "::stop-commands::"); {
		case stopped != "":
			if line == "::"+stopped+"::" {
				stopped = ""
			}
		case stop:
			stopped = word
		case strings.HasPrefix(line, "::"):
			obeyed = append(obeyed, line)
		}
	}
	if stopped != "" {
		t.Error("the runner is never told to listen again")
	}
	return obeyed
}

func TestGitHubReportCarriesTheReport(t *testing.T) {
	r := hollowReport()
	// Code and names are the change's own, and must not give orders to the runner.
	r.Mutants = append(r.Mutants, hollowtest.Mutant{
		ID: "x", File: "a%,b:c.go", Line: 7, Operator: "x", Original: "a\n::notice title=prosecutor hollow-test report::v1:", Mutated: "b%0A", Status: hollowtest.Survived, Hint: "::error::",
	})
	r.Flaky = append(r.Flaky, "\n::set-env name=PATH::x")
	r.Conclude()
	var b bytes.Buffer
	if err := HollowGitHub(&b, r, readHollow, "abc123", "word"); err != nil {
		t.Fatal(err)
	}
	got := commands(t, b.String())
	want := []string{
		"::error file=a.go,line=4,title=No test fails with this change::a > b becomes a >= b (comparison_boundary): no test has both sides equal",
		"::error file=b|`c`.js,line=1,title=No test fails with this change::",
		"::error file=a%25%2Cb%3Ac.go,line=7,title=No test fails with this change::",
		"::notice title=prosecutor hollow-test report::v1:",
	}
	if len(got) != len(want) {
		t.Fatalf("%d commands, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("command %d is %q, want %q", i, got[i], want[i])
		}
	}
	run, head, err := hollowtest.Published(strings.TrimPrefix(got[3], "::notice title=prosecutor hollow-test report::"))
	if err != nil || head != "abc123" {
		t.Fatalf("%q, %v", head, err)
	}
	if diff := cmp.Diff(hollowtest.Decide(r.Facts(), config.HollowTest{}), hollowtest.Decide(run, config.HollowTest{})); diff != "" {
		t.Error(diff)
	}
}
