package webhook

import (
	"context"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/convergence"
)

// checkSuite serves the event check_suite: those of others are evidence, and "Re-run all checks" comes as one of ours.
func checkSuite(h *Handler, d *delivery) (work, string, error) {
	e, err := decode[github.CheckSuiteEvent](d)
	if err != nil {
		return nil, "", err
	}
	c := e.GetCheckSuite()
	if c.GetHeadSHA() == "" {
		return nil, "", missing("its check suite")
	}
	ours := h.ourApp(c.GetApp())
	if d.Action == "completed" {
		if ours {
			return nil, "it is our own doing", nil
		}
		lost := onDefaultBranch(d, c.GetHeadBranch())
		return func(ctx context.Context, s *scope) (outcome, error) {
			return s.byCommit(ctx, c.GetHeadSHA(), c.PullRequests, store.CauseEvidence, convergence.EventChecksFinished, evidenceDelay, lost)
		}, "", nil
	}
	switch {
	case !ours:
		return nil, "the check suite is another App's", nil
	case h.ours(d.Sender), d.Sender.bot():
		return nil, "no person asked", nil
	}
	return func(ctx context.Context, s *scope) (outcome, error) {
		groups, err := s.RunsOfHead(ctx, d.Repository.ID, 0, c.GetHeadSHA())
		if err != nil {
			return outcome{}, err
		}
		if len(groups) > 0 {
			return s.submit(ctx, s.again(groups[0], convergence.EventRerunAll))
		}
		return s.byCommit(ctx, c.GetHeadSHA(), c.PullRequests, store.CauseRerun, convergence.EventRerunAll, 0, "")
	}, "", nil
}
