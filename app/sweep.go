package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/convergence"
)

// Bounds of one reconciliation, so that catching up never eats what publishing needs.
const (
	lookBack        = 3 * 24 * time.Hour // GitHub redelivers nothing older
	mostRedelivered = 100
	mostDeliveries  = 1000
	keepPayloads    = 7 * 24 * time.Hour
	keepRows        = 180 * 24 * time.Hour
)

// Sweep takes up runs that no job is at, such as those of a process that died at a bad moment, and removes what is no
// longer needed. It reports failures to the log only: the next one comes by itself.
func (a *App) Sweep(ctx context.Context) {
	ids, err := a.queue.Orphans(ctx)
	if err != nil {
		a.warn(ctx, err, "looking for orphaned runs")
		return
	}
	for _, id := range ids {
		err := a.store.InTx(ctx, func(tx *store.Tx) error { return queue.Resume(ctx, a.queue, tx, id) })
		if err != nil && !ended(err) {
			a.warn(ctx, err, "resuming an orphaned run")
		}
	}
	now := a.now()
	if _, err := a.store.Prune(ctx, now.Add(-keepPayloads), now.Add(-keepRows)); err != nil {
		a.warn(ctx, err, "removing old rows")
	}
	if _, err := a.store.PruneRecords(ctx, now); err != nil {
		a.warn(ctx, err, "removing old records of evidence")
	}
}

// Reconcile gets back what was missed: failed deliveries are asked for again, and open pull requests whose head has no run
// are judged.
func (a *App) Reconcile(ctx context.Context) {
	ctx = ghclient.WithPurpose(ctx, ghclient.Background)
	if err := a.redeliver(ctx); err != nil {
		a.warn(ctx, err, "asking for failed deliveries again")
	}
	if err := a.learn(ctx); err != nil {
		a.warn(ctx, err, "asking GitHub where the App is installed")
	}
	installations, err := a.store.Installations(ctx)
	if err != nil {
		a.warn(ctx, err, "listing installations")
		return
	}
	for _, i := range installations {
		if i.State != store.Active {
			continue
		}
		if err := a.reconcileInstallation(ctx, i.ID); err != nil {
			a.warn(ctx, err, "looking for heads that nobody judged")
		}
	}
}

// learn records where the App is installed and which repositories it may see there, as GitHub has it: the events that say so
// may have been missed, or may be from before this database.
//
// What GitHub does not list any more is gone. What is known is read first, so that what comes meanwhile is not taken for gone.
func (a *App) learn(ctx context.Context) error {
	known, err := a.store.Installations(ctx)
	if err != nil {
		return err
	}
	listed := map[int64]bool{}
	opts := &github.ListOptions{PerPage: 100}
	for {
		page, resp, err := a.clients.App().Apps.ListInstallations(ctx, opts)
		if err != nil {
			return fmt.Errorf("listing installations: %w", err)
		}
		for _, i := range page {
			listed[i.GetID()] = true
			if err := a.learnInstallation(ctx, i); err != nil {
				return err
			}
		}
		if resp.NextPage == 0 {
			break
		}
		opts.Page = resp.NextPage
	}
	for _, i := range known {
		if listed[i.ID] || i.State == store.Deleted {
			continue
		}
		i.State = store.Deleted
		if err := a.setInstallation(ctx, i, "the App was uninstalled"); err != nil {
			return err
		}
	}
	return nil
}

// setInstallation records the state of an installation, and ends what goes on for one that is not active.
func (a *App) setInstallation(ctx context.Context, i store.Installation, why string) error {
	return a.store.InTx(ctx, func(tx *store.Tx) error {
		err := tx.SetInstallation(ctx, i)
		if err != nil || i.State == store.Active {
			return err
		}
		runs, err := tx.CancelInstallation(ctx, i.ID, why)
		if err != nil {
			return err
		}
		return queue.Abandoned(ctx, a.queue, tx, runs)
	})
}

