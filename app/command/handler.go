package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// Clients is what the handler needs of ghclient.
type Clients interface {
	Installation(ctx context.Context, installationID int64, scope ghclient.Scope) (*github.Client, error)
}

// Handler answers commands on GitHub. It is safe for concurrent use.
type Handler struct{ clients Clients }

// NewHandler returns a handler.
func NewHandler(c Clients) *Handler { return &Handler{clients: c} }

// Comment is a comment that may hold a command.
type Comment struct {
	Installation int64
	RepoID       int64
	Owner, Repo  string
	PR           int
	ID           int64
	InThread     bool   // a review comment, not one of the conversation
	ThreadOf     int64  // the comment that opened the thread; replies go there
	Finding      string // identity of the finding that the thread is about; empty outside of ours
	Body         string
	Login        string
	SenderType   convergence.SenderType
	Author       string // login of the pull request's author

	PlainRuns     int  // plain re-runs of the head that were carried out for its author so far
	DismissAuthor bool // dismiss.author of the policy
	// Attempt counts how often the comment was handled, from 1. Only the first may reply without looking whether it did
	// before; 0 means that nobody counted.
	Attempt int
}

func (c Comment) where() string { return fmt.Sprintf("%s/%s#%d", c.Owner, c.Repo, c.PR) }

// Request is a command that may be carried out.
type Request struct {
	Command
	By         string // login
	Permission convergence.Permission
	IsAuthor   bool
}

// Event is the event in whose name the gate looks at the case again.
func (r Request) Event() convergence.Event {
	switch {
	case r.Kind == Dismiss:
		return convergence.EventDismiss
	case r.Sender().MayReopen():
		return convergence.EventProsecute
	default:
		// The author's own re-run: it judges a decided head again, and reopens nothing.
		return convergence.EventRerun
	}
}

// Sender is the account in the gate's words. The permission of an author without write access is left out: that they may
// ask was decided here, by a rule that the gate does not have.
func (r Request) Sender() convergence.Sender {
	s := convergence.Sender{Login: r.By, Type: convergence.User, Permission: r.Permission}
	if r.IsAuthor && !s.MayReopen() {
		s.Permission = ""
	}
	return s
}

// Reaction is an emoji on a comment, in GitHub's words.
type Reaction string

// The reactions.
const (
	Seen    Reaction = "eyes"
	Done    Reaction = "+1"
	Refused Reaction = "-1"
	Unclear Reaction = "confused"
)

// Handle reads a comment. It returns nil when there is nothing to carry out: no command, or one that it refused or answered
// itself. A command is marked as seen before the permission is asked for. An account whose permission cannot be looked up
// has none.
func (h *Handler) Handle(ctx context.Context, c Comment) (*Request, error) {
	cmd, ok, perr := ParseReply(c.Body, c.Finding)
	if !ok || c.SenderType != convergence.User || strings.HasSuffix(c.Login, "[bot]") {
		return nil, nil
	}
	if perr != nil {
		// Permissions are asked for only of a command; what it would have been is open, so the least is looked for.
		cmd = Command{Kind: Help}
	}
	gh, err := h.client(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := h.react(ctx, gh, c, Seen); err != nil {
		return nil, err
	}
	permission, err := h.permission(ctx, gh, c)
	if err != nil {
		return nil, err
	}
	isAuthor := c.Author != "" && strings.EqualFold(c.Login, c.Author)
	v := Decide(cmd, Facts{
		Permission: permission, IsAuthor: isAuthor, PlainRuns: c.PlainRuns, DismissAuthor: c.DismissAuthor,
	})
	switch {
	case v.Ignored:
		return nil, nil
	case !v.Allowed:
		return nil, h.Answer(ctx, c, Refused, v.Why)
	case perr != nil:
		problem, _ := IsUsage(perr)
		return nil, h.Answer(ctx, c, Unclear, usage(problem))
	case cmd.Kind == Help:
		return nil, h.Answer(ctx, c, Done, usage(""))
	}
	return &Request{Command: cmd, By: c.Login, Permission: permission, IsAuthor: isAuthor}, nil
}

// Answer reacts to a comment and, unless text is empty, replies to it. The text is Markdown of ours; what it quotes has to
// be escaped. It can be repeated.
func (h *Handler) Answer(ctx context.Context, c Comment, r Reaction, text string) error {
	gh, err := h.client(ctx, c)
	if err != nil {
		return err
	}
	if err := h.react(ctx, gh, c, r); err != nil || text == "" {
		return err
	}
	marker := fmt.Sprintf("<!-- prosecutor:reply %d -->", c.ID)
	if c.Attempt != 1 {
		done, err := h.replied(ctx, gh, c, marker)
		if err != nil || done {
			return err
		}
	}
	body := marker + "\n" + bound(text)
	if c.InThread {
		to := c.ThreadOf
		if to == 0 {
			to = c.ID
		}
		_, _, err = gh.PullRequests.CreateCommentInReplyTo(ctx, c.Owner, c.Repo, c.PR, body, to)
	} else {
		_, _, err = gh.Issues.CreateComment(ctx, c.Owner, c.Repo, c.PR, &github.IssueComment{Body: &body})
	}
	if err != nil {
		return fmt.Errorf("replying on %s: %w", c.where(), err)
	}
	return nil
}

// maxReply keeps replies below GitHub's 65,536 characters, in bytes.
const maxReply = 60_000

func bound(text string) string {
	if len(text) <= maxReply {
		return text
	}
	n := maxReply
	for !utf8.RuneStart(text[n]) {
		n--
	}
	if i := strings.LastIndexByte(text[:n], '\n'); i > 0 {
		n = i
	}
	return text[:n] + "\n\n_Cut: the check run has more._\n"
}

// replied looks for our reply to a comment among the newest of the pull request.
func (h *Handler) replied(ctx context.Context, gh *github.Client, c Comment, marker string) (bool, error) {
	if c.InThread {
		notes, _, err := gh.PullRequests.ListComments(ctx, c.Owner, c.Repo, c.PR, &github.PullRequestListCommentsOptions{
			Sort: "created", Direction: "desc", ListOptions: github.ListOptions{PerPage: 100},
		})
		if err != nil {
			return false, fmt.Errorf("looking for a reply on %s: %w", c.where(), err)
		}
		for _, n := range notes {
			if n.GetUser().GetType() == string(convergence.Bot) && strings.HasPrefix(n.GetBody(), marker) {
				return true, nil
			}
		}
		return false, nil
	}
	opts := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: 100}}
	for range 20 {
		notes, resp, err := gh.Issues.ListComments(ctx, c.Owner, c.Repo, c.PR, opts)
		if err != nil {
			return false, fmt.Errorf("looking for a reply on %s: %w", c.where(), err)
		}
		for _, n := range notes {
			if n.GetUser().GetType() == string(convergence.Bot) && strings.HasPrefix(n.GetBody(), marker) {
				return true, nil
			}
		}
		if resp.NextPage == 0 {
			break
		}
		opts.Page = resp.NextPage
	}
	return false, nil
}

