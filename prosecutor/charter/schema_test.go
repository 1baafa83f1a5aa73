package charter_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
)

func decode(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func compile(t *testing.T, raw []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:schema", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:schema")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func accepts(t *testing.T, s *jsonschema.Schema, text string) bool {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc) == nil
}

// at follows a path of names and indices into decoded JSON.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok {
				t.Fatalf("%v: not an object at %q", path, step)
			}
			v = m[step]
		case int:
			v = v.([]any)[step]
		}
	}
	return v
}

func names(v any) []string {
	var list []string
	for _, x := range v.([]any) {
		list = append(list, fmt.Sprint(x))
	}
	sort.Strings(list)
	return list
}

func keys(v any) []string {
	var list []string
	for k := range v.(map[string]any) {
		list = append(list, k)
	}
	sort.Strings(list)
	return list
}

func sorted[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	sort.Strings(out)
	return out
}

func TestSchemaSaysTheVocabulary(t *testing.T) {
	s := decode(t, charter.Schema())
	finding := at(t, s, "properties", "findings", "items", "properties")
	for what, c := range map[string]struct{ got, want []string }{
		"verdicts":   {names(at(t, s, "properties", "verdict", "enum")), sorted([]prosecutor.Verdict{prosecutor.Ship, prosecutor.Block})},
		"severities": {names(at(t, finding, "severity", "enum")), sorted(prosecutor.Severities())},
		"charges":    {names(at(t, finding, "charge", "enum")), sorted(prosecutor.Charges())},
		"sides":      {names(at(t, finding, "anchor", "properties", "side", "enum")), sorted([]prosecutor.Side{prosecutor.Left, prosecutor.Right})},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	for what, c := range map[string]struct {
		got  any
		want int
	}{
		"findings": {at(t, s, "properties", "findings", "maxItems"), charter.MaxFindings},
		"claim":    {at(t, finding, "claim", "maxLength"), charter.MaxClaim},
		"evidence": {at(t, finding, "evidence", "maxLength"), charter.MaxEvidence},
		"path":     {at(t, finding, "anchor", "properties", "path", "maxLength"), charter.MaxPath},
	} {
		if c.got != float64(c.want) {
			t.Errorf("the schema's limit of %s is %v, the constant says %d", what, c.got, c.want)
		}
	}
	system := (&charter.Brief{Text: plainDiff}).Request(prosecutor.Correctness, nonce).System
	if want := fmt.Sprintf("At most %d findings.", charter.MaxFindings); !strings.Contains(system, want) {
		t.Errorf("the charter does not say %q", want)
	}
}

// The strict schema has the same properties as the contract's, all of them required, the optional ones nullable, and none
// of the keywords that structured-output modes refuse.
func TestStrictSchemaIsTheSameAnswerForStrictModes(t *testing.T) {
	loose, strict := decode(t, charter.Schema()), decode(t, charter.StrictSchema())
	allowed := []string{"type", "enum", "properties", "required", "additionalProperties", "items", "anyOf", "description"}
	unions := 0
	var walk func(v any)
	walk = func(v any) {
		m := v.(map[string]any)
		for k := range m {
			if !slices.Contains(allowed, k) {
				t.Errorf("keyword %q is not in the common subset", k)
			}
		}
		if _, list := m["type"].([]any); list || m["anyOf"] != nil {
			unions++
		}
		if props, ok := m["properties"].(map[string]any); ok {
			if m["additionalProperties"] != false {
				t.Error("an object is open")
			}
			if d := cmp.Diff(keys(props), names(m["required"])); d != "" {
				t.Errorf("a property is not required:\n%s", d)
			}
			for _, p := range props {
				walk(p)
			}
		}
		if items, ok := m["items"]; ok {
			walk(items)
		}
		if any, ok := m["anyOf"].([]any); ok {
			for _, x := range any {
				walk(x)
			}
		}
	}
	walk(strict)
	if unions > 16 {
		t.Errorf("%d unions, Anthropic takes 16", unions)
	}
	nullable := func(v any) bool {
		m := v.(map[string]any)
		if list, ok := m["type"].([]any); ok {
			return slices.Contains(list, any("null"))
		}
		list, ok := m["anyOf"].([]any)
		return ok && slices.ContainsFunc(list, func(x any) bool { return x.(map[string]any)["type"] == "null" })
	}
	compare := func(what string, loose, strict any) {
		l, s := at(t, loose, "properties"), at(t, strict, "properties")
		if d := cmp.Diff(keys(l), keys(s)); d != "" {
			t.Errorf("%s: properties differ (-contract +strict):\n%s", what, d)
		}
		required := names(at(t, loose, "required"))
		for _, k := range keys(s) {
			p := at(t, s, k)
			if nullable(p) == slices.Contains(required, k) {
				t.Errorf("%s: %s is required %v and nullable %v", what, k, slices.Contains(required, k), nullable(p))
			}
			if e := at(t, l, k, "enum"); e != nil && cmp.Diff(e, at(t, p, "enum")) != "" {
				t.Errorf("%s: the words of %s differ", what, k)
			}
		}
	}
	compare("answer", loose, strict)
	lf, sf := at(t, loose, "properties", "findings", "items"), at(t, strict, "properties", "findings", "items")
	compare("finding", lf, sf)
	compare("anchor", at(t, lf, "properties", "anchor"), at(t, sf, "properties", "anchor", "anyOf", 0))
}

func TestSchemasAcceptAndRefuse(t *testing.T) {
	contract, strict, verification := compile(t, charter.Schema()), compile(t, charter.StrictSchema()), compile(t, charter.VerificationSchema())
	for _, c := range []struct {
		schema *jsonschema.Schema
		text   string
		want   bool
	}{
		{contract, `{"verdict":"ship","findings":[]}`, true},
		{contract, `{"verdict":"ship","findings":[],"confidence":0.5}`, true},
		{contract, `{"verdict":"block","findings":[]}`, false},
		{contract, `{"verdict":"ship","findings":[],"confidence":1.01}`, false},
		{contract, `{"verdict":"ship","findings":[{"severity":"low","charge":"tests","claim":"\u00a0\u200b\n"}]}`, false},
		{contract, `{"verdict":"ship","findings":[{"severity":"low","charge":"tests","claim":"漏"}]}`, true},
		{strict, `{"verdict":"ship","findings":[],"confidence":null}`, true},
		{strict, `{"verdict":"ship","findings":[]}`, false},
		{strict, `{"verdict":"block","confidence":1,"findings":[{"severity":"low","charge":"tests","claim":"c","evidence":null,"anchor":null,"suggestion":null}]}`, true},
		{strict, `{"verdict":"block","confidence":1,"findings":[{"severity":"low","charge":"tests","claim":"c","evidence":"e","anchor":{"path":"p","side":"LEFT","quote":"q","line":null},"suggestion":null}]}`, true},
		{verification, `{"refuted":true,"reason":"line 4 checks it"}`, true},
		{verification, `{"refuted":"true","reason":"x"}`, false},
	} {
		if got := accepts(t, c.schema, c.text); got != c.want {
			t.Errorf("%s: accepted %v, want %v", c.text, got, c.want)
		}
	}
}

func TestSchemasBelongToTheCaller(t *testing.T) {
	charter.Schema()[0] = 'x'
	charter.StrictSchema()[0] = 'x'
	charter.VerificationSchema()[0] = 'x'
	if charter.Schema()[0] != '{' || charter.StrictSchema()[0] != '{' || charter.VerificationSchema()[0] != '{' {
		t.Error("a caller can change a schema for everybody")
	}
}
