package ghclient_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// emulated is the emulator of GitHub, which holds requests to GitHub's published contract, and clients of its App.
func emulated(t *testing.T, adjust ...func(*ghclient.Options)) (*githubtest.Server, *ghclient.Clients) {
	t.Helper()
	s := githubtest.New(t)
	return s, clientsOf(t, s, adjust...)
}

func clientsOf(t *testing.T, s *githubtest.Server, adjust ...func(*ghclient.Options)) *ghclient.Clients {
	t.Helper()
	transport := &http.Transport{}
	app := s.App()
	opt := ghclient.Options{
		AppID: app.ID, PrivateKey: app.PrivateKeyPEM, REST: s.REST, GraphQL: s.GraphQL, HTML: s.URL, Transport: transport, WriteRate: 1000,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	for _, f := range adjust {
		f(&opt)
	}
	c, err := ghclient.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); transport.CloseIdleConnections() })
	return c
}

func repoScope(r *githubtest.Repo, permissions map[string]string) ghclient.Scope {
	return ghclient.Scope{RepositoryIDs: []int64{r.ID()}, Permissions: permissions}
}

func TestATokenReachesNoFurtherThanItsScope(t *testing.T) {
	s, c := emulated(t)
	pay := s.AddRepo("acme/pay", map[string]string{"a.go": "package a\n"})
	other := s.AddRepo("acme/other", map[string]string{"b.go": "package b\n"})
	other.SetPrivate(true)
	pr := pay.OpenPR(githubtest.PR{Title: "x", Head: branch(pay), Base: "main", Author: "mona"})
	ctx, id := t.Context(), s.InstallationID("acme")

	read, err := c.Installation(ctx, id, repoScope(pay, map[string]string{"contents": "read", "pull_requests": "read", "issues": "read"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := read.PullRequests.Get(ctx, "acme", "pay", pr.Number()); err != nil {
		t.Errorf("reading within the scope: %v", err)
	}
	if _, _, err := read.Repositories.Get(ctx, "acme", "other"); !ghclient.IsNotFound(err) {
		t.Errorf("reading another repository: %v", err)
	}
	if _, _, err := read.Issues.CreateComment(ctx, "acme", "pay", pr.Number(), &github.IssueComment{Body: github.String("x")}); !ghclient.IsForbidden(err) {
		t.Errorf("writing with a token to read: %v", err)
	}
	write, err := c.Installation(ctx, id, repoScope(pay, map[string]string{"issues": "write"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := write.Issues.CreateComment(ctx, "acme", "pay", pr.Number(), &github.IssueComment{Body: github.String("x")}); err != nil {
		t.Errorf("writing with a token to write: %v", err)
	}
	var out struct{ Repository struct{ Name string } }
	query := `query Name($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { name } }`
	if err := c.GraphQL(ctx, id, repoScope(pay, map[string]string{"contents": "read"}), query, map[string]any{"owner": "acme", "name": "pay"}, &out); err != nil || out.Repository.Name != "pay" {
		t.Errorf("GraphQL: %+v, %v", out, err)
	}
	if err := c.GraphQL(ctx, id, repoScope(pay, map[string]string{"contents": "read"}), query, map[string]any{"owner": "acme", "name": "other"}, &out); !ghclient.IsNotFound(err) {
		t.Errorf("GraphQL of another repository: %v", err)
	}
}

// branch makes a branch to open a pull request from.
func branch(r *githubtest.Repo) string {
	r.Commit("change", "change", map[string]string{"a.go": "package a // changed\n"})
	return "change"
}

func TestARenamedRepositoryIsReadAndWrittenByItsOldName(t *testing.T) {
	s, c := emulated(t)
	pay := s.AddRepo("acme/pay", map[string]string{"a.go": "package a\n"})
	pr := pay.OpenPR(githubtest.PR{Title: "x", Head: branch(pay), Base: "main", Author: "mona"})
	ctx := t.Context()
	client, err := c.Installation(ctx, s.InstallationID("acme"), repoScope(pay, map[string]string{"pull_requests": "read", "issues": "write"}))
	if err != nil {
		t.Fatal(err)
	}
	pay.Rename("billing")
	got, _, err := client.PullRequests.Get(ctx, "acme", "pay", pr.Number())
	if err != nil || got.GetNumber() != pr.Number() {
		t.Fatalf("reading: %v", err)
	}
	body := &github.IssueComment{Body: github.String("answered with 307")}
	if _, _, err := client.Issues.CreateComment(ctx, "acme", "pay", pr.Number(), body); err != nil {
		t.Fatalf("writing: %v", err)
	}
	// Some writes have been answered with 301 instead.
	s.Inject(githubtest.Fault{Kind: githubtest.Redirected, Method: http.MethodPost, To: s.REST + "repositories/77", Times: -1})
	_, _, err = client.Issues.CreateComment(ctx, "acme", "billing", pr.Number(), body)
	var moved *ghclient.MovedError
	if !errors.As(err, &moved) || moved.RepositoryID != 77 {
		t.Errorf("a write answered with 301: %v", err)
	}
	if comments := pr.IssueComments(); len(comments) != 1 || comments[0].Body != "answered with 307" {
		t.Errorf("comments %+v, want the first one", comments)
	}
}

func TestTheEmulatorsFaults(t *testing.T) {
	const readRoute, writeRoute = "/repos/{owner}/{repo}", "/repos/{owner}/{repo}/issues/{issue_number}/comments"
	tests := []struct {
		name  string
		fault githubtest.Fault
		write bool
		class ghclient.Class
		kind  ghclient.Kind
		made  int // comments
	}{
		{"one 502 of a read", githubtest.Fault{Kind: githubtest.ServerError}, false, ghclient.ClassNone, "", 0},
		{"502 for ever", githubtest.Fault{Kind: githubtest.ServerError, Times: -1}, false, ghclient.ClassUnavailable, "", 0},
		{"one 503 of a write", githubtest.Fault{Kind: githubtest.ServerError, Status: 503}, true, ghclient.ClassUnavailable, "", 0},
		{"primary, 403", githubtest.Fault{Kind: githubtest.PrimaryLimit}, false, ghclient.ClassRateLimited, ghclient.Primary, 0},
		{"primary, 429", githubtest.Fault{Kind: githubtest.PrimaryLimit, Status: 429}, false, ghclient.ClassRateLimited, ghclient.Primary, 0},
		{"secondary with Retry-After", githubtest.Fault{Kind: githubtest.SecondaryLimit, RetryAfter: time.Minute}, false, ghclient.ClassRateLimited, ghclient.Secondary, 0},
		{"secondary, bare", githubtest.Fault{Kind: githubtest.SecondaryLimit, Bare: true}, false, ghclient.ClassRateLimited, ghclient.Secondary, 0},
		{"secondary, 429", githubtest.Fault{Kind: githubtest.SecondaryLimit, Status: 429}, true, ghclient.ClassRateLimited, ghclient.Secondary, 0},
		{"abuse", githubtest.Fault{Kind: githubtest.AbuseLimit}, true, ghclient.ClassRateLimited, ghclient.Abuse, 0},
		{"too quickly", githubtest.Fault{Kind: githubtest.TooQuickly}, true, ghclient.ClassRateLimited, ghclient.Secondary, 0},
		{"one truncated read", githubtest.Fault{Kind: githubtest.Truncated}, false, ghclient.ClassNone, "", 0},
		{"one truncated answer to a write", githubtest.Fault{Kind: githubtest.Truncated}, true, ghclient.ClassUnavailable, "", 1},
		{"a lost answer to a write", githubtest.Fault{Kind: githubtest.AnswerLost}, true, ghclient.ClassUnavailable, "", 1},
		{"missing", githubtest.Fault{Kind: githubtest.Missing}, false, ghclient.ClassNotFound, "", 0},
		{"a token that expired early", githubtest.Fault{Kind: githubtest.ExpiredToken}, true, ghclient.ClassNone, "", 1},
		{"tokens that are never taken", githubtest.Fault{Kind: githubtest.ExpiredToken, Times: -1}, false, ghclient.ClassUnauthorized, "", 0},
		{"suspended", githubtest.Fault{Kind: githubtest.SuspendedInstallation}, false, ghclient.ClassSuspended, "", 0},
		{"permission removed", githubtest.Fault{Kind: githubtest.PermissionRemoved}, true, ghclient.ClassForbidden, "", 0},
		{"redirected to another host", githubtest.Fault{Kind: githubtest.Redirected, To: "https://evil.example"}, false, ghclient.ClassOther, "", 0},
		{"a write redirected to another host", githubtest.Fault{Kind: githubtest.Redirected, Status: 307, To: "https://evil.example"}, true, ghclient.ClassOther, "", 0},
		{"a wrong Date", githubtest.Fault{Kind: githubtest.ClockSkew, Skew: time.Hour}, false, ghclient.ClassNone, "", 0},
	}
	s := githubtest.New(t)
	pay := s.AddRepo("acme/pay", map[string]string{"a.go": "package a\n"})
	pr := pay.OpenPR(githubtest.PR{Title: "x", Head: branch(pay), Base: "main", Author: "mona"})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := clientsOf(t, s) // a limit of one case is none of the next
			before := len(pr.IssueComments())
			tt.fault.Route, tt.fault.Method = readRoute, http.MethodGet
			if tt.write {
				tt.fault.Route, tt.fault.Method = writeRoute, http.MethodPost
			}
			fault := s.Inject(tt.fault)
			defer fault.Remove()
			ctx := t.Context()
			client, err := c.Installation(ctx, s.InstallationID("acme"), repoScope(pay, map[string]string{"issues": "write", "contents": "read"}))
			if err != nil {
				t.Fatal(err)
			}
			if tt.write {
				_, _, err = client.Issues.CreateComment(ctx, "acme", "pay", pr.Number(), &github.IssueComment{Body: github.String("x")})
			} else {
				_, _, err = client.Repositories.Get(ctx, "acme", "pay")
			}
			if got := ghclient.ClassOf(err); got != tt.class {
				t.Errorf("class %q, want %q: %v", got, tt.class, err)
			}
			var limit *ghclient.RateLimitError
			if errors.As(err, &limit) && limit.Kind != tt.kind {
				t.Errorf("kind %q, want %q", limit.Kind, tt.kind)
			}
			if n := len(pr.IssueComments()) - before; n != tt.made {
				t.Errorf("%d comments, want %d", n, tt.made)
			}
			if fault.Hits() == 0 {
				t.Error("the fault met no request")
			}
		})
	}
}

func TestAHostWhoseClockIsWrongStillWorks(t *testing.T) {
	for _, ahead := range []time.Duration{2 * time.Minute, -time.Hour} {
		s, c := emulated(t, func(o *ghclient.Options) {
			o.Now = func() time.Time { return time.Now().Add(ahead) }
		})
		pay := s.AddRepo("acme/pay", map[string]string{"a.go": "package a\n"})
		client, err := c.Installation(t.Context(), s.InstallationID("acme"), repoScope(pay, nil))
		if err != nil {
			t.Fatalf("%s: %v", ahead, err)
		}
		if _, _, err := client.Repositories.Get(t.Context(), "acme", "pay"); err != nil {
			t.Errorf("%s: %v", ahead, err)
		}
		if got := c.Skew(); (got - ahead).Abs() > 5*time.Second {
			t.Errorf("skew %s, want %s", got, ahead)
		}
	}
}

func TestTheLifeOfAnInstallation(t *testing.T) {
	s, c := emulated(t)
	pay := s.AddRepo("acme/pay", map[string]string{"a.go": "package a\n"})
	ctx, id := t.Context(), s.InstallationID("acme")
	sc := repoScope(pay, map[string]string{"checks": "write"})
	use := func() error {
		client, err := c.Installation(ctx, id, sc)
		if err != nil {
			return err
		}
		_, _, err = client.Repositories.Get(ctx, "acme", "pay")
		return err
	}
	if err := use(); err != nil {
		t.Fatal(err)
	}
	s.ExpireTokens()
	if err := use(); err != nil {
		t.Errorf("after the tokens expired: %v", err)
	}
	s.Suspend("acme")
	if err := use(); !ghclient.IsInstallationLost(err) {
		t.Errorf("suspended: %v", err)
	}
	s.Unsuspend("acme")
	if err := use(); err != nil {
		t.Errorf("unsuspended: %v", err)
	}
	s.Revoke("acme", "checks")
	c.Forget(id)
	if err := use(); !ghclient.IsForbidden(err) || !strings.Contains(err.Error(), "approve") {
		t.Errorf("permission revoked: class %q: %v", ghclient.ClassOf(err), err)
	}
	s.Uninstall("acme")
	c.Forget(id)
	if err := use(); ghclient.ClassOf(err) != ghclient.ClassInstallationGone {
		t.Errorf("uninstalled: %v", err)
	}
}

func TestTheEmulatorsHourRunsOut(t *testing.T) {
	s, c := emulated(t)
	pay := s.AddRepo("acme/pay", map[string]string{"a.go": "package a\n"})
	id := s.InstallationID("acme")
	get := func(p ghclient.Purpose) error {
		ctx := ghclient.WithPurpose(t.Context(), p)
		client, err := c.Installation(ctx, id, repoScope(pay, nil))
		if err != nil {
			return err
		}
		_, _, err = client.Repositories.Get(ctx, "acme", "pay")
		return err
	}
	if err := get(ghclient.Collecting); err != nil {
		t.Fatal(err)
	}
	s.Spend("acme", 4600) // of 5,000
	if err := get(ghclient.Publishing); err != nil {
		t.Fatal(err)
	}
	var limit *ghclient.RateLimitError
	s.ResetRequests()
	if err := get(ghclient.Collecting); !errors.As(err, &limit) || !limit.Reserved || limit.Sent || len(s.Requests()) != 0 {
		t.Errorf("collecting below the reserve: %v after %d requests", err, len(s.Requests()))
	}
	if err := get(ghclient.Publishing); err != nil {
		t.Errorf("publishing below the reserve: %v", err)
	}
	s.Exhaust("acme")
	if err := get(ghclient.Publishing); !errors.As(err, &limit) || limit.Kind != ghclient.Primary || !limit.Sent {
		t.Errorf("exhausted: %v", err)
	}
	s.ResetRequests()
	if err := get(ghclient.Publishing); !errors.As(err, &limit) || limit.Sent || len(s.Requests()) != 0 {
		t.Errorf("while exhausted: %v after %d requests", err, len(s.Requests()))
	}
}
