package casefile

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/prosecutor/gitrepo"
)

// clonePrefix begins the names of the directories that clones are made in.
const clonePrefix = "prosecutor-clone-"

// cloneDiff has git make the diff, in a clone that holds two commits without their history and only the blobs that differ.
func (s *session) cloneDiff(ctx context.Context, base, head string) (string, error) {
	if s.c.opt.GitDir == "" {
		return "", notWhole("%v", errNoClone)
	}
	mergeBase, err := s.mergeBase(ctx, base, head)
	if err != nil {
		return "", err
	}
	c, err := s.clone(ctx)
	if err != nil {
		return "", err
	}
	defer c.close()
	if err := c.fetchChange(mergeBase, head); err != nil {
		return "", err
	}
	text, err := c.diff(mergeBase, head)
	if err != nil {
		return "", err
	}
	if len(text) > maxDiff {
		return "", notWhole("the diff is %d bytes long, and at most %d are read", len(text), maxDiff)
	}
	return checkedDiff(text, -1)
}

// clone is a bare repository that lives as long as one case is collected. Git runs in it with no configuration but the one
// that is passed in the environment: no hooks, no credential helpers, no other protocol than the URL's, no redirects. The
// token is in the environment too, never among the arguments and never in a file.
type clone struct {
	s      *session
	dir    string
	repo   *gitrepo.Repo
	ctx    context.Context //nolint:containedctx // the clone's life is one call; it ends with the deadline of that call
	cancel context.CancelCauseFunc
	env    []string
	secret []string
	done   chan struct{}
	slot   chan struct{}
}

var errCloneSize = errors.New("the clone is larger than is allowed")

func (s *session) clone(ctx context.Context) (*clone, error) {
	token, err := s.c.opt.Token(ctx, s.installation, ghclient.Scope{
		RepositoryIDs: []int64{s.repoID}, Permissions: map[string]string{"contents": "read", "metadata": "read"},
	})
	if err != nil {
		return nil, failed(err, "a token for cloning %s/%s", s.owner, s.repo)
	}
	select {
	case s.c.clones <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c := &clone{s: s, slot: s.c.clones, done: make(chan struct{})}
	timed, stop := context.WithTimeoutCause(ctx, s.c.opt.CloneLimit, errCloneTime)
	c.ctx, c.cancel = context.WithCancelCause(timed)
	context.AfterFunc(c.ctx, stop)
	if err := c.start(token); err != nil {
		close(c.done)
		c.close()
		return nil, err
	}
	go c.watch()
	return c, nil
}

var errCloneTime = errors.New("cloning took longer than is allowed")

func (c *clone) start(token string) error {
	opt := c.s.c.opt
	u, err := url.Parse(opt.HTML)
	if err != nil || u.Host == "" {
		return fmt.Errorf("cloning %s/%s: %q is not the URL of a host", c.s.owner, c.s.repo, opt.HTML)
	}
	remote := u.JoinPath(c.s.owner, c.s.repo+".git").String()
	if err := os.MkdirAll(opt.GitDir, 0o700); err != nil {
		return fmt.Errorf("a directory for clones: %w", err)
	}
	if c.dir, err = os.MkdirTemp(opt.GitDir, clonePrefix); err != nil {
		return fmt.Errorf("a directory for a clone: %w", err)
	}
	login := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
	c.secret = []string{token, login}
	c.env = cloneEnv(c.dir, u, login)
	if _, err := c.git(nil, "init", "--quiet", "--bare", "--template=", "."); err != nil {
		return err
	}
	// A remote that promises objects is what makes git accept a repository without its blobs.
	for _, kv := range [][2]string{{"remote.origin.promisor", "true"}, {"remote.origin.partialclonefilter", "blob:none"}, {"remote.origin.url", remote}} {
		if _, err := c.git(nil, "config", kv[0], kv[1]); err != nil {
			return err
		}
	}
	return nil
}

// cloneEnv is all that git gets to see.
func cloneEnv(dir string, host *url.URL, login string) []string {
	settings := [][2]string{
		{"http." + host.Scheme + "://" + host.Host + "/.extraHeader", "Authorization: Basic " + login},
		{"http.followRedirects", "false"},
		{"http.lowSpeedLimit", "1000"}, {"http.lowSpeedTime", "30"},
		{"protocol.allow", "never"}, {"protocol." + host.Scheme + ".allow", "always"},
		{"core.hooksPath", os.DevNull}, {"core.askPass", ""}, {"core.fsmonitor", "false"}, {"core.attributesFile", os.DevNull},
		{"credential.helper", ""}, {"gc.auto", "0"}, {"maintenance.auto", "false"}, {"submodule.recurse", "false"},
		{"fetch.recurseSubmodules", "false"}, {"transfer.bundleURI", "false"}, {"transfer.credentialsInUrl", "die"},
	}
	env := []string{
		"HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_NO_LAZY_FETCH=1", "GIT_DIR=" + dir,
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)),
	}
	for i, kv := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, kv[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, kv[1]))
	}
	for _, name := range []string{"PATH", "TMPDIR", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_EXEC_PATH"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// git runs git in the clone. What it says is kept out of errors but for its last line, and that without secrets.
func (c *clone) git(input []byte, args ...string) (string, error) {
	cmd := exec.CommandContext(c.ctx, "git", args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr limitedBuffer
	stdout.limit, stderr.limit = 64<<20, 64<<10
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	err := cmd.Run()
	switch cause := context.Cause(c.ctx); {
	case err == nil && stdout.over:
		return "", notWhole("git has more to say about the change than is read")
	case err == nil && args[0] == "fetch" && size(c.dir) > c.s.c.opt.MaxClone:
		return "", notWhole("%v", errCloneSize)
	case err == nil:
		return string(stdout.Bytes()), nil
	case errors.Is(cause, errCloneSize), errors.Is(cause, errCloneTime):
		return "", notWhole("%v", cause)
	case c.ctx.Err() != nil:
		return "", c.ctx.Err()
	}
	message := c.redact(lastLine(string(stderr.Bytes())))
	what := fmt.Sprintf("git %s of %s/%s", args[0], c.s.owner, c.s.repo)
	if args[0] == "fetch" {
		// The network, or a commit that has not reached this server yet. What is really gone is found out by the next read of
		// the pull request.
		return "", &RetryableError{What: what, Err: errors.New(message)}
	}
	return "", fmt.Errorf("%s: %s: %w", what, message, err)
}

func (c *clone) redact(s string) string {
	for _, secret := range c.secret {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "[redacted]")
		}
	}
	return ghclient.Redact(s)
}