func (a *App) learnInstallation(ctx context.Context, i *github.Installation) error {
	state := store.Active
	if i.SuspendedAt != nil {
		state = store.Suspended
	}
	known, err := a.store.Repositories(ctx, i.GetID())
	if err != nil {
		return err
	}
	err = a.setInstallation(ctx, store.Installation{ID: i.GetID(), Account: i.GetAccount().GetLogin(), State: state}, "the installation of the App was suspended")
	if err != nil || state != store.Active {
		return err
	}
	listed := map[int64]bool{}
	gh, err := a.clients.Installation(ctx, i.GetID(), ghclient.Scope{Permissions: map[string]string{"metadata": "read"}})
	if err != nil {
		return err
	}
	opts := &github.ListOptions{PerPage: 100}
	for {
		list, resp, err := gh.Apps.ListRepos(ctx, opts)
		if err != nil {
			return fmt.Errorf("listing the repositories of %s: %w", i.GetAccount().GetLogin(), err)
		}
		err = a.store.InTx(ctx, func(tx *store.Tx) error {
			for _, r := range list.Repositories {
				listed[r.GetID()] = true
				err := tx.SeeRepository(ctx, store.Repository{ID: r.GetID(), Installation: i.GetID(), Owner: r.GetOwner().GetLogin(), Name: r.GetName()})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if resp.NextPage == 0 {
			break
		}
		opts.Page = resp.NextPage
	}
	for _, r := range known {
		if listed[r.ID] {
			continue
		}
		if err := a.loseRepository(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// loseRepository records that an installation may not see a repository any more, and ends what goes on in it.
func (a *App) loseRepository(ctx context.Context, r store.Repository) error {
	return a.store.InTx(ctx, func(tx *store.Tx) error {
		r.Removed = true
		if err := tx.SeeRepository(ctx, r); err != nil {
			return err
		}
		runs, err := tx.CancelRepository(ctx, r.ID, "the App was removed from the repository")
		if err != nil {
			return err
		}
		return queue.Abandoned(ctx, a.queue, tx, runs)
	})
}

// redeliver asks for the deliveries that failed and never succeeded, the newest first.
func (a *App) redeliver(ctx context.Context) error {
	type group struct {
		id int64 // of the newest attempt
		ok bool
	}
	groups, order := map[string]*group{}, []string{}
	opts := &github.ListCursorOptions{PerPage: 100}
	oldest := a.now().Add(-lookBack)
	for seen := 0; seen < mostDeliveries; {
		page, resp, err := a.clients.App().Apps.ListHookDeliveries(ctx, opts)
		if err != nil {
			return err
		}
		for _, d := range page {
			seen++
			if d.GetDeliveredAt().Before(oldest) {
				seen = mostDeliveries
				break
			}
			g, known := groups[d.GetGUID()]
			if !known {
				g = &group{id: d.GetID()}
				groups[d.GetGUID()] = g
				order = append(order, d.GetGUID())
			}
			g.ok = g.ok || (d.GetStatusCode() >= 200 && d.GetStatusCode() < 300)
		}
		if resp.Cursor == "" || len(page) == 0 {
			break
		}
		opts.Cursor = resp.Cursor
	}
	asked := 0
	for _, guid := range order {
		g := groups[guid]
		if g.ok || asked == mostRedelivered {
			continue
		}
		if d, err := a.store.DeliveryByGUID(ctx, guid); err == nil && d.State == store.Done {
			continue // it was worked on although GitHub saw no answer in time
		}
		_, _, err := a.clients.App().Apps.RedeliverHookDelivery(ctx, g.id)
		var accepted *github.AcceptedError
		if err != nil && !errors.As(err, &accepted) {
			return fmt.Errorf("redelivering %s: %w", guid, err)
		}
		asked++
	}
	return nil
}

// reconcileInstallation submits a run for every open pull request whose head has none.
func (a *App) reconcileInstallation(ctx context.Context, installation int64) error {
	repos, err := a.store.Repositories(ctx, installation)
	if err != nil {
		return err
	}
	for _, repo := range repos {
		gh, err := a.clients.Installation(ctx, installation, ghclient.Scope{
			RepositoryIDs: []int64{repo.ID}, Permissions: map[string]string{"pull_requests": "read", "metadata": "read"},
		})
		if err != nil {
			return err
		}
		opts := &github.PullRequestListOptions{State: "open", ListOptions: github.ListOptions{PerPage: 100}}
		for {
			pulls, resp, err := gh.PullRequests.List(ctx, repo.Owner, repo.Name, opts)
			if err != nil {
				return fmt.Errorf("listing the pull requests of %s/%s: %w", repo.Owner, repo.Name, err)
			}
			for _, p := range pulls {
				if err := a.reconcilePull(ctx, installation, repo, p); err != nil {
					return err
				}
			}
			if resp.NextPage == 0 {
				break
			}
			opts.Page = resp.NextPage
		}
	}
	return nil
}

func (a *App) reconcilePull(ctx context.Context, installation int64, repo store.Repository, p *github.PullRequest) error {
	if a.now().Sub(p.GetUpdatedAt().Time) < a.o.ReconcileAfter {
		return nil
	}
	head := p.GetHead().GetSHA()
	runs, err := a.store.RunsOfHead(ctx, repo.ID, p.GetNumber(), head)
	// A run that was cancelled has decided nothing: the pull request was closed or a draft then, and is neither now.
	if err != nil || p.GetDraft() || len(runs) > 0 && runs[0].State != store.RunCancelled {
		return err
	}
	return a.store.InTx(ctx, func(tx *store.Tx) error {
		// What was missed may be the very event that told of this head, and no run is started of one that seems to be old.
		if _, _, err := tx.SeePull(ctx, seen(repo, p)); err != nil {
			return err
		}
		_, err := queue.Submit(ctx, a.queue, tx, store.RunRequest{
			Installation: installation, RepoID: repo.ID, Owner: repo.Owner, Repo: repo.Name, PR: p.GetNumber(), Head: head,
			Cause: store.CauseReconcile, Event: convergence.EventReconcile,
		})
		return err
	})
}

func (a *App) warn(ctx context.Context, err error, doing string) {
	if ctx.Err() == nil {
		a.log.Warn().Err(err).Msg(doing)
	}
}
