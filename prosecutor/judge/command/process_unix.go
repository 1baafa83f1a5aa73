//go:build unix

package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/internal/wire"
)

func supported() error { return nil }

// errOutput ends a program that writes more than MaxOutput.
var errOutput = fmt.Errorf("output over the limit of %d MiB", MaxOutput>>20)

// lookPath finds the program. The search is not exec.LookPath's, because the PATH it looks in is the one that the
// program will see, and because a program in a relative directory would be another one in the scratch directory.
func lookPath(name, path string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			return "", fmt.Errorf("command %q is a relative path: give an absolute path, or a name to look up in PATH", name)
		}
		if err := executable(name); err != nil {
			return "", fmt.Errorf("command %q cannot be run: %w", name, err)
		}
		return name, nil
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if file := filepath.Join(dir, name); executable(file) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("command %q was not found in PATH: install it, or give its absolute path", name)
}

func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		var p *fs.PathError
		if errors.As(err, &p) {
			return p.Err
		}
		return err
	case info.IsDir():
		return errors.New("it is a directory")
	case info.Mode()&0o111 == 0:
		return errors.New("it is not executable")
	}
	return nil
}

// run starts the program, and returns when the program and everything in its process group have ended.
func (j *Judge) run(caller context.Context, prompt string) (string, error) {
	if caller.Err() != nil {
		return "", j.failed(caller, caller, nil, nil, caller.Err())
	}
	dir, err := os.MkdirTemp("", "prosecutor-judge-")
	if err != nil {
		return "", j.fail(prosecutor.Transport, 0, fmt.Errorf("making a scratch directory: %w", err))
	}
	defer removeScratch(dir)
	if err := os.Chmod(dir, 0o500); err != nil { //nolint:gosec // a directory needs its execute bit
		return "", j.fail(prosecutor.Transport, 0, fmt.Errorf("making the scratch directory read-only: %w", err))
	}

	ctx, cancel := context.WithTimeout(caller, j.timeout)
	defer cancel()
	stdout := &cappedBuffer{limit: MaxOutput, full: cancel}
	stderr := &tailBuffer{limit: maxStderr}

	cmd := exec.CommandContext(ctx, j.path)
	cmd.Args = j.argv
	cmd.Dir = dir
	cmd.Env = j.environ(dir)
	cmd.Stdin = strings.NewReader(prompt)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = j.grace

	if err := cmd.Start(); err != nil {
		return "", j.failed(caller, ctx, nil, stderr, err)
	}
	err = cmd.Wait()
	// Whatever is left in the group ends now: after a time-out what ignored SIGTERM, after an answer what was left
	// running. The group's number cannot have gone to somebody else while a member lives; when none does, there is the
	// same narrow chance of reuse as with every signal to a number, and the kernel hands numbers out in turn.
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)

	if stdout.over() {
		return "", j.fail(prosecutor.Transport, 0, errOutput)
	}
	if errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		// The program ended well, and a child that it left behind held the output. What the program wrote is all here.
		err = nil
	}
	if err != nil || ctx.Err() != nil {
		return "", j.failed(caller, ctx, cmd.ProcessState, stderr, err)
	}
	text := stdout.String()
	if strings.TrimSpace(text) == "" {
		return "", j.fail(prosecutor.Transport, 0, fmt.Errorf("%s ended without an answer on its standard output%s", j.name(), j.said(stderr)))
	}
	return text, nil
}

// environ is the program's whole environment. HOME is always set: where it is absent, programs find the real one in the
// user database.
func (j *Judge) environ(dir string) []string {
	env := append([]string(nil), j.env...)
	for _, v := range env {
		if strings.HasPrefix(v, "HOME=") {
			return env
		}
	}
	return append(env, "HOME="+dir)
}

func (j *Judge) name() string { return filepath.Base(j.path) }

// failed explains why a run gave no answer.
func (j *Judge) failed(caller, call context.Context, state *os.ProcessState, stderr *tailBuffer, err error) error {
	switch {
	case errors.Is(caller.Err(), context.Canceled):
		return j.fail(prosecutor.Canceled, 0, fmt.Errorf("%s was given up: %w", j.name(), context.Canceled))
	case call.Err() != nil:
		return j.fail(prosecutor.Timeout, 0, fmt.Errorf("%s gave no answer in time%s: %w", j.name(), j.said(stderr), context.DeadlineExceeded))
	case state == nil:
		return j.fail(prosecutor.Transport, 0, fmt.Errorf("starting %s: %w", j.name(), plain(err)))
	case state.Success():
		return j.fail(prosecutor.Transport, 0, fmt.Errorf("running %s: %w", j.name(), plain(err)))
	}
	code := state.ExitCode()
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		code = 128 + int(ws.Signal())
		return j.fail(prosecutor.Transport, code, fmt.Errorf("%s was ended by signal %d (%s)%s", j.name(), ws.Signal(), ws.Signal(), j.said(stderr)))
	}
	kind := judge.Classify(j.errors, judge.Response{Status: code}).Kind
	if kind == "" {
		kind = prosecutor.Transport
	}
	hint := ""
	switch code {
	case 126:
		hint = ": it found something that it may not execute; check the command of the judge"
	case 127:
		hint = ": it did not find a program that it needs; check the command of the judge, and PATH"
	}
	return j.fail(kind, code, fmt.Errorf("%s ended with exit code %d%s%s", j.name(), code, hint, j.said(stderr)))
}

func (j *Judge) fail(kind prosecutor.ErrorKind, status int, err error) error {
	return &judge.Error{Kind: kind, Provider: j.info.Provider, Status: status, Err: err}
}

// said is what the program wrote last to standard error, fit to show, or nothing.
func (j *Judge) said(stderr *tailBuffer) string {
	if stderr == nil {
		return ""
	}
	text := wire.Clean(stderr.String(), maxStderr, j.secrets...)
	if text == "" {
		return ""
	}
	// The end of what a program says is where it says why it gave up.
	if r := []rune(text); len(r) > 300 {
		text = "..." + string(r[len(r)-300:])
	}
	return fmt.Sprintf("; it says %q", text)
}

// plain drops the path and the system call from the error of a start.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// removeScratch removes the directory even when the program, running as root, has filled it in spite of its mode.
func removeScratch(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a directory needs its execute bit, and nobody else gets one
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// cappedBuffer holds the answer. Past its limit it ends the program.
type cappedBuffer struct {
	mu    sync.Mutex
	b     strings.Builder
	limit int
	full  func()
	was   bool
}

func (c *cappedBuffer) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.was || c.b.Len()+len(p) > c.limit {
		if !c.was {
			c.was = true
			c.full()
		}
		return 0, errOutput
	}
	return c.b.Write(p)
}

func (c *cappedBuffer) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.was
}

func (c *cappedBuffer) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b.String()
}

// tailBuffer keeps the end of what is written to it.
type tailBuffer struct {
	mu    sync.Mutex
	b     []byte
	limit int
}

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if len(p) > t.limit {
		p = p[len(p)-t.limit:]
	}
	t.b = append(t.b, p...)
	if over := len(t.b) - t.limit; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return n, nil
}

func (t *tailBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
