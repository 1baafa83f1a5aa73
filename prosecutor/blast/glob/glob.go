// Package glob matches repository paths against the globs of a policy: "*" stays inside one path segment, "**" crosses
// segments, "dir/**" is everything below dir, "**/x" also matches x at the root. Matching is case-sensitive and on the
// whole path (semantics 4).
//
// The rest of the meaning is doublestar's. Other than doublestar's, "dir/**" does not match the path dir itself; a link or
// submodule, which stands for what is below it, is asked about with Covers.
package glob

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Set is an ordered list of globs, prepared once and matched often: a case may hold 3,000 files and 50 globs, and most
// globs are decided by comparing a prefix. The zero Set matches nothing. A Set is immutable and safe for concurrent use.
type Set struct {
	globs []prepared
}

// prepared is a glob with what can be said about its matches without running it.
type prepared struct {
	text   string
	run    string // what doublestar is given
	kind   kind
	place  string // the path before the first metacharacter
	prefix string // every match starts with it
	suffix string // every match ends with it
}

type kind int

const (
	general kind = iota
	exact        // no metacharacter: the path is the glob
	below        // "dir/**" without other metacharacters
	named        // "**/name": a path whose last segments are name
	all          // "**"
)

// New prepares globs. Every glob that is malformed is reported, each by its text; the Set that comes with the error
// holds the others, so that the caller decides what a glob that nobody can read means.
func New(globs ...string) (Set, error) {
	var s Set
	var problems []error
	for _, g := range globs {
		if !doublestar.ValidatePattern(g) {
			problems = append(problems, fmt.Errorf("glob %q is malformed: check its brackets, braces and backslashes", g))
			continue
		}
		s.globs = append(s.globs, prepare(g))
	}
	return s, errors.Join(problems...)
}

const meta = `*?[{\`

func prepare(g string) prepared {
	p := prepared{text: g, run: g, place: g}
	if strings.HasSuffix(g, "/**") {
		p.run += "/*"
	}
	first := strings.IndexAny(g, meta)
	if first < 0 {
		p.kind = exact
		return p
	}
	p.place = g[:first]
	switch {
	case g == "**":
		p.kind = all
		return p
	case first == len(g)-2 && strings.HasSuffix(g, "/**"):
		p.kind = below
		p.prefix = g[:first]
		return p
	case strings.HasPrefix(g, "**/") && len(g) > 3 && !strings.ContainsAny(g[3:], meta) && g[3] != '/':
		p.kind = named
		p.suffix = g[3:]
		return p
	}
	// "a/**/b" may match "a/b", so that the slash before a doublestar is not part of the certain prefix.
	p.prefix = p.place
	if strings.HasPrefix(g[first:], "**") {
		p.prefix = strings.TrimSuffix(p.prefix, "/")
	}
	// Braces and classes hide where the last metacharacter ends, hence only plain stars give a certain suffix.
	if !strings.ContainsAny(g, `[{\?`) {
		p.suffix = strings.TrimPrefix(g[strings.LastIndexByte(g, '*')+1:], "/")
	}
	return p
}

func (p prepared) match(path string) bool {
	switch p.kind {
	case exact:
		return path == p.text
	case all:
		return true
	case below:
		return strings.HasPrefix(path, p.prefix) && len(path) > len(p.prefix)
	case named:
		return strings.HasSuffix(path, p.suffix) &&
			(len(path) == len(p.suffix) || path[len(path)-len(p.suffix)-1] == '/')
	default:
		return strings.HasPrefix(path, p.prefix) && strings.HasSuffix(path, p.suffix) &&
			doublestar.MatchUnvalidated(p.run, path)
	}
}

// Match returns the first glob that matches path.
func (s Set) Match(path string) (glob string, ok bool) {
	for _, p := range s.globs {
		if p.match(path) {
			return p.text, true
		}
	}
	return "", false
}

// Covers returns the first glob that matches path, or that names a place below it: "internal/auth/**" for the paths
// internal/auth and internal. It is the question to ask about a link or a submodule, which changes whatever is below it.
// A glob that begins with a metacharacter names no place.
func (s Set) Covers(path string) (glob string, ok bool) {
	for _, p := range s.globs {
		if p.match(path) || strings.HasPrefix(p.place, path+"/") {
			return p.text, true
		}
	}
	return "", false
}

// Empty reports whether the set has no glob.
func (s Set) Empty() bool { return len(s.globs) == 0 }
