package githubtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"
	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// response is what of an answer is left once its body was read.
type response struct {
	code   int
	Header http.Header
}

// raw makes one request on a connection of its own, without following redirects.
func raw(t *testing.T, s *githubtest.Server, token, method, path, body string) (*response, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, s.REST+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	c := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	return &response{code: resp.StatusCode, Header: resp.Header}, string(data), err
}

func TestFaultsThatAnswer(t *testing.T) {
	s, _, _ := setup(t)
	tok := token(t, s, nil)
	for _, tc := range []struct {
		name   string
		fault  githubtest.Fault
		status int
		body   string
		header map[string]string // "" means absent
	}{
		{"502", githubtest.Fault{Kind: githubtest.ServerError}, 502, "Server Error", nil},
		{"500", githubtest.Fault{Kind: githubtest.ServerError, Status: 500}, 500, "", nil},
		{"503", githubtest.Fault{Kind: githubtest.ServerError, Status: 503}, 503, "No server is currently available", map[string]string{"Content-Type": "text/html"}},
		{"primary", githubtest.Fault{Kind: githubtest.PrimaryLimit}, 403, "API rate limit exceeded for installation ID", map[string]string{"X-RateLimit-Remaining": "0", "Retry-After": ""}},
		{"primary 429", githubtest.Fault{Kind: githubtest.PrimaryLimit, Status: 429}, 429, "API rate limit exceeded", map[string]string{"X-RateLimit-Remaining": "0"}},
		{"secondary", githubtest.Fault{Kind: githubtest.SecondaryLimit, RetryAfter: time.Minute}, 403, "secondary rate limit", map[string]string{"Retry-After": "60", "X-RateLimit-Limit": "5000"}},
		{"secondary 429, only the message", githubtest.Fault{Kind: githubtest.SecondaryLimit, Status: 429, Bare: true}, 429, "secondary rate limit", map[string]string{"Retry-After": "", "X-RateLimit-Remaining": ""}},
		{"abuse", githubtest.Fault{Kind: githubtest.AbuseLimit, RetryAfter: 30 * time.Second}, 403, "abuse detection mechanism", map[string]string{"Retry-After": "30"}},
		{"too quickly", githubtest.Fault{Kind: githubtest.TooQuickly}, 422, "was submitted too quickly", nil},
		{"missing", githubtest.Fault{Kind: githubtest.Missing}, 404, "Not Found", nil},
		{"expired", githubtest.Fault{Kind: githubtest.ExpiredToken}, 401, "Bad credentials", nil},
		{"suspended", githubtest.Fault{Kind: githubtest.SuspendedInstallation}, 403, "suspended", nil},
		{"permission", githubtest.Fault{Kind: githubtest.PermissionRemoved}, 403, "Resource not accessible by integration", nil},
		{"elsewhere", githubtest.Fault{Kind: githubtest.Redirected, To: "https://example.com/x/"}, 301, "Moved Permanently", map[string]string{"Location": "https://example.com/x/repos/acme/pay"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := s.Inject(tc.fault)
			s.ResetRequests()
			resp, body, err := raw(t, s, tok, "GET", "repos/acme/pay", "")
			if err != nil {
				t.Fatal(err)
			}
			if resp.code != tc.status || !strings.Contains(body, tc.body) {
				t.Errorf("%d %s", resp.code, body)
			}
			for name, want := range tc.header {
				if got := resp.Header.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			if log := s.Requests(); len(log) != 1 || log[0].Status != tc.status || log[0].Route != "/repos/{owner}/{repo}" || log[0].Installation != s.InstallationID("acme") {
				t.Errorf("log: %+v", log)
			}
			if resp, _, err := raw(t, s, tok, "GET", "repos/acme/pay", ""); err != nil || resp.code != 200 || in.Hits() != 1 {
				t.Errorf("the fault stays: %v", err)
			}
		})
	}
}

func TestFaultsChooseTheirRequests(t *testing.T) {
	s, _, pr := setup(t)
	tok := token(t, s, nil)
	status := func(method, path, body string) int {
		resp, _, err := raw(t, s, tok, method, path, body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.code
	}
	byRoute := s.Inject(githubtest.Fault{Kind: githubtest.ServerError, Route: "/repos/{owner}/{repo}/pulls/{pull_number}", Skip: 1, Times: 2})
	for i, want := range []int{200, 502, 502, 200} {
		if got := status("GET", "repos/acme/pay/pulls/1", ""); got != want {
			t.Errorf("request %d: %d, want %d", i, got, want)
		}
	}
	if byRoute.Hits() != 2 {
		t.Errorf("%d hits", byRoute.Hits())
	}
	byPath := s.Inject(githubtest.Fault{Kind: githubtest.ServerError, Method: "POST", Path: regexp.MustCompile(`^repos/acme/pay/issues/\d+/comments$`), Times: -1})
	if got := status("GET", "repos/acme/pay/issues/1/comments", ""); got != 200 {
		t.Errorf("a read was hit: %d", got)
	}
	for range 3 {
		if got := status("POST", "repos/acme/pay/issues/1/comments", `{"body":"x"}`); got != 502 {
			t.Errorf("a write was not hit: %d", got)
		}
	}
	byPath.Remove()
	if got := status("POST", "repos/acme/pay/issues/1/comments", `{"body":"x"}`); got != 201 || len(pr.IssueComments()) != 1 {
		t.Errorf("after its end: %d, %d comments", got, len(pr.IssueComments()))
	}
	s.Inject(githubtest.Fault{Kind: githubtest.PrimaryLimit, Path: regexp.MustCompile(`#Mine$`)})
	s.Inject(githubtest.Fault{Kind: githubtest.QueryFailed, Route: "/graphql", Skip: 1})
	if got := ask(t, s, tok, `query Other { viewer { login } }`, nil); got.Errors != nil {
		t.Errorf("another query was hit: %s", got.body)
	}
	if got := ask(t, s, tok, `query Mine { viewer { login } }`, nil); got.status != 200 || len(got.Errors) != 1 || got.Errors[0].Type != "RATE_LIMITED" || got.header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := ask(t, s, tok, `query Other { viewer { login } }`, nil); len(got.Errors) != 1 || got.Data != nil {
		t.Errorf("%s", got.body)
	}
}

func TestFaultsOfTheConnection(t *testing.T) {
	s, _, pr := setup(t)
	tok := token(t, s, nil)
	comments := "repos/acme/pay/issues/1/comments"
	s.Inject(githubtest.Fault{Kind: githubtest.Truncated})
	if resp, body, err := raw(t, s, tok, "GET", "repos/acme/pay", ""); resp == nil || resp.code != 200 || !errors.Is(err, io.ErrUnexpectedEOF) || body == "" {
		t.Errorf("truncated: %v", err)
	}
	s.Inject(githubtest.Fault{Kind: githubtest.Closed})
	if _, _, err := raw(t, s, tok, "POST", comments, `{"body":"x"}`); err == nil || len(pr.IssueComments()) != 0 {
		t.Errorf("closed: %v, %d comments", err, len(pr.IssueComments()))
	}
	s.Inject(githubtest.Fault{Kind: githubtest.AnswerLost})
	if _, _, err := raw(t, s, tok, "POST", comments, `{"body":"x"}`); err == nil || len(pr.IssueComments()) != 1 {
		t.Errorf("lost answer: %v, %d comments", err, len(pr.IssueComments()))
	}
}

func TestFaultsOfOnesOwn(t *testing.T) {
	s, _, _ := setup(t)
	tok := token(t, s, nil)
	s.ResetRequests()
	s.Inject(githubtest.Fault{Kind: githubtest.Answered, Answer: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "<html>a proxy</html>")
	})})
	resp, body, err := raw(t, s, tok, "GET", "repos/acme/pay", "")
	if log := s.Requests(); err != nil || resp.code != 418 || body != "<html>a proxy</html>" || len(log) != 1 || log[0].Status != 418 {
		t.Errorf("%v %q %+v", err, body, log)
	}
}

