package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Started is what became of a request for a run.
type Started struct {
	Run Run
	// Created says that the run is new: its judge job is to be enqueued. Otherwise the request has joined a live run.
	Created bool
	// Poked says that a live run was told of news: its job is to be woken if it sleeps.
	Poked bool
	// Refused says why there is no run for the request; then all else is empty.
	Refused string
	// Superseded are the live runs of older heads that the request has ended: their jobs are to be cancelled, and the check
	// runs of those that had begun are to be concluded.
	Superseded []Run
}

// StartRun records a request for a run. Package queue's Submit does so and does with the jobs what follows; use that.
//
// A live run of the same head is joined. News that reach it while it is judging, and that it may have read past, become a
// run of their own when it is finished. Live runs of other heads of the pull request are superseded. When none of the head is
// live, a run of the next generation is created. A request for a head that is not the newest one known, or for a pull request
// that is closed, is refused, and so are edits of title or body beyond the one that exceeds MaxEdits, whose run says so.
func (x *Tx) StartRun(ctx context.Context, req RunRequest) (Started, error) {
	doing := func(err error) error {
		return fmt.Errorf("starting a run of %s/%s#%d at %s: %w", req.Owner, req.Repo, req.PR, req.Head, err)
	}
	if req.RepoID == 0 || req.Installation == 0 || req.Head == "" || req.Cause.rank() == 0 || (req.PR == 0) != (req.Cause == CauseMergeGroup) {
		return Started{}, doing(errors.New("the request lacks its repository, installation, head or cause"))
	}
	refused, live, err := x.admit(ctx, req)
	if err != nil {
		return Started{}, doing(err)
	}
	if refused != "" {
		return Started{Refused: refused}, nil
	}
	if done, ok, err := x.answered(ctx, req); err != nil || ok {
		return Started{Run: done}, err
	}
	var out Started
	var same *Run
	for _, r := range live {
		if r.Head == req.Head {
			same = &r
			continue
		}
		r.State, r.SupersededBy, r.Reason = RunSuperseded, req.Head, "superseded by "+req.Head
		if err := x.end(ctx, &r); err != nil {
			return Started{}, doing(err)
		}
		out.Superseded = append(out.Superseded, r)
	}
	if same != nil {
		out.Run = *same
		out.Poked, err = x.join(ctx, &out.Run, req)
	} else {
		out.Created = true
		out.Run, err = x.create(ctx, req)
	}
	if err != nil {
		return Started{}, doing(err)
	}
	return out, nil
}

// admit locks what the request is about, says why it is refused, if it is, and returns the live runs.
func (x *Tx) admit(ctx context.Context, req RunRequest) (refused string, live []Run, err error) {
	if err := x.lock(ctx, req.RepoID); err != nil {
		return "", nil, err
	}
	if req.PR == 0 {
		// The heads of merge groups stand side by side; none supersedes another.
		live, err = x.s.runs(ctx, x.tx, `repo_id = ? AND pr = 0 AND head = ? AND state IN `+liveStates, req.RepoID, req.Head)
		return "", live, err
	}
	p, err := x.Pull(ctx, req.RepoID, req.PR)
	switch {
	case errors.Is(err, ErrNotFound): // nobody has told us about it yet, so nothing speaks against the request
	case err != nil:
		return "", nil, err
	case p.State != PullOpen:
		return "the pull request is " + string(p.State), nil, nil
	case p.Head != req.Head:
		return "the head is " + p.Head + " by now", nil, nil
	}
	live, err = x.s.runs(ctx, x.tx, `repo_id = ? AND pr = ? AND state IN `+liveStates+` ORDER BY id`, req.RepoID, req.PR)
	if err != nil || req.Cause != CauseEdit {
		return "", live, err
	}
	n, err := x.CountRuns(ctx, req.RepoID, req.PR, req.Head, CauseEdit)
	if err != nil {
		return "", nil, err
	}
	if n > MaxEdits {
		return fmt.Sprintf("title and body were edited more than %d times on this head; push, or ask with /prosecute", MaxEdits), nil, nil
	}
	return "", live, nil
}

