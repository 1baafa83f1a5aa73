package config

import (
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
)

// format is what a text has to look like.
type format struct {
	allowed string // for people, and the reference
	pattern string // for the JSON schema: what a regular expression can say of it
	most    int    // characters
	lines   bool   // may hold line breaks and tabs
	// check says what is wrong with a text that the pattern matches, and perhaps what was meant. It never repeats the text.
	check func(s string) (problem, better string)
}

// formats are the named formats that `check` tags use.
var formats = sync.OnceValue(func() map[string]format {
	return map[string]format{
		"glob":     {allowed: "a glob on the path from the root of the repository, as in src/**", pattern: `^[^/]`, most: 512, check: checkGlob},
		"path":     {allowed: "a path from the root of the repository", pattern: `^[^/]`, most: 4096, check: checkPath},
		"family":   {allowed: "a model family: lower case letters, digits, dots, dashes and underscores", pattern: `^[a-z0-9][a-z0-9._-]*$`, most: 64},
		"judge":    {allowed: "a judge's name: letters, digits and any of . _ - : / @", pattern: `^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`, most: 100},
		"login":    {allowed: "a login, without @", pattern: `^[A-Za-z0-9][A-Za-z0-9_-]*(\[bot\])?$`, most: 100},
		"reviewer": {allowed: "a login, or organisation/team, without @", pattern: `^[A-Za-z0-9][A-Za-z0-9_-]*(/[A-Za-z0-9._-]+)?$`, most: 140},
		"label":    {allowed: "the name of a label", pattern: `^\S(.*\S)?$`, most: 100},
		"check":    {allowed: `the name of a check, or "*"`, pattern: `^\S(.*\S)?$`, most: 255},
		"word":     {allowed: "a name without white space", pattern: `^\S+$`, most: 200},
		"text":     {allowed: "a text that is not blank", pattern: `\S`, most: 4096, lines: true},
		"command":  {allowed: "a shell command, or an empty text", most: 8192, lines: true},
		"arg":      {allowed: "a text", most: 8192, lines: true},
		"url":      {allowed: "an absolute http or https URL", pattern: `^https?://[^/?#]`, most: 2048, check: checkURL},
		"env":      {allowed: "the name of an environment variable: letters, digits and underscores", pattern: `^[A-Za-z_][A-Za-z0-9_]*$`, most: 128},
		"file":     {allowed: "the path of a file", pattern: `\S`, most: 4096},
	}
})

// regexpOf compiles the pattern of a format once.
var regexpOf = sync.OnceValue(func() map[string]*regexp.Regexp {
	compiled := map[string]*regexp.Regexp{}
	for name, f := range formats() {
		compiled[name] = regexp.MustCompile(f.pattern)
	}
	return compiled
})

// checkFormat says what is wrong with s, and perhaps what was meant. It never repeats s in the problem.
func checkFormat(name, s string) (problem, better string) {
	f := formats()[name]
	switch {
	case len([]rune(s)) > f.most:
		return "the text is too long", ""
	case strings.ContainsFunc(s, func(r rune) bool { return hidden(r) && (!f.lines || r != '\n' && r != '\t') }):
		return "the text holds an invisible character or a line break", ""
	}
	if !regexpOf()[name].MatchString(s) {
		if s == "" {
			return "the text is empty", ""
		}
		if f.check != nil {
			if problem, better := f.check(s); problem != "" {
				return problem, better
			}
		}
		return "the text does not have the right form", repaired(name, s)
	}
	if f.check == nil {
		return "", ""
	}
	return f.check(s)
}

// repaired returns what s would be without the usual slips, if that is valid: blanks around it, a leading @ or slash,
// upper case.
func repaired(name, s string) string {
	for _, candidate := range []string{
		strings.TrimSpace(s),
		strings.TrimLeft(strings.TrimSpace(s), "@/"),
		strings.ToLower(strings.TrimSpace(s)),
		strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), " ", "-"),
	} {
		if candidate != s && candidate != "" {
			if problem, _ := checkFormat(name, candidate); problem == "" {
				return candidate
			}
		}
	}
	return ""
}

// hidden reports whether a character is a control character or changes the direction of the text around it: both let a
// file show something else than it says.
func hidden(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x2028 || r == 0x2029 || r == 0xfeff
}

// maxGlobAlternatives bounds the ways to choose from all {a,b} of one glob: matching tries them one by one, and globs
// come from repositories that a server does not have to trust. The stars need no bound.
const maxGlobAlternatives = 256

func checkGlob(s string) (problem, better string) {
	if problem, better := checkPathForm(s); problem != "" {
		if better != "" && !doublestar.ValidatePattern(better) {
			better = ""
		}
		return problem, better
	}
	if strings.HasPrefix(s, "!") {
		return "a glob cannot exclude with !", ""
	}
	if !doublestar.ValidatePattern(s) {
		return "the glob is malformed: a bracket, brace or backslash is left open", ""
	}
	if alternatives(s) > maxGlobAlternatives {
		return "the glob has too many alternatives in braces", ""
	}
	return "", ""
}

// alternatives multiplies the numbers of alternatives of all braces of a glob; nested ones count as if side by side,
// which is never less.
func alternatives(s string) int {
	product, open := 1, []int{}
	for i := 0; i < len(s) && product <= maxGlobAlternatives; i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			open = append(open, 1)
		case ',':
			if len(open) > 0 {
				open[len(open)-1]++
			}
		case '}':
			if len(open) > 0 {
				product *= open[len(open)-1]
				open = open[:len(open)-1]
			}
		}
	}
	return product
}

func checkPath(s string) (problem, better string) { return checkPathForm(s) }

// checkPathForm finds what keeps a path or glob from ever matching a path of a diff.
func checkPathForm(s string) (problem, better string) {
	switch {
	case strings.TrimSpace(s) != s:
		return "the path has white space around it", strings.TrimSpace(s)
	case strings.HasPrefix(s, "/"):
		return "the path starts with a slash and would match nothing", strings.TrimLeft(s, "/")
	case strings.HasPrefix(s, "./"):
		return "the path starts with ./ and would match nothing", strings.TrimPrefix(s, "./")
	case strings.HasSuffix(s, "/"):
		return "the path ends with a slash and would match nothing", s + "**"
	case strings.Contains(s, "//"):
		return "the path has an empty segment and would match nothing", strings.ReplaceAll(s, "//", "/")
	}
	for segment := range strings.SplitSeq(s, "/") {
		if segment == "." || segment == ".." {
			return "the path has a segment of dots and would match nothing", ""
		}
	}
	return "", ""
}

func checkURL(s string) (problem, better string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Hostname() == "":
		return "the URL cannot be read", ""
	case u.User != nil:
		return "the URL holds a credential; name the variable or file that holds the key in api_key_env or api_key_file", ""
	case u.Fragment != "":
		return "the URL has a fragment", ""
	case u.Path != "" && path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") && u.Path != "/":
		return "the path of the URL is not in its shortest form", ""
	}
	return "", ""
}

// privateHost reports whether a host is this machine or on a network that the public cannot reach by that name: loopback
// and private addresses, names without a dot, and the names reserved for private use.
func privateHost(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if !strings.Contains(host, ".") {
		return true
	}
	for _, suffix := range []string{".localhost", ".local", ".internal", ".lan", ".home.arpa", ".svc", ".test"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}
