package config

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// samples are valid texts of each format.
var samples = map[string][]string{
	"glob":     {"src/**", "**/*.go", "*.{yml,yaml}", "docs/[a-c]?.md", "go.mod", "a b/é.txt", `x\*y`},
	"path":     {"a.go", "src/[id].ts", "*", "ünï/ x"},
	"family":   {"fern", "moss-2", "a", "0.1_x"},
	"judge":    {"fern-large", "Moss:27b", "open/router@1.0"},
	"login":    {"octo", "Octo-Cat", "quill-coder[bot]", "name_corp"},
	"reviewer": {"octo", "org/team", "org/team.one"},
	"label":    {"ai:moss", "made by fern", "é"},
	"check":    {"*", "build", "build / linux (1.26)"},
	"word":     {"logic-swap", "a/b:c", "é"},
	"text":     {"because", "two\nlines\twide", "true", "1", "# not a comment", "'\"", "a: b"},
	"command":  {"", "go test ./...", "npm ci\nnpm test\n"},
	"arg":      {"", "--print", "a b"},
	"url":      {"https://a.example.com/v1", "http://localhost:11434"},
	"env":      {"FERN_KEY", "_x1"},
	"file":     {"/run/secrets/key", "key.txt"},
}

func TestEveryFormatHasValidSamples(t *testing.T) {
	for name := range formats() {
		if len(samples[name]) == 0 {
			t.Errorf("no sample of %s", name)
		}
		for _, s := range samples[name] {
			if problem, _ := checkFormat(name, s); problem != "" {
				t.Errorf("%s: %q: %s", name, s, problem)
			}
		}
	}
}

// draw returns a valid value of a shape as a tree of maps, lists and scalars. Keys that are not required may be absent.
func draw(t *rapid.T, s *shape, label string) any {
	switch s.kind {
	case kindBool:
		return rapid.Bool().Draw(t, label)
	case kindInt:
		return rapid.Int64Range(s.rule.min, s.rule.max).Draw(t, label)
	case kindFloat:
		return float64(rapid.Int64Range(int64(s.rule.minFloat)*4, int64(s.rule.maxFloat)*4).Draw(t, label)) / 4
	case kindDuration:
		return Duration(rapid.Int64Range(s.rule.min, s.rule.max).Draw(t, label)).String()
	case kindString:
		if s.rule.enum != nil {
			return rapid.SampledFrom(s.rule.enum).Draw(t, label)
		}
		return rapid.SampledFrom(samples[s.rule.format]).Draw(t, label)
	case kindList:
		least := 0
		if s.rule.nonEmpty {
			least = 1
		}
		list := []any{}
		for range rapid.IntRange(least, 3).Draw(t, label+" length") {
			item := draw(t, s.elem, label)
			if !s.rule.unique || !slices.Contains(list, item) {
				list = append(list, item)
			}
		}
		return list
	case kindMap:
		m := map[string]any{}
		for _, key := range samples[s.keys] {
			if rapid.Bool().Draw(t, label+" "+key) {
				m[key] = draw(t, s.elem, label+"."+key)
			}
		}
		return m
	default:
		m := map[string]any{}
		for _, f := range s.fields {
			if f.required || rapid.Bool().Draw(t, label+"."+f.name+" present") {
				m[f.name] = draw(t, f.shape, label+"."+f.name)
			}
		}
		return m
	}
}

func drawPolicy(t *rapid.T) map[string]any {
	tree := draw(t, policyShape(), "policy").(map[string]any)
	if hollow, ok := tree["hollow_test"].(map[string]any); ok && hollow["mode"] == string(HollowOff) {
		delete(hollow, "required") // the one pair of settings that exclude each other
	}
	return tree
}

