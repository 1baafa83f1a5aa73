package app

import (
	"context"
	"errors"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
)

// longestJudging bounds how long the judges of one case are asked, whatever is configured.
const longestJudging = 24 * time.Hour

// errTooLong ends a judge job.
var errTooLong = errors.New("the case took longer than it may")

// allowance is the time that the steps of a job have. A step can be given more than the one before it, which a deadline of a
// context cannot be.
type allowance struct{ timer *time.Timer }

// allow returns a context that ends after d because of errTooLong, unless the allowance is set anew before.
func allow(ctx context.Context, d time.Duration) (context.Context, *allowance, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	a := &allowance{time.AfterFunc(d, func() { cancel(errTooLong) })}
	return ctx, a, func() {
		a.timer.Stop()
		cancel(nil)
	}
}

// set gives the next step so much from now on.
func (a *allowance) set(d time.Duration) { a.timer.Reset(d) }

// bench is what the time of a judging depends on beside its policy.
type bench struct {
	judges  []judge.Info
	limits  map[string]judge.Limits
	workers int // judge jobs at once
}

// judging is how long the judges of a case may need: each is tried after the others have failed, at the last of its passes; each
// pass may wait until every other case has had its turn at that judge; and each accusation of an earlier lap may take a call
// for its verification. Waiting for a rate limit has no such bound.
func (b bench) judging(p *config.Policy, accusations int) time.Duration {
	var sum time.Duration
	for _, info := range b.judges {
		l := b.limits[info.ID].WithDefaults()
		if l.RequestsPerMinute > 0 || l.TokensPerMinute > 0 {
			return longestJudging
		}
		waiting := b.workers * len(prosecutor.Lenses())
		turns := (waiting + l.Concurrency - 1) / l.Concurrency
		passes := max(1, p.Prosecution.DryPasses) + accusations
		if sum += l.PassTime() * time.Duration(min(passes*turns, int(longestJudging/time.Minute))); sum >= longestJudging {
			return longestJudging
		}
	}
	return sum
}
