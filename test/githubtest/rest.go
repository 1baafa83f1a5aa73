package githubtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/prosecutor-bot/prosecutor/test/contract"
)

// object is a JSON object on its way out.
type object = map[string]any

// call is one request on its way through a handler. Handlers run while s.mu is held.
type call struct {
	ctx   context.Context
	s     *Server
	r     *http.Request
	match contract.Match
	body  []byte
	who   identity
	repo  *Repo
}

// reply is what a handler answers: body as JSON, or raw of the content type.
type reply struct {
	status      int
	body        any
	raw         []byte
	contentType string
	header      http.Header
}

type handler func(*call) reply

// route is one operation: who may call it, what it needs, what answers it.
type route struct {
	appOnly bool   // needs a JWT of the App
	need    string // "checks:write"; empty for routes that any credential may call
	handle  handler
}

const (
	docsURL      = "https://docs.github.com/rest"
	jsonType     = "application/json; charset=utf-8"
	inaccessible = "Resource not accessible by integration"
)

func ok(body any) reply      { return reply{status: http.StatusOK, body: body} }
func created(body any) reply { return reply{status: http.StatusCreated, body: body} }
func noContent() reply       { return reply{status: http.StatusNoContent} }

// failure is an error as GitHub's are: a message, a link, the status once more as text.
func failure(status int, message string, details ...object) reply {
	body := object{"message": message, "documentation_url": docsURL, "status": strconv.Itoa(status)}
	if len(details) > 0 {
		body["errors"] = details
	}
	return reply{status: status, body: body}
}

func notFound() reply { return failure(http.StatusNotFound, "Not Found") }

func unprocessable(resource, field, code, message string) reply {
	detail := object{"resource": resource, "field": field, "code": code}
	if message != "" {
		detail["message"] = message
	}
	return failure(http.StatusUnprocessableEntity, "Validation Failed", detail)
}

// refuse is a 422 whose errors are sentences, as those of reviews and check runs are.
func refuse(message string, sentences ...string) reply {
	r := failure(http.StatusUnprocessableEntity, message)
	if len(sentences) > 0 {
		r.body.(object)["errors"] = sentences
	}
	return r
}

// routeTable checks the table against the contract: an operation without a handler, or the reverse, is a mistake of ours.
func (s *Server) routeTable() (map[string]route, error) {
	table := map[string]route{}
	for _, part := range []map[string]route{
		appRoutes(), repoRoutes(), contentRoutes(), gitRoutes(), pullRoutes(), reviewRoutes(), commentRoutes(), issueRoutes(), checkRoutes(), actionsRoutes(), scanningRoutes(), s.extraRoutes(),
	} {
		for key, r := range part {
			table[key] = r
		}
	}
	var errs []error
	known := map[string]bool{}
	for _, op := range s.api.Operations() {
		known[op.Method+" "+op.Template] = true
	}
	for key := range table {
		if !known[key] {
			errs = append(errs, fmt.Errorf("route %s is not in the contract", key))
		}
	}
	return table, errors.Join(errs...)
}

