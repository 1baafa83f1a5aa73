package githubtest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

func (g *graph) mutationRoot() *gobject {
	return &gobject{typ: "Mutation", fields: fields{
		"resolveReviewThread":             g.mutation("ResolveReviewThreadPayload", g.setThread(true)),
		"unresolveReviewThread":           g.mutation("UnresolveReviewThreadPayload", g.setThread(false)),
		"addPullRequestReviewThreadReply": g.mutation("AddPullRequestReviewThreadReplyPayload", g.replyToThread),
		"addComment":                      g.mutation("AddCommentPayload", g.addComment),
		"minimizeComment":                 g.mutation("MinimizeCommentPayload", g.setMinimized(true)),
		"unminimizeComment":               g.mutation("UnminimizeCommentPayload", g.setMinimized(false)),
	}}
}

// mutation wraps what a mutation does into its payload.
func (g *graph) mutation(payload string, do func(input map[string]any) (fields, *fieldError)) func(ask) any {
	return func(a ask) any {
		input, _ := a.args["input"].(map[string]any)
		f, problem := do(input)
		if problem != nil {
			return problem
		}
		f["clientMutationId"] = is(input["clientMutationId"])
		return &gobject{typ: payload, fields: f}
	}
}

// threadByID finds a conversation that the caller may see.
func (g *graph) threadByID(id string) (*PullRequest, *thread) {
	kind, n := split(id)
	for _, p := range g.s.allPulls() {
		for _, t := range p.threads {
			if kind == "PRRT" && t.id == n && g.who.sees(p.repo) {
				return p, t
			}
		}
	}
	return nil, nil
}

func missing(id any) *fieldError {
	return unresolved("Could not resolve to a node with the global id of '%v'", id)
}

// setThread resolves a conversation or opens it again. For an App that takes the permission to write contents or pull requests.
func (g *graph) setThread(resolved bool) func(map[string]any) (fields, *fieldError) {
	return func(input map[string]any) (fields, *fieldError) {
		p, t := g.threadByID(fmt.Sprint(input["threadId"]))
		if t == nil {
			return nil, missing(input["threadId"])
		}
		if !g.may(p.repo, "pull_requests:write") {
			return nil, g.forbidden()
		}
		if t.resolved != resolved {
			p.resolve(t, g.who.login, resolved)
		}
		return fields{"thread": is(g.thread(p, t))}, nil
	}
}

func (g *graph) checkBody(body string) *fieldError {
	switch {
	case utf8.RuneCountInString(body) > maxBodyRunes:
		return &fieldError{kind: "UNPROCESSABLE", message: tooLongBody}
	case strings.TrimSpace(body) == "":
		return &fieldError{kind: "UNPROCESSABLE", message: "Body cannot be blank"}
	}
	return nil
}

func (g *graph) replyToThread(input map[string]any) (fields, *fieldError) {
	p, t := g.threadByID(fmt.Sprint(input["pullRequestReviewThreadId"]))
	if t == nil {
		return nil, missing(input["pullRequestReviewThreadId"])
	}
	if !g.may(p.repo, "pull_requests:write") {
		return nil, g.forbidden()
	}
	body := fmt.Sprint(input["body"])
	if problem := g.checkBody(body); problem != nil {
		return nil, problem
	}
	return fields{"comment": is(g.reviewNote(p.reply(t, g.who.login, body)))}, nil
}

func (g *graph) addComment(input map[string]any) (fields, *fieldError) {
	kind, n := split(fmt.Sprint(input["subjectId"]))
	body := fmt.Sprint(input["body"])
	for _, r := range g.s.sortedRepos() {
		var subject *issue
		for _, p := range r.pulls {
			if kind == "PR" && p.id == n {
				subject = &p.issue
			}
		}
		for _, i := range r.issues {
			if kind == "I" && i.id == n {
				subject = i
			}
		}
		if subject == nil || !g.who.sees(r) {
			continue
		}
		if !g.may(r, "issues_or_pulls:write") {
			return nil, g.forbidden()
		}
		if problem := g.checkBody(body); problem != nil {
			return nil, problem
		}
		r.comment(subject, g.who.login, body, g.who.installation != nil)
		return fields{"subject": get(func() any { return g.node(fmt.Sprint(input["subjectId"])) })}, nil
	}
	return nil, missing(input["subjectId"])
}

// setMinimized hides a comment of a conversation, or shows it again.
func (g *graph) setMinimized(hide bool) func(map[string]any) (fields, *fieldError) {
	return func(input map[string]any) (fields, *fieldError) {
		kind, n := split(fmt.Sprint(input["subjectId"]))
		for _, r := range g.s.sortedRepos() {
			m := r.comments[n]
			if kind != "IC" || m == nil || !g.who.sees(r) {
				continue
			}
			if !g.may(r, "issues_or_pulls:write") {
				return nil, g.forbidden()
			}
			m.minimized = ""
			key := "unminimizedComment"
			if hide {
				// The schema shouts, the answer does not.
				m.minimized = strings.ReplaceAll(strings.ToLower(fmt.Sprint(input["classifier"])), "_", "-")
				key = "minimizedComment"
			}
			return fields{key: is(g.comment(r, m))}, nil
		}
		return nil, missing(input["subjectId"])
	}
}
