package githubtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// limitsOf is a server with one of everything that limits are about.
type limitsOf struct {
	*githubtest.Server
	repo  *githubtest.Repo
	pr    *githubtest.PullRequest
	token string
}

func (l *limitsOf) do(t *testing.T, method, path string, body any) (int, http.Header, string) {
	t.Helper()
	var text string
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	}
	resp, out, err := raw(t, l.Server, l.token, method, path, text)
	if err != nil {
		t.Fatal(err)
	}
	return resp.code, resp.Header, out
}

type m = map[string]any

// TestLimits breaks each limit that GitHub documents for a request of ours, once on its edge and once beyond, and looks at
// GitHub's status and body.
func TestLimits(t *testing.T) {
	s, repo, pr := setup(t)
	tolerate(s)
	repo.Collaborator("ci", "write")
	l := &limitsOf{Server: s, repo: repo, pr: pr, token: token(t, s, nil)}
	sha := pr.HeadSHA()
	x := func(n int) string { return strings.Repeat("x", n) }
	annotation := func(change m) m {
		a := m{"path": "pay.go", "start_line": 4, "end_line": 4, "annotation_level": "warning", "message": "m"}
		for k, v := range change {
			a[k] = v
		}
		return a
	}
	annotations := func(n int) (list []m) {
		for range n {
			list = append(list, annotation(nil))
		}
		return list
	}
	run := func(change m) m {
		r := m{"name": "prosecutor", "head_sha": sha}
		for k, v := range change {
			r[k] = v
		}
		return r
	}
	output := func(change m) m {
		o := m{"title": "t", "summary": "s"}
		for k, v := range change {
			o[k] = v
		}
		return run(m{"output": o})
	}
	action := func(label, description, identifier string) m {
		return m{"label": label, "description": description, "identifier": identifier}
	}
	actions := func(n int) (list []m) {
		for range n {
			list = append(list, action("l", "d", "i"))
		}
		return list
	}
	const runs, comments, reviews, notes = "repos/acme/pay/check-runs", "repos/acme/pay/issues/1/comments", "repos/acme/pay/pulls/1/reviews", "repos/acme/pay/pulls/1/comments"
	statuses := "repos/acme/pay/statuses/" + sha
	review := func(list ...m) m { return m{"event": "COMMENT", "body": "b", "commit_id": sha, "comments": list} }
	note := func(change m) m {
		n := m{"path": "pay.go", "line": 4, "side": "RIGHT", "body": "b"}
		for k, v := range change {
			n[k] = v
		}
		return n
	}
	single := func(change m) m {
		n := note(change)
		n["commit_id"] = sha
		return n
	}
	for _, tc := range []struct {
		name   string
		path   string
		body   m
		status int
		says   string // in the body
	}{
		{"50 annotations", runs, output(m{"annotations": annotations(50)}), 201, ""},
		{"51 annotations", runs, output(m{"annotations": annotations(51)}), 422, "No more than 50 items are allowed; 51 were supplied."},
		{"summary of 65,535", runs, output(m{"summary": x(65_535)}), 201, ""},
		{"summary of 65,536", runs, output(m{"summary": x(65_536)}), 422, "Only 65535 characters are allowed; 65536 were supplied."},
		{"text of 65,535", runs, output(m{"text": x(65_535)}), 201, ""},
		{"text of 65,536", runs, output(m{"text": x(65_536)}), 422, "65535"},
		{"output without summary", runs, run(m{"output": m{"title": "t"}}), 422, "summary"},
		{"output without title", runs, run(m{"output": m{"summary": "s"}}), 422, "title"},
		{"no name", runs, m{"head_sha": sha}, 422, "name"},
		{"no head", runs, m{"name": "n"}, 422, `\"head_sha\" wasn't supplied.`},
		{"unknown head", runs, m{"name": "n", "head_sha": strings.Repeat("a", 40)}, 422, "No commit found for SHA"},
		{"a conclusion completes", runs, run(m{"conclusion": "neutral"}), 201, `"status":"completed"`},
		{"completed without conclusion", runs, run(m{"status": "completed"}), 422, "conclusion"},
		{"stale is GitHub's", runs, run(m{"conclusion": "stale"}), 422, "stale"},
		{"3 actions", runs, run(m{"actions": actions(3)}), 201, ""},
		{"4 actions", runs, run(m{"actions": actions(4)}), 422, "No more than 3 items are allowed; 4 were supplied."},
		{"action at its lengths", runs, run(m{"actions": []m{action(x(20), x(40), x(20))}}), 201, ""},
		{"label of 21", runs, run(m{"actions": []m{action(x(21), "d", "i")}}), 422, "20"},
		{"description of 41", runs, run(m{"actions": []m{action("l", x(41), "i")}}), 422, "40"},
		{"identifier of 21", runs, run(m{"actions": []m{action("l", "d", x(21))}}), 422, "20"},
		{"annotation title of 255", runs, output(m{"annotations": []m{annotation(m{"title": x(255)})}}), 201, ""},
		{"annotation title of 256", runs, output(m{"annotations": []m{annotation(m{"title": x(256)})}}), 422, "255"},
		{"annotation message of 64 KB", runs, output(m{"annotations": []m{annotation(m{"message": x(64 << 10)})}}), 201, ""},
		{"annotation message beyond 64 KB", runs, output(m{"annotations": []m{annotation(m{"message": x(64<<10 + 1)})}}), 422, "64 KB"},
		{"raw details beyond 64 KB", runs, output(m{"annotations": []m{annotation(m{"raw_details": x(64<<10 + 1)})}}), 422, "64 KB"},
		{"columns on one line", runs, output(m{"annotations": []m{annotation(m{"start_column": 1, "end_column": 2})}}), 201, ""},
		{"columns on two lines", runs, output(m{"annotations": []m{annotation(m{"end_line": 5, "start_column": 1, "end_column": 2})}}), 422, "start_column"},
		{"comment of 65,536", comments, m{"body": x(65_536)}, 201, ""},
		{"comment of 65,537", comments, m{"body": x(65_537)}, 422, "Body is too long (maximum is 65536 characters)"},
		{"comment counts characters", comments, m{"body": strings.Repeat("é", 65_536)}, 201, ""},
		{"empty comment", comments, m{"body": " "}, 422, "cannot be blank"},
		{"review of 65,537", reviews, m{"event": "COMMENT", "body": x(65_537)}, 422, "Body is too long (maximum is 65536 characters)"},
		{"COMMENT without body", reviews, m{"event": "COMMENT"}, 422, "Unprocessable Entity"},
		{"REQUEST_CHANGES without body", reviews, m{"event": "REQUEST_CHANGES"}, 422, "Unprocessable Entity"},
		{"review comment of 65,537", reviews, review(note(m{"body": x(65_537)})), 422, "Body is too long"},
		{"review on the diff", reviews, review(note(nil)), 200, ""},
		{"one line off the diff refuses all", reviews, review(note(nil), note(m{"line": 400})), 422, `"errors":["Pull request review thread line must be part of the diff and Pull request review thread diff hunk can't be blank"]`},
		{"a path off the diff refuses all", reviews, review(note(nil), note(m{"path": "other.go"})), 422, `"errors":["Path could not be resolved"]`},
		{"start line behind the line", reviews, review(note(m{"start_line": 5, "start_side": "RIGHT"})), 422, "start line must precede the end line"},
		{"start line at the line", reviews, review(note(m{"start_line": 4, "start_side": "RIGHT"})), 422, "start line must precede the end line"},
		{"start line off the diff", reviews, review(note(m{"start_line": -1, "start_side": "RIGHT"})), 422, ""},
		{"start line before the line", reviews, review(note(m{"start_line": 3, "start_side": "RIGHT"})), 200, ""},
		{"a single comment off the diff", notes, single(m{"line": 400}), 422, "pull_request_review_thread.line"},
		{"a commit that is not of the pull request", notes, m{"path": "pay.go", "line": 4, "body": "b", "commit_id": repo.Head("main")}, 422, "commit_id"},
		{"status context of 255", statuses, m{"state": "success", "context": x(255)}, 201, ""},
		{"status context of 256", statuses, m{"state": "success", "context": x(256)}, 422, "255"},
		{"status description of 140", statuses, m{"state": "success", "context": "d", "description": x(140)}, 201, ""},
		{"status description of 141", statuses, m{"state": "success", "context": "d", "description": x(141)}, 422, "140"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := len(pr.ReviewComments())
			who := *l
			if tc.path == statuses {
				who.token = s.UserToken("ci")
			}
			status, _, body := who.do(t, "POST", tc.path, tc.body)
			if status != tc.status || !strings.Contains(body, tc.says) {
				t.Errorf("%d %.300s; want %d with %q", status, body, tc.status, tc.says)
			}
			if status == 422 {
				var e struct {
					Message          string
					Status           string
					DocumentationURL string `json:"documentation_url"`
				}
				if err := json.Unmarshal([]byte(body), &e); err != nil || e.Message == "" || e.Status != "422" || e.DocumentationURL == "" {
					t.Errorf("not an error of GitHub's form: %.300s", body)
				}
				if n := len(pr.ReviewComments()); n != before {
					t.Errorf("a refused request left %d comments", n-before)
				}
			}
		})
	}
}

