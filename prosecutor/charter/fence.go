package charter

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// hashNonce stands for the nonce when a prompt is hashed.
const hashNonce = "nonce"

// RandomNonce returns a word of 130 random bits for the markers of one call.
func RandomNonce() string { return rand.Text() }

// piece is a part of a prompt: words of ours, or, when it has a label, somebody else's text that goes between markers.
type piece struct {
	label string
	text  string
}

func say(text string) piece           { return piece{text: text} }
func fenced(label, text string) piece { return piece{label: label, text: text} }

// prompt is a user message before its nonce is chosen.
type prompt []piece

func (p prompt) render(nonce string) string {
	size := 0
	for _, x := range p {
		size += len(x.text) + 2*len(nonce) + 100
	}
	var w strings.Builder
	w.Grow(size)
	fmt.Fprintf(&w, "The marker word of this conversation is %s.\n", nonce)
	for _, x := range p {
		if x.label == "" {
			w.WriteString(x.text)
			continue
		}
		fmt.Fprintf(&w, "<<<BEGIN %s %s %d characters>>>\n", x.label, nonce, utf8.RuneCountInString(x.text))
		w.WriteString(x.text)
		if !strings.HasSuffix(x.text, "\n") {
			w.WriteByte('\n')
		}
		fmt.Fprintf(&w, "<<<END %s %s>>>\n", x.label, nonce)
	}
	return w.String()
}

// holds reports whether the prompt contains s already, in somebody else's text or in ours.
func (p prompt) holds(s string) bool {
	for _, x := range p {
		if strings.Contains(x.text, s) {
			return true
		}
	}
	return false
}

// fits reports whether the nonce is a plain word that the prompt does not contain yet.
func fits(nonce string, p prompt) bool {
	if len(nonce) < 8 || len(nonce) > 64 {
		return false
	}
	for _, c := range []byte(nonce) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return !p.holds(nonce)
}

// usableNonce returns the nonce, or a word derived from it. A fence holds whenever its word does not occur in what it
// fences, even if the word could be foreseen, because the content is fixed before the word is.
func usableNonce(nonce string, p prompt) string {
	for i := 0; !fits(nonce, p); i++ {
		sum := sha256.Sum256([]byte(nonce + "\x00" + strconv.Itoa(i)))
		nonce = hex.EncodeToString(sum[:16])
	}
	return nonce
}
