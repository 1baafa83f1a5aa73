package evidence_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
)

func TestStaticRulesAccepted(t *testing.T) {
	secret := prosecutor.Finding{Rule: "secret", Severity: prosecutor.Critical, Evidence: "a key", Place: prosecutor.Place{Path: "test/fixtures/key.pem"}}
	for _, c := range []struct {
		name     string
		accepted config.AcceptedRule
		want     prosecutor.EvidenceState
	}{
		{"accepted", config.AcceptedRule{Rule: "secret", Path: "test/**", Reason: "fixture"}, prosecutor.Clean},
		{"another rule", config.AcceptedRule{Rule: "secrets", Path: "test/**", Reason: "fixture"}, prosecutor.Red},
		{"no wildcard for rules", config.AcceptedRule{Rule: "*", Path: "**", Reason: "fixture"}, prosecutor.Red},
		{"another path", config.AcceptedRule{Rule: "secret", Path: "tests/**", Reason: "fixture"}, prosecutor.Red},
		{"no reason", config.AcceptedRule{Rule: "secret", Path: "test/**", Reason: " "}, prosecutor.Red},
		{"no path", config.AcceptedRule{Rule: "secret", Reason: "fixture"}, prosecutor.Red},
		{"malformed glob", config.AcceptedRule{Rule: "secret", Path: "test/[", Reason: "fixture"}, prosecutor.Red},
	} {
		e := evidence.Static([]prosecutor.Finding{secret}, []config.AcceptedRule{c.accepted})
		if e.State != c.want || len(e.Findings) != 1 {
			t.Errorf("%s: %s with %d findings, want %s", c.name, e.State, len(e.Findings), c.want)
		}
	}
}

func TestAcceptedFindingsAreMarked(t *testing.T) {
	in := []prosecutor.Finding{
		{Rule: "secret", Severity: prosecutor.Critical, Evidence: "a key", Anchor: &prosecutor.Anchor{Path: "test/a"}, ID: "1"},
		{Rule: "secret", Severity: prosecutor.High, Place: prosecutor.Place{Path: "src/a"}, ID: "2"},
	}
	before := append([]prosecutor.Finding(nil), in...)
	e := evidence.Static(in, []config.AcceptedRule{{Rule: "secret", Path: "test/**", Reason: "fixture"}})
	want := append([]prosecutor.Finding(nil), in...)
	want[0].Severity, want[0].Claimed = prosecutor.Low, prosecutor.Critical
	want[0].Evidence = "a key\nAccepted on the base branch: fixture"
	if diff := cmp.Diff(want, e.Findings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if e.State != prosecutor.Red || e.Detail != "2 findings, 1 blocks, 1 accepted by the policy" {
		t.Errorf("%s: %s", e.State, e.Detail)
	}
	if diff := cmp.Diff(before, in); diff != "" {
		t.Errorf("the given findings were changed:\n%s", diff)
	}
}

func TestNoAnswer(t *testing.T) {
	if e := evidence.NotApplicable(prosecutor.CodeScanning, "no GitHub"); e.State != prosecutor.NotApplicable || e.Detail != "no GitHub" || e.Source != prosecutor.CodeScanning {
		t.Errorf("%+v", e)
	}
	if e := evidence.Unavailable(prosecutor.HollowTest, "no sandbox"); e.State != prosecutor.Unavailable || e.Detail != "no sandbox" {
		t.Errorf("%+v", e)
	}
	if e := evidence.Static(nil, nil); e.State != prosecutor.Clean || e.Detail != "no finding" {
		t.Errorf("%+v", e)
	}
}
