package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// checkServer reports what is wrong with the judges beyond single values: names that clash, and settings that an adapter
// needs or has no use for.
func checkServer(s *Server, d *decoder) {
	first := map[string]int{}
	for i, j := range s.Judges {
		c := judgeCheck{judge: j, path: fmt.Sprintf("judges[%d]", i), decoder: d}
		if name := strings.ToLower(j.Name); name != "" {
			if earlier, twice := first[name]; twice {
				c.problem("name", fmt.Sprintf("the name is taken by judges[%d]; case does not count", earlier), "")
			} else {
				first[name] = i
			}
		}
		c.adapter(len(s.Judges) > 1)
	}
}

// judgeCheck checks one judge.
type judgeCheck struct {
	judge   JudgeConfig
	path    string
	decoder *decoder
}

// problem reports at a key of the judge, or at the judge where the key is absent.
func (c judgeCheck) problem(key, message, allowed string) {
	path := join(c.path, key)
	at, ok := c.decoder.places[path]
	if !ok {
		at = c.decoder.places[c.path]
	}
	c.decoder.report.add(at, Problem{Key: path, Message: message, Allowed: allowed})
}

// has reports whether a key is written down, with a valid value or not.
func (c judgeCheck) has(key string) bool {
	_, ok := c.decoder.places[join(c.path, key)]
	return ok
}

// faulty reports whether a key, or something in its value, has been reported already.
func (c judgeCheck) faulty(key string) bool {
	path := join(c.path, key)
	return slices.ContainsFunc(c.decoder.report.problems, func(p Problem) bool {
		return p.Key == path || strings.HasPrefix(p.Key, path+"[")
	})
}

// adapterKeys lists what an adapter has no use for. A setting without effect is a problem: whoever wrote it expects one.
var adapterKeys = map[string]struct{ needs, refuses []string }{
	AdapterOpenAI:    {needs: []string{"model"}, refuses: []string{"command", "env"}},
	AdapterAnthropic: {needs: []string{"model"}, refuses: []string{"command", "env"}},
	AdapterCommand:   {needs: []string{"command"}, refuses: []string{"base_url", "api_key_env", "api_key_file", "max_tokens", "output", "price"}},
	AdapterStatic: {refuses: []string{
		"family", "provider", "model", "base_url", "api_key_env", "api_key_file", "command", "env", "timeout", "concurrency",
		"max_tokens", "output", "price", "requests_per_minute", "tokens_per_minute",
	}},
}

func (c judgeCheck) adapter(amongOthers bool) {
	j := c.judge
	keys, known := adapterKeys[j.Adapter]
	if !known {
		return // absent or invalid, and reported as that
	}
	for _, key := range keys.needs {
		if !c.has(key) {
			c.problem(key, "the key is missing: the adapter "+j.Adapter+" needs it", "")
		}
	}
	for _, key := range keys.refuses {
		if c.has(key) {
			c.problem(key, "the adapter "+j.Adapter+" has no use for this key; remove it", "")
		}
	}
	switch j.Adapter {
	case AdapterStatic:
		if amongOthers {
			c.problem("adapter", "static judges only where it is the only judge: an outage of the models must not turn a prosecution into linting; its rules always run as evidence", "")
		}
	case AdapterCommand:
		if c.has("command") && !c.faulty("command") && (len(j.Command) == 0 || strings.TrimSpace(j.Command[0]) == "") {
			c.problem("command", "the list does not begin with a program", "")
		} else if len(j.Command) > 0 && strings.ContainsRune(j.Command[0], '/') && !strings.HasPrefix(j.Command[0], "/") {
			// The program runs in a directory of its own, where a relative path means something else.
			c.problem("command", "the program is a relative path", "an absolute path, or a name that is looked up in PATH")
		}
	default:
		c.endpoint()
	}
}

// endpoint checks how an API is reached.
func (c judgeCheck) endpoint() {
	j := c.judge
	if c.has("api_key_env") && c.has("api_key_file") {
		c.problem("api_key_file", "api_key_env is given too; a key comes from one of them", "")
	}
	keyed := c.has("api_key_env") || c.has("api_key_file")
	if !keyed && !c.has("base_url") {
		c.problem("api_key_env", "the key is missing: the provider's own API needs api_key_env or api_key_file", "")
	}
	u, err := url.Parse(j.BaseURL)
	if err != nil || u.Host == "" {
		return
	}
	if u.Scheme == "http" && keyed && !privateHost(u.Hostname()) {
		c.problem("base_url", "the API key would cross a public network unencrypted", "https, or a host on this machine or a private network")
	}
	path := strings.TrimSuffix(u.Path, "/")
	for _, added := range map[string][]string{
		AdapterOpenAI:    {"/chat/completions", "/completions", "/responses"},
		AdapterAnthropic: {"/v1/messages", "/messages"},
	}[j.Adapter] {
		if strings.HasSuffix(path, added) {
			c.problem("base_url", "the URL ends with "+added+", which the adapter adds itself; leave it out", "")
			break
		}
	}
	for name := range u.Query() {
		if name != "api-version" {
			c.problem("base_url", "the URL has a query", "only api-version")
			break
		}
	}
}

// secretPrefixes begin the keys and tokens that providers and forges hand out, so that others can recognise them.
var secretPrefixes = []string{
	"sk-", "sk_", "pk-", "rk_", "xai-", "gsk_", "hf_", "r8_", "nvapi-", "pplx-", "csk-", "AIza", "ya29.", "AKIA", "ASIA", "eyJ",
	"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox",
}

// secretLike reports whether a text, or a word in it, begins as a credential does and is long enough to be one.
func secretLike(s string) bool {
	if strings.Contains(s, "-----BEGIN") || strings.Contains(s, "Bearer ") {
		return true
	}
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(" \t\n\"'`=,;:/?&@", r) }) {
		if slices.ContainsFunc(secretPrefixes, func(prefix string) bool {
			return len(word) >= len(prefix)+12 && strings.HasPrefix(word, prefix)
		}) {
			return true
		}
	}
	return false
}

// randomLike reports whether a text mixes letters and digits as no name of a variable does.
func randomLike(s string) bool {
	var lower, upper, digit int
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z':
			lower++
		case r >= 'A' && r <= 'Z':
			upper++
		case r >= '0' && r <= '9':
			digit++
		}
	}
	return len(s) >= 20 && digit >= 4 && lower+upper >= 4 && (lower > 0 || digit >= 8)
}
