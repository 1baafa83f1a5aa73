package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/command"
	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/app/publish"
	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/record"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// command carries a command job out: what a person asked for in a comment, by a button of the check run, or by the label
// that switches the gate off.
func (a *App) command(ctx context.Context, job queue.CommandArgs) error {
	d, err := a.store.Delivery(ctx, job.Delivery)
	if ended(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if d.State == store.Done || d.State == store.Ignored {
		return nil
	}
	reason, err := a.commanded(ctx, d)
	if errors.Is(err, errHandedOn) {
		return nil
	}
	if err != nil {
		return settle(err)
	}
	return a.store.InTx(ctx, func(tx *store.Tx) error { return tx.SetDelivery(ctx, d.ID, store.Done, reason) })
}

// errHandedOn says that another job is at the delivery of a command, and settles it.
var errHandedOn = errors.New("another job carries it out")

func (a *App) commanded(ctx context.Context, d store.Delivery) (string, error) {
	switch d.Event {
	case "issue_comment":
		return a.issueComment(ctx, d)
	case "pull_request_review_comment":
		return a.reviewComment(ctx, d)
	case "check_run":
		return a.button(ctx, d)
	default:
		return "no command", nil
	}
}

func (a *App) issueComment(ctx context.Context, d store.Delivery) (string, error) {
	var e github.IssueCommentEvent
	if err := json.Unmarshal(d.Payload, &e); err != nil {
		return "", fmt.Errorf("reading delivery %s: %w", d.GUID, err)
	}
	c := a.comment(ctx, d, e.GetRepo(), e.GetIssue().GetNumber(), e.GetIssue().GetUser().GetLogin())
	c.ID, c.Body = e.GetComment().GetID(), e.GetComment().GetBody()
	c.Login, c.SenderType = e.GetSender().GetLogin(), convergence.SenderType(e.GetSender().GetType())
	return a.carryOut(ctx, d, c)
}

func (a *App) reviewComment(ctx context.Context, d store.Delivery) (string, error) {
	var e github.PullRequestReviewCommentEvent
	if err := json.Unmarshal(d.Payload, &e); err != nil {
		return "", fmt.Errorf("reading delivery %s: %w", d.GUID, err)
	}
	c := a.comment(ctx, d, e.GetRepo(), e.GetPullRequest().GetNumber(), e.GetPullRequest().GetUser().GetLogin())
	c.ID, c.Body = e.GetComment().GetID(), e.GetComment().GetBody()
	c.InThread, c.ThreadOf = true, e.GetComment().GetInReplyTo()
	c.Login, c.SenderType = e.GetSender().GetLogin(), convergence.SenderType(e.GetSender().GetType())
	finding, err := a.threadFinding(ctx, d, c)
	if err != nil {
		return "", err
	}
	if finding == "" {
		return "not a thread of ours", nil
	}
	c.Finding = finding
	return a.carryOut(ctx, d, c)
}

// threadFinding is the finding that a thread of ours is about.
func (a *App) threadFinding(ctx context.Context, d store.Delivery, c command.Comment) (string, error) {
	if c.ThreadOf == 0 {
		return "", nil
	}
	gh, err := a.clients.Installation(ctx, d.Installation, ghclient.Scope{
		RepositoryIDs: []int64{c.RepoID}, Permissions: map[string]string{"pull_requests": "read", "metadata": "read"},
	})
	if err != nil {
		return "", err
	}
	first, _, err := gh.PullRequests.GetComment(ctx, c.Owner, c.Repo, c.ThreadOf)
	if ghclient.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the thread of a reply: %w", err)
	}
	// Anybody can write a marker, so the comment has to be ours.
	if first.GetUser().GetLogin() != a.o.Slug+"[bot]" {
		return "", nil
	}
	marked, ok := publish.FindingOf(first.GetBody())
	if !ok {
		return "", nil
	}
	return marked.ID, nil
}

func (a *App) comment(ctx context.Context, d store.Delivery, repo *github.Repository, pr int, author string) command.Comment {
	return command.Comment{
		Installation: d.Installation, RepoID: repo.GetID(), Owner: repo.GetOwner().GetLogin(), Repo: repo.GetName(),
		PR: pr, Author: author, Attempt: queue.Begun(ctx),
	}
}

