package gitrepo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// maxBlob bounds what is read of one file. The callers look at policies, attributes and sources; none is near it.
const maxBlob = 32 << 20

// errTooLarge says that a blob is over maxBlob.
var errTooLarge = fmt.Errorf("the file is over %d MiB", maxBlob>>20)

// blobReader reads objects through one `git cat-file --batch` process, started at the first read. One read at a time.
type blobReader struct {
	dir string

	mu     sync.Mutex
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	closed bool
}

func (b *blobReader) read(ctx context.Context, name string) ([]byte, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if strings.ContainsAny(name, "\n\x00") {
		return b.readAlone(ctx, name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, false, errors.New("the repository is closed")
	}
	if b.cmd == nil {
		if err := b.start(); err != nil {
			return nil, false, err
		}
	}
	content, ok, err := b.ask(name)
	if err != nil && !errors.Is(err, errTooLarge) {
		b.stop()
	}
	return content, ok, err
}

func (b *blobReader) start() error {
	// The process outlives the call that starts it, so it has no context; close ends it.
	cmd := command(context.Background(), b.dir, "--git-dir="+b.dir, "cat-file", "--batch")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting git cat-file: %w", err)
	}
	b.cmd, b.in, b.out = cmd, in, bufio.NewReaderSize(out, 64<<10)
	return nil
}

func (b *blobReader) ask(name string) ([]byte, bool, error) {
	if _, err := io.WriteString(b.in, name+"\n"); err != nil {
		return nil, false, fmt.Errorf("git cat-file: %w", err)
	}
	head, err := b.out.ReadString('\n')
	if err != nil {
		return nil, false, fmt.Errorf("git cat-file: %w", err)
	}
	head = strings.TrimSuffix(head, "\n")
	if head == name+" missing" {
		return nil, false, nil
	}
	// The header is "<oid> <type> <size>".
	fields := strings.Fields(head)
	if len(fields) != 3 {
		return nil, false, fmt.Errorf("git cat-file: unexpected answer %q", head)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 {
		return nil, false, fmt.Errorf("git cat-file: unexpected answer %q", head)
	}
	if size > maxBlob || fields[1] != "blob" {
		if _, err := io.CopyN(io.Discard, b.out, size+1); err != nil {
			return nil, false, fmt.Errorf("git cat-file: %w", err)
		}
		if fields[1] != "blob" {
			return nil, false, nil
		}
		return nil, false, errTooLarge
	}
	content := make([]byte, size+1)
	if _, err := io.ReadFull(b.out, content); err != nil {
		return nil, false, fmt.Errorf("git cat-file: %w", err)
	}
	return content[:size], true, nil
}

// readAlone serves names that the line protocol cannot carry.
func (b *blobReader) readAlone(ctx context.Context, name string) ([]byte, bool, error) {
	commit, path, _ := strings.Cut(name, ":")
	if strings.Contains(name, "\x00") {
		return nil, false, nil // no path of git holds a NUL
	}
	entry, err := run(ctx, b.dir, "--git-dir="+b.dir, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", path)
	if err != nil {
		return nil, false, err
	}
	fields := strings.Fields(strings.SplitN(entry, "\t", 2)[0])
	if len(fields) != 3 || fields[1] != "blob" {
		return nil, false, nil
	}
	out, err := run(ctx, b.dir, "--git-dir="+b.dir, "cat-file", "blob", fields[2])
	if err != nil {
		return nil, false, err
	}
	return []byte(out), true, nil
}

func (b *blobReader) stop() {
	if b.cmd == nil {
		return
	}
	_ = b.in.Close() // the process ends when its input does; a failed close changes nothing
	_ = b.cmd.Wait()
	b.cmd = nil
}

func (b *blobReader) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.stop()
	return nil
}
