package evidence_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
)

var clean = prosecutor.Evidence{Source: prosecutor.HollowTest, State: prosecutor.Clean}

func TestMemoComputesOncePerHead(t *testing.T) {
	memo, runs := evidence.NewMemo(0), 0
	once := func(head string) prosecutor.Evidence {
		e, err := memo.Once(t.Context(), head, func(context.Context) (prosecutor.Evidence, error) {
			runs++
			return clean, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	once("a")
	if got := once("a"); got.State != prosecutor.Clean || runs != 1 {
		t.Errorf("%d runs and %s, want one run and clean", runs, got.State)
	}
	once("b")
	if runs != 2 {
		t.Errorf("%d runs, want one for each head", runs)
	}
	memo.Remember("c", clean)
	once("c")
	if runs != 2 {
		t.Error("evidence that was remembered was computed")
	}
	memo.Forget("a")
	once("a")
	if runs != 3 {
		t.Error("evidence that was forgotten was not computed again")
	}
}

func TestMemoForgetsTheOldestHead(t *testing.T) {
	memo, runs := evidence.NewMemo(2), map[string]int{}
	for _, head := range []string{"a", "b", "a", "c", "b", "c", "a"} {
		_, err := memo.Once(t.Context(), head, func(context.Context) (prosecutor.Evidence, error) {
			runs[head]++
			return clean, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if runs["a"] != 2 || runs["b"] != 1 || runs["c"] != 1 {
		t.Errorf("runs %v, want only the oldest head computed again", runs)
	}
}

func TestMemoRemembersNoFailure(t *testing.T) {
	memo, broken := evidence.NewMemo(0), errors.New("no such command")
	_, err := memo.Once(t.Context(), "a", func(context.Context) (prosecutor.Evidence, error) { return prosecutor.Evidence{}, broken })
	if !errors.Is(err, broken) {
		t.Fatalf("got %v, want the failure", err)
	}
	if e, err := memo.Once(t.Context(), "a", func(context.Context) (prosecutor.Evidence, error) { return clean, nil }); err != nil || e.State != prosecutor.Clean {
		t.Errorf("got %v, %v after a failure; want it computed again", e, err)
	}
}

func TestMemoSharesAComputation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memo := evidence.NewMemo(0)
		var runs atomic.Int32
		release, done := make(chan struct{}), make(chan prosecutor.EvidenceState)
		for range 3 {
			go func() {
				e, err := memo.Once(t.Context(), "a", func(context.Context) (prosecutor.Evidence, error) {
					runs.Add(1)
					<-release
					return clean, nil
				})
				if err != nil {
					t.Error(err)
				}
				done <- e.State
			}()
		}
		synctest.Wait()
		close(release)
		for range 3 {
			if state := <-done; state != prosecutor.Clean {
				t.Errorf("got %q, want what the one computation found", state)
			}
		}
		if n := runs.Load(); n != 1 {
			t.Errorf("%d computations, want 1", n)
		}
	})
}

func TestMemoOutlivesACancelledCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memo := evidence.NewMemo(0)
		first, giveUp := context.WithCancel(t.Context())
		go func() {
			_, err := memo.Once(first, "a", func(ctx context.Context) (prosecutor.Evidence, error) {
				<-ctx.Done()
				return prosecutor.Evidence{}, ctx.Err()
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the caller's own end", err)
			}
		}()
		synctest.Wait()
		impatient, leave := context.WithCancel(t.Context())
		go func() {
			if _, err := memo.Once(impatient, "a", nil); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the waiting caller's own end", err)
			}
		}()
		second := make(chan prosecutor.EvidenceState)
		go func() {
			e, err := memo.Once(t.Context(), "a", func(context.Context) (prosecutor.Evidence, error) { return clean, nil })
			if err != nil {
				t.Error(err)
			}
			second <- e.State
		}()
		synctest.Wait()
		leave()
		synctest.Wait()
		giveUp()
		if state := <-second; state != prosecutor.Clean {
			t.Errorf("got %q; one caller's end was another's failure", state)
		}
	})
}

func TestMemoSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memo, release, waited := evidence.NewMemo(0), make(chan struct{}), make(chan error)
		go func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			memo.Once(t.Context(), "a", func(context.Context) (prosecutor.Evidence, error) {
				<-release
				panic("a bug")
			})
		}()
		synctest.Wait()
		go func() {
			_, err := memo.Once(t.Context(), "a", nil)
			waited <- err
		}()
		synctest.Wait()
		close(release)
		if err := <-waited; err == nil {
			t.Error("who waited for the computation got no error")
		}
		if e, err := memo.Once(t.Context(), "a", func(context.Context) (prosecutor.Evidence, error) { return clean, nil }); err != nil || e.State != prosecutor.Clean {
			t.Errorf("got %v, %v after a panic; want it computed again", e, err)
		}
	})
}