// answered finds the run that has answered all deliveries of a request already: one of them came again before the others'
// work was done, or before the run's result was published.
func (x *Tx) answered(ctx context.Context, req RunRequest) (Run, bool, error) {
	var run Run
	for _, d := range req.Deliveries {
		list, err := x.s.runs(ctx, x.tx, `id IN (SELECT run_id FROM run_deliveries WHERE delivery_id = ?) AND repo_id = ? AND pr = ? AND head = ? AND state <> 'failed' ORDER BY id DESC LIMIT 1`,
			d, req.RepoID, req.PR, req.Head)
		if err != nil {
			return Run{}, false, err
		}
		if len(list) == 0 || list[0].State.Live() {
			return Run{}, false, nil
		}
		run = list[0]
	}
	return run, run.ID != 0, nil
}

func (x *Tx) create(ctx context.Context, req RunRequest) (Run, error) {
	sender, err := json.Marshal(req.Sender)
	if err != nil {
		return Run{}, err
	}
	options, err := json.Marshal(req.Options)
	if err != nil {
		return Run{}, err
	}
	var id int64
	err = x.row(ctx, `INSERT INTO runs (installation_id, repo_id, owner, repo, pr, group_ref, head, base, generation, cause, event, sender, options, state, reason, superseded_by,
			claim, pokes, seen, followup, check_run_id, conclusion, result, published, judge_job, publish_job, created_at, begun_at, ended_at, published_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(generation), 0) + 1 FROM runs WHERE repo_id = ? AND pr = ? AND head = ?), ?, ?, ?, ?, 'queued', '', '',
			0, 0, 0, '', 0, '', '', '', 0, 0, ?, 0, 0, 0) RETURNING id`,
		req.Installation, req.RepoID, req.Owner, req.Repo, req.PR, req.GroupRef, req.Head, req.Base, req.RepoID, req.PR, req.Head,
		string(req.Cause), string(req.Event), string(sender), string(options), millis(x.Now())).Scan(&id)
	if err != nil {
		return Run{}, err
	}
	for _, d := range req.Deliveries {
		if _, err := x.link(ctx, id, d); err != nil {
			return Run{}, err
		}
	}
	return x.Run(ctx, id)
}

// link records that a delivery is done when the run is. It reports whether that is news.
func (x *Tx) link(ctx context.Context, run, delivery int64) (bool, error) {
	n, err := x.exec(ctx, `INSERT INTO run_deliveries (run_id, delivery_id) VALUES (?, ?) ON CONFLICT DO NOTHING`, run, delivery)
	return n > 0, err
}

// join adds a request to a live run.
func (x *Tx) join(ctx context.Context, r *Run, req RunRequest) (poked bool, err error) {
	fresh := len(req.Deliveries) == 0
	for _, d := range req.Deliveries {
		linked, err := x.link(ctx, r.ID, d)
		if err != nil {
			return false, err
		}
		fresh = fresh || linked
	}
	// A redelivery of what the run was told already is no news.
	if !fresh || !req.Cause.news() {
		return false, nil
	}
	r.Pokes++
	if r.State == RunJudging {
		r.followup = merge(r.followup, req)
	} else {
		r.absorb(req)
	}
	return true, x.save(ctx, r)
}

// absorb makes a run that will read everything anew answer a request too.
func (r *Run) absorb(req RunRequest) {
	if req.Cause.rank() > r.Cause.rank() {
		r.Cause, r.Event, r.Sender = req.Cause, req.Event, req.Sender
	}
	if req.Options.Lens != "" {
		r.Options.Lens = req.Options.Lens
	}
	r.Options.Dry = max(r.Options.Dry, req.Options.Dry)
	if req.Base != "" {
		r.Base = req.Base
	}
}

