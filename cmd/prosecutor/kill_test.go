package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/convergence/store"
)

// kills is how often a test kills: a few times in the ordinary run, as often as PROSECUTOR_KILLS says in the long one.
func kills(t *testing.T, ordinary int) int {
	t.Helper()
	v := os.Getenv("PROSECUTOR_KILLS")
	if v == "" {
		return ordinary
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("PROSECUTOR_KILLS: %v", err)
	}
	return n
}

// However a review is killed, the ledger opens afterwards and is whole: it holds either the lap or no trace of it, and
// the next run decides as if nothing had happened.
func TestKilledReviewLeavesAWholeLedger(t *testing.T) {
	g := branch(t, "", "src/a.go", "package a\n\nvar N = 2\n")
	state := t.TempDir()
	file := filepath.Join(state, "prosecutor", "ledger.db")
	rnd := rand.New(rand.NewPCG(1, 2))
	killed := 0
	for i := range kills(t, 12) {
		g.Write("src/a.go", fmt.Sprintf("package a\n\nvar N = %d\n", i+3)).Commit(fmt.Sprintf("push %d", i))
		cmd := program(context.Background(), t, g.Dir, state, "review", "--format", "json")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(rnd.Int64N(int64(120*time.Millisecond))), func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		if exitCode(err) == -1 {
			killed++
		} else if code := exitCode(err); code != 0 {
			t.Fatalf("run %d: exit %d", i, code)
		}
		if _, err := os.Stat(file); os.IsNotExist(err) {
			continue
		}
		s, err := store.Open(context.Background(), file)
		if err != nil {
			t.Fatalf("after kill %d the ledger does not open: %v", i, err)
		}
		l, err := s.Load(context.Background(), convergence.Key{Repo: realPath(t, filepath.Join(g.Dir, ".git")), Change: "feature"})
		if err != nil {
			t.Fatalf("after kill %d: %v", i, err)
		}
		if n := len(l.LapDecisions); n != l.Laps || len(l.LapHeads) != n || len(l.LapSignatures) != n || l.Laps > i+1 {
			t.Fatalf("after kill %d the ledger is torn: %d laps, %d decisions, %d heads, %d sets", i, l.Laps, n, len(l.LapHeads), len(l.LapSignatures))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if killed == 0 {
		t.Error("nothing was killed: the delays are too long to show anything")
	}
	t.Setenv("XDG_STATE_HOME", state)
	if o := reviewJSON(t, g.Dir); o.code != 0 || o.doc.Ledger == nil || !o.doc.Ledger.Converged {
		t.Errorf("the run after the kills: exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

func realPath(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}
