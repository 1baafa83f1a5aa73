// Package wire is what the adapters that speak HTTP share: a client with limits, the reading of a provider's error
// channel, the retry policy, and texts that are safe to show.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
)

// UserAgent is how requests introduce themselves.
const UserAgent = "prosecutor"

const (
	// DefaultTimeout bounds one call where the configuration does not (semantics 2: 8 minutes a pass).
	DefaultTimeout = 8 * time.Minute
	// MaxBody bounds a response body, in bytes after decompression. An answer is a few kilobytes; what is larger is not
	// an answer.
	MaxBody = 8 << 20
	// maxErrorBody bounds how much of an error response is read to find its code.
	maxErrorBody = 64 << 10
)

// errTooLarge ends the reading of a body that is larger than MaxBody.
var errTooLarge = fmt.Errorf("the response is larger than the limit of %d MiB", MaxBody>>20)

// NewTransport returns an HTTP transport for one judge. Connecting and the TLS handshake are bounded; the time until
// the first byte of a response is not, because a model may think for minutes: the call's context bounds that. TLS is
// verified, with version 1.2 or later. The proxy of the environment (HTTPS_PROXY, NO_PROXY) is used for https
// addresses only: over plain http a proxy would read the key and the diff. With private set, connections are made to
// this machine and to private networks only, whatever the name resolves to: that is for keys that travel unencrypted.
func NewTransport(private bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	if private {
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return checkPrivate(address) }
	}
	return &http.Transport{
		Proxy: func(req *http.Request) (*url.URL, error) {
			if req.URL.Scheme != "https" {
				return nil, nil //nolint:nilnil // the documented way to say "no proxy"
			}
			return http.ProxyFromEnvironment(req)
		},
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    4,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// carrierGrade is the shared address space of RFC 6598, which overlay networks use for their members.
var carrierGrade = netip.MustParsePrefix("100.64.0.0/10")

func checkPrivate(address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("connecting to an address that is not legible: %w", err)
	}
	ip := ap.Addr().Unmap().WithZone("")
	if ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || carrierGrade.Contains(ip) {
		return nil
	}
	return errors.New("base_url is plain http and leads to a public address, where the key would travel unencrypted: use https")
}

// NewClient returns a client that follows no redirect: a redirect would carry the prompt to an address nobody
// configured.
func NewClient(rt http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     rt,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Failure is an HTTP response that is not an answer, as its error channel describes it.
type Failure struct {
	Status  int
	Code    string
	Type    string
	Param   string // the request parameter that the provider complains about, if it says
	Message string // the provider's words: for people only, and only through Safe
	Problem string // ours: what is wrong where the provider sent no error
	ResetAt time.Time
	Retry   time.Duration // explicit Retry-After; negative when there was none
}

// Error describes the failure without the provider's words.
func (f *Failure) Error() string {
	if f.Problem != "" {
		return f.Problem
	}
	return fmt.Sprintf("the server answered with status %d", f.Status)
}

// Recorder is a middleware of an SDK's client that turns everything but a JSON answer into a *Failure, and bounds what
// is read. It exists because the error types of the SDKs lose the status of bodies they cannot read (Gemini answers
// with a list of errors, gateways with HTML), and keep whole bodies in their texts.
func Recorder(now func() time.Time) func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	return func(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		res, err := next(req)
		if err != nil {
			return res, err
		}
		if res.StatusCode < 200 || res.StatusCode > 299 {
			defer res.Body.Close()
			return nil, readFailure(res, now())
		}
		media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
		if media != "" && media != "application/json" && !strings.HasSuffix(media, "+json") {
			defer res.Body.Close()
			return nil, &Failure{
				Status: res.StatusCode, Code: "not_json", Retry: -1,
				Problem: fmt.Sprintf("the server answered with %s instead of JSON: check base_url", Clean(media, 60)),
			}
		}
		res.Header.Set("Content-Type", "application/json")
		res.Body = &limitedBody{ReadCloser: res.Body, left: MaxBody}
		return res, nil
	}
}

