package githubtest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxBlobText is where GraphQL cuts the text of a blob.
const maxBlobText = 512_000

func (g *graph) queryRoot() *gobject {
	return &gobject{typ: "Query", fields: fields{
		"id":     is("Q"),
		"viewer": get(func() any { return g.user(g.who.login) }),
		"repository": func(a ask) any {
			owner, name := a.text("owner"), a.text("name")
			r, moved := g.s.find(owner, name)
			follow, given := a.args["followRenames"].(bool)
			if r == nil || !g.who.sees(r) || moved && given && !follow {
				return unresolved("Could not resolve to a Repository with the name '%s/%s'.", owner, name)
			}
			return g.repo(r)
		},
		"node": func(a ask) any { return g.node(a.text("id")) },
		"nodes": func(a ask) any {
			ids, _ := a.args["ids"].([]any)
			out := []any{}
			for _, id := range ids {
				out = append(out, g.node(fmt.Sprint(id)))
			}
			return out
		},
		"rateLimit": get(func() any {
			b := g.s.graphBudget(g.who)
			return &gobject{typ: "RateLimit", fields: fields{
				"cost": is(g.cost), "limit": is(g.s.hourly(g.who)), "nodeCount": is(g.nodes), "remaining": is(max(0, g.s.hourly(g.who)-b.used)), "resetAt": is(b.reset), "used": is(b.used),
			}}
		}),
	}}
}

// split reads a node id.
func split(id string) (kind string, number int64) {
	kind, rest, found := strings.Cut(id, "_kwDO")
	n, err := strconv.ParseInt(rest, 10, 64)
	if !found || err != nil {
		return "", 0
	}
	return kind, n
}

// node finds an object by its id.
func (g *graph) node(id string) any {
	kind, n := split(id)
	for _, r := range g.s.sortedRepos() {
		if !g.who.sees(r) {
			continue
		}
		switch kind {
		case "R":
			if r.id == n {
				return g.repo(r)
			}
		case "I":
			for _, i := range r.issues {
				if i.id == n {
					return g.issue(r, i)
				}
			}
		case "IC":
			if m := r.comments[n]; m != nil {
				return g.comment(r, m)
			}
		case "PRRC":
			if m := r.reviewNotes[n]; m != nil {
				return g.reviewNote(m)
			}
		case "CR":
			for _, run := range r.runs {
				if run.id == n {
					return g.run(r, run)
				}
			}
		case "CS":
			for _, suite := range r.suites {
				if suite.id == n {
					return g.suite(r, suite)
				}
			}
		}
		for _, p := range r.pulls {
			switch kind {
			case "PR":
				if p.id == n {
					return g.pull(p)
				}
			case "PRR":
				for _, v := range p.reviews {
					if v.id == n {
						return g.review(p, v)
					}
				}
			case "PRRT":
				for _, t := range p.threads {
					if t.id == n {
						return g.thread(p, t)
					}
				}
			}
		}
	}
	for _, a := range g.s.accounts {
		if nodeID(a.kind[:1], a.id) == id {
			return g.actor(a.login)
		}
	}
	return unresolved("Could not resolve to a node with the global id of '%s'", id)
}

// actor is an account, null for nobody. A bot's login has no "[bot]" here, unlike everywhere else.
func (g *graph) actor(login string) any {
	if login == "" {
		return nil
	}
	a := g.s.account(login)
	switch a.kind {
	case "Bot":
		slug := strings.TrimSuffix(a.login, "[bot]")
		return &gobject{typ: "Bot", fields: g.accountFields(a, slug, "/apps/"+slug)}
	case "Organization":
		return g.organization(login)
	}
	return g.user(login)
}

func (g *graph) accountFields(a *account, login, page string) fields {
	return fields{
		"id": is(nodeID(a.kind[:1], a.id)), "databaseId": is(a.id), "login": is(login), "url": is(g.s.URL + page), "resourcePath": is(page),
		"avatarUrl": is(fmt.Sprintf("%s/avatars/%d", g.s.URL, a.id)), "createdAt": is(g.s.now()), "updatedAt": is(g.s.now()),
	}
}

// user is an account where the schema has a User, even if it is a bot.
func (g *graph) user(login string) any {
	if login == "" {
		return nil
	}
	a := g.s.account(login)
	f := g.accountFields(a, a.login, "/"+a.login)
	f["name"], f["email"], f["isViewer"], f["isSiteAdmin"] = is(nil), is(""), is(login == g.who.login), is(false)
	return &gobject{typ: "User", fields: f}
}

func (g *graph) organization(login string) any {
	a := g.s.account(login)
	f := g.accountFields(a, a.login, "/"+a.login)
	f["name"], f["description"] = is(a.login), is(nil)
	return &gobject{typ: "Organization", fields: f}
}

