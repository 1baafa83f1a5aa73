package evidence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Scan holds what code scanning says about one pull request.
type Scan struct {
	PR    PullRequest
	Floor config.ScanSeverity // alerts below it do not count
	// Wait is how long a missing analysis is waited for (checks.wait), Waited how long it has been.
	Wait, Waited time.Duration
	// NotEnabled says that the repository has no code scanning. It is an answer, Err is the lack of one.
	NotEnabled bool
	Err        error // of reading alerts or analyses; also when only a part could be read
	Alerts     []Alert
	// Base holds the analyses that are current on the base branch, one for each tool and category: what a clean head has
	// to have as well. What no longer runs there does not belong in it.
	Base []Analysis
	// Head holds the analyses of the pull request, of whatever commit.
	Head []Analysis
}

// PullRequest names the refs and commits under which a pull request is analysed.
type PullRequest struct {
	Number     int
	BaseBranch string
	// HeadBranch is the head's branch in the repository of the alerts. It is empty for a head in a fork, whose branch may
	// have the name of a foreign one here.
	HeadBranch string
	// Commits are the SHAs whose analysis is one of this head: the head itself and its merge commits.
	Commits []string
}

// Alert is one alert of code scanning.
type Alert struct {
	Number           int
	State            string // open, dismissed, fixed
	Tool             string
	Rule             string
	SecuritySeverity string // critical, high, medium, low; empty when the rule has none
	RuleSeverity     string // error, warning, note, none; empty when unknown
	Message          string
	URL              string
	Instances        []Instance
	OpenOnBase       bool // the same alert is open on the base branch
}

// Instance is an occurrence of an alert on a ref.
type Instance struct {
	Ref       string
	State     string // open, dismissed, fixed; empty counts as open
	Path      string
	StartLine int // 1-based; 0 when the tool names no line
	EndLine   int
}

// Analysis is one upload of results.
type Analysis struct {
	Tool     string
	Category string
	Commit   string
	Error    string // why the tool failed; empty when it did not
}

// ScanResult is the evidence of code scanning, with the alerts that count, in ascending order.
type ScanResult struct {
	prosecutor.Evidence
	Alerts []int
	// Missing names the tools and categories whose analysis of this head is missing or failed.
	Missing []string
}

// CodeScanning decides the state of code scanning:
//
//   - red: an alert at or above the floor is open on a ref of the pull request, and not open on the base;
//   - unavailable: the facts could not be read, a tool failed, or an analysis is missing for longer than Wait;
//   - pending: an analysis of this head is missing by a tool and category that the base has;
//   - not_applicable: code scanning is not enabled, or no tool has ever analysed base or head;
//   - clean: everything that runs on the base has analysed this head, and no alert counts.
//
// What is red is red at once, whatever else is missing.
func CodeScanning(s Scan) ScanResult {
	r := ScanResult{Evidence: prosecutor.Evidence{Source: prosecutor.CodeScanning}, Alerts: []int{}}
	if s.Err != nil {
		r.State = prosecutor.Unavailable
		r.Detail = fmt.Sprintf("code scanning could not be read: %v", s.Err)
		return r
	}
	if s.NotEnabled {
		r.State = prosecutor.NotApplicable
		r.Detail = "code scanning is not enabled for this repository"
		return r
	}
	for _, a := range s.Alerts {
		at, ok := counts(a, s)
		if !ok {
			continue
		}
		r.Alerts = append(r.Alerts, a.Number)
		r.Findings = append(r.Findings, alertFinding(a, at))
	}
	slices.Sort(r.Alerts)

	var failed []string
	r.Missing, failed = s.missing()
	switch {
	case len(r.Findings) > 0:
		r.State = prosecutor.Red
		r.Detail = plural(len(r.Findings), "new alert", "new alerts")
	case len(failed) > 0:
		r.State = prosecutor.Unavailable
		r.Detail = "the analysis of this head failed: " + list(failed)
	case len(r.Missing) > 0 && s.Waited < s.Wait:
		r.State = prosecutor.Pending
		r.Detail = "waiting for the analysis of this head by " + list(r.Missing)
	case len(r.Missing) > 0:
		r.State = prosecutor.Unavailable
		r.Detail = fmt.Sprintf("no analysis of this head by %s after %s", list(r.Missing), s.Waited)
	case len(s.Base) == 0 && len(s.Head) == 0:
		r.State = prosecutor.NotApplicable
		r.Detail = "no tool has analysed the base branch or this head"
	default:
		r.State = prosecutor.Clean
		r.Detail = "no new alert"
	}
	return r
}

