package convergence_test

import (
	"testing"
	"time"

	. "github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// TestCheckRunOfEveryRuling is the table "Conclusions" of semantics 5.
func TestCheckRunOfEveryRuling(t *testing.T) {
	var (
		none       = CheckRun{}
		inProgress = CheckRun{Status: CheckInProgress}
		done       = func(c Conclusion) CheckRun { return CheckRun{CheckCompleted, c} }
	)
	type row struct {
		outcome  Outcome
		decision Decision
		reason   Reason
		draft    bool
		asked    bool
		want     CheckRun
	}
	rows := []row{
		{Decided, Advance, Unanimous, false, true, done(Success)},
		{Decided, LoopBack, LensVeto, false, true, done(Failure)},
		{Decided, Escalate, LapBudget, false, true, done(ActionRequired)},
		{Escalated, Escalate, NotJudgedInTime, false, true, done(ActionRequired)},
		{Errored, "", AuthFailure, false, true, done(ActionRequired)},
		{Parked, "", PendingEvidence, false, false, inProgress},
		{Held, "", JudgeFailure, false, true, inProgress},
		{NotJudged, "", Superseded, false, false, done(Cancelled)},
		{NotJudged, "", Canceled, false, false, done(Cancelled)},
		{NotJudged, "", AwaitsPerson, false, false, done(ActionRequired)},
		{NotJudged, "", BrokenPolicy, false, false, done(ActionRequired)},
		{NotJudged, "", OnlyExcluded, false, false, done(ActionRequired)},
		{NotJudged, "", KillSwitch, false, false, done(Neutral)},
		{NotJudged, "", Overridden, false, false, done(Neutral)},
		// A draft that a person had judged has a verdict like any other change, and none of a guard's.
		{Decided, Advance, Unanimous, true, true, done(Success)},
		{Decided, LoopBack, LensVeto, true, true, done(Failure)},
		{Decided, Escalate, LapBudget, true, true, done(ActionRequired)},
		{Errored, "", PanicFailure, true, true, done(ActionRequired)},
		{NotJudged, "", KillSwitch, true, false, none},
		{NotJudged, "", KillSwitch, true, true, done(Cancelled)},
		{NotJudged, "", AwaitsPerson, true, false, none},
	}
	for _, reason := range []Reason{AlreadyDecided, UnsupportedEvent, NotPermitted, Draft, ChangeClosed} {
		rows = append(rows, row{NotJudged, "", reason, false, false, none}, row{NotJudged, "", reason, false, true, done(Cancelled)})
	}
	for _, tt := range rows {
		r := Ruling{Outcome: tt.outcome, Decision: tt.decision, Reason: tt.reason, Draft: tt.draft, Asked: tt.asked}
		if got := r.CheckRun(); got != tt.want {
			t.Errorf("%v, draft %v, asked %v: got %+v, want %+v", r, tt.draft, tt.asked, got, tt.want)
		}
	}
}

func TestTitleOfEveryRuling(t *testing.T) {
	const c, s, x = prosecutor.Correctness, prosecutor.Security, prosecutor.Spec
	lenses := func(l ...prosecutor.Lens) []prosecutor.Lens { return l }
	sources := func(s ...prosecutor.EvidenceSource) []prosecutor.EvidenceSource { return s }
	for want, r := range map[string]Ruling{
		"ADVANCE: correctness agrees":                                          {Outcome: Decided, Decision: Advance, Reason: Unanimous, LensesRun: lenses(c)},
		"ADVANCE: correctness, security, spec agree":                           {Outcome: Decided, Decision: Advance, Reason: Unanimous, LensesRun: lenses(c, s, x)},
		"ADVANCE: correctness, spec agree (static rules only)":                 {Outcome: Decided, Decision: Advance, Reason: Unanimous, LensesRun: lenses(c, x), StaticOnly: true},
		"ADVANCE: correctness agrees, degraded: security, spec did not judge":  {Outcome: Decided, Decision: Advance, Reason: Unanimous, LensesRun: lenses(c, s, x), Degraded: lenses(s, x)},
		"LOOP_BACK: vetoed by correctness, spec":                               {Outcome: Decided, Decision: LoopBack, Reason: LensVeto, Vetoes: lenses(c, x)},
		"LOOP_BACK: vetoed by spec; not converging":                            {Outcome: Decided, Decision: LoopBack, Reason: LensVeto, Vetoes: lenses(x), NotConverging: true},
		"LOOP_BACK: red evidence: code_scanning, ci_checks":                    {Outcome: Decided, Decision: LoopBack, Reason: RedEvidence, RedSources: sources(prosecutor.CodeScanning, prosecutor.CIChecks)},
		"LOOP_BACK: an earlier concern still stands":                           {Outcome: Decided, Decision: LoopBack, Reason: StandingConcern, Standing: make([]prosecutor.Finding, 1)},
		"LOOP_BACK: 2 earlier concerns still stand":                            {Outcome: Decided, Decision: LoopBack, Reason: StandingConcern, Standing: make([]prosecutor.Finding, 2)},
		"LOOP_BACK: no committed change":                                       {Outcome: Decided, Decision: LoopBack, Reason: NoChange},
		"LOOP_BACK: too large to judge; split the change":                      {Outcome: Decided, Decision: LoopBack, Reason: TooLarge},
		"LOOP_BACK: a reason without words":                                    {Outcome: Decided, Decision: LoopBack, Reason: "a reason without words"},
		"ESCALATE: vetoed by correctness; lap budget 3/4":                      {Outcome: Decided, Decision: Escalate, Reason: LapBudget, SentBack: LensVeto, Vetoes: lenses(c), Causes: []Reason{LapBudget}, BudgetLaps: 3, MaxLaps: 4},
		"ESCALATE: no committed change; the same findings two laps running":    {Outcome: Decided, Decision: Escalate, Reason: Oscillation, SentBack: NoChange, Causes: []Reason{Oscillation}},
		"ESCALATE: no committed change; a cause without words; lap budget 1/1": {Outcome: Decided, Decision: Escalate, Reason: "a cause without words", SentBack: NoChange, Causes: []Reason{"a cause without words", LapBudget}, BudgetLaps: 1, MaxLaps: 1},
		"Not judged: judges were given up on; a person has to take over":       {Outcome: Escalated, Decision: Escalate, Reason: NotJudgedInTime},
		"Not judged: no judge for spec within 2h; a person has to take over":   {Outcome: Escalated, Decision: Escalate, Reason: NotJudgedInTime, Detail: "no judge for spec within 2h", StaticOnly: true},
		"Waiting for ci_checks, hollow_test":                                   {Outcome: Parked, Reason: PendingEvidence, WaitsFor: sources(prosecutor.CIChecks, prosecutor.HollowTest)},
		"Waiting for a judge: security (quota), spec (no judge is free)":       {Outcome: Held, Reason: JudgeFailure, Entries: []Entry{{Lens: s, Cause: "quota"}, {Lens: x, Cause: "no judge is free"}}, StaticOnly: true},
		"Waiting for a judge: spec (quota), not before 23:59 UTC":              {Outcome: Held, Entries: []Entry{{Lens: x, Cause: "quota"}}, At: start, RetryAt: time.Date(2026, 3, 1, 23, 59, 0, 0, time.UTC)},
		"Waiting for a judge: spec (quota), not before 2026-03-02 00:00 UTC":   {Outcome: Held, Entries: []Entry{{Lens: x, Cause: "quota"}}, At: start, RetryAt: time.Date(2026, 3, 2, 2, 0, 0, 0, time.FixedZone("", 2*60*60))},
		"Not judged: the credentials of a judge were rejected or are missing":  {Outcome: Errored, Reason: AuthFailure, Detail: "spec: 401"},
		"Not judged: an internal error while judging":                          {Outcome: Errored, Reason: PanicFailure, Detail: "spec: nil map"},
		"Not judged: an internal error":                                        {Outcome: Errored, Reason: Internal},
		"Not judged: the disk is full":                                         {Outcome: Errored, Reason: Internal, Detail: "the disk is full"},
		"Not judged: given up on while it was judged":                          {Outcome: NotJudged, Reason: Canceled, Detail: "context canceled"},
		"Not judged: the gate does not serve the event at hand":                {Outcome: NotJudged, Reason: UnsupportedEvent},
		"Not judged: switched off":                                             {Outcome: NotJudged, Reason: KillSwitch},
		"Not judged: the policy file on the base branch is broken":             {Outcome: NotJudged, Reason: BrokenPolicy},
		"Not judged: a guard without words":                                    {Outcome: NotJudged, Reason: "a guard without words"},
		"Not judged: details":                                                  {Outcome: NotJudged, Reason: "a guard without words", Detail: "details"},
	} {
		if got := r.Title(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