func (g *graph) repo(r *Repo) *gobject {
	owner := get(func() any { return g.actor(r.owner) })
	visibility := "PUBLIC"
	if r.private {
		visibility = "PRIVATE"
	}
	return &gobject{typ: "Repository", fields: fields{
		"id": is(nodeID("R", r.id)), "databaseId": is(r.id), "name": is(r.name), "nameWithOwner": is(r.owner + "/" + r.name), "owner": owner, "url": is(r.web()),
		"resourcePath": is("/" + r.owner + "/" + r.name), "isPrivate": is(r.private), "isFork": is(r.fork != nil), "isArchived": is(false), "isDisabled": is(false),
		"visibility": is(visibility), "createdAt": is(r.created), "pushedAt": is(r.pushed), "updatedAt": is(r.pushed), "description": is(nil),
		"isEmpty": get(func() any { return r.branch(r.defaultBranch) == "" }), "isInOrganization": get(func() any { return g.s.account(r.owner).kind == "Organization" }),
		"parent": get(func() any {
			if r.fork == nil || !g.who.sees(r.fork) {
				return nil
			}
			return g.repo(r.fork)
		}),
		"defaultBranchRef": get(func() any { return g.ref(r, "refs/heads/"+r.defaultBranch) }),
		"ref": func(a ask) any {
			name := a.text("qualifiedName")
			if !strings.HasPrefix(name, "refs/") {
				name = "refs/heads/" + name
			}
			return g.ref(r, name)
		},
		"object": func(a ask) any { return g.lookup(r, a.text("expression"), a.text("oid")) },
		"pullRequest": func(a ask) any {
			p := r.pulls[a.number("number")]
			switch {
			case !g.may(r, "pull_requests:read"):
				return g.forbidden()
			case p == nil:
				return unresolved("Could not resolve to a PullRequest with the number of %d.", a.number("number"))
			}
			return g.pull(p)
		},
		"issue": func(a ask) any {
			i := r.issues[a.number("number")]
			switch {
			case !g.may(r, "issues:read"):
				return g.forbidden()
			case i == nil:
				return unresolved("Could not resolve to an Issue with the number of %d.", a.number("number"))
			}
			return g.issue(r, i)
		},
		"issueOrPullRequest": func(a ask) any {
			n := a.number("number")
			if p := r.pulls[n]; p != nil {
				return g.pull(p)
			}
			if i := r.issues[n]; i != nil {
				return g.issue(r, i)
			}
			return unresolved("Could not resolve to an issue or pull request with the number of %d.", n)
		},
		"pullRequests": func(a ask) any {
			if !g.may(r, "pull_requests:read") {
				return g.forbidden()
			}
			return g.pulls(a, r.sortedPulls())
		},
		"label": func(a ask) any {
			if l := r.labels[strings.ToLower(a.text("name"))]; l != nil {
				return g.label(r, l)
			}
			return nil
		},
	}}
}

// pulls pages pull requests by the filters that their connections have.
func (g *graph) pulls(a ask, list []*PullRequest) any {
	list = slices.DeleteFunc(slices.Clone(list), func(p *PullRequest) bool {
		if states, given := a.args["states"].([]any); given && !slices.Contains(states, any(p.stateName())) {
			return true
		}
		base, head := a.text("baseRefName"), a.text("headRefName")
		return base != "" && base != p.baseRef || head != "" && head != p.headRef
	})
	if order, given := a.args["orderBy"].(map[string]any); given && fmt.Sprint(order["direction"]) == "DESC" {
		slices.Reverse(list)
	}
	return connect(func() []*PullRequest { return list }, func(p *PullRequest) any { return g.pull(p) })(a)
}

func (p *PullRequest) stateName() string {
	if p.merged {
		return "MERGED"
	}
	return strings.ToUpper(p.state)
}

// ref is a branch or tag; null when there is none.
func (g *graph) ref(r *Repo, name string) any {
	sha := r.resolve(strings.TrimPrefix(name, "refs/"))
	if sha == "" || !g.may(r, "contents:read") {
		return nil
	}
	parts := strings.SplitN(name, "/", 3)
	if len(parts) != 3 {
		return nil
	}
	return &gobject{typ: "Ref", fields: fields{
		"id": is(nodeID("REF", r.id) + "_" + base64.RawURLEncoding.EncodeToString([]byte(name))), "name": is(parts[2]), "prefix": is(parts[0] + "/" + parts[1] + "/"),
		"repository": is(g.repo(r)), "target": get(func() any { return g.commit(r, sha) }),
		"associatedPullRequests": func(a ask) any {
			var list []*PullRequest
			for _, p := range r.sortedPulls() {
				if p.headRepo == r && p.headRef == parts[2] {
					list = append(list, p)
				}
			}
			return g.pulls(a, list)
		},
	}}
}

// lookup finds a git object by its name or by an expression as git rev-parse takes: "main:path/to/file".
func (g *graph) lookup(r *Repo, expression, oid string) any {
	if !g.may(r, "contents:read") {
		return g.forbidden()
	}
	if expression != "" {
		rev, file, isPath := strings.Cut(expression, ":")
		if rev == "HEAD" {
			rev = r.defaultBranch
		}
		sha := r.resolve(rev)
		if sha == "" {
			return nil
		}
		if !isPath {
			return g.commit(r, sha)
		}
		if file == "" {
			return g.gitObject(r, treeEntry{kind: "tree", sha: r.git("rev-parse", sha+"^{tree}")})
		}
		entry, found := r.entry(sha, file)
		if !found {
			return nil
		}
		return g.gitObject(r, entry)
	}
	if len(oid) != 40 {
		return &fieldError{kind: "INVALID_VALUE", message: "oid must be a full object name"}
	}
	kind, err := r.tryGit(nil, "cat-file", "-t", oid)
	if err != nil {
		return nil
	}
	return g.gitObject(r, treeEntry{kind: strings.TrimSpace(string(kind)), sha: oid})
}

