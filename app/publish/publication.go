package publish

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence/rules"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
	"github.com/prosecutor-bot/prosecutor/prosecutor/review"
)

// Publication is everything that is published about one case. It can be stored as JSON between judging and publishing, so
// that a retry needs neither GitHub nor a judge for it.
type Publication struct {
	// Attempt counts how often this publication was tried, from 1. Only the first may do without looking for annotations
	// that were already written; 0 means that nobody counted.
	Attempt    int   `json:"attempt,omitempty"`
	CheckRunID int64 `json:"check_run_id,omitempty"` // what Begin returned; 0 means that it is looked for
	CommentID  int64 `json:"comment_id,omitempty"`   // the sticky comment of an earlier publication; 0 means that it is looked for

	Result      *report.Document        `json:"result"` // with its secrets masked
	Title       string                  `json:"title"`
	Next        string                  `json:"next,omitempty"`   // what to do now; without it, what the report says
	Detail      string                  `json:"detail,omitempty"` // why nothing was judged, word by word, such as what is wrong with a policy file
	CheckStatus convergence.CheckStatus `json:"check_status"`
	Conclusion  convergence.Conclusion  `json:"conclusion"`
	Decision    convergence.Decision    `json:"decision,omitempty"`
	Policy      config.Publish          `json:"policy"`
	// Files is the diff that was judged: where comments may stand, and what suggestions replace. Without it no finding is
	// commented on its line.
	Files *diff.Diff `json:"-"`

	Lap   int `json:"lap,omitempty"`
	Epoch int `json:"epoch,omitempty"`
	// Blocking are the identities of the findings that block.
	Blocking []string `json:"blocking,omitempty"`
	// Dismissed are the findings that a person dismissed, by identity.
	Dismissed map[string]Dismissal `json:"dismissed,omitempty"`
	// Heard are the lenses and evidence sources that spoke about this head: only what one of them accused earlier can be
	// gone by its silence.
	Heard []string `json:"heard,omitempty"`
	// Author is the login of the pull request's author.
	Author string `json:"author,omitempty"`

	Escalation *Escalation `json:"escalation,omitempty"`
}

// Dismissal is who dismissed a finding, and why.
type Dismissal struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// From makes the publication of a judged case. The document is that of the result; the policy says how it is shown and who
// is asked on an escalation.
func From(res *review.Result, doc *report.Document) *Publication {
	r := res.Ruling
	check := r.CheckRun()
	pub := &Publication{
		Result: doc, Title: Title(r, res.Evidence, res.Lenses), Next: next(r),
		CheckStatus: check.Status, Conclusion: check.Conclusion, Decision: r.Decision,
		Files: res.Files, Lap: r.Laps, Epoch: max(1, r.Epoch),
	}
	if r.Outcome == convergence.NotJudged || r.Outcome == convergence.Errored {
		pub.Detail = rules.Redact(r.Detail)
	}
	if res.Case.Policy != nil {
		pub.Policy = res.Case.Policy.Publish
	}
	for _, f := range r.Blocking {
		if !slices.Contains(pub.Blocking, f.ID) {
			pub.Blocking = append(pub.Blocking, f.ID)
		}
	}
	for _, f := range r.Dismissed {
		if pub.Dismissed == nil {
			pub.Dismissed = map[string]Dismissal{}
		}
		d := Dismissal{}
		for _, s := range r.Ledger.Dismissals {
			if s.ID == f.ID {
				d = Dismissal{By: s.By, Reason: rules.Redact(s.Reason)}
			}
		}
		pub.Dismissed[f.ID] = d
	}
	if r.Outcome == convergence.Decided {
		for _, l := range r.LensesRun {
			pub.Heard = append(pub.Heard, string(l))
		}
		for _, e := range res.Evidence {
			if e.State == prosecutor.Clean || e.State == prosecutor.Red || e.State == prosecutor.NotApplicable {
				pub.Heard = append(pub.Heard, string(e.Source))
			}
		}
	}
	if r.Decision == convergence.Escalate && r.Stage != convergence.StageMergeQueue && check.Status == convergence.CheckCompleted {
		pub.Escalation = escalation(res)
	}
	return pub
}

// stored is a Publication as JSON. The diff is stored as its text.
type stored struct {
	*plain
	Diff string `json:"diff,omitempty"`
}

type plain Publication

// MarshalJSON implements json.Marshaler.
func (p *Publication) MarshalJSON() ([]byte, error) {
	s := stored{plain: (*plain)(p)}
	if p.Files != nil {
		var b strings.Builder
		for _, f := range p.Files.Files {
			b.WriteString(f.Raw)
		}
		s.Diff = b.String()
	}
	out, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("storing a publication: %w", err)
	}
	return out, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Publication) UnmarshalJSON(data []byte) error {
	s := stored{plain: (*plain)(p)}
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("reading a stored publication: %w", err)
	}
	if s.Diff == "" {
		return nil
	}
	d, err := diff.ParseString(s.Diff)
	if err != nil {
		return fmt.Errorf("reading the diff of a stored publication: %w", err)
	}
	p.Files = d
	return nil
}

// judged reports whether the publication says something about the change, and not only that nothing could be said.
func (p *Publication) judged() bool { return p.Decision != "" && p.Result.Outcome == "decided" }

func (p *Publication) blocks(f report.Finding) bool {
	_, dismissed := p.Dismissed[f.ID]
	return !dismissed && (f.Blocking || slices.Contains(p.Blocking, f.ID))
}
