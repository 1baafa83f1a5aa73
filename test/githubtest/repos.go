package githubtest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Removed is the contents of a file that a commit removes.
const Removed = "\x00removed"

// What Executable and Symlink put before a file's contents.
const (
	executable = "\x00executable\x00"
	symlink    = "\x00symlink\x00"
)

// Executable is a file with the executable bit.
func Executable(contents string) string { return executable + contents }

// Symlink is a symbolic link.
func Symlink(target string) string { return symlink + target }

// AddRepo adds a private repository with one commit on branch main and installs the App on its owner, which becomes an
// organization unless it was made before.
func (s *Server) AddRepo(fullName string, files map[string]string) *Repo {
	owner, name, ok := strings.Cut(fullName, "/")
	if !ok {
		panic(fmt.Sprintf("githubtest: %q is not owner/name", fullName))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accounts[strings.ToLower(owner)] == nil {
		s.account(owner).kind = "Organization"
	}
	r := s.newRepo(owner, name)
	r.private = true
	s.install(owner)
	r.write(Commit{Branch: r.defaultBranch, Message: "Start", Author: s.admin(owner), Files: files}, "")
	return r
}

// newRepo makes an empty repository; the caller holds s.mu.
func (s *Server) newRepo(owner, name string) *Repo {
	if existing, moved := s.find(owner, name); existing != nil && !moved {
		panic(fmt.Sprintf("githubtest: %s/%s exists", owner, name))
	}
	id := s.id()
	r := &Repo{
		s: s, id: id, owner: owner, name: name, defaultBranch: "main", dir: filepath.Join(s.opt.Dir, strconv.FormatInt(id, 10)+".git"),
		created: s.now(), pushed: s.now(), pulls: map[int]*PullRequest{}, issues: map[int]*issue{}, collaborators: map[string]string{},
		comments: map[int64]*issueComment{}, reviewNotes: map[int64]*reviewComment{}, labels: map[string]*label{}, memos: map[string]any{},
	}
	if s.account(owner).kind == "User" {
		r.collaborators[strings.ToLower(owner)] = "admin"
	}
	r.collaborators[s.admin(owner)] = "admin"
	out, err := (&Repo{dir: s.opt.Dir}).tryGit(nil, "init", "-q", "--bare", "-b", "main", r.dir)
	if err != nil {
		panic(fmt.Sprintf("githubtest: %v: %s", err, out))
	}
	// As GitHub's servers allow: any commit by name, and clones without blobs.
	config, err := os.OpenFile(filepath.Join(r.dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = config.WriteString("[uploadpack]\n\tallowAnySHA1InWant = true\n\tallowFilter = true\n")
		err = errors.Join(err, config.Close())
	}
	if err != nil {
		panic(fmt.Sprintf("githubtest: configuring %s/%s: %v", owner, name, err))
	}
	s.repos[id] = r
	return r
}

// Commit is a commit to make, with everything that can be said of one. Files hold whole contents (or Removed, Executable,
// Symlink); files that are not named stay.
type Commit struct {
	Branch, Message string
	Files           map[string]string
	// Author is a login, by default "dev". Name and Email default to the account's.
	Author, Name, Email string
	// Committer is a name and address in git's form, by default the author's.
	Committer string
	// From is the commit or branch to build on when the branch does not exist, by default the default branch.
	From string
	// Force puts the commit on From even if the branch exists: a force push.
	Force bool
	// Quiet makes no webhook.
	Quiet bool
	blobs map[string]string // object names of regular files by path
}

// Commit pushes one commit to a branch, which is made off the default one when it does not exist, and returns its name.
func (r *Repo) Commit(branch, message string, files map[string]string) (sha string) {
	return r.Push(Commit{Branch: branch, Message: message, Files: files})
}

// ForcePush replaces a branch by one commit on top of the default branch and returns the commit's name.
func (r *Repo) ForcePush(branch, message string, files map[string]string) (sha string) {
	return r.Push(Commit{Branch: branch, Message: message, Files: files, Force: true})
}

// Push pushes one commit.
func (r *Repo) Push(c Commit) (sha string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	before := r.branch(c.Branch)
	from := before
	if before == "" || c.Force {
		from = r.resolve(r.defaultBranch)
		if c.From != "" {
			if from = r.resolve(c.From); from == "" {
				panic(fmt.Sprintf("githubtest: %s/%s has no %q to commit on", r.owner, r.name, c.From))
			}
		}
	}
	sha = r.write(c, from)
	r.pushedTo(c.Branch, before, sha, c.Author, c.Quiet)
	return sha
}

// write makes a commit on from and points the branch at it; the caller holds s.mu.
func (r *Repo) write(c Commit, from string) (sha string) {
	author := c.Author
	if author == "" {
		author = "dev"
	}
	a := r.s.account(author)
	name, email := c.Name, c.Email
	if name == "" {
		name = a.login
	}
	if email == "" {
		email = r.s.noreply(author)
	}
	when := fmt.Sprintf("%d +0000", r.s.now().Unix())
	committer := c.Committer
	if committer == "" {
		committer = fmt.Sprintf("%s <%s>", name, email)
	}
	var in bytes.Buffer
	fmt.Fprintf(&in, "commit refs/heads/%s\nmark :1\nauthor %s <%s> %s\ncommitter %s %s\ndata %d\n%s\n", c.Branch, name, email, when, committer, when, len(c.Message), c.Message)
	if from != "" {
		fmt.Fprintf(&in, "from %s\n", from)
	}
	for _, path := range slices.Sorted(maps.Keys(c.Files)) {
		contents, mode := c.Files[path], "100644"
		switch {
		case contents == Removed:
			fmt.Fprintf(&in, "D %s\n", quotePath(path))
			continue
		case strings.HasPrefix(contents, executable):
			contents, mode = strings.TrimPrefix(contents, executable), "100755"
		case strings.HasPrefix(contents, symlink):
			contents, mode = strings.TrimPrefix(contents, symlink), "120000"
		}
		fmt.Fprintf(&in, "M %s inline %s\ndata %d\n%s\n", mode, quotePath(path), len(contents), contents)
	}
	for _, path := range slices.Sorted(maps.Keys(c.blobs)) {
		fmt.Fprintf(&in, "M 100644 %s %s\n", c.blobs[path], quotePath(path))
	}
	in.WriteString("get-mark :1\ndone\n")
	out, err := r.tryGit(in.Bytes(), "fast-import", "--quiet", "--force", "--done")
	if err != nil {
		panic(fmt.Sprintf("githubtest: committing to %s/%s: %v %s", r.owner, r.name, err, out))
	}
	return strings.TrimSpace(string(out))
}

// quotePath quotes a path for git fast-import.
func quotePath(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// noreply is the address by which GitHub knows an account's commits.
func (s *Server) noreply(login string) string {
	return fmt.Sprintf("%d+%s@users.noreply.github.com", s.account(login).id, login)
}

const zeroSHA = "0000000000000000000000000000000000000000"

// pushedTo does what a push causes: pull requests move, their comments age, and the world is told. The caller holds s.mu.
func (r *Repo) pushedTo(branch, before, after, sender string, quiet bool) {
	if sender == "" {
		sender = "dev"
	}
	r.pushed = r.s.now()
	if before == "" {
		before = zeroSHA
	}
	forced := before != zeroSHA && after != zeroSHA && r.mergeBase(before, after) != before
	var synchronized, closed []*PullRequest
	for _, p := range r.s.allPulls() {
		if p.state != "open" {
			continue
		}
		if after == zeroSHA && (p.headRepo == r && p.headRef == branch || p.repo == r && p.baseRef == branch) {
			closed = append(closed, p)
			continue
		}
		if p.headRepo == r && p.headRef == branch {
			p.moveHead(after)
			synchronized = append(synchronized, p)
		}
		if p.repo == r && p.baseRef == branch {
			p.baseSHA, p.mergeable = after, mergeUnknown
		}
	}
	for _, p := range closed {
		p.state, p.closed = "closed", r.s.now()
	}
	if quiet {
		return
	}
	r.s.emit(event{name: "push", repo: r, sender: sender, ref: "refs/heads/" + branch, before: before, after: after, forced: forced})
	for _, p := range synchronized {
		p.updated = r.s.now()
		r.s.emit(event{name: "pull_request", action: "synchronize", repo: p.repo, pull: p, sender: sender, before: before, after: after})
	}
	for _, p := range closed {
		p.did("closed", sender, event{})
	}
	if after != zeroSHA {
		r.requestSuites(branch, before, after, sender)
	}
}

// DeleteBranch deletes a branch. Open pull requests from it or into it are closed, as on GitHub.
func (r *Repo) DeleteBranch(branch string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	before := r.branch(branch)
	r.git("update-ref", "-d", "refs/heads/"+branch)
	r.pushedTo(branch, before, zeroSHA, "", false)
}

// Rename renames the repository. Its old address redirects to the new one.
func (r *Repo) Rename(newName string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	old := r.name
	r.s.moved[strings.ToLower(r.owner+"/"+old)] = r.id
	r.name = newName
	r.s.emit(event{name: "repository", action: "renamed", repo: r, sender: r.s.admin(r.owner), changes: map[string]any{"repository": object{"name": object{"from": old}}}})
}

// Delete deletes the repository: it is not found any more.
//
// Pull requests from a deleted fork stay; their head is of no repository then.
func (r *Repo) Delete() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	delete(r.s.repos, r.id)
}

// Archive makes the repository read-only: writes are refused with a 403.
func (r *Repo) Archive() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.archived = true
}

// Fork forks the repository to an account. A pull request from it has the head "account:branch".
func (r *Repo) Fork(account string) *Repo {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	f := r.s.newRepo(account, r.name)
	f.fork, f.private, f.defaultBranch = r, r.private, r.defaultBranch
	f.collaborators[strings.ToLower(account)] = "admin"
	f.git("fetch", "-q", r.dir, "refs/heads/*:refs/heads/*")
	return f
}

// Repos lists the repositories, oldest first.
func (s *Server) Repos() []*Repo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sortedRepos()
}

