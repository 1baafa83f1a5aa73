package publish

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence/rules"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// Every artefact carries a hidden marker by which the publisher finds its own: an HTML comment, which GitHub keeps in the
// body and shows to nobody. It must not hold "--", so its values are either of a safe alphabet or standard base64, whose
// alphabet has no hyphen.

// mark is a marker with its values.
func mark(kind string, values ...string) string {
	parts := append([]string{"<!-- prosecutor:" + kind}, values...)
	return strings.Join(parts, " ") + " -->"
}

// markers are the markers of a body: the lines it begins with. Behind them a marker can be anybody's, since hostile text
// may stand in code as it is.
func markers(body string) string {
	rest := body
	for strings.HasPrefix(rest, "<!-- prosecutor:") {
		_, after, ok := strings.Cut(rest, "\n")
		if !ok {
			return body
		}
		rest = after
	}
	return body[:len(body)-len(rest)]
}

// has reports whether a body carries a marker with exactly these values.
func has(body, marker string) bool { return strings.Contains(markers(body), marker) }

// key identifies what is published: the repository by its id, since names change, and never anything of one attempt.
func (t Target) key() string {
	key := fmt.Sprintf("%d/%d@%s#%d", t.RepoID, t.PR, safe(t.Head), t.Generation)
	if t.CaseKey != "" {
		sum := sha256.Sum256([]byte(t.CaseKey))
		key += "/" + hex.EncodeToString(sum[:4])
	}
	return key
}

// headKey identifies the lap: what is published about one head, whatever the generation.
func (t Target) headKey() string { return fmt.Sprintf("%d/%d@%s#", t.RepoID, t.PR, safe(t.Head)) }

// ExternalID is the external id of the target's check run: by it the publisher, and a sweep, find it again.
func (t Target) ExternalID() string { return "prosecutor/1 " + t.key() }

// safe keeps letters, digits and a few signs of a value, so that it can stand in a marker.
func safe(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.', r == '/', r == ':':
			return r
		}
		return -1
	}, s)
}

var (
	findingMarker = regexp.MustCompile(`<!-- prosecutor:finding ([0-9a-zA-Z_.:/]+)(?: by=([a-z_]+))?(?: q=([A-Za-z0-9+/=]+))? -->`)
	reviewMarker  = regexp.MustCompile(`<!-- prosecutor:review ([0-9a-zA-Z_.:/@#]+) -->`)
)

// maxMarkedQuote is how many bytes of accused code a marker remembers. It serves only to see that the code is gone.
const maxMarkedQuote = 2000

// markFinding marks a comment on a finding: its identity, which lens or evidence source can tell that it is gone, and the
// accused lines. Lines in which a secret was masked are left out, since they would never be found again.
func markFinding(f report.Finding) string {
	values := []string{safe(f.ID)}
	if by := accuser(f); by != "" {
		values = append(values, "by="+by)
	}
	if q := f.Quote; strings.TrimSpace(q) != "" && len(q) <= maxMarkedQuote && !strings.Contains(q, rules.Redacted) {
		values = append(values, "q="+base64.StdEncoding.EncodeToString([]byte(string(sideOf(f))+"\n"+q)))
	}
	return mark("finding", values...)
}

func sideOf(f report.Finding) prosecutor.Side {
	if f.Side == string(prosecutor.Left) {
		return prosecutor.Left
	}
	return prosecutor.Right
}

// accuser is the evidence source that made a finding, else the lens under which it was made.
func accuser(f report.Finding) string {
	if prosecutor.FindingSource(f.Source) == prosecutor.FromEvidence {
		return f.Origin
	}
	return f.Lens
}

// Marked is what a comment of ours on a finding says of it.
type Marked struct {
	ID    string
	By    string          // the lens, or the evidence source; may be empty
	Side  prosecutor.Side // of the quote
	Quote string          // the accused lines; empty when they are not known
}

// FindingOf reads the marker of a comment on a finding. Whoever relies on it has to know that the App wrote the comment:
// anybody can write a marker.
func FindingOf(body string) (Marked, bool) {
	m := findingMarker.FindStringSubmatch(markers(body))
	if m == nil {
		return Marked{}, false
	}
	out := Marked{ID: m[1], By: m[2]}
	if raw, err := base64.StdEncoding.DecodeString(m[3]); err == nil && m[3] != "" {
		side, quote, ok := strings.Cut(string(raw), "\n")
		if ok && (side == string(prosecutor.Left) || side == string(prosecutor.Right)) {
			out.Side, out.Quote = prosecutor.Side(side), quote
		}
	}
	return out, true
}
