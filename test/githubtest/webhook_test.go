package githubtest_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/test/contract"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// received is one webhook as it arrived.
type received struct {
	header  http.Header
	event   string
	payload map[string]any
	body    []byte
}

func (r received) name() string {
	if a, _ := r.payload["action"].(string); a != "" {
		return r.event + " " + a
	}
	return r.event
}

// at reads a value by its path: "check_run.app.slug".
func (r received) at(path string) any {
	var v any = r.payload
	for _, key := range strings.Split(path, ".") {
		m, isObject := v.(map[string]any)
		if !isObject {
			return nil
		}
		v = m[key]
	}
	return v
}

// receiver keeps what arrives; answer decides what it answers, by default 202.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []received
	answer func(http.ResponseWriter, *http.Request)
}

func receive(t *testing.T, s *githubtest.Server) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Errorf("reading a webhook: %v", err)
		}
		hook := received{header: req.Header, event: req.Header.Get("X-GitHub-Event"), body: body}
		if err := json.Unmarshal(body, &hook.payload); err != nil {
			t.Errorf("payload of %s: %v", hook.event, err)
		}
		r.mu.Lock()
		r.got = append(r.got, hook)
		answer := r.answer
		r.mu.Unlock()
		if answer != nil {
			answer(w, req)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(r.Close)
	s.SetWebhook(r.URL)
	return r
}

// take waits for what was sent and returns what arrived since the last time.
func (r *receiver) take(t *testing.T, s *githubtest.Server) []received {
	t.Helper()
	flush(t, s)
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	return got
}

