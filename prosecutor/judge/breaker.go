package judge

import "time"

// DefaultOpenFor is how long a breaker stays open when the provider did not say when its quota resets. It is long
// enough to spare an exhausted account, and short against the two hours that a case is held (semantics 7).
const DefaultOpenFor = 10 * time.Minute

// Breaker is an open breaker: a provider whose credit or quota is used up (semantics 7). None of its judges is asked
// until the breaker closes.
type Breaker struct {
	Provider string
	Since    time.Time
	Until    time.Time
}

// breakers are the breakers of all providers. The pool's lock guards them.
type breakers struct {
	open    map[string]Breaker
	openFor time.Duration
}

// trip opens the breaker of a provider until its reset time, or for the default time where that is unknown or past. A
// later reset time extends it, an earlier one does not shorten it.
func (b *breakers) trip(provider string, resetAt, now time.Time) {
	until := resetAt
	if !until.After(now) {
		until = now.Add(b.openFor)
	}
	br, ok := b.at(provider, now)
	if !ok {
		br = Breaker{Provider: provider, Since: now}
	}
	if until.After(br.Until) {
		br.Until = until
	}
	b.open[provider] = br
}

// at returns the breaker of a provider if it is open at a time.
func (b *breakers) at(provider string, now time.Time) (Breaker, bool) {
	br, ok := b.open[provider]
	if ok && !now.Before(br.Until) {
		delete(b.open, provider)
		return Breaker{}, false
	}
	return br, ok
}
