package panel_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/attribution"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
)

func accusation() prosecutor.Finding {
	return prosecutor.Finding{
		ID: "abc123", Lens: correctness, Source: prosecutor.FromModel, Origin: fern.ID,
		Severity: prosecutor.High, Claimed: prosecutor.High, Charge: prosecutor.ChargeCorrectness, Claim: "The limit is ten times too high.",
		Anchor: &prosecutor.Anchor{Path: "limits.go", Side: prosecutor.Right, Quote: "const Most = 100"},
	}
}

func says(answer string) pass { return pass{answers: []string{answer}} }

const (
	refutes = `{"refuted":true,"reason":"The change asks for a hundred."}`
	upholds = `{"refuted":false,"reason":"The line says 100."}`
)

func TestVerify(t *testing.T) {
	fernTwin := fern
	fernTwin.ID = "fern-again"
	byQuill := attribution.Result{Families: []string{"quill"}}
	for _, tc := range []struct {
		name    string
		judges  []judge.Info
		builder attribution.Result
		finding func(*prosecutor.Finding)
		script  map[string]pass
		ruling  panel.Ruling
		judge   string
		kind    prosecutor.ErrorKind
		calls   int
	}{
		{
			name: "refuted by another judge", judges: []judge.Info{fern, moss}, script: map[string]pass{moss.ID: says(refutes)},
			ruling: panel.Refuted, judge: moss.ID, calls: 1,
		},
		{
			name: "upheld", judges: []judge.Info{fern, moss}, script: map[string]pass{moss.ID: says(upholds)},
			ruling: panel.Upheld, judge: moss.ID, calls: 1,
		},
		{name: "nobody but the accuser", judges: []judge.Info{fern}, ruling: panel.CouldNotTell},
		{name: "the accuser's model under another name", judges: []judge.Info{fern, fernTwin}, ruling: panel.CouldNotTell},
		{name: "nobody but a builder's family", judges: []judge.Info{fern, quill}, builder: byQuill, ruling: panel.CouldNotTell},
		{
			name: "a builder's family is passed over", judges: []judge.Info{quill, fern, moss}, builder: byQuill,
			script: map[string]pass{moss.ID: says(refutes)}, ruling: panel.Refuted, judge: moss.ID, calls: 1,
		},
		{name: "a builder of unknown family", judges: []judge.Info{fern, moss, quill}, builder: attribution.Result{UnknownAgent: true}, ruling: panel.CouldNotTell},
		{name: "no model at all", judges: []judge.Info{rules}, ruling: panel.CouldNotTell},
		{name: "rules beside the accuser", judges: []judge.Info{fern, rules}, ruling: panel.CouldNotTell},
		{
			name: "evidence is not overruled", judges: []judge.Info{fern, moss}, ruling: panel.CouldNotTell,
			finding: func(f *prosecutor.Finding) { f.Source = prosecutor.FromEvidence },
		},
		{
			name: "nobody knows who accused", judges: []judge.Info{fern, moss}, ruling: panel.CouldNotTell,
			finding: func(f *prosecutor.Finding) { f.Origin = "" },
		},
		{
			name: "the accuser is no longer configured", judges: []judge.Info{moss}, script: map[string]pass{moss.ID: says(refutes)},
			finding: func(f *prosecutor.Finding) { f.Origin = "gone" }, ruling: panel.Refuted, judge: moss.ID, calls: 1,
		},
		{
			name: "a failure goes to the next", judges: []judge.Info{moss, fern, quill},
			script: map[string]pass{moss.ID: fails(prosecutor.Timeout), quill.ID: says(upholds)}, ruling: panel.Upheld, judge: quill.ID, calls: 2,
		},
		{
			name: "everybody fails", judges: []judge.Info{fern, moss}, script: map[string]pass{moss.ID: fails(prosecutor.Quota)},
			ruling: panel.CouldNotTell, judge: moss.ID, kind: prosecutor.Quota, calls: 1,
		},
		{
			name: "rejected credentials", judges: []judge.Info{fern, moss, quill}, script: map[string]pass{moss.ID: fails(prosecutor.Auth)},
			ruling: panel.CouldNotTell, judge: moss.ID, kind: prosecutor.Auth, calls: 1,
		},
		{
			name: "a bug", judges: []judge.Info{fern, moss, quill}, script: map[string]pass{moss.ID: fails(prosecutor.Panic)},
			ruling: panel.CouldNotTell, judge: moss.ID, kind: prosecutor.Panic, calls: 1,
		},
		{
			name: "prose", judges: []judge.Info{fern, moss, quill}, script: map[string]pass{moss.ID: says("Refuted: " + refutes)},
			ruling: panel.CouldNotTell, judge: moss.ID, kind: prosecutor.SchemaViolation, calls: 1,
		},
		{
			name: "a refutation without a reason", judges: []judge.Info{fern, moss, quill}, script: map[string]pass{moss.ID: says(`{"refuted":true,"reason":" "}`)},
			ruling: panel.CouldNotTell, judge: moss.ID, kind: prosecutor.SchemaViolation, calls: 1,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScript(t)
			for id, p := range tc.script {
				s.under(correctness, id, p)
			}
			c := panel.VerifyCase{Brief: brief(t, change), Finding: accusation(), Builder: tc.builder, Repo: "acme/pay"}
			if tc.finding != nil {
				tc.finding(&c.Finding)
			}
			pool := poolOf(t, s, judge.PoolOptions{}, tc.judges...)
			v, err := panel.New(pool, panel.Options{}).Verify(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if v.Ruling != tc.ruling || v.Judge.ID != tc.judge || v.ErrorKind != tc.kind || v.Calls != tc.calls {
				t.Errorf("%s by %q (%s) after %d calls: %s\nwant %s by %q (%s) after %d calls",
					v.Ruling, v.Judge.ID, v.ErrorKind, v.Calls, v.Reason, tc.ruling, tc.judge, tc.kind, tc.calls)
			}
			if v.Reason == "" || v.FindingID != c.Finding.ID {
				t.Errorf("no reason, or another finding: %+v", v)
			}
			if s.calls != tc.calls {
				t.Errorf("the judges saw %d calls, want %d", s.calls, tc.calls)
			}
			for _, state := range pool.Snapshot() {
				if state.FreeSlots != judge.DefaultConcurrency {
					t.Errorf("%s keeps a slot", state.Info.ID)
				}
			}
		})
	}
}

