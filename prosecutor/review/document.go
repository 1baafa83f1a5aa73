package review

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence/rules"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// About is what a report says of a case besides its result.
type About struct {
	Version      string // of the program
	BaseRef      string // as the user named the base
	MergeBase    string
	PolicySource string
	SpecSource   string
	StaticOnly   bool // no model is configured
	Ledger       bool // the ruling's ledger is a stored one
	Explain      bool
	Notes        []string
}

// Document is the result as a report. Secrets in it are masked.
func (r *Result) Document(a About) *report.Document {
	ruling := r.Ruling
	d := &report.Document{
		Version: report.FormatVersion,
		Tool:    report.Tool{Name: "prosecutor", Version: a.Version},
		Case: report.Case{
			Repo: r.Case.ID.Repo, Branch: r.Case.Branch, Base: r.Case.ID.Base, BaseRef: a.BaseRef, MergeBase: a.MergeBase,
			Head: r.Case.ID.Head, PolicyHash: r.Case.ID.PolicyHash, PolicySource: a.PolicySource,
			SpecHash: r.Case.ID.SpecHash, SpecSource: a.SpecSource,
		},
		Outcome: string(ruling.Outcome.Public()),
		Reason:  string(ruling.Reason),
		Summary: rules.Redact(summary(ruling)),
		Next:    next(ruling),
		// Before any judge was asked, what is configured says whether one could have been a model.
		StaticRulesOnly: a.StaticOnly || ruling.StaticOnly,
		BlastRadius: report.BlastRadius{
			Level: string(r.Radius.Level), Why: r.Radius.Why, ChangedLines: r.Radius.ChangedLines,
			SourceLines: r.Radius.SourceLines, Files: r.Radius.Files, SelfModifying: r.Radius.SelfModifying,
		},
		Builder: report.Builder{Families: r.Case.Builder.Families},
		Notes:   append(slices.Clone(a.Notes), r.Notes...),
	}
	if ruling.Decision != "" {
		word := string(ruling.Decision)
		d.Decision = &word
	}
	for _, c := range ruling.Causes {
		d.Causes = append(d.Causes, string(c))
	}
	for _, s := range r.Case.Builder.Found {
		d.Builder.Found = append(d.Builder.Found, report.Sign{Family: s.Family, From: string(s.From), Value: s.Value})
	}
	r.addEvidence(d)
	r.addLenses(d)
	r.addFindings(d)
	for _, x := range r.Excluded {
		d.NotRead = append(d.NotRead, report.NotRead{Path: x.Path, Lines: x.Lines, Reason: x.Reason})
	}
	if a.Ledger {
		l := ruling.Ledger
		d.Ledger = &report.Ledger{
			Laps: l.Laps, BudgetLaps: l.BudgetLaps, MaxLaps: ruling.MaxLaps, Epoch: max(1, l.Epoch),
			Converged: l.Converged, Escalated: l.Escalated, NotConverging: l.NotConverging,
		}
		for _, c := range l.OpenConcerns {
			d.Ledger.OpenConcerns = append(d.Ledger.OpenConcerns, rules.Redact(strings.TrimPrefix(c.Path+": "+c.Claim, ": ")))
		}
	}
	if a.Explain {
		d.Explain = r.explain()
	}
	return d
}

func (r *Result) addEvidence(d *report.Document) {
	for _, source := range prosecutor.EvidenceSources() {
		for _, e := range r.Evidence {
			if e.Source != source {
				continue
			}
			out := report.Evidence{
				Source: string(e.Source), State: string(e.State), Detail: rules.Redact(e.Detail),
				CountsAsRed: convergence.CountsAsRed(e, r.Case.Policy, convergence.EvidenceContext{}),
			}
			for _, f := range e.Findings {
				out.Findings = append(out.Findings, f.ID)
			}
			d.Evidence = append(d.Evidence, out)
		}
	}
}

