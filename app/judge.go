package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/casefile"
	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/app/publish"
	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/record"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
	"github.com/prosecutor-bot/prosecutor/prosecutor/review"
)

// Waits of a case that cannot go on. Whatever it waits for usually wakes it earlier.
const (
	parkedFor = 5 * time.Minute // until evidence is looked at again without an event
	heldFirst = time.Minute     // the first wait for a judge; it doubles
	heldMost  = 15 * time.Minute
)

// judge carries a judge job out: it collects the case, has it ruled on, and stores ruling, ledger and publish job in one
// transaction.
func (a *App) judge(ctx context.Context, job queue.JudgeArgs) error {
	var run store.Run
	err := a.store.InTx(ctx, func(tx *store.Tx) (err error) {
		run, err = tx.BeginRun(ctx, job.RunID)
		return err
	})
	if ended(err) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, allowed, done := allow(ctx, a.o.ReadingTime)
	defer done()
	w := &judging{a: a, run: run, time: allowed}
	err = settle(w.do(ctx))
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errTooLong) {
		return fmt.Errorf("judging run %d: %w", run.ID, errTooLong)
	}
	return err
}

// judging is one beginning of one run.
type judging struct {
	a    *App
	run  store.Run
	time *allowance
	file *casefile.File
	id   convergence.Case
	said []keptLens // by the lenses
	wait error      // how the job sleeps when the case waits

	before   *convergence.Ledger // the ledger as this judging found it
	unasked  []prosecutor.Lens   // lenses whose verdict was kept from an earlier judging
	keptFrom int64               // the record of that judging
}

func (w *judging) do(ctx context.Context) error {
	if over, err := w.edited(ctx); err != nil || over {
		return err
	}
	c, err := w.collect(ctx)
	if err != nil || w.file == nil {
		return err
	}
	c.Observer = panel.ObserverFunc(w.told)
	bench := &review.Bench{Panel: w.a.panel, Decide: w.decide, Now: w.a.now}
	if _, err := bench.Prosecute(ctx, c); err != nil {
		if ended(err) {
			return nil
		}
		return err
	}
	return w.wait
}

// edited ends a run for an edit of title or body beyond the bound. What was decided was about another text, so the check run
// says that this one was not judged.
func (w *judging) edited(ctx context.Context) (over bool, err error) {
	if w.run.Cause != store.CauseEdit {
		return false, nil
	}
	err = w.a.store.InTx(ctx, func(tx *store.Tx) error {
		n, err := tx.CountRuns(ctx, w.run.RepoID, w.run.PR, w.run.Head, store.CauseEdit)
		if over = err == nil && n > store.MaxEdits; !over {
			return err
		}
		pub := &publish.Publication{
			Title:       fmt.Sprintf("Not judged: title and description were edited more than %d times on this head; push, or ask with /prosecute", store.MaxEdits),
			CheckStatus: convergence.CheckCompleted, Conclusion: convergence.ActionRequired,
		}
		return w.finish(ctx, tx, pub, false, w.concluded(record.Guard, "edited_too_often", pub))
	})
	return over, err
}

// announce creates the check run in a goroutine of its own, so that it is there at once and the reading does not wait for it.
// The function that it returns waits for the end, and must be called before anything else is done to the run.
func (w *judging) announce(ctx context.Context) (wait func() error) {
	if !w.announces(ctx) {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() { done <- w.begin(ctx, "Reading the change") }()
	return func() error { return <-done }
}

// announces reports whether the check run is created before the case is read. News about a head that may be decided
// already must not put a check run in progress over the decision, and a draft has none at all.
func (w *judging) announces(ctx context.Context) bool {
	switch w.run.Cause {
	case store.CauseEvidence, store.CauseBase, store.CauseReconcile, store.CauseSwitch:
		return false
	}
	if w.run.IsGroup() || w.run.Event == convergence.EventProsecute {
		return true
	}
	pull, err := w.a.store.Pull(ctx, w.run.RepoID, w.run.PR)
	return err == nil && !pull.Draft
}

// beginWithin bounds the creation of a check run, which nothing else ends.
const beginWithin = 30 * time.Second

// begin creates the check run, unless the run has one. It goes on when the run is cancelled: a request that was sent may
// make a check run whose answer is not read any more, and that one would stay in progress.
func (w *judging) begin(ctx context.Context, title string) error {
	if w.run.CheckRunID != 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beginWithin)
	defer cancel()
	id, err := w.a.publisher.Begin(ghclient.WithPurpose(ctx, ghclient.Publishing), targetOf(ctx, w.run), title)
	if err != nil {
		return fmt.Errorf("creating the check run of %s/%s#%d at %s: %w", w.run.Owner, w.run.Repo, w.run.PR, w.run.Head, err)
	}
	return w.a.store.InTx(ctx, func(tx *store.Tx) error {
		run, err := queue.SetCheckRun(ctx, w.a.queue, tx, w.run.ID, id)
		if err == nil {
			w.run.CheckRunID = run.CheckRunID
		}
		return err
	})
}

