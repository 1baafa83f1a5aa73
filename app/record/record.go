// Package record defines the records of gate evidence (semantics 12): what one holds, the one encoding it has, how the
// records of a repository form a chain, and how a chain is exported and verified. It knows neither database nor GitHub;
// package app/store keeps the chains. docs/evidence-records.md describes the format for others.
//
// Functions are safe for concurrent use; a Writer or Verifier is for one goroutine.
package record

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Version is the version of the records' content. It changes when a field changes its meaning or goes away.
const Version = 1

// Kind is what a record is about.
type Kind string

// The kinds of records. The first four are rulings of the gate, the last three are what people did.
const (
	Decision   Kind = "decision"    // ADVANCE, LOOP_BACK or ESCALATE
	Hold       Kind = "hold"        // the case waits for a judge
	Failure    Kind = "failure"     // the case could not be judged, and the fault is ours
	Guard      Kind = "guard"       // a guard ended the case without a decision, or what stands was shown again
	Override   Kind = "override"    // a person let a head pass against the gate
	Dismissal  Kind = "dismissal"   // a person dismissed a finding
	KillSwitch Kind = "kill_switch" // a person switched judging of a pull request off, or on again
)

// Record is one record of gate evidence. Texts in it that come from a change, a model or a person are bounded by Text, and
// their secrets are masked by whoever makes the record. There is no number in it but whole ones.
type Record struct {
	Version  int      `json:"version"`
	Sequence int64    `json:"sequence"` // in the chain of the repository, from 1; the store sets it
	At       Time     `json:"at"`
	Kind     Kind     `json:"kind"`
	Software Software `json:"software"`

	Repository  Repository `json:"repository"`
	PullRequest int        `json:"pull_request,omitempty"` // 0 for a merge group
	MergeGroup  string     `json:"merge_group,omitempty"`  // the branch of a merge group
	Case        Case       `json:"case"`
	Run         *Run       `json:"run,omitempty"` // the judging; none for what a person did

	Event  string  `json:"event,omitempty"`
	Sender *Sender `json:"sender,omitempty"` // who caused it
	Act    *Act    `json:"act,omitempty"`    // what a person did

	Outcome    string   `json:"outcome,omitempty"`
	Decision   string   `json:"decision,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	Causes     []string `json:"causes,omitempty"`
	Detail     string   `json:"detail,omitempty"`
	Title      string   `json:"title,omitempty"`      // of the check run
	Conclusion string   `json:"conclusion,omitempty"` // of the check run; none while it is in progress
	// Restates is the record of the decision that is shown again by this one, which decides nothing.
	Restates int64    `json:"restates,omitempty"`
	Members  []Member `json:"members,omitempty"` // of a merge group whose decisions carry over

	BlastRadius   string   `json:"blast_radius,omitempty"`
	SelfModifying bool     `json:"self_modifying,omitempty"`
	Builders      []string `json:"builders,omitempty"` // model families that built the change

	Evidence        []Evidence     `json:"evidence,omitempty"`
	Lenses          []Lens         `json:"lenses,omitempty"`
	Verifications   []Verification `json:"verifications,omitempty"`
	Findings        []Finding      `json:"findings,omitempty"`
	FindingsOmitted int            `json:"findings_omitted,omitempty"` // beyond MaxFindings
	Failures        []LensFailure  `json:"failures,omitempty"`         // lenses without a verdict that were held or let pass

	Ledger *Transition `json:"ledger,omitempty"`
	// KeepDays is how long the record is kept at least, after which it may be pruned.
	KeepDays int `json:"keep_days"`
}

// Software is the program that made a record.
type Software struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Repository is a repository as GitHub knew it then. Its number never changes, and names the chain.
type Repository struct {
	ID   int64  `json:"id"`
	Name string `json:"name"` // owner/name
}

// Case is what was judged (semantics 1).
type Case struct {
	Base           string `json:"base"`
	Head           string `json:"head"`
	PolicyHash     string `json:"policy_hash"`
	SpecHash       string `json:"spec_hash"`
	EvidenceStates string `json:"evidence_states,omitempty"`
}

// Run is the judging that made a record.
type Run struct {
	ID         int64  `json:"id"`
	Generation int    `json:"generation"` // of the head, from 1
	Beginning  int    `json:"beginning"`  // how often this judging was begun
	Cause      string `json:"cause"`
}

// Sender is the account behind an event, with what GitHub said it may do.
type Sender struct {
	Login      string `json:"login,omitempty"`
	Type       string `json:"type,omitempty"`
	Permission string `json:"permission,omitempty"`
}

// Act is what a person did.
type Act struct {
	By      string `json:"by"`
	Reason  string `json:"reason,omitempty"`
	Finding string `json:"finding,omitempty"` // the identity of a finding that was dismissed
	Judging string `json:"judging,omitempty"` // of a kill switch: on or off from now on
}

// Member is a pull request of a merge group.
type Member struct {
	PullRequest int    `json:"pull_request"`
	Head        string `json:"head"`
}

// Evidence is the state of one source.
type Evidence struct {
	Source      string `json:"source"`
	State       string `json:"state"`
	Detail      string `json:"detail,omitempty"`
	CountsAsRed bool   `json:"counts_as_red,omitempty"`
	Findings    int    `json:"findings,omitempty"`
}

// Judge is who was asked.
type Judge struct {
	Name     string `json:"name"`
	Family   string `json:"family,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"` // as configured
	Static   bool   `json:"static,omitempty"`
}

// Lens is what came of one lens.
type Lens struct {
	Lens       string    `json:"lens"`
	Verdict    string    `json:"verdict"`
	ErrorKind  string    `json:"error_kind,omitempty"`
	Error      string    `json:"error,omitempty"`
	Judge      *Judge    `json:"judge,omitempty"` // whose verdict it is, or who failed last
	Degraded   bool      `json:"degraded,omitempty"`
	Refuted    bool      `json:"refuted,omitempty"`
	SameFamily bool      `json:"same_family,omitempty"`
	KeptFrom   int64     `json:"kept_from,omitempty"` // the record of the judging whose verdict was kept; nobody was asked
	Kept       bool      `json:"kept,omitempty"`
	Attempts   []Attempt `json:"attempts,omitempty"` // every judge that was asked, in order
}

// Attempt is what one judge did under one lens.
type Attempt struct {
	Judge     Judge  `json:"judge"`
	Verdict   string `json:"verdict"`
	ErrorKind string `json:"error_kind,omitempty"`
	Passes    []Pass `json:"passes,omitempty"`
}

// Call is what asking a model came to.
type Call struct {
	Model        string `json:"model,omitempty"` // as the provider reported it
	Calls        int    `json:"calls"`
	LatencyMS    int64  `json:"latency_ms"`
	TokensIn     int    `json:"tokens_in"`
	TokensOut    int    `json:"tokens_out"`
	CostMicroUSD int64  `json:"cost_micro_usd"`
	PromptHash   string `json:"prompt_hash,omitempty"` // of the prompt with a fixed word for the nonce
	AnswerHash   string `json:"answer_hash,omitempty"` // of the last answer as it came
}

// Pass is one pass.
type Pass struct {
	Verdict   string `json:"verdict"`
	ErrorKind string `json:"error_kind,omitempty"`
	Error     string `json:"error,omitempty"`
	Repairs   int    `json:"repairs,omitempty"`
	Call
}

// Verification is an accusation of an earlier lap that was put to another judge.
type Verification struct {
	Finding   string `json:"finding"`
	Ruling    string `json:"ruling"`
	ErrorKind string `json:"error_kind,omitempty"`
	Judge     *Judge `json:"judge,omitempty"`
	Call
}

// Finding is one accusation.
type Finding struct {
	ID        string `json:"id"`
	Lens      string `json:"lens,omitempty"`
	Source    string `json:"source,omitempty"`
	Origin    string `json:"origin,omitempty"`
	Rule      string `json:"rule,omitempty"`
	Severity  string `json:"severity"`
	Claimed   string `json:"claimed,omitempty"`
	Charge    string `json:"charge"`
	Claim     string `json:"claim"`
	Blocking  bool   `json:"blocking,omitempty"`
	Standing  bool   `json:"standing,omitempty"`
	Dismissed bool   `json:"dismissed,omitempty"`
	Anchor    string `json:"anchor,omitempty"`
	Path      string `json:"path,omitempty"`
	Side      string `json:"side,omitempty"`
	StartLine int    `json:"start_line,omitempty"`
	EndLine   int    `json:"end_line,omitempty"`
}

// LensFailure is a lens without a verdict that was held, or let pass.
type LensFailure struct {
	Lens   string `json:"lens"`
	Effect string `json:"effect"`
	Cause  string `json:"cause,omitempty"`
}

// Transition is the ledger before and after.
type Transition struct {
	Before Ledger `json:"before"`
	After  Ledger `json:"after"`
}

// Ledger is a ledger in short.
type Ledger struct {
	Hash         string `json:"hash"` // SHA-256 of its JSON, in hexadecimal
	Epoch        int    `json:"epoch"`
	Laps         int    `json:"laps"`
	BudgetLaps   int    `json:"budget_laps"`
	Attempts     int    `json:"attempts"` // of the stage
	LastVerdict  string `json:"last_verdict,omitempty"`
	OpenConcerns int    `json:"open_concerns"`
	Dismissals   int    `json:"dismissals"`
	Converged    bool   `json:"converged"`
	Escalated    bool   `json:"escalated"`
}

// Bounds of what a record takes over from others. Lengths are in bytes.
const (
	MaxText     = 1000
	MaxWord     = 300
	MaxFindings = 200
)

// Text bounds a text of somebody else to most bytes, at the edge of a character, and marks the cut. Bytes that are not
// UTF-8 become U+FFFD.
func Text(s string, most int) string {
	if len(s) <= most {
		return strings.ToValidUTF8(s, "�")
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.ToValidUTF8(s[:end], "�") + "…"
}

// Time is a moment in milliseconds, in UTC, as RFC 3339 writes it.
type Time struct{ time.Time }

const timeLayout = "2006-01-02T15:04:05.000Z"

// At makes a Time.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"` + timeLayout + `"`)), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(data []byte) error {
	parsed, err := time.Parse(`"`+timeLayout+`"`, string(data))
	t.Time = parsed
	return err
}
