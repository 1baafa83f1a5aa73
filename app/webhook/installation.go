package webhook

import (
	"context"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
)

// installation serves the event installation: what we may act for.
func installation(_ *Handler, d *delivery) (work, string, error) {
	e, err := decode[github.InstallationEvent](d)
	if err != nil {
		return nil, "", err
	}
	i := store.Installation{ID: d.Installation.ID, Account: e.GetInstallation().GetAccount().GetLogin(), State: store.Active}
	why := ""
	switch d.Action {
	case "deleted":
		i.State, why = store.Deleted, "the App was uninstalled"
	case "suspend":
		i.State, why = store.Suspended, "the installation of the App was suspended"
	}
	return func(ctx context.Context, s *scope) (outcome, error) {
		if err := s.SetInstallation(ctx, i); err != nil {
			return outcome{}, err
		}
		if err := s.addRepositories(ctx, e.Repositories); err != nil {
			return outcome{}, err
		}
		if why == "" {
			return outcome{done, "the installation is active"}, nil
		}
		runs, err := s.CancelInstallation(ctx, i.ID, why)
		if err != nil {
			return outcome{}, err
		}
		return outcome{done, why}, queue.Abandoned(ctx, s.q, s.Tx, runs)
	}, "", nil
}

// addRepositories records repositories that an installation may see.
func (s *scope) addRepositories(ctx context.Context, list []*github.Repository) error {
	for _, r := range list {
		owner, name, ok := strings.Cut(r.GetFullName(), "/")
		if r.GetID() == 0 || !ok {
			continue
		}
		if err := s.SeeRepository(ctx, store.Repository{ID: r.GetID(), Installation: s.d.Installation.ID, Owner: owner, Name: name}); err != nil {
			return err
		}
	}
	return nil
}
