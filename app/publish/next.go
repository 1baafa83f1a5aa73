package publish

import (
	"time"

	"github.com/prosecutor-bot/prosecutor/convergence"
)

// next says what to do after a ruling, to somebody who looks at a pull request. Empty leaves it to the report.
func next(r convergence.Ruling) string {
	switch r.Outcome {
	case convergence.Decided:
		return afterDecision(r)
	case convergence.Escalated:
		if r.Reason == convergence.NoIndependence {
			return "Configure a judge of another family than the builder's, or let the policy on the base branch relax it (independence: preferred). Then a person with write access writes /prosecute."
		}
		return "No judge answered in time. When one can again, a person with write access writes /prosecute."
	case convergence.Parked:
		return "Nothing has to be done: it goes on when the evidence arrives. What is still missing after checks.wait of the policy counts as red."
	case convergence.Held:
		if r.RetryAt.IsZero() {
			return "Nothing has to be done: it goes on when a judge can answer."
		}
		return "Nothing has to be done: it goes on when a judge can answer, not before " + r.RetryAt.UTC().Format(time.RFC1123) + "."
	case convergence.Errored:
		if r.Reason == convergence.AuthFailure {
			return "Whoever operates the gate has to set or renew the credentials of its judge; then run it again."
		}
		return "The fault is ours. Run it again; if that fails too, the log of the gate says why."
	}
	switch r.Reason {
	case convergence.KillSwitch:
		return "Nothing is judged while it is switched off."
	case convergence.Overridden:
		return "The override ends with the next push."
	case convergence.AwaitsPerson:
		return "The gate has given up on this pull request and waits: a person with write access who writes /prosecute opens a new epoch."
	case convergence.BrokenPolicy:
		return "Repair the policy file on the base branch; then run it again."
	case convergence.OnlyExcluded:
		return "Nobody can read this change whole. Split it."
	}
	return ""
}

func afterDecision(r convergence.Ruling) string {
	switch {
	case r.Decision == convergence.Advance:
		return "The change may advance."
	case r.Decision == convergence.Escalate:
		return "People have to look at this change. The gate judges it again when a person with write access writes /prosecute, which opens a new epoch."
	case r.Reason == convergence.TooLarge:
		return "Split the change into parts that can be judged whole, or have the policy on the base branch leave out files that nobody writes by hand (diff.exclude)."
	case r.Reason == convergence.NoChange:
		return "Push the change: base and head do not differ."
	case r.Reason == convergence.RedEvidence:
		return "Fix what blocks and push. Each finding says how it is answered otherwise."
	default:
		return "Fix what blocks and push: the new head is the next lap. A finding that is wrong can be dismissed; each says how."
	}
}
