package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// PullState is the state of a pull request.
type PullState string

// The states of a pull request.
const (
	PullOpen   PullState = "open"
	PullClosed PullState = "closed"
	PullMerged PullState = "merged"
)

// Pull is what is known about a pull request, as of UpdatedAt.
type Pull struct {
	RepoID     int64
	Number     int
	Head       string
	HeadRef    string
	HeadRepoID int64 // 0 when the fork was deleted
	Base       string
	BaseRef    string
	Author     string
	Draft      bool
	State      PullState
	UpdatedAt  time.Time // by GitHub's clock, in whole seconds
}

// SeePull records a pull request as an event or an answer of the API shows it. Events can come late and out of order,
// redelivered ones above all: when something newer is known already, nothing is changed, current is false, and known is
// what is known. The time is that of GitHub, which counts in seconds; of two states in one second the later one to come
// counts.
func (x *Tx) SeePull(ctx context.Context, p Pull) (known Pull, current bool, err error) {
	doing := func(err error) error {
		return fmt.Errorf("recording pull request %d of repository %d: %w", p.Number, p.RepoID, err)
	}
	if err := x.lock(ctx, p.RepoID); err != nil {
		return Pull{}, false, doing(err)
	}
	old, err := x.Pull(ctx, p.RepoID, p.Number)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return Pull{}, false, err
	case old.UpdatedAt.After(p.UpdatedAt):
		return old, false, nil
	}
	_, err = x.exec(ctx, `INSERT INTO pulls (repo_id, number, head, head_ref, head_repo_id, base, base_ref, author, draft, state, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (repo_id, number) DO UPDATE SET head = excluded.head, head_ref = excluded.head_ref, head_repo_id = excluded.head_repo_id,
			base = excluded.base, base_ref = excluded.base_ref, author = excluded.author, draft = excluded.draft, state = excluded.state, updated_at = excluded.updated_at`,
		p.RepoID, p.Number, p.Head, p.HeadRef, p.HeadRepoID, p.Base, p.BaseRef, p.Author, p.Draft, string(p.State), millis(p.UpdatedAt))
	if err != nil {
		return Pull{}, false, doing(err)
	}
	return p, true, nil
}

const pullColumns = `repo_id, number, head, head_ref, head_repo_id, base, base_ref, author, draft, state, updated_at`

func scanPull(rows *sql.Rows) (Pull, error) {
	var p Pull
	var updated int64
	err := rows.Scan(&p.RepoID, &p.Number, &p.Head, &p.HeadRef, &p.HeadRepoID, &p.Base, &p.BaseRef, &p.Author, &p.Draft, &p.State, &updated)
	p.UpdatedAt = moment(updated)
	return p, err
}

func (s *Store) pulls(ctx context.Context, q querier, where string, args ...any) ([]Pull, error) {
	list, err := collect(ctx, s, q, scanPull, `SELECT `+pullColumns+` FROM pulls WHERE `+where+` ORDER BY repo_id, number`, args...)
	if err != nil {
		return nil, fmt.Errorf("reading pull requests: %w", err)
	}
	return list, nil
}

func (s *Store) pull(ctx context.Context, q querier, repoID int64, number int) (Pull, error) {
	list, err := s.pulls(ctx, q, `repo_id = ? AND number = ?`, repoID, number)
	if err != nil {
		return Pull{}, err
	}
	if len(list) == 0 {
		return Pull{}, fmt.Errorf("pull request %d of repository %d: %w", number, repoID, ErrNotFound)
	}
	return list[0], nil
}

// Pull returns what is known about a pull request; the error is ErrNotFound when nothing is.
func (x *Tx) Pull(ctx context.Context, repoID int64, number int) (Pull, error) {
	return x.s.pull(ctx, x.tx, repoID, number)
}

// Pull returns what is known about a pull request; the error is ErrNotFound when nothing is.
func (s *Store) Pull(ctx context.Context, repoID int64, number int) (Pull, error) {
	return s.pull(ctx, s.reader, repoID, number)
}

// OpenPulls returns the open pull requests that are known of a repository, by number.
func (s *Store) OpenPulls(ctx context.Context, repoID int64) ([]Pull, error) {
	return s.pulls(ctx, s.reader, `repo_id = ? AND state = 'open'`, repoID)
}

// PullsByHead returns the open pull requests that are known to have a head, by number. It finds those from forks too, which
// GitHub leaves out of the events about a commit.
func (x *Tx) PullsByHead(ctx context.Context, repoID int64, sha string) ([]Pull, error) {
	return x.s.pulls(ctx, x.tx, `repo_id = ? AND head = ? AND state = 'open'`, repoID, sha)
}

// PullsByBase returns the open pull requests that are known to ask for a branch, by number.
func (x *Tx) PullsByBase(ctx context.Context, repoID int64, ref string) ([]Pull, error) {
	return x.s.pulls(ctx, x.tx, `repo_id = ? AND base_ref = ? AND state = 'open'`, repoID, ref)
}

// PullsByHeadRef returns the open pull requests that are known to come from a branch of the repository itself, by number.
func (x *Tx) PullsByHeadRef(ctx context.Context, repoID int64, ref string) ([]Pull, error) {
	return x.s.pulls(ctx, x.tx, `repo_id = ? AND head_ref = ? AND head_repo_id = repo_id AND state = 'open'`, repoID, ref)
}

// BlockedPulls returns the open pull requests of a repository whose newest head is being judged or was not let pass, by
// number: those that may pass when something is taken back that was held against them.
func (x *Tx) BlockedPulls(ctx context.Context, repoID int64) ([]Pull, error) {
	return x.s.pulls(ctx, x.tx, `repo_id = ? AND state = 'open' AND EXISTS (SELECT 1 FROM runs r WHERE r.repo_id = pulls.repo_id AND r.pr = pulls.number AND r.head = pulls.head
		AND (r.state IN `+liveStates+` OR r.conclusion IN ('failure', 'action_required')))`, repoID)
}
