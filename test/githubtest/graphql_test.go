package githubtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// token is an installation's, with the permissions given or all.
func token(t *testing.T, s *githubtest.Server, permissions *github.InstallationPermissions) string {
	t.Helper()
	var opts *github.InstallationTokenOptions
	if permissions != nil {
		opts = &github.InstallationTokenOptions{Permissions: permissions}
	}
	tok, _, err := appClient(t, s).Apps.CreateInstallationToken(context.Background(), s.InstallationID("acme"), opts)
	if err != nil {
		t.Fatal(err)
	}
	return tok.GetToken()
}

// tokenAt is a token of an emulator whose clock says something else than this machine's.
func tokenAt(t *testing.T, s *githubtest.Server, now time.Time) string {
	t.Helper()
	c := client(t, s, jwt(t, s.App(), goodClaims(s.App(), now)))
	tok, _, err := c.Apps.CreateInstallationToken(context.Background(), s.InstallationID("acme"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tok.GetToken()
}

type answer struct {
	status int
	header http.Header
	body   []byte
	Data   map[string]any
	Errors []struct {
		Type, Message string
		Path          []any
		Locations     []struct{ Line, Column int }
	}
}

// at reads a value of the data by its path; numbers pick from lists.
func (a answer) at(path ...any) any {
	var v any = a.Data
	for _, step := range path {
		switch key := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[key]
		case int:
			l, _ := v.([]any)
			if key >= len(l) {
				return nil
			}
			v = l[key]
		}
	}
	return v
}

func ask(t *testing.T, s *githubtest.Server, token, query string, vars map[string]any) answer {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": vars})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, s.GraphQL, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(a.body, &a); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return a
}

// tolerate collects the breaks of the contract that a test makes on purpose.
func tolerate(s *githubtest.Server) func() []error {
	var list []error
	s.OnViolation(func(err error) { list = append(list, err) })
	return func() []error { return list }
}

const threadsQuery = `query Threads($owner: String!, $name: String!, $pr: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $pr) {
    id headRefOid baseRefOid isCrossRepository viewerDidAuthor author { __typename login }
    closingIssuesReferences(first: 10) { totalCount nodes { number title repository { nameWithOwner } } }
    baseRef { target { oid ... on Commit { policy: file(path: "pay.go") { mode type object { oid ... on Blob { text isBinary } } } none: file(path: "x") { mode } } } }
    tip: commits(last: 1) { totalCount nodes { commit { oid author { user { login } } statusCheckRollup { state contexts(first: 10) { nodes { __typename ... on CheckRun { name conclusion databaseId } ... on StatusContext { context state } } } } } } }
    reviewThreads(first: 1, after: $after) { totalCount pageInfo { hasNextPage endCursor } nodes { id isResolved isOutdated path line resolvedBy { login } comments(first: 5) { nodes { fullDatabaseId body author { __typename login } } } } }
  } }
}`

func TestGraphQLReadsAPullRequest(t *testing.T) {
	s, repo, pr := setup(t)
	issue := repo.OpenIssue("alice", "We pay once", "Twice, please.")
	pr.EditAs("", "", fmt.Sprintf("Fixes #%d and closes #%d, see #%d.", issue, issue, pr.Number()), "")
	first := pr.CommentOn("alice", "pay.go", 4, "why?")
	pr.CommentOn("bob", "pay.go", 3, "and this?")
	pr.ReplyTo(first, "dev", "because")
	repo.Check(pr.HeadSHA(), "build", "completed", "failure", "")
	repo.Status(pr.HeadSHA(), "lint", "success", "")
	tok := token(t, s, nil)
	vars := map[string]any{"owner": "acme", "name": "pay", "pr": pr.Number()}
	got := ask(t, s, tok, threadsQuery, vars)
	if got.Errors != nil {
		t.Fatal(got.Errors)
	}
	pull := []any{"repository", "pullRequest"}
	in := func(path ...any) any { return got.at(append(slices.Clone(pull), path...)...) }
	for _, tc := range []struct {
		what string
		got  any
		want any
	}{
		{"head", in("headRefOid"), pr.HeadSHA()},
		{"base", in("baseRefOid"), pr.BaseSHA()},
		{"author", in("author", "login"), "dev"},
		{"closing", in("closingIssuesReferences", "totalCount"), 1.0},
		{"closing issue", in("closingIssuesReferences", "nodes", 0, "title"), "We pay once"},
		{"mode", in("baseRef", "target", "policy", "mode"), float64(0o100644)},
		{"text", in("baseRef", "target", "policy", "object", "text"), "package pay\n\nfunc Pay() int {\n\treturn 1\n}\n"},
		{"absent file", in("baseRef", "target", "none"), nil},
		{"tip", in("tip", "nodes", 0, "commit", "oid"), pr.HeadSHA()},
		{"committer", in("tip", "nodes", 0, "commit", "author", "user", "login"), "dev"},
		{"rollup", in("tip", "nodes", 0, "commit", "statusCheckRollup", "state"), "FAILURE"},
		{"check", in("tip", "nodes", 0, "commit", "statusCheckRollup", "contexts", "nodes", 0, "conclusion"), "FAILURE"},
		{"status", in("tip", "nodes", 0, "commit", "statusCheckRollup", "contexts", "nodes", 1, "context"), "lint"},
		{"threads", in("reviewThreads", "totalCount"), 2.0},
		{"more", in("reviewThreads", "pageInfo", "hasNextPage"), true},
		{"thread", in("reviewThreads", "nodes", 0, "id"), pr.Threads()[0].ID},
		{"reply", in("reviewThreads", "nodes", 0, "comments", "nodes", 1, "body"), "because"},
		{"comment id", in("reviewThreads", "nodes", 0, "comments", "nodes", 0, "fullDatabaseId"), fmt.Sprint(first)},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %v, want %v", tc.what, tc.got, tc.want)
		}
	}
	// The node id is the one of REST.
	rest := must(client(t, s, tok).PullRequests.Get(context.Background(), "acme", "pay", pr.Number()))(t)
	if in("id") != rest.GetNodeID() {
		t.Errorf("id %v, REST says %s", in("id"), rest.GetNodeID())
	}
	vars["after"] = in("reviewThreads", "pageInfo", "endCursor")
	got = ask(t, s, tok, threadsQuery, vars)
	if in("reviewThreads", "nodes", 0, "comments", "nodes", 0, "author", "login") != "bob" || in("reviewThreads", "pageInfo", "hasNextPage") != false {
		t.Errorf("second page: %s", got.body)
	}
	if n := s.Requests()[len(s.Requests())-1]; n.Path != "graphql#Threads" || n.Route != "/graphql" || n.Installation != s.InstallationID("acme") {
		t.Errorf("log: %+v", n)
	}
	if got.header.Get("X-RateLimit-Resource") != "graphql" || got.header.Get("X-RateLimit-Used") != "2" {
		t.Errorf("headers: %v", got.header)
	}
}

