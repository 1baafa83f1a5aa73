package gitrepo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
)

// maxCheckout bounds the bytes of one checkout.
const maxCheckout = 8 << 30

// entry is one file of a commit's tree.
type entry struct {
	mode, kind, oid, path string
}

// Checkout writes the files of a commit into an empty directory. The repository and its work tree are only read: there is
// no index, no hook, and no filter or attribute that would change a file's content, so that what is written is what was
// committed. Submodules are empty directories. Nothing is written outside of dir, whatever the tree holds.
func (r *Repo) Checkout(ctx context.Context, commit, dir string) error {
	out, err := run(ctx, r.CommonDir, "--git-dir="+r.CommonDir, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
	if err != nil {
		return fmt.Errorf("listing the files of %s: %w", short(commit), err)
	}
	var files []entry
	for _, line := range strings.Split(strings.TrimSuffix(out, "\x00"), "\x00") {
		if line == "" {
			continue
		}
		head, name, ok := strings.Cut(line, "\t")
		f := strings.Fields(head)
		if !ok || len(f) != 3 {
			return fmt.Errorf("listing the files of %s: unexpected answer %q", short(commit), line)
		}
		if !safePath(name) {
			return fmt.Errorf("checking out %s: the path %q is not one that git would write", short(commit), name)
		}
		files = append(files, entry{f[0], f[1], f[2], name})
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("checking out %s: %w", short(commit), err)
	}
	defer func() { _ = root.Close() }() // each file was closed, and its error seen
	if err := r.writeFiles(ctx, root, files); err != nil {
		return fmt.Errorf("checking out %s: %w", short(commit), err)
	}
	return nil
}

// safePath reports whether a path stays below its root and is none of git's own.
func safePath(name string) bool {
	if name == "" || path.IsAbs(name) {
		return false
	}
	for _, part := range strings.Split(name, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") {
			return false
		}
	}
	return true
}

// writeFiles reads all blobs through one process of git.
func (r *Repo) writeFiles(ctx context.Context, root *os.Root, files []entry) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ask bytes.Buffer
	for _, f := range files {
		if f.kind == "blob" {
			ask.WriteString(f.oid + "\n")
		}
	}
	cmd := command(ctx, r.CommonDir, "--git-dir="+r.CommonDir, "cat-file", "--batch", "--buffer")
	cmd.Stdin = &ask
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting git cat-file: %w", err)
	}
	err = writeAll(root, bufio.NewReaderSize(pipe, 256<<10), files)
	if err != nil {
		cancel() // what it still has to say is of no use
	}
	if waitErr := cmd.Wait(); err == nil && waitErr != nil {
		err = fmt.Errorf("git cat-file: %w", waitErr)
	}
	return err
}

func writeAll(root *os.Root, in *bufio.Reader, files []entry) error {
	made := map[string]bool{".": true}
	var total int64
	for _, f := range files {
		if parent := path.Dir(f.path); !made[parent] {
			if err := root.MkdirAll(parent, 0o755); err != nil {
				return err
			}
			made[parent] = true
		}
		if f.kind != "blob" {
			if err := root.MkdirAll(f.path, 0o755); err != nil {
				return err
			}
			continue
		}
		size, err := blobSize(in, f)
		if err != nil {
			return err
		}
		if total += size; total > maxCheckout {
			return fmt.Errorf("the files are over %d GiB", maxCheckout>>30)
		}
		if err := writeFile(root, f, io.LimitReader(in, size), size); err != nil {
			return err
		}
		if _, err := in.Discard(1); err != nil {
			return fmt.Errorf("git cat-file: %w", err)
		}
	}
	return nil
}

// blobSize reads the line before a blob: "<oid> blob <size>".
func blobSize(in *bufio.Reader, f entry) (int64, error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("git cat-file: %w", err)
	}
	fields := strings.Fields(head)
	if len(fields) == 2 && fields[1] == "missing" {
		return 0, fmt.Errorf("the content of %q is not in this clone: fetch it", f.path)
	}
	if len(fields) != 3 || fields[1] != "blob" {
		return 0, fmt.Errorf("git cat-file: unexpected answer %q", head)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 {
		return 0, fmt.Errorf("git cat-file: unexpected answer %q", head)
	}
	return size, nil
}

// maxLink is longer than any target that a file system takes.
const maxLink = 64 << 10

func writeFile(root *os.Root, f entry, content io.Reader, size int64) error {
	if f.mode == "120000" {
		if size > maxLink {
			return fmt.Errorf("the link %q is too long", f.path)
		}
		target, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		return root.Symlink(string(target), f.path)
	}
	mode := os.FileMode(0o644)
	if f.mode == "100755" {
		mode = 0o755
	}
	out, err := root.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, content)
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	return errors.Join(err, out.Close())
}

// WorkTree returns the root of the work tree that the repository was opened in, empty when it is bare.
func (r *Repo) WorkTree(ctx context.Context) (string, error) {
	out, err := run(ctx, r.Dir, "rev-parse", "--is-bare-repository", "--is-inside-work-tree")
	if err != nil {
		return "", fmt.Errorf("looking for the work tree: %w", err)
	}
	if f := strings.Fields(out); len(f) != 2 || f[0] == "true" || f[1] != "true" {
		return "", nil
	}
	out, err = run(ctx, r.Dir, "rev-parse", "--path-format=absolute", "--show-toplevel")
	if err != nil {
		return "", fmt.Errorf("looking for the work tree: %w", err)
	}
	return strings.TrimSuffix(out, "\n"), nil
}
