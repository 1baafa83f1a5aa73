package hollowtest_test

import (
	"slices"
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/test/corpustest"
)

// The lines to mutate are the lines that git counts as added, in ascending order, and each stands in a hunk.
func TestCorpusChangedLines(t *testing.T) {
	for _, e := range corpustest.Load(t) {
		t.Run(e.ID, func(t *testing.T) {
			d, err := diff.ParseString(corpustest.Text(t, e))
			if err != nil {
				t.Fatal(err)
			}
			lines := hollowtest.ChangedLines(d)
			for _, f := range e.Files {
				if f.NewPath == nil || f.Added == nil {
					continue
				}
				path, want := *f.NewPath, *f.Added
				if f.NewPathB64 != nil {
					path = string(f.NewPathB64)
				}
				if f.NewMode != nil && (*f.NewMode == string(diff.ModeSymlink) || *f.NewMode == string(diff.ModeSubmodule)) {
					want = 0
				}
				got := lines[path]
				if len(got) != want || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
					t.Errorf("%q: %d lines, git says %d", path, len(got), want)
				}
				for _, n := range got {
					if !slices.ContainsFunc(f.Hunks, func(h corpustest.Hunk) bool { return h.NewStart <= n && n < h.NewStart+h.NewLines }) {
						t.Errorf("%q: line %d is in no hunk", path, n)
						break
					}
				}
			}
		})
	}
}
