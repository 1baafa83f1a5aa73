package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sample is the sample repository on disk.
type sample struct {
	dir   string
	base  string              // main
	heads map[string][]string // by branch, one for each push
}

// makeSample makes the repository with one branch for each change.
func makeSample(ctx context.Context, dir string, list []change) (*sample, error) {
	s := &sample{dir: dir, heads: map[string][]string{}}
	if _, err := s.git(ctx, "init", "-q", "-b", "main"); err != nil {
		return nil, err
	}
	var err error
	if s.base, err = s.commit(ctx, commit{message: "The sample repository", write: baseFiles()}); err != nil {
		return nil, err
	}
	for _, c := range list {
		if _, err := s.git(ctx, "checkout", "-q", "-b", c.branch, "main"); err != nil {
			return nil, err
		}
		for _, cm := range c.commits {
			head, err := s.commit(ctx, cm)
			if err != nil {
				return nil, err
			}
			s.heads[c.branch] = append(s.heads[c.branch], head)
		}
	}
	_, err = s.git(ctx, "checkout", "-q", "main")
	return s, err
}

// commit writes and commits, and returns the commit's name.
func (s *sample) commit(ctx context.Context, c commit) (string, error) {
	for name, content := range c.write {
		path := filepath.Join(s.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	if _, err := s.git(ctx, "add", "-A"); err != nil {
		return "", err
	}
	if _, err := s.git(ctx, "commit", "-q", "-m", c.message); err != nil {
		return "", err
	}
	return s.git(ctx, "rev-parse", "HEAD")
}

// git runs git in the repository, with people of the sample and no configuration of the user.
func (s *sample) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = s.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=Dev One", "GIT_AUTHOR_EMAIL=dev.one@example.com",
		"GIT_COMMITTER_NAME=Dev One", "GIT_COMMITTER_EMAIL=dev.one@example.com",
	}
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("git %s: %s", args[0], text)
	}
	return text, nil
}
