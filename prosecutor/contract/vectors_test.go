package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/test/vectortest"
)

// step is one scripted reply: a text, or a failure.
type step struct {
	Text    *string              `json:"text"`
	Failure prosecutor.ErrorKind `json:"failure"`
}

func say(text string) step { return step{Text: &text} }

// script answers from a list and records what it was asked. Asking for more than it holds fails the test.
type script struct {
	t        testing.TB
	replies  []step
	requests []judge.Request
}

func (s *script) Info() judge.Info {
	return judge.Info{ID: "scripted", Family: "fern", Provider: "northgate", Model: "fern-1"}
}

func (s *script) Ask(_ context.Context, req judge.Request) (judge.Reply, error) {
	s.requests = append(s.requests, req)
	if len(s.replies) == 0 {
		s.t.Errorf("request %d is one more than the script has replies", len(s.requests))
		return judge.Reply{}, errors.New("the script is over")
	}
	next := s.replies[0]
	s.replies = s.replies[1:]
	if next.Failure != "" {
		return judge.Reply{}, &judge.Error{Kind: next.Failure, Provider: "northgate", Err: errors.New("scripted")}
	}
	return judge.Reply{Text: *next.Text, Model: "fern-1-0101", TokensIn: 100, TokensOut: 10, CostUSD: 0.5}, nil
}

type vectorSurvivor struct {
	Path     string `json:"path"`
	Line     int    `json:"line"`
	Operator string `json:"operator"`
	Original string `json:"original"`
	Mutated  string `json:"mutated"`
}

type vectorFinding struct {
	Severity prosecutor.Severity `json:"severity"`
	Charge   prosecutor.Charge   `json:"charge"`
	Claim    string              `json:"claim"`
	Anchor   *vectorAnchor       `json:"anchor"`
}

type vectorAnchor struct {
	Path  string          `json:"path"`
	Side  prosecutor.Side `json:"side"`
	Quote string          `json:"quote"`
	Line  int             `json:"line"`
}

func (f vectorFinding) finding() prosecutor.Finding {
	out := prosecutor.Finding{Severity: f.Severity, Charge: f.Charge, Claim: f.Claim}
	if f.Anchor != nil {
		out.Anchor = &prosecutor.Anchor{Path: f.Anchor.Path, Side: f.Anchor.Side, Quote: f.Anchor.Quote, Line: f.Anchor.Line}
	}
	return out
}

type expectedFinding struct {
	Source        prosecutor.FindingSource `json:"source"`
	Severity      prosecutor.Severity      `json:"severity"`
	Charge        prosecutor.Charge        `json:"charge"`
	Claim         *string                  `json:"claim"`
	EvidenceNames []string                 `json:"evidence_names"`
}

func (e expectedFinding) matches(f prosecutor.Finding) bool {
	if f.Source != e.Source || f.Severity != e.Severity || f.Charge != e.Charge || (e.Claim != nil && *e.Claim != f.Claim) {
		return false
	}
	for _, name := range e.EvidenceNames {
		if !strings.Contains(f.Claim, name) {
			return false
		}
	}
	return true
}

func parse(t testing.TB, text string) *diff.Diff {
	t.Helper()
	d, err := diff.ParseString(text)
	if err != nil {
		t.Fatalf("parsing the diff: %v", err)
	}
	return d
}

