package convergence

// Event names what made the gate look at a case: GitHub's event and action, a command in a comment, or one of ours.
type Event string

// The events that people cause on purpose, and those that GitHub does not send.
const (
	EventPush           Event = "pull_request.synchronize"
	EventReopened       Event = "pull_request.reopened"
	EventProsecute      Event = "issue_comment.prosecute" // the /prosecute command
	EventDismiss        Event = "issue_comment.dismiss"   // the /prosecute dismiss command
	EventRerun          Event = "check_run.rerequested"
	EventRerunAll       Event = "check_suite.rerequested"
	EventButton         Event = "check_run.requested_action"
	EventMergeGroup     Event = "merge_group.checks_requested"
	EventReview         Event = "cli.review"           // prosecutor review, which whoever runs it may run again
	EventReviewReopen   Event = "cli.reopen"           // prosecutor review, asked to go on after an escalation
	EventResume         Event = "prosecutor.resume"    // a case that waited is taken up again
	EventReconcile      Event = "prosecutor.reconcile" // a sweep found a head without a check run
	EventPolicyOrBase   Event = "push"                 // the base branch moved, and the policy perhaps with it
	EventAlertClosed    Event = "code_scanning_alert.closed_by_user"
	EventChecksFinished Event = "check_suite.completed"
)

// asks is what an event may ask for beyond an ordinary look at the case.
type asks struct {
	again  bool // judges a decided case again
	draft  bool // judges a draft
	reopen bool // reopens an escalation, and so needs write access
}

// supported lists every event that the gate serves. Anything else ends as UnsupportedEvent.
func supported(e Event) (asks, bool) {
	switch e {
	case EventProsecute, EventReviewReopen:
		return asks{again: true, draft: true, reopen: true}, true
	case EventReview:
		return asks{again: true, draft: true}, true
	case EventRerun, EventRerunAll, EventButton, EventDismiss:
		return asks{again: true}, true
	case "pull_request.opened", EventPush, EventReopened, "pull_request.ready_for_review", "pull_request.edited",
		EventMergeGroup, EventPolicyOrBase, EventResume, EventReconcile,
		"check_run.completed", EventChecksFinished, "workflow_run.completed", "status",
		"code_scanning_alert.created", "code_scanning_alert.appeared_in_branch", "code_scanning_alert.fixed",
		"code_scanning_alert.reopened", "code_scanning_alert.reopened_by_user", EventAlertClosed:
		return asks{}, true
	default:
		return asks{}, false
	}
}

// Supported reports whether the gate serves an event.
func Supported(e Event) bool {
	_, ok := supported(e)
	return ok
}

// SenderType is the kind of account behind an event, in GitHub's words.
type SenderType string

// The kinds of account. The empty type means that the event names no sender.
const (
	User SenderType = "User"
	Bot  SenderType = "Bot"
)

// Permission is what an account may do in the repository, in GitHub's words.
type Permission string

// The permissions, least first. The empty permission means that it was not looked up.
const (
	PermissionNone     Permission = "none"
	PermissionRead     Permission = "read"
	PermissionTriage   Permission = "triage"
	PermissionWrite    Permission = "write"
	PermissionMaintain Permission = "maintain"
	PermissionAdmin    Permission = "admin"
)

// Sender is the account that caused an event.
type Sender struct {
	Login      string
	Type       SenderType
	Permission Permission
}

// MayReopen reports whether the sender is a person with write access.
func (s Sender) MayReopen() bool {
	if s.Type != User {
		return false
	}
	switch s.Permission {
	case PermissionWrite, PermissionMaintain, PermissionAdmin:
		return true
	default:
		return false
	}
}

// mayAsk reports whether the sender may have a decided case, or a draft, judged again. Judging costs money, so a comment
// needs what reopening needs. GitHub offers its re-run buttons to accounts with write access only and names nobody whose
// permission we could ask, so an event without a sender is taken for what it is; the same holds for a local review.
func (s Sender) mayAsk(e Event) bool {
	switch e {
	case EventRerun, EventRerunAll, EventReview:
		return s.Type != Bot && (s.Permission == "" || s.MayReopen())
	default:
		return s.MayReopen()
	}
}
