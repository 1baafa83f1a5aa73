package app

import (
	"context"
	"fmt"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/app/webhook"
)

// resolving is the worker of resolve jobs: it finds the pull requests that an event about a commit or a branch concerns.
func (a *App) resolving() func(context.Context, queue.ResolveArgs) error {
	resolve := webhook.NewResolver(a.store, a.queue, finder{a.clients})
	return func(ctx context.Context, job queue.ResolveArgs) error { return settle(resolve(ctx, job)) }
}

// finder asks GitHub for pull requests.
type finder struct{ clients *ghclient.Clients }

var _ webhook.PRFinder = finder{}

func (f finder) client(ctx context.Context, r store.Repository) (*github.Client, error) {
	return f.clients.Installation(ctx, r.Installation, ghclient.Scope{
		RepositoryIDs: []int64{r.ID}, Permissions: map[string]string{"pull_requests": "read", "contents": "read", "metadata": "read"},
	})
}

// PullsByCommit implements webhook.PRFinder.
func (f finder) PullsByCommit(ctx context.Context, r store.Repository, sha string) ([]store.Pull, error) {
	gh, err := f.client(ctx, r)
	if err != nil {
		return nil, err
	}
	listed, _, err := gh.PullRequests.ListPullRequestsWithCommit(ctx, r.Owner, r.Name, sha, &github.ListOptions{PerPage: 100})
	if ghclient.IsNotFound(err) || ghclient.IsUnprocessable(err) {
		return nil, nil // the commit is gone, and with it what was said about it
	}
	if err != nil {
		return nil, fmt.Errorf("the pull requests of commit %s: %w", sha, err)
	}
	var pulls []store.Pull
	for _, p := range listed {
		if p.GetState() == "open" && p.GetHead().GetSHA() == sha && p.GetBase().GetRepo().GetID() == r.ID {
			pulls = append(pulls, seen(r, p))
		}
	}
	return pulls, nil
}

// PullsByBase implements webhook.PRFinder.
func (f finder) PullsByBase(ctx context.Context, r store.Repository, branch string) ([]store.Pull, error) {
	gh, err := f.client(ctx, r)
	if err != nil {
		return nil, err
	}
	var pulls []store.Pull
	opts := &github.PullRequestListOptions{State: "open", Base: branch, ListOptions: github.ListOptions{PerPage: 100}}
	for {
		page, resp, err := gh.PullRequests.List(ctx, r.Owner, r.Name, opts)
		if err != nil {
			return nil, fmt.Errorf("the pull requests into %s: %w", branch, err)
		}
		for _, p := range page {
			pulls = append(pulls, seen(r, p))
		}
		if resp.NextPage == 0 {
			return pulls, nil
		}
		opts.Page = resp.NextPage
	}
}

// PullByNumber implements webhook.PRFinder.
func (f finder) PullByNumber(ctx context.Context, r store.Repository, number int) ([]store.Pull, error) {
	gh, err := f.client(ctx, r)
	if err != nil {
		return nil, err
	}
	p, _, err := gh.PullRequests.Get(ctx, r.Owner, r.Name, number)
	if ghclient.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("pull request #%d: %w", number, err)
	}
	if p.GetState() != "open" {
		return nil, nil
	}
	return []store.Pull{seen(r, p)}, nil
}

// seen is a pull request as the store keeps it.
func seen(r store.Repository, p *github.PullRequest) store.Pull {
	state := store.PullOpen
	switch {
	case p.GetMerged():
		state = store.PullMerged
	case p.GetState() != "open":
		state = store.PullClosed
	}
	return store.Pull{
		RepoID: r.ID, Number: p.GetNumber(), Head: p.GetHead().GetSHA(), HeadRef: p.GetHead().GetRef(), HeadRepoID: p.GetHead().GetRepo().GetID(),
		Base: p.GetBase().GetSHA(), BaseRef: p.GetBase().GetRef(), Author: p.GetUser().GetLogin(), Draft: p.GetDraft(), State: state,
		UpdatedAt: p.GetUpdatedAt().Time,
	}
}
