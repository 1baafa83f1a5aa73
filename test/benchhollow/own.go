package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ownLines is how many lines of code a change of this repository has that must be measured within ownTarget.
const (
	ownLines  = 100
	ownFile   = "prosecutor/contract/contract.go"
	ownTarget = 15 * time.Second
)

// own measures a hundred lines of this repository, build included.
func own() (missed int, err error) {
	root, err := os.MkdirTemp("", "benchhollow-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(root)
	here, err := filepath.Abs(".")
	if err != nil {
		return 0, err
	}
	if _, _, err := command(".", nil, "git", "clone", "-q", "--depth=1", "file://"+here, filepath.Join(root, "repo")); err != nil {
		return 0, err
	}
	dir := filepath.Join(root, "repo")
	text, err := os.ReadFile(filepath.Join(dir, ownFile))
	if err != nil {
		return 0, err
	}
	var lines []int
	for i, line := range strings.Split(string(text), "\n") {
		code := strings.TrimSpace(line)
		if code != "" && !strings.HasPrefix(code, "//") && i > 40 && len(lines) < ownLines {
			lines = append(lines, i+1)
		}
	}
	r, c, _, err := ours(dir, map[string][]int{ownFile: lines}, nil)
	if err != nil {
		return 0, err
	}
	mark := "ok    "
	if c.wall > ownTarget || executed(r) == 0 {
		mark, missed = "MISSED", 1
	}
	fmt.Printf("== this repository, %d lines of %s\n   %s %d mutants in %.2fs, build included (cpu %.2fs), at most %.0fs\n", len(lines), ownFile, mark, executed(r), c.wall.Seconds(), c.cpu.Seconds(), ownTarget.Seconds())
	return missed, nil
}
