package judge

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a credential that no formatting verb, JSON encoder or logger shows. Reveal gives its text away.
type Secret struct{ text string }

// NewSecret hides text.
func NewSecret(text string) Secret { return Secret{text: text} }

// Reveal returns the credential. Its result goes into a request header and nowhere else.
func (s Secret) Reveal() string { return s.text }

// IsZero reports whether there is no credential.
func (s Secret) IsZero() bool { return s.text == "" }

// String returns a placeholder.
func (s Secret) String() string {
	if s.text == "" {
		return ""
	}
	return "***"
}

// Format prints the placeholder for every verb, %#v included.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText encodes the placeholder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue logs the placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
