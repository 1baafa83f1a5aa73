package config

import (
	"net/url"
	"path/filepath"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// DefaultPolicy returns the policy of a repository that has no policy file, or an empty one. It is the only place where
// defaults of the policy are written. Every call returns a fresh value.
func DefaultPolicy() *Policy {
	return &Policy{
		Enabled:          true,
		SelfModification: []string{},
		BlastRadius: BlastRadius{
			Critical:    []string{},
			Source:      sourceGlobs(),
			MediumLines: 200,
			Lenses:      leastLenses(),
		},
		Diff:         Diff{Exclude: nil, BinaryAllow: []string{}},
		Prosecution:  Prosecution{DryPasses: 1},
		Judges:       PolicyJudges{Prefer: map[string][]string{}},
		Independence: IndependenceDefault,
		Attribution:  Attribution{Logins: map[string]string{}, Labels: map[string]string{}},
		JudgeFailure: FailureHold,
		HoldFor:      Duration(2 * time.Hour),
		Convergence:  Convergence{MaxLaps: 3},
		CodeScanning: CodeScanning{Severity: ScanAll},
		Checks:       Checks{Required: []string{}, Wait: Duration(30 * time.Minute)},
		HollowTest: HollowTest{
			Mode:        HollowGate,
			NotCovered:  NotCoveredRed,
			Budget:      Duration(2 * time.Minute),
			Where:       WhereSandbox,
			CI:          HollowTestCI{Check: "hollow-test", Workflow: ".github/workflows/hollow-test.yml"},
			SourceGlobs: []string{},
			TestGlobs:   []string{},
			Accepted:    []AcceptedMutant{},
		},
		StaticRules: StaticRules{Accepted: []AcceptedRule{}},
		Escalation:  Escalation{Reviewers: []string{}},
		Fix:         Fix{Width: 3},
		Publish:     Publish{ReviewEvent: ReviewComment, InlineSeverity: prosecutor.Low},
		MergeQueue:  MergeQueue{HoldFor: Duration(20 * time.Minute)},
		Retention:   Duration(180 * day),
	}
}

// leastLenses is the column "lenses" of the table in semantics 4: what a policy may raise and not lower.
func leastLenses() map[prosecutor.Radius]int {
	return map[prosecutor.Radius]int{prosecutor.RadiusLow: 1, prosecutor.RadiusMedium: 2, prosecutor.RadiusHigh: 3}
}

// sourceGlobs is the default of blast_radius.source: files in a programming, query, interface or shell language. Prose,
// data and configuration are not in it: the size of such a change says little about what it can break, and the
// configuration that can break something belongs under blast_radius.critical.
func sourceGlobs() []string {
	extensions := []string{
		"bash", "c", "cc", "cjs", "clj", "cljs", "cpp", "cs", "css", "cts", "cu", "cxx", "dart", "elm", "erl", "ex", "exs", "f90",
		"fs", "fsx", "go", "graphql", "groovy", "gradle", "h", "hcl", "hh", "hpp", "hrl", "hs", "html", "hxx", "java", "jl", "js",
		"jsx", "kt", "kts", "less", "lua", "m", "mjs", "ml", "mli", "mm", "mts", "nim", "pas", "php", "pl", "pm", "proto", "ps1",
		"py", "pyx", "r", "R", "rb", "rego", "rs", "sass", "scala", "scss", "sh", "sol", "sql", "svelte", "swift", "tf", "ts",
		"tsx", "v", "vb", "vue", "zig", "zsh",
	}
	globs := make([]string, len(extensions))
	for i, ext := range extensions {
		globs[i] = "**/*." + ext
	}
	return globs
}

// WithDefaults returns the judge with the defaults in place of what is not set: provider, timeout, concurrency and the
// form of an answer. ParseServer has applied it already; a judge built by hand needs it.
func (j JudgeConfig) WithDefaults() JudgeConfig {
	if j.Provider == "" {
		j.Provider = j.Adapter
		if u, err := url.Parse(j.BaseURL); err == nil && u.Host != "" {
			j.Provider = u.Host
		}
		if j.Adapter == AdapterCommand && len(j.Command) > 0 {
			j.Provider = filepath.Base(j.Command[0]) // two programs have two accounts
		}
	}
	def := defaultJudge()
	if j.Timeout == 0 {
		j.Timeout = def.Timeout
	}
	if j.Concurrency == 0 {
		j.Concurrency = def.Concurrency
	}
	if j.Output == "" {
		j.Output = def.Output
	}
	return j
}

// defaultJudge holds the defaults that every judge starts from. 8 minutes is the time of one pass (semantics 2).
func defaultJudge() JudgeConfig {
	return JudgeConfig{
		Timeout:     Duration(8 * time.Minute),
		Concurrency: 4,
		Output:      OutputAuto,
	}
}

// DefaultServer returns a server file with every default in place and no judge.
func DefaultServer() *Server {
	return &Server{
		Judges: []JudgeConfig{},
		GitHub: GitHubConfig{
			PrivateKeyEnv: "PRIVATE_KEY", WebhookSecretEnv: []string{"WEBHOOK_SECRET"},
			RESTURL: "https://api.github.com/", GraphQLURL: "https://api.github.com/graphql", HTMLURL: "https://github.com",
			WriteRate: 1,
		},
		HTTP:       HTTPConfig{Listen: ":8080", Shutdown: Duration(30 * time.Second)},
		Database:   DatabaseConfig{URLEnv: "DATABASE_URL", File: "prosecutor.db"},
		Workers:    8,
		HollowTest: HollowTestServer{Sandbox: SandboxBubblewrap, Concurrency: 1, MaxBudget: Duration(15 * time.Minute)},
	}
}
