package panel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
	"github.com/prosecutor-bot/prosecutor/test/vectortest"
)

var (
	started = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	resetAt = started.Add(45 * time.Minute)
)

func clock() time.Time { return started }

// expectation is the expected object of a case: each of its fields has to be checked.
type expectation struct {
	t      *testing.T
	fields map[string]json.RawMessage
}

func expect(t *testing.T, raw json.RawMessage) expectation {
	t.Helper()
	e := expectation{t: t, fields: map[string]json.RawMessage{}}
	if err := json.Unmarshal(raw, &e.fields); err != nil {
		t.Fatal(err)
	}
	return e
}

// check compares a field if it is asserted: exactly, lists as sets, and null with the zero value.
func check[T any](e expectation, field string, got T) {
	e.t.Helper()
	raw, asserted := e.fields[field]
	delete(e.fields, field)
	if !asserted {
		return
	}
	var want T
	if string(raw) != "null" {
		vectortest.Decode(e.t, raw, &want)
	}
	sets := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	if diff := cmp.Diff(want, got, sets, cmpopts.EquateEmpty()); diff != "" {
		e.t.Errorf("%s (-want +got):\n%s", field, diff)
	}
}

func (e expectation) done() {
	e.t.Helper()
	for field := range e.fields {
		e.t.Errorf("the field %q of the vector is not checked", field)
	}
}

func TestVectorsDryPasses(t *testing.T) {
	vectortest.Run(t, "dry_passes", func(t *testing.T, c vectortest.Case) {
		var in struct {
			DryPasses json.RawMessage `json:"dry_passes"`
			Lenses    []prosecutor.Lens
			Script    map[prosecutor.Lens][]struct {
				Verdict  prosecutor.Verdict
				Kind     prosecutor.ErrorKind
				Repaired bool
			}
			Diff       *string
			Configured bool `json:"hollow_test_configured"`
			RunsBefore int  `json:"hollow_test_runs_before"`
		}
		vectortest.Decode(t, c.Input, &in)
		want := expect(t, c.Expect)
		defer want.done()

		s := newScript(t)
		for lens, steps := range in.Script {
			for _, step := range steps {
				p := passOf(step.Verdict, step.Kind)
				if step.Repaired {
					p = repaired(p)
				}
				s.under(lens, fern.ID, p)
			}
		}
		var file []byte
		if in.DryPasses != nil {
			file = fmt.Appendf(nil, "prosecution:\n  dry_passes: %s\n", in.DryPasses)
		}
		policy, err := config.ParsePolicy("prosecutor.yml", file)
		check(want, "config_error", err != nil)
		if err != nil {
			check(want, "model_calls", s.calls)
			return
		}

		text := change
		if in.Diff != nil {
			text = *in.Diff
		}
		b := brief(t, text)
		// The evidence of a head is found before the panel sits, and the panel gets what there is: no pass asks for it again.
		runs := 0
		if in.Configured {
			if in.RunsBefore == 0 {
				runs++
			}
			b.Evidence = []prosecutor.Evidence{{Source: prosecutor.HollowTest, State: prosecutor.Clean}}
		}

		p := panel.New(poolOf(t, s, judge.PoolOptions{}, fern), panel.Options{Now: clock})
		results := p.Run(t.Context(), panel.Case{
			Brief: b, Lenses: in.Lenses, Radius: prosecutor.RadiusLow, Policy: policy, Repo: "acme/pay",
		})

		var lenses map[prosecutor.Lens]map[string]any
		vectortest.Decode(t, want.fields["lenses"], &lenses)
		delete(want.fields, "lenses")
		calls, conversations, allDry := 0, 0, true
		for i, r := range results {
			if r.Lens != in.Lenses[i] {
				t.Errorf("result %d is of %s, want %s", i, r.Lens, in.Lenses[i])
			}
			got := map[string]any{
				"verdict": string(r.Verdict), "kind": string(r.ErrorKind),
				"passes": float64(len(r.Passes)), "dry": float64(r.Dry), "model_calls": float64(r.Calls),
			}
			for field, value := range lenses[r.Lens] {
				if got[field] != value {
					t.Errorf("%s: %s is %v, want %v", r.Lens, field, got[field], value)
				}
			}
			delete(lenses, r.Lens)
			calls += r.Calls
			for _, pass := range r.Passes {
				conversations += min(1, pass.Calls)
			}
			allDry = allDry && r.Verdict == prosecutor.Ship
		}
		if len(lenses) > 0 {
			t.Errorf("no result for %v", lenses)
		}
		check(want, "model_calls", calls)
		check(want, "conversations", conversations)
		check(want, "all_dry", allDry)
		check(want, "hollow_test_runs", runs)
		if calls != s.calls || conversations != s.conversations {
			t.Errorf("%d requests in %d conversations are on record, the judge saw %d in %d", calls, conversations, s.calls, s.conversations)
		}
		for _, text := range s.texts {
			if in.Configured && !strings.Contains(text, string(prosecutor.HollowTest)) {
				t.Errorf("a pass was not shown the evidence of the head")
			}
		}
	})
}

