package ghclient

import "regexp"

// redacted stands where a secret was.
const redacted = "[redacted]"

// secrets are the shapes of GitHub's credentials, whatever their length: tokens with a prefix (ghs_ of installations has
// been 40 characters, and is now ghs_<app>_<jwt>), fine-grained tokens, the v1. tokens of old Enterprise Servers, JWTs, keys
// in PEM, and whatever follows an Authorization scheme.
var secrets = []*regexp.Regexp{
	regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`),
	regexp.MustCompile(`gh[pousr]_[A-Za-z0-9_.\-]+`),
	regexp.MustCompile(`github_pat_[A-Za-z0-9_]+`),
	regexp.MustCompile(`v1\.[0-9a-f]{16,}`),
	regexp.MustCompile(`eyJ[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]+(\.[A-Za-z0-9_\-]*)?`),
	regexp.MustCompile(`(?i)authorization["']?\s*[:=]\s*["']?(bearer|token|basic)\s+[^\s"',]+`),
}

// Redact replaces each credential of GitHub's in a text by "[redacted]".
func Redact(text string) string {
	for _, re := range secrets {
		text = re.ReplaceAllString(text, redacted)
	}
	return text
}
