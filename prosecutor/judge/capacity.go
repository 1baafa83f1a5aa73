package judge

import (
	"math"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
)

// DefaultConcurrency is how many calls a judge answers at once when nothing is configured.
const DefaultConcurrency = 4

// DefaultPassTime is how long a pass may take, its repair round included (semantics 2).
const DefaultPassTime = 8 * time.Minute

// Limits bound the use of one judge. The zero value is the default: DefaultConcurrency calls at once, no rate limit.
type Limits struct {
	Concurrency       int           // calls at once
	RequestsPerMinute int           // 0 is unlimited
	TokensPerMinute   int           // tokens in and out; 0 is unlimited
	Timeout           time.Duration // of one call, which the judge keeps itself; it never makes a pass shorter than the default
}

// WithDefaults returns the limits with the default in place of what is not set.
func (l Limits) WithDefaults() Limits {
	if l.Concurrency <= 0 {
		l.Concurrency = DefaultConcurrency
	}
	return l
}

// PassTime is how long a pass with the judge may take: as long as a call of it, where somebody gave that more than the default.
func (l Limits) PassTime() time.Duration { return max(DefaultPassTime, l.Timeout) }

// LimitsOf returns the limits of the configured judges by name.
func LimitsOf(cfg *config.Server) map[string]Limits {
	limits := make(map[string]Limits, len(cfg.Judges))
	for _, j := range cfg.Judges {
		limits[j.Name] = Limits{
			Concurrency:       j.Concurrency,
			RequestsPerMinute: j.RequestsPerMinute,
			TokensPerMinute:   j.TokensPerMinute,
			Timeout:           time.Duration(j.Timeout),
		}
	}
	return limits
}

// bucket is a token bucket that holds what may be spent in a minute. It may be overdrawn by what a call turned out to
// need; the next calls then wait for the debt. The pool's lock guards it.
type bucket struct {
	perMinute float64 // 0 is unlimited
	level     float64
	at        time.Time // when level was true
}

func newBucket(perMinute int, now time.Time) bucket {
	return bucket{perMinute: float64(perMinute), level: float64(perMinute), at: now}
}

func (b *bucket) refill(now time.Time) {
	if now.After(b.at) {
		b.level = math.Min(b.perMinute, b.level+b.perMinute*now.Sub(b.at).Minutes())
		b.at = now
	}
}

// wait says how long until n may be spent: 0 when it may be spent now. A need beyond a whole minute's allowance waits
// for a full bucket.
func (b *bucket) wait(n float64, now time.Time) time.Duration {
	if b.perMinute <= 0 {
		return 0
	}
	b.refill(now)
	missing := math.Min(n, b.perMinute) - b.level
	if missing <= 0 {
		return 0
	}
	// A millisecond more, so that rounding does not wake a waiter just before its time.
	return time.Duration(missing/b.perMinute*float64(time.Minute)) + time.Millisecond
}

// spend takes n, or gives back where n is negative.
func (b *bucket) spend(n float64, now time.Time) {
	if b.perMinute <= 0 {
		return
	}
	b.refill(now)
	b.level = math.Min(b.perMinute, b.level-n)
}

// seat is a judge and what of its capacity is in use.
type seat struct {
	judge    Judge
	info     Info
	passTime time.Duration
	slots    int
	inUse    int
	requests bucket
	tokens   bucket
}

// wait says how long until the rate limits allow a call of so many tokens.
func (s *seat) wait(tokens int, now time.Time) time.Duration {
	return max(s.requests.wait(1, now), s.tokens.wait(float64(tokens), now))
}
