package convergence_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prosecutor-bot/prosecutor/config"
	. "github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/blast"
	"github.com/prosecutor-bot/prosecutor/test/vectortest"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// asSet compares lists without order; nil and empty are equal.
var asSet = cmp.Options{
	cmpopts.SortSlices(func(a, b string) bool { return a < b }),
	cmpopts.EquateEmpty(),
}

// expectation is the expected object of a case: each of its fields is asserted once, and every field has to be known.
type expectation struct {
	t      *testing.T
	fields map[string]json.RawMessage
}

func expect(t *testing.T, raw json.RawMessage) *expectation {
	t.Helper()
	e := &expectation{t: t, fields: map[string]json.RawMessage{}}
	if err := json.Unmarshal(raw, &e.fields); err != nil {
		t.Fatal(err)
	}
	return e
}

// check compares a field if it is asserted. A null is the zero value.
func check[T any](e *expectation, field string, got T, opts ...cmp.Option) {
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
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		e.t.Errorf("%s (-want +got):\n%s", field, diff)
	}
}

func (e *expectation) done(left ...string) {
	e.t.Helper()
	for field := range e.fields {
		if !slices.Contains(left, field) {
			e.t.Errorf("the field %q of the vector is not checked", field)
		}
	}
}

func words[T ~string](list []T) []string {
	out := []string{}
	for _, w := range list {
		out = append(out, string(w))
	}
	return out
}

type policyVector struct {
	Convergence struct {
		MaxLaps *int `json:"max_laps"`
	} `json:"convergence"`
	HollowTest struct {
		Required bool `json:"required"`
	} `json:"hollow_test"`
	JudgeFailure string `json:"judge_failure"`
	HoldFor      string `json:"hold_for"`
	Prosecution  struct {
		DryPasses int `json:"dry_passes"`
	} `json:"prosecution"`
}

func (v policyVector) policy(t *testing.T) *config.Policy {
	t.Helper()
	p := config.DefaultPolicy()
	if v.Convergence.MaxLaps != nil {
		p.Convergence.MaxLaps = *v.Convergence.MaxLaps
	}
	p.HollowTest.Required = v.HollowTest.Required
	if v.JudgeFailure != "" {
		p.JudgeFailure = config.JudgeFailure(v.JudgeFailure)
	}
	if v.HoldFor != "" {
		d, err := config.ParseDuration(v.HoldFor)
		if err != nil {
			t.Fatal(err)
		}
		p.HoldFor = d
	}
	return p
}

// lapsBefore records laps that were sent back, each for another finding, on heads of their own; the last one on head if
// that is not empty.
func lapsBefore(laps, maxLaps int, last Case) Ledger {
	l := New()
	for i := range laps {
		c := last
		if i < laps-1 || c.Head == "" {
			c.Head = fmt.Sprintf("earlier-%d", i)
		}
		l, _, _ = Record(l, Result{Case: c, Decision: LoopBack, Signatures: []string{fmt.Sprint("earlier-", i)}, Blocking: 1}, maxLaps)
	}
	return l
}

