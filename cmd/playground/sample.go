package main

import (
	"fmt"
	"strings"
)

// change is one pull request of the sample repository: a branch whose commits are pushed one after another.
type change struct {
	branch  string
	title   string
	about   string // what a reader of the table should see in it
	commits []commit
	want    string // the decision its last head is documented to get from static rules
}

type commit struct {
	message string
	write   map[string]string
}

// baseFiles is the sample repository: a small payment library with tests, a workflow and a policy.
func baseFiles() map[string]string {
	return map[string]string{
		"go.mod":    "module example.com/pay\n\ngo 1.26\n",
		"README.md": "# pay\n\nRefunds and their limits.\n",
		"refund/refund.go": `// Package refund decides which refunds are allowed.
package refund

import "errors"

// Limit is the largest refund, in cents.
const Limit = 50_000

// ErrLimit says that a refund is over the limit.
var ErrLimit = errors.New("refund over the limit")

// Check returns an error unless a refund of cents is allowed.
func Check(cents int) error {
	if cents < 0 || cents > Limit {
		return ErrLimit
	}
	return nil
}
`,
		"refund/refund_test.go": `package refund

import (
	"errors"
	"testing"
)

func TestCheckAcceptsTheLimit(t *testing.T) {
	if err := Check(Limit); err != nil {
		t.Errorf("Check(Limit) = %v", err)
	}
}

func TestCheckRefusesMore(t *testing.T) {
	if err := Check(Limit + 1); !errors.Is(err, ErrLimit) {
		t.Errorf("Check(Limit+1) = %v, want ErrLimit", err)
	}
}
`,
		".github/workflows/ci.yml": `name: ci
on: [pull_request]
permissions:
  contents: read
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0
      - run: go test ./...
`,
		".github/prosecutor.yml": `# The policy of the sample repository. Everything not named here has its default.
blast_radius:
  critical:
    - "refund/**"
`,
	}
}

// changes are the pull requests, each of another kind.
func changes() []change {
	files := baseFiles()
	source, tests := files["refund/refund.go"], files["refund/refund_test.go"]
	fixed := strings.Replace(source, "cents < 0 ||", "cents <= 0 ||", 1)
	fixedTests := tests + `
func TestCheckRefusesNothing(t *testing.T) {
	if err := Check(0); !errors.Is(err, ErrLimit) {
		t.Errorf("Check(0) = %v, want ErrLimit", err)
	}
	if err := Check(1); err != nil {
		t.Errorf("Check(1) = %v", err)
	}
}
`
	weakened := strings.Replace(tests, "func TestCheckRefusesMore(t *testing.T) {\n", "func TestCheckRefusesMore(t *testing.T) {\n\tt.Skip(\"flaky\")\n", 1)
	return []change{
		{
			branch: "docs-only", title: "Explain the limit in the README", about: "a sentence in the README", want: "ADVANCE",
			commits: []commit{{
				message: "Explain in the README what the limit is",
				write:   map[string]string{"README.md": files["README.md"] + "\nA refund is at most 500.00.\n"},
			}},
		},
		{
			branch: "honest-fix", title: "Refuse refunds of nothing", about: "a fix on a critical path, with its test", want: "ADVANCE",
			commits: []commit{{
				message: "Refuse refunds of nothing\n\nA refund of zero cents was accepted. Check refuses it now, and a test says so.",
				write:   map[string]string{"refund/refund.go": fixed, "refund/refund_test.go": fixedTests},
			}},
		},
		{
			branch: "weakened-tests", title: "Raise the limit", about: "a test that is skipped so that the build stays green", want: "LOOP_BACK",
			commits: []commit{{
				message: "Raise the limit",
				write: map[string]string{
					"refund/refund.go":      strings.Replace(source, "50_000", "500_000", 1),
					"refund/refund_test.go": weakened,
				},
			}},
		},
		{
			branch: "hollow-tests", title: "Charge a fee for large refunds", about: "tests that run the change and would pass without it", want: "LOOP_BACK",
			commits: []commit{{
				message: "Charge a fee for large refunds\n\nRefunds over 100.00 cost one percent. Covered by tests.",
				write:   map[string]string{"refund/fee.go": feeSource, "refund/fee_test.go": feeTests},
			}},
		},
		{
			branch: "leaked-secret", title: "Add the settings of the deployment", about: "a token in a settings file", want: "LOOP_BACK",
			commits: []commit{{
				message: "Add the settings of the deployment",
				// Put together at run time, so that no scanner takes this file for a leak.
				write: map[string]string{"deploy/settings.env": "REGION=eu-1\nGITHUB_TOKEN=" + "ghp_" + "R7xK2mQ9vLpT4wZc8NbY1sHd6JfGu3EaXo5V\n"},
			}},
		},
		{
			branch: "workflow-change", title: "Label pull requests of forks too", about: "a workflow that runs a stranger's code with write access", want: "LOOP_BACK",
			commits: []commit{{
				message: "Label pull requests of forks too",
				write: map[string]string{".github/workflows/label.yml": `name: label
on: pull_request_target
permissions:
  contents: write
jobs:
  label:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0
        with:
          ref: ${{ github.event.pull_request.head.sha }}
      - run: ./scripts/label.sh
`},
			}},
		},
		{
			branch: "oversize", title: "Add the table of exchange rates", about: "more than a judge can read in one go", want: "LOOP_BACK",
			commits: []commit{{
				message: "Add the table of exchange rates",
				write:   map[string]string{"rates/rates.go": "package rates\n\n// All holds one rate a day.\nvar All = []float64{\n" + rates(16_000) + "}\n"},
			}},
		},
		{
			branch: "new-push", title: "Keep the smaller daily limit", about: "conflict markers, and a new push while that is judged", want: "ADVANCE",
			commits: []commit{
				{
					message: "Settle conflicts of the two limits",
					write:   map[string]string{"refund/limits.go": "package refund\n\n<<<<<<< HEAD\nconst Daily = 100_000\n=======\nconst Daily = 200_000\n>>>>>>> limits\n"},
				},
				{
					message: "Keep the smaller daily limit",
					write:   map[string]string{"refund/limits.go": limitsSource, "refund/limits_test.go": limitsTests},
				},
			},
		},
	}
}

const (
	feeSource = `package refund

// Fee is what a refund of cents costs: one percent of those over 100.00.
func Fee(cents int) int {
	if cents > 10_000 {
		return cents / 100
	}
	return 0
}
`
	// Every line of Fee is covered, and none of it is checked but that nothing is charged for little.
	feeTests = `package refund

import "testing"

func TestFee(t *testing.T) {
	if fee := Fee(500); fee != 0 {
		t.Errorf("Fee(500) = %d", fee)
	}
	if fee := Fee(50_000); fee < 0 {
		t.Errorf("Fee(50_000) = %d", fee)
	}
}
`
	limitsSource = `package refund

// Daily is the largest sum of refunds a day, in cents.
const Daily = 100_000

// CheckDay returns an error when the refunds of a day come to more than Daily.
func CheckDay(cents int) error {
	if cents > Daily {
		return ErrLimit
	}
	return nil
}
`
	limitsTests = `package refund

import (
	"errors"
	"testing"
)

func TestCheckDay(t *testing.T) {
	if err := CheckDay(100_000); err != nil {
		t.Errorf("CheckDay(100_000) = %v", err)
	}
	if err := CheckDay(100_001); !errors.Is(err, ErrLimit) {
		t.Errorf("CheckDay(100_001) = %v, want ErrLimit", err)
	}
}
`
)

func rates(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\t%d.%04d,\n", 1+i%3, i%10_000)
	}
	return b.String()
}
