// Package config holds the two files people write: the policy of a repository (.github/prosecutor.yml) and the server
// file of whoever operates the bot. It parses them strictly, reports every problem at once with file, line and the
// nearest valid key, and generates their JSON schemas from the types.
package config

import (
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// PolicyPath is where a repository keeps its policy.
const PolicyPath = ".github/prosecutor.yml"

// Policy is a repository's policy. It is always read from the base branch, so that a change cannot relax its own gate.
type Policy struct {
	Enabled          bool         `yaml:"enabled"`
	BlastRadius      BlastRadius  `yaml:"blast_radius"`
	SelfModification []string     `yaml:"self_modification"`
	Diff             Diff         `yaml:"diff"`
	Prosecution      Prosecution  `yaml:"prosecution"`
	Judges           PolicyJudges `yaml:"judges"`
	Independence     Independence `yaml:"independence"`
	Attribution      Attribution  `yaml:"attribution"`
	JudgeFailure     JudgeFailure `yaml:"judge_failure"`
	HoldFor          Duration     `yaml:"hold_for"`
	Convergence      Convergence  `yaml:"convergence"`
	CodeScanning     CodeScanning `yaml:"code_scanning"`
	Checks           Checks       `yaml:"checks"`
	HollowTest       HollowTest   `yaml:"hollow_test"`
	StaticRules      StaticRules  `yaml:"static_rules"`
	Escalation       Escalation   `yaml:"escalation"`
	Dismiss          Dismiss      `yaml:"dismiss"`
	Fix              Fix          `yaml:"fix"`
	Publish          Publish      `yaml:"publish"`
	MergeQueue       MergeQueue   `yaml:"merge_queue"`
}

// BlastRadius says what is dangerous to touch (semantics 4).
type BlastRadius struct {
	Critical    []string                  `yaml:"critical"`     // globs; a changed path that matches makes the case high
	Source      []string                  `yaml:"source"`       // globs; lines under them count towards medium
	MediumLines int                       `yaml:"medium_lines"` // more changed source lines than this make the case medium
	Lenses      map[prosecutor.Radius]int `yaml:"lenses"`       // raises the number of lenses of a radius
}

// Diff says what of a diff is given to the judges (semantics 2).
type Diff struct {
	// Exclude lists globs of files left out of what judges read. nil means the default: what the base branch marks as
	// generated, and lock files. An empty list leaves nothing out.
	Exclude     *[]string `yaml:"exclude"`
	BinaryAllow []string  `yaml:"binary_allow"` // globs of binary files that are no finding
}

// Prosecution says how hard a lens is asked (semantics 3).
type Prosecution struct {
	DryPasses int `yaml:"dry_passes"` // consecutive ships a lens needs, 1..5
}

// PolicyJudges says who may judge.
type PolicyJudges struct {
	Prefer map[string][]string `yaml:"prefer"` // builder family -> judges by name, in order
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
	Logins map[string]string `yaml:"logins"` // login -> family
	Labels map[string]string `yaml:"labels"` // label -> family
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
	MaxLaps int `yaml:"max_laps"`
}

// ScanSeverity is the floor of code scanning alerts: a severity, or "all".
type ScanSeverity string

// ScanAll counts every alert.
const ScanAll ScanSeverity = "all"

// CodeScanning configures the evidence of code scanning.
type CodeScanning struct {
	Severity ScanSeverity `yaml:"severity"`
}

// Checks configures the evidence of CI.
type Checks struct {
	Required []string `yaml:"required"` // names of check runs and status contexts; "*" means all but our own
	Wait     Duration `yaml:"wait"`     // how long a missing or running check is pending
}

// HollowTestMode says what a surviving mutant means.
type HollowTestMode string

// The modes of hollow_test.
const (
	HollowGate     HollowTestMode = "gate"     // red evidence: judges are not called
	HollowEvidence HollowTestMode = "evidence" // judges run, see the survivors, and cannot overrule them
	HollowOff      HollowTestMode = "off"
)

// HollowTest configures diff-scoped mutation testing.
type HollowTest struct {
	Mode        HollowTestMode   `yaml:"mode"`
	Required    bool             `yaml:"required"`    // an unavailable measurement is red
	NotCovered  string           `yaml:"not_covered"` // red | report
	Command     string           `yaml:"command"`     // the repository's test command, for languages other than Go
	Setup       string           `yaml:"setup"`       // prepares the tree once
	Budget      Duration         `yaml:"budget"`
	Where       string           `yaml:"where"` // sandbox | ci
	SourceGlobs []string         `yaml:"source_globs"`
	TestGlobs   []string         `yaml:"test_globs"`
	Accepted    []AcceptedMutant `yaml:"accepted"`
}

// AcceptedMutant is a survivor that people have judged to be equivalent.
type AcceptedMutant struct {
	Path     string `yaml:"path"`
	Operator string `yaml:"operator"`
	Original string `yaml:"original"`
	Reason   string `yaml:"reason"`
}

// StaticRules configures the built-in rules.
type StaticRules struct {
	Accepted []AcceptedRule `yaml:"accepted"`
}

// AcceptedRule accepts the findings of one rule in the files that a glob matches.
type AcceptedRule struct {
	Rule   string `yaml:"rule"`
	Path   string `yaml:"path"`
	Reason string `yaml:"reason"`
}

// Escalation says who is asked when the gate gives up.
type Escalation struct {
	Reviewers []string `yaml:"reviewers"` // logins, or org/team; empty means CODEOWNERS
}

// Dismiss says who may dismiss a finding.
type Dismiss struct {
	Author bool `yaml:"author"`
}

// Fix configures the consensus fix (semantics 10).
type Fix struct {
	Auto  bool `yaml:"auto"`
	Width int  `yaml:"width"`
	Push  bool `yaml:"push"`
}

// Publish says how a decision is shown.
type Publish struct {
	ReviewEvent    string              `yaml:"review_event"`    // comment | request_changes | approve
	InlineSeverity prosecutor.Severity `yaml:"inline_severity"` // findings below it go to the summary only
}

// MergeQueue configures merge groups (semantics 11).
type MergeQueue struct {
	HoldFor Duration `yaml:"hold_for"`
}

// Duration is a time.Duration written as Go writes it: 90s, 30m, 2h.
type Duration time.Duration
