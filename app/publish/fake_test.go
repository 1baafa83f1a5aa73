package publish

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
)

// recorder is a small server that takes what GitHub would take and keeps it, for the tests that need thousands of
// publications. What GitHub really does is asked of test/githubtest.
type recorder struct {
	mu     sync.Mutex
	server *httptest.Server
	head   string
	diff   string // of the pull request
	sent   []sent
	// refuse says no to a request with a status; 0 lets it pass.
	refuse func(s sent) (status int, message string)
}

type sent struct {
	Method, Path string
	Body         map[string]any
	Raw          string
}

func (s sent) to(method, suffix string) bool {
	return s.Method == method && strings.HasSuffix(s.Path, suffix)
}

func newRecorder(t testing.TB, head string) *recorder {
	r := &recorder{head: head}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	raw, _ := io.ReadAll(req.Body)
	s := sent{Method: req.Method, Path: req.URL.Path, Raw: string(raw)}
	_ = json.Unmarshal(raw, &s.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil {
		if status, message := r.refuse(s); status != 0 {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"message":%q}`, message)
			return
		}
	}
	r.sent = append(r.sent, s)
	switch {
	case s.to("GET", "/pulls/7") && strings.Contains(req.Header.Get("Accept"), "diff"):
		fmt.Fprint(w, r.diff)
	case s.to("GET", "/pulls/7"):
		fmt.Fprintf(w, `{"number":7,"state":"open","head":{"sha":%q}}`, r.head)
	case s.to("POST", "/check-runs"):
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"id":11}`)
	case strings.HasSuffix(s.Path, "/check-runs") && s.Method == http.MethodGet:
		fmt.Fprint(w, `{"total_count":0,"check_runs":[]}`)
	case strings.Contains(s.Path, "/check-runs/"):
		fmt.Fprint(w, `{"id":11,"status":"in_progress","output":{"annotations_count":0}}`)
	case s.to("POST", "/reviews"):
		fmt.Fprint(w, `{"id":12}`)
	case s.to("POST", "/labels"):
		fmt.Fprint(w, `[]`)
	case s.to("POST", "/comments"):
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"id":13}`)
	case s.to("GET", "/contents/.github/CODEOWNERS"), s.to("GET", "/contents/CODEOWNERS"), s.to("GET", "/contents/docs/CODEOWNERS"):
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message":"Not Found"}`)
	default:
		fmt.Fprint(w, `{}`)
	}
}

// Installation implements Clients.
func (r *recorder) Installation(context.Context, int64, ghclient.Scope) (*github.Client, error) {
	gh := github.NewClient(r.server.Client())
	base, err := gh.BaseURL.Parse(r.server.URL + "/")
	gh.BaseURL = base
	return gh, err
}

// GraphQL implements Clients: an open pull request with nothing of ours on it.
func (r *recorder) GraphQL(_ context.Context, _ int64, _ ghclient.Scope, query string, vars map[string]any, out any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, sent{Method: "POST", Path: "/graphql", Raw: query})
	answer := fmt.Sprintf(`{"repository":{"pullRequest":{"state":"OPEN","headRefOid":%q}}}`, r.head)
	return json.Unmarshal([]byte(answer), out)
}

func (r *recorder) take() []sent {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.sent
	r.sent = nil
	return out
}

func (r *recorder) publisher() *Publisher {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return New(Options{Clients: r, Now: func() time.Time { return at }})
}

const testHead = "0123456789abcdef0123456789abcdef01234567"

func target() Target {
	return Target{Installation: 1, RepoID: 42, Owner: "acme", Repo: "pay", PR: 7, Head: testHead, Generation: 1, Attempt: 1}
}
