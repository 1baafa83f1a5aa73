package casefile

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-github/v62/github"
	"golang.org/x/sync/errgroup"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

const (
	// mostListed is how many files of a pull request GitHub lists (REST API: list pull requests files).
	mostListed = 3000
	// emptyBlob is the name of a blob without content.
	emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
	// noBlob stands in an index line for a side that does not exist.
	noBlob = "0000000000000000000000000000000000000000"
)

// treeFile is what a commit's tree says about a path.
type treeFile struct {
	mode diff.Mode
	oid  string
}

// filesDiff puts a diff together from GitHub's list of changed files. The list has the patches but no modes, and it is not
// pinned, so the trees of both commits give modes and object names, and a file whose content is not the one of the head
// means that the list is about another push.
func (s *session) filesDiff(ctx context.Context, f *File) (diffRead, error) {
	if f.PR == 0 {
		return diffRead{}, notWhole("a merge group has none")
	}
	if f.ChangedFiles > mostListed {
		return diffRead{}, notWhole("it ends at %d of the %d files", mostListed, f.ChangedFiles)
	}
	pages := make([][]*github.CommitFile, (f.ChangedFiles+99)/100)
	var mergeBase string
	var before, after map[string]treeFile
	together, gctx := errgroup.WithContext(ctx)
	together.SetLimit(4)
	for i := range pages {
		together.Go(func() error {
			_, err := s.get(gctx, fmt.Sprintf("pulls/%d/files", f.PR), url.Values{"per_page": {"100"}, "page": {strconv.Itoa(i + 1)}}, &pages[i])
			return failed(err, "listing the files of %s/%s#%d", s.owner, s.repo, f.PR)
		})
	}
	together.Go(func() (err error) {
		if mergeBase, err = s.mergeBase(gctx, f.Base, f.Head); err == nil {
			before, err = s.listing(gctx, mergeBase)
		}
		return err
	})
	together.Go(func() (err error) {
		after, err = s.listing(gctx, f.Head)
		return err
	})
	if err := together.Wait(); err != nil {
		return diffRead{}, err
	}
	listed := slices.Concat(pages...)
	if len(listed) != f.ChangedFiles {
		return diffRead{}, notWhole("it holds %d of the %d files", len(listed), f.ChangedFiles)
	}
	read := diffRead{source: FromFiles}
	var b strings.Builder
	for _, file := range listed {
		section, why, err := section(file, before, after)
		if err != nil {
			return diffRead{}, err
		}
		if why != "" {
			read.unseen = append(read.unseen, Unseen{Path: file.GetFilename(), Why: why})
		}
		b.WriteString(section)
	}
	read.text = b.String()
	if _, err := checkedDiff(read.text, f.ChangedFiles); err != nil {
		return diffRead{}, err
	}
	return read, nil
}

// mergeBase asks GitHub which commit a comparison starts from. The second page of the answer holds no files.
func (s *session) mergeBase(ctx context.Context, base, head string) (string, error) {
	var c github.CommitsComparison
	_, err := s.get(ctx, fmt.Sprintf("compare/%s...%s", base, head), url.Values{"per_page": {"1"}, "page": {"2"}}, &c)
	if unrelated(err) {
		return "", notWhole("%s", noAncestor)
	}
	if err != nil {
		return "", failed(err, "comparing %s with %s in %s/%s", short(base), short(head), s.owner, s.repo)
	}
	if sha := c.GetMergeBaseCommit().GetSHA(); sha != "" {
		return sha, nil
	}
	return "", notWhole("GitHub names no merge base of %s and %s", short(base), short(head))
}

// listing reads all paths of a commit.
func (s *session) listing(ctx context.Context, commit string) (map[string]treeFile, error) {
	var t github.Tree
	if _, err := s.get(ctx, "git/trees/"+commit, url.Values{"recursive": {"1"}}, &t); err != nil {
		if ghclient.ClassOf(err) == ghclient.ClassTooLarge {
			return nil, notWhole("the listing of %s is too large", short(commit))
		}
		return nil, failed(err, "listing the tree of %s in %s/%s", short(commit), s.owner, s.repo)
	}
	if t.GetTruncated() {
		return nil, notWhole("GitHub cuts the listing of %s off", short(commit))
	}
	files := make(map[string]treeFile, len(t.Entries))
	for _, e := range t.Entries {
		if e.GetType() != "tree" {
			files[e.GetPath()] = treeFile{diff.Mode(e.GetMode()), e.GetSHA()}
		}
	}
	return files, nil
}

