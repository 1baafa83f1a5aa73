package convergence_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

func TestRememberedFinding(t *testing.T) {
	base := prosecutor.Finding{
		ID: "id", Lens: prosecutor.Security, Source: prosecutor.FromModel, Origin: "fern-large",
		Severity: prosecutor.High, Claimed: prosecutor.High, Charge: prosecutor.ChargeSecurity, Claim: "leaks", Evidence: "see there",
	}
	concern := Concern{ID: "id", Lens: prosecutor.Security, Origin: "fern-large", Severity: prosecutor.High, Charge: prosecutor.ChargeSecurity, Claim: "leaks", Evidence: "see there"}
	for name, tt := range map[string]struct {
		anchor *prosecutor.Anchor
		place  prosecutor.Place
		want   Concern            // what it says about a place
		back   *prosecutor.Anchor // of the finding that it becomes again
	}{
		"no file":               {nil, prosecutor.Place{}, Concern{}, nil},
		"a file":                {&prosecutor.Anchor{Path: "a.go"}, prosecutor.Place{}, Concern{Path: "a.go"}, &prosecutor.Anchor{Path: "a.go"}},
		"a quotation":           {&prosecutor.Anchor{Quote: "x"}, prosecutor.Place{}, Concern{Quote: "x"}, &prosecutor.Anchor{Quote: "x"}},
		"a quotation in a file": {&prosecutor.Anchor{Path: "a.go", Side: prosecutor.Right, Quote: "x", Line: 7}, prosecutor.Place{}, Concern{Path: "a.go", Side: prosecutor.Right, Quote: "x"}, &prosecutor.Anchor{Path: "a.go", Side: prosecutor.Right, Quote: "x"}},
		"found elsewhere": {&prosecutor.Anchor{Path: "a.go", Side: prosecutor.Right, Quote: "x"}, prosecutor.Place{Path: "b.go", Side: prosecutor.Left, StartLine: 3},
			Concern{Path: "b.go", Side: prosecutor.Left, Quote: "x"}, &prosecutor.Anchor{Path: "b.go", Side: prosecutor.Left, Quote: "x"}},
	} {
		f, want, back := base, concern, base
		f.Anchor, f.Place = tt.anchor, tt.place
		want.Path, want.Side, want.Quote = tt.want.Path, tt.want.Side, tt.want.Quote
		back.Anchor = tt.back
		got := Remember(f)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(back, got.Finding()); diff != "" {
			t.Errorf("%s, as a finding: %s", name, diff)
		}
	}
}

func TestRememberedFindingHasAnIdentity(t *testing.T) {
	f := accusation("", prosecutor.High)
	if got := Remember(f).ID; got != prosecutor.Identify(f) {
		t.Errorf("got %q", got)
	}
}

// lap records a lap that was sent back for the accusations.
func lap(l Ledger, head string, accused ...prosecutor.Finding) Ledger {
	next, _, _ := Record(l, Result{Case: caseAt(head), Decision: LoopBack, Signatures: []string{head}, Blocking: len(accused), Accused: accused, Judged: true, At: start}, 99)
	return next
}

// laps are the accusations of a ledger, as id and lap.
func laps(l Ledger) map[string]int {
	out := map[string]int{}
	for _, c := range l.Accusations {
		out[c.ID] = c.Lap
	}
	return out
}

func TestAccusationsKeepTheirFirstLap(t *testing.T) {
	a, b := accusation("a", prosecutor.High), accusation("b", prosecutor.High)
	survivor := accusation("m", prosecutor.High)
	survivor.Source = prosecutor.FromEvidence

	l := lap(New(), "h1", survivor, a)
	l = lap(l, "h2", b, a)
	l = lap(l, "h3", accusation("c", prosecutor.High))
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 2, "c": 3}, laps(l)); diff != "" {
		t.Error(diff)
	}
	// A new decision on the last head replaces what that lap accused, and nothing of another lap.
	l = lap(l, "h3", accusation("d", prosecutor.High))
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 2, "d": 3}, laps(l)); diff != "" {
		t.Error(diff)
	}
	// To go back to an earlier head is a lap of its own.
	l = lap(l, "h1", accusation("e", prosecutor.High))
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 2, "d": 3, "e": 4}, laps(l)); diff != "" {
		t.Error(diff)
	}
}

func TestWhichConcernsStand(t *testing.T) {
	settled, blank, gone, repeated, reworded, stood := accusation("settled", prosecutor.High), accusation("blank", prosecutor.High), accusation("gone", prosecutor.High),
		accusation("repeated", prosecutor.High), accusation("reworded", prosecutor.High), accusation("stood", prosecutor.High)
	blank.Anchor = &prosecutor.Anchor{Path: "a.go", Quote: "\t"}
	l := SettleConcern(lap(New(), "h1", settled, blank, repeated, reworded, gone, stood), Settled{ID: "settled", How: ByRefutation})
	look := func(a prosecutor.Anchor) bool { return a.Quote != "gone" }
	said := reworded
	said.Claim = "it is wrong as it was"
	moved := repeated
	moved.ID, moved.Anchor = "elsewhere", &prosecutor.Anchor{Path: "a.go", Quote: "another line"}
	current := []prosecutor.Finding{said, moved}

	if got := ids(StandingConcerns(Push(l, "h2"), current, look)); !slices.Equal(got, []string{"stood"}) {
		t.Errorf("on the next head: %v", got)
	}
	if got := ids(StandingConcerns(l, current, look)); got != nil {
		t.Errorf("of the lap at hand: %v", got)
	}
	// Looked at again, the second lap is the one at hand; the first stays an earlier one.
	second := lap(l, "h2", accusation("new", prosecutor.High))
	if got := ids(StandingConcerns(second, current, look)); !slices.Equal(got, []string{"stood"}) {
		t.Errorf("on the second head, once more: %v", got)
	}
	// What is said once more is of its first lap, and comes after what is new.
	if got := ids(StandingConcerns(lap(l, "h2", accusation("new", prosecutor.High), stood), current, look)); !slices.Equal(got, []string{"stood"}) {
		t.Errorf("on the second head, said once more: %v", got)
	}
	if got := ids(StandingConcerns(Push(second, "h3"), current, look)); !slices.Equal(got, []string{"stood", "new"}) {
		t.Errorf("on the third head: %v", got)
	}
}

func TestDismissalIsRecordedOnce(t *testing.T) {
	first := Settled{ID: "a", How: ByDismissal, By: "ada", Reason: "wanted", At: start}
	again := Settled{ID: "a", How: ByDismissal, By: "eve", At: later}
	l := SettleConcern(SettleConcern(lap(New(), "h1", accusation("a", prosecutor.High)), first), again)
	if diff := cmp.Diff([]Settled{first}, l.Dismissals); diff != "" {
		t.Error(diff)
	}
}
