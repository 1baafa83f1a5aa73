package judge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// PoolOptions configures a pool. The zero value is usable.
type PoolOptions struct {
	// Limits by judge ID; a judge without an entry has the default limits.
	Limits map[string]Limits
	// OpenFor is how long a breaker stays open when the provider named no reset time. Default: DefaultOpenFor.
	OpenFor time.Duration
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// AfterFunc runs f after d in a goroutine of its own, unless stop is called first. Default: time.AfterFunc. It has
	// to keep the time of Now.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
}

// Pool holds the judges of an installation, their capacity and their providers' breakers, and hands them out: in the
// order that semantics 8 gives them, to waiters first come, first served, and fairly across repositories. A pool has no
// goroutine of its own. It is safe for concurrent use.
type Pool struct {
	now       func() time.Time
	afterFunc func(time.Duration, func()) func() bool

	mu        sync.Mutex
	seats     []*seat
	byID      map[string]*seat
	breakers  breakers
	queue     queue
	stopTimer func() bool
}

// NewPool returns a pool of judges in configured order. It fails when there is none, or when two have the same ID.
func NewPool(judges []Judge, opts PoolOptions) (*Pool, error) {
	if len(judges) == 0 {
		return nil, errors.New("no judge: configure one, or use the static judge")
	}
	p := &Pool{now: opts.Now, afterFunc: opts.AfterFunc, byID: map[string]*seat{}}
	if p.now == nil {
		p.now = time.Now
	}
	if p.afterFunc == nil {
		p.afterFunc = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	p.breakers = breakers{open: map[string]Breaker{}, openFor: opts.OpenFor}
	if p.breakers.openFor <= 0 {
		p.breakers.openFor = DefaultOpenFor
	}
	now := p.now()
	for _, j := range judges {
		info := j.Info()
		if info.ID == "" {
			return nil, fmt.Errorf("a judge of provider %q has no name", info.Provider)
		}
		if _, ok := p.byID[info.ID]; ok {
			return nil, fmt.Errorf("two judges are named %q: give each its own name", info.ID)
		}
		l := opts.Limits[info.ID].WithDefaults()
		s := &seat{
			judge: j, info: info, passTime: l.PassTime(), slots: l.Concurrency,
			requests: newBucket(l.RequestsPerMinute, now), tokens: newBucket(l.TokensPerMinute, now),
		}
		p.seats = append(p.seats, s)
		p.byID[info.ID] = s
	}
	return p, nil
}

// Want is a wish for a judge.
type Want struct {
	Criteria
	Repo   string // who asks: waiting is fair across repositories
	Tokens int    // an estimate of the call's tokens, in and out, for the rate limits
	// Only wants this judge and no other: the one that already serves a lens. The criteria then do not count.
	Only string
}

// UnavailableError says that nobody can serve, and that waiting for capacity does not help: no configured judge is
// independent enough, or those that may serve have failed or have an open breaker.
type UnavailableError struct {
	Selection Selection
	ResetAt   time.Time // when the first open breaker among those that may serve closes; zero when there is none
}

// Error implements error. It says what to do.
func (e *UnavailableError) Error() string {
	if e.Selection.Outcome == OutcomeEscalate {
		if slices.ContainsFunc(e.Selection.Skipped, func(s Skip) bool { return s.Why == SkipSpread }) {
			return "an agent of unknown family took part in building, and independence is required, which takes two lenses and judges of " +
				"two known families: configure them, or name the agent's family under attribution in the policy"
		}
		return "no configured judge is independent of the builder: configure a judge of another family"
	}
	msg := "no judge can serve now:"
	for i, s := range e.Selection.Skipped {
		if i > 0 {
			msg += ","
		}
		msg += fmt.Sprintf(" %s (%s)", s.Judge, s.Why)
	}
	if !e.ResetAt.IsZero() {
		msg += "; try again after " + e.ResetAt.UTC().Format(time.RFC3339)
	}
	return msg
}

// Acquire waits for a judge and returns a lease of it, which the caller releases. It returns an *UnavailableError when
// waiting for capacity is in vain, and an error that wraps ctx's when ctx ends first. The selection says who was passed
// over; on an error it is the last one made.
func (p *Pool) Acquire(ctx context.Context, w Want) (*Lease, Selection, error) {
	return p.Enqueue(w).Wait(ctx)
}

// Enqueue asks for a judge without waiting: if one can serve, it is taken at once. The caller has to call Wait.
func (p *Pool) Enqueue(w Want) *Ticket {
	t := &Ticket{pool: p, want: w, done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.push(t)
	p.dispatch()
	return t
}

// Ticket is a place in the queue.
type Ticket struct {
	pool *Pool
	want Want
	done chan struct{} // closed when the fields below are final

	sel   Selection
	lease *Lease
	err   error
}

// Wait waits until the ticket is served or ctx ends. In the latter case the place in the queue, or the slot that was
// granted meanwhile, is given up. It is called once.
func (t *Ticket) Wait(ctx context.Context) (*Lease, Selection, error) {
	select {
	case <-t.done:
		if t.err == nil && ctx.Err() != nil {
			t.lease.Release()
			return nil, t.sel, fmt.Errorf("waiting for a free judge: %w", ctx.Err())
		}
		return t.lease, t.sel, t.err
	case <-ctx.Done():
	}
	p := t.pool
	p.mu.Lock()
	queued := p.queue.remove(t)
	if queued {
		t.sel = p.selection(t.want, nil)
		p.dispatch() // it may have stood in somebody's way
	}
	p.mu.Unlock()
	if !queued {
		<-t.done
		if t.err != nil {
			return nil, t.sel, t.err
		}
		t.lease.Release()
	}
	return nil, t.sel, fmt.Errorf("waiting for a free judge: %w", ctx.Err())
}

// Lease is the right to one conversation with a judge. It holds a slot until it is released.
type Lease struct {
	pool     *Pool
	seat     *seat
	estimate int

	mu       sync.Mutex
	requests int
	tokens   int
	released bool
}

// Info describes the judge.
func (l *Lease) Info() Info { return l.seat.info }

// PassTime is how long a pass with the judge may take.
func (l *Lease) PassTime() time.Duration { return l.seat.passTime }

// Judge returns the judge. Its calls are counted against the rate limits, and one that fails for want of credit or
// quota opens the breaker of its provider, until the reset time if the provider named one.
func (l *Lease) Judge() Judge { return leased{l} }

// Release gives the slot back, and corrects the estimate that the rate limits were charged by what was really used.
// Calls after the first do nothing.
func (l *Lease) Release() {
	l.mu.Lock()
	if l.released {
		l.mu.Unlock()
		return
	}
	l.released = true
	requests, tokens := l.requests, l.tokens
	l.mu.Unlock()

	p := l.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	l.seat.inUse--
	l.seat.requests.spend(float64(requests-1), now)
	if requests == 0 || tokens > 0 {
		l.seat.tokens.spend(float64(tokens-l.estimate), now)
	}
	p.dispatch()
}

// leased is a judge under a lease.
type leased struct{ lease *Lease }

// Info implements Judge.
func (j leased) Info() Info { return j.lease.seat.info }

// Ask implements Judge.
func (j leased) Ask(ctx context.Context, req Request) (Reply, error) {
	l := j.lease
	l.mu.Lock()
	l.requests++
	l.mu.Unlock()
	reply, err := l.seat.judge.Ask(ctx, req)
	l.mu.Lock()
	l.tokens += reply.TokensIn + reply.TokensOut
	l.mu.Unlock()
	var failed *Error
	if errors.As(err, &failed) && failed.Kind == prosecutor.Quota {
		l.pool.Trip(l.seat.info.Provider, failed.ResetAt)
	}
	return reply, err
}

// Trip opens the breaker of a provider until a time; the zero time, or one in the past, stands for the default.
func (p *Pool) Trip(provider string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.breakers.trip(provider, until, p.now())
	p.dispatch()
}

// Breakers returns the breakers that are open now, by provider.
func (p *Pool) Breakers() []Breaker {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	open := []Breaker{}
	for _, provider := range slices.Sorted(maps.Keys(p.breakers.open)) {
		if b, ok := p.breakers.at(provider, now); ok {
			open = append(open, b)
		}
	}
	return open
}

// Snapshot returns the state of every judge, in configured order.
func (p *Pool) Snapshot() []State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.states(0, nil, p.now())
}

// Waiting returns how many wait for a judge.
func (p *Pool) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queue.len()
}

