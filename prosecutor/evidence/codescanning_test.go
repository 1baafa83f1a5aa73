package evidence_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
)

// scanned is a pull request whose head has every analysis of the base.
func scanned(change func(*evidence.Scan)) evidence.ScanResult {
	s := evidence.Scan{
		PR:    evidence.PullRequest{Number: 12, BaseBranch: "main", HeadBranch: "feature", Commits: []string{"head", "merge"}},
		Floor: config.ScanAll,
		Wait:  30 * time.Minute,
		Base:  []evidence.Analysis{{Tool: "CodeQL", Category: "/language:go", Commit: "base"}, {Tool: "CodeQL", Category: "/language:js", Commit: "base"}},
		Head:  []evidence.Analysis{{Tool: "CodeQL", Category: "/language:go", Commit: "head"}, {Tool: "CodeQL", Category: "/language:js", Commit: "merge"}},
	}
	change(&s)
	return evidence.CodeScanning(s)
}

func alert(change func(*evidence.Alert)) func(*evidence.Scan) {
	a := evidence.Alert{
		Number: 4, State: "open", Tool: "CodeQL", Rule: "go/sql-injection", SecuritySeverity: "high", Message: "Tainted query.",
		URL:       "https://example.test/4",
		Instances: []evidence.Instance{{Ref: "refs/pull/12/merge", Path: "db.go", StartLine: 7, EndLine: 9}},
	}
	change(&a)
	return func(s *evidence.Scan) { s.Alerts = append(s.Alerts, a) }
}

func TestCodeScanningStates(t *testing.T) {
	same := func(*evidence.Alert) {}
	for _, c := range []struct {
		name   string
		change func(*evidence.Scan)
		want   prosecutor.EvidenceState
		detail string
	}{
		{"complete", func(*evidence.Scan) {}, prosecutor.Clean, "no new alert"},
		{"one category is missing", func(s *evidence.Scan) { s.Head = s.Head[:1] }, prosecutor.Pending, `"CodeQL /language:js"`},
		{"an analysis of an older head", func(s *evidence.Scan) { s.Head[1].Commit = "older" }, prosecutor.Pending, `"CodeQL /language:js"`},
		{"an analysis without a commit", func(s *evidence.Scan) { s.PR.Commits = []string{""}; s.Head[0].Commit = "" }, prosecutor.Pending, "waiting"},
		{"missing for too long", func(s *evidence.Scan) { s.Head = nil; s.Waited = s.Wait }, prosecutor.Unavailable, "after 30m"},
		{"failed", func(s *evidence.Scan) { s.Head[0].Error = "out of memory" }, prosecutor.Unavailable, "failed"},
		{"failed, then repeated", func(s *evidence.Scan) {
			s.Head = append(s.Head, evidence.Analysis{Tool: "CodeQL", Category: "/language:go", Commit: "head", Error: "x"})
		}, prosecutor.Clean, ""},
		{"a new tool failed", func(s *evidence.Scan) {
			s.Head = append(s.Head, evidence.Analysis{Tool: "semgrep", Commit: "head", Error: "x"})
		}, prosecutor.Unavailable, `"semgrep"`},
		{"a new tool of an older head", func(s *evidence.Scan) {
			s.Head = append(s.Head, evidence.Analysis{Tool: "semgrep", Commit: "older"})
		}, prosecutor.Clean, ""},
		{"red beside a missing analysis", func(s *evidence.Scan) { s.Head = nil; alert(same)(s) }, prosecutor.Red, "1 new alert"},
		{"nothing was ever analysed", func(s *evidence.Scan) { s.Base, s.Head = nil, nil }, prosecutor.NotApplicable, "no tool"},
		{"first analysis ever", func(s *evidence.Scan) { s.Base = nil }, prosecutor.Clean, ""},
		{"an error beats what was read", func(s *evidence.Scan) { s.Err = errors.New("page 2: 502"); alert(same)(s) }, prosecutor.Unavailable, "page 2: 502"},
		{"not enabled", func(s *evidence.Scan) { s.NotEnabled = true }, prosecutor.NotApplicable, "not enabled"},
	} {
		r := scanned(c.change)
		if r.State != c.want || !strings.Contains(r.Detail, c.detail) || r.Source != prosecutor.CodeScanning {
			t.Errorf("%s: %s (%s), want %s (%s)", c.name, r.State, r.Detail, c.want, c.detail)
		}
	}
}

