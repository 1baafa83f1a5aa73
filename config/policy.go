// Package config holds the two files people write: the policy of a repository (.github/prosecutor.yml) and the server
// file of whoever operates the bot. It parses them strictly, reports every problem at once with file, line and the
// nearest valid key, and generates their JSON schemas from the types.
//
// A file is merged into the defaults: a key that is absent keeps its default, a key that is present replaces it as a
// whole, and a key without a value is a problem, except for a section, which is then all defaults. Nothing here keeps
// state; everything is safe for concurrent use, but a Policy or Server is to be treated as read-only once parsed.
package config

import (
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// The comments on the fields below are the descriptions in the JSON schema and the reference in docs/policy.md. The
// `check` tags are the allowed values; they are explained in shape.go.

// PolicyPath is where a repository keeps its policy.
const PolicyPath = ".github/prosecutor.yml"

// Policy is a repository's policy. It is always read from the base branch, so that a change cannot relax its own gate.
type Policy struct {
	// Whether the gate judges this repository's pull requests. false is the kill switch: every case ends as not judged,
	// never as ADVANCE. Default true.
	Enabled bool `yaml:"enabled"`
	// What is dangerous to touch, and how many lenses look at it.
	BlastRadius BlastRadius `yaml:"blast_radius"`
	// Globs of files that are part of the gate itself. A change that touches one is self-modifying: high blast radius,
	// judges of another family than the builder's, and no benefit from judge_failure: approve. The policy file, CI
	// configuration and CODEOWNERS are self-modifying without being listed. Default none.
	SelfModification []string `yaml:"self_modification" check:"glob"`
	// What of a diff is given to the judges.
	Diff Diff `yaml:"diff"`
	// How hard a lens is asked.
	Prosecution Prosecution `yaml:"prosecution"`
	// Who may judge.
	Judges PolicyJudges `yaml:"judges"`
	// Whether a judge of the builder's own model family may serve when no other family is configured. "required" never
	// allows it, "preferred" allows it and the check run says so. Self-modifying changes always require another family,
	// whatever is written here. Default: required for a high blast radius, preferred below it.
	Independence Independence `yaml:"independence" check:"enum=required|preferred"`
	// Builders that the built-in catalogue does not know.
	Attribution Attribution `yaml:"attribution"`
	// What it means when no eligible judge of a lens could answer. "hold" waits up to hold_for and then asks people.
	// "veto" counts as a veto of that lens. "approve" counts as an approval marked degraded, but never when no lens really
	// judged and never for a self-modifying change. Exhausted credit or quota always holds. Default hold.
	JudgeFailure JudgeFailure `yaml:"judge_failure" check:"enum=hold|veto|approve"`
	// How long a case waits for a judge before it is escalated as not judged. Default 2h; 1m to 30d.
	HoldFor Duration `yaml:"hold_for" check:"min=1m max=30d"`
	// How many attempts a pull request gets.
	Convergence Convergence `yaml:"convergence"`
	// Evidence from code scanning alerts.
	CodeScanning CodeScanning `yaml:"code_scanning"`
	// Evidence from CI.
	Checks Checks `yaml:"checks"`
	// Evidence from mutation testing of the changed lines.
	HollowTest HollowTest `yaml:"hollow_test"`
	// Evidence from the built-in rules.
	StaticRules StaticRules `yaml:"static_rules"`
	// Who is asked when the gate gives up.
	Escalation Escalation `yaml:"escalation"`
	// Who may dismiss a finding.
	Dismiss Dismiss `yaml:"dismiss"`
	// The consensus fix: several judges propose a patch, and the largest group with the same result wins.
	Fix Fix `yaml:"fix"`
	// How a decision is shown on the pull request.
	Publish Publish `yaml:"publish"`
	// Merge groups of a merge queue.
	MergeQueue MergeQueue `yaml:"merge_queue"`
	// How long the ledger of a closed pull request and the records of its decisions are kept. Default 180d; 1d to 3650d.
	Retention Duration `yaml:"retention" check:"min=1d max=3650d"`
}

// BlastRadius says what is dangerous to touch (semantics 4).
type BlastRadius struct {
	// Globs of critical files. A changed path that matches, old or new name, makes the blast radius high, and keeps the
	// file in front of the judges even where diff.exclude matches. Default none.
	Critical []string `yaml:"critical" check:"glob"`
	// Globs of source code. The changed lines of matching files, added plus deleted, are what medium_lines counts. A list
	// replaces the default list as a whole; an empty list means that no change is ever medium by its size. Default: the
	// extensions of programming, query, interface and shell languages.
	Source []string `yaml:"source" check:"glob"`
	// More changed source lines than this make the blast radius medium: exactly this many is still low. 0 makes every
	// change of source code medium. Default 200; 0 to 1000000.
	MediumLines int `yaml:"medium_lines" check:"min=0 max=1000000"`
	// How many lenses look at a change of each blast radius, taken in the order correctness, security, spec. A radius may
	// be given more lenses than its default, up to 3, never fewer. Default low 1, medium 2, high 3.
	Lenses map[prosecutor.Radius]int `yaml:"lenses"`
}

// Diff says what of a diff is given to the judges (semantics 2).
type Diff struct {
	// Globs of files that judges do not read; they are listed by name and line count, and the built-in rules still read
	// them. A list replaces the default; an empty list leaves nothing out. A file on a critical path is never left out.
	// Default: what the base branch marks as generated, and lock files.
	Exclude *[]string `yaml:"exclude" check:"glob"`
	// Globs of binary files that are no finding. Images and fonts never are; any other binary is a high finding. Default
	// none.
	BinaryAllow []string `yaml:"binary_allow" check:"glob"`
}

// Prosecution says how hard a lens is asked (semantics 3).
type Prosecution struct {
	// How many times in a row, each time in a fresh call, a lens has to find nothing before it agrees. Default 1; 1 to 5.
	DryPasses int `yaml:"dry_passes" check:"min=1 max=5"`
}

// PolicyJudges says who may judge.
type PolicyJudges struct {
	// The judges to try for a builder's model family, by their names in the server file, first one first. For other
	// families judges are tried in the order of the server file. Default none.
	Prefer map[string][]string `yaml:"prefer" check:"judge keys=family nonempty unique"`
}

// Independence says whether a judge of the builder's family may serve (semantics 8).
type Independence string

// The settings of independence. The empty value is the default: required for high radius, preferred below it.
const (
	IndependenceDefault   Independence = ""
	IndependenceRequired  Independence = "required"
	IndependencePreferred Independence = "preferred"
)

// Attribution names builders that the built-in catalogue does not know.
type Attribution struct {
	// The model family of an author, by login. It adds to what the catalogue finds and replaces nothing. Default none.
	Logins map[string]string `yaml:"logins" check:"family keys=login"`
	// The model family that a pull request label stands for. It adds to what the catalogue finds and replaces nothing. Default
	// none.
	Labels map[string]string `yaml:"labels" check:"family keys=label"`
}

// JudgeFailure says what a failed lens means (semantics 7).
type JudgeFailure string

// The settings of judge_failure.
const (
	FailureHold    JudgeFailure = "hold"
	FailureVeto    JudgeFailure = "veto"
	FailureApprove JudgeFailure = "approve"
)

// Convergence bounds the laps of a pull request (semantics 6).
type Convergence struct {
	// How many laps a pull request gets until the gate asks people: a block on the lap that reaches this number is an
	// ESCALATE. A lap is one decision on a new head commit. Default 3; 1 to 100.
	MaxLaps int `yaml:"max_laps" check:"min=1 max=100"`
}

// ScanSeverity is the floor of code scanning alerts: a severity, or "all".
type ScanSeverity string

// ScanAll counts every alert.
const ScanAll ScanSeverity = "all"

// CodeScanning configures the evidence of code scanning.
type CodeScanning struct {
	// The least severe alert that blocks: alerts at or above it do. "all" means every alert. An alert without a security
	// severity ranks by its level: error as high, warning as medium, note as low. The others are "low", "medium", "high"
	// and "critical". Default all.
	Severity ScanSeverity `yaml:"severity" check:"enum=all|low|medium|high|critical"`
}

// Checks configures the evidence of CI.
type Checks struct {
	// Names of the check runs and commit statuses that must pass before judges are called. "*" means every one but the
	// gate's own. An empty list makes CI no evidence at all. Default none.
	Required []string `yaml:"required" check:"check"`
	// How long a required check, or an analysis of code scanning, may be missing or running. After that it counts as red.
	// Default 30m; 1m to 7d.
	Wait Duration `yaml:"wait" check:"min=1m max=7d"`
}

// HollowTestMode says what a surviving mutant means.
type HollowTestMode string

// The modes of hollow_test.
const (
	HollowGate     HollowTestMode = "gate"     // red evidence: judges are not called
	HollowEvidence HollowTestMode = "evidence" // judges run, see the survivors, and cannot overrule them
	HollowOff      HollowTestMode = "off"
)

// The settings of hollow_test.not_covered: what a mutant that no test reaches means.
const (
	NotCoveredRed    = "red"
	NotCoveredReport = "report"
)

// The settings of hollow_test.where.
const (
	WhereSandbox = "sandbox"
	WhereCI      = "ci"
)

// HollowTest configures diff-scoped mutation testing.
type HollowTest struct {
	// What a mutant that no test noticed means. "gate" is red evidence: no judge is called. "evidence" lets the judges
	// run; they see it and cannot overrule it. "off" measures nothing. Default gate.
	Mode HollowTestMode `yaml:"mode" check:"enum=gate|evidence|off"`
	// Whether a measurement that could not be made is red. false shows it to the judges as unavailable. Default false.
	Required bool `yaml:"required"`
	// What a mutant on a line that no test runs means. "red" is a finding, "report" only shows it. Default red.
	NotCovered string `yaml:"not_covered" check:"enum=red|report"`
	// The command that runs the repository's tests, for languages other than Go. Empty means that only Go is measured.
	// Default none.
	Command string `yaml:"command" check:"command"`
	// A command that prepares the tree once before the tests run. Empty means that nothing needs to be prepared.
	// Default none.
	Setup string `yaml:"setup" check:"command"`
	// How long the whole measurement of one head commit may take. Default 2m; 10s to 6h.
	Budget Duration `yaml:"budget" check:"min=10s max=6h"`
	// Where the tests run. "sandbox" is a sandbox on the server; "ci" is a workflow of the repository that reports its
	// result. Default sandbox.
	Where string `yaml:"where" check:"enum=sandbox|ci"`
	// Which job reports the result under where: ci.
	CI HollowTestCI `yaml:"ci"`
	// Globs of files that are source code although they look like tests. Default none.
	SourceGlobs []string `yaml:"source_globs" check:"glob"`
	// Globs of files that are tests although they look like source code. Default none.
	TestGlobs []string `yaml:"test_globs" check:"glob"`
	// Surviving mutants that people have found to be equivalent to the original code. Default none.
	Accepted []AcceptedMutant `yaml:"accepted"`
}

// HollowTestCI names the job of GitHub Actions whose check run carries the result of "prosecutor hollow-test --format github".
type HollowTestCI struct {
	// The name of the check run, which is that of the job. Default hollow-test.
	Check string `yaml:"check" check:"text"`
	// The path of the workflow file. A check run of that name from another workflow, or another App, is no evidence.
	// Default .github/workflows/hollow-test.yml.
	Workflow string `yaml:"workflow" check:"path"`
}

// Configured reports whether the repository asks for hollow-test itself: it requires it, names a command, or has it run in CI.
// A merge group that touches tests needs a clean measurement then (semantics 11).
func (h HollowTest) Configured() bool {
	return h.Mode != HollowOff && (h.Required || h.Command != "" || h.Where == "ci")
}

// AcceptedMutant is a survivor that people have judged to be equivalent.
type AcceptedMutant struct {
	// The file, by its path from the root of the repository. It is no glob. Required.
	Path string `yaml:"path" check:"path required"`
	// The mutation operator that made the mutant, as the finding names it. Required.
	Operator string `yaml:"operator" check:"word required"`
	// The original code that was mutated, as the finding shows it. Required.
	Original string `yaml:"original" check:"text required"`
	// Why the mutant is no gap in the tests. It is shown wherever the mutant is. Required.
	Reason string `yaml:"reason" check:"text required"`
}

// StaticRules configures the built-in rules.
type StaticRules struct {
	// Findings of the built-in rules that people have accepted. Default none.
	Accepted []AcceptedRule `yaml:"accepted"`
}

// AcceptedRule accepts the findings of one rule in the files that a glob matches.
type AcceptedRule struct {
	// The id of the rule, as the finding names it. Required.
	Rule string `yaml:"rule" check:"word required"`
	// The glob of the files in which its findings are accepted. Required.
	Path string `yaml:"path" check:"glob required"`
	// Why they are accepted. It is shown wherever the finding is. Required.
	Reason string `yaml:"reason" check:"text required"`
}

// Escalation says who is asked when the gate gives up.
type Escalation struct {
	// Logins, or teams as organisation/team, whose review is requested on an ESCALATE. Empty means the owners of the
	// changed paths in CODEOWNERS. Default none.
	Reviewers []string `yaml:"reviewers" check:"reviewer unique"`
}

// Dismiss says who may dismiss a finding.
type Dismiss struct {
	// Whether the author of the pull request may dismiss findings too. Anyone else needs write access either way.
	// Default false.
	Author bool `yaml:"author"`
}

// Fix configures the consensus fix (semantics 10).
type Fix struct {
	// Whether a fix is looked for after every block. false does so only on the command /prosecute fix. Default false.
	Auto bool `yaml:"auto"`
	// How many judges, of any family, are asked for a candidate patch. Default 3; 1 to 9.
	Width int `yaml:"width" check:"min=1 max=9"`
	// Whether the winning patch is pushed to the branch. false offers it as a suggestion or a pull request.
	// Default false.
	Push bool `yaml:"push"`
}

// The settings of publish.review_event.
const (
	ReviewComment        = "comment"
	ReviewRequestChanges = "request_changes"
	ReviewApprove        = "approve"
)

// Publish says how a decision is shown.
type Publish struct {
	// The kind of review that carries the findings. "comment" never approves or blocks by itself; "request_changes" asks
	// for changes on a block; "approve" does that and also approves on an ADVANCE. Default comment.
	ReviewEvent string `yaml:"review_event" check:"enum=comment|request_changes|approve"`
	// The least severe finding that becomes a comment on its line: "low", "medium", "high" or "critical". Findings below
	// it stand in the summary only. Default low.
	InlineSeverity prosecutor.Severity `yaml:"inline_severity" check:"enum=low|medium|high|critical"`
}

// MergeQueue configures merge groups (semantics 11).
type MergeQueue struct {
	// How long a merge group waits for a judge before it concludes as not judged. Default 20m; 1m to 6h.
	HoldFor Duration `yaml:"hold_for" check:"min=1m max=6h"`
}
