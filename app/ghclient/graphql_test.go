package ghclient_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
)

type viewer struct {
	Viewer     *struct{ Login string }
	Repository *struct{ Name string }
}

func TestGraphQLDecodesData(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var got struct {
			Query     string
			Variables map[string]any
		}
		if err := json.Unmarshal(body, &got); err != nil || got.Query != "query($n:Int!){viewer{login}}" || got.Variables["n"] != 3.0 {
			t.Errorf("body %s", body)
		}
		if r.Method != http.MethodPost || r.URL.Path != "/graphql" || r.Header.Get("Authorization") != "Bearer "+tokenNumber(1) {
			t.Errorf("%s %s, %q", r.Method, r.URL.Path, r.Header.Get("Authorization"))
		}
		_, _ = w.Write([]byte(`{"data":{"viewer":{"login":"prosecutor[bot]"}}}`))
	})
	var out viewer
	err := s.clients(t).GraphQL(t.Context(), installation, scope, "query($n:Int!){viewer{login}}", map[string]any{"n": 3}, &out)
	if err != nil || out.Viewer == nil || out.Viewer.Login != "prosecutor[bot]" {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestGraphQLErrorsUnderStatus200(t *testing.T) {
	tests := []struct {
		name    string
		body    string
		class   ghclient.Class
		kind    ghclient.Kind
		partial bool
	}{
		{"not found", `{"data":{"repository":null},"errors":[{"type":"NOT_FOUND","path":["repository"],"message":"Could not resolve to a Repository"}]}`, ghclient.ClassNotFound, "", true},
		{"forbidden", `{"data":null,"errors":[{"type":"FORBIDDEN","path":["a",0,"b"],"message":"Resource not accessible by integration"}]}`, ghclient.ClassForbidden, "", false},
		{"scopes", `{"errors":[{"type":"INSUFFICIENT_SCOPES","message":"no"}]}`, ghclient.ClassForbidden, "", false},
		{"SAML", `{"data":{},"errors":[{"type":"SAML_FAILURE","message":"no"}]}`, ghclient.ClassSSO, "", true},
		{"unprocessable", `{"data":null,"errors":[{"type":"UNPROCESSABLE","message":"no"}]}`, ghclient.ClassRefused, "", false},
		{"two of different types", `{"data":null,"errors":[{"type":"NOT_FOUND","message":"a"},{"type":"FORBIDDEN","message":"b"}]}`, ghclient.ClassOther, "", false},
		{"an error of the query", `{"errors":[{"message":"Field 'x' doesn't exist on type 'Query'"}]}`, ghclient.ClassOther, "", false},
		{"GitHub's own failure", `{"data":null,"errors":[{"message":"Something went wrong while executing your query. This may be the result of a timeout."}]}`, ghclient.ClassUnavailable, "", false},
		{"partial data", `{"data":{"viewer":{"login":"x"},"repository":null},"errors":[{"type":"FORBIDDEN","path":["repository"],"message":"no"}]}`, ghclient.ClassForbidden, "", true},
		{"neither data nor errors", `{}`, ghclient.ClassOther, "", false},
		{"null", `{"data":null}`, ghclient.ClassOther, "", false},
		{"no JSON", `<html>`, ghclient.ClassUnavailable, "", false},
		{"limit by its older type", `{"data":null,"errors":[{"type":"RATE_LIMITED","message":"no"}]}`, ghclient.ClassRateLimited, ghclient.Primary, false},
		{"limit by its newer type and code", `{"errors":[{"type":"RATE_LIMIT","code":"graphql_rate_limit","message":"API rate limit already exceeded for installation ID 9."}]}`, ghclient.ClassRateLimited, ghclient.Primary, false},
		{"secondary limit by wording", `{"errors":[{"message":"You have exceeded a secondary rate limit."}]}`, ghclient.ClassRateLimited, ghclient.Secondary, false},
		{"haste", `{"data":null,"errors":[{"type":"UNPROCESSABLE","message":"was submitted too quickly"}]}`, ghclient.ClassRateLimited, ghclient.Secondary, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStub(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(tt.body)) })
			var out viewer
			err := s.clients(t).GraphQL(t.Context(), installation, scope, "{viewer{login}}", nil, &out)
			if got := ghclient.ClassOf(err); got != tt.class {
				t.Errorf("class %q, want %q: %v", got, tt.class, err)
			}
			var problem *ghclient.GraphQLError
			if errors.As(err, &problem) && problem.Partial != tt.partial {
				t.Errorf("partial %t, want %t", problem.Partial, tt.partial)
			}
			if tt.name == "partial data" && (out.Viewer == nil || out.Viewer.Login != "x") {
				t.Errorf("partial data were not decoded: %+v", out)
			}
			var limit *ghclient.RateLimitError
			if errors.As(err, &limit) && limit.Kind != tt.kind {
				t.Errorf("kind %q, want %q", limit.Kind, tt.kind)
			}
			if (limit != nil) != (tt.kind != "") {
				t.Errorf("limit %v", limit)
			}
		})
	}
}

