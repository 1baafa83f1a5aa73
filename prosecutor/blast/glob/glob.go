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

// Set is an ordered list of globs, prepared once and matched often. The zero Set matches nothing. A Set is immutable and
// safe for concurrent use.
type Set struct {
	globs []prepared
}

type prepared struct {
	text  string
	run   string // what doublestar is given
	place string // the path before the first metacharacter
}

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

// Must is New for globs that are written in the program: it panics when one is malformed.
func Must(globs ...string) Set {
	s, err := New(globs...)
	if err != nil {
		panic(err)
	}
	return s
}

func prepare(g string) prepared {
	p := prepared{text: g, run: g, place: g}
	if strings.HasSuffix(g, "/**") {
		p.run += "/*"
	}
	if first := strings.IndexAny(g, `*?[{\`); first >= 0 {
		p.place = g[:first]
	}
	return p
}

func (p prepared) match(path string) bool { return doublestar.MatchUnvalidated(p.run, path) }

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
