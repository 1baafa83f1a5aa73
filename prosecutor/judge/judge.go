// Package judge defines what a judge is: one configured model endpoint with a declared family that answers a
// conversation with text. Adapters live in the packages below it; which judge serves a lens is decided by Pool.
package judge

import (
	"context"
	"fmt"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// Judge answers one conversation. Implementations are safe for concurrent use, hold no memory between calls, and give a
// model neither tools, nor a token, nor a shell (semantics 2).
type Judge interface {
	// Info describes the judge. It is constant.
	Info() Info
	// Ask puts the conversation to the model and returns its answer as it came: nothing is trimmed, unfenced or repaired
	// here. A failed call returns an *Error. Ask returns soon after ctx ends.
	Ask(ctx context.Context, req Request) (Reply, error)
}

// Info describes a judge.
type Info struct {
	ID       string // the name in the server configuration
	Family   string // declared model family; empty when unknown
	Provider string // whose quota and breaker it shares
	Model    string // the model's name at the provider
	Static   bool   // the built-in rules: no model judged
}

// Role is who speaks in a conversation.
type Role string

// The roles of a conversation.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one turn of a conversation.
type Message struct {
	Role Role
	Text string
}

// Request is one call.
type Request struct {
	Lens     prosecutor.Lens
	System   string    // the charter: trusted instructions
	Messages []Message // ends with a User turn; a repair round carries the earlier turns
	Schema   []byte    // JSON schema of the answer
	Material *Material // what stands behind the prompt, for judges that are not models
}

// Material is the case behind the prompt, for the static judge. Model adapters do not read it.
type Material struct {
	Diff     *diff.Diff // everything, excluded files too
	Spec     string
	Evidence []prosecutor.Evidence // as the judges are told it
}

// Reply is an answer and what it cost. When Ask returns an error, the reply still says what the call cost, as far as it
// is known; its text is then empty.
type Reply struct {
	Text      string
	Model     string // as the provider reports it
	TokensIn  int
	TokensOut int
	CostUSD   float64 // 0 when no price is configured
	Latency   time.Duration
	Requests  int  // requests sent to the provider: retries of rate limits and rejected forms of the request included
	Truncated bool // the answer was cut at the token limit
}

// Error is a failed call. Kind comes from the provider's error channel (status and code) or from the local cause, never
// from prose (semantics 7).
type Error struct {
	Kind     prosecutor.ErrorKind
	Provider string
	Status   int       // HTTP status, or the exit code of a command; 0 when there was none
	Code     string    // the provider's error code, if any
	ResetAt  time.Time // when to try again, if the provider said so; zero otherwise
	Err      error     // the cause; its text is safe to show: no secrets, no stack trace
}

// Error implements error.
func (e *Error) Error() string {
	msg := fmt.Sprintf("%s: %s", e.Provider, e.Kind)
	if e.Status != 0 {
		msg += fmt.Sprintf(" (status %d)", e.Status)
	}
	if e.Code != "" {
		msg += fmt.Sprintf(" [%s]", e.Code)
	}
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
