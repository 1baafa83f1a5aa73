package queue

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/app/store/storetest"
)

// The test binary is also the process that is killed: it begins jobs, says so, and never finishes one.
const childURL = "QUEUE_TEST_CHILD_URL"

func child(url string) int {
	ctx := context.Background()
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s, err := store.Open(ctx, url)
	if err != nil {
		return fail(err)
	}
	q, err := New(ctx, s, quick())
	if err != nil {
		return fail(err)
	}
	w := idle()
	w.Judge = func(_ context.Context, j JudgeArgs) error {
		fmt.Printf("began %d\n", j.RunID)
		select {}
	}
	q.Handle(w)
	if err := q.Start(ctx); err != nil {
		return fail(err)
	}
	select {}
}

// testKill kills a process with kill -9 while it is at some jobs. On SQLite the next process takes them up as it starts,
// without waiting for the silence to be long enough: here that would take an hour. On PostgreSQL another process is at work
// beside it and notices.
func testKill(t *testing.T, d storetest.Database) {
	const n = 3
	url := d.URL(t)
	s := storetest.Open(t, url)
	o := quick()
	o.Dead = time.Hour
	if d.Dialect == store.Postgres {
		o.Dead = time.Second
	}
	q := newQueue(t, s, o)
	for i := range n {
		enqueue(t, q, JudgeArgs{RepoID: 1, PR: i, RunID: int64(i)})
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childURL+"="+url)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range n {
		if !lines.Scan() {
			break
		}
	}
	done := make(chan int64, 2*n)
	w := idle()
	w.Judge = func(ctx context.Context, j JudgeArgs) error {
		if attempt, _ := Attempt(ctx); attempt != 1 {
			t.Errorf("the crash used up an attempt: %d", attempt)
		}
		done <- j.RunID
		return nil
	}
	if d.Dialect == store.Postgres {
		begin(t, q, w)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Exited() {
		t.Fatalf("the child ended by itself: %v: %s", err, stderr.String())
	}
	if d.Dialect == store.SQLite {
		begin(t, q, w)
	}
	seen := map[string]bool{}
	for range n {
		seen[strconv.FormatInt(receive(t, done, "job"), 10)] = true
	}
	if len(seen) != n || len(done) > 0 {
		t.Errorf("jobs %v were done, and %d more", seen, len(done))
	}
}
