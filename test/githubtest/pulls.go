package githubtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PR is a pull request to open. Head is a branch, or "account:branch" of a fork; Base defaults to the default branch, Author to "dev".
type PR struct {
	Title, Body, Head, Base, Author string
	Draft                           bool
	Labels                          []string
}

// OpenPR opens a pull request.
func (r *Repo) OpenPR(p PR) *PullRequest {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if p.Author == "" {
		p.Author = "dev"
	}
	pull, problem := r.open(p)
	if problem != "" {
		panic(fmt.Sprintf("githubtest: opening a pull request on %s/%s: %s", r.owner, r.name, problem))
	}
	return pull
}

// open opens a pull request or says why it cannot; the caller holds s.mu.
func (r *Repo) open(p PR) (*PullRequest, string) {
	if p.Base == "" {
		p.Base = r.defaultBranch
	}
	headRepo, branch := r, p.Head
	if account, b, cross := strings.Cut(p.Head, ":"); cross {
		branch, headRepo = b, nil
		for _, candidate := range r.s.sortedRepos() {
			if strings.EqualFold(candidate.owner, account) && (candidate == r || candidate.fork == r) {
				headRepo = candidate
			}
		}
	}
	if headRepo == nil || headRepo.branch(branch) == "" {
		return nil, "head is invalid"
	}
	base := r.branch(p.Base)
	if base == "" {
		return nil, "base is invalid"
	}
	for _, other := range r.pulls {
		if other.state == "open" && other.headRepo == headRepo && other.headRef == branch && other.baseRef == p.Base {
			return nil, "A pull request already exists for " + headRepo.owner + ":" + branch + "."
		}
	}
	now := r.s.now()
	r.nextNumber++
	pull := &PullRequest{
		repo: r, issue: issue{id: r.s.id(), number: r.nextNumber, title: p.Title, body: p.Body, author: p.Author, state: "open", created: now, updated: now},
		draft: p.Draft, headRepo: headRepo, headRef: branch, baseRef: p.Base, baseSHA: base,
	}
	r.s.account(p.Author)
	for _, l := range p.Labels {
		r.label(l)
		pull.labels = append(pull.labels, l)
	}
	r.pulls[pull.number] = pull
	pull.moveHead(headRepo.branch(branch))
	if head := pull.headSHA; r.mergeBase(base, head) != "" && len(r.between(base, head)) == 0 {
		delete(r.pulls, pull.number)
		return nil, "No commits between " + p.Base + " and " + p.Head
	}
	r.s.emit(event{name: "pull_request", action: "opened", repo: r, pull: pull, sender: p.Author})
	return pull, ""
}

// moveHead points the pull request at a commit of its head repository; the caller holds s.mu.
func (p *PullRequest) moveHead(sha string) {
	if p.headRepo != p.repo {
		p.repo.git("fetch", "-q", p.headRepo.dir, sha)
	}
	p.repo.git("update-ref", fmt.Sprintf("refs/pull/%d/head", p.number), sha)
	p.headSHA, p.mergeable = sha, mergeUnknown
	for _, t := range p.threads {
		for _, c := range t.comments {
			c.age(sha)
		}
	}
}