func readFailure(res *http.Response, now time.Time) *Failure {
	f := &Failure{Status: res.StatusCode, Retry: -1, ResetAt: judge.ResetTime(res.Header, now)}
	if wait, ok := judge.RetryAfter(res.Header, now); ok {
		f.Retry = wait
	}
	if res.StatusCode < 400 {
		f.Code = "redirect"
		f.Problem = fmt.Sprintf("the server redirects (status %d), and redirects are not followed: set base_url to the final address", res.StatusCode)
		return f
	}
	// A body that cannot be read still has a status, which is what counts.
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	f.parse(body, now)
	return f
}

// errorBody is the union of the error objects in use: OpenAI and its like (code, type, param), Anthropic (type), Google
// (numeric code, status, details), OpenRouter (numeric code).
type errorBody struct {
	Code    json.RawMessage `json:"code"`
	Type    string          `json:"type"`
	Status  string          `json:"status"`
	Param   string          `json:"param"`
	Message string          `json:"message"`
	Details []struct {
		RetryDelay string `json:"retryDelay"`
	} `json:"details"`
}

// parse finds the error object in a body: {"error": {...}}, a list of that, the object itself, or {"error": "text"}.
func (f *Failure) parse(body []byte, now time.Time) {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) != nil || len(list) == 0 {
			return
		}
		body = list[0]
	}
	var envelope struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &envelope) != nil {
		return
	}
	raw := envelope.Error
	if len(raw) == 0 {
		raw = body
	}
	f.ParseError(raw, now)
}

// ParseError reads an error object into f.
func (f *Failure) ParseError(raw json.RawMessage, now time.Time) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		f.Message = text
		return
	}
	var e errorBody
	// Decoding goes on past a field of an unexpected type, so that what was legible is kept.
	_ = json.Unmarshal(raw, &e)
	f.Type, f.Param, f.Message = e.Type, e.Param, e.Message
	if json.Unmarshal(e.Code, &text) == nil {
		f.Code = text
	}
	if f.Code == "" {
		f.Code = e.Status
	}
	if !f.ResetAt.IsZero() {
		return
	}
	for _, d := range e.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			f.ResetAt = now.Add(min(wait, judge.MaxReset))
			return
		}
	}
}

// NumericCode returns the number in an error object's code field, or 0: OpenRouter sends errors of the model behind it
// with status 200 and the status they deserve as the code.
func NumericCode(raw json.RawMessage) int {
	var e errorBody
	_ = json.Unmarshal(raw, &e)
	n, err := strconv.Atoi(strings.Trim(string(e.Code), `"`))
	if err != nil || n < 100 || n > 599 {
		return 0
	}
	return n
}

// limitedBody fails, rather than ends, past the limit: a cut body must not look like a whole one.
type limitedBody struct {
	io.ReadCloser
	left int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return n, errTooLarge
	}
	return n, err
}

// The retry policy. Nothing else is retried: a fallback to another judge is cheaper than a second try, and a case that
// nobody can judge is held by the gate.
const (
	// MaxRetries bounds the retries within one call.
	MaxRetries = 2
	// MaxRetryWait is the longest Retry-After that is waited out inside a call.
	MaxRetryWait = 20 * time.Second
)

// Sleep waits until d has passed or ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Endpoint is what the adapters know about the server they call.
type Endpoint struct {
	Info  judge.Info
	Table judge.ErrorTable
	Key   judge.Secret
	From  string // where the key came from, for messages: "variable OPENAI_API_KEY"
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error
}

// NewEndpoint fills in the clock and the timer where they are nil.
func NewEndpoint(info judge.Info, table judge.ErrorTable, key judge.Secret, from string, now func() time.Time, sleep func(context.Context, time.Duration) error) Endpoint {
	if now == nil {
		now = time.Now
	}
	if sleep == nil {
		sleep = Sleep
	}
	if from == "" {
		from = "the key"
	}
	return Endpoint{Info: info, Table: table, Key: key, From: from, Now: now, Sleep: sleep}
}

// Retry runs one attempt, and again after a rate limit (429) whose explicit Retry-After is at most MaxRetryWait and ends
// before the deadline of ctx, MaxRetries times at most.
func (e *Endpoint) Retry(ctx context.Context, attempt func() error) error {
	for retries := 0; ; retries++ {
		err := attempt()
		var f *Failure
		if err == nil || retries == MaxRetries || !errors.As(err, &f) {
			return err
		}
		if f.Status != http.StatusTooManyRequests || f.Retry < 0 || f.Retry > MaxRetryWait || e.classify(f).Kind != prosecutor.Transport {
			return err
		}
		// A context's deadline is in real time, whatever clock the judge was given.
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= f.Retry {
			return err
		}
		if e.Sleep(ctx, f.Retry) != nil {
			return err
		}
	}
}

