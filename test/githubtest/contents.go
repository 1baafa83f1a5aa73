package githubtest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Limits of the contents endpoint: a listing's entries, and the sizes from which a file comes without its contents and not at all.
const (
	maxListing  = 1000
	maxInline   = 1 << 20
	maxContents = 100 << 20
)

// treeEntry is one line of git ls-tree.
type treeEntry struct {
	mode, kind, sha, path string
	size                  int64
}

// tree lists a tree; with recursive, everything below it.
func (r *Repo) tree(sha string, recursive bool) ([]treeEntry, bool) {
	list := memoIf(r, fmt.Sprint("tree ", sha, recursive), func() ([]treeEntry, bool) {
		args := []string{"ls-tree", "-z", "-l"}
		if recursive {
			args = append(args, "-r", "-t")
		}
		out, err := r.tryGit(nil, append(args, "--end-of-options", sha)...)
		if err != nil {
			return nil, false
		}
		list := []treeEntry{}
		for _, line := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if e, ok := parseEntry(line); ok {
				list = append(list, e)
			}
		}
		return list, isObjectName(sha)
	})
	return list, list != nil
}

// entry finds a path in a commit.
func (r *Repo) entry(commit, name string) (treeEntry, bool) {
	out, err := r.tryGit(nil, "ls-tree", "-z", "-l", "--end-of-options", commit, ":(literal)"+name)
	if err != nil {
		return treeEntry{}, false
	}
	return parseEntry(strings.TrimSuffix(string(out), "\x00"))
}

// parseEntry reads one record of git ls-tree -l -z.
func parseEntry(line string) (treeEntry, bool) {
	head, name, found := strings.Cut(line, "\t")
	f := strings.Fields(head)
	if !found || len(f) != 4 {
		return treeEntry{}, false
	}
	size, err := strconv.ParseInt(f[3], 10, 64)
	if err != nil {
		size = 0 // a tree or a submodule has none
	}
	return treeEntry{mode: f[0], kind: f[1], sha: f[2], size: size, path: name}, true
}

func (r *Repo) blob(sha string) ([]byte, bool) {
	out, err := r.tryGit(nil, "cat-file", "blob", sha)
	return out, err == nil
}

func contentRoutes() map[string]route {
	return map[string]route{
		"GET /repos/{owner}/{repo}/contents/{path}": {need: "contents:read", handle: getContents},
		"PUT /repos/{owner}/{repo}/contents/{path}": {need: "contents:write", handle: putContents},
	}
}

func getContents(c *call) reply {
	r := c.repo
	ref := c.query("ref")
	if ref == "" {
		ref = r.defaultBranch
	}
	sha := r.resolve(ref)
	if sha == "" {
		return failure(http.StatusNotFound, "No commit found for the ref "+ref)
	}
	name := strings.Trim(c.param("path"), "/")
	if name != path.Clean("/" + name)[1:] || strings.HasPrefix(name, "../") {
		return failure(http.StatusUnprocessableEntity, "path contains a malformed path component")
	}
	entry := treeEntry{kind: "tree", sha: sha}
	if name != "" {
		var found bool
		if entry, found = r.entry(sha, name); !found {
			return notFound()
		}
	}
	if entry.kind == "tree" {
		list, _ := r.tree(entry.sha, false)
		entries := []any{}
		for _, e := range list[:min(len(list), maxListing)] {
			e.path = path.Join(name, e.path)
			entries = append(entries, r.contentJSON(e, ref))
		}
		if c.accepts("object") {
			dir := r.contentJSON(treeEntry{kind: "tree", sha: entry.sha, path: name}, ref)
			dir["entries"] = entries
			return reply{status: http.StatusOK, body: dir}
		}
		return ok(entries)
	}
	if entry.mode == "120000" {
		// A link to a file of the repository is served as that file.
		target, _ := r.blob(entry.sha)
		if to := path.Join(path.Dir(name), string(target)); !path.IsAbs(string(target)) && !strings.HasPrefix(to, "..") {
			if e, found := r.entry(sha, to); found && e.kind == "blob" && e.mode != "120000" {
				e.path = name
				entry = e
			}
		}
	}
	if entry.kind == "commit" {
		body := r.contentJSON(entry, ref)
		body["type"], body["submodule_git_url"] = "submodule", nil
		return ok(body)
	}
	if entry.size > maxContents {
		return failure(http.StatusForbidden, "This API returns blobs up to 100 MB in size. The requested blob is too large to fetch via the API.",
			object{"resource": "Blob", "field": "data", "code": "too_large"})
	}
	data, _ := r.blob(entry.sha)
	if c.accepts("raw") {
		return reply{status: http.StatusOK, raw: data, contentType: "application/vnd.github.raw; charset=utf-8"}
	}
	body := r.contentJSON(entry, ref)
	switch {
	case entry.mode == "120000":
		body["target"] = string(data)
	case entry.size > maxInline:
		// Only the raw and the object media type serve these, and the latter without the contents.
		if !c.accepts("object") {
			return failure(http.StatusForbidden, "This API returns blobs up to 1 MB in size. The requested blob is too large to fetch via the API, but you can use the Git Data API to request blobs up to 100 MB in size.",
				object{"resource": "Blob", "field": "data", "code": "too_large"})
		}
		body["encoding"], body["content"] = "none", ""
	default:
		body["encoding"], body["content"] = "base64", wrapBase64(data)
	}
	return ok(body)
}

