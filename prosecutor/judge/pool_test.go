package judge_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	fern   = judge.Info{ID: "fern-large", Family: "fern", Provider: "northgate"}
	onyx   = judge.Info{ID: "onyx-1", Family: "onyx", Provider: "northgate"}
	moss   = judge.Info{ID: "moss-pro", Family: "moss", Provider: "harbour"}
	quill  = judge.Info{ID: "quill-max", Family: "quill", Provider: "quill-cloud"}
	odd    = judge.Info{ID: "mystery-7", Provider: "mystery-cloud"}
	static = judge.Info{ID: "static", Family: "static", Provider: "static", Static: true}
)

// scripted answers every call with the same reply or failure.
type scripted struct {
	info  judge.Info
	reply judge.Reply
	err   error
}

func (s scripted) Info() judge.Info { return s.info }

func (s scripted) Ask(context.Context, judge.Request) (judge.Reply, error) { return s.reply, s.err }

func newPool(t *testing.T, opts judge.PoolOptions, infos ...judge.Info) *judge.Pool {
	t.Helper()
	judges := make([]judge.Judge, len(infos))
	for i, info := range infos {
		judges[i] = scripted{info: info}
	}
	return poolOf(t, opts, judges...)
}

func poolOf(t *testing.T, opts judge.PoolOptions, judges ...judge.Judge) *judge.Pool {
	t.Helper()
	pool, err := judge.NewPool(judges, opts)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

func acquire(t *testing.T, pool *judge.Pool, w judge.Want) *judge.Lease {
	t.Helper()
	lease, sel, err := pool.Acquire(t.Context(), w)
	if err != nil {
		t.Fatalf("no judge: %v (%+v)", err, sel)
	}
	return lease
}

func idle(infos ...judge.Info) []judge.State {
	states := make([]judge.State, len(infos))
	for i, info := range infos {
		states[i] = judge.State{Info: info, FreeSlots: 1}
	}
	return states
}

func TestSelectBeyondTheVectors(t *testing.T) {
	required, preferred := config.IndependenceRequired, config.IndependencePreferred
	busyMoss := judge.State{Info: moss}
	for _, tc := range []struct {
		name     string
		criteria judge.Criteria
		judges   []judge.State
		outcome  judge.Outcome
		judge    string
		skipped  []judge.Skip
	}{
		{name: "nobody is configured", outcome: judge.OutcomeEscalate},
		{
			name:     "the preferred order for the builder's family",
			criteria: judge.Criteria{BuilderFamilies: []string{"quill"}, Radius: "low", Prefer: map[string][]string{"Quill": {"moss-pro", "nobody"}, "fern": {"onyx-1"}}},
			judges:   idle(fern, onyx, moss), outcome: judge.OutcomeJudge, judge: "moss-pro",
		},
		{
			name:     "a preference excludes nobody",
			criteria: judge.Criteria{BuilderFamilies: []string{"quill"}, Radius: "low", Prefer: map[string][]string{"quill": {"moss-pro"}}},
			judges:   append([]judge.State{busyMoss}, idle(fern)...), outcome: judge.OutcomeJudge, judge: "fern-large",
			skipped: []judge.Skip{{Judge: "moss-pro", Why: judge.SkipNoCapacity}},
		},
		{
			name:     "a preference does not make a family judge its own work",
			criteria: judge.Criteria{BuilderFamilies: []string{"quill"}, Radius: "low", Prefer: map[string][]string{"quill": {"quill-max"}}},
			judges:   idle(fern, quill), outcome: judge.OutcomeJudge, judge: "fern-large",
			skipped: []judge.Skip{{Judge: "quill-max", Why: judge.SkipBuilderFamily}},
		},
		{
			name:     "families compare without regard to case",
			criteria: judge.Criteria{BuilderFamilies: []string{"Quill "}, Radius: "high"},
			judges:   idle(quill, fern), outcome: judge.OutcomeJudge, judge: "fern-large",
			skipped: []judge.Skip{{Judge: "quill-max", Why: judge.SkipBuilderFamily}},
		},
		{
			name:     "an unknown family may judge people where independence is required",
			criteria: judge.Criteria{Radius: "high"},
			judges:   idle(odd), outcome: judge.OutcomeJudge, judge: "mystery-7",
		},
		{
			name:     "an unknown family may not judge an unknown agent where independence is required",
			criteria: judge.Criteria{UnknownAgent: true, Radius: "high", Lenses: 3},
			judges:   idle(odd, fern), outcome: judge.OutcomeEscalate,
			skipped: []judge.Skip{{Judge: "mystery-7", Why: judge.SkipUnknownFamily}, {Judge: "fern-large", Why: judge.SkipSpread}},
		},
		{
			name:     "a radius that was never measured requires independence",
			criteria: judge.Criteria{BuilderFamilies: []string{"quill"}},
			judges:   idle(quill), outcome: judge.OutcomeEscalate,
			skipped: []judge.Skip{{Judge: "quill-max", Why: judge.SkipBuilderFamily}},
		},
		{
			name:     "its own family is busy",
			criteria: judge.Criteria{BuilderFamilies: []string{"moss"}, Radius: "low"},
			judges:   []judge.State{busyMoss}, outcome: judge.OutcomeWait,
			skipped: []judge.Skip{{Judge: "moss-pro", Why: judge.SkipNoCapacity}},
		},
		{
			name:     "a judge that failed is no reason to take the builder's family",
			criteria: judge.Criteria{BuilderFamilies: []string{"quill"}, Radius: "low", Except: []judge.Skip{{Judge: "fern-large", Why: judge.SkipFailed}}},
			judges:   idle(quill, fern), outcome: judge.OutcomeWait,
			skipped: []judge.Skip{{Judge: "quill-max", Why: judge.SkipBuilderFamily}, {Judge: "fern-large", Why: judge.SkipFailed}},
		},
		{
			name:     "the accuser does not verify, and nobody is waited for",
			criteria: judge.Criteria{Independence: required, Except: []judge.Skip{{Judge: "fern-large", Why: judge.SkipAccuser}}},
			judges:   idle(fern), outcome: judge.OutcomeEscalate,
			skipped: []judge.Skip{{Judge: "fern-large", Why: judge.SkipAccuser}},
		},
		{
			name:     "the static judge serves alone, whoever built",
			criteria: judge.Criteria{BuilderFamilies: []string{"static"}, UnknownAgent: true, SelfModifying: true, Radius: "high", Lenses: 3},
			judges:   idle(static), outcome: judge.OutcomeJudge, judge: "static",
		},
		{
			name:     "the static judge is no fallback",
			criteria: judge.Criteria{Radius: "low", Except: []judge.Skip{{Judge: "fern-large", Why: judge.SkipFailed}}},
			judges:   idle(static, fern), outcome: judge.OutcomeWait,
			skipped: []judge.Skip{{Judge: "fern-large", Why: judge.SkipFailed}},
		},
		{
			name:     "the first lens of an unknown agent",
			criteria: judge.Criteria{UnknownAgent: true, Radius: "high", Lenses: 3},
			judges:   idle(fern, moss), outcome: judge.OutcomeJudge, judge: "fern-large",
		},
		{
			name:     "the second lens of an unknown agent goes to another family",
			criteria: judge.Criteria{UnknownAgent: true, Radius: "high", Lenses: 3, OtherFamilies: []string{"fern"}},
			judges:   idle(fern, moss), outcome: judge.OutcomeJudge, judge: "moss-pro",
			skipped: []judge.Skip{{Judge: "fern-large", Why: judge.SkipSpread}},
		},
		{
			name:     "the other family is busy and is waited for",
			criteria: judge.Criteria{UnknownAgent: true, Radius: "medium", Lenses: 2, OtherFamilies: []string{"fern"}},
			judges:   append(idle(fern), busyMoss), outcome: judge.OutcomeWait,
			skipped: []judge.Skip{{Judge: "fern-large", Why: judge.SkipSpread}, {Judge: "moss-pro", Why: judge.SkipNoCapacity}},
		},
		{
			name:     "the third lens of an unknown agent goes by the order again",
			criteria: judge.Criteria{UnknownAgent: true, Radius: "high", Lenses: 3, OtherFamilies: []string{"fern", "moss"}},
			judges:   idle(fern, moss), outcome: judge.OutcomeJudge, judge: "fern-large",
		},
		{
			name:     "one family only, required",
			criteria: judge.Criteria{UnknownAgent: true, Radius: "high", Lenses: 3},
			judges:   idle(fern, judge.Info{ID: "fern-small", Family: "fern"}), outcome: judge.OutcomeEscalate,
			skipped: []judge.Skip{{Judge: "fern-large", Why: judge.SkipSpread}, {Judge: "fern-small", Why: judge.SkipSpread}},
		},
		{
			name:     "one family only, preferred",
			criteria: judge.Criteria{UnknownAgent: true, Radius: "medium", Lenses: 2, OtherFamilies: []string{"fern"}},
			judges:   idle(fern), outcome: judge.OutcomeJudge, judge: "fern-large",
		},
		{
			name:     "one lens cannot be spread, required",
			criteria: judge.Criteria{UnknownAgent: true, Radius: "low", Independence: required, Lenses: 1},
			judges:   idle(fern, moss), outcome: judge.OutcomeEscalate,
			skipped: []judge.Skip{{Judge: "fern-large", Why: judge.SkipSpread}, {Judge: "moss-pro", Why: judge.SkipSpread}},
		},
		{
			name:     "one lens cannot be spread, preferred",
			criteria: judge.Criteria{UnknownAgent: true, Radius: "low", Independence: preferred, Lenses: 1},
			judges:   idle(fern, moss), outcome: judge.OutcomeJudge, judge: "fern-large",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := judge.Select(judge.SelectInput{Criteria: tc.criteria, Judges: tc.judges})
			if got.Outcome != tc.outcome || got.Judge != tc.judge {
				t.Errorf("%s %q, want %s %q", got.Outcome, got.Judge, tc.outcome, tc.judge)
			}
			if !slices.Equal(got.Skipped, tc.skipped) {
				t.Errorf("skipped %v, want %v", got.Skipped, tc.skipped)
			}
		})
	}
}

