package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/casefile"
	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/app/publish"
	"github.com/prosecutor-bot/prosecutor/app/record"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence/rules"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
	"github.com/prosecutor-bot/prosecutor/prosecutor/review"
)

// said is a text of somebody else as a record keeps it.
func said(text string) string { return record.Text(rules.Redact(text), record.MaxText) }

// word is a name of somebody else's choosing as a record keeps it.
func word(text string) string { return record.Text(rules.Redact(text), record.MaxWord) }

const day = 24 * time.Hour

// keepDays is the policy's retention, in whole days.
func keepDays(p *config.Policy) int {
	keep := convergence.Retention
	if p != nil {
		keep = time.Duration(p.Retention)
	}
	return daysOf(keep)
}

func daysOf(d time.Duration) int { return int((d + day - 1) / day) }

// keptDays is how long the records about a head are kept by the policy that judged it last.
func keptDays(runs []store.Run) int {
	for _, r := range runs {
		if res, err := resultOf(r); err == nil && res != nil && res.KeepDays > 0 {
			return res.KeepDays
		}
	}
	return daysOf(convergence.Retention)
}

// newRecord is a record about a repository and pull request, or a merge group.
func (a *App) newRecord(kind record.Kind, r store.Run, keep int) record.Record {
	out := record.Record{
		Kind: kind, Software: record.Software{Name: "prosecutor", Version: a.o.Version},
		Repository: record.Repository{ID: r.RepoID, Name: word(r.Owner + "/" + r.Repo)}, PullRequest: r.PR,
		Case: record.Case{Base: r.Base, Head: r.Head}, KeepDays: keep,
	}
	if r.IsGroup() {
		out.MergeGroup = word(r.GroupRef)
	}
	return out
}

// ofRun is a record about a judging.
func (a *App) ofRun(kind record.Kind, r store.Run, keep int) record.Record {
	out := a.newRecord(kind, r, keep)
	out.Run = &record.Run{ID: r.ID, Generation: r.Generation, Beginning: r.Claim, Cause: string(r.Cause)}
	out.Event = string(r.Event)
	if s := r.Sender; s != (convergence.Sender{}) {
		out.Sender = &record.Sender{Login: word(s.Login), Type: word(string(s.Type)), Permission: string(s.Permission)}
	}
	return out
}

func caseOf(c convergence.Case) record.Case {
	return record.Case{Base: c.Base, Head: c.Head, PolicyHash: c.PolicyHash, SpecHash: c.SpecHash, EvidenceStates: c.EvidenceStates}
}

func (w *judging) policy() *config.Policy {
	if w.file == nil {
		return nil
	}
	return w.file.Case.Policy
}

// concluded is the record of what concludes a case that the gate did not rule on.
func (w *judging) concluded(kind record.Kind, reason string, pub *publish.Publication) *record.Record {
	r := w.a.ofRun(kind, w.run, keepDays(w.policy()))
	r.Decision, r.Reason, r.Title, r.Conclusion = string(pub.Decision), reason, said(pub.Title), string(pub.Conclusion)
	return &r
}

// ruled is the record of a ruling. before is the ledger as this judging found it.
func (w *judging) ruled(judged *review.Result, before convergence.Ledger, title string) *record.Record {
	ruling := judged.Ruling
	r := w.a.ofRun(kindOf(ruling), w.run, keepDays(w.policy()))
	r.Case = caseOf(ruling.Case)
	r.Event = string(ruling.Event)
	r.Outcome, r.Decision, r.Reason = string(ruling.Outcome.Public()), string(ruling.Decision), string(ruling.Reason)
	for _, c := range ruling.Causes {
		r.Causes = append(r.Causes, string(c))
	}
	r.Detail, r.Title, r.Conclusion = said(ruling.Detail), said(title), string(ruling.CheckRun().Conclusion)
	r.BlastRadius, r.SelfModifying = string(ruling.Radius), judged.Radius.SelfModifying
	for _, f := range judged.Case.Builder.Families {
		r.Builders = append(r.Builders, word(f))
	}
	for _, e := range judged.Evidence {
		r.Evidence = append(r.Evidence, record.Evidence{
			Source: string(e.Source), State: string(e.State), Detail: said(e.Detail),
			CountsAsRed: slices.Contains(ruling.RedSources, e.Source), Findings: len(e.Findings),
		})
	}
	for _, l := range judged.Lenses {
		r.Lenses = append(r.Lenses, lensOf(l, ruling))
	}
	for _, k := range w.said {
		if slices.Contains(w.unasked, k.Lens) {
			r.Lenses = append(r.Lenses, record.Lens{
				Lens: string(k.Lens), Verdict: string(k.Verdict), Judge: &record.Judge{Name: word(k.Judge), Family: word(k.Family), Static: k.Static},
				Refuted: k.Refuted, SameFamily: k.SameFamily, Kept: true, KeptFrom: w.keptFrom,
			})
		}
	}
	for _, v := range judged.Verifications {
		r.Verifications = append(r.Verifications, verificationOf(v))
	}
	r.Findings, r.FindingsOmitted = findingsOf(ruling)
	for _, e := range ruling.Entries {
		r.Failures = append(r.Failures, record.LensFailure{Lens: string(e.Lens), Effect: string(e.Kind), Cause: said(e.Cause)})
	}
	r.Ledger = transition(before, ruling.Ledger, ruling.Stage)
	return &r
}