func encoded(t testing.TB, tree any) []byte {
	data, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// contains reports where want is not a part of got: every key that is in want has the same value in got.
func contains(path string, want, got any) []string {
	w, ok := want.(map[string]any)
	g, ok2 := got.(map[string]any)
	if !ok || !ok2 {
		if !reflect.DeepEqual(want, got) {
			return []string{path}
		}
		return nil
	}
	var wrong []string
	for _, key := range slices.Sorted(maps.Keys(w)) {
		wrong = append(wrong, contains(join(path, key), w[key], g[key])...)
	}
	return wrong
}

// plain brings a tree to the types that encoding/json makes.
func plain(t testing.TB, tree any) (out any) {
	if err := json.Unmarshal(encoded(t, tree), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEveryValidPolicyIsReadAsWritten(t *testing.T) {
	validator := compiled(t, PolicySchema())
	rapid.Check(t, func(rt *rapid.T) {
		tree := drawPolicy(rt)
		asJSON := encoded(t, tree)
		asYAML, err := yaml.Marshal(tree)
		if err != nil {
			rt.Fatal(err)
		}
		policy, err := ParsePolicy("p.yml", asJSON)
		if err != nil {
			rt.Fatalf("%s\n%v", asJSON, err)
		}
		effective := canonical(policyShape(), reflect.ValueOf(policy).Elem())
		if wrong := contains("", plain(t, tree), plain(t, effective)); wrong != nil {
			rt.Fatalf("%s\nis read with other values of %v", asJSON, wrong)
		}
		if err := validator.Validate(plain(t, tree)); err != nil {
			rt.Fatalf("%s\nthe schema rejects it: %v", asJSON, err)
		}
		fromYAML, err := ParsePolicy("p.yml", asYAML)
		if err != nil {
			rt.Fatalf("%s\n%v", asYAML, err)
		}
		if diff := cmp.Diff(policy, fromYAML); diff != "" || policy.Hash() != fromYAML.Hash() {
			rt.Fatalf("%s\nin block style is read differently: %s", asYAML, diff)
		}
		commented, err := ParsePolicy("p.yml", append([]byte("# a comment\n"), asYAML...))
		if err != nil || commented.Hash() != policy.Hash() {
			rt.Fatalf("a comment changes the policy: %v", err)
		}
	})
}

// written drops the null of diff.exclude, which a file says by leaving the key out.
func written(effective any) any {
	tree := effective.(map[string]any)
	if d := tree["diff"].(map[string]any); d["exclude"] == nil {
		delete(d, "exclude")
	}
	if tree["independence"] == "" {
		delete(tree, "independence")
	}
	return tree
}

func TestTheEffectivePolicyWrittenOutHasTheSameHash(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		policy, err := ParsePolicy("p.yml", encoded(t, drawPolicy(rt)))
		if err != nil {
			rt.Fatal(err)
		}
		full := encoded(t, written(canonical(policyShape(), reflect.ValueOf(policy).Elem())))
		again, err := ParsePolicy("p.yml", full)
		if err != nil {
			rt.Fatalf("%s\n%v", full, err)
		}
		if again.Hash() != policy.Hash() {
			rt.Fatalf("%s\nhas another hash than the policy it was written from", full)
		}
	})
}

// secrets are credentials of the usual forms, made up.
var secrets = []string{
	"sk-proj-0123456789abcdefghij", "ghp_0123456789abcdefghijABCDEF", "AIzaSyA0123456789abcdefghijklmnopq",
	"f3b1c5d7e9a0b2c4d6e8f0a1b3c5d7e9", "hunter2 hunter2", "correct horse battery staple", "p@ss:word/1", "12345678901234567890",
}

// plant puts a secret in the place of one value, or of one key, of a tree.
func plant(t *rapid.T, v any, secret string) any {
	switch v := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		if len(keys) == 0 || rapid.IntRange(0, 5).Draw(t, "as key") == 0 {
			v[secret] = true
			return v
		}
		key := rapid.SampledFrom(keys).Draw(t, "key")
		v[key] = plant(t, v[key], secret)
		return v
	case []any:
		if len(v) == 0 {
			return []any{secret}
		}
		i := rapid.IntRange(0, len(v)-1).Draw(t, "item")
		v[i] = plant(t, v[i], secret)
		return v
	default:
		return secret
	}
}