func (s *Server) serveREST(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	at := s.now()
	body, err := readBody(r)
	if err != nil {
		return // the client went away
	}
	path := r.URL.EscapedPath()
	rep, m, who := s.answer(r, path, body)

	header := w.Header()
	for k, v := range rep.header {
		header[k] = v
	}
	header.Set("Date", s.opt.Now().UTC().Format(http.TimeFormat))
	header.Set("X-GitHub-Request-Id", strings.ToUpper(rand.Text()[:16]))
	header.Set("X-GitHub-Media-Type", "github.v3; format=json")
	header.Set("Server", "github.com")
	out := rep.raw
	if rep.contentType != "" {
		header.Set("Content-Type", rep.contentType)
	} else if rep.body != nil {
		header.Set("Content-Type", jsonType)
		if out, err = json.Marshal(rep.body); err != nil {
			s.violate(fmt.Errorf("%s %s: writing the answer: %w", r.Method, path, err))
		}
	}
	if rep.status == http.StatusOK && r.Method == http.MethodGet {
		sum := sha256.Sum256(append([]byte(who.key()+r.Header.Get("Accept")), out...)) // an ETag is bound to the credential
		tag := fmt.Sprintf(`W/"%x"`, sum[:16])
		header.Set("ETag", tag)
		header.Set("Cache-Control", "private, max-age=60, s-maxage=60")
		header.Set("Vary", "Accept, Authorization, Cookie, X-GitHub-OTP")
		if r.Header.Get("If-None-Match") == tag {
			rep.status, out = http.StatusNotModified, nil
			header.Del("Content-Type")
			s.refund(who)
		}
	}
	s.rateHeaders(header, who)
	if m.Operation != nil {
		if err := m.ValidateResponse(rep.status, header, out); err != nil {
			s.violate(fmt.Errorf("the emulator's answer: %w", err))
		}
	}
	s.mu.Lock()
	entry := Request{Method: r.Method, Path: strings.TrimPrefix(r.URL.RequestURI(), "/"), Status: rep.status, Installation: who.installationID(), At: at, Duration: time.Since(start)}
	if m.Operation != nil {
		entry.Route = m.Template
	}
	s.log = append(s.log, entry)
	s.mu.Unlock()
	w.WriteHeader(rep.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(out)
	}
}