func TestVectorsProsecution(t *testing.T) {
	vectortest.Run(t, "prosecution", func(t *testing.T, c vectortest.Case) {
		var in struct {
			vectortest.Diff
			Policy struct {
				Diff struct {
					Exclude *[]string `json:"exclude"`
				} `json:"diff"`
			} `json:"policy"`
			Evidence map[prosecutor.EvidenceSource]struct {
				State     prosecutor.EvidenceState `json:"state"`
				Why       string                   `json:"why"`
				Survivors []vectorSurvivor         `json:"survivors"`
				Findings  []vectorFinding          `json:"findings"`
			} `json:"evidence"`
			Replies []step `json:"replies"`
		}
		vectortest.Decode(t, c.Input, &in)
		var want struct {
			Verdict         *prosecutor.Verdict    `json:"verdict"`
			ErrorKind       json.RawMessage        `json:"error_kind"`
			ModelCalls      *int                   `json:"model_calls"`
			RepairRounds    *int                   `json:"repair_rounds"`
			Findings        *[]expectedFinding     `json:"findings"`
			FindingsInclude []expectedFinding      `json:"findings_include"`
			Excluded        *[]map[string]any      `json:"excluded"`
			PromptEvidence  map[string]interface{} `json:"prompt_evidence"`
		}
		vectortest.Decode(t, c.Expect, &want)

		text := in.Text()
		if in.CodePoints != nil && *in.CodePoints != utf8.RuneCountInString(text) {
			t.Fatalf("the vector's diff has %d code points, it says %d", utf8.RuneCountInString(text), *in.CodePoints)
		}
		d := parse(t, text)
		shown, excluded, err := charter.Select(d, charter.Selection{Policy: config.Diff{Exclude: in.Policy.Diff.Exclude}})
		if err != nil {
			t.Fatal(err)
		}
		brief := &charter.Brief{Diff: d, Text: shown, Excluded: excluded, Spec: "Refunds have a limit"}
		for _, source := range prosecutor.EvidenceSources() {
			e, ok := in.Evidence[source]
			if !ok {
				continue
			}
			ev := prosecutor.Evidence{Source: source, State: e.State, Detail: e.Why}
			for _, s := range e.Survivors {
				ev.Survivors = append(ev.Survivors, prosecutor.Survivor(s))
			}
			for _, f := range e.Findings {
				ev.Findings = append(ev.Findings, f.finding())
			}
			brief.Evidence = append(brief.Evidence, ev)
		}
		j := &script{t: t, replies: in.Replies}
		pass := contract.Prosecute(t.Context(), j, contract.Input{Lens: prosecutor.Correctness, Brief: brief})

		if want.Verdict != nil && pass.Verdict != *want.Verdict {
			t.Errorf("verdict %s, want %s (%v)", pass.Verdict, *want.Verdict, pass.Err)
		}
		if want.ErrorKind != nil {
			var kind *prosecutor.ErrorKind
			vectortest.Decode(t, want.ErrorKind, &kind)
			switch {
			case kind == nil && (pass.ErrorKind != "" || pass.Err != nil):
				t.Errorf("error kind %q (%v), want none", pass.ErrorKind, pass.Err)
			case kind != nil && (pass.ErrorKind != *kind || pass.Err == nil):
				t.Errorf("error kind %q (%v), want %q", pass.ErrorKind, pass.Err, *kind)
			}
		}
		if want.ModelCalls != nil && (pass.Calls != *want.ModelCalls || len(j.requests) != *want.ModelCalls) {
			t.Errorf("%d calls counted, %d made, want %d", pass.Calls, len(j.requests), *want.ModelCalls)
		}
		if want.RepairRounds != nil && pass.Repairs != *want.RepairRounds {
			t.Errorf("%d repair rounds, want %d", pass.Repairs, *want.RepairRounds)
		}
		if want.Findings != nil {
			matchAll(t, pass.Findings, *want.Findings, true)
		}
		matchAll(t, pass.Findings, want.FindingsInclude, false)
		if want.Excluded != nil {
			got := []map[string]any{}
			for _, x := range excluded {
				got = append(got, map[string]any{"path": x.Path, "lines": float64(x.Lines)})
			}
			if d := cmp.Diff(*want.Excluded, got); d != "" {
				t.Errorf("excluded (-want +got):\n%s", d)
			}
		}
		for source, state := range want.PromptEvidence {
			if got := evidenceTold(t, j.requests, source); got != state {
				t.Errorf("the prompt says %s is %q, want %q", source, got, state)
			}
		}
	})
}

// matchAll matches every expectation with a finding of its own; whole says that no finding may be left over.
func matchAll(t *testing.T, got []prosecutor.Finding, want []expectedFinding, whole bool) {
	t.Helper()
	left := append([]prosecutor.Finding(nil), got...)
next:
	for _, w := range want {
		for i, f := range left {
			if w.matches(f) {
				left = append(left[:i], left[i+1:]...)
				continue next
			}
		}
		t.Errorf("no finding matches %+v in %+v", w, got)
	}
	if whole && len(left) > 0 {
		t.Errorf("findings nobody expects: %+v", left)
	}
}

