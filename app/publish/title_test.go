package publish

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
)

func TestTitle(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	findings := func(severities ...prosecutor.Severity) (out []prosecutor.Finding) {
		for _, s := range severities {
			out = append(out, prosecutor.Finding{Severity: s})
		}
		return out
	}
	decided := func(d convergence.Decision, change func(*convergence.Ruling)) convergence.Ruling {
		r := convergence.Ruling{Outcome: convergence.Decided, Decision: d, Radius: prosecutor.RadiusMedium, MaxLaps: 3, At: at}
		if change != nil {
			change(&r)
		}
		return r
	}
	two := []prosecutor.Lens{prosecutor.Correctness, prosecutor.Security}
	pending := []prosecutor.Evidence{
		{Source: prosecutor.CodeScanning, State: prosecutor.Pending, Detail: "waiting for the analysis of this head by CodeQL"},
		{Source: prosecutor.CIChecks, State: prosecutor.Pending, Detail: "waiting for test, lint"},
	}
	quota := []panel.LensResult{{
		Lens: prosecutor.Security, ErrorKind: prosecutor.Quota,
		Attempts: []panel.Attempt{
			{Judge: judge.Info{ID: "gpt", Provider: "openai"}, ErrorKind: prosecutor.Quota},
			{Judge: judge.Info{ID: "claude", Provider: "anthropic"}, ErrorKind: prosecutor.Timeout},
		},
	}}
	for _, tt := range []struct {
		name     string
		r        convergence.Ruling
		evidence []prosecutor.Evidence
		lenses   []panel.LensResult
		want     string
	}{
		{name: "advance", r: decided(convergence.Advance, func(r *convergence.Ruling) { r.LensesRun = two }), want: "Advance: 2 lenses, medium radius"},
		{name: "one lens", r: decided(convergence.Advance, func(r *convergence.Ruling) { r.LensesRun, r.Radius = two[:1], prosecutor.RadiusLow }), want: "Advance: 1 lens, low radius"},
		{name: "static", r: decided(convergence.Advance, func(r *convergence.Ruling) { r.LensesRun, r.StaticOnly = two, true }), want: "Advance: 2 lenses, medium radius (static rules only)"},
		{name: "degraded", r: decided(convergence.Advance, func(r *convergence.Ruling) { r.LensesRun, r.Degraded = two, two[1:] }), want: "Advance: 2 lenses, medium radius, degraded: security did not judge"},
		{
			name: "blocked", want: "Blocked: 1 critical, 2 high",
			r: decided(convergence.LoopBack, func(r *convergence.Ruling) {
				r.Reason, r.Blocking = convergence.LensVeto, findings(prosecutor.High, prosecutor.Critical, prosecutor.High)
			}),
		},
		{name: "not converging", r: decided(convergence.LoopBack, func(r *convergence.Ruling) { r.Blocking, r.NotConverging = findings(prosecutor.High), true }), want: "Blocked: 1 high; not converging"},
		{name: "too large", r: decided(convergence.LoopBack, func(r *convergence.Ruling) {
			r.Reason, r.Blocking = convergence.TooLarge, findings(prosecutor.Critical)
		}), want: "Blocked: too large to judge, split the change"},
		{name: "no change", r: decided(convergence.LoopBack, func(r *convergence.Ruling) { r.Reason = convergence.NoChange }), want: "Blocked: no committed change"},
		{
			name: "red without findings", want: "Blocked: code scanning cannot be shown to be green",
			r: decided(convergence.LoopBack, func(r *convergence.Ruling) {
				r.Reason, r.RedSources = convergence.RedEvidence, []prosecutor.EvidenceSource{prosecutor.CodeScanning}
			}),
		},
		{
			name: "escalated", want: "Escalated: the same findings two laps running, lap budget 3/3, 1 high",
			r: decided(convergence.Escalate, func(r *convergence.Ruling) {
				r.Causes, r.BudgetLaps, r.Blocking = []convergence.Reason{convergence.Oscillation, convergence.LapBudget}, 3, findings(prosecutor.High)
			}),
		},
		{
			name: "parked", want: "Waiting for CodeQL", evidence: pending,
			r: convergence.Ruling{Outcome: convergence.Parked, WaitsFor: []prosecutor.EvidenceSource{prosecutor.CodeScanning}},
		},
		{
			name: "parked for both", want: "Waiting for CodeQL, test, lint", evidence: pending,
			r: convergence.Ruling{Outcome: convergence.Parked, WaitsFor: []prosecutor.EvidenceSource{prosecutor.CodeScanning, prosecutor.CIChecks}},
		},
		{
			name: "out of credit", want: "Not judged: openai out of credit until 14:05 UTC", lenses: quota,
			r: convergence.Ruling{Outcome: convergence.Held, At: at, RetryAt: at.Add(2*time.Hour + 5*time.Minute)},
		},
		{
			name: "until another day", want: "Not judged: openai out of credit until 2026-12-01 12:00 UTC", lenses: quota,
			r: convergence.Ruling{Outcome: convergence.Held, At: at, RetryAt: at.Add(24 * time.Hour)},
		},
		{
			name: "held for another cause", want: "Waiting for a judge: security (timeout)",
			r: convergence.Ruling{Outcome: convergence.Held, Entries: []convergence.Entry{{Lens: prosecutor.Security, Cause: "timeout"}}},
		},
		{
			name: "overridden", want: "Overridden by @ann: hotfix",
			r: convergence.Ruling{
				Outcome: convergence.NotJudged, Reason: convergence.Overridden,
				Ledger: convergence.Ledger{Override: &convergence.Override{By: "ann", Reason: "hotfix"}},
			},
		},
		{name: "switched off", want: "Not judged: switched off (by the operator)", r: convergence.Ruling{Outcome: convergence.NotJudged, Reason: convergence.KillSwitch, Detail: "by the operator"}},
		{
			name: "a key in a reason", want: "Overridden by @ann: the key is AKIA[redacted]",
			r: convergence.Ruling{
				Outcome: convergence.NotJudged, Reason: convergence.Overridden,
				Ledger: convergence.Ledger{Override: &convergence.Override{By: "ann", Reason: "the key is AKIA" + "IOSFODNN7EXAMPL3"}},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Title(tt.r, tt.evidence, tt.lenses); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	long := Title(convergence.Ruling{Outcome: convergence.NotJudged, Reason: convergence.KillSwitch, Detail: strings.Repeat("é\n", 500)}, nil, nil)
	if utf8.RuneCountInString(long) > maxTitle || strings.Contains(long, "\n") {
		t.Errorf("a title of %d characters: %q", utf8.RuneCountInString(long), long)
	}
}