func (r *Result) addLenses(d *report.Document) {
	for _, l := range r.Lenses {
		out := report.Lens{
			Lens: string(l.Lens), Judge: l.Judge.ID, Family: l.Judge.Family, Model: l.Judge.Model,
			Verdict: string(l.Verdict), ErrorKind: string(l.ErrorKind),
			Degraded: slices.Contains(r.Ruling.Degraded, l.Lens), Refuted: slices.Contains(r.Ruling.Refuted, l.Lens),
			SameFamily: l.SameFamily, Independence: string(l.Independence),
		}
		if l.Err != nil && l.Verdict == prosecutor.Errored {
			out.Error = rules.Redact(l.Err.Error())
		}
		passes := l.Passes
		if len(l.Attempts) > 1 {
			passes = nil
			for _, a := range l.Attempts {
				passes = append(passes, a.Passes...)
			}
		}
		for _, p := range passes {
			out.Passes = append(out.Passes, pass(p))
		}
		for _, s := range l.Skipped {
			out.Skipped = append(out.Skipped, report.Skip{Judge: s.Judge, Why: string(s.Why)})
		}
		d.Lenses = append(d.Lenses, out)
	}
}

func pass(p contract.Pass) report.Pass {
	return report.Pass{
		Verdict: string(p.Verdict), ErrorKind: string(p.ErrorKind), Calls: p.Calls, LatencyMS: p.Latency.Milliseconds(),
		TokensIn: p.TokensIn, TokensOut: p.TokensOut, CostUSD: p.CostUSD,
	}
}

// addFindings lists the findings, those that block first, then by severity, path and line.
func (r *Result) addFindings(d *report.Document) {
	blocking, standing := ids(r.Ruling.Blocking), ids(r.Ruling.Standing)
	for _, f := range r.Ruling.Findings {
		out := report.Finding{
			ID: f.ID, Lens: string(f.Lens), Source: string(f.Source), Origin: f.Origin, Rule: f.Rule,
			Severity: string(f.Severity), Claimed: string(f.Claimed), Charge: string(f.Charge),
			Blocking: blocking[f.ID], Standing: standing[f.ID],
			Claim: rules.Redact(f.Claim), Evidence: rules.Redact(f.Evidence), Suggestion: rules.Redact(f.Suggestion),
			Path: f.Place.Path, Side: string(f.Place.Side), StartLine: f.Place.StartLine, EndLine: f.Place.EndLine,
			Anchor: string(f.Place.Status), Anchored: f.Place.Status == prosecutor.Anchored,
		}
		if f.Anchor != nil {
			out.Quote = rules.Redact(f.Anchor.Quote)
			if out.Path == "" {
				out.Path = f.Anchor.Path
			}
			if out.Side == "" {
				out.Side = string(f.Anchor.Side)
			}
		}
		if out.Anchor == "" {
			out.Anchor = string(prosecutor.NoFile)
		}
		if out.Claimed == "" {
			out.Claimed = out.Severity
		}
		d.Findings = append(d.Findings, out)
	}
	slices.SortStableFunc(d.Findings, func(a, b report.Finding) int {
		if a.Blocking != b.Blocking {
			if a.Blocking {
				return -1
			}
			return 1
		}
		if c := prosecutor.Severity(b.Severity).Rank() - prosecutor.Severity(a.Severity).Rank(); c != 0 {
			return c
		}
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return a.StartLine - b.StartLine
	})
}

func ids(findings []prosecutor.Finding) map[string]bool {
	set := make(map[string]bool, len(findings))
	for _, f := range findings {
		set[f.ID] = true
	}
	return set
}

// summary is the ruling's title without the word that stands beside it.
func summary(r convergence.Ruling) string {
	title := strings.TrimSuffix(r.Title(), " (static rules only)")
	for _, prefix := range []string{string(r.Decision) + ": ", "Not judged: ", "Waiting for "} {
		if rest, ok := strings.CutPrefix(title, prefix); ok && prefix != ": " {
			return rest
		}
	}
	return title
}