func TestVectorsGate(t *testing.T) {
	vectortest.Run(t, "gate", func(t *testing.T, c vectortest.Case) {
		var in struct {
			Kind   string
			Event  Event
			Sender struct {
				Type       SenderType
				Permission Permission
			}
			KillSwitch     bool `json:"kill_switch"`
			Draft          bool
			AlreadyDecided bool `json:"already_decided"`
			Escalated      bool
			Radius         prosecutor.Radius
			Policy         policyVector
			Evidence       map[prosecutor.EvidenceSource]struct{ State prosecutor.EvidenceState }
			LensVerdicts   map[prosecutor.Lens]prosecutor.Verdict `json:"lens_verdicts"`
			Ledger         struct{ Laps int }
		}
		vectortest.Decode(t, c.Input, &in)
		p := in.Policy.policy(t)
		f := Facts{
			Event:      in.Event,
			Sender:     Sender{Type: in.Sender.Type, Permission: in.Sender.Permission},
			Case:       Case{Key: Key{Repo: "r", Change: "pull/1"}, Base: "b", Head: "h", PolicyHash: "p", SpecHash: "s"},
			Now:        start,
			KillSwitch: in.KillSwitch, Draft: in.Draft,
			Radius: in.Radius, Lenses: prosecutor.Lenses()[:blast.Lenses(in.Radius)],
		}
		for source, e := range in.Evidence {
			f.Evidence = append(f.Evidence, prosecutor.Evidence{Source: source, State: e.State})
		}
		decided := Case{}
		if in.AlreadyDecided {
			decided = f.Case
			decided.EvidenceStates = EvidenceStates(f.Evidence)
		}
		ledger := lapsBefore(in.Ledger.Laps, p.Convergence.MaxLaps, decided)
		if ledger.Escalated != in.Escalated {
			t.Fatalf("the laps of the vector lead to escalated = %v, it says %v", ledger.Escalated, in.Escalated)
		}

		asked := false
		ask := func(_ context.Context, lenses []prosecutor.Lens) ([]LensOutcome, error) {
			asked = true
			out := make([]LensOutcome, 0, len(in.LensVerdicts))
			for lens, v := range in.LensVerdicts {
				out = append(out, LensOutcome{Lens: lens, Verdict: v})
			}
			return out, nil
		}
		got, next, err := Decide(context.Background(), f, ledger, p, ask)
		if err != nil {
			t.Fatal(err)
		}
		if asked != (len(got.LensesRun) > 0) {
			t.Errorf("judges were asked: %v, but the ruling names the lenses %v", asked, got.LensesRun)
		}
		e := expect(t, c.Expect)
		check(e, "outcome", got.Outcome)
		check(e, "decision", got.Decision)
		check(e, "reason", got.Reason)
		check(e, "lenses_run", words(got.LensesRun), cmpopts.EquateEmpty())
		check(e, "red_sources", words(got.RedSources), asSet)
		check(e, "vetoes", words(got.Vetoes), asSet)
		check(e, "waits_for", words(got.WaitsFor), asSet)
		check(e, "check_run", string(got.CheckRun().Status))
		check(e, "laps", next.Laps)
		e.done()
	})
}

type stepVector struct {
	Do           string
	Trigger      string
	Head         string
	Base         string
	Policy       string
	By           *struct{ Type, Permission string }
	Result       string
	Signatures   []string
	Blocking     int
	OpenConcerns []string `json:"open_concerns"`
	Outcome      string
}

// events translates the triggers of the vectors.
var events = map[string]Event{
	"push": EventPush, "command": EventProsecute, "rerun": EventRerun, "base_change": EventPolicyOrBase, "policy_change": EventPolicyOrBase,
}

func TestVectorsLedgerSequence(t *testing.T) {
	vectortest.Run(t, "ledger", func(t *testing.T, c vectortest.Case) {
		var in struct {
			Kind   string
			Policy policyVector
			Steps  []stepVector
		}
		vectortest.Decode(t, c.Input, &in)
		var out struct{ States []json.RawMessage }
		vectortest.Decode(t, c.Expect, &out)
		if len(in.Steps) != len(out.States) {
			t.Fatalf("%d steps and %d states", len(in.Steps), len(out.States))
		}
		p := in.Policy.policy(t)
		l := New()
		for i, s := range in.Steps {
			now := start.Add(time.Duration(i) * time.Minute)
			judged, decision, causes := false, Decision(""), []Reason{}
			switch s.Do {
			case "push":
				l = Push(l, s.Head)
			case "base_change":
				l = BaseChange(l, s.Base)
			case "policy_change":
				l = PolicyChange(l, s.Policy)
			case "held":
				held := l.Current
				held.Head = s.Head
				l = Hold(l, Waiting{For: Held, Case: held, Since: now})
			case "close":
				l = Close(l, s.Outcome, 0, now)
			case "decide":
				f := Facts{Event: events[s.Trigger], Case: Case{Head: s.Head, Base: s.Base, PolicyHash: s.Policy}, Now: now, Lenses: prosecutor.Lenses()[:1]}
				if s.By != nil {
					f.Sender = Sender{Type: SenderType(s.By.Type), Permission: Permission(s.By.Permission)}
				}
				step := Before(f, l, p)
				l = step.Ledger
				if step.Ruling != nil {
					decision = step.Ruling.Decision
					break
				}
				r := Result{Case: f.Case, Signatures: s.Signatures, Blocking: s.Blocking, Judged: true, At: now}
				for _, claim := range s.OpenConcerns {
					r.OpenConcerns = append(r.OpenConcerns, Concern{Claim: claim})
				}
				if s.Result == "NOT_JUDGED" {
					l, decision, causes = GiveUp(l, r, NotJudgedInTime)
					break
				}
				r.Decision = Decision(s.Result)
				l, decision, causes = Record(l, r, p.Convergence.MaxLaps)
				judged = true
			default:
				t.Fatalf("unknown step %q", s.Do)
			}
			l = roundTrip(t, l)

			e := expect(t, out.States[i])
			e.t.Logf("step %d: %s %s", i+1, s.Do, s.Head)
			check(e, "judged", judged)
			check(e, "decision", decision)
			check(e, "causes", words(causes), asSet)
			check(e, "laps", l.Laps)
			check(e, "budget_laps", l.BudgetLaps)
			check(e, "attempts", l.Review().Attempts)
			check(e, "epoch", l.Epoch)
			check(e, "converged", l.Converged)
			check(e, "escalated", l.Escalated)
			check(e, "last_verdict", l.Review().LastVerdict)
			check(e, "lap_signatures", l.LapSignatures, asSet)
			check(e, "not_converging", l.NotConverging)
			check(e, "closed", l.Closed)
			check(e, "outcome", l.Outcome)
			check(e, "keep_days", l.KeepDays)
			e.done()
		}
	}, "sequence")
}

