package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// InstallationState is the state of an installation of the App.
type InstallationState string

// The states of an installation.
const (
	Active    InstallationState = "active"
	Suspended InstallationState = "suspended"
	Deleted   InstallationState = "deleted"
)

// Installation is one installation of the App.
type Installation struct {
	ID        int64
	Account   string
	State     InstallationState
	UpdatedAt time.Time
}

// Repository is a repository that an installation may see.
type Repository struct {
	ID           int64
	Installation int64
	Owner        string
	Name         string
	Removed      bool
	UpdatedAt    time.Time
}

// SetInstallation records the state of an installation.
func (x *Tx) SetInstallation(ctx context.Context, i Installation) error {
	_, err := x.exec(ctx, `INSERT INTO installations (id, account, state, updated_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET account = excluded.account, state = excluded.state, updated_at = excluded.updated_at`,
		i.ID, i.Account, string(i.State), millis(x.Now()))
	if err != nil {
		return fmt.Errorf("recording installation %d: %w", i.ID, err)
	}
	return nil
}

// SeeRepository records a repository as an event names it, so that a renamed one is found under its new name.
func (x *Tx) SeeRepository(ctx context.Context, r Repository) error {
	_, err := x.exec(ctx, `INSERT INTO repositories (id, installation_id, owner, name, removed, updated_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET installation_id = excluded.installation_id, owner = excluded.owner, name = excluded.name, removed = excluded.removed, updated_at = excluded.updated_at
		WHERE repositories.installation_id <> excluded.installation_id OR repositories.owner <> excluded.owner OR repositories.name <> excluded.name OR repositories.removed <> excluded.removed`,
		r.ID, r.Installation, r.Owner, r.Name, r.Removed, millis(x.Now()))
	if err != nil {
		return fmt.Errorf("recording repository %d: %w", r.ID, err)
	}
	return nil
}

// Installations returns all installations that are known, by id.
func (s *Store) Installations(ctx context.Context) ([]Installation, error) {
	list, err := collect(ctx, s, s.reader, func(rows *sql.Rows) (Installation, error) {
		var i Installation
		var updated int64
		err := rows.Scan(&i.ID, &i.Account, &i.State, &updated)
		i.UpdatedAt = moment(updated)
		return i, err
	}, `SELECT id, account, state, updated_at FROM installations ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("listing installations: %w", err)
	}
	return list, nil
}

// Repositories returns the repositories of an installation, without those that were removed, by id.
func (s *Store) Repositories(ctx context.Context, installation int64) ([]Repository, error) {
	return s.repositories(ctx, s.reader, `installation_id = ? AND NOT removed`, installation)
}

// Repository returns a repository by its number; the error is ErrNotFound when it is unknown.
func (s *Store) Repository(ctx context.Context, id int64) (Repository, error) {
	list, err := s.repositories(ctx, s.reader, `id = ?`, id)
	if err != nil {
		return Repository{}, err
	}
	if len(list) == 0 {
		return Repository{}, fmt.Errorf("repository %d: %w", id, ErrNotFound)
	}
	return list[0], nil
}

func (s *Store) repositories(ctx context.Context, q querier, where string, args ...any) ([]Repository, error) {
	list, err := collect(ctx, s, q, func(rows *sql.Rows) (Repository, error) {
		var r Repository
		var updated int64
		err := rows.Scan(&r.ID, &r.Installation, &r.Owner, &r.Name, &r.Removed, &updated)
		r.UpdatedAt = moment(updated)
		return r, err
	}, `SELECT id, installation_id, owner, name, removed, updated_at FROM repositories WHERE `+where+` ORDER BY id`, args...)
	if err != nil {
		return nil, fmt.Errorf("reading repositories: %w", err)
	}
	return list, nil
}
