package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/app/store/storetest"
	"github.com/prosecutor-bot/prosecutor/convergence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBoom = errors.New("boom")

// TestConformance is the suite that both databases pass.
func TestConformance(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		for _, c := range []struct {
			name string
			test func(*testing.T, storetest.Database)
		}{
			{"deliveries", testDeliveries},
			{"one delivery twice at once", testDeliveryRace},
			{"transactions", testTransactions},
			{"one transaction for all", testOneTransaction},
			{"pull requests in time", testPulls},
			{"identity of runs", testIdentity},
			{"what is refused", testRefused},
			{"claims", testClaims},
			{"news while waiting", testNewsWhileWaiting},
			{"news while judging", testNewsWhileJudging},
			{"news before a crash", testNewsBeforeCrash},
			{"ends", testEnds},
			{"merge groups", testGroups},
			{"kill switch", testKillSwitch},
			{"blocked pull requests", testBlocked},
			{"abandoned runs", testAbandoned},
			{"prune", testPrune},
			{"concurrent opening", testConcurrentOpening},
			{"nothing is lost", testNothingIsLost},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(t, d) })
		}
	})
}

func request(head string, cause store.Cause, deliveries ...int64) store.RunRequest {
	return store.RunRequest{Installation: 9, RepoID: 1, Owner: "acme", Repo: "pay", PR: 2, Head: head, Base: "base", Cause: cause, Event: convergence.Event(cause), Deliveries: deliveries}
}

func receive(t *testing.T, s *store.Store, guid string) int64 {
	t.Helper()
	var id int64
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		d, fresh, err := tx.Receive(ctx, store.Delivery{GUID: guid, Event: "push", Payload: []byte("{}")})
		if err == nil && !fresh {
			err = errors.New("it is done already")
		}
		if err != nil {
			return err
		}
		id = d.ID
		return tx.SetDelivery(ctx, id, store.Enqueued, "")
	})
	return id
}

func start(t *testing.T, s *store.Store, req store.RunRequest) store.Started {
	t.Helper()
	var out store.Started
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
		out, err = tx.StartRun(ctx, req)
		return err
	})
	return out
}

func begin(t *testing.T, s *store.Store, id int64) store.Run {
	t.Helper()
	var r store.Run
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
		r, err = tx.BeginRun(ctx, id)
		return err
	})
	return r
}

func finish(t *testing.T, s *store.Store, r store.Run, v store.Verdict) store.Finished {
	t.Helper()
	var f store.Finished
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
		f, err = tx.FinishRun(ctx, r, v)
		return err
	})
	return f
}

func publish(t *testing.T, s *store.Store, id int64) store.Run {
	t.Helper()
	var r store.Run
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
		r, err = tx.PublishRun(ctx, id, 5, "success", []byte(`{"comment":7}`))
		return err
	})
	return r
}

func run(t *testing.T, s *store.Store, id int64) store.Run {
	t.Helper()
	r, err := s.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func stateOf(t *testing.T, s *store.Store, id int64) store.DeliveryState {
	t.Helper()
	d, err := s.Delivery(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return d.State
}

// late runs fn in a transaction and wants it to come too late.
func late(t *testing.T, s *store.Store, what string, fn func(ctx context.Context, tx *store.Tx) error) {
	t.Helper()
	err := s.InTx(t.Context(), func(tx *store.Tx) error { return fn(t.Context(), tx) })
	var e *store.NotLiveError
	if !errors.As(err, &e) {
		t.Errorf("%s: %v", what, err)
	}
}

func testDeliveries(t *testing.T, d storetest.Database) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	s := d.Open(t, store.WithClock(func() time.Time { return now }))
	payload := []byte(strings.Repeat(`{"a":"\u0000"}`, 1000))
	in := store.Delivery{GUID: "g", Event: "push", Action: "x", Installation: 1, RepoID: 2, Sender: "someone", Payload: payload}
	want := in
	want.State, want.Attempts, want.Size, want.ReceivedAt = store.Received, 1, len(payload), now
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		got, fresh, err := tx.Receive(ctx, in)
		if !fresh || got.State != store.Received || got.Attempts != 1 {
			t.Errorf("%+v", got)
		}
		want.ID = got.ID
		return err
	})
	got, err := s.Delivery(t.Context(), want.ID)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	for _, state := range []store.DeliveryState{store.Received, store.Enqueued, store.Ignored, store.Failed, store.Done, store.Failed} {
		storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SetDelivery(ctx, want.ID, state, "because") })
		was := stateOf(t, s, want.ID)
		storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
			got, fresh, err := tx.Receive(ctx, in)
			if fresh != (was != store.Done) {
				t.Errorf("%s: fresh is %v", was, fresh)
			}
			if fresh && (got.State != store.Received || got.Reason != "") {
				t.Errorf("%s: %+v", was, got)
			}
			return err
		})
	}
	if got := stateOf(t, s, want.ID); got != store.Done {
		t.Errorf("what was done is %s", got)
	}
	if counts, err := s.Deliveries(t.Context()); err != nil || counts[store.Done] != 1 || len(counts) != 1 {
		t.Errorf("%v, %v", counts, err)
	}
	if _, err := s.Delivery(t.Context(), 4711); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if err := s.InTx(t.Context(), func(tx *store.Tx) error { _, _, err := tx.Receive(t.Context(), store.Delivery{}); return err }); err == nil {
		t.Error("a delivery without a GUID was recorded")
	}
}

