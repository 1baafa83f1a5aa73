package report_test

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

func TestHollowSARIFIsValid(t *testing.T) {
	survivor := hollowtest.Mutant{ID: "a", File: "dir with space/a:b.js", Line: 3, EndLine: 3, Operator: "comparison_boundary", Original: "a < b", Mutated: "a <= b", Status: hollowtest.Survived}
	uncovered := survivor
	uncovered.ID, uncovered.Status, uncovered.EndLine = "b", hollowtest.NotCovered, 0
	for _, r := range []*hollowtest.Report{
		{Mutants: []hollowtest.Mutant{survivor, uncovered}}, {Problem: hollowtest.BaselineRed, Detail: "TestX"}, {},
	} {
		r.Conclude()
		var b bytes.Buffer
		if err := report.HollowSARIF(&b, r, "1.0.0"); err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(&b)
		if err != nil {
			t.Fatal(err)
		}
		if err := sarifSchema(t).Validate(doc); err != nil {
			t.Errorf("%s: %v", r.Outcome, err)
		}
	}
}
