package contract_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
)

// published is charter.Schema as a schema library understands it. The contract checks answers by hand; this is what it is
// held to.
var published = sync.OnceValue(func() *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(charter.Schema()))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:answer", doc); err != nil {
		panic(err)
	}
	return c.MustCompile("mem:answer")
})

// keepsSchema reports whether a text is JSON that the published schema accepts once nulls of optional properties are
// dropped, with no name given twice.
func keepsSchema(t testing.TB, text string) bool {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil || tokens(t, text) != tokens(t, encode(t, doc)) {
		return false
	}
	if top, ok := doc.(map[string]any); ok {
		dropNull(top, "confidence")
		list, _ := top["findings"].([]any)
		for _, x := range list {
			if f, ok := x.(map[string]any); ok {
				dropNull(f, "evidence", "anchor", "suggestion")
				if a, ok := f["anchor"].(map[string]any); ok {
					dropNull(a, "line")
				}
			}
		}
	}
	return published().Validate(doc) == nil
}

func dropNull(m map[string]any, names ...string) {
	for _, n := range names {
		if v, ok := m[n]; ok && v == nil {
			delete(m, n)
		}
	}
}

func encode(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// tokens counts the tokens of a JSON text. A decoded and encoded text has fewer when a name was given twice.
func tokens(t testing.TB, text string) int {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	n := 0
	for {
		if _, err := dec.Token(); err != nil {
			return n
		}
		n++
	}
}
