package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Behaviour is how the server treats one request.
type Behaviour struct {
	Name  string
	serve func(*exchange)
	usage *Usage
	model string
}

// Usage is what a request is said to have cost, in tokens.
type Usage struct {
	In, Out int
	// CacheWrite and CacheRead are tokens of the prompt that In does not count. Anthropic only.
	CacheWrite, CacheRead int
}

// WithUsage returns the behaviour with a usage of its own instead of an estimate.
func (b Behaviour) WithUsage(u Usage) Behaviour {
	b.usage = &u
	return b
}

// WithModel returns the behaviour with the name of the model that the server says has answered.
func (b Behaviour) WithModel(name string) Behaviour {
	b.model = name
	return b
}

// exchange is one request while it is answered.
type exchange struct {
	server *Server
	api    api
	w      http.ResponseWriter
	r      *http.Request
	req    Request
	b      Behaviour
}

// Problem is an error of the API.
type Problem struct {
	Status  int
	Type    string
	Code    string
	Param   string
	Message string
	Header  map[string]string
}

// stop is why an answer ended, in words of this package; the formats have words of their own.
type stop string

const (
	stopEnd     stop = "end"
	stopLength  stop = "length"
	stopRefusal stop = "refusal"  // the model declines
	stopFilter  stop = "filtered" // the provider withholds the answer
)

// answer is what a model says.
type answer struct {
	text  string
	stop  stop
	model string
	usage Usage
	id    string
}

// api is one wire format.
type api interface {
	// parse checks and reads a request.
	parse(r *http.Request, body []byte) (Request, *Problem)
	// envelope is a whole answer.
	envelope(a answer) any
	// events are the lines of a streamed answer.
	events(a answer, includeUsage bool) []string
	fail(w http.ResponseWriter, p Problem)
	// empty is an answer in which the model said nothing at all.
	empty(a answer) any
}

func (x *exchange) answer(text string, why stop) answer {
	a := answer{
		text: text, stop: why, model: x.req.Model, id: fmt.Sprintf("answer-%d", x.req.Ordinal),
		usage: Usage{In: tokens(x.req.Text()), Out: tokens(text)},
	}
	if x.b.usage != nil {
		a.usage = *x.b.usage
	}
	if x.b.model != "" {
		a.model = x.b.model
	}
	return a
}

func (x *exchange) send(a answer) {
	if x.req.Stream {
		x.w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range x.api.events(a, x.req.includeUsage) {
			_, _ = x.w.Write([]byte(e))
			flush(x.w)
		}
		return
	}
	writeJSON(x.w, http.StatusOK, x.api.envelope(a))
}

