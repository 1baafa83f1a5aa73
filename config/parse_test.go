package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEmptyPolicyIsTheDefault(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "---\n", "{}", "null", "\ufeff", "blast_radius:\n  # medium_lines: 5\n", "blast_radius: {lenses: {low: 1}}"} {
		got, err := ParsePolicy("p.yml", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(DefaultPolicy(), got); diff != "" {
			t.Errorf("%q: -default +got:\n%s", text, diff)
		}
	}
}