// carryOut handles a comment and does what it asks for.
func (a *App) carryOut(ctx context.Context, d store.Delivery, c command.Comment) (string, error) {
	pull, err := a.store.Pull(ctx, c.RepoID, c.PR)
	if err != nil && !ended(err) {
		return "", err
	}
	head := pull.Head
	if head == "" {
		if head, err = a.headOf(ctx, d.Installation, c); err != nil {
			return "", err
		}
	}
	runs, err := a.store.RunsOfHead(ctx, c.RepoID, c.PR, head)
	if err != nil {
		return "", err
	}
	for _, r := range runs {
		if r.Cause == store.CauseRerun && strings.EqualFold(r.Sender.Login, c.Author) && r.Options == (store.Options{}) {
			c.PlainRuns++
		}
	}
	for _, r := range runs {
		if res, err := resultOf(r); err == nil && res != nil {
			c.DismissAuthor = res.DismissAuthor
			break
		}
	}
	request, err := a.commands.Handle(ctx, c)
	if err != nil || request == nil {
		return "answered", err
	}
	if why := undismissable(runs, *request); why != "" {
		return why, a.commands.Answer(ctx, c, command.Refused, why)
	}
	err = a.grant(ctx, d, c, head, *request, keptDays(runs))
	var refused *refusedError
	if errors.As(err, &refused) {
		return refused.why, a.commands.Answer(ctx, c, command.Refused, "Nothing was done: "+refused.why+".")
	}
	if err != nil {
		return "", err
	}
	return string(request.Kind) + " by " + request.By, a.commands.Answer(ctx, c, command.Done, a.reply(runs, *request))
}

// undismissable says why a finding cannot be dismissed: only what a judge accused can (semantics 10).
func undismissable(runs []store.Run, r command.Request) string {
	if r.Kind != command.Dismiss {
		return ""
	}
	for _, run := range runs {
		doc := Report(run)
		if doc == nil {
			continue
		}
		for _, f := range doc.Findings {
			switch {
			case f.ID != r.FindingID:
			case f.Source == string(prosecutor.FromModel):
				return ""
			default:
				return "A finding of " + strings.ReplaceAll(f.Origin, "_", " ") + " is not dismissed here: an alert is dismissed in code scanning, a static finding " +
					"or a mutant is accepted by the policy on the base branch, and anything by `/prosecute override`."
			}
		}
	}
	return "There is no finding `" + r.FindingID + "` on this head."
}

// reply is the text that answers a command; empty where a reaction says enough.
func (a *App) reply(runs []store.Run, r command.Request) string {
	if r.Kind != command.Explain {
		return ""
	}
	for _, run := range runs {
		if doc := Report(run); doc != nil {
			return command.Explanation(doc)
		}
	}
	return "There is no decision about this head yet."
}

// grant does what a permitted command asks for: it changes the ledger where that is asked, with a record of it, and has the
// head judged again.
func (a *App) grant(ctx context.Context, d store.Delivery, c command.Comment, head string, r command.Request, keep int) error {
	if r.Kind == command.Explain {
		return nil
	}
	return a.store.InTx(ctx, func(tx *store.Tx) error {
		now := a.now()
		var kind record.Kind
		var change func(convergence.Ledger) convergence.Ledger
		switch r.Kind {
		case command.Dismiss:
			kind = record.Dismissal
			change = func(l convergence.Ledger) convergence.Ledger {
				return convergence.SettleConcern(l, convergence.Settled{ID: r.FindingID, How: convergence.ByDismissal, By: r.By, Reason: r.Reason, At: now})
			}
		case command.Override:
			kind = record.Override
			change = func(l convergence.Ledger) convergence.Ledger {
				return convergence.OverrideHead(l, convergence.Override{Head: head, By: r.By, Reason: r.Reason, At: now})
			}
		}
		if change != nil {
			about := store.Run{RepoID: c.RepoID, Owner: c.Owner, Repo: c.Repo, PR: c.PR, Head: head}
			entry := a.newRecord(kind, about, keep)
			entry.Event = string(r.Event())
			entry.Sender = &record.Sender{Login: word(r.By), Type: string(r.Sender().Type), Permission: string(r.Permission)}
			entry.Act = &record.Act{By: word(r.By), Reason: said(r.Reason), Finding: word(r.FindingID)}
			if err := changeLedger(ctx, tx, entry, change); err != nil {
				return err
			}
		}
		event := r.Event()
		if r.Kind == command.Override {
			event = convergence.EventPolicyOrBase // any look at the case: the guard concludes it as overridden
		}
		started, err := queue.Submit(ctx, a.queue, tx, store.RunRequest{
			Installation: d.Installation, RepoID: c.RepoID, Owner: c.Owner, Repo: c.Repo, PR: c.PR, Head: head,
			Cause: store.CauseRerun, Event: event, Sender: r.Sender(), Options: store.Options{Lens: r.Lens, Dry: r.Dry},
			Deliveries: []int64{d.ID},
		})
		if err == nil && started.Refused != "" {
			return &refusedError{started.Refused}
		}
		return err
	})
}

// refusedError says that there is no run for what a person asked. Nothing of it was carried out.
type refusedError struct{ why string }

// Error implements error.
func (e *refusedError) Error() string { return e.why }

