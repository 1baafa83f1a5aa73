// Package static is the judge that serves when no model is configured: it answers the contract with the findings of the
// static rules, so that the gate works with no key (semantics 8).
//
// Its rules always run as evidence as well, and the evidence is asked first. The judge adds the verdict per lens; it
// knows nothing that the rules do not know, which is why outputs that rest on it say "static rules only".
package static

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence/rules"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
)

// Name is the judge's id, family and provider.
const Name = "static"

// New returns the static judge. It costs nothing, holds nothing, and is safe for concurrent use.
func New() judge.Judge { return static{} }

type static struct{}

var _ judge.Judge = static{}

// Info describes the judge.
func (static) Info() judge.Info {
	return judge.Info{ID: Name, Family: Name, Provider: Name, Model: "rules", Static: true}
}

// Ask answers with the findings of the request's lens: block when one of them is critical or high, ship otherwise. The
// messages are not read, the material behind them is.
//
// What needs more than the diff and the spec is left to the evidence: whether a binary file is an image, for one. Nor
// does the judge say twice what the material's evidence of the static rules says: advice that it lists is left out, and
// when it is clean, the policy has accepted every finding at or above high.
//
// Text that is not UTF-8 is sent with U+FFFD for each invalid byte, as every judge sees it and as package contract looks
// for it. A line too long for the answer is accused without a quote: its place then stands in the claim.
//
// A request without material is a bug of the caller and an error of kind panic. A request for the verification of a
// finding is refused: rules cannot weigh an accusation.
func (static) Ask(ctx context.Context, req judge.Request) (judge.Reply, error) {
	if err := ctx.Err(); err != nil {
		return judge.Reply{}, failure(ended(err), err)
	}
	if bytes.Equal(req.Schema, charter.VerificationSchema()) {
		return judge.Reply{}, failure(prosecutor.Refusal, errors.New("static rules cannot verify a finding; configure a model judge"))
	}
	if req.Material == nil || req.Material.Diff == nil {
		return judge.Reply{}, failure(prosecutor.Panic, errors.New("the request holds no diff to read"))
	}
	found := rules.CheckOnly(ctx, rules.Input{Diff: req.Material.Diff, Spec: req.Material.Spec}, func(r rules.Rule) bool {
		return r.Lens == req.Lens && r.DiffOnly()
	})
	if err := ctx.Err(); err != nil {
		return judge.Reply{}, failure(ended(err), err)
	}
	clean, listed := onRecord(req.Material.Evidence)
	found = slices.DeleteFunc(found, func(f prosecutor.Finding) bool {
		if f.Severity.Blocks() {
			return clean
		}
		return listed[f.ID]
	})
	text, err := encode(found)
	if err != nil {
		return judge.Reply{}, failure(prosecutor.Panic, err)
	}
	return judge.Reply{Text: text, Model: "rules"}, nil
}

func failure(kind prosecutor.ErrorKind, err error) error {
	return &judge.Error{Kind: kind, Provider: Name, Err: err}
}

func ended(err error) prosecutor.ErrorKind {
	if errors.Is(err, context.DeadlineExceeded) {
		return prosecutor.Timeout
	}
	return prosecutor.Canceled
}

// onRecord reports whether the evidence of the static rules is known and clean, and the identities of its findings.
func onRecord(evidence []prosecutor.Evidence) (clean bool, listed map[string]bool) {
	for _, e := range evidence {
		if e.Source != prosecutor.StaticRules {
			continue
		}
		listed = map[string]bool{}
		for _, f := range e.Findings {
			listed[f.ID] = true
		}
		return e.State == prosecutor.Clean, listed
	}
	return false, nil
}

type answer struct {
	Verdict  prosecutor.Verdict `json:"verdict"`
	Findings []finding          `json:"findings"`
}

type finding struct {
	Severity prosecutor.Severity `json:"severity"`
	Charge   prosecutor.Charge   `json:"charge"`
	Claim    string              `json:"claim"`
	Evidence string              `json:"evidence,omitempty"`
	Anchor   *anchor             `json:"anchor,omitempty"`
}

type anchor struct {
	Path  string          `json:"path"`
	Side  prosecutor.Side `json:"side"`
	Quote string          `json:"quote"`
	Line  int             `json:"line"`
}

// encode writes the answer within the limits of the contract. The most severe findings stay when there are too many.
func encode(found []prosecutor.Finding) (string, error) {
	slices.SortStableFunc(found, func(a, b prosecutor.Finding) int { return b.Severity.Rank() - a.Severity.Rank() })
	left := 0
	if len(found) > charter.MaxFindings {
		left = len(found) - charter.MaxFindings
		found = found[:charter.MaxFindings]
	}
	// Escaping makes a quote up to six times as long. Quotes shrink until the answer fits.
	for _, longest := range []int{rules.MaxLine, 1 << 10, 0} {
		a := answer{Verdict: prosecutor.Ship, Findings: []finding{}}
		for i, f := range found {
			if f.Severity.Blocks() {
				a.Verdict = prosecutor.Block
			}
			out := finding{Severity: f.Severity, Charge: f.Charge, Claim: cut(f.Claim, charter.MaxClaim/2), Evidence: f.Evidence}
			if i == len(found)-1 && left > 0 {
				out.Claim += fmt.Sprintf(" (and %d more findings, none of them more severe)", left)
			}
			if f.Anchor != nil {
				if len(f.Anchor.Quote) <= longest && len(f.Anchor.Path) <= charter.MaxPath {
					out.Anchor = &anchor{Path: f.Anchor.Path, Side: f.Anchor.Side, Quote: f.Anchor.Quote, Line: f.Anchor.Line}
				} else {
					out.Claim += fmt.Sprintf(" (%s, line %d)", cut(fmt.Sprintf("%+q", f.Anchor.Path), charter.MaxClaim/4), f.Anchor.Line)
				}
			}
			a.Findings = append(a.Findings, out)
		}
		raw, err := json.Marshal(a)
		if err != nil {
			return "", fmt.Errorf("encoding the answer of the static rules: %w", err)
		}
		if len(raw) <= charter.MaxAnswerBytes {
			return string(raw), nil
		}
	}
	return "", errors.New("the answer of the static rules is too long without quotes")
}

// cut shortens a text to a number of bytes, at a whole character.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
