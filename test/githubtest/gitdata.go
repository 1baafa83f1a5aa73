package githubtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Limits of the git data endpoints.
const (
	maxBlob       = 100 << 20
	maxTree       = 100_000
	commitFiles   = 300
	maxCommitList = 3000
)

func gitRoutes() map[string]route {
	return map[string]route{
		"GET /repos/{owner}/{repo}/git/blobs/{file_sha}":     {need: "contents:read", handle: getBlob},
		"POST /repos/{owner}/{repo}/git/blobs":               {need: "contents:write", handle: createBlob},
		"GET /repos/{owner}/{repo}/git/trees/{tree_sha}":     {need: "contents:read", handle: getTree},
		"POST /repos/{owner}/{repo}/git/trees":               {need: "contents:write", handle: createTree},
		"GET /repos/{owner}/{repo}/git/commits/{commit_sha}": {need: "contents:read", handle: getGitCommit},
		"POST /repos/{owner}/{repo}/git/commits":             {need: "contents:write", handle: createGitCommit},
		"GET /repos/{owner}/{repo}/git/ref/{ref}":            {need: "contents:read", handle: getRef},
		"GET /repos/{owner}/{repo}/git/matching-refs/{ref}":  {need: "contents:read", handle: matchingRefs},
		"POST /repos/{owner}/{repo}/git/refs":                {need: "contents:write", handle: createRef},
		"PATCH /repos/{owner}/{repo}/git/refs/{ref}":         {need: "contents:write", handle: updateRef},
		"DELETE /repos/{owner}/{repo}/git/refs/{ref}":        {need: "contents:write", handle: deleteRef},
		"GET /repos/{owner}/{repo}/commits":                  {need: "contents:read", handle: listCommits},
		"GET /repos/{owner}/{repo}/commits/{ref}":            {need: "contents:read", handle: onCommit(getCommit)},
		"GET /repos/{owner}/{repo}/compare/{basehead}":       {need: "contents:read", handle: compare},
	}
}

func isObjectName(s string) bool {
	return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == ""
}

func getBlob(c *call) reply {
	sha := c.param("file_sha")
	if !isObjectName(sha) {
		return refuse("The sha parameter must be exactly 40 characters and contain only [0-9a-f].")
	}
	data, found := c.repo.blob(sha)
	if !found {
		return notFound()
	}
	if len(data) > maxBlob {
		return failure(http.StatusForbidden, "This API returns blobs up to 100 MB in size.", object{"resource": "Blob", "field": "data", "code": "too_large"})
	}
	if c.accepts("raw") {
		return reply{status: http.StatusOK, raw: data, contentType: "application/vnd.github.raw; charset=utf-8"}
	}
	return ok(object{
		"sha": sha, "node_id": "B_" + sha, "size": len(data), "url": c.repo.api() + "/git/blobs/" + sha, "encoding": "base64", "content": wrapBase64(data),
	})
}

func createBlob(c *call) reply {
	var in struct{ Content, Encoding string }
	c.decode(&in)
	data := []byte(in.Content)
	if in.Encoding == "base64" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(strings.ReplaceAll(in.Content, "\n", "")); err != nil {
			return refuse("content is not valid Base64")
		}
	}
	out, err := c.repo.tryGit(data, "hash-object", "-w", "--stdin")
	if err != nil {
		return refuse(err.Error())
	}
	sha := strings.TrimSpace(string(out))
	return created(object{"sha": sha, "url": c.repo.api() + "/git/blobs/" + sha})
}

func getTree(c *call) reply {
	name := c.param("tree_sha")
	sha := name
	if commit := c.repo.resolve(name); commit != "" {
		sha = commit
	}
	if strings.HasPrefix(sha, "-") {
		return notFound()
	}
	list, found := c.repo.tree(sha, c.r.URL.Query().Has("recursive"))
	if !found {
		return notFound()
	}
	truncated := len(list) > maxTree
	return ok(c.repo.treeJSON(c.repo.git("rev-parse", sha+"^{tree}"), list[:min(len(list), maxTree)], truncated))
}

