package diff_test

import (
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/test/vectortest"
)

// TestVectorsAnchors checks where quotes land. Severity and verdict of these cases are package contract's.
func TestVectorsAnchors(t *testing.T) {
	t.Parallel()
	vectortest.Run(t, "anchors", func(t *testing.T, c vectortest.Case) {
		var in struct {
			vectortest.Diff
			Finding struct {
				Severity, Charge, Claim string
				Anchor                  *struct {
					Path, Side, Quote string
					Line              int
				}
			}
			ModelVerdict string `json:"model_verdict"`
		}
		vectortest.Decode(t, c.Input, &in)
		var want struct {
			Status      *string
			Path        *string
			Side        *string
			StartLine   *int    `json:"start_line"`
			EndLine     *int    `json:"end_line"`
			MatchedBy   *string `json:"matched_by"`
			Severity    string
			PassVerdict string `json:"pass_verdict"`
		}
		vectortest.Decode(t, c.Expect, &want)

		d, err := diff.ParseString(in.Text())
		if err != nil {
			t.Fatal(err)
		}
		var anchor prosecutor.Anchor
		if a := in.Finding.Anchor; a != nil {
			anchor = prosecutor.Anchor{Path: a.Path, Side: prosecutor.Side(a.Side), Quote: a.Quote, Line: a.Line}
		}
		got := d.Locate(anchor)

		// A field that a vector does not name is not checked, and of those it names null is the zero value: none of
		// these cases leaves a line or the way of matching open unless it is not anchored.
		if want.Status == nil || string(got.Status) != *want.Status {
			t.Errorf("status %q, want %q", got.Status, deref(want.Status))
		}
		if want.Path != nil && got.Path != *want.Path {
			t.Errorf("path %q, want %q", got.Path, *want.Path)
		}
		if want.Side != nil && string(got.Side) != *want.Side {
			t.Errorf("side %q, want %q", got.Side, *want.Side)
		}
		if got.StartLine != deref(want.StartLine) || got.EndLine != deref(want.EndLine) {
			t.Errorf("lines %d to %d, want %d to %d", got.StartLine, got.EndLine, deref(want.StartLine), deref(want.EndLine))
		}
		if got.MatchedBy != deref(want.MatchedBy) {
			t.Errorf("matched by %q, want %q", got.MatchedBy, deref(want.MatchedBy))
		}
	})
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
