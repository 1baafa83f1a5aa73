package evidence

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Checks holds what CI has reported about one head.
type Checks struct {
	// Required lists names of check runs and contexts of commit statuses (checks.required); "*" stands for all that are
	// reported but our own.
	Required []string
	// OwnCheck is the name of the gate's check run, OwnApp the id of the app that makes it. With an id, a check run of
	// that name by anyone else is not ours, so that nobody escapes "*" by a name.
	OwnCheck string
	OwnApp   int64
	// Wait is how long a check may run or be missing (checks.wait), Waited how long it has been.
	Wait, Waited time.Duration
	Err          error // of reading checks or statuses; also when only a part could be read
	Runs         []CheckRun
	Statuses     []Status
	// OpenSuites names the apps, other than ours, whose check suite of this head has not completed. Such a suite may
	// still report checks that nobody knows of yet.
	OpenSuites []string
}

// CheckRun is a check run of the head.
type CheckRun struct {
	// ID orders the runs of one name in one suite: the highest is the current one. Runs without an ID all count.
	ID         int64
	Suite      int64
	App        int64
	Name       string
	Status     string // completed, or anything that is still to complete
	Conclusion string // empty while it runs
	Title      string
	URL        string
}

// Status is the current commit status of one context.
type Status struct {
	Context     string
	State       string // success, pending, failure, error
	Description string
	URL         string
}

// ChecksResult is the evidence of CI, with what failed and what is waited for, each name once.
type ChecksResult struct {
	prosecutor.Evidence
	Failed  []string
	Waiting []string
}

const everything = "*"

// CIChecks decides the state of the required checks:
//
//   - red: one concluded other than success, neutral or skipped; at once, whatever still runs;
//   - pending: one runs or was never reported, for less than Wait. Under "*" also while nothing at all is reported, or
//     another suite is still open;
//   - unavailable: the same after Wait, or the facts could not be read;
//   - not_applicable: nothing is required;
//   - clean: all concluded, and none of them badly.
//
// Check runs and commit statuses are read alike. Where a name stands for several, all of them have to pass. The gate
// never waits for itself, not even when its own check is listed.
func CIChecks(c Checks) ChecksResult {
	r := ChecksResult{Evidence: prosecutor.Evidence{Source: prosecutor.CIChecks}, Failed: []string{}, Waiting: []string{}}
	if !slices.ContainsFunc(c.Required, func(name string) bool { return name != c.OwnCheck }) {
		r.State = prosecutor.NotApplicable
		r.Detail = "no check but our own is required (checks.required)"
		return r
	}
	if c.Err != nil {
		r.State = prosecutor.Unavailable
		r.Detail = fmt.Sprintf("the checks could not be read: %v", c.Err)
		return r
	}
	all := slices.Contains(c.Required, everything)
	reported := make(map[string]bool)
	for _, rep := range c.reports() {
		reported[rep.name] = true
		if !all && !slices.Contains(c.Required, rep.name) {
			continue
		}
		switch rep.outcome {
		case passed:
		case running:
			r.Waiting = appendOnce(r.Waiting, rep.name)
		case failed:
			r.Failed = appendOnce(r.Failed, rep.name)
			r.Findings = append(r.Findings, rep.finding())
		}
	}
	for _, name := range c.Required {
		if name != everything && !reported[name] && name != c.OwnCheck {
			r.Waiting = appendOnce(r.Waiting, name)
		}
	}
	if all {
		for _, app := range c.OpenSuites {
			r.Waiting = appendOnce(r.Waiting, "checks of "+app)
		}
		if len(reported) == 0 && len(r.Waiting) == 0 {
			r.Waiting = append(r.Waiting, "any check")
		}
	}
	switch {
	case len(r.Failed) > 0:
		r.State = prosecutor.Red
		r.Detail = plural(len(r.Failed), "required check", "required checks") + " failed: " + list(r.Failed)
	case len(r.Waiting) > 0 && c.Waited < c.Wait:
		r.State = prosecutor.Pending
		r.Detail = "waiting for " + list(r.Waiting)
	case len(r.Waiting) > 0:
		r.State = prosecutor.Unavailable
		r.Detail = fmt.Sprintf("no result of %s after %s", list(r.Waiting), c.Waited)
	default:
		r.State = prosecutor.Clean
		r.Detail = "all required checks passed"
	}
	return r
}

type checkOutcome int

const (
	running checkOutcome = iota
	passed
	failed
)

// report is a check run or a commit status.
type report struct {
	name    string
	outcome checkOutcome
	ended   string // the conclusion or state in its own word
	title   string
	url     string
}

// reports returns the current reports that are not our own.
func (c Checks) reports() []report {
	type slot struct {
		suite, app int64
		name       string
	}
	newest := make(map[slot]int64)
	for _, run := range c.Runs {
		k := slot{run.Suite, run.App, run.Name}
		newest[k] = max(newest[k], run.ID)
	}
	var all []report
	for _, run := range c.Runs {
		own := run.Name == c.OwnCheck && (c.OwnApp == 0 || run.App == c.OwnApp)
		if own || run.ID != newest[slot{run.Suite, run.App, run.Name}] {
			continue
		}
		rep := report{name: run.Name, ended: run.Conclusion, title: run.Title, url: run.URL, outcome: failed}
		switch {
		case run.Status != "completed", run.Conclusion == "":
			rep.outcome = running
		case run.Conclusion == "success", run.Conclusion == "neutral", run.Conclusion == "skipped":
			rep.outcome = passed
		}
		all = append(all, rep)
	}
	for _, s := range c.Statuses {
		rep := report{name: s.Context, ended: s.State, title: s.Description, url: s.URL}
		switch s.State {
		case "success":
			rep.outcome = passed
		case "failure", "error":
			rep.outcome = failed
		default:
			rep.outcome = running
		}
		all = append(all, rep)
	}
	return all
}

func (r report) finding() prosecutor.Finding {
	f := prosecutor.Finding{
		Source: prosecutor.FromEvidence, Origin: string(prosecutor.CIChecks),
		Severity: prosecutor.High, Claimed: prosecutor.High, Charge: prosecutor.ChargeTests,
		Claim:    fmt.Sprintf("The required check %s ended as %s.", strconv.Quote(r.name), r.ended),
		Evidence: join(brief(r.title), r.url),
		Place:    prosecutor.Place{Status: prosecutor.NoFile},
	}
	f.ID = prosecutor.Identify(f)
	return f
}

func appendOnce(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}
