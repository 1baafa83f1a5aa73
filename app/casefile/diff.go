package casefile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// DiffSource says how the diff was read.
type DiffSource string

// The ways to a diff, in the order they are tried.
const (
	FromMedia DiffSource = "media type"     // GitHub's own text
	FromFiles DiffSource = "files endpoint" // put together from the list of files
	FromClone DiffSource = "local clone"    // git's own text
)

// mostCompared is how many files GitHub lists in a comparison (REST API: compare two commits).
const mostCompared = 300

// maxDiff bounds the text of a diff, in bytes. GitHub's own ends at 1 MB; what is longer than a judge may read is still
// read by the static rules and measured.
const maxDiff = diff.DefaultMaxBytes

// Unseen is a changed file that nobody could show.
type Unseen struct {
	Path string // empty for files whose names are not known either
	Why  string
}

// diffRead is the diff of the case.
type diffRead struct {
	text     string
	source   DiffSource
	unseen   []Unseen
	notes    []string
	binaries []string // changed binary files of the head
}

// errNotWhole says that a way to the diff does not show all of it; the next one is tried.
type errNotWhole struct {
	why   string
	sound bool // the text is a diff that is sound in itself, and shows another number of files than it must
	text  string
	shows int
}

func (e *errNotWhole) Error() string { return e.why }

func notWhole(format string, args ...any) error {
	return &errNotWhole{why: fmt.Sprintf(format, args...)}
}

// diff reads the diff of the pins by the first way that shows all of it. A text that was cut between two files looks whole,
// so that each is held against the number of changed files that GitHub counts.
func (s *session) diff(ctx context.Context, f *File) (diffRead, error) {
	text, err := s.mediaDiff(ctx, f.Base, f.Head, f.ChangedFiles)
	if err == nil {
		return finish(diffRead{text: text, source: FromMedia}), nil
	}
	miscounted, next := errorAs[*errNotWhole](err)
	if !next {
		return diffRead{}, err
	}
	if miscounted.sound {
		whole, cerr := s.compared(ctx, f, miscounted.shows)
		if cerr != nil {
			return diffRead{}, cerr
		}
		if whole {
			return finish(diffRead{text: miscounted.text, source: FromMedia, notes: []string{fmt.Sprintf(
				"GitHub counts %d changed files where the comparison of base and head has %d: the base has taken over a part of the change since it was counted",
				f.ChangedFiles, miscounted.shows)}}), nil
		}
	}
	read := diffRead{notes: []string{"GitHub's diff was not used: " + err.Error()}}

	listed, err := s.filesDiff(ctx, f)
	if retry, stale := errorAs[*RetryableError](err); stale && retry.Stale && s.c.opt.GitDir != "" {
		// The list follows the pull request as GitHub last looked at it; a clone has the pinned commits.
		err = notWhole("%v", retry)
	}
	if _, next := errorAs[*errNotWhole](err); err != nil && !next {
		return diffRead{}, err
	}
	switch {
	case err != nil:
		read.notes = append(read.notes, "GitHub's list of files was not used: "+err.Error())
	case len(listed.unseen) == 0:
		listed.notes = read.notes
		return finish(listed), nil
	default:
		read.notes = append(read.notes, fmt.Sprintf("GitHub's list of files was not used: it leaves out what changed in %s", countUnseen(listed.unseen)))
	}

	text, cloneErr := s.cloneDiff(ctx, f.Base, f.Head)
	if cloneErr == nil {
		read.text, read.source = text, FromClone
		if d, err := diff.ParseString(text); err == nil && f.ChangedFiles >= 0 && files(d) != f.ChangedFiles {
			// Git has all objects of both commits, so it is right; GitHub finds renames by limits of its own.
			read.notes = append(read.notes, fmt.Sprintf("git finds %d changed files where GitHub counts %d", files(d), f.ChangedFiles))
		}
		return finish(read), nil
	}
	if _, next := errorAs[*errNotWhole](cloneErr); !next {
		return diffRead{}, cloneErr
	}
	read.notes = append(read.notes, "no clone was used: "+cloneErr.Error())
	if err != nil {
		read.unseen = []Unseen{{Why: fmt.Sprintf("%v; %v", err, cloneErr)}}
		return read, nil
	}
	for i := range listed.unseen {
		listed.unseen[i].Why += "; " + cloneErr.Error()
	}
	listed.notes = read.notes
	return finish(listed), nil
}

// finish lists the binary files of the head, whose content the rules want to see.
func finish(r diffRead) diffRead {
	d, err := diff.ParseString(r.text)
	if err != nil {
		return r // it was parsed before
	}
	for _, f := range d.Files {
		if f.Binary && f.NewPath != "" {
			r.binaries = append(r.binaries, f.NewPath)
		}
	}
	return r
}

