package app

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/app/publish"
	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/convergence"
)

// publish carries a publish job out: it shows what came of a run, or concludes its check run when nothing did.
func (a *App) publish(ctx context.Context, job queue.PublishArgs) error {
	run, err := a.store.Run(ctx, job.RunID)
	if ended(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if run.State.Live() || !run.PublishedAt.IsZero() {
		return nil // a live run is the judge's; a published one is done
	}
	ctx = ghclient.WithPurpose(ctx, ghclient.Publishing)
	published, conclusion, err := a.show(ctx, run)
	switch {
	case err == nil:
		return a.publishedAs(ctx, run, published, conclusion)
	case ghclient.IsInstallationLost(err) || (ghclient.IsNotFound(err) || ghclient.IsGone(err)) && !a.reachable(ctx, run):
		// We may be let in again. Orphans finds it then, and before as long as the store knows of nothing.
		a.log.Info().Err(err).Int64("run", run.ID).Msg("not published: the repository is out of reach")
		return nil
	case ghclient.IsNotFound(err) || ghclient.IsGone(err):
		a.log.Info().Err(err).Int64("run", run.ID).Msg("not published: nobody is left to show it to")
		return a.publishedAs(ctx, run, publish.Published{CheckRunID: run.CheckRunID}, "")
	default:
		return settle(err)
	}
}

// reachable reports whether the repository of a run is there for us.
func (a *App) reachable(ctx context.Context, run store.Run) bool {
	gh, err := a.clients.Installation(ctx, run.Installation, ghclient.Scope{RepositoryIDs: []int64{run.RepoID}, Permissions: map[string]string{"metadata": "read"}})
	if err == nil {
		_, _, err = gh.Repositories.GetByID(ctx, run.RepoID)
	}
	return err == nil
}

// show publishes and returns what was made.
func (a *App) show(ctx context.Context, run store.Run) (publish.Published, string, error) {
	target := targetOf(ctx, run)
	out := publish.Published{CheckRunID: run.CheckRunID}
	switch run.State {
	case store.RunJudged:
		res, err := resultOf(run)
		if err != nil {
			return out, "", err
		}
		if res == nil || res.Publication == nil {
			return out, "", fmt.Errorf("run %d was judged and has no result", run.ID)
		}
		pub := res.Publication
		if pub.Result == nil { // a case that was not judged has a title and nothing else
			id, err := a.publisher.Conclude(ctx, target, run.CheckRunID, pub.Conclusion, pub.Title, "")
			out.CheckRunID = id
			return out, string(pub.Conclusion), err
		}
		pub.Attempt, pub.CheckRunID, pub.CommentID = queue.Begun(ctx), run.CheckRunID, a.sticky(ctx, run)
		published, err := a.publisher.Publish(ctx, target, pub)
		return published, string(pub.Conclusion), err
	case store.RunSuperseded:
		id, err := a.publisher.Cancel(ctx, target, run.CheckRunID, "superseded by "+run.SupersededBy)
		out.CheckRunID = id
		return out, string(convergence.Cancelled), err
	case store.RunCancelled:
		id, err := a.publisher.Cancel(ctx, target, run.CheckRunID, run.Reason)
		out.CheckRunID = id
		return out, string(convergence.Cancelled), err
	case store.RunFailed:
		id, err := a.publisher.Conclude(ctx, target, run.CheckRunID, convergence.ActionRequired,
			"Not judged: "+run.Reason, "The case could not be judged. Run it again with /prosecute; if it fails again, the operator's log says why.")
		out.CheckRunID = id
		return out, string(convergence.ActionRequired), err
	default:
		return out, run.Conclusion, nil
	}
}

// sticky is the comment of an earlier publication of the pull request; 0 when it is not known.
func (a *App) sticky(ctx context.Context, run store.Run) int64 {
	runs, err := a.store.RunsOfPull(ctx, run.RepoID, run.PR, 20)
	if err != nil {
		return 0
	}
	for _, r := range runs {
		var p publish.Published
		if r.ID != run.ID && r.Published != nil && json.Unmarshal(r.Published, &p) == nil && p.CommentID != 0 {
			return p.CommentID
		}
	}
	return 0
}

// publishedAs records what was published.
func (a *App) publishedAs(ctx context.Context, run store.Run, p publish.Published, conclusion string) error {
	stored, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("storing what was published of run %d: %w", run.ID, err)
	}
	if p.Superseded != "" || p.Closed {
		conclusion = string(convergence.Cancelled)
	}
	return a.store.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.PublishRun(ctx, run.ID, p.CheckRunID, conclusion, stored)
		return err
	})
}

// gaveUp logs that a job was given up, and records it: a judging is shown as not judged, a publication is tried again by the
// next sweep, since its ruling stands.
func (a *App) gaveUp(ctx context.Context, job queue.Job, cause error) {
	a.log.Error().Err(cause).Str("kind", job.Kind()).Msg("a job was given up")
	if m, ok := job.(queue.MeasureArgs); ok {
		a.measuredNothing(ctx, m, cause)
		return
	}
	a.queue.GiveUp(ctx, job, cause)
}
