package contract_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/test/contract"
)

func api(t *testing.T) *contract.API {
	t.Helper()
	a, err := contract.REST()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestPathsMatchTheirTemplates(t *testing.T) {
	for _, tc := range []struct{ method, path, template, param, value string }{
		{"GET", "/app", "/app", "", ""},
		{"GET", "/repos/a/b", "/repos/{owner}/{repo}", "repo", "b"},
		{"GET", "/repos/a/b/contents/.github/prosecutor.yml", "/repos/{owner}/{repo}/contents/{path}", "path", ".github/prosecutor.yml"},
		{"GET", "/repos/a/b/contents/", "/repos/{owner}/{repo}/contents/{path}", "path", ""},
		{"GET", "/repos/a/b/contents/with%20space%2Fand", "/repos/{owner}/{repo}/contents/{path}", "path", "with space/and"},
		{"GET", "/repos/a/b/pulls/comments/5", "/repos/{owner}/{repo}/pulls/comments/{comment_id}", "comment_id", "5"},
		{"GET", "/repos/a/b/pulls/5/comments", "/repos/{owner}/{repo}/pulls/{pull_number}/comments", "pull_number", "5"},
		{"GET", "/repos/a/b/commits/feature/x/check-runs", "/repos/{owner}/{repo}/commits/{ref}/check-runs", "ref", "feature/x"},
		{"GET", "/repos/a/b/commits/feature/x", "/repos/{owner}/{repo}/commits/{ref}", "ref", "feature/x"},
		{"GET", "/repos/a/b/compare/main...feature/x", "/repos/{owner}/{repo}/compare/{basehead}", "basehead", "main...feature/x"},
		{"GET", "/repos/a/b/git/ref/heads/feature/x", "/repos/{owner}/{repo}/git/ref/{ref}", "ref", "heads/feature/x"},
		{"GET", "/repos/a/b/commits/abc/pulls", "/repos/{owner}/{repo}/commits/{commit_sha}/pulls", "commit_sha", "abc"},
	} {
		m, _, ok := api(t).Find(tc.method, tc.path)
		if !ok || m.Template != tc.template || tc.param != "" && m.Params[tc.param] != tc.value {
			t.Errorf("%s %s: got %v %v, want %s with %s=%q", tc.method, tc.path, m.Operation, m.Params, tc.template, tc.param, tc.value)
		}
	}
	if _, known, ok := api(t).Find("DELETE", "/app"); ok || !known {
		t.Errorf("DELETE /app: known %v, ok %v; want a known path and no operation", known, ok)
	}
	if _, known, ok := api(t).Find("GET", "/nowhere"); ok || known {
		t.Error("GET /nowhere was found")
	}
}

func TestRequests(t *testing.T) {
	sha := strings.Repeat("a", 40)
	annotation := `{"path":"a.go","start_line":1,"end_line":1,"annotation_level":"warning","message":"m"}`
	output := func(annotations int, summary string) string {
		return `{"name":"n","head_sha":"` + sha + `","output":{"title":"t","summary":"` + summary + `","annotations":[` +
			strings.TrimSuffix(strings.Repeat(annotation+",", annotations), ",") + `]}}`
	}
	for _, tc := range []struct {
		name, method, path, body, wrong string
	}{
		{"check run", "POST", "/repos/a/b/check-runs", output(50, "s"), ""},
		{"51 annotations", "POST", "/repos/a/b/check-runs", output(51, "s"), "maximum number of items is 50"},
		{"long summary", "POST", "/repos/a/b/check-runs", output(1, strings.Repeat("x", 65536)), "maximum string length is 65535"},
		{"unknown property", "POST", "/repos/a/b/check-runs", `{"name":"n","head_sha":"` + sha + `","head":"x"}`, `"head"`},
		{"unknown property within", "POST", "/repos/a/b/check-runs", `{"name":"n","head_sha":"` + sha + `","output":{"title":"t","summary":"s","annotation":[]}}`, `"output.annotation"`},
		{"unknown property of an element", "POST", "/repos/a/b/pulls/1/reviews", `{"event":"COMMENT","body":"b","comments":[{"path":"a","body":"b","lines":3}]}`, `"comments.lines"`},
		{"no head", "POST", "/repos/a/b/check-runs", `{"name":"n"}`, "head_sha"},
		{"bad conclusion", "PATCH", "/repos/a/b/check-runs/1", `{"conclusion":"fine"}`, "conclusion"},
		{"comment without body", "POST", "/repos/a/b/issues/1/comments", `{}`, "body"},
		{"bad review event", "POST", "/repos/a/b/pulls/1/reviews", `{"event":"PRAISE"}`, "event"},
		{"unknown query", "GET", "/repos/a/b/pulls?perpage=3", "", "perpage"},
		{"known query", "GET", "/repos/a/b/pulls?per_page=3&state=open", "", ""},
		{"bad state", "GET", "/repos/a/b/pulls?state=ajar", "", "state"},
		{"number", "GET", "/repos/a/b/pulls/x", "", "pull_number"},
		{"root", "GET", "/repos/a/b/contents/", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, tc.path, strings.NewReader(tc.body))
			m, _, ok := api(t).Find(tc.method, r.URL.EscapedPath())
			if !ok {
				t.Fatal("no such operation")
			}
			err := m.ValidateRequest(r, []byte(tc.body))
			if (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("got %v, want %q", err, tc.wrong)
			}
		})
	}
}