// mediaDiff reads GitHub's text of the difference. changed is how many files it must show.
func (s *session) mediaDiff(ctx context.Context, base, head string, changed int) (string, error) {
	if changed < 0 {
		return "", notWhole("nothing says how many files it must show")
	}
	req, err := s.rest.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/compare/%s...%s", s.owner, s.repo, base, head), nil)
	if err != nil {
		return "", fmt.Errorf("reading the diff of %s/%s: %w", s.owner, s.repo, err)
	}
	req.Header.Set("Accept", "application/vnd.github.diff")
	text := limitedBuffer{limit: maxDiff}
	_, err = s.rest.Do(ctx, req, &text)
	code := ghclient.StatusOf(err)
	switch {
	case code == http.StatusNotAcceptable, code == http.StatusUnprocessableEntity:
		return "", notWhole("GitHub does not make one this large")
	case unrelated(err):
		return "", notWhole("%s", noAncestor)
	case code >= 500 && tooLarge(err):
		return "", notWhole("GitHub cannot make one this large")
	case ghclient.ClassOf(err) == ghclient.ClassTooLarge, text.over:
		return "", notWhole("it is too large to be taken in one answer")
	case err != nil:
		return "", failed(err, "reading the diff of %s/%s from %s to %s", s.owner, s.repo, short(base), short(head))
	}
	return checkedDiff(string(text.Bytes()), changed)
}

const noAncestor = "the head has no history in common with its base; rebase it onto the base branch"

// unrelated tells two commits that have nothing in common from commits that are not there yet: both are a 404, and the
// former says "No common ancestor between A and B".
func unrelated(err error) bool {
	return ghclient.StatusOf(err) == http.StatusNotFound && strings.Contains(strings.ToLower(err.Error()), "no common ancestor")
}

// tooLarge tells a diff that GitHub will never make from a failure that passes.
func tooLarge(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "too_large") || strings.Contains(text, "too large") || strings.Contains(text, "taking too long to generate")
}

// checkedDiff returns the text when it is a whole diff of that many files.
func checkedDiff(text string, changed int) (string, error) {
	d, err := diff.ParseString(text)
	if syntax, ok := errorAs[*diff.SyntaxError](err); ok {
		return "", notWhole("it is damaged: %v", syntax)
	}
	if limit, ok := errorAs[*diff.LimitError](err); ok {
		return "", notWhole("%v", limit)
	}
	if err != nil {
		return "", fmt.Errorf("parsing the diff: %w", err)
	}
	if n := files(d); changed >= 0 && n != changed {
		return "", &errNotWhole{why: fmt.Sprintf("it shows %d files where GitHub counts %d", n, changed), sound: true, text: text, shows: n}
	}
	return text, nil
}

// compared reports whether the comparison of the pins itself has that many files. GitHub counts the files of a pull request
// when it is pushed to, and not when its base takes over a part of it, as it does with stacked pull requests.
func (s *session) compared(ctx context.Context, f *File, shown int) (bool, error) {
	var c github.CommitsComparison
	_, err := s.get(ctx, fmt.Sprintf("compare/%s...%s", f.Base, f.Head), url.Values{"per_page": {"1"}}, &c)
	switch {
	case ghclient.ClassOf(err) == ghclient.ClassTooLarge:
		return false, nil
	case err != nil:
		return false, failed(err, "comparing %s with %s in %s/%s", short(f.Base), short(f.Head), s.owner, s.repo)
	}
	return len(c.Files) == shown && shown < mostCompared, nil
}

// files counts the files of a diff as GitHub does: a type change is one file in two sections.
func files(d *diff.Diff) int {
	n := 0
	for i, f := range d.Files {
		if i > 0 && f.Status == diff.Added && d.Files[i-1].Status == diff.Deleted && d.Files[i-1].OldPath == f.NewPath {
			continue
		}
		n++
	}
	return n
}

func countUnseen(unseen []Unseen) string {
	for _, u := range unseen {
		if u.Path == "" {
			return "some"
		}
	}
	if len(unseen) == 1 {
		return "one"
	}
	return fmt.Sprint(len(unseen))
}

// listUnseen names the files, the first of them when there are many.
func listUnseen(unseen []Unseen) string {
	const most = 20
	var b strings.Builder
	for _, u := range unseen[:min(len(unseen), most)] {
		name := "files that are not known by name"
		if u.Path != "" {
			name = fmt.Sprintf("%q", u.Path)
		}
		fmt.Fprintf(&b, "%s: %s\n", name, u.Why)
	}
	if more := len(unseen) - most; more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	return strings.TrimRight(b.String(), "\n")
}

var errNoClone = errors.New("no directory for clones is configured")