func testDeliveryRace(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	var mu sync.Mutex
	worked := 0
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			err := s.InTx(t.Context(), func(tx *store.Tx) error {
				d, fresh, err := tx.Receive(t.Context(), store.Delivery{GUID: "g", Payload: []byte("{}")})
				if err != nil || !fresh {
					return err
				}
				mu.Lock()
				worked++
				mu.Unlock()
				return tx.SetDelivery(t.Context(), d.ID, store.Done, "")
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if worked != 1 {
		t.Errorf("it was worked on %d times", worked)
	}
}

func testTransactions(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	add := func(tx *store.Tx, guid string) error {
		_, _, err := tx.Receive(t.Context(), store.Delivery{GUID: guid, Payload: []byte("{}")})
		return err
	}
	none := func(guid string) {
		t.Helper()
		if _, err := s.DeliveryByGUID(t.Context(), guid); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s was kept: %v", guid, err)
		}
	}
	if err := s.InTx(t.Context(), func(tx *store.Tx) error { return errors.Join(add(tx, "error"), errBoom) }); !errors.Is(err, errBoom) {
		t.Error(err)
	}
	none("error")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic was swallowed")
			}
		}()
		_ = s.InTx(t.Context(), func(tx *store.Tx) error {
			if err := add(tx, "panic"); err != nil {
				t.Error(err)
			}
			panic("boom")
		})
	}()
	none("panic")
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.InTx(ctx, func(tx *store.Tx) error { defer cancel(); return add(tx, "cancelled") }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	none("cancelled")
	// What PostgreSQL breaks off because of others is done again, a limited number of times.
	calls := 0
	err := s.InTx(t.Context(), func(*store.Tx) error {
		calls++
		return fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: "40P01"})
	})
	if err == nil || calls != 5 {
		t.Errorf("%d calls, %v", calls, err)
	}
	if err := s.InTx(t.Context(), func(tx *store.Tx) error {
		if calls++; calls == 6 {
			return &pgconn.PgError{Code: "40001"}
		}
		return add(tx, "kept")
	}); err != nil || calls != 7 {
		t.Errorf("%d calls, %v", calls, err)
	}
	if _, err := s.DeliveryByGUID(t.Context(), "kept"); err != nil {
		t.Error(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// testOneTransaction stores a ruling of the ledger together with the result of a run, and then fails.
func testOneTransaction(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	r := begin(t, s, start(t, s, request("a", store.CausePush)).Run.ID)
	both := func(fail error) error {
		return s.InTx(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Ledgers().Rule(t.Context(), r.LedgerKey(), func(l convergence.Ledger) (convergence.Ruling, error) {
				return convergence.Ruling{Outcome: convergence.Decided, Decision: convergence.Advance, Ledger: convergence.Push(l, "a")}, nil
			})
			if err != nil {
				return err
			}
			_, err = tx.FinishRun(t.Context(), r, store.Verdict{Conclusion: "success", Result: []byte(`{"x":1}`)})
			return errors.Join(err, fail)
		})
	}
	if err := both(errBoom); !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	if h, err := s.Ledgers().History(t.Context(), r.LedgerKey(), 9); err != nil || len(h) != 0 || run(t, s, r.ID).State != store.RunJudging {
		t.Errorf("%+v, %v", h, err)
	}
	if err := both(nil); err != nil {
		t.Fatal(err)
	}
	h, err := s.Ledgers().History(t.Context(), r.LedgerKey(), 9)
	if got := run(t, s, r.ID); err != nil || len(h) != 1 || got.State != store.RunJudged || string(got.Result) != `{"x":1}` {
		t.Errorf("%+v, %v, %+v", h, err, got)
	}
	if l, err := s.Ledgers().Load(t.Context(), store.LedgerKey(1, 2)); err != nil || l.Current.Head != "a" {
		t.Errorf("%+v, %v", l, err)
	}
}

func testPulls(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := store.Pull{RepoID: 1, Number: 2, Head: "a", HeadRef: "topic", HeadRepoID: 1, Base: "b", BaseRef: "main", Author: "someone", State: store.PullOpen, UpdatedAt: at}
	see := func(p store.Pull, current bool, head string) {
		t.Helper()
		storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
			known, ok, err := tx.SeePull(ctx, p)
			if ok != current || known.Head != head {
				t.Errorf("%+v, %v", known, ok)
			}
			return err
		})
	}
	see(p, true, "a")
	newer := p
	newer.Head, newer.UpdatedAt = "b", at.Add(time.Second)
	see(newer, true, "b")
	see(p, false, "b") // it comes late
	same := newer
	same.Head = "c"
	see(same, true, "c") // in the same second the later one counts
	got, err := s.Pull(t.Context(), 1, 2)
	if diff := cmp.Diff(same, got); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	fork := p
	fork.Number, fork.HeadRepoID, fork.Draft = 3, 77, true
	see(fork, true, "a")
	closed := p
	closed.Number, closed.State = 4, store.PullMerged
	see(closed, true, "a")
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		find := func(what string, want []int, list []store.Pull, err error) {
			t.Helper()
			var got []int
			for _, p := range list {
				got = append(got, p.Number)
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s: %s %v", what, diff, err)
			}
		}
		list, err := tx.PullsByHead(ctx, 1, "a")
		find("head", []int{3}, list, err)
		list, err = tx.PullsByBase(ctx, 1, "main")
		find("base", []int{2, 3}, list, err)
		list, err = tx.PullsByHeadRef(ctx, 1, "topic") // a fork's branch of that name is another one
		find("branch", []int{2}, list, err)
		list, err = tx.PullsByBase(ctx, 2, "main")
		find("another repository", nil, list, err)
		return nil
	})
	if list, err := s.OpenPulls(t.Context(), 1); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