// gitObject is a commit, tree or blob; submodules have none.
func (g *graph) gitObject(r *Repo, e treeEntry) any {
	common := fields{
		"id": is(nodeID("O", r.id) + "_" + e.sha), "oid": is(e.sha), "abbreviatedOid": is(e.sha[:7]), "repository": is(g.repo(r)),
		"commitUrl": is(r.web() + "/commit/" + e.sha), "commitResourcePath": is("/" + r.owner + "/" + r.name + "/commit/" + e.sha),
	}
	switch e.kind {
	case "commit":
		if e.path != "" {
			return nil // a submodule's commit is not in this repository
		}
		return g.commit(r, e.sha)
	case "blob":
		data, _ := r.blob(e.sha)
		binary := bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 || !utf8.Valid(data)
		cut := data
		for len(cut) > maxBlobText || len(cut) < len(data) && !utf8.Valid(cut) {
			cut = cut[:min(len(cut)-1, maxBlobText)]
		}
		common["byteSize"], common["isBinary"], common["isTruncated"], common["text"] = is(len(data)), is(binary), is(len(cut) < len(data)), is(string(cut))
		if binary {
			common["text"] = is(nil)
		}
		return &gobject{typ: "Blob", fields: common}
	case "tree":
		common["entries"] = get(func() any {
			list, _ := r.tree(e.sha, false)
			out := []any{}
			for _, entry := range list {
				entry.path = path.Join(e.path, entry.path)
				out = append(out, g.entry(r, entry))
			}
			return out
		})
		return &gobject{typ: "Tree", fields: common}
	}
	return nil
}

func (g *graph) entry(r *Repo, e treeEntry) *gobject {
	mode, err := strconv.ParseInt(e.mode, 8, 32)
	if err != nil {
		g.s.later(fmt.Errorf("the emulator reads git's mode %q: %w", e.mode, err))
	}
	return &gobject{typ: "TreeEntry", fields: fields{
		"name": is(path.Base(e.path)), "path": is(e.path), "type": is(e.kind), "mode": is(mode), "oid": is(e.sha), "size": is(e.size), "extension": is(path.Ext(e.path)),
		"isGenerated": is(false), "lineCount": is(nil), "repository": is(g.repo(r)), "object": get(func() any { return g.gitObject(r, e) }),
	}}
}

func (g *graph) commit(r *Repo, sha string) any {
	i, known := r.commit(sha)
	if !known {
		return nil
	}
	if !g.may(r, "contents:read") && !g.may(r, "pull_requests:read") {
		return g.forbidden()
	}
	headline, rest, _ := strings.Cut(i.message, "\n")
	author := func(name, email string, at time.Time) *gobject {
		return &gobject{typ: "GitActor", fields: fields{
			"name": is(name), "email": is(email), "date": is(at), "avatarUrl": is(g.s.URL + "/avatars/u"), "user": get(func() any { return g.user(g.s.loginOf(email)) }),
		}}
	}
	web := r.web() + "/commit/" + sha
	checks := func(f func(ask) any) func(ask) any {
		return func(a ask) any {
			if !g.may(r, "checks:read") && !g.may(r, "statuses:read") {
				return g.forbidden()
			}
			return f(a)
		}
	}
	return &gobject{typ: "Commit", fields: fields{
		"id": is(nodeID("C", r.id) + "_" + sha), "oid": is(sha), "abbreviatedOid": is(sha[:7]), "message": is(i.message), "messageHeadline": is(headline),
		"messageBody": is(strings.TrimLeft(rest, "\n")), "committedDate": is(i.committerDate), "authoredDate": is(i.authorDate), "repository": is(g.repo(r)),
		"url": is(web), "commitUrl": is(web), "resourcePath": is(strings.TrimPrefix(web, g.s.URL)), "commitResourcePath": is(strings.TrimPrefix(web, g.s.URL)),
		"author": is(author(i.authorName, i.authorEmail, i.authorDate)), "committer": is(author(i.committerName, i.committerEmail, i.committerDate)),
		"authoredByCommitter": is(i.authorEmail == i.committerEmail), "committedViaWeb": is(false), "pushedDate": is(nil),
		"authors": connect(func() []*gobject {
			list := []*gobject{author(i.authorName, i.authorEmail, i.authorDate)}
			for _, m := range coAuthor.FindAllStringSubmatch(i.message, -1) {
				list = append(list, author(m[1], m[2], i.authorDate))
			}
			return list
		}, func(o *gobject) any { return o }),
		"parents": connect(func() []string { return i.parents }, func(p string) any { return g.commit(r, p) }),
		"tree":    get(func() any { return g.gitObject(r, treeEntry{kind: "tree", sha: i.tree}) }),
		"file": func(a ask) any {
			if !g.may(r, "contents:read") {
				return g.forbidden()
			}
			e, found := r.entry(sha, a.text("path"))
			if !found {
				return nil
			}
			return g.entry(r, e)
		},
		"associatedPullRequests": func(a ask) any {
			var list []*PullRequest
			for _, p := range r.sortedPulls() {
				if slices.ContainsFunc(p.commits(), func(c commitInfo) bool { return c.sha == sha }) {
					list = append(list, p)
				}
			}
			return g.pulls(a, list)
		},
		"checkSuites": checks(func(a ask) any {
			filter, _ := a.args["filterBy"].(map[string]any)
			app, filtered := integer(filter["appId"])
			return connect(func() []*checkSuite {
				var list []*checkSuite
				for _, suite := range r.suites {
					if suite.headSHA == sha && (!filtered || suite.app.id == int64(app)) {
						list = append(list, suite)
					}
				}
				return list
			}, func(suite *checkSuite) any { return g.suite(r, suite) })(a)
		}),
		"statusCheckRollup": checks(func(ask) any { return g.rollup(r, sha) }),
		"status": checks(func(ask) any {
			list := r.latestStatuses(sha)
			if len(list) == 0 {
				return nil
			}
			contexts := []any{}
			for _, st := range list {
				contexts = append(contexts, g.status(r, st))
			}
			return &gobject{typ: "Status", fields: fields{
				"id": is(nodeID("S", r.id) + "_" + sha), "state": is(worst(list, nil)), "contexts": is(contexts),
				"combinedContexts": g.contexts(r, list, r.currentRuns(sha)), "commit": get(func() any { return g.commit(r, sha) }),
				"context": func(a ask) any {
					for _, st := range list {
						if st.context == a.text("name") {
							return g.status(r, st)
						}
					}
					return nil
				},
			}}
		}),
	}}
}

