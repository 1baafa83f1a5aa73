package modeltest

import (
	"fmt"
	"strings"
)

// BadAnswer is a way to break the contract of an answer.
type BadAnswer struct {
	Name string
	Text string
}

// low is a finding that is sound and blocks nothing, so that an answer's fault is the only thing about it.
const low = `{"severity":"low","charge":"tests","claim":"No test covers the empty list."}`

// Faults are ways to break the contract of an answer. None of them holds a sound critical or high finding, which would
// block by itself whatever else is wrong (semantics 2, row 5).
func Faults() []BadAnswer {
	with := func(finding string) string { return `{"verdict":"ship","findings":[` + finding + `]}` }
	return []BadAnswer{
		{"empty", ""},
		{"white_space", " \n\t"},
		{"prose", "The change looks good to me. Ship it."},
		{"prose_before", "Here is my verdict:\n" + shipText},
		{"prose_after", shipText + "\nLet me know if you need more."},
		{"fenced", "```json\n" + shipText + "\n```"},
		{"two_objects", shipText + shipText},
		{"array", "[" + shipText + "]"},
		{"string", `"ship"`},
		{"null", "null"},
		{"cut", `{"verdict":"block","findings":[{"severity":"low","charge":"tes`},
		{"trailing_comma", `{"verdict":"ship","findings":[],}`},
		{"comment", `{"verdict":"ship", /* fine */ "findings":[]}`},
		{"single_quotes", `{'verdict':'ship','findings':[]}`},
		{"duplicate_verdict", `{"verdict":"block","verdict":"ship","findings":[]}`},
		{"missing_verdict", `{"findings":[]}`},
		{"unknown_verdict", `{"verdict":"approve","findings":[]}`},
		{"verdict_error", `{"verdict":"error","findings":[]}`},
		{"verdict_in_capitals", `{"verdict":"SHIP","findings":[]}`},
		{"verdict_true", `{"verdict":true,"findings":[]}`},
		{"key_in_capitals", `{"Verdict":"ship","findings":[]}`},
		{"missing_findings", `{"verdict":"ship"}`},
		{"null_findings", `{"verdict":"ship","findings":null}`},
		{"findings_object", `{"verdict":"ship","findings":{}}`},
		{"finding_string", with(`"No test covers it."`)},
		{"unknown_field", `{"verdict":"ship","findings":[],"summary":"fine"}`},
		{"unknown_finding_field", with(`{"severity":"low","charge":"tests","claim":"No test.","title":"Tests"}`)},
		{"block_without_findings", `{"verdict":"block","findings":[]}`},
		{"missing_severity", with(`{"charge":"tests","claim":"No test."}`)},
		{"unknown_severity", with(`{"severity":"blocker","charge":"tests","claim":"No test."}`)},
		{"severity_in_capitals", with(`{"severity":"High","charge":"tests","claim":"No test."}`)},
		{"missing_charge", with(`{"severity":"low","claim":"No test."}`)},
		{"unknown_charge", with(`{"severity":"low","charge":"style","claim":"No test."}`)},
		{"missing_claim", with(`{"severity":"low","charge":"tests"}`)},
		{"blank_claim", with(`{"severity":"low","charge":"tests","claim":"  "}`)},
		{"claim_number", with(`{"severity":"low","charge":"tests","claim":7}`)},
		{"anchor_string", with(`{"severity":"low","charge":"tests","claim":"No test.","anchor":"a.go:7"}`)},
		{"anchor_side", with(`{"severity":"low","charge":"tests","claim":"No test.","anchor":{"path":"a.go","side":"right","quote":"x"}}`)},
		{"anchor_without_path", with(`{"severity":"low","charge":"tests","claim":"No test.","anchor":{"side":"RIGHT","quote":"x"}}`)},
		{"anchor_line_string", with(`{"severity":"low","charge":"tests","claim":"No test.","anchor":{"path":"a.go","side":"RIGHT","quote":"x","line":"7"}}`)},
		{"anchor_unknown_field", with(`{"severity":"low","charge":"tests","claim":"No test.","anchor":{"path":"a.go","side":"RIGHT","quote":"x","end":9}}`)},
		{"confidence_over_one", `{"verdict":"ship","findings":[` + low + `],"confidence":1.5}`},
		{"confidence_negative", `{"verdict":"ship","findings":[` + low + `],"confidence":-0.1}`},
		{"confidence_string", `{"verdict":"ship","findings":[` + low + `],"confidence":"high"}`},
		{"too_many_findings", with(strings.TrimSuffix(strings.Repeat(low+",", 101), ","))},
	}
}

// Fault answers with the fault of that name. It panics when there is none: the test has a typing mistake.
func Fault(name string) Behaviour {
	for _, f := range Faults() {
		if f.Name == name {
			return named("fault "+name, Answer(f.Text))
		}
	}
	panic(fmt.Sprintf("modeltest: no fault is named %q", name))
}
