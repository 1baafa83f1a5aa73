package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/casefile"
	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/app/publish"
	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/record"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/review"
)

// collect reads the case. When there is none to judge (closed, superseded, gone), it has ended the run as that asks for
// and leaves w.file nil.
func (w *judging) collect(ctx context.Context) (review.Case, error) {
	announced := w.announce(ctx)
	pull, err := w.a.store.Pull(ctx, w.run.RepoID, w.run.PR)
	if err != nil && !ended(err) {
		return review.Case{}, errors.Join(err, announced())
	}
	if w.run.IsGroup() {
		return w.collectGroup(ctx, announced)
	}
	file, err := w.a.casefiles.Collect(ctx, casefile.Request{
		Installation: w.run.Installation, RepoID: w.run.RepoID, Owner: w.run.Owner, Repo: w.run.Repo, PR: w.run.PR,
		Head: w.run.Head, Generation: w.run.Generation, Event: w.run.Event, Sender: w.run.Sender,
		UpdatedAt: pull.UpdatedAt, Drafts: w.asked(), EvidenceSince: w.since(),
	})
	if beginErr := announced(); beginErr != nil {
		return review.Case{}, beginErr
	}
	if err != nil {
		return review.Case{}, w.uncollected(ctx, err)
	}
	switch {
	case file.HeadMoved || file.Superseded:
		return review.Case{}, w.cancel(ctx, "superseded by "+file.Head)
	case file.State != casefile.Open:
		return review.Case{}, w.closed(ctx, file)
	case file.Draft && !file.Complete:
		return review.Case{}, w.cancel(ctx, "the pull request is a draft")
	}
	w.file = file
	if err := w.reopened(ctx); err != nil {
		return review.Case{}, err
	}
	c := file.Case
	if c.KillSwitch, c.SwitchedOff, err = w.killSwitch(ctx); err != nil {
		return review.Case{}, err
	}
	return w.complete(c), nil
}

func (w *judging) collectGroup(ctx context.Context, announced func() error) (review.Case, error) {
	group, err := w.a.casefiles.CollectGroup(ctx, casefile.GroupRequest{
		Installation: w.run.Installation, RepoID: w.run.RepoID, Owner: w.run.Owner, Repo: w.run.Repo,
		Head: w.run.Head, Base: w.run.Base, HeadRef: w.run.GroupRef, BaseRef: baseOfGroup(w.run.GroupRef),
		Generation: w.run.Generation, Event: w.run.Event, Sender: w.run.Sender, EvidenceSince: w.since(),
		Prosecuted: w.prosecuted,
	})
	if beginErr := announced(); beginErr != nil {
		return review.Case{}, beginErr
	}
	if err != nil {
		return review.Case{}, w.uncollected(ctx, err)
	}
	w.file = &group.File
	c := group.Case
	c.Stage, c.TouchesTests, c.Waited = convergence.StageMergeQueue, group.TouchesTests, w.a.now().Sub(w.run.CreatedAt)
	if group.CarriesOver && group.TouchesTests && c.Policy != nil && c.Policy.HollowTest.Configured() {
		group.CarriesOver, group.Why = false, "it touches tests, so that hollow-test has to be clean on its head"
	}
	if group.CarriesOver {
		w.file.Notes = append(w.file.Notes, "the decisions of the pull requests in this group carry over: each step is what was judged, and no two touch one file")
		return w.complete(c), w.carryOver(ctx, group)
	}
	w.file.Notes = append(w.file.Notes, "the group was judged as a change of its own: "+group.Why)
	return w.complete(c), nil
}

// complete fills in what the run knows of the case and the casefile does not.
func (w *judging) complete(c review.Case) review.Case {
	c.ID.Key = w.run.LedgerKey()
	c.Event, c.Sender = w.run.Event, w.run.Sender
	if c.Policy != nil && c.Policy.HollowTest.Where == config.WhereSandbox {
		p := c.Policy.HollowTest
		c.HollowTest = func(ctx context.Context, _ *diff.Diff) (prosecutor.Evidence, error) { return w.hollowTest(ctx, p) }
	}
	if dry := w.run.Options.Dry; c.Policy != nil && dry > c.Policy.Prosecution.DryPasses {
		policy := *c.Policy
		policy.Prosecution.DryPasses = dry
		c.Policy = &policy // the hash of the case stays that of the repository's policy
	}
	return c
}

