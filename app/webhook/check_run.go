package webhook

import (
	"context"
	"errors"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/convergence"
)

// checkRun serves the event check_run: those of others are evidence, and the buttons of our own are asked for by people.
func checkRun(h *Handler, d *delivery) (work, string, error) {
	e, err := decode[github.CheckRunEvent](d)
	if err != nil {
		return nil, "", err
	}
	c := e.GetCheckRun()
	if c.GetID() == 0 || c.GetHeadSHA() == "" {
		return nil, "", missing("its check run")
	}
	ours := h.ourApp(c.GetApp())
	if d.Action == "completed" {
		if ours {
			return nil, "it is our own doing", nil
		}
		lost := onDefaultBranch(d, c.GetCheckSuite().GetHeadBranch())
		return func(ctx context.Context, s *scope) (outcome, error) {
			return s.byCommit(ctx, c.GetHeadSHA(), c.PullRequests, store.CauseEvidence, "check_run.completed", evidenceDelay, lost)
		}, "", nil
	}
	switch {
	case !ours:
		return nil, "the check run is another App's", nil
	case h.ours(d.Sender), d.Sender.bot():
		return nil, "no person asked", nil
	case d.Action == "requested_action":
		return func(ctx context.Context, s *scope) (outcome, error) { return s.command(ctx) }, "", nil
	}
	return func(ctx context.Context, s *scope) (outcome, error) { return s.rerun(ctx, c) }, "", nil
}

// rerun has the head of a check run of ours judged again, in a new check run. The payload names no pull request when that
// comes from a fork, but we know whose check run it is.
func (s *scope) rerun(ctx context.Context, c *github.CheckRun) (outcome, error) {
	run, err := s.RunByCheckRun(ctx, s.d.Repository.ID, c.GetID())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return s.byCommit(ctx, c.GetHeadSHA(), c.PullRequests, store.CauseRerun, convergence.EventRerun, 0, "")
	case err != nil:
		return outcome{}, err
	}
	return s.submit(ctx, s.again(run, convergence.EventRerun))
}

// again asks for another run of what a run was about.
func (s *scope) again(run store.Run, event convergence.Event) store.RunRequest {
	req := s.request(run.PR, run.Head, store.CauseRerun, event)
	req.Base = run.Base
	if run.IsGroup() {
		req.Cause, req.GroupRef = store.CauseMergeGroup, run.GroupRef
	}
	return req
}

// onDefaultBranch says why a commit can be the head of no pull request, if it cannot. A fork's branch is not named.
func onDefaultBranch(d *delivery, headBranch string) string {
	if headBranch != "" && headBranch == d.Repository.DefaultBranch {
		return "the commit is on the default branch"
	}
	return ""
}
