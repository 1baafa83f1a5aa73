package webhook

import (
	"context"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/convergence"
)

// mostAtOnce is how many runs are started before GitHub is answered. More are left to a job.
const mostAtOnce = 100

// push serves the event push: a branch that open pull requests ask for has moved, and the policy perhaps with it. A push to
// the branch of a pull request is told by pull_request.
func push(_ *Handler, d *delivery) (work, string, error) {
	e, err := decode[github.PushEvent](d)
	if err != nil {
		return nil, "", err
	}
	name, ok := branch(e.GetRef())
	if !ok || e.GetDeleted() {
		return nil, "no branch was pushed", nil
	}
	return func(ctx context.Context, s *scope) (outcome, error) {
		pulls, err := s.PullsByBase(ctx, d.Repository.ID, name)
		if err != nil {
			return outcome{}, err
		}
		if len(pulls) > mostAtOnce {
			return s.resolve(ctx, queue.ResolveArgs{Ref: e.GetRef(), Event: string(convergence.EventPolicyOrBase)}, baseDelay)
		}
		if len(pulls) == 0 {
			if name != d.Repository.DefaultBranch {
				return outcome{}, &droppedError{"no pull request asks for the branch"}
			}
			// Either there is none, or we have come after they were opened.
			return s.resolve(ctx, queue.ResolveArgs{Ref: e.GetRef(), Event: string(convergence.EventPolicyOrBase)}, baseDelay)
		}
		return s.submitAll(ctx, pulls, func(p store.Pull) store.RunRequest {
			req := s.request(p.Number, p.Head, store.CauseBase, convergence.EventPolicyOrBase)
			req.Base, req.Delay = e.GetAfter(), baseDelay
			return req
		})
	}, "", nil
}
