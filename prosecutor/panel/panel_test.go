package panel_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/attribution"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/static"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
)

const (
	correctness = prosecutor.Correctness
	security    = prosecutor.Security
	spec        = prosecutor.Spec
)

func caseOf(t *testing.T, lenses ...prosecutor.Lens) panel.Case {
	t.Helper()
	return panel.Case{
		Brief: brief(t, change), Lenses: lenses, Radius: prosecutor.RadiusLow, Policy: config.DefaultPolicy(), Repo: "acme/pay",
	}
}

func run(t *testing.T, pool *judge.Pool, c panel.Case) []panel.LensResult {
	t.Helper()
	return panel.New(pool, panel.Options{}).Run(t.Context(), c)
}

func dry(n int) *config.Policy {
	p := config.DefaultPolicy()
	p.Prosecution.DryPasses = n
	return p
}

func TestAllLensesRunAndSeeTheSameCase(t *testing.T) {
	s := newScript(t).under(correctness, fern.ID, block()).under(security, fern.ID, ship()).under(spec, fern.ID, ship())
	results := run(t, poolOf(t, s, judge.PoolOptions{}, fern), caseOf(t, correctness, security, spec))
	for i, want := range []prosecutor.Verdict{prosecutor.Block, prosecutor.Ship, prosecutor.Ship} {
		if results[i].Verdict != want || results[i].Judge != fern {
			t.Errorf("%s: %s by %s, want %s", results[i].Lens, results[i].Verdict, results[i].Judge.ID, want)
		}
	}
	findings := results[0].Findings()
	if len(findings) != 1 || findings[0].Place.StartLine != 3 || findings[0].Origin != fern.ID || findings[0].Lens != correctness {
		t.Errorf("findings %+v, want the one accusation, located and signed", findings)
	}
}

// The lenses really run beside each other: each waits in its call until all of them are in theirs.
func TestLensesRunInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrived, all := make(chan struct{}, 3), make(chan struct{})
		meet := ship()
		meet.before = func(context.Context) {
			arrived <- struct{}{}
			<-all
		}
		s := newScript(t).under(correctness, fern.ID, meet).under(security, fern.ID, meet).under(spec, fern.ID, meet)
		pool := poolOf(t, s, judge.PoolOptions{}, fern)
		go func() {
			for range 3 {
				<-arrived
			}
			close(all)
		}()
		for _, r := range run(t, pool, caseOf(t, correctness, security, spec)) {
			if r.Verdict != prosecutor.Ship {
				t.Errorf("%s: %s", r.Lens, r.Verdict)
			}
		}
	})
}

func TestEveryPassIsAFreshConversationWithItsOwnNonce(t *testing.T) {
	s := newScript(t).under(correctness, fern.ID, ship(), ship(), ship())
	c := caseOf(t, correctness)
	c.Policy = dry(3)
	r := run(t, poolOf(t, s, judge.PoolOptions{}, fern), c)[0]
	if r.Verdict != prosecutor.Ship || r.Dry != 3 || len(r.Passes) != 3 || s.conversations != 3 {
		t.Fatalf("%s, %d dry of %d passes in %d conversations; want 3", r.Verdict, r.Dry, len(r.Passes), s.conversations)
	}
	slices.Sort(s.texts)
	if len(slices.Compact(s.texts)) != 3 {
		t.Error("two calls had the same nonce")
	}
	if r.Passes[0].PromptHash == "" || r.Passes[0].PromptHash != r.Passes[2].PromptHash {
		t.Errorf("prompt hashes %q and %q differ for one prompt", r.Passes[0].PromptHash, r.Passes[2].PromptHash)
	}
}

func TestNonceIsTheCallersChoice(t *testing.T) {
	s := newScript(t).under(correctness, fern.ID, ship())
	p := panel.New(poolOf(t, s, judge.PoolOptions{}, fern), panel.Options{Nonce: func() string { return "chosen-by-the-test" }})
	p.Run(t.Context(), caseOf(t, correctness))
	if len(s.texts) != 1 || !strings.Contains(s.texts[0], "chosen-by-the-test") {
		t.Error("the prompt does not carry the nonce")
	}
}

