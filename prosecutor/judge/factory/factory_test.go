package factory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/factory"
	"github.com/prosecutor-bot/prosecutor/test/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-test-0123456789abcdef"

func environment(set map[string]string) func(string) string {
	return func(name string) string { return set[name] }
}

func parse(t *testing.T, yaml string) *config.Server {
	t.Helper()
	cfg, err := config.ParseServer("server.yml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func closeAll(t *testing.T, judges []judge.Judge) {
	t.Cleanup(func() {
		for _, j := range judges {
			if c, ok := j.(interface{ Close() error }); ok {
				c.Close()
			}
		}
	})
}

// Every adapter, from the file that an operator writes to a verdict.
func TestFromFileToVerdict(t *testing.T) {
	s := modeltest.New(t)
	s.Keys(key)
	s.Default(modeltest.Ship())
	dir := t.TempDir()
	keyFile := filepath.Join(dir, "key")
	write(t, keyFile, key+"\n", 0o600)
	write(t, filepath.Join(dir, "agent"), "#!/bin/sh\ncat >/dev/null\nprintf '%s' \"$AGENT_ANSWER\"\n", 0o700)

	judges, err := factory.New(parse(t, fmt.Sprintf(`
judges:
  - {name: one, adapter: openai, family: fern, model: fern-1, base_url: %q, api_key_env: FERN_KEY, price: {input: 1, output: 2}}
  - {name: two, adapter: anthropic, family: onyx, provider: harbour, model: onyx-1, base_url: %q, api_key_file: %q}
  - {name: three, adapter: command, family: moss, model: moss-1, command: [agent, -p], env: [AGENT_ANSWER]}
`, s.OpenAI(), s.Anthropic(), keyFile)), environment(map[string]string{
		"FERN_KEY": key, "PATH": dir + ":/usr/bin:/bin", "AGENT_ANSWER": `{"verdict":"ship","findings":[]}`,
	}))
	if err != nil {
		t.Fatal(err)
	}
	closeAll(t, judges)
	want := []judge.Info{
		{ID: "one", Family: "fern", Provider: strings.TrimPrefix(s.URL, "http://"), Model: "fern-1"},
		{ID: "two", Family: "onyx", Provider: "harbour", Model: "onyx-1"},
		{ID: "three", Family: "moss", Provider: "agent", Model: "moss-1"},
	}
	if len(judges) != len(want) {
		t.Fatalf("%d judges", len(judges))
	}
	const change = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n"
	d, err := diff.ParseString(change)
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range judges {
		if j.Info() != want[i] {
			t.Errorf("info %+v, want %+v", j.Info(), want[i])
		}
		pass := contract.Prosecute(t.Context(), j, contract.Input{
			Lens: prosecutor.Correctness, Brief: &charter.Brief{Diff: d, Text: change, Spec: "change the text"},
		})
		if pass.Verdict != prosecutor.Ship {
			t.Errorf("%s: %s (%s): %v", j.Info().ID, pass.Verdict, pass.Violation, pass.Err)
		}
		if priced := i == 0; priced != (pass.CostUSD > 0) {
			t.Errorf("%s: cost %v", j.Info().ID, pass.CostUSD)
		}
	}
	for _, r := range s.Requests() {
		if r.Lens() != prosecutor.Correctness || r.Tools != 0 {
			t.Errorf("lens %q, %d tools", r.Lens(), r.Tools)
		}
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestStaticServesAlone(t *testing.T) {
	model := config.JudgeConfig{Name: "one", Adapter: "openai", Model: "m", BaseURL: "http://localhost:11434/v1"}
	static := config.JudgeConfig{Name: "rules", Adapter: "static"}
	tests := []struct {
		name string
		cfg  *config.Server
		want []string
	}{
		{"no file", nil, []string{"static"}},
		{"no judges", &config.Server{}, []string{"static"}},
		{"static", &config.Server{Judges: []config.JudgeConfig{static}}, []string{"static"}},
		{"a model", &config.Server{Judges: []config.JudgeConfig{model}}, []string{"one"}},
		{"static beside a model", &config.Server{Judges: []config.JudgeConfig{static, model}}, []string{"one"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			judges, err := factory.New(test.cfg, environment(nil))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, j := range judges {
				got = append(got, j.Info().ID)
				if j.Info().Static != (j.Info().ID == "static") {
					t.Errorf("%+v", j.Info())
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestEveryProblemAtOnce(t *testing.T) {
	dir := t.TempDir()
	empty, large, lines := filepath.Join(dir, "empty"), filepath.Join(dir, "large"), filepath.Join(dir, "lines")
	write(t, empty, " \n", 0o600)
	write(t, large, strings.Repeat("k", 1<<17), 0o600)
	write(t, lines, "sk-one\nsk-two\n", 0o600)
	cfg := &config.Server{Judges: []config.JudgeConfig{
		{Name: "a", Adapter: "openai", Model: "m", APIKeyEnv: "A_KEY"},
		{Name: "b", Adapter: "anthropic", APIKeyFile: filepath.Join(dir, "absent")},
		{Name: "c", Adapter: "command", Command: []string{"no-such-agent"}},
		{Name: "d", Adapter: "telepathy"},
		{Name: "A", Adapter: "openai", Model: "m", BaseURL: "http://localhost/v1"},
		{Adapter: "openai", Model: "m", BaseURL: "ftp://host"},
		{Name: "g", Adapter: "openai", Model: "m"},
		{Name: "h", Adapter: "openai", Model: "m", APIKeyFile: empty},
		{Name: "i", Adapter: "openai", Model: "m", APIKeyFile: large},
		{Name: "j", Adapter: "openai", Model: "m", APIKeyFile: lines},
		{Name: "k", Adapter: "openai", Model: "m", APIKeyFile: empty, APIKeyEnv: "A_KEY"},
		{Name: "l"},
		{Name: "m", Adapter: "openai", Model: "m", APIKeyEnv: "ODD_KEY"},
	}}
	judges, err := factory.New(cfg, environment(map[string]string{"PATH": dir, "ODD_KEY": "sk-õdd"}))
	if err == nil || judges != nil {
		t.Fatalf("%v, %v", judges, err)
	}
	got := err.Error()
	for _, want := range []string{
		"judge a: variable A_KEY, which should hold the API key, is not set",
		"judge b: reading the API key from file " + filepath.Join(dir, "absent") + ": no such file or directory",
		"judge b: model is missing",
		`judge c: command "no-such-agent" was not found in PATH`,
		`judge d: unknown adapter "telepathy"`,
		"judge A: the name is taken",
		"judge judges[5] has no name",
		"judge judges[5]: base_url has the scheme",
		"judge g: no API key: name the variable",
		"judge h: file " + empty + ", which should hold the API key, is empty",
		"judge i: file " + large + " is larger",
		"judge j: file " + lines + " holds more than a key",
		"judge k: api_key_env and api_key_file are both set",
		"judge l: adapter is missing",
		"judge m: variable ODD_KEY holds more than a key",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the error does not say %q:\n%s", want, got)
		}
	}
	for _, secret := range []string{"sk-one", "sk-two", "kkkk", "õ"} {
		if strings.Contains(got, secret) {
			t.Errorf("the error shows a part of a key: %s", got)
		}
	}
}

// What the documentation shows can be written into a file as it stands.
func TestExamplesOfTheDocumentation(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/judges.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(raw), "```yaml\n")[1:]
	if len(blocks) < 4 {
		t.Fatalf("only %d examples", len(blocks))
	}
	for _, b := range blocks {
		text, _, _ := strings.Cut(b, "```")
		if cfg, err := config.ParseServer("server.yml", []byte(text)); err != nil || len(cfg.Judges) == 0 {
			t.Errorf("%v\n%s", err, text)
		}
	}
}