// computeMerge makes the test merge, as GitHub does in the background after someone asked.
func (p *PullRequest) computeMerge() {
	r := p.repo
	out, err := r.tryGit(nil, "merge-tree", "--write-tree", "--allow-unrelated-histories", p.baseSHA, p.headSHA)
	ref := fmt.Sprintf("refs/pull/%d/merge", p.number)
	if err != nil {
		p.mergeable = mergeConflict
		p.mergeSHA = ""
		if _, err := r.tryGit(nil, "update-ref", "-d", ref); err != nil {
			r.s.later(fmt.Errorf("the emulator's test merge: %w", err))
		}
		return
	}
	tree := strings.TrimSpace(string(out))
	when := strconv.FormatInt(r.s.now().Unix(), 10) + " +0000"
	commit := fmt.Sprintf("tree %s\nparent %s\nparent %s\nauthor GitHub <noreply@github.com> %s\ncommitter GitHub <noreply@github.com> %s\n\nMerge %s into %s\n",
		tree, p.baseSHA, p.headSHA, when, when, p.headSHA, p.baseSHA)
	sha, err := r.tryGit([]byte(commit), "hash-object", "-t", "commit", "-w", "--stdin")
	if err != nil {
		r.s.later(fmt.Errorf("the emulator's test merge: %w", err))
		return
	}
	p.mergeSHA = strings.TrimSpace(string(sha))
	r.git("update-ref", ref, p.mergeSHA)
	p.mergeable = mergeClean
}

// change is the pull request's diff: from where its branch left the base to its head. Of histories without a common
// ancestor it is the whole difference.
func (p *PullRequest) change() *change {
	base := p.repo.mergeBase(p.baseSHA, p.headSHA)
	if base == "" {
		base = p.baseSHA
	}
	return p.repo.diff(base, p.headSHA)
}

func (p *PullRequest) commits() []commitInfo { return p.repo.between(p.baseSHA, p.headSHA) }

func (s *Server) allPulls() []*PullRequest {
	var all []*PullRequest
	for _, r := range s.sortedRepos() {
		all = append(all, r.sortedPulls()...)
	}
	return all
}

func (r *Repo) sortedPulls() []*PullRequest {
	var list []*PullRequest
	for _, p := range r.pulls {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *PullRequest) int { return a.number - b.number })
	return list
}

// Diff is the pull request's diff as its page shows it, whole.
func (p *PullRequest) Diff() string {
	return locked(p, func() string { return string(p.change().raw) })
}

// PRs lists the pull requests of the repository by number.
func (r *Repo) PRs() []*PullRequest {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.sortedPulls()
}

// Number is the pull request's number.
func (p *PullRequest) Number() int { return p.number }

// HeadSHA is the commit at the head, as of now.
func (p *PullRequest) HeadSHA() string {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	return p.headSHA
}

// BaseSHA is the commit at the tip of the base branch, as of now.
func (p *PullRequest) BaseSHA() string {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	return p.baseSHA
}

// Repo is the repository that the pull request is on.
func (p *PullRequest) Repo() *Repo { return p.repo }

// Title is the title, as of now.
func (p *PullRequest) Title() string { return locked(p, func() string { return p.title }) }

// Body is the description, as of now.
func (p *PullRequest) Body() string { return locked(p, func() string { return p.body }) }

// Author is who opened it.
func (p *PullRequest) Author() string { return locked(p, func() string { return p.author }) }

// State is open, closed or merged.
func (p *PullRequest) State() string {
	return locked(p, func() string {
		if p.merged {
			return "merged"
		}
		return p.state
	})
}

// URL is the pull request's web page.
func (p *PullRequest) URL() string { return locked(p, p.web) }

func locked[T any](p *PullRequest, f func() T) T {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	return f()
}

// Edit changes title or body (an empty string leaves it) as the author.
func (p *PullRequest) Edit(title, body string) { p.EditAs("", title, body, "") }

// EditAs changes title, body or base branch as somebody; empty strings leave what is there.
func (p *PullRequest) EditAs(sender, title, body, base string) {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	changes := map[string]any{}
	if title != "" && title != p.title {
		changes["title"] = object{"from": p.title}
		p.title = title
	}
	if body != "" && body != p.body {
		changes["body"] = object{"from": p.body}
		p.body, p.bodyEdited = body, p.repo.s.now()
	}
	if base != "" && base != p.baseRef {
		sha := p.repo.branch(base)
		if sha == "" {
			panic(fmt.Sprintf("githubtest: there is no branch %q to be the base", base))
		}
		changes["base"] = object{"ref": object{"from": p.baseRef}, "sha": object{"from": p.baseSHA}}
		p.baseRef, p.baseSHA, p.mergeable = base, sha, mergeUnknown
	}
	p.did("edited", sender, event{changes: changes})
}