// decide rules on the case over its stored ledger. The judges are asked between two transactions, and the second stores
// the ruling with all that follows from it.
func (w *judging) decide(ctx context.Context, q review.Question) (convergence.Ruling, error) {
	w.id = q.Facts.Case
	key := q.Facts.Case.Key
	var step convergence.Step
	ruling, err := w.rule(ctx, key, q, func(l convergence.Ledger) convergence.Ruling {
		if step = convergence.Before(q.Facts, l, q.Policy); step.Ruling != nil {
			return *step.Ruling
		}
		return convergence.Ruling{Ledger: step.Ledger}
	})
	if err != nil || step.Ruling != nil {
		return ruling, err
	}
	if err := w.begin(ctx, "Judging"); err != nil {
		return convergence.Failed(q.Facts, step.Ledger, q.Policy, err), err
	}
	w.time.set(w.a.bench.judging(q.Policy, len(step.Ledger.Accusations)))
	outcomes, err := convergence.Consult(ctx, q.Facts, step, q.Policy, w.asking(w.id, q.Ask), q.Verify)
	w.time.set(w.a.o.ReadingTime)
	if err != nil {
		return convergence.Failed(q.Facts, step.Ledger, q.Policy, err), err
	}
	w.said = keep(outcomes)
	return w.rule(ctx, key, q, func(l convergence.Ledger) convergence.Ruling {
		return convergence.After(q.Facts, l, q.Policy, outcomes)
	})
}

// rule stores a ruling, and what follows from it, in one transaction.
func (w *judging) rule(ctx context.Context, key convergence.Key, q review.Question, rule func(convergence.Ledger) convergence.Ruling) (convergence.Ruling, error) {
	var ruling convergence.Ruling
	var title string
	var ruled *review.Result
	var found convergence.Ledger
	err := w.a.store.InTx(ctx, func(tx *store.Tx) error {
		w.wait, title = nil, ""
		var err error
		ruling, err = tx.Ledgers().Rule(ctx, key, func(l convergence.Ledger) (convergence.Ruling, error) {
			found = l
			return rule(l), nil
		})
		if err != nil {
			return err
		}
		if ruling.Outcome == "" {
			// Judges come next, and money is not spent on a verdict that could not be put on record.
			return tx.CanRecord(ctx, w.run.RepoID)
		}
		ruled = q.Result(ruling)
		before := found
		if w.before != nil {
			before = *w.before
		}
		title, err = w.conclude(ctx, tx, ruled, before)
		return err
	})
	if err != nil {
		return ruling, err
	}
	if w.before == nil {
		w.before = &found
	}
	if ruled != nil {
		w.a.metrics.count(ruled)
	}
	if title != "" {
		// What a waiting case waits for is shown; a failure to show it does not make it wait less.
		if err := w.progress(ctx, title); err != nil {
			w.a.log.Warn().Err(err).Int64("run", w.run.ID).Msg("showing what a case waits for")
		}
	}
	return ruling, nil
}

// conclude records what came of the run. It returns the title of a check run that stays in progress.
//
// What is published, and what judges were asked for, leaves a record of evidence in the same transaction: without it neither
// the ruling stays nor anything is published.
func (w *judging) conclude(ctx context.Context, tx *store.Tx, judged *review.Result, before convergence.Ledger) (title string, err error) {
	pub := publish.From(judged, judged.Document(w.about()))
	pub.Author = w.file.Author.Login
	entry := w.ruled(judged, before, pub.Title)
	switch check := judged.Ruling.CheckRun(); check.Status {
	case convergence.CheckInProgress:
		if judged.Ruling.Outcome == convergence.Held {
			if _, err := tx.AppendRecord(ctx, *entry); err != nil {
				return "", err
			}
		}
		again, err := tx.WaitRun(ctx, w.run, pub.Title)
		if err != nil {
			return "", err
		}
		w.wait = queue.Snooze(w.waits(judged.Ruling))
		if again {
			w.wait = queue.Snooze(0)
		}
		return pub.Title, nil
	case convergence.CheckNone:
		earlier, covered, ok := w.standing(ctx)
		if w.run.CheckRunID == 0 && (!covered || judged.Ruling.Reason != convergence.AlreadyDecided) {
			_, err := queue.Skip(ctx, w.a.queue, tx, w.run, pub.Title)
			return "", err
		}
		// A check run that was begun has to be concluded: as what stands for this head. And what stands has to be shown again
		// when the gate was switched off since, or the neutral check run would stay for good.
		pub.CheckStatus, pub.Conclusion = convergence.CheckCompleted, convergence.Cancelled
		if ok {
			pub, entry.Restates = earlier.Publication, earlier.Record
			pub.CheckRunID, pub.Attempt = 0, 0
			entry.Title = said(pub.Title)
		}
		entry.Conclusion = string(pub.Conclusion)
		return "", w.finish(ctx, tx, pub, false, w.worth(entry))
	default:
		return "", w.finish(ctx, tx, pub, judged.Ruling.Outcome == convergence.Decided, w.worth(entry))
	}
}

