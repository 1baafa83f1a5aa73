package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// MaxEdits is how many runs an edited title or body may cause on one head. An edit is a new case that costs a judging and
// no push, so without a bound it could be asked for endlessly. One more run is started, to say that the text as it is now was
// not judged: what was decided was about another one.
const MaxEdits = 5

// RunState is where a run is.
type RunState string

// The states of a run. The first three are live: a judge job is at the run, and events about its head join it. All others
// but Judged are ends.
const (
	RunQueued     RunState = "queued"     // its job has not begun
	RunJudging    RunState = "judging"    // its job has begun
	RunWaiting    RunState = "waiting"    // its job sleeps: for evidence, for a judge, for a rate limit
	RunJudged     RunState = "judged"     // its result is stored, and is to be published
	RunPublished  RunState = "published"  // its check run is concluded
	RunSkipped    RunState = "skipped"    // there was nothing to decide or to publish
	RunSuperseded RunState = "superseded" // a newer head came
	RunCancelled  RunState = "cancelled"  // its pull request was closed or made a draft, or we may not act for it any more
	RunFailed     RunState = "failed"     // it was given up
)

// Live reports whether a judge job is at the run.
func (s RunState) Live() bool { return s == RunQueued || s == RunJudging || s == RunWaiting }

const liveStates = `('queued', 'judging', 'waiting')`

// Cause is the kind of event that a run is for.
type Cause string

// The causes.
const (
	CauseEvidence   Cause = "evidence"   // a check, a status or an alert changed
	CauseBase       Cause = "base"       // the base branch moved
	CauseReconcile  Cause = "reconcile"  // a sweep found a head without a check run
	CauseEdit       Cause = "edit"       // title or body were edited; bounded by MaxEdits
	CausePush       Cause = "push"       // a head that was not seen before
	CauseReady      Cause = "ready"      // a draft became ready, or the base branch was exchanged for another one
	CauseSwitch     Cause = "switch"     // the kill switch was touched
	CauseRerun      Cause = "rerun"      // a person asked
	CauseMergeGroup Cause = "mergegroup" // the merge queue asked
)

// rank orders causes by how much they ask for. When two meet in one run, the higher one's event is the run's.
func (c Cause) rank() int {
	switch c {
	case CauseEvidence, CauseBase, CauseReconcile:
		return 1
	case CauseEdit:
		return 2
	case CausePush, CauseMergeGroup:
		return 3
	case CauseReady:
		return 4
	case CauseSwitch:
		return 5
	case CauseRerun:
		return 6
	default:
		return 0
	}
}

// news reports whether the cause says that something has changed that a run under way may have read before. A head that is
// pushed or found again is the head the run has.
func (c Cause) news() bool { return c != CausePush && c != CauseReconcile && c != CauseMergeGroup }

// Options are what a person asked for.
type Options struct {
	Lens prosecutor.Lens `json:"lens,omitempty"` // judge this lens again, and those without a verdict
	Dry  int             `json:"dry,omitempty"`  // dry passes; they only raise the policy's
}

// RunRequest asks for a run.
type RunRequest struct {
	Installation int64              `json:"installation"`
	RepoID       int64              `json:"repo_id"`
	Owner        string             `json:"owner"`
	Repo         string             `json:"repo"`
	PR           int                `json:"pr,omitempty"`        // 0 for a merge group
	GroupRef     string             `json:"group_ref,omitempty"` // the branch of a merge group
	Head         string             `json:"head"`
	Base         string             `json:"base,omitempty"`
	Cause        Cause              `json:"cause"`
	Event        convergence.Event  `json:"event"`
	Sender       convergence.Sender `json:"sender"`
	Options      Options            `json:"options"`
	// Deliveries are the deliveries that ask for it; they are done when the run is.
	Deliveries []int64 `json:"deliveries,omitempty"`
	// Delay is how long a new run waits for more of the same, such as the other checks of a suite.
	Delay time.Duration `json:"delay,omitempty"`
}