// counts reports whether an alert is one of this change, and the occurrence that shows it.
func counts(a Alert, s Scan) (Instance, bool) {
	if a.State != "open" || a.OpenOnBase || !atFloor(a, s.Floor) {
		return Instance{}, false
	}
	for _, i := range a.Instances {
		if (i.State == "" || i.State == "open") && s.PR.owns(i.Ref) {
			return i, true
		}
	}
	return Instance{}, false
}

func (p PullRequest) owns(ref string) bool {
	number := strconv.Itoa(p.Number)
	if ref == "refs/pull/"+number+"/merge" || ref == "refs/pull/"+number+"/head" {
		return true
	}
	return p.HeadBranch != "" && p.HeadBranch != p.BaseBranch && ref == "refs/heads/"+p.HeadBranch
}

// severity ranks an alert by its security severity, or by its rule's where it has none. ok is false when neither says
// anything that is known.
func (a Alert) severity() (severity prosecutor.Severity, ok bool) {
	if s := prosecutor.Severity(a.SecuritySeverity); s.Rank() > 0 {
		return s, true
	}
	if a.SecuritySeverity != "" {
		return "", false
	}
	switch a.RuleSeverity {
	case "error":
		return prosecutor.High, true
	case "warning":
		return prosecutor.Medium, true
	case "note", "none":
		return prosecutor.Low, true
	default:
		return "", false
	}
}

// atFloor reports whether an alert is severe enough. One of unknown severity is: it cannot be shown to be below.
func atFloor(a Alert, floor config.ScanSeverity) bool {
	severity, ok := a.severity()
	return !ok || severity.AtLeast(prosecutor.Severity(floor))
}

func alertFinding(a Alert, at Instance) prosecutor.Finding {
	severity, ok := a.severity()
	if !ok {
		severity = prosecutor.High
	}
	rule := a.Rule
	if a.Tool != "" {
		rule = strings.TrimSuffix(a.Tool+"/"+a.Rule, "/")
	}
	f := prosecutor.Finding{
		Source: prosecutor.FromEvidence, Origin: string(prosecutor.CodeScanning), Rule: rule,
		Severity: severity, Claimed: severity, Charge: prosecutor.ChargeSecurity,
		Claim:    fmt.Sprintf("Code scanning alert %d is new: %s", a.Number, orElse(brief(a.Message), orElse(rule, "no message"))),
		Evidence: a.URL,
		Place:    prosecutor.Place{Status: prosecutor.NoFile},
	}
	if at.Path != "" {
		f.Anchor = &prosecutor.Anchor{Path: at.Path, Side: prosecutor.Right, Line: at.StartLine}
		f.Place = prosecutor.Place{Status: prosecutor.Ambiguous, Path: at.Path, Side: prosecutor.Right}
		if at.StartLine > 0 {
			f.Place.Status, f.Place.MatchedBy = prosecutor.Anchored, "line"
			f.Place.StartLine, f.Place.EndLine = at.StartLine, max(at.StartLine, at.EndLine)
		}
	}
	f.ID = prosecutor.Identify(f)
	return f
}

// missing names what has analysed the base and not this head, and what failed on this head.
func (s Scan) missing() (missing, failed []string) {
	type kind struct{ tool, category string }
	done := make(map[kind]bool)
	broken := make(map[kind]bool)
	for _, a := range s.Head {
		if !slices.Contains(s.PR.Commits, a.Commit) || a.Commit == "" {
			continue
		}
		if k := (kind{a.Tool, a.Category}); a.Error == "" {
			done[k] = true
		} else {
			broken[k] = true
		}
	}
	seen := make(map[kind]bool)
	for _, a := range slices.Concat(s.Base, s.Head) {
		k := kind{a.Tool, a.Category}
		if seen[k] || done[k] {
			continue
		}
		seen[k] = true
		name := strings.TrimSpace(a.Tool + " " + a.Category)
		switch {
		case broken[k]:
			failed = append(failed, name)
			missing = append(missing, name)
		case slices.ContainsFunc(s.Base, func(b Analysis) bool { return kind{b.Tool, b.Category} == k }):
			missing = append(missing, name)
		}
	}
	return missing, failed
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
