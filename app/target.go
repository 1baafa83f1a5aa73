package app

import (
	"context"

	"github.com/prosecutor-bot/prosecutor/app/publish"
	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
)

// targetOf is where a run is published.
func targetOf(ctx context.Context, r store.Run) publish.Target {
	attempt := queue.Begun(ctx)
	if r.Claim > 1 {
		attempt = r.Claim // an earlier beginning may have got as far as the check run
	}
	return publish.Target{
		Installation: r.Installation, RepoID: r.RepoID, Owner: r.Owner, Repo: r.Repo, PR: r.PR, Head: r.Head,
		Generation: r.Generation, Attempt: attempt,
	}
}
