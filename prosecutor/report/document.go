// Package report renders the outcome of one prosecuted change: as JSON that programs rely on, as text for a terminal,
// as Markdown for a pull request, and as SARIF 2.1.0 for code-scanning tools.
//
// A Document is plain data. Whatever in it comes from the change (paths, quotes, claims, commit messages) is hostile:
// every renderer escapes it for its medium, and secrets are masked before they enter a Document.
package report

// FormatVersion is the version of the JSON document. It changes only when a field changes its meaning or goes away.
const FormatVersion = 1

// Document is the outcome of one case. docs/review-json.md describes every field.
type Document struct {
	Version         int         `json:"version"`
	Tool            Tool        `json:"tool"`
	Case            Case        `json:"case"`
	Outcome         string      `json:"outcome"`  // decided | parked | held | not_judged | errored
	Decision        *string     `json:"decision"` // ADVANCE | LOOP_BACK | ESCALATE; null when nothing was decided
	Reason          string      `json:"reason"`
	Causes          []string    `json:"causes"`
	Summary         string      `json:"summary"` // the reason as a sentence
	Next            string      `json:"next"`    // what to do now
	StaticRulesOnly bool        `json:"static_rules_only"`
	BlastRadius     BlastRadius `json:"blast_radius"`
	Builder         Builder     `json:"builder"`
	Evidence        []Evidence  `json:"evidence"`
	Lenses          []Lens      `json:"lenses"`
	Findings        []Finding   `json:"findings"`
	NotRead         []NotRead   `json:"not_read"`
	Ledger          *Ledger     `json:"ledger"` // null without a ledger
	Notes           []string    `json:"notes"`
	Explain         []Step      `json:"explain,omitempty"`
}

// Tool names the program.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Case identifies what was judged.
type Case struct {
	Repo         string `json:"repo"`
	Branch       string `json:"branch"`
	Base         string `json:"base"`
	BaseRef      string `json:"base_ref"`
	MergeBase    string `json:"merge_base"`
	Head         string `json:"head"`
	PolicyHash   string `json:"policy_hash"`
	PolicySource string `json:"policy_source"`
	SpecHash     string `json:"spec_hash"`
	SpecSource   string `json:"spec_source"`
}

// BlastRadius is how far the change reaches.
type BlastRadius struct {
	Level         string   `json:"level"`
	Why           []string `json:"why"`
	ChangedLines  int      `json:"changed_lines"`
	SourceLines   int      `json:"source_lines"`
	Files         int      `json:"files"`
	SelfModifying bool     `json:"self_modifying"`
}

// Builder is who wrote the change, as far as it can be seen.
type Builder struct {
	Families []string `json:"families"`
	Found    []Sign   `json:"found"`
}

// Sign is one thing a builder was recognised by.
type Sign struct {
	Family string `json:"family"`
	From   string `json:"from"`
	Value  string `json:"value"`
}

// Evidence is the state of one source.
type Evidence struct {
	Source      string   `json:"source"`
	State       string   `json:"state"` // clean | red | pending | unavailable | not_applicable
	Detail      string   `json:"detail"`
	CountsAsRed bool     `json:"counts_as_red"`
	Findings    []string `json:"findings"` // ids
}

// Lens is what one lens said.
type Lens struct {
	Lens         string `json:"lens"`
	Judge        string `json:"judge"`
	Family       string `json:"family"`
	Model        string `json:"model"`
	Verdict      string `json:"verdict"` // ship | block | error
	ErrorKind    string `json:"error_kind"`
	Error        string `json:"error"`
	Degraded     bool   `json:"degraded"`
	Refuted      bool   `json:"refuted"`
	SameFamily   bool   `json:"same_family"`
	Independence string `json:"independence"`
	Passes       []Pass `json:"passes"`
	Skipped      []Skip `json:"skipped"`
}

// Pass is one fresh call under a lens.
type Pass struct {
	Verdict   string  `json:"verdict"`
	ErrorKind string  `json:"error_kind"`
	Calls     int     `json:"calls"`
	LatencyMS int64   `json:"latency_ms"`
	TokensIn  int     `json:"tokens_in"`
	TokensOut int     `json:"tokens_out"`
	CostUSD   float64 `json:"cost_usd"`
}

// Skip is a judge that was passed over.
type Skip struct {
	Judge string `json:"judge"`
	Why   string `json:"why"`
}

// Finding is one accusation.
type Finding struct {
	ID         string `json:"id"`
	Lens       string `json:"lens"`
	Source     string `json:"source"` // rule | evidence | model
	Origin     string `json:"origin"`
	Rule       string `json:"rule"`
	Severity   string `json:"severity"`
	Claimed    string `json:"claimed_severity"`
	Charge     string `json:"charge"`
	Blocking   bool   `json:"blocking"`
	Standing   bool   `json:"standing"` // of an earlier lap, not repeated, its code still there
	Path       string `json:"path"`
	Side       string `json:"side"`
	StartLine  int    `json:"start_line"`
	EndLine    int    `json:"end_line"`
	Anchored   bool   `json:"anchored"`
	Anchor     string `json:"anchor"` // anchored | ambiguous | unanchored | no_file
	Quote      string `json:"quote"`
	Claim      string `json:"claim"`
	Evidence   string `json:"evidence"`
	Suggestion string `json:"suggestion"`
}

// NotRead is a file that no judge read.
type NotRead struct {
	Path   string `json:"path"`
	Lines  int    `json:"lines"`
	Reason string `json:"reason"`
}

// Ledger is where the branch stands.
type Ledger struct {
	Laps          int      `json:"laps"`
	BudgetLaps    int      `json:"budget_laps"`
	MaxLaps       int      `json:"max_laps"`
	Epoch         int      `json:"epoch"`
	Converged     bool     `json:"converged"`
	Escalated     bool     `json:"escalated"`
	NotConverging bool     `json:"not_converging"`
	OpenConcerns  []string `json:"open_concerns"`
}

// Step is one rule that fired on the way to the decision.
type Step struct {
	Rule   string `json:"rule"` // the section of docs/semantics.md
	Detail string `json:"detail"`
}

// Counts tallies the findings by severity.
func (d *Document) Counts() map[string]int {
	n := map[string]int{}
	for _, f := range d.Findings {
		n[f.Severity]++
	}
	return n
}
