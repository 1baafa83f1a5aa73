package casefile

import (
	"sync"
	"time"
)

// recent remembers ids for a while. It is safe for concurrent use and bounded: when it is full, the oldest is forgotten.
type recent struct {
	mu    sync.Mutex
	keep  time.Duration
	most  int
	until map[int64]time.Time
}

func newRecent(keep time.Duration, most int) *recent {
	return &recent{keep: keep, most: most, until: make(map[int64]time.Time)}
}

func (r *recent) has(id int64, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	until, ok := r.until[id]
	if ok && !now.Before(until) {
		delete(r.until, id)
		return false
	}
	return ok
}

func (r *recent) add(id int64, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.until) >= r.most {
		var oldest int64
		var at time.Time
		for id, until := range r.until {
			if at.IsZero() || until.Before(at) {
				oldest, at = id, until
			}
		}
		delete(r.until, oldest)
	}
	r.until[id] = now.Add(r.keep)
}

func (r *recent) forget(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.until, id)
}
