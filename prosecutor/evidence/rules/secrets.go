package rules

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

func secretRules() []Rule {
	base := func(r Rule) Rule {
		r.Lens, r.Charge = prosecutor.Security, prosecutor.ChargeSecurity
		return r
	}
	return []Rule{
		base(Rule{
			ID: "secret-token", Severity: prosecutor.Critical, Title: "Credential of a known format",
			Why:     "The token has the exact form that a provider issues. Once pushed it must be taken as read by others: revoke it, do not only remove it. Medium in test code, fixtures and prose. Made-up values (few different characters, words such as \"example\") are no finding.",
			needles: tokenNeedles(),
			perFile: secretTokens,
		}),
		base(Rule{
			ID: "private-key", Severity: prosecutor.High, Title: "Private key committed",
			Why:     "A private key in the repository is readable by everyone who can read it, for ever. Medium in test code and fixtures, where throw-away keys are common.",
			needles: []string{"PRIVATE KEY", "AGE-SECRET-KEY-1", "PuTTY-User-Key-File-"},
			perFile: privateKeys,
		}),
		base(Rule{
			ID: "secret-assignment", Severity: prosecutor.High, Title: "Random value assigned to a secret's name",
			Why:     "A name such as password, token or api_key gets a literal that looks random (mixed classes, high entropy). Medium in comments and docstrings; not asked of test code, fixtures, prose and lock files.",
			needles: secretNames,
			perFile: secretAssignments,
		}),
		base(Rule{
			ID: "credentials-in-url", Severity: prosecutor.Medium, Title: "Password inside a URL",
			Why:     "A URL with a password ends up in logs, process lists and error messages. Not asked of test code, fixtures and prose, local hosts and placeholders.",
			needles: []string{"://"},
			perFile: urlCredentials,
		}),
	}
}

// token is the format of one provider's credential. The formats are public facts: the providers document the prefixes so
// that scanners can find leaked ones.
type token struct {
	name    string
	needle  string
	pattern func() *regexp.Regexp // group 1 is the random part
}