var coAuthor = regexp.MustCompile(`(?im)^co-authored-by:\s*(.*?)\s*<([^<>\s]+)>\s*$`)

// currentRuns are the newest check runs of each name in each suite, oldest first.
func (r *Repo) currentRuns(sha string) []*checkRun {
	var list []*checkRun
	for _, run := range r.runs {
		if run.headSHA != sha {
			continue
		}
		list = slices.DeleteFunc(list, func(old *checkRun) bool { return old.name == run.name && old.suite == run.suite })
		list = append(list, run)
	}
	return list
}

// rollup is null for a commit that nobody reported on.
func (g *graph) rollup(r *Repo, sha string) any {
	statuses, runs := r.latestStatuses(sha), r.currentRuns(sha)
	if !g.may(r, "statuses:read") {
		statuses = nil
	}
	if !g.may(r, "checks:read") {
		runs = nil
	}
	if len(statuses)+len(runs) == 0 {
		return nil
	}
	return &gobject{typ: "StatusCheckRollup", fields: fields{
		"id": is(nodeID("SCR", r.id) + "_" + sha), "state": is(worst(statuses, runs)), "commit": get(func() any { return g.commit(r, sha) }),
		"contexts": g.contexts(r, statuses, runs),
	}}
}

// contexts pages check runs and statuses together.
func (g *graph) contexts(r *Repo, statuses []*status, runs []*checkRun) func(ask) any {
	page := connect(func() []*gobject {
		var list []*gobject
		for _, run := range runs {
			list = append(list, g.run(r, run))
		}
		for _, st := range statuses {
			list = append(list, g.status(r, st))
		}
		return list
	}, func(o *gobject) any { return o })
	return func(a ask) any {
		v := page(a)
		if o, paged := v.(*gobject); paged {
			o.fields["checkRunCount"], o.fields["statusContextCount"] = is(len(runs)), is(len(statuses))
		}
		return v
	}
}

// worst is the state of all reports together.
func worst(statuses []*status, runs []*checkRun) string {
	rank := map[string]int{"success": 0, "neutral": 0, "skipped": 0, "pending": 1, "": 1, "error": 3}
	names := []string{"SUCCESS", "PENDING", "FAILURE", "ERROR"}
	top := 0
	add := func(state string) {
		n, known := rank[state]
		if !known {
			n = 2
		}
		top = max(top, n)
	}
	for _, st := range statuses {
		add(st.state)
	}
	for _, run := range runs {
		add(run.conclusion)
	}
	return names[top]
}

func enum(s string) any {
	if s == "" {
		return nil
	}
	return strings.ToUpper(s)
}

func (g *graph) suite(r *Repo, suite *checkSuite) *gobject {
	web := fmt.Sprintf("%s/commit/%s/checks?check_suite_id=%d", r.web(), suite.headSHA, suite.id)
	return &gobject{typ: "CheckSuite", fields: fields{
		"id": is(nodeID("CS", suite.id)), "databaseId": is(suite.id), "status": is(enum(suite.status)), "conclusion": is(enum(suite.conclusion)),
		"createdAt": is(suite.created), "updatedAt": is(suite.updated), "url": is(web), "resourcePath": is(strings.TrimPrefix(web, g.s.URL)),
		"repository": is(g.repo(r)), "app": get(func() any { return g.app(suite.app) }), "commit": get(func() any { return g.commit(r, suite.headSHA) }), "creator": is(nil),
		"branch": get(func() any {
			if suite.headBranch == "" {
				return nil
			}
			return g.ref(r, "refs/heads/"+suite.headBranch)
		}),
		"checkRuns": func(a ask) any {
			filter, _ := a.args["filterBy"].(map[string]any)
			return connect(func() []*checkRun {
				var list []*checkRun
				runs := r.currentRuns(suite.headSHA)
				if fmt.Sprint(filter["checkType"]) == "ALL" {
					runs = r.runs
				}
				for _, run := range runs {
					name, named := filter["checkName"].(string)
					if run.suite == suite && (!named || run.name == name) {
						list = append(list, run)
					}
				}
				return list
			}, func(run *checkRun) any { return g.run(r, run) })(a)
		},
		"matchingPullRequests": func(a ask) any {
			var list []*PullRequest
			for _, p := range r.sortedPulls() {
				if p.headSHA == suite.headSHA && p.headRepo == r {
					list = append(list, p)
				}
			}
			return g.pulls(a, list)
		},
	}}
}