// baseOfGroup is the branch that a merge group goes into: refs/heads/gh-readonly-queue/BRANCH/pr-N-SHA.
func baseOfGroup(ref string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "gh-readonly-queue/")
	if i := strings.LastIndex(name, "/pr-"); i > 0 {
		name = name[:i]
	}
	return "refs/heads/" + name
}

// asked reports whether a person asked for this run, so that a draft is judged.
func (w *judging) asked() bool {
	return w.run.Event == convergence.EventProsecute && w.run.Sender.MayReopen()
}

// since is when evidence for this head began to be waited for.
func (w *judging) since() time.Time {
	if w.run.BegunAt.IsZero() {
		return w.run.CreatedAt
	}
	return w.run.BegunAt
}

// uncollected turns the errors of collecting into what becomes of the run.
func (w *judging) uncollected(ctx context.Context, err error) error {
	var gone *casefile.GoneError
	if !errors.As(err, &gone) {
		return err
	}
	w.a.log.Info().Err(err).Int64("run", w.run.ID).Msg("nothing is left to judge")
	if gone.What == casefile.GoneInstallation || gone.What == casefile.GoneRepository {
		return w.a.store.InTx(ctx, func(tx *store.Tx) error {
			runs, err := tx.CancelRepository(ctx, w.run.RepoID, gone.Error())
			if err != nil {
				return err
			}
			return queue.Abandoned(ctx, w.a.queue, tx, runs)
		})
	}
	return w.cancel(ctx, gone.Error())
}

// cancel ends the run without a decision. A check run that was begun is concluded as cancelled.
func (w *judging) cancel(ctx context.Context, reason string) error {
	pub := &publish.Publication{Title: reason, CheckStatus: convergence.CheckCompleted, Conclusion: convergence.Cancelled}
	stored, err := json.Marshal(result{Publication: pub, Case: w.id})
	if err != nil {
		return fmt.Errorf("storing the end of run %d: %w", w.run.ID, err)
	}
	return w.a.store.InTx(ctx, func(tx *store.Tx) error {
		if w.run.CheckRunID == 0 {
			_, err := queue.Skip(ctx, w.a.queue, tx, w.run, reason)
			return err
		}
		_, err := queue.Finish(ctx, w.a.queue, tx, w.run, store.Verdict{Conclusion: string(convergence.Cancelled), Reason: reason, Result: stored})
		return err
	})
}

// closed closes the ledger of a pull request that is not open any more, and ends its runs.
func (w *judging) closed(ctx context.Context, file *casefile.File) error {
	keep := 180 * 24 * time.Hour
	if file.Case.Policy != nil {
		keep = time.Duration(file.Case.Policy.Retention)
	}
	err := w.a.store.InTx(ctx, func(tx *store.Tx) error {
		return tx.Ledgers().Update(ctx, w.run.LedgerKey(), func(l convergence.Ledger) (convergence.Ledger, error) {
			return convergence.Close(l, string(file.State), keep, w.a.now()), nil
		})
	})
	if err != nil {
		return err
	}
	return w.cancel(ctx, "the pull request is "+string(file.State))
}

// reopened opens the ledger of a pull request that GitHub has just said is open. Usually the event did so; when that event was
// missed, no later one would be judged. A run that has ended meanwhile changes nothing: what ended it may be a closing.
func (w *judging) reopened(ctx context.Context) error {
	return w.a.store.InTx(ctx, func(tx *store.Tx) error {
		return tx.Ledgers().Update(ctx, w.run.LedgerKey(), func(l convergence.Ledger) (convergence.Ledger, error) {
			if !l.Closed {
				return l, nil
			}
			run, err := tx.Run(ctx, w.run.ID)
			if err != nil || !run.State.Live() {
				return l, err
			}
			return convergence.Reopen(l), nil
		})
	})
}