func testIdentity(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	a := start(t, s, request("a", store.CausePush))
	if !a.Created || a.Run.Generation != 1 || a.Run.State != store.RunQueued {
		t.Fatalf("%+v", a)
	}
	if again := start(t, s, request("a", store.CausePush)); again.Created || again.Poked || again.Run.ID != a.Run.ID {
		t.Errorf("%+v", again)
	}
	// Another pull request of the same head is another case.
	other := request("a", store.CausePush)
	other.PR = 3
	if o := start(t, s, other); !o.Created || len(o.Superseded) != 0 || o.Run.Generation != 1 {
		t.Errorf("%+v", o)
	}
	b := start(t, s, request("b", store.CausePush))
	if !b.Created || len(b.Superseded) != 1 || b.Superseded[0].ID != a.Run.ID {
		t.Fatalf("%+v", b)
	}
	if got := run(t, s, a.Run.ID); got.State != store.RunSuperseded || got.SupersededBy != "b" || got.PublishedAt.IsZero() {
		t.Errorf("%+v", got) // it had not begun, so it has no check run to conclude
	}
	// Every further run of a head has the next generation, and leaves what is published alone.
	for generation := 1; generation <= 3; generation++ {
		r := start(t, s, request("b", store.CauseRerun)).Run
		if r.Generation != generation {
			t.Errorf("generation %d, want %d", r.Generation, generation)
		}
		finish(t, s, begin(t, s, r.ID), store.Verdict{Conclusion: "failure"})
		publish(t, s, r.ID)
	}
	list, err := s.RunsOfHead(t.Context(), 1, 2, "b")
	if err != nil || len(list) != 3 || list[0].Generation != 3 {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := s.RunsOfPull(t.Context(), 1, 2, 2); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	for _, bad := range []func(*store.RunRequest){
		func(r *store.RunRequest) { r.RepoID = 0 }, func(r *store.RunRequest) { r.Installation = 0 }, func(r *store.RunRequest) { r.Head = "" },
		func(r *store.RunRequest) { r.Cause = "whim" }, func(r *store.RunRequest) { r.PR = 0 }, func(r *store.RunRequest) { r.Cause = store.CauseMergeGroup },
	} {
		req := request("z", store.CausePush)
		bad(&req)
		if err := s.InTx(t.Context(), func(tx *store.Tx) error { _, err := tx.StartRun(t.Context(), req); return err }); err == nil {
			t.Errorf("%+v was accepted", req)
		}
	}
}

func testRefused(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	see := func(head string, state store.PullState) {
		storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, _, err := tx.SeePull(ctx, store.Pull{RepoID: 1, Number: 2, Head: head, BaseRef: "main", State: state})
			return err
		})
	}
	see("b", store.PullOpen)
	live := start(t, s, request("b", store.CausePush)).Run
	if old := start(t, s, request("a", store.CauseRerun)); old.Refused != "the head is b by now" || old.Created || len(old.Superseded) != 0 {
		t.Errorf("%+v", old)
	}
	if got := run(t, s, live.ID); got.State != store.RunQueued {
		t.Errorf("a request for an old head has ended the run of the new one: %+v", got)
	}
	for range store.MaxEdits + 1 { // the one beyond the bound says that it is
		r := begin(t, s, live.ID)
		finish(t, s, r, store.Verdict{})
		started := start(t, s, request("b", store.CauseEdit))
		if started.Refused != "" {
			t.Fatalf("%+v", started)
		}
		live = started.Run
	}
	if e := start(t, s, request("b", store.CauseEdit)); !strings.Contains(e.Refused, "edited more than 5 times") {
		t.Errorf("%+v", e)
	}
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.CountRuns(ctx, 1, 2, "b", store.CauseEdit)
		if n != store.MaxEdits+1 {
			t.Errorf("%d edits", n)
		}
		return err
	})
	if e := start(t, s, request("b", store.CauseRerun)); e.Refused != "" {
		t.Errorf("%+v", e)
	}
	see("b", store.PullMerged)
	if c := start(t, s, request("b", store.CauseRerun)); c.Refused != "the pull request is merged" {
		t.Errorf("%+v", c)
	}
}

