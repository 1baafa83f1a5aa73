package casefile

import (
	"context"
	"fmt"
	"sync"

	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// CheckoutRequest names a change whose head is to be written to disk.
type CheckoutRequest struct {
	Installation int64
	RepoID       int64
	Owner, Repo  string
	Base, Head   string // commits
}

// Checkout is a change in a clone that holds the files of its head.
type Checkout struct {
	Diff *diff.Diff // from the merge base to the head, as git makes it

	c    *clone
	head string
	once sync.Once
}

// Open clones what is needed to write the head of a change to disk, and to tell what it changed. The checkout must be closed.
// Errors are those of Collect.
func (c *Collector) Open(ctx context.Context, r CheckoutRequest) (*Checkout, error) {
	if c.opt.GitDir == "" {
		return nil, notWhole("%v", errNoClone)
	}
	s, err := c.open(ctx, r.Installation, r.RepoID, r.Owner, r.Repo)
	if err != nil {
		return nil, err
	}
	base, err := s.mergeBase(ctx, r.Base, r.Head)
	if err != nil {
		return nil, err
	}
	cl, err := s.clone(ctx)
	if err != nil {
		return nil, err
	}
	out := &Checkout{c: cl, head: r.Head}
	if out.Diff, err = cl.change(base, r.Head); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// Unfit reports whether an error of Open says that the change cannot be cloned here, now or later: it is too large, or there is
// no directory for clones.
func Unfit(err error) bool {
	_, ok := errorAs[*errNotWhole](err)
	return ok
}

// change gets all files of the head, those of the base that differ, and the diff.
func (c *clone) change(base, head string) (*diff.Diff, error) {
	// The head comes first: git would take the blobs of a commit that it has for blobs that it has.
	if _, err := c.git(nil, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1", "--no-filter", "--no-auto-maintenance", "origin", head); err != nil {
		return nil, err
	}
	if err := c.fetchChange(base, head); err != nil {
		return nil, err
	}
	text, err := c.diff(base, head)
	if err != nil {
		return nil, err
	}
	if len(text) > maxDiff {
		return nil, notWhole("the diff is %d bytes long, and at most %d are read", len(text), maxDiff)
	}
	d, err := diff.ParseString(text)
	if err != nil {
		return nil, fmt.Errorf("the diff of %s: %w", short(head), err)
	}
	return d, nil
}

// Write writes the files of the head into an empty directory, and closes the checkout, whose clone is not needed any more.
func (o *Checkout) Write(ctx context.Context, dir string) error {
	defer o.Close()
	repo, err := o.c.open()
	if err != nil {
		return err
	}
	return repo.Checkout(ctx, o.head, dir)
}

// Close removes the clone. It may be called again.
func (o *Checkout) Close() { o.once.Do(o.c.close) }