// merge makes one request of two.
func merge(old *RunRequest, req RunRequest) *RunRequest {
	if old == nil {
		return &req
	}
	low, high := *old, req
	if low.Cause.rank() > high.Cause.rank() {
		low, high = high, low
	}
	if high.Options.Lens == "" {
		high.Options.Lens = low.Options.Lens
	}
	high.Options.Dry = max(high.Options.Dry, low.Options.Dry)
	high.Deliveries = append(slices.Clone(high.Deliveries), low.Deliveries...)
	high.Base = req.Base
	return &high
}

// save writes what changes about a run.
func (x *Tx) save(ctx context.Context, r *Run) error {
	sender, err := json.Marshal(r.Sender)
	if err != nil {
		return err
	}
	options, err := json.Marshal(r.Options)
	if err != nil {
		return err
	}
	var followup []byte
	if r.followup != nil {
		if followup, err = json.Marshal(r.followup); err != nil {
			return err
		}
	}
	_, err = x.exec(ctx, `UPDATE runs SET base = ?, cause = ?, event = ?, sender = ?, options = ?, state = ?, reason = ?, superseded_by = ?, claim = ?, pokes = ?, seen = ?, followup = ?,
			check_run_id = ?, conclusion = ?, result = ?, published = ?, judge_job = ?, publish_job = ?, begun_at = ?, ended_at = ?, published_at = ? WHERE id = ?`,
		r.Base, string(r.Cause), string(r.Event), string(sender), string(options), string(r.State), r.Reason, r.SupersededBy, r.Claim, r.Pokes, r.Seen, string(followup),
		r.CheckRunID, r.Conclusion, string(r.Result), string(r.Published), r.JudgeJob, r.PublishJob, millis(r.BegunAt), millis(r.EndedAt), millis(r.PublishedAt), r.ID)
	return err
}

// end saves a run that has stopped being live.
func (x *Tx) end(ctx context.Context, r *Run) error {
	r.followup = nil
	r.EndedAt = x.stamp()
	// A run that has not begun has no check run, and one that was skipped needs none. A failure is always to be told.
	if r.BegunAt.IsZero() && r.State != RunFailed || r.State == RunSkipped {
		r.PublishedAt = r.EndedAt
	}
	if err := x.save(ctx, r); err != nil {
		return err
	}
	switch r.State {
	case RunFailed:
		return x.settle(ctx, r.ID, Failed, r.Reason)
	case RunJudged:
		return nil // the deliveries are done when it is published
	default:
		return x.settle(ctx, r.ID, Done, "")
	}
}

// settle records the outcome of the deliveries of a run that no other run is still at.
func (x *Tx) settle(ctx context.Context, run int64, state DeliveryState, reason string) error {
	_, err := x.exec(ctx, `UPDATE deliveries SET state = ?, reason = ?, finished_at = ? WHERE state = 'enqueued'
		AND id IN (SELECT delivery_id FROM run_deliveries WHERE run_id = ?)
		AND NOT EXISTS (SELECT 1 FROM run_deliveries d JOIN runs r ON r.id = d.run_id WHERE d.delivery_id = deliveries.id AND r.id <> ? AND r.state IN ('queued', 'judging', 'waiting', 'judged'))`,
		string(state), reason, millis(x.Now()), run, run)
	return err
}

// held reads a run and keeps other transactions from it.
func (x *Tx) held(ctx context.Context, id int64) (Run, error) {
	r, err := x.Run(ctx, id)
	if err != nil {
		return Run{}, err
	}
	if err := x.lock(ctx, r.RepoID); err != nil {
		return Run{}, err
	}
	return x.Run(ctx, id) // as it is now that nobody else can change it
}

