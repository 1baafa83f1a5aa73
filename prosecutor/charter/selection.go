package charter

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/blast/glob"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/generated"
)

// ErrOnlyExcluded says that every file of the diff is one that judges do not read, and that the diff is too long to read
// it nevertheless. The case is not judged (semantics 2).
var ErrOnlyExcluded = errors.New("only excluded files, too large to read")

// Selection says which files judges do not read.
type Selection struct {
	Policy config.Diff
	// Critical holds the globs of paths that are never left out (blast_radius.critical, and what else makes a case high).
	Critical []string
	// Generated maps the paths of generated, vendored and lock files to the reason, as generated.Classify returns it. It
	// counts only when the policy lists no globs of its own, and what is merely vendored is read all the same: semantics 2
	// leaves out what is generated and lock files, and other people's code in the repository is code that runs.
	Generated map[string]string
}

// Select returns the text that judges read, the kept sections of the diff byte for byte in their order, and the files it
// leaves out, in the order of the diff (semantics 2).
//
// A list in the policy replaces the default: exactly its globs are left out. A file is left out only when each of its
// names is: a rename or copy out of a generated place, or into one, is read. A file is read when any of its names is
// critical, and so is a link or a submodule with a critical place below it. When nothing would be left to read, everything
// is read; if that is longer than MaxCodePoints the error is ErrOnlyExcluded. Any other error is a malformed glob.
func Select(d *diff.Diff, s Selection) (text string, excluded []Excluded, err error) {
	sel, err := s.prepare()
	if err != nil {
		return "", nil, fmt.Errorf("selecting what judges read: %w", err)
	}
	var kept, all strings.Builder
	keptFiles := 0
	for _, f := range d.Files {
		all.WriteString(f.Raw)
		if reason, out := sel.excludes(f); out {
			excluded = append(excluded, Excluded{Path: f.Path(), Lines: f.Changed(), Reason: reason})
			continue
		}
		kept.WriteString(f.Raw)
		keptFiles++
	}
	if keptFiles > 0 || len(excluded) == 0 {
		return kept.String(), excluded, nil
	}
	if n := utf8.RuneCountInString(all.String()); n > MaxCodePoints {
		return "", nil, fmt.Errorf("%w: %d files, %d characters, %d allowed", ErrOnlyExcluded, len(excluded), n, MaxCodePoints)
	}
	return all.String(), nil, nil
}

// selector is a Selection with its globs read.
type selector struct {
	critical  glob.Set
	listed    bool // the policy has a list
	exclude   glob.Set
	generated map[string]string
}

func (s Selection) prepare() (selector, error) {
	sel := selector{generated: s.Generated, listed: s.Policy.Exclude != nil}
	var err, err2 error
	if sel.critical, err = glob.New(s.Critical...); err != nil {
		err = fmt.Errorf("critical globs: %w", err)
	}
	if sel.listed {
		if sel.exclude, err2 = glob.New(*s.Policy.Exclude...); err2 != nil {
			err2 = fmt.Errorf("diff.exclude: %w", err2)
		}
	}
	return sel, errors.Join(err, err2)
}

func (s *selector) excludes(f *diff.File) (reason string, out bool) {
	names := namesOf(f)
	for _, name := range names {
		critical := s.critical.Match
		if f.Submodule() || f.Symlink() {
			critical = s.critical.Covers
		}
		if _, ok := critical(name); ok {
			return "", false
		}
	}
	for _, name := range names {
		// The new name comes last: its reason is the one that a reader of the list can check.
		if reason, out = s.excludesName(name); !out {
			return "", false
		}
	}
	return reason, out
}

func (s *selector) excludesName(name string) (reason string, out bool) {
	if s.listed {
		g, ok := s.exclude.Match(name)
		return "diff.exclude " + g, ok
	}
	reason, ok := s.generated[name]
	return reason, ok && reason != generated.VendoredAttribute && reason != generated.VendoredPath
}

func namesOf(f *diff.File) []string {
	var names []string
	if f.OldPath != "" && f.OldPath != f.NewPath {
		names = append(names, f.OldPath)
	}
	if f.NewPath != "" {
		names = append(names, f.NewPath)
	}
	return names
}
