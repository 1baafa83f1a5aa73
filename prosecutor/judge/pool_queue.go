package judge

import (
	"maps"
	"slices"
)

// queue holds the waiters of a pool: one line per repository, first come, first served, and the repositories in a ring.
// Whoever was served goes to the end of the ring, and so does a repository that comes new: each is served at the latest
// when everybody before it had a turn. Repositories without waiters take no space. The pool's lock guards it.
type queue struct {
	ring  []string // repositories with waiters, whose turn is next first
	lines map[string][]*Ticket
}

func (q *queue) push(t *Ticket) {
	if q.lines == nil {
		q.lines = map[string][]*Ticket{}
	}
	repo := t.want.Repo
	if len(q.lines[repo]) == 0 {
		q.ring = append(q.ring, repo)
	}
	q.lines[repo] = append(q.lines[repo], t)
}

// remove takes a ticket out, wherever it stands, and reports whether it was there.
func (q *queue) remove(t *Ticket) bool {
	repo := t.want.Repo
	line := q.lines[repo]
	i := slices.Index(line, t)
	if i < 0 {
		return false
	}
	line = slices.Delete(line, i, i+1)
	if len(line) == 0 {
		delete(q.lines, repo)
		q.ring = slices.DeleteFunc(q.ring, func(r string) bool { return r == repo })
		return true
	}
	q.lines[repo] = line
	return true
}

// serve takes a ticket out and ends its repository's turn.
func (q *queue) serve(t *Ticket) {
	repo := t.want.Repo
	q.remove(t)
	if _, waits := q.lines[repo]; waits {
		i := slices.Index(q.ring, repo)
		q.ring = append(slices.Delete(q.ring, i, i+1), repo)
	}
}

// inOrder returns the waiters in the order they would be served if each could be: the first of each repository in the
// ring, then the second of each, and so on.
func (q *queue) inOrder() []*Ticket {
	order := make([]*Ticket, 0, q.len())
	for round := 0; len(order) < cap(order); round++ {
		for _, repo := range q.ring {
			if line := q.lines[repo]; round < len(line) {
				order = append(order, line[round])
			}
		}
	}
	return order
}

func (q *queue) len() int {
	n := 0
	for _, line := range q.lines {
		n += len(line)
	}
	return n
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
