package blast_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/blast"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/test/vectortest"
)

func TestVectorsBlastRadius(t *testing.T) {
	vectortest.Run(t, "blast_radius", func(t *testing.T, c vectortest.Case) {
		var in struct {
			vectortest.Diff
			PolicyPath     string          `json:"policy_path"`
			Policy         json.RawMessage `json:"policy"`
			GeneratedPaths []string        `json:"generated_paths"`
			StoredRadius   string          `json:"stored_radius"` // a decoy: nothing takes it
		}
		vectortest.Decode(t, c.Input, &in)
		var want struct {
			ConfigError  *bool             `json:"config_error"`
			Radius       *string           `json:"radius"`
			Lenses       []prosecutor.Lens `json:"lenses"`
			SourceLines  *int              `json:"source_lines"`
			ChangedPaths []string          `json:"changed_paths"`
		}
		vectortest.Decode(t, c.Expect, &want)

		// JSON is YAML: the policy is read as a repository's policy file is.
		policy, err := config.ParsePolicy(in.PolicyPath, in.Policy)
		if want.ConfigError != nil && (err != nil) != *want.ConfigError {
			t.Fatalf("config error %v, want one: %v", err, *want.ConfigError)
		}
		if err != nil {
			return
		}
		d, err := diff.ParseString(in.Text())
		if err != nil {
			t.Fatal(err)
		}
		generated := map[string]string{}
		for _, path := range in.GeneratedPaths {
			generated[path] = "generated"
		}
		got := blast.Measure(d, blast.Input{Policy: policy, PolicyPath: in.PolicyPath, Generated: generated})

		if want.Radius != nil && string(got.Level) != *want.Radius {
			t.Errorf("radius %s, want %s (%v)", got.Level, *want.Radius, got.Why)
		}
		if want.Lenses != nil && !cmp.Equal(got.Lenses, want.Lenses) {
			t.Errorf("lenses %v, want %v", got.Lenses, want.Lenses)
		}
		if want.SourceLines != nil && got.SourceLines != *want.SourceLines {
			t.Errorf("source lines %d, want %d", got.SourceLines, *want.SourceLines)
		}
		if want.ChangedPaths != nil {
			paths := slices.Sorted(slices.Values(got.ChangedPaths))
			slices.Sort(want.ChangedPaths)
			if !slices.Equal(paths, want.ChangedPaths) {
				t.Errorf("changed paths %q, want %q", paths, want.ChangedPaths)
			}
		}
		if len(got.Why) == 0 {
			t.Error("no reason is given")
		}
	})
}
