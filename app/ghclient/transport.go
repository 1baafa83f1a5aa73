package ghclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// maxAttempts is how often a read is sent in all while GitHub or the network fails.
const maxAttempts = 3

// firstBackoff is the most that the first retry waits; the second one doubles it.
const firstBackoff = 500 * time.Millisecond

// credential makes the Authorization header of a client.
type credential interface {
	// header returns the value of the Authorization header.
	header(ctx context.Context) (string, error)
	// rejected is told that GitHub answered 401 to a header, with which message and at which time by GitHub's clock.
	// It returns true when a new header may be accepted.
	rejected(header, message string, serverTime time.Time) bool
}

// transport sends the requests of one client. It is the only place from which requests leave.
type transport struct {
	c          *Clients
	account    *account
	credential credential
}

var _ http.RoundTripper = (*transport)(nil)

// defaultTransport has time-outs for each phase; nothing waits for ever for a host that went away.
func defaultTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          64,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 45 * time.Second,
		ExpectContinueTimeout: time.Second,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
	}
}

// answer is a whole answer: its body was read to the end and the connection is free again.
type answer struct {
	status int
	header http.Header
	body   []byte
	proto  string
}

func (a *answer) response(req *http.Request) *http.Response {
	header := a.header.Clone()
	if _, graphQL := req.Context().Value(operationKey).(bool); !graphQL && header.Get("X-RateLimit-Remaining") == "0" {
		// go-github keeps a count of its own, by the wall clock, and takes each 403 without a remainder for a limit. One
		// place decides.
		header.Del("X-RateLimit-Remaining")
		header.Del("X-RateLimit-Reset")
	}
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)),
		StatusCode:    a.status,
		Proto:         a.proto,
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(a.body)),
		ContentLength: int64(len(a.body)),
		// The request without its Authorization: errors carry it.
		Request: req,
	}
}

// RoundTrip sends a request within all rules of the package.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var payload []byte
	if req.Body != nil {
		var err error
		payload, err = io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("reading the body of %s %s: %w", req.Method, req.URL.Path, err)
		}
	}
	if o := origin(req.URL); !t.c.origins[o] {
		return nil, &ForeignHostError{Host: o}
	}
	key := t.c.immutableKey(t.account.installation, req)
	if key != "" {
		if a, ok := t.c.cache.get(key); ok {
			t.c.metrics.cacheHits.Inc()
			return a.response(req), nil
		}
		t.c.metrics.cacheMisses.Inc()
	}
	a, err := t.persist(req, payload)
	if err != nil {
		return nil, err
	}
	if key != "" && a.status == http.StatusOK {
		t.c.cache.put(t.account.installation, key, a)
	}
	return a.response(req), nil
}

// persist sends a request, again after a 401 that a new credential may cure, and again after a passing fault when it is a
// read. A request that GitHub refused with 401 did nothing, so that this one retry is safe for writes too.
func (t *transport) persist(req *http.Request, payload []byte) (*answer, error) {
	ctx := req.Context()
	renewed := false
	for attempt := 1; ; attempt++ {
		header, err := t.credential.header(ctx)
		if err != nil {
			return nil, err
		}
		a, err := t.send(req, payload, header, attempt)
		if err == nil && a.status == http.StatusUnauthorized {
			message, at := readRefusal(a.body), serverTime(a.header)
			if !renewed && t.credential.rejected(header, message.Message, at) {
				renewed = true
				attempt--
				t.c.metrics.retries.WithLabelValues("credential").Inc()
				if t.account.installation == 0 {
					t.logger(ctx).Warn().Dur("ahead", t.c.opt.Now().Sub(at)).
						Msg("GitHub refused the App's JWT for its times: using GitHub's clock from now on; set the clock of this host (NTP)")
				}
				continue
			}
			return nil, t.authError(message, at)
		}
		if attempt >= maxAttempts || !t.passing(req, a, err) {
			return a, err
		}
		t.c.metrics.retries.WithLabelValues("fault").Inc()
		if t.c.opt.Sleep(ctx, t.backoff(attempt)) != nil {
			return a, err
		}
	}
}

func (t *transport) backoff(attempt int) time.Duration {
	return time.Duration(float64(firstBackoff<<(attempt-1)) * (0.5 + t.c.opt.Rand()/2))
}