// testClaims has a worker that was taken for dead come back.
func testClaims(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	id := start(t, s, request("a", store.CausePush)).Run.ID
	zombie, worker := begin(t, s, id), begin(t, s, id)
	if zombie.Claim == worker.Claim || worker.BegunAt.IsZero() || !worker.BegunAt.Equal(zombie.BegunAt) {
		t.Errorf("%+v, %+v", zombie, worker)
	}
	tooLate := func(r store.Run) {
		t.Helper()
		late(t, s, "wait", func(ctx context.Context, tx *store.Tx) error { _, err := tx.WaitRun(ctx, r, ""); return err })
		late(t, s, "finish", func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.FinishRun(ctx, r, store.Verdict{})
			return err
		})
		late(t, s, "skip", func(ctx context.Context, tx *store.Tx) error { _, err := tx.SkipRun(ctx, r, ""); return err })
	}
	tooLate(zombie)
	finish(t, s, worker, store.Verdict{Conclusion: "success", Reason: "Advance"})
	tooLate(worker)
	late(t, s, "begin", func(ctx context.Context, tx *store.Tx) error { _, err := tx.BeginRun(ctx, id); return err })
	late(t, s, "fail", func(ctx context.Context, tx *store.Tx) error { _, err := tx.FailRun(ctx, id, ""); return err })
	got := run(t, s, id)
	if got.State != store.RunJudged || got.Conclusion != "success" || got.Reason != "Advance" || got.EndedAt.IsZero() || !got.PublishedAt.IsZero() {
		t.Errorf("%+v", got)
	}
	if list, err := s.UnpublishedRuns(t.Context()); err != nil || len(list) != 1 || list[0].ID != id {
		t.Errorf("%+v, %v", list, err)
	}
	if r := publish(t, s, id); r.State != store.RunPublished || r.CheckRunID != 5 || r.PublishedAt.IsZero() || string(r.Published) != `{"comment":7}` {
		t.Errorf("%+v", r)
	}
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.RunByCheckRun(ctx, 1, 5)
		if r.ID != id {
			t.Errorf("%+v", r)
		}
		for _, unknown := range [][2]int64{{1, 6}, {2, 5}, {1, 0}} {
			if _, err := tx.RunByCheckRun(ctx, unknown[0], unknown[1]); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%v: %v", unknown, err)
			}
		}
		return err
	})
	if counts, err := s.CountRunsByState(t.Context()); err != nil || counts[store.RunPublished] != 1 {
		t.Errorf("%v, %v", counts, err)
	}
	if err := s.InTx(t.Context(), func(tx *store.Tx) error {
		_, err := tx.PublishRun(t.Context(), start(t, d.Open(t), request("q", store.CausePush)).Run.ID+100, 0, "", nil)
		return err
	}); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}

func wait(t *testing.T, s *store.Store, r store.Run) bool {
	t.Helper()
	var again bool
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
		again, err = tx.WaitRun(ctx, r, "waiting for CodeQL")
		return err
	})
	return again
}

// testNewsWhileWaiting has evidence come before and after a run goes to sleep over it.
func testNewsWhileWaiting(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	id := start(t, s, request("a", store.CausePush)).Run.ID
	r := begin(t, s, id)
	if n := start(t, s, request("a", store.CauseEvidence)); !n.Poked || n.Created {
		t.Errorf("%+v", n)
	}
	if !wait(t, s, r) {
		t.Fatal("it went to sleep over news")
	}
	r = begin(t, s, id)
	if wait(t, s, r) {
		t.Fatal("it does not sleep though it has seen all")
	}
	if got := run(t, s, id); got.State != store.RunWaiting || got.Reason != "waiting for CodeQL" {
		t.Errorf("%+v", got)
	}
	rerun := request("a", store.CauseRerun)
	rerun.Sender, rerun.Options = convergence.Sender{Login: "someone", Type: convergence.User}, store.Options{Lens: "security", Dry: 3}
	if n := start(t, s, rerun); !n.Poked || n.Run.State != store.RunWaiting {
		t.Errorf("%+v", n)
	}
	// The run answers the person as well.
	r = begin(t, s, id)
	if r.Cause != store.CauseRerun || r.Event != rerun.Event || r.Sender != rerun.Sender || r.Options != rerun.Options || r.Generation != 1 {
		t.Errorf("%+v", r)
	}
	if f := finish(t, s, r, store.Verdict{}); f.Followup != nil {
		t.Errorf("%+v", f)
	}
}

