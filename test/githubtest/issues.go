package githubtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func issueRoutes() map[string]route {
	return map[string]route{
		"GET /repos/{owner}/{repo}/issues/{issue_number}": {need: "issues_or_pulls:read", handle: onIssue(func(c *call, i *issue) reply { return ok(c.repo.issueJSON(i)) })},
		"GET /repos/{owner}/{repo}/issues/{issue_number}/labels": {need: "issues_or_pulls:read", handle: onIssue(func(c *call, i *issue) reply {
			return list(c, i.labels, func(l string) any { return c.repo.labelJSON(c.repo.label(l)) })
		})},
		"POST /repos/{owner}/{repo}/issues/{issue_number}/labels": {need: "issues_or_pulls:write", handle: onIssue(func(c *call, i *issue) reply {
			for _, name := range labelNames(c) {
				c.repo.addLabel(i, c.who.login, name)
			}
			return ok(c.repo.labelList(i))
		})},
		"DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}": {need: "issues_or_pulls:write", handle: onIssue(func(c *call, i *issue) reply {
			if !c.repo.removeLabel(i, c.who.login, c.param("name")) {
				return failure(404, "Label does not exist")
			}
			return ok(c.repo.labelList(i))
		})},
		"GET /repos/{owner}/{repo}/labels": {need: "issues_or_pulls:read", handle: func(c *call) reply {
			var all []*label
			for _, l := range c.repo.labels {
				all = append(all, l)
			}
			slices.SortFunc(all, func(a, b *label) int { return strings.Compare(a.name, b.name) })
			return list(c, all, func(l *label) any { return c.repo.labelJSON(l) })
		}},
		"GET /repos/{owner}/{repo}/labels/{name}": {need: "issues_or_pulls:read", handle: func(c *call) reply {
			l := c.repo.labels[strings.ToLower(c.param("name"))]
			if l == nil {
				return notFound()
			}
			return ok(c.repo.labelJSON(l))
		}},
		"POST /repos/{owner}/{repo}/labels": {need: "issues_or_pulls:write", handle: func(c *call) reply {
			var in struct{ Name, Color string }
			c.decode(&in)
			if c.repo.labels[strings.ToLower(in.Name)] != nil {
				return unprocessable("Label", "name", "already_exists", "")
			}
			l := c.repo.label(in.Name)
			if in.Color != "" {
				l.color = in.Color
			}
			return created(c.repo.labelJSON(l))
		}},
	}
}

// labelNames reads the forms that the endpoint takes: {"labels": [...]}, a bare list, a string, objects with a name.
func labelNames(c *call) []string {
	var in any
	c.decode(&in)
	if m, isObject := in.(object); isObject {
		in = m["labels"]
	}
	var names []string
	switch v := in.(type) {
	case string:
		names = append(names, v)
	case []any:
		for _, e := range v {
			switch e := e.(type) {
			case string:
				names = append(names, e)
			case object:
				names = append(names, fmt.Sprint(e["name"]))
			}
		}
	}
	return names
}

func onIssue(h func(*call, *issue) reply) handler {
	return func(c *call) reply {
		i := c.repo.issue(int(c.number("issue_number")))
		if i == nil {
			return notFound()
		}
		return h(c, i)
	}
}

// issue finds an issue or the issue's part of a pull request.
func (r *Repo) issue(number int) *issue {
	if p := r.pulls[number]; p != nil {
		return &p.issue
	}
	return r.issues[number]
}

// OpenIssue opens an issue and returns its number.
func (r *Repo) OpenIssue(author, title, body string) (number int) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.nextNumber++
	now := r.s.now()
	r.s.account(author)
	r.issues[r.nextNumber] = &issue{id: r.s.id(), number: r.nextNumber, title: title, body: body, author: author, state: "open", created: now, updated: now}
	return r.nextNumber
}

// label finds a label, or makes it: adding one to an issue does so on GitHub too.
func (r *Repo) label(name string) *label {
	key := strings.ToLower(name)
	if r.labels[key] == nil {
		r.labels[key] = &label{id: r.s.id(), name: name, color: "ededed"}
	}
	return r.labels[key]
}

func (r *Repo) addLabel(i *issue, sender, name string) {
	l := r.label(name)
	if slices.Contains(i.labels, l.name) {
		return
	}
	i.labels = append(i.labels, l.name)
	i.updated = r.s.now()
	if p := r.pulls[i.number]; p != nil {
		p.did("labeled", sender, event{label: l})
	}
}

func (r *Repo) removeLabel(i *issue, sender, name string) bool {
	at := slices.IndexFunc(i.labels, func(l string) bool { return strings.EqualFold(l, name) })
	if at < 0 {
		return false
	}
	i.labels = slices.Delete(i.labels, at, at+1)
	i.updated = r.s.now()
	if p := r.pulls[i.number]; p != nil {
		p.did("unlabeled", sender, event{label: r.label(name)})
	}
	return true
}

func (r *Repo) labelJSON(l *label) object {
	return object{"id": l.id, "node_id": nodeID("LA", l.id), "url": r.api() + "/labels/" + strings.ReplaceAll(l.name, " ", "%20"), "name": l.name, "color": l.color, "default": false, "description": nil}
}

func (r *Repo) labelList(i *issue) []any {
	out := []any{}
	for _, l := range i.labels {
		out = append(out, r.labelJSON(r.label(l)))
	}
	return out
}

func (r *Repo) issueJSON(i *issue) object {
	n := strconv.Itoa(i.number)
	api, web := r.api()+"/issues/"+n, r.web()+"/issues/"+n
	body := object{
		"id": i.id, "node_id": nodeID("I", i.id), "number": i.number, "title": i.title, "body": text(i.body), "user": r.s.user(i.author), "state": i.state, "locked": false,
		"url": api, "repository_url": r.api(), "labels_url": api + "/labels{/name}", "comments_url": api + "/comments", "events_url": api + "/events", "timeline_url": api + "/timeline",
		"html_url": web, "labels": r.labelList(i), "assignee": nil, "assignees": []any{}, "milestone": nil, "comments": len(r.conversation(i.number)), "active_lock_reason": nil,
		"created_at": stamp(i.created), "updated_at": stamp(i.updated), "closed_at": stamp(i.closed), "author_association": r.association(i.author), "state_reason": nil,
		"reactions": r.s.rollup(api, nil), "performed_via_github_app": nil,
	}
	if p := r.pulls[i.number]; p != nil {
		body["html_url"], body["draft"] = p.web(), p.draft
		body["pull_request"] = object{"url": p.api(), "html_url": p.web(), "diff_url": p.web() + ".diff", "patch_url": p.web() + ".patch", "merged_at": stamp(p.mergedAt)}
	}
	return body
}
