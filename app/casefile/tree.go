package casefile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/sync/errgroup"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/prosecutor/generated"
)

// Bounds of reading files.
const (
	maxFile      = 32 << 20  // bytes of one file
	maxHeld      = 128 << 20 // bytes of all files of one tree that are kept
	filesAQuery  = 50        // files a query asks for with their text, at most 512 KB each
	mostPrefetch = 400       // files that are read ahead
	mostBinaries = 30        // binary files that are read ahead, which costs a request each
)

// tree reads the files of one commit. What it was asked once it knows; files that are asked for together cost one query.
// It is safe for concurrent use.
type tree struct {
	s      *session
	commit string

	mu     sync.Mutex
	files  map[string]blob
	held   int64
	groups [][]string // files of which reading one reads all
}

// blob is what is known of a path.
type blob struct {
	present bool
	content []byte
	whole   bool // content is all of it
	oid     string
	size    int64
}

func newTree(s *session, commit string) *tree {
	return &tree{s: s, commit: commit, files: make(map[string]blob)}
}

// know takes over what an answer said about a path; a nil entry is an answer too.
func (t *tree) know(name string, e *treeEntry) {
	if e == nil {
		t.keep(name, blob{})
		return
	}
	if e.Type == "blob" && e.Object != nil {
		t.keep(name, blobOf(e.Object))
		return
	}
	t.keep(name, blob{}) // a directory or a submodule is no file
}

func blobOf(o *object) blob {
	b := blob{present: true, oid: o.Oid, size: o.ByteSize}
	if o.Text != nil && !o.IsTruncated && int64(len(*o.Text)) == o.ByteSize {
		// A text of another length was transcoded, or cut: it is not what the repository holds.
		b.content, b.whole = []byte(*o.Text), true
	}
	return b
}

func (t *tree) keep(name string, b blob) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held += int64(len(b.content)); t.held > maxHeld {
		t.held -= int64(len(b.content))
		b.content, b.whole = nil, false
	}
	t.files[name] = b
}

// group says that these files will be wanted together.
func (t *tree) group(names []string) {
	if len(names) > 0 {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.groups = append(t.groups, names)
	}
}

// Read implements review.ReadFile. A file that cannot be read is an error, never absent.
func (t *tree) Read(ctx context.Context, name string) (content []byte, ok bool, err error) {
	t.mu.Lock()
	b, known := t.files[name]
	names := []string{name}
	for _, g := range t.groups {
		if slices.Contains(g, name) {
			names = slices.DeleteFunc(slices.Clone(g), func(n string) bool { _, known := t.files[n]; return known })
			break
		}
	}
	t.mu.Unlock()
	if !known {
		if err := t.ask(ctx, names); err != nil {
			return nil, false, failed(err, "reading %s at %s", name, short(t.commit))
		}
		t.mu.Lock()
		b = t.files[name]
		t.mu.Unlock()
	}
	switch {
	case !b.present:
		return nil, false, nil
	case b.whole:
		return b.content, true, nil
	case b.size > maxFile:
		return nil, false, fmt.Errorf("reading %s at %s: it is %d bytes long, and at most %d are read", name, short(t.commit), b.size, maxFile)
	}
	if content, err = t.s.blob(ctx, b.oid); err != nil {
		return nil, false, failed(err, "reading %s at %s", name, short(t.commit))
	}
	t.keep(name, blob{present: true, content: content, whole: true, oid: b.oid, size: int64(len(content))})
	return content, true, nil
}

// prefetch asks for files before somebody waits for them. Failures are left to Read.
func (t *tree) prefetch(ctx context.Context, names []string) {
	var unknown []string
	t.mu.Lock()
	for _, n := range names {
		if _, known := t.files[n]; !known && len(unknown) < mostPrefetch {
			unknown = append(unknown, n)
		}
	}
	t.mu.Unlock()
	if len(unknown) > 0 {
		_ = t.ask(ctx, unknown) // Read asks again, and reports
	}
}

