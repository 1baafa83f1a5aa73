package judge

import (
	"slices"
	"strings"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Outcome is what a selection came to.
type Outcome string

// The outcomes of a selection.
const (
	// OutcomeJudge means that a judge can serve now.
	OutcomeJudge Outcome = "judge"
	// OutcomeWait means that a judge who may serve is configured and cannot serve now: it is busy, its provider is
	// exhausted, or it failed already. It is waited for; a judge of the builder's family is no substitute.
	OutcomeWait Outcome = "wait"
	// OutcomeEscalate means that independence is required and no configured judge is independent of the builder.
	OutcomeEscalate Outcome = "escalate"
)

// Why says why a judge was passed over.
type Why string

// The reasons to pass over a judge.
const (
	SkipBuilderFamily Why = "builder_family" // the judge is of a family that built the change
	SkipUnknownFamily Why = "unknown_family" // its family is unknown where independence has to be shown
	SkipSpread        Why = "spread"         // the builder's family is unknown, and this family judges the other lenses
	SkipAccuser       Why = "accuser"        // it made the finding that is to be verified
	SkipFailed        Why = "failed"         // it failed already under this lens
	SkipBreakerOpen   Why = "breaker_open"   // its provider's credit or quota is used up
	SkipNoCapacity    Why = "no_capacity"    // no free slot, or its rate limit is reached
)

// passing reports whether a reason can go away by itself.
func (w Why) passing() bool {
	switch w {
	case SkipFailed, SkipBreakerOpen, SkipNoCapacity:
		return true
	default:
		return false
	}
}

// Skip is a judge that was passed over.
type Skip struct {
	Judge string // its ID
	Why   Why
}

// State is what a selection knows of one judge.
type State struct {
	Info        Info
	FreeSlots   int // calls that could start now; 0 when a rate limit is reached
	BreakerOpen bool
}

// Criteria says for which case and which lens a judge is sought.
type Criteria struct {
	BuilderFamilies []string // the families that attribution found
	UnknownAgent    bool     // an agent of unknown family took part in building
	Radius          prosecutor.Radius
	SelfModifying   bool
	Independence    config.Independence // as the policy says; empty means the default of the radius
	Prefer          map[string][]string // the policy's judges.prefer: builder family -> judges in order
	// Lenses is how many lenses the case has. It counts only for a builder of unknown family, whose lenses are spread.
	Lenses int
	// OtherFamilies are the families that judge the other lenses of the case, as far as they have a judge.
	OtherFamilies []string
	// Except names judges that may not serve, with the reason: those that failed under this lens, or the accuser.
	Except []Skip
}

// SelectInput is a snapshot of all judges, in configured order, and what is sought.
type SelectInput struct {
	Criteria
	Judges []State
}

// Selection is the choice and how it was made.
type Selection struct {
	Outcome      Outcome
	Judge        string              // ID; empty unless a judge was chosen
	SameFamily   bool                // the judge is of a builder's family
	Independence config.Independence // in force: required or preferred, never the empty default
	Skipped      []Skip              // passed over before the choice, in the order they were tried
}

// Busy reports whether a judge that may serve is only short of capacity.
func (s Selection) Busy() bool {
	return s.Outcome == OutcomeWait && slices.ContainsFunc(s.Skipped, func(k Skip) bool { return k.Why == SkipNoCapacity })
}

// EffectiveIndependence is the independence in force (semantics 8): always required for a case that touches its own
// gate, else what the policy says, else required for high radius and preferred below it.
func EffectiveIndependence(policy config.Independence, radius prosecutor.Radius, selfModifying bool) config.Independence {
	switch {
	case selfModifying:
		return config.IndependenceRequired
	case policy == config.IndependenceRequired || policy == config.IndependencePreferred:
		return policy
	case radius == prosecutor.RadiusLow || radius == prosecutor.RadiusMedium:
		return config.IndependencePreferred
	default: // high, and a radius that was never measured
		return config.IndependenceRequired
	}
}

// Select chooses who judges (semantics 8). Judges are tried in the preferred, else the configured order. A judge of a
// builder's family is passed over, and so is one whose family is unknown where independence is required and the builder
// is not known to be human; such a judge, one without capacity or with an open breaker, is listed as skipped. Where no
// judge outside the builder's families is configured at all, a required independence escalates and a preferred one lets
// a judge of the builder's family serve.
//
// A builder that is an agent of unknown family has its lenses spread over at least two families, so that at most one of
// them can be the builder's. Where independence is required, that takes two known families and two lenses: a single
// family proves nothing, however many judges it has. Where it is preferred, the lenses are spread as far as the
// configured families go.
//
// The static judge is of no model's family: it is independent of every builder. It is a candidate only where nothing
// else is configured, so that an outage never turns prosecution into linting.
//
// Select is a pure function.
func Select(in SelectInput) Selection {
	s := selector{in: in, independence: EffectiveIndependence(in.Independence, in.Radius, in.SelfModifying)}
	s.candidates = s.order()
	s.static = len(s.candidates) > 0 && s.candidates[0].Info.Static
	return s.choose()
}

type selector struct {
	in           SelectInput
	independence config.Independence
	candidates   []State
	static       bool
}

func (s *selector) choose() Selection {
	out := Selection{Outcome: OutcomeEscalate, Independence: s.independence, Skipped: []Skip{}}
	spread := s.spreadAway()
	if s.spreadImpossible() {
		for _, c := range s.candidates {
			why := s.barred(c)
			if why == "" {
				why = SkipSpread
			}
			out.Skipped = append(out.Skipped, Skip{c.Info.ID, why})
		}
		return out
	}
	found := s.walk(&out, func(c State) Why {
		if why := s.barred(c); why != "" {
			return why
		}
		if spread != nil && (c.Info.Family == "" || sameFamily(c.Info.Family, *spread)) {
			return SkipSpread
		}
		return ""
	})
	if found || s.independence == config.IndependenceRequired || slices.ContainsFunc(s.candidates, s.eligible) {
		return out
	}
	same := Selection{Outcome: OutcomeEscalate, Independence: s.independence, Skipped: []Skip{}}
	if s.walk(&same, func(State) Why { return "" }) {
		same.SameFamily = true
	}
	return same
}

// walk tries the candidates in order and sets the outcome: the first that can serve, else wait if one of them may serve
// later, else escalate.
func (s *selector) walk(out *Selection, bar func(State) Why) (found bool) {
	for _, c := range s.candidates {
		why := bar(c)
		if why == "" {
			why = s.unavailable(c)
		}
		if why == "" {
			out.Outcome, out.Judge = OutcomeJudge, c.Info.ID
			return true
		}
		out.Skipped = append(out.Skipped, Skip{c.Info.ID, why})
		if why.passing() {
			out.Outcome = OutcomeWait
		}
	}
	return false
}

// barred says what keeps a judge from this case for good.
func (s *selector) barred(c State) Why {
	switch {
	case c.Info.Static:
		return ""
	case containsFamily(s.in.BuilderFamilies, c.Info.Family):
		return SkipBuilderFamily
	case c.Info.Family == "" && s.independence == config.IndependenceRequired && !s.human():
		return SkipUnknownFamily
	default:
		return ""
	}
}

func (s *selector) eligible(c State) bool { return s.barred(c) == "" }

func (s *selector) human() bool { return len(s.in.BuilderFamilies) == 0 && !s.in.UnknownAgent }

// unavailable says what keeps a judge from serving now.
func (s *selector) unavailable(c State) Why {
	for _, e := range s.in.Except {
		if e.Judge == c.Info.ID {
			return e.Why
		}
	}
	switch {
	case c.BreakerOpen:
		return SkipBreakerOpen
	case c.FreeSlots <= 0:
		return SkipNoCapacity
	default:
		return ""
	}
}

// spreadImpossible reports that an agent of unknown family built the change, independence is required, and one family
// would judge it alone.
func (s *selector) spreadImpossible() bool {
	return s.in.UnknownAgent && !s.static && s.independence == config.IndependenceRequired &&
		(s.in.Lenses < 2 || len(s.families()) < 2)
}

// spreadAway returns the family that must not judge this lens too, because it judges all the others; nil when there is
// none to avoid.
func (s *selector) spreadAway() *string {
	if !s.in.UnknownAgent || s.static || s.in.Lenses < 2 || len(s.families()) < 2 || len(s.in.OtherFamilies) == 0 {
		return nil
	}
	only := s.in.OtherFamilies[0]
	for _, other := range s.in.OtherFamilies[1:] {
		if !sameFamily(only, other) {
			return nil
		}
	}
	return &only
}

// families are the known families that may judge this case.
func (s *selector) families() []string {
	var known []string
	for _, c := range s.candidates {
		if c.Info.Family != "" && s.eligible(c) && !containsFamily(known, c.Info.Family) {
			known = append(known, c.Info.Family)
		}
	}
	return known
}

// order returns the candidates in the order they are tried: those that the policy prefers for a builder's family first,
// then the others as configured. A preference is an order, not a list of who may serve.
func (s *selector) order() []State {
	var models, rules []State
	for _, c := range s.in.Judges {
		if c.Info.Static {
			rules = append(rules, c)
		} else {
			models = append(models, c)
		}
	}
	if len(models) == 0 {
		return rules
	}
	rank := map[string]int{}
	for _, name := range s.preferred() {
		if _, ok := rank[name]; !ok {
			rank[name] = len(rank)
		}
	}
	at := func(c State) int {
		if r, ok := rank[c.Info.ID]; ok {
			return r
		}
		return len(rank)
	}
	slices.SortStableFunc(models, func(a, b State) int { return at(a) - at(b) })
	return models
}

// preferred concatenates the policy's lists for the builder's families, in the order of the families.
func (s *selector) preferred() []string {
	var names []string
	for _, family := range slices.Sorted(slices.Values(s.in.BuilderFamilies)) {
		for _, key := range sortedKeys(s.in.Prefer) {
			if sameFamily(key, family) {
				names = append(names, s.in.Prefer[key]...)
			}
		}
	}
	return names
}

// sameFamily compares families without regard to case and surrounding space: a spelling must not make a family judge
// its own work.
func sameFamily(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

func containsFamily(list []string, family string) bool {
	return slices.ContainsFunc(list, func(x string) bool { return sameFamily(x, family) })
}
