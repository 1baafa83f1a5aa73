package config

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestSchemasDescribeEveryKey walks both schemas: every key has a description, every section is closed, and every default
// is a value that its own schema accepts.
func TestSchemasDescribeEveryKey(t *testing.T) {
	for name, data := range map[string][]byte{"policy": PolicySchema(), "server": ServerSchema()} {
		var root map[string]any
		if err := json.Unmarshal(data, &root); err != nil {
			t.Fatal(err)
		}
		if root["$schema"] != "https://json-schema.org/draft/2020-12/schema" || root["title"] == "" || root["description"] == "" {
			t.Errorf("%s: the schema does not say what it is", name)
		}
		keys, defaults := 0, 0
		var walk func(node map[string]any, path string)
		walk = func(node map[string]any, path string) {
			if value, ok := node["default"]; ok {
				defaults++
				if err := compiled(t, encoded(t, node)).Validate(value); err != nil {
					t.Errorf("%s: the default of %s is not valid: %v", name, path, err)
				}
			}
			if properties, ok := node["properties"].(map[string]any); ok {
				if node["additionalProperties"] != false {
					t.Errorf("%s: %s takes unknown keys", name, path)
				}
				for key, value := range properties {
					keys++
					child := value.(map[string]any)
					// The keys of blast_radius.lenses are described by it.
					if child["description"] == nil && path != "blast_radius.lenses" {
						t.Errorf("%s: %s has no description", name, join(path, key))
					}
					walk(child, join(path, key))
				}
			}
			for _, key := range []string{"items", "additionalProperties"} {
				if child, ok := node[key].(map[string]any); ok {
					walk(child, path+"[]")
				}
			}
		}
		walk(root, "")
		if keys < 20 || defaults < 5 {
			t.Errorf("%s: only %d keys and %d defaults were seen", name, keys, defaults)
		}
	}
}

func TestSchemaHoldsBoundsAndChoices(t *testing.T) {
	validator := compiled(t, PolicySchema())
	for text, want := range map[string]bool{
		`{"prosecution": {"dry_passes": 5}}`:                           true,
		`{"prosecution": {"dry_passes": 6}}`:                           false,
		`{"prosecution": null}`:                                        true,
		`{"prosecution": {"dry_passes": null}}`:                        false,
		`{"judge_failure": "hold"}`:                                    true,
		`{"judge_failure": "Hold"}`:                                    false,
		`{"hold_for": "1d12h"}`:                                        true,
		`{"hold_for": "1h30m"}`:                                        true,
		`{"hold_for": "90"}`:                                           false,
		`{"hold_for": "h"}`:                                            false,
		`{"hold_for": ""}`:                                             false,
		`{"hold_for": "-1h"}`:                                          false,
		`{"hold_for": "1h1d"}`:                                         false,
		`{"blast_radius": {"lenses": {"low": 3}}}`:                     true,
		`{"blast_radius": {"lenses": {"medium": 1}}}`:                  false,
		`{"blast_radius": {"lenses": {"huge": 3}}}`:                    false,
		`{"attribution": {"logins": {"acme[bot]": "fern"}}}`:           true,
		`{"attribution": {"logins": {"@acme": "fern"}}}`:               false,
		`{"attribution": {"logins": {"acme": "Fern"}}}`:                false,
		`{"judges": {"prefer": {"fern": ["a", "a"]}}}`:                 false,
		`{"static_rules": {"accepted": [{"rule": "a", "path": "b"}]}}`: false,
		`{"static_rules": {"accepted": [null]}}`:                       false,
		`{"diff": {"exclude": []}}`:                                    true,
		`{"retention": 180}`:                                           false,
		`{"checks": {"required": "*"}}`:                                false,
		`null`:                                                         true,
		`[]`:                                                           false,
	} {
		var doc any
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if got := validator.Validate(doc) == nil; got != want {
			t.Errorf("%s: the schema accepts it: %v", text, got)
		}
		if _, err := ParsePolicy("p.yml", []byte(text)); (err == nil) != want {
			t.Errorf("%s: the parser does not agree: %v", text, err)
		}
	}
}

// TestDurationsOfTheSchemaAreThoseOfTheParser compares the pattern with the parser, bounds aside.
func TestDurationsOfTheSchemaAreThoseOfTheParser(t *testing.T) {
	validator := compiled(t, fmt.Appendf(nil, `{"type": "string", "pattern": %q}`, durationPattern))
	for _, s := range []string{
		"90s", "1h30m", "1.5h", ".5h", "5.h", "1d", "1d12h", "1d.5h", "100ms", "1us", "1µs", "1μs", "1ns", "0s", "0", "1", "d", "", "h", "1h 1m", "1.5d", "1d1d", "1h1d", "1D", "1H",
		"1w", ".h", ".", "1..5h", "+1h", "1e3s", "0x1h", "1dh", " 1h", "1h ",
	} {
		_, err := ParseDuration(s)
		// The parser reads two forms more, which no bound of a file lets through.
		if s == "0" || s == "+1h" {
			continue
		}
		if got := validator.Validate(s) == nil; got != (err == nil) {
			t.Errorf("%q: the pattern takes it: %v, the parser says %v", s, got, err)
		}
	}
}
