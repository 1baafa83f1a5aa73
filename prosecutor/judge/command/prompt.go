package command

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
)

// Prompt writes a conversation as the text that a program reads on standard input. A conversation that is a system
// prompt and one user turn, as every opening is, is the two with a blank line between them. A longer one marks each turn
// with a line that carries the nonce, so that no text inside of a turn can open another:
//
//	<system prompt>
//
//	This conversation has turns. Each begins with a line of the form "=== role NONCE ===", and only lines with that very
//	word do. ...
//
//	=== user NONCE ===
//	<first turn>
//	=== assistant NONCE ===
//	<the answer so far>
//	=== user NONCE ===
//	<what is wrong with it>
//
// A nonce that occurs in the conversation is lengthened until it does not.
func Prompt(req judge.Request, nonce string) string {
	var b strings.Builder
	if req.System != "" {
		b.WriteString(req.System)
		b.WriteString("\n\n")
	}
	if len(req.Messages) == 1 {
		b.WriteString(req.Messages[0].Text)
		return b.String()
	}
	for occurs(req, nonce) {
		nonce += "x"
	}
	fmt.Fprintf(&b, "This conversation has turns. Each begins with a line of the form \"=== role %s ===\", and only lines with that very "+
		"word do. The turns of the assistant are your own earlier answers. Answer the last turn of the user, in the form told above.\n\n", nonce)
	for _, m := range req.Messages {
		role := judge.User
		if m.Role == judge.Assistant {
			role = judge.Assistant
		}
		fmt.Fprintf(&b, "=== %s %s ===\n%s\n", role, nonce, m.Text)
	}
	return b.String()
}

func occurs(req judge.Request, nonce string) bool {
	if strings.Contains(req.System, nonce) {
		return true
	}
	for _, m := range req.Messages {
		if strings.Contains(m.Text, nonce) {
			return true
		}
	}
	return false
}

// randomNonce returns 24 hexadecimal digits that nobody can guess.
func randomNonce() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails, as crypto/rand documents
	return hex.EncodeToString(b[:])
}