// did dates the pull request and tells of an action on it; the caller holds s.mu.
func (p *PullRequest) did(action, sender string, e event) {
	if sender == "" {
		sender = p.author
	}
	p.updated = p.repo.s.now()
	e.name, e.action, e.repo, e.pull, e.sender = "pull_request", action, p.repo, p, sender
	p.repo.s.emit(e)
}

// Close closes the pull request without merging it.
func (p *PullRequest) Close() {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	p.state, p.closed = "closed", p.repo.s.now()
	p.did("closed", "", event{})
}

// Reopen opens it again.
func (p *PullRequest) Reopen() {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	p.state, p.closed = "open", time.Time{}
	if tip := p.headRepo.branch(p.headRef); tip != "" && tip != p.headSHA {
		p.moveHead(tip)
	}
	p.did("reopened", "", event{})
}

// Merge merges it into its base with a merge commit.
func (p *PullRequest) Merge(by string) {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	if p.computeMerge(); p.mergeable != mergeClean {
		panic(fmt.Sprintf("githubtest: #%d has conflicts", p.number))
	}
	now := p.repo.s.now()
	before := p.baseSHA
	p.repo.git("update-ref", "refs/heads/"+p.baseRef, p.mergeSHA)
	p.state, p.closed, p.merged, p.mergedAt, p.mergedBy = "closed", now, true, now, by
	p.did("closed", by, event{})
	p.repo.pushedTo(p.baseRef, before, p.mergeSHA, by, false)
}

// Ready takes a draft out of drafts; Draft makes it one.
func (p *PullRequest) Ready() {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	p.draft = false
	p.did("ready_for_review", "", event{})
}

// Draft is described with Ready.
func (p *PullRequest) Draft() {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	p.draft = true
	p.did("converted_to_draft", "", event{})
}

// Label adds a label as somebody; Unlabel takes it away.
func (p *PullRequest) Label(sender, name string) {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	p.repo.addLabel(&p.issue, sender, name)
}

// Unlabel is described with Label.
func (p *PullRequest) Unlabel(sender, name string) {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	p.repo.removeLabel(&p.issue, sender, name)
}

// Labels lists the labels.
func (p *PullRequest) Labels() []string {
	return locked(p, func() []string { return slices.Clone(p.labels) })
}

// RequestedReviewers lists the people, and the teams as "@slug", that are asked for a review.
func (p *PullRequest) RequestedReviewers() []string {
	return locked(p, func() []string {
		list := slices.Clone(p.reviewers)
		for _, t := range p.teams {
			list = append(list, "@"+t)
		}
		return list
	})
}

func (p *PullRequest) api() string { return p.repo.api() + "/pulls/" + strconv.Itoa(p.number) }
func (p *PullRequest) web() string { return p.repo.web() + "/pull/" + strconv.Itoa(p.number) }

func pullRoutes() map[string]route {
	return map[string]route{
		"GET /repos/{owner}/{repo}/pulls":                       {need: "pull_requests:read", handle: listPulls},
		"POST /repos/{owner}/{repo}/pulls":                      {need: "pull_requests:write", handle: createPull},
		"GET /repos/{owner}/{repo}/pulls/{pull_number}":         {need: "pull_requests:read", handle: onPull(getPull)},
		"PATCH /repos/{owner}/{repo}/pulls/{pull_number}":       {need: "pull_requests:write", handle: onPull(updatePull)},
		"GET /repos/{owner}/{repo}/pulls/{pull_number}/files":   {need: "pull_requests:read", handle: onPull(listPullFiles)},
		"GET /repos/{owner}/{repo}/pulls/{pull_number}/commits": {need: "pull_requests:read", handle: onPull(listPullCommits)},
		"GET /repos/{owner}/{repo}/commits/{commit_sha}/pulls":  {need: "pull_requests:read", handle: listCommitPulls},
		"GET /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers": {need: "pull_requests:read", handle: onPull(func(c *call, p *PullRequest) reply {
			return ok(object{"users": c.s.userList(p.reviewers), "teams": c.s.teamList(p.repo.owner, p.teams)})
		})},
		"POST /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers":   {need: "pull_requests:write", handle: onPull(requestReviewers)},
		"DELETE /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers": {need: "pull_requests:write", handle: onPull(dropReviewers)},
	}
}