func TestFaultsOfGit(t *testing.T) {
	s, _, _ := setup(t)
	tok := token(t, s, nil)
	s.ResetRequests()
	clone := func() error {
		address := strings.Replace(s.URL, "://", "://x-access-token:"+tok+"@", 1) + "/acme/pay.git"
		out, err := exec.Command("git", "clone", "-q", "--bare", address, t.TempDir()).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	for _, fault := range []githubtest.Fault{
		{Kind: githubtest.ServerError, Status: 503}, {Kind: githubtest.Truncated, Path: regexp.MustCompile(`^acme/pay\.git/git-upload-pack$`)}, {Kind: githubtest.Missing},
	} {
		fault.Route = "git"
		in := s.Inject(fault)
		if err := clone(); err == nil || in.Hits() != 1 {
			t.Errorf("%v: %v, %d hits", fault.Kind, err, in.Hits())
		}
	}
	if err := clone(); err != nil || len(s.Requests()) != 0 {
		t.Errorf("%v, %d requests in the log", err, len(s.Requests()))
	}
}

func TestCloseEndsEverything(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s, err := githubtest.Start(githubtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	arrived, block := make(chan struct{}), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(arrived); <-block }))
	s.SetWebhook(slow.URL)
	repo := s.AddRepo("acme/pay", nil)
	repo.Status(repo.Head("main"), "ci", "success", "")
	repo.Status(repo.Head("main"), "ci", "failure", "")
	<-arrived
	if err := s.Close(); err != nil { // while one webhook waits for its answer and another behind it
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Flush(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("waiting for webhooks of a stopped server: %v", err)
	}
	close(block)
	slow.Close()
}

