package attribution_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/attribution"
)

func commit(message string) attribution.Change {
	return attribution.Change{Commits: []attribution.Commit{{Message: message}}}
}

func person(name, email string) attribution.Change {
	return attribution.Change{Commits: []attribution.Commit{{
		AuthorName: name, AuthorEmail: email, CommitterName: "Dev One", CommitterEmail: "dev.one@example.com",
		Message: "Raise the limit\n",
	}}}
}

func opened(login, kind string) attribution.Change {
	return attribution.Change{Author: attribution.Account{Login: login, Type: kind}}
}

func TestDefaultCatalogKnowsTheAgents(t *testing.T) {
	for _, tc := range []struct {
		name     string
		change   attribution.Change
		families []string
		unknown  bool
		from     attribution.From
	}{
		{"claude code trailer", commit("Fix\n\nCo-Authored-By: Claude <noreply@anthropic.com>\n"), []string{"anthropic"}, false, attribution.FromTrailer},
		{"claude with its model", commit("Fix\n\nCo-Authored-By: Claude Opus 4.5 <noreply@anthropic.com>\n"), []string{"anthropic"}, false, attribution.FromTrailer},
		{"assisted by claude", commit("Fix\n\nAssisted-by:Claude:claude-3-opus\n"), []string{"anthropic"}, false, attribution.FromTrailer},
		{"claude app", opened("claude[bot]", "Bot"), []string{"anthropic"}, false, attribution.FromBotLogin},
		{"claude branch", attribution.Change{Branch: "claude/issue-12"}, []string{"anthropic"}, false, attribution.FromBranch},
		{"claude footer", attribution.Change{Body: "Text\n\n🤖 Generated with [Claude Code](https://claude.com/claude-code)\n \n"}, []string{"anthropic"}, false, attribution.FromFooter},
		{"claude as committer", person("Claude", "noreply@anthropic.com"), []string{"anthropic"}, false, attribution.FromCommitPerson},
		{"codex trailer", commit("Fix\n\nCo-authored-by: Codex <noreply@openai.com>"), []string{"openai"}, false, attribution.FromTrailer},
		{"codex branch", attribution.Change{Branch: "codex/add-limits"}, []string{"openai"}, false, attribution.FromBranch},
		{"codex app", opened("chatgpt-codex-connector[bot]", "Bot"), []string{"openai"}, false, attribution.FromBotLogin},
		{"jules", opened("google-labs-jules[bot]", "Bot"), []string{"google"}, false, attribution.FromBotLogin},
		{"jules by its address", person("google-labs-jules[bot]", "161369871+google-labs-jules[bot]@users.noreply.github.com"), []string{"google"}, false, attribution.FromBotLogin},
		{"qwen code", commit("Fix\n\nCo-authored-by: Qwen-Coder <qwen-coder@alibabacloud.com>"), []string{"qwen"}, false, attribution.FromTrailer},
		{"copilot", opened("Copilot", "Bot"), nil, true, attribution.FromBotLogin},
		{"copilot by its address", person("copilot-swe-agent[bot]", "198982749+Copilot@users.noreply.github.com"), nil, true, attribution.FromBotLogin},
		{"copilot trailer", commit("Fix\n\nCo-authored-by: Copilot <175728472+Copilot@users.noreply.github.com>"), nil, true, attribution.FromTrailer},
		{"cursor", commit("Fix\n\nCo-authored-by: Cursor <cursoragent@cursor.com>"), nil, true, attribution.FromTrailer},
		{"cursor branch", attribution.Change{Branch: "cursor/fix-9f65"}, nil, true, attribution.FromBranch},
		{"devin", opened("devin-ai-integration[bot]", "Bot"), nil, true, attribution.FromBotLogin},
		{"openhands", person("openhands", "openhands@all-hands.dev"), nil, true, attribution.FromCommitPerson},
		{"amazon q", opened("amazon-q-developer[bot]", "Bot"), nil, true, attribution.FromBotLogin},
		{"sweep", opened("sweep-ai[bot]", "Bot"), nil, true, attribution.FromBotLogin},
		{"aider without a model", commit("Fix\n\nCo-authored-by: aider <noreply@aider.chat>"), nil, true, attribution.FromTrailer},
		{"aider in the author's name", person("Dev One (aider)", "dev.one@example.com"), nil, true, attribution.FromCommitPerson},
		{"aider with a known model", commit("Fix\n\nCo-authored-by: aider (gpt-5) <noreply@aider.chat>"), []string{"openai"}, false, attribution.FromTrailer},
		{"aider through a router", commit("Fix\n\nCo-authored-by: aider (openrouter/anthropic/claude-sonnet-4) <noreply@aider.chat>"), []string{"anthropic"}, false, attribution.FromTrailer},
		{"aider with a reasoning model", commit("Fix\n\nCo-authored-by: aider (o3-mini) <noreply@aider.chat>"), []string{"openai"}, false, attribution.FromTrailer},
		{"a bot that nobody knows", opened("acme-coder[bot]", "Bot"), nil, true, attribution.FromBotLogin},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := attribution.Find(tc.change, config.Attribution{}, attribution.DefaultCatalog())
			if !slices.Equal(got.Families, tc.families) || got.UnknownAgent != tc.unknown {
				t.Errorf("families %v, unknown agent %v; want %v, %v", got.Families, got.UnknownAgent, tc.families, tc.unknown)
			}
			if !slices.ContainsFunc(got.Found, func(s attribution.Sign) bool { return s.From == tc.from }) {
				t.Errorf("found %+v, want a sign from %s", got.Found, tc.from)
			}
		})
	}
}

