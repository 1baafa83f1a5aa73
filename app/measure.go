package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/casefile"
	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/runner"
)

// fetchTime is how much longer than its budget a measurement may take: for a clone, for dependencies, and for the end.
const fetchTime = 10 * time.Minute

// measurement is what a measure job needs to know. All of it decides the outcome.
type measurement struct {
	Installation int64
	Owner, Repo  string
	Base, Head   string
	Policy       config.HollowTest
	Version      string
}

// hollowTest is the evidence of hollow-test about the head: what was measured, or pending while it is being measured, which
// takes longer than a judge job may run.
func (w *judging) hollowTest(ctx context.Context, p config.HollowTest) (prosecutor.Evidence, error) {
	p.Budget = min(p.Budget, w.a.o.HollowTest.MaxBudget)
	want := measurement{Base: w.file.Base, Head: w.run.Head, Policy: p, Version: w.a.o.Version}
	decides, err := json.Marshal(want)
	if err != nil {
		return prosecutor.Evidence{}, fmt.Errorf("describing a measurement: %w", err)
	}
	key := sha256.Sum256(decides)
	// Where the repository is found decides nothing: it may be renamed.
	want.Installation, want.Owner, want.Repo = w.run.Installation, w.run.Owner, w.run.Repo
	request, err := json.Marshal(want)
	if err != nil {
		return prosecutor.Evidence{}, fmt.Errorf("describing a measurement: %w", err)
	}
	var m store.Measurement
	var abandoned bool
	err = w.a.store.InTx(ctx, func(tx *store.Tx) (err error) {
		m, abandoned, err = queue.Measure(ctx, w.a.queue, tx, w.run, hex.EncodeToString(key[:]), request, w.again)
		return err
	})
	switch {
	case err != nil:
		return prosecutor.Evidence{}, err
	case abandoned:
		return evidence.Unavailable(prosecutor.HollowTest, "the server ended again and again while it ran the tests; /prosecute tries once more"), nil
	case !m.Done():
		return prosecutor.Evidence{Source: prosecutor.HollowTest, State: prosecutor.Pending, Detail: "the tests are run against mutants of the change"}, nil
	}
	return decode(m)
}

func decode(m store.Measurement) (prosecutor.Evidence, error) {
	var e prosecutor.Evidence
	if err := json.Unmarshal(m.Evidence, &e); err != nil {
		return e, fmt.Errorf("the evidence of measurement %d cannot be read: %w", m.ID, err)
	}
	return e, nil
}

// again reports whether a person has asked, since then, for what could not be measured.
func (w *judging) again(m store.Measurement) bool {
	if !w.run.Sender.MayReopen() || m.DoneAt.After(w.run.CreatedAt) {
		return false
	}
	if !m.Done() {
		return m.AskedAt.Before(w.run.CreatedAt) // one more try for each time a person asks
	}
	e, err := decode(m)
	return err != nil || e.State == prosecutor.Unavailable
}

// measure carries a measure job out. A measurement that is gone is one that nobody wants any more: it goes with its last run,
// which cancels the job too.
func (a *App) measure(ctx context.Context, job queue.MeasureArgs) error {
	m, err := a.store.Measurement(ctx, job.Measurement)
	if errors.Is(err, store.ErrNotFound) || err == nil && m.Done() {
		return nil
	}
	if err != nil {
		return err
	}
	e, err := a.measureHead(ctx, m)
	if err != nil {
		return settle(err)
	}
	return a.measured(ctx, m.ID, e)
}

// measureHead runs the tests. The error is for what another attempt may mend; what the tests do is in the evidence.
func (a *App) measureHead(ctx context.Context, m store.Measurement) (prosecutor.Evidence, error) {
	var want measurement
	if err := json.Unmarshal(m.Request, &want); err != nil {
		return prosecutor.Evidence{}, fmt.Errorf("measurement %d cannot be read: %w", m.ID, err)
	}
	tree, err := a.casefiles.Open(ctx, casefile.CheckoutRequest{
		Installation: want.Installation, RepoID: m.RepoID, Owner: want.Owner, Repo: want.Repo, Base: want.Base, Head: want.Head,
	})
	var gone *casefile.GoneError
	if errors.As(err, &gone) || casefile.Unfit(err) {
		return evidence.Unavailable(prosecutor.HollowTest, "the head could not be checked out: "+err.Error()), nil
	}
	if err != nil {
		return prosecutor.Evidence{}, err
	}
	defer tree.Close()
	e, _ := runner.Evidence(ctx, runner.Change{Head: want.Head, Diff: tree.Diff, Checkout: tree.Write}, want.Policy,
		runner.ConfinementOf(a.o.HollowTest), runner.Options{})
	return e, ctx.Err()
}

func (a *App) measured(ctx context.Context, id int64, e prosecutor.Evidence) error {
	found, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("storing the evidence of measurement %d: %w", id, err)
	}
	err = a.store.InTx(ctx, func(tx *store.Tx) error { return queue.Measured(ctx, a.queue, tx, id, found) })
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// measuredNothing tells those who wait for a measurement that it was given up.
func (a *App) measuredNothing(ctx context.Context, job queue.MeasureArgs, cause error) {
	e := evidence.Unavailable(prosecutor.HollowTest, "it was given up: "+ghclient.Redact(cause.Error()))
	if err := a.measured(ctx, job.Measurement, e); err != nil {
		a.warn(ctx, err, "recording that a measurement was given up")
	}
}
