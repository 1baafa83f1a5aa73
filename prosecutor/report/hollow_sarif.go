package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// HollowSARIF writes the survivors and what no test reaches as SARIF 2.1.0. A change that could not be measured is a run
// whose execution was not successful, so that a reader cannot take its list for all there is.
func HollowSARIF(w io.Writer, r *hollowtest.Report, version string) error {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{Name: hollowtest.Tool, Version: version, Rules: []sarifRule{
			{hollowtest.RuleSurvivor, sarifMessage{"No test fails when this code is changed"}},
			{hollowtest.RuleNotCovered, sarifMessage{"No test reaches this code"}},
		}}},
		Results: []sarifResult{}, ColumnKind: "unicodeCodePoints",
		Properties: map[string]any{"outcome": r.Outcome, "reason": r.Reason, "summary": r.Summary},
	}
	inv := sarifInvocation{ExecutionSuccessful: r.Outcome != hollowtest.CouldNotMeasure}
	if !inv.ExecutionSuccessful {
		inv.Notifications = []sarifNotification{{"error", sarifMessage{OneLine(hollowHeadline(r)+": "+r.Reason, 1000)}}}
	}
	run.Invocations = []sarifInvocation{inv}
	for _, m := range hollow(r) {
		rule, index, level := hollowtest.RuleSurvivor, 0, "error"
		text := fmt.Sprintf("No test fails when %q becomes %q (%s).", OneLine(m.Original, 200), OneLine(m.Mutated, 200), OneLine(m.Operator, 60))
		if m.Status == hollowtest.NotCovered {
			rule, index, level = hollowtest.RuleNotCovered, 1, "warning"
			text = fmt.Sprintf("No test reaches %q (%s).", OneLine(m.Original, 200), OneLine(m.Operator, 60))
		}
		if m.Hint != "" {
			text += " Hint: " + OneLine(m.Hint, 300) + "."
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: rule, RuleIndex: index, Level: level, Message: sarifMessage{text},
			Locations: []sarifLocation{{sarifPhysical{
				ArtifactLocation: sarifArtifact{pathURI(m.File), "%SRCROOT%"}, Region: &sarifRegion{m.Line, max(m.Line, m.EndLine)},
			}}},
			PartialFingerprints: map[string]string{"prosecutorMutant/v1": m.ID},
			Properties:          map[string]any{"operator": m.Operator, "original": m.Original, "mutated": m.Mutated, "tests": list(m.Tests)},
		})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(sarifLog{sarifSchema, "2.1.0", []sarifRun{run}}); err != nil {
		return fmt.Errorf("writing the SARIF report: %w", err)
	}
	return nil
}
