package convergence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// CheckStatus is the status of a check run, in GitHub's words. The empty status means that none is written.
type CheckStatus string

// The statuses.
const (
	CheckNone       CheckStatus = ""
	CheckInProgress CheckStatus = "in_progress"
	CheckCompleted  CheckStatus = "completed"
)

// Conclusion is the conclusion of a completed check run, in GitHub's words.
type Conclusion string

// The conclusions the gate gives. Success means judged and unanimous, and nothing else ever produces it.
const (
	Success        Conclusion = "success"
	Failure        Conclusion = "failure"
	ActionRequired Conclusion = "action_required"
	Neutral        Conclusion = "neutral"
	Cancelled      Conclusion = "cancelled"
)

// CheckRun is what a ruling makes of the check run of its head.
type CheckRun struct {
	Status     CheckStatus
	Conclusion Conclusion // of a completed one
}

// CheckRun is the table "Conclusions" of semantics 5. A draft has no check run whatever the ruling is, not even a neutral
// one, since an absent required check holds auto-merge back until the change was judged. A guard that leaves an earlier
// conclusion in force writes nothing either. Once judges were asked there is a check run in progress, and every ruling
// concludes it.
func (r Ruling) CheckRun() CheckRun {
	done := func(c Conclusion) CheckRun { return CheckRun{Status: CheckCompleted, Conclusion: c} }
	switch r.Outcome {
	case Decided, Escalated:
		switch r.Decision {
		case Advance:
			return done(Success)
		case LoopBack:
			return done(Failure)
		default:
			return done(ActionRequired)
		}
	case Parked, Held:
		return CheckRun{Status: CheckInProgress}
	case Errored:
		return done(ActionRequired)
	}
	var silent CheckRun
	if r.Asked {
		silent = done(Cancelled)
	}
	switch r.Reason {
	case Superseded, Canceled:
		return done(Cancelled)
	case AlreadyDecided, UnsupportedEvent, NotPermitted, Draft, ChangeClosed:
		return silent
	}
	if r.Draft {
		return silent
	}
	switch r.Reason {
	case KillSwitch, Overridden:
		return done(Neutral)
	default:
		return done(ActionRequired)
	}
}

// Title is the ruling in one short line: the title of its check run.
func (r Ruling) Title() string {
	title := r.title()
	if r.Outcome == Decided && r.StaticOnly {
		title += " (static rules only)"
	}
	return title
}

func (r Ruling) title() string {
	switch r.Outcome {
	case Decided:
		return fmt.Sprintf("%s: %s", r.Decision, r.because())
	case Escalated:
		return fmt.Sprintf("Not judged: %s; a person has to take over", r.detail("judges were given up on"))
	case Parked:
		return "Waiting for " + list(r.WaitsFor)
	case Held:
		return "Waiting for a judge: " + r.heldFor()
	case Errored:
		switch r.Reason {
		case AuthFailure:
			return "Not judged: the credentials of a judge were rejected or are missing"
		case PanicFailure:
			return "Not judged: an internal error while judging"
		default:
			return "Not judged: " + r.detail("an internal error")
		}
	}
	switch r.Reason {
	case KillSwitch:
		return "Not judged: switched off" + r.suffix()
	case Overridden:
		return "Overridden by a person" + r.suffix()
	case Draft:
		return "Not judged: a draft"
	case UnsupportedEvent:
		return "Not judged: the gate does not serve the event " + r.detail("at hand")
	case AlreadyDecided:
		return "Not judged again: already decided"
	case AwaitsPerson:
		return "Not judged: escalated, and waits for a person with write access to run /prosecute"
	case NotPermitted:
		return "Not judged: only a person with write access may ask for this"
	case Superseded:
		return "Superseded by a newer head"
	case Canceled:
		return "Not judged: given up on while it was judged"
	case ChangeClosed:
		return "Not judged: the change is closed"
	case BrokenPolicy:
		return "Not judged: the policy file on the base branch is broken" + r.suffix()
	case OnlyExcluded:
		return "Not judged: only excluded files, too large to read"
	default:
		return "Not judged: " + r.detail(string(r.Reason))
	}
}

// heldFor names the lenses that are held, each with its cause: an exhausted quota has to be seen in the title
// (semantics 7).
func (r Ruling) heldFor() string {
	parts := make([]string, 0, len(r.Entries))
	for _, e := range r.Entries {
		parts = append(parts, fmt.Sprintf("%s (%s)", e.Lens, e.Cause))
	}
	text := strings.Join(parts, ", ")
	if !r.RetryAt.IsZero() {
		format := "15:04 UTC"
		if r.RetryAt.UTC().Format(time.DateOnly) != r.At.UTC().Format(time.DateOnly) {
			format = "2006-01-02 15:04 UTC"
		}
		text += ", not before " + r.RetryAt.UTC().Format(format)
	}
	return text
}

// because says why, for a decision.
func (r Ruling) because() string {
	why := r.Reason
	if r.SentBack != "" {
		why = r.SentBack
	}
	var text string
	switch why {
	case Unanimous:
		shipped := slices.DeleteFunc(slices.Clone(r.LensesRun), func(l prosecutor.Lens) bool { return slices.Contains(r.Degraded, l) })
		text = list(shipped) + " agree"
		if len(shipped) == 1 {
			text += "s"
		}
		if len(r.Degraded) > 0 {
			text += ", degraded: " + list(r.Degraded) + " did not judge"
		}
	case RedEvidence:
		text = "red evidence: " + list(r.RedSources)
	case LensVeto:
		text = "vetoed by " + list(r.Vetoes)
	case StandingConcern:
		text = fmt.Sprintf("%d earlier concerns still stand", len(r.Standing))
		if len(r.Standing) == 1 {
			text = "an earlier concern still stands"
		}
	case NoChange:
		text = "no committed change"
	case TooLarge:
		text = "too large to judge; split the change"
	default:
		text = string(why)
	}
	for _, c := range r.Causes {
		switch c {
		case Oscillation:
			text += "; the same findings two laps running"
		case LapBudget:
			text += fmt.Sprintf("; lap budget %d/%d", r.BudgetLaps, r.MaxLaps)
		default:
			text += "; " + string(c)
		}
	}
	if r.NotConverging {
		text += "; not converging"
	}
	return text
}

func (r Ruling) detail(otherwise string) string {
	if r.Detail == "" {
		return otherwise
	}
	return r.Detail
}

func (r Ruling) suffix() string {
	if r.Detail == "" {
		return ""
	}
	return " (" + r.Detail + ")"
}

// list joins words with commas.
func list[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}
