package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/prosecutor/charter/strictjson"
)

const limit = 4096

func TestParse(t *testing.T) {
	type (
		object = strictjson.Object
		array  = strictjson.Array
	)
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for _, c := range []struct {
		name, text string
		want       object
		problems   []string // substrings, one for each problem
		err        string   // substring
	}{
		{name: "empty object", text: "{}", want: object{}},
		{name: "white space around", text: " \r\n\t{} \n", want: object{}},
		{name: "every type", text: `{"a":["s",1.5,true,null,{}]}`, want: object{{"a", array{"s", json.Number("1.5"), true, nil, object{}}}}},
		{name: "names keep their case", text: `{"A":1,"a":2}`, want: object{{"A", json.Number("1")}, {"a", json.Number("2")}}},
		{name: "name twice", text: `{"a":1,"a":2}`, want: object{{"a", json.Number("1")}, {"a", json.Number("2")}}, problems: []string{`"a" is given twice`}},
		{name: "name twice, once escaped", text: `{"a":1,"\u0061":2}`, want: object{{"a", json.Number("1")}, {"a", json.Number("2")}}, problems: []string{`"a" is given twice`}},
		{name: "name twice inside", text: `{"a":[{"b":1,"b":1}]}`, want: object{{"a", array{object{{"b", json.Number("1")}, {"b", json.Number("1")}}}}}, problems: []string{`"b" is given twice`}},
		{name: "deep enough", text: deep(2), want: object{{"a", object{{"a", json.Number("1")}}}}},
		{name: "huge exponent", text: `{"a":1e999999999}`, want: object{{"a", strictjson.Omitted{}}}, problems: []string{"out of range"}},
		{name: "smallest float", text: `{"a":5e-324}`, want: object{{"a", json.Number("5e-324")}}},
		{name: "below the smallest float", text: `{"a":5e-325}`, want: object{{"a", strictjson.Omitted{}}}, problems: []string{"out of range"}},
		{name: "tiny exponent", text: `{"a":1e-999999999}`, want: object{{"a", strictjson.Omitted{}}}, problems: []string{"out of range"}},
		{name: "exponent beyond integers", text: `{"a":1e99999999999999999999}`, want: object{{"a", strictjson.Omitted{}}}, problems: []string{"out of range"}},
		{name: "long number", text: `{"a":` + strings.Repeat("9", 65) + `}`, want: object{{"a", strictjson.Omitted{}}}, problems: []string{"out of range"}},
		{name: "empty", text: "", err: "empty"},
		{name: "blank", text: " \n", err: "empty"},
		{name: "null", text: "null", err: "is null"},
		{name: "array", text: "[{}]", err: "is an array"},
		{name: "string", text: `"{}"`, err: "is a string"},
		{name: "number", text: "1", err: "is a number"},
		{name: "boolean", text: "true", err: "is a boolean"},
		{name: "prose before", text: "Sure: {}", err: "nothing may stand before"},
		{name: "prose behind", text: "{} done", err: "nothing may stand behind"},
		{name: "two objects", text: "{}{}", err: "nothing may stand behind"},
		{name: "code fence", text: "```json\n{}\n```", err: "code fence"},
		{name: "byte order mark", text: "\ufeff{}", err: "byte order mark"},
		{name: "no-break space around", text: "\u00a0{}", err: "nothing may stand before"},
		{name: "cut off", text: `{"a": [1, 2`, err: "cut off"},
		{name: "trailing comma", text: `{"a":1,}`, err: "not valid JSON"},
		{name: "comment", text: "{} // ok", err: "nothing may stand behind"},
		{name: "single quotes", text: `{'a':1}`, err: "not valid JSON"},
		{name: "raw line feed in a string", text: "{\"a\":\"x\ny\"}", err: "not valid JSON"},
		{name: "NaN", text: `{"a":NaN}`, err: "not valid JSON"},
		{name: "leading zero", text: `{"a":01}`, err: "not valid JSON"},
		{name: "invalid UTF-8", text: "{\"a\":\"\xff\"}", err: "UTF-8"},
		{name: "NUL", text: "{}\x00", err: "nothing may stand behind"},
		{name: "too long", text: `{"a":"` + strings.Repeat("x", limit) + `"}`, err: "at most 4096"},
		{name: "nested beyond all", text: strings.Repeat("[", limit-2), err: "nothing may stand before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, problems, err := strictjson.Parse(c.text, limit)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || got != nil {
					t.Fatalf("got %v, %v; want an error with %q", got, err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("object (-want +got):\n%s", d)
			}
			if len(problems) != len(c.problems) {
				t.Fatalf("problems %q, want %q", problems, c.problems)
			}
			for i, want := range c.problems {
				if !strings.Contains(problems[i], want) {
					t.Errorf("problem %q, want one with %q", problems[i], want)
				}
			}
		})
	}
}

func TestNestingIsBounded(t *testing.T) {
	nest := func(n int) string { return strings.Repeat(`{"a":`, n) + "[]" + strings.Repeat("}", n) }
	if _, problems, err := strictjson.Parse(nest(strictjson.MaxDepth-1), limit); err != nil || len(problems) != 0 {
		t.Errorf("the deepest allowed nesting: %q, %v", problems, err)
	}
	obj, problems, err := strictjson.Parse(`{"deep":`+nest(strictjson.MaxDepth)+`,"next":"seen"}`, limit)
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0], "deeper") {
		t.Errorf("one level too many: %q, %v", problems, err)
	}
	if next, _ := obj.Get("next"); next != "seen" {
		t.Errorf("what follows the deep value is lost: %v", obj)
	}
}

func TestProblemsAreFewAndShort(t *testing.T) {
	name := strings.Repeat("\u202en", 2000)
	text := `{` + strings.Repeat(`"`+name+`":1,`, 40) + `"z":1}`
	_, problems, err := strictjson.Parse(text, 1<<20)
	if err != nil || len(problems) != 10 {
		t.Fatalf("%d problems, %v", len(problems), err)
	}
	for _, p := range problems {
		if len(p) > 600 || strings.Contains(p, "\u202e") {
			t.Errorf("a problem of %d bytes that shows raw text: %.80q", len(p), p)
		}
	}
}

// What parses without complaint means the same to encoding/json, and nothing is lost on the way.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,"a":2}`, "```", `{"a":[1e5,"\ud800",{"b":null}]}`, "\ufeff{}", "{\"\xff\":1}", `{"a":1e400}`, "[[[[[["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		obj, problems, err := strictjson.Parse(text, 1<<16)
		if err != nil || len(problems) > 0 {
			return
		}
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		var want map[string]any
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", text, err)
		}
		if d := cmp.Diff(want, plain(obj)); d != "" {
			t.Errorf("%q (-encoding/json +strictjson):\n%s", text, d)
		}
	})
}

func plain(v any) any {
	switch v := v.(type) {
	case strictjson.Object:
		m := map[string]any{}
		for _, x := range v {
			m[x.Name] = plain(x.Value)
		}
		return m
	case strictjson.Array:
		list := []any{}
		for _, x := range v {
			list = append(list, plain(x))
		}
		return list
	default:
		return v
	}
}
