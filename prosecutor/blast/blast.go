// Package blast computes the blast radius of a case: how far the damage of a wrong change could reach, and therefore
// how many lenses prosecute it. Measure is the one function that knows the table of semantics 4 and what
// self-modification is (semantics 9); nothing else computes either, and neither is ever read from a store.
//
// The package does no I/O and keeps no state.
package blast

import (
	"fmt"
	"strconv"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/blast/glob"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// Input is what the radius depends on besides the diff.
type Input struct {
	Policy     *config.Policy // of the base branch; nil means the default policy
	PolicyPath string         // the gate's own policy file; empty means config.PolicyPath
	// Generated maps the paths of generated and vendored files to the reason, as generated.Classify returns it. Such a
	// file counts no lines unless it matches a critical glob; its path counts like any other.
	Generated map[string]string
}

// Result is the radius of one case.
type Result struct {
	Level prosecutor.Radius
	// Why explains the level in sentences for people, the decisive kind of reason first. It is never empty.
	Why []string
	// Lenses are those that prosecute, in their fixed order: as many as the table says, or as many as the policy raises
	// the number to.
	Lenses []prosecutor.Lens
	// SourceLines are added plus deleted lines that count towards medium: under a source glob, and neither generated nor
	// vendored unless critical.
	SourceLines  int
	ChangedLines int // added plus deleted lines of every file
	Files        int // changed files; a type change is one
	// ChangedPaths holds every path that the change touches, once, in the order of the diff: both names of a rename, but
	// not the source of a copy, which stays as it was.
	ChangedPaths []string
	// SelfModifying says that the case touches the gate itself: its policy, what produces its evidence, CODEOWNERS, or a
	// path in self_modification. Which workflow produces required evidence cannot be told from the files, so that all CI
	// configuration counts.
	SelfModifying bool
}

// named is how many paths Why names for one kind of reason.
const named = 5

// Measure computes the radius of d. A glob of the policy that is malformed cannot be told from one that matches, so
// that it counts as matching every path; config.ParsePolicy refuses such a policy beforehand.
func Measure(d *diff.Diff, in Input) Result {
	policy := in.Policy
	if policy == nil {
		policy = config.DefaultPolicy()
	}
	policyPath := in.PolicyPath
	if policyPath == "" {
		policyPath = config.PolicyPath
	}
	critical := prepare("critical", policy.BlastRadius.Critical)
	source := prepare("source", policy.BlastRadius.Source)
	self := prepare("self_modification", policy.SelfModification)

	var r Result
	var why reasons
	seen := make(map[string]bool)
	files := make(map[string]bool)
	for _, f := range d.Files {
		r.ChangedLines += f.Changed()
		if !files[f.Path()] {
			files[f.Path()] = true
			r.Files++
		}
		isCritical, isSource := false, false
		for _, path := range changed(f) {
			// A link or a submodule stands for what is below it.
			tree := f.Symlink() || f.Submodule()
			rule, hit := critical.match(path, tree)
			isCritical = isCritical || hit
			if _, ok := source.match(path, false); ok {
				isSource = true
			}
			if seen[path] {
				continue
			}
			seen[path] = true
			r.ChangedPaths = append(r.ChangedPaths, path)
			if hit {
				why.critical.add(path, rule)
			}
			switch owns(path, policyPath, tree) {
			case GatePolicy:
				why.policy.add(path, "is the gate's own policy")
			case GateOwners:
				why.owners.add(path, "says who must approve")
			case GateCI:
				why.ci.add(path, "is CI configuration, which produces evidence")
			case NotGate:
			}
			if rule, ok := self.match(path, tree); ok {
				why.self.add(path, rule)
			}
		}
		if _, generated := in.Generated[f.Path()]; isSource && (isCritical || !generated) {
			r.SourceLines += f.Changed()
		}
	}

	r.SelfModifying = why.policy.n+why.owners.n+why.ci.n+why.self.n > 0
	limit := policy.BlastRadius.MediumLines
	switch {
	case r.SelfModifying || why.critical.n > 0:
		r.Level = prosecutor.RadiusHigh
		r.Why = why.sentences()
	case r.SourceLines > limit:
		r.Level = prosecutor.RadiusMedium
		r.Why = []string{fmt.Sprintf("%s under source globs, more than %d", changedLines(r.SourceLines), limit)}
	default:
		r.Level = prosecutor.RadiusLow
		r.Why = []string{fmt.Sprintf("no critical path, and %s under source globs, not more than %d", changedLines(r.SourceLines), limit)}
	}

	least := Lenses(r.Level)
	n := min(max(least, policy.BlastRadius.Lenses[r.Level]), len(prosecutor.Lenses()))
	r.Lenses = prosecutor.Lenses()[:n]
	if n > least {
		r.Why = append(r.Why, fmt.Sprintf("the policy raises the lenses of %s from %d to %d", r.Level, least, n))
	}
	return r
}

// Lenses is the number of lenses that the table gives a radius: 1, 2 and 3. An unknown radius gets all of them.
func Lenses(level prosecutor.Radius) int {
	switch level {
	case prosecutor.RadiusLow:
		return 1
	case prosecutor.RadiusMedium:
		return 2
	default:
		return len(prosecutor.Lenses())
	}
}

// changed returns the paths that an entry changes.
func changed(f *diff.File) []string {
	switch {
	case f.OldPath == "" || f.Status == diff.Copied:
		return []string{f.NewPath}
	case f.NewPath == "" || f.NewPath == f.OldPath:
		return []string{f.OldPath}
	default:
		return []string{f.OldPath, f.NewPath}
	}
}

// rules are the globs of one key of the policy.
type rules struct {
	key    string
	globs  glob.Set
	broken bool
}

func prepare(key string, globs []string) rules {
	s, err := glob.New(globs...)
	return rules{key: key, globs: s, broken: err != nil}
}

// match returns what is to be said about a path that matches, or about one with something below it that may.
func (r rules) match(path string, tree bool) (said string, ok bool) {
	if g, ok := r.globs.Match(path); ok {
		return "matches " + r.key + " glob " + g, true
	}
	if tree {
		if g, ok := r.globs.Covers(path); ok {
			return "stands in the place of " + r.key + " glob " + g, true
		}
	}
	if r.broken {
		return "may match a malformed " + r.key + " glob", true
	}
	return "", false
}

// reasons collects the sentences of a high radius by their kind.
type reasons struct {
	critical, policy, ci, owners, self sentences
}

func (r reasons) sentences() []string {
	var all []string
	for _, kind := range []struct {
		sentences
		noun string
	}{
		{r.critical, "under critical globs"},
		{r.policy, "of the gate's policy"},
		{r.ci, "of CI configuration"},
		{r.owners, "that say who must approve"},
		{r.self, "under self_modification globs"},
	} {
		all = append(all, kind.said...)
		if more := kind.n - len(kind.said); more > 0 {
			all = append(all, fmt.Sprintf("and %d more %s", more, kind.noun))
		}
	}
	return all
}

// sentences are the reasons of one kind: the first few in full, the others counted.
type sentences struct {
	said []string
	n    int
}

func (s *sentences) add(path, predicate string) {
	s.n++
	if len(s.said) < named {
		s.said = append(s.said, shown(path)+" "+predicate)
	}
}

// shown is a path as a sentence may carry it: control characters, line feeds and bytes that are not UTF-8 are escaped.
func shown(path string) string {
	if q := strconv.Quote(path); q != `"`+path+`"` {
		return q
	}
	return path
}

func changedLines(n int) string {
	if n == 1 {
		return "1 changed line"
	}
	return strconv.Itoa(n) + " changed lines"
}
