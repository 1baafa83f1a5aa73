package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
)

// However slow judges may be by what is configured, their case has the time for it, up to a day.
func TestTimeOfJudging(t *testing.T) {
	const minute, pass = time.Minute, judge.DefaultPassTime
	for _, c := range []struct {
		name               string
		limits             []judge.Limits // of each judge
		workers            int
		passes, accusation int
		want               time.Duration
	}{
		{"one judge", []judge.Limits{{}}, 1, 1, 0, pass},
		{"no passes stand for one", []judge.Limits{{}}, 1, 0, 0, pass},
		{"dry passes", []judge.Limits{{}}, 1, 5, 0, 5 * pass},
		{"a second judge after the first has failed", []judge.Limits{{}, {}}, 1, 2, 0, 4 * pass},
		{"accusations are verified", []judge.Limits{{}}, 1, 2, 3, 5 * pass},
		{"a slow judge beside a quick one", []judge.Limits{{Timeout: 20 * minute}, {Timeout: minute}}, 1, 1, 0, 20*minute + pass},
		{"three lenses take turns at one slot", []judge.Limits{{Concurrency: 1}}, 1, 1, 0, 3 * pass},
		{"three lenses take turns at two slots", []judge.Limits{{Concurrency: 2}}, 1, 1, 0, 2 * pass},
		{"other cases take their turns", []judge.Limits{{Concurrency: 4}}, 8, 1, 0, 6 * pass},
		{"a request limit", []judge.Limits{{RequestsPerMinute: 1}}, 1, 1, 0, longestJudging},
		{"a token limit", []judge.Limits{{}, {TokensPerMinute: 1}}, 1, 1, 0, longestJudging},
		{"a day is the most", []judge.Limits{{Concurrency: 1, Timeout: 30 * minute}}, 8, 5, 0, longestJudging},
		{"whatever the numbers", []judge.Limits{{Concurrency: 1, Timeout: 30 * minute}}, 256, 5, 1 << 40, longestJudging},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bench{limits: map[string]judge.Limits{}, workers: c.workers}
			for i, l := range c.limits {
				id := string(rune('a' + i))
				b.judges = append(b.judges, judge.Info{ID: id})
				b.limits[id] = l
			}
			p := config.DefaultPolicy()
			p.Prosecution.DryPasses = c.passes
			if got := b.judging(p, c.accusation); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, a, done := allow(t.Context(), time.Minute)
		defer done()
		time.Sleep(59 * time.Second)
		a.set(time.Hour) // the next step
		time.Sleep(time.Hour - time.Second)
		if err := ctx.Err(); err != nil {
			t.Errorf("it ended before its time: %v", context.Cause(ctx))
		}
		start := time.Now()
		<-ctx.Done()
		if took := time.Since(start); took != time.Second || !errors.Is(context.Cause(ctx), errTooLong) {
			t.Errorf("it ended after another %v for %v", took, context.Cause(ctx))
		}
		ctx, _, done = allow(t.Context(), time.Minute)
		done()
		if errors.Is(context.Cause(ctx), errTooLong) || ctx.Err() == nil {
			t.Errorf("what is done ends for %v", context.Cause(ctx))
		}
	})
}
