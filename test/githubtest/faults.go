package githubtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Kind is what goes wrong with a request.
type Kind int

const (
	// Latency holds the request until Gate is closed (or gives a value), then handles it.
	Latency Kind = iota
	// ServerError answers Status (500, 502, 503, 504; by default 502) without doing anything.
	ServerError
	// QueryFailed is a failure that GraphQL reports under status 200, without data.
	QueryFailed
	// PrimaryLimit says that the hour is used up: Status 403 (the default) or 429, until RetryAfter from now (by default an
	// hour). GraphQL says so under status 200.
	PrimaryLimit
	// SecondaryLimit asks to slow down: Status 403 (the default) or 429, with a Retry-After header when RetryAfter is set, and
	// without any header about rates when Bare is.
	SecondaryLimit
	// AbuseLimit is the older wording of the same, still that of GHES.
	AbuseLimit
	// TooQuickly is the guard at the creation of content: a 422.
	TooQuickly
	// Truncated handles the request and breaks the connection in the middle of the answer.
	Truncated
	// Closed breaks the connection before anything is done. Go's own client repeats reads on a fresh connection once.
	Closed
	// AnswerLost does everything and breaks the connection before the answer: the client cannot know that it was done.
	AnswerLost
	// Missing answers 404, as reads do that come before a write has spread.
	Missing
	// StaleHead handles the request as of before the last push: pull requests have their former head.
	StaleHead
	// Redirected answers Status (by default 301) with the same path below To.
	Redirected
	// ClockSkew handles the request and shifts the answer's Date header by Skew.
	ClockSkew
	// ExpiredToken answers 401.
	ExpiredToken
	// SuspendedInstallation and PermissionRemoved answer 403 each in its wording.
	SuspendedInstallation
	// PermissionRemoved is described with SuspendedInstallation.
	PermissionRemoved
	// Answered lets Answer reply in GitHub's place: a proxy's page, a body without end, whatever a test needs.
	Answered
)

// Fault is something that goes wrong with the requests that match. Empty conditions match everything.
type Fault struct {
	Method string // of HTTP; GraphQL is POST
	// Path is found in the path and query below the API's base, as Requests lists them: "repos/acme/pay/pulls/1?page=2", or
	// "graphql#Name" of the operation.
	Path *regexp.Regexp
	// Route is the description's template, "/repos/{owner}/{repo}/pulls/{pull_number}", or "/graphql", or "git" for clones and
	// fetches, whose paths are like "acme/pay.git/info/refs?service=git-upload-pack".
	Route string
	// Skip lets that many matching requests pass first; then Times are hit, by default one, all when it is negative.
	Skip, Times int

	Kind       Kind
	Status     int
	RetryAfter time.Duration
	Bare       bool
	Gate       <-chan struct{}
	To         string
	Skew       time.Duration
	Answer     http.Handler
}

// Injection is a fault at work.
type Injection struct {
	f *faults
	Fault
	seen, hits int
	gone       bool
}

// faults are the faults of a server.
type faults struct {
	mu   sync.Mutex // taken without Server.mu, never together
	list []*Injection
	turn chan struct{} // closed and replaced at each hit
}

