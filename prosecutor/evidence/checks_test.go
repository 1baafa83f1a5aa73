package evidence_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
)

func run(name, conclusion string) evidence.CheckRun {
	r := evidence.CheckRun{Name: name, Status: "completed", Conclusion: conclusion}
	if conclusion == "" {
		r.Status = "in_progress"
	}
	return r
}

func TestCIChecksStates(t *testing.T) {
	for _, c := range []struct {
		name    string
		in      evidence.Checks
		want    prosecutor.EvidenceState
		failed  []string
		waiting []string
	}{
		{"never reported", evidence.Checks{Required: []string{"build"}}, prosecutor.Pending, nil, []string{"build"}},
		{"never reported, too long", evidence.Checks{Required: []string{"build"}, Waited: time.Hour}, prosecutor.Unavailable, nil, []string{"build"}},
		{"the last instant is over", evidence.Checks{Required: []string{"build"}, Waited: 30 * time.Minute}, prosecutor.Unavailable, nil, []string{"build"}},
		{"red beside running", evidence.Checks{Required: []string{"a", "b"}, Runs: []evidence.CheckRun{run("a", ""), run("b", "failure")}},
			prosecutor.Red, []string{"b"}, []string{"a"}},
		{"star without any report", evidence.Checks{Required: []string{"*"}}, prosecutor.Pending, nil, []string{"any check"}},
		{"star with only our own report", evidence.Checks{Required: []string{"*"}, Runs: []evidence.CheckRun{run("prosecutor", "success")}},
			prosecutor.Pending, nil, []string{"any check"}},
		{"star without any report, too long", evidence.Checks{Required: []string{"*"}, Waited: time.Hour}, prosecutor.Unavailable, nil, []string{"any check"}},
		{"star with an open suite", evidence.Checks{Required: []string{"*"}, Runs: []evidence.CheckRun{run("a", "success")}, OpenSuites: []string{"GitHub Actions"}},
			prosecutor.Pending, nil, []string{"checks of GitHub Actions"}},
		{"an open suite without star", evidence.Checks{Required: []string{"a"}, Runs: []evidence.CheckRun{run("a", "success")}, OpenSuites: []string{"GitHub Actions"}},
			prosecutor.Clean, nil, nil},
		{"star and a name", evidence.Checks{Required: []string{"*", "deploy"}, Runs: []evidence.CheckRun{run("a", "success")}},
			prosecutor.Pending, nil, []string{"deploy"}},
		{"a foreign check of our name", evidence.Checks{Required: []string{"*"}, OwnApp: 7, Runs: []evidence.CheckRun{
			run("a", "success"), {App: 9, Name: "prosecutor", Status: "completed", Conclusion: "failure"}}},
			prosecutor.Red, []string{"prosecutor"}, nil},
		{"our own check is listed", evidence.Checks{Required: []string{"prosecutor", "a"}, Runs: []evidence.CheckRun{run("a", "success"), run("prosecutor", "")}},
			prosecutor.Clean, nil, nil},
		{"only our own check is listed", evidence.Checks{Required: []string{"prosecutor"}}, prosecutor.NotApplicable, nil, nil},
		{"a newer run of the same suite", evidence.Checks{Required: []string{"a"}, Runs: []evidence.CheckRun{
			{ID: 2, Suite: 1, Name: "a", Status: "completed", Conclusion: "success"}, {ID: 1, Suite: 1, Name: "a", Status: "completed", Conclusion: "failure"}}},
			prosecutor.Clean, nil, nil},
		{"the same name in two suites", evidence.Checks{Required: []string{"a"}, Runs: []evidence.CheckRun{
			{ID: 2, Suite: 2, Name: "a", Status: "completed", Conclusion: "success"}, {ID: 1, Suite: 1, Name: "a", Status: "completed", Conclusion: "failure"}}},
			prosecutor.Red, []string{"a"}, nil},
		{"completed without a conclusion", evidence.Checks{Required: []string{"a"}, Runs: []evidence.CheckRun{{Name: "a", Status: "completed"}}},
			prosecutor.Pending, nil, []string{"a"}},
		{"a status and a run of one name", evidence.Checks{Required: []string{"a"}, Runs: []evidence.CheckRun{run("a", "success")}, Statuses: []evidence.Status{{Context: "a", State: "failure"}}},
			prosecutor.Red, []string{"a"}, nil},
		{"an unknown state of a status", evidence.Checks{Required: []string{"a"}, Statuses: []evidence.Status{{Context: "a", State: "expected"}}},
			prosecutor.Pending, nil, []string{"a"}},
		{"names are exact", evidence.Checks{Required: []string{"Build"}, Runs: []evidence.CheckRun{run("build", "success")}}, prosecutor.Pending, nil, []string{"Build"}},
		{"an error", evidence.Checks{Required: []string{"a"}, Err: errors.New("502"), Runs: []evidence.CheckRun{run("a", "success")}}, prosecutor.Unavailable, nil, nil},
		{"an error where nothing is required", evidence.Checks{Err: errors.New("502")}, prosecutor.NotApplicable, nil, nil},
	} {
		c.in.OwnCheck, c.in.Wait = "prosecutor", 30*time.Minute
		r := evidence.CIChecks(c.in)
		if r.State != c.want || !slices.Equal(r.Failed, c.failed) && len(r.Failed)+len(c.failed) > 0 ||
			!slices.Equal(r.Waiting, c.waiting) && len(r.Waiting)+len(c.waiting) > 0 {
			t.Errorf("%s: %s, failed %q, waiting %q (%s); want %s, %q, %q", c.name, r.State, r.Failed, r.Waiting, r.Detail, c.want, c.failed, c.waiting)
		}
		if r.Detail == "" || r.Source != prosecutor.CIChecks {
			t.Errorf("%s: detail %q, source %q", c.name, r.Detail, r.Source)
		}
		if (r.State == prosecutor.Red) != (len(r.Findings) > 0) {
			t.Errorf("%s: %s with %d findings", c.name, r.State, len(r.Findings))
		}
	}
}

