package ghclient

import (
	"context"
	"sync"
	"time"

	xrate "golang.org/x/time/rate"
)

// How long to stay away.
const (
	// minPause is the wait after a secondary limit that names none, doubled while the next request meets the limit again
	// (Rate limits for the REST API: "wait for at least one minute", then "an exponentially increasing amount of time").
	minPause = time.Minute
	// maxDoubled ends the doubling.
	maxDoubled = 15 * time.Minute
	// maxPause bounds what headers may ask for: the hourly window, with room for clocks.
	maxPause = 65 * time.Minute
	// grace is added to each wait that GitHub names: its times have whole seconds.
	grace = time.Second
	// maxTurn is how long a write waits for its turn in a worker; for longer the work is put off.
	maxTurn = 30 * time.Second
)

// account is the budget of one installation: what is left of the hour, whether it is paused, whose turn it is to write.
// It is safe for concurrent use.
type account struct {
	installation int64
	opt          *Options
	slots        chan struct{}

	writes *xrate.Limiter

	mu          sync.Mutex
	windows     map[string]*window
	pausedUntil time.Time
	pauseKind   Kind
	strikes     int // secondary limits in a row
}

// window is the hour of one resource.
type window struct {
	limit, remaining int
	reset            time.Time
	underWay         int // sent, and not yet in remaining
}

// resources are the budgets that are kept. GitHub's names of others are counted as none, so that no answer can make them
// grow without bound.
var resources = map[string]bool{"core": true, "graphql": true, "search": true, "code_search": true}

func newAccount(installation int64, opt *Options) *account {
	return &account{
		installation: installation,
		opt:          opt,
		slots:        make(chan struct{}, opt.Concurrency),
		writes:       xrate.NewLimiter(xrate.Limit(opt.WriteRate), opt.WriteBurst),
		windows:      map[string]*window{},
	}
}

// ask is one request before it is sent.
type ask struct {
	purpose  Purpose
	write    bool
	resource string
}

// admit waits for a turn, and returns what to call when the answer is there. It returns a [RateLimitError] when the
// request must not be sent now, or the context's error.
func (a *account) admit(ctx context.Context, q ask) (release func(), err error) {
	if err := a.check(q); err != nil {
		return nil, err
	}
	if q.write {
		if err := a.turn(ctx); err != nil {
			return nil, err
		}
	}
	select {
	case a.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := a.begin(q); err != nil {
		<-a.slots
		return nil, err
	}
	return func() { a.end(q); <-a.slots }, nil
}

// turn waits for the bucket of writes.
func (a *account) turn(ctx context.Context) error {
	now := a.opt.Now()
	r := a.writes.ReserveN(now, 1)
	d := r.DelayFrom(now)
	if d == 0 {
		return nil
	}
	if d > maxTurn {
		r.CancelAt(now)
		return &RateLimitError{Kind: Pacing, RetryAt: now.Add(d), Installation: a.installation}
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		r.CancelAt(now)
		return context.DeadlineExceeded
	}
	if err := a.opt.Sleep(ctx, d); err != nil {
		r.CancelAt(a.opt.Now())
		return err
	}
	return nil
}

func (a *account) begin(q ask) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.checkLocked(q); err != nil {
		return err
	}
	if w := a.windows[q.resource]; w != nil {
		w.underWay++
	}
	return nil
}

func (a *account) end(q ask) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w := a.windows[q.resource]; w != nil && w.underWay > 0 {
		w.underWay--
	}
}

func (a *account) check(q ask) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.checkLocked(q)
}

func (a *account) checkLocked(q ask) error {
	now := a.opt.Now()
	if now.Before(a.pausedUntil) {
		return &RateLimitError{Kind: a.pauseKind, RetryAt: a.pausedUntil, Installation: a.installation}
	}
	w := a.windows[q.resource]
	if w == nil || !now.Before(w.reset) {
		return nil
	}
	left := w.remaining - w.underWay
	limit := &RateLimitError{Kind: Primary, RetryAt: w.reset, Installation: a.installation, Resource: q.resource}
	if left <= 0 {
		return limit
	}
	if float64(left) <= float64(w.limit)*q.purpose.share(a.opt.Reserve) {
		limit.Reserved = true
		return limit
	}
	return nil
}

// observe takes the budget from an answer. Answers arrive in any order, so that within one window the lowest remainder
// counts. Resets of one window differ by a second at times.
func (a *account) observe(r rate) {
	if !resources[r.resource] {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.windows[r.resource]
	if w == nil {
		w = &window{}
		a.windows[r.resource] = w
	}
	if same := r.reset.Sub(w.reset).Abs() <= 2*time.Second; same && r.limit == w.limit {
		w.remaining = min(w.remaining, r.remaining)
		return
	}
	w.limit, w.remaining, w.reset = r.limit, r.remaining, r.reset
}

// served notes that GitHub answered as it should: a series of secondary limits is over. Answers to requests that were on
// their way when the limit came do not count.
func (a *account) served() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.opt.Now().Before(a.pausedUntil) {
		a.strikes = 0
	}
}

// exhausted notes a primary limit of a resource, until reset.
func (a *account) exhausted(resource string, r rate) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.windows[resource]
	if w == nil {
		w = &window{}
		a.windows[resource] = w
	}
	w.limit, w.remaining, w.reset = r.limit, 0, r.reset.Add(grace)
	return w.reset
}

// pause keeps the installation from sending anything for a while: as long as GitHub named, or a minute, doubled for each
// limit met right after a pause. Requests that were under way together count once.
func (a *account) pause(kind Kind, named time.Duration, ok bool) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.opt.Now()
	if !now.Before(a.pausedUntil) {
		a.strikes++
	}
	d := named + grace
	if !ok {
		d = min(minPause<<min(max(a.strikes-1, 0), 10), maxDoubled)
	}
	if until := now.Add(min(d, maxPause)); until.After(a.pausedUntil) {
		a.pausedUntil, a.pauseKind = until, kind
	}
	return a.pausedUntil
}

// idle tells whether nothing would be lost with the account.
func (a *account) idle() bool {
	b := a.budget()
	return b.PausedUntil.IsZero() && len(a.slots) == 0 && (b.Limit == 0 || b.Remaining > 0)
}

// Budget is what is left to an installation.
type Budget struct {
	// Limit and Remaining are of the REST requests of the hour that ends at Reset; all zero before the first answer, and
	// where GitHub has no limits (Enterprise Server).
	Limit, Remaining int
	Reset            time.Time
	// PausedUntil is the end of a secondary limit, zero when there is none.
	PausedUntil time.Time
}

// Budget returns what is left to an installation, or to the App itself (0).
func (c *Clients) Budget(installationID int64) Budget {
	c.mu.Lock()
	a := c.accounts[installationID]
	c.mu.Unlock()
	if a == nil {
		return Budget{}
	}
	return a.budget()
}

func (a *account) budget() Budget {
	a.mu.Lock()
	defer a.mu.Unlock()
	var b Budget
	now := a.opt.Now()
	if w := a.windows["core"]; w != nil && now.Before(w.reset) {
		b.Limit, b.Remaining, b.Reset = w.limit, w.remaining, w.reset
	}
	if now.Before(a.pausedUntil) {
		b.PausedUntil = a.pausedUntil
	}
	return b
}
