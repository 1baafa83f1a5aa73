package attribution

// Catalog maps what agents leave behind to the model family that they run. Unknown stands for an agent that may run
// several. A catalogue is read only.
type Catalog struct {
	// Logins are account names. They must be equal to a login, without regard to case.
	Logins map[string]string
	// Trailers are contained in the value of a trailer that says who built, without regard to case. An entry that
	// begins with a trailer's key and ": " is found under that key only; "co-authored-by: " also covers the author and
	// the committer of a commit.
	Trailers map[string]string
	// Branches are what the name of a branch begins with.
	Branches map[string]string
	// Footers are contained in the last line of a pull request's description, without regard to case.
	Footers map[string]string
	// Automation lists bots that run no model.
	Automation []string
}

// Families of the built-in catalogue, in the spelling that judges are configured with.
const (
	anthropic = "anthropic"
	openai    = "openai"
	google    = "google"
	deepseek  = "deepseek"
	qwen      = "qwen"
	xai       = "xai"
)

// DefaultCatalog returns what is known of the agents in use, from the accounts, trailers, branch names and footers that
// they are seen to leave on GitHub. An agent whose users choose the model is of unknown family unless it writes the
// model down. Only what an agent leaves by itself is listed, and nothing that people are called: "Claude" alone is a
// sign where agents sign, and an author's name only as the whole name.
func DefaultCatalog() Catalog {
	return Catalog{
		Logins: map[string]string{
			"claude":                       anthropic, // the account behind noreply@anthropic.com
			"claude[bot]":                  anthropic,
			"chatgpt-codex-connector[bot]": openai,
			"google-labs-jules[bot]":       google,
			"gemini-code-assist[bot]":      google,
			"copilot":                      Unknown,
			"copilot-swe-agent":            Unknown,
			"copilot-swe-agent[bot]":       Unknown,
			"cursor[bot]":                  Unknown,
			"cursoragent":                  Unknown,
			"devin-ai-integration[bot]":    Unknown,
			"openhands-agent":              Unknown,
			"amazon-q-developer[bot]":      Unknown,
			"sweep-ai[bot]":                Unknown,
			"factory-droid[bot]":           Unknown,
			"coderabbitai[bot]":            Unknown,
			"opencode-agent[bot]":          Unknown,
			"openhands-ai[bot]":            Unknown,
		},
		Trailers: map[string]string{
			"noreply@anthropic.com":     anthropic,
			"claude code":               anthropic,
			"claude opus":               anthropic,
			"claude sonnet":             anthropic,
			"claude haiku":              anthropic,
			"claude-opus":               anthropic,
			"claude-sonnet":             anthropic,
			"claude-haiku":              anthropic,
			"claude-3":                  anthropic,
			"co-authored-by: claude <":  anthropic,
			"assisted-by: claude":       anthropic,
			"generated-by: claude":      anthropic,
			"claude[bot]":               anthropic,
			"noreply@openai.com":        openai,
			"chatgpt":                   openai,
			"openai codex":              openai,
			"codex cli":                 openai,
			"gpt-4":                     openai,
			"gpt-5":                     openai,
			"co-authored-by: codex <":   openai,
			"assisted-by: codex":        openai,
			"generated-by: codex":       openai,
			"google-labs-jules[bot]":    google,
			"gemini-code-assist[bot]":   google,
			"gemini-cli":                google,
			"gemini cli":                google,
			"gemini-2":                  google,
			"gemini-3":                  google,
			"co-authored-by: gemini <":  google,
			"assisted-by: gemini":       google,
			"generated-by: gemini":      google,
			"qwen-coder":                qwen,
			"deepseek-chat":             deepseek,
			"deepseek-reasoner":         deepseek,
			"deepseek/":                 deepseek,
			"grok-":                     xai,
			"aider (o1":                 openai,
			"aider (o3":                 openai,
			"aider (o4":                 openai,
			"aider (":                   Unknown,
			"noreply@aider.chat":        Unknown,
			"(aider)":                   Unknown, // appended to the names of author and committer
			"copilot autofix":           Unknown,
			"github copilot":            Unknown,
			"+copilot@users.noreply":    Unknown,
			"copilot-swe-agent":         Unknown,
			"co-authored-by: copilot <": Unknown,
			"assisted-by: copilot":      Unknown,
			"generated-by: copilot":     Unknown,
			"cursoragent@cursor.com":    Unknown,
			"cursor agent":              Unknown,
			"assisted-by: cursor":       Unknown,
			"generated-by: cursor":      Unknown,
			"devin-ai-integration":      Unknown,
			"openhands@all-hands.dev":   Unknown,
			"amazon-q-developer":        Unknown,
			"amazon q developer":        Unknown,
			"sweep-ai":                  Unknown,
			"factory-droid":             Unknown,
			"amp@ampcode.com":           Unknown,
			"noreply@opencode.ai":       Unknown,
			"crush@charm.land":          Unknown,
		},
		Branches: map[string]string{
			"claude/":              anthropic,
			"codex/":               openai,
			"copilot/":             Unknown,
			"cursor/":              Unknown,
			"devin/":               Unknown,
			"sweep/":               Unknown,
			"openhands-fix-issue-": Unknown,
		},
		Footers: map[string]string{
			"generated with [claude code]":        anthropic,
			"generated with claude code":          anthropic,
			"(https://claude.ai/code)":            anthropic,
			"(https://claude.com/claude-code)":    anthropic,
			"generated with [codex]":              openai,
			"generated with codex":                openai,
			"https://chatgpt.com/codex/":          openai,
			"https://jules.google.com/":           google,
			"generated with [gemini":              google,
			"https://app.devin.ai/":               Unknown,
			"https://cursor.com/agents":           Unknown,
			"https://cursor.com/background-agent": Unknown,
			"generated with [opencode]":           Unknown,
			"generated with [amp]":                Unknown,
			"generated with [devin]":              Unknown,
			"generated with crush":                Unknown,
		},
		Automation: []string{
			"dependabot[bot]", "dependabot-preview[bot]", "renovate[bot]", "github-actions[bot]", "pre-commit-ci[bot]",
			"mergify[bot]", "github-merge-queue[bot]", "release-please[bot]", "allcontributors[bot]", "imgbot[bot]",
			"snyk-bot", "semantic-release-bot", "web-flow",
		},
	}
}
