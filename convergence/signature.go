package convergence

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"sync"

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

// patterns find what a claim says about line numbers.
type patterns struct{ lineWord, ordinalLine, lineMark, fileLine, nameLine, quoted *regexp.Regexp }

// compiled makes the patterns when the first claim is read, so that no program pays for them that reads none.
var compiled = sync.OnceValue(func() patterns {
	const (
		letter = `(^|[^\pL\pN_-])`
		label  = `\s*(?:numbers?|nums?\.?|nrs?\.?|nos?\.?)?\s*[:#]?\s*`
		span   = `\d+(?:\s*(?:-|–|—|\.\.+|to|through|until)\s*\d+)?`
		spans  = `\d+\s*(?:-|–|—|\.\.+|to|through|until)\s*\d+`
	)
	return patterns{
		// A list goes on after a comma only with what it began with: in "lines 3-5, 404 is answered" the 404 is no line.
		lineWord: regexp.MustCompile(`(?i)` + letter + `(?:(?:line|ln\.?)` + label + span + `|lines` + label + `(?:` +
			spans + `(?:\s*(?:,|,?\s*and\s|&)\s*` + spans + `)*|\d+(?:\s*,\s*\d+)*(?:\s*,?\s*(?:and\s|&)\s*\d+)?))\b`),
		ordinalLine: regexp.MustCompile(`(?i)` + letter + `\d+(?:st|nd|rd|th)\s+line\b`),
		// Lines are named before case is folded, because "L42" names one and "l42" does not; a single digit after an L is
		// more often a cache level or a norm.
		lineMark: regexp.MustCompile(`(^|[^\pL\pN_])(?:L\d+\s*[-–—:]\s*L?\d+|L\d{2,}|#L\d+)(?:C\d+)?\b`),
		fileLine: regexp.MustCompile(`([\pL\pN_./\\@+-]*[\pL\pN_]\.([A-Za-z][A-Za-z0-9]{0,9}))(?::\d+(?:[-–:]\d+)*|\(\d+(?:\s*[,:-]\s*\d+)*\)|#L\d+(?:-L?\d+)?)`),
		nameLine: regexp.MustCompile(`[\pL\pN_/-]+:\d+(?:[-–:]\d+)*`),
		quoted:   regexp.MustCompile("`[^`\n]+`|\"[^\"\n]+\"|“[^”\n]+”"),
	}
})

// isHost reports whether an ending makes name:number a host and a port rather than a file and a line.
func isHost(ending string) bool {
	switch strings.ToLower(ending) {
	case "com", "org", "net", "io", "dev", "local", "internal", "test", "example", "invalid":
		return true
	default:
		return false
	}
}

// normalise folds case and white space of a claim and takes line numbers out. Other numbers stay, and so do quoted
// identifiers, with their case: parse and Parse are two functions. file is the path the finding is about.
func normalise(claim, file string) string {
	var b strings.Builder
	rest := strings.Join(strings.Fields(claim), " ")
	for {
		at := compiled().quoted.FindStringIndex(rest)
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
	p := compiled()
	s = p.lineWord.ReplaceAllString(s, "$1")
	s = p.ordinalLine.ReplaceAllString(s, "$1")
	return p.lineMark.ReplaceAllString(s, "$1")
}

// withoutFileLines takes the line number out of file:line, whether quoted or not.
func withoutFileLines(s, file string) string {
	p := compiled()
	s = p.fileLine.ReplaceAllStringFunc(s, func(m string) string {
		part := p.fileLine.FindStringSubmatch(m)
		if isHost(part[2]) {
			return m
		}
		return part[1]
	})
	if base := file[strings.LastIndexByte(file, '/')+1:]; base != "" {
		// A name without an ending is a file only when it is the one accused: Makefile:12.
		s = p.nameLine.ReplaceAllStringFunc(s, func(m string) string {
			name := m[:strings.IndexByte(m, ':')]
			if name == base || strings.HasSuffix(name, "/"+base) {
				return name
			}
			return m
		})
	}
	return s
}