func TestVectorsJudgeFailure(t *testing.T) {
	vectortest.Run(t, "judge_failure", func(t *testing.T, c vectortest.Case) {
		var in struct {
			Kind   string
			Policy struct {
				JudgeFailure string `json:"judge_failure"`
				HoldFor      string `json:"hold_for"`
				Prosecution  struct {
					DryPasses int `json:"dry_passes"`
				}
			}
			Radius        prosecutor.Radius
			SelfModifying bool `json:"self_modifying"`
			Judges        []struct{ ID, Family, Provider string }
			Script        map[prosecutor.Lens]map[string][]struct {
				Verdict prosecutor.Verdict
				Failure prosecutor.ErrorKind
			}
			Ledger        struct{ Laps int }
			WaitedMinutes int `json:"waited_minutes"`
		}
		vectortest.Decode(t, c.Input, &in)
		want := expect(t, c.Expect)
		defer want.done()

		s := newScript(t)
		var lenses []prosecutor.Lens
		for _, lens := range prosecutor.Lenses() {
			judges, ok := in.Script[lens]
			if !ok {
				continue
			}
			lenses = append(lenses, lens)
			for id, steps := range judges {
				for _, step := range steps {
					s.under(lens, id, passOf(step.Verdict, step.Failure))
				}
			}
		}
		var infos []judge.Info
		for _, j := range in.Judges {
			infos = append(infos, judge.Info{ID: j.ID, Family: j.Family, Provider: j.Provider})
		}
		pool := poolOf(t, s, judge.PoolOptions{Now: clock}, infos...)
		policy := config.DefaultPolicy()
		if in.Policy.JudgeFailure != "" {
			policy.JudgeFailure = config.JudgeFailure(in.Policy.JudgeFailure)
		}
		if in.Policy.HoldFor != "" {
			d, err := time.ParseDuration(in.Policy.HoldFor)
			if err != nil {
				t.Fatal(err)
			}
			policy.HoldFor = config.Duration(d)
		}
		if in.Policy.Prosecution.DryPasses != 0 {
			policy.Prosecution.DryPasses = in.Policy.Prosecution.DryPasses
		}

		facts := convergence.Facts{
			Event:  "pull_request.opened",
			Case:   convergence.Case{Key: convergence.Key{Repo: "acme/pay", Change: "pull/1"}, Base: "b0", Head: "h9", PolicyHash: "p", SpecHash: "s"},
			Now:    started,
			Radius: in.Radius, Lenses: lenses, SelfModifying: in.SelfModifying,
			Waited: time.Duration(in.WaitedMinutes) * time.Minute,
		}
		ledger := convergence.New()
		for i := range in.Ledger.Laps {
			earlier := facts.Case
			earlier.Head = fmt.Sprint("h", i)
			ledger, _, _ = convergence.Record(ledger, convergence.Result{
				Case: earlier, Decision: convergence.LoopBack, Signatures: []string{fmt.Sprint("earlier ", i)}, Blocking: 1,
			}, policy.Convergence.MaxLaps)
		}

		var results []panel.LensResult
		ask := func(ctx context.Context, lenses []prosecutor.Lens) ([]convergence.LensOutcome, error) {
			results = panel.New(pool, panel.Options{Now: clock}).Run(ctx, panel.Case{
				Brief: brief(t, change), Lenses: lenses, Radius: in.Radius, SelfModifying: in.SelfModifying, Policy: policy, Repo: "acme/pay",
			})
			return outcomes(results), nil
		}
		ruling, _, err := convergence.Decide(t.Context(), facts, ledger, policy, ask)
		if err != nil {
			t.Fatal(err)
		}

		check(want, "outcome", string(ruling.Outcome))
		check(want, "decision", string(ruling.Decision))
		check(want, "cause", string(ruling.Reason))
		check(want, "lap_spent", ruling.LapSpent)
		check(want, "check_run", string(ruling.CheckRun().Status))
		degraded := []string{}
		for _, lens := range ruling.Degraded {
			degraded = append(degraded, string(lens))
		}
		check(want, "degraded_lenses", degraded)
		open := []string{}
		for _, b := range pool.Breakers() {
			open = append(open, b.Provider)
		}
		check(want, "breakers_open", open)
		checkEntries(want, ruling.Entries)
		checkLenses(want, results, ruling)
		calls := 0
		for _, r := range results {
			calls += r.PassesBegun()
		}
		check(want, "calls", calls)
		if calls != s.conversations {
			t.Errorf("%d passes are on record, the judges saw %d", calls, s.conversations)
		}
	}, "case")
}