func TestResponses(t *testing.T) {
	jsonHeader := http.Header{"Content-Type": {"application/json; charset=utf-8"}}
	for _, tc := range []struct {
		name, path string
		status     int
		header     http.Header
		body       string
		wrong      string
	}{
		{"permission", "/repos/a/b/collaborators/u/permission", 200, jsonHeader, `{"permission":"write","role_name":"maintain","user":null}`, ""},
		{"missing", "/repos/a/b/collaborators/u/permission", 200, jsonHeader, `{"permission":"write"}`, "role_name"},
		{"undocumented success", "/rate_limit", 201, jsonHeader, `{}`, "does not list"},
		{"error", "/app", 401, jsonHeader, `{"message":"Bad credentials"}`, ""},
		{"error without message", "/app", 401, jsonHeader, `{}`, "message"},
		{"no type", "/app", 200, http.Header{}, `{}`, "content type"},
		{"diff", "/repos/a/b/pulls/1", 200, http.Header{"Content-Type": {"application/vnd.github.diff; charset=utf-8"}}, "diff --git", ""},
		{"not modified", "/repos/a/b/pulls/1", 304, http.Header{}, "", ""},
		{"bad date", "/repos/a/b/commits/x/status", 200, jsonHeader, `[]`, "object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, _, ok := api(t).Find("GET", tc.path)
			if !ok {
				t.Fatal("no such operation")
			}
			err := m.ValidateResponse(tc.status, tc.header, []byte(tc.body))
			if (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("got %v, want %q", err, tc.wrong)
			}
		})
	}
}

// TestOnlyFactsAreKept looks for prose in the committed files.
func TestOnlyFactsAreKept(t *testing.T) {
	for _, name := range []string{"rest.json", "webhooks.json"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{`"example":`, `"examples":{`, `"externalDocs":`} {
			if strings.Contains(string(data), key) {
				t.Errorf("%s has %s", name, key)
			}
		}
		// A property may be called description, and a response has to have one: it is empty.
		for _, part := range strings.Split(string(data), `"description":`)[1:] {
			if !strings.HasPrefix(part, `{`) && !strings.HasPrefix(part, `""`) {
				t.Errorf("%s describes something: %.60s", name, part)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	m, _, _ := api(t).Find("POST", "/repos/a/b/check-runs")
	if n := m.MaxItems("output.annotations"); n != 50 {
		t.Errorf("annotations: %d", n)
	}
	if n := m.MaxItems("actions"); n != 3 {
		t.Errorf("actions: %d", n)
	}
	if n := m.MaxLength("output.summary"); n != 65535 {
		t.Errorf("summary: %d", n)
	}
	if n := m.MaxLength("actions.label"); n != 20 {
		t.Errorf("label: %d", n)
	}
}

func TestWebhooks(t *testing.T) {
	if err := contract.ValidateWebhook("ping", "", []byte(`{"zen":"z","hook_id":1}`)); err != nil {
		t.Error(err)
	}
	if err := contract.ValidateWebhook("check_run", "completed", []byte(`{"action":"completed"}`)); err == nil {
		t.Error("a check_run without a check run passed")
	}
	if err := contract.ValidateWebhook("pull_request", "vanished", []byte(`{}`)); err == nil {
		t.Error("an unknown action passed")
	}
}

func TestQueries(t *testing.T) {
	const query = `query($o:String!,$n:String!,$p:Int!){repository(owner:$o,name:$n){pullRequest(number:$p){
		id headRefOid baseRefOid title body author{login __typename}
		closingIssuesReferences(first:10){nodes{number title body}}
		commits(last:100){nodes{commit{oid messageHeadline authors(first:5){nodes{email name user{login}}}}}}
		labels(first:20){nodes{name}} files(first:100){nodes{path additions deletions changeType}}
		reviewThreads(first:100){nodes{id isResolved isOutdated line path comments(first:10){nodes{databaseId body author{login}}}}}}}
		rateLimit{cost remaining resetAt}}`
	if err := contract.ValidateQuery(query, map[string]any{"o": "a", "n": "b", "p": 1}); err != nil {
		t.Error(err)
	}
	if err := contract.ValidateQuery(query, map[string]any{"o": "a", "n": "b"}); err == nil {
		t.Error("a query without a variable passed")
	}
	if err := contract.ValidateQuery(`{viewer{shoeSize}}`, nil); err == nil {
		t.Error("an unknown field passed")
	}
	if err := contract.ValidateQuery(`mutation($i:ResolveReviewThreadInput!){resolveReviewThread(input:$i){thread{isResolved}}}`,
		map[string]any{"i": map[string]any{"threadId": "x"}}); err != nil {
		t.Error(err)
	}
}