func testNewsWhileJudging(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	for name, tt := range map[string]struct {
		news   []store.RunRequest
		judged bool
		want   *store.RunRequest
	}{
		"none":                       {nil, true, nil},
		"the same push":              {[]store.RunRequest{request("h", store.CausePush), request("h", store.CauseReconcile)}, true, nil},
		"evidence":                   {[]store.RunRequest{request("h", store.CauseEvidence)}, true, ptr(request("h", store.CauseEvidence))},
		"a person, who has it now":   {[]store.RunRequest{request("h", store.CauseRerun)}, true, nil},
		"a person, who has nothing":  {[]store.RunRequest{request("h", store.CauseRerun)}, false, ptr(request("h", store.CauseRerun))},
		"a person with a wish":       {[]store.RunRequest{with(request("h", store.CauseRerun), store.Options{Dry: 2})}, true, ptr(with(request("h", store.CauseRerun), store.Options{Dry: 2}))},
		"a person and then evidence": {[]store.RunRequest{with(request("h", store.CauseRerun), store.Options{Lens: "spec"}), request("h", store.CauseEvidence)}, true, ptr(with(request("h", store.CauseRerun), store.Options{Lens: "spec"}))},
		"evidence and then a person": {[]store.RunRequest{request("h", store.CauseEvidence), with(request("h", store.CauseRerun), store.Options{Lens: "spec"})}, true, ptr(with(request("h", store.CauseRerun), store.Options{Lens: "spec"}))},
		"the kill switch":            {[]store.RunRequest{request("h", store.CauseSwitch), request("h", store.CauseEdit)}, true, ptr(request("h", store.CauseSwitch))},
	} {
		r := begin(t, s, start(t, s, request("h", store.CausePush)).Run.ID)
		for _, n := range tt.news {
			start(t, s, n)
		}
		f := finish(t, s, r, store.Verdict{Judged: tt.judged})
		if diff := cmp.Diff(tt.want, f.Followup, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func ptr(r store.RunRequest) *store.RunRequest { return &r }

func with(r store.RunRequest, o store.Options) store.RunRequest { r.Options = o; return r }

// testNewsBeforeCrash has news come, and then the process of the worker die: the next attempt reads everything anew.
func testNewsBeforeCrash(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	id := start(t, s, request("a", store.CausePush)).Run.ID
	begin(t, s, id)
	start(t, s, request("a", store.CauseRerun))
	r := begin(t, s, id)
	if r.Cause != store.CauseRerun {
		t.Errorf("%+v", r)
	}
	if f := finish(t, s, r, store.Verdict{}); f.Followup != nil {
		t.Errorf("%+v", f)
	}
}

// testEnds follows the deliveries of runs through every end.
func testEnds(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	n := 0
	begun := func() (store.Run, int64) {
		n++
		delivery := receive(t, s, fmt.Sprintf("g%d", n))
		r := start(t, s, request(fmt.Sprintf("h%d", n), store.CausePush, delivery)).Run
		return begin(t, s, r.ID), delivery
	}
	want := func(what string, delivery int64, state store.DeliveryState) {
		t.Helper()
		if got := stateOf(t, s, delivery); got != state {
			t.Errorf("%s: the delivery is %s, want %s", what, got, state)
		}
	}
	r, delivery := begun()
	finish(t, s, r, store.Verdict{})
	want("judged", delivery, store.Enqueued)
	publish(t, s, r.ID)
	want("published", delivery, store.Done)
	publish(t, s, r.ID) // again, by a job that was taken for dead

	r, delivery = begun()
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.SkipRun(ctx, r, "decided already")
		return err
	})
	want("skipped", delivery, store.Done)
	if got := run(t, s, r.ID); got.State != store.RunSkipped || got.PublishedAt.IsZero() {
		t.Errorf("%+v", got)
	}

	r, delivery = begun()
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error { _, err := tx.FailRun(ctx, r.ID, "crashed"); return err })
	want("failed", delivery, store.Failed)
	if got := run(t, s, r.ID); got.State != store.RunFailed || !got.PublishedAt.IsZero() {
		t.Errorf("%+v", got)
	}
	if got := publish(t, s, r.ID); got.State != store.RunFailed || got.PublishedAt.IsZero() {
		t.Errorf("%+v", got)
	}
	want("failed and published", delivery, store.Failed)

	r, delivery = begun()
	_, newer := begun()
	want("superseded", delivery, store.Done)
	want("superseding", newer, store.Enqueued)
	if got := run(t, s, r.ID); !got.PublishedAt.IsZero() {
		t.Errorf("its check run is to be concluded: %+v", got)
	}
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		runs, err := tx.CancelPull(ctx, 1, 2, "closed")
		if len(runs) != 1 {
			t.Errorf("%+v", runs)
		}
		return err
	})
	want("cancelled", newer, store.Done)

	// News that came while a run was judged are done with the run that follows, whatever becomes of the first one.
	r, delivery = begun()
	news := receive(t, s, "news")
	start(t, s, request(r.Head, store.CauseEvidence, news))
	var f store.Finished
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) (err error) { f, err = tx.SkipRun(ctx, r, ""); return err })
	want("skipped with news", delivery, store.Done)
	want("news", news, store.Enqueued)
	next := start(t, s, *f.Followup).Run
	finish(t, s, begin(t, s, next.ID), store.Verdict{})
	publish(t, s, next.ID)
	want("news", news, store.Done)

	// A run that failed before it began is to be told about, too.
	id := start(t, s, request("late", store.CausePush)).Run.ID
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.FailRun(ctx, id, "no job")
		if !r.PublishedAt.IsZero() {
			t.Errorf("%+v", r)
		}
		return err
	})
	// One that is still judged cannot be published.
	live := start(t, s, request("later", store.CausePush)).Run
	if err := s.InTx(t.Context(), func(tx *store.Tx) error { _, err := tx.PublishRun(t.Context(), live.ID, 1, "", nil); return err }); err == nil {
		t.Error("a run was published while it was judged")
	}
}