// wrapBase64 encodes as GitHub does: lines of sixty characters.
func wrapBase64(data []byte) string {
	encoded := base64.StdEncoding.EncodeToString(data)
	var b strings.Builder
	for chunk := range slices.Chunk([]byte(encoded), 60) {
		b.Write(chunk)
		b.WriteByte('\n')
	}
	return b.String()
}

func (r *Repo) contentJSON(e treeEntry, ref string) object {
	kind := map[string]string{"tree": "dir", "commit": "file"}[e.kind]
	if kind == "" {
		kind = "file"
		if e.mode == "120000" {
			kind = "symlink"
		}
	}
	escaped := (&url.URL{Path: e.path}).EscapedPath()
	self := r.api() + "/contents/" + escaped + "?ref=" + url.QueryEscape(ref)
	git := r.api() + "/git/blobs/" + e.sha
	html := r.web() + "/blob/" + ref + "/" + escaped
	var download any = r.s.URL + "/raw/" + r.owner + "/" + r.name + "/" + ref + "/" + escaped
	if kind == "dir" {
		git, html, download = r.api()+"/git/trees/"+e.sha, r.web()+"/tree/"+ref+"/"+escaped, nil
	}
	return object{
		"type": kind, "name": path.Base(e.path), "path": e.path, "sha": e.sha, "size": e.size, "url": self, "html_url": html, "git_url": git, "download_url": download,
		"_links": object{"self": self, "git": git, "html": html},
	}
}

func putContents(c *call) reply {
	var in struct{ Message, Content, SHA, Branch string }
	c.decode(&in)
	data, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(in.Content, "\n", ""))
	if err != nil {
		return refuse("content is not valid Base64")
	}
	branch := in.Branch
	if branch == "" {
		branch = c.repo.defaultBranch
	}
	tip := c.repo.branch(branch)
	if tip == "" {
		return failure(http.StatusNotFound, "Branch "+branch+" not found")
	}
	name := c.param("path")
	if old, exists := c.repo.entry(tip, name); exists && old.sha != in.SHA {
		if in.SHA == "" {
			return refuse(`Invalid request.` + "\n\n" + `"sha" wasn't supplied.`)
		}
		return failure(http.StatusConflict, name+" does not match "+in.SHA)
	}
	status := http.StatusCreated
	if in.SHA != "" {
		status = http.StatusOK
	}
	blob, err := c.repo.tryGit(data, "hash-object", "-w", "--stdin")
	if err != nil {
		return refuse(err.Error())
	}
	sha := c.repo.write(Commit{Branch: branch, Message: in.Message, Author: c.who.login, blobs: map[string]string{name: strings.TrimSpace(string(blob))}}, tip)
	c.repo.pushedTo(branch, tip, sha, c.who.login, false)
	entry, _ := c.repo.entry(sha, name)
	commit, _ := c.repo.commit(sha)
	return reply{status: status, body: object{"content": c.repo.contentJSON(entry, branch), "commit": c.repo.gitCommitJSON(commit)}}
}
