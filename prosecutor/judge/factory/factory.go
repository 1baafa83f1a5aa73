// Package factory builds the judges that a server file configures.
package factory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/anthropic"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/command"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/openai"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/static"
)

// maxKey bounds a key file, in bytes. Keys have tens of bytes, tokens of clouds a few thousand.
const maxKey = 64 << 10

// New builds the judges of cfg in their order. getenv reads the environment: the variables that hold keys, and those
// that command judges may see. With no judge configured, or a nil cfg, the static judge serves alone; beside a judge with
// a model it is left out, so that an outage cannot turn prosecution into linting (semantics 8).
//
// The error names every problem of every judge, and what to do about it. It never holds a key. New sends nothing over a
// network and starts nothing.
func New(cfg *config.Server, getenv func(string) string) ([]judge.Judge, error) {
	if cfg == nil || len(cfg.Judges) == 0 {
		return []judge.Judge{static.New()}, nil
	}
	var (
		judges   []judge.Judge
		problems []error
		names    = map[string]bool{}
		models   int
	)
	for _, c := range cfg.Judges {
		if c.Adapter != config.AdapterStatic {
			models++
		}
	}
	for i, c := range cfg.Judges {
		name := c.Name
		if name == "" {
			name = fmt.Sprintf("judges[%d]", i)
			problems = append(problems, fmt.Errorf("judge %s has no name: give it one", name))
		} else if names[strings.ToLower(name)] {
			problems = append(problems, fmt.Errorf("judge %s: the name is taken by an earlier judge: choose another", name))
		}
		names[strings.ToLower(name)] = true
		if c.Adapter == config.AdapterStatic {
			if models == 0 {
				judges = append(judges, static.New())
			}
			continue
		}
		j, errs := build(c.WithDefaults(), getenv)
		for _, err := range errs {
			problems = append(problems, fmt.Errorf("judge %s: %w", name, err))
		}
		if j != nil {
			judges = append(judges, j)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return judges, nil
}

func build(c config.JudgeConfig, getenv func(string) string) (judge.Judge, []error) {
	info := judge.Info{ID: c.Name, Family: c.Family, Provider: c.Provider, Model: c.Model}
	timeout := time.Duration(c.Timeout)
	var (
		j        judge.Judge
		key      judge.Secret
		from     string
		err      error
		problems []error
	)
	switch c.Adapter {
	case config.AdapterOpenAI, config.AdapterAnthropic:
		key, from, err = readKey(c, getenv)
		problems = split(problems, err)
	}
	switch c.Adapter {
	case config.AdapterOpenAI:
		j, err = openai.New(openai.Options{
			Info: info, BaseURL: c.BaseURL, Key: key, KeyFrom: from, Output: c.Output,
			MaxTokens: c.MaxTokens, Timeout: timeout, Price: c.Price,
		})
	case config.AdapterAnthropic:
		j, err = anthropic.New(anthropic.Options{
			Info: info, BaseURL: c.BaseURL, Key: key, KeyFrom: from, Output: c.Output,
			MaxTokens: c.MaxTokens, Timeout: timeout, Price: c.Price,
		})
	case config.AdapterCommand:
		j, err = command.New(command.Options{Info: info, Command: c.Command, Env: c.Env, Getenv: getenv, Timeout: timeout})
	case "":
		err = errors.New("adapter is missing: set it to openai, anthropic, command or static")
	default:
		err = fmt.Errorf("unknown adapter %q: use openai, anthropic, command or static", c.Adapter)
	}
	if problems = split(problems, err); len(problems) > 0 {
		return nil, problems
	}
	return j, nil
}

// split appends the errors that err joins, so that each of them can be named with its judge.
func split(list []error, err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return append(list, joined.Unwrap()...)
	}
	if err != nil {
		return append(list, err)
	}
	return list
}

// readKey reads the key from where the configuration says it is. A judge that names no place has no key, which is right
// for a server of one's own and wrong for the providers' own addresses.
func readKey(c config.JudgeConfig, getenv func(string) string) (judge.Secret, string, error) {
	var (
		text, from string
		err        error
	)
	switch {
	case c.APIKeyEnv != "" && c.APIKeyFile != "":
		return judge.Secret{}, "", errors.New("api_key_env and api_key_file are both set: a key comes from one of them")
	case c.APIKeyEnv != "":
		from = "variable " + c.APIKeyEnv
		if text = strings.TrimSpace(getenv(c.APIKeyEnv)); text == "" {
			return judge.Secret{}, from, fmt.Errorf("%s, which should hold the API key, is not set: set it, or change api_key_env", from)
		}
	case c.APIKeyFile != "":
		from = "file " + c.APIKeyFile
		if text, err = readKeyFile(c.APIKeyFile); err != nil {
			return judge.Secret{}, from, err
		}
	case c.BaseURL == "":
		return judge.Secret{}, "", errors.New("no API key: name the variable that holds it in api_key_env, or its file in api_key_file")
	}
	for _, r := range text {
		if r <= ' ' || r > '~' {
			return judge.Secret{}, from, fmt.Errorf("%s holds more than a key: white space or characters that no key has", from)
		}
	}
	return judge.NewSecret(text), from, nil
}

func readKeyFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return "", fmt.Errorf("reading the API key from file %s: %w: create it, or change api_key_file", path, err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	switch text := strings.TrimSpace(string(raw)); {
	case err != nil:
		return "", fmt.Errorf("reading the API key from file %s: %w", path, err)
	case len(raw) > maxKey:
		return "", fmt.Errorf("file %s is larger than %d KiB, so it holds no key: change api_key_file", path, maxKey>>10)
	case text == "":
		return "", fmt.Errorf("file %s, which should hold the API key, is empty: write the key into it", path)
	default:
		return text, nil
	}
}