func (g *graph) app(a *app) any {
	if a == nil {
		return nil
	}
	return &gobject{typ: "App", fields: fields{
		"id": is(nodeID("A", a.id)), "databaseId": is(a.id), "clientId": is(a.clientID), "name": is(a.name), "slug": is(a.slug), "description": is(nil),
		"createdAt": is(a.created), "updatedAt": is(a.created), "url": is(g.s.URL + "/apps/" + a.slug), "logoUrl": is(g.s.URL + "/avatars/a"), "logoBackgroundColor": is("ffffff"),
	}}
}

func (g *graph) run(r *Repo, run *checkRun) *gobject {
	web := fmt.Sprintf("%s/runs/%d", r.web(), run.id)
	details := run.detailsURL
	if details == "" {
		details = web
	}
	return &gobject{typ: "CheckRun", fields: fields{
		"id": is(nodeID("CR", run.id)), "databaseId": is(run.id), "name": is(run.name), "status": is(enum(run.status)), "conclusion": is(enum(run.conclusion)),
		"title": is(text(run.title)), "summary": is(text(run.summary)), "text": is(text(run.text)), "externalId": is(text(run.externalID)), "detailsUrl": is(details),
		"url": is(web), "permalink": is(web), "resourcePath": is(strings.TrimPrefix(web, g.s.URL)), "startedAt": is(run.started), "completedAt": is(run.completed),
		"repository": is(g.repo(r)), "checkSuite": get(func() any { return g.suite(r, run.suite) }), "isRequired": is(false),
		"annotations": connect(func() []Annotation { return run.annotations }, func(n Annotation) any {
			end := func(line, column int) *gobject {
				return &gobject{typ: "CheckAnnotationPosition", fields: fields{"line": is(line), "column": is(lineOrNull(column))}}
			}
			return &gobject{typ: "CheckAnnotation", fields: fields{
				"path": is(n.Path), "message": is(n.Message), "title": is(text(n.Title)), "rawDetails": is(text(n.Raw)), "annotationLevel": is(enum(n.Level)),
				"blobUrl": is(r.web() + "/blob/" + run.headSHA + "/" + n.Path), "databaseId": is(nil),
				"location": is(&gobject{typ: "CheckAnnotationSpan", fields: fields{"start": is(end(n.StartLine, n.StartColumn)), "end": is(end(n.EndLine, n.EndColumn))}}),
			}}
		}),
	}}
}

func (g *graph) status(r *Repo, st *status) *gobject {
	return &gobject{typ: "StatusContext", fields: fields{
		"id": is(nodeID("SC", st.id)), "context": is(st.context), "state": is(enum(st.state)), "description": is(text(st.description)), "targetUrl": is(text(st.target)),
		"createdAt": is(st.created), "creator": get(func() any { return g.actor(st.creator) }), "commit": get(func() any { return g.commit(r, st.sha) }), "isRequired": is(false),
		"avatarUrl": is(nil),
	}}
}

func (g *graph) label(r *Repo, l *label) *gobject {
	return &gobject{typ: "Label", fields: fields{
		"id": is(nodeID("LA", l.id)), "name": is(l.name), "color": is(l.color), "description": is(nil), "isDefault": is(false), "repository": is(g.repo(r)),
		"url": is(r.web() + "/labels/" + strings.ReplaceAll(l.name, " ", "%20")), "createdAt": is(nil), "updatedAt": is(nil),
	}}
}

func (g *graph) labels(r *Repo, i *issue) func(ask) any {
	return connect(func() []string { return i.labels }, func(name string) any { return g.label(r, r.label(name)) })
}

func (g *graph) comments(r *Repo, number int) func(ask) any {
	return connect(func() []*issueComment { return r.conversation(number) }, func(m *issueComment) any { return g.comment(r, m) })
}

// written are the fields of everything that somebody wrote.
func (g *graph) written(r *Repo, author, body string, created, updated time.Time) fields {
	return fields{
		"author": get(func() any { return g.actor(author) }), "authorAssociation": is(r.association(author)), "body": is(body), "bodyText": is(body),
		"createdAt": is(created), "updatedAt": is(updated), "publishedAt": is(created), "repository": is(g.repo(r)), "createdViaEmail": is(false), "includesCreatedEdit": is(false),
		"viewerDidAuthor": is(author == g.who.login), "viewerCanUpdate": is(author == g.who.login), "lastEditedAt": is(nil), "editor": is(nil), "viewerCanReact": is(true),
		"isMinimized": is(false), "minimizedReason": is(nil),
	}
}

