package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// makeRepository makes a repository with a small change on one branch and one of 100 files on another. The large one stays
// under the length that a judge reads.
func makeRepository(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	git := func(args ...string) error {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
			"GIT_AUTHOR_NAME=Dev One", "GIT_AUTHOR_EMAIL=dev.one@example.com", "GIT_COMMITTER_NAME=Dev One", "GIT_COMMITTER_EMAIL=dev.one@example.com")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %s", args[0], out)
		}
		return nil
	}
	commit := func(message string, edit int) error {
		for i := range 100 {
			if edit == 0 || i < edit {
				if err := writeSource(dir, i, edit > 0); err != nil {
					return err
				}
			}
		}
		if err := git("add", "-A"); err != nil {
			return err
		}
		return git("commit", "-q", "-m", message)
	}
	steps := []func() error{
		func() error { return git("init", "-q", "-b", "main") },
		func() error { return commit("base", 0) },
		func() error { return git("checkout", "-q", "-b", "small") },
		func() error { return commit("Change one file", 1) },
		func() error { return git("checkout", "-q", "-b", "large", "main") },
		func() error { return commit("Change a hundred files", 100) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// writeSource writes one source file, with or without the change.
func writeSource(dir string, i int, changed bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "// Package p%d is one of a hundred.\npackage p%d\n\n", i, i)
	for j := range 40 {
		limit := j
		if changed && j%10 == 5 {
			limit = j + 1
		}
		fmt.Fprintf(&b, "// Limit%d is the limit of step %d.\nfunc Limit%d(n int) bool {\n\treturn n > %d\n}\n\n", j, j, j, limit)
	}
	path := filepath.Join(dir, fmt.Sprintf("p%d", i), "limit.go")
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}
