package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	godiff "github.com/sourcegraph/go-diff/diff"

	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// parsers measures the diff parser beside the two libraries over the corpus: test/corpus, or CORPUS_DIR.
func parsers(out io.Writer) error {
	texts, size, err := corpus()
	if err != nil {
		return err
	}
	list := []struct {
		name  string
		parse func(string) error
	}{
		{"prosecutor", func(s string) error { _, err := diff.Parse(strings.NewReader(s)); return err }},
		{"go-gitdiff", func(s string) error { _, _, err := gitdiff.Parse(strings.NewReader(s)); return err }},
		{"go-diff", func(s string) error {
			_, err := godiff.NewMultiFileDiffReader(strings.NewReader(s)).ReadAllFiles()
			return err
		}},
	}
	type figure struct {
		speed  float64
		allocs int64
	}
	best := make([]figure, len(list))
	// The parsers take turns, so that a busy moment of the machine does not fall on one of them alone.
	for range 3 {
		for i, p := range list {
			runtime.GC()
			r := testing.Benchmark(func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					for _, text := range texts {
						if err := p.parse(text); err != nil && p.name == "prosecutor" {
							b.Fatal(err)
						}
					}
				}
			})
			if r.N == 0 {
				return fmt.Errorf("the parser %s failed on the corpus", p.name)
			}
			f := figure{float64(size) * float64(r.N) / r.T.Seconds() / 1e6, r.AllocsPerOp()}
			if f.speed > best[i].speed {
				best[i] = f
			}
		}
	}
	faster := max(best[1].speed, best[2].speed)
	fewer := min(best[1].allocs, best[2].allocs)
	for i, p := range list {
		line := fmt.Sprintf("%-52s %10.0f MB/s %12d allocations (best of 3, %d diffs, %.1f MB)", "parser "+p.name, best[i].speed, best[i].allocs, len(texts), float64(size)/1e6)
		if i == 0 {
			verdict := "within"
			if best[0].speed < 2*faster || best[0].allocs > fewer/2 {
				verdict = "OVER"
			}
			line += fmt.Sprintf("   target %.0f MB/s and %d allocations: %s", 2*faster, fewer/2, verdict)
		}
		fmt.Fprintln(out, line)
	}
	return nil
}

// corpus reads the texts of the corpus.
func corpus() (texts []string, size int, err error) {
	dir := os.Getenv("CORPUS_DIR")
	if dir == "" {
		dir = filepath.Join("test", "corpus")
	}
	raw, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		return nil, 0, fmt.Errorf("%w (run it from the root of the repository)", err)
	}
	var index struct{ Diffs []struct{ Diff string } }
	if err := json.Unmarshal(raw, &index); err != nil {
		return nil, 0, err
	}
	for _, d := range index.Diffs {
		text, err := readDiff(filepath.Join(dir, filepath.FromSlash(d.Diff)))
		if err != nil {
			return nil, 0, err
		}
		texts = append(texts, text)
		size += len(text)
	}
	return texts, size, nil
}

func readDiff(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
	}
	data, err := io.ReadAll(r)
	return string(data), err
}
