package rules

import (
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

func conflictRules() []Rule {
	return []Rule{{
		ID: "conflict-marker", Lens: prosecutor.Correctness, Severity: prosecutor.High, Charge: prosecutor.ChargeCorrectness,
		Title:   "Merge conflict committed",
		Why:     "A conflict marker means that a merge was not finished: one side, or both, is in the file as text. Medium in prose, patches, test data and inside strings, where markers are shown rather than left behind.",
		needles: []string{"<<<<<<< ", ">>>>>>> "},
		perFile: conflictMarkers,
	}}
}

func conflictMarkers(s *scan, f *file) {
	rows := f.masked()
	open := false // the closing marker of a conflict that is accused already says nothing new
	for i := range rows {
		r := &rows[i]
		if r.Op != diff.Add {
			continue
		}
		text := strings.TrimSuffix(r.Text, "\r")
		if !strings.HasPrefix(text, "<<<<<<< ") && !strings.HasPrefix(text, ">>>>>>> ") || len(text) > 300 || blank(text[8:]) {
			continue
		}
		if begins := text[0] == '<'; begins || !open {
			open = begins
		} else {
			open = false
			continue
		}
		severity := prosecutor.High
		if f.doc || f.fixture || f.test && !programming.has(f.lang) || strings.HasSuffix(f.path, ".patch") || strings.HasSuffix(f.path, ".diff") ||
			strings.HasSuffix(f.path, ".rej") || f.lang != other && !strings.HasPrefix(r.code, text[:7]) {
			severity = prosecutor.Medium
		}
		s.hit(f, r, severity, "A merge conflict marker is added")
	}
}