// Inject makes requests go wrong from now on, and returns what to watch and end it by. Faults are tried in the order of their
// injection: the first that answers wins, those that only delay or bend an answer add up.
func (s *Server) Inject(fault Fault) *Injection {
	if fault.Times == 0 {
		fault.Times = 1
	}
	if fault.Kind == Latency && fault.Gate == nil {
		panic("githubtest: latency without a gate")
	}
	if fault.Kind == Answered && fault.Answer == nil {
		panic("githubtest: an answer without a handler")
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	in := &Injection{f: &s.faults, Fault: fault}
	s.faults.list = append(s.faults.list, in)
	return in
}

// Hits tells how many requests it has met.
func (in *Injection) Hits() int {
	in.f.mu.Lock()
	defer in.f.mu.Unlock()
	return in.hits
}

// Remove ends it.
func (in *Injection) Remove() {
	in.f.mu.Lock()
	defer in.f.mu.Unlock()
	in.gone = true
	in.f.list = slices.DeleteFunc(in.f.list, func(o *Injection) bool { return o == in })
}

// Await waits until it has met n requests.
func (in *Injection) Await(ctx context.Context, n int) error {
	for {
		in.f.mu.Lock()
		hits, turn := in.hits, in.f.next()
		in.f.mu.Unlock()
		if hits >= n {
			return nil
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %d requests to be met by a fault, %d were: %w", n, hits, ctx.Err())
		}
	}
}

// next is closed at the next hit; the caller holds f.mu.
func (f *faults) next() chan struct{} {
	if f.turn == nil {
		f.turn = make(chan struct{})
	}
	return f.turn
}

// meet counts a request and lists the faults that hit it, up to the first that answers.
func (f *faults) meet(method, path, route string) []*Injection {
	f.mu.Lock()
	defer f.mu.Unlock()
	var met []*Injection
	for _, in := range f.list {
		if in.Method != "" && in.Method != method || in.Route != "" && in.Route != route || in.Path != nil && !in.Path.MatchString(path) {
			continue
		}
		in.seen++
		if in.seen <= in.Skip || in.Times > 0 && in.hits >= in.Times {
			continue
		}
		in.hits++
		met = append(met, in)
		if !in.passes() {
			break
		}
	}
	if met != nil {
		close(f.next())
		f.turn = nil
	}
	return met
}

// passes tells whether the request is handled all the same.
func (in *Injection) passes() bool {
	switch in.Kind {
	case Latency, StaleHead, ClockSkew:
		return true
	}
	return false
}

type staleKey struct{}

// gitRoute is the route of clones and fetches.
const gitRoute = "git"

// intercept stands before REST, GraphQL and git, and lets faults happen.
func (s *Server) intercept(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		leave, crowded := s.enter(r)
		defer leave()
		if crowded {
			path, route, err := s.place(r)
			if err == nil {
				s.refuse(w, r, Fault{Kind: SecondaryLimit, RetryAfter: time.Minute}, route, path, start)
			}
			return
		}
		s.faults.mu.Lock()
		quiet := len(s.faults.list) == 0
		s.faults.mu.Unlock()
		if quiet {
			next.ServeHTTP(w, r)
			return
		}
		path, route, err := s.place(r)
		if err != nil {
			return // the client went away
		}
		for _, in := range s.faults.meet(r.Method, path, route) {
			switch in.Kind {
			case Latency:
				select {
				case <-in.Gate:
				case <-r.Context().Done():
					return
				}
			case StaleHead:
				r = r.WithContext(context.WithValue(r.Context(), staleKey{}, true))
			case ClockSkew:
				w = &skewed{ResponseWriter: w, by: in.Skew}
			case Truncated, AnswerLost:
				rec := httptest.NewRecorder()
				next.ServeHTTP(rec, r)
				if in.Kind == Truncated {
					half(w, rec)
				}
				panic(http.ErrAbortHandler)
			case Answered:
				rec := &recorded{ResponseWriter: w, status: http.StatusOK}
				in.Answer.ServeHTTP(rec, r)
				who, _ := s.authenticate(r)
				s.note(r, rec.status, route, path, who, start)
				return
			case Closed:
				who, _ := s.authenticate(r)
				s.note(r, 0, route, path, who, start)
				panic(http.ErrAbortHandler)
			default:
				s.refuse(w, r, in.Fault, route, path, start)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// place names a request as the log does, and keeps its body for the handler.
func (s *Server) place(r *http.Request) (path, route string, err error) {
	escaped, isREST := strings.CutPrefix(r.URL.EscapedPath(), "/api/v3")
	if !isREST && escaped != "/api/graphql" {
		return strings.TrimPrefix(r.URL.RequestURI(), "/"), gitRoute, nil
	}
	if !isREST {
		body, err := readBody(r)
		if err != nil {
			return "", "", err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var in struct{ Query string }
		name := ""
		if err := json.Unmarshal(body, &in); err == nil {
			if m := operationName.FindStringSubmatch(in.Query); m != nil {
				name = m[1]
			}
		}
		return graphPath(name), "/graphql", nil
	}
	path = strings.TrimPrefix(escaped, "/")
	if q := r.URL.RawQuery; q != "" {
		path += "?" + q
	}
	s.mu.Lock()
	escaped, _ = s.byID(escaped)
	s.mu.Unlock()
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if m, _, found := s.api.Find(method, escaped); found {
		route = m.Template
	}
	return path, route, nil
}

var operationName = regexp.MustCompile(`^\s*(?:query|mutation)\s+(\w+)`)

// half sends the headers of a whole answer and half of its body.
func half(w http.ResponseWriter, rec *httptest.ResponseRecorder) {
	for name, values := range rec.Header() {
		w.Header()[name] = values
	}
	body := rec.Body.Bytes()
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(rec.Code)
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
}

// skewed shifts the Date of an answer.
type skewed struct {
	http.ResponseWriter
	by   time.Duration
	done bool
}

func (k *skewed) WriteHeader(status int) {
	if at, err := http.ParseTime(k.Header().Get("Date")); err == nil && !k.done {
		k.Header().Set("Date", at.Add(k.by).Format(http.TimeFormat))
	}
	k.done = true
	k.ResponseWriter.WriteHeader(status)
}

func (k *skewed) Write(b []byte) (int, error) {
	if !k.done {
		k.WriteHeader(http.StatusOK)
	}
	return k.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (k *skewed) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// recorded remembers the status of an answer.
type recorded struct {
	http.ResponseWriter
	status int
}

func (k *recorded) WriteHeader(status int) {
	k.status = status
	k.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (k *recorded) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// What GitHub says when it asks to slow down, and where its pages about that are.
const (
	secondaryDocs = "https://docs.github.com/free-pro-team@latest/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"
	abuseText     = "You have triggered an abuse detection mechanism. Please wait a few minutes before you try again."
	abuseDocs     = "https://docs.github.com/rest/overview/resources-in-the-rest-api#abuse-rate-limits"
	suspendedText = "This installation has been suspended"
)

// secondaryText names the request, when its id is known.
func (s *Server) secondaryText(requestID string) string {
	const request = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
	if requestID == "" {
		return request
	}
	return fmt.Sprintf("%s If you reach out to GitHub Support for help, please include the request ID %s and timestamp %s.", request, requestID, s.now().Format("2006-01-02 15:04:05 UTC"))
}

// slowDown makes a refusal one that asks to slow down, and to come back later if after is set.
func slowDown(rep reply, docs string, after time.Duration) reply {
	rep.body.(object)["documentation_url"] = docs
	rep.header = http.Header{}
	if after > 0 {
		rep.header.Set("Retry-After", strconv.Itoa(int(after/time.Second)))
	}
	return rep
}

// refuse answers in place of the handler.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, f Fault, route, path string, start time.Time) {
	who, _ := s.authenticate(r)
	requestID := strings.ToUpper(rand.Text()[:16])
	rep := s.faulty(f, who, route, requestID, path)
	header := w.Header()
	for name, values := range rep.header {
		header[name] = values
	}
	header.Set("Date", s.opt.Now().UTC().Format(http.TimeFormat))
	header.Set("X-GitHub-Request-Id", requestID)
	header.Set("Server", "github.com")
	out := rep.raw
	if rep.contentType != "" {
		header.Set("Content-Type", rep.contentType)
	} else {
		header.Set("Content-Type", jsonType)
		var err error
		if out, err = json.Marshal(rep.body); err != nil {
			s.violate(fmt.Errorf("writing a fault: %w", err))
		}
	}
	if !f.Bare && f.Kind != ServerError {
		s.rateHeaders(header, who)
	}
	s.note(r, rep.status, route, path, who, start)
	w.WriteHeader(rep.status)
	_, _ = w.Write(out)
}

func (s *Server) faulty(f Fault, who identity, route, requestID, path string) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := func(otherwise int) int {
		if f.Status != 0 {
			return f.Status
		}
		return otherwise
	}
	switch f.Kind {
	case ServerError:
		return serverError(status(http.StatusBadGateway))
	case QueryFailed:
		return ok(object{"data": nil, "errors": []object{{
			"message": "Something went wrong while executing your query. This may be the result of a timeout, or it could be a GitHub bug. Please include `" + requestID + "` when reporting this issue.",
		}}})
	case PrimaryLimit:
		wait := f.RetryAfter
		if wait == 0 {
			wait = time.Hour
		}
		rep := s.primaryLimit(who, status(http.StatusForbidden), s.now().Add(wait))
		if route == "/graphql" {
			rep.status, rep.body = http.StatusOK, object{"errors": []object{rateLimited(who)}}
			rep.header.Set("X-RateLimit-Resource", "graphql")
		}
		return rep
	case SecondaryLimit:
		return slowDown(failure(status(http.StatusForbidden), s.secondaryText(requestID)), secondaryDocs, f.RetryAfter)
	case AbuseLimit:
		return slowDown(failure(status(http.StatusForbidden), abuseText), abuseDocs, f.RetryAfter)
	case TooQuickly:
		return unprocessable("IssueComment", "data", "unprocessable", "was submitted too quickly")
	case Missing:
		return notFound()
	case Redirected:
		to := strings.TrimSuffix(f.To, "/") + "/" + path
		rep := reply{status: status(http.StatusMovedPermanently), body: object{"message": "Moved Permanently", "url": to, "documentation_url": docsURL}}
		rep.header = http.Header{"Location": {to}}
		return rep
	case ExpiredToken:
		return failure(http.StatusUnauthorized, "Bad credentials")
	case SuspendedInstallation:
		return failure(http.StatusForbidden, suspendedText)
	default:
		return failure(http.StatusForbidden, inaccessible)
	}
}

// serverError is what GitHub's front end says: JSON for some, a page for others, nothing for the plain 500.
func serverError(status int) reply {
	const page = "<!DOCTYPE html>\n<html><head><title>Unicorn! &middot; GitHub</title></head><body><p>%s</p></body></html>\n"
	switch status {
	case http.StatusInternalServerError:
		return reply{status: status, raw: []byte{}, contentType: jsonType}
	case http.StatusBadGateway:
		return reply{status: status, body: object{"message": "Server Error"}}
	case http.StatusServiceUnavailable:
		return reply{status: status, raw: fmt.Appendf(nil, page, "No server is currently available to service your request."), contentType: "text/html"}
	}
	return reply{status: status, raw: fmt.Appendf(nil, page, "We couldn't respond to your request in time."), contentType: "text/html"}
}

// stale shows pull requests as they were before their last push while a request runs that StaleHead has met; the caller holds
// s.mu from then to restore.
func (s *Server) stale(ctx context.Context) (restore func()) {
	if ctx.Value(staleKey{}) == nil {
		return func() {}
	}
	type present struct {
		head, merge string
		state       mergeability
	}
	now := map[*PullRequest]present{}
	for p, before := range s.formerHeads {
		now[p] = present{head: p.headSHA, merge: p.mergeSHA, state: p.mergeable}
		p.headSHA, p.mergeSHA, p.mergeable = before, "", mergeUnknown
	}
	return func() {
		for p, was := range now {
			p.headSHA, p.mergeSHA, p.mergeable = was.head, was.merge, was.state
			if was.merge != "" { // reading may have made a test merge of the former head
				p.repo.git("update-ref", fmt.Sprintf("refs/pull/%d/merge", p.number), was.merge)
			}
		}
	}
}