// onPull finds the pull request of the path.
func onPull(h func(*call, *PullRequest) reply) handler {
	return func(c *call) reply {
		p := c.repo.pulls[int(c.number("pull_number"))]
		if p == nil {
			return notFound()
		}
		return h(c, p)
	}
}

func listPulls(c *call) reply {
	state := c.query("state")
	if state == "" {
		state = "open"
	}
	var list []*PullRequest
	for _, p := range c.repo.sortedPulls() {
		if state != "all" && p.state != state {
			continue
		}
		if head := c.query("head"); head != "" && !strings.EqualFold(head, p.headRepo.owner+":"+p.headRef) {
			continue
		}
		if base := c.query("base"); base != "" && base != p.baseRef {
			continue
		}
		list = append(list, p)
	}
	switch c.query("sort") {
	case "updated":
		slices.SortStableFunc(list, func(a, b *PullRequest) int { return a.updated.Compare(b.updated) })
	case "popularity", "long-running":
		c.s.later(fmt.Errorf("the emulator does not sort pull requests by %s", c.query("sort")))
	}
	direction := c.query("direction")
	if direction == "" && (c.query("sort") == "" || c.query("sort") == "created") {
		direction = "desc"
	}
	if direction == "desc" {
		slices.Reverse(list)
	}
	return listSimple(c, list)
}

func listSimple(c *call, pulls []*PullRequest) reply {
	return list(c, pulls, func(p *PullRequest) any { return p.simpleJSON() })
}

func createPull(c *call) reply {
	var in struct {
		Title, Body, Head, Base string
		Draft                   bool
	}
	c.decode(&in)
	p, problem := c.repo.open(PR{Title: in.Title, Body: in.Body, Head: in.Head, Base: in.Base, Draft: in.Draft, Author: c.who.login})
	if problem != "" {
		return unprocessable("PullRequest", "head", "custom", problem)
	}
	return created(p.fullJSON())
}

func getPull(c *call, p *PullRequest) reply {
	if c.accepts("diff") {
		return p.change().diffReply("PullRequest")
	}
	rep := ok(p.fullJSON())
	// The answer says what is known; asking is what starts the work.
	if p.mergeable == mergeUnknown && p.state == "open" {
		p.computeMerge()
	}
	return rep
}

func updatePull(c *call, p *PullRequest) reply {
	var in struct{ Title, Body, State, Base *string }
	c.decode(&in)
	changes := map[string]any{}
	if in.Title != nil && *in.Title != p.title {
		changes["title"] = object{"from": p.title}
		p.title = *in.Title
	}
	if in.Body != nil && *in.Body != p.body {
		changes["body"] = object{"from": p.body}
		p.body, p.bodyEdited = *in.Body, c.s.now()
	}
	if in.Base != nil && *in.Base != p.baseRef {
		sha := c.repo.branch(*in.Base)
		if sha == "" {
			return unprocessable("PullRequest", "base", "invalid", "")
		}
		changes["base"] = object{"ref": object{"from": p.baseRef}, "sha": object{"from": p.baseSHA}}
		p.baseRef, p.baseSHA, p.mergeable = *in.Base, sha, mergeUnknown
	}
	if len(changes) > 0 {
		p.did("edited", c.who.login, event{changes: changes})
	}
	if in.State != nil && *in.State != p.state {
		p.state = *in.State
		if p.state == "closed" {
			p.closed = c.s.now()
			p.did("closed", c.who.login, event{})
		} else {
			p.closed = time.Time{}
			p.did("reopened", c.who.login, event{})
		}
	}
	return ok(p.fullJSON())
}