// Collaborator gives a person a role: read, triage, write, maintain or admin; an empty role takes it away.
func (r *Repo) Collaborator(login, role string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.account(login)
	if role == "" {
		delete(r.collaborators, strings.ToLower(login))
		return
	}
	r.collaborators[strings.ToLower(login)] = role
}

// role returns a person's role, empty for none; the caller holds s.mu. Everyone may read a public repository, which is no role.
func (r *Repo) role(login string) string { return r.collaborators[strings.ToLower(login)] }

// SetPrivate makes the repository private or public. It starts private.
func (r *Repo) SetPrivate(private bool) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.private = private
}

// ID is the repository's, which a new name does not change.
func (r *Repo) ID() int64 { return r.id }

// FullName is owner/name, as of now.
func (r *Repo) FullName() string {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.owner + "/" + r.name
}

// Head returns the commit at a branch's tip, empty when there is no such branch.
func (r *Repo) Head(branch string) string {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.branch(branch)
}

// Dir is the bare git repository behind it.
func (r *Repo) Dir() string { return r.dir }

func (r *Repo) api() string { return r.s.REST + "repos/" + r.owner + "/" + r.name }
func (r *Repo) web() string { return r.s.URL + "/" + r.owner + "/" + r.name }

func repoRoutes() map[string]route {
	return map[string]route{
		"GET /repos/{owner}/{repo}": {need: "metadata:read", handle: func(c *call) reply { return ok(c.s.fullRepoJSON(c.repo)) }},
		"GET /repos/{owner}/{repo}/branches/{branch}": {need: "contents:read", handle: func(c *call) reply {
			name := c.param("branch")
			sha := c.repo.branch(name)
			if sha == "" {
				return failure(404, "Branch not found")
			}
			commit, _ := c.repo.commit(sha)
			return ok(object{
				"name": name, "commit": c.repo.commitJSON(commit), "protected": false, "protection_url": c.repo.api() + "/branches/" + name + "/protection",
				"protection": object{"enabled": false, "required_status_checks": object{"enforcement_level": "off", "contexts": []string{}, "checks": []any{}}},
				"_links":     object{"self": c.repo.api() + "/branches/" + name, "html": c.repo.web() + "/tree/" + name},
			})
		}},
		"GET /repos/{owner}/{repo}/collaborators/{username}": {need: "metadata:read", handle: func(c *call) reply {
			if c.repo.role(c.param("username")) == "" {
				return notFound()
			}
			return noContent()
		}},
		"GET /repos/{owner}/{repo}/collaborators/{username}/permission": {need: "metadata:read", handle: permission},
	}
}

