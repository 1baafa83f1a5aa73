package record_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/app/record"
)

// The format is a promise to other programs, so every member of a record is explained, and every bound is the real one.
func TestTheFormatIsDocumented(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "evidence-records.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	members := map[string]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[record.Time]() {
			return
		}
		for f := range typ.Fields() {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				members[name] = true
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[record.Record]())
	if len(members) < 90 {
		t.Errorf("only %d members were found", len(members))
	}
	for name := range members {
		if !strings.Contains(doc, "`"+name+"`") {
			t.Errorf("docs/evidence-records.md does not explain %s", name)
		}
	}
	for _, kind := range []record.Kind{record.Decision, record.Hold, record.Failure, record.Guard, record.Override, record.Dismissal, record.KillSwitch} {
		if !strings.Contains(doc, "`"+string(kind)+"`") {
			t.Errorf("docs/evidence-records.md does not explain the kind %s", kind)
		}
	}
	for _, part := range []string{
		"more than " + strconv.Itoa(record.MaxFindings) + " the rest", strconv.Itoa(record.MaxText) + " bytes, names and paths " + strconv.Itoa(record.MaxWord),
		"| `version` | " + strconv.Itoa(record.Version) + ".", `"format":` + strconv.Itoa(record.Format),
	} {
		if !strings.Contains(doc, part) {
			t.Errorf("docs/evidence-records.md lacks %q", part)
		}
	}
}