func testGroups(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	group := func(head string) store.RunRequest {
		r := request(head, store.CauseMergeGroup)
		r.PR, r.GroupRef = 0, "refs/heads/gh-readonly-queue/main/pr-2-"+head
		return r
	}
	pull := start(t, s, request("a", store.CausePush)).Run
	first, second := start(t, s, group("g1")), start(t, s, group("g2"))
	if !first.Created || !second.Created || len(second.Superseded) != 0 || !first.Run.IsGroup() || first.Run.LedgerKey() == second.Run.LedgerKey() || first.Run.LedgerKey() == pull.LedgerKey() {
		t.Errorf("%+v, %+v", first, second)
	}
	if again := start(t, s, group("g1")); again.Created || again.Run.ID != first.Run.ID {
		t.Errorf("%+v", again)
	}
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		runs, err := tx.CancelGroup(ctx, 1, "g1", "destroyed")
		if len(runs) != 1 || runs[0].ID != first.Run.ID {
			t.Errorf("%+v", runs)
		}
		return err
	})
	live, err := s.LiveRuns(t.Context())
	if err != nil || len(live) != 2 || live[0].ID != pull.ID || live[1].ID != second.Run.ID {
		t.Errorf("%+v, %v", live, err)
	}
}

func testKillSwitch(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	want := func(on bool, by string, pending bool) {
		t.Helper()
		k, err := s.KillSwitch(t.Context(), 1, 2)
		if err != nil || k.On != on || k.By != by || k.Pending != pending {
			t.Errorf("%+v, %v", k, err)
		}
	}
	label := func(on bool, who string) {
		storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.WantKillSwitch(ctx, 1, 2, on, who) })
	}
	settle := func(who string, permitted bool) {
		storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, _, err := tx.SettleKillSwitch(ctx, 1, 2, who, permitted)
			return err
		})
	}
	want(false, "", false)
	label(true, "mallory")
	want(false, "", true)
	settle("mallory", false)
	want(false, "", false)
	label(true, "alice")
	label(true, "mallory") // meanwhile
	settle("alice", true)  // about a wish that is none any more
	want(false, "", true)
	label(true, "alice")
	settle("alice", true)
	want(true, "alice", false)
	label(false, "mallory")
	settle("mallory", false)
	want(true, "alice", false)
	settle("mallory", true) // there is nothing to settle
	want(true, "alice", false)
	label(false, "bob")
	settle("bob", true)
	want(false, "bob", false)
}

func testBlocked(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	for number, conclusion := range []string{1: "success", 2: "failure", 3: "action_required", 4: "", 5: "failure"} {
		if number == 0 {
			continue
		}
		state := store.PullOpen
		storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, _, err := tx.SeePull(ctx, store.Pull{RepoID: 1, Number: number, Head: "h", BaseRef: "main", State: state})
			return err
		})
		req := request("h", store.CausePush)
		req.PR = number
		r := begin(t, s, start(t, s, req).Run.ID)
		if conclusion != "" {
			finish(t, s, r, store.Verdict{Conclusion: conclusion})
		}
		if number == 5 {
			storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
				_, _, err := tx.SeePull(ctx, store.Pull{RepoID: 1, Number: number, Head: "h", BaseRef: "main", State: store.PullClosed})
				return err
			})
		}
	}
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.BlockedPulls(ctx, 1)
		var got []int
		for _, p := range list {
			got = append(got, p.Number)
		}
		if diff := cmp.Diff([]int{2, 3, 4}, got); diff != "" {
			t.Error(diff)
		}
		return err
	})
}

// testAbandoned has an installation end with a run in every state.
func testAbandoned(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	delivery := receive(t, s, "g")
	judged := request("h", store.CausePush, delivery)
	finish(t, s, begin(t, s, start(t, s, judged).Run.ID), store.Verdict{Conclusion: "success"})
	queued := request("h", store.CausePush)
	queued.PR = 3
	start(t, s, queued)
	cancelled := request("h", store.CausePush)
	cancelled.PR = 4
	begin(t, s, start(t, s, cancelled).Run.ID)
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CancelPull(ctx, 1, 4, "closed")
		return err
	})
	elsewhere := request("h", store.CausePush)
	elsewhere.Installation, elsewhere.RepoID = 10, 5
	other := start(t, s, elsewhere).Run
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		runs, err := tx.CancelInstallation(ctx, 9, "uninstalled")
		if len(runs) != 3 {
			t.Errorf("%+v", runs)
		}
		// What nobody has seen yet is kept: a verdict, and the end of a check run that stands in progress.
		for i, want := range []store.RunState{store.RunJudged, store.RunCancelled, store.RunCancelled} {
			if r := runs[i]; r.State != want || r.PublishedAt.IsZero() != (i != 1) || r.EndedAt.IsZero() {
				t.Errorf("%+v", r)
			}
		}
		return err
	})
	unpublished := func(want int) {
		t.Helper()
		if list, err := s.UnpublishedRuns(t.Context()); err != nil || len(list) != want {
			t.Errorf("%d runs to be published, want %d: %+v, %v", len(list), want, list, err)
		}
	}
	see := func(installation int64, state store.InstallationState, removed bool) {
		t.Helper()
		storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(tx.SetInstallation(ctx, store.Installation{ID: installation, State: state}),
				tx.SeeRepository(ctx, store.Repository{ID: 1, Installation: installation, Owner: "acme", Name: "pay", Removed: removed}))
		})
	}
	unpublished(2)
	see(9, store.Suspended, false)
	unpublished(0)
	see(9, store.Deleted, false)
	unpublished(0)
	see(9, store.Active, true)
	unpublished(0)
	see(11, store.Active, false)
	unpublished(2)
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.Rehome(ctx, 1)
		if r.Installation != 11 {
			t.Errorf("run %d has installation %d", r.ID, r.Installation)
		}
		foreign, otherErr := tx.Rehome(ctx, other.ID)
		if foreign.Installation != 10 {
			t.Errorf("a run of a repository that is not known has installation %d", foreign.Installation)
		}
		return errors.Join(err, otherErr)
	})
	if live, err := s.LiveRuns(t.Context()); err != nil || len(live) != 1 || live[0].ID != other.ID {
		t.Errorf("%+v, %v", live, err)
	}
	if got := stateOf(t, s, delivery); got != store.Done {
		t.Errorf("the delivery is %s", got)
	}
}