// killSwitch says whether judging is switched off. A change of the label that nobody has looked at counts when whoever
// made it may write.
func (w *judging) killSwitch(ctx context.Context) (off bool, by string, err error) {
	ks, err := w.a.store.KillSwitch(ctx, w.run.RepoID, w.run.PR)
	if err != nil {
		return false, "", err
	}
	if ks.Pending {
		permission, err := w.a.permission(ctx, w.run.Installation, w.run.RepoID, w.run.Owner, w.run.Repo, ks.WantedBy)
		if err != nil {
			return false, "", err
		}
		wanted := ks
		err = w.a.store.InTx(ctx, func(tx *store.Tx) error {
			var settled bool
			ks, settled, err = tx.SettleKillSwitch(ctx, w.run.RepoID, w.run.PR, wanted.WantedBy, mayWrite(permission))
			if err != nil || !settled || !mayWrite(permission) {
				return err
			}
			return w.switched(ctx, tx, ks, permission)
		})
		if err != nil {
			return false, "", err
		}
	}
	return ks.On, "label prosecutor:off, by " + ks.By, nil
}

// switched records that a person has switched judging off, or on again.
func (w *judging) switched(ctx context.Context, tx *store.Tx, ks store.KillSwitch, permission convergence.Permission) error {
	r := w.a.newRecord(record.KillSwitch, w.run, keepDays(w.policy()))
	r.Case = caseOf(w.file.Case.ID)
	r.Sender = &record.Sender{Login: word(ks.By), Permission: string(permission)}
	r.Act = &record.Act{By: word(ks.By), Reason: "label prosecutor:off", Judging: "on"}
	if ks.On {
		r.Act.Judging = "off"
	}
	_, err := tx.AppendRecord(ctx, r)
	return err
}

// prosecuted tells at which base the decision about a head was made, for a merge group.
func (w *judging) prosecuted(ctx context.Context, pr int, head string) (base string, ok bool, err error) {
	l, err := w.a.store.Ledgers().Load(ctx, store.LedgerKey(w.run.RepoID, pr))
	if err != nil {
		return "", false, err
	}
	decided := l.Review().Decided
	if !l.Converged || decided == nil || decided.Head != head {
		return "", false, nil
	}
	return decided.Base, true, nil
}

// carryOver concludes the group as what its members are: judged and unanimous.
func (w *judging) carryOver(ctx context.Context, group *casefile.Group) error {
	names := make([]string, len(group.Members))
	for i, m := range group.Members {
		names[i] = fmt.Sprintf("#%d", m.PR)
	}
	pub := &publish.Publication{
		Title:       "Advance: the decisions of " + strings.Join(names, ", ") + " carry over",
		CheckStatus: convergence.CheckCompleted, Conclusion: convergence.Success, Decision: convergence.Advance,
	}
	entry := w.concluded(record.Decision, "carried_over", pub)
	entry.Case, entry.Members = caseOf(group.Case.ID), membersOf(group.Members)
	for _, e := range group.Case.Evidence {
		entry.Evidence = append(entry.Evidence, record.Evidence{Source: string(e.Source), State: string(e.State), Detail: said(e.Detail), Findings: len(e.Findings)})
	}
	err := w.a.store.InTx(ctx, func(tx *store.Tx) error { return w.finish(ctx, tx, pub, true, entry) })
	w.file = nil // nothing is left to judge
	return err
}

// permission asks GitHub what an account may do in a repository.
func (a *App) permission(ctx context.Context, installation, repoID int64, owner, repo, login string) (convergence.Permission, error) {
	gh, err := a.clients.Installation(ctx, installation, ghclient.Scope{
		RepositoryIDs: []int64{repoID}, Permissions: map[string]string{"metadata": "read"},
	})
	if err != nil {
		return "", err
	}
	level, _, err := gh.Repositories.GetPermissionLevel(ctx, owner, repo, login)
	if ghclient.IsNotFound(err) {
		return convergence.PermissionNone, nil
	}
	if err != nil {
		return "", fmt.Errorf("looking up what %s may do in %s/%s: %w", login, owner, repo, err)
	}
	return convergence.Permission(level.GetPermission()), nil
}

func mayWrite(p convergence.Permission) bool {
	return convergence.Sender{Type: convergence.User, Permission: p}.MayReopen()
}