var tokens = []token{
	{"AWS access key id", "AKIA", lazy(`\bAKIA([A-Z2-7]{16})\b`)},
	{"AWS temporary access key id", "ASIA", lazy(`\bASIA([A-Z2-7]{16})\b`)},
	{"GitHub personal access token", "ghp_", lazy(`\bghp_([0-9A-Za-z]{36})\b`)},
	{"GitHub OAuth token", "gho_", lazy(`\bgho_([0-9A-Za-z]{36})\b`)},
	{"GitHub user-to-server token", "ghu_", lazy(`\bghu_([0-9A-Za-z]{36})\b`)},
	{"GitHub server-to-server token", "ghs_", lazy(`\bghs_([0-9A-Za-z]{36})\b`)},
	{"GitHub refresh token", "ghr_", lazy(`\bghr_([0-9A-Za-z]{36,76})\b`)},
	{"GitHub fine-grained token", "github_pat_", lazy(`\bgithub_pat_([0-9A-Za-z]{22}_[0-9A-Za-z]{59})\b`)},
	{"GitLab token", "glpat-", lazy(`\bglpat-([0-9A-Za-z_-]{20,})`)},
	{"GitLab runner token", "glrt-", lazy(`\bglrt-([0-9A-Za-z_-]{20,})`)},
	{"GitLab deploy token", "gldt-", lazy(`\bgldt-([0-9A-Za-z_-]{20,})`)},
	{"Slack token", "xox", lazy(`\bxox[abeoprs]-((?:\d+-)*[0-9A-Za-z-]{20,})`)},
	{"Slack app token", "xapp-", lazy(`\bxapp-\d-([A-Z0-9]+-\d+-[0-9a-f]{40,})`)},
	{"Slack webhook", "hooks.slack.com/services/", lazy(`hooks\.slack\.com/services/(T[0-9A-Z]{7,}/B[0-9A-Z]{7,}/[0-9A-Za-z]{20,})`)},
	{"Stripe live key", "_live_", lazy(`\b[sr]k_live_([0-9A-Za-z]{24,})`)},
	{"Google API key", "AIza", lazy(`\bAIza([0-9A-Za-z_-]{35})\b`)},
	{"Google OAuth client secret", "GOCSPX-", lazy(`\bGOCSPX-([0-9A-Za-z_-]{28})`)},
	{"Anthropic API key", "sk-ant-", lazy(`\bsk-ant-(?:api|admin|oat|ort)\d\d-([0-9A-Za-z_-]{60,})`)},
	{"OpenAI API key", "T3BlbkFJ", lazy(`\bsk-(?:proj-|svcacct-|admin-)?([0-9A-Za-z_-]{20,}T3BlbkFJ[0-9A-Za-z_-]{20,})`)},
	{"Hugging Face token", "hf_", lazy(`\bhf_([A-Za-z]{34})\b`)},
	{"npm token", "npm_", lazy(`\bnpm_([0-9A-Za-z]{36})\b`)},
	{"PyPI token", "pypi-AgE", lazy(`\bpypi-AgE([0-9A-Za-z_-]{60,})`)},
	{"RubyGems token", "rubygems_", lazy(`\brubygems_([0-9a-f]{48})\b`)},
	{"Docker Hub token", "dckr_pat_", lazy(`\bdckr_pat_([0-9A-Za-z_-]{27,})`)},
	{"SendGrid key", "SG.", lazy(`\bSG\.([0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43})\b`)},
	{"DigitalOcean token", "_v1_", lazy(`\bdo[opr]_v1_([0-9a-f]{64})\b`)},
	{"Databricks token", "dapi", lazy(`\bdapi([0-9a-f]{32})(?:-\d)?\b`)},
	{"Shopify token", "shp", lazy(`\bshp(?:at|ca|pa|ss)_([0-9a-fA-F]{32})\b`)},
	{"Telegram bot token", ":AA", lazy(`\b\d{8,10}:(AA[0-9A-Za-z_-]{33})\b`)},
	{"Vault token", "hvs.", lazy(`\bhvs\.([0-9A-Za-z_-]{90,})`)},
	{"Terraform Cloud token", ".atlasv1.", lazy(`\b([0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z_-]{60,})`)},
	{"Linear API key", "lin_api_", lazy(`\blin_api_([0-9A-Za-z]{40})\b`)},
	{"Postman API key", "PMAK-", lazy(`\bPMAK-([0-9a-f]{24}-[0-9a-f]{34})\b`)},
	{"Grafana token", "glsa_", lazy(`\bglsa_([0-9A-Za-z]{32}_[0-9a-f]{8})\b`)},
	{"New Relic key", "NRAK-", lazy(`\bNRAK-([0-9A-Z]{27})\b`)},
	{"Sentry token", "sntry", lazy(`\bsntry[su]_([0-9A-Za-z_=+/-]{64,})`)},
	{"Doppler token", "dp.pt.", lazy(`\bdp\.pt\.([0-9A-Za-z]{43})\b`)},
	{"Supabase token", "sbp_", lazy(`\bsbp_([0-9a-f]{40})\b`)},
	{"PlanetScale token", "pscale_", lazy(`\bpscale_(?:tkn|pw|oauth)_([0-9A-Za-z_.=-]{32,})`)},
	{"Azure storage key", "AccountKey=", lazy(`\bAccountKey=([0-9A-Za-z+/]{86}==)`)},
	{"Atlassian token", "ATATT3", lazy(`\bATATT3([0-9A-Za-z_=-]{100,})`)},
	{"Groq API key", "gsk_", lazy(`\bgsk_([0-9A-Za-z]{52})\b`)},
	{"xAI API key", "xai-", lazy(`\bxai-([0-9A-Za-z]{80})\b`)},
}

func tokenNeedles() []string {
	out := make([]string, len(tokens))
	for i, t := range tokens {
		out[i] = t.needle
	}
	return out
}

func secretTokens(s *scan, f *file) {
	if isLock(f.path) {
		return
	}
	present := make([]token, 0, 2)
	for _, t := range tokens {
		if f.contains(t.needle) {
			present = append(present, t)
		}
	}
	if len(present) == 0 {
		return
	}
	for i := range f.rows() {
		r := &f.all[i]
		if s.ended(i) {
			return
		}
		if r.Op != diff.Add {
			continue
		}
		for _, t := range present {
			found := false
			around(r.Text, t.needle, func(w string) bool {
				for _, m := range t.pattern().FindAllStringSubmatch(w, 8) {
					if !madeUp(m[1]) {
						found = true
						return false
					}
				}
				return true
			})
			if found {
				s.hit(f, r, lesser(f, r, prosecutor.Critical), "A "+t.name+" is committed")
				break
			}
		}
	}
}