func TestFallbackIsOnRecord(t *testing.T) {
	s := newScript(t).under(correctness, fern.ID, ship(), fails(prosecutor.Timeout)).under(correctness, moss.ID, ship(), ship())
	c := caseOf(t, correctness)
	c.Policy = dry(2)
	var events recorder
	c.Observer = &events
	r := run(t, poolOf(t, s, judge.PoolOptions{}, fern, moss), c)[0]

	if r.Verdict != prosecutor.Ship || r.Judge != moss || r.Dry != 2 || r.ErrorKind != "" || r.Err != nil {
		t.Errorf("%s by %s with %d dry passes (%s, %v); want a ship of moss-pro's own", r.Verdict, r.Judge.ID, r.Dry, r.ErrorKind, r.Err)
	}
	if len(r.Attempts) != 2 || r.Attempts[0].ErrorKind != prosecutor.Timeout || r.PassesBegun() != 4 || r.Calls != 4 {
		t.Errorf("%d attempts, %d passes, %d calls; want 2, 4, 4", len(r.Attempts), r.PassesBegun(), r.Calls)
	}
	if !slices.Equal(r.Failures(), []prosecutor.ErrorKind{prosecutor.Timeout}) {
		t.Errorf("failures %v, want the replaced judge's", r.Failures())
	}
	if !slices.Equal(r.Skipped, []judge.Skip{{Judge: fern.ID, Why: judge.SkipFailed}}) {
		t.Errorf("skipped %v, want the judge that failed", r.Skipped)
	}
	want := []string{
		"correctness waiting",
		"correctness started fern-large",
		"correctness pass_done fern-large 1/2 ship",
		"correctness pass_done fern-large 2/2 error",
		"correctness fell_back fern-large error timeout",
		"correctness started moss-pro",
		"correctness pass_done moss-pro 1/2 ship",
		"correctness pass_done moss-pro 2/2 ship",
		"correctness finished moss-pro ship",
	}
	if diff := cmp.Diff(want, events.lines); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A judge that failed takes no accusation back that it made in an earlier pass.
func TestFindingsOfAReplacedJudgeStay(t *testing.T) {
	remark := pass{answers: []string{`{"verdict":"ship","findings":[{"severity":"low","charge":"tests","claim":"No test covers the new limit."}]}`}}
	s := newScript(t).under(correctness, fern.ID, remark, fails(prosecutor.Transport)).under(correctness, moss.ID, remark, ship())
	c := caseOf(t, correctness)
	c.Policy = dry(2)
	r := run(t, poolOf(t, s, judge.PoolOptions{}, fern, moss), c)[0]
	if f := r.Findings(); r.Verdict != prosecutor.Ship || len(f) != 1 || f[0].Origin != fern.ID {
		t.Errorf("%s with %+v; want one finding, once, of whoever made it first", r.Verdict, f)
	}
}

func TestOurOwnFailuresEndTheLens(t *testing.T) {
	for _, kind := range []prosecutor.ErrorKind{prosecutor.Auth, prosecutor.Panic} {
		t.Run(string(kind), func(t *testing.T) {
			s := newScript(t).under(correctness, fern.ID, fails(kind)).under(security, fern.ID, ship())
			results := run(t, poolOf(t, s, judge.PoolOptions{}, fern, moss), caseOf(t, correctness, security))
			if r := results[0]; r.Verdict != prosecutor.Errored || r.ErrorKind != kind || r.Err == nil || len(r.Attempts) != 1 {
				t.Errorf("%s, %s after %d attempts; want %s, and nobody else asked", r.Verdict, r.ErrorKind, len(r.Attempts), kind)
			}
			if results[1].Verdict != prosecutor.Ship {
				t.Errorf("the other lens: %s", results[1].Verdict)
			}
		})
	}
}

func TestExhaustionIsNeverHiddenByAnotherFailure(t *testing.T) {
	exhausted := fails(prosecutor.Quota)
	exhausted.reset = true
	t.Run("an earlier judge's", func(t *testing.T) {
		s := newScript(t).under(correctness, fern.ID, exhausted).under(correctness, moss.ID, fails(prosecutor.Refusal))
		p := panel.New(poolOf(t, s, judge.PoolOptions{Now: clock}, fern, moss), panel.Options{Now: clock})
		r := p.Run(t.Context(), caseOf(t, correctness))[0]
		if r.ErrorKind != prosecutor.Quota || !r.ResetAt.Equal(resetAt) {
			t.Errorf("%s until %v, want quota until the reset time", r.ErrorKind, r.ResetAt)
		}
		if diff := cmp.Diff([]prosecutor.ErrorKind{prosecutor.Quota, prosecutor.Refusal}, r.Failures()); diff != "" {
			t.Errorf("failures (-want +got):\n%s", diff)
		}
	})
	t.Run("of a judge that was not asked", func(t *testing.T) {
		s := newScript(t).under(correctness, moss.ID, fails(prosecutor.Timeout))
		pool := poolOf(t, s, judge.PoolOptions{Now: clock}, fern, moss)
		pool.Trip("northgate", resetAt)
		r := run(t, pool, caseOf(t, correctness))[0]
		if r.ErrorKind != prosecutor.Quota || !r.Waiting || !r.ResetAt.Equal(resetAt) || r.Judge != moss {
			t.Errorf("%s, waiting %v, until %v; an eligible judge is left and only exhausted", r.ErrorKind, r.Waiting, r.ResetAt)
		}
		if !strings.Contains(r.Err.Error(), "fern-large (breaker_open)") || strings.Contains(r.Err.Error(), "\n") {
			t.Errorf("error %q, want who is exhausted, on one line", r.Err)
		}
	})
	t.Run("from the start", func(t *testing.T) {
		pool := poolOf(t, newScript(t), judge.PoolOptions{Now: clock}, fern)
		pool.Trip("northgate", resetAt)
		r := run(t, pool, caseOf(t, correctness))[0]
		if r.Verdict != prosecutor.Errored || r.ErrorKind != prosecutor.Quota || !r.Waiting || r.Calls != 0 || !r.ResetAt.Equal(resetAt) {
			t.Errorf("%s, %s, waiting %v, %d calls; want exhaustion without a call", r.Verdict, r.ErrorKind, r.Waiting, r.Calls)
		}
	})
}

// A breaker that opens between two dry passes ends that judge's attempt: it would only fail.
func TestBreakerBetweenPasses(t *testing.T) {
	var pool *judge.Pool
	first := ship()
	first.before = func(context.Context) { pool.Trip("northgate", time.Time{}) }
	s := newScript(t).under(correctness, fern.ID, first).under(correctness, moss.ID, ship(), ship())
	pool = poolOf(t, s, judge.PoolOptions{}, fern, moss)
	c := caseOf(t, correctness)
	c.Policy = dry(2)
	r := run(t, pool, c)[0]
	if r.Verdict != prosecutor.Ship || r.Judge != moss || r.Dry != 2 {
		t.Errorf("%s by %s with %d dry passes, want all of them by moss-pro", r.Verdict, r.Judge.ID, r.Dry)
	}
	if a := r.Attempts[0]; a.Verdict != prosecutor.Errored || a.ErrorKind != prosecutor.Quota || len(a.Passes) != 1 {
		t.Errorf("first attempt: %s, %s", a.Verdict, a.ErrorKind)
	}
}

func TestBuildersFamilyNeverJudges(t *testing.T) {
	s := newScript(t).under(correctness, fern.ID, fails(prosecutor.Timeout))
	c := caseOf(t, correctness)
	c.Builder = attribution.Result{Families: []string{"quill"}}
	r := run(t, poolOf(t, s, judge.PoolOptions{}, quill, fern), c)[0]
	if r.Verdict != prosecutor.Errored || r.ErrorKind != prosecutor.Timeout || r.SameFamily {
		t.Errorf("%s, %s by %s: the builder's family is no fallback for one that failed", r.Verdict, r.ErrorKind, r.Judge.ID)
	}
	if r.Skipped[0] != (judge.Skip{Judge: quill.ID, Why: judge.SkipBuilderFamily}) {
		t.Errorf("skipped %v", r.Skipped)
	}
}

func TestSameFamilyIsMarked(t *testing.T) {
	s := newScript(t).under(correctness, quill.ID, ship())
	c := caseOf(t, correctness)
	c.Builder = attribution.Result{Families: []string{"quill"}}
	r := run(t, poolOf(t, s, judge.PoolOptions{}, quill), c)[0]
	if r.Verdict != prosecutor.Ship || !r.SameFamily || r.Independence != config.IndependencePreferred {
		t.Errorf("%s, same family %v, independence %s", r.Verdict, r.SameFamily, r.Independence)
	}
}

func TestNoIndependentJudge(t *testing.T) {
	c := caseOf(t, correctness, security)
	c.Builder, c.SelfModifying = attribution.Result{Families: []string{"quill"}}, true
	for _, r := range run(t, poolOf(t, newScript(t), judge.PoolOptions{}, quill), c) {
		if !r.NoJudge || r.Verdict != prosecutor.Errored || r.ErrorKind != "" || r.Err == nil || r.Independence != config.IndependenceRequired {
			t.Errorf("%s: no judge %v, %s, %q, %v", r.Lens, r.NoJudge, r.Verdict, r.ErrorKind, r.Err)
		}
	}
}

func TestPreferredOrder(t *testing.T) {
	s := newScript(t).under(correctness, moss.ID, ship())
	c := caseOf(t, correctness)
	c.Builder = attribution.Result{Families: []string{"quill"}}
	c.Policy.Judges.Prefer = map[string][]string{"quill": {moss.ID}}
	if r := run(t, poolOf(t, s, judge.PoolOptions{}, fern, moss), c)[0]; r.Judge != moss {
		t.Errorf("judged by %s, want the policy's choice", r.Judge.ID)
	}
}

func TestLensesOfAnUnknownAgentAreSpread(t *testing.T) {
	unknown := attribution.Result{UnknownAgent: true}
	t.Run("over two families", func(t *testing.T) {
		s := newScript(t).under(correctness, fern.ID, ship()).under(security, moss.ID, ship()).under(spec, fern.ID, ship())
		c := caseOf(t, correctness, security, spec)
		c.Builder, c.Radius = unknown, prosecutor.RadiusHigh
		for _, r := range run(t, poolOf(t, s, judge.PoolOptions{}, fern, moss), c) {
			if r.Verdict != prosecutor.Ship {
				t.Errorf("%s: %s by %s", r.Lens, r.Verdict, r.Judge.ID)
			}
		}
	})
	t.Run("also after a fallback", func(t *testing.T) {
		// moss fails; fern judges the other lens and must not take this one too.
		s := newScript(t).under(correctness, fern.ID, ship()).under(security, moss.ID, fails(prosecutor.Timeout)).under(security, quill.ID, ship())
		c := caseOf(t, correctness, security)
		c.Builder = unknown
		results := run(t, poolOf(t, s, judge.PoolOptions{}, fern, moss, quill), c)
		if r := results[1]; r.Verdict != prosecutor.Ship || r.Judge != quill {
			t.Errorf("%s by %s, want a third family", r.Verdict, r.Judge.ID)
		}
	})
	t.Run("and held where that is impossible", func(t *testing.T) {
		s := newScript(t).under(correctness, fern.ID, ship()).under(security, moss.ID, fails(prosecutor.Timeout))
		c := caseOf(t, correctness, security)
		c.Builder = unknown
		if r := run(t, poolOf(t, s, judge.PoolOptions{}, fern, moss), c)[1]; r.Verdict != prosecutor.Errored || r.ErrorKind != prosecutor.Timeout {
			t.Errorf("%s, %s by %s", r.Verdict, r.ErrorKind, r.Judge.ID)
		}
	})
	t.Run("with one family only, required", func(t *testing.T) {
		c := caseOf(t, correctness, security, spec)
		c.Builder, c.Radius = unknown, prosecutor.RadiusHigh
		for _, r := range run(t, poolOf(t, newScript(t), judge.PoolOptions{}, fern), c) {
			if !r.NoJudge || !strings.Contains(r.Err.Error(), "unknown family") {
				t.Errorf("%s: no judge %v, %v", r.Lens, r.NoJudge, r.Err)
			}
		}
	})
	t.Run("with one family only, preferred", func(t *testing.T) {
		s := newScript(t).under(correctness, fern.ID, ship()).under(security, fern.ID, ship())
		c := caseOf(t, correctness, security)
		c.Builder = unknown
		for _, r := range run(t, poolOf(t, s, judge.PoolOptions{}, fern), c) {
			if r.Verdict != prosecutor.Ship {
				t.Errorf("%s: %s", r.Lens, r.Verdict)
			}
		}
	})
	t.Run("while capacity is short", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			one := judge.Limits{Concurrency: 1}
			s := newScript(t)
			for range 2 {
				for _, id := range []string{fern.ID, moss.ID} {
					s.under(correctness, id, ship()).under(security, id, ship())
				}
			}
			pool := poolOf(t, s, judge.PoolOptions{Limits: map[string]judge.Limits{fern.ID: one, moss.ID: one}}, fern, moss)
			done := make(chan []panel.LensResult)
			for range 2 {
				c := caseOf(t, correctness, security)
				c.Builder = unknown
				go func() { done <- panel.New(pool, panel.Options{}).Run(t.Context(), c) }()
			}
			for range 2 {
				// Two cases with two lenses, and one slot each: they do not wait for each other for ever.
				if r := <-done; r[0].Judge.Family == r[1].Judge.Family {
					t.Errorf("both lenses were judged by %s", r[0].Judge.Family)
				}
			}
		})
	})
}