func TestVerifyShowsTheAccusationAlone(t *testing.T) {
	s := newScript(t).under(correctness, moss.ID, says(upholds))
	p := panel.New(poolOf(t, s, judge.PoolOptions{}, fern, moss), panel.Options{})
	v, err := p.Verify(t.Context(), panel.VerifyCase{Brief: brief(t, change), Finding: accusation()})
	if err != nil {
		t.Fatal(err)
	}
	if text := s.texts[0]; !strings.Contains(text, "ten times too high") || !strings.Contains(text, "const Most = 100") || strings.Contains(text, fern.ID) {
		t.Errorf("the verifier was shown:\n%s", text)
	}
	if v.PromptHash == "" || v.AnswerHash == "" || v.Model != "scripted" || v.TokensIn != 10 || v.TokensOut != 2 {
		t.Errorf("the record is incomplete: %+v", v)
	}
}

func TestVerifyOfAChangeThatCannotBeRead(t *testing.T) {
	p := panel.New(poolOf(t, newScript(t), judge.PoolOptions{}, fern, moss), panel.Options{})
	v, err := p.Verify(t.Context(), panel.VerifyCase{Brief: &charter.Brief{Text: ""}, Finding: accusation()})
	if err != nil || v.Ruling != panel.CouldNotTell || v.Calls != 0 {
		t.Errorf("%s after %d calls, %v", v.Ruling, v.Calls, err)
	}
}

func TestVerifyIsGivenUp(t *testing.T) {
	t.Run("in the call", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		late := says(refutes)
		late.before = func(context.Context) { cancel() }
		s := newScript(t).under(correctness, moss.ID, late)
		p := panel.New(poolOf(t, s, judge.PoolOptions{}, fern, moss, quill), panel.Options{})
		v, err := p.Verify(ctx, panel.VerifyCase{Brief: brief(t, change), Finding: accusation()})
		if !errors.Is(err, context.Canceled) || v.Ruling != panel.CouldNotTell || v.ErrorKind != prosecutor.Canceled {
			t.Errorf("%s, %s, %v", v.Ruling, v.ErrorKind, err)
		}
	})
	t.Run("in the queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			pool := poolOf(t, newScript(t), judge.PoolOptions{Limits: map[string]judge.Limits{moss.ID: {Concurrency: 1}}}, fern, moss)
			busy, _, err := pool.Acquire(t.Context(), judge.Want{Only: moss.ID})
			if err != nil {
				t.Fatal(err)
			}
			defer busy.Release()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			v, err := panel.New(pool, panel.Options{}).Verify(ctx, panel.VerifyCase{Brief: brief(t, change), Finding: accusation()})
			if !errors.Is(err, context.DeadlineExceeded) || v.Ruling != panel.CouldNotTell || v.Calls != 0 {
				t.Errorf("%s after %d calls, %v", v.Ruling, v.Calls, err)
			}
		})
	})
}

func TestVerificationHasATimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := pass{before: func(ctx context.Context) { <-ctx.Done() }}
		s := newScript(t).under(correctness, moss.ID, hang).under(correctness, quill.ID, says(upholds))
		p := panel.New(poolOf(t, s, judge.PoolOptions{}, moss, quill), panel.Options{PassTimeout: time.Minute})
		v, err := p.Verify(t.Context(), panel.VerifyCase{Brief: brief(t, change), Finding: accusation()})
		if err != nil || v.Ruling != panel.Upheld || v.Calls != 2 || v.Latency != time.Minute {
			t.Errorf("%s after %d calls in %v, %v", v.Ruling, v.Calls, v.Latency, err)
		}
	})
}