// lesser lowers a severity to medium where made-up or throw-away values are usual.
func lesser(f *file, r *row, severity prosecutor.Severity) prosecutor.Severity {
	if f.test || f.fixture || f.doc || r.test {
		return prosecutor.Medium
	}
	return severity
}

var fakeWords = []string{
	"example", "xxxx", "your", "fake", "dummy", "test", "placeholder", "redacted", "sample", "changeme", "12345", "abcde",
	"00000000", "deadbeef", "secret", "token", "mock", "foobar", "aaaa", "insert", "replace", "notreal", "hunter2",
	"eby8vdm02xno", // the published key of the Azure storage emulator
}

// madeUp reports whether the random part of a secret is plainly not random.
func madeUp(s string) bool {
	lower := strings.ToLower(s)
	return containsAny(lower, fakeWords) || entropy(s) < 2.8
}

// entropy is the Shannon entropy of the bytes of s, in bits per byte.
func entropy(s string) float64 {
	var n [256]int
	for i := 0; i < len(s); i++ {
		n[s[i]]++
	}
	h := 0.0
	for _, c := range n {
		if c > 0 {
			p := float64(c) / float64(len(s))
			h -= p * math.Log2(p)
		}
	}
	return h
}

var (
	keyHeader = lazy(`-----BEGIN (?:(?:RSA|EC|DSA|OPENSSH|ENCRYPTED|PGP) )?PRIVATE KEY(?: BLOCK)?-----`)
	ageKey    = lazy(`\bAGE-SECRET-KEY-1([0-9A-Z]{58})\b`)
	puttyKey  = lazy(`^PuTTY-User-Key-File-\d`)
	keyBody   = lazy(`^[\s"'+]*(?:[A-Za-z0-9+/=]{24,}|Proc-Type:|DEK-Info:|Version:|Comment:|\\n)`)
	inlineKey = lazy(`-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----(?:\\n|\s|["'+])*[A-Za-z0-9+/=]{24,}`)
)

func privateKeys(s *scan, f *file) {
	rows := f.rows()
	for i := range rows {
		r := &rows[i]
		if r.Op != diff.Add {
			continue
		}
		found := false
		around(r.Text, "PRIVATE KEY", func(w string) bool {
			if !keyHeader().MatchString(w) {
				return true
			}
			// A header alone is what code that reads keys contains; a key has a body.
			next := nextNew(rows, i)
			found = inlineKey().MatchString(w) || next != nil && keyBody().MatchString(window(next.Text))
			return !found
		})
		if !found && strings.Contains(r.Text, "AGE-SECRET-KEY-1") {
			m := ageKey().FindStringSubmatch(window(r.Text))
			found = m != nil && !madeUp(m[1])
		}
		if !found && puttyKey().MatchString(window(r.Text)) {
			found = true
		}
		if found {
			s.hit(f, r, lesser(f, r, prosecutor.High), "A private key is committed")
		}
	}
}

var secretNames = []string{
	"assword", "ASSWORD", "asswd", "ASSWD", "ecret", "ECRET", "api_key", "API_KEY", "apiKey", "ApiKey", "APIKey", "apikey", "APIKEY", "api-key",
	"oken", "OKEN", "ccess_key", "CCESS_KEY", "ccessKey", "rivate_key", "RIVATE_KEY", "rivateKey", "ncryption_key", "NCRYPTION_KEY", "ncryptionKey", "redential", "REDENTIAL",
}

