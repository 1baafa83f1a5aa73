package webhook

import (
	"context"
	"errors"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/convergence"
)

// OffLabel is the label that switches judging off for a pull request.
const OffLabel = "prosecutor:off"

// pullRequest serves the event pull_request: new heads and edits are cases, a label is the kill switch, and the end of a pull
// request is the end of its runs.
func pullRequest(_ *Handler, d *delivery) (work, string, error) {
	e, err := decode[github.PullRequestEvent](d)
	if err != nil {
		return nil, "", err
	}
	pr := e.GetPullRequest()
	p := store.Pull{
		RepoID: d.Repository.ID, Number: pr.GetNumber(), Head: pr.GetHead().GetSHA(), HeadRef: pr.GetHead().GetRef(), HeadRepoID: pr.GetHead().GetRepo().GetID(),
		Base: pr.GetBase().GetSHA(), BaseRef: pr.GetBase().GetRef(), Author: pr.GetUser().GetLogin(), Draft: pr.GetDraft(),
		State: store.PullOpen, UpdatedAt: pr.GetUpdatedAt().UTC(),
	}
	if p.Number == 0 || p.Head == "" || p.BaseRef == "" {
		return nil, "", missing("its pull request")
	}
	if pr.GetState() == "closed" {
		if p.State = store.PullClosed; pr.GetMerged() {
			p.State = store.PullMerged
		}
	}
	cause, event := store.CausePush, convergence.Event(d.Event+"."+d.Action)
	switch d.Action {
	case "labeled", "unlabeled":
		if e.GetLabel().GetName() != OffLabel {
			return nil, "the label is none of ours", nil
		}
		return func(ctx context.Context, s *scope) (outcome, error) {
			return s.pullLabeled(ctx, p, d.Action == "labeled")
		}, "", nil
	case "closed":
		return func(ctx context.Context, s *scope) (outcome, error) { return s.pullClosed(ctx, p) }, "", nil
	case "converted_to_draft":
		return func(ctx context.Context, s *scope) (outcome, error) { return s.pullDrafted(ctx, p) }, "", nil
	case "ready_for_review":
		cause = store.CauseReady
	case "edited":
		c := e.GetChanges()
		switch {
		case c.GetBase() != nil:
			cause = store.CauseReady
		case c.GetTitle() != nil || c.GetBody() != nil:
			cause = store.CauseEdit
		default:
			return nil, "nothing was edited that a case depends on", nil
		}
	}
	return func(ctx context.Context, s *scope) (outcome, error) { return s.pullChanged(ctx, p, cause, event) }, "", nil
}

// pullChanged has a head judged.
func (s *scope) pullChanged(ctx context.Context, p store.Pull, cause store.Cause, event convergence.Event) (outcome, error) {
	before, err := s.Pull(ctx, p.RepoID, p.Number)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return outcome{}, err
	}
	known, current, err := s.SeePull(ctx, p)
	if err != nil {
		return outcome{}, err
	}
	if !current && known.Head != p.Head {
		return outcome{ignored, "a newer head is known"}, nil
	}
	// It may come late, when what it tells was learnt otherwise: by a sweep that found the head and had it judged. Without a
	// run of the head it is the first to ask for one.
	if runs, err := s.RunsOfHead(ctx, p.RepoID, p.Number, p.Head); err != nil {
		return outcome{}, err
	} else if len(runs) > 0 {
		switch told := before.Head == p.Head && (event == "pull_request.opened" || event == convergence.EventPush); {
		case !current:
			return outcome{ignored, "a newer state of the pull request is known"}, nil
		case told && decided(runs[0].State):
			return outcome{done, "the head was judged already"}, nil
		}
	}
	if event == convergence.EventReopened {
		if err := s.changeLedger(ctx, p, convergence.Reopen); err != nil {
			return outcome{}, err
		}
	}
	if known.Draft {
		// A head that was judged because somebody asked for it is not the newest one any more.
		if event == convergence.EventPush {
			return s.endPull(ctx, p, "superseded by "+p.Head, "it is a draft; it is judged when it is ready, or asked for with /prosecute")
		}
		return outcome{ignored, "it is a draft; it is judged when it is ready, or asked for with /prosecute"}, nil
	}
	req := s.request(p.Number, p.Head, cause, event)
	req.Base = p.Base
	return s.submit(ctx, req)
}

// decided reports whether a run has done all it could for its head.
func decided(s store.RunState) bool {
	return s == store.RunJudged || s == store.RunPublished || s == store.RunSkipped
}

// pullLabeled records a touch of the kill switch and has the case looked at again.
func (s *scope) pullLabeled(ctx context.Context, p store.Pull, on bool) (outcome, error) {
	known, current, err := s.SeePull(ctx, p)
	if err != nil {
		return outcome{}, err
	}
	if !current {
		return outcome{ignored, "a newer state of the pull request is known"}, nil
	}
	if known.State != store.PullOpen {
		return outcome{ignored, "the pull request is " + string(known.State)}, nil
	}
	if err := s.WantKillSwitch(ctx, p.RepoID, p.Number, on, s.d.Sender.Login); err != nil {
		return outcome{}, err
	}
	if known.Draft {
		return outcome{done, "the kill switch is looked at when the draft is ready"}, nil
	}
	// The gate takes it as a case that is taken up again; that the switch was touched is in the cause.
	req := s.request(p.Number, p.Head, store.CauseSwitch, convergence.EventResume)
	req.Base = p.Base
	return s.submit(ctx, req)
}

// pullClosed ends the runs of a pull request and closes its ledger.
func (s *scope) pullClosed(ctx context.Context, p store.Pull) (outcome, error) {
	known, current, err := s.SeePull(ctx, p)
	if err != nil {
		return outcome{}, err
	}
	if !current && known.State == store.PullOpen {
		return outcome{ignored, "it was opened again since"}, nil
	}
	err = s.changeLedger(ctx, p, func(l convergence.Ledger) convergence.Ledger {
		return convergence.Close(l, string(p.State), 0, s.Now())
	})
	if err != nil {
		return outcome{}, err
	}
	return s.endPull(ctx, p, "the pull request was "+string(p.State), "")
}

// pullDrafted ends the runs of a pull request that has become a draft.
func (s *scope) pullDrafted(ctx context.Context, p store.Pull) (outcome, error) {
	known, current, err := s.SeePull(ctx, p)
	if err != nil {
		return outcome{}, err
	}
	if !current && !known.Draft {
		return outcome{ignored, "it has become ready since"}, nil
	}
	return s.endPull(ctx, p, "the pull request was made a draft", "")
}

// endPull ends the runs of a pull request.
func (s *scope) endPull(ctx context.Context, p store.Pull, why, reason string) (outcome, error) {
	runs, err := s.CancelPull(ctx, p.RepoID, p.Number, why)
	if err != nil {
		return outcome{}, err
	}
	if reason == "" {
		reason = why
	}
	return outcome{done, reason}, queue.Ended(ctx, s.q, s.Tx, runs)
}

// changeLedger changes the ledger of a pull request that has one.
func (s *scope) changeLedger(ctx context.Context, p store.Pull, change func(convergence.Ledger) convergence.Ledger) error {
	key, ledgers := store.LedgerKey(p.RepoID, p.Number), s.Ledgers()
	l, err := ledgers.Load(ctx, key)
	if err != nil || l.Current.Head == "" {
		return err
	}
	return ledgers.Update(ctx, key, func(l convergence.Ledger) (convergence.Ledger, error) { return change(l), nil })
}
