package panel

import (
	"sync"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
)

// Observer is told how a case goes on. Observe is called from the goroutines of the lenses, one call at a time, and
// holds the lens up until it returns.
type Observer interface {
	Observe(Event)
}

// ObserverFunc is a function as an Observer.
type ObserverFunc func(Event)

// Observe implements Observer.
func (f ObserverFunc) Observe(e Event) { f(e) }

// EventKind says what happened.
type EventKind string

// The kinds of events. A lens waits, starts with a judge, has passes, perhaps falls back and starts again, and
// finishes.
const (
	Waiting  EventKind = "waiting"   // the lens asks for a judge
	Started  EventKind = "started"   // it has one
	PassDone EventKind = "pass_done" // a pass ended with Verdict
	FellBack EventKind = "fell_back" // the judge failed, and the next one is asked
	Finished EventKind = "finished"  // the lens has its result
)

// Event is one step of one lens.
type Event struct {
	Kind       EventKind
	Lens       prosecutor.Lens
	Judge      judge.Info // zero while there is none
	SameFamily bool       // the judge is of a builder's family
	Pass       int        // passes of this judge so far
	Dry        int        // consecutive ships of this judge so far
	Wanted     int        // consecutive ships that the lens needs
	Verdict    prosecutor.Verdict
	ErrorKind  prosecutor.ErrorKind
	Err        error
}

// watch serialises the calls of an observer.
type watch struct {
	observer Observer
	mu       sync.Mutex
}

func (w *watch) tell(e Event) {
	if w.observer == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observer.Observe(e)
}
