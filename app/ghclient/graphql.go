package ghclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/go-github/v62/github"
)

// graphQLResource is GitHub's name of the budget of GraphQL.
const graphQLResource = "graphql"

// GraphQL runs a query or a mutation as an installation and decodes the data into out, which may be nil. Queries count as
// reads, mutations as writes.
//
// GitHub reports failures under status 200: they come back as a [GraphQLError], limits as a [RateLimitError]. With partial
// data out is filled as far as it goes and the error says so; a caller that can do with part of the data must look at
// [GraphQLError.Partial] and at the paths. A nil error does not mean that each object of the query exists: check for null.
func (c *Clients) GraphQL(ctx context.Context, installationID int64, scope Scope, query string, vars map[string]any, out any) error {
	t, err := c.transport(ctx, installationID, scope)
	if err != nil {
		return err
	}
	body, err := json.Marshal(struct {
		Query     string         `json:"query"`
		Variables map[string]any `json:"variables,omitempty"`
	}{query, vars})
	if err != nil {
		return fmt.Errorf("writing the variables of a GraphQL query: %w", err)
	}
	mutation := isMutation(query)
	ctx = withOperation(ctx, mutation)
	for attempt := 1; ; attempt++ {
		err = c.graphQLOnce(ctx, t, body, out)
		// Failures that GitHub reports under 200 are asked again once; those with a status were already.
		var problem *GraphQLError
		if mutation || attempt > 1 || !errors.As(err, &problem) || !IsTransient(err) {
			return err
		}
		c.metrics.retries.WithLabelValues("fault").Inc()
		if c.opt.Sleep(ctx, t.backoff(attempt)) != nil {
			return err
		}
	}
}

func (c *Clients) graphQLOnce(ctx context.Context, t *transport, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.graphql.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("making a GraphQL request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.opt.UserAgent)
	resp, err := c.httpClient(t).Do(req)
	if err != nil {
		return fmt.Errorf("GraphQL: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("reading a GraphQL answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GraphQL: %w", statusError(resp, data))
	}
	return c.readGraphQL(t, resp, data, out)
}

func (c *Clients) readGraphQL(t *transport, resp *http.Response, data []byte, out any) error {
	var envelope struct {
		Data   json.RawMessage  `json:"data"`
		Errors []GraphQLProblem `json:"errors"`
	}
	if err := json.Unmarshal(data, &envelope); err != nil {
		return fmt.Errorf("GraphQL: %w", &BodyError{Method: http.MethodPost, Path: resp.Request.URL.Path, Status: resp.StatusCode, Err: err})
	}
	hasData := len(envelope.Data) > 0 && !bytes.Equal(envelope.Data, []byte("null"))
	for i := range envelope.Errors {
		p := &envelope.Errors[i]
		if kind, ok := graphQLLimit(p); ok {
			return c.graphQLLimited(t, resp, kind, p)
		}
		p.clean()
	}
	problem := &GraphQLError{Errors: envelope.Errors, Partial: hasData, RequestID: Redact(resp.Header.Get("X-GitHub-Request-Id"))}
	if hasData && out != nil {
		if err := json.Unmarshal(envelope.Data, out); err != nil {
			return errors.Join(fmt.Errorf("decoding a GraphQL answer: %w", err), problem.orNil())
		}
	}
	if !hasData && len(envelope.Errors) == 0 {
		problem.Errors = []GraphQLProblem{{Message: "the answer holds neither data nor errors"}}
	}
	return problem.orNil()
}

// clean takes secrets out of a problem, and all but the start of a long message.
func (p *GraphQLProblem) clean() {
	p.Message, p.Type, p.Code = refusal{Message: p.Message}.text(), Redact(p.Type), Redact(p.Code)
	for i, step := range p.Path {
		if name, ok := step.(string); ok {
			p.Path[i] = Redact(name)
		}
	}
}

// orNil is the error, or nil when there is no problem.
func (e *GraphQLError) orNil() error {
	if len(e.Errors) == 0 {
		return nil
	}
	return e
}

// graphQLLimit knows limits by type, by code and by wording. The type has been RATE_LIMITED and is RATE_LIMIT
// (yanyongyu/githubkit#271).
func graphQLLimit(p *GraphQLProblem) (Kind, bool) {
	kind, worded := limitOf(http.StatusForbidden, http.Header{}, refusal{Message: p.Message})
	switch {
	case worded:
		return kind, true
	case p.Type == "RATE_LIMITED", p.Type == "RATE_LIMIT", p.Code == "graphql_rate_limit":
		return Primary, true
	case strings.Contains(p.Message, tooQuickly):
		return Secondary, true
	}
	return "", false
}

func (c *Clients) graphQLLimited(t *transport, resp *http.Response, kind Kind, p *GraphQLProblem) error {
	r, known := readRate(resp.Header, serverTime(resp.Header), c.opt.Now())
	a := &answer{status: resp.StatusCode, header: resp.Header}
	return fmt.Errorf("GraphQL: %w", t.limited(kind, graphQLResource, a, refusal{Message: p.Message}, r, known))
}

// statusError is the refusal of a request that never reached GraphQL, in go-github's type.
func statusError(resp *http.Response, data []byte) error {
	r := readRefusal(data)
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return &github.ErrorResponse{Response: resp, Message: r.text(), DocumentationURL: r.Documentation}
}

// isMutation tells whether a document holds a mutation: a definition that starts with the word. Comments, strings and what
// is within braces or parentheses start no definition.
func isMutation(document string) bool {
	depth, starts := 0, true
	for i := 0; i < len(document); i++ {
		switch c := document[i]; {
		case c == '#':
			for i+1 < len(document) && document[i+1] != '\n' {
				i++
			}
		case c == '"':
			i = endOfString(document, i)
		case c == '{' || c == '(':
			depth++
			starts = false
		case c == '}' || c == ')':
			depth--
			starts = c == '}' && depth == 0
		case depth == 0 && isLetter(c):
			from := i
			for i+1 < len(document) && isLetter(document[i+1]) {
				i++
			}
			if starts && document[from:i+1] == "mutation" {
				return true
			}
			starts = false
		}
	}
	return false
}

func isLetter(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// endOfString returns the index of the quote that ends the string which starts at i.
func endOfString(document string, i int) int {
	if rest := document[i:]; strings.HasPrefix(rest, `"""`) {
		if end := strings.Index(rest[3:], `"""`); end >= 0 {
			return i + 3 + end + 2
		}
		return len(document)
	}
	for i++; i < len(document) && document[i] != '"'; i++ {
		if document[i] == '\\' {
			i++
		}
	}
	return i
}
