package webhook

import (
	"context"

	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/convergence"
)

// mergeGroupEvent is what go-github's type lacks the reason of.
type mergeGroupEvent struct {
	Reason string `json:"reason"` // of destroyed: merged, invalidated, dequeued
	Group  struct {
		HeadSHA string `json:"head_sha"`
		HeadRef string `json:"head_ref"`
		BaseSHA string `json:"base_sha"`
	} `json:"merge_group"`
}

// mergeGroup serves the event merge_group: the queue asks about a group, or has given it up.
func mergeGroup(_ *Handler, d *delivery) (work, string, error) {
	e, err := decode[mergeGroupEvent](d)
	if err != nil {
		return nil, "", err
	}
	g := e.Group
	if g.HeadSHA == "" || g.HeadRef == "" {
		return nil, "", missing("its merge group")
	}
	if d.Action == "destroyed" {
		why := "the merge group was destroyed"
		if e.Reason != "" {
			why = "the merge group was " + e.Reason
		}
		return func(ctx context.Context, s *scope) (outcome, error) {
			runs, err := s.CancelGroup(ctx, d.Repository.ID, g.HeadSHA, why)
			if err != nil {
				return outcome{}, err
			}
			return outcome{done, why}, queue.Ended(ctx, s.q, s.Tx, runs)
		}, "", nil
	}
	return func(ctx context.Context, s *scope) (outcome, error) {
		req := s.request(0, g.HeadSHA, store.CauseMergeGroup, convergence.EventMergeGroup)
		req.Base, req.GroupRef = g.BaseSHA, g.HeadRef
		return s.submit(ctx, req)
	}, "", nil
}