// worth is the record, unless it is about nothing: a check run that is cancelled decides nothing about a head, and when no
// judge was asked either, nothing has happened.
func (w *judging) worth(entry *record.Record) *record.Record {
	if entry.Conclusion == string(convergence.Cancelled) && len(entry.Lenses) == 0 {
		return nil
	}
	return entry
}

// finish ends the run with what is to be published, and records the evidence for it; a nil entry is none, for what decides
// nothing.
func (w *judging) finish(ctx context.Context, tx *store.Tx, pub *publish.Publication, judged bool, entry *record.Record) error {
	kept := result{Publication: pub, Case: w.id, Lenses: w.said, KeepDays: keepDays(w.policy())}
	if p := w.policy(); p != nil {
		kept.DismissAuthor = p.Dismiss.Author
	}
	if entry != nil {
		var err error
		if kept.Record, err = tx.AppendRecord(ctx, *entry); err != nil {
			return err
		}
		if entry.Kind == record.Guard && pub.Decision != "" {
			kept.Record = entry.Restates // what is shown again later is the decision, not that it was shown again
		}
	}
	stored, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("storing the result of run %d: %w", w.run.ID, err)
	}
	_, err = queue.Finish(ctx, w.a.queue, tx, w.run, store.Verdict{
		Conclusion: string(pub.Conclusion), Reason: pub.Title, Result: stored, Judged: judged,
	})
	return err
}

// standing is the decision that was published about this head before. It is covered when something neutral was since.
func (w *judging) standing(ctx context.Context) (earlier *result, covered, ok bool) {
	runs, err := w.a.store.RunsOfHead(ctx, w.run.RepoID, w.run.PR, w.run.Head)
	if err != nil {
		return nil, false, false
	}
	for _, r := range runs {
		if r.ID == w.run.ID || r.State != store.RunPublished || r.Result == nil {
			continue
		}
		res, err := resultOf(r)
		if err != nil || res.Publication == nil {
			continue
		}
		if res.Publication.Decision != "" {
			return res, covered, true
		}
		covered = covered || res.Publication.Conclusion == convergence.Neutral
	}
	return nil, false, false
}

func (w *judging) progress(ctx context.Context, title string) error {
	if err := w.begin(ctx, title); err != nil {
		return err
	}
	return w.a.publisher.Progress(ghclient.WithPurpose(ctx, ghclient.Publishing), targetOf(ctx, w.run), w.run.CheckRunID, title, "")
}

// waits is how long a case sleeps.
func (w *judging) waits(r convergence.Ruling) time.Duration {
	if r.Outcome == convergence.Parked {
		return parkedFor
	}
	if d := r.RetryAt.Sub(w.a.now()); d > 0 {
		return d
	}
	d := heldFirst
	for i := 1; i < w.run.Claim && d < heldMost; i++ {
		d *= 2
	}
	return min(d, heldMost)
}

func (w *judging) about() review.About {
	return review.About{
		Version: w.a.o.Version, BaseRef: w.file.BaseBranch, MergeBase: w.file.Base, PolicySource: w.file.PolicySource,
		SpecSource: "title, description and linked issues", StaticOnly: w.a.static, Ledger: true, Explain: true, Notes: w.file.Notes,
	}
}

// ended reports whether somebody else ended the run, so that a worker has nothing left to do.
func ended(err error) bool {
	var gone *store.NotLiveError
	return errors.As(err, &gone) || errors.Is(err, store.ErrNotFound)
}

// settle turns the errors of a step into what the queue does next.
func settle(err error) error {
	var retry *casefile.RetryableError
	switch {
	case err == nil || ended(err):
		return nil
	case errors.As(err, &retry) && retry.After > 0:
		return queue.Snooze(retry.After)
	}
	if at, ok := ghclient.RetryAt(err); ok {
		return queue.Snooze(max(time.Second, time.Until(at)))
	}
	return err
}