// Run is one judging of one head. Its identity is repository, pull request, head and generation.
type Run struct {
	ID           int64
	Installation int64
	RepoID       int64
	Owner        string
	Repo         string
	PR           int    // 0 for a merge group
	GroupRef     string // the branch of a merge group
	Head         string
	Base         string
	Generation   int // of the head, from 1; every run of a head has one more than the last one
	Cause        Cause
	Event        convergence.Event
	Sender       convergence.Sender
	Options      Options
	State        RunState
	Reason       string // what it waits for, or why it ended
	SupersededBy string // the newer head
	Claim        int    // counts the beginnings; who writes with an old one is too late
	Pokes        int    // counts what happened since the run was created
	Seen         int    // the pokes when it last began
	CheckRunID   int64  // 0 until there is one
	Conclusion   string
	Result       json.RawMessage // of the judging; nil until then
	Published    json.RawMessage // what was published; nil until then
	JudgeJob     int64
	PublishJob   int64
	CreatedAt    time.Time
	BegunAt      time.Time // when it first began; the zero time when it has not
	EndedAt      time.Time // when it stopped being live
	PublishedAt  time.Time // when its check run was concluded, or it was clear that there is none

	followup *RunRequest // what came while it was judging
}

// IsGroup reports whether the run is about a merge group.
func (r Run) IsGroup() bool { return r.PR == 0 }

// LedgerKey names the ledger of the run's pull request, or of its merge group.
func (r Run) LedgerKey() convergence.Key {
	key := LedgerKey(r.RepoID, r.PR)
	if r.IsGroup() {
		key.Change = "merge_group/" + r.Head
	}
	return key
}

// NotLiveError says that a run has ended, or was begun anew by another worker, so that what a worker wanted to write about
// it comes too late. The worker has to stop; it is no failure.
type NotLiveError struct{ Run Run }

// Error implements error.
func (e *NotLiveError) Error() string {
	if e.Run.State.Live() {
		return fmt.Sprintf("run %d was begun again by another worker", e.Run.ID)
	}
	return fmt.Sprintf("run %d is %s", e.Run.ID, e.Run.State)
}

const runColumns = `id, installation_id, repo_id, owner, repo, pr, group_ref, head, base, generation, cause, event, sender, options, state, reason, superseded_by,
	claim, pokes, seen, followup, check_run_id, conclusion, result, published, judge_job, publish_job, created_at, begun_at, ended_at, published_at`

func scanRun(rows *sql.Rows) (Run, error) {
	var r Run
	var sender, options, followup, result, published string
	var created, begun, ended, publishedAt int64
	err := rows.Scan(&r.ID, &r.Installation, &r.RepoID, &r.Owner, &r.Repo, &r.PR, &r.GroupRef, &r.Head, &r.Base, &r.Generation, &r.Cause, &r.Event, &sender, &options,
		&r.State, &r.Reason, &r.SupersededBy, &r.Claim, &r.Pokes, &r.Seen, &followup, &r.CheckRunID, &r.Conclusion, &result, &published, &r.JudgeJob, &r.PublishJob,
		&created, &begun, &ended, &publishedAt)
	if err != nil {
		return Run{}, err
	}
	if err := errors.Join(json.Unmarshal([]byte(sender), &r.Sender), json.Unmarshal([]byte(options), &r.Options)); err != nil {
		return Run{}, fmt.Errorf("run %d cannot be read: %w", r.ID, err)
	}
	if followup != "" {
		if err := json.Unmarshal([]byte(followup), &r.followup); err != nil {
			return Run{}, fmt.Errorf("run %d cannot be read: %w", r.ID, err)
		}
	}
	if result != "" {
		r.Result = json.RawMessage(result)
	}
	if published != "" {
		r.Published = json.RawMessage(published)
	}
	r.CreatedAt, r.BegunAt, r.EndedAt, r.PublishedAt = moment(created), moment(begun), moment(ended), moment(publishedAt)
	return r, nil
}

func (s *Store) runs(ctx context.Context, q querier, where string, args ...any) ([]Run, error) {
	list, err := collect(ctx, s, q, scanRun, `SELECT `+runColumns+` FROM runs WHERE `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("reading runs: %w", err)
	}
	return list, nil
}

func (s *Store) run(ctx context.Context, q querier, id int64) (Run, error) {
	list, err := s.runs(ctx, q, `id = ?`, id)
	if err != nil {
		return Run{}, err
	}
	if len(list) == 0 {
		return Run{}, fmt.Errorf("run %d: %w", id, ErrNotFound)
	}
	return list[0], nil
}

// Run returns a run; the error is ErrNotFound when there is none.
func (s *Store) Run(ctx context.Context, id int64) (Run, error) { return s.run(ctx, s.reader, id) }

