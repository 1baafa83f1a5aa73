// Package panel puts one case to its judges: each lens in parallel with the others, its dry passes one after another,
// and the next eligible judge where one fails (semantics 3, 7 and 8). It also has single findings verified by a judge
// that did not make them.
//
// The panel reports what the judges said and how they failed. What that means for the case is decided by package
// convergence: a failure is never turned into a verdict here.
package panel

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/attribution"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
)

// Options configures a panel. The zero value is usable.
type Options struct {
	// Nonce returns the random word that marks what other people wrote in a prompt, a new one per call. Default:
	// charter.RandomNonce, which reads crypto/rand.
	Nonce func() string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// PassTimeout bounds one pass, its repair round included, and one verification. Default: what the pool gives the judge.
	PassTimeout time.Duration
}

// Panel prosecutes cases with the judges of a pool. It holds no state of a case and is safe for concurrent use.
type Panel struct {
	pool *judge.Pool
	opts Options
}

// New returns a panel of the judges of a pool.
func New(pool *judge.Pool, opts Options) *Panel {
	if opts.Nonce == nil {
		opts.Nonce = charter.RandomNonce
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Panel{pool: pool, opts: opts}
}

// Case is what is put to the panel.
type Case struct {
	// Brief holds the evidence, which was computed once for the head: every pass is shown the same.
	Brief         *charter.Brief
	Lenses        []prosecutor.Lens // what the blast radius asks for, without duplicates
	Builder       attribution.Result
	Radius        prosecutor.Radius
	SelfModifying bool
	Policy        *config.Policy // of the base branch; nil means the default policy
	Repo          string         // who waits for a judge: capacity is shared fairly across repositories
	Observer      Observer       // told how the case goes on; may be nil
}

// Run puts the case to its judges and returns one result per lens, in the order of Case.Lenses. All lenses run to their
// own end, whatever the others say: the author gets all the feedback at once (semantics 3).
//
// Run always returns a result per lens. When ctx ends, the lenses that have no verdict yet are Errored as Canceled. A
// bug in one lens is Errored as Panic in that lens alone. Run returns when all its goroutines have ended.
func (p *Panel) Run(ctx context.Context, c Case) []LensResult {
	if c.Policy == nil {
		c.Policy = config.DefaultPolicy()
	}
	results := make([]LensResult, len(c.Lenses))
	if contract.Preflight(c.Brief.Text) != nil {
		for i, lens := range c.Lenses {
			results[i] = p.unasked(ctx, c, lens)
		}
		return results
	}
	r := &run{
		panel: p, c: c,
		criteria: judge.Criteria{
			BuilderFamilies: c.Builder.Families,
			UnknownAgent:    c.Builder.UnknownAgent,
			Radius:          c.Radius,
			SelfModifying:   c.SelfModifying,
			Independence:    c.Policy.Independence,
			Prefer:          c.Policy.Judges.Prefer,
			Lenses:          len(c.Lenses),
		},
		tokens:   estimate(c.Brief),
		watch:    watch{observer: c.Observer},
		families: make([]*string, len(c.Lenses)),
		turn:     make(chan struct{}, 1),
	}
	var wg sync.WaitGroup
	r.start(ctx, func(i int, get acquire) {
		wg.Go(func() { results[i] = r.lens(ctx, i, get) })
	})
	wg.Wait()
	return results
}

// unasked is the result of a lens whose answer needs no judge: rows 1 and 2 of semantics 2.
func (p *Panel) unasked(ctx context.Context, c Case, lens prosecutor.Lens) LensResult {
	pass := contract.Prosecute(ctx, nobody{}, contract.Input{Lens: lens, Brief: c.Brief, Nonce: p.opts.Nonce, Now: p.opts.Now})
	return LensResult{
		Lens: lens, Verdict: pass.Verdict, ErrorKind: pass.ErrorKind, Err: pass.Err,
		Passes:       []contract.Pass{pass},
		Independence: judge.EffectiveIndependence(c.Policy.Independence, c.Radius, c.SelfModifying),
	}
}

// nobody stands where a rule answers and no judge is asked.
type nobody struct{}

func (nobody) Info() judge.Info { return judge.Info{} }

func (nobody) Ask(context.Context, judge.Request) (judge.Reply, error) {
	return judge.Reply{}, &judge.Error{Kind: prosecutor.Panic, Err: errors.New("a judge was asked about a case that needs none")}
}

// acquire waits for the judge of a lens.
type acquire func(context.Context) (*judge.Lease, judge.Selection, error)

// run is one case on its way.
type run struct {
	panel    *Panel
	c        Case
	criteria judge.Criteria
	tokens   int
	watch    watch

	// turn is held while a lens of a builder of unknown family gets its judge: which family it may have depends on the
	// others.
	turn     chan struct{}
	mu       sync.Mutex
	families []*string // by lens: the family of its judge, nil while it has none
}

// spread reports whether the lenses have to be spread over families.
func (r *run) spread() bool { return r.criteria.UnknownAgent && len(r.c.Lenses) > 1 }

// start asks for the first judge of every lens, in the order of the lenses, and launches each lens with how its judge is
// waited for.
//
// Every lens has its place in the queue, and where there is room its judge, before the first call is made: a breaker
// that one lens trips does not take the judge from another that could have started beside it. Where the lenses are
// spread, the family of one decides on the next, so a lens is launched as soon as it has its judge: to hold a slot while
// waiting for another one could make two cases wait for each other for ever.
func (r *run) start(ctx context.Context, launch func(i int, get acquire)) {
	if r.spread() {
		for i := range r.c.Lenses {
			r.tellWaiting(i)
			lease, sel, err := r.next(i, nil)(ctx)
			launch(i, func(context.Context) (*judge.Lease, judge.Selection, error) { return lease, sel, err })
		}
		return
	}
	tickets := make([]*judge.Ticket, len(r.c.Lenses))
	for i := range tickets {
		tickets[i] = r.panel.pool.Enqueue(r.want(i, nil))
	}
	for i, ticket := range tickets {
		launch(i, func(ctx context.Context) (*judge.Lease, judge.Selection, error) {
			r.tellWaiting(i)
			return r.got(i)(ticket.Wait(ctx))
		})
	}
}

func (r *run) tellWaiting(i int) {
	r.watch.tell(Event{Kind: Waiting, Lens: r.c.Lenses[i], Wanted: r.wanted()})
}

// next returns how a lens waits for its next judge, which is none of those that failed.
func (r *run) next(i int, failed []judge.Skip) acquire {
	return func(ctx context.Context) (*judge.Lease, judge.Selection, error) {
		if r.spread() {
			select {
			case r.turn <- struct{}{}:
				defer func() { <-r.turn }()
			case <-ctx.Done():
				return nil, judge.Selection{Outcome: judge.OutcomeWait}, fmt.Errorf("waiting for a free judge: %w", ctx.Err())
			}
		}
		return r.got(i)(r.panel.pool.Acquire(ctx, r.want(i, failed)))
	}
}

// got notes the family that judges a lens from now on.
func (r *run) got(i int) func(*judge.Lease, judge.Selection, error) (*judge.Lease, judge.Selection, error) {
	return func(lease *judge.Lease, sel judge.Selection, err error) (*judge.Lease, judge.Selection, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.families[i] = nil
		if err == nil {
			family := lease.Info().Family
			r.families[i] = &family
		}
		return lease, sel, err
	}
}

func (r *run) want(i int, failed []judge.Skip) judge.Want {
	w := judge.Want{Criteria: r.criteria, Repo: r.c.Repo, Tokens: r.tokens}
	w.Except = failed
	r.mu.Lock()
	defer r.mu.Unlock()
	for j, family := range r.families {
		if j != i && family != nil {
			w.OtherFamilies = append(w.OtherFamilies, *family)
		}
	}
	return w
}

// wanted is how many consecutive ships a lens needs (semantics 3).
func (r *run) wanted() int { return max(1, r.c.Policy.Prosecution.DryPasses) }

// lens runs one lens to its end.
func (r *run) lens(ctx context.Context, i int, get acquire) (out LensResult) {
	lens := r.c.Lenses[i]
	out = LensResult{
		Lens:         lens,
		Independence: judge.EffectiveIndependence(r.criteria.Independence, r.criteria.Radius, r.criteria.SelfModifying),
	}
	defer func() {
		if v := recover(); v != nil {
			out.fail(prosecutor.Panic, fmt.Errorf("judging the lens %s: %w", lens, &contract.PanicError{Value: v, Stack: debug.Stack()}))
		}
		r.watch.tell(Event{
			Kind: Finished, Lens: lens, Judge: out.Judge, Pass: len(out.Passes), Wanted: r.wanted(), Dry: out.Dry,
			Verdict: out.Verdict, ErrorKind: out.ErrorKind, Err: out.Err, SameFamily: out.SameFamily,
		})
	}()
	var failed []judge.Skip
	for {
		lease, sel, err := get(ctx)
		out.Skipped = sel.Skipped
		if err != nil {
			out.unserved(ctx, sel, err)
			return out
		}
		a := r.attempt(ctx, lens, lease, sel)
		out.add(a)
		if a.Verdict != prosecutor.Errored || ctx.Err() != nil || !replaceable(a.ErrorKind) {
			return out
		}
		failed = append(failed, judge.Skip{Judge: a.Judge.ID, Why: judge.SkipFailed})
		r.watch.tell(Event{
			Kind: FellBack, Lens: lens, Judge: a.Judge, Pass: len(a.Passes), Wanted: r.wanted(),
			Verdict: a.Verdict, ErrorKind: a.ErrorKind, Err: a.Err,
		})
		get = r.next(i, slices.Clone(failed))
	}
}

// replaceable reports whether another judge may take over after a failure of this kind. Rejected credentials and bugs
// are ours: they end the lens as what they are, so that somebody repairs them (semantics 7).
func replaceable(kind prosecutor.ErrorKind) bool {
	switch kind {
	case prosecutor.Timeout, prosecutor.Transport, prosecutor.Refusal, prosecutor.Quota, prosecutor.SchemaViolation:
		return true
	default:
		return false
	}
}

// attempt runs the dry passes of one lens with one judge: until as many consecutive ships as are wanted, or the first
// other verdict. The slot is given back between passes, so that long schedules do not keep others waiting.
func (r *run) attempt(ctx context.Context, lens prosecutor.Lens, lease *judge.Lease, sel judge.Selection) Attempt {
	a := Attempt{Judge: lease.Info(), SameFamily: sel.SameFamily}
	defer func() {
		if lease != nil {
			lease.Release() // also when something panics before the pass
		}
	}()
	r.watch.tell(Event{Kind: Started, Lens: lens, Judge: a.Judge, Wanted: r.wanted(), SameFamily: a.SameFamily})
	for {
		pass := r.pass(ctx, lens, lease)
		a.note(pass)
		r.watch.tell(Event{
			Kind: PassDone, Lens: lens, Judge: a.Judge, Pass: len(a.Passes), Wanted: r.wanted(), Dry: a.Dry,
			Verdict: pass.Verdict, ErrorKind: pass.ErrorKind, Err: pass.Err, SameFamily: a.SameFamily,
		})
		if pass.Verdict == prosecutor.Errored && ctx.Err() != nil && givenUp(pass.ErrorKind) {
			a.ErrorKind = prosecutor.Canceled
		}
		if pass.Verdict != prosecutor.Ship || a.Dry >= r.wanted() {
			return a
		}
		var err error
		lease, _, err = r.panel.pool.Acquire(ctx, judge.Want{Criteria: r.criteria, Repo: r.c.Repo, Tokens: r.tokens, Only: a.Judge.ID})
		if err != nil {
			a.Verdict, a.Err = prosecutor.Errored, err
			a.ErrorKind, a.ResetAt = unservedKind(err)
			return a
		}
	}
}

// givenUp reports whether a failure may be nothing but the end of the caller's context.
func givenUp(kind prosecutor.ErrorKind) bool {
	return kind == prosecutor.Timeout || kind == prosecutor.Transport || kind == prosecutor.Canceled
}

// pass runs one pass, in a fresh conversation, and gives the slot back.
func (r *run) pass(ctx context.Context, lens prosecutor.Lens, lease *judge.Lease) (pass contract.Pass) {
	defer lease.Release()
	defer func() {
		if v := recover(); v != nil {
			pass = contract.Pass{
				Verdict: prosecutor.Errored, ErrorKind: prosecutor.Panic,
				Err: fmt.Errorf("judging the lens %s: %w", lens, &contract.PanicError{Value: v, Stack: debug.Stack()}),
			}
		}
	}()
	return contract.Prosecute(ctx, lease.Judge(), contract.Input{
		Lens: lens, Brief: r.c.Brief, Nonce: r.panel.opts.Nonce, Now: r.panel.opts.Now, Timeout: r.panel.passTime(lease),
	})
}

// passTime is how long a pass, or a verification, may take.
func (p *Panel) passTime(lease *judge.Lease) time.Duration {
	if p.opts.PassTimeout > 0 {
		return p.opts.PassTimeout
	}
	return lease.PassTime()
}

// unservedKind says in the words of a failed pass why a lens got no judge. Only an exhausted provider keeps a
// configured judge away without being asked; everything else is the caller's end.
func unservedKind(err error) (prosecutor.ErrorKind, time.Time) {
	var unavailable *judge.UnavailableError
	if errors.As(err, &unavailable) {
		return prosecutor.Quota, unavailable.ResetAt
	}
	return prosecutor.Canceled, time.Time{}
}

// estimate is roughly how many tokens a pass takes, for rate limits, which are corrected by what was really used: four
// characters to a token, a fixed part for the charter, and an answer.
func estimate(b *charter.Brief) int {
	const charterAndAnswer = 4000
	return (len(b.Text)+len(b.Spec))/4 + charterAndAnswer
}