func (f fields) and(more fields) fields {
	for name, value := range more {
		f[name] = value
	}
	return f
}

func (g *graph) reactions(list []Reaction) func(ask) any {
	names := map[string]string{"+1": "THUMBS_UP", "-1": "THUMBS_DOWN"}
	page := connect(func() []Reaction { return list }, func(r Reaction) any {
		content := names[r.Content]
		if content == "" {
			content = strings.ToUpper(r.Content)
		}
		return &gobject{typ: "Reaction", fields: fields{
			"id": is(nodeID("REA", r.ID)), "databaseId": is(r.ID), "content": is(content), "createdAt": is(g.s.now()), "user": get(func() any { return g.user(r.User) }),
		}}
	})
	return func(a ask) any {
		v := page(a)
		if o, paged := v.(*gobject); paged {
			o.fields["viewerHasReacted"] = is(slices.ContainsFunc(list, func(r Reaction) bool { return r.User == g.who.login }))
		}
		return v
	}
}

func (g *graph) issue(r *Repo, i *issue) *gobject {
	web := r.web() + "/issues/" + strconv.Itoa(i.number)
	return &gobject{typ: "Issue", fields: g.written(r, i.author, i.body, i.created, i.updated).and(fields{
		"id": is(nodeID("I", i.id)), "databaseId": is(i.id), "fullDatabaseId": is(strconv.FormatInt(i.id, 10)), "number": is(i.number), "title": is(i.title),
		"state": is(enum(i.state)), "closed": is(i.state == "closed"), "closedAt": is(i.closed), "url": is(web), "resourcePath": is(strings.TrimPrefix(web, g.s.URL)), "locked": is(false),
		"labels": g.labels(r, i), "comments": g.comments(r, i.number), "reactions": g.reactions(nil),
	})}
}

func (g *graph) comment(r *Repo, m *issueComment) *gobject {
	kind := "/issues/"
	p := r.pulls[m.number]
	if p != nil {
		kind = "/pull/"
	}
	web := fmt.Sprintf("%s%s%d#issuecomment-%d", r.web(), kind, m.number, m.id)
	return &gobject{typ: "IssueComment", fields: g.written(r, m.author, m.body, m.created, m.updated).and(fields{
		"id": is(nodeID("IC", m.id)), "databaseId": is(m.id), "fullDatabaseId": is(strconv.FormatInt(m.id, 10)), "url": is(web), "resourcePath": is(strings.TrimPrefix(web, g.s.URL)),
		"isMinimized": is(m.minimized != ""), "minimizedReason": is(text(m.minimized)), "viewerCanMinimize": is(true), "viewerCanDelete": is(m.author == g.who.login),
		"reactions": g.reactions(m.reactions),
		"pullRequest": get(func() any {
			if p == nil {
				return nil
			}
			return g.pull(p)
		}),
		"issue": get(func() any { return g.issue(r, r.issue(m.number)) }),
	})}
}