// TestLimitsOfReading asks for more than GitHub shows.
func TestLimitsOfReading(t *testing.T) {
	s := githubtest.New(t)
	wide := map[string]string{}
	for i := range 3001 {
		wide[fmt.Sprintf("many/%04d", i)] = "x\n"
	}
	long := strings.Repeat("x\n", 20_001)
	fat := strings.Repeat(strings.Repeat("y", 200)+"\n", 6000)        // 1.2 MB in 6,000 lines
	chunky := strings.Repeat(strings.Repeat("z", 999)+"\n", 550)      // 550 KB
	listing := map[string]string{"big": strings.Repeat("0", 1<<20+1)} // just above 1 MB
	for i := range 1001 {
		listing[fmt.Sprintf("dir/%04d", i)] = ""
	}
	repo := s.AddRepo("acme/pay", listing)
	pulls := map[string]*githubtest.PullRequest{}
	for name, files := range map[string]map[string]string{
		"wide": wide, "long": {"long": long}, "fat": {"fat": fat}, "chunky": {"chunky": chunky, "small": "s\n"}, "small": {"small": "s\n"},
	} {
		repo.Commit(name, name, files)
		pulls[name] = repo.OpenPR(githubtest.PR{Title: name, Head: name})
	}
	// A pull request of 251 commits.
	var in strings.Builder
	main := repo.Head("main")
	for i := range 251 {
		fmt.Fprintf(&in, "commit refs/heads/history\ncommitter dev <dev@example.com> %d +0000\ndata 1\nc\n", 1_700_000_000+i)
		if i == 0 {
			fmt.Fprintf(&in, "from %s\n", main)
		}
		fmt.Fprintf(&in, "M 100644 inline h\ndata %d\n%d\n", len(fmt.Sprint(i)), i)
	}
	cmd := exec.Command("git", "-C", repo.Dir(), "fast-import", "--quiet")
	cmd.Stdin = strings.NewReader(in.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pulls["history"] = repo.OpenPR(githubtest.PR{Title: "history", Head: "history"})

	tok := token(t, s, nil)
	get := func(path, accept string) (int, http.Header, []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.REST+"repos/acme/pay"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+tok)
		if accept != "" {
			req.Header.Set("Accept", accept)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header, data
	}
	at := func(name string) string { return fmt.Sprintf("/pulls/%d", pulls[name].Number()) }
	const diff = "application/vnd.github.v3.diff"
	for _, tc := range []struct {
		name   string
		status int
	}{{"wide", 406}, {"long", 406}, {"fat", 406}, {"chunky", 200}, {"small", 200}} {
		status, _, body := get(at(tc.name), diff)
		if status != tc.status {
			t.Errorf("diff of %s: %d", tc.name, status)
		}
		var e struct {
			Message string
			Errors  []struct{ Resource, Field, Code string }
		}
		if status == 406 && (json.Unmarshal(body, &e) != nil || len(e.Errors) != 1 || e.Errors[0].Code != "too_large" || e.Errors[0].Field != "diff" || !strings.HasPrefix(e.Message, "Sorry, the diff exceeded the maximum")) {
			t.Errorf("diff of %s: %s", tc.name, body)
		}
	}
	type file struct {
		Filename  string
		Patch     *string
		Additions int
	}
	count := func(path string) (n int, header http.Header) {
		t.Helper()
		status, header, body := get(path, "")
		var list []file
		if status != 200 || json.Unmarshal(body, &list) != nil {
			t.Fatalf("%s: %d %.200s", path, status, body)
		}
		return len(list), header
	}
	if n, header := count(at("wide") + "/files?per_page=300"); n != 100 || !strings.Contains(header.Get("Link"), `page=30&per_page=300>; rel="last"`) {
		t.Errorf("files by 300: %d, %s", n, header.Get("Link"))
	}
	if n, _ := count(at("wide") + "/files"); n != 30 {
		t.Errorf("files without a page size: %d", n)
	}
	if n, header := count(at("wide") + "/files?per_page=100&page=30"); n != 100 || strings.Contains(header.Get("Link"), "next") {
		t.Errorf("page 30 of the files: %d, %s", n, header.Get("Link"))
	}
	if n, _ := count(at("wide") + "/files?per_page=100&page=31"); n != 0 {
		t.Errorf("page 31 of the files: %d", n)
	}
	for _, name := range []string{"long", "chunky"} {
		_, _, body := get(at(name)+"/files", "")
		var list []file
		if err := json.Unmarshal(body, &list); err != nil || list[0].Filename != name || list[0].Patch != nil || list[0].Additions == 0 {
			t.Errorf("files of %s: %v, a patch where there is none", name, err)
		}
	}
	commits := 0
	for page := 1; page <= 4; page++ {
		n, _ := count(fmt.Sprintf("%s/commits?per_page=100&page=%d", at("history"), page))
		commits += n
	}
	if commits != 250 {
		t.Errorf("%d commits", commits)
	}
	if n, _ := count("/contents/dir"); n != 1000 {
		t.Errorf("%d entries of a directory of 1,001", n)
	}
	if status, _, body := get("/contents/big", ""); status != 403 || !strings.Contains(string(body), "too_large") {
		t.Errorf("1 MB of contents: %d %.200s", status, body)
	}
	if status, _, body := get("/contents/big", "application/vnd.github.raw+json"); status != 200 || len(body) != 1<<20+1 {
		t.Errorf("1 MB of raw contents: %d, %d bytes", status, len(body))
	}
	var compared struct {
		Files        []file
		Commits      []any
		TotalCommits int `json:"total_commits"`
	}
	if _, _, body := get("/compare/main...wide", ""); json.Unmarshal(body, &compared) != nil || len(compared.Files) != 300 {
		t.Errorf("compare: %d files", len(compared.Files))
	}
	compared.Files = nil
	if _, _, body := get("/compare/main...wide?page=2&per_page=1", ""); json.Unmarshal(body, &compared) != nil || len(compared.Files) != 0 {
		t.Errorf("compare, page 2: %d files", len(compared.Files))
	}
	if _, _, body := get("/compare/main...history", ""); json.Unmarshal(body, &compared) != nil || len(compared.Commits) != 250 || compared.TotalCommits != 251 {
		t.Errorf("compare: %d commits of %d", len(compared.Commits), compared.TotalCommits)
	}
	var one struct{ Files []file }
	if _, _, body := get("/commits/wide", ""); json.Unmarshal(body, &one) != nil || len(one.Files) != 300 {
		t.Errorf("commit: %d files", len(one.Files))
	}
	if _, _, body := get("/commits/wide?page=11", ""); json.Unmarshal(body, &one) != nil || len(one.Files) != 0 {
		t.Errorf("commit, page 11: %d files", len(one.Files))
	}
	if status, _, _ := get("/commits/wide", diff); status != 406 {
		t.Errorf("diff of a wide commit: %d", status)
	}
}

func TestLimitsOfCredentials(t *testing.T) {
	at := &clock{time.Now()}
	s := githubtest.New(t, githubtest.Options{Now: func() time.Time { return at.now }})
	repo := s.AddRepo("acme/pay", nil)
	sha := repo.Head("main")
	bearer := func() string { return jwt(t, s.App(), goodClaims(s.App(), at.now)) }
	mint := func(body string) (int, string, string) {
		t.Helper()
		resp, out, err := raw(t, s, bearer(), "POST", fmt.Sprintf("app/installations/%d/access_tokens", s.InstallationID("acme")), body)
		if err != nil {
			t.Fatal(err)
		}
		var tok struct{ Token string }
		if err := json.Unmarshal([]byte(out), &tok); err != nil {
			t.Fatal(err)
		}
		return resp.code, tok.Token, out
	}
	get := func(token, path string) int {
		t.Helper()
		resp, _, err := raw(t, s, token, "GET", path, "")
		if err != nil {
			t.Fatal(err)
		}
		return resp.code
	}
	_, tok, _ := mint("")
	if len(tok) <= 40 {
		t.Errorf("a token of %d characters: the new form is longer", len(tok))
	}
	at.now = at.now.Add(59 * time.Minute)
	if got := get(tok, "repos/acme/pay"); got != 200 {
		t.Errorf("after 59 minutes: %d", got)
	}
	at.now = at.now.Add(time.Minute)
	if got := get(tok, "repos/acme/pay"); got != 401 {
		t.Errorf("after an hour: %d", got)
	}
	// Scope: permissions and repositories, never more than the installation has.
	other := s.AddRepo("acme/other", nil)
	_, narrow, _ := mint(fmt.Sprintf(`{"repository_ids":[%d],"permissions":{"contents":"read"}}`, other.ID()))
	for path, want := range map[string]int{"repos/acme/other/contents/": 200, "repos/acme/pay": 404, "repos/acme/other/commits/main/check-runs": 403} {
		if got := get(narrow, path); got != want {
			t.Errorf("%s with a narrow token: %d, want %d", path, got, want)
		}
	}
	if status, _, body := mint(`{"permissions":{"administration":"write"}}`); status != 422 || !strings.Contains(body, "not granted to this installation") {
		t.Errorf("more than the installation has: %d %s", status, body)
	}
	names := make([]string, 501)
	for i := range names {
		names[i] = `"pay"`
	}
	if status, _, _ := mint(`{"repositories":[` + strings.Join(names[:500], ",") + `]}`); status != 201 {
		t.Errorf("500 repositories: %d", status)
	}
	tolerate(s)
	if status, _, _ := mint(`{"repositories":[` + strings.Join(names, ",") + `]}`); status != 422 {
		t.Errorf("501 repositories: %d", status)
	}
	// Checks are written by Apps only.
	repo.Collaborator("alice", "admin")
	body := fmt.Sprintf(`{"name":"n","head_sha":%q}`, sha)
	if resp, out, err := raw(t, s, s.UserToken("alice"), "POST", "repos/acme/pay/check-runs", body); err != nil || resp.code != 403 {
		t.Errorf("a person's check run: %v %s", err, out)
	}
}

func TestLimitsOfTheHour(t *testing.T) {
	at := &clock{time.Now()}
	s := githubtest.New(t, githubtest.Options{Now: func() time.Time { return at.now }})
	s.AddRepo("acme/pay", nil)
	tok := token(t, s, nil)
	get := func(path string) (*response, string) {
		t.Helper()
		resp, body, err := raw(t, s, tok, "GET", path, "")
		if err != nil {
			t.Fatal(err)
		}
		return resp, body
	}
	limit := func() string { resp, _ := get("repos/acme/pay"); return resp.Header.Get("X-RateLimit-Limit") }
	if got := limit(); got != "5000" {
		t.Errorf("limit of one repository: %s", got)
	}
	for i := range 21 {
		s.AddRepo(fmt.Sprintf("acme/r%d", i), nil)
	}
	if got := limit(); got != "5100" {
		t.Errorf("limit of 22 repositories: %s", got)
	}
	s.Spend("acme", 5097) // three were used by now, and the next one is the last
	resp, _ := get("repos/acme/pay")
	if resp.code != http.StatusOK || resp.Header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("the last one: %d %v", resp.code, resp.Header)
	}
	resp, body := get("repos/acme/pay")
	if resp.code != http.StatusForbidden || resp.Header.Get("X-RateLimit-Remaining") != "0" || !strings.Contains(body, fmt.Sprintf("API rate limit exceeded for installation ID %d.", s.InstallationID("acme"))) {
		t.Errorf("over the limit: %d %s", resp.code, body)
	}
	if resp, _ := get("rate_limit"); resp.code != 200 {
		t.Errorf("asking for the limit: %d", resp.code)
	}
	reset, err := strconv.ParseInt(resp.Header.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	at.now = time.Unix(reset, 0)
	tok = tokenAt(t, s, at.now)
	if resp, _ := get("repos/acme/pay"); resp.code != 200 {
		t.Errorf("after the reset: %d", resp.code)
	}
}

func TestLimitsOfHaste(t *testing.T) {
	at := &clock{time.Now()}
	s := githubtest.New(t, githubtest.Options{Now: func() time.Time { return at.now }})
	repo := s.AddRepo("acme/pay", nil)
	repo.Commit("feature", "A", map[string]string{"a": "a"})
	pr := repo.OpenPR(githubtest.PR{Title: "A", Head: "feature"})
	tok := token(t, s, nil)
	s.EnforceSecondaryLimits(true)
	comment := func() (*response, string) {
		t.Helper()
		resp, body, err := raw(t, s, tok, "POST", fmt.Sprintf("repos/acme/pay/issues/%d/comments", pr.Number()), `{"body":"x"}`)
		if err != nil {
			t.Fatal(err)
		}
		return resp, body
	}
	for i := range 80 {
		if resp, body := comment(); resp.code != 201 {
			t.Fatalf("write %d in a minute: %d %s", i+1, resp.code, body)
		}
	}
	resp, body := comment()
	if resp.code != http.StatusForbidden || resp.Header.Get("Retry-After") != "60" || !strings.Contains(body, "secondary rate limit") || len(pr.IssueComments()) != 80 {
		t.Errorf("write 81 in a minute: %d %s", resp.code, body)
	}
	at.now = at.now.Add(time.Minute)
	if resp, _ := comment(); resp.code != 201 {
		t.Errorf("a minute later: %d", resp.code)
	}
	at.now = at.now.Add(time.Minute)
	refused := 0
	for range 910 {
		resp, _, err := raw(t, s, tok, "GET", "repos/acme/pay", "")
		if err != nil {
			t.Fatal(err)
		}
		if resp.code == 403 {
			refused++
		}
	}
	if refused != 10 {
		t.Errorf("%d of 910 reads in a minute were refused", refused)
	}
}

func TestLimitOfConcurrency(t *testing.T) {
	s := githubtest.New(t)
	s.AddRepo("acme/pay", nil)
	tok := token(t, s, nil)
	s.EnforceSecondaryLimits(true)
	gate := make(chan struct{})
	held := s.Inject(githubtest.Fault{Kind: githubtest.Latency, Gate: gate, Times: -1})
	codes := make(chan int, 100)
	for range 100 {
		go func() {
			resp, _, err := raw(t, s, tok, "GET", "repos/acme/pay", "")
			if err != nil {
				t.Error(err)
				codes <- 0
				return
			}
			codes <- resp.code
		}()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := held.Await(ctx, 100); err != nil {
		t.Fatal(err)
	}
	if resp, body, err := raw(t, s, tok, "GET", "repos/acme/pay", ""); err != nil || resp.code != 403 || !strings.Contains(body, "secondary rate limit") {
		t.Errorf("the 101st at once: %v %s", err, body)
	}
	close(gate)
	for range 100 {
		if got := <-codes; got != 200 {
			t.Errorf("one of the 100: %d", got)
		}
	}
	if resp, _, err := raw(t, s, tok, "GET", "repos/acme/pay", ""); err != nil || resp.code != 200 {
		t.Errorf("afterwards: %v", err)
	}
}

func TestLimitsOfCheckRuns(t *testing.T) {
	s := githubtest.New(t)
	repo := s.AddRepo("acme/pay", nil)
	sha := repo.Head("main")
	var first int64
	for i := range 1001 {
		id := repo.Check(sha, "prosecutor", "completed", "success", s.App().Slug)
		if i == 0 {
			first = id
		}
	}
	list := repo.CheckRuns(sha)
	if len(list) != 1000 || list[0].ID == first {
		t.Errorf("%d runs of a name are kept", len(list))
	}
	tok := token(t, s, nil)
	// Annotations add up, fifty a request.
	var got struct {
		ID     int64
		Output struct {
			Count int `json:"annotations_count"`
		}
	}
	post := func(method, path, identity string) {
		t.Helper()
		list := strings.TrimSuffix(strings.Repeat(`{"path":"a","start_line":1,"end_line":1,"annotation_level":"notice","message":"m"},`, 50), ",")
		resp, body, err := raw(t, s, tok, method, path, fmt.Sprintf(`{%s"output":{"title":"t","summary":"s","annotations":[%s]}}`, identity, list))
		if err != nil || resp.code > 201 || json.Unmarshal([]byte(body), &got) != nil {
			t.Fatalf("%v %.300s", err, body)
		}
	}
	post("POST", "repos/acme/pay/check-runs", fmt.Sprintf(`"name":"annotated","head_sha":%q,`, sha))
	post("PATCH", fmt.Sprintf("repos/acme/pay/check-runs/%d", got.ID), "")
	if got.Output.Count != 100 {
		t.Errorf("%d annotations", got.Output.Count)
	}
}