func TestPeopleAreNoAgents(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change attribution.Change
	}{
		{"a person called Claude", commit("Fix\n\nCo-authored-by: Jean-Claude Martin <jc@example.com>\n")},
		{"a person with Claude as a first name", person("Claude Martin", "claude.martin@example.com")},
		{"a no-reply address", person("Dev One", "12345+dev-one@users.noreply.github.com")},
		{"an old no-reply address", person("Dev One", "dev-one@users.noreply.github.com")},
		{"an agent in the middle of the description", attribution.Change{Body: "Generated with Claude Code\n\nNo, it was not."}},
		{"an agent named in the text of a commit", commit("Block Claude Code\n\nCo-authored-by: Claude Code is what they write.\n\nThat was a quotation.\n")},
		{"a branch about an agent", attribution.Change{Branch: "feature/claude/x"}},
		{"a bot without a model", opened("dependabot[bot]", "Bot")},
		{"a reviewer", commit("Fix\n\nReviewed-by: Claude <noreply@anthropic.com>\n")},
		{"nothing at all", attribution.Change{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := attribution.Find(tc.change, config.Attribution{}, attribution.DefaultCatalog())
			if !got.Human() || len(got.Found) != 0 {
				t.Errorf("found %+v, want nothing", got)
			}
		})
	}
}

func TestPolicyNamesAnAutomation(t *testing.T) {
	policy := config.Attribution{Logins: map[string]string{
		"acme-release[bot]": attribution.None, "claude[bot]": attribution.None, "acme-coder[bot]": attribution.Unknown,
	}}
	catalog := attribution.DefaultCatalog()
	if got := attribution.Find(opened("acme-release[bot]", "Bot"), policy, catalog); !got.Human() {
		t.Errorf("a bot that the policy knows to run no model was taken for an agent: %+v", got)
	}
	if got := attribution.Find(opened("claude[bot]", "Bot"), policy, catalog); !slices.Equal(got.Families, []string{"anthropic"}) {
		t.Errorf("a policy hid what the catalogue knows: %+v", got)
	}
	if got := attribution.Find(opened("acme-coder[bot]", "Bot"), policy, catalog); !got.UnknownAgent {
		t.Errorf("a policy's agent of unknown family was not recorded: %+v", got)
	}
}

func TestTrailerForms(t *testing.T) {
	for _, tc := range []struct{ name, message string }{
		{"carriage returns", "Fix\r\n\r\nGenerated-by: Claude Code\r\n"},
		{"continued on the next line", "Fix\n\nCo-authored-by: Claude\n  <noreply@anthropic.com>\n"},
		{"among other trailers", "Fix\n\nFixes: 12\nASSISTED-BY : claude\nSigned-off-by: Dev One <dev.one@example.com>\n\n\n"},
		{"space before the key", "Fix\n\n  Co-authored-by: Claude <noreply@anthropic.com>\n"},
		{"a subject only", "Generated-by: Claude"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := attribution.Find(commit(tc.message), config.Attribution{}, attribution.DefaultCatalog())
			if !slices.Equal(got.Families, []string{"anthropic"}) {
				t.Errorf("families %v, found %+v; want anthropic", got.Families, got.Found)
			}
		})
	}
}

// More text can add signs and can take none back, and no text is too odd to be looked at.
func TestFindOnlyAdds(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"Co-authored-by: Claude <noreply@anthropic.com>", "\n", "\n\n", "cursor/", " ", "Generated-by: Codex", ":", "aider (",
	}))
	rapid.Check(t, func(t *rapid.T) {
		message := func(label string) string {
			out := ""
			for _, s := range rapid.SliceOfN(text, 0, 6).Draw(t, label) {
				out += s
			}
			return out
		}
		change := attribution.Change{
			Author:  attribution.Account{Login: text.Draw(t, "login"), Type: "User"},
			Commits: []attribution.Commit{{Message: message("message"), AuthorName: text.Draw(t, "name"), AuthorEmail: text.Draw(t, "email")}},
			Branch:  text.Draw(t, "branch"), Body: message("body"),
		}
		catalog := attribution.DefaultCatalog()
		before := attribution.Find(change, config.Attribution{}, catalog)
		change.Commits = append(change.Commits, attribution.Commit{Message: message("another")})
		after := attribution.Find(change, config.Attribution{}, catalog)
		for _, s := range before.Found {
			if !slices.Contains(after.Found, s) {
				t.Fatalf("another commit took %+v back", s)
			}
		}
		if before.UnknownAgent && !after.UnknownAgent {
			t.Fatal("another commit made an agent a person")
		}
		if slices.Contains(after.Families, attribution.Unknown) || !slices.IsSorted(after.Families) {
			t.Fatalf("families %v", after.Families)
		}
	})
}

// No message breaks the reader of trailers, and what it reports was written in the message.
func FuzzFind(f *testing.F) {
	for _, message := range []string{
		"Fix\n\nCo-authored-by: Claude <noreply@anthropic.com>\n", "Fix\r\n\r\nGenerated-by:\r\n Claude Code", ":\n:", "\n \n\t", "assisted-by: \xff\xfe codex",
	} {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message string) {
		for _, s := range attribution.Find(commit(message), config.Attribution{}, attribution.DefaultCatalog()).Found {
			if s.From != attribution.FromTrailer {
				t.Errorf("%+v was not seen in a trailer", s)
			}
			for _, word := range strings.Fields(s.Value) {
				if !strings.Contains(message, word) {
					t.Errorf("%q is not in %q", word, message)
				}
			}
		}
	})
}
