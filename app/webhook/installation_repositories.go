package webhook

import (
	"context"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
)

// installationRepositories serves the event installation_repositories: the repositories that were added and removed, and only
// those, however many the installation has.
func installationRepositories(_ *Handler, d *delivery) (work, string, error) {
	e, err := decode[github.InstallationRepositoriesEvent](d)
	if err != nil {
		return nil, "", err
	}
	return func(ctx context.Context, s *scope) (outcome, error) {
		if err := s.addRepositories(ctx, e.RepositoriesAdded); err != nil {
			return outcome{}, err
		}
		for _, r := range e.RepositoriesRemoved {
			owner, name, ok := strings.Cut(r.GetFullName(), "/")
			if r.GetID() == 0 || !ok {
				continue
			}
			err := s.SeeRepository(ctx, store.Repository{ID: r.GetID(), Installation: d.Installation.ID, Owner: owner, Name: name, Removed: true})
			if err != nil {
				return outcome{}, err
			}
			runs, err := s.CancelRepository(ctx, r.GetID(), "the App was removed from the repository")
			if err != nil {
				return outcome{}, err
			}
			if err := queue.Abandoned(ctx, s.q, s.Tx, runs); err != nil {
				return outcome{}, err
			}
		}
		return outcome{done, "the repositories are recorded"}, nil
	}, "", nil
}
