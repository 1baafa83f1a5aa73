package ghclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"
)

// Kind is the kind of a limit.
type Kind string

// The kinds of limits.
const (
	// Primary is the hourly number of requests, or its last share that is kept for publishing.
	Primary Kind = "primary"
	// Secondary is GitHub's guard against bursts.
	Secondary Kind = "secondary"
	// Abuse is the older wording of Secondary, still sent by Enterprise Servers.
	Abuse Kind = "abuse"
	// Pacing is our own bucket for writes, when a turn is further away than a worker should wait.
	Pacing Kind = "pacing"
)

// RateLimitError says that a limit stands in the way until RetryAt. The work is to be put off until then; asking earlier
// prolongs the limit, and may get the App banned.
type RateLimitError struct {
	Kind Kind
	// RetryAt is by this host's clock, whatever GitHub's says.
	RetryAt time.Time
	// Installation is 0 for the App itself.
	Installation int64
	// Resource is GitHub's name of the exhausted budget: core, graphql, search. Empty for other kinds than Primary.
	Resource string
	// Reserved is true when only the share that is kept for publishing is left.
	Reserved bool
	// Sent is true when GitHub refused the request, false when it was held back here.
	Sent bool
	// Status is the status that GitHub answered with, 0 when it was not asked.
	Status int
	// Message is GitHub's text, without secrets.
	Message string
}

func (e *RateLimitError) Error() string {
	who := fmt.Sprintf("installation %d", e.Installation)
	if e.Installation == 0 {
		who = "the App"
	}
	what := string(e.Kind) + " rate limit of GitHub"
	switch {
	case e.Kind == Pacing:
		what = "spacing of writes"
	case e.Reserved:
		what = "share of the hourly " + e.Resource + " requests that is kept for publishing"
	case e.Kind == Primary && e.Resource != "":
		what = "primary rate limit of GitHub (" + e.Resource + ")"
	}
	text := fmt.Sprintf("%s: %s must wait until %s", what, who, e.RetryAt.UTC().Format(time.RFC3339))
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// MovedError says that the object of a write is elsewhere: GitHub answered with a redirect that would have turned the
// write into a read. Nothing was written. Find the repository again by its id and write there.
type MovedError struct {
	Method string
	From   string // path of the request
	To     string // URL that GitHub points to
	Status int
	// RepositoryID is the id that To names, 0 when it names none.
	RepositoryID int64
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("%s %s: moved to %s (status %d): nothing was written, find the repository again by its id", e.Method, e.From, e.To, e.Status)
}

// ForeignHostError says that a request, or the redirect that answered one, leads to a host that is not the configured
// GitHub. Nothing was sent there.
type ForeignHostError struct {
	Host string // scheme, host and port
}

func (e *ForeignHostError) Error() string {
	return fmt.Sprintf("%s is not the configured GitHub host: nothing was sent to it; if it should be, check the github URLs of the configuration", e.Host)
}

// AuthError says that GitHub does not accept the credential (401), also not a fresh one.
type AuthError struct {
	// Installation is 0 for the App's own JWT.
	Installation int64
	Message      string
	// Skew is how much the clock of this host is ahead of GitHub's, when the difference matters.
	Skew time.Duration
}

func (e *AuthError) Error() string {
	if e.Installation != 0 {
		return fmt.Sprintf("GitHub does not accept the token of installation %d: %s", e.Installation, e.Message)
	}
	text := "GitHub does not accept the App's JWT: " + e.Message
	switch {
	case e.Skew > 0:
		text += fmt.Sprintf(": the clock of this host is %s ahead of GitHub's; set it (NTP)", e.Skew.Round(time.Second))
	case e.Skew < 0:
		text += fmt.Sprintf(": the clock of this host is %s behind GitHub's; set it (NTP)", (-e.Skew).Round(time.Second))
	default:
		text += ": check that the private key belongs to the App id, and that it was not deleted on the App's settings page"
	}
	return text
}

// TokenError says that no token could be made for an installation.
type TokenError struct {
	Installation int64
	Scope        Scope
	Err          error
}

func (e *TokenError) Error() string {
	hint := ""
	switch ClassOf(e) {
	case ClassInstallationGone:
		hint = ": the installation does not exist (any more), or belongs to another App"
	case ClassSuspended:
		hint = ": its owner has to unsuspend it"
	case ClassForbidden:
		hint = ": approve the App's new permissions on the installation's page, or give it access to the repository"
	}
	return fmt.Sprintf("making a token for installation %d: %v%s", e.Installation, e.Err, hint)
}

func (e *TokenError) Unwrap() error { return e.Err }

// TooLargeError says that an answer is larger than its bound. It is not asked for again.
type TooLargeError struct {
	Path  string
	Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer to %s is larger than %d bytes", e.Path, e.Limit)
}

// BodyError says that an answer could not be read to its end, or that there was none where one was due. A write may have
// happened all the same: look for its result before doing it again.
type BodyError struct {
	Method, Path string
	Status       int
	Err          error
}

func (e *BodyError) Error() string {
	return fmt.Sprintf("reading the answer (status %d) to %s %s: %v", e.Status, e.Method, e.Path, e.Err)
}

func (e *BodyError) Unwrap() error { return e.Err }

// NetworkError says that there was no answer. A write may have happened all the same.
type NetworkError struct {
	Method, Path string
	Err          error
}

func (e *NetworkError) Error() string {
	return fmt.Sprintf("sending %s %s: %s", e.Method, e.Path, Redact(e.Err.Error()))
}

func (e *NetworkError) Unwrap() error { return e.Err }

// GraphQLError is what GitHub says in the errors of a GraphQL answer, mostly under status 200.
type GraphQLError struct {
	Errors []GraphQLProblem
	// Partial is true when there are data as well; they were decoded. What is null in them was not seen, which is not the
	// same as not being there.
	Partial bool
	// RequestID is what GitHub's support asks for.
	RequestID string
}

// GraphQLProblem is one of the errors.
type GraphQLProblem struct {
	// Type is NOT_FOUND, FORBIDDEN, INSUFFICIENT_SCOPES, UNPROCESSABLE and so on; empty for errors of the query and for
	// failures of GitHub itself.
	Type    string `json:"type"`
	Message string `json:"message"`
	// Path leads to the field: names, and numbers of list items.
	Path []any  `json:"path"`
	Code string `json:"code"`
}

func (e *GraphQLError) Error() string {
	texts := make([]string, 0, 3)
	for i, p := range e.Errors {
		if i == 3 {
			texts = append(texts, fmt.Sprintf("and %d more", len(e.Errors)-i))
			break
		}
		text := p.Message
		if p.Type != "" {
			text = p.Type + ": " + text
		}
		if len(p.Path) > 0 {
			text += " at " + joinPath(p.Path)
		}
		texts = append(texts, text)
	}
	kind := "no data"
	if e.Partial {
		kind = "partial data"
	}
	return fmt.Sprintf("GraphQL (%s): %s", kind, strings.Join(texts, "; "))
}

func joinPath(path []any) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = fmt.Sprint(p)
	}
	return strings.Join(parts, ".")
}

