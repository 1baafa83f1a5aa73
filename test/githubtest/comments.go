package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

func commentRoutes() map[string]route {
	return map[string]route{
		"GET /repos/{owner}/{repo}/issues/{issue_number}/comments": {need: "issues_or_pulls:read", handle: onIssue(func(c *call, i *issue) reply {
			return list(c, c.repo.conversation(i.number), func(m *issueComment) any { return c.repo.commentJSON(m) })
		})},
		"POST /repos/{owner}/{repo}/issues/{issue_number}/comments": {need: "issues_or_pulls:write", handle: onIssue(func(c *call, i *issue) reply {
			var in struct{ Body string }
			c.decode(&in)
			if rep := checkBody("IssueComment", in.Body); rep != nil {
				return *rep
			}
			return created(c.repo.commentJSON(c.repo.comment(i, c.who.login, in.Body, c.who.installation != nil)))
		})},
		"GET /repos/{owner}/{repo}/issues/comments/{comment_id}": {need: "issues_or_pulls:read", handle: onComment(func(c *call, m *issueComment) reply { return ok(c.repo.commentJSON(m)) })},
		"PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}": {need: "issues_or_pulls:write", handle: onComment(func(c *call, m *issueComment) reply {
			var in struct{ Body string }
			c.decode(&in)
			if rep := checkBody("IssueComment", in.Body); rep != nil {
				return *rep
			}
			c.repo.editComment(m, c.who.login, in.Body)
			return ok(c.repo.commentJSON(m))
		})},
		"DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}": {need: "issues_or_pulls:write", handle: onComment(func(c *call, m *issueComment) reply {
			c.repo.deleteComment(m, c.who.login)
			return noContent()
		})},
		"GET /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions": {need: "issues_or_pulls:read", handle: onComment(func(c *call, m *issueComment) reply {
			return list(c, m.reactions, func(r Reaction) any { return c.s.reactionJSON(r) })
		})},
		"POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions": {need: "issues_or_pulls:write", handle: onComment(func(c *call, m *issueComment) reply { return c.react(&m.reactions) })},
		"DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions/{reaction_id}": {need: "issues_or_pulls:write", handle: onComment(func(c *call, m *issueComment) reply {
			n := len(m.reactions)
			m.reactions = slices.DeleteFunc(m.reactions, func(r Reaction) bool { return r.ID == c.number("reaction_id") && r.User == c.who.login })
			if len(m.reactions) == n {
				return notFound()
			}
			return noContent()
		})},
	}
}

func checkBody(resource, body string) *reply {
	if utf8.RuneCountInString(body) > maxBodyRunes {
		rep := failure(http.StatusUnprocessableEntity, "Validation Failed", object{"resource": resource, "code": "unprocessable", "field": "data", "message": tooLongBody})
		return &rep
	}
	if strings.TrimSpace(body) == "" {
		rep := failure(http.StatusUnprocessableEntity, "Validation Failed", object{"resource": resource, "code": "unprocessable", "field": "data", "message": "Body cannot be blank"})
		return &rep
	}
	return nil
}

func onComment(h func(*call, *issueComment) reply) handler {
	return func(c *call) reply {
		m := c.repo.comments[c.number("comment_id")]
		if m == nil {
			return notFound()
		}
		return h(c, m)
	}
}

// conversation lists the comments of an issue or pull request, oldest first.
func (r *Repo) conversation(number int) []*issueComment {
	var list []*issueComment
	for _, m := range r.comments {
		if m.number == number {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b *issueComment) int { return int(a.id - b.id) })
	return list
}

// comment adds one; the caller holds s.mu.
func (r *Repo) comment(i *issue, author, body string, byApp bool) *issueComment {
	now := r.s.now()
	m := &issueComment{id: r.s.id(), number: i.number, author: author, body: body, created: now, updated: now}
	if byApp {
		m.app = r.s.apps[r.s.app.Slug]
	}
	r.comments[m.id] = m
	i.updated = now
	r.s.emit(event{name: "issue_comment", action: "created", repo: r, issue: i, pull: r.pulls[i.number], comment: m, sender: author})
	return m
}

