package webhook

import (
	"context"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/store"
)

// status serves the event status: evidence about a commit.
func status(_ *Handler, d *delivery) (work, string, error) {
	e, err := decode[github.StatusEvent](d)
	if err != nil {
		return nil, "", err
	}
	if e.GetSHA() == "" {
		return nil, "", missing("its commit")
	}
	if e.GetState() == "pending" {
		return nil, "it is pending", nil
	}
	lost := ""
	if len(e.Branches) > 0 {
		lost = "the commit is on the default branch only"
		for _, b := range e.Branches {
			if b.GetName() != d.Repository.DefaultBranch {
				lost = ""
			}
		}
	}
	return func(ctx context.Context, s *scope) (outcome, error) {
		return s.byCommit(ctx, e.GetSHA(), nil, store.CauseEvidence, "status", evidenceDelay, lost)
	}, "", nil
}
