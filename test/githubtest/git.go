package githubtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// gitError is what git said when it refused.
type gitError struct {
	args   []string
	stderr string
	err    error
}

func (e *gitError) Error() string {
	return fmt.Sprintf("git %s: %v: %s", strings.Join(e.args, " "), e.err, strings.TrimSpace(e.stderr))
}

func (e *gitError) Unwrap() error { return e.err }

// gitEnv reads no configuration but the repository's.
func gitEnv() []string {
	env := []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "LC_ALL=C"}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") {
			env = append(env, kv)
		}
	}
	return env
}

// tryGit runs git in the repository.
func (r *Repo) tryGit(stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(context.Background(), "git", args...)
	cmd.Dir = r.dir
	cmd.Env = gitEnv()
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.Bytes(), &gitError{args: args, stderr: errs.String(), err: err}
	}
	return out.Bytes(), nil
}

// git runs git where it must succeed: a failure is a mistake of the test or of the emulator.
func (r *Repo) git(args ...string) string {
	out, err := r.tryGit(nil, args...)
	if err != nil {
		panic(fmt.Sprintf("githubtest: %s/%s: %v", r.owner, r.name, err))
	}
	return strings.TrimSuffix(string(out), "\n")
}

// resolve returns the commit that a name stands for, empty when there is none. GitHub takes branch names, tags, full refs and
// (abbreviated) object names.
func (r *Repo) resolve(name string) string {
	if isObjectName(name) {
		if i, found := r.commit(name); found {
			return i.sha
		}
	}
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, ":^~@{ ") {
		return ""
	}
	if sha, known := r.ref("refs/heads/" + name); known && sha != "" {
		return sha
	}
	for _, candidate := range []string{"refs/heads/" + name, "refs/tags/" + name, "refs/" + name, name} {
		out, err := r.tryGit(nil, "rev-parse", "--verify", "--quiet", "--end-of-options", candidate+"^{commit}")
		if err == nil {
			return strings.TrimSpace(string(out))
		}
	}
	return ""
}

// ref reads a ref's file, which takes a thousandth of the time that starting git does. known is false when git has to be
// asked: there are packed refs, or the file is no plain ref.
func (r *Repo) ref(name string) (sha string, known bool) {
	if !filepath.IsLocal(name) {
		return "", false
	}
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err == nil {
		sha = strings.TrimSpace(string(data))
		return sha, isObjectName(sha)
	}
	_, packed := os.Stat(filepath.Join(r.dir, "packed-refs"))
	return "", errors.Is(err, fs.ErrNotExist) && errors.Is(packed, fs.ErrNotExist)
}

