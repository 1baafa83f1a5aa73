package charter

import _ "embed"

// MaxFindings is the number of findings an answer may have. An answer with more breaks the contract, and the repair round
// asks for the worst of them. The limit is ours: nobody reads more, and a runaway list is no proof.
const MaxFindings = 100

// The longest texts of a finding, in code points. They are ours. Quote and suggestion are bounded by MaxAnswerBytes only.
const (
	MaxPath     = 4_096  // the limit of Linux, in bytes
	MaxClaim    = 4_000  // a claim is one or two sentences
	MaxEvidence = 20_000 // fits a review comment of GitHub, 65,535 characters, even escaped
)

// MaxAnswerBytes is the size of the largest answer that is read, 1 MiB. A larger one breaks the contract unread.
const MaxAnswerBytes = 1 << 20

const maxFindingsText = "100"

//go:embed answer.schema.json
var answerSchema []byte

//go:embed strict.schema.json
var strictSchema []byte

// Schema is the JSON schema (draft 2020-12) of an answer: the contract that a judge is shown and that package contract holds
// every answer to. The result is the caller's to keep.
func Schema() []byte { return append([]byte(nil), answerSchema...) }

// StrictSchema is Schema in the subset that the structured-output modes of providers take, and what Request carries for
// the adapters. OpenAI's strict json_schema wants every property required and every object closed, so the optional ones
// are nullable here; Anthropic's output format refuses limits of numbers and strings, so there are none. What the subset
// cannot say is still checked: an answer in this form, its nulls of optional properties taken as absent, is validated
// against Schema like any other.
func StrictSchema() []byte { return append([]byte(nil), strictSchema...) }
