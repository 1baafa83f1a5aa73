package githubtest_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/test/contract"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// TestEveryOperationIsServed asks for every operation of the contract: a missing handler says so.
func TestEveryOperationIsServed(t *testing.T) {
	s, repo, pr := setup(t)
	repo.Check(pr.HeadSHA(), "build", "completed", "success", "")
	var broken []string
	s.OnViolation(func(err error) { broken = append(broken, err.Error()) })
	api, err := contract.REST()
	if err != nil {
		t.Fatal(err)
	}
	token := s.UserToken("acme-admin")
	for _, op := range api.Operations() {
		path := strings.NewReplacer("{owner}", "acme", "{repo}", "pay", "{pull_number}", "1", "{issue_number}", "1", "{ref}", "heads/main", "{path}", "pay.go",
			"{basehead}", "main...feature/x", "{branch}", "main", "{username}", "dev", "{commit_sha}", pr.HeadSHA(), "{sha}", pr.HeadSHA(), "{name}", "bug",
			"{code}", "none").Replace(op.Template)
		for strings.Contains(path, "{") {
			from, to := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
			path = path[:from] + "1" + path[to+1:]
		}
		credential := token
		if strings.HasPrefix(path, "/app/") || path == "/app" {
			credential = jwt(t, s.App(), goodClaims(s.App(), time.Now()))
		}
		req, err := http.NewRequest(op.Method, s.REST+path[1:], nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+credential)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	for _, b := range broken {
		// Bodies are left out here, which the contract may say; all else is a mistake.
		if !strings.Contains(b, "the client's request") {
			t.Error(b)
		}
	}
}

func TestBreaksOfTheContractAreTold(t *testing.T) {
	s, _, pr := setup(t)
	ctx := context.Background()
	c := installed(t, s, "acme", nil)
	var told []string
	s.OnViolation(func(err error) { told = append(told, err.Error()) })
	annotations := make([]*github.CheckRunAnnotation, 51)
	for i := range annotations {
		annotations[i] = &github.CheckRunAnnotation{Path: github.String("pay.go"), StartLine: github.Int(1), EndLine: github.Int(1), AnnotationLevel: github.String("notice"), Message: github.String("m")}
	}
	_, _, err := c.Checks.CreateCheckRun(ctx, "acme", "pay", github.CreateCheckRunOptions{
		Name: "prosecutor", HeadSHA: pr.HeadSHA(), Output: &github.CheckRunOutput{Title: github.String("t"), Summary: github.String("s"), Annotations: annotations},
	})
	if status(err) != http.StatusUnprocessableEntity || len(told) != 1 || !strings.Contains(told[0], "50") {
		t.Errorf("51 annotations: %v, told %v", err, told)
	}
	told = nil
	req, err := c.NewRequest("GET", "repos/acme/pay/milestones", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(ctx, req, nil); status(err) != http.StatusNotFound || len(told) != 1 || !strings.Contains(told[0], "unknown route") {
		t.Errorf("an unknown route: %v, told %v", err, told)
	}
	if len(s.Violations()) != 2 {
		t.Errorf("violations: %v", s.Violations())
	}
}

func TestRegistrationFromAManifest(t *testing.T) {
	s := githubtest.New(t)
	noRedirects := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	form := url.Values{"manifest": {`{"name":"Gate","url":"https://example.com","redirect_url":"http://localhost/setup/done","default_permissions":{"checks":"write","contents":"read"},"default_events":["pull_request"],"hook_attributes":{"url":"http://localhost/hook"}}`}}
	resp, err := noRedirects.PostForm(s.URL+"/organizations/acme/settings/apps/new?state=abc", form)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	to, err := resp.Location()
	if err != nil || to.Query().Get("state") != "abc" {
		t.Fatalf("redirect to %v: %v", to, err)
	}
	c, err := github.NewClient(nil).WithEnterpriseURLs(s.REST, s.REST)
	if err != nil {
		t.Fatal(err)
	}
	cfg := must(c.Apps.CompleteAppManifest(context.Background(), to.Query().Get("code")))(t)
	if cfg.GetID() != s.App().ID || cfg.GetPEM() != string(s.App().PrivateKeyPEM) || cfg.GetWebhookSecret() != s.App().WebhookSecret {
		t.Errorf("%+v", cfg)
	}
	if _, _, err := c.Apps.CompleteAppManifest(context.Background(), to.Query().Get("code")); status(err) != http.StatusNotFound {
		t.Errorf("a code used twice: %v", err)
	}
}

func TestRequestsAreRecorded(t *testing.T) {
	s, _, _ := setup(t)
	c := installed(t, s, "acme", nil)
	s.ResetRequests()
	must(c.PullRequests.Get(context.Background(), "acme", "pay", 1))(t)
	got := s.Requests()
	if len(got) != 1 || got[0].Method != http.MethodGet || got[0].Path != "repos/acme/pay/pulls/1" || got[0].Route != "/repos/{owner}/{repo}/pulls/{pull_number}" ||
		got[0].Status != http.StatusOK || got[0].Installation != s.InstallationID("acme") {
		t.Errorf("%+v", got)
	}
}

func TestStartOutsideOfATest(t *testing.T) {
	s, err := githubtest.Start(githubtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	repo := s.AddRepo("acme/pay", map[string]string{"a": "a\n"})
	if repo.Head("main") == "" {
		t.Error("no commit")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
