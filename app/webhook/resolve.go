package webhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/convergence"
)

// PRFinder asks GitHub for pull requests. It returns open ones of the repository itself; a commit, branch or number that there
// is not gives none, and no error.
type PRFinder interface {
	// PullsByCommit returns the pull requests whose head is the commit.
	PullsByCommit(ctx context.Context, r store.Repository, sha string) ([]store.Pull, error)
	// PullsByBase returns the pull requests that ask for the branch.
	PullsByBase(ctx context.Context, r store.Repository, branch string) ([]store.Pull, error)
	// PullByNumber returns the pull request.
	PullByNumber(ctx context.Context, r store.Repository, number int) ([]store.Pull, error)
}

// NewResolver makes the worker of resolve jobs, for queue.Workers.
func NewResolver(st *store.Store, q queue.Queue, finder PRFinder) func(ctx context.Context, job queue.ResolveArgs) error {
	return func(ctx context.Context, job queue.ResolveArgs) error {
		repo, err := st.Repository(ctx, job.RepoID)
		if err != nil {
			return fmt.Errorf("resolving an event: %w", err)
		}
		var pulls []store.Pull
		if repo.Removed {
			return resolved(ctx, st, q, job, repo, nil)
		}
		if number, ok := pullOfRef(job.Ref); ok {
			pulls, err = finder.PullByNumber(ctx, repo, number)
		} else if name, ok := branch(job.Ref); ok {
			pulls, err = finder.PullsByBase(ctx, repo, name)
		} else if job.SHA != "" {
			pulls, err = finder.PullsByCommit(ctx, repo, job.SHA)
		} else {
			return queue.Cancel(errors.New("a resolve job names neither a commit nor a ref"))
		}
		if err != nil {
			return fmt.Errorf("looking for the pull requests of an event in %s/%s: %w", repo.Owner, repo.Name, err)
		}
		return resolved(ctx, st, q, job, repo, pulls)
	}
}

// chunk is how many runs are started in one transaction. A branch can be asked for by thousands of pull requests, and others
// wait for the transaction.
const chunk = 50

// resolved starts the runs, and settles the deliveries that asked for them.
func resolved(ctx context.Context, st *store.Store, q queue.Queue, job queue.ResolveArgs, repo store.Repository, pulls []store.Pull) error {
	pulls = slices.SortedFunc(slices.Values(pulls), func(a, b store.Pull) int { return a.Number - b.Number })
	served, reason := false, "no open pull request is concerned"
	for part := range slices.Chunk(pulls, chunk) {
		var some bool
		var why string
		err := st.InTx(ctx, func(tx *store.Tx) (err error) {
			some, why, err = startAll(ctx, tx, q, job, repo, part)
			return err
		})
		if err != nil {
			return err
		}
		served = served || some
		if why != "" {
			reason = why
		}
	}
	if served {
		return nil // they are done with their runs
	}
	return st.InTx(ctx, func(tx *store.Tx) error {
		deliveries, err := tx.DeliveriesOfJob(ctx, queue.JobID(ctx))
		if err != nil {
			return err
		}
		for _, d := range deliveries {
			if err := tx.SetDelivery(ctx, d, store.Ignored, reason); err != nil {
				return err
			}
		}
		return nil
	})
}

// startAll starts runs of pull requests. served says that there is one; why says why there is none of another.
func startAll(ctx context.Context, tx *store.Tx, q queue.Queue, job queue.ResolveArgs, repo store.Repository, pulls []store.Pull) (served bool, why string, err error) {
	event := convergence.Event(job.Event)
	deliveries, err := tx.DeliveriesOfJob(ctx, queue.JobID(ctx))
	if err != nil {
		return false, "", err
	}
	for _, p := range pulls {
		p, _, err := tx.SeePull(ctx, p)
		if err != nil {
			return false, "", err
		}
		switch {
		case p.Draft:
			why = "it is a draft"
			continue
		case job.SHA != "" && p.Head != job.SHA:
			why = "the head is " + p.Head + " by now"
			continue
		}
		started, err := queue.Submit(ctx, q, tx, store.RunRequest{Installation: repo.Installation, RepoID: repo.ID, Owner: repo.Owner, Repo: repo.Name, PR: p.Number,
			Head: p.Head, Base: p.Base, Cause: causeOf(event), Event: event, Deliveries: deliveries})
		if err != nil {
			return false, "", err
		}
		if started.Refused != "" {
			why = started.Refused
			continue
		}
		served = true
	}
	return served, why, nil
}

// byNumber sorts pull requests, so that transactions lock them in one order and never wait for each other in a ring.
func byNumber(pulls map[int]store.Pull) []store.Pull {
	out := make([]store.Pull, 0, len(pulls))
	for _, n := range slices.Sorted(maps.Keys(pulls)) {
		out = append(out, pulls[n])
	}
	return out
}
