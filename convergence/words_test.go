package convergence_test

import (
	"testing"

	. "github.com/prosecutor-bot/prosecutor/convergence"
)

// TestWordsAreSpelledAsStored pins the words that stand in ledgers, reports and records, or that GitHub says.
func TestWordsAreSpelledAsStored(t *testing.T) {
	spelled(t, map[string]Decision{"ADVANCE": Advance, "LOOP_BACK": LoopBack, "ESCALATE": Escalate})
	spelled(t, map[string]Outcome{
		"decided": Decided, "parked": Parked, "held": Held, "escalated": Escalated, "not_judged": NotJudged, "errored": Errored,
	})
	spelled(t, map[string]Reason{
		"unanimous": Unanimous, "red_evidence": RedEvidence, "lens_veto": LensVeto, "standing_concern": StandingConcern,
		"no_change": NoChange, "too_large": TooLarge, "lap_budget": LapBudget, "oscillation": Oscillation,
		"not_judged": NotJudgedInTime, "independence": NoIndependence,
		"pending_evidence": PendingEvidence, "judge_failure": JudgeFailure, "auth": AuthFailure, "panic": PanicFailure, "internal": Internal,
		"kill_switch": KillSwitch, "draft": Draft, "unsupported_event": UnsupportedEvent, "already_decided": AlreadyDecided,
		"escalated": AwaitsPerson, "not_permitted": NotPermitted, "superseded": Superseded, "canceled": Canceled, "closed": ChangeClosed,
		"overridden": Overridden, "broken_policy": BrokenPolicy, "only_excluded": OnlyExcluded,
	})
	spelled(t, map[string]Stage{"review": StageReview, "merge_queue": StageMergeQueue})
	spelled(t, map[string]How{"refuted": ByRefutation, "dismissed": ByDismissal})
	spelled(t, map[string]EntryKind{"hold": EntryHold, "fail_open": EntryFailOpen})
	spelled(t, map[string]CheckStatus{"": CheckNone, "in_progress": CheckInProgress, "completed": CheckCompleted})
	spelled(t, map[string]Conclusion{
		"success": Success, "failure": Failure, "action_required": ActionRequired, "neutral": Neutral, "cancelled": Cancelled,
	})
	spelled(t, map[string]Event{
		"pull_request.synchronize": EventPush, "pull_request.reopened": EventReopened,
		"issue_comment.prosecute": EventProsecute, "issue_comment.dismiss": EventDismiss,
		"check_run.rerequested": EventRerun, "check_suite.rerequested": EventRerunAll, "check_run.requested_action": EventButton,
		"merge_group.checks_requested": EventMergeGroup, "push": EventPolicyOrBase, "check_suite.completed": EventChecksFinished,
		"code_scanning_alert.closed_by_user": EventAlertClosed,
		"cli.review":                         EventReview, "cli.reopen": EventReviewReopen,
		"prosecutor.resume": EventResume, "prosecutor.reconcile": EventReconcile,
	})
	spelled(t, map[string]SenderType{"User": User, "Bot": Bot})
	spelled(t, map[string]Permission{
		"none": PermissionNone, "read": PermissionRead, "triage": PermissionTriage,
		"write": PermissionWrite, "maintain": PermissionMaintain, "admin": PermissionAdmin,
	})
}

func spelled[T ~string](t *testing.T, words map[string]T) {
	t.Helper()
	for want, got := range words {
		if string(got) != want {
			t.Errorf("%T %q is spelled %q", got, want, got)
		}
	}
}

// TestReportsKnowFiveOutcomes: in reports an escalation without a judgement is one that was not judged.
func TestReportsKnowFiveOutcomes(t *testing.T) {
	for o, want := range map[Outcome]Outcome{
		Decided: Decided, Parked: Parked, Held: Held, NotJudged: NotJudged, Errored: Errored, Escalated: NotJudged,
	} {
		if got := o.Public(); got != want {
			t.Errorf("%s: got %s", o, got)
		}
	}
}

func TestSupported(t *testing.T) {
	for e, want := range map[Event]bool{
		EventPush: true, EventReopened: true, EventProsecute: true, EventDismiss: true, EventRerun: true, EventRerunAll: true,
		EventButton: true, EventMergeGroup: true, EventReview: true, EventReviewReopen: true, EventResume: true,
		"pull_request.labeled": false, "pull_request.closed": false, "star.created": false,
	} {
		if got := Supported(e); got != want {
			t.Errorf("%q: got %v", e, got)
		}
	}
}
