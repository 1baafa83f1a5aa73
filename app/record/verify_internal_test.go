package record

import (
	"errors"
	"strings"
	"testing"
)

// A record that is none is found also where its hash fits.
func TestRecordsThatAreNoneWithHashesThatFit(t *testing.T) {
	const good = `{"repository":{"id":5},"sequence":1,"version":1}`
	for text, want := range map[string]string{
		good:       "",
		" " + good: "not in the one encoding",
		`{"sequence":1,"repository":{"id":5},"version":1}`:              "not in the one encoding",
		`{"repository":{"id":5},"sequence":2,"sequence":1,"version":1}`: "not in the one encoding",
		`{"repository":{"id":5},"sequence":1,"version":1`:               "the record cannot be read: it is not JSON: unexpected EOF",
		`{"repository":{"id":5},"sequence":1.5,"version":1}`:            "the record cannot be read: it has a number",
		`[]`: "this is no record",
		`{"repository":5,"sequence":1,"version":1}`:        "this is no record",
		`{"repository":{"id":6},"sequence":1,"version":1}`: "belongs to repository 6",
		`{"repository":{"id":5},"version":1}`:              "record 0 stands in its place",
	} {
		v := NewVerifier(nil)
		s := Sealed{Genesis, sum(Genesis, []byte(text)), []byte(text)}
		if err := errors.Join(v.Begin(Repository{ID: 5}, Start()), v.Record(s), v.End(&Point{1, s.Hash})); err != nil {
			t.Fatal(err)
		}
		if r := v.Reports()[0]; r.Status == Broken != (want != "") || !strings.Contains(r.Problem, want) {
			t.Errorf("%s: %+v, want %q", text, r, want)
		}
	}
}