func (r *Repo) treeJSON(sha string, list []treeEntry, truncated bool) object {
	entries := []any{}
	for _, e := range list {
		entry := object{"path": e.path, "mode": e.mode, "type": e.kind, "sha": e.sha, "url": r.api() + "/git/" + e.kind + "s/" + e.sha}
		if e.kind == "blob" {
			entry["size"] = e.size
		}
		entries = append(entries, entry)
	}
	return object{"sha": sha, "url": r.api() + "/git/trees/" + sha, "tree": entries, "truncated": truncated}
}

func createTree(c *call) reply {
	var in struct {
		BaseTree string `json:"base_tree"`
		Tree     []struct {
			Path, Mode, Type string
			SHA              json.RawMessage
			Content          *string
		}
	}
	c.decode(&in)
	entries := map[string]treeEntry{}
	if in.BaseTree != "" {
		list, found := c.repo.tree(in.BaseTree, true)
		if !found {
			return refuse("base_tree is not a valid tree oid")
		}
		for _, e := range list {
			if e.kind != "tree" {
				entries[e.path] = e
			}
		}
	}
	for _, t := range in.Tree {
		sha := strings.Trim(string(t.SHA), `"`)
		if t.Content != nil {
			out, err := c.repo.tryGit([]byte(*t.Content), "hash-object", "-w", "--stdin")
			if err != nil {
				return refuse(err.Error())
			}
			sha = strings.TrimSpace(string(out))
		}
		if sha == "null" {
			delete(entries, t.Path)
			continue
		}
		if _, err := c.repo.tryGit(nil, "cat-file", "-e", sha); err != nil && t.Mode != "160000" {
			return refuse("tree.sha " + sha + " is not a valid blob")
		}
		if t.Mode == "040000" {
			list, _ := c.repo.tree(sha, true)
			for _, e := range list {
				if e.kind != "tree" {
					e.path = t.Path + "/" + e.path
					entries[e.path] = e
				}
			}
			continue
		}
		entries[t.Path] = treeEntry{mode: t.Mode, sha: sha, path: t.Path}
	}
	sha, err := c.repo.makeTree(entries)
	if err != nil {
		return refuse(err.Error())
	}
	list, _ := c.repo.tree(sha, false)
	return created(c.repo.treeJSON(sha, list, false))
}

// makeTree writes nested trees of files by their paths.
func (r *Repo) makeTree(files map[string]treeEntry) (string, error) {
	var lines []string
	below := map[string]map[string]treeEntry{}
	for path, e := range files {
		dir, rest, nested := strings.Cut(path, "/")
		if !nested {
			kind := "blob"
			if e.mode == "160000" {
				kind = "commit"
			}
			lines = append(lines, fmt.Sprintf("%s %s %s\t%s", e.mode, kind, e.sha, path))
			continue
		}
		if below[dir] == nil {
			below[dir] = map[string]treeEntry{}
		}
		below[dir][rest] = e
	}
	for dir, inner := range below {
		sha, err := r.makeTree(inner)
		if err != nil {
			return "", err
		}
		lines = append(lines, fmt.Sprintf("040000 tree %s\t%s", sha, dir))
	}
	out, err := r.tryGit([]byte(strings.Join(lines, "\x00")+"\x00"), "mktree", "-z", "--missing")
	return strings.TrimSpace(string(out)), err
}

func getGitCommit(c *call) reply {
	commit, found := c.repo.commit(c.param("commit_sha"))
	if !found || !isObjectName(c.param("commit_sha")) {
		return notFound()
	}
	return ok(c.repo.gitCommitJSON(commit))
}