// body is the whole response body of an answer, for behaviours that spoil it.
func (x *exchange) body(text string) []byte {
	if x.req.Stream {
		x.w.Header().Set("Content-Type", "text/event-stream")
		return []byte(strings.Join(x.api.events(x.answer(text, stopEnd), x.req.includeUsage), ""))
	}
	x.w.Header().Set("Content-Type", "application/json")
	raw, err := json.Marshal(x.api.envelope(x.answer(text, stopEnd)))
	if err != nil {
		panic(err)
	}
	return raw
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(raw)
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// Answer says the text, whatever it is.
func Answer(text string) Behaviour {
	return Behaviour{Name: "answer", serve: func(x *exchange) { x.send(x.answer(text, stopEnd)) }}
}

// Truncated says the text and that it was cut at the token limit.
func Truncated(text string) Behaviour {
	return Behaviour{Name: "truncated", serve: func(x *exchange) { x.send(x.answer(text, stopLength)) }}
}

// Refuse declines to answer, as the model.
func Refuse() Behaviour {
	return Behaviour{Name: "refuse", serve: func(x *exchange) { x.send(x.answer("I will not help with that.", stopRefusal)) }}
}

// Withhold has a content filter hold back the rest of an answer.
func Withhold() Behaviour {
	return Behaviour{Name: "withhold", serve: func(x *exchange) { x.send(x.answer(`{"verdict":`, stopFilter)) }}
}

// RejectContent has a content filter reject the prompt, with a status of its own.
func RejectContent() Behaviour {
	return Problematic("reject content", Problem{
		Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "content_filter", Param: "prompt",
		Message: "The prompt triggered the content filter.",
	})
}

// Silent answers without a choice (OpenAI) or a block (Anthropic).
func Silent() Behaviour {
	return Behaviour{Name: "silent", serve: func(x *exchange) { writeJSON(x.w, http.StatusOK, x.api.empty(x.answer("", stopEnd))) }}
}

// Slow says the text in pieces, one every interval, until it is out or the client has left.
func Slow(text string, pieces int, every time.Duration) Behaviour {
	return Behaviour{Name: "slow", serve: func(x *exchange) {
		body := x.body(text)
		size := max(1, (len(body)+pieces-1)/max(1, pieces))
		tick := time.NewTicker(every)
		defer tick.Stop()
		for len(body) > 0 {
			n := min(size, len(body))
			if _, err := x.w.Write(body[:n]); err != nil {
				return
			}
			flush(x.w)
			body = body[n:]
			select {
			case <-tick.C:
			case <-x.r.Context().Done():
				return
			case <-x.server.closing:
				return
			}
		}
	}}
}

// Hang takes the request and never answers.
func Hang() Behaviour {
	return Behaviour{Name: "hang", serve: func(x *exchange) { x.hang() }}
}

// HangMidBody begins an answer and never goes on.
func HangMidBody() Behaviour {
	return Behaviour{Name: "hang mid-body", serve: func(x *exchange) {
		body := x.body(shipText)
		_, _ = x.w.Write(body[:len(body)/2])
		flush(x.w)
		x.hang()
	}}
}

func (x *exchange) hang() {
	select {
	case <-x.r.Context().Done():
	case <-x.server.closing:
	}
	panic(http.ErrAbortHandler)
}

// Problematic answers with an error of the API.
func Problematic(name string, p Problem) Behaviour {
	return Behaviour{Name: name, serve: func(x *exchange) { x.api.fail(x.w, p) }}
}

// Fail answers with a status and the kind of error that the API gives with it.
func Fail(status int) Behaviour {
	return Behaviour{Name: fmt.Sprintf("fail %d", status), serve: func(x *exchange) {
		p := Problem{Status: status, Type: "server_error", Message: "The server had an error while processing your request."}
		if x.req.Format == FormatAnthropic {
			p.Type = map[int]string{504: "timeout_error", 529: "overloaded_error"}[status]
			if p.Type == "" {
				p.Type = "api_error"
			}
		}
		x.api.fail(x.w, p)
	}}
}

// FailPlain answers with a status and a page of HTML, as a gateway in between does.
func FailPlain(status int) Behaviour {
	return Behaviour{Name: fmt.Sprintf("fail plainly %d", status), serve: func(x *exchange) {
		x.w.Header().Set("Content-Type", "text/html")
		x.w.WriteHeader(status)
		_, _ = fmt.Fprintf(x.w, "<html><body><h1>%d %s</h1></body></html>", status, http.StatusText(status))
	}}
}

// RateLimit answers 429 and when to come back. It rounds up to whole seconds, as Retry-After has them.
func RateLimit(after time.Duration) Behaviour {
	return RateLimitWith(map[string]string{"Retry-After": strconv.Itoa(int((after + time.Second - 1) / time.Second))})
}

// RateLimitWith answers 429 with headers of the test's choice.
func RateLimitWith(header map[string]string) Behaviour {
	return Behaviour{Name: "rate limit", serve: func(x *exchange) {
		p := Problem{Status: http.StatusTooManyRequests, Type: "requests", Code: "rate_limit_exceeded", Message: "Rate limit reached.", Header: header}
		if x.req.Format == FormatAnthropic {
			p.Type = "rate_limit_error"
		}
		x.api.fail(x.w, p)
	}}
}

// OutOfCredit says, by status and code, that the account has no credit.
func OutOfCredit() Behaviour {
	return Behaviour{Name: "out of credit", serve: func(x *exchange) {
		if x.req.Format == FormatAnthropic {
			x.api.fail(x.w, Problem{Status: http.StatusPaymentRequired, Type: "billing_error", Message: "Your credit balance is too low."})
			return
		}
		x.api.fail(x.w, Problem{
			Status: http.StatusTooManyRequests, Type: "insufficient_quota", Code: "insufficient_quota",
			Message: "You exceeded your current quota, please check your plan and billing details.",
		})
	}}
}

// OutOfCreditInWords says it in the words of a plain invalid request only.
func OutOfCreditInWords() Behaviour {
	return Problematic("out of credit in words", Problem{
		Status: http.StatusBadRequest, Type: "invalid_request_error",
		Message: "Your credit balance is too low to access the API.",
	})
}

// Unauthorized rejects the key, and echoes a part of it as OpenAI does.
func Unauthorized() Behaviour {
	return Behaviour{Name: "unauthorized", serve: func(x *exchange) { x.api.fail(x.w, unauthorized(x.req)) }}
}

// Leak fails with the whole key and the whole prompt in its message, to see what becomes of them.
func Leak(status int) Behaviour {
	return Behaviour{Name: "leak", serve: func(x *exchange) {
		x.api.fail(x.w, Problem{
			Status: status, Type: "invalid_request_error", Code: x.req.Key,
			Message: "key " + x.req.Key + "\x1b[31m\nprompt " + x.req.Text(),
		})
	}}
}

func unauthorized(req Request) Problem {
	if req.Format == FormatAnthropic {
		return Problem{Status: http.StatusUnauthorized, Type: "authentication_error", Message: "invalid x-api-key"}
	}
	echo := req.Key
	if len(echo) > 8 {
		echo = echo[:4] + strings.Repeat("*", len(echo)-8) + echo[len(echo)-4:]
	}
	return Problem{
		Status: http.StatusUnauthorized, Type: "invalid_request_error", Code: "invalid_api_key",
		Message: "Incorrect API key provided: " + echo + ".",
	}
}

// Forbid says that the key may not use the model.
func Forbid() Behaviour {
	return Behaviour{Name: "forbid", serve: func(x *exchange) {
		p := Problem{Status: http.StatusForbidden, Type: "invalid_request_error", Message: "You are not allowed to use this model."}
		if x.req.Format == FormatAnthropic {
			p.Type = "permission_error"
		}
		x.api.fail(x.w, p)
	}}
}

func notFound(req Request) Problem {
	p := Problem{
		Status: http.StatusNotFound, Type: "invalid_request_error", Code: "model_not_found",
		Message: fmt.Sprintf("The model %q does not exist.", req.Model),
	}
	if req.Format == FormatAnthropic {
		p.Type = "not_found_error"
	}
	return p
}

// Missing says that the model does not exist.
func Missing() Behaviour {
	return Behaviour{Name: "missing", serve: func(x *exchange) { x.api.fail(x.w, notFound(x.req)) }}
}

// ErrorInside answers with status 200 and an error object in place of the answer, as OpenRouter does. OpenAI only.
func ErrorInside(code int) Behaviour {
	return Behaviour{Name: "error inside", serve: func(x *exchange) {
		writeJSON(x.w, http.StatusOK, map[string]any{"error": map[string]any{"code": code, "message": "Provider returned error"}})
	}}
}

// GoogleError answers as Google's endpoint does: a list with an error that has a numeric code, a status and details.
func GoogleError(status int, name, retryDelay string) Behaviour {
	return Behaviour{Name: "google error", serve: func(x *exchange) {
		writeJSON(x.w, status, []any{map[string]any{"error": map[string]any{
			"code": status, "message": "Resource has been exhausted.", "status": name,
			"details": []any{map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": retryDelay}},
		}}})
	}}
}

// Redirect sends the client elsewhere.
func Redirect(url string) Behaviour {
	return Behaviour{Name: "redirect", serve: func(x *exchange) { http.Redirect(x.w, x.r, url, http.StatusTemporaryRedirect) }}
}

// CloseMidBody breaks the connection in the middle of an answer.
func CloseMidBody() Behaviour {
	return Behaviour{Name: "close mid-body", serve: func(x *exchange) {
		body := x.body(shipText)
		x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = x.w.Write(body[:len(body)/2])
		flush(x.w)
		panic(http.ErrAbortHandler)
	}}
}

// CloseUnanswered breaks the connection before there is an answer.
func CloseUnanswered() Behaviour {
	return Behaviour{Name: "close unanswered", serve: func(*exchange) { panic(http.ErrAbortHandler) }}
}

// Malformed answers with an envelope that is no JSON.
func Malformed() Behaviour {
	return Behaviour{Name: "malformed", serve: func(x *exchange) {
		body := x.body(shipText)
		_, _ = x.w.Write(body[:len(body)-1])
	}}
}

// Webpage answers with status 200 and HTML, as the wrong address does.
func Webpage() Behaviour {
	return Behaviour{Name: "webpage", serve: func(x *exchange) {
		x.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = x.w.Write([]byte("<!doctype html><title>Welcome</title>"))
	}}
}

// Oversize answers with a valid envelope whose text has size bytes.
func Oversize(size int) Behaviour {
	return Behaviour{Name: "oversize", serve: func(x *exchange) { x.send(x.answer(strings.Repeat("a", size), stopEnd)) }}
}