func TestGraphQLMutations(t *testing.T) {
	s, _, pr := setup(t)
	a, b := pr.CommentOn("alice", "pay.go", 4, "why?"), pr.CommentOn("alice", "pay.go", 3, "what?")
	comment := pr.Comment("alice", "hello")
	tok := token(t, s, nil)
	ids := pr.Threads()
	got := ask(t, s, tok, `mutation Resolve($a: ID!, $b: ID!) { r0: resolveReviewThread(input: {threadId: $a}) { thread { id isResolved resolvedBy { login } } } r1: resolveReviewThread(input: {threadId: $b}) { thread { isResolved } } }`,
		map[string]any{"a": ids[0].ID, "b": ids[1].ID})
	if got.Errors != nil || got.at("r0", "thread", "isResolved") != true || got.at("r1", "thread", "isResolved") != true || got.at("r0", "thread", "resolvedBy", "login") != "prosecutor[bot]" {
		t.Errorf("%s", got.body)
	}
	for _, th := range pr.Threads() {
		if !th.Resolved || th.ResolvedBy != "prosecutor[bot]" {
			t.Errorf("thread: %+v", th)
		}
	}
	ask(t, s, tok, `mutation($a: ID!) { unresolveReviewThread(input: {threadId: $a}) { thread { isResolved } } }`, map[string]any{"a": ids[0].ID})
	reply := ask(t, s, tok, `mutation($a: ID!) { addPullRequestReviewThreadReply(input: {pullRequestReviewThreadId: $a, body: "so"}) { comment { author { __typename login } viewerDidAuthor } } }`, map[string]any{"a": ids[0].ID})
	// A bot's login has no "[bot]" in GraphQL.
	if reply.at("addPullRequestReviewThreadReply", "comment", "author", "login") != "prosecutor" || reply.at("addPullRequestReviewThreadReply", "comment", "author", "__typename") != "Bot" {
		t.Errorf("%s", reply.body)
	}
	rest := client(t, s, tok)
	m := must(rest.Issues.GetComment(context.Background(), "acme", "pay", comment))(t)
	hidden := ask(t, s, tok, `mutation($a: ID!) { minimizeComment(input: {subjectId: $a, classifier: OUTDATED}) { minimizedComment { isMinimized minimizedReason } } }`, map[string]any{"a": m.GetNodeID()})
	if hidden.at("minimizeComment", "minimizedComment", "minimizedReason") != "outdated" || pr.IssueComments()[0].Minimized != "outdated" {
		t.Errorf("%s", hidden.body)
	}
	full := must(rest.PullRequests.Get(context.Background(), "acme", "pay", pr.Number()))(t)
	ask(t, s, tok, `mutation($a: ID!) { addComment(input: {subjectId: $a, body: "hi"}) { subject { id } } }`, map[string]any{"a": full.GetNodeID()})
	if list := pr.IssueComments(); len(list) != 2 || list[1].Author != "prosecutor[bot]" {
		t.Errorf("comments: %+v", list)
	}
	if th := pr.Threads()[0]; th.Resolved || len(th.Comments) != 2 || th.Comments[0].ID != a || b == 0 {
		t.Errorf("thread: %+v", th)
	}
	gone := ask(t, s, tok, `mutation { resolveReviewThread(input: {threadId: "PRRT_kwDO1"}) { thread { id } } }`, nil)
	if len(gone.Errors) != 1 || gone.Errors[0].Type != "NOT_FOUND" || gone.at("resolveReviewThread") != nil {
		t.Errorf("%s", gone.body)
	}
	weak := token(t, s, &github.InstallationPermissions{PullRequests: github.String("read")})
	no := ask(t, s, weak, `mutation($a: ID!) { resolveReviewThread(input: {threadId: $a}) { thread { id } } }`, map[string]any{"a": ids[0].ID})
	if len(no.Errors) != 1 || no.Errors[0].Type != "FORBIDDEN" || no.Errors[0].Message != "Resource not accessible by integration" {
		t.Errorf("%s", no.body)
	}
}