// next says what to do after a ruling.
func next(r convergence.Ruling) string {
	switch r.Outcome {
	case convergence.Decided:
		switch r.Decision {
		case convergence.Advance:
			return "The change may advance."
		case convergence.LoopBack:
			switch r.Reason {
			case convergence.TooLarge:
				return "Split the change into parts that can be judged whole, or have the policy leave out files that nobody writes by hand (diff.exclude)."
			case convergence.NoChange:
				return "Commit the change, or name other refs: the two compared here do not differ."
			case convergence.RedEvidence:
				return "Fix what blocks and run again. A finding that is meant can be accepted on the base branch (static_rules.accepted and hollow_test.accepted in the policy)."
			default:
				return "Fix what blocks, commit, and run again."
			}
		default:
			return "The gate gives up: people have to look at this change. Running the review again by hand opens a new epoch."
		}
	case convergence.Escalated:
		if r.Reason == convergence.NoIndependence {
			return "Configure a judge of another family than the builder's, or let the policy relax it (independence: preferred), and run again."
		}
		return "Nothing was decided: no judge answered in time. Check the judges' provider, network and credit, and run again."
	case convergence.Parked:
		return "Nothing was decided: evidence is still missing. Run again when it has arrived."
	case convergence.Held:
		when := ""
		if !r.RetryAt.IsZero() {
			when = " after " + r.RetryAt.UTC().Format(time.RFC3339)
		}
		return "Nothing was decided: no judge could answer. Check the judges' provider, network and credit, or name another judge with --judge, and run again" + when + "."
	case convergence.Errored:
		if r.Reason == convergence.AuthFailure {
			return "Nothing was decided: set the key that the server file names for this judge, and run again."
		}
		return "Nothing was decided, and the fault is ours. Run again; if it repeats, report it with this output."
	}
	switch r.Reason {
	case convergence.KillSwitch:
		return "Nothing was decided: judging is switched off."
	case convergence.OnlyExcluded:
		return "Nothing was decided: nobody can read this change whole. Split it."
	case convergence.BrokenPolicy:
		return "Nothing was decided: repair the policy file on the base branch."
	case convergence.Canceled:
		return "Nothing was decided, and the ledger was not changed."
	default:
		return "Nothing was decided."
	}
}

// explain lists every rule that fired, in order.
func (r *Result) explain() []report.Step {
	var steps []report.Step
	add := func(rule, format string, args ...any) {
		steps = append(steps, report.Step{Rule: rule, Detail: rules.Redact(fmt.Sprintf(format, args...))})
	}
	ruling := r.Ruling
	for _, s := range r.Case.Builder.Found {
		add("8 attribution", "builder family %s, from %s: %s", s.Family, s.From, s.Value)
	}
	if len(r.Case.Builder.Found) == 0 {
		add("8 attribution", "nothing points at a model: people built this change, and anyone may judge it")
	}
	add("4 blast radius", "%s: %s", r.Radius.Level, strings.Join(r.Radius.Why, "; "))
	if r.Radius.SelfModifying {
		add("9 self-modifying", "the change touches the gate itself: it needs an independent judge and nothing lets a failed one pass")
	}
	for _, x := range r.Excluded {
		add("2 not read", "%s: %s, %d changed lines", x.Path, x.Reason, x.Lines)
	}
	switch ruling.Reason {
	case convergence.NoChange:
		add("2 row 1", "the diff is empty or white space: blocked without a judge")
	case convergence.TooLarge:
		add("2 row 2", "the diff is over %d characters: blocked without a judge", contract.MaxCodePoints)
	}
	for _, e := range r.Evidence {
		verdict := "does not block"
		if convergence.CountsAsRed(e, r.Case.Policy, convergence.EvidenceContext{}) {
			verdict = "counts as red"
		}
		add("5 evidence", "%s is %s (%s): %s", e.Source, e.State, e.Detail, verdict)
		for _, f := range e.Findings {
			add("5 evidence", "%s %s: %s %s", e.Source, f.Severity, f.Rule, f.Claim)
		}
	}
	for _, l := range r.Lenses {
		for _, s := range l.Skipped {
			add("8 choice", "%s: %s was passed over: %s", l.Lens, s.Judge, s.Why)
		}
		for _, a := range l.Attempts {
			for i, p := range a.Passes {
				why := ""
				if p.Err != nil {
					why = ": " + p.Err.Error()
				}
				add("3 pass", "%s: %s pass %d: %s%s", l.Lens, a.Judge.ID, i+1, p.Verdict, why)
			}
		}
		add("5 lens", "%s: %s with %d of the ships it needs", l.Lens, l.Verdict, l.Dry)
	}
	for _, v := range r.Verifications {
		add("6 concern", "finding %s of an earlier lap: %s (%s)", v.FindingID, v.Ruling, v.Reason)
	}
	for _, e := range ruling.Entries {
		add("7 judge failure", "%s: %s because of %s", e.Lens, e.Kind, e.Cause)
	}
	if ruling.SentBack != "" {
		add("5 combine", "sent back: %s", ruling.SentBack)
	}
	for _, c := range ruling.Causes {
		add("6 ledger", "escalated: %s (lap %d, %d of %d since the last ADVANCE)", c, ruling.Laps, ruling.BudgetLaps, ruling.MaxLaps)
	}
	add("5 decision", "%s", ruling.String())
	return steps
}
