package convergence_test

import (
	"slices"
	"testing"

	"github.com/prosecutor-bot/prosecutor/config"
	. "github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

func TestCountsAsRed(t *testing.T) {
	const (
		scan, ci, hollow, rules = prosecutor.CodeScanning, prosecutor.CIChecks, prosecutor.HollowTest, prosecutor.StaticRules
		clean, red, pending     = prosecutor.Clean, prosecutor.Red, prosecutor.Pending
		unavailable, na         = prosecutor.Unavailable, prosecutor.NotApplicable
	)
	pull, group, groupTests := EvidenceContext{}, EvidenceContext{MergeGroup: true}, EvidenceContext{MergeGroup: true, TouchesTests: true}
	for _, tt := range []struct {
		name     string
		source   prosecutor.EvidenceSource
		state    prosecutor.EvidenceState
		mode     config.HollowTestMode
		required bool
		in       EvidenceContext
		want     bool
	}{
		{"scan clean", scan, clean, config.HollowGate, false, pull, false},
		{"scan red", scan, red, config.HollowGate, false, pull, true},
		{"scan pending", scan, pending, config.HollowGate, false, pull, false},
		{"scan unavailable", scan, unavailable, config.HollowGate, false, pull, true},
		{"scan not applicable", scan, na, config.HollowGate, true, pull, false},
		{"ci unavailable", ci, unavailable, config.HollowGate, false, pull, true},
		{"ci unavailable while hollow-test is off", ci, unavailable, config.HollowOff, false, pull, true},
		{"rules red under mode evidence", rules, red, config.HollowEvidence, false, pull, true},
		{"rules unavailable, which cannot be", rules, unavailable, config.HollowGate, false, pull, true},
		{"survivor", hollow, red, config.HollowGate, false, pull, true},
		{"survivor under mode evidence", hollow, red, config.HollowEvidence, false, pull, false},
		{"survivor under mode evidence, required", hollow, red, config.HollowEvidence, true, pull, false},
		{"survivor under mode off", hollow, red, config.HollowOff, true, groupTests, false},
		{"hollow unavailable", hollow, unavailable, config.HollowGate, false, pull, false},
		{"hollow unavailable, required", hollow, unavailable, config.HollowGate, true, pull, true},
		{"hollow unavailable, required, mode evidence", hollow, unavailable, config.HollowEvidence, true, pull, true},
		{"hollow unavailable in a group", hollow, unavailable, config.HollowGate, false, group, false},
		{"hollow unavailable in a group that touches tests", hollow, unavailable, config.HollowGate, false, groupTests, true},
		{"tests touched outside of a group", hollow, unavailable, config.HollowGate, false, EvidenceContext{TouchesTests: true}, false},
		{"survivor in a group that touches tests, mode evidence", hollow, red, config.HollowEvidence, false, groupTests, true},
		{"hollow not applicable in a group that touches tests", hollow, na, config.HollowGate, true, groupTests, false},
		{"hollow pending in a group that touches tests", hollow, pending, config.HollowGate, true, groupTests, false},
		{"no state", scan, "", config.HollowGate, false, pull, true},
		{"a state in the wrong case", hollow, "Clean", config.HollowGate, false, pull, true},
		{"an unknown source that is unavailable", "weather", unavailable, config.HollowGate, false, pull, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := config.DefaultPolicy()
			p.HollowTest.Mode, p.HollowTest.Required = tt.mode, tt.required
			if got := CountsAsRed(prosecutor.Evidence{Source: tt.source, State: tt.state}, p, tt.in); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestEvidenceStates(t *testing.T) {
	a := []prosecutor.Evidence{
		{Source: prosecutor.StaticRules, State: prosecutor.Clean},
		{Source: prosecutor.CodeScanning, State: prosecutor.Red, Detail: "x"},
	}
	b := []prosecutor.Evidence{a[1], a[0], a[0]}
	b[0].Detail = "y"
	if EvidenceStates(a) != EvidenceStates(b) {
		t.Errorf("order, repetition or detail count: %q, %q", EvidenceStates(a), EvidenceStates(b))
	}
	b[0].State = prosecutor.Clean
	if EvidenceStates(a) == EvidenceStates(b) {
		t.Error("a state does not count")
	}
	if EvidenceStates(nil) != "" {
		t.Error("no evidence has states")
	}
}

// TestEvidenceStatesInOrder: the fixed order of sources, those that nobody knows last and by name, then by state.
func TestEvidenceStatesInOrder(t *testing.T) {
	got := EvidenceStates([]prosecutor.Evidence{
		{Source: "weather", State: prosecutor.Clean},
		{Source: prosecutor.StaticRules, State: prosecutor.Red},
		{Source: prosecutor.HollowTest, State: prosecutor.NotApplicable},
		{Source: "almanac", State: prosecutor.Unavailable},
		{Source: prosecutor.CIChecks, State: prosecutor.Red},
		{Source: "weather", State: prosecutor.Clean},
		{Source: prosecutor.CIChecks, State: prosecutor.Pending},
		{Source: prosecutor.CodeScanning, State: prosecutor.Clean},
	})
	want := "code_scanning=clean ci_checks=pending ci_checks=red hollow_test=not_applicable static_rules=red almanac=unavailable weather=clean"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestSourcesAreNamedInOrderAndOnce: what is red or waited for is a set, in the fixed order of sources.
func TestSourcesAreNamedInOrderAndOnce(t *testing.T) {
	of := func(state prosecutor.EvidenceState) Facts {
		f := facts()
		for _, source := range []prosecutor.EvidenceSource{"weather", prosecutor.CIChecks, prosecutor.CodeScanning, prosecutor.CIChecks} {
			f.Evidence = append(f.Evidence, prosecutor.Evidence{Source: source, State: state})
		}
		return f
	}
	want := []prosecutor.EvidenceSource{prosecutor.CodeScanning, prosecutor.CIChecks, "weather"}
	if r := Before(of(prosecutor.Red), New(), config.DefaultPolicy()).Ruling; !slices.Equal(r.RedSources, want) {
		t.Errorf("red %v", r.RedSources)
	}
	if r := Before(of(prosecutor.Pending), New(), config.DefaultPolicy()).Ruling; !slices.Equal(r.WaitsFor, want) {
		t.Errorf("waits for %v", r.WaitsFor)
	}
}

// TestSourceThatIsOffIsNotWaitedFor: with hollow_test.mode: off the source is not looked at.
func TestSourceThatIsOffIsNotWaitedFor(t *testing.T) {
	for mode, parked := range map[config.HollowTestMode]bool{config.HollowOff: false, config.HollowGate: true, config.HollowEvidence: true} {
		p := config.DefaultPolicy()
		p.HollowTest.Mode = mode
		step := Before(withEvidence(facts(), prosecutor.HollowTest, prosecutor.Pending), New(), p)
		if (step.Ruling != nil) != parked {
			t.Errorf("mode %s: step %+v", mode, step)
		}
	}
}