func listPullFiles(c *call, p *PullRequest) reply {
	files := p.change().files
	return list(c, files[:min(len(files), maxPullFiles)], func(f changedFile) any { return p.repo.fileJSON(f, p.headSHA) })
}

func listPullCommits(c *call, p *PullRequest) reply {
	commits := p.commits()
	return list(c, commits[:min(len(commits), maxPullCommits)], func(i commitInfo) any { return p.repo.commitJSON(i) })
}

// listCommitPulls lists the pull requests that contain a commit: of a commit on the default branch the merged ones first.
func listCommitPulls(c *call) reply {
	sha := c.repo.resolve(c.param("commit_sha"))
	if sha == "" {
		return refuse("No commit found for SHA: " + c.param("commit_sha"))
	}
	var list, open []*PullRequest
	for _, p := range c.repo.sortedPulls() {
		if p.headSHA != sha && p.mergeSHA != sha && !slices.ContainsFunc(p.commits(), func(i commitInfo) bool { return i.sha == sha }) {
			continue
		}
		if p.merged {
			list = append(list, p)
		} else {
			open = append(open, p)
		}
	}
	return listSimple(c, append(list, open...))
}

func requestReviewers(c *call, p *PullRequest) reply {
	var in struct {
		Reviewers     []string
		TeamReviewers []string `json:"team_reviewers"`
	}
	c.decode(&in)
	for _, login := range in.Reviewers {
		if strings.EqualFold(login, p.author) {
			return refuse("Review cannot be requested from pull request author.")
		}
		if p.repo.role(login) == "" {
			return refuse(fmt.Sprintf("Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the %s/%s repository.", p.repo.owner, p.repo.name))
		}
	}
	for _, login := range in.Reviewers {
		if !slices.Contains(p.reviewers, login) {
			p.reviewers = append(p.reviewers, login)
			p.did("review_requested", c.who.login, event{reviewer: login})
		}
	}
	for _, team := range in.TeamReviewers {
		if !slices.Contains(p.teams, team) {
			p.teams = append(p.teams, team)
		}
	}
	return created(p.simpleJSON())
}

func dropReviewers(c *call, p *PullRequest) reply {
	var in struct {
		Reviewers     []string
		TeamReviewers []string `json:"team_reviewers"`
	}
	c.decode(&in)
	p.reviewers = slices.DeleteFunc(p.reviewers, func(l string) bool { return slices.Contains(in.Reviewers, l) })
	p.teams = slices.DeleteFunc(p.teams, func(l string) bool { return slices.Contains(in.TeamReviewers, l) })
	return ok(p.simpleJSON())
}

func (s *Server) teamList(owner string, slugs []string) []any {
	out := []any{}
	for _, slug := range slugs {
		api := fmt.Sprintf("%sorgs/%s/teams/%s", s.REST, owner, slug)
		id := s.account("team/" + owner + "/" + slug).id
		out = append(out, object{
			"id": id, "node_id": nodeID("T", id), "name": slug, "slug": slug, "description": nil, "privacy": "closed", "permission": "push", "url": api,
			"html_url": s.URL + "/orgs/" + owner + "/teams/" + slug, "members_url": api + "/members{/member}", "repositories_url": api + "/repos", "parent": nil,
			"notification_setting": "notifications_enabled", "type": "organization", "organization_id": s.account(owner).id,
		})
	}
	return out
}

// association is how an author relates to the repository.
func (r *Repo) association(login string) string {
	switch {
	case strings.EqualFold(login, r.owner):
		return "OWNER"
	case r.role(login) == "admin" && r.s.account(r.owner).kind == "Organization":
		return "MEMBER"
	case r.role(login) != "":
		return "COLLABORATOR"
	}
	return "NONE"
}