// Whatever the snapshot: a judge of a builder's family serves only marked as such, only where independence is
// preferred, and only when nobody else is configured; and static rules never stand in for a model.
func TestSelectNeverLetsABuilderJudgeItself(t *testing.T) {
	families := rapid.SampledFrom([]string{"fern", "moss", "Fern", ""})
	rapid.Check(t, func(t *rapid.T) {
		in := judge.SelectInput{Criteria: judge.Criteria{
			BuilderFamilies: rapid.SliceOfN(rapid.SampledFrom([]string{"fern", "moss", "quill"}), 0, 2).Draw(t, "builder"),
			UnknownAgent:    rapid.Bool().Draw(t, "unknown agent"),
			Radius:          rapid.SampledFrom(prosecutor.Radii()).Draw(t, "radius"),
			SelfModifying:   rapid.Bool().Draw(t, "self-modifying"),
			Independence:    rapid.SampledFrom([]config.Independence{"", "required", "preferred"}).Draw(t, "independence"),
			Lenses:          rapid.IntRange(1, 3).Draw(t, "lenses"),
			OtherFamilies:   rapid.SliceOfN(families, 0, 2).Draw(t, "others"),
		}}
		for i := range rapid.IntRange(0, 4).Draw(t, "judges") {
			in.Judges = append(in.Judges, judge.State{
				Info: judge.Info{
					ID: string(rune('a' + i)), Family: families.Draw(t, "family"), Static: rapid.IntRange(0, 5).Draw(t, "static") == 0,
				},
				FreeSlots:   rapid.IntRange(0, 1).Draw(t, "slots"),
				BreakerOpen: rapid.Bool().Draw(t, "breaker"),
			})
		}
		got := judge.Select(in)
		if got.Outcome != judge.OutcomeJudge {
			if got.Judge != "" || got.SameFamily {
				t.Fatalf("nobody was chosen, yet %+v", got)
			}
			return
		}
		i := slices.IndexFunc(in.Judges, func(s judge.State) bool { return s.Info.ID == got.Judge })
		chosen := in.Judges[i]
		own := func(s judge.State) bool {
			return slices.ContainsFunc(in.BuilderFamilies, func(f string) bool { return strings.EqualFold(f, s.Info.Family) })
		}
		models := slices.ContainsFunc(in.Judges, func(s judge.State) bool { return !s.Info.Static })
		switch {
		case chosen.FreeSlots == 0 || chosen.BreakerOpen:
			t.Fatalf("chose a judge that cannot serve: %+v", chosen)
		case chosen.Info.Static && models:
			t.Fatal("static rules stood in for a model")
		case chosen.Info.Static:
			return
		case own(chosen) != got.SameFamily:
			t.Fatalf("same family is %v for %+v", got.SameFamily, chosen)
		case !own(chosen):
			return
		case got.Independence == config.IndependenceRequired:
			t.Fatalf("a builder's family judges although independence is required: %+v", got)
		}
		for _, s := range in.Judges {
			if !s.Info.Static && !own(s) {
				t.Fatalf("a builder's family judges although %+v is configured", s)
			}
		}
	})
}