// branch returns the commit at a branch's tip, empty when there is no such branch.
func (r *Repo) branch(name string) string {
	if sha, known := r.ref("refs/heads/" + name); known {
		return sha
	}
	out, err := r.tryGit(nil, "rev-parse", "--verify", "--quiet", "refs/heads/"+name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// mergeBase returns the best common ancestor, empty when the histories have none.
func (r *Repo) mergeBase(a, b string) string {
	return memoIf(r, "base "+a+" "+b, func() (string, bool) {
		out, err := r.tryGit(nil, "merge-base", a, b)
		return strings.TrimSpace(string(out)), err == nil
	})
}

// memo keeps what is computed from immutable objects; key names the computation and the objects. The caller holds s.mu.
func memo[T any](r *Repo, key string, compute func() T) T {
	return memoIf(r, key, func() (T, bool) { return compute(), true })
}

// memoIf keeps only what compute is sure of: an object that is missing now may be there later.
func memoIf[T any](r *Repo, key string, compute func() (v T, keep bool)) T {
	if v, ok := r.memos[key].(T); ok {
		return v
	}
	v, keep := compute()
	if keep {
		r.memos[key] = v
	}
	return v
}

// commitInfo is one commit as git log tells it.
type commitInfo struct {
	sha, tree                     string
	parents                       []string
	authorName, authorEmail       string
	authorDate                    time.Time
	committerName, committerEmail string
	committerDate                 time.Time
	message                       string
}

const logFormat = "%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B%x01"

func parseLog(out []byte) []commitInfo {
	var list []commitInfo
	for _, record := range strings.Split(string(out), "\x01") {
		f := strings.Split(strings.TrimPrefix(record, "\n"), "\x00")
		if len(f) != 10 {
			continue
		}
		unix := func(s string) time.Time {
			n, _ := strconv.ParseInt(s, 10, 64)
			return time.Unix(n, 0).UTC()
		}
		list = append(list, commitInfo{
			sha: f[0], tree: f[1], parents: strings.Fields(f[2]), authorName: f[3], authorEmail: f[4], authorDate: unix(f[5]),
			committerName: f[6], committerEmail: f[7], committerDate: unix(f[8]), message: strings.TrimRight(f[9], "\n"),
		})
	}
	return list
}

func (r *Repo) commit(sha string) (commitInfo, bool) {
	list := memoIf(r, "commit "+sha, func() ([]commitInfo, bool) {
		out, err := r.tryGit(nil, "log", "-1", "--format="+logFormat, "--end-of-options", sha)
		if err != nil {
			return nil, false
		}
		return parseLog(out), true
	})
	if len(list) == 0 {
		return commitInfo{}, false
	}
	return list[0], true
}

// between lists the commits that head has and base has not, oldest first.
func (r *Repo) between(base, head string) []commitInfo {
	return memoIf(r, "log "+base+".."+head, func() ([]commitInfo, bool) {
		out, err := r.tryGit(nil, "log", "--reverse", "--topo-order", "--format="+logFormat, base+".."+head)
		if err != nil {
			return nil, false
		}
		return parseLog(out), true
	})
}

// serveGit answers clones and fetches over smart HTTP, to whoever may read the repository's contents.
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request, owner, name, service string) {
	who, refused := s.authenticate(r)
	s.mu.Lock()
	repo, _ := s.find(owner, name)
	var dir string
	allowed := false
	if repo != nil {
		dir = repo.dir
		allowed = who.app == nil && who.sees(repo) && who.may(repo, "contents", "read")
	}
	s.mu.Unlock()
	if refused != nil || !allowed {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
			http.Error(w, "Authentication required.", http.StatusUnauthorized)
			return
		}
		if refused != nil {
			http.Error(w, "Invalid username or token.", http.StatusUnauthorized)
			return
		}
		http.Error(w, "Repository not found.", http.StatusNotFound)
		return
	}
	if service == "/git-receive-pack" || r.URL.Query().Get("service") == "git-receive-pack" {
		http.Error(w, "Write access to repository not granted.", http.StatusForbidden)
		return
	}
	execPath, err := gitExecPath()
	if err != nil {
		s.violate(err)
		http.Error(w, "no git", http.StatusInternalServerError)
		return
	}
	body, err := readBody(r)
	if err != nil {
		return // the client went away
	}
	r2 := r.Clone(r.Context())
	// CGI knows no chunked bodies, and git sends long ones so.
	r2.Body, r2.ContentLength, r2.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	r2.URL.Path = "/" + filepath.Base(dir) + service
	h := &cgi.Handler{
		Path: filepath.Join(execPath, "git-http-backend"), Root: "/",
		Env:        append(gitEnv(), "GIT_PROJECT_ROOT="+filepath.Dir(dir), "GIT_HTTP_EXPORT_ALL=1"),
		InheritEnv: []string{"PATH"}, Stderr: os.Stderr,
	}
	if p := r.Header.Get("Git-Protocol"); p != "" {
		h.Env = append(h.Env, "GIT_PROTOCOL="+p)
	}
	h.ServeHTTP(w, r2)
}

var gitExecPath = sync.OnceValues(func() (string, error) {
	out, err := exec.CommandContext(context.Background(), "git", "--exec-path").Output()
	if err != nil {
		return "", fmt.Errorf("asking git where its programs are: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
})
