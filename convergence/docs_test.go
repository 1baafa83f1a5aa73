package convergence_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	. "github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/test/vectortest"
)

// TestDocumentedLedger holds docs/convergence.md to the ledger: its example is one, and its table names every field.
func TestDocumentedLedger(t *testing.T) {
	raw, err := os.ReadFile("../docs/convergence.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(raw)
	_, example, found := strings.Cut(doc, "```json\n")
	if !found {
		t.Fatal("there is no example")
	}
	example, _, _ = strings.Cut(example, "```")
	var l Ledger
	vectortest.Decode(t, []byte(example), &l)
	again, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal([]byte(example), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("the example is not what the ledger looks like:\n%s", again)
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[Ledger](), reflect.TypeFor[StageState](), reflect.TypeFor[Waiting](), reflect.TypeFor[Override](), reflect.TypeFor[Entry](), reflect.TypeFor[Concern](), reflect.TypeFor[Settled]()} {
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name == "" || !strings.Contains(doc, "`"+name+"`") {
				t.Errorf("%s.%s (%q) is not documented", typ.Name(), typ.Field(i).Name, name)
			}
		}
	}
}