func TestNewPoolRefusesWhatCannotWork(t *testing.T) {
	for name, judges := range map[string][]judge.Judge{
		"no judge":         {},
		"two of one name":  {scripted{info: fern}, scripted{info: fern}},
		"one without name": {scripted{}},
	} {
		if _, err := judge.NewPool(judges, judge.PoolOptions{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestAcquireTakesAndReleases(t *testing.T) {
	pool := newPool(t, judge.PoolOptions{Limits: map[string]judge.Limits{"fern-large": {Concurrency: 1}}}, fern, moss)
	first := acquire(t, pool, judge.Want{})
	if first.Info() != fern {
		t.Errorf("got %v, want the first judge", first.Info())
	}
	second := acquire(t, pool, judge.Want{})
	if second.Info() != moss {
		t.Errorf("got %v, want the next judge while the first is busy", second.Info())
	}
	first.Release()
	first.Release()
	second.Release()
	for _, s := range pool.Snapshot() {
		want := judge.DefaultConcurrency
		if s.Info == fern {
			want = 1
		}
		if s.FreeSlots != want {
			t.Errorf("%s has %d free slots, want %d", s.Info.ID, s.FreeSlots, want)
		}
	}
}

func TestAcquireOfNobody(t *testing.T) {
	pool := newPool(t, judge.PoolOptions{}, quill)
	_, sel, err := pool.Acquire(t.Context(), judge.Want{Criteria: judge.Criteria{BuilderFamilies: []string{"quill"}, SelfModifying: true}})
	var unavailable *judge.UnavailableError
	if !errors.As(err, &unavailable) || sel.Outcome != judge.OutcomeEscalate || !strings.Contains(err.Error(), "configure a judge") {
		t.Errorf("got %v, %+v; want an error that says what to do", err, sel)
	}
}

func TestCancelledWaiterLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, judge.PoolOptions{Limits: map[string]judge.Limits{"fern-large": {Concurrency: 1}}}, fern)
		busy := acquire(t, pool, judge.Want{Repo: "acme/pay"})
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, _, err := pool.Acquire(ctx, judge.Want{Repo: "acme/pay"})
			gone <- err
		}()
		synctest.Wait()
		if n := pool.Waiting(); n != 1 {
			t.Fatalf("%d wait, want 1", n)
		}
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
		if n := pool.Waiting(); n != 0 {
			t.Errorf("%d wait after the only one left", n)
		}
		busy.Release()
		acquire(t, pool, judge.Want{Repo: "acme/ship"}).Release()
	})
}

