package queue

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/app/store/storetest"
)

// patience bounds the waiting for what must come. No test depends on how long anything takes.
const patience = 60 * time.Second

// quick are options that make the queue's periods short, so that tests need not wait for them.
func quick() Options {
	return Options{Heartbeat: 25 * time.Millisecond, Poll: 20 * time.Millisecond, Grace: 10 * time.Second, RetryAfter: func(int) time.Duration { return time.Millisecond }, quick: true}
}

func newQueue(t *testing.T, s *store.Store, o Options) *River {
	t.Helper()
	q, err := New(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func idle() Workers {
	return Workers{
		Judge:   func(context.Context, JudgeArgs) error { return nil },
		Publish: func(context.Context, PublishArgs) error { return nil },
		Resolve: func(context.Context, ResolveArgs) error { return nil },
		Command: func(context.Context, CommandArgs) error { return nil },
		Explain: func(context.Context, ExplainArgs) error { return nil },
		Measure: func(context.Context, MeasureArgs) error { return nil },
	}
}

func begin(t *testing.T, q *River, w Workers) {
	t.Helper()
	q.Handle(w)
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, q) })
}

func stop(t *testing.T, q *River) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := q.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func receive[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s came", what)
		panic("unreachable")
	}
}

// until asks again and again, because a change in the database announces itself to nobody.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("it never happened that %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func enqueue(t *testing.T, q *River, job Job, opts ...EnqueueOption) int64 {
	t.Helper()
	id, err := q.Enqueue(t.Context(), job, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func state(t *testing.T, q *River, id int64) string {
	t.Helper()
	var s string
	if err := q.st.Reader().QueryRowContext(t.Context(), `SELECT state FROM river_job WHERE id = $1`, id).Scan(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

func jobs(t *testing.T, q *River) int {
	t.Helper()
	var n int
	if err := q.st.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM river_job`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		os.Exit(child(url))
	}
	goleak.VerifyTestMain(m)
}

// TestConformance is the suite that both databases pass.
func TestConformance(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		for _, c := range []struct {
			name string
			test func(*testing.T, storetest.Database)
		}{
			{"unique while live", testUnique},
			{"a rollback leaves nothing", testRollback},
			{"snooze", testSnooze},
			{"cancel", testCancel},
			{"wake", testWake},
			{"wake of a job that runs", testWakeRunning},
			{"publishing again", testPublishAgain},
			{"ending while being woken", testEndWhileWoken},
			{"retries end", testRetries},
			{"a worker cancels", testWorkerCancels},
			{"stop hands back", testStop},
			{"the dead are buried", testBury},
			{"a cancelled job stays so", testBuryCancelled},
			{"crashes end", testCrashes},
			{"kill -9", testKill},
			{"submit", testSubmit},
			{"submit to a job that died", testSubmitDead},
			{"measure", testMeasure},
			{"measure, abandoned", testMeasureAbandoned},
			{"measure, unwanted", testMeasureUnwanted},
			{"measure, wanted by what follows", testMeasureFollowUp},
			{"measure, unwanted elsewhere", testMeasureElsewhere},
			{"supersede", testSupersede},
			{"follow up", testFollowUp},
			{"a late check run", testLateCheckRun},
			{"orphans", testOrphans},
			{"given up", testGiveUp},
			{"waiting for evidence", testWait},
			{"each job once in two processes", testTwoProcesses},
			{"metrics", testMetrics},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(t, d) })
		}
	}, func(ctx context.Context, s *store.Store) error {
		_, err := New(ctx, s, Options{})
		return err
	})
}

func testUnique(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	job := JudgeArgs{RepoID: 1, PR: 2, Head: "a", Generation: 1, RunID: 7}
	first := enqueue(t, q, job)
	job.RunID = 8 // no part of the identity
	if again := enqueue(t, q, job); again != first {
		t.Errorf("job %d was enqueued beside %d", again, first)
	}
	for _, other := range []JudgeArgs{{RepoID: 2, PR: 2, Head: "a", Generation: 1}, {RepoID: 1, PR: 3, Head: "a", Generation: 1}, {RepoID: 1, PR: 2, Head: "b", Generation: 1}, {RepoID: 1, PR: 2, Head: "a", Generation: 2}} {
		if id := enqueue(t, q, other); id == first {
			t.Errorf("%+v was taken for %+v", other, job)
		}
	}
	began, release := make(chan JudgeArgs, 10), make(chan struct{})
	w := idle()
	w.Judge = func(ctx context.Context, j JudgeArgs) error {
		began <- j
		select {
		case <-release:
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	begin(t, q, w)
	for range 5 {
		receive(t, began, "job")
	}
	if again := enqueue(t, q, job); again != first {
		t.Errorf("job %d was enqueued beside %d, which runs", again, first)
	}
	close(release)
	until(t, "the job was completed", func() bool { return state(t, q, first) == "completed" })
	second := enqueue(t, q, job)
	if second == first {
		t.Error("a finished job swallowed the next one like it")
	}
	if got := receive(t, began, "second job"); got != job {
		t.Errorf("worked on %+v", got)
	}
}

func testRollback(t *testing.T, d storetest.Database) {
	s := d.Open(t)
	q := newQueue(t, s, quick())
	err := s.InTx(t.Context(), func(tx *store.Tx) error {
		if _, _, err := tx.Receive(t.Context(), store.Delivery{GUID: "g", Payload: []byte("{}")}); err != nil {
			return err
		}
		if _, err := Submit(t.Context(), q, tx, request("a")); err != nil {
			return err
		}
		return errBoom
	})
	if !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	if n := jobs(t, q); n != 0 {
		t.Errorf("%d jobs were left", n)
	}
	if runs, err := s.RecentRuns(t.Context(), 10); err != nil || len(runs) != 0 {
		t.Errorf("runs: %v, %v", runs, err)
	}
	if _, err := s.DeliveryByGUID(t.Context(), "g"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the delivery: %v", err)
	}
}

func testSnooze(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	attempts := make(chan int, 10)
	calls := 0
	w := idle()
	w.Judge = func(ctx context.Context, _ JudgeArgs) error {
		n, of := Attempt(ctx)
		if of != (JudgeArgs{}).attempts() {
			t.Errorf("%d attempts at most", of)
		}
		attempts <- n
		if calls++; calls < 9 { // more often than it may be attempted
			return Snooze(time.Duration(calls%3-1) * time.Millisecond)
		}
		return nil
	}
	begin(t, q, w)
	id := enqueue(t, q, JudgeArgs{RepoID: 1})
	for range 9 {
		if n := receive(t, attempts, "call"); n != 1 {
			t.Errorf("a snooze used up an attempt: %d", n)
		}
	}
	until(t, "the job was completed", func() bool { return state(t, q, id) == "completed" })
}

func testCancel(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	began, ended := make(chan struct{}), make(chan error, 1)
	w := idle()
	w.Judge = func(ctx context.Context, _ JudgeArgs) error {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}
	gaveUp := make(chan Job, 1)
	w.GaveUp = func(_ context.Context, j Job, _ error) { gaveUp <- j }
	begin(t, q, w)
	sleeping := enqueue(t, q, PublishArgs{RunID: 1}, After(time.Hour))
	running := enqueue(t, q, JudgeArgs{RepoID: 1})
	receive(t, began, "job")
	for _, id := range []int64{sleeping, running, 0, 4711} {
		if err := q.Cancel(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	if err := receive(t, ended, "end of the context"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, id := range []int64{sleeping, running} {
		until(t, "the job was cancelled", func() bool { return state(t, q, id) == "cancelled" })
		if err := q.Wake(t.Context(), id); err != nil || state(t, q, id) != "cancelled" {
			t.Errorf("a cancelled job was woken: %v", err)
		}
	}
	select {
	case j := <-gaveUp:
		t.Errorf("%+v was given up, and had been cancelled", j)
	default:
	}
}

func testWake(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	calls := make(chan struct{}, 10)
	first := true
	w := idle()
	w.Judge = func(context.Context, JudgeArgs) error {
		calls <- struct{}{}
		if first {
			first = false
			return Snooze(time.Hour)
		}
		return nil
	}
	begin(t, q, w)
	id := enqueue(t, q, JudgeArgs{RepoID: 1})
	receive(t, calls, "first call")
	until(t, "the job slept", func() bool { return state(t, q, id) == "scheduled" })
	for _, id := range []int64{id, 0, 4711} {
		if err := q.Wake(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	receive(t, calls, "second call")
	until(t, "the job was completed", func() bool { return state(t, q, id) == "completed" })
	if err := q.Wake(t.Context(), id); err != nil || state(t, q, id) != "completed" {
		t.Errorf("a completed job was woken: %v", err)
	}
}

// testWakeRunning wakes a job in the moment in which it has decided to sleep and does not sleep yet.
func testWakeRunning(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	began, release := make(chan struct{}, 10), make(chan struct{}, 10)
	calls := 0
	w := idle()
	w.Judge = func(context.Context, JudgeArgs) error {
		began <- struct{}{}
		<-release
		if calls++; calls == 1 {
			return Snooze(time.Hour)
		}
		return nil
	}
	begin(t, q, w)
	id := enqueue(t, q, JudgeArgs{RepoID: 1})
	receive(t, began, "first call")
	if err := q.Wake(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	release <- struct{}{}
	receive(t, began, "second call")
	release <- struct{}{}
	until(t, "the job was completed", func() bool { return state(t, q, id) == "completed" })
	until(t, "nothing was left to wake", func() bool { return rows(t, q, "queue_wakes") == 0 })
}

func rows(t *testing.T, q *River, table string) int {
	t.Helper()
	var n int
	if err := q.st.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// testPublishAgain enqueues a job while one like it runs, which may have read what it is about before that changed.
func testPublishAgain(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	began, release := make(chan struct{}, 10), make(chan struct{}, 10)
	work := func() error {
		began <- struct{}{}
		<-release
		return nil
	}
	w := idle()
	w.Publish = func(context.Context, PublishArgs) error { return work() }
	w.Resolve = func(context.Context, ResolveArgs) error { return work() }
	w.Explain = func(context.Context, ExplainArgs) error { return work() }
	w.Measure = func(context.Context, MeasureArgs) error { return work() }
	begin(t, q, w)
	for _, job := range []Job{PublishArgs{RunID: 1}, ResolveArgs{RepoID: 1}, ExplainArgs{RunID: 1}, MeasureArgs{Measurement: 1}} {
		t.Run(job.Kind(), func(t *testing.T) {
			first := enqueue(t, q, job)
			receive(t, began, "first call")
			if again := enqueue(t, q, job); again != first {
				t.Errorf("job %d was enqueued beside %d, which runs", again, first)
			}
			release <- struct{}{}
			receive(t, began, "second call")
			release <- struct{}{}
			until(t, "the job was completed", func() bool { return state(t, q, first) == "completed" })
			if len(began) > 0 {
				t.Error("it was done a third time")
			}
		})
	}
}

// testEndWhileWoken ends jobs that are to run again while somebody looks for such jobs: no wish may get lost between.
func testEndWhileWoken(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	const n = 300
	set := func(ctx context.Context, stmt string, args ...any) error {
		return q.st.InTx(ctx, func(tx *store.Tx) error {
			_, err := tx.SQL().ExecContext(ctx, stmt, args...)
			return err
		})
	}
	var ids []int64
	for i := range n {
		ids = append(ids, enqueue(t, q, PublishArgs{RunID: int64(i + 1)}))
	}
	if err := set(t.Context(), `UPDATE river_job SET state = 'running'`); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		enqueue(t, q, PublishArgs{RunID: int64(i + 1)})
	}
	ended := make(chan error, 1)
	go func() {
		for _, id := range ids {
			if err := set(t.Context(), `UPDATE river_job SET state = 'completed', finalized_at = `+q.words().now+` WHERE id = $1`, id); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	for done := false; !done; {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
		if err := q.wakeUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range ids {
		if s := state(t, q, id); s != "available" {
			t.Errorf("job %d is %s, and was to run again", id, s)
		}
	}
	if left := rows(t, q, "queue_wakes"); left != 0 {
		t.Errorf("%d wishes were left", left)
	}
}

func testRetries(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	calls := make(chan int, 20)
	w := idle()
	w.Judge = func(ctx context.Context, _ JudgeArgs) error {
		n, _ := Attempt(ctx)
		calls <- n
		if n%2 == 0 {
			panic("boom")
		}
		return errBoom
	}
	type given struct {
		job   Job
		cause error
	}
	gaveUp := make(chan given, 10)
	w.GaveUp = func(_ context.Context, j Job, err error) { gaveUp <- given{j, err} }
	begin(t, q, w)
	job := JudgeArgs{RepoID: 1, RunID: 5}
	id := enqueue(t, q, job)
	got := receive(t, gaveUp, "surrender")
	var p *PanicError
	if got.job != job || !errors.As(got.cause, &p) || p.Value != "boom" || !strings.Contains(p.Stack, "testRetries") {
		t.Errorf("gave up %+v for %v", got.job, got.cause)
	}
	until(t, "the job was discarded", func() bool { return state(t, q, id) == "discarded" })
	for n := 1; n <= job.attempts(); n++ {
		if got := receive(t, calls, "call"); got != n {
			t.Errorf("attempt %d instead of %d", got, n)
		}
	}
	if len(calls) > 0 || len(gaveUp) > 0 {
		t.Errorf("%d more calls, given up %d more times", len(calls), len(gaveUp))
	}
}

func testWorkerCancels(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	w := idle()
	w.Command = func(context.Context, CommandArgs) error { return Cancel(errBoom) }
	gaveUp := make(chan error, 10)
	w.GaveUp = func(_ context.Context, _ Job, err error) { gaveUp <- err }
	begin(t, q, w)
	id := enqueue(t, q, CommandArgs{Delivery: 1})
	if err := receive(t, gaveUp, "surrender"); !errors.Is(err, errBoom) {
		t.Error(err)
	}
	until(t, "the job was cancelled", func() bool { return state(t, q, id) == "cancelled" })
}

// testStop stops a process with a job that takes too long. Another process does it.
func testStop(t *testing.T, d storetest.Database) {
	url := d.URL(t)
	o := quick()
	o.Grace = time.Millisecond
	q := newQueue(t, storetest.Open(t, url), o)
	began, finish := make(chan string, 10), make(chan struct{})
	done := make(chan string, 10)
	work := func(name string, wait <-chan struct{}) Workers {
		w := idle()
		w.Judge = func(ctx context.Context, j JudgeArgs) error {
			if n, _ := Attempt(ctx); n != 1 {
				t.Errorf("being handed back used up an attempt: %d", n)
			}
			began <- name
			select {
			case <-wait:
				done <- name
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		w.GaveUp = func(_ context.Context, j Job, err error) { t.Errorf("gave up %+v: %v", j, err) }
		return w
	}
	q.Handle(work("first", make(chan struct{})))
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := enqueue(t, q, JudgeArgs{RepoID: 1})
	receive(t, began, "job")
	stop(t, q)
	if s := state(t, q, id); s != "available" {
		t.Errorf("the job is %s", s)
	}
	if n := rows(t, q, "queue_processes"); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	close(finish)
	begin(t, newQueue(t, storetest.Open(t, url), quick()), work("second", finish))
	if name := receive(t, done, "end"); name != "second" {
		t.Error(name)
	}
}

// seize makes jobs look as if a process that is gone had been at them.
func seize(t *testing.T, q *River, attempt int, ids ...int64) {
	t.Helper()
	runner := `jsonb('["gone"]')`
	if q.postgres() {
		runner = `array['gone']`
	}
	for _, id := range ids {
		if _, err := q.st.DB().ExecContext(t.Context(), `UPDATE river_job SET state = 'running', attempt = $1, attempted_at = `+q.words().now+`, attempted_by = `+runner+` WHERE id = $2`, attempt, id); err != nil {
			t.Fatal(err)
		}
	}
}

func testBury(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	id := enqueue(t, q, JudgeArgs{RepoID: 1})
	seize(t, q, 6, id) // it was the last attempt
	// A process that lives keeps its jobs.
	if _, err := q.st.DB().ExecContext(t.Context(), `INSERT INTO queue_processes VALUES ('gone', 1, `+q.words().millis+`)`); err != nil {
		t.Fatal(err)
	}
	bury := func() {
		storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) error { return q.bury(ctx, tx) })
	}
	bury()
	if s := state(t, q, id); s != "running" {
		t.Fatalf("a living process lost its job: %s", s)
	}
	if _, err := q.st.DB().ExecContext(t.Context(), `UPDATE queue_processes SET beat_at = beat_at - $1`, q.o.Dead.Milliseconds()+1); err != nil {
		t.Fatal(err)
	}
	bury()
	if s := state(t, q, id); s != "available" {
		t.Fatalf("the job is %s", s)
	}
	if n := rows(t, q, "queue_processes"); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	attempts := make(chan [2]int, 1)
	w := idle()
	w.Judge = func(ctx context.Context, _ JudgeArgs) error {
		n, _ := Attempt(ctx)
		attempts <- [2]int{n, Begun(ctx)}
		return nil
	}
	begin(t, q, w)
	// A crash uses no attempt up, and what the dead process may have done is no secret.
	if got := receive(t, attempts, "call"); got != [2]int{6, 2} {
		t.Errorf("attempt and beginning %v", got)
	}
}

func testBuryCancelled(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	id := enqueue(t, q, JudgeArgs{RepoID: 1})
	seize(t, q, 1, id)
	if err := q.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	begin(t, q, idle())
	until(t, "the job was cancelled", func() bool { return state(t, q, id) == "cancelled" })
}

// testCrashes has a job kill its process again and again.
func testCrashes(t *testing.T, d storetest.Database) {
	q := newQueue(t, d.Open(t), quick())
	id := enqueue(t, q, JudgeArgs{RepoID: 1})
	var states []string
	for range crashesAtMost + 1 {
		seize(t, q, 1, id)
		storetest.In(t, q.st, func(ctx context.Context, tx *store.Tx) error { return q.bury(ctx, tx) })
		if s := state(t, q, id); len(states) == 0 || states[len(states)-1] != s {
			states = append(states, s)
		}
		if len(states) == 2 && rows(t, q, "queue_crashes") != 1 {
			t.Fatal("crashes are not counted")
		}
	}
	if diff := cmp.Diff([]string{"available", "scheduled", "discarded"}, states); diff != "" {
		t.Error(diff)
	}
	if n := rows(t, q, "queue_crashes"); n != 0 {
		t.Errorf("%d counts are left", n)
	}
}

// testTwoProcesses has two processes work on the same jobs.
func testTwoProcesses(t *testing.T, d storetest.Database) {
	const n = 60
	url := d.URL(t)
	done := make(chan int64, 2*n)
	w := idle()
	w.Publish = func(_ context.Context, j PublishArgs) error {
		done <- j.RunID
		return nil
	}
	var queues []*River
	for range 2 {
		queues = append(queues, newQueue(t, storetest.Open(t, url), quick()))
	}
	for i := range n {
		enqueue(t, queues[i%2], PublishArgs{RunID: int64(i)})
	}
	for _, q := range queues {
		begin(t, q, w)
	}
	seen := map[int64]int{}
	for range n {
		seen[receive(t, done, "job")]++
	}
	if len(seen) != n || len(done) > 0 {
		t.Errorf("%d of %d jobs were done, and %d more", len(seen), n, len(done))
	}
	stats, err := queues[0].Stats(t.Context())
	if err != nil || stats.Processes != 2 {
		t.Errorf("%+v, %v", stats, err)
	}
}

func testMetrics(t *testing.T, d storetest.Database) {
	o := quick()
	registry := prometheus.NewRegistry()
	o.Registry = registry
	q := newQueue(t, d.Open(t), o)
	enqueue(t, q, JudgeArgs{RepoID: 1})
	enqueue(t, q, JudgeArgs{RepoID: 2}, After(time.Hour))
	s, err := q.Stats(t.Context())
	if err != nil || s.Waiting() != 1 || s.Sleeping() != 1 || s.Running() != 0 || s.Oldest < 0 {
		t.Errorf("%+v, %v", s, err)
	}
	gathered := func() (n map[string]int, up float64) {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		n = map[string]int{}
		for _, f := range families {
			n[f.GetName()] = len(f.GetMetric())
			if f.GetName() == "prosecutor_database_up" {
				up = f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		return n, up
	}
	all := map[string]int{
		"prosecutor_database_up": 1, "prosecutor_queue_jobs": 2, "prosecutor_queue_oldest_due_seconds": 1, "prosecutor_queue_processes": 1,
		"prosecutor_queue_jobs_recovered_total": 1,
	}
	if n, up := gathered(); up != 1 || !cmp.Equal(all, n) {
		t.Errorf("up %v: %s", up, cmp.Diff(all, n))
	}
	rename := func(from, to string) {
		t.Helper()
		if _, err := q.st.DB().ExecContext(t.Context(), `ALTER TABLE `+from+` RENAME TO `+to); err != nil {
			t.Fatal(err)
		}
	}
	rename("river_job", "away")
	if n, up := gathered(); up != 0 || !cmp.Equal(map[string]int{"prosecutor_database_up": 1, "prosecutor_queue_jobs_recovered_total": 1}, n) {
		t.Errorf("while the jobs cannot be counted: up %v, %v", up, n)
	}
	rename("away", "river_job")
	if n, up := gathered(); up != 1 || !cmp.Equal(all, n) {
		t.Errorf("when they can be again: up %v, %v", up, n)
	}
	o.Registry = registry
	if _, err := New(t.Context(), q.st, o); err == nil {
		t.Error("metrics were registered twice")
	}
}

func TestStartWithoutWorkers(t *testing.T) {
	q := newQueue(t, storetest.Open(t, filepath.Join(t.TempDir(), "p.db")), quick())
	if err := q.Start(t.Context()); err == nil {
		t.Error("a queue without workers was started")
	}
	stop(t, q) // does nothing
	begin(t, q, idle())
	if err := q.Start(t.Context()); err == nil {
		t.Error("a queue was started twice")
	}
}

var errBoom = errors.New("boom")
