package webhook

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/convergence"
)

// codeScanningAlert serves the event code_scanning_alert: evidence about a ref.
func codeScanningAlert(_ *Handler, d *delivery) (work, string, error) {
	e, err := decode[github.CodeScanningAlertEvent](d)
	if err != nil {
		return nil, "", err
	}
	if e.Alert == nil {
		return nil, "", missing("its alert")
	}
	event := convergence.Event("code_scanning_alert." + d.Action)
	if d.Action == "dismissed" {
		event = convergence.EventAlertClosed // two words for one thing
	}
	// An alert that a person closes or opens again has no ref of its own: it is closed on all.
	everywhere := e.GetRef() == ""
	ref := e.GetRef()
	if everywhere {
		ref = e.GetAlert().GetMostRecentInstance().GetRef()
	}
	return func(ctx context.Context, s *scope) (outcome, error) { return s.alert(ctx, ref, everywhere, event) }, "", nil
}

func (s *scope) alert(ctx context.Context, ref string, everywhere bool, event convergence.Event) (outcome, error) {
	repo := s.d.Repository.ID
	pulls := map[int]store.Pull{}
	add := func(list []store.Pull, err error) error {
		for _, p := range list {
			pulls[p.Number] = p
		}
		return err
	}
	if number, ok := pullOfRef(ref); ok {
		p, err := s.Pull(ctx, repo, number)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return s.resolve(ctx, queue.ResolveArgs{Ref: ref, Event: string(event)}, evidenceDelay)
		case err != nil:
			return outcome{}, err
		case p.State == store.PullOpen:
			pulls[number] = p
		}
	}
	if name, ok := branch(ref); ok {
		// An alert of the base branch is none of the pull request's, so it matters to those that ask for the branch, too.
		if err := errors.Join(add(s.PullsByHeadRef(ctx, repo, name)), add(s.PullsByBase(ctx, repo, name))); err != nil {
			return outcome{}, err
		}
	}
	if everywhere {
		if err := add(s.BlockedPulls(ctx, repo)); err != nil {
			return outcome{}, err
		}
	}
	if len(pulls) == 0 {
		return outcome{}, &droppedError{"no pull request is concerned"}
	}
	return s.submitAll(ctx, byNumber(pulls), func(p store.Pull) store.RunRequest {
		req := s.request(p.Number, p.Head, store.CauseEvidence, event)
		req.Delay = evidenceDelay
		return req
	})
}

// pullOfRef is the pull request in refs/pull/N/head or refs/pull/N/merge.
func pullOfRef(ref string) (int, bool) {
	rest, ok := strings.CutPrefix(ref, "refs/pull/")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, "/")
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0
}
