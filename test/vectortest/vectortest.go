// Package vectortest loads the acceptance vectors for table tests. It reads test/vectors, or the directory in
// VECTORS_DIR when that is set. It computes nothing: tests translate a case into calls of the product and compare.
package vectortest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Case is one input and what is expected of it. A field that Expect does not have is not checked.
type Case struct {
	Name   string          `json:"name"`
	Why    string          `json:"why"`
	Input  json.RawMessage `json:"input"`
	Expect json.RawMessage `json:"expect"`
}

// Kind returns the input's "kind", or "" where the cases of the area are of one kind.
func (c Case) Kind(t testing.TB) string {
	t.Helper()
	var in struct{ Kind string }
	if err := json.Unmarshal(c.Input, &in); err != nil {
		t.Fatalf("vector %s: %v", c.Name, err)
	}
	return in.Kind
}

// Diff is embedded in the input of areas that carry a diff.
type Diff struct {
	Diff  *string `json:"diff"`
	Parts []struct {
		Text  string `json:"text"`
		Times *int   `json:"times"`
	} `json:"diff_parts"`
	CodePoints *int `json:"code_points"`
}

// Text is the diff, assembled from its parts where it has parts.
func (d Diff) Text() string {
	if d.Parts == nil {
		if d.Diff == nil {
			return ""
		}
		return *d.Diff
	}
	var b strings.Builder
	for _, p := range d.Parts {
		n := 1
		if p.Times != nil {
			n = *p.Times
		}
		b.WriteString(strings.Repeat(p.Text, n))
	}
	return b.String()
}

// Run runs f as a subtest for every case of an area, such as "gate". Kinds, where given, select cases by their kind.
func Run(t *testing.T, area string, f func(t *testing.T, c Case), kinds ...string) {
	t.Helper()
	ran := 0
	for _, c := range Load(t, area) {
		if len(kinds) > 0 && !contains(kinds, c.Kind(t)) {
			continue
		}
		ran++
		t.Run(c.Name, func(t *testing.T) {
			t.Helper()
			f(t, c)
			if t.Failed() {
				t.Logf("why: %s", c.Why)
			}
		})
	}
	if ran == 0 {
		t.Fatalf("no vector of area %s, kinds %v", area, kinds)
	}
}

// Load reads all cases of an area.
func Load(t testing.TB, area string) []Case {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(Dir(), area+".json"))
	if err != nil {
		t.Fatalf("vectors: %v", err)
	}
	var file struct {
		About   string
		Section string
		Cases   []Case
	}
	Decode(t, raw, &file)
	if len(file.Cases) == 0 {
		t.Fatalf("vectors: %s.json has no cases", area)
	}
	return file.Cases
}

// Dir is the directory the vectors are read from.
func Dir() string {
	if d := os.Getenv("VECTORS_DIR"); d != "" {
		return d
	}
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "..", "vectors")
}

// Decode decodes JSON strictly: a field the target lacks fails the test, so that no input of a vector is overlooked.
func Decode(t testing.TB, raw []byte, target any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(target); err != nil {
		t.Fatalf("vectors: decoding %s: %v", raw, err)
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
