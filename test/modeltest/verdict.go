package modeltest

import "encoding/json"

const shipText = `{"verdict":"ship","findings":[]}`

// Finding is a finding in an answer.
type Finding struct {
	Severity   string  `json:"severity"`
	Charge     string  `json:"charge"`
	Claim      string  `json:"claim"`
	Evidence   string  `json:"evidence,omitempty"`
	Anchor     *Anchor `json:"anchor,omitempty"`
	Suggestion string  `json:"suggestion,omitempty"`
}

// Anchor is where a finding stands.
type Anchor struct {
	Path  string `json:"path"`
	Side  string `json:"side"`
	Quote string `json:"quote"`
	Line  int    `json:"line,omitempty"`
}

// Ship answers ship without findings.
func Ship() Behaviour { return named("ship", Answer(shipText)) }

// Block answers block with the findings.
func Block(findings ...Finding) Behaviour {
	return named("block", Answer(Verdict("block", findings...)))
}

// Verdict is the text of an answer.
func Verdict(verdict string, findings ...Finding) string {
	if findings == nil {
		findings = []Finding{}
	}
	raw, err := json.Marshal(map[string]any{"verdict": verdict, "findings": findings})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func named(name string, b Behaviour) Behaviour {
	b.Name = name
	return b
}