func (g *graph) pull(p *PullRequest) *gobject {
	r := p.repo
	mergeable := map[mergeability]string{mergeUnknown: "UNKNOWN", mergeClean: "MERGEABLE", mergeConflict: "CONFLICTING"}[p.mergeable]
	// The answer says what is known; asking is what starts the work.
	asked := func(v any) func(ask) any {
		return func(ask) any {
			if p.mergeable == mergeUnknown && p.state == "open" {
				g.after = append(g.after, p.computeMerge)
			}
			return v
		}
	}
	var merge any
	if !p.merged && p.mergeSHA != "" && p.mergeable == mergeClean {
		merge = p.mergeSHA
	}
	commits := p.commits
	asCommit := func(i commitInfo) any {
		web := p.web() + "/commits/" + i.sha
		return &gobject{typ: "PullRequestCommit", fields: fields{
			"id": is(nodeID("PRC", p.id) + "_" + i.sha), "commit": get(func() any { return g.commit(r, i.sha) }), "pullRequest": get(func() any { return g.pull(p) }),
			"url": is(web), "resourcePath": is(strings.TrimPrefix(web, g.s.URL)),
		}}
	}
	reviews := func(a ask) any {
		states, filtered := a.args["states"].([]any)
		author := strings.TrimSuffix(a.text("author"), "[bot]")
		return connect(func() []*review {
			var list []*review
			for _, v := range p.reviews {
				if v.state == "PENDING" && v.author != g.who.login || filtered && !slices.Contains(states, any(v.state)) || author != "" && strings.TrimSuffix(v.author, "[bot]") != author {
					continue
				}
				list = append(list, v)
			}
			return list
		}, func(v *review) any { return g.review(p, v) })(a)
	}
	return &gobject{typ: "PullRequest", fields: g.written(r, p.author, p.body, p.created, p.updated).and(fields{
		"id": is(nodeID("PR", p.id)), "databaseId": is(p.id), "fullDatabaseId": is(strconv.FormatInt(p.id, 10)), "number": is(p.number), "title": is(p.title),
		"state": is(p.stateName()), "closed": is(p.state == "closed"), "closedAt": is(p.closed), "merged": is(p.merged), "mergedAt": is(p.mergedAt),
		"mergedBy": get(func() any { return g.actor(p.mergedBy) }), "isDraft": is(p.draft), "locked": is(false), "url": is(p.web()), "permalink": is(p.web()),
		"resourcePath": is(strings.TrimPrefix(p.web(), g.s.URL)), "isCrossRepository": is(p.headRepo != r), "maintainerCanModify": is(p.headRepo != r),
		"headRefName": is(p.headRef), "headRefOid": is(p.headSHA), "baseRefName": is(p.baseRef), "baseRefOid": is(p.baseSHA), "lastEditedAt": is(p.bodyEdited),
		"headRef":        get(func() any { return g.ref(p.headRepo, "refs/heads/"+p.headRef) }),
		"baseRef":        get(func() any { return g.ref(r, "refs/heads/"+p.baseRef) }),
		"baseRepository": is(g.repo(r)),
		"headRepository": get(func() any {
			if g.s.repos[p.headRepo.id] == nil {
				return nil
			}
			return g.repo(p.headRepo)
		}),
		"headRepositoryOwner": get(func() any { return g.actor(p.headRepo.owner) }),
		"changedFiles":        get(func() any { return len(p.change().files) }), "additions": get(func() any { return p.change().additions }), "deletions": get(func() any { return p.change().deletions }),
		"mergeable": asked(mergeable), "mergeStateStatus": asked(map[string]string{"UNKNOWN": "UNKNOWN", "MERGEABLE": "CLEAN", "CONFLICTING": "DIRTY"}[mergeable]),
		"potentialMergeCommit": func(a ask) any {
			asked(nil)(a)
			if merge == nil {
				return nil
			}
			return g.commit(r, p.mergeSHA)
		},
		"mergeCommit": get(func() any {
			if !p.merged {
				return nil
			}
			return g.commit(r, p.mergeSHA)
		}),
		"reviewDecision": is(nil), "isInMergeQueue": is(false), "isMergeQueueEnabled": is(false), "labels": g.labels(r, &p.issue), "comments": g.comments(r, p.number),
		"commits": connect(commits, asCommit), "reactions": g.reactions(nil), "reviews": reviews,
		"files": connect(func() []changedFile { return p.change().files[:min(len(p.change().files), maxPullFiles)] }, func(f changedFile) any {
			kind := map[string]string{"added": "ADDED", "removed": "DELETED", "modified": "MODIFIED", "renamed": "RENAMED", "copied": "COPIED", "changed": "CHANGED"}[f.status]
			return &gobject{typ: "PullRequestChangedFile", fields: fields{
				"path": is(f.path), "additions": is(f.additions), "deletions": is(f.deletions), "changeType": is(kind), "viewerViewedState": is("UNVIEWED"),
			}}
		}),
		"closingIssuesReferences": func(a ask) any {
			return connect(func() []*closingIssue { return p.closing(g) }, func(c *closingIssue) any { return g.issue(c.repo, c.issue) })(a)
		},
		"reviewThreads": connect(p.visibleThreads, func(t *thread) any { return g.thread(p, t) }),
		"reviewRequests": connect(func() []string {
			list := slices.Clone(p.reviewers)
			for _, t := range p.teams {
				list = append(list, "@"+t)
			}
			return list
		}, func(who string) any { return g.reviewRequest(p, who) }),
		"statusCheckRollup": get(func() any { return g.rollup(r, p.headSHA) }),
	})}
}

func (g *graph) reviewRequest(p *PullRequest, who string) *gobject {
	reviewer := get(func() any { return g.actor(who) })
	if slug, isTeam := strings.CutPrefix(who, "@"); isTeam {
		web := g.s.URL + "/orgs/" + p.repo.owner + "/teams/" + slug
		id := g.s.account("team/" + p.repo.owner + "/" + slug).id
		reviewer = is(&gobject{typ: "Team", fields: fields{
			"id": is(nodeID("T", id)), "databaseId": is(id), "name": is(slug), "slug": is(slug), "combinedSlug": is(p.repo.owner + "/" + slug), "url": is(web), "description": is(nil),
			"organization": get(func() any { return g.organization(p.repo.owner) }),
		}})
	}
	return &gobject{typ: "ReviewRequest", fields: fields{
		"id": is(nodeID("RR", p.id) + "_" + who), "databaseId": is(nil), "asCodeOwner": is(false), "pullRequest": get(func() any { return g.pull(p) }), "requestedReviewer": reviewer,
	}}
}

type closingIssue struct {
	repo  *Repo
	issue *issue
}

// closingWords are the keywords by which a pull request's body names the issues that it closes.
var closingWords = regexp.MustCompile(`(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+(?:([\w.-]+/[\w.-]+))?#(\d+)\b`)