func createGitCommit(c *call) reply {
	type person struct{ Name, Email, Date string }
	var in struct {
		Message, Tree     string
		Parents           []string
		Author, Committer *person
	}
	c.decode(&in)
	if _, found := c.repo.tree(in.Tree, false); !found {
		return refuse("Tree SHA does not exist")
	}
	when := strconv.FormatInt(c.s.now().Unix(), 10) + " +0000"
	line := func(p *person) string {
		if p == nil {
			return fmt.Sprintf("%s <%s> %s", c.who.login, c.s.noreply(c.who.login), when)
		}
		return fmt.Sprintf("%s <%s> %s", p.Name, p.Email, when)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", in.Tree)
	for _, parent := range in.Parents {
		if _, found := c.repo.commit(parent); !found {
			return refuse("Parent SHA does not exist or is not a commit object")
		}
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	committer := in.Committer
	if committer == nil {
		committer = in.Author
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", line(in.Author), line(committer), in.Message)
	out, err := c.repo.tryGit([]byte(b.String()), "hash-object", "-t", "commit", "-w", "--stdin")
	if err != nil {
		return refuse(err.Error())
	}
	commit, _ := c.repo.commit(strings.TrimSpace(string(out)))
	return created(c.repo.gitCommitJSON(commit))
}

func (r *Repo) refJSON(ref, sha string) object {
	return object{"ref": ref, "node_id": "REF_" + sha, "url": r.api() + "/git/" + ref, "object": object{"type": "commit", "sha": sha, "url": r.api() + "/git/commits/" + sha}}
}

func (r *Repo) refs() map[string]string {
	out := map[string]string{}
	for _, line := range strings.Split(r.git("for-each-ref", "--format=%(refname) %(objectname)"), "\n") {
		if ref, sha, found := strings.Cut(line, " "); found {
			out[ref] = sha
		}
	}
	return out
}

func getRef(c *call) reply {
	ref := "refs/" + strings.TrimPrefix(c.param("ref"), "refs/")
	sha, found := c.repo.refs()[ref]
	if !found {
		return notFound()
	}
	return ok(c.repo.refJSON(ref, sha))
}

func matchingRefs(c *call) reply {
	prefix := "refs/" + strings.TrimPrefix(c.param("ref"), "refs/")
	all := c.repo.refs()
	var names []string
	for ref := range all {
		if strings.HasPrefix(ref, prefix) {
			names = append(names, ref)
		}
	}
	slices.Sort(names)
	return list(c, names, func(ref string) any { return c.repo.refJSON(ref, all[ref]) })
}

func createRef(c *call) reply {
	var in struct{ Ref, SHA string }
	c.decode(&in)
	if !strings.HasPrefix(in.Ref, "refs/heads/") && !strings.HasPrefix(in.Ref, "refs/tags/") {
		return refuse("Reference name must start with 'refs/' and have at least two slashes.")
	}
	if _, exists := c.repo.refs()[in.Ref]; exists {
		return refuse("Reference already exists")
	}
	if _, found := c.repo.commit(in.SHA); !found {
		return refuse("Object does not exist")
	}
	if _, err := c.repo.tryGit(nil, "update-ref", in.Ref, in.SHA); err != nil {
		return refuse("Reference name is not valid")
	}
	if branch, isBranch := strings.CutPrefix(in.Ref, "refs/heads/"); isBranch {
		c.repo.pushedTo(branch, "", in.SHA, c.who.login, false)
	}
	return created(c.repo.refJSON(in.Ref, in.SHA))
}

func updateRef(c *call) reply {
	var in struct {
		SHA   string
		Force bool
	}
	c.decode(&in)
	ref := "refs/" + c.param("ref")
	before, found := c.repo.refs()[ref]
	if !found {
		return refuse("Reference does not exist")
	}
	if _, found := c.repo.commit(in.SHA); !found {
		return refuse("Object does not exist")
	}
	if !in.Force && c.repo.mergeBase(before, in.SHA) != before {
		return refuse("Update is not a fast forward")
	}
	c.repo.git("update-ref", ref, in.SHA)
	if branch, isBranch := strings.CutPrefix(ref, "refs/heads/"); isBranch {
		c.repo.pushedTo(branch, before, in.SHA, c.who.login, false)
	}
	return ok(c.repo.refJSON(ref, in.SHA))
}

func deleteRef(c *call) reply {
	ref := "refs/" + c.param("ref")
	before, found := c.repo.refs()[ref]
	if !found {
		return refuse("Reference does not exist")
	}
	c.repo.git("update-ref", "-d", ref)
	if branch, isBranch := strings.CutPrefix(ref, "refs/heads/"); isBranch {
		c.repo.pushedTo(branch, before, zeroSHA, c.who.login, false)
	}
	return noContent()
}

// maxLog is how many commits of a list are looked at: the emulator's repositories are small.
const maxLog = 10_000

func listCommits(c *call) reply {
	start := c.query("sha")
	if start == "" {
		start = c.repo.defaultBranch
	}
	sha := c.repo.resolve(start)
	if sha == "" {
		return notFound()
	}
	args := []string{"log", "-n", strconv.Itoa(maxLog), "--format=" + logFormat}
	for _, q := range []string{"since", "until", "author"} {
		if v := c.query(q); v != "" {
			args = append(args, "--"+q+"="+v)
		}
	}
	args = append(args, "--end-of-options", sha)
	if p := c.query("path"); p != "" {
		args = append(args, "--", p)
	}
	out, err := c.repo.tryGit(nil, args...)
	if err != nil {
		return refuse(err.Error())
	}
	return list(c, parseLog(out), func(i commitInfo) any { return c.repo.commitJSON(i) })
}

// parentOf is what a commit's diff starts from: its first parent, or nothing.
func (r *Repo) parentOf(i commitInfo) string {
	const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	if len(i.parents) == 0 {
		return emptyTree
	}
	return i.parents[0]
}

func getCommit(c *call, sha string) reply {
	commit, _ := c.repo.commit(sha)
	if c.accepts("sha") {
		return reply{status: http.StatusOK, raw: []byte(sha), contentType: "application/vnd.github.sha; charset=utf-8"}
	}
	ch := c.repo.diff(c.repo.parentOf(commit), sha)
	if c.accepts("diff") {
		return ch.diffReply("Commit")
	}
	body := c.repo.commitJSON(commit)
	number, size := 1, commitFiles
	if n, err := strconv.Atoi(c.query("page")); err == nil && n > 0 {
		number = n
	}
	if n, err := strconv.Atoi(c.query("per_page")); err == nil && n > 0 {
		size = min(n, commitFiles)
	}
	listed := ch.files[:min(len(ch.files), maxCommitList)]
	files := []any{}
	for _, f := range listed[min((number-1)*size, len(listed)):min(number*size, len(listed))] {
		files = append(files, c.repo.fileJSON(f, sha))
	}
	body["files"] = files
	body["stats"] = object{"additions": ch.additions, "deletions": ch.deletions, "total": ch.additions + ch.deletions}
	return ok(body)
}

func compare(c *call) reply {
	baseName, headName, three := strings.Cut(c.param("basehead"), "...")
	if !three {
		return notFound()
	}
	side := func(name string) string {
		account, branch, cross := strings.Cut(name, ":")
		if !cross {
			return c.repo.resolve(name)
		}
		if strings.EqualFold(account, c.repo.owner) {
			return c.repo.resolve(branch)
		}
		for _, f := range c.s.sortedRepos() {
			if f.fork == c.repo && strings.EqualFold(f.owner, account) {
				sha := f.resolve(branch)
				if sha != "" {
					c.repo.git("fetch", "-q", f.dir, sha)
				}
				return sha
			}
		}
		return ""
	}
	base, head := side(baseName), side(headName)
	if base == "" || head == "" {
		return notFound()
	}
	common := c.repo.mergeBase(base, head)
	if common == "" {
		return failure(http.StatusNotFound, "No common ancestor between "+baseName+" and "+headName+".")
	}
	ch := c.repo.diff(common, head)
	if c.accepts("diff") {
		return ch.diffReply("Comparison")
	}
	ahead, behind := c.repo.between(base, head), c.repo.between(head, base)
	state := "identical"
	switch {
	case len(ahead) > 0 && len(behind) > 0:
		state = "diverged"
	case len(ahead) > 0:
		state = "ahead"
	case len(behind) > 0:
		state = "behind"
	}
	// Without paging at most 250 commits come, the newest; the files come on the first page only.
	commits, header := []any{}, http.Header{}
	if c.query("page") != "" || c.query("per_page") != "" {
		commits, header = page(c, ahead, func(i commitInfo) any { return c.repo.commitJSON(i) })
	} else {
		for _, i := range ahead[max(0, len(ahead)-maxPullCommits):] {
			commits = append(commits, c.repo.commitJSON(i))
		}
	}
	files := []any{}
	if p := c.query("page"); p == "" || p == "1" {
		for _, f := range ch.files[:min(len(ch.files), maxCompareFiles)] {
			files = append(files, c.repo.fileJSON(f, head))
		}
	}
	baseCommit, _ := c.repo.commit(base)
	commonCommit, _ := c.repo.commit(common)
	web, span := c.repo.web()+"/compare/", c.param("basehead")
	return reply{status: http.StatusOK, header: header, body: object{
		"url": c.repo.api() + "/compare/" + span, "html_url": web + span, "permalink_url": web + base + "..." + head, "diff_url": web + span + ".diff", "patch_url": web + span + ".patch",
		"base_commit": c.repo.commitJSON(baseCommit), "merge_base_commit": c.repo.commitJSON(commonCommit), "status": state, "ahead_by": len(ahead), "behind_by": len(behind),
		"total_commits": len(ahead), "commits": commits, "files": files,
	}}
}

// loginOf finds the account that an address belongs to: GitHub knows it by its noreply address, and bots by theirs.
func (s *Server) loginOf(email string) string {
	local, isNoreply := strings.CutSuffix(email, "@users.noreply.github.com")
	if !isNoreply {
		return ""
	}
	if _, login, numbered := strings.Cut(local, "+"); numbered {
		local = login
	}
	if a := s.accounts[strings.ToLower(local)]; a != nil {
		return a.login
	}
	return ""
}

func unsigned() object {
	return object{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil}
}

func (r *Repo) parentsJSON(i commitInfo) []any {
	out := []any{}
	for _, p := range i.parents {
		out = append(out, object{"sha": p, "url": r.api() + "/commits/" + p, "html_url": r.web() + "/commit/" + p})
	}
	return out
}

// commitJSON is a commit as the repository's lists show it.
func (r *Repo) commitJSON(i commitInfo) object {
	api := r.api() + "/commits/" + i.sha
	return object{
		"sha": i.sha, "node_id": "C_" + i.sha, "url": api, "html_url": r.web() + "/commit/" + i.sha, "comments_url": api + "/comments",
		"commit": object{
			"url": r.api() + "/git/commits/" + i.sha, "message": i.message, "tree": object{"sha": i.tree, "url": r.api() + "/git/trees/" + i.tree}, "comment_count": 0,
			"author":       object{"name": i.authorName, "email": i.authorEmail, "date": stamp(i.authorDate)},
			"committer":    object{"name": i.committerName, "email": i.committerEmail, "date": stamp(i.committerDate)},
			"verification": unsigned(),
		},
		"author": r.s.userOrNull(r.s.loginOf(i.authorEmail)), "committer": r.s.userOrNull(r.s.loginOf(i.committerEmail)), "parents": r.parentsJSON(i),
	}
}

// gitCommitJSON is a commit as the git data endpoints show it.
func (r *Repo) gitCommitJSON(i commitInfo) object {
	return object{
		"sha": i.sha, "node_id": "C_" + i.sha, "url": r.api() + "/git/commits/" + i.sha, "html_url": r.web() + "/commit/" + i.sha, "message": i.message,
		"author":    object{"name": i.authorName, "email": i.authorEmail, "date": stamp(i.authorDate)},
		"committer": object{"name": i.committerName, "email": i.committerEmail, "date": stamp(i.committerDate)},
		"tree":      object{"sha": i.tree, "url": r.api() + "/git/trees/" + i.tree}, "parents": r.parentsJSON(i), "verification": unsigned(),
	}
}

// simpleCommitJSON is a commit inside of a check suite.
func (r *Repo) simpleCommitJSON(i commitInfo) object {
	return object{
		"id": i.sha, "tree_id": i.tree, "message": i.message, "timestamp": stamp(i.committerDate),
		"author": object{"name": i.authorName, "email": i.authorEmail}, "committer": object{"name": i.committerName, "email": i.committerEmail},
	}
}
