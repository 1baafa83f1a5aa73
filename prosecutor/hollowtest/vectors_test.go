package hollowtest_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/test/vectortest"
)

func TestVectorsHollowTest(t *testing.T) {
	vectortest.Run(t, "hollow_test", func(t *testing.T, c vectortest.Case) {
		switch kind := c.Kind(t); kind {
		case "target":
			targetVector(t, c)
		case "changed_lines":
			linesVector(t, c)
		case "trial":
			trialVector(t, c)
		case "outcome":
			outcomeVector(t, c)
		default:
			t.Fatalf("unknown kind %q", kind)
		}
	})
}

func targetVector(t *testing.T, c vectortest.Case) {
	var in struct {
		Kind   string
		Path   string
		Policy struct {
			HollowTest struct {
				SourceGlobs []string `json:"source_globs"`
				TestGlobs   []string `json:"test_globs"`
			} `json:"hollow_test"`
		}
	}
	vectortest.Decode(t, c.Input, &in)
	var want struct {
		Eligible bool
		Language *hollowtest.Language // null where there is none
		Why      hollowtest.TargetWhy
	}
	vectortest.Decode(t, c.Expect, &want)
	targets, err := hollowtest.NewTargets(config.HollowTest{SourceGlobs: in.Policy.HollowTest.SourceGlobs, TestGlobs: in.Policy.HollowTest.TestGlobs})
	if err != nil {
		t.Fatal(err)
	}
	expected := hollowtest.Target{Eligible: want.Eligible, Why: want.Why}
	if want.Language != nil {
		expected.Language = *want.Language
	}
	if got := targets.Of(in.Path); got != expected {
		t.Errorf("%s: %+v, want %+v", in.Path, got, expected)
	}
}

func linesVector(t *testing.T, c vectortest.Case) {
	var in struct {
		Kind string
		vectortest.Diff
	}
	vectortest.Decode(t, c.Input, &in)
	var want struct{ Lines map[string][]int }
	vectortest.Decode(t, c.Expect, &want)
	d, err := diff.ParseString(in.Text())
	if err != nil {
		t.Fatal(err)
	}
	if got := hollowtest.ChangedLines(d); !maps.EqualFunc(got, want.Lines, slices.Equal) {
		t.Errorf("lines %v, want %v", got, want.Lines)
	}
}

func trialVector(t *testing.T, c vectortest.Case) {
	var in struct {
		Kind     string
		Language string
		Trial    struct {
			Syntax     hollowtest.Syntax
			Build      hollowtest.Build
			ExitCode   *int `json:"exit_code"`
			TimedOut   bool `json:"timed_out"`
			Signal     string
			SpawnError bool `json:"spawn_error"`
		}
	}
	vectortest.Decode(t, c.Input, &in)
	var want struct{ Status hollowtest.Status }
	vectortest.Decode(t, c.Expect, &want)
	trial := hollowtest.Trial{
		Syntax: in.Trial.Syntax, Build: in.Trial.Build, ExitCode: in.Trial.ExitCode,
		TimedOut: in.Trial.TimedOut, Signal: in.Trial.Signal, SpawnError: in.Trial.SpawnError,
	}
	if got := trial.Status().Fold(); got != want.Status { // in the vectors, killed includes timed out
		t.Errorf("status %s, want %s", got, want.Status)
	}
}

func outcomeVector(t *testing.T, c vectortest.Case) {
	var in struct {
		Kind   string
		Policy struct {
			HollowTest struct{ Required bool } `json:"hollow_test"`
		}
		Run struct {
			Problem hollowtest.Problem
			Files   []struct {
				Path                                               string
				Generated, Killed, Survived, Invalid, Undetermined int
			}
		}
		Context      string
		TouchesTests bool `json:"touches_tests"`
	}
	vectortest.Decode(t, c.Input, &in)
	var want struct {
		State       prosecutor.EvidenceState
		Why         hollowtest.Why
		CountsAsRed bool `json:"counts_as_red"`
	}
	vectortest.Decode(t, c.Expect, &want)

	policy := config.DefaultPolicy()
	policy.HollowTest.Required = in.Policy.HollowTest.Required
	run := hollowtest.Run{Problem: in.Run.Problem}
	for _, f := range in.Run.Files {
		run.Files = append(run.Files, hollowtest.FileRun{
			Path: f.Path, Generated: f.Generated, Killed: f.Killed, Survived: f.Survived, Invalid: f.Invalid, Undetermined: f.Undetermined,
		})
	}
	got := hollowtest.Decide(run, policy.HollowTest)
	if got.State != want.State || got.Why != want.Why {
		t.Errorf("%s, %s (%s), want %s, %s", got.State, got.Why, got.Detail, want.State, want.Why)
	}
	red := convergence.CountsAsRed(got.Evidence, policy, convergence.EvidenceContext{MergeGroup: in.Context == "merge_group", TouchesTests: in.TouchesTests})
	if red != want.CountsAsRed {
		t.Errorf("counts as red: %v, want %v", red, want.CountsAsRed)
	}
}