// closing lists the issues that the body names and the caller may see. Keywords work towards the default branch only.
func (p *PullRequest) closing(g *graph) []*closingIssue {
	var list []*closingIssue
	if p.baseRef != p.repo.defaultBranch {
		return nil
	}
	for _, m := range closingWords.FindAllStringSubmatch(p.body, -1) {
		r := p.repo
		if m[1] != "" {
			owner, name, _ := strings.Cut(m[1], "/")
			r, _ = g.s.find(owner, name)
		}
		n, err := strconv.Atoi(m[2])
		if err != nil || r == nil || r.issues[n] == nil || !g.who.sees(r) || !g.may(r, "issues:read") {
			continue
		}
		if !slices.ContainsFunc(list, func(c *closingIssue) bool { return c.issue == r.issues[n] }) {
			list = append(list, &closingIssue{repo: r, issue: r.issues[n]})
		}
	}
	return list
}

// visibleThreads are the conversations that were published.
func (p *PullRequest) visibleThreads() []*thread {
	return slices.DeleteFunc(slices.Clone(p.threads), func(t *thread) bool { return t.comments[0].review != nil && t.comments[0].review.state == "PENDING" })
}

func (g *graph) review(p *PullRequest, v *review) *gobject {
	web := fmt.Sprintf("%s#pullrequestreview-%d", p.web(), v.id)
	return &gobject{typ: "PullRequestReview", fields: g.written(p.repo, v.author, v.body, v.submitted, v.submitted).and(fields{
		"id": is(nodeID("PRR", v.id)), "databaseId": is(v.id), "fullDatabaseId": is(strconv.FormatInt(v.id, 10)), "state": is(v.state), "submittedAt": is(v.submitted),
		"url": is(web), "resourcePath": is(strings.TrimPrefix(web, g.s.URL)), "commit": get(func() any { return g.commit(p.repo, v.commit) }),
		"pullRequest": get(func() any { return g.pull(p) }), "reactions": g.reactions(nil), "viewerCanDelete": is(false), "viewerCanMinimize": is(true),
		"authorCanPushToRepository": is(slices.Contains([]string{"write", "maintain", "admin"}, p.repo.role(v.author))),
		"comments": connect(func() []*reviewComment {
			return slices.DeleteFunc(p.notes(), func(n *reviewComment) bool { return n.review != v })
		}, func(n *reviewComment) any { return g.reviewNote(n) }),
	})}
}

func (g *graph) thread(p *PullRequest, t *thread) *gobject {
	first := t.comments[0]
	subject := strings.ToUpper(first.subject)
	var resolver any
	if t.resolved {
		resolver = g.user(t.resolvedBy)
	}
	return &gobject{typ: "PullRequestReviewThread", fields: fields{
		"id": is(nodeID("PRRT", t.id)), "isResolved": is(t.resolved), "isOutdated": is(first.outdated()), "isCollapsed": is(t.resolved || first.outdated()),
		"path": is(first.path), "line": is(lineOrNull(first.line)), "startLine": is(lineOrNull(first.startLine)), "originalLine": is(lineOrNull(first.originalLine)),
		"originalStartLine": is(lineOrNull(first.originalStart)), "diffSide": is(first.side), "startDiffSide": is(text(first.startSide)), "subjectType": is(subject),
		"resolvedBy": is(resolver), "pullRequest": get(func() any { return g.pull(p) }), "repository": is(g.repo(p.repo)),
		"viewerCanReply": is(true), "viewerCanResolve": is(!t.resolved), "viewerCanUnresolve": is(t.resolved),
		"comments": connect(func() []*reviewComment { return t.comments }, func(n *reviewComment) any { return g.reviewNote(n) }),
	}}
}

func (g *graph) reviewNote(n *reviewComment) *gobject {
	p := n.pull
	web := fmt.Sprintf("%s#discussion_r%d", p.web(), n.id)
	state := "SUBMITTED"
	if n.review != nil && n.review.state == "PENDING" {
		state = "PENDING"
	}
	return &gobject{typ: "PullRequestReviewComment", fields: g.written(p.repo, n.author, n.body, n.created, n.updated).and(fields{
		"id": is(nodeID("PRRC", n.id)), "databaseId": is(n.id), "fullDatabaseId": is(strconv.FormatInt(n.id, 10)), "path": is(n.path), "diffHunk": is(n.hunk),
		"line": is(lineOrNull(n.line)), "startLine": is(lineOrNull(n.startLine)), "originalLine": is(lineOrNull(n.originalLine)), "originalStartLine": is(lineOrNull(n.originalStart)),
		"outdated": is(n.outdated()), "position": is(lineOrNull(n.position)), "originalPosition": is(max(1, n.originalPosition)), "state": is(state),
		"subjectType": is(strings.ToUpper(n.subject)), "url": is(web), "resourcePath": is(strings.TrimPrefix(web, g.s.URL)),
		"commit": get(func() any { return g.commit(p.repo, n.commit) }), "originalCommit": get(func() any { return g.commit(p.repo, n.originalCommit) }),
		"pullRequest": get(func() any { return g.pull(p) }), "reactions": g.reactions(n.reactions), "draftedAt": is(n.created),
		"viewerCanDelete": is(n.author == g.who.login), "viewerCanMinimize": is(true),
		"pullRequestReview": get(func() any {
			if n.review == nil {
				return nil
			}
			return g.review(p, n.review)
		}),
		"replyTo": get(func() any {
			if first := p.repo.reviewNotes[n.replyTo]; first != nil {
				return g.reviewNote(first)
			}
			return nil
		}),
	})}
}
