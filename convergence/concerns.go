package convergence

import (
	"slices"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Concern is a blocking finding of a judge that the ledger remembers.
type Concern struct {
	ID       string              `json:"id"`
	Lens     prosecutor.Lens     `json:"lens,omitempty"`
	Origin   string              `json:"origin,omitempty"` // the judge that made it
	Severity prosecutor.Severity `json:"severity,omitempty"`
	Charge   prosecutor.Charge   `json:"charge,omitempty"`
	Claim    string              `json:"claim"`
	Evidence string              `json:"evidence,omitempty"`
	Path     string              `json:"path,omitempty"`
	Side     prosecutor.Side     `json:"side,omitempty"`
	Quote    string              `json:"quote,omitempty"`
	Lap      int                 `json:"lap,omitempty"`  // of the epoch, the first in which it was made
	Head     string              `json:"head,omitempty"` // the head of that lap
	Settled  How                 `json:"settled,omitempty"`
}

// How says how a concern was settled.
type How string

// The ways a concern is settled.
const (
	ByRefutation How = "refuted"   // a fresh verification refuted it; a judge may accuse again
	ByDismissal  How = "dismissed" // a person dismissed it; final for its identity
)

// Settled records who settled a finding, and why.
type Settled struct {
	ID     string    `json:"id"`
	How    How       `json:"how"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// Remember turns a finding into what the ledger keeps of it.
func Remember(f prosecutor.Finding) Concern {
	c := Concern{
		ID: identity(f), Lens: f.Lens, Origin: f.Origin, Severity: f.Severity, Charge: f.Charge,
		Claim: f.Claim, Evidence: f.Evidence, Path: path(f),
	}
	if f.Anchor != nil {
		c.Side, c.Quote = f.Anchor.Side, f.Anchor.Quote
	}
	if f.Place.Side != "" {
		c.Side = f.Place.Side
	}
	return c
}

// Finding turns a concern back into a finding. It has no place: lines move, so whoever publishes it looks the quotation
// up in the diff at hand.
func (c Concern) Finding() prosecutor.Finding {
	f := prosecutor.Finding{
		ID: c.ID, Lens: c.Lens, Source: prosecutor.FromModel, Origin: c.Origin, Severity: c.Severity, Claimed: c.Severity,
		Charge: c.Charge, Claim: c.Claim, Evidence: c.Evidence,
	}
	if c.Path != "" || c.Quote != "" {
		f.Anchor = &prosecutor.Anchor{Path: c.Path, Side: c.Side, Quote: c.Quote}
	}
	return f
}

func identity(f prosecutor.Finding) string {
	if f.ID != "" {
		return f.ID
	}
	return prosecutor.Identify(f)
}

// accuse remembers the accusations of the last lap. Those that a replaced decision on the same head had made are
// forgotten first: the later decision stands for the lap. What is accused again keeps the lap it was accused in first, and
// takes the words of now; two claims about one place, which share an identity, both stay.
func (l *Ledger) accuse(accused []prosecutor.Finding, head string) {
	l.Accusations = slices.DeleteFunc(l.Accusations, func(c Concern) bool { return c.Lap == l.Laps })
	earlier := l.Accusations
	for _, f := range accused {
		if f.Source != prosecutor.FromModel {
			continue
		}
		c := Remember(f)
		c.Lap, c.Head = l.Laps, head
		if i := slices.IndexFunc(earlier, func(o Concern) bool { return o.ID == c.ID }); i >= 0 {
			c.Lap, c.Head = earlier[i].Lap, earlier[i].Head
		}
		l.Accusations = append(l.Accusations, c)
	}
	now := l.Accusations[len(earlier):]
	again := func(c Concern) bool { return slices.ContainsFunc(now, func(o Concern) bool { return o.ID == c.ID }) }
	l.Accusations = append(slices.DeleteFunc(slices.Clone(earlier), again), now...)
}

// StandingConcerns returns the blocking findings of earlier laps of the epoch that are neither settled nor repeated among
// the current findings, and whose quoted lines still stand in the head: they are not fixed, only unmentioned
// (semantics 6). The ledger has to be that of the case at hand, as Before returns it, because what the lap at hand itself
// accused is no concern of an earlier one. A finding without a quotation accuses no lines and cannot stand. Without
// quoteStands nobody can tell, so every quotation counts as standing.
func StandingConcerns(l Ledger, current []prosecutor.Finding, quoteStands func(prosecutor.Anchor) bool) []prosecutor.Finding {
	repeated := map[string]bool{}
	for _, f := range current {
		repeated[identity(f)] = true
		repeated[Signature(f)] = true
	}
	var standing []prosecutor.Finding
	for _, c := range l.Accusations {
		if c.Settled != "" || isBlank(c.Quote) {
			continue
		}
		if c.Lap == l.Laps && l.lapOf(l.Current.Head) {
			continue
		}
		f := c.Finding()
		if repeated[c.ID] || repeated[Signature(f)] {
			continue
		}
		if quoteStands != nil && !quoteStands(*f.Anchor) {
			continue
		}
		standing = append(standing, f)
	}
	return standing
}

// SettleConcern records that a finding was refuted by a fresh verification, or dismissed by a person. A dismissal is
// final for the identity, whether or not the ledger knows the finding; a refutation settles only what was accused so far.
func SettleConcern(l Ledger, s Settled) Ledger {
	l = l.clone()
	for i, c := range l.Accusations {
		if c.ID == s.ID {
			l.Accusations[i].Settled = s.How
		}
	}
	l.OpenConcerns = slices.DeleteFunc(l.OpenConcerns, func(c Concern) bool { return c.ID == s.ID })
	if s.How == ByDismissal && !l.dismissed(s.ID) {
		l.Dismissals = append(l.Dismissals, s)
	}
	return l.settle()
}

// dismissed reports whether a person dismissed the finding of this identity.
func (l Ledger) dismissed(id string) bool {
	return slices.ContainsFunc(l.Dismissals, func(s Settled) bool { return s.ID == id })
}