// claimed is held for a worker that has begun the run.
func (x *Tx) claimed(ctx context.Context, run Run) (Run, error) {
	r, err := x.held(ctx, run.ID)
	if err != nil {
		return Run{}, err
	}
	if !r.State.Live() || r.Claim != run.Claim {
		return Run{}, &NotLiveError{Run: r}
	}
	return r, nil
}

// BeginRun records that a worker begins a run, or begins it again: after a wait, an error or a crash. What the worker reads
// afterwards is newer than all that the run was told before. The run that it returns is the worker's claim for WaitRun,
// FinishRun and SkipRun; whoever held an older one is too late. The error is *NotLiveError when the run has ended.
func (x *Tx) BeginRun(ctx context.Context, id int64) (Run, error) {
	r, err := x.held(ctx, id)
	if err != nil {
		return Run{}, fmt.Errorf("beginning run %d: %w", id, err)
	}
	if !r.State.Live() {
		return Run{}, &NotLiveError{Run: r}
	}
	if r.followup != nil {
		r.absorb(*r.followup)
		r.followup = nil
	}
	r.State, r.Reason, r.Seen = RunJudging, "", r.Pokes
	r.Claim++
	if r.BegunAt.IsZero() {
		r.BegunAt = x.stamp()
	}
	if err := x.save(ctx, &r); err != nil {
		return Run{}, fmt.Errorf("beginning run %d: %w", id, err)
	}
	return r, nil
}

// WaitRun records that a run waits for something, before its job is put to sleep. again says that news have come since the
// run began: what it waits for may be there, so the job must not sleep but begin again. The error is *NotLiveError when the
// run is not the worker's any more.
func (x *Tx) WaitRun(ctx context.Context, run Run, reason string) (again bool, err error) {
	r, err := x.claimed(ctx, run)
	if err != nil {
		return false, wrap("putting run %d to sleep", run.ID, err)
	}
	r.State, r.Reason = RunWaiting, reason
	if again = r.Pokes > r.Seen; again {
		r.State, r.Reason = RunQueued, ""
	}
	return again, wrap("putting run %d to sleep", run.ID, x.save(ctx, &r))
}

// Verdict is what a worker found.
type Verdict struct {
	Conclusion string          // of the check run, in GitHub's words
	Reason     string          // in a few words
	Result     json.RawMessage // all that publishing needs
	// Judged says that the judges or the evidence have decided. A person who asked for a plain run while that went on has the
	// answer then.
	Judged bool
}

// Finished is a finished run.
type Finished struct {
	Run Run
	// Followup asks for a run about the news that came while this one was judging; nil when there were none. Its deliveries
	// are done with that run.
	Followup *RunRequest
}

// FinishRun records what a worker found. Package queue's Finish does so and enqueues what follows; use that. The error is
// *NotLiveError when the run is not the worker's any more.
func (x *Tx) FinishRun(ctx context.Context, run Run, v Verdict) (Finished, error) {
	return x.finish(ctx, run, RunJudged, v)
}

// SkipRun records that a run has nothing to publish: its case is decided already, or is none. Package queue's Skip does so
// and enqueues what follows; use that. The error is *NotLiveError when the run is not the worker's any more.
func (x *Tx) SkipRun(ctx context.Context, run Run, reason string) (Finished, error) {
	return x.finish(ctx, run, RunSkipped, Verdict{Reason: reason})
}

func (x *Tx) finish(ctx context.Context, run Run, state RunState, v Verdict) (Finished, error) {
	r, err := x.claimed(ctx, run)
	if err != nil {
		return Finished{}, wrap("finishing run %d", run.ID, err)
	}
	followup := r.followup
	if followup != nil && v.Judged && followup.Cause == CauseRerun && followup.Options == (Options{}) {
		followup = nil
	}
	if followup != nil {
		// They are done with the next run, not with this one.
		for _, d := range followup.Deliveries {
			if _, err := x.exec(ctx, `DELETE FROM run_deliveries WHERE run_id = ? AND delivery_id = ?`, r.ID, d); err != nil {
				return Finished{}, wrap("finishing run %d", run.ID, err)
			}
		}
	}
	r.State, r.Conclusion, r.Reason, r.Result = state, v.Conclusion, v.Reason, v.Result
	if err := x.end(ctx, &r); err != nil {
		return Finished{}, wrap("finishing run %d", run.ID, err)
	}
	return Finished{Run: r, Followup: followup}, nil
}