func TestLatencyWaitsForItsGate(t *testing.T) {
	s, _, pr := setup(t)
	tok := token(t, s, nil)
	gate := make(chan struct{})
	in := s.Inject(githubtest.Fault{Kind: githubtest.Latency, Gate: gate, Method: "POST"})
	done := make(chan int)
	go func() {
		resp, _, err := raw(t, s, tok, "POST", "repos/acme/pay/issues/1/comments", `{"body":"x"}`)
		if err != nil {
			t.Error(err)
			done <- 0
			return
		}
		done <- resp.code
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := in.Await(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if n := len(pr.IssueComments()); n != 0 {
		t.Errorf("%d comments before the gate opened", n)
	}
	close(gate)
	if got := <-done; got != 201 || len(pr.IssueComments()) != 1 {
		t.Errorf("%d, %d comments", got, len(pr.IssueComments()))
	}
}

func TestStaleReadsAfterAPush(t *testing.T) {
	s, repo, pr := setup(t)
	tok := token(t, s, nil)
	c := client(t, s, tok)
	ctx := context.Background()
	get := func() *github.PullRequest { return must(c.PullRequests.Get(ctx, "acme", "pay", 1))(t) }
	get()
	get() // by now the test merge is known
	old := pr.HeadSHA()
	fresh := repo.Commit("feature/x", "More", map[string]string{"pay.go": "package pay\n"})
	get()
	merge := get().GetMergeCommitSHA()
	s.Inject(githubtest.Fault{Kind: githubtest.StaleHead, Times: 2})
	if got := get().GetHead().GetSHA(); got != old {
		t.Errorf("head %s, want the old %s", got, old)
	}
	const query = `query Head { repository(owner: "acme", name: "pay") { pullRequest(number: 1) { headRefOid commits(last: 1) { nodes { commit { oid } } } } } }`
	if got := ask(t, s, tok, query, nil); got.at("repository", "pullRequest", "headRefOid") != old || got.at("repository", "pullRequest", "commits", "nodes", 0, "commit", "oid") != old {
		t.Errorf("%s", got.body)
	}
	if got := get(); got.GetHead().GetSHA() != fresh || got.GetMergeCommitSHA() != merge {
		t.Errorf("head %s, merge %s after the stale reads", got.GetHead().GetSHA(), got.GetMergeCommitSHA())
	}
	out, err := exec.Command("git", "-C", repo.Dir(), "rev-parse", "refs/pull/1/merge").Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != merge {
		t.Errorf("the merge ref is %s (%v), want %s", got, err, merge)
	}
}

func TestClockSkew(t *testing.T) {
	s, _, _ := setup(t)
	tok := token(t, s, nil)
	s.Inject(githubtest.Fault{Kind: githubtest.ClockSkew, Skew: -2 * time.Hour, Times: 2})
	resp, _, err := raw(t, s, tok, "GET", "repos/acme/pay", "")
	if err != nil {
		t.Fatal(err)
	}
	at, err := http.ParseTime(resp.Header.Get("Date"))
	if off := time.Since(at); err != nil || off < 119*time.Minute || off > 121*time.Minute {
		t.Errorf("Date is %s off: %v", off, err)
	}
	if got := ask(t, s, tok, `{ viewer { login } }`, nil); got.at("viewer", "login") == nil {
		t.Errorf("%s", got.body)
	}
}

func TestRedirectsOfARename(t *testing.T) {
	s, repo, _ := setup(t)
	tok := token(t, s, nil)
	repo.Rename("till")
	for _, tc := range []struct {
		method, body string
		status       int
	}{{"GET", "", 301}, {"POST", `{"body":"x"}`, 307}} {
		resp, _, err := raw(t, s, tok, tc.method, "repos/acme/pay/issues/1/comments?", tc.body)
		if err != nil || resp.code != tc.status {
			t.Errorf("%s: %v %v", tc.method, resp, err)
			continue
		}
		path := strings.TrimPrefix(resp.Header.Get("Location"), s.REST)
		if again, _, err := raw(t, s, tok, tc.method, path, tc.body); err != nil || again.code > 201 {
			t.Errorf("%s %s: %v", tc.method, path, err)
		}
	}
	// What was reported of some writes: a 301, on which clients turn them into reads.
	s.Inject(githubtest.Fault{Kind: githubtest.Redirected, Method: "POST", To: s.REST})
	if resp, _, err := raw(t, s, tok, "POST", "repos/acme/till/issues/1/comments", `{"body":"x"}`); err != nil || resp.code != 301 {
		t.Errorf("%v", err)
	}
	// And a redirect to another host, which no token may follow.
	var leaked string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked = r.Header.Get("Authorization") }))
	defer other.Close()
	s.Inject(githubtest.Fault{Kind: githubtest.Redirected, To: other.URL})
	resp, _, err := raw(t, s, tok, "GET", "repos/acme/till", "")
	if err != nil || !strings.HasPrefix(resp.Header.Get("Location"), other.URL) || leaked != "" {
		t.Errorf("%v", err)
	}
}

func TestRevokedPermission(t *testing.T) {
	s, _, _ := setup(t)
	tok := token(t, s, nil)
	s.Revoke("acme", "checks")
	resp, body, err := raw(t, s, tok, "GET", "repos/acme/pay/commits/main/check-runs", "")
	if err != nil || resp.code != http.StatusForbidden || !strings.Contains(body, "Resource not accessible by integration") || resp.Header.Get("X-Accepted-Github-Permissions") != "checks=read" {
		t.Errorf("%v %s %v", resp, body, err)
	}
}
