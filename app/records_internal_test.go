package app

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/app/record"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
)

const token = "ghp_" + "R7xK2mQ9vLpT4wZc8NbY1sHd6JfGu3EaXo5V"

func TestWhatRecordsTakeFromOthersIsMaskedAndBounded(t *testing.T) {
	for _, text := range []string{said("key " + token), word("key " + token), failure(errors.New("key " + token))} {
		if strings.Contains(text, token) || !strings.HasPrefix(text, "key ") {
			t.Errorf("%q", text)
		}
	}
	long := strings.Repeat("x", 5000)
	if got := said(long); len(got) != record.MaxText+len("…") {
		t.Errorf("%d bytes", len(got))
	}
	if got := word(long); len(got) != record.MaxWord+len("…") {
		t.Errorf("%d bytes", len(got))
	}
	// A secret that only a cut would have hidden is masked before.
	if got := said(strings.Repeat("x", record.MaxText-10) + " " + token); strings.Contains(got, "ghp_R") {
		t.Errorf("%q", got[record.MaxText-20:])
	}
	if failure(nil) != "" {
		t.Error("a failure of nothing")
	}
}

func TestKeepDays(t *testing.T) {
	policy := config.DefaultPolicy()
	for keep, want := range map[time.Duration]int{24 * time.Hour: 1, 24*time.Hour + 1: 2, 36 * time.Hour: 2, 10 * 24 * time.Hour: 10} {
		policy.Retention = config.Duration(keep)
		if got := keepDays(policy); got != want {
			t.Errorf("%v: %d days, want %d", keep, got, want)
		}
	}
	if got := keepDays(nil); got != 180 {
		t.Errorf("%d days without a policy", got)
	}
	runs := []store.Run{{}, {Result: []byte("broken")}, {Result: []byte(`{"publication":null}`)}, {Result: []byte(`{"keep_days":7}`)}, {Result: []byte(`{"keep_days":9}`)}}
	if got := keptDays(runs); got != 7 {
		t.Errorf("%d days, want those of the newest result that has some", got)
	}
	if got := keptDays(runs[:3]); got != 180 {
		t.Errorf("%d days where nobody knows", got)
	}
}

func TestFindingsOfARuling(t *testing.T) {
	var r convergence.Ruling
	for i := range record.MaxFindings + 5 {
		r.Findings = append(r.Findings, prosecutor.Finding{ID: fmt.Sprint(i), Claim: "c", Severity: prosecutor.Low})
	}
	last := len(r.Findings) - 1
	r.Findings[last].Anchor = &prosecutor.Anchor{Path: "a.go"}
	r.Findings[last-1].Anchor = &prosecutor.Anchor{Path: "claimed.go"}
	r.Findings[last-1].Place = prosecutor.Place{Status: prosecutor.Anchored, Path: "real.go", Side: prosecutor.Right, StartLine: 3, EndLine: 4}
	r.Blocking = []prosecutor.Finding{r.Findings[last], r.Findings[last-1]}
	r.Standing = r.Findings[last:]
	r.Dismissed = []prosecutor.Finding{{ID: "0", Claim: "c"}, {ID: "1", Claim: "another claim at the same place"}}
	found, omitted := findingsOf(r)
	if len(found) != record.MaxFindings || omitted != 5 {
		t.Fatalf("%d findings, %d omitted", len(found), omitted)
	}
	want := []record.Finding{
		{ID: fmt.Sprint(last - 1), Claim: "c", Severity: "low", Blocking: true, Anchor: "anchored", Path: "real.go", Side: "RIGHT", StartLine: 3, EndLine: 4},
		{ID: fmt.Sprint(last), Claim: "c", Severity: "low", Blocking: true, Standing: true, Path: "a.go"},
		{ID: "0", Claim: "c", Severity: "low", Dismissed: true},
		{ID: "1", Claim: "c", Severity: "low"},
		{ID: "2", Claim: "c", Severity: "low"},
	}
	if diff := cmp.Diff(want, found[:5]); diff != "" {
		t.Errorf("those that block first, the others in their order (-want +got):\n%s", diff)
	}
	r.Findings = r.Findings[:record.MaxFindings]
	if found, omitted := findingsOf(r); len(found) != record.MaxFindings || omitted != 0 {
		t.Errorf("%d findings, %d omitted", len(found), omitted)
	}
}

