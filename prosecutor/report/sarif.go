package report

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"sort"
	"strings"
	"unicode/utf8"
)

// sarifSchema is where the SARIF 2.1.0 schema is published.
const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// The parts of SARIF 2.1.0 that a report needs.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		ColumnKind  string            `json:"columnKind"`
		Properties  map[string]any    `json:"properties"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string       `json:"id"`
		ShortDescription sarifMessage `json:"shortDescription"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string       `json:"level"`
		Message sarifMessage `json:"message"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             sarifMessage      `json:"message"`
		Locations           []sarifLocation   `json:"locations,omitempty"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
		Properties          map[string]any    `json:"properties"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
		EndLine   int `json:"endLine"`
	}
)

// SARIF writes the findings as SARIF 2.1.0. Only lines of the new side get a region, since SARIF places results in the
// files as they are now. A case that was not decided is a run whose execution was not successful, so that a reader
// cannot take its empty list for "nothing found".
func SARIF(w io.Writer, d *Document) error {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "prosecutor", Version: d.Tool.Version, Rules: []sarifRule{}}},
		Results:    []sarifResult{},
		ColumnKind: "unicodeCodePoints",
		Properties: map[string]any{
			"outcome": d.Outcome, "decision": d.Decision, "reason": d.Reason,
			"head": d.Case.Head, "base": d.Case.Base, "staticRulesOnly": d.StaticRulesOnly,
		},
	}
	judged := d.Outcome == "decided"
	inv := sarifInvocation{ExecutionSuccessful: judged}
	if !judged {
		inv.Notifications = []sarifNotification{{"error", sarifMessage{OneLine(d.Verdict()+": "+d.Summary, 1000)}}}
	}
	run.Invocations = []sarifInvocation{inv}

	ids := map[string]string{}
	for _, f := range d.Findings {
		ids[f.ruleID()] = f.Charge
	}
	names := make([]string, 0, len(ids))
	for id := range ids {
		names = append(names, id)
	}
	sort.Strings(names)
	index := map[string]int{}
	for i, id := range names {
		index[id] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{id, sarifMessage{"Charge: " + ids[id]}})
	}
	for _, f := range d.Findings {
		r := sarifResult{
			RuleID: f.ruleID(), RuleIndex: index[f.ruleID()], Level: sarifLevel(f.Severity),
			Message:             sarifMessage{sarifText(f)},
			PartialFingerprints: map[string]string{"prosecutorFinding/v1": f.ID},
			Properties: map[string]any{
				"severity": f.Severity, "charge": f.Charge, "lens": f.Lens, "source": f.Source, "origin": f.Origin,
				"blocking": f.Blocking, "anchor": f.Anchor, "side": f.Side,
			},
		}
		if f.Path != "" {
			loc := sarifPhysical{ArtifactLocation: sarifArtifact{pathURI(f.Path), "%SRCROOT%"}}
			if f.Anchored && f.Side == "RIGHT" && f.StartLine > 0 {
				loc.Region = &sarifRegion{f.StartLine, f.EndLine}
			}
			r.Locations = []sarifLocation{{loc}}
		}
		run.Results = append(run.Results, r)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(sarifLog{sarifSchema, "2.1.0", []sarifRun{run}}); err != nil {
		return fmt.Errorf("writing the SARIF report: %w", err)
	}
	return nil
}

func (f Finding) ruleID() string {
	if f.Rule != "" {
		return f.Rule
	}
	return "judge/" + f.Charge
}

func sarifText(f Finding) string {
	text := strings.TrimSpace(Printable(f.Claim))
	if f.Side == "LEFT" && f.Anchored {
		text += fmt.Sprintf(" (deleted code, old line %d)", f.StartLine)
	}
	if text == "" {
		text = f.Charge
	}
	return text
}

func sarifLevel(severity string) string {
	switch severity {
	case "critical", "high":
		return "error"
	case "medium":
		return "warning"
	default:
		return "note"
	}
}

// pathURI is a repository path as a relative URI. Bytes that are not UTF-8 are percent-encoded as they are.
func pathURI(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if utf8.ValidString(p) {
			parts[i] = url.PathEscape(p)
			continue
		}
		var b strings.Builder
		for j := 0; j < len(p); j++ {
			fmt.Fprintf(&b, "%%%02X", p[j])
		}
		parts[i] = b.String()
	}
	// A colon in the first segment would read as a scheme.
	parts[0] = strings.ReplaceAll(parts[0], ":", "%3A")
	return strings.Join(parts, "/")
}
