package hollowtest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// mutants makes a report of one file with as many mutants of each status.
func mutants(counts map[hollowtest.Status]int, pending int) *hollowtest.Report {
	r := &hollowtest.Report{Files: []hollowtest.FileReport{{Path: "a.go"}}}
	line := 0
	for _, s := range hollowtest.Statuses() {
		for range counts[s] {
			line++
			r.Mutants = append(r.Mutants, hollowtest.Mutant{ID: "x", File: "a.go", Line: line, Status: s})
		}
	}
	for range pending {
		line++
		r.Mutants = append(r.Mutants, hollowtest.Mutant{ID: "x", File: "a.go", Line: line, Status: hollowtest.Skipped, Pending: true})
	}
	return r
}

func TestConclude(t *testing.T) {
	type counts = map[hollowtest.Status]int
	for name, c := range map[string]struct {
		report  *hollowtest.Report
		problem hollowtest.Problem
		outcome hollowtest.Verdict
		reason  string
		starved bool
	}{
		"all killed":            {report: mutants(counts{hollowtest.Killed: 3, hollowtest.TimedOut: 1, hollowtest.Skipped: 2}, 0), outcome: hollowtest.KilledAll, reason: "6 mutants"},
		"one survived":          {report: mutants(counts{hollowtest.Killed: 3, hollowtest.Survived: 1}, 0), outcome: hollowtest.Survivors, reason: "1 survived"},
		"one is not covered":    {report: mutants(counts{hollowtest.Killed: 3, hollowtest.NotCovered: 1}, 0), outcome: hollowtest.Survivors, reason: "1 not covered"},
		"the budget ended":      {report: mutants(counts{hollowtest.Killed: 5}, 4), outcome: hollowtest.CouldNotMeasure, reason: "without a verdict"},
		"survived, budget over": {report: mutants(counts{hollowtest.Killed: 5, hollowtest.Survived: 1}, 4), outcome: hollowtest.Survivors, reason: "1 survived"},
		"nothing was tried":     {report: mutants(nil, 4), outcome: hollowtest.CouldNotMeasure, reason: "budget", starved: true},
		"no answer":             {report: mutants(counts{hollowtest.Killed: 5, hollowtest.Undetermined: 1}, 0), outcome: hollowtest.CouldNotMeasure, reason: "no answer"},
		"nothing valid":         {report: mutants(counts{hollowtest.Invalid: 2}, 0), outcome: hollowtest.CouldNotMeasure, reason: "no mutant was a valid program"},
		"everything skipped":    {report: mutants(counts{hollowtest.Skipped: 2}, 0), outcome: hollowtest.NothingMutable, reason: "2 skipped"},
		"no mutants":            {report: mutants(nil, 0), outcome: hollowtest.NothingMutable, reason: "nothing on the changed lines"},
		"no files":              {report: &hollowtest.Report{}, outcome: hollowtest.NothingMutable, reason: "no line of a source file"},
		"red baseline":          {report: mutants(nil, 2), problem: hollowtest.BaselineRed, outcome: hollowtest.CouldNotMeasure, reason: "fail before", starved: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.report
			r.Problem = c.problem
			r.Conclude()
			if r.Outcome != c.outcome || !strings.Contains(r.Reason, c.reason) || r.Tool != hollowtest.Tool {
				t.Errorf("%s: %s", r.Outcome, r.Reason)
			}
			s := r.Summary
			if sum := s.Killed + s.Survived + s.NotCovered + s.TimedOut + s.Invalid + s.Undetermined + s.Skipped; sum != s.Total || s.Total != len(r.Mutants) {
				t.Errorf("%+v of %d mutants", s, len(r.Mutants))
			}
			if len(r.Files) == 1 && r.Files[0].Starved != c.starved {
				t.Errorf("%+v", r.Files[0])
			}
			before := *r
			r.Conclude()
			if d := cmp.Diff(before, *r); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestReportJSON holds the names that other programs read.
func TestReportJSON(t *testing.T) {
	r := mutants(map[hollowtest.Status]int{hollowtest.Survived: 1}, 0)
	r.Mutants[0].Reason, r.Mutants[0].Tests = "why", []string{"TestA"}
	r.Conclude()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		`"tool":`, `"outcome":"survivors"`, `"reason":`, `"summary":{"total":1,"killed":0,"survived":1,"not_covered":0,"timed_out":0,"invalid":0,"undetermined":0,"skipped":0}`,
		`"files":[{"path":"a.go","mutable_lines":1,"attempted":1,"starved":false}]`,
		`"mutants":[{"id":"x","file":"a.go","line":1,"operator":"","original":"","mutated":"","status":"survived","reason":"why","tests":["TestA"]}]`,
	} {
		if !strings.Contains(string(data), name) {
			t.Errorf("%s is not in %s", name, data)
		}
	}
	var empty hollowtest.Report
	empty.Conclude()
	if data, err = json.Marshal(empty); err != nil || !strings.Contains(string(data), `"files":[],"mutants":[]`) {
		t.Errorf("%s, %v", data, err)
	}
}