func TestKindsOfRulings(t *testing.T) {
	for want, r := range map[record.Kind]convergence.Ruling{
		record.Decision: {Outcome: convergence.Escalated, Decision: convergence.Escalate},
		record.Hold:     {Outcome: convergence.Held},
		record.Failure:  {Outcome: convergence.Errored},
		record.Guard:    {Outcome: convergence.NotJudged},
	} {
		if got := kindOf(r); got != want {
			t.Errorf("%+v: %s, want %s", r, got, want)
		}
	}
}

func TestLedgersInShort(t *testing.T) {
	l := convergence.New()
	l.Epoch, l.Laps, l.BudgetLaps, l.Converged, l.Escalated = 3, 2, 1, true, true
	l.OpenConcerns, l.Dismissals = make([]convergence.Concern, 4), make([]convergence.Settled, 5)
	l.Stages[convergence.StageReview] = convergence.StageState{Attempts: 6, LastVerdict: convergence.LoopBack}
	l.Stages[convergence.StageMergeQueue] = convergence.StageState{Attempts: 7, LastVerdict: convergence.Advance}
	want := record.Ledger{
		Hash: ledgerHash(l), Epoch: 3, Laps: 2, BudgetLaps: 1, Attempts: 6, LastVerdict: "LOOP_BACK", OpenConcerns: 4, Dismissals: 5, Converged: true, Escalated: true,
	}
	for _, stage := range []convergence.Stage{"", convergence.StageReview} {
		if diff := cmp.Diff(want, ledgerOf(l, stage)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", stage, diff)
		}
	}
	want.Attempts, want.LastVerdict = 7, "ADVANCE"
	if diff := cmp.Diff(want, ledgerOf(l, convergence.StageMergeQueue)); diff != "" {
		t.Errorf("merge queue (-want +got):\n%s", diff)
	}
	if len(want.Hash) != 64 || ledgerHash(convergence.New()) == want.Hash {
		t.Errorf("hash %s", want.Hash)
	}
}

func TestLensesAndVerifications(t *testing.T) {
	info := judge.Info{ID: "one", Family: "fern", Provider: "cloud", Model: "fern-5"}
	l := panel.LensResult{Lens: prosecutor.Security, Verdict: prosecutor.Errored, ErrorKind: prosecutor.Quota, Err: errors.New("no credit"), SameFamily: true}
	ruling := convergence.Ruling{Degraded: []prosecutor.Lens{prosecutor.Security}, Refuted: []prosecutor.Lens{prosecutor.Security}}
	want := record.Lens{Lens: "security", Verdict: "error", ErrorKind: "quota", Error: "no credit", Degraded: true, Refuted: true, SameFamily: true}
	if diff := cmp.Diff(want, lensOf(l, ruling)); diff != "" {
		t.Errorf("a lens that nobody was asked under (-want +got):\n%s", diff)
	}
	v := panel.Verification{
		FindingID: "f", Ruling: panel.Refuted, Judge: info, Calls: 2, Latency: 1500 * time.Millisecond, TokensIn: 3, TokensOut: 4, CostUSD: 0.0000015,
		Model: "fern-5-0301", PromptHash: "p", AnswerHash: "a", ErrorKind: prosecutor.Timeout,
	}
	whole := record.Verification{
		Finding: "f", Ruling: "refuted", ErrorKind: "timeout", Judge: &record.Judge{Name: "one", Family: "fern", Provider: "cloud", Model: "fern-5"},
		Call: record.Call{Model: "fern-5-0301", Calls: 2, LatencyMS: 1500, TokensIn: 3, TokensOut: 4, CostMicroUSD: 2, PromptHash: "p", AnswerHash: "a"},
	}
	if diff := cmp.Diff(whole, verificationOf(v)); diff != "" {
		t.Errorf("verification (-want +got):\n%s", diff)
	}
	if verificationOf(panel.Verification{}).Judge != nil {
		t.Error("a verification that nobody was asked for has a judge")
	}
}
