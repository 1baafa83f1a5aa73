package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// KillSwitch is the state of the label prosecutor:off of a pull request. Whoever may label may not necessarily switch the
// gate off, and asking GitHub for a permission takes a request, which the receipt of a webhook has no time for. So a change
// of the label is recorded as a wish, and counts once SettleKillSwitch has said that the sender may.
type KillSwitch struct {
	RepoID    int64
	PR        int
	On        bool   // judging is switched off
	By        string // who switched last, with permission
	Wanted    bool   // what the label says
	WantedBy  string // who changed the label last
	Pending   bool   // nobody has looked yet whether WantedBy may
	UpdatedAt time.Time
}

// WantKillSwitch records a change of the label.
func (x *Tx) WantKillSwitch(ctx context.Context, repoID int64, pr int, on bool, sender string) error {
	_, err := x.exec(ctx, `INSERT INTO kill_switches (repo_id, pr, is_on, by_login, wanted, wanted_by, pending, updated_at) VALUES (?, ?, ?, '', ?, ?, ?, ?)
		ON CONFLICT (repo_id, pr) DO UPDATE SET wanted = excluded.wanted, wanted_by = excluded.wanted_by, pending = excluded.pending, updated_at = excluded.updated_at`,
		repoID, pr, false, on, sender, true, millis(x.Now()))
	if err != nil {
		return fmt.Errorf("recording the kill switch of pull request %d: %w", pr, err)
	}
	return nil
}

// SettleKillSwitch records whether the last change of the label counts, and returns the switch as it is then. sender is the
// one whose permission was looked up: when somebody else has changed the label meanwhile, that change stays pending. settled
// says that it was this call which settled a change.
func (x *Tx) SettleKillSwitch(ctx context.Context, repoID int64, pr int, sender string, permitted bool) (ks KillSwitch, settled bool, err error) {
	if err := x.lock(ctx, repoID); err != nil {
		return KillSwitch{}, false, err
	}
	query := `UPDATE kill_switches SET pending = ?, updated_at = ? WHERE repo_id = ? AND pr = ? AND wanted_by = ? AND pending`
	if permitted {
		query = `UPDATE kill_switches SET is_on = wanted, by_login = wanted_by, pending = ?, updated_at = ? WHERE repo_id = ? AND pr = ? AND wanted_by = ? AND pending`
	}
	n, err := x.exec(ctx, query, false, millis(x.Now()), repoID, pr, sender)
	if err != nil {
		return KillSwitch{}, false, fmt.Errorf("settling the kill switch of pull request %d: %w", pr, err)
	}
	ks, err = x.s.killSwitch(ctx, x.tx, repoID, pr)
	return ks, n > 0, err
}

// KillSwitch returns the switch of a pull request; one that nobody has touched is off.
func (x *Tx) KillSwitch(ctx context.Context, repoID int64, pr int) (KillSwitch, error) {
	return x.s.killSwitch(ctx, x.tx, repoID, pr)
}

// KillSwitch returns the switch of a pull request; one that nobody has touched is off.
func (s *Store) KillSwitch(ctx context.Context, repoID int64, pr int) (KillSwitch, error) {
	return s.killSwitch(ctx, s.reader, repoID, pr)
}

func (s *Store) killSwitch(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, repoID int64, pr int) (KillSwitch, error) {
	k := KillSwitch{RepoID: repoID, PR: pr}
	var updated int64
	err := q.QueryRowContext(ctx, s.bind(`SELECT is_on, by_login, wanted, wanted_by, pending, updated_at FROM kill_switches WHERE repo_id = ? AND pr = ?`), repoID, pr).
		Scan(&k.On, &k.By, &k.Wanted, &k.WantedBy, &k.Pending, &updated)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return KillSwitch{}, fmt.Errorf("reading the kill switch of pull request %d: %w", pr, err)
	}
	k.UpdatedAt = moment(updated)
	return k, nil
}
