package webhook

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/app/store/storetest"
	"github.com/prosecutor-bot/prosecutor/convergence"
)

// finder answers what it is told to, and records what it is asked.
type finder struct {
	pulls []store.Pull
	err   error
	asked []string
}

func (f *finder) answer(r store.Repository, what string) ([]store.Pull, error) {
	f.asked = append(f.asked, r.Owner+"/"+r.Name+" "+what)
	return f.pulls, f.err
}

func (f *finder) PullsByCommit(_ context.Context, r store.Repository, sha string) ([]store.Pull, error) {
	return f.answer(r, "commit "+sha)
}

func (f *finder) PullsByBase(_ context.Context, r store.Repository, branch string) ([]store.Pull, error) {
	return f.answer(r, "base "+branch)
}

func (f *finder) PullByNumber(_ context.Context, r store.Repository, number int) ([]store.Pull, error) {
	return f.answer(r, "number "+string(rune('0'+number)))
}

func open(number int, head string) store.Pull {
	return store.Pull{RepoID: repoID, Number: number, Head: head, Base: "b", BaseRef: "master", State: store.PullOpen, UpdatedAt: updated.Add(time.Minute)}
}

// resolve works on the resolve jobs until they have succeeded once.
func (e *env) resolve(f *finder) error {
	e.t.Helper()
	q, err := queue.New(e.t.Context(), e.st, queue.Options{Poll: 20 * time.Millisecond, Heartbeat: 50 * time.Millisecond, RetryAfter: func(int) time.Duration { return time.Hour }})
	if err != nil {
		e.t.Fatal(err)
	}
	results := make(chan error, 10)
	work := NewResolver(e.st, q, f)
	block := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	q.Handle(queue.Workers{
		Judge:   func(ctx context.Context, _ queue.JudgeArgs) error { return block(ctx) },
		Publish: func(ctx context.Context, _ queue.PublishArgs) error { return block(ctx) },
		Command: func(ctx context.Context, _ queue.CommandArgs) error { return block(ctx) },
		Explain: func(ctx context.Context, _ queue.ExplainArgs) error { return block(ctx) },
		Measure: func(ctx context.Context, _ queue.MeasureArgs) error { return block(ctx) },
		Resolve: func(ctx context.Context, job queue.ResolveArgs) error {
			err := work(ctx, job)
			results <- err
			return err
		},
	})
	if _, err := e.st.DB().ExecContext(e.t.Context(), `UPDATE river_job SET state = 'available', scheduled_at = created_at WHERE kind = 'resolve'`); err != nil {
		e.t.Fatal(err)
	}
	if err := q.Start(e.t.Context()); err != nil {
		e.t.Fatal(err)
	}
	var result error
	select {
	case result = <-results:
	case <-time.After(time.Minute):
		e.t.Error("no resolve job was done")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// The judge jobs that follow are handed back.
	if _, err := e.st.DB().ExecContext(ctx, `UPDATE river_job SET state = 'cancelled', finalized_at = created_at WHERE kind = 'judge' AND state = 'available'`); err != nil {
		e.t.Fatal(err)
	}
	if err := q.Stop(ctx); err != nil {
		e.t.Error(err)
	}
	return result
}

func TestResolve(t *testing.T) {
	each(t, func(t *testing.T, d storetest.Database) {
		fork := []set{{"check_run.pull_requests", []any{}}, {"check_run.check_suite.pull_requests", []any{}}, {"check_run.check_suite.head_branch", nil}}
		t.Run("two checks of a fork", func(t *testing.T) {
			e := newEnv(t, d)
			first := e.want("check_run", payload(t, "check_run", fork...), enqueued, "looked up")
			second := e.want("check_run", payload(t, "check_run", append(fork, set{"check_run.id", 8})...), enqueued, "looked up")
			e.wantJobs("resolve scheduled") // one question for both
			f := &finder{pulls: []store.Pull{open(4, head), open(3, head), open(9, newerHead)}}
			if err := e.resolve(f); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"Codertocat/Hello-World commit " + head}, f.asked); diff != "" {
				t.Error(diff)
			}
			runs, err := e.st.LiveRuns(t.Context())
			if err != nil || len(runs) != 2 || runs[0].PR != 3 || runs[1].PR != 4 || runs[0].Event != "check_run.completed" || runs[0].Cause != store.CauseEvidence || runs[0].Installation != 5 {
				t.Fatalf("%+v, %v", runs, err)
			}
			for i, r := range runs {
				for _, guid := range []string{first, second} {
					if d := e.delivery(guid); d.State != store.Enqueued {
						t.Errorf("before run %d: %+v", i, d)
					}
				}
				e.judge(r, "success", int64(i+1))
			}
			for _, guid := range []string{first, second} {
				if d := e.delivery(guid); d.State != store.Done {
					t.Errorf("%+v", d)
				}
			}
			// They are known now, and GitHub is not asked again.
			e.want("check_run", payload(t, "check_run", fork...), enqueued, "started")
		})
		t.Run("a person's wish", func(t *testing.T) {
			e := newEnv(t, d)
			e.want("check_run", payload(t, "check_run", append(fork, action("rerequested"), set{"check_run.app.id", ourApp})...), enqueued, "looked up")
			if err := e.resolve(&finder{pulls: []store.Pull{open(3, head)}}); err != nil {
				t.Fatal(err)
			}
			if r := e.live(); r.Cause != store.CauseRerun || r.Event != convergence.EventRerun {
				t.Errorf("%+v", r)
			}
		})
		t.Run("a branch", func(t *testing.T) {
			e := newEnv(t, d)
			e.want("push", payload(t, "push"), enqueued, "looked up")
			f := &finder{pulls: []store.Pull{open(3, head)}}
			if err := e.resolve(f); err != nil {
				t.Fatal(err)
			}
			if r := e.live(); r.Cause != store.CauseBase || r.Event != convergence.EventPolicyOrBase || f.asked[0] != "Codertocat/Hello-World base master" {
				t.Errorf("%+v, %v", r, f.asked)
			}
		})
		t.Run("a branch that many ask for", func(t *testing.T) {
			e := newEnv(t, d)
			var pulls []store.Pull
			e.in(func(ctx context.Context, tx *store.Tx) error {
				pulls = nil
				for n := range mostAtOnce + 1 {
					pulls = append(pulls, open(n+1, head))
					if _, _, err := tx.SeePull(ctx, pulls[n]); err != nil {
						return err
					}
				}
				return nil
			})
			guid := e.want("push", payload(t, "push"), enqueued, "looked up")
			if err := e.resolve(&finder{pulls: pulls}); err != nil {
				t.Fatal(err)
			}
			runs, err := e.st.LiveRuns(t.Context())
			if err != nil || len(runs) != len(pulls) {
				t.Errorf("%d runs, %v", len(runs), err)
			}
			if d := e.delivery(guid); d.State != store.Enqueued {
				t.Errorf("%+v", d)
			}
		})
		t.Run("a number", func(t *testing.T) {
			e := newEnv(t, d)
			e.want("code_scanning_alert", payload(t, "code_scanning_alert", alertChanges("created", "refs/pull/3/merge")...), enqueued, "looked up")
			f := &finder{pulls: []store.Pull{open(3, head)}}
			if err := e.resolve(f); err != nil {
				t.Fatal(err)
			}
			if r := e.live(); r.PR != 3 || r.Event != "code_scanning_alert.created" || f.asked[0] != "Codertocat/Hello-World number 3" {
				t.Errorf("%+v, %v", r, f.asked)
			}
		})
		t.Run("nobody", func(t *testing.T) {
			for reason, pulls := range map[string][]store.Pull{
				"no open pull request is concerned":    nil,
				"the head is " + newerHead + " by now": {open(3, newerHead)},
				"it is a draft":                        {func() store.Pull { p := open(3, head); p.Draft = true; return p }()},
				"the pull request is closed":           {func() store.Pull { p := open(3, head); p.State = store.PullClosed; return p }()},
			} {
				e := newEnv(t, d)
				guid := e.want("check_run", payload(t, "check_run", fork...), enqueued, "looked up")
				if err := e.resolve(&finder{pulls: pulls}); err != nil {
					t.Fatal(err)
				}
				e.noLive()
				if d := e.delivery(guid); d.State != store.Ignored || d.Reason != reason {
					t.Errorf("%+v, want %s", d, reason)
				}
			}
		})
		t.Run("GitHub does not answer", func(t *testing.T) {
			e := newEnv(t, d)
			guid := e.want("check_run", payload(t, "check_run", fork...), enqueued, "looked up")
			down := errors.New("down")
			if err := e.resolve(&finder{err: down}); !errors.Is(err, down) {
				t.Fatal(err)
			}
			if d := e.delivery(guid); d.State != store.Enqueued {
				t.Errorf("%+v", d)
			}
			e.wantJobs("resolve retryable")
		})
	})
}