func kindOf(r convergence.Ruling) record.Kind {
	switch {
	case r.Decision != "":
		return record.Decision
	case r.Outcome == convergence.Held:
		return record.Hold
	case r.Outcome == convergence.Errored:
		return record.Failure
	default:
		return record.Guard
	}
}

func judgeOf(i judge.Info) record.Judge {
	return record.Judge{Name: word(i.ID), Family: word(i.Family), Provider: word(i.Provider), Model: word(i.Model), Static: i.Static}
}

// whoever is a judge, nil when nobody was asked.
func whoever(i judge.Info) *record.Judge {
	if i == (judge.Info{}) {
		return nil
	}
	j := judgeOf(i)
	return &j
}

func lensOf(l panel.LensResult, ruling convergence.Ruling) record.Lens {
	out := record.Lens{
		Lens: string(l.Lens), Verdict: string(l.Verdict), ErrorKind: string(l.ErrorKind), Error: failure(l.Err), Judge: whoever(l.Judge),
		Degraded: slices.Contains(ruling.Degraded, l.Lens), Refuted: slices.Contains(ruling.Refuted, l.Lens), SameFamily: l.SameFamily,
	}
	for _, a := range l.Attempts {
		attempt := record.Attempt{Judge: judgeOf(a.Judge), Verdict: string(a.Verdict), ErrorKind: string(a.ErrorKind)}
		for _, p := range a.Passes {
			attempt.Passes = append(attempt.Passes, passOf(p))
		}
		out.Attempts = append(out.Attempts, attempt)
	}
	return out
}

func passOf(p contract.Pass) record.Pass {
	return record.Pass{
		Verdict: string(p.Verdict), ErrorKind: string(p.ErrorKind), Error: failure(p.Err), Repairs: p.Repairs,
		Call: record.Call{
			Model: word(p.Model), Calls: p.Calls, LatencyMS: p.Latency.Milliseconds(), TokensIn: p.TokensIn, TokensOut: p.TokensOut,
			CostMicroUSD: microUSD(p.CostUSD), PromptHash: p.PromptHash, AnswerHash: p.AnswerHash,
		},
	}
}

func verificationOf(v panel.Verification) record.Verification {
	return record.Verification{
		Finding: v.FindingID, Ruling: string(v.Ruling), ErrorKind: string(v.ErrorKind), Judge: whoever(v.Judge),
		Call: record.Call{
			Model: word(v.Model), Calls: v.Calls, LatencyMS: v.Latency.Milliseconds(), TokensIn: v.TokensIn, TokensOut: v.TokensOut,
			CostMicroUSD: microUSD(v.CostUSD), PromptHash: v.PromptHash, AnswerHash: v.AnswerHash,
		},
	}
}

// microUSD is a cost in whole millionths of a dollar: records have no fractions, whose written form differs between programs.
func microUSD(usd float64) int64 { return int64(math.Round(usd * 1e6)) }

// failure is why a judge failed. The text is safe to show by its contract; a secret that got into it all the same is masked.
func failure(err error) string {
	if err == nil {
		return ""
	}
	return said(ghclient.Redact(err.Error()))
}