func checkEntries(e expectation, entries []convergence.Entry) {
	type entry struct{ Kind, Lens string }
	raw, asserted := e.fields["entries"]
	delete(e.fields, "entries")
	if !asserted {
		return
	}
	var want, got []entry
	vectortest.Decode(e.t, raw, &want)
	for _, x := range entries {
		got = append(got, entry{string(x.Kind), string(x.Lens)})
	}
	order := cmpopts.SortSlices(func(a, b entry) bool { return a.Kind+a.Lens < b.Kind+b.Lens })
	if diff := cmp.Diff(want, got, order, cmpopts.EquateEmpty()); diff != "" {
		e.t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func checkLenses(e expectation, results []panel.LensResult, ruling convergence.Ruling) {
	raw, asserted := e.fields["lenses"]
	delete(e.fields, "lenses")
	if !asserted {
		return
	}
	var want map[prosecutor.Lens]struct {
		Verdict  prosecutor.Verdict
		Judge    string
		Degraded bool
	}
	vectortest.Decode(e.t, raw, &want)
	for lens, w := range want {
		i := slices.IndexFunc(results, func(r panel.LensResult) bool { return r.Lens == lens })
		if i < 0 {
			e.t.Errorf("no result for %s", lens)
			continue
		}
		if r := results[i]; r.Verdict != w.Verdict || r.Judge.ID != w.Judge {
			e.t.Errorf("%s: %s by %s, want %s by %s", lens, r.Verdict, r.Judge.ID, w.Verdict, w.Judge)
		}
		if got := slices.Contains(ruling.Degraded, lens); got != w.Degraded {
			e.t.Errorf("%s: degraded is %v, want %v", lens, got, w.Degraded)
		}
	}
}

// outcomes puts the panel's results into the gate's words.
func outcomes(results []panel.LensResult) []convergence.LensOutcome {
	var out []convergence.LensOutcome
	for _, r := range results {
		out = append(out, convergence.LensOutcome{
			Lens: r.Lens, Verdict: r.Verdict, ErrorKind: r.ErrorKind, Failures: r.Failures(), Err: r.Err,
			Judge: r.Judge.ID, Family: r.Judge.Family, Static: r.Judge.Static,
			SameFamily: r.SameFamily, NoJudge: r.NoJudge, Waiting: r.Waiting, ResetAt: r.ResetAt,
			Refuted: r.Refuted, Findings: r.Findings(),
		})
	}
	return out
}

func passOf(verdict prosecutor.Verdict, failure prosecutor.ErrorKind) pass {
	switch {
	case failure == prosecutor.SchemaViolation:
		return broken()
	case failure != "":
		return fails(failure)
	case verdict == prosecutor.Ship:
		return ship()
	default:
		return block()
	}
}