func (t *transport) authError(r refusal, at time.Time) *AuthError {
	e := &AuthError{Installation: t.account.installation, Message: r.text()}
	if !at.IsZero() {
		if skew := t.c.opt.Now().Sub(at); skew.Abs() >= minSkew {
			e.Skew = skew
		}
	}
	return e
}

// passing tells whether a read may be sent again at once: a 5xx, a broken connection or half an answer. Limits, refusals
// and a caller that gave up are none of these.
func (t *transport) passing(req *http.Request, a *answer, err error) bool {
	if isWrite(req) || req.Context().Err() != nil {
		return false
	}
	if err == nil {
		if a.header.Get("Retry-After") != "" {
			return false
		}
		switch a.status {
		case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	return ClassOf(err) == ClassUnavailable
}

// isWrite tells whether a request changes anything. Minting a token is counted as none: it is not content, and it must
// not wait behind content.
func isWrite(req *http.Request) bool {
	if mutation, ok := req.Context().Value(operationKey).(bool); ok {
		return mutation
	}
	return req.Method != http.MethodGet && req.Method != http.MethodHead && !mintsToken(req)
}

func mintsToken(req *http.Request) bool {
	return req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/access_tokens")
}

// send sends a request once and reads the whole answer. The error is a [RateLimitError], a [BodyError], a
// [TooLargeError], or a [NetworkError].
func (t *transport) send(req *http.Request, payload []byte, header string, attempt int) (*answer, error) {
	q := ask{purpose: PurposeOf(req.Context()), write: isWrite(req), resource: t.c.resourceOf(req.URL)}
	release, err := t.account.admit(req.Context(), q)
	if err != nil {
		var limit *RateLimitError
		if errors.As(err, &limit) {
			t.c.metrics.held.WithLabelValues(heldReason(limit)).Inc()
		}
		return nil, err
	}
	defer release()

	started := t.c.opt.Now()
	a, err := t.exchange(req, payload, header)
	if a != nil {
		err = t.judge(q, a, err)
	}
	t.report(req, q, a, err, attempt, t.c.opt.Now().Sub(started))
	if err != nil {
		return nil, err
	}
	return a, nil
}

// exchange does the HTTP. An answer may come with an error: its body could not be read.
func (t *transport) exchange(req *http.Request, payload []byte, header string) (*answer, error) {
	ctx, cancel := context.WithTimeout(req.Context(), t.c.opt.Timeout)
	defer cancel()
	out := req.Clone(ctx)
	out.Header.Set("Authorization", header)
	out.Body, out.GetBody, out.ContentLength = nil, nil, 0
	if payload != nil {
		out.Body = io.NopCloser(bytes.NewReader(payload))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(payload)), nil }
		out.ContentLength = int64(len(payload))
	}
	resp, err := t.c.opt.Transport.RoundTrip(out)
	if err != nil {
		switch {
		case req.Context().Err() != nil:
			return nil, req.Context().Err()
		case ctx.Err() != nil:
			err = fmt.Errorf("no answer within %s: %w", t.c.opt.Timeout, context.DeadlineExceeded)
		}
		return nil, &NetworkError{Method: req.Method, Path: req.URL.Path, Err: err}
	}
	defer resp.Body.Close()
	limit := t.c.opt.MaxBody
	if n, ok := req.Context().Value(maxBodyKey).(int64); ok && n > 0 {
		limit = n
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	a := &answer{status: resp.StatusCode, header: resp.Header, body: body, proto: resp.Proto}
	// net/http puts the target of a redirect into its errors.
	if location := a.header.Get("Location"); location != "" {
		a.header.Set("Location", Redact(location))
	}
	switch {
	case int64(len(body)) > limit:
		a.body = nil
		return a, &TooLargeError{Path: req.URL.Path, Limit: limit}
	case err != nil && req.Context().Err() != nil:
		return a, req.Context().Err()
	case err != nil:
		return a, &BodyError{Method: req.Method, Path: req.URL.Path, Status: a.status, Err: err}
	case len(body) == 0 && wantsJSON(req) && (a.status == http.StatusOK || a.status == http.StatusCreated):
		// go-github would return an empty object and no error.
		return a, &BodyError{Method: req.Method, Path: req.URL.Path, Status: a.status, Err: io.ErrUnexpectedEOF}
	}
	return a, nil
}

// wantsJSON tells whether an answer without a body is none.
func wantsJSON(req *http.Request) bool {
	accept := req.Header.Get("Accept")
	return req.Method != http.MethodHead && req.Method != http.MethodDelete && req.Method != http.MethodPut &&
		strings.HasSuffix(accept, "json") && !strings.Contains(accept, "raw")
}

// judge takes from an answer what it says about limits and clocks. The error of reading it stands, unless the answer
// speaks of a limit.
func (t *transport) judge(q ask, a *answer, bodyErr error) error {
	now, at := t.c.opt.Now(), serverTime(a.header)
	if !at.IsZero() && a.header.Get("Age") == "" {
		t.c.metrics.sawClock(now.Sub(at))
	}
	r, known := readRate(a.header, at, now)
	if known {
		if r.resource == "" {
			r.resource = q.resource
		}
		t.account.observe(r)
	}
	if a.status < 400 {
		if bodyErr == nil {
			t.account.served()
		}
		return bodyErr
	}
	// Whatever echoes a credential goes no further than here.
	a.body = []byte(Redact(string(a.body)))
	refused := readRefusal(a.body)
	kind, limited := limitOf(a.status, a.header, refused)
	if !limited {
		return bodyErr
	}
	return t.limited(kind, q.resource, a, refused, r, known)
}

// limited notes a limit and makes the error of it.
func (t *transport) limited(kind Kind, resource string, a *answer, refused refusal, r rate, known bool) *RateLimitError {
	limit := &RateLimitError{Kind: kind, Installation: t.account.installation, Sent: true, Status: a.status, Message: refused.text()}
	if kind == Primary {
		limit.Resource = resource
	}
	named, ok := retryAfter(a.header, serverTime(a.header))
	if kind == Primary && known && !ok {
		limit.RetryAt = t.account.exhausted(resource, r)
	} else {
		limit.RetryAt = t.account.pause(kind, named, ok)
		if known && r.remaining == 0 {
			// The hour is used up as well: the later of the two counts.
			if reset := t.account.exhausted(resource, r); reset.After(limit.RetryAt) {
				limit.RetryAt = reset
			}
		}
	}
	t.c.metrics.limits.WithLabelValues(string(kind)).Inc()
	return limit
}

func heldReason(e *RateLimitError) string {
	switch {
	case e.Kind == Pacing:
		return "pacing"
	case e.Reserved:
		return "reserve"
	case e.Kind == Primary:
		return "exhausted"
	default:
		return "pause"
	}
}

// report counts and logs a request: never a body, a query, or a header that could hold a secret.
func (t *transport) report(req *http.Request, q ask, a *answer, err error, attempt int, took time.Duration) {
	status := 0
	if a != nil {
		status = a.status
	}
	t.c.metrics.request(req, t.c.routeOf(req.URL), status, took)
	event := t.logger(req.Context()).Debug()
	if !event.Enabled() {
		return
	}
	event = event.Str("method", req.Method).Str("path", Redact(req.URL.Path)).Int64("installation", t.account.installation).
		Stringer("purpose", q.purpose).Int("status", status).Int("attempt", attempt).Dur("took", took)
	if a != nil {
		event = event.Str("github_request", Redact(a.header.Get("X-GitHub-Request-Id"))).Str("remaining", Redact(a.header.Get("X-RateLimit-Remaining"))).Int("bytes", len(a.body))
	}
	if err != nil {
		event = event.Str("error", Redact(err.Error()))
	}
	event.Msg("github request")
}

// logger is the context's, which knows the case, or else that of the options.
func (t *transport) logger(ctx context.Context) *zerolog.Logger {
	if log := zerolog.Ctx(ctx); log.GetLevel() != zerolog.Disabled {
		return log
	}
	return t.c.opt.Logger
}

// resourceOf names the budget that a request draws on.
func (c *Clients) resourceOf(u *url.URL) string {
	if u.Path == c.graphql.Path && origin(u) == origin(c.graphql) {
		return graphQLResource
	}
	path := c.apiPath(u)
	switch {
	case path == "search/code":
		return "code_search"
	case strings.HasPrefix(path, "search/"):
		return "search"
	}
	return "core"
}

// apiPath is the path of a URL below the base of the REST interface, without a slash at either end.
func (c *Clients) apiPath(u *url.URL) string {
	return strings.Trim(strings.TrimPrefix(u.EscapedPath(), c.rest.EscapedPath()), "/")
}
