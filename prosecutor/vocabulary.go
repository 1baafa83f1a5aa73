// Package prosecutor holds the words of a prosecution: lenses, charges, severities, verdicts, findings and evidence.
//
// It is the lowest package of the module. The packages below it (diff, charter, contract, panel, judge, evidence, ...)
// prosecute one diff; config and convergence share these words and nothing else of it. It imports only the standard
// library, does no I/O, and everything in it is safe for concurrent use.
//
// The meaning of every word is docs/semantics.md, section 1.
package prosecutor

// Lens is the point of view a judge takes. There are three, always in the order of Lenses.
type Lens string

// The lenses, in their fixed order.
const (
	Correctness Lens = "correctness"
	Security    Lens = "security"
	Spec        Lens = "spec"
)

// Lenses returns the lenses in their fixed order. A blast radius of n lenses takes the first n.
func Lenses() []Lens { return []Lens{Correctness, Security, Spec} }

// Charge is what a finding accuses the change of.
type Charge string

// The charges.
const (
	ChargeSpec        Charge = "spec"
	ChargeScope       Charge = "scope"
	ChargeCorrectness Charge = "correctness"
	ChargeTests       Charge = "tests"
	ChargeSecurity    Charge = "security"
)

// Charges returns the charges in the order they are told to a judge.
func Charges() []Charge {
	return []Charge{ChargeSpec, ChargeScope, ChargeCorrectness, ChargeTests, ChargeSecurity}
}

// Severity ranks a finding. Severities compare exactly: "High" is not a severity.
type Severity string

// The severities, most severe first.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Low      Severity = "low"
)

// Severities returns the severities, most severe first.
func Severities() []Severity { return []Severity{Critical, High, Medium, Low} }

// Rank is 4 for critical down to 1 for low, and 0 for anything else.
func (s Severity) Rank() int {
	switch s {
	case Critical:
		return 4
	case High:
		return 3
	case Medium:
		return 2
	case Low:
		return 1
	default:
		return 0
	}
}

// AtLeast reports whether s is a known severity that is as severe as floor or more.
func (s Severity) AtLeast(floor Severity) bool { return s.Rank() > 0 && s.Rank() >= floor.Rank() }

// Blocks reports whether a finding of this severity blocks by itself: critical and high do (semantics 2, row 5).
func (s Severity) Blocks() bool { return s.AtLeast(High) }

// Side is the side of a diff a line stands on, in GitHub's words.
type Side string

// The sides of a diff.
const (
	Left  Side = "LEFT"  // the old file: deleted lines, and context by its old number
	Right Side = "RIGHT" // the new file: added lines, and context by its new number
)

// Verdict is the outcome of one pass, and of one lens. It is not a decision: those belong to package convergence.
type Verdict string

// The verdicts.
const (
	Ship    Verdict = "ship"
	Block   Verdict = "block"
	Errored Verdict = "error"
)

// ErrorKind says why a pass ended as Errored. It is empty for the other verdicts.
type ErrorKind string

// The kinds of failure of a pass.
const (
	Timeout         ErrorKind = "timeout"          // no answer in time
	Transport       ErrorKind = "transport"        // no connection, a broken one, a 5xx, a rate limit, a process that failed
	Refusal         ErrorKind = "refusal"          // the provider signals that the model will not answer
	Quota           ErrorKind = "quota"            // credit or quota is used up, by status and code alone
	Auth            ErrorKind = "auth"             // credentials are missing or rejected: ours to fix
	Panic           ErrorKind = "panic"            // a bug of ours
	SchemaViolation ErrorKind = "schema_violation" // the answer, and its repair, broke the contract
	Canceled        ErrorKind = "canceled"         // the caller gave the case up; never a verdict
)

// FindingSource says who made a finding.
type FindingSource string

// The sources of findings.
const (
	FromRule     FindingSource = "rule"     // a rule of the contract itself: no change, too large
	FromEvidence FindingSource = "evidence" // deterministic evidence: code scanning, CI checks, hollow-test, static rules
	FromModel    FindingSource = "model"    // a judge
)

// Anchor is what a finding says about where it stands: the accused code, quoted.
type Anchor struct {
	Path  string
	Side  Side   // empty when the accuser did not say
	Quote string // whole lines, without diff markers
	Line  int    // first line of the quote on that side as claimed; 0 when not given
}

// AnchorStatus is what became of an anchor when it was looked for in the diff (semantics 2, "Anchors").
type AnchorStatus string

// The states of an anchor.
const (
	Anchored   AnchorStatus = "anchored"   // found; the place holds path, side and lines
	Ambiguous  AnchorStatus = "ambiguous"  // the code exists more than once: no line is chosen, severity stays
	Unanchored AnchorStatus = "unanchored" // the code is not in the diff: medium at most
	NoFile     AnchorStatus = "no_file"    // the finding names no file
)

// Place is where an anchor was found. Lines are 1-based and inclusive, and 0 unless the status is Anchored.
type Place struct {
	Status    AnchorStatus
	Path      string
	Side      Side
	StartLine int
	EndLine   int
	MatchedBy string // "line", "file" or "diff"; empty unless anchored
}

// Finding is one accusation against the change.
type Finding struct {
	ID         string        // identity across laps; see Identify
	Lens       Lens          // the lens under which it was made; empty for rules and evidence
	Source     FindingSource //
	Origin     string        // the judge's name, the evidence source, or the rule that made it
	Rule       string        // id of the static rule or tool rule, if any
	Severity   Severity      // effective: after the cap for unanchored findings
	Claimed    Severity      // as the accuser said, before the cap
	Charge     Charge
	Claim      string
	Evidence   string
	Suggestion string // what the quoted lines should become, if the accuser said
	Anchor     *Anchor
	Place      Place
}

// EvidenceState is the answer of one evidence source. The states never collapse into each other.
type EvidenceState string

// The states of evidence.
const (
	Clean         EvidenceState = "clean"
	Red           EvidenceState = "red"
	Pending       EvidenceState = "pending"
	Unavailable   EvidenceState = "unavailable"
	NotApplicable EvidenceState = "not_applicable"
)

// EvidenceSource names a source of deterministic evidence.
type EvidenceSource string

// The evidence sources, in their fixed order.
const (
	CodeScanning EvidenceSource = "code_scanning"
	CIChecks     EvidenceSource = "ci_checks"
	HollowTest   EvidenceSource = "hollow_test"
	StaticRules  EvidenceSource = "static_rules"
)

// EvidenceSources returns the sources in their fixed order.
func EvidenceSources() []EvidenceSource {
	return []EvidenceSource{CodeScanning, CIChecks, HollowTest, StaticRules}
}

// Evidence is what one source says about one case.
type Evidence struct {
	Source    EvidenceSource
	State     EvidenceState
	Detail    string // why it is unavailable or not applicable, what it waits for, or a short summary
	Findings  []Finding
	Survivors []Survivor // hollow-test only
}

// Survivor is a mutant that no test noticed.
type Survivor struct {
	Path     string
	Line     int // 1-based, new side
	Operator string
	Original string
	Mutated  string
}

// Radius is the blast radius of a case (semantics 4).
type Radius string

// The radii.
const (
	RadiusLow    Radius = "low"
	RadiusMedium Radius = "medium"
	RadiusHigh   Radius = "high"
)

// Radii returns the radii, smallest first.
func Radii() []Radius { return []Radius{RadiusLow, RadiusMedium, RadiusHigh} }