func (p *PullRequest) endJSON(r *Repo, ref, sha string) object {
	body := object{"label": r.owner + ":" + ref, "ref": ref, "sha": sha, "user": r.s.user(r.owner), "repo": nil}
	if r.s.repos[r.id] != nil {
		body["repo"] = r.s.repoJSON(r)
	}
	return body
}

// simpleJSON is a pull request in a list.
func (p *PullRequest) simpleJSON() object {
	r, s := p.repo, p.repo.s
	api, web := p.api(), p.web()
	issueAPI := r.api() + "/issues/" + strconv.Itoa(p.number)
	links := object{}
	for name, to := range map[string]string{
		"self": api, "html": web, "issue": issueAPI, "comments": issueAPI + "/comments", "review_comments": api + "/comments",
		"review_comment": r.api() + "/pulls/comments{/number}", "commits": api + "/commits", "statuses": r.api() + "/statuses/" + p.headSHA,
	} {
		links[name] = object{"href": to}
	}
	labels := []any{}
	for _, l := range p.labels {
		label := r.labelJSON(r.label(l))
		label["description"] = "" // never null here, by the schema pull-request-simple
		labels = append(labels, label)
	}
	return object{
		"url": api, "id": p.id, "node_id": nodeID("PR", p.id), "html_url": web, "diff_url": web + ".diff", "patch_url": web + ".patch", "issue_url": issueAPI,
		"number": p.number, "state": p.state, "locked": false, "title": p.title, "user": s.user(p.author), "body": text(p.body),
		"created_at": stamp(p.created), "updated_at": stamp(p.updated), "closed_at": stamp(p.closed), "merged_at": stamp(p.mergedAt), "merge_commit_sha": text(p.mergeSHA),
		"assignee": nil, "assignees": []any{}, "requested_reviewers": s.userList(p.reviewers), "requested_teams": s.teamList(r.owner, p.teams),
		"labels": labels, "milestone": nil, "draft": p.draft, "commits_url": api + "/commits", "review_comments_url": api + "/comments",
		"review_comment_url": r.api() + "/pulls/comments{/number}", "comments_url": issueAPI + "/comments", "statuses_url": r.api() + "/statuses/" + p.headSHA,
		"head": p.endJSON(p.headRepo, p.headRef, p.headSHA), "base": p.endJSON(r, p.baseRef, p.baseSHA), "_links": links,
		"author_association": r.association(p.author), "auto_merge": nil, "active_lock_reason": nil,
	}
}

// fullJSON is a pull request by itself.
func (p *PullRequest) fullJSON() object {
	body := p.simpleJSON()
	ch := p.change()
	notes := 0
	for _, t := range p.threads {
		notes += len(t.comments)
	}
	comments := 0
	for _, c := range p.repo.comments {
		if c.number == p.number {
			comments++
		}
	}
	body["commits"], body["additions"], body["deletions"], body["changed_files"] = len(p.commits()), ch.additions, ch.deletions, len(ch.files)
	body["comments"], body["review_comments"], body["maintainer_can_modify"] = comments, notes, p.headRepo != p.repo
	body["merged"], body["merged_by"], body["rebaseable"] = p.merged, p.repo.s.userOrNull(p.mergedBy), nil
	switch {
	case p.merged || p.state != "open" || p.mergeable == mergeUnknown:
		body["mergeable"], body["mergeable_state"] = nil, "unknown"
	case p.mergeable == mergeConflict:
		body["mergeable"], body["mergeable_state"], body["rebaseable"] = false, "dirty", false
	default:
		body["mergeable"], body["mergeable_state"], body["rebaseable"] = true, "clean", true
		if p.draft {
			body["mergeable_state"] = "draft"
		}
	}
	return body
}