func TestSlotGrantedToAWaiterWhoLeftIsFree(t *testing.T) {
	pool := newPool(t, judge.PoolOptions{Limits: map[string]judge.Limits{"fern-large": {Concurrency: 1}}}, fern)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := pool.Enqueue(judge.Want{}).Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	acquire(t, pool, judge.Want{}).Release()
}

func TestWaiterIsServedByWhoeverIsFreeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := judge.Limits{Concurrency: 1}
		pool := newPool(t, judge.PoolOptions{Limits: map[string]judge.Limits{"fern-large": one, "moss-pro": one}}, fern, moss)
		a, b := acquire(t, pool, judge.Want{}), acquire(t, pool, judge.Want{})
		onlyFern := pool.Enqueue(judge.Want{Criteria: judge.Criteria{BuilderFamilies: []string{"moss"}}})
		any1 := pool.Enqueue(judge.Want{})
		b.Release() // moss-pro: the first in line may not use it and does not hold up the second
		second, _, err := any1.Wait(t.Context())
		if err != nil || second.Info() != moss {
			t.Fatalf("got %v, %v; want moss-pro", second, err)
		}
		a.Release()
		first, _, err := onlyFern.Wait(t.Context())
		if err != nil || first.Info() != fern {
			t.Fatalf("got %v, %v; want fern-large", first, err)
		}
		first.Release()
		second.Release()
	})
}

func TestQuotaOpensTheProvidersBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reset := time.Now().Add(30 * time.Minute)
		exhausted := scripted{info: fern, err: &judge.Error{Kind: prosecutor.Quota, Provider: "northgate", ResetAt: reset}}
		pool := poolOf(t, judge.PoolOptions{}, exhausted, scripted{info: onyx}, scripted{info: moss})
		lease := acquire(t, pool, judge.Want{})
		if _, err := lease.Judge().Ask(t.Context(), judge.Request{}); err == nil {
			t.Fatal("the failure was swallowed")
		}
		lease.Release()

		open := pool.Breakers()
		if len(open) != 1 || open[0].Provider != "northgate" || !open[0].Until.Equal(reset) {
			t.Fatalf("breakers %+v, want northgate until %v", open, reset)
		}
		next := acquire(t, pool, judge.Want{})
		if next.Info() != moss {
			t.Errorf("got %v; the second judge of the exhausted provider must be passed over", next.Info())
		}
		next.Release()

		_, _, err := pool.Acquire(t.Context(), judge.Want{Criteria: judge.Criteria{BuilderFamilies: []string{"moss"}}})
		var unavailable *judge.UnavailableError
		if !errors.As(err, &unavailable) || !unavailable.ResetAt.Equal(reset) {
			t.Errorf("got %v; want an error with the reset time instead of waiting", err)
		}
		time.Sleep(30 * time.Minute)
		if open := pool.Breakers(); len(open) != 0 {
			t.Errorf("breakers %+v are open at the reset time", open)
		}
	})
}