func flush(t *testing.T, s *githubtest.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

func names(got []received) []string {
	var out []string
	for _, g := range got {
		out = append(out, g.name())
	}
	return out
}

func TestEveryEventOfTheApp(t *testing.T) {
	s := githubtest.New(t, githubtest.Options{Events: []string{
		"check_run", "check_suite", "code_scanning_alert", "issue_comment", "merge_group", "pull_request", "pull_request_review", "pull_request_review_comment",
		"pull_request_review_thread", "push", "repository", "status",
	}})
	repo := s.AddRepo("acme/pay", map[string]string{"pay.go": "package pay\n", "old.go": "package pay\n"})
	repo.Collaborator("alice", "write")
	repo.Collaborator("bob", "write")
	hooks := receive(t, s)
	var pr *githubtest.PullRequest
	var run, other, note, talk int64
	var alert int
	var group *githubtest.Group
	slug := s.App().Slug
	ours := func(status, conclusion string) int64 {
		return repo.Check(pr.HeadSHA(), "prosecutor", status, conclusion, slug)
	}
	eq := func(path string, want any) func(received) error {
		return func(r received) error {
			if got := r.at(path); fmt.Sprint(got) != fmt.Sprint(want) {
				return fmt.Errorf("%s is %v, want %v", path, got, want)
			}
			return nil
		}
	}
	edit := func(method string, note int64) {
		body := ""
		if method == "PATCH" {
			body = `{"body":"why, really?"}`
		}
		if resp, _, err := raw(t, s, s.UserToken("bob"), method, fmt.Sprintf("repos/acme/pay/pulls/comments/%d", note), body); err != nil || resp.code > 299 {
			t.Errorf("%s: %v", method, err)
		}
	}
	seen := map[string]bool{}
	for _, step := range []struct {
		do    func()
		want  []string
		check func(received) error // of the last one
	}{
		{func() {
			repo.Commit("feature", "Pay twice", map[string]string{"pay.go": "package pay\n\nvar Twice = true\n", "old.go": githubtest.Removed, "new.go": "package other\n\nconst Name = 1\n"})
		}, []string{"push", "check_suite requested"}, eq("check_suite.head_branch", "feature")},
		{func() {
			pr = repo.OpenPR(githubtest.PR{Title: "Pay twice", Body: "Twice.", Head: "feature", Author: "alice"})
		}, []string{"pull_request opened"}, eq("pull_request.changed_files", 3)},
		{func() { pr.EditAs("", "Pay three times", "Thrice.", "") }, []string{"pull_request edited"}, eq("changes.title.from", "Pay twice")},
		{func() { pr.Label("alice", "prosecutor:off") }, []string{"pull_request labeled"}, eq("label.name", "prosecutor:off")},
		{func() { pr.Unlabel("bob", "prosecutor:off") }, []string{"pull_request unlabeled"}, eq("sender.login", "bob")},
		{func() { repo.Commit("feature", "More", map[string]string{"pay.go": "package pay\n\nvar Twice = 3\n"}) }, []string{"push", "pull_request synchronize", "check_suite requested"}, nil},
		{func() { run = ours("in_progress", "") }, []string{"check_run created"}, eq("check_run.app.slug", slug)},
		{func() { ours("completed", "success") }, []string{"check_run completed", "check_suite completed"}, eq("check_suite.conclusion", "success")},
		{func() { repo.Rerequest(run) }, []string{"check_run rerequested"}, eq("check_run.check_suite.status", "queued")},
		{func() { repo.RerequestSuite(pr.HeadSHA()) }, []string{"check_suite rerequested"}, eq("check_suite.conclusion", nil)},
		{func() { other = repo.Check(pr.HeadSHA(), "build", "completed", "failure", "github-actions") }, []string{"check_run created", "check_run completed", "check_suite completed"}, eq("check_suite.app.slug", "github-actions")},
		{func() { repo.Rerequest(other) }, nil, nil}, // for its own App only
		{func() { repo.Status(pr.HeadSHA(), "ci/lint", "success", "clean") }, []string{"status"}, eq("branches", nil)},
		{func() { talk = pr.Comment("bob", "/prosecute") }, []string{"issue_comment created"}, eq("issue.pull_request.merged_at", nil)},
		{func() { pr.EditComment(talk, "bob", "/prosecute help") }, []string{"issue_comment edited"}, eq("changes.body.from", "/prosecute")},
		{func() { pr.DeleteComment(talk, "bob") }, []string{"issue_comment deleted"}, nil},
		{func() { note = pr.CommentOn("bob", "pay.go", 3, "why?") }, []string{"pull_request_review submitted", "pull_request_review_comment created"}, eq("comment.line", 3)},
		{func() { pr.ReplyTo(note, "alice", "/prosecute dismiss x") }, []string{"pull_request_review submitted", "pull_request_review_comment created"}, eq("comment.user.login", "alice")},
		{func() { edit("PATCH", note) }, []string{"pull_request_review_comment edited"}, eq("changes.body.from", "why?")},
		{func() { pr.Resolve("alice", note) }, []string{"pull_request_review_thread resolved"}, nil},
		{func() { pr.Unresolve("alice", note) }, []string{"pull_request_review_thread unresolved"}, nil},
		{func() { edit("DELETE", note) }, []string{"pull_request_review_comment deleted"}, nil},
		{func() { pr.Review("alice2", "APPROVE", "fine") }, []string{"pull_request_review submitted"}, eq("review.state", "approved")},
		{func() {
			alert = repo.Alert(githubtest.Alert{Rule: "go/sql", Path: "pay.go", Ref: "refs/pull/1/merge", Severity: "error", Description: "SQL", Message: "bad"})
		}, []string{"code_scanning_alert created"}, eq("ref", "refs/pull/1/merge")},
		{func() { repo.Alert(githubtest.Alert{Number: alert, Ref: "refs/heads/feature"}) }, []string{"code_scanning_alert appeared_in_branch"}, eq("ref", "refs/heads/feature")},
		{func() { repo.SetAlert(alert, "dismissed", "alice") }, []string{"code_scanning_alert closed_by_user"}, eq("alert.dismissed_by.login", "alice")},
		{func() { repo.SetAlert(alert, "open", "alice") }, []string{"code_scanning_alert reopened_by_user"}, eq("alert.state", "open")},
		{func() { repo.SetAlert(alert, "fixed", "") }, []string{"code_scanning_alert fixed"}, eq("alert.state", "fixed")},
		{func() { repo.SetAlert(alert, "open", "") }, []string{"code_scanning_alert reopened"}, eq("alert.dismissed_at", nil)},
		{func() { group = repo.MergeGroup(pr) }, []string{"merge_group checks_requested"}, eq("merge_group.base_ref", "refs/heads/main")},
		{func() { group.Destroy("dequeued") }, []string{"merge_group destroyed"}, eq("reason", "dequeued")},
		{func() { pr.Close() }, []string{"pull_request closed"}, eq("pull_request.merged", false)},
		{func() { pr.Reopen() }, []string{"pull_request reopened"}, eq("pull_request.state", "open")},
		{func() { pr.Draft() }, []string{"pull_request converted_to_draft"}, eq("pull_request.draft", true)},
		{func() { pr.Ready() }, []string{"pull_request ready_for_review"}, eq("pull_request.draft", false)},
		{func() { pr.Merge("alice") }, []string{"pull_request closed", "push", "check_suite requested"}, nil},
		{func() { repo.DeleteBranch("feature") }, []string{"push"}, eq("deleted", true)},
		{func() { repo.Rename("till") }, []string{"repository renamed"}, eq("changes.repository.name.from", "pay")},
		{func() { s.SelectRepos("acme") }, []string{"installation_repositories removed"}, eq("repository_selection", "selected")},
		{func() { s.SelectRepos("acme", "till") }, []string{"installation_repositories added"}, eq("repository_selection", "selected")},
		{func() { s.Suspend("acme") }, []string{"installation suspend"}, eq("installation.suspended_by.login", "acme-admin")},
		{func() { repo.Status(repo.Head("main"), "ci", "success", "") }, nil, nil},
		{func() { s.Unsuspend("acme") }, []string{"installation unsuspend"}, eq("installation.suspended_at", nil)},
		{func() { s.Approve("acme") }, []string{"installation new_permissions_accepted"}, nil},
		{func() { s.Uninstall("acme") }, []string{"installation deleted"}, nil},
		{func() { s.Install("acme") }, []string{"installation created"}, nil},
		{func() { s.Ping() }, []string{"ping"}, eq("hook.app_id", s.App().ID)},
	} {
		step.do()
		got := hooks.take(t, s)
		if !slices.Equal(names(got), step.want) {
			t.Fatalf("got %q, want %q", names(got), step.want)
		}
		for _, g := range got {
			seen[g.name()] = true
			if err := contract.ValidateWebhook(g.event, fmt.Sprint(or(g.payload["action"], "")), g.body); err != nil {
				t.Errorf("%s: %v", g.name(), err)
			}
			// A client that nobody here wrote reads it too.
			if _, err := github.ParseWebHook(g.event, g.body); err != nil {
				t.Errorf("%s: go-github: %v", g.name(), err)
			}
		}
		if step.check == nil || len(got) == 0 {
			continue
		}
		if last := got[len(got)-1]; last.event == "status" {
			if branches, _ := last.payload["branches"].([]any); len(branches) != 1 {
				t.Errorf("status: branches %v", branches)
			}
		} else if err := step.check(last); err != nil {
			t.Errorf("%s: %v", last.name(), err)
		}
	}
	if n := len(seen); n < 35 {
		t.Errorf("only %d kinds of events were seen", n)
	}
}

func or(v, otherwise any) any {
	if v == nil {
		return otherwise
	}
	return v
}

func TestADeliveryIsSignedAndNamed(t *testing.T) {
	s := githubtest.New(t)
	repo := s.AddRepo("acme/pay", nil)
	hooks := receive(t, s)
	repo.Status(repo.Head("main"), "ci", "success", "")
	got := hooks.take(t, s)
	if len(got) != 1 {
		t.Fatalf("got %q", names(got))
	}
	mac := hmac.New(sha256.New, []byte(s.App().WebhookSecret))
	mac.Write(got[0].body)
	for name, want := range map[string]string{
		"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)), "X-GitHub-Event": "status", "Content-Type": "application/json",
		"X-GitHub-Hook-Installation-Target-ID": fmt.Sprint(s.App().ID), "X-GitHub-Hook-Installation-Target-Type": "integration",
	} {
		if v := got[0].header.Get(name); v != want {
			t.Errorf("%s is %q, want %q", name, v, want)
		}
	}
	if agent := got[0].header.Get("User-Agent"); !strings.HasPrefix(agent, "GitHub-Hookshot/") {
		t.Errorf("user agent %q", agent)
	}
	if got[0].header.Get("X-GitHub-Delivery") == "" || got[0].header.Get("X-GitHub-Hook-ID") == "" {
		t.Error("no guid or no hook id")
	}
	if id := got[0].at("installation.id"); fmt.Sprintf("%.0f", id) != fmt.Sprint(s.InstallationID("acme")) {
		t.Errorf("installation %v", id)
	}
	if err := s.Redeliver(got[0].header.Get("X-GitHub-Delivery")); err != nil {
		t.Fatal(err)
	}
	again := hooks.take(t, s)
	if len(again) != 1 || string(again[0].body) != string(got[0].body) || again[0].header.Get("X-GitHub-Delivery") != got[0].header.Get("X-GitHub-Delivery") {
		t.Errorf("the redelivery differs: %q", names(again))
	}
	if d := s.Deliveries(); len(d) != 2 || d[0].Redelivery || !d[1].Redelivery || d[0].ID == d[1].ID || !d[1].Succeeded() {
		t.Errorf("deliveries: %+v", d)
	}
}

func TestAForksChecksNameNoPullRequest(t *testing.T) {
	s := githubtest.New(t)
	repo := s.AddRepo("acme/pay", map[string]string{"pay.go": "package pay\n"})
	fork := repo.Fork("mallory")
	fork.Commit("feature", "Pay", map[string]string{"pay.go": "package pay\n\nvar A = 1\n"})
	hooks := receive(t, s)
	pr := repo.OpenPR(githubtest.PR{Title: "Pay", Head: "mallory:feature", Author: "mallory"})
	repo.Check(pr.HeadSHA(), "build", "completed", "success", "")
	for _, g := range hooks.take(t, s) {
		if g.event == "pull_request" {
			continue
		}
		if list, isList := g.at(g.event + ".pull_requests").([]any); !isList || len(list) != 0 {
			t.Errorf("%s names %v", g.name(), list)
		}
		branch := g.at("check_suite.head_branch")
		if g.event == "check_run" {
			branch = g.at("check_run.check_suite.head_branch")
		}
		if branch != nil {
			t.Errorf("%s: the head branch is %v", g.name(), branch)
		}
	}
	repo.Commit("own", "Own", map[string]string{"pay.go": "package pay\n\nvar B = 1\n"})
	own := repo.OpenPR(githubtest.PR{Title: "Own", Head: "own"})
	hooks.take(t, s)
	repo.Check(own.HeadSHA(), "build", "completed", "success", "")
	for _, g := range hooks.take(t, s) {
		if list, _ := g.at(g.event + ".pull_requests").([]any); len(list) != 1 {
			t.Errorf("%s names %v", g.name(), list)
		}
	}
}

func TestEventsNeedPermissionAndSubscription(t *testing.T) {
	s := githubtest.New(t, githubtest.Options{Permissions: map[string]string{"checks": "read", "metadata": "read", "contents": "read"}, Events: []string{"push", "status", "pull_request"}})
	repo := s.AddRepo("acme/pay", nil)
	hooks := receive(t, s)
	repo.Commit("feature", "A", map[string]string{"a": "a"})
	pr := repo.OpenPR(githubtest.PR{Title: "A", Head: "feature"})
	repo.Status(pr.HeadSHA(), "ci", "success", "")
	repo.Check(pr.HeadSHA(), "build", "completed", "success", "")
	if got := names(hooks.take(t, s)); !slices.Equal(got, []string{"push"}) {
		t.Errorf("got %q, want only the push: no permission for the others", got)
	}
}

func TestPassages(t *testing.T) {
	s := githubtest.New(t)
	repo := s.AddRepo("acme/pay", nil)
	hooks := receive(t, s)
	sha := repo.Head("main")
	way := githubtest.Deliver
	var mu sync.Mutex
	s.OnDelivery(func(githubtest.Delivery) githubtest.Passage {
		mu.Lock()
		defer mu.Unlock()
		return way
	})
	send := func(p githubtest.Passage, context string) {
		t.Helper()
		mu.Lock()
		way = p
		mu.Unlock()
		repo.Status(sha, context, "success", "")
		flush(t, s)
	}
	contexts := func() (list []string) {
		for _, g := range hooks.take(t, s) {
			list = append(list, fmt.Sprint(g.payload["context"]))
		}
		return list
	}
	send(githubtest.Hold, "first")
	send(githubtest.Deliver, "second")
	send(githubtest.Lose, "third")
	s.Release()
	if got := contexts(); !slices.Equal(got, []string{"second", "first"}) {
		t.Errorf("got %q", got)
	}
	send(githubtest.Double, "fourth")
	if got := contexts(); !slices.Equal(got, []string{"fourth", "fourth"}) {
		t.Errorf("got %q", got)
	}
	send(githubtest.Fail, "fifth")
	if got := contexts(); got != nil {
		t.Errorf("got %q", got)
	}
	d := s.Deliveries()
	if len(d) != 5 || d[4].Succeeded() || d[4].StatusCode != http.StatusBadGateway || d[2].GUID != d[3].GUID {
		t.Errorf("deliveries: %+v", d)
	}
}

func TestFailuresAreRecordedNotRepeated(t *testing.T) {
	s := githubtest.New(t)
	repo := s.AddRepo("acme/pay", nil)
	hooks := receive(t, s)
	s.SetWebhookTimeout(200 * time.Millisecond)
	sha := repo.Head("main")
	release := make(chan struct{})
	for _, answer := range []func(http.ResponseWriter, *http.Request){
		func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "store down", http.StatusServiceUnavailable)
		},
		func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		},
		func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
	} {
		hooks.mu.Lock()
		hooks.answer = answer
		hooks.mu.Unlock()
		repo.Status(sha, "ci", "success", "")
		flush(t, s)
	}
	close(release)
	hooks.Close()
	repo.Status(sha, "ci", "success", "")
	flush(t, s)
	var got []string
	for _, d := range s.Deliveries() {
		got = append(got, fmt.Sprintf("%d %s", d.StatusCode, d.Status))
	}
	want := []string{"503 Invalid HTTP Response: 503", "504 timed out", "302 Invalid HTTP Response: 302", "502 failed to connect to host"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