// FailRun records that a run was given up, whoever was at it. Its deliveries have failed, so a redelivery starts anew. The
// error is *NotLiveError when the run has ended already.
func (x *Tx) FailRun(ctx context.Context, id int64, reason string) (Run, error) {
	r, err := x.held(ctx, id)
	if err != nil {
		return Run{}, wrap("giving up run %d", id, err)
	}
	if !r.State.Live() {
		return Run{}, &NotLiveError{Run: r}
	}
	r.State, r.Reason = RunFailed, reason
	return r, wrap("giving up run %d", id, x.end(ctx, &r))
}

// SetCheckRun records the check run that a worker has made, in whatever state the run is by then, and returns the run. When
// it has ended meanwhile, its check run is to be concluded: package queue's SetCheckRun sees to that; use that.
func (x *Tx) SetCheckRun(ctx context.Context, id, checkRunID int64) (Run, error) {
	r, err := x.held(ctx, id)
	if err != nil {
		return Run{}, wrap("recording the check run of run %d", id, err)
	}
	if r.CheckRunID != checkRunID && !r.State.Live() && r.State != RunJudged {
		r.PublishedAt = moment(0)
	}
	r.CheckRunID = checkRunID
	return r, wrap("recording the check run of run %d", id, x.save(ctx, &r))
}

// PublishRun records that the check run of a run is concluded, or that there is none to conclude. published is what was
// published, for whoever publishes again. It is an error to say that there is none when a worker has made one meanwhile: that
// one is to be concluded, so the caller tries again.
func (x *Tx) PublishRun(ctx context.Context, id, checkRunID int64, conclusion string, published json.RawMessage) (Run, error) {
	const doing = "recording that run %d is published"
	r, err := x.held(ctx, id)
	if err != nil {
		return Run{}, wrap(doing, id, err)
	}
	if r.State.Live() {
		return Run{}, wrap(doing, id, errors.New("it is still being judged"))
	}
	if checkRunID == 0 && r.CheckRunID != 0 {
		return Run{}, wrap(doing, id, fmt.Errorf("check run %d was made meanwhile", r.CheckRunID))
	}
	if checkRunID != 0 {
		r.CheckRunID = checkRunID
	}
	if conclusion != "" {
		r.Conclusion = conclusion
	}
	if published != nil {
		r.Published = published
	}
	r.PublishedAt = x.stamp()
	wasJudged := r.State == RunJudged
	if wasJudged {
		r.State = RunPublished
	}
	if err := x.save(ctx, &r); err != nil {
		return Run{}, wrap(doing, id, err)
	}
	if wasJudged {
		err = x.settle(ctx, id, Done, "")
	}
	return r, wrap(doing, id, err)
}

// Rehome gives a run the installation that its repository has now, which is another one when the App was installed again, and
// returns the run.
func (x *Tx) Rehome(ctx context.Context, id int64) (Run, error) {
	_, err := x.exec(ctx, `UPDATE runs SET installation_id = coalesce((SELECT installation_id FROM repositories WHERE repositories.id = runs.repo_id), installation_id) WHERE id = ?`, id)
	if err != nil {
		return Run{}, wrap("looking up the installation of run %d", id, err)
	}
	return x.Run(ctx, id)
}

// SetJudgeJob records the judge job of a run.
func (x *Tx) SetJudgeJob(ctx context.Context, id, job int64) error {
	_, err := x.exec(ctx, `UPDATE runs SET judge_job = ? WHERE id = ?`, job, id)
	return wrap("recording the judge job of run %d", id, err)
}