func testPrune(t *testing.T, d storetest.Database) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := d.Open(t, store.WithClock(func() time.Time { return now }))
	old := receive(t, s, "old")
	r := start(t, s, request("a", store.CausePush, old)).Run
	finish(t, s, begin(t, s, r.ID), store.Verdict{})
	publish(t, s, r.ID)
	unshown := begin(t, s, start(t, s, request("c", store.CausePush)).Run.ID)
	finish(t, s, unshown, store.Verdict{})
	live := receive(t, s, "live")
	kept := start(t, s, request("b", store.CausePush, live)).Run
	now = now.Add(100 * 24 * time.Hour)
	recent := receive(t, s, "recent")
	storetest.In(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SetDelivery(ctx, recent, store.Done, "") })
	p, err := s.Prune(t.Context(), now.Add(-24*time.Hour), now.Add(-200*24*time.Hour))
	if err != nil || p != (store.Pruned{Payloads: 1}) {
		t.Errorf("%+v, %v", p, err)
	}
	if d, err := s.Delivery(t.Context(), old); err != nil || d.Payload != nil || d.Size == 0 {
		t.Errorf("%+v, %v", d, err)
	}
	p, err = s.Prune(t.Context(), now.Add(-24*time.Hour), now.Add(-24*time.Hour))
	if err != nil || p != (store.Pruned{Runs: 2, Deliveries: 1}) {
		t.Errorf("%+v, %v", p, err)
	}
	for _, id := range []int64{r.ID, unshown.ID} {
		if _, err := s.Run(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
	}
	if run(t, s, kept.ID).State != store.RunQueued || stateOf(t, s, live) != store.Enqueued || stateOf(t, s, recent) != store.Done {
		t.Error("too much was pruned")
	}
}

