package convergence

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Signature is what makes two findings of different laps the same for the ledger: 16 hexadecimal digits over lens, path,
// charge and the normalised claim (semantics 6). Severity and line numbers take no part.
func Signature(f prosecutor.Finding) string {
	h := sha256.New()
	for _, part := range []string{string(f.Lens), path(f), string(f.Charge), normalise(f.Claim, path(f))} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Signatures is the set of the signatures of findings, sorted.
func Signatures(findings []prosecutor.Finding) []string {
	set := make([]string, 0, len(findings))
	for _, f := range findings {
		set = append(set, Signature(f))
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// Contributing returns the findings that contributed to the vetoes: of each lens that blocks its critical and high
// findings, or all of its findings where it has none of those (semantics 6). Lenses that ship, or failed, contribute
// nothing.
func Contributing(lenses []LensOutcome) []prosecutor.Finding {
	var out []prosecutor.Finding
	for _, o := range lenses {
		if o.verdict() != prosecutor.Block {
			continue
		}
		var grave []prosecutor.Finding
		for _, f := range o.Findings {
			if f.Severity.Blocks() {
				grave = append(grave, f)
			}
		}
		if grave == nil {
			grave = o.Findings
		}
		for _, f := range grave {
			if f.Lens == "" && f.Source == prosecutor.FromModel {
				f.Lens = o.Lens
			}
			out = append(out, f)
		}
	}
	return out
}

// path is the path that a finding is about.
func path(f prosecutor.Finding) string {
	switch {
	case f.Place.Path != "":
		return f.Place.Path
	case f.Anchor != nil:
		return f.Anchor.Path
	default:
		return ""
	}
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// What a claim says about line numbers. Lines are named before case is folded, because "L42" names a line and "l42" does
// not, and a single digit after an L is more often a cache level or a norm than a line.
var (
	lineWord = regexp.MustCompile(`(?i)(^|[^\pL\pN_-])(?:(?:line|ln\.?)\s*(?:number|num\.?|nr\.?|no\.?)?\s*[:#]?\s*\d+(?:\s*(?:-|–|—|\.\.+|to|through|until)\s*\d+)?|` +
		`lines\s*(?:numbers|nos?\.?)?\s*[:#]?\s*\d+(?:\s*(?:-|–|—|\.\.+|to|through|until)\s*\d+(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)\d+\s*(?:-|–|—|to)\s*\d+)*|(?:\s*,\s*\d+)*(?:\s*,?\s*(?:and|&)\s*\d+)?))(?:\b|$)`)
	ordinalLine = regexp.MustCompile(`(?i)(^|[^\pL\pN_])\d+(?:st|nd|rd|th)\s+line\b`)
	lineMark    = regexp.MustCompile(`(^|[^\pL\pN_])(?:L\d+\s*[-–—:]\s*L?\d+|L\d{2,}|#L\d+)(?:C\d+)?\b`)
	fileLine    = regexp.MustCompile(`([\pL\pN_./\\@+-]*[\pL\pN_]\.([A-Za-z][A-Za-z0-9]{0,9}))(?::\d+(?:[-–:]\d+)*|\(\d+(?:\s*[,:-]\s*\d+)*\)|#L\d+(?:-L?\d+)?)`)
	quoted      = regexp.MustCompile("`[^`\n]+`|\"[^\"\n]+\"|“[^”\n]+”")
)

// hosts are endings that make name:number a host and a port rather than a file and a line.
var hosts = map[string]bool{"com": true, "org": true, "net": true, "io": true, "dev": true, "local": true, "internal": true, "localhost": true, "test": true, "example": true, "invalid": true}

// normalise folds case and white space of a claim and takes line numbers out. Other numbers stay, and so do quoted
// identifiers, with their case: parse and Parse are two functions. file is the path the finding is about.
func normalise(claim, file string) string {
	var b strings.Builder
	rest := strings.Join(strings.Fields(claim), " ")
	for {
		at := quoted.FindStringIndex(rest)
		if at == nil {
			break
		}
		b.WriteString(strings.ToLower(withoutLines(rest[:at[0]], file)))
		b.WriteString(withoutFileLines(rest[at[0]:at[1]], file))
		rest = rest[at[1]:]
	}
	b.WriteString(strings.ToLower(withoutLines(rest, file)))
	return strings.Join(strings.Fields(b.String()), " ")
}

func withoutLines(s, file string) string {
	s = withoutFileLines(s, file)
	s = lineWord.ReplaceAllString(s, "$1")
	s = ordinalLine.ReplaceAllString(s, "$1")
	return lineMark.ReplaceAllString(s, "$1")
}

// withoutFileLines takes the line number out of file:line, whether quoted or not.
func withoutFileLines(s, file string) string {
	s = fileLine.ReplaceAllStringFunc(s, func(m string) string {
		part := fileLine.FindStringSubmatch(m)
		if hosts[strings.ToLower(part[2])] {
			return m
		}
		return part[1]
	})
	if base := filepath.Base(file); file != "" && !strings.Contains(base, ".") {
		// A name without an ending is a file only when it is the one accused: Makefile:12.
		at := regexp.MustCompile(`(^|[^\pL\pN_])(` + regexp.QuoteMeta(base) + `):\d+(?:[-–:]\d+)*`)
		s = at.ReplaceAllString(s, "$1$2")
	}
	return s
}