// SetPublishJob records the publish job of a run.
func (x *Tx) SetPublishJob(ctx context.Context, id, job int64) error {
	_, err := x.exec(ctx, `UPDATE runs SET publish_job = ? WHERE id = ?`, job, id)
	return wrap("recording the publish job of run %d", id, err)
}

// CancelPull ends the live runs of a pull request and returns them as they are then. Package queue's Cancel does so and does
// with the jobs what follows; use that.
func (x *Tx) CancelPull(ctx context.Context, repoID int64, pr int, reason string) ([]Run, error) {
	if err := x.lock(ctx, repoID); err != nil {
		return nil, wrap("cancelling the runs of pull request %d", int64(pr), err)
	}
	return x.cancel(ctx, reason, `repo_id = ? AND pr = ? AND pr <> 0 AND state IN `+liveStates+` ORDER BY id`, repoID, pr)
}

// CancelGroup ends the live runs of a merge group and returns them as they are then.
func (x *Tx) CancelGroup(ctx context.Context, repoID int64, head, reason string) ([]Run, error) {
	if err := x.lock(ctx, repoID); err != nil {
		return nil, wrap("cancelling the runs of a merge group of repository %d", repoID, err)
	}
	return x.cancel(ctx, reason, `repo_id = ? AND pr = 0 AND head = ? AND state IN `+liveStates+` ORDER BY id`, repoID, head)
}

// CancelInstallation ends all live runs of an installation that we may not act for any more, and returns them as they are
// then, with those that are to be published. Nothing can be for now; they stay so, since we may be let in again, and the check
// runs that stand in progress are ours to conclude. Package queue's Abandoned does with the jobs what follows.
func (x *Tx) CancelInstallation(ctx context.Context, installation int64, reason string) ([]Run, error) {
	return x.abandon(ctx, reason, `installation_id = ? AND (state IN `+liveStates+` OR published_at = 0) ORDER BY repo_id, pr, id`, installation)
}

// CancelRepository is CancelInstallation for one repository.
func (x *Tx) CancelRepository(ctx context.Context, repoID int64, reason string) ([]Run, error) {
	return x.abandon(ctx, reason, `repo_id = ? AND (state IN `+liveStates+` OR published_at = 0) ORDER BY repo_id, pr, id`, repoID)
}

func (x *Tx) cancel(ctx context.Context, reason, where string, args ...any) ([]Run, error) {
	live, err := x.s.runs(ctx, x.tx, where, args...)
	if err != nil {
		return nil, err
	}
	for i := range live {
		live[i].State, live[i].Reason = RunCancelled, reason
		if err := x.end(ctx, &live[i]); err != nil {
			return nil, wrap("cancelling run %d", live[i].ID, err)
		}
	}
	return live, nil
}

// abandon is cancel for runs whose check runs cannot be reached. A verdict that nobody has seen yet is kept.
func (x *Tx) abandon(ctx context.Context, reason, where string, args ...any) ([]Run, error) {
	list, err := x.s.runs(ctx, x.tx, where, args...)
	if err != nil {
		return nil, err
	}
	out := make([]Run, 0, len(list))
	for _, r := range list {
		if r, err = x.held(ctx, r.ID); err != nil {
			return nil, wrap("abandoning run %d", r.ID, err)
		}
		if r.State.Live() {
			r.State, r.Reason = RunCancelled, reason
			if err := x.end(ctx, &r); err != nil {
				return nil, wrap("abandoning run %d", r.ID, err)
			}
		}
		if err := x.settle(ctx, r.ID, Done, ""); err != nil {
			return nil, wrap("abandoning run %d", r.ID, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// wrap says what was being done, unless the error is none or says by its type what to do.
func wrap(doing string, id int64, err error) error {
	var late *NotLiveError
	if err == nil || errors.As(err, &late) {
		return err
	}
	return fmt.Errorf(doing+": %w", id, err)
}