// fetch gets commits with their trees, and neither their history nor their blobs.
func (c *clone) fetch(commits ...string) error {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1", "--filter=blob:none", "--no-auto-maintenance", "origin"}
	_, err := c.git(nil, append(args, commits...)...)
	return err
}

// fetchChange gets two commits and the blobs in which they differ.
func (c *clone) fetchChange(from, to string) error {
	if err := c.fetch(from, to); err != nil {
		return err
	}
	return c.fetchBlobs([2]string{from, to})
}

// fetchBlobs gets the blobs in which pairs of commits differ. Git does not fetch them by itself here.
func (c *clone) fetchBlobs(pairs ...[2]string) error {
	wanted := make(map[string]bool)
	for _, p := range pairs {
		raw, err := c.git(nil, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", p[0], p[1])
		if err != nil {
			return err
		}
		for _, field := range strings.Split(raw, "\x00") {
			// ":100644 100755 OLD NEW M"; names are the other fields.
			parts := strings.Fields(field)
			if len(parts) != 5 || !strings.HasPrefix(field, ":") {
				continue
			}
			for side, oid := range parts[2:4] {
				if mode := strings.TrimPrefix(parts[side], ":"); mode != "000000" && mode != "160000" && len(oid) >= 40 {
					wanted[oid] = true
				}
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	var list bytes.Buffer
	for oid := range wanted {
		list.WriteString(oid + "\n")
	}
	_, err := c.git(list.Bytes(), "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--filter=blob:none", "--no-auto-maintenance", "--stdin", "origin")
	return err
}

// open returns the clone as a repository that is only read.
func (c *clone) open() (*gitrepo.Repo, error) {
	if c.repo == nil {
		repo, err := gitrepo.Open(c.ctx, c.dir)
		if err != nil {
			return nil, fmt.Errorf("opening the clone: %w", err)
		}
		c.repo = repo
	}
	return c.repo, nil
}

func (c *clone) diff(from, to string) (string, error) {
	repo, err := c.open()
	if err != nil {
		return "", err
	}
	text, err := repo.Diff(c.ctx, from, to)
	if err != nil {
		if cause := context.Cause(c.ctx); errors.Is(cause, errCloneTime) {
			return "", notWhole("%v", cause)
		}
		return "", fmt.Errorf("in a clone of %s/%s: %w", c.s.owner, c.s.repo, err)
	}
	return text, nil
}

// watch ends the clone's work when it grows over its bound. Git has no bound of its own for what it fetches.
func (c *clone) watch() {
	defer close(c.done)
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
			if size(c.dir) > c.s.c.opt.MaxClone {
				c.cancel(errCloneSize)
				return
			}
		}
	}
}

func (c *clone) close() {
	c.cancel(context.Canceled)
	<-c.done
	if c.repo != nil {
		_ = c.repo.Close() // a reader that ends badly has nothing left to lose
	}
	if c.dir != "" {
		_ = os.RemoveAll(c.dir) // what stays is swept at the next start
	}
	<-c.slot
}

func size(dir string) int64 {
	var total int64
	// Files come and go while git works: what cannot be looked at now is passed over.
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, failed error) error {
		if failed == nil {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				total += info.Size()
			}
		}
		return nil
	})
	return total
}

// sweepClones removes what a process that was killed has left. What is younger than an hour may belong to another one.
func sweepClones(dir string, now time.Time) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the directory for clones: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), clonePrefix) || now.Sub(info.ModTime()) < time.Hour {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("removing an old clone: %w", err)
		}
	}
	return nil
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimPrefix(s[strings.LastIndexByte(s, '\n')+1:], "fatal: ")
}