// answer finds the operation, checks who asks and what is asked, and runs the handler.
func (s *Server) answer(r *http.Request, path string, body []byte) (rep reply, m contract.Match, who identity) {
	defer func() {
		if failed := recover(); failed != nil {
			s.violate(fmt.Errorf("%s %s: the emulator failed: %v\n%s", r.Method, path, failed, debug.Stack()))
			rep = failure(http.StatusInternalServerError, "Server Error")
		}
	}()
	who, refused := s.authenticate(r)
	if refused != nil {
		return *refused, contract.Match{}, who
	}
	s.mu.Lock()
	path, known := s.byID(path)
	s.mu.Unlock()
	if !known {
		return notFound(), contract.Match{}, who
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	m, known, found := s.api.Find(method, path)
	if !found {
		s.violate(fmt.Errorf("%s %s: an unknown route (add it to the contract and to the emulator)", r.Method, path))
		if known {
			return failure(http.StatusMethodNotAllowed, "Method Not Allowed"), contract.Match{}, who
		}
		return notFound(), contract.Match{}, who
	}
	rt, exists := s.routes[m.Method+" "+m.Template]
	if !exists {
		s.violate(fmt.Errorf("%s %s: the emulator has no handler", m.Method, m.Template))
		return notFound(), m, who
	}
	invalid := m.ValidateRequest(r, body)
	if invalid != nil && allowedInWords(m, body) {
		invalid = nil
	}
	if invalid != nil {
		s.violate(fmt.Errorf("the client's request: %w", invalid))
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	c := &call{ctx: r.Context(), s: s, r: r, match: m, body: body, who: who}
	s.spend(who)
	if rep, limited := s.limited(c); limited {
		return rep, m, who
	}
	if rep, refused := c.admit(rt); refused {
		return rep, m, who
	}
	if invalid != nil {
		return refuse("Invalid request.\n\n" + reason(invalid)), m, who
	}
	defer s.stale(c.ctx)()
	return rt.handle(c), m, who
}

// allowedInWords knows what the description's texts allow and its schemas do not: a bare list of labels, and a reply without
// the commit and the path that it ignores.
func allowedInWords(m contract.Match, body []byte) bool {
	switch m.Method + " " + m.Template {
	case "POST /repos/{owner}/{repo}/issues/{issue_number}/labels":
		var names []string
		return json.Unmarshal(body, &names) == nil
	case "POST /repos/{owner}/{repo}/pulls/{pull_number}/comments":
		var in struct {
			Body      string
			InReplyTo int64 `json:"in_reply_to"`
		}
		return json.Unmarshal(body, &in) == nil && in.Body != "" && in.InReplyTo > 0
	}
	return false
}

// reason is the sentence that GitHub would say of a validation error.
func reason(err error) string {
	for cause := err; ; {
		var s *openapi3.SchemaError
		if !errors.As(cause, &s) {
			break
		}
		switch s.SchemaField {
		case "maxItems":
			if list, isList := s.Value.([]any); isList {
				return fmt.Sprintf("No more than %d items are allowed; %d were supplied.", *s.Schema.MaxItems, len(list))
			}
		case "maxLength":
			if text, isText := s.Value.(string); isText {
				return fmt.Sprintf("Only %d characters are allowed; %d were supplied.", *s.Schema.MaxLength, utf8.RuneCountInString(text))
			}
		case "required":
			if at := s.JSONPointer(); len(at) > 0 {
				return fmt.Sprintf("%q wasn't supplied.", at[len(at)-1])
			}
		case "enum":
			allowed, encodeErr := json.Marshal(s.Schema.Enum)
			if encodeErr == nil {
				return fmt.Sprintf("%v is not a member of %s.", s.Value, allowed)
			}
		}
		cause = s.Origin
	}
	text := err.Error()
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return text
}

// admit checks credential and permission against the route, and finds the repository.
func (c *call) admit(rt route) (reply, bool) {
	who := c.who
	if rt.appOnly {
		if who.app == nil {
			return failure(http.StatusUnauthorized, "A JSON web token could not be decoded"), true
		}
		return reply{}, false
	}
	if c.match.Params["owner"] != "" {
		owner, name := c.match.Params["owner"], c.match.Params["repo"]
		repo, moved := c.s.find(owner, name)
		if repo == nil {
			return notFound(), true
		}
		if moved {
			return c.s.redirect(c, repo), true
		}
		c.repo = repo
		if who.app != nil {
			if rt.need == "" {
				return reply{}, false // such as the App's installation on a repository
			}
			return failure(http.StatusUnauthorized, "Bad credentials"), true
		}
		if !who.sees(repo) {
			return notFound(), true
		}
	} else if who.app != nil && rt.need != "public" {
		return failure(http.StatusForbidden, "You must authenticate with an installation access token in order to "+strings.ToLower(c.match.Method)+" this resource."), true
	}
	if rt.need == "" || rt.need == "public" {
		return reply{}, false
	}
	permission, level, _ := strings.Cut(rt.need, ":")
	if c.repo != nil && c.repo.archived && level != "read" {
		return failure(http.StatusForbidden, "Repository was archived so is read-only."), true
	}
	if !who.may(c.repo, permission, level) {
		rep := failure(http.StatusForbidden, inaccessible)
		rep.header = http.Header{"X-Accepted-Github-Permissions": {strings.ReplaceAll(rt.need, ":", "=")}}
		if who.login != "" && who.installation == nil {
			rep = failure(http.StatusForbidden, "Must have "+level+" access to the repository.")
		}
		return rep, true
	}
	return reply{}, false
}

// redirect answers for a repository that was renamed: 301 for reads, 307 for writes, both to the address by id.
func (s *Server) redirect(c *call, repo *Repo) reply {
	status := http.StatusMovedPermanently
	if c.match.Method != http.MethodGet {
		status = http.StatusTemporaryRedirect
	}
	prefix := "/repos/" + url.PathEscape(c.match.Params["owner"]) + "/" + url.PathEscape(c.match.Params["repo"])
	rest := strings.TrimPrefix(c.r.URL.EscapedPath(), prefix)
	to := fmt.Sprintf("%srepositories/%d%s", s.REST, repo.id, rest)
	if q := c.r.URL.RawQuery; q != "" {
		to += "?" + q
	}
	rep := reply{status: status, body: object{"message": "Moved Permanently", "url": to, "documentation_url": docsURL}}
	rep.header = http.Header{"Location": {to}}
	return rep
}

// byID rewrites /repositories/{id}/... to the repository's present name. ok is false when there is no such repository.
func (s *Server) byID(path string) (rewritten string, ok bool) {
	rest, isID := strings.CutPrefix(path, "/repositories/")
	if !isID {
		return path, true
	}
	number, rest, slash := strings.Cut(rest, "/")
	id, err := strconv.ParseInt(number, 10, 64)
	repo := s.repos[id]
	if err != nil || repo == nil {
		return path, false
	}
	out := "/repos/" + repo.owner + "/" + repo.name
	if slash {
		out += "/" + rest
	}
	return out, true
}

// find looks a repository up by name; moved tells that it has another name by now.
func (s *Server) find(owner, name string) (repo *Repo, moved bool) {
	for _, r := range s.repos {
		if strings.EqualFold(r.owner, owner) && strings.EqualFold(r.name, name) {
			return r, false
		}
	}
	if id, was := s.moved[strings.ToLower(owner+"/"+name)]; was && s.repos[id] != nil {
		return s.repos[id], true
	}
	return nil, false
}

func (c *call) param(name string) string { return c.match.Params[name] }

func (c *call) number(name string) int64 {
	n, err := strconv.ParseInt(c.match.Params[name], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

// decode reads the body, which the contract has checked, into v.
func (c *call) decode(v any) {
	if len(bytes.TrimSpace(c.body)) == 0 {
		return
	}
	if err := json.Unmarshal(c.body, v); err != nil {
		c.s.later(fmt.Errorf("%s %s: the emulator cannot read a valid body: %w", c.match.Method, c.match.Template, err))
	}
}

// later reports a violation from a place that holds s.mu.
func (s *Server) later(err error) {
	s.violations = append(s.violations, err)
	s.violation(err)
}

// accepts tells whether the Accept header asks for a media type of GitHub's own, "diff" or "raw".
func (c *call) accepts(kind string) bool {
	accept := c.r.Header.Get("Accept")
	for _, form := range []string{"application/vnd.github." + kind, "application/vnd.github.v3." + kind} {
		if strings.Contains(accept, form) {
			return true
		}
	}
	return false
}

// page cuts one page out of all elements, 30 by default and 100 at most, and links to the others.
func page[T any](c *call, all []T, render func(T) any) ([]any, http.Header) {
	size, number := 30, 1
	if n, err := strconv.Atoi(c.query("per_page")); err == nil && n > 0 {
		size = min(n, 100)
	}
	if n, err := strconv.Atoi(c.query("page")); err == nil && n > 0 {
		number = n
	}
	last := max(1, (len(all)+size-1)/size)
	from := min((number-1)*size, len(all))
	to := min(from+size, len(all))
	out := make([]any, 0, to-from)
	for _, e := range all[from:to] {
		out = append(out, render(e))
	}
	var links []string
	link := func(n int, rel string) {
		q := c.r.URL.Query()
		q.Set("page", strconv.Itoa(n))
		links = append(links, fmt.Sprintf(`<%s%s?%s>; rel="%s"`, c.s.REST, strings.TrimPrefix(c.r.URL.EscapedPath(), "/"), q.Encode(), rel))
	}
	if number > 1 {
		link(number-1, "prev")
	}
	if number < last {
		link(number+1, "next")
		link(last, "last")
	}
	if number > 1 {
		link(1, "first")
	}
	header := http.Header{}
	if len(links) > 0 {
		header.Set("Link", strings.Join(links, ", "))
	}
	return out, header
}

// list answers one page as an array; listIn wraps it with the total.
func list[T any](c *call, all []T, render func(T) any) reply {
	items, header := page(c, all, render)
	return reply{status: http.StatusOK, body: items, header: header}
}

func listIn[T any](c *call, key string, all []T, render func(T) any) reply {
	items, header := page(c, all, render)
	return reply{status: http.StatusOK, body: object{"total_count": len(all), key: items}, header: header}
}

// stamp writes a time as GitHub does; null when there is none.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// text is a string, null when empty.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}
