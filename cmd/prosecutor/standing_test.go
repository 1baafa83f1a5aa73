package main

import (
	"testing"

	"github.com/prosecutor-bot/prosecutor/test/modeltest"
)

// An accusation that nobody repeats, and whose lines still stand, is not fixed: another family's judge verifies it, and
// unless that refutes it, it sends the next lap back too: the same accusation two laps running, which is an oscillation.
func TestStandingConcernIsNotForgotten(t *testing.T) {
	accusation := modeltest.Finding{
		Severity: "high", Charge: "correctness", Claim: "N must stay 1.", Anchor: &modeltest.Anchor{Path: "src/a.go", Side: "RIGHT", Quote: "var N = 2"},
	}
	const refuted, upheld = `{"refuted": true, "reason": "N may be 2."}`, `{"refuted": false, "reason": "It still is 2."}`
	for _, c := range []struct {
		name     string
		verifier modeltest.Behaviour
		code     int
		reason   string
		concerns int
	}{
		{"upheld", modeltest.Answer(upheld), 2, "oscillation", 1},
		{"verifier fails", modeltest.Fail(500), 2, "oscillation", 1},
		{"verifier answers prose", modeltest.Answer("refuted"), 2, "oscillation", 1},
		{"refuted", modeltest.Answer(refuted), 0, "unanimous", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			models := modeltest.New(t)
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			config := twoJudges(t, models)
			g := branch(t, "", "src/a.go", "package a\n\nvar N = 2\n")
			models.Queue("fern-4", modeltest.Block(accusation))
			if o := reviewJSON(t, g.Dir, "--config", config); o.code != 2 || o.doc.Reason != "lens_veto" {
				t.Fatalf("lap 1: exit %d, %s\n%s%s", o.code, o.doc.Reason, o.stdout, o.stderr)
			}
			g.Write("src/b.go", "package a\n").Commit("Another file")
			models.Queue("fern-4", modeltest.Ship())
			models.Queue("moss-2", c.verifier)
			o := reviewJSON(t, g.Dir, "--config", config)
			if o.code != c.code || o.doc.Reason != c.reason || len(o.doc.Ledger.OpenConcerns) != c.concerns || o.doc.Ledger.Converged != (c.code == 0) {
				t.Errorf("lap 2: exit %d, %s, open %q, converged %v; want %d, %s\n%s%s", o.code, o.doc.Reason, o.doc.Ledger.OpenConcerns, o.doc.Ledger.Converged, c.code, c.reason, o.stdout, o.stderr)
			}
			if n := models.Calls("moss-2"); n != 1 {
				t.Errorf("%d verifications, want 1 by the judge that did not accuse", n)
			}
			for _, f := range o.doc.Findings {
				if c.code == 2 && (!f.Standing || !f.Blocking || f.StartLine != 3 || f.Path != "src/a.go") {
					t.Errorf("the standing finding is shown as %+v", f)
				}
			}
		})
	}
}

// A concern whose lines are gone is fixed, and costs no verification.
func TestFixedConcernIsGone(t *testing.T) {
	models := modeltest.New(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	config := twoJudges(t, models)
	g := branch(t, "", "src/a.go", "package a\n\nvar N = 2\n")
	models.Queue("fern-4", modeltest.Block(modeltest.Finding{
		Severity: "high", Charge: "correctness", Claim: "N must not be 2.", Anchor: &modeltest.Anchor{Path: "src/a.go", Side: "RIGHT", Quote: "var N = 2"},
	}), modeltest.Ship())
	if o := reviewJSON(t, g.Dir, "--config", config); o.code != 2 {
		t.Fatalf("lap 1: exit %d\n%s", o.code, o.stderr)
	}
	g.Write("src/a.go", "package a\n\nvar N = 3\n").Commit("Fix N")
	o := reviewJSON(t, g.Dir, "--config", config)
	if o.code != 0 || !o.doc.Ledger.Converged || models.Calls("moss-2") != 0 {
		t.Errorf("lap 2: exit %d, converged %v, %d verifications\n%s", o.code, o.doc.Ledger.Converged, models.Calls("moss-2"), o.stdout)
	}
}
