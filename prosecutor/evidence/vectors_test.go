package evidence_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
	"github.com/prosecutor-bot/prosecutor/test/vectortest"
)

func TestVectorsEvidence(t *testing.T) {
	vectortest.Run(t, "evidence", func(t *testing.T, c vectortest.Case) {
		var want struct {
			State         *prosecutor.EvidenceState `json:"state"`
			CountsAsRed   *bool                     `json:"counts_as_red"`
			Alerts        []int                     `json:"alerts"`
			Failed        []string                  `json:"failed"`
			Waiting       []string                  `json:"waiting"`
			FindingsShown *int                      `json:"findings_shown"`
		}
		vectortest.Decode(t, c.Expect, &want)

		var e prosecutor.Evidence
		var alerts []int
		var failed, waiting []string
		switch kind := c.Kind(t); kind {
		case "code_scanning":
			r := evidence.CodeScanning(scan(t, c.Input))
			e, alerts = r.Evidence, r.Alerts
		case "ci_checks":
			r := evidence.CIChecks(checks(t, c.Input))
			e, failed, waiting = r.Evidence, r.Failed, r.Waiting
		case "static_rules":
			var in struct {
				Kind     string
				Findings []struct{ Severity prosecutor.Severity }
			}
			vectortest.Decode(t, c.Input, &in)
			var findings []prosecutor.Finding
			for _, f := range in.Findings {
				findings = append(findings, prosecutor.Finding{Severity: f.Severity})
			}
			e = evidence.Static(findings, nil)
		default:
			t.Fatalf("unknown kind %q", kind)
		}

		if want.State != nil && e.State != *want.State {
			t.Errorf("state %s (%s), want %s", e.State, e.Detail, *want.State)
		}
		red := convergence.CountsAsRed(e, config.DefaultPolicy(), convergence.EvidenceContext{})
		if want.CountsAsRed != nil && red != *want.CountsAsRed {
			t.Errorf("counts as red: %v, want %v", red, *want.CountsAsRed)
		}
		sameSet(t, "alerts", alerts, want.Alerts)
		sameSet(t, "failed", failed, want.Failed)
		sameSet(t, "waiting", waiting, want.Waiting)
		if want.FindingsShown != nil && len(e.Findings) != *want.FindingsShown {
			t.Errorf("%d findings, want %d", len(e.Findings), *want.FindingsShown)
		}
	})
}

func sameSet[T int | string](t *testing.T, what string, got, want []T) {
	t.Helper()
	if want == nil {
		return
	}
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s %v, want %v", what, got, want)
	}
}

// scan translates: where the vector says that the fetch is complete, every analysis of the base is there for the head;
// where it says that the analysis is running, it is not there yet.
func scan(t *testing.T, raw json.RawMessage) evidence.Scan {
	var in struct {
		Kind string
		PR   struct {
			Number     int
			HeadBranch string `json:"head_branch"`
			BaseBranch string `json:"base_branch"`
		}
		Severity config.ScanSeverity
		Fetch    string
		Alerts   []struct {
			Number     int
			State      string
			Severity   string
			Refs       []string
			OpenOnBase bool `json:"open_on_base"`
		}
	}
	vectortest.Decode(t, raw, &in)
	s := evidence.Scan{
		PR: evidence.PullRequest{
			Number: in.PR.Number, HeadBranch: in.PR.HeadBranch, BaseBranch: in.PR.BaseBranch, Commits: []string{"head"},
		},
		Floor: in.Severity,
		Wait:  30 * time.Minute,
		Base:  []evidence.Analysis{{Tool: "scanner", Category: "c", Commit: "base"}},
	}
	switch in.Fetch {
	case "ok":
		s.Head = []evidence.Analysis{{Tool: "scanner", Category: "c", Commit: "head"}}
	case "error":
		s.Err = errors.New("502")
	case "not_enabled":
		s.NotEnabled = true
	case "analysis_running":
	default:
		t.Fatalf("unknown fetch %q", in.Fetch)
	}
	for _, a := range in.Alerts {
		alert := evidence.Alert{Number: a.Number, State: a.State, SecuritySeverity: a.Severity, OpenOnBase: a.OpenOnBase}
		for _, ref := range a.Refs {
			alert.Instances = append(alert.Instances, evidence.Instance{Ref: ref})
		}
		s.Alerts = append(s.Alerts, alert)
	}
	return s
}

func checks(t *testing.T, raw json.RawMessage) evidence.Checks {
	var in struct {
		Kind          string
		Required      []string
		OwnCheck      string `json:"own_check"`
		WaitMinutes   int    `json:"wait_minutes"`
		WaitedMinutes int    `json:"waited_minutes"`
		CheckRuns     []struct {
			Name       string
			Status     string
			Conclusion *string
		} `json:"check_runs"`
		Statuses []struct{ Context, State string }
	}
	vectortest.Decode(t, raw, &in)
	c := evidence.Checks{
		Required: in.Required, OwnCheck: in.OwnCheck,
		Wait: time.Duration(in.WaitMinutes) * time.Minute, Waited: time.Duration(in.WaitedMinutes) * time.Minute,
	}
	for _, r := range in.CheckRuns {
		run := evidence.CheckRun{Name: r.Name, Status: r.Status}
		if r.Conclusion != nil {
			run.Conclusion = *r.Conclusion
		}
		c.Runs = append(c.Runs, run)
	}
	for _, s := range in.Statuses {
		c.Statuses = append(c.Statuses, evidence.Status{Context: s.Context, State: s.State})
	}
	return c
}
