package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/prosecutor-bot/prosecutor/app/publish"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// result is what a run keeps of its judging: what is published, and what each lens said of which case, so that a person can
// have one lens asked again without paying for the others.
type result struct {
	Publication *publish.Publication `json:"publication"`
	Case        convergence.Case     `json:"case"`
	Lenses      []keptLens           `json:"lenses,omitempty"`
	// DismissAuthor is dismiss.author of the policy that judged the case.
	DismissAuthor bool `json:"dismiss_author,omitempty"`
	// KeepDays is retention of that policy, in days.
	KeepDays int `json:"keep_days,omitempty"`
	// Record is the number of the record of evidence about this, in the chain of the repository; 0 when there is none.
	Record int64 `json:"record,omitempty"`
}

// keptLens is the verdict of a lens.
type keptLens struct {
	Lens       prosecutor.Lens      `json:"lens"`
	Verdict    prosecutor.Verdict   `json:"verdict"`
	Judge      string               `json:"judge"`
	Family     string               `json:"family"`
	Static     bool                 `json:"static,omitempty"`
	SameFamily bool                 `json:"same_family,omitempty"`
	Refuted    bool                 `json:"refuted,omitempty"`
	Findings   []prosecutor.Finding `json:"findings,omitempty"`
}

// keep returns the verdicts among outcomes. A lens that failed has none.
func keep(outcomes []convergence.LensOutcome) []keptLens {
	var kept []keptLens
	for _, o := range outcomes {
		if o.Lens != "" && (o.Verdict == prosecutor.Ship || o.Verdict == prosecutor.Block) {
			kept = append(kept, keptLens{o.Lens, o.Verdict, o.Judge, o.Family, o.Static, o.SameFamily, o.Refuted, o.Findings})
		}
	}
	return kept
}

func (k keptLens) outcome() convergence.LensOutcome {
	return convergence.LensOutcome{
		Lens: k.Lens, Verdict: k.Verdict, Judge: k.Judge, Family: k.Family, Static: k.Static, SameFamily: k.SameFamily,
		Refuted: k.Refuted, Findings: k.Findings,
	}
}

// resultOf reads what a run kept; nil when it has nothing.
func resultOf(r store.Run) (*result, error) {
	if r.Result == nil {
		return nil, nil
	}
	out := &result{}
	if err := json.Unmarshal(r.Result, out); err != nil {
		return nil, fmt.Errorf("reading the result of run %d: %w", r.ID, err)
	}
	return out, nil
}

// Report is the report of a run, nil when it has none.
func Report(r store.Run) *report.Document {
	res, err := resultOf(r)
	if err != nil || res == nil || res.Publication == nil {
		return nil
	}
	return res.Publication.Result
}

// asking is how the judges of this run are asked. A person who named one lens has that one asked again, and those that
// have no verdict on this case; the others keep theirs.
func (w *judging) asking(c convergence.Case, ask convergence.Ask) convergence.Ask {
	only := w.run.Options.Lens
	if only == "" {
		return ask
	}
	return func(ctx context.Context, lenses []prosecutor.Lens) ([]convergence.LensOutcome, error) {
		kept, from, err := w.kept(ctx, c)
		if err != nil {
			return nil, err
		}
		w.keptFrom = from
		var outcomes []convergence.LensOutcome
		var again []prosecutor.Lens
		for _, lens := range lenses {
			i := slices.IndexFunc(kept, func(k keptLens) bool { return k.Lens == lens })
			if lens == only || i < 0 {
				again = append(again, lens)
				continue
			}
			outcomes = append(outcomes, kept[i].outcome())
			w.unasked = append(w.unasked, lens)
			w.file.Notes = append(w.file.Notes, fmt.Sprintf("%s keeps its verdict of the run before: %s, by %s", lens, kept[i].Verdict, kept[i].Judge))
		}
		if len(again) == 0 {
			return outcomes, nil
		}
		asked, err := ask(ctx, again)
		return append(outcomes, asked...), err
	}
}

// kept are the newest verdicts on the same case, and the record that has them.
func (w *judging) kept(ctx context.Context, c convergence.Case) ([]keptLens, int64, error) {
	runs, err := w.a.store.RunsOfHead(ctx, w.run.RepoID, w.run.PR, w.run.Head)
	if err != nil {
		return nil, 0, err
	}
	c.EvidenceStates = ""
	for _, r := range runs {
		res, err := resultOf(r)
		if err != nil || res == nil || r.ID == w.run.ID || len(res.Lenses) == 0 {
			continue // what cannot be read is not kept, so that the lens is asked again
		}
		if res.Case.EvidenceStates = ""; res.Case == c {
			return res.Lenses, res.Record, nil
		}
	}
	return nil, 0, nil
}
