package blast_test

import (
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor/blast"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/test/corpustest"
)

// What git says that changed is what is measured.
func TestCorpusChangedPaths(t *testing.T) {
	for _, e := range corpustest.Load(t) {
		t.Run(e.ID, func(t *testing.T) {
			d, err := diff.ParseString(corpustest.Text(t, e))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]bool{}
			for _, f := range e.Files {
				if f.OldPath != nil && f.Status != "C" {
					want[name(f.OldPath, f.OldPathB64)] = true
				}
				if f.NewPath != nil {
					want[name(f.NewPath, f.NewPathB64)] = true
				}
			}
			got := blast.Measure(d, blast.Input{})
			for _, path := range got.ChangedPaths {
				if !want[path] {
					t.Errorf("%q is not in git's list, or twice in ours", path)
				}
				delete(want, path)
			}
			for path := range want {
				t.Errorf("%q is missing", path)
			}
			if got.Files != len(e.Files) || got.ChangedLines != e.Added+e.Deleted {
				t.Errorf("%d files and %d lines, git says %d and %d", got.Files, got.ChangedLines, len(e.Files), e.Added+e.Deleted)
			}
		})
	}
}

func name(path *string, raw []byte) string {
	if raw != nil {
		return string(raw)
	}
	return *path
}