var (
	quotedSecret = lazy(`(?i)([\w.-]*(?:passw(?:or)?d|secret|api[_-]?key|token|access[_-]?key|private[_-]?key|encryption[_-]?key|credential)[\w.-]*)["'\x60\]]{0,3}\s*(?::=|=>|:|=)\s*["'\x60]([A-Za-z0-9+/=_.!@#$%^&*~-]{16,})["'\x60]`)
	plainSecret  = lazy(`(?i)^\s*(?:export\s+|-\s+|ENV\s+|ARG\s+)?([\w.-]*(?:passw(?:or)?d|secret|api[_-]?key|token|access[_-]?key|private[_-]?key|encryption[_-]?key|credential)[\w.-]*)\s*[:=]\s*([A-Za-z0-9+/=_.!@#$%^&*~-]{16,})\s*$`)
	harmlessName = lazy(`(?i)public|hash|sha\d|digest|checksum|(?:[_.-]|\b)ids?$|[a-z]Id$|name$|ur[li]$|path$|file$|field$|header$|type$|placeholder|example|sample|test|mock|fake|dummy|page_?token|next_?token|continuation|cursor|csrf|tokenizer|regex|pattern|version|selector|label|prefix|suffix|format|endpoint|address|contract`)
	wordRun      = lazy(`[A-Za-z0-9+=/]{16,}`)
	hexRun       = lazy(`^(?:[0-9a-f]{32,}|[0-9A-F]{32,})$`)
	unquotedLang = of(yaml, shell, dockerfile, other)
)

// maxSecret is the length in bytes above which a literal is data rather than a secret.
const maxSecret = 200

// assigned returns where a line assigns random values to names of secrets, as pairs of offsets.
func assigned(text string, plain bool) [][2]int {
	var out [][2]int
	add := func(m []int) {
		if name, value := text[m[2]:m[3]], text[m[4]:m[5]]; len(value) <= maxSecret && !harmlessName().MatchString(name) && looksRandom(value) {
			out = append(out, [2]int{m[4], m[5]})
		}
	}
	if !holdsWord(text) {
		return nil
	}
	for _, m := range quotedSecret().FindAllStringSubmatchIndex(text, -1) {
		add(m)
	}
	if len(out) == 0 && plain {
		if m := plainSecret().FindStringSubmatchIndex(text); m != nil {
			add(m)
		}
	}
	return out
}

// holdsWord reports whether a line holds a word long and mixed enough to be a random value. It spares most lines that
// name a secret the expensive search.
func holdsWord(text string) bool {
	length, digits, letters := 0, 0, 0
	for i := 0; i <= len(text); i++ {
		c := byte(' ')
		if i < len(text) {
			c = text[i]
		}
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		case c <= ' ' || c >= 0x7F || c == '"' || c == '\'' || c == '`' || c == '(' || c == ')' || c == '{' || c == '}' || c == ',' || c == ';':
			length, digits, letters = 0, 0, 0
			continue
		}
		if length++; length >= 16 && digits >= 2 && letters >= 1 {
			return true
		}
	}
	return false
}

// looksRandom tells generated values from identifiers, sentences, paths and versions: in a random string the classes of
// neighbours change all the time, in a name they change at word ends.
func looksRandom(v string) bool {
	if madeUp(v) || strings.Contains(v, "://") || strings.HasPrefix(v, "/") || strings.HasPrefix(v, ".") || strings.HasPrefix(v, "$") {
		return false
	}
	if hexRun().MatchString(v) {
		return entropy(v) >= 3.2
	}
	run := ""
	for _, w := range wordRun().FindAllString(v, -1) {
		if len(w) > len(run) {
			run = w
		}
	}
	if len(run) < 16 || strings.Count(run, "/") > 2 {
		return false
	}
	digits, changes, upper, lower := 0, 0, 0, 0
	last := byte(0)
	for i := 0; i < len(run); i++ {
		var class byte
		switch c := run[i]; {
		case c >= '0' && c <= '9':
			class, digits = 'd', digits+1
		case c >= 'A' && c <= 'Z':
			class, upper = 'U', upper+1
		case c >= 'a' && c <= 'z':
			class, lower = 'l', lower+1
		default:
			class = 'x'
		}
		if i > 0 && class != last {
			changes++
		}
		last = class
	}
	if digits < 2 || lower < 2 && upper < 2 || upper == 0 && lower == 0 {
		return false
	}
	return entropy(run) >= 3.6 && float64(changes)/float64(len(run)) >= 0.35
}

func secretAssignments(s *scan, f *file) {
	if f.test || f.doc || isLock(f.path) {
		return
	}
	plain := unquotedLang.has(f.lang) || f.lang == makefile
	names := f.present(secretNames)
	rows := f.rows()
	for i := range rows {
		r := &rows[i]
		if s.ended(i) {
			return
		}
		if r.Op != diff.Add || len(r.Text) > MaxLine || r.test || !containsAny(r.Text, names) {
			continue
		}
		if len(assigned(r.Text, plain)) == 0 || knownToken(r.Text) {
			continue
		}
		severity := prosecutor.High
		if r = &f.masked()[i]; blank(r.text) || f.lang == python && blank(r.code) {
			severity = prosecutor.Medium // a comment or a docstring: often an example
		}
		s.hit(f, r, severity, "A name that stands for a secret gets a literal that looks random")
	}
}