func TestRulesJudgeOnlyWhereNothingElseIsConfigured(t *testing.T) {
	c := caseOf(t, correctness)
	c.Builder, c.SelfModifying = attribution.Result{UnknownAgent: true, Families: []string{"fern"}}, true
	pool, err := judge.NewPool([]judge.Judge{static.New()}, judge.PoolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, pool, c)[0]
	if r.Verdict != prosecutor.Ship || !r.Judge.Static || r.SameFamily {
		t.Errorf("%s by %+v (%v)", r.Verdict, r.Judge, r.Err)
	}

	s := newScript(t).under(correctness, fern.ID, fails(prosecutor.Transport))
	r = run(t, poolOf(t, s, judge.PoolOptions{}, rules, fern), caseOf(t, correctness))[0]
	if r.Verdict != prosecutor.Errored || r.ErrorKind != prosecutor.Transport {
		t.Errorf("%s by %s: an outage turned prosecution into linting", r.Verdict, r.Judge.ID)
	}
}

func TestChangeThatNeedsNoJudge(t *testing.T) {
	pool := poolOf(t, newScript(t), judge.PoolOptions{}, quill)
	for name, text := range map[string]string{"blank": " \n", "too large": strings.Repeat("x", contract.MaxCodePoints+1)} {
		c := caseOf(t, correctness, security)
		c.Brief = &charter.Brief{Diff: c.Brief.Diff, Text: text}
		c.Builder, c.SelfModifying = attribution.Result{Families: []string{"quill"}}, true
		for _, r := range run(t, pool, c) {
			if r.Verdict != prosecutor.Block || r.Calls != 0 || len(r.Findings()) != 1 || r.PassesBegun() != 1 {
				t.Errorf("%s, %s: %s after %d calls with %+v", name, r.Lens, r.Verdict, r.Calls, r.Findings())
			}
		}
	}
}