// roundTrip sends a ledger through its JSON, as the store does.
func roundTrip(t *testing.T, l Ledger) Ledger {
	t.Helper()
	raw, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	var back Ledger
	vectortest.Decode(t, raw, &back)
	again, err := json.Marshal(back)
	if err != nil {
		t.Fatal(err)
	}
	if string(raw) != string(again) {
		t.Errorf("the ledger changes in JSON:\n%s\n%s", raw, again)
	}
	return back
}

type findingVector struct {
	ID       string
	Lens     prosecutor.Lens
	Path     string
	Charge   prosecutor.Charge
	Claim    string
	Severity prosecutor.Severity
}

func (v findingVector) finding() prosecutor.Finding {
	return prosecutor.Finding{
		ID: v.ID, Lens: v.Lens, Charge: v.Charge, Claim: v.Claim, Severity: v.Severity,
		Source: prosecutor.FromModel, Anchor: &prosecutor.Anchor{Path: v.Path},
	}
}

func TestVectorsLedgerSignaturePair(t *testing.T) {
	vectortest.Run(t, "ledger", func(t *testing.T, c vectortest.Case) {
		var in struct {
			Kind string
			A, B findingVector
		}
		vectortest.Decode(t, c.Input, &in)
		e := expect(t, c.Expect)
		check(e, "equal", Signature(in.A.finding()) == Signature(in.B.finding()))
		e.done()
	}, "signature_pair")
}

func TestVectorsLedgerSignatureSet(t *testing.T) {
	vectortest.Run(t, "ledger", func(t *testing.T, c vectortest.Case) {
		var in struct {
			Kind   string
			Lenses []struct {
				Lens     prosecutor.Lens
				Verdict  prosecutor.Verdict
				Findings []findingVector
			}
		}
		vectortest.Decode(t, c.Input, &in)
		var outcomes []LensOutcome
		for _, l := range in.Lenses {
			o := LensOutcome{Lens: l.Lens, Verdict: l.Verdict}
			for _, f := range l.Findings {
				o.Findings = append(o.Findings, f.finding())
			}
			outcomes = append(outcomes, o)
		}
		ids := []string{}
		for _, f := range Contributing(outcomes) {
			ids = append(ids, f.ID)
		}
		e := expect(t, c.Expect)
		check(e, "contributing", ids, asSet)
		e.done()
	}, "signature_set")
}