func TestGraphQLErrors(t *testing.T) {
	s, repo, pr := setup(t)
	repo.Check(pr.HeadSHA(), "build", "completed", "success", "")
	tok := token(t, s, nil)
	for _, tc := range []struct{ name, query, kind, message string }{
		{"no repository", `{ repository(owner: "acme", name: "none") { id } }`, "NOT_FOUND", "Could not resolve to a Repository with the name 'acme/none'."},
		{"no pull request", `{ repository(owner: "acme", name: "pay") { pullRequest(number: 99) { id } } }`, "NOT_FOUND", "Could not resolve to a PullRequest with the number of 99."},
		{"no page size", `{ repository(owner: "acme", name: "pay") { pullRequest(number: 1) { labels { totalCount } } } }`, "MISSING_PAGINATION_BOUNDARIES", "You must provide a `first` or `last` value to properly paginate the `labels` connection."},
		{"large page", `{ repository(owner: "acme", name: "pay") { pullRequest(number: 1) { labels(first: 101) { totalCount } } } }`, "EXCESSIVE_PAGINATION", "Requesting 101 records on the `labels` connection exceeds the `first` limit of 100 records."},
		{"bad cursor", `{ repository(owner: "acme", name: "pay") { pullRequest(number: 1) { labels(first: 1, after: "x") { totalCount } } } }`, "INVALID_CURSOR_ARGUMENTS", "`x` does not appear to be a valid cursor."},
		{"too many nodes", `{ repository(owner: "acme", name: "pay") { pullRequests(first: 100) { nodes { commits(first: 100) { nodes { commit { checkSuites(first: 100) { nodes { id } } } } } } } } }`, "MAX_NODE_LIMIT_EXCEEDED", "This query requests up to 1010100 possible nodes which exceeds the maximum limit of 500000."},
	} {
		got := ask(t, s, tok, tc.query, nil)
		if got.status != 200 || len(got.Errors) != 1 || got.Errors[0].Type != tc.kind || got.Errors[0].Message != tc.message {
			t.Errorf("%s: %d %s", tc.name, got.status, got.body)
		}
	}
	weak := token(t, s, &github.InstallationPermissions{Contents: github.String("read")})
	if got := ask(t, s, weak, `{ repository(owner: "acme", name: "pay") { name pullRequest(number: 1) { id } } }`, nil); len(got.Errors) != 1 || got.Errors[0].Type != "FORBIDDEN" || got.at("repository", "name") != "pay" {
		t.Errorf("partial: %s", got.body)
	}
	if got := ask(t, s, "", `{ viewer { login } }`, nil); got.status != 401 {
		t.Errorf("anonymous: %d %s", got.status, got.body)
	}
	if got := ask(t, s, "ghs_wrong", `{ viewer { login } }`, nil); got.status != 401 {
		t.Errorf("wrong token: %d %s", got.status, got.body)
	}
	broken := tolerate(s)
	if got := ask(t, s, tok, `{ viewer { shoeSize } }`, nil); len(got.Errors) != 1 || len(got.Errors[0].Locations) != 1 || !strings.Contains(got.Errors[0].Message, "shoeSize") {
		t.Errorf("unknown field: %s", got.body)
	}
	if len(broken()) != 1 {
		t.Errorf("a query that GitHub would refuse did not fail the test: %v", broken())
	}
}

func TestGraphQLRateLimit(t *testing.T) {
	s, _, _ := setup(t)
	tok := token(t, s, nil)
	got := ask(t, s, tok, `{ rateLimit { cost limit remaining } viewer { login } }`, nil)
	if got.at("rateLimit", "cost") != 1.0 || got.at("rateLimit", "remaining") != 4999.0 || got.at("viewer", "login") != "prosecutor[bot]" {
		t.Errorf("%s", got.body)
	}
	s.Exhaust("acme")
	got = ask(t, s, tok, `{ viewer { login } }`, nil)
	if got.status != 200 || len(got.Errors) != 1 || got.Errors[0].Type != "RATE_LIMITED" || got.header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
}
