package evidence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// DefaultMemoHeads is how many heads a memo remembers when nothing else is said.
const DefaultMemoHeads = 256

// Memo computes a piece of evidence once per head SHA, not once per pass or per decision (semantics 3): hollow-test runs
// a repository's tests many times, and its answer belongs to the head. A memo is safe for concurrent use; callers that
// ask about one head at the same time share one computation.
type Memo struct {
	heads int

	mu    sync.Mutex
	known map[string]prosecutor.Evidence
	order []string // keys of known, oldest first
	doing map[string]*computation
}

// computation is one that is going on.
type computation struct {
	done     chan struct{} // closed when the fields below are final
	evidence prosecutor.Evidence
	err      error
}

// NewMemo returns a memo that remembers as many heads, and forgets the one it learnt first beyond that. 0 means
// DefaultMemoHeads.
func NewMemo(heads int) *Memo {
	if heads <= 0 {
		heads = DefaultMemoHeads
	}
	return &Memo{heads: heads, known: map[string]prosecutor.Evidence{}, doing: map[string]*computation{}}
}

// Once returns the evidence about a head: what is known, or what compute finds out. compute runs with the context of
// the caller whose call started it; when it fails, nothing is remembered. Those who waited for it get its error, unless it
// is that their own context ended first, or that the starter's did: then one of them starts again.
func (m *Memo) Once(ctx context.Context, head string, compute func(context.Context) (prosecutor.Evidence, error)) (prosecutor.Evidence, error) {
	for {
		m.mu.Lock()
		if e, ok := m.known[head]; ok {
			m.mu.Unlock()
			return e, nil
		}
		c, going := m.doing[head]
		if !going {
			c = &computation{done: make(chan struct{})}
			m.doing[head] = c
		}
		m.mu.Unlock()
		if !going {
			return m.compute(ctx, head, c, compute)
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return prosecutor.Evidence{}, fmt.Errorf("waiting for the evidence about %s: %w", head, ctx.Err())
		}
		if c.err == nil || !endOfContext(c.err) {
			return c.evidence, c.err
		}
		if err := ctx.Err(); err != nil {
			return prosecutor.Evidence{}, fmt.Errorf("waiting for the evidence about %s: %w", head, err)
		}
	}
}

// Remember notes evidence that was computed before, by another process for instance.
func (m *Memo) Remember(head string, e prosecutor.Evidence) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remember(head, e)
}

// Forget drops what is known about a head, so that it is computed again when it is next asked for.
func (m *Memo) Forget(head string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, head)
	m.order = slices.DeleteFunc(m.order, func(h string) bool { return h == head })
}

func (m *Memo) compute(ctx context.Context, head string, c *computation, compute func(context.Context) (prosecutor.Evidence, error)) (prosecutor.Evidence, error) {
	c.err = fmt.Errorf("computing the evidence about %s: it panicked", head) // what the others see if it does
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.doing, head)
		if c.err == nil {
			m.remember(head, c.evidence)
		}
		close(c.done)
	}()
	c.evidence, c.err = compute(ctx)
	return c.evidence, c.err
}

func (m *Memo) remember(head string, e prosecutor.Evidence) {
	if _, ok := m.known[head]; !ok {
		m.order = append(m.order, head)
	}
	m.known[head] = e
	if len(m.order) > m.heads {
		delete(m.known, m.order[0])
		m.order = slices.Delete(m.order, 0, 1)
	}
}

func endOfContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