// permission reports the legacy level (maintain as write, triage as read) and the role's own name.
func permission(c *call) reply {
	login := c.param("username")
	if c.s.accounts[strings.ToLower(login)] == nil {
		return notFound()
	}
	role := c.repo.role(login)
	level := role
	switch role {
	case "maintain":
		level = "write"
	case "triage":
		level = "read"
	case "":
		level, role = "none", "none"
		if !c.repo.private {
			level, role = "read", "read"
		}
	}
	u := c.s.user(login)
	rank := slices.Index([]string{"read", "triage", "write", "maintain", "admin"}, role)
	u["permissions"] = object{"pull": rank >= 0, "triage": rank >= 1, "push": rank >= 2, "maintain": rank >= 3, "admin": rank >= 4}
	u["role_name"] = role
	return ok(object{"permission": level, "role_name": role, "user": u})
}

// repoJSON is a repository as it stands inside of other objects.
func (s *Server) repoJSON(r *Repo) object {
	api, web := r.api(), r.web()
	body := object{
		"id": r.id, "node_id": nodeID("R", r.id), "name": r.name, "full_name": r.owner + "/" + r.name, "private": r.private, "owner": s.user(r.owner),
		"html_url": web, "description": nil, "fork": r.fork != nil, "url": api, "homepage": nil, "language": nil, "license": nil, "mirror_url": nil,
		"clone_url": web + ".git", "git_url": "git:" + strings.TrimPrefix(web, "http:") + ".git", "ssh_url": "git@localhost:" + r.owner + "/" + r.name + ".git", "svn_url": web,
		"default_branch": r.defaultBranch, "visibility": "public", "archived": r.archived, "disabled": false, "is_template": false, "topics": []string{},
		"has_issues": true, "has_projects": true, "has_wiki": false, "has_pages": false, "has_downloads": true, "has_discussions": false, "has_pull_requests": true,
		"allow_forking": true, "web_commit_signoff_required": false,
		"size": 1, "forks": 0, "forks_count": 0, "stargazers_count": 0, "watchers": 0, "watchers_count": 0, "open_issues": 0, "open_issues_count": 0,
		"created_at": stamp(r.created), "updated_at": stamp(r.created), "pushed_at": stamp(r.pushed),
	}
	if r.private {
		body["visibility"] = "private"
	}
	for name, suffix := range map[string]string{
		"archive": "/{archive_format}{/ref}", "assignees": "/assignees{/user}", "blobs": "/git/blobs{/sha}", "branches": "/branches{/branch}",
		"collaborators": "/collaborators{/collaborator}", "comments": "/comments{/number}", "commits": "/commits{/sha}", "compare": "/compare/{base}...{head}",
		"contents": "/contents/{+path}", "contributors": "/contributors", "deployments": "/deployments", "downloads": "/downloads", "events": "/events",
		"forks": "/forks", "git_commits": "/git/commits{/sha}", "git_refs": "/git/refs{/sha}", "git_tags": "/git/tags{/sha}", "hooks": "/hooks",
		"issue_comment": "/issues/comments{/number}", "issue_events": "/issues/events{/number}", "issues": "/issues{/number}", "keys": "/keys{/key_id}",
		"labels": "/labels{/name}", "languages": "/languages", "merges": "/merges", "milestones": "/milestones{/number}",
		"notifications": "/notifications{?since,all,participating}", "pulls": "/pulls{/number}", "releases": "/releases{/id}", "stargazers": "/stargazers",
		"statuses": "/statuses/{sha}", "subscribers": "/subscribers", "subscription": "/subscription", "tags": "/tags", "teams": "/teams", "trees": "/git/trees{/sha}",
	} {
		body[name+"_url"] = api + suffix
	}
	return body
}

func (s *Server) fullRepoJSON(r *Repo) object {
	body := s.repoJSON(r)
	body["network_count"], body["subscribers_count"] = 0, 0
	if r.fork != nil {
		body["parent"], body["source"] = s.repoJSON(r.fork), s.repoJSON(r.fork)
	}
	return body
}