func TestCancelledCase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		hang := pass{before: func(ctx context.Context) { <-ctx.Done() }}
		s := newScript(t).under(correctness, fern.ID, hang)
		pool := poolOf(t, s, judge.PoolOptions{Limits: map[string]judge.Limits{fern.ID: {Concurrency: 1}}}, fern)
		go func() {
			synctest.Wait() // one lens is in its call, the other waits for the slot
			cancel()
		}()
		results := panel.New(pool, panel.Options{}).Run(ctx, caseOf(t, correctness, security))
		for _, r := range results {
			if r.Verdict != prosecutor.Errored || r.ErrorKind != prosecutor.Canceled || r.Err == nil || r.Waiting {
				t.Errorf("%s: %s, %s, %v", r.Lens, r.Verdict, r.ErrorKind, r.Err)
			}
		}
		if pool.Waiting() != 0 || pool.Snapshot()[0].FreeSlots != 1 {
			t.Error("the case left a waiter or a slot behind")
		}
	})
}

func TestDeadlineWhileWaitingIsNoFailureOfAJudge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := poolOf(t, newScript(t), judge.PoolOptions{Limits: map[string]judge.Limits{fern.ID: {Concurrency: 1}}}, fern)
		busy, _, err := pool.Acquire(t.Context(), judge.Want{})
		if err != nil {
			t.Fatal(err)
		}
		defer busy.Release()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := panel.New(pool, panel.Options{}).Run(ctx, caseOf(t, correctness))[0]
		if r.Verdict != prosecutor.Errored || !r.Waiting || r.ErrorKind != "" || !errors.Is(r.Err, context.DeadlineExceeded) {
			t.Errorf("%s, waiting %v, %q, %v", r.Verdict, r.Waiting, r.ErrorKind, r.Err)
		}
		if !slices.Equal(r.Skipped, []judge.Skip{{Judge: fern.ID, Why: judge.SkipNoCapacity}}) {
			t.Errorf("skipped %v, want who was busy", r.Skipped)
		}
	})
}

func TestPassHasATimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := pass{before: func(ctx context.Context) { <-ctx.Done() }}
		s := newScript(t).under(correctness, fern.ID, hang).under(correctness, moss.ID, ship())
		start := time.Now()
		r := run(t, poolOf(t, s, judge.PoolOptions{}, fern, moss), caseOf(t, correctness))[0]
		if r.Verdict != prosecutor.Ship || !slices.Equal(r.Failures(), []prosecutor.ErrorKind{prosecutor.Timeout}) {
			t.Errorf("%s after %v; want the next judge after a timeout", r.Verdict, r.Failures())
		}
		if took := time.Since(start); took != contract.DefaultTimeout {
			t.Errorf("gave up after %v of the clock, want %v", took, contract.DefaultTimeout)
		}
	})
}

// A judge that was given more time than a pass has by default has it, and one that was given less leaves the pass its time: an
// answer may be repaired.
func TestPassIsAsLongAsItsJudgeMayTake(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{20 * time.Minute: 20 * time.Minute, time.Minute: contract.DefaultTimeout} {
		synctest.Test(t, func(t *testing.T) {
			hang := pass{before: func(ctx context.Context) { <-ctx.Done() }}
			s := newScript(t).under(correctness, fern.ID, hang, hang)
			pool := poolOf(t, s, judge.PoolOptions{Limits: map[string]judge.Limits{fern.ID: {Timeout: given}}}, fern)
			start := time.Now()
			if r := run(t, pool, caseOf(t, correctness))[0]; !slices.Equal(r.Failures(), []prosecutor.ErrorKind{prosecutor.Timeout}) {
				t.Errorf("%s after %v", r.Verdict, r.Failures())
			}
			if took := time.Since(start); took != want {
				t.Errorf("a pass of a judge with %v gave up after %v of the clock, want %v", given, took, want)
			}
			accused := accusation()
			accused.Origin = moss.ID
			start = time.Now()
			if _, err := panel.New(pool, panel.Options{}).Verify(t.Context(), panel.VerifyCase{Brief: brief(t, change), Finding: accused}); err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took != want {
				t.Errorf("a verification by a judge with %v gave up after %v of the clock, want %v", given, took, want)
			}
		})
	}
}

