package command

import (
	"fmt"

	"github.com/prosecutor-bot/prosecutor/convergence"
)

// MaxPlainRuns is how many plain re-runs of one head the author of a pull request may ask for without write access: each
// costs money.
const MaxPlainRuns = 3

// Facts are what the rule about permissions looks at.
type Facts struct {
	Permission    convergence.Permission // in the repository; empty means that it could not be looked up
	IsAuthor      bool                   // of the pull request
	IsBot         bool
	PlainRuns     int  // plain re-runs of this head that were carried out for the author so far
	DismissAuthor bool // dismiss.author of the policy
}

// Verdict is what Decide says.
type Verdict struct {
	Allowed bool
	Ignored bool   // not even answered
	Why     string // of a refusal, as a sentence for the reply
}

// Decide says whether an account may give a command. Write access allows everything but what the author of a pull request
// may not do to their own: override the gate, and dismiss a finding unless the policy lets authors do so. The author, with
// or without write access, may have the head judged again, without options and MaxPlainRuns times. Whoever may do neither
// may not make the App write, so that a stranger's comment is refused with a reaction only. Bots are ignored.
func Decide(c Command, f Facts) Verdict {
	if f.IsBot {
		return Verdict{Ignored: true}
	}
	write := false
	switch f.Permission {
	case convergence.PermissionWrite, convergence.PermissionMaintain, convergence.PermissionAdmin:
		write = true
	}
	no := func(format string, args ...any) Verdict { return Verdict{Why: fmt.Sprintf(format, args...)} }
	switch c.Kind {
	case Help, Explain:
		if write || f.IsAuthor {
			return Verdict{Allowed: true}
		}
		return no("")
	case Run:
		switch {
		case write:
			return Verdict{Allowed: true}
		case !f.IsAuthor:
			return no("")
		case !c.Plain():
			return no("Options need write access; a plain `/prosecute` is what an author may ask for.")
		case f.PlainRuns >= MaxPlainRuns:
			return no("This head was judged again %d times already. Push a change, or ask somebody with write access.", f.PlainRuns)
		default:
			return Verdict{Allowed: true}
		}
	case Dismiss:
		switch {
		case !write && !f.IsAuthor:
			return no("")
		case !write:
			return no("A finding is dismissed by somebody with write access.")
		case f.IsAuthor && !f.DismissAuthor:
			return no("A finding is dismissed by somebody other than the author of the pull request (`dismiss.author` in the policy).")
		default:
			return Verdict{Allowed: true}
		}
	case Override:
		switch {
		case !write && !f.IsAuthor:
			return no("")
		case !write:
			return no("The gate is overridden by somebody with write access.")
		case f.IsAuthor:
			return no("The gate is overridden by somebody other than the author of the pull request.")
		default:
			return Verdict{Allowed: true}
		}
	default:
		return no("")
	}
}

// PermissionOf is GitHub's answer about an account in one of the gate's words. role is role_name, which tells maintain from
// write and triage from read; permission is the coarser field. Custom roles keep what the coarse field says. Anything
// unknown is nothing.
func PermissionOf(permission, role string) convergence.Permission {
	known := func(word string) (convergence.Permission, bool) {
		switch p := convergence.Permission(word); p {
		case convergence.PermissionNone, convergence.PermissionRead, convergence.PermissionTriage,
			convergence.PermissionWrite, convergence.PermissionMaintain, convergence.PermissionAdmin:
			return p, true
		}
		return "", false
	}
	coarse, ok := known(permission)
	if !ok {
		return convergence.PermissionNone
	}
	// A role never says more than the permission it stands for.
	fine, ok := known(role)
	switch {
	case ok && fine == convergence.PermissionMaintain && coarse == convergence.PermissionWrite,
		ok && fine == convergence.PermissionTriage && coarse == convergence.PermissionRead:
		return fine
	}
	return coarse
}
