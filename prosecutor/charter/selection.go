package charter

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// ErrOnlyExcluded says that every file of the diff is one that judges do not read, and that the diff is too long to read
// it nevertheless. The case is not judged (semantics 2).
var ErrOnlyExcluded = errors.New("only excluded files, too large to read")

// Selection says which files judges do not read.
type Selection struct {
	Policy config.Diff
	// Critical holds the globs of paths that are never left out (blast_radius.critical, and what else makes a case high).
	Critical []string
	// Generated maps paths that the base branch marks as generated or vendored, and lock files, to the reason. It counts
	// only when the policy does not list globs of its own.
	Generated map[string]string
}

// Select returns the text that judges read, the kept sections of the diff byte for byte in their order, and the files it
// leaves out, in the order of the diff (semantics 2).
//
// A list in the policy replaces the default: exactly its globs are left out. A file is left out only when each of its
// names is: a rename or copy out of a generated place, or into one, is read. A file is read when any of its names is
// critical. When nothing would be left to read, everything is read; if that is longer than MaxCodePoints the error is
// ErrOnlyExcluded. Any other error is a glob that cannot be read.
func Select(d *diff.Diff, s Selection) (text string, excluded []Excluded, err error) {
	var kept, all strings.Builder
	keptFiles := 0
	for _, f := range d.Files {
		all.WriteString(f.Raw)
		reason, out, err := s.excludes(f)
		if err != nil {
			return "", nil, err
		}
		if out {
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

func (s Selection) excludes(f *diff.File) (reason string, out bool, err error) {
	names := namesOf(f)
	for _, name := range names {
		if glob, err := matchAny(s.Critical, name); err != nil || glob != "" {
			return "", false, err
		}
	}
	for _, name := range names {
		why, out, err := s.excludesName(name)
		if err != nil || !out {
			return "", false, err
		}
		// The new name comes last, and its reason is the one a reader of the list can check.
		reason = why
	}
	return reason, len(names) > 0, nil
}

func (s Selection) excludesName(name string) (reason string, out bool, err error) {
	if s.Policy.Exclude == nil {
		reason, out = s.Generated[name]
		return reason, out, nil
	}
	glob, err := matchAny(*s.Policy.Exclude, name)
	if err != nil || glob == "" {
		return "", false, err
	}
	return "diff.exclude " + glob, true, nil
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

// matchAny returns the first glob that matches the whole path, case-sensitively, or "".
func matchAny(globs []string, name string) (string, error) {
	for _, glob := range globs {
		pattern := glob
		if strings.HasSuffix(pattern, "/**") {
			// "dir/**" is everything below dir, and not a file that is called dir.
			pattern += "/*"
		}
		ok, err := doublestar.Match(pattern, name)
		if err != nil {
			return "", fmt.Errorf("glob %q: %w: correct it in the policy", glob, err)
		}
		if ok {
			return glob, nil
		}
	}
	return "", nil
}