func TestOnlyThreeConclusionsPass(t *testing.T) {
	for _, conclusion := range []string{"action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out", "startup_failure", "brand_new"} {
		want := prosecutor.Red
		if conclusion == "success" || conclusion == "neutral" || conclusion == "skipped" {
			want = prosecutor.Clean
		}
		if r := evidence.CIChecks(evidence.Checks{Required: []string{"a"}, Runs: []evidence.CheckRun{run("a", conclusion)}}); r.State != want {
			t.Errorf("%s: %s, want %s", conclusion, r.State, want)
		}
	}
}

func TestCheckFinding(t *testing.T) {
	r := evidence.CIChecks(evidence.Checks{Required: []string{"*"}, Runs: []evidence.CheckRun{
		{Name: "unit\ntests", Status: "completed", Conclusion: "timed_out", Title: "2 of 9 failed", URL: "https://example.test/1"}}})
	f := r.Findings[0]
	if f.Severity != prosecutor.High || f.Charge != prosecutor.ChargeTests || f.ID == "" || f.Source != prosecutor.FromEvidence {
		t.Errorf("%+v", f)
	}
	if f.Claim != `The required check "unit\ntests" ended as timed_out.` || f.Evidence != "2 of 9 failed\nhttps://example.test/1" {
		t.Errorf("%q, %q", f.Claim, f.Evidence)
	}
}

// Clean needs a passing report for every required name, whatever else is reported.
func TestCleanIsProven(t *testing.T) {
	names := rapid.SampledFrom([]string{"a", "b", "c", "prosecutor"})
	rapid.Check(t, func(t *rapid.T) {
		c := evidence.Checks{
			Required: rapid.SliceOfN(rapid.OneOf(names, rapid.Just("*")), 1, 3).Draw(t, "required"),
			OwnCheck: "prosecutor",
			Wait:     30 * time.Minute,
			Waited:   time.Duration(rapid.IntRange(0, 60).Draw(t, "waited")) * time.Minute,
		}
		runs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) evidence.CheckRun {
			return run(names.Draw(t, "name"), rapid.SampledFrom([]string{"", "success", "failure", "skipped"}).Draw(t, "conclusion"))
		}), 0, 5).Draw(t, "runs")
		c.Runs = runs
		r := evidence.CIChecks(c)
		all := slices.Contains(c.Required, "*")
		passing := map[string]bool{}
		for _, run := range runs {
			if run.Name == "prosecutor" || !all && !slices.Contains(c.Required, run.Name) {
				continue
			}
			passing[run.Name] = true
			if run.Conclusion == "success" || run.Conclusion == "skipped" {
				continue
			}
			if r.State == prosecutor.Clean {
				t.Fatalf("clean beside %+v", run)
			}
		}
		if r.State == prosecutor.Clean {
			if len(passing) == 0 {
				t.Fatal("clean without any report")
			}
			for _, name := range c.Required {
				if name != "*" && name != "prosecutor" && !passing[name] {
					t.Fatalf("clean without %s", name)
				}
			}
		}
		if r.State == prosecutor.Pending && c.Waited >= c.Wait {
			t.Fatal("pending for too long")
		}
	})
}