// readBinaries reads binary files before the rules look at them, so that a failure that passes is met here, where it can be
// waited for, and not there, where it would count against the change. What will never be read is left to the rules.
func (t *tree) readBinaries(ctx context.Context, names, allowed []string) error {
	together, gctx := errgroup.WithContext(ctx)
	together.SetLimit(4)
	wanted := 0
	for _, name := range names {
		if slices.ContainsFunc(allowed, func(glob string) bool { ok, err := doublestar.Match(glob, name); return ok && err == nil }) {
			continue
		}
		if wanted++; wanted > mostBinaries {
			break
		}
		together.Go(func() error {
			_, _, err := t.Read(gctx, name)
			switch ghclient.ClassOf(err) {
			case ghclient.ClassRateLimited, ghclient.ClassInstallationGone, ghclient.ClassSuspended, ghclient.ClassCanceled:
				return err
			}
			if _, passes := errorAs[*RetryableError](err); passes {
				return err
			}
			return nil
		})
	}
	return together.Wait()
}

// ask reads files through one query for each group of them.
func (t *tree) ask(ctx context.Context, names []string) error {
	for chunk := range slices.Chunk(names, filesAQuery) {
		if err := t.askSome(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) askSome(ctx context.Context, names []string) error {
	var params, fields strings.Builder
	vars := map[string]any{"commit": t.commit}
	for i, n := range names {
		if !utf8.ValidString(n) {
			return fmt.Errorf("the name %q is not UTF-8, and GitHub's interface takes no other", n)
		}
		fmt.Fprintf(&params, ", $p%d: String!", i)
		fmt.Fprintf(&fields, "    f%d: object(expression: $p%d) { ...content }\n", i, i)
		vars[fmt.Sprintf("p%d", i)] = t.commit + ":" + n
	}
	query := "query Files($owner: String!, $name: String!, $commit: GitObjectID!" + params.String() + ") {\n" +
		"  repository(owner: $owner, name: $name) {\n    commit: object(oid: $commit) { oid }\n" + fields.String() + "  }\n}\n" +
		"fragment content on GitObject { __typename oid ... on Blob { byteSize isBinary isTruncated text } }\n"
	var answer struct{ Repository map[string]*object }
	if err := t.s.graphql(ctx, query, vars, &answer, nil); err != nil {
		return err
	}
	if answer.Repository["commit"] == nil {
		// Without the commit every file looks absent.
		return &RetryableError{What: fmt.Sprintf("GitHub does not show commit %s of %s/%s", short(t.commit), t.s.owner, t.s.repo), Stale: true}
	}
	for i, n := range names {
		o := answer.Repository[fmt.Sprintf("f%d", i)]
		if o == nil || o.Typename != "Blob" {
			t.keep(n, blob{})
			continue
		}
		t.keep(n, blobOf(o))
	}
	return nil
}

// blob reads an object by its name.
func (s *session) blob(ctx context.Context, oid string) ([]byte, error) {
	req, err := s.rest.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/git/blobs/%s", s.owner, s.repo, oid), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/vnd.github.raw+json")
	content := limitedBuffer{limit: maxFile}
	if _, err := s.rest.Do(ctx, req, &content); err != nil {
		return nil, err
	}
	if content.over {
		return nil, fmt.Errorf("it is over %d bytes", maxFile)
	}
	return content.Bytes(), nil
}

// baseFiles lists what the base is asked about a change: every .gitattributes on the way to a changed file, and changed
// files whose kind is told by their content.
func baseFiles(p *pull) []string {
	var names []string
	for _, f := range p.Files.Nodes {
		for dir := path.Dir(f.Path); ; dir = path.Dir(dir) {
			name := path.Join(dir, attributesPath)
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			if dir == "." || dir == "/" {
				break
			}
		}
	}
	for _, f := range p.Files.Nodes {
		if (f.ChangeType == "MODIFIED" || f.ChangeType == "DELETED" || f.ChangeType == "CHANGED") && generated.ReadsContent(f.Path) {
			names = append(names, f.Path)
		}
	}
	return names
}

// limitedBuffer keeps the first bytes of what is written to it.
type limitedBuffer struct {
	content []byte
	limit   int
	over    bool
}

// Write implements io.Writer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := b.limit - len(b.content); len(p) > room {
		b.over = true
		b.content = append(b.content, p[:max(room, 0)]...)
		return len(p), nil
	}
	b.content = append(b.content, p...)
	return len(p), nil
}

// Bytes returns what was kept.
func (b *limitedBuffer) Bytes() []byte { return b.content }

var errTooMany = errors.New("there are more than are read")