func TestBreakerWithoutAResetTime(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	pool := newPool(t, judge.PoolOptions{Now: func() time.Time { return now }}, fern)
	pool.Trip("northgate", now.Add(-time.Hour))
	if open := pool.Breakers(); len(open) != 1 || !open[0].Until.Equal(now.Add(judge.DefaultOpenFor)) {
		t.Fatalf("breakers %+v, want the default time", open)
	}
	pool.Trip("northgate", now.Add(time.Hour))
	pool.Trip("northgate", now.Add(time.Minute))
	if open := pool.Breakers(); !open[0].Until.Equal(now.Add(time.Hour)) || !open[0].Since.Equal(now) {
		t.Errorf("breakers %+v: an earlier reset time shortened a later one", open)
	}
	now = now.Add(time.Hour)
	if open := pool.Breakers(); len(open) != 0 {
		t.Errorf("breakers %+v are open at their reset time", open)
	}
}

func TestBreakerClosesForAWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, judge.PoolOptions{Limits: map[string]judge.Limits{"moss-pro": {Concurrency: 1}}}, fern, moss)
		busy := acquire(t, pool, judge.Want{Criteria: judge.Criteria{BuilderFamilies: []string{"fern"}}})
		pool.Trip("northgate", time.Now().Add(time.Minute))
		// moss-pro is busy, so there is something to wait for; the breaker closes first.
		lease := acquire(t, pool, judge.Want{})
		if lease.Info() != fern {
			t.Errorf("got %v, want the judge whose breaker closed", lease.Info())
		}
		lease.Release()
		busy.Release()
	})
}

func TestBreakerEndsAWaitInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, judge.PoolOptions{Limits: map[string]judge.Limits{"fern-large": {Concurrency: 1}}}, fern)
		busy := acquire(t, pool, judge.Want{})
		ticket := pool.Enqueue(judge.Want{})
		pool.Trip("northgate", time.Time{})
		_, _, err := ticket.Wait(t.Context())
		var unavailable *judge.UnavailableError
		if !errors.As(err, &unavailable) {
			t.Errorf("got %v, want the waiter to be told", err)
		}
		busy.Release()
	})
}

func TestRequestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, judge.PoolOptions{Limits: map[string]judge.Limits{"fern-large": {RequestsPerMinute: 2}}}, fern)
		start := time.Now()
		for range 4 {
			lease := acquire(t, pool, judge.Want{})
			if _, err := lease.Judge().Ask(t.Context(), judge.Request{}); err != nil {
				t.Fatal(err)
			}
			lease.Release()
		}
		// Two at once, then one every half minute.
		if took := time.Since(start).Round(time.Second); took != time.Minute {
			t.Errorf("four requests at two a minute took %v of the clock, want 1m", took)
		}
	})
}

func TestRepairRoundCountsAsARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, judge.PoolOptions{Limits: map[string]judge.Limits{"fern-large": {RequestsPerMinute: 2}}}, fern)
		lease := acquire(t, pool, judge.Want{})
		for range 2 {
			if _, err := lease.Judge().Ask(t.Context(), judge.Request{}); err != nil {
				t.Fatal(err)
			}
		}
		lease.Release()
		start := time.Now()
		acquire(t, pool, judge.Want{}).Release()
		if took := time.Since(start).Round(time.Second); took != 30*time.Second {
			t.Errorf("waited %v of the clock for the third request, want 30s", took)
		}
	})
}

func TestUnusedLeaseIsNotCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, judge.PoolOptions{Limits: map[string]judge.Limits{"fern-large": {RequestsPerMinute: 1, TokensPerMinute: 100}}}, fern)
		start := time.Now()
		for range 3 {
			acquire(t, pool, judge.Want{Tokens: 100}).Release()
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("waited %v for calls that were never made", took)
		}
	})
}

func TestTokenRateLimitIsCorrectedByWhatWasUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		costly := scripted{info: fern, reply: judge.Reply{TokensIn: 1500, TokensOut: 500}}
		pool := poolOf(t, judge.PoolOptions{Limits: map[string]judge.Limits{"fern-large": {TokensPerMinute: 1000}}}, costly)
		lease := acquire(t, pool, judge.Want{Tokens: 100})
		if _, err := lease.Judge().Ask(t.Context(), judge.Request{}); err != nil {
			t.Fatal(err)
		}
		lease.Release() // 2000 of 1000: a debt of 1000
		start := time.Now()
		acquire(t, pool, judge.Want{Tokens: 5000}).Release() // more than a minute's allowance waits for a full bucket
		if took := time.Since(start).Round(time.Second); took != 2*time.Minute {
			t.Errorf("waited %v of the clock, want 2m", took)
		}
	})
}