// Infos describes the judges, in configured order.
func (p *Pool) Infos() []Info {
	infos := make([]Info, len(p.seats))
	for i, s := range p.seats {
		infos[i] = s.info
	}
	return infos
}

// states is a snapshot for a call of so many tokens. A judge in claimed has no capacity: somebody who came earlier
// waits for its rate limit, and a smaller call must not overtake.
func (p *Pool) states(tokens int, claimed map[*seat]bool, now time.Time) []State {
	states := make([]State, len(p.seats))
	for i, s := range p.seats {
		_, open := p.breakers.at(s.info.Provider, now)
		free := max(0, s.slots-s.inUse)
		if claimed[s] || s.wait(tokens, now) > 0 {
			free = 0
		}
		states[i] = State{Info: s.info, FreeSlots: free, BreakerOpen: open}
	}
	return states
}

// selection selects for one wish over the state of now.
func (p *Pool) selection(w Want, claimed map[*seat]bool) Selection {
	states := p.states(w.Tokens, claimed, p.now())
	if w.Only == "" {
		return Select(SelectInput{Criteria: w.Criteria, Judges: states})
	}
	sel := Selection{
		Outcome:      OutcomeWait,
		Independence: EffectiveIndependence(w.Independence, w.Radius, w.SelfModifying),
		Skipped:      []Skip{},
	}
	for _, s := range states {
		if s.Info.ID != w.Only {
			continue
		}
		switch {
		case s.BreakerOpen:
			sel.Skipped = append(sel.Skipped, Skip{w.Only, SkipBreakerOpen})
		case s.FreeSlots <= 0:
			sel.Skipped = append(sel.Skipped, Skip{w.Only, SkipNoCapacity})
		default:
			sel.Outcome, sel.Judge = OutcomeJudge, w.Only
		}
	}
	return sel
}