// findingsOf are the findings of a ruling, those that block first, and how many of the others had no room.
func findingsOf(r convergence.Ruling) (found []record.Finding, omitted int) {
	type key struct{ id, claim string }
	in := func(list []prosecutor.Finding) map[key]bool {
		set := make(map[key]bool, len(list))
		for _, f := range list {
			set[key{f.ID, f.Claim}] = true
		}
		return set
	}
	blocking, standing, dismissed := in(r.Blocking), in(r.Standing), in(r.Dismissed)
	for _, f := range r.Findings {
		k := key{f.ID, f.Claim}
		out := record.Finding{
			ID: f.ID, Lens: string(f.Lens), Source: string(f.Source), Origin: word(f.Origin), Rule: word(f.Rule),
			Severity: string(f.Severity), Claimed: word(string(f.Claimed)), Charge: string(f.Charge), Claim: said(f.Claim),
			Blocking: blocking[k], Standing: standing[k], Dismissed: dismissed[k],
			Anchor: string(f.Place.Status), Path: word(f.Place.Path), Side: string(f.Place.Side), StartLine: f.Place.StartLine, EndLine: f.Place.EndLine,
		}
		if f.Anchor != nil && out.Path == "" {
			out.Path = word(f.Anchor.Path)
		}
		found = append(found, out)
	}
	slices.SortStableFunc(found, func(a, b record.Finding) int {
		switch {
		case a.Blocking == b.Blocking:
			return 0
		case a.Blocking:
			return -1
		default:
			return 1
		}
	})
	if most := record.MaxFindings; len(found) > most {
		return found[:most], len(found) - most
	}
	return found, 0
}

func transition(before, after convergence.Ledger, stage convergence.Stage) *record.Transition {
	return &record.Transition{Before: ledgerOf(before, stage), After: ledgerOf(after, stage)}
}

func ledgerOf(l convergence.Ledger, stage convergence.Stage) record.Ledger {
	if stage == "" {
		stage = convergence.StageReview
	}
	s := l.Stages[stage]
	return record.Ledger{
		Hash: ledgerHash(l), Epoch: l.Epoch, Laps: l.Laps, BudgetLaps: l.BudgetLaps, Attempts: s.Attempts, LastVerdict: string(s.LastVerdict),
		OpenConcerns: len(l.OpenConcerns), Dismissals: len(l.Dismissals), Converged: l.Converged, Escalated: l.Escalated,
	}
}

// ledgerHash is the SHA-256 of a ledger's JSON, as it is stored.
func ledgerHash(l convergence.Ledger) string {
	raw, err := json.Marshal(l)
	if err != nil {
		return "" // a ledger that cannot be encoded cannot be stored either, and the storing says so
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// membersOf are the pull requests of a merge group.
func membersOf(members []casefile.Member) []record.Member {
	out := make([]record.Member, len(members))
	for i, m := range members {
		out[i] = record.Member{PullRequest: m.PR, Head: m.Head}
	}
	return out
}

// changeLedger changes the ledger of a pull request on somebody's behalf, and records who did what. All of it belongs to the
// transaction.
func changeLedger(ctx context.Context, tx *store.Tx, r record.Record, change func(convergence.Ledger) convergence.Ledger) error {
	var before, after convergence.Ledger
	err := tx.Ledgers().Update(ctx, store.LedgerKey(r.Repository.ID, r.PullRequest), func(l convergence.Ledger) (convergence.Ledger, error) {
		before, after = l, change(l)
		return after, nil
	})
	if err != nil {
		return err
	}
	head := r.Case.Head
	r.Case = caseOf(after.Current)
	r.Case.Head = head
	r.Ledger = transition(before, after, convergence.StageReview)
	_, err = tx.AppendRecord(ctx, r)
	return err
}

// recordFailure records that a judging was given up.
func (a *App) recordFailure(ctx context.Context, tx *store.Tx, run store.Run) error {
	runs, err := tx.RunsOfHead(ctx, run.RepoID, run.PR, run.Head)
	if err != nil {
		return err
	}
	ledger, err := tx.Ledgers().Load(ctx, run.LedgerKey())
	if err != nil {
		return err
	}
	r := a.ofRun(record.Failure, run, keptDays(runs))
	if ledger.Current.Head == run.Head {
		r.Case = caseOf(ledger.Current) // as far as the case was read
	}
	r.Reason, r.Detail, r.Conclusion = "given_up", said(ghclient.Redact(run.Reason)), string(convergence.ActionRequired)
	if _, err := tx.AppendRecord(ctx, r); err != nil {
		return fmt.Errorf("the end of run %d: %w", run.ID, err)
	}
	return nil
}