func TestSmallCallDoesNotOvertakeAtTheRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, judge.PoolOptions{Limits: map[string]judge.Limits{"fern-large": {TokensPerMinute: 1000}}}, fern)
		spent := acquire(t, pool, judge.Want{Tokens: 900})
		if _, err := spent.Judge().Ask(t.Context(), judge.Request{}); err != nil {
			t.Fatal(err)
		}
		spent.Release()
		large := pool.Enqueue(judge.Want{Repo: "acme/pay", Tokens: 500})
		small := pool.Enqueue(judge.Want{Repo: "acme/ship", Tokens: 50})
		order := make(chan string, 2)
		for name, ticket := range map[string]*judge.Ticket{"large": large, "small": small} {
			go func() {
				lease, _, err := ticket.Wait(t.Context())
				if err != nil {
					t.Error(err)
				}
				order <- name
				if _, err := lease.Judge().Ask(t.Context(), judge.Request{}); err != nil {
					t.Error(err)
				}
				lease.Release()
			}()
		}
		if first := <-order; first != "large" {
			t.Errorf("%s was served first, want the one that came first", first)
		}
		<-order
	})
}

func TestOnlyOneJudge(t *testing.T) {
	pool := newPool(t, judge.PoolOptions{}, fern, moss)
	lease := acquire(t, pool, judge.Want{Only: "moss-pro"})
	if lease.Info() != moss {
		t.Errorf("got %v, want the judge that was asked for", lease.Info())
	}
	lease.Release()
	pool.Trip("harbour", time.Time{})
	var unavailable *judge.UnavailableError
	if _, _, err := pool.Acquire(t.Context(), judge.Want{Only: "moss-pro"}); !errors.As(err, &unavailable) || unavailable.ResetAt.IsZero() {
		t.Errorf("got %v, want an error with the reset time", err)
	}
}

func TestLimitsOf(t *testing.T) {
	got := judge.LimitsOf(&config.Server{Judges: []config.JudgeConfig{{Name: "a", Concurrency: 2, RequestsPerMinute: 3, TokensPerMinute: 4, Timeout: 5}}})
	if want := (judge.Limits{Concurrency: 2, RequestsPerMinute: 3, TokensPerMinute: 4, Timeout: 5}); got["a"] != want {
		t.Errorf("got %+v, want %+v", got["a"], want)
	}
}

// However many come and go, at most as many hold a judge as it has slots, all are served, and nothing is left over.
func TestPoolUnderLoad(t *testing.T) {
	const slots, waiters = 2, 60
	pool := newPool(t, judge.PoolOptions{Limits: map[string]judge.Limits{"fern-large": {Concurrency: slots}}}, fern)
	holding := make(chan struct{}, slots) // a third holder would not fit
	done := make(chan error, waiters)
	for i := range waiters {
		go func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%7 == 0 {
				cancel()
			}
			lease, _, err := pool.Acquire(ctx, judge.Want{Repo: string(rune('a' + i%5))})
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					done <- err
					return
				}
				done <- nil
				return
			}
			err = nil
			select {
			case holding <- struct{}{}:
				<-holding
			default:
				err = errors.New("more holders than slots")
			}
			lease.Release()
			done <- err
		}()
	}
	for range waiters {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if free := pool.Snapshot()[0].FreeSlots; free != slots {
		t.Errorf("%d free slots after everybody left, want %d", free, slots)
	}
	if n := pool.Waiting(); n != 0 {
		t.Errorf("%d still wait", n)
	}
}
