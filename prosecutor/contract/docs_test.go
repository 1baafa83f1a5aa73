package contract_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
)

// Every answer in docs/judges-contract.md becomes what the document says, and its schema is the one in force.
func TestDocumentedAnswers(t *testing.T) {
	raw, err := os.ReadFile("../../docs/judges-contract.md")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, m := range regexp.MustCompile("(?ms)^```json (\\S+)\n(.*?)^```$").FindAllSubmatch(raw, -1) {
		kind, text := string(m[1]), string(m[2])
		count[kind]++
		if kind == "schema" {
			if text != string(charter.Schema()) {
				t.Errorf("the document shows another schema:\n%s", text)
			}
			continue
		}
		pass, _ := run(t, prosecutor.Correctness, refund(t), say(text), say(text))
		got := string(pass.Verdict)
		if pass.ErrorKind == prosecutor.SchemaViolation {
			got = "violation"
		}
		if got != kind {
			t.Errorf("documented as %s, but %s (%v):\n%s", kind, got, pass.Err, text)
		}
		for _, f := range pass.Findings {
			if f.Anchor != nil && f.Place.MatchedBy != "line" {
				t.Errorf("the documented anchor is not found: %+v", f.Place)
			}
		}
	}
	for _, kind := range []string{"schema", "ship", "block", "violation"} {
		if count[kind] == 0 {
			t.Errorf("the document has no %s", kind)
		}
	}
}
