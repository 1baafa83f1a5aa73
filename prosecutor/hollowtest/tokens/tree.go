package tokens

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// errTooBig says that a tree is over the limit of its copy.
var errTooBig = errors.New("it is too large to be copied")

// CopyTree copies a directory with its links and modes, up to limit bytes (0: no limit). Sockets, pipes and devices are
// left out. Where the file system can, the copies share their blocks until one is written to.
func CopyTree(ctx context.Context, from, to string, limit int64) error {
	return copyTree(ctx, from, to, limit, nil)
}

// linked names directories of dependencies: their files are linked into copies and not copied. Whoever writes into one
// of them writes into all copies, which package managers alone do.
var linked = map[string]bool{"node_modules": true, ".venv": true, "venv": true, "vendor": true}

// forkTree makes another copy of a prepared tree. Dependencies are shared.
func forkTree(ctx context.Context, from, to string) error {
	return copyTree(ctx, from, to, 0, linked)
}

func copyTree(ctx context.Context, from, to string, limit int64, share map[string]bool) error {
	src, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()          // it was only read
	if err := os.Mkdir(to, 0o755); err != nil { //nolint:gosec // the tests may run as another account
		return err
	}
	dst, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer func() { _ = dst.Close() }() // each file was closed, and its error seen
	var total int64
	return fs.WalkDir(src.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case p == ".":
			return nil
		case d.IsDir():
			return dst.Mkdir(p, info.Mode().Perm()|0o700)
		case d.Type() == fs.ModeSymlink:
			target, err := src.Readlink(p)
			if err != nil {
				return err
			}
			return dst.Symlink(target, p)
		case !d.Type().IsRegular():
			return nil
		}
		if total += info.Size(); limit > 0 && total > limit {
			return fmt.Errorf("%w: over %d MiB", errTooBig, limit>>20)
		}
		if shared(p, share) && os.Link(filepath.Join(from, p), filepath.Join(to, p)) == nil {
			return nil
		}
		return copyFile(src, dst, p, info)
	})
}

// shared reports whether a file lies in a shared directory.
func shared(p string, share map[string]bool) bool {
	for dir := filepath.Dir(p); dir != "."; dir = filepath.Dir(dir) {
		if share[filepath.Base(dir)] {
			return true
		}
	}
	return false
}

func copyFile(src, dst *os.Root, p string, info fs.FileInfo) error {
	in, err := src.Open(p)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := dst.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	if clone(in, out) != nil {
		_, err = io.Copy(out, in)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	// Build tools compare times: a copy is as old as its original.
	return dst.Chtimes(p, info.ModTime(), info.ModTime())
}
