package command_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/app/command"
	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// world is a pull request on the emulator, and a handler that reaches it over HTTP.
type world struct {
	t    *testing.T
	s    *githubtest.Server
	repo *githubtest.Repo
	pr   *githubtest.PullRequest
	h    *command.Handler
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, s: githubtest.New(t)}
	w.repo = w.s.AddRepo("acme/pay", map[string]string{"pay.go": "package pay\n"})
	w.repo.Commit("feature", "Pay", map[string]string{"pay.go": "package pay\n\nvar Pay = 1\n"})
	w.repo.Collaborator("ann", "maintain")
	w.repo.Collaborator("tri", "triage")
	w.pr = w.repo.OpenPR(githubtest.PR{Title: "Pay", Head: "feature", Author: "dev"})
	app := w.s.App()
	clients, err := ghclient.New(ghclient.Options{
		AppID: app.ID, PrivateKey: app.PrivateKeyPEM, REST: w.s.REST, GraphQL: w.s.GraphQL, HTML: w.s.URL, WriteRate: 1000, WriteBurst: 1000,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clients.Close)
	w.h = command.NewHandler(clients)
	return w
}

// says has somebody comment, and the handler read it.
func (w *world) says(login, body string, change ...func(*command.Comment)) (*command.Request, command.Comment) {
	w.t.Helper()
	c := command.Comment{
		Installation: w.s.InstallationID("acme"), RepoID: w.repo.ID(), Owner: "acme", Repo: "pay", PR: w.pr.Number(),
		ID: w.pr.Comment(login, body), Body: body, Login: login, SenderType: convergence.User, Author: "dev", Attempt: 1,
	}
	for _, f := range change {
		f(&c)
	}
	r, err := w.h.Handle(context.Background(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	return r, c
}

func (w *world) reactions(id int64) (out []string) {
	for _, r := range w.repo.Reactions(id) {
		out = append(out, r.Content)
	}
	return out
}

// replies are the bodies of the App's comments.
func (w *world) replies() (out []string) {
	for _, c := range w.pr.IssueComments() {
		if c.Author == w.s.App().BotLogin() {
			out = append(out, c.Body)
		}
	}
	return out
}

func TestHandle(t *testing.T) {
	for _, tt := range []struct {
		name, login, body string
		change            func(*command.Comment)
		want              *command.Request
		reactions         []string
		reply             string // part of it; empty for none
	}{
		{
			name: "a run", login: "ann", body: "/prosecute lens=security", reactions: []string{"eyes"},
			want: &command.Request{Command: command.Command{Kind: command.Run, Lens: "security"}, By: "ann", Permission: convergence.PermissionMaintain},
		},
		{
			name: "the author's own run", login: "dev", body: "/prosecute", reactions: []string{"eyes"},
			want: &command.Request{Command: command.Command{Kind: command.Run}, By: "dev", Permission: convergence.PermissionNone, IsAuthor: true},
		},
		{
			name: "the author's fourth", login: "dev", body: "/prosecute", change: func(c *command.Comment) { c.PlainRuns = 3 },
			reactions: []string{"eyes", "-1"}, reply: "already",
		},
		{
			name: "a dismissal", login: "ann", body: "/prosecute dismiss 0123456789ab never nil", reactions: []string{"eyes"},
			want: &command.Request{
				Command: command.Command{Kind: command.Dismiss, FindingID: "0123456789ab", Reason: "never nil"}, By: "ann", Permission: convergence.PermissionMaintain,
			},
		},
		{name: "a dismissal by the author", login: "dev", body: "/prosecute dismiss 0123456789ab mine", reactions: []string{"eyes", "-1"}, reply: "write access"},
		{name: "a stranger", login: "mallory", body: "/prosecute", reactions: []string{"eyes", "-1"}},
		{name: "triage is no write access", login: "tri", body: "/prosecute override now", reactions: []string{"eyes", "-1"}},
		{name: "what is no argument", login: "ann", body: "/prosecute now @dev", reactions: []string{"eyes", "confused"}, reply: "I did not understand"},
		{name: "a stranger's wrong command", login: "mallory", body: "/prosecute now", reactions: []string{"eyes", "-1"}},
		{name: "help", login: "dev", body: "/prosecute help", reactions: []string{"eyes", "+1"}, reply: "/prosecute explain"},
		{name: "no command", login: "ann", body: "> /prosecute"},
		{name: "a bot", login: "renovate[bot]", body: "/prosecute", change: func(c *command.Comment) { c.SenderType = convergence.Bot }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			change := tt.change
			if change == nil {
				change = func(*command.Comment) {}
			}
			got, c := w.says(tt.login, tt.body, change)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.reactions, w.reactions(c.ID)); diff != "" {
				t.Errorf("reactions (-want +got):\n%s", diff)
			}
			replies := w.replies()
			switch {
			case tt.reply == "" && len(replies) != 0, tt.reply != "" && (len(replies) != 1 || !strings.Contains(replies[0], tt.reply)):
				t.Errorf("replies %q", replies)
			case len(replies) == 1 && strings.Contains(replies[0], "@dev"):
				t.Errorf("a reply that mentions: %q", replies[0])
			}
		})
	}
}

