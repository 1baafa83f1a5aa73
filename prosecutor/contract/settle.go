package contract

import (
	"strings"
	"unicode/utf8"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// Settle returns the finding with its place in the diff, its effective severity and its identity (semantics 2,
// "Anchors"). The severity starts from Claimed, or from Severity where nothing is claimed yet, so that a finding can be
// settled again against another diff. A finding whose quote is not in the diff is medium at most, because an accuser that
// cites code that does not exist has proven nothing. That cap is for models: what was measured, by rules or evidence,
// needs no quote to be true. A nil diff holds no code.
func Settle(d *diff.Diff, f prosecutor.Finding) prosecutor.Finding {
	if f.Claimed == "" {
		f.Claimed = f.Severity
	}
	f.Severity = f.Claimed
	f.Place = locate(d, f.Anchor)
	measured := f.Source == prosecutor.FromRule || f.Source == prosecutor.FromEvidence
	if f.Place.Status == prosecutor.Unanchored && !measured && f.Severity.Rank() > prosecutor.Medium.Rank() {
		f.Severity = prosecutor.Medium
	}
	f.ID = prosecutor.Identify(f)
	return f
}

func locate(d *diff.Diff, a *prosecutor.Anchor) prosecutor.Place {
	if a == nil {
		return prosecutor.Place{Status: prosecutor.NoFile}
	}
	if d == nil {
		d = &diff.Diff{}
	}
	place := d.Locate(*a)
	if place.Status == prosecutor.Unanchored && strings.ContainsRune(a.Quote, utf8.RuneError) {
		return locateAsSent(d, *a)
	}
	return place
}

// locateAsSent looks for a quote in the diff as a judge has seen it: with U+FFFD for every byte that is not UTF-8.
// Without it one invalid byte in a line would make every accusation of that line unprovable.
func locateAsSent(d *diff.Diff, a prosecutor.Anchor) prosecutor.Place {
	sent := &diff.Diff{Files: make([]*diff.File, 0, len(d.Files))}
	original := map[string]string{}
	for _, f := range d.Files {
		path := f.Path()
		if !utf8.ValidString(f.Raw) {
			seen, err := diff.ParseString(asSent(f.Raw))
			if err != nil {
				// U+FFFD is longer than the byte that it stands for, and a diff's lines have a limit.
				continue
			}
			f = seen.Files[0]
		}
		if other, taken := original[f.Path()]; taken && other != path {
			// Two names look alike on the wire. The code exists, and which file it is in is not guessed.
			path = ""
		}
		original[f.Path()] = path
		sent.Files = append(sent.Files, f)
	}
	place := sent.Locate(a)
	if place.Path == "" {
		return place
	}
	path := original[place.Path]
	if path == "" {
		return prosecutor.Place{Status: prosecutor.Ambiguous}
	}
	place.Path = path
	return place
}

// asSent is a text as JSON carries it.
func asSent(s string) string {
	var w strings.Builder
	w.Grow(len(s) + 16)
	for _, r := range s {
		w.WriteRune(r)
	}
	return w.String()
}