// all tells whether each problem has one of the types.
func (e *GraphQLError) all(types ...string) bool {
	for _, p := range e.Errors {
		found := false
		for _, t := range types {
			found = found || p.Type == t
		}
		if !found {
			return false
		}
	}
	return len(e.Errors) > 0
}

// Class is what an error of these clients means to the one who asked.
type Class string

// The classes of errors. ClassNone is that of a nil error.
const (
	ClassNone             Class = ""
	ClassAccepted         Class = "accepted"          // GitHub works on it (202): go-github makes an error of this success
	ClassRateLimited      Class = "rate_limited"      // put off until RetryAt
	ClassUnavailable      Class = "unavailable"       // GitHub or the network failed; again later
	ClassUnauthorized     Class = "unauthorized"      // the key, the App id or the clock is wrong
	ClassForbidden        Class = "forbidden"         // a permission or a repository was not granted
	ClassSSO              Class = "sso"               // the organisation demands SAML sign-on
	ClassSuspended        Class = "suspended"         // the installation is suspended
	ClassInstallationGone Class = "installation_gone" // the App was uninstalled
	ClassNotFound         Class = "not_found"         // no such object, or not visible to the token
	ClassGone             Class = "gone"              // deleted, disabled, or blocked for legal reasons
	ClassMoved            Class = "moved"             // the repository was renamed or transferred
	ClassConflict         Class = "conflict"          // the state of the object stands against it (409)
	ClassRefused          Class = "refused"           // the request is invalid (400, 406, 413, 422)
	ClassTooLarge         Class = "too_large"         // the answer exceeds its bound
	ClassCanceled         Class = "canceled"          // the caller gave up
	ClassOther            Class = "other"
)

// ClassOf tells what an error of these clients means. It sees through wrapping.
func ClassOf(err error) Class {
	if err == nil {
		return ClassNone
	}
	if c, ok := classOfOurs(err); ok {
		return c
	}
	if errors.Is(err, context.Canceled) {
		return ClassCanceled
	}
	var accepted *github.AcceptedError
	if errors.As(err, &accepted) {
		return ClassAccepted
	}
	if c := classOfStatus(err); c != ClassOther {
		return c
	}
	// Half an object, or a page where JSON was due: go-github decodes after the transport.
	var syntax *json.SyntaxError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &syntax) || errors.Is(err, context.DeadlineExceeded) {
		return ClassUnavailable
	}
	return ClassOther
}