// The command is seen before anything else is asked, and costs three requests to accept.
func TestSeenFirst(t *testing.T) {
	w := newWorld(t)
	w.s.ResetRequests()
	w.says("ann", "/prosecute")
	var got []string
	for _, r := range w.s.Requests() {
		if !strings.HasSuffix(r.Route, "/access_tokens") {
			got = append(got, r.Method+" "+r.Route)
		}
	}
	want := []string{
		"POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
		"GET /repos/{owner}/{repo}/collaborators/{username}/permission",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A command that is handled twice is answered once.
func TestAnsweredOnce(t *testing.T) {
	w := newWorld(t)
	_, c := w.says("dev", "/prosecute help")
	c.Attempt = 2
	if _, err := w.h.Handle(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	if n := len(w.replies()); n != 1 {
		t.Errorf("%d replies", n)
	}
	if diff := cmp.Diff([]string{"eyes", "+1"}, w.reactions(c.ID)); diff != "" {
		t.Error(diff)
	}
}

// In a thread a dismissal means its finding, and the answer stays there.
func TestThread(t *testing.T) {
	w := newWorld(t)
	opened := w.pr.CommentOn("ann", "pay.go", 3, "a finding")
	handle := func(login, body string, attempt int) *command.Request {
		c := command.Comment{
			Installation: w.s.InstallationID("acme"), RepoID: w.repo.ID(), Owner: "acme", Repo: "pay", PR: w.pr.Number(), InThread: true, ThreadOf: opened,
			ID: w.pr.ReplyTo(opened, login, body), Finding: "0123456789ab", Body: body, Login: login, SenderType: convergence.User, Author: "dev", Attempt: attempt,
		}
		r, err := w.h.Handle(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		if attempt == 1 {
			c.Attempt = 2
			if _, err := w.h.Handle(context.Background(), c); err != nil {
				t.Fatal(err)
			}
		}
		return r
	}
	r := handle("ann", "/prosecute dismiss it is never nil", 2)
	if r == nil || r.FindingID != "0123456789ab" || r.Reason != "it is never nil" {
		t.Errorf("request %+v", r)
	}
	handle("dev", "/prosecute override please", 1)
	comments := w.pr.Threads()[0].Comments
	if last := comments[len(comments)-1]; len(comments) != 4 || last.Author != w.s.App().BotLogin() || len(w.replies()) != 0 {
		t.Errorf("thread %+v", comments)
	}
}

func TestExplanation(t *testing.T) {
	word := "LOOP_BACK"
	got := command.Explanation(&report.Document{
		Outcome: "decided", Decision: &word, Case: report.Case{Head: "0123abc<b>"},
		Explain: []report.Step{{Rule: "5 evidence", Detail: "static_rules high: @dev left #12 | <img src=x>"}},
	})
	for _, bad := range []string{"@dev", "#12", "| <img", "<b>"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q works in %q", bad, got)
		}
	}
	if !strings.Contains(got, "`0123abcb`") || !strings.Contains(got, "5 evidence") {
		t.Errorf("explanation %q", got)
	}
}