func (e *Endpoint) classify(f *Failure) judge.Classification {
	return judge.Classify(e.Table, judge.Response{Status: f.Status, Code: f.Code, Type: f.Type, ResetAt: f.ResetAt})
}

// Kind is the kind of failure that f is.
func (e *Endpoint) Kind(f *Failure) prosecutor.ErrorKind {
	if c := e.classify(f); c.Failed() {
		return c.Kind
	}
	return prosecutor.Transport
}

// Error turns the error of an attempt into a *judge.Error. call is the context of the call with the adapter's own
// deadline, caller is the one Ask was given.
func (e *Endpoint) Error(caller, call context.Context, err error) *judge.Error {
	out := &judge.Error{Provider: e.Info.Provider}
	var f *Failure
	if errors.As(err, &f) {
		out.Status, out.ResetAt = f.Status, f.ResetAt
		out.Code = e.Safe(f.Code, 80)
		if out.Code == "" {
			out.Code = e.Safe(f.Type, 80)
		}
		out.Kind = e.Kind(f)
		out.Err = e.describe(out.Kind, f)
		return out
	}
	var netErr net.Error
	network := judge.NetworkBroken
	switch {
	case errors.Is(caller.Err(), context.Canceled):
		network = judge.NetworkCanceled
	case call.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &netErr) && netErr.Timeout():
		network = judge.NetworkTimeout
	}
	out.Kind = judge.Classify(e.Table, judge.Response{Network: network}).Kind
	switch {
	case network == judge.NetworkCanceled:
		out.Err = fmt.Errorf("asking %s was given up: %w", e.Info.ID, context.Canceled)
	case call.Err() != nil:
		out.Err = fmt.Errorf("no answer from %s in time: %w", e.Info.ID, context.DeadlineExceeded)
	default:
		out.Err = fmt.Errorf("calling %s: %s", e.Info.ID, e.Safe(cause(err).Error(), 300))
	}
	return out
}

// cause unwraps the layers that print the address, which may hold a secret in its query.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// describe says what happened and what to do about it, then what the provider said.
func (e *Endpoint) describe(kind prosecutor.ErrorKind, f *Failure) error {
	var b strings.Builder
	switch {
	case f.Problem != "":
		b.WriteString(f.Problem)
	case kind == prosecutor.Auth && e.Key.IsZero():
		fmt.Fprintf(&b, "judge %s has no key: name its variable in api_key_env", e.Info.ID)
	case kind == prosecutor.Auth:
		fmt.Fprintf(&b, "the key of judge %s was rejected: check %s, and that it may use model %s", e.Info.ID, e.From, e.Info.Model)
	case kind == prosecutor.Quota:
		fmt.Fprintf(&b, "credit or quota at %s is used up: top it up, or wait for the reset", e.Info.Provider)
	case kind == prosecutor.Refusal:
		fmt.Fprintf(&b, "%s will not let the model answer", e.Info.Provider)
	case f.Status == http.StatusNotFound:
		fmt.Fprintf(&b, "nothing found: check base_url and model %q of judge %s", e.Info.Model, e.Info.ID)
	case f.Status == http.StatusTooManyRequests:
		fmt.Fprintf(&b, "%s limits the rate of calls", e.Info.Provider)
	default:
		b.WriteString(f.Error())
	}
	if f.Message != "" {
		fmt.Fprintf(&b, "; it says %q", e.Safe(f.Message, 300))
	}
	return errors.New(b.String())
}

// Safe makes a text from outside fit to show: without the key, on one line, and of at most limit characters.
func (e *Endpoint) Safe(text string, limit int) string {
	return Clean(text, limit, e.Key.Reveal())
}

// Cost is what tokens cost at a price, in US dollars; 0 without a price.
func Cost(p *config.Price, in, out int) float64 {
	if p == nil {
		return 0
	}
	return (float64(in)*p.Input + float64(out)*p.Output) / 1e6
}