// Run returns a run as the transaction sees it; the error is ErrNotFound when there is none.
func (x *Tx) Run(ctx context.Context, id int64) (Run, error) { return x.s.run(ctx, x.tx, id) }

// LiveRuns returns all live runs, oldest first.
func (s *Store) LiveRuns(ctx context.Context) ([]Run, error) {
	return s.runs(ctx, s.reader, `state IN `+liveStates+` ORDER BY id`)
}

// RunsOfPull returns the runs of a pull request, newest first, at most limit.
func (s *Store) RunsOfPull(ctx context.Context, repoID int64, pr, limit int) ([]Run, error) {
	return s.runs(ctx, s.reader, `repo_id = ? AND pr = ? ORDER BY id DESC LIMIT ?`, repoID, pr, limit)
}

// RecentRuns returns the newest runs, newest first, at most limit.
func (s *Store) RecentRuns(ctx context.Context, limit int) ([]Run, error) {
	return s.runs(ctx, s.reader, `id > 0 ORDER BY id DESC LIMIT ?`, limit)
}

// RunsOfHead returns the runs of a head of a pull request, newest first.
func (x *Tx) RunsOfHead(ctx context.Context, repoID int64, pr int, head string) ([]Run, error) {
	return x.s.runs(ctx, x.tx, `repo_id = ? AND pr = ? AND head = ? ORDER BY generation DESC`, repoID, pr, head)
}

// RunsOfHead returns the runs of a head of a pull request, newest first.
func (s *Store) RunsOfHead(ctx context.Context, repoID int64, pr int, head string) ([]Run, error) {
	return s.runs(ctx, s.reader, `repo_id = ? AND pr = ? AND head = ? ORDER BY generation DESC`, repoID, pr, head)
}

// RunByCheckRun returns the run that made a check run; the error is ErrNotFound when none of ours did. This is how a re-run
// finds its pull request without asking GitHub, also when that comes from a fork.
func (x *Tx) RunByCheckRun(ctx context.Context, repoID, checkRunID int64) (Run, error) {
	list, err := x.s.runs(ctx, x.tx, `repo_id = ? AND check_run_id = ? AND check_run_id <> 0`, repoID, checkRunID)
	if err != nil {
		return Run{}, err
	}
	if len(list) == 0 {
		return Run{}, fmt.Errorf("the run of check run %d: %w", checkRunID, ErrNotFound)
	}
	return list[0], nil
}

// CountRuns counts the runs of a head of a pull request that a cause has led to, for caps.
func (x *Tx) CountRuns(ctx context.Context, repoID int64, pr int, head string, cause Cause) (int, error) {
	var n int
	err := x.row(ctx, `SELECT count(*) FROM runs WHERE repo_id = ? AND pr = ? AND head = ? AND cause = ?`, repoID, pr, head, string(cause)).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("counting runs: %w", err)
	}
	return n, nil
}

// OutOfReach is a query for the ids of the repositories that we may not act for: they were taken out of their installation, or
// that is suspended or gone.
const OutOfReach = `SELECT p.id FROM repositories p LEFT JOIN installations i ON i.id = p.installation_id WHERE p.removed OR i.state <> 'active'`

// UnpublishedRuns returns the runs that are no longer live and whose check run may not be concluded, oldest first, but those out
// of reach. A publish job should be at each.
func (s *Store) UnpublishedRuns(ctx context.Context) ([]Run, error) {
	return s.runs(ctx, s.reader, `state NOT IN `+liveStates+` AND published_at = 0 AND repo_id NOT IN (`+OutOfReach+`) ORDER BY id`)
}

// CountRunsByState counts the runs.
func (s *Store) CountRunsByState(ctx context.Context) (map[RunState]int, error) {
	type count struct {
		state RunState
		n     int
	}
	list, err := collect(ctx, s, s.reader, func(rows *sql.Rows) (count, error) {
		var c count
		err := rows.Scan(&c.state, &c.n)
		return c, err
	}, `SELECT state, count(*) FROM runs GROUP BY state`)
	if err != nil {
		return nil, fmt.Errorf("counting runs: %w", err)
	}
	out := make(map[RunState]int, len(list))
	for _, c := range list {
		out[c.state] = c.n
	}
	return out, nil
}