// evidenceTold reads the state of a source back from the first prompt, outside of every marker.
func evidenceTold(t *testing.T, requests []judge.Request, source string) string {
	t.Helper()
	if len(requests) == 0 {
		t.Fatal("no prompt was sent")
	}
	ours := regexp.MustCompile(`(?ms)^<<<BEGIN (\S+) (\S+) \d+ characters>>>$.*?^<<<END \S+ \S+>>>$`).
		ReplaceAllString(requests[0].Messages[0].Text, "")
	m := regexp.MustCompile(`(?m)^- `+source+`: (\S+)$`).FindAllStringSubmatch(ours, -1)
	if len(m) != 1 {
		t.Fatalf("the prompt states %s %d times:\n%s", source, len(m), ours)
	}
	return m[0][1]
}

func TestVectorsAnchors(t *testing.T) {
	vectortest.Run(t, "anchors", func(t *testing.T, c vectortest.Case) {
		var in struct {
			vectortest.Diff
			Finding      json.RawMessage    `json:"finding"`
			ModelVerdict prosecutor.Verdict `json:"model_verdict"`
		}
		vectortest.Decode(t, c.Input, &in)
		var want struct {
			Status      *prosecutor.AnchorStatus `json:"status"`
			Path        *string                  `json:"path"`
			Side        *prosecutor.Side         `json:"side"`
			StartLine   json.RawMessage          `json:"start_line"`
			EndLine     json.RawMessage          `json:"end_line"`
			MatchedBy   json.RawMessage          `json:"matched_by"`
			Severity    *prosecutor.Severity     `json:"severity"`
			PassVerdict *prosecutor.Verdict      `json:"pass_verdict"`
		}
		vectortest.Decode(t, c.Expect, &want)
		check := func(t *testing.T, got prosecutor.Finding) {
			t.Helper()
			p := got.Place
			if want.Status != nil && p.Status != *want.Status {
				t.Errorf("status %s, want %s", p.Status, *want.Status)
			}
			if want.Path != nil && p.Path != *want.Path {
				t.Errorf("path %q, want %q", p.Path, *want.Path)
			}
			if want.Side != nil && p.Side != *want.Side {
				t.Errorf("side %q, want %q", p.Side, *want.Side)
			}
			sameNumber(t, "start_line", want.StartLine, p.StartLine)
			sameNumber(t, "end_line", want.EndLine, p.EndLine)
			if want.MatchedBy != nil {
				var by *string
				vectortest.Decode(t, want.MatchedBy, &by)
				if (by == nil && p.MatchedBy != "") || (by != nil && p.MatchedBy != *by) {
					t.Errorf("matched by %q, want %s", p.MatchedBy, want.MatchedBy)
				}
			}
			if want.Severity != nil && got.Severity != *want.Severity {
				t.Errorf("severity %s, want %s", got.Severity, *want.Severity)
			}
		}
		d := parse(t, in.Text())
		var f vectorFinding
		vectortest.Decode(t, in.Finding, &f)
		settled := contract.Settle(d, f.finding())
		check(t, settled)
		if settled.ID == "" || settled.Claimed != f.Severity {
			t.Errorf("identity %q, claimed %q", settled.ID, settled.Claimed)
		}

		verdict := in.ModelVerdict
		if verdict == "" {
			verdict = prosecutor.Block
		}
		j := &script{t: t, replies: []step{say(`{"verdict": "` + string(verdict) + `", "findings": [` + string(in.Finding) + `]}`)}}
		pass := contract.Prosecute(t.Context(), j, contract.Input{
			Lens: prosecutor.Correctness, Brief: &charter.Brief{Diff: d, Text: in.Text()},
		})
		if len(pass.Findings) != 1 {
			t.Fatalf("%d findings of the pass, want 1: %+v", len(pass.Findings), pass)
		}
		check(t, pass.Findings[0])
		if want.PassVerdict != nil && pass.Verdict != *want.PassVerdict {
			t.Errorf("pass verdict %s, want %s", pass.Verdict, *want.PassVerdict)
		}
	})
}

func sameNumber(t *testing.T, what string, want json.RawMessage, got int) {
	t.Helper()
	if want == nil {
		return
	}
	var n *int
	vectortest.Decode(t, want, &n)
	if (n == nil && got != 0) || (n != nil && got != *n) {
		t.Errorf("%s is %d, want %s", what, got, want)
	}
}