func TestWhichAlertsCount(t *testing.T) {
	for _, c := range []struct {
		name   string
		floor  config.ScanSeverity
		change func(*evidence.Alert)
		want   bool
	}{
		{"as it is", config.ScanAll, func(*evidence.Alert) {}, true},
		{"fixed", config.ScanAll, func(a *evidence.Alert) { a.State = "fixed" }, false},
		{"fixed here", config.ScanAll, func(a *evidence.Alert) { a.Instances[0].State = "fixed" }, false},
		{"open on another ref too", config.ScanAll, func(a *evidence.Alert) {
			a.Instances = append([]evidence.Instance{{Ref: "refs/heads/other"}}, a.Instances...)
		}, true},
		{"head branch", config.ScanAll, func(a *evidence.Alert) { a.Instances[0].Ref = "refs/heads/feature" }, true},
		{"longer branch", config.ScanAll, func(a *evidence.Alert) { a.Instances[0].Ref = "refs/heads/feature2" }, false},
		{"base branch", config.ScanAll, func(a *evidence.Alert) { a.Instances[0].Ref = "refs/heads/main" }, false},
		{"no instance", config.ScanAll, func(a *evidence.Alert) { a.Instances = nil }, false},
		{"rule error at high", "high", func(a *evidence.Alert) { a.SecuritySeverity, a.RuleSeverity = "", "error" }, true},
		{"rule warning at high", "high", func(a *evidence.Alert) { a.SecuritySeverity, a.RuleSeverity = "", "warning" }, false},
		{"rule warning at medium", "medium", func(a *evidence.Alert) { a.SecuritySeverity, a.RuleSeverity = "", "warning" }, true},
		{"rule note at low", "low", func(a *evidence.Alert) { a.SecuritySeverity, a.RuleSeverity = "", "note" }, true},
		{"rule note at medium", "medium", func(a *evidence.Alert) { a.SecuritySeverity, a.RuleSeverity = "", "note" }, false},
		{"security severity beats the rule's", "high", func(a *evidence.Alert) { a.SecuritySeverity, a.RuleSeverity = "low", "error" }, false},
		{"unknown severity counts", "critical", func(a *evidence.Alert) { a.SecuritySeverity, a.RuleSeverity = "", "" }, true},
		{"a new word counts", "critical", func(a *evidence.Alert) { a.SecuritySeverity, a.RuleSeverity = "High", "note" }, true},
		{"none is low", "medium", func(a *evidence.Alert) { a.SecuritySeverity, a.RuleSeverity = "", "none" }, false},
		{"no floor is all", "", func(a *evidence.Alert) { a.SecuritySeverity = "low" }, true},
	} {
		r := scanned(func(s *evidence.Scan) { s.Floor = c.floor; alert(c.change)(s) })
		if got := r.State == prosecutor.Red; got != c.want {
			t.Errorf("%s: %s, want red: %v", c.name, r.State, c.want)
		}
	}
}

// A fork's branch may be called as a branch of the base repository; its alerts are not the fork's.
func TestForkBranchIsNotOurs(t *testing.T) {
	r := scanned(func(s *evidence.Scan) {
		s.PR.HeadBranch = ""
		alert(func(a *evidence.Alert) { a.Instances[0].Ref = "refs/heads/feature" })(s)
	})
	if r.State != prosecutor.Clean {
		t.Errorf("%s: %v", r.State, r.Alerts)
	}
}

func TestAlertFinding(t *testing.T) {
	r := scanned(alert(func(*evidence.Alert) {}))
	want := prosecutor.Finding{
		Source: prosecutor.FromEvidence, Origin: "code_scanning", Rule: "CodeQL/go/sql-injection",
		Severity: prosecutor.High, Claimed: prosecutor.High, Charge: prosecutor.ChargeSecurity,
		Claim: "Code scanning alert 4 is new: Tainted query.", Evidence: "https://example.test/4",
		Anchor: &prosecutor.Anchor{Path: "db.go", Side: prosecutor.Right, Line: 7},
		Place:  prosecutor.Place{Status: prosecutor.Anchored, Path: "db.go", Side: prosecutor.Right, StartLine: 7, EndLine: 9, MatchedBy: "line"},
	}
	want.ID = prosecutor.Identify(want)
	if diff := cmp.Diff([]prosecutor.Finding{want}, r.Findings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	moved := scanned(alert(func(a *evidence.Alert) { a.Instances[0].StartLine = 70 }))
	if moved.Findings[0].ID != want.ID {
		t.Error("the identity does not survive a push that moves the code")
	}
	noLine := scanned(alert(func(a *evidence.Alert) { a.Instances[0].StartLine = 0 })).Findings[0].Place
	if noLine.Status == prosecutor.Anchored || noLine.StartLine != 0 {
		t.Errorf("a line was made up: %+v", noLine)
	}
}

func TestAlertsAreSortedAndTheirTextIsBounded(t *testing.T) {
	r := scanned(func(s *evidence.Scan) {
		alert(func(a *evidence.Alert) { a.Number = 9; a.Message = strings.Repeat("é", 5000) })(s)
		alert(func(a *evidence.Alert) { a.Number = 2; a.Message, a.Tool, a.Rule = "\xff", "", "" })(s)
	})
	if !slices.Equal(r.Alerts, []int{2, 9}) {
		t.Errorf("alerts %v", r.Alerts)
	}
	if n := len([]rune(r.Findings[0].Claim)); n > 1100 {
		t.Errorf("a claim of %d characters", n)
	}
	if !strings.HasSuffix(r.Findings[1].Claim, "\uFFFD") {
		t.Errorf("claim %q", r.Findings[1].Claim)
	}
}