func testConcurrentOpening(t *testing.T, d storetest.Database) {
	url := d.URL(t)
	if d.Dialect == store.SQLite {
		url = filepath.Join(t.TempDir(), "new", "prosecutor.db")
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			s, err := store.Open(t.Context(), url)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if err := s.InTx(t.Context(), func(tx *store.Tx) error {
				_, _, err := tx.Receive(t.Context(), store.Delivery{GUID: fmt.Sprint(i), Payload: []byte("{}")})
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s := storetest.Open(t, url)
	if counts, err := s.Deliveries(t.Context()); err != nil || counts[store.Received] != 4 {
		t.Errorf("%v, %v", counts, err)
	}
}

// testNothingIsLost does whatever can happen to the runs of a pull request in any order, and looks at what must always hold;
// in the end every delivery has an outcome.
func testNothingIsLost(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	pull, guid := 100, 0
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		pull++
		in := func(fn func(tx *store.Tx) error) {
			var late *store.NotLiveError
			if err := s.InTx(ctx, fn); err != nil && !errors.As(err, &late) {
				t.Fatal(err)
			}
		}
		causes := []store.Cause{store.CausePush, store.CauseEvidence, store.CauseBase, store.CauseReconcile, store.CauseReady, store.CauseSwitch, store.CauseRerun}
		var deliveries []int64
		claims := map[int64]store.Run{}
		follow := func(tx *store.Tx, f store.Finished) error {
			if f.Followup == nil {
				return nil
			}
			started, err := tx.StartRun(ctx, *f.Followup)
			if err == nil && started.Refused != "" {
				t.Fatalf("a follow-up was refused: %s", started.Refused)
			}
			return err
		}
		pick := func(live bool) (store.Run, bool) {
			list, err := s.RunsOfPull(ctx, 1, pull, 1000)
			if err != nil {
				t.Fatal(err)
			}
			var some []store.Run
			for _, r := range list {
				if r.State.Live() == live {
					some = append(some, r)
				}
			}
			if len(some) == 0 {
				return store.Run{}, false
			}
			return rapid.SampledFrom(some).Draw(t, "run"), true
		}
		ask := func(head string, cause store.Cause) {
			guid++
			in(func(tx *store.Tx) error {
				d, _, err := tx.Receive(ctx, store.Delivery{GUID: fmt.Sprint("r", guid), Payload: []byte("{}")})
				if err != nil {
					return err
				}
				if err := tx.SetDelivery(ctx, d.ID, store.Enqueued, ""); err != nil {
					return err
				}
				deliveries = append(deliveries, d.ID)
				req := request(head, cause, d.ID)
				req.PR = pull
				_, err = tx.StartRun(ctx, req)
				return err
			})
		}
		actions := map[string]func(*rapid.T){
			"event": func(t *rapid.T) {
				ask(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "head"), rapid.SampledFrom(causes).Draw(t, "cause"))
			},
			"begin": func(t *rapid.T) {
				if r, ok := pick(true); ok {
					in(func(tx *store.Tx) (err error) {
						claims[r.ID], err = tx.BeginRun(ctx, r.ID)
						return err
					})
				}
			},
			"wait": func(t *rapid.T) {
				if r, ok := pick(true); ok {
					in(func(tx *store.Tx) error { _, err := tx.WaitRun(ctx, claims[r.ID], "x"); return ignoreUnknown(err) })
				}
			},
			"finish": func(t *rapid.T) {
				if r, ok := pick(true); ok {
					judged := rapid.Bool().Draw(t, "judged")
					in(func(tx *store.Tx) error {
						f, err := tx.FinishRun(ctx, claims[r.ID], store.Verdict{Judged: judged})
						if err != nil {
							return ignoreUnknown(err)
						}
						return follow(tx, f)
					})
				}
			},
			"skip": func(t *rapid.T) {
				if r, ok := pick(true); ok {
					in(func(tx *store.Tx) error {
						f, err := tx.SkipRun(ctx, claims[r.ID], "x")
						if err != nil {
							return ignoreUnknown(err)
						}
						return follow(tx, f)
					})
				}
			},
			"fail": func(t *rapid.T) {
				if r, ok := pick(true); ok {
					in(func(tx *store.Tx) error { _, err := tx.FailRun(ctx, r.ID, "x"); return err })
				}
			},
			"publish": func(t *rapid.T) {
				if r, ok := pick(false); ok {
					in(func(tx *store.Tx) error { _, err := tx.PublishRun(ctx, r.ID, 1, "success", nil); return err })
				}
			},
			"cancel": func(t *rapid.T) {
				in(func(tx *store.Tx) error { _, err := tx.CancelPull(ctx, 1, pull, "x"); return err })
			},
			"": func(t *rapid.T) {
				list, err := s.RunsOfPull(ctx, 1, pull, 1000)
				if err != nil {
					t.Fatal(err)
				}
				live := 0
				last := map[string]int{}
				for _, r := range list { // newest first
					if r.State.Live() {
						live++
					}
					if g, ok := last[r.Head]; ok && g != r.Generation+1 {
						t.Fatalf("after generation %d of %s came %d", r.Generation, r.Head, g)
					}
					last[r.Head] = r.Generation
				}
				if live > 1 {
					t.Fatalf("%d runs are live", live)
				}
			},
		}
		t.Repeat(actions)
		// Then everybody does his work.
		for range 1000 {
			r, ok := pick(true)
			if !ok {
				break
			}
			in(func(tx *store.Tx) error {
				claim, err := tx.BeginRun(ctx, r.ID)
				if err != nil {
					return err
				}
				f, err := tx.FinishRun(ctx, claim, store.Verdict{Judged: true})
				if err != nil {
					return err
				}
				return follow(tx, f)
			})
		}
		list, err := s.RunsOfPull(ctx, 1, pull, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			if r.State.Live() {
				t.Fatalf("it never ends: %+v", r)
			}
			in(func(tx *store.Tx) error { _, err := tx.PublishRun(ctx, r.ID, 1, "success", nil); return err })
		}
		for _, id := range deliveries {
			d, err := s.Delivery(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			if d.State != store.Done && d.State != store.Failed {
				t.Fatalf("delivery %d of %d was lost: %+v", id, len(deliveries), d)
			}
		}
	})
}

// ignoreUnknown forgives a worker that has never begun the run.
func ignoreUnknown(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

func TestErrorsKeepThePassword(t *testing.T) {
	for _, url := range []string{
		"postgres://prosecutor:hunter2@127.0.0.1:1/x?sslmode=disable&connect_timeout=1", "postgres://prosecutor:hunter2@[::1/x", "postgresql://prosecutor:hunter2%@h/x", "postgres://:hunter2@h:notaport/x",
	} {
		s, err := store.Open(t.Context(), url)
		if err == nil {
			s.Close()
			t.Errorf("%s was opened", url)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password is in %v", err)
		}
	}
}

func TestNewerSchema(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		url := d.URL(t)
		s := storetest.Open(t, url)
		if _, err := s.DB().ExecContext(t.Context(), `INSERT INTO app_migrations (version_id, is_applied) VALUES (999, true)`); err != nil {
			t.Fatal(err)
		}
		again, err := store.Open(t.Context(), url)
		if err == nil {
			again.Close()
			t.Fatal("it was opened")
		}
		var newer *store.NewerError
		if !errors.As(err, &newer) || newer.Version != 999 {
			t.Error(err)
		}
	})
}

func TestSQLiteFile(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := store.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(s.Path()) != store.DefaultFile || s.Dialect() != store.SQLite || s.Listener() != nil {
		t.Errorf("%s, %s", s.Path(), s.Dialect())
	}
	if _, err := s.Reader().ExecContext(t.Context(), `DELETE FROM runs`); err == nil {
		t.Error("a reader wrote")
	}
	// Readers do not wait for a writer.
	err = s.InTx(t.Context(), func(*store.Tx) error {
		_, err := s.LiveRuns(t.Context())
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("a closed database answers")
	}
}