func (r *Repo) editComment(m *issueComment, sender, body string) {
	before := m.body
	m.body, m.updated = body, r.s.now()
	r.s.emit(event{name: "issue_comment", action: "edited", repo: r, issue: r.issue(m.number), pull: r.pulls[m.number], comment: m, sender: sender, changes: map[string]any{"body": object{"from": before}}})
}

func (r *Repo) deleteComment(m *issueComment, sender string) {
	delete(r.comments, m.id)
	r.s.emit(event{name: "issue_comment", action: "deleted", repo: r, issue: r.issue(m.number), pull: r.pulls[m.number], comment: m, sender: sender})
}

// Comment comments on the pull request as a person and returns the comment's id.
func (p *PullRequest) Comment(author, body string) (id int64) {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	return p.repo.comment(&p.issue, author, body, false).id
}

// EditComment changes a comment's text as a person, DeleteComment removes it.
func (p *PullRequest) EditComment(id int64, sender, body string) {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	m := p.repo.comments[id]
	if m == nil {
		panic(fmt.Sprintf("githubtest: there is no comment %d", id))
	}
	p.repo.editComment(m, sender, body)
}

// DeleteComment is described with EditComment.
func (p *PullRequest) DeleteComment(id int64, sender string) {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	m := p.repo.comments[id]
	if m == nil {
		panic(fmt.Sprintf("githubtest: there is no comment %d", id))
	}
	p.repo.deleteComment(m, sender)
}

// IssueComments lists the comments of the conversation, oldest first.
func (p *PullRequest) IssueComments() []IssueComment {
	return locked(p, func() []IssueComment {
		var out []IssueComment
		for _, m := range p.repo.conversation(p.number) {
			out = append(out, IssueComment{ID: m.id, Author: m.author, Body: m.body, Minimized: m.minimized, CreatedAt: m.created, UpdatedAt: m.updated, Reactions: slices.Clone(m.reactions)})
		}
		return out
	})
}

// Reactions lists the reactions to a comment of a conversation or of a diff.
func (r *Repo) Reactions(commentID int64) []Reaction {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if m := r.comments[commentID]; m != nil {
		return slices.Clone(m.reactions)
	}
	if n := r.reviewNotes[commentID]; n != nil {
		return slices.Clone(n.reactions)
	}
	return nil
}

func (r *Repo) commentJSON(m *issueComment) object {
	id := strconv.FormatInt(m.id, 10)
	api := r.api() + "/issues/comments/" + id
	kind := "/issues/"
	if r.pulls[m.number] != nil {
		kind = "/pull/"
	}
	body := object{
		"id": m.id, "node_id": nodeID("IC", m.id), "url": api, "html_url": r.web() + kind + strconv.Itoa(m.number) + "#issuecomment-" + id,
		"issue_url": r.api() + "/issues/" + strconv.Itoa(m.number), "user": r.s.user(m.author), "body": m.body, "created_at": stamp(m.created), "updated_at": stamp(m.updated),
		"author_association": r.association(m.author), "reactions": r.s.rollup(api, m.reactions),
	}
	if m.app != nil {
		body["performed_via_github_app"] = r.s.appJSON(m.app)
	}
	return body
}

// react adds a reaction, or finds the one that is there.
func (c *call) react(to *[]Reaction) reply {
	var in struct{ Content string }
	c.decode(&in)
	for _, r := range *to {
		if r.User == c.who.login && r.Content == in.Content {
			return ok(c.s.reactionJSON(r))
		}
	}
	r := Reaction{ID: c.s.id(), User: c.who.login, Content: in.Content}
	*to = append(*to, r)
	return created(c.s.reactionJSON(r))
}

func (s *Server) reactionJSON(r Reaction) object {
	return object{"id": r.ID, "node_id": nodeID("REA", r.ID), "user": s.user(r.User), "content": r.Content, "created_at": stamp(s.now())}
}

// rollup counts reactions.
func (s *Server) rollup(api string, list []Reaction) object {
	out := object{"url": api + "/reactions", "total_count": len(list)}
	for _, content := range []string{"+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"} {
		n := 0
		for _, r := range list {
			if r.Content == content {
				n++
			}
		}
		out[content] = n
	}
	return out
}
