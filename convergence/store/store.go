// Package store keeps the ledgers of package convergence, and the history of their decisions.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Store keeps ledgers. Implementations are safe for concurrent use, also by several processes.
type Store interface {
	// Load returns the ledger of a change, which is convergence.New() for one that nobody has looked at.
	Load(ctx context.Context, key convergence.Key) (convergence.Ledger, error)
	// Update replaces the ledger of a change by what change makes of it, in one write transaction: no other writer comes
	// between the reading and the writing. change is called once. An error of it is returned as it is, and then nothing
	// was written. It must be quick and must not use the store.
	Update(ctx context.Context, key convergence.Key, change func(convergence.Ledger) (convergence.Ledger, error)) error
	// Rule is Update for a ruling: it stores the ledger of the ruling and appends the ruling to the history, both or
	// neither. A ruling without an outcome is stored as a ledger alone, and so is one of a guard that had nothing to say:
	// an event that is not served, a case that is decided already.
	Rule(ctx context.Context, key convergence.Key, rule func(convergence.Ledger) (convergence.Ruling, error)) (convergence.Ruling, error)
	// History returns the latest rulings on a change, newest first, at most limit.
	History(ctx context.Context, key convergence.Key, limit int) ([]Record, error)
	// List returns all ledgers, by repository and change.
	List(ctx context.Context) ([]Summary, error)
	// Close ends the use of the store.
	Close() error
}

// Summary is one ledger of a list.
type Summary struct {
	Key       convergence.Key
	Ledger    convergence.Ledger
	UpdatedAt time.Time
}

// Record is one ruling of the history. It is never changed.
type Record struct {
	ID       int64
	Case     convergence.Case
	Stage    convergence.Stage
	Event    convergence.Event
	Outcome  convergence.Outcome
	Decision convergence.Decision // empty when there is none
	Reason   convergence.Reason
	Causes   []convergence.Reason
	Findings []Finding
	Laps     int
	Epoch    int
	At       time.Time
}

// Finding is a finding as the history keeps it.
type Finding struct {
	ID         string                   `json:"id"`
	Lens       prosecutor.Lens          `json:"lens,omitempty"`
	Source     prosecutor.FindingSource `json:"source,omitempty"`
	Origin     string                   `json:"origin,omitempty"`
	Rule       string                   `json:"rule,omitempty"`
	Severity   prosecutor.Severity      `json:"severity"`
	Claimed    prosecutor.Severity      `json:"claimed,omitempty"`
	Charge     prosecutor.Charge        `json:"charge"`
	Claim      string                   `json:"claim"`
	Evidence   string                   `json:"evidence,omitempty"`
	Suggestion string                   `json:"suggestion,omitempty"`
	Status     prosecutor.AnchorStatus  `json:"status,omitempty"`
	Path       string                   `json:"path,omitempty"`
	Side       prosecutor.Side          `json:"side,omitempty"`
	StartLine  int                      `json:"start_line,omitempty"`
	EndLine    int                      `json:"end_line,omitempty"`
	Quote      string                   `json:"quote,omitempty"`
	Blocks     bool                     `json:"blocks"` // it sent the case back
	Standing   bool                     `json:"standing,omitempty"`
	Dismissed  bool                     `json:"dismissed,omitempty"`
}

// findings translates the findings of a ruling.
func findings(r convergence.Ruling) []Finding {
	type key struct{ id, claim string }
	in := func(list []prosecutor.Finding) map[key]bool {
		set := make(map[key]bool, len(list))
		for _, f := range list {
			set[key{f.ID, f.Claim}] = true
		}
		return set
	}
	blocking, standing, dismissed := in(r.Blocking), in(r.Standing), in(r.Dismissed)
	out := make([]Finding, 0, len(r.Findings))
	for _, f := range r.Findings {
		k := key{f.ID, f.Claim}
		g := Finding{
			ID: f.ID, Lens: f.Lens, Source: f.Source, Origin: f.Origin, Rule: f.Rule, Severity: f.Severity, Claimed: f.Claimed,
			Charge: f.Charge, Claim: f.Claim, Evidence: f.Evidence, Suggestion: f.Suggestion,
			Status: f.Place.Status, Path: f.Place.Path, Side: f.Place.Side, StartLine: f.Place.StartLine, EndLine: f.Place.EndLine,
			Blocks: blocking[k], Standing: standing[k], Dismissed: dismissed[k],
		}
		if a := f.Anchor; a != nil {
			g.Quote = a.Quote
			if g.Path == "" {
				g.Path = a.Path
			}
			if g.Side == "" {
				g.Side = a.Side
			}
		}
		out = append(out, g)
	}
	return out
}

// worthKeeping reports whether a ruling goes into the history.
func worthKeeping(r convergence.Ruling) bool {
	switch r.Reason {
	case convergence.AlreadyDecided, convergence.UnsupportedEvent:
		return false
	default:
		return r.Outcome != ""
	}
}

// Judge is convergence.Decide over a store. The guards and the evidence are asked in one transaction, the judges in none,
// and what they said is ruled on in another one, over the ledger as it is by then: a case that was superseded, closed or
// decided meanwhile stays undecided. An error means that the ruling is not stored; whoever publishes rulings must not
// publish that one.
func Judge(ctx context.Context, s Store, f convergence.Facts, p *config.Policy, ask convergence.Ask, opts ...convergence.Option) (convergence.Ruling, error) {
	var step convergence.Step
	r, err := s.Rule(ctx, f.Case.Key, func(l convergence.Ledger) (convergence.Ruling, error) {
		step = convergence.Before(f, l, p)
		if step.Ruling != nil {
			return *step.Ruling, nil
		}
		return convergence.Ruling{Ledger: step.Ledger}, nil
	})
	if err != nil {
		return convergence.Failed(f, step.Ledger, p, err), fmt.Errorf("before judging %s: %w", f.Case.Key, err)
	}
	if step.Ruling != nil {
		return r, nil
	}
	outcomes, err := convergence.Consult(ctx, f, step, p, ask, opts...)
	if err != nil {
		return convergence.Failed(f, step.Ledger, p, err), err
	}
	r, err = s.Rule(ctx, f.Case.Key, func(l convergence.Ledger) (convergence.Ruling, error) {
		return convergence.After(f, l, p, outcomes), nil
	})
	if err != nil {
		return convergence.Failed(f, step.Ledger, p, err), fmt.Errorf("after judging %s: %w", f.Case.Key, err)
	}
	return r, nil
}

// errVersion is wrapped by the error about a ledger of a later version.
var errVersion = errors.New("written by a later version of prosecutor")

// decode reads a ledger from its JSON.
func decode(raw string) (convergence.Ledger, error) {
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal([]byte(raw), &version); err != nil {
		return convergence.Ledger{}, err
	}
	if version.Version > convergence.LedgerVersion {
		return convergence.Ledger{}, fmt.Errorf("%w: ledger version %d, this program knows %d", errVersion, version.Version, convergence.LedgerVersion)
	}
	var l convergence.Ledger
	if err := json.Unmarshal([]byte(raw), &l); err != nil {
		return convergence.Ledger{}, err
	}
	return l, nil
}
