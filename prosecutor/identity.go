package prosecutor

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Identify returns the identity of a finding: 12 hexadecimal digits over lens, rule (or charge), path, and the quoted
// code with white space folded, or the claim where there is no quote. Line numbers and severity do not take part, so
// that the identity survives a push that moves the code (semantics 10, and REVIEWING's lesson that prose and lines
// change between runs while the accused code does not).
func Identify(f Finding) string {
	what := f.Rule
	if what == "" {
		what = string(f.Charge)
	}
	path, code := "", ""
	if f.Anchor != nil {
		path, code = f.Anchor.Path, f.Anchor.Quote
	}
	if f.Place.Path != "" {
		path = f.Place.Path
	}
	if strings.TrimSpace(code) == "" {
		code = strings.ToLower(f.Claim)
	}
	h := sha256.New()
	for _, part := range []string{string(f.Lens), what, path, strings.Join(strings.Fields(code), " ")} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
