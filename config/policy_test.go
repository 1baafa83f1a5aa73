package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/test/vectortest"
)

func TestDefaults(t *testing.T) {
	p := DefaultPolicy()
	p.BlastRadius.Source = nil // tested below
	want := &Policy{
		Enabled:          true,
		SelfModification: []string{},
		BlastRadius: BlastRadius{Critical: []string{}, MediumLines: 200, Lenses: map[prosecutor.Radius]int{
			prosecutor.RadiusLow: 1, prosecutor.RadiusMedium: 2, prosecutor.RadiusHigh: 3}},
		Diff:         Diff{BinaryAllow: []string{}},
		Prosecution:  Prosecution{DryPasses: 1},
		Judges:       PolicyJudges{Prefer: map[string][]string{}},
		Attribution:  Attribution{Logins: map[string]string{}, Labels: map[string]string{}},
		JudgeFailure: "hold",
		HoldFor:      Duration(2 * time.Hour),
		Convergence:  Convergence{MaxLaps: 3},
		CodeScanning: CodeScanning{Severity: "all"},
		Checks:       Checks{Required: []string{}, Wait: Duration(30 * time.Minute)},
		HollowTest: HollowTest{Mode: "gate", NotCovered: "red", Budget: Duration(2 * time.Minute), Where: "sandbox",
			CI:          HollowTestCI{Check: "hollow-test", Workflow: ".github/workflows/hollow-test.yml"},
			SourceGlobs: []string{}, TestGlobs: []string{}, Accepted: []AcceptedMutant{}},
		StaticRules: StaticRules{Accepted: []AcceptedRule{}},
		Escalation:  Escalation{Reviewers: []string{}},
		Fix:         Fix{Width: 3},
		Publish:     Publish{ReviewEvent: "comment", InlineSeverity: "low"},
		MergeQueue:  MergeQueue{HoldFor: Duration(20 * time.Minute)},
		Retention:   Duration(180 * 24 * time.Hour),
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDefaultSourceIsCode(t *testing.T) {
	globs := DefaultPolicy().BlastRadius.Source
	for path, want := range map[string]bool{
		"main.go": true, "a/b/c.py": true, "web/App.tsx": true, "lib/x.rs": true, "db/schema.sql": true, "infra/main.tf": true, "run.sh": true, "stat.R": true,
		"README.md": false, "docs/guide.rst": false, "config.yml": false, "package.json": false, "data.csv": false, "LICENSE": false, "go.sum": false, "logo.svg": false,
	} {
		got := slices.ContainsFunc(globs, func(glob string) bool { ok, err := doublestar.Match(glob, path); return err == nil && ok })
		if got != want {
			t.Errorf("%s: source is %v", path, got)
		}
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(globs))); len(distinct) != len(globs) {
		t.Error("a glob is there twice")
	}
}

func TestDefaultsAreFreshEachTime(t *testing.T) {
	p := DefaultPolicy()
	p.BlastRadius.Lenses[prosecutor.RadiusLow] = 3
	p.BlastRadius.Source[0] = "x"
	p.Attribution.Logins["a"] = "b"
	if q := DefaultPolicy(); q.BlastRadius.Lenses[prosecutor.RadiusLow] != 1 || q.BlastRadius.Source[0] == "x" || len(q.Attribution.Logins) != 0 {
		t.Error("a change of one default policy shows in the next")
	}
}

func TestWhatIsPresentReplacesAndTheRestStays(t *testing.T) {
	p, err := ParsePolicy("p.yml", []byte(`
blast_radius:
  source: [src/**]
  lenses: {low: 2}
diff:
  exclude: []
checks:
  required: [build]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultPolicy()
	want.BlastRadius.Source = []string{"src/**"}
	want.BlastRadius.Lenses[prosecutor.RadiusLow] = 2
	want.Diff.Exclude = &[]string{}
	want.Checks.Required = []string{"build"}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAbsentAndEmptyExcludeAreTwoPolicies(t *testing.T) {
	absent, empty := DefaultPolicy(), DefaultPolicy()
	empty.Diff.Exclude = &[]string{}
	if absent.Hash() == empty.Hash() {
		t.Error("the hash does not tell them apart")
	}
}

// TestVectorsPolicy gives every policy of the vectors to the parser: it accepts them, or refuses exactly those that are
// expected to be a config error, and keeps every value.
func TestVectorsPolicy(t *testing.T) {
	for _, area := range []string{"blast_radius", "dry_passes", "hollow_test", "judge_failure", "independence", "gate", "prosecution", "consensus_fix"} {
		for _, c := range vectortest.Load(t, area) {
			var in struct {
				Policy    json.RawMessage
				DryPasses json.RawMessage `json:"dry_passes"`
			}
			if err := json.Unmarshal(c.Input, &in); err != nil {
				t.Fatal(err)
			}
			var expect struct {
				ConfigError bool `json:"config_error"`
			}
			if err := json.Unmarshal(c.Expect, &expect); err != nil {
				t.Fatal(err)
			}
			policy := in.Policy
			if in.DryPasses != nil {
				policy = fmt.Appendf(nil, `{"prosecution": {"dry_passes": %s}}`, in.DryPasses)
			}
			if policy == nil {
				continue
			}
			t.Run(area+"/"+c.Name, func(t *testing.T) {
				got, err := ParsePolicy("policy.yml", policy)
				if (err != nil) != expect.ConfigError {
					t.Fatalf("%s: config error: %v, want one: %v (%s)", policy, err, expect.ConfigError, c.Why)
				}
				if err != nil {
					return
				}
				var given any
				if err := json.Unmarshal(policy, &given); err != nil {
					t.Fatal(err)
				}
				effective := canonical(policyShape(), reflect.ValueOf(got).Elem())
				if wrong := contains("", given, plain(t, effective)); wrong != nil {
					t.Errorf("%s is read with other values of %v", policy, wrong)
				}
			})
		}
	}
}

func TestHashIsPinned(t *testing.T) {
	// Ledgers and evidence records hold hashes: a change of this value makes every judged pull request be judged again.
	if got := DefaultPolicy().Hash(); !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(got) || got != pinnedHash {
		t.Errorf("the hash of the default policy is %s, it was %s: a default or a key has changed", got, pinnedHash)
	}
}

func TestHashIgnoresHowAPolicyIsWritten(t *testing.T) {
	base, err := ParsePolicy("a.yml", []byte("convergence: {max_laps: 2}\nattribution: {logins: {b: moss, a: fern}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"# why two\nattribution:\n  logins:\n    a: fern\n    \"b\": 'moss'\nconvergence:\n  max_laps: 2 # strikes\n",
		"convergence: {max_laps: 2}\nattribution: {logins: {a: fern, b: moss}}\nenabled: true\nretention: 4320h\nblast_radius: {lenses: {high: 3}}\n",
	} {
		p, err := ParsePolicy("b.yml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if p.Hash() != base.Hash() {
			t.Errorf("another hash for\n%s", text)
		}
	}
	// A policy built in Go may hold nil where a parsed one holds an empty list.
	q := DefaultPolicy()
	q.BlastRadius.Critical, q.BlastRadius.Lenses, q.Attribution.Logins = nil, nil, nil
	if q.Hash() != DefaultPolicy().Hash() {
		t.Error("nil and empty are two hashes")
	}
	if new(Policy).Hash() == DefaultPolicy().Hash() {
		t.Error("the zero policy has the hash of the default")
	}
}

// TestEverySettingChangesTheHash changes every single value of a policy that has them all.
func TestEverySettingChangesTheHash(t *testing.T) {
	full := func() *Policy {
		p := DefaultPolicy()
		p.SelfModification, p.BlastRadius.Critical, p.Diff.BinaryAllow = []string{"a"}, []string{"a"}, []string{"a"}
		p.Diff.Exclude = &[]string{"a"}
		p.Judges.Prefer["fern"] = []string{"a"}
		p.Attribution.Logins["a"], p.Attribution.Labels["a"] = "fern", "fern"
		p.Checks.Required, p.Escalation.Reviewers = []string{"a"}, []string{"a"}
		p.HollowTest.SourceGlobs, p.HollowTest.TestGlobs = []string{"a"}, []string{"a"}
		p.HollowTest.Accepted = []AcceptedMutant{{Path: "a", Operator: "b", Original: "c", Reason: "d"}}
		p.StaticRules.Accepted = []AcceptedRule{{Rule: "a", Path: "b", Reason: "c"}}
		return p
	}
	seen := map[string]string{full().Hash(): "the unchanged policy"}
	leaves := 0
	for i := 0; ; i++ {
		p, n := full(), i
		path := change(policyShape(), reflect.ValueOf(p).Elem(), "", &n)
		if path == "" {
			break
		}
		leaves++
		if other, twice := seen[p.Hash()]; twice {
			t.Errorf("changing %s gives the hash of %s", path, other)
		}
		seen[p.Hash()] = "the policy with another " + path
	}
	if leaves < 45 {
		t.Errorf("only %d values were changed", leaves)
	}
}

// change changes the n-th value, counting down, and returns its path.
func change(s *shape, v reflect.Value, path string, n *int) string {
	if s.ptr {
		v = v.Elem()
	}
	switch s.kind {
	case kindSection:
		for _, f := range s.fields {
			if changed := change(f.shape, v.Field(f.index), join(path, f.name), n); changed != "" {
				return changed
			}
		}
		return ""
	case kindList:
		for i := range v.Len() {
			if changed := change(s.elem, v.Index(i), fmt.Sprintf("%s[%d]", path, i), n); changed != "" {
				return changed
			}
		}
		return ""
	case kindMap, kindChoice:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(key))
			elem := s.elem
			if elem == nil {
				elem = s.fields[0].shape
			}
			if changed := change(elem, item, join(path, key.String()), n); changed != "" {
				v.SetMapIndex(key, item)
				return changed
			}
		}
		return ""
	}
	*n--
	if *n != -1 {
		return ""
	}
	switch s.kind {
	case kindBool:
		v.SetBool(!v.Bool())
	case kindInt, kindDuration:
		v.SetInt(v.Int() + int64(time.Second))
	default:
		v.SetString(v.String() + "x")
	}
	return path
}

func TestServerDefaults(t *testing.T) {
	s, err := ParseServer("s.yml", []byte(`
judges:
  - {name: a, adapter: openai, model: m, api_key_env: K}
  - {name: b, adapter: openai, model: m, base_url: "http://localhost:11434/v1"}
  - {name: c, adapter: command, command: [x], timeout: 1m, concurrency: 1, provider: acme}
`))
	if err != nil {
		t.Fatal(err)
	}
	eight := Duration(8 * time.Minute)
	want := []JudgeConfig{
		{Name: "a", Adapter: "openai", Provider: "openai", Model: "m", APIKeyEnv: "K", Timeout: eight, Concurrency: 4, Output: "auto"},
		{Name: "b", Adapter: "openai", Provider: "localhost:11434", Model: "m", BaseURL: "http://localhost:11434/v1", Timeout: eight, Concurrency: 4, Output: "auto"},
		{Name: "c", Adapter: "command", Provider: "acme", Command: []string{"x"}, Timeout: Duration(time.Minute), Concurrency: 1, Output: "auto"},
	}
	if diff := cmp.Diff(want, s.Judges); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestEveryCommentStatesDefaultAndBounds keeps the comments of the types true: they are the descriptions of the schemas
// and of the reference.
func TestEveryCommentStatesDefaultAndBounds(t *testing.T) {
	judge := defaultJudge()
	check := func(root *shape, defaults reflect.Value) {
		var walk func(s *shape, v reflect.Value, path string)
		walk = func(s *shape, v reflect.Value, path string) {
			for _, f := range s.fields {
				name := join(path, f.name)
				doc := comments().fields[f.owner+"."+f.goName]
				if doc == "" {
					t.Errorf("%s has no comment", name)
				}
				var value reflect.Value
				if v.IsValid() {
					value = v.Field(f.index)
				}
				if f.shape.kind == kindSection {
					if f.shape.ptr {
						value = reflect.Value{}
					}
					walk(f.shape, value, name)
					continue
				}
				checkComment(t, name, doc, f, value)
				if f.shape.kind == kindList && f.shape.elem.kind == kindSection {
					item := reflect.Value{}
					if f.shape.elem.typ == reflect.TypeFor[JudgeConfig]() {
						item = reflect.ValueOf(judge)
					}
					walk(f.shape.elem, item, name+"[]")
				}
			}
		}
		walk(root, defaults, "")
	}
	check(policyShape(), reflect.ValueOf(*DefaultPolicy()))
	check(serverShape(), reflect.ValueOf(*DefaultServer()))
}

func checkComment(t *testing.T, name, doc string, f field, value reflect.Value) {
	s := f.shape
	words := s.rule.enum
	if name == "code_scanning.severity" || name == "publish.inline_severity" || s.kind == kindString {
		for _, word := range words {
			if !strings.Contains(doc, `"`+word+`"`) {
				t.Errorf("%s: the comment does not explain %q", name, word)
			}
		}
	}
	if f.required {
		if !strings.Contains(doc, "Required") {
			t.Errorf("%s: the comment does not say that it is required", name)
		}
		return
	}
	if !strings.Contains(doc, "Default") {
		t.Errorf("%s: the comment does not state the default", name)
		return
	}
	if s.kind == kindInt || s.kind == kindDuration {
		bounds := fmt.Sprintf("; %d to %d.", s.rule.min, s.rule.max)
		if s.kind == kindDuration {
			bounds = fmt.Sprintf("; %s to %s.", Duration(s.rule.min), Duration(s.rule.max))
		}
		if !strings.HasSuffix(doc, bounds) {
			t.Errorf("%s: the comment does not end with %q", name, bounds)
		}
	}
	if !value.IsValid() || s.kind == kindChoice || strings.Contains(doc, "Default: ") {
		return
	}
	want := fmt.Sprint(value)
	switch value.Kind() {
	case reflect.String, reflect.Slice, reflect.Map:
		if value.Len() == 0 {
			want = "none"
		}
	}
	if s.kind == kindDuration {
		want = Duration(value.Int()).String()
	}
	if !strings.Contains(doc, "Default "+want+".") && !strings.Contains(doc, "Default "+want+";") {
		t.Errorf("%s: the comment does not say that the default is %s: %s", name, want, doc)
	}
}

// pinnedHash is the hash of the default policy.
const pinnedHash = "cb2ea988ba8ea14a526b3f941f9916f246fdd304bc1c7b9e24d7cd2bfc292b2c"