// classOfOurs knows the types of this package.
func classOfOurs(err error) (Class, bool) {
	var (
		limit   *RateLimitError
		token   *TokenError
		auth    *AuthError
		moved   *MovedError
		foreign *ForeignHostError
		large   *TooLargeError
		body    *BodyError
		network *NetworkError
		gql     *GraphQLError
	)
	switch {
	case errors.As(err, &limit):
		return ClassRateLimited, true
	case errors.As(err, &token):
		return classOfToken(token.Err), true
	case errors.As(err, &auth):
		return ClassUnauthorized, true
	case errors.As(err, &moved):
		return ClassMoved, true
	case errors.As(err, &foreign):
		return ClassOther, true
	case errors.As(err, &large):
		return ClassTooLarge, true
	case errors.As(err, &body), errors.As(err, &network):
		return ClassUnavailable, true
	case errors.As(err, &gql):
		return classOfGraphQL(gql), true
	}
	return ClassNone, false
}

// classOfToken reads the refusal of a token: 404 for a removed installation, 403 for a suspended one, 422 for a repository
// or permission outside of what was granted.
func classOfToken(err error) Class {
	switch c := ClassOf(err); c {
	case ClassNotFound, ClassGone:
		return ClassInstallationGone
	case ClassRefused:
		return ClassForbidden
	default:
		return c
	}
}

func classOfGraphQL(e *GraphQLError) Class {
	switch {
	case e.all("NOT_FOUND"):
		return ClassNotFound
	case e.all("FORBIDDEN", "INSUFFICIENT_SCOPES"):
		return ClassForbidden
	case e.all("SAML_FAILURE"):
		return ClassSSO
	case e.all("UNPROCESSABLE"):
		return ClassRefused
	case e.all("SERVICE_UNAVAILABLE", "LOADING", "INTERNAL", "TIMEOUT"):
		return ClassUnavailable
	}
	for _, p := range e.Errors {
		// "Something went wrong while executing your query. ... This may be the result of a timeout, or it could be a GitHub
		// bug." has no type.
		if p.Type != "" || !strings.HasPrefix(p.Message, "Something went wrong") {
			return ClassOther
		}
	}
	return ClassUnavailable
}

func classOfStatus(err error) Class {
	var e *github.ErrorResponse
	if !errors.As(err, &e) || e.Response == nil {
		return ClassOther
	}
	switch code := e.Response.StatusCode; {
	case code == http.StatusForbidden && (e.Response.Header.Get("X-GitHub-SSO") != "" || strings.Contains(e.Message, "SAML")):
		return ClassSSO
	case code == http.StatusForbidden && strings.Contains(strings.ToLower(e.Message), "suspended"):
		return ClassSuspended
	case code == http.StatusUnauthorized:
		return ClassUnauthorized
	case code == http.StatusForbidden:
		return ClassForbidden
	case code == http.StatusNotFound:
		return ClassNotFound
	case code == http.StatusGone, code == http.StatusUnavailableForLegalReasons:
		return ClassGone
	case code == http.StatusMovedPermanently, code == http.StatusFound, code == http.StatusTemporaryRedirect, code == http.StatusPermanentRedirect:
		return ClassMoved
	case code == http.StatusConflict:
		return ClassConflict
	case code == http.StatusBadRequest, code == http.StatusNotAcceptable, code == http.StatusRequestEntityTooLarge, code == http.StatusUnprocessableEntity:
		return ClassRefused
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooManyRequests:
		return ClassUnavailable
	}
	return ClassOther
}

// IsNotFound tells whether the object does not exist or is hidden from the token. A missing installation is no such case.
func IsNotFound(err error) bool { return ClassOf(err) == ClassNotFound }

// IsGone tells whether the object was deleted, disabled or blocked (410, 451).
func IsGone(err error) bool { return ClassOf(err) == ClassGone }

// IsForbidden tells whether a permission or sign-on is missing. No rate limit is such a case.
func IsForbidden(err error) bool {
	c := ClassOf(err)
	return c == ClassForbidden || c == ClassSSO
}

// IsUnprocessable tells whether GitHub refused the request as invalid (422).
func IsUnprocessable(err error) bool { return StatusOf(err) == http.StatusUnprocessableEntity }

// IsTransient tells whether the same request may succeed later without anybody's doing, other than after a rate limit.
func IsTransient(err error) bool { return ClassOf(err) == ClassUnavailable }

// IsInstallationLost tells whether the App was uninstalled or suspended.
func IsInstallationLost(err error) bool {
	c := ClassOf(err)
	return c == ClassInstallationGone || c == ClassSuspended
}

// RetryAt returns the end of the limit that err speaks of.
func RetryAt(err error) (time.Time, bool) {
	var limit *RateLimitError
	if errors.As(err, &limit) {
		return limit.RetryAt, true
	}
	return time.Time{}, false
}

// StatusOf returns the HTTP status of GitHub's refusal, or 0.
func StatusOf(err error) int {
	var (
		e     *github.ErrorResponse
		limit *RateLimitError
		auth  *AuthError
		moved *MovedError
		body  *BodyError
	)
	switch {
	case errors.As(err, &e) && e.Response != nil:
		return e.Response.StatusCode
	case errors.As(err, &limit):
		return limit.Status
	case errors.As(err, &auth):
		return http.StatusUnauthorized
	case errors.As(err, &moved):
		return moved.Status
	case errors.As(err, &body):
		return body.Status
	}
	return 0
}