// knownToken reports whether rule secret-token accuses the line already.
func knownToken(text string) bool {
	for _, t := range tokens {
		if strings.Contains(text, t.needle) && t.pattern().MatchString(text) {
			return true
		}
	}
	return false
}

var urlPassword = lazy(`\b[a-z][a-z0-9+.-]+://[^\s/:@"'<>{}$%()\[\]\x60]*:([^\s/:@"'<>{}$%()\[\]\x60]{6,})@([A-Za-z0-9.-]+)`)

func urlCredentials(s *scan, f *file) {
	if f.test || f.doc || isLock(f.path) {
		return
	}
	s.added(f, func(_ int, r *row) {
		if !strings.Contains(r.text, "@") {
			return
		}
		for _, m := range urlPassword().FindAllStringSubmatch(r.text, 4) {
			password, host := strings.ToLower(m[1]), strings.ToLower(m[2])
			if madeUpPassword(password) || !strings.Contains(host, ".") || containsAny(host, []string{"example", "127.0.0.1", "localhost", "0.0.0.0", "192.168.", "10.0.", ".local", ".test", "host."}) {
				continue
			}
			s.hit(f, r, prosecutor.Medium, fmt.Sprintf("A URL carries a password for %s", m[2]))
			return
		}
	})
}

func madeUpPassword(p string) bool {
	return containsAny(p, []string{"pass", "pwd", "secret", "example", "changeme", "postgres", "root", "admin", "user", "xxx", "***", "token", "test", "foo", "bar", "your", "guest", "mysql", "redis"})
}

// Redacted is what stands in the place of a secret.
const Redacted = "[redacted]"

var (
	keyBlock    = lazy(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----).*?(-----END [A-Z ]*PRIVATE KEY[A-Z ]*-----|\z)`)
	urlUserinfo = lazy(`(://[^\s/:@"'<>]*:)([^\s/@"'<>]{3,})(@)`)
)

// Redact masks the secrets that the rules of this package know: tokens of known formats (their prefix stays, to tell
// what it was), private keys, random literals assigned to the name of a secret, and passwords in URLs. It masks
// made-up values of those formats too, changes nothing else, and masking twice is masking once.
//
// A finding keeps the accused line as it is in Anchor.Quote, since the anchor must match the diff; Claim and Evidence
// never hold a secret. Whoever shows a quote, or any other line of a diff, to people or to a log passes it through
// Redact first. It works line by line for everything but private keys, and in time linear in the length of text.
func Redact(text string) string {
	for _, t := range tokens {
		if !strings.Contains(text, t.needle) {
			continue
		}
		text = replaceGroup(t.pattern(), text, 1)
	}
	if strings.Contains(text, "PRIVATE KEY") {
		text = keyBlock().ReplaceAllString(text, "${1}"+Redacted+"${2}")
	}
	if strings.Contains(text, "AGE-SECRET-KEY-1") {
		text = replaceGroup(ageKey(), text, 1)
	}
	if strings.Contains(text, "://") {
		text = replaceGroup(urlUserinfo(), text, 2)
	}
	if containsAny(text, secretNames) {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if !containsAny(line, secretNames) {
				continue
			}
			places := assigned(line, true)
			for j := len(places) - 1; j >= 0; j-- {
				line = line[:places[j][0]] + Redacted + line[places[j][1]:]
			}
			lines[i] = line
		}
		text = strings.Join(lines, "\n")
	}
	return text
}

// replaceGroup replaces one group of every match.
func replaceGroup(re *regexp.Regexp, text string, group int) string {
	matches := re.FindAllStringSubmatchIndex(text, -1)
	if matches == nil {
		return text
	}
	var b strings.Builder
	at := 0
	for _, m := range matches {
		from, to := m[2*group], m[2*group+1]
		if from < 0 {
			continue
		}
		b.WriteString(text[at:from])
		b.WriteString(Redacted)
		at = to
	}
	b.WriteString(text[at:])
	return b.String()
}
