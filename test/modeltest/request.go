package modeltest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Format is the wire format of a request.
type Format string

// The formats.
const (
	FormatOpenAI    Format = "openai"
	FormatAnthropic Format = "anthropic"
)

// Request is one request as it arrived.
type Request struct {
	Ordinal   int // 0 for the first valid request
	Format    Format
	Path      string
	Query     url.Values
	Header    http.Header
	Key       string // the credential, from whichever header the format has it in
	Body      []byte
	Model     string
	System    string
	Messages  []Message // without the system prompt
	MaxTokens int       // 0 when not given
	Output    string    // "json_schema", "json_object" or ""
	Schema    json.RawMessage
	Strict    bool
	Stream    bool
	Tools     int // how many tools the model is offered

	includeUsage bool
	legacyLimit  bool
}

// Message is one turn.
type Message struct {
	Role string
	Text string
}

// Lens is the lens that the system prompt names, or "".
func (r Request) Lens() prosecutor.Lens {
	for _, lens := range prosecutor.Lenses() {
		if strings.Contains(r.System, "lens: "+string(lens)+"\n") {
			return lens
		}
	}
	return ""
}

// Repair reports whether the conversation carries an earlier answer.
func (r Request) Repair() bool {
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			return true
		}
	}
	return false
}

// Text is all that the model reads: the system prompt and the turns.
func (r Request) Text() string {
	var b strings.Builder
	b.WriteString(r.System)
	for _, m := range r.Messages {
		b.WriteByte('\n')
		b.WriteString(m.Text)
	}
	return b.String()
}

func (r Request) uses(feature string) bool {
	switch feature {
	case "max_tokens":
		return r.MaxTokens > 0 && r.legacyLimit
	case "max_completion_tokens":
		return r.MaxTokens > 0 && !r.legacyLimit
	default:
		return r.Output == feature
	}
}

// tokens estimates how many tokens a text has, as a rule of thumb: four bytes each.
func tokens(text string) int { return (len(text) + 3) / 4 }
