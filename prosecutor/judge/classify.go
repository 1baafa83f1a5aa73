package judge

import (
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Response is what one call said outside its answer: the provider's error channel, or the local cause why there was no
// response. Text is not part of it, so that no words in an answer or a message can be taken for a failure (semantics 7).
type Response struct {
	Status  int    // HTTP status, or the exit code of a command; 0 when there was none
	Code    string // the provider's error code
	Type    string // the provider's error type, where it sends a second word beside the code
	Network Network
	ResetAt time.Time // when the provider says it serves again; zero when it does not say
}

// Network is the local cause why a call has no response.
type Network string

// The local causes.
const (
	NetworkOK       Network = ""         // there was a response
	NetworkTimeout  Network = "timeout"  // no response in time
	NetworkCanceled Network = "canceled" // the caller gave up
	NetworkBroken   Network = "broken"   // no connection, or one that broke before the end of the response
)

// ErrorRow is one entry of an ErrorTable. It matches a response when every field it sets does; a row that sets nothing
// matches nothing.
type ErrorRow struct {
	Status int
	Code   string // equal to the response's Code or Type
}

// ErrorTable says which failure a provider means by which status and code. Of several rows that match, one with status
// and code wins over one with a single field; among equals the order of the fields below decides.
type ErrorTable struct {
	Quota     []ErrorRow // credit or quota is used up
	Auth      []ErrorRow // credentials are missing or rejected
	Refusal   []ErrorRow // the provider will not let the model answer
	Timeout   []ErrorRow // the provider gave up waiting for the model
	Transport []ErrorRow // everything else that is an error is transport as well; rows here outweigh less exact ones above
}

// Classification is the meaning of a response.
type Classification struct {
	Kind             prosecutor.ErrorKind // empty when the call did not fail
	ResetAt          time.Time            // when to try again, as far as the provider said
	BreakerOpenUntil time.Time            // until when the provider's breaker stays open: quota with a known reset only
}

// Failed reports whether the response is a failure.
func (c Classification) Failed() bool { return c.Kind != "" }

// Classify says what a response means, by status and code alone. A success is a 2xx status, or exit code 0 with
// nothing said, without an error code; anything that is not a success and that no row matches is a transport failure.
// A zero Response stands for exit code 0.
func Classify(table ErrorTable, resp Response) Classification {
	switch resp.Network {
	case NetworkOK:
	case NetworkTimeout:
		return Classification{Kind: prosecutor.Timeout, ResetAt: resp.ResetAt}
	case NetworkCanceled:
		return Classification{Kind: prosecutor.Canceled}
	default:
		return Classification{Kind: prosecutor.Transport, ResetAt: resp.ResetAt}
	}
	said := resp.Code != "" || resp.Type != ""
	if !said && (resp.Status == 0 || resp.Status >= 200 && resp.Status < 300) {
		return Classification{}
	}
	c := Classification{Kind: table.match(resp), ResetAt: resp.ResetAt}
	if c.Kind == prosecutor.Quota {
		c.BreakerOpenUntil = resp.ResetAt
	}
	return c
}

func (t ErrorTable) match(resp Response) prosecutor.ErrorKind {
	kind, exactness := prosecutor.Transport, 0
	for _, list := range []struct {
		kind prosecutor.ErrorKind
		rows []ErrorRow
	}{
		{prosecutor.Quota, t.Quota},
		{prosecutor.Auth, t.Auth},
		{prosecutor.Refusal, t.Refusal},
		{prosecutor.Timeout, t.Timeout},
		{prosecutor.Transport, t.Transport},
	} {
		for _, row := range list.rows {
			if n := row.match(resp); n > exactness {
				kind, exactness = list.kind, n
			}
		}
	}
	return kind
}

// match returns how many fields of the row match, or 0 when one of them does not.
func (r ErrorRow) match(resp Response) int {
	n := 0
	if r.Status != 0 {
		if r.Status != resp.Status {
			return 0
		}
		n++
	}
	if r.Code != "" {
		if r.Code != resp.Code && r.Code != resp.Type {
			return 0
		}
		n++
	}
	return n
}

// OpenAIErrors is the table of OpenAI and of the servers that speak its wire format (OpenAI's guide to error codes;
// Azure's content filter codes). A plain 429 is a rate limit, which passes by itself: transport, with the time of reset.
func OpenAIErrors() ErrorTable {
	return ErrorTable{
		Quota: []ErrorRow{
			{Status: 402},
			{Code: "insufficient_quota"},
			{Code: "billing_hard_limit_reached"},
			{Code: "billing_not_active"},
		},
		Auth: []ErrorRow{{Status: 401}, {Status: 403}},
		Refusal: []ErrorRow{
			{Status: 400, Code: "content_filter"},
			{Status: 400, Code: "content_policy_violation"},
			{Status: 400, Code: "ResponsibleAIPolicyViolation"},
		},
		Timeout: []ErrorRow{{Status: 408}},
	}
}

// OpenRouterErrors is the table of openrouter.ai, which answers in OpenAI's format but uses 403 for an input that a
// moderated model will not see (OpenRouter's page on errors).
func OpenRouterErrors() ErrorTable {
	t := OpenAIErrors()
	t.Auth = []ErrorRow{{Status: 401}}
	t.Refusal = append(t.Refusal, ErrorRow{Status: 403})
	return t
}

// AnthropicErrors is the table of the Anthropic API (its page on errors). An account without credit is billing_error.
// Where an endpoint reports it as a plain 400 invalid_request_error, only the words of the message tell, and words do
// not count: that is a transport failure, which falls back and waits all the same but opens no breaker.
func AnthropicErrors() ErrorTable {
	return ErrorTable{
		Quota: []ErrorRow{{Status: 402}, {Code: "billing_error"}},
		Auth: []ErrorRow{
			{Status: 401}, {Status: 403},
			{Code: "authentication_error"}, {Code: "permission_error"},
		},
		Timeout: []ErrorRow{{Status: 408}, {Code: "timeout_error"}},
	}
}
