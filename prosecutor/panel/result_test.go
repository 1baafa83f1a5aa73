package panel_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
)

func found(id string, severity prosecutor.Severity, source prosecutor.FindingSource) prosecutor.Finding {
	return prosecutor.Finding{ID: id, Severity: severity, Source: source, Claim: id}
}

func accused(severities ...prosecutor.Severity) []prosecutor.Finding {
	var out []prosecutor.Finding
	for i, s := range severities {
		out = append(out, found(string(rune('a'+i)), s, prosecutor.FromModel))
	}
	return out
}

func TestApplyVerifications(t *testing.T) {
	low, medium, high, critical := prosecutor.Low, prosecutor.Medium, prosecutor.High, prosecutor.Critical
	for _, tc := range []struct {
		name     string
		verdict  prosecutor.Verdict
		findings []prosecutor.Finding
		settled  map[string]panel.Ruling
		want     prosecutor.Verdict
	}{
		{"the only accusation refuted", prosecutor.Block, accused(high), map[string]panel.Ruling{"a": panel.Refuted}, prosecutor.Ship},
		{"the only accusation dismissed", prosecutor.Block, accused(critical), map[string]panel.Ruling{"a": panel.Dismissed}, prosecutor.Ship},
		{"one refuted, one dismissed, one low", prosecutor.Block, accused(high, critical, low), map[string]panel.Ruling{"a": panel.Refuted, "b": panel.Dismissed}, prosecutor.Ship},
		{"one of two refuted", prosecutor.Block, accused(high, high), map[string]panel.Ruling{"a": panel.Refuted}, prosecutor.Block},
		{"a medium one is left", prosecutor.Block, accused(high, medium), map[string]panel.Ruling{"a": panel.Refuted}, prosecutor.Block},
		{"the medium one dismissed too", prosecutor.Block, accused(high, medium), map[string]panel.Ruling{"a": panel.Refuted, "b": panel.Dismissed}, prosecutor.Ship},
		{"upheld", prosecutor.Block, accused(high), map[string]panel.Ruling{"a": panel.Upheld}, prosecutor.Block},
		{"nobody could tell", prosecutor.Block, accused(high), map[string]panel.Ruling{"a": panel.CouldNotTell}, prosecutor.Block},
		{"nothing was settled", prosecutor.Block, accused(low), nil, prosecutor.Block},
		{"another finding was refuted", prosecutor.Block, accused(high), map[string]panel.Ruling{"z": panel.Refuted}, prosecutor.Block},
		{"a block without findings", prosecutor.Block, nil, map[string]panel.Ruling{"a": panel.Refuted}, prosecutor.Block},
		{"evidence", prosecutor.Block, []prosecutor.Finding{found("a", high, prosecutor.FromEvidence)}, map[string]panel.Ruling{"a": panel.Refuted}, prosecutor.Block},
		{"a rule", prosecutor.Block, []prosecutor.Finding{found("a", critical, prosecutor.FromRule)}, map[string]panel.Ruling{"a": panel.Dismissed}, prosecutor.Block},
		{"a finding without an identity", prosecutor.Block, []prosecutor.Finding{found("", high, prosecutor.FromModel)}, map[string]panel.Ruling{"": panel.Refuted}, prosecutor.Block},
		{"a lens without a verdict", prosecutor.Errored, accused(high), map[string]panel.Ruling{"a": panel.Refuted}, prosecutor.Errored},
		{"a lens that ships", prosecutor.Ship, accused(low), map[string]panel.Ruling{"a": panel.Refuted}, prosecutor.Ship},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := panel.LensResult{Verdict: tc.verdict, Passes: []contract.Pass{{Verdict: tc.verdict, Findings: tc.findings}}}
			got := panel.ApplyVerifications(before, tc.settled)
			refuted := tc.verdict == prosecutor.Block && tc.want == prosecutor.Ship
			if got.Verdict != tc.want || got.Refuted != refuted {
				t.Errorf("%s, refuted %v; want %s, %v", got.Verdict, got.Refuted, tc.want, refuted)
			}
			if before.Verdict != tc.verdict || before.Refuted || len(got.Findings()) != len(tc.findings) {
				t.Error("the result that was given changed, or a finding vanished")
			}
		})
	}
}

// The gate applies the same rule to outcomes: the two must not differ.
func TestApplyVerificationsAgreesWithTheGate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var findings []prosecutor.Finding
		settled := map[string]panel.Ruling{}
		for i := range rapid.IntRange(0, 5).Draw(t, "findings") {
			id := string(rune('a' + i))
			findings = append(findings, found(id,
				rapid.SampledFrom(prosecutor.Severities()).Draw(t, "severity"),
				rapid.SampledFrom([]prosecutor.FindingSource{prosecutor.FromModel, prosecutor.FromModel, prosecutor.FromEvidence, prosecutor.FromRule}).Draw(t, "source")))
			settled[id] = rapid.SampledFrom([]panel.Ruling{panel.Refuted, panel.Dismissed, panel.Upheld, panel.CouldNotTell}).Draw(t, "ruling")
		}
		verdict := rapid.SampledFrom([]prosecutor.Verdict{prosecutor.Block, prosecutor.Ship, prosecutor.Errored}).Draw(t, "verdict")
		got := panel.ApplyVerifications(panel.LensResult{Verdict: verdict, Passes: []contract.Pass{{Findings: findings}}}, settled)
		want := convergence.Refute(convergence.LensOutcome{Verdict: verdict, Findings: findings}, func(id string) bool {
			return settled[id] == panel.Refuted || settled[id] == panel.Dismissed
		})
		if got.Verdict != want.Verdict || got.Refuted != want.Refuted {
			t.Fatalf("the panel says %s (refuted %v), the gate %s (%v)", got.Verdict, got.Refuted, want.Verdict, want.Refuted)
		}
	})
}

func TestFindingsAreThereOnceAtTheirMostSevere(t *testing.T) {
	r := panel.LensResult{Attempts: []panel.Attempt{
		{Passes: []contract.Pass{{Findings: accused(prosecutor.Low, prosecutor.High)}}},
		{Passes: []contract.Pass{
			{Findings: accused(prosecutor.Medium, prosecutor.Low)},
			{Findings: []prosecutor.Finding{found("", prosecutor.Low, prosecutor.FromModel), found("", prosecutor.Low, prosecutor.FromModel)}},
		}},
	}}
	got := r.Findings()
	if len(got) != 4 || got[0].Severity != prosecutor.Medium || got[1].Severity != prosecutor.High {
		t.Errorf("findings %+v, want a at medium, b at high, and both without an identity", got)
	}
}