// section is git's text for one listed file. why says that its change is not in it.
func section(f *github.CommitFile, before, after map[string]treeFile) (text, why string, err error) {
	name, old := f.GetFilename(), f.GetFilename()
	if f.GetPreviousFilename() != "" {
		old = f.GetPreviousFilename()
	}
	if strings.Contains(name+old, "\uFFFD") {
		return "", "", notWhole("the name %q is not UTF-8, and it replaces what is not", name)
	}
	was, hadOld := before[old]
	is, hasNew := after[name]
	removed, added := f.GetStatus() == "removed", f.GetStatus() == "added"
	switch {
	case !hasNew && !removed, !hadOld && !added, hadOld && added, hasNew && removed:
		return "", "", &RetryableError{What: fmt.Sprintf("GitHub's list of files does not fit the pinned commits at %q: it is about another push, or the name cannot be told", name), Stale: true}
	case !removed && is.oid != f.GetSHA(), removed && was.oid != f.GetSHA():
		return "", "", &RetryableError{What: fmt.Sprintf("GitHub's list of files shows %q as another push has it", name), Stale: true}
	}
	if !removed && !added && kind(was.mode) != kind(is.mode) {
		return "", "", notWhole("%q changed its type, which it does not show", name)
	}

	var b strings.Builder
	from, to := quote("a/"+old), quote("b/"+name)
	fmt.Fprintf(&b, "diff --git %s %s\n", from, to)
	switch {
	case added:
		fmt.Fprintf(&b, "new file mode %s\n", is.mode)
		from, was.oid = "/dev/null", noBlob
	case removed:
		fmt.Fprintf(&b, "deleted file mode %s\n", was.mode)
		to, is.oid = "/dev/null", noBlob
	case was.mode != is.mode:
		fmt.Fprintf(&b, "old mode %s\nnew mode %s\n", was.mode, is.mode)
	}
	if word := map[string]string{"renamed": "rename", "copied": "copy"}[f.GetStatus()]; word != "" {
		if was.oid == is.oid {
			b.WriteString("similarity index 100%\n") // of others the list does not tell
		}
		fmt.Fprintf(&b, "%s from %s\n%s to %s\n", word, quote(old), word, quote(name))
	}
	patch := f.GetPatch()
	switch {
	case was.oid == is.oid: // the name or the mode changed, and nothing else
		return b.String(), "", nil
	case patch == "" && f.GetChanges() > 0:
		// It stands in the diff like a binary file, so that its path counts.
		why = fmt.Sprintf("its change of %d lines is too large for GitHub to list", f.GetChanges())
	case strings.Contains(patch, "\uFFFD"):
		// The list is JSON, which has no place for bytes that are no UTF-8.
		patch, why = "", "its text is not UTF-8, and GitHub's list replaces what is not"
	}
	fmt.Fprintf(&b, "index %s..%s", was.oid, is.oid)
	if !added && !removed && was.mode == is.mode {
		fmt.Fprintf(&b, " %s", is.mode)
	}
	b.WriteString("\n")
	switch {
	case patch != "":
		fmt.Fprintf(&b, "--- %s\n+++ %s\n%s\n", fileHeader(from), fileHeader(to), strings.TrimSuffix(patch, "\n"))
	case added && is.oid == emptyBlob, removed && was.oid == emptyBlob:
	default:
		// A text that changed has lines that changed: this one is binary.
		fmt.Fprintf(&b, "Binary files %s and %s differ\n", from, to)
	}
	return b.String(), why, nil
}

// kind is the type of a file, whatever its permissions.
func kind(m diff.Mode) diff.Mode {
	if m == diff.ModeExecutable {
		return diff.ModeRegular
	}
	return m
}

// fileHeader has the tab by which git ends a name with a space in it.
func fileHeader(name string) string {
	if strings.Contains(name, " ") && !strings.HasPrefix(name, `"`) {
		return name + "\t"
	}
	return name
}

// quote writes a name as git does under core.quotePath.
func quote(name string) string {
	plain := true
	for i := range len(name) {
		if c := name[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= 0x20 && c < 0x7f:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "\\%03o", c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