// dispatch serves everybody who can be served, in the queue's order, until nobody can. It is called with the lock held
// after every change: an arrival, a release, a tripped breaker, time.
func (p *Pool) dispatch() {
	for p.serveOne() {
		// Each turn changes the queue and the capacity: start again from the head.
		continue
	}
	p.rearm(p.now())
}

// serveOne finishes the first ticket that can be finished.
func (p *Pool) serveOne() bool {
	claimed := map[*seat]bool{}
	for _, t := range p.queue.inOrder() {
		sel := p.selection(t.want, claimed)
		switch {
		case sel.Outcome == OutcomeJudge:
			p.queue.serve(t)
			t.finish(sel, p.grant(t, sel.Judge), nil)
			return true
		case !sel.Busy():
			p.queue.remove(t)
			t.finish(sel, nil, &UnavailableError{Selection: sel, ResetAt: p.resetAt(sel)})
			return true
		}
		p.claim(claimed, t, sel)
	}
	return false
}

func (t *Ticket) finish(sel Selection, lease *Lease, err error) {
	t.sel, t.lease, t.err = sel, lease, err
	close(t.done)
}

func (p *Pool) grant(t *Ticket, id string) *Lease {
	s, now := p.byID[id], p.now()
	s.inUse++
	s.requests.spend(1, now)
	s.tokens.spend(float64(t.want.Tokens), now)
	return &Lease{pool: p, seat: s, estimate: t.want.Tokens}
}

// claim marks the judges whose rate limit a waiter waits for.
func (p *Pool) claim(claimed map[*seat]bool, t *Ticket, sel Selection) {
	now := p.now()
	for _, k := range sel.Skipped {
		if s := p.byID[k.Judge]; k.Why == SkipNoCapacity && s.inUse < s.slots && s.wait(t.want.Tokens, now) > 0 {
			claimed[s] = true
		}
	}
}

// resetAt is when the first open breaker closes among the judges that were passed over for a passing reason.
func (p *Pool) resetAt(sel Selection) time.Time {
	var first time.Time
	now := p.now()
	for _, k := range sel.Skipped {
		if !k.Why.passing() {
			continue
		}
		b, open := p.breakers.at(p.byID[k.Judge].info.Provider, now)
		if open && (first.IsZero() || b.Until.Before(first)) {
			first = b.Until
		}
	}
	return first
}

// rearm sets the timer for the next moment at which time alone lets a waiter be served: a rate limit that refills or a
// breaker that closes.
func (p *Pool) rearm(now time.Time) {
	if p.stopTimer != nil {
		p.stopTimer()
		p.stopTimer = nil
	}
	next := time.Duration(-1)
	sooner := func(d time.Duration) {
		if d > 0 && (next < 0 || d < next) {
			next = d
		}
	}
	for _, t := range p.queue.inOrder() {
		for _, s := range p.seats {
			if s.inUse < s.slots {
				sooner(s.wait(t.want.Tokens, now))
			}
			if b, open := p.breakers.at(s.info.Provider, now); open {
				sooner(b.Until.Sub(now))
			}
		}
	}
	if next > 0 {
		p.stopTimer = p.afterFunc(next, p.tick)
	}
}

func (p *Pool) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dispatch()
}
