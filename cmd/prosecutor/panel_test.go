package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/test/gittest"
	"github.com/prosecutor-bot/prosecutor/test/modeltest"
)

// twoJudges writes a server file with two judges of different families and providers, reached through the two wire formats.
func twoJudges(t *testing.T, models *modeltest.Server) string {
	t.Helper()
	t.Setenv("FERN_KEY", "fern-key-0123456789")
	t.Setenv("MOSS_KEY", "moss-key-0123456789")
	file := filepath.Join(t.TempDir(), "server.yml")
	text := fmt.Sprintf(`judges:
  - {name: fern-large, adapter: openai, family: fern, provider: northgate, model: fern-4, base_url: %q, api_key_env: FERN_KEY}
  - {name: moss-pro, adapter: anthropic, family: moss, provider: harbour, model: moss-2, base_url: %q, api_key_env: MOSS_KEY}
`, models.OpenAI(), models.Anthropic())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// branch makes a repository whose branch feature holds the files.
func branch(t *testing.T, policy string, files ...string) *gittest.Repo {
	t.Helper()
	g := gittest.New(t)
	g.Write("README.md", "# sample\n", "src/a.go", "package a\n\nvar N = 1\n")
	if policy != "" {
		g.Write(".github/prosecutor.yml", policy)
	}
	g.Commit("base")
	g.Git("checkout", "-q", "-b", "feature")
	g.Write(files...).Commit("Change what is asked for")
	return g
}

func goLines(n int) string {
	var b strings.Builder
	b.WriteString("package a\n\nvar X = []int{\n")
	for i := range n - 4 {
		fmt.Fprintf(&b, "\t%d,\n", i)
	}
	b.WriteString("}\n")
	return b.String()
}

// The blast radius decides how many lenses are paid for: one, two or three, times the dry passes; none where evidence is
// red, or where a rule answers by itself.
func TestCallsByBlastRadius(t *testing.T) {
	const critical = "blast_radius:\n  critical: [\"auth/**\"]\n"
	dry := func(n int) string { return fmt.Sprintf("prosecution:\n  dry_passes: %d\n", n) }
	for _, c := range []struct {
		name, policy string
		files        []string
		calls, code  int
		radius       string
	}{
		{"low", "", []string{"src/a.go", "package a\n\nvar N = 2\n"}, 1, 0, "low"},
		{"medium", "", []string{"src/b.go", goLines(201)}, 2, 0, "medium"},
		{"medium needs more than 200", "", []string{"src/b.go", goLines(200)}, 1, 0, "low"},
		{"high", critical, []string{"auth/key.go", "package auth\n"}, 3, 0, "high"},
		{"low twice", dry(2), []string{"src/a.go", "package a\n\nvar N = 2\n"}, 2, 0, "low"},
		{"high three times", critical + dry(3), []string{"auth/key.go", "package auth\n"}, 9, 0, "high"},
		{"red evidence", critical, []string{"auth/key.go", "<<<<<<< HEAD\npackage auth\n=======\npackage oauth\n>>>>>>> other\n"}, 0, 2, "high"},
		{"one character too long", "", []string{"big.txt", strings.Repeat("x", 120_000) + "\n"}, 0, 2, "low"},
	} {
		t.Run(c.name, func(t *testing.T) {
			models := modeltest.New(t)
			models.Default(modeltest.Ship())
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			g := branch(t, c.policy, c.files...)
			o := reviewJSON(t, g.Dir, "--config", twoJudges(t, models))
			if got := models.Calls(""); got != c.calls || o.code != c.code || o.doc.BlastRadius.Level != c.radius {
				t.Errorf("calls = %d, exit %d, radius %s; want %d, %d, %s\n%s%s", got, o.code, o.doc.BlastRadius.Level, c.calls, c.code, c.radius, o.stdout, o.stderr)
			}
			if o.doc.StaticRulesOnly {
				t.Error("says that static rules judged although models are configured")
			}
		})
	}
}

// Exactly 120,000 characters of diff are judged, 120,001 are not.
func TestLengthLimitOfAWholeDiff(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	overhead := len("diff --git a/big.txt b/big.txt\nnew file mode 100644\nindex " + strings.Repeat("0", 40) + ".." + strings.Repeat("0", 40) +
		"\n--- /dev/null\n+++ b/big.txt\n@@ -0,0 +1 @@\n+\n")
	for _, c := range []struct{ extra, calls, code int }{{0, 1, 0}, {1, 0, 2}} {
		models := modeltest.New(t)
		models.Default(modeltest.Ship())
		config := twoJudges(t, models)
		g := branch(t, "", "big.txt", strings.Repeat("é", 120_000-overhead+c.extra)+"\n")
		o := reviewJSON(t, g.Dir, "--config", config)
		if got := models.Calls(""); got != c.calls || o.code != c.code {
			t.Errorf("120,000 + %d characters: %d calls, exit %d, want %d and %d\n%s", c.extra, got, o.code, c.calls, c.code, o.stderr)
		}
	}
}

// What a judge says becomes the decision through the contract, not through its prose.
func TestJudgesDecide(t *testing.T) {
	finding := modeltest.Finding{
		Severity: "high", Charge: "correctness", Claim: "N must stay 1.", Anchor: &modeltest.Anchor{Path: "src/a.go", Side: "RIGHT", Quote: "var N = 2"},
	}
	for _, c := range []struct {
		name              string
		fern, moss        []modeltest.Behaviour
		code              int
		outcome, decision string
		judge             string
	}{
		{"ship", []modeltest.Behaviour{modeltest.Ship()}, nil, 0, "decided", "ADVANCE", "fern-large"},
		{"block", []modeltest.Behaviour{modeltest.Block(finding)}, nil, 2, "decided", "LOOP_BACK", "fern-large"},
		{"ship with a high finding", []modeltest.Behaviour{modeltest.Answer(modeltest.Verdict("ship", finding))}, nil, 2, "decided", "LOOP_BACK", "fern-large"},
		{"repaired", []modeltest.Behaviour{modeltest.Answer("looks good"), modeltest.Ship()}, nil, 0, "decided", "ADVANCE", "fern-large"},
		{"falls back", []modeltest.Behaviour{modeltest.Fail(500)}, []modeltest.Behaviour{modeltest.Ship()}, 0, "decided", "ADVANCE", "moss-pro"},
		{"nobody answers", []modeltest.Behaviour{modeltest.CloseUnanswered()}, []modeltest.Behaviour{modeltest.Fail(503)}, 1, "held", "", "moss-pro"},
		{"out of credit", []modeltest.Behaviour{modeltest.OutOfCredit()}, []modeltest.Behaviour{modeltest.OutOfCredit()}, 1, "held", "", ""},
		{"key rejected", []modeltest.Behaviour{modeltest.Unauthorized()}, nil, 1, "errored", "", "fern-large"},
		{"prose only", []modeltest.Behaviour{modeltest.Answer("ship"), modeltest.Answer("ship it")}, []modeltest.Behaviour{modeltest.Refuse()}, 1, "held", "", "moss-pro"},
	} {
		t.Run(c.name, func(t *testing.T) {
			models := modeltest.New(t)
			models.Queue("fern-4", c.fern...)
			models.Queue("moss-2", c.moss...)
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			g := branch(t, "", "src/a.go", "package a\n\nvar N = 2\n")
			o := reviewJSON(t, g.Dir, "--config", twoJudges(t, models))
			decision := ""
			if o.doc.Decision != nil {
				decision = *o.doc.Decision
			}
			if o.code != c.code || o.doc.Outcome != c.outcome || decision != c.decision {
				t.Errorf("exit %d, %s %q; want %d, %s %q\n%s%s", o.code, o.doc.Outcome, decision, c.code, c.outcome, c.decision, o.stdout, o.stderr)
			}
			if len(o.doc.Lenses) == 1 && c.judge != "" && o.doc.Lenses[0].Judge != c.judge {
				t.Errorf("judge = %s, want %s", o.doc.Lenses[0].Judge, c.judge)
			}
			if strings.Contains(o.stdout+o.stderr, "-key-0123456789") {
				t.Error("a key was printed")
			}
		})
	}
}

// A judge of the builder's family is passed over, and the report says who built the change and by what that is known.
func TestBuilderIsNotItsOwnJudge(t *testing.T) {
	models := modeltest.New(t)
	models.Default(modeltest.Ship())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("A_KEY", "key-a-0123456789")
	file := filepath.Join(t.TempDir(), "server.yml")
	text := fmt.Sprintf(`judges:
  - {name: own, adapter: anthropic, family: anthropic, model: one, base_url: %q, api_key_env: A_KEY}
  - {name: other, adapter: openai, family: openai, model: two, base_url: %q, api_key_env: A_KEY}
`, models.Anthropic(), models.OpenAI())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g := branch(t, "", "src/a.go", "package a\n\nvar N = 2\n")
	g.Git("commit", "-q", "--amend", "-m", "Change N\n\nCo-authored-by: Claude <noreply@anthropic.com>")
	o := reviewJSON(t, g.Dir, "--config", file)
	if o.code != 0 || len(o.doc.Lenses) != 1 || o.doc.Lenses[0].Judge != "other" {
		t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if len(o.doc.Builder.Families) != 1 || o.doc.Builder.Families[0] != "anthropic" {
		t.Errorf("builder = %+v", o.doc.Builder)
	}
	if len(o.doc.Lenses[0].Skipped) != 1 || o.doc.Lenses[0].Skipped[0].Why != "builder_family" {
		t.Errorf("skipped = %+v", o.doc.Lenses[0].Skipped)
	}
}