func TestAnExhaustedGraphQLHourDoesNotStopREST(t *testing.T) {
	s := newStub(t, nil)
	s.serve = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/graphql" {
			_, _ = w.Write([]byte(`{"id":1}`))
			return
		}
		reply{200, map[string]string{
			"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Resource": "graphql",
			"X-RateLimit-Reset": strconv.FormatInt(s.clock.Now().Add(10*time.Minute).Unix(), 10),
		}, `{"data":null,"errors":[{"type":"RATE_LIMITED","message":"no"}]}`}.write(w)
	}
	c := s.clients(t)
	for _, sent := range []bool{true, false} {
		err := c.GraphQL(t.Context(), installation, scope, "{viewer{login}}", nil, nil)
		var limit *ghclient.RateLimitError
		if !errors.As(err, &limit) || limit.Sent != sent || limit.Resource != "graphql" || limit.RetryAt.Sub(s.clock.Now()) != 10*time.Minute+time.Second {
			t.Errorf("got %v, want a limit of 10 min, sent %t", err, sent)
		}
	}
	if err := getRepo(t.Context(), c); err != nil {
		t.Errorf("REST: %v", err)
	}
}

func TestGraphQLStatusErrors(t *testing.T) {
	tests := map[string]struct {
		reply reply
		class ghclient.Class
	}{
		"401":           {reply{401, nil, `{"message":"Bad credentials"}`}, ghclient.ClassUnauthorized},
		"403 secondary": {reply{403, nil, `{"message":"You have exceeded a secondary rate limit."}`}, ghclient.ClassRateLimited},
		"403 plain":     {reply{403, nil, `{"message":"Resource not accessible by integration"}`}, ghclient.ClassForbidden},
		"502":           {reply{502, nil, `{"data":null,"errors":[{"message":"timeout"}]}`}, ghclient.ClassUnavailable},
		"400":           {reply{400, nil, `{"message":"Problems parsing JSON"}`}, ghclient.ClassRefused},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStub(t, func(w http.ResponseWriter, _ *http.Request) { tt.reply.write(w) })
			err := s.clients(t).GraphQL(t.Context(), installation, scope, "{viewer{login}}", nil, nil)
			if got := ghclient.ClassOf(err); got != tt.class {
				t.Errorf("class %q, want %q: %v", got, tt.class, err)
			}
		})
	}
}

// A query is a read and a mutation a write, whatever the text looks like: queries are sent again after a fault, and
// mutations take a turn of the bucket.
func TestMutationsAreWritesAndQueriesAreReads(t *testing.T) {
	tests := map[string]bool{
		`{viewer{login}}`:                         false,
		`query Q($a:String="mutation"){a}`:        false,
		"# mutation\nquery mutation{a}":           false,
		`query{mutation(x:"}"){mutation}}`:        false,
		`query{a(b:"""} mutation {"""){c}}`:       false,
		`query{a(b:"\"} mutation M{"){c}}`:        false,
		`query A{a} subscription mutation{b}`:     false,
		`mutation{a}`:                             true,
		"\n\t# a comment\n  mutation M($x:I!){a}": true,
		`fragment F on X{a} mutation M{...F}`:     true,
		"query A{a}\nmutation M{b}":               true,
	}
	for query, mutation := range tests {
		t.Run(query, func(t *testing.T) {
			s := newStub(t, func(w http.ResponseWriter, _ *http.Request) { reply{502, nil, ``}.write(w) })
			c := s.clients(t, func(o *ghclient.Options) { o.WriteBurst, o.WriteRate = 1, 0.001 })
			_ = c.GraphQL(t.Context(), installation, scope, query, nil, nil)
			sent, want := len(s.Seen()), 3
			if mutation {
				want = 1
			}
			if sent != want {
				t.Errorf("%d requests, want %d", sent, want)
			}
			err := c.GraphQL(t.Context(), installation, scope, query, nil, nil)
			var limit *ghclient.RateLimitError
			if paced := errors.As(err, &limit) && limit.Kind == ghclient.Pacing; paced != mutation {
				t.Errorf("the second one was paced: %t, want %t (%v)", paced, mutation, err)
			}
		})
	}
}

func TestAQueryIsAskedAgainAfterGitHubsOwnFailureAndAMutationIsNot(t *testing.T) {
	for query, want := range map[string]int{"{a}": 2, "mutation{a}": 1} {
		s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"errors":[{"message":"Something went wrong while executing your query."}]}`))
		})
		err := s.clients(t).GraphQL(t.Context(), installation, scope, query, nil, nil)
		if n := len(s.Seen()); n != want || !ghclient.IsTransient(err) {
			t.Errorf("%s: %d requests, want %d: %v", query, n, want, err)
		}
	}
}

func TestGraphQLErrorsAreShort(t *testing.T) {
	problem := `{"type":"X","path":["a",0],"message":"` + strings.Repeat("long ", 1000) + `"}`
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"errors":[` + strings.TrimSuffix(strings.Repeat(problem+",", 50), ",") + `]}`))
	})
	err := s.clients(t).GraphQL(t.Context(), installation, scope, "{a}", nil, nil)
	if len(err.Error()) > 1200 || !strings.Contains(err.Error(), "and 47 more") || !strings.Contains(err.Error(), "at a.0") {
		t.Errorf("%d bytes: %v", len(err.Error()), err)
	}
}
