package diff_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	godiff "github.com/sourcegraph/go-diff/diff"

	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/test/corpustest"
)

// peer is a parser that is compared with the corpus.
type peer struct {
	name string
	// parse returns the sections as the peer sees them. Fields the peer's API does not have are taken from the truth,
	// so that nothing counts against it that it does not promise.
	parse func(text string, truth []file) ([]file, error)
}

func peers() []peer {
	return []peer{
		{"prosecutor", parseOurs},
		{"go-gitdiff", parseGitdiff},
		{"go-diff", parseGodiff},
	}
}

func parseOurs(text string, _ []file) ([]file, error) {
	d, err := diff.ParseString(text)
	if err != nil {
		return nil, err
	}
	var out []file
	for _, f := range d.Files {
		out = append(out, parsed(f))
	}
	return out, nil
}

func parseGitdiff(text string, truth []file) ([]file, error) {
	files, _, err := gitdiff.Parse(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	var out []file
	for i, f := range files {
		g := file{
			Old: f.OldName, New: f.NewName, Status: "M",
			OldMode: octalMode(f.OldMode), NewMode: octalMode(f.NewMode),
			Similarity: -1, Binary: f.IsBinary,
		}
		switch {
		case f.IsNew:
			g.Status = "A"
		case f.IsDelete:
			g.Status = "D"
		case f.IsRename:
			g.Status, g.Similarity = "R", f.Score
		case f.IsCopy:
			g.Status, g.Similarity = "C", f.Score
		}
		if f.NewMode == 0 && g.Status != "D" && i < len(truth) {
			g.NewMode = truth[i].NewMode // it sets the new mode only where it changed
		}
		for _, h := range f.TextFragments {
			g.Added += int(h.LinesAdded)
			g.Deleted += int(h.LinesDeleted)
			g.Hunks = append(g.Hunks, corpustest.Hunk{
				OldStart: int(h.OldPosition), OldLines: int(h.OldLines),
				NewStart: int(h.NewPosition), NewLines: int(h.NewLines),
			})
		}
		out = append(out, g)
	}
	return out, nil
}

func octalMode(m os.FileMode) string {
	if m == 0 {
		return ""
	}
	return fmt.Sprintf("%o", m)
}

func parseGodiff(text string, truth []file) ([]file, error) {
	files, err := godiff.ParseMultiFileDiffOptions([]byte(text), godiff.ParseOptions{KeepCR: true})
	if err != nil {
		return nil, err
	}
	name := func(s, prefix string) string {
		if s == "/dev/null" {
			return ""
		}
		return strings.TrimPrefix(s, prefix)
	}
	var out []file
	for i, f := range files {
		g := file{Old: name(f.OrigName, "a/"), New: name(f.NewName, "b/")}
		for _, h := range f.Hunks {
			for _, row := range bytes.Split(h.Body, []byte{'\n'}) {
				switch {
				case bytes.HasPrefix(row, []byte{'+'}):
					g.Added++
				case bytes.HasPrefix(row, []byte{'-'}):
					g.Deleted++
				}
			}
			g.Hunks = append(g.Hunks, corpustest.Hunk{
				OldStart: int(h.OrigStartLine), OldLines: int(h.OrigLines),
				NewStart: int(h.NewStartLine), NewLines: int(h.NewLines),
			})
		}
		if i < len(truth) {
			w := truth[i]
			g.Status, g.OldMode, g.NewMode, g.Similarity, g.Binary = w.Status, w.OldMode, w.NewMode, w.Similarity, w.Binary
		}
		out = append(out, g)
	}
	return out, nil
}

// sections is the truth by sections: two for a type change.
func sections(t testing.TB, e corpustest.Entry, text string) []file {
	t.Helper()
	d, err := diff.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	var out []file
	i := 0
	for _, f := range e.Files {
		w := wanted(f)
		if w.Status != "T" {
			relax(&w, d.Files[i].Raw)
			out = append(out, w)
			i++
			continue
		}
		// The truth has one entry here. TestCorpus checks that the two sections add up to it.
		out = append(out, parsed(d.Files[i]), parsed(d.Files[i+1]))
		i += 2
	}
	return out
}

var updatePeers = flag.Bool("update-peers", false, "rewrite testdata/peers.txt")

// TestCorpusPeers counts what this parser and the two that were looked at first get wrong on the project's corpus. The
// table is the reason for a parser of our own (docs/diff-parser.md); a release of a peer that changes it is worth a new
// look.
func TestCorpusPeers(t *testing.T) {
	if os.Getenv("CORPUS_DIR") != "" {
		t.Log("another corpus: the table is printed and not compared")
	}
	var b strings.Builder
	entries := corpustest.Load(t)
	for _, p := range peers() {
		kinds := map[string][]string{}
		wrong := 0
		for _, e := range entries {
			text := corpustest.Text(t, e)
			truth := sections(t, e, text)
			found := mistakes(p, text, truth)
			for _, kind := range found {
				kinds[kind] = append(kinds[kind], e.ID)
			}
			if len(found) > 0 {
				wrong++
			}
		}
		fmt.Fprintf(&b, "%s: %d of %d diffs read wrongly\n", p.name, wrong, len(entries))
		for _, kind := range mistakeKinds {
			if ids := kinds[kind]; len(ids) > 0 {
				fmt.Fprintf(&b, "  %s (%d): %s\n", kind, len(ids), strings.Join(ids, " "))
			}
		}
		for _, kind := range []string{"cut off", "line lost"} {
			accepted, total := unnoticed(t, p, entries, kind)
			fmt.Fprintf(&b, "  %s: %d of %d read without an error\n", kind, accepted, total)
		}
		if p.name == "prosecutor" && wrong > 0 {
			t.Errorf("our own parser is wrong")
		}
	}
	t.Log("\n" + b.String())
	if os.Getenv("CORPUS_DIR") != "" {
		return
	}
	golden := filepath.Join("testdata", "peers.txt")
	if *updatePeers {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("the table changed (-recorded +now); see docs/diff-parser.md:\n%s", d)
	}
}

// unnoticed counts the damaged texts that a peer reads without an error.
func unnoticed(t *testing.T, p peer, entries []corpustest.Entry, want string) (accepted, total int) {
	t.Helper()
	for _, e := range entries {
		if e.Bytes > damageBytes {
			continue
		}
		damaged(corpustest.Text(t, e), func(kind, text, _ string) {
			if kind != want {
				return
			}
			total++
			if _, err := p.parse(text, nil); err == nil {
				accepted++
			}
		})
	}
	return accepted, total
}

var mistakeKinds = []string{"refused", "files", "names", "status or mode", "binary", "hunks", "line counts"}

// mistakes returns the kinds of mistakes of a peer in one diff.
func mistakes(p peer, text string, truth []file) []string {
	got, err := p.parse(text, truth)
	if err != nil {
		return []string{"refused"}
	}
	if len(got) != len(truth) {
		return []string{"files"}
	}
	wrong := map[string]bool{}
	for i := range truth {
		g, w := got[i], truth[i]
		wrong["names"] = wrong["names"] || g.Old != w.Old || g.New != w.New
		wrong["status or mode"] = wrong["status or mode"] || g.Status != w.Status || g.OldMode != w.OldMode || g.NewMode != w.NewMode || g.Similarity != w.Similarity
		wrong["binary"] = wrong["binary"] || g.Binary != w.Binary
		wrong["hunks"] = wrong["hunks"] || !cmp.Equal(g.Hunks, w.Hunks, cmpopts.EquateEmpty())
		wrong["line counts"] = wrong["line counts"] || g.Added != w.Added || g.Deleted != w.Deleted
	}
	var kinds []string
	for _, kind := range mistakeKinds {
		if wrong[kind] {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// BenchmarkParse reads the whole corpus once per round, from memory, with each parser. Diffs that a peer refuses cost
// it only as long as it takes to refuse them, so they are left out for all three.
//
// The peers make a copy of every line, and this parser only looks at it; "prosecutor-lines" also iterates over all lines.
// "prosecutor-string" parses text that is already in memory, and "prosecutor-stream" yields file by file.
func BenchmarkParse(b *testing.B) {
	var texts []string
	var size int64
	for _, e := range corpustest.Load(b) {
		text := corpustest.Text(b, e)
		accepted := true
		for _, p := range peers() {
			if _, err := p.parse(text, nil); err != nil {
				accepted = false
			}
		}
		if accepted {
			texts = append(texts, text)
			size += int64(len(text))
		}
	}
	run := func(name string, parse func(text string) error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				for _, text := range texts {
					if err := parse(text); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	run("prosecutor", func(text string) error {
		_, err := diff.Parse(strings.NewReader(text))
		return err
	})
	run("go-gitdiff", func(text string) error {
		_, _, err := gitdiff.Parse(strings.NewReader(text))
		return err
	})
	run("go-diff", func(text string) error {
		_, err := godiff.NewMultiFileDiffReader(strings.NewReader(text)).ReadAllFiles()
		return err
	})
	run("prosecutor-lines", func(text string) error {
		d, err := diff.Parse(strings.NewReader(text))
		if err != nil {
			return err
		}
		for _, f := range d.Files {
			for i := range f.Hunks {
				for l := range f.Hunks[i].Lines() {
					if l.Op == 0 {
						return errors.New("a line without an operation")
					}
				}
			}
		}
		return nil
	})
	run("prosecutor-string", func(text string) error {
		_, err := diff.ParseString(text)
		return err
	})
	run("prosecutor-stream", func(text string) error {
		r := diff.NewReader(strings.NewReader(text))
		for {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
	})
}
