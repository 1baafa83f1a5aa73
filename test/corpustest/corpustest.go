// Package corpustest loads the diff corpus: real and synthetic diffs with ground truth taken from git. It reads
// test/corpus, or the directory in CORPUS_DIR when that is set.
package corpustest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Hunk is the range of one hunk.
type Hunk struct {
	OldStart int `json:"old_start"`
	OldLines int `json:"old_lines"`
	NewStart int `json:"new_start"`
	NewLines int `json:"new_lines"`
}

// File is the ground truth of one changed file. A type change is one File here and two sections in the text.
type File struct {
	OldPath    *string `json:"old_path"`
	NewPath    *string `json:"new_path"`
	OldPathB64 []byte  `json:"old_path_b64"` // where set, the true name: the path is not UTF-8
	NewPathB64 []byte  `json:"new_path_b64"`
	Status     string  `json:"status"` // A D M R C T
	OldMode    *string `json:"old_mode"`
	NewMode    *string `json:"new_mode"`
	Binary     bool    `json:"binary"`
	Similarity *int    `json:"similarity"`
	Added      *int    `json:"added"`
	Deleted    *int    `json:"deleted"`
	Hunks      []Hunk  `json:"hunks"`
}

// Position is a place a review comment may, or may not, stand.
type Position struct {
	Path    string `json:"path"`
	PathB64 []byte `json:"path_b64"`
	Side    string `json:"side"`
	Line    int    `json:"line"`
	OK      bool   `json:"ok"`
	Kind    string `json:"kind"`
	SHA1    string `json:"sha1"` // of the line's bytes without its line feed; only where OK
}

// Entry is one diff.
type Entry struct {
	ID          string     `json:"id"`
	Diff        string     `json:"diff"`
	Source      string     `json:"source"`
	Features    []string   `json:"features"`
	DiffArgs    []string   `json:"diff_args"`
	Bytes       int        `json:"bytes"`
	CodePoints  int        `json:"code_points"`
	Lines       int        `json:"lines"`
	Added       int        `json:"added"`
	Deleted     int        `json:"deleted"`
	Files       []File     `json:"files"`
	Commentable []Position `json:"commentable"`
}

// Has reports whether the entry has a feature.
func (e Entry) Has(feature string) bool {
	for _, f := range e.Features {
		if f == feature {
			return true
		}
	}
	return false
}

// Dir is the directory the corpus is read from.
func Dir() string {
	if d := os.Getenv("CORPUS_DIR"); d != "" {
		return d
	}
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "..", "corpus")
}

// Load reads the index.
func Load(t testing.TB) []Entry {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(Dir(), "index.json"))
	if err != nil {
		t.Fatalf("corpus: %v", err)
	}
	var index struct{ Diffs []Entry }
	if err := json.Unmarshal(raw, &index); err != nil {
		t.Fatalf("corpus: %v", err)
	}
	if len(index.Diffs) == 0 {
		t.Fatal("corpus: empty index")
	}
	return index.Diffs
}

// Text reads the text of an entry, unpacked.
func Text(t testing.TB, e Entry) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(Dir(), filepath.FromSlash(e.Diff)))
	if err != nil {
		t.Fatalf("corpus: %v", err)
	}
	if strings.HasSuffix(e.Diff, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatalf("corpus: %s: %v", e.ID, err)
		}
		if raw, err = io.ReadAll(z); err != nil {
			t.Fatalf("corpus: %s: %v", e.ID, err)
		}
	}
	if len(raw) != e.Bytes {
		t.Fatalf("corpus: %s has %d bytes, its index says %d", e.ID, len(raw), e.Bytes)
	}
	return string(raw)
}