func (h *Handler) client(ctx context.Context, c Comment) (*github.Client, error) {
	gh, err := h.clients.Installation(ctx, c.Installation, ghclient.Scope{
		RepositoryIDs: []int64{c.RepoID},
		Permissions:   map[string]string{"issues": "write", "metadata": "read", "pull_requests": "write"},
	})
	if err != nil {
		return nil, fmt.Errorf("answering a command on %s: %w", c.where(), err)
	}
	return gh, nil
}

// react sets a reaction. GitHub answers a repeated one with the first. A comment that is gone needs none.
func (h *Handler) react(ctx context.Context, gh *github.Client, c Comment, r Reaction) error {
	var err error
	if c.InThread {
		_, _, err = gh.Reactions.CreatePullRequestCommentReaction(ctx, c.Owner, c.Repo, c.ID, string(r))
	} else {
		_, _, err = gh.Reactions.CreateIssueCommentReaction(ctx, c.Owner, c.Repo, c.ID, string(r))
	}
	if err != nil && !ghclient.IsNotFound(err) && !ghclient.IsGone(err) {
		return fmt.Errorf("reacting to a command on %s: %w", c.where(), err)
	}
	return nil
}

func (h *Handler) permission(ctx context.Context, gh *github.Client, c Comment) (convergence.Permission, error) {
	// go-github v62 has no field for role_name.
	var level struct {
		Permission string `json:"permission"`
		RoleName   string `json:"role_name"`
	}
	path := fmt.Sprintf("repos/%s/%s/collaborators/%s/permission", c.Owner, c.Repo, url.PathEscape(c.Login))
	req, err := gh.NewRequest(http.MethodGet, path, nil)
	if err == nil {
		_, err = gh.Do(ctx, req, &level)
	}
	var refusal *github.ErrorResponse
	switch {
	case err == nil:
		return PermissionOf(level.Permission, level.RoleName), nil
	case errors.As(err, &refusal) && refusal.Response != nil && refusal.Response.StatusCode == http.StatusNotFound:
		return convergence.PermissionNone, nil
	default:
		return "", fmt.Errorf("asking what %s may do on %s: %w", c.Login, c.where(), err)
	}
}

// usage is the help, with what was wrong before it.
func usage(problem string) string {
	var b strings.Builder
	if problem != "" {
		fmt.Fprintf(&b, "I did not understand that: %s.\n\n", report.MarkdownText(report.OneLine(problem, 300)))
	}
	b.WriteString("| command | what it does | who |\n|---|---|---|\n" +
		"| `/prosecute` | judges this head again; after an escalation it opens a new epoch | write access; the author, " + fmt.Sprint(MaxPlainRuns) + " times a head |\n" +
		"| `/prosecute lens=security` | judges one lens again (`correctness`, `security`, `spec`) | write access |\n" +
		"| `/prosecute dry=2` | asks each lens for more agreeing passes in a row, up to 5 | write access |\n" +
		"| `/prosecute explain` | lists the rules that led to the decision | write access, the author |\n" +
		"| `/prosecute dismiss <finding> <reason>` | dismisses a finding of a judge for good | write access, not the author |\n" +
		"| `/prosecute override <reason>` | lets this head pass against the gate, until the next push | write access, not the author |\n" +
		"| `/prosecute help` | shows this | write access, the author |\n")
	return b.String()
}