// TestVectorsJudgeFailure checks the gate's half of the cases of section 7. Which judge serves a lens is the panel's half,
// so the outcome of a lens is read from the script here: what its last judge said last, with the failures before it.
// Breakers, calls and the names of judges are left to the joint test of panel and gate.
func TestVectorsJudgeFailure(t *testing.T) {
	vectortest.Run(t, "judge_failure", func(t *testing.T, c vectortest.Case) {
		var in struct {
			Kind          string
			Policy        policyVector
			Radius        prosecutor.Radius
			SelfModifying bool `json:"self_modifying"`
			Judges        []struct{ ID, Family, Provider string }
			Script        map[prosecutor.Lens]map[string][]struct {
				Verdict prosecutor.Verdict
				Failure prosecutor.ErrorKind
			}
			Ledger struct{ Laps int }
			Waited int `json:"waited_minutes"`
		}
		vectortest.Decode(t, c.Input, &in)
		p := in.Policy.policy(t)
		f := Facts{
			Event:  EventPush,
			Case:   Case{Key: Key{Repo: "r", Change: "pull/1"}, Base: "b", Head: "h", PolicyHash: "p", SpecHash: "s"},
			Now:    start,
			Radius: in.Radius, Lenses: prosecutor.Lenses()[:blast.Lenses(in.Radius)], SelfModifying: in.SelfModifying,
			Waited: time.Duration(in.Waited) * time.Minute,
		}
		var outcomes []LensOutcome
		for lens, judges := range in.Script {
			o := LensOutcome{Lens: lens}
			exhausted := map[string]bool{}
			for _, j := range in.Judges {
				if o.Verdict == prosecutor.Ship || o.Verdict == prosecutor.Block || exhausted[j.Provider] {
					continue
				}
				for _, pass := range judges[j.ID] {
					o.Judge, o.Family, o.Verdict, o.ErrorKind = j.ID, j.Family, pass.Verdict, pass.Failure
					if pass.Failure != "" {
						o.Verdict = prosecutor.Errored
						o.Failures = append(o.Failures, pass.Failure)
						exhausted[j.Provider] = exhausted[j.Provider] || pass.Failure == prosecutor.Quota
						break
					}
				}
			}
			outcomes = append(outcomes, o)
		}
		before := lapsBefore(in.Ledger.Laps, p.Convergence.MaxLaps, Case{})
		got, next, err := Decide(context.Background(), f, before, p,
			func(context.Context, []prosecutor.Lens) ([]LensOutcome, error) { return outcomes, nil })
		if err != nil {
			t.Fatal(err)
		}
		type entry struct {
			Kind EntryKind
			Lens prosecutor.Lens
		}
		entries := []entry{}
		for _, e := range got.Entries {
			entries = append(entries, entry{e.Kind, e.Lens})
		}
		if len(next.Entries) != len(before.Entries)+len(got.Entries) {
			t.Errorf("the ledger has %d entries, the ruling %d", len(next.Entries), len(got.Entries))
		}
		e := expect(t, c.Expect)
		check(e, "outcome", got.Outcome)
		check(e, "decision", got.Decision)
		check(e, "cause", got.Reason)
		check(e, "lap_spent", got.LapSpent)
		if got.LapSpent != (next.Laps > before.Laps) {
			t.Errorf("lap spent %v, but laps went from %d to %d", got.LapSpent, before.Laps, next.Laps)
		}
		check(e, "check_run", string(got.CheckRun().Status))
		check(e, "degraded_lenses", words(got.Degraded), asSet)
		check(e, "entries", entries, cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b entry) bool { return a.Lens < b.Lens }))
		e.done("breakers_open", "calls", "lenses")
	}, "case")
}

func TestDecideWithoutAnswer(t *testing.T) {
	f := facts()
	for name, tt := range map[string]struct {
		err     error
		outcome Outcome
		check   CheckRun
	}{
		"broken":   {errors.New("the panel is on fire"), Errored, CheckRun{CheckCompleted, ActionRequired}},
		"canceled": {fmt.Errorf("stop: %w", context.Canceled), NotJudged, CheckRun{CheckCompleted, Cancelled}},
	} {
		t.Run(name, func(t *testing.T) {
			before := New()
			r, next, err := Decide(context.Background(), f, before, config.DefaultPolicy(),
				func(context.Context, []prosecutor.Lens) ([]LensOutcome, error) { return nil, tt.err })
			if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), f.Case.Head) {
				t.Errorf("error %v", err)
			}
			if r.Outcome != tt.outcome || r.Decision != "" || r.CheckRun() != tt.check {
				t.Errorf("got %v, check run %v", r, r.CheckRun())
			}
			if next.Laps != 0 || next.Converged {
				t.Errorf("a case that was not judged changed the ledger: %+v", next)
			}
		})
	}
}

// facts are those of an ordinary push with green evidence and low radius.
func facts() Facts {
	return Facts{
		Event:  EventPush,
		Case:   Case{Key: Key{Repo: "r", Change: "pull/1"}, Base: "b1", Head: "h1", PolicyHash: "p1", SpecHash: "s1"},
		Now:    start,
		Radius: prosecutor.RadiusLow, Lenses: []prosecutor.Lens{prosecutor.Correctness},
		Evidence: []prosecutor.Evidence{
			{Source: prosecutor.CodeScanning, State: prosecutor.Clean},
			{Source: prosecutor.CIChecks, State: prosecutor.Clean},
		},
	}
}