// A lens gives its slot back between its passes: with one slot, the lens that waits has the second turn.
func TestSlotIsGivenBackBetweenPasses(t *testing.T) {
	s := newScript(t).under(correctness, fern.ID, ship(), ship()).under(security, fern.ID, ship(), ship())
	c := caseOf(t, correctness, security)
	c.Policy = dry(2)
	pool := poolOf(t, s, judge.PoolOptions{Limits: map[string]judge.Limits{fern.ID: {Concurrency: 1}}}, fern)
	for _, r := range run(t, pool, c) {
		if r.Verdict != prosecutor.Ship || r.Dry != 2 {
			t.Errorf("%s: %s, %d dry", r.Lens, r.Verdict, r.Dry)
		}
	}
	if s.order[1] != key(fern.ID, security) {
		t.Errorf("order %v: one lens kept its slot", s.order)
	}
}

func TestBugInTheCaseIsNoVerdict(t *testing.T) {
	c := caseOf(t, correctness)
	c.Observer = panel.ObserverFunc(func(e panel.Event) {
		if e.Kind == panel.Started {
			panic("a bug")
		}
	})
	pool := poolOf(t, newScript(t), judge.PoolOptions{}, fern)
	r := run(t, pool, c)[0]
	var bug *contract.PanicError
	if r.Verdict != prosecutor.Errored || r.ErrorKind != prosecutor.Panic || !errors.As(r.Err, &bug) || strings.Contains(r.Err.Error(), "a bug") {
		t.Errorf("%s, %s, %v; want a panic that says no more than its type", r.Verdict, r.ErrorKind, r.Err)
	}
	if free := pool.Snapshot()[0].FreeSlots; free != judge.DefaultConcurrency {
		t.Errorf("%d slots are free after a panic, want all", free)
	}
}
