// Package gitrepo reads one local git repository through the git program: refs, the merge base, the diff of a change,
// files at a commit, and commit messages. It never writes to the repository and never runs what the repository
// configures (external diff drivers, text conversion, hooks).
package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Repo is a local repository. It is safe for concurrent use. Close ends its helper process.
type Repo struct {
	Dir       string // the directory it was opened with, absolute
	CommonDir string // the git directory shared by all work trees, absolute
	Branch    string // the branch HEAD is on; empty when detached

	gitDir string
	blobs  *blobReader
}

// emptyTree is git's well-known empty tree. As attribute source it keeps a change from hiding its own content behind
// a "-diff" attribute.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Open finds the repository that dir is in. Its errors say whether git is missing, or dir is not in a repository.
func Open(ctx context.Context, dir string) (*Repo, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", dir, err)
	}
	if info, err := os.Stat(abs); err != nil {
		return nil, fmt.Errorf("repository %s: %w", dir, err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("repository %s is not a directory", dir)
	}
	if _, err := exec.LookPath("git"); err != nil {
		return nil, errors.New("the git program was not found: install git and make sure that it is in PATH")
	}
	out, err := run(ctx, abs, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir")
	if err != nil {
		return nil, fmt.Errorf("%s is not in a git repository: %w", dir, err)
	}
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	if len(lines) != 2 {
		return nil, fmt.Errorf("repository %s: unexpected answer of git rev-parse: %q", dir, out)
	}
	r := &Repo{Dir: abs, gitDir: lines[0], CommonDir: lines[1]}
	if real, err := filepath.EvalSymlinks(r.CommonDir); err == nil {
		r.CommonDir = real
	}
	if branch, err := run(ctx, abs, "symbolic-ref", "--quiet", "--short", "HEAD"); err == nil {
		r.Branch = strings.TrimSpace(branch)
	}
	r.blobs = &blobReader{dir: r.CommonDir}
	return r, nil
}

// Close ends the helper process, if one was started.
func (r *Repo) Close() error { return r.blobs.close() }

// Commit resolves a ref or object name to the full name of its commit.
func (r *Repo) Commit(ctx context.Context, ref string) (string, error) {
	if ref == "" || strings.HasPrefix(ref, "-") || strings.ContainsAny(ref, "\x00\n") {
		return "", fmt.Errorf("%q is not a commit or branch name", ref)
	}
	out, err := run(ctx, r.Dir, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return "", &RefError{Ref: ref, Dir: r.Dir}
	}
	return strings.TrimSpace(out), nil
}

// RefError says that a ref names no commit here.
type RefError struct{ Ref, Dir string }

// Error implements error.
func (e *RefError) Error() string {
	return fmt.Sprintf("%q names no commit in %s: fetch it, or name another with --base or --head", e.Ref, e.Dir)
}

// MergeBase returns the commit a pull request of head against base would be compared with.
func (r *Repo) MergeBase(ctx context.Context, base, head string) (string, error) {
	out, err := run(ctx, r.Dir, "merge-base", base, head)
	if err == nil {
		return strings.TrimSpace(out), nil
	}
	if shallow, serr := run(ctx, r.Dir, "rev-parse", "--is-shallow-repository"); serr == nil && strings.TrimSpace(shallow) == "true" {
		return "", fmt.Errorf("no merge base of %s and %s: this clone is shallow; run: git fetch --unshallow", short(base), short(head))
	}
	return "", fmt.Errorf("no merge base of %s and %s: the two have no common history: %w", short(base), short(head), err)
}

// EmptyTree is the name of the tree without files in the repository of that commit, whose hash function its length tells.
// Git knows it without an object.
func EmptyTree(commit string) string {
	if len(commit) == 64 {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	}
	return emptyTree
}

// Diff returns the unified diff from one commit to another in the form of GitHub's diff media type, whatever the
// user's configuration or the attributes of the change say.
// Paths restrict it to those files, and what is below those directories; none means everything.
func (r *Repo) Diff(ctx context.Context, from, to string, paths ...string) (string, error) {
	out, err := run(ctx, r.CommonDir, append([]string{"--literal-pathspecs",
		"-c", "core.bare=true", "-c", "attr.tree=" + emptyTree, "-c", "core.attributesFile=" + os.DevNull,
		"-c", "core.quotePath=true", "-c", "diff.orderFile=" + os.DevNull, "-c", "diff.suppressBlankEmpty=false",
		"-c", "diff.renameLimit=1000", "-c", "diff.renames=true", "-c", "core.precomposeUnicode=false",
		"--git-dir=" + r.CommonDir,
		"diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--full-index", "-M", "-U3",
		"--inter-hunk-context=0", "--diff-algorithm=myers", "--indent-heuristic", "--submodule=short",
		"--ignore-submodules=none", "--src-prefix=a/", "--dst-prefix=b/", "--line-prefix=",
		"--output-indicator-new=+", "--output-indicator-old=-", "--output-indicator-context= ", "--ws-error-highlight=none",
		from, to, "--"}, paths...)...)
	if err != nil {
		return "", fmt.Errorf("diff of %s..%s: %w", short(from), short(to), err)
	}
	return out, nil
}

// ReadFile returns a file's content at a commit. ok is false when there is no such file there; a file that cannot be
// read is an error, never "absent".
func (r *Repo) ReadFile(ctx context.Context, commit, path string) (content []byte, ok bool, err error) {
	content, ok, err = r.blobs.read(ctx, commit+":"+path)
	if err != nil {
		return nil, false, fmt.Errorf("reading %s at %s: %w", path, short(commit), err)
	}
	return content, ok, nil
}

// Commit data of one change.
type Commit struct {
	SHA            string
	AuthorName     string
	AuthorEmail    string
	CommitterName  string
	CommitterEmail string
	Message        string
}

// Commits lists the commits of a change, oldest first, at most limit of the newest ones.
func (r *Repo) Commits(ctx context.Context, base, head string, limit int) ([]Commit, error) {
	out, err := run(ctx, r.Dir, "-c", "log.showSignature=false", "log", "-z", "--no-color", "--no-notes", "--no-mailmap",
		fmt.Sprintf("--max-count=%d", limit), "--format=%H%x1f%an%x1f%ae%x1f%cn%x1f%ce%x1f%B", base+".."+head, "--")
	if err != nil {
		return nil, fmt.Errorf("commits of %s..%s: %w", short(base), short(head), err)
	}
	var list []Commit
	for _, rec := range strings.Split(out, "\x00") {
		f := strings.SplitN(rec, "\x1f", 6)
		if len(f) != 6 {
			continue
		}
		list = append(list, Commit{f[0], f[1], f[2], f[3], f[4], strings.TrimRight(f[5], "\n")})
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list, nil
}

// Dirty reports whether the work tree differs from HEAD in tracked files.
func (r *Repo) Dirty(ctx context.Context) (bool, error) {
	out, err := run(ctx, r.Dir, "-c", "core.fsmonitor=false", "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty")
	return strings.TrimSpace(out) != "", err
}

func short(sha string) string {
	if len(sha) == 40 || len(sha) == 64 {
		return sha[:12]
	}
	return sha
}

// run calls git in dir. The error holds git's own first line.
func run(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := command(ctx, dir, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if msg := firstLine(stderr.String()); msg != "" {
			return "", fmt.Errorf("git: %s", msg)
		}
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return stdout.String(), nil
}

func command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = environment()
	return cmd
}

// environment is the process's own without git's variables: a GIT_DIR left over from a hook would make git read
// another repository. The object directories stay, since a receiving hook's quarantine is found through them.
func environment() []string {
	env := []string{"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C"}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "GIT_OBJECT_DIRECTORY", name == "GIT_ALTERNATE_OBJECT_DIRECTORIES", name == "GIT_CONFIG_NOSYSTEM", name == "GIT_CONFIG_GLOBAL":
		case strings.HasPrefix(name, "GIT_"), name == "LC_ALL", name == "LANGUAGE":
			continue
		}
		env = append(env, kv)
	}
	return env
}

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	return strings.TrimPrefix(s, "fatal: ")
}