func (a *App) headOf(ctx context.Context, installation int64, c command.Comment) (string, error) {
	gh, err := a.clients.Installation(ctx, installation, ghclient.Scope{
		RepositoryIDs: []int64{c.RepoID}, Permissions: map[string]string{"pull_requests": "read", "metadata": "read"},
	})
	if err != nil {
		return "", err
	}
	pull, _, err := gh.PullRequests.Get(ctx, c.Owner, c.Repo, c.PR)
	if err != nil {
		return "", fmt.Errorf("reading %s/%s#%d: %w", c.Owner, c.Repo, c.PR, err)
	}
	return pull.GetHead().GetSHA(), nil
}

// button carries out what a button of the check run asks for. GitHub shows the buttons to accounts with write access only;
// the permission is looked up all the same, since a dismissal is final.
func (a *App) button(ctx context.Context, d store.Delivery) (string, error) {
	var e github.CheckRunEvent
	if err := json.Unmarshal(d.Payload, &e); err != nil {
		return "", fmt.Errorf("reading delivery %s: %w", d.GUID, err)
	}
	var run store.Run
	err := a.store.InTx(ctx, func(tx *store.Tx) (err error) {
		run, err = tx.RunByCheckRun(ctx, e.GetRepo().GetID(), e.GetCheckRun().GetID())
		return err
	})
	if ended(err) {
		return "not a check run of ours", nil
	}
	if err != nil {
		return "", err
	}
	action, finding := publish.Action(e.GetRequestedAction().Identifier)
	if action == "" {
		return "not a button of ours", nil
	}
	login := e.GetSender().GetLogin()
	permission, err := a.permission(ctx, d.Installation, run.RepoID, run.Owner, run.Repo, login)
	if err != nil {
		return "", err
	}
	if !mayWrite(permission) {
		return "refused: " + login + " may not write", nil
	}
	c := command.Comment{Installation: d.Installation, RepoID: run.RepoID, Owner: run.Owner, Repo: run.Repo, PR: run.PR}
	r := command.Request{Command: command.Command{Kind: command.Run}, By: login, Permission: permission}
	if action == publish.ActionDismiss {
		pull, err := a.store.Pull(ctx, run.RepoID, run.PR)
		if err != nil && !ended(err) {
			return "", err
		}
		res, err := resultOf(run)
		if err != nil {
			return "", err
		}
		allowed := res != nil && res.DismissAuthor
		if pull.Author == "" || strings.EqualFold(pull.Author, login) && !allowed {
			return "refused: the policy does not let an author dismiss", nil
		}
		r.Command = command.Command{Kind: command.Dismiss, FindingID: finding, Reason: login + " pressed Dismiss for finding " + finding + ", which takes no reason"}
		if why := undismissable([]store.Run{run}, r); why != "" {
			return "refused: " + why, nil
		}
	}
	if action == publish.ActionExplain {
		if run.IsGroup() || Report(run) == nil {
			return "there is nothing to explain", nil
		}
		return "", a.explaining(ctx, d, run)
	}
	if run.IsGroup() {
		return action + " by " + login, a.store.InTx(ctx, func(tx *store.Tx) error {
			_, err := queue.Submit(ctx, a.queue, tx, store.RunRequest{
				Installation: run.Installation, RepoID: run.RepoID, Owner: run.Owner, Repo: run.Repo, GroupRef: run.GroupRef,
				Head: run.Head, Base: run.Base, Cause: store.CauseMergeGroup, Event: convergence.EventRerun, Sender: r.Sender(),
				Deliveries: []int64{d.ID},
			})
			return err
		})
	}
	err = a.grant(ctx, d, c, run.Head, r, keptDays([]store.Run{run}))
	var refused *refusedError
	if errors.As(err, &refused) {
		return "refused: " + refused.why, nil
	}
	return action + " by " + login, err
}

// explaining hands the delivery of a press on to the job that explains the run, so that presses that come at once, to whichever
// processes, make one comment.
func (a *App) explaining(ctx context.Context, d store.Delivery, run store.Run) error {
	err := a.store.InTx(ctx, func(tx *store.Tx) error {
		job, err := a.queue.EnqueueTx(ctx, tx, queue.ExplainArgs{RunID: run.ID})
		if err != nil {
			return err
		}
		return tx.SetDeliveryJob(ctx, d.ID, job)
	})
	if err != nil {
		return err
	}
	return errHandedOn
}

// explain carries an explain job out.
func (a *App) explain(ctx context.Context, job queue.ExplainArgs) error {
	run, err := a.store.Run(ctx, job.RunID)
	if err != nil && !ended(err) {
		return err
	}
	if doc := Report(run); doc != nil {
		err := a.publisher.Say(ctx, targetOf(ctx, run), fmt.Sprintf("explain %d", run.CheckRunID), command.Explanation(doc))
		if err != nil {
			return settle(err)
		}
	}
	return a.store.InTx(ctx, func(tx *store.Tx) error {
		presses, err := tx.DeliveriesOfJob(ctx, queue.JobID(ctx))
		if err != nil {
			return err
		}
		for _, d := range presses {
			if err := tx.SetDelivery(ctx, d, store.Done, "explained"); err != nil {
				return err
			}
		}
		return nil
	})
}