func TestProblemsOfAServerFileNeverShowWhatStandsInIt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tree := map[string]any{"judges": []any{draw(rt, serverShape().field("judges").shape.elem, "judge")}}
		secret := rapid.SampledFrom(secrets).Draw(rt, "secret")
		data := encoded(t, plant(rt, tree, secret))
		if rapid.Bool().Draw(rt, "broken") {
			data = data[:rapid.IntRange(0, len(data)).Draw(rt, "cut")]
		}
		_, err := ParseServer("s.yml", data)
		if err != nil && strings.Contains(err.Error(), secret) {
			rt.Fatalf("%s\nis reported with the secret: %v", data, err)
		}
	})
}

// checkReport holds for the error of every file, however broken.
func checkReport(t *testing.T, data []byte, err error) {
	var problems Problems
	if !errors.As(err, &problems) || len(problems) == 0 {
		t.Fatalf("the error is %T, not Problems: %v", err, err)
	}
	lines := strings.Count(string(data), "\n") + 1
	last := 0
	for _, p := range problems {
		if p.Message == "" || p.Line > lines+1 || p.Column < 0 {
			t.Errorf("%+v has no message, or a place outside the file", p)
		}
		if p.Line < last && p.Line != 0 {
			t.Errorf("line %d is reported after line %d", p.Line, last)
		}
		last = p.Line
		if strings.ContainsFunc(p.String(), hidden) {
			t.Errorf("%q is not one plain line", p.String())
		}
	}
}

func seeds(f *testing.F, archive string) {
	about, files := readArchive(f, "testdata/"+archive)
	f.Add([]byte(about))
	for _, file := range files {
		if strings.HasSuffix(file.name, ".yml") {
			f.Add([]byte(file.text))
		}
	}
	for _, text := range []string{
		"\x00", "\xff\xfe", "\ufeff", "a: &a [*a]", "- - - - - -", "? ? ? ?", "{{{{", "[[[[", "a: |2\n x", "a: >-\n", "!<x> a", "%\n", "'", "\"\\", "&", "*", "@",
		"a:\n  - b\n c: d", "<<:", "---\n...\n---", "a: !!binary x", "\t- a", "a\r\rb", "a: \"\\ud800\"", "key: [a, {b: c}, 'd', \"e\"]",
	} {
		f.Add([]byte(text))
	}
}

func FuzzParsePolicy(f *testing.F) {
	seeds(f, "policies.txtar")
	validator := compiled(f, PolicySchema())
	f.Fuzz(func(t *testing.T, data []byte) {
		policy, err := ParsePolicy("p.yml", data)
		if err != nil {
			if policy != nil {
				t.Error("a policy comes with an error")
			}
			checkReport(t, data, err)
			return
		}
		tree := written(canonical(policyShape(), reflect.ValueOf(policy).Elem()))
		again, err := ParsePolicy("p.yml", encoded(t, tree))
		if err != nil {
			t.Fatalf("the policy written out is not valid: %v", err)
		}
		if again.Hash() != policy.Hash() {
			t.Error("the policy written out has another hash")
		}
		if err := validator.Validate(plain(t, tree)); err != nil {
			t.Errorf("the schema rejects the policy written out: %v", err)
		}
		for _, glob := range slices.Concat(policy.BlastRadius.Critical, policy.SelfModification, policy.Diff.BinaryAllow) {
			if !doublestar.ValidatePattern(glob) {
				t.Errorf("the malformed glob %q is accepted", glob)
			}
		}
	})
}

func FuzzParseServer(f *testing.F) {
	seeds(f, "servers.txtar")
	f.Fuzz(func(t *testing.T, data []byte) {
		server, err := ParseServer("s.yml", data)
		if err != nil {
			if server != nil {
				t.Error("a server file comes with an error")
			}
			checkReport(t, data, err)
			return
		}
		for _, j := range server.Judges {
			if j.Name == "" || j.Provider == "" || j.Timeout <= 0 || j.Concurrency < 1 || j.Output == "" {
				t.Errorf("a judge is accepted without its defaults: %+v", j)
			}
		}
	})
}
