package contract_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/test/corpustest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPreflight(t *testing.T) {
	for _, c := range []struct {
		name, text string
		rule       string
		charge     prosecutor.Charge
	}{
		{"empty", "", contract.RuleNoChange, prosecutor.ChargeSpec},
		{"blank", " \t\r\n\v\f\u0085\u00a0\u2028\u3000", contract.RuleNoChange, prosecutor.ChargeSpec},
		{"blank and too long", strings.Repeat("\n", contract.MaxCodePoints+1), contract.RuleNoChange, prosecutor.ChargeSpec},
		{"a zero-width space is text", "\u200b", "", ""},
		{"the limit", strings.Repeat("x", contract.MaxCodePoints), "", ""},
		{"one more", strings.Repeat("x", contract.MaxCodePoints+1), contract.RuleTooLarge, prosecutor.ChargeScope},
		{"white space counts", strings.Repeat(" ", contract.MaxCodePoints) + "x", contract.RuleTooLarge, prosecutor.ChargeScope},
		{"invalid bytes count one each", strings.Repeat("\xff", contract.MaxCodePoints), "", ""},
		{"invalid bytes count one each, one more", strings.Repeat("\xed", contract.MaxCodePoints+1), contract.RuleTooLarge, prosecutor.ChargeScope},
		{"a cut sequence counts its bytes", strings.Repeat("\xf0\x9f\xa7", contract.MaxCodePoints/3) + "x", contract.RuleTooLarge, prosecutor.ChargeScope},
	} {
		f := contract.Preflight(c.text)
		if (f == nil) != (c.rule == "") {
			t.Errorf("%s: got %+v", c.name, f)
			continue
		}
		if f == nil {
			continue
		}
		if f.Rule != c.rule || f.Charge != c.charge || f.Severity != prosecutor.Critical || f.Source != prosecutor.FromRule ||
			f.ID == "" || f.Place.Status != prosecutor.NoFile {
			t.Errorf("%s: got %+v", c.name, f)
		}
		pass := contract.Prosecute(t.Context(), &script{t: t}, contract.Input{Brief: &charter.Brief{Text: c.text}})
		if pass.Verdict != prosecutor.Block || pass.Calls != 0 || len(pass.Findings) != 1 || pass.PromptHash != "" {
			t.Errorf("%s: the pass is %+v", c.name, pass)
		}
	}
}

func TestWhatPreflightSays(t *testing.T) {
	for _, c := range []struct {
		text string
		want prosecutor.Finding
	}{
		{"\n", prosecutor.Finding{
			Rule: "no-change", Charge: prosecutor.ChargeSpec, Claim: "There is no committed change: the diff is empty.",
		}},
		{strings.Repeat("x", 120_001), prosecutor.Finding{
			Rule: "too-large", Charge: prosecutor.ChargeScope, Claim: "The change is too large to be judged as a whole: split it.",
			Evidence: "The diff has 120001 characters, at most 120000 are judged. Nothing is cut off, because a review of a part cannot vouch for the rest.",
		}},
	} {
		want := c.want
		want.Source, want.Origin = prosecutor.FromRule, "contract"
		want.Severity, want.Claimed = prosecutor.Critical, prosecutor.Critical
		want.Place = prosecutor.Place{Status: prosecutor.NoFile}
		want.ID = prosecutor.Identify(want)
		if d := cmp.Diff(&want, contract.Preflight(c.text)); d != "" {
			t.Errorf("%s (-want +got):\n%s", want.Rule, d)
		}
	}
}

func TestCorpusLength(t *testing.T) {
	for _, e := range corpustest.Load(t) {
		t.Run(e.ID, func(t *testing.T) {
			f := contract.Preflight(corpustest.Text(t, e))
			switch {
			case e.CodePoints > contract.MaxCodePoints && (f == nil || f.Rule != contract.RuleTooLarge):
				t.Errorf("%d code points pass: %+v", e.CodePoints, f)
			case e.CodePoints <= contract.MaxCodePoints && f != nil && e.Lines > 0:
				t.Errorf("%d code points are refused: %+v", e.CodePoints, f)
			}
		})
	}
}

func TestRepairIsTheSameConversation(t *testing.T) {
	first := `{"verdict":"block","findings":[],"mood":1}`
	pass, j := run(t, prosecutor.Spec, refund(t), say(first), say(ship))
	if pass.Verdict != prosecutor.Ship || len(j.requests) != 2 {
		t.Fatalf("%+v", pass)
	}
	opening, repair := j.requests[0], j.requests[1]
	if len(opening.Messages) != 1 || len(repair.Messages) != 3 {
		t.Fatalf("%d and %d messages, want 1 and 3", len(opening.Messages), len(repair.Messages))
	}
	if d := cmp.Diff(opening.Messages[0], repair.Messages[0]); d != "" || opening.System != repair.System || string(opening.Schema) != string(repair.Schema) || opening.Lens != repair.Lens {
		t.Errorf("the repair is another conversation: %s", d)
	}
	if m := repair.Messages[1]; m.Role != judge.Assistant || m.Text != first {
		t.Errorf("the judge's turn is %+v", m)
	}
	if m := repair.Messages[2]; m.Role != judge.User || !strings.Contains(m.Text, `the property "mood" is not allowed`) {
		t.Errorf("our turn is %+v", m)
	}
	if !strings.Contains(opening.Messages[0].Text, refundDiff) || !strings.Contains(opening.System, charter.Guidance(prosecutor.Spec)) {
		t.Error("the opening request does not tell the case")
	}
}

// Providers refuse blank turns, and a runaway answer must not push the case out of the context.
func TestRepairRepeatsWhatCanBeRepeated(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
	}{
		{"", 100}, {" \n", 100}, {"no", 2}, {strings.Repeat("é", 1<<20), 70_000},
	} {
		_, j := run(t, prosecutor.Spec, refund(t), say(c.text), say(ship))
		got := j.requests[1].Messages[1].Text
		if strings.TrimSpace(got) == "" || len(got) > c.most || !utf8.ValidString(got) {
			t.Errorf("an answer of %d bytes is repeated as %d bytes: %.40q", len(c.text), len(got), got)
		}
	}
}

func TestRepairCutsALongAnswerBetweenCharacters(t *testing.T) {
	const cut = "\n(the rest of the answer is not repeated)"
	for _, c := range []struct{ name, text, want string }{
		{"the limit", strings.Repeat("x", 64<<10), strings.Repeat("x", 64<<10)},
		{"one more", strings.Repeat("x", 64<<10+1), strings.Repeat("x", 64<<10) + cut},
		{"a character on the limit", strings.Repeat("x", 64<<10-1) + "é", strings.Repeat("x", 64<<10-1) + cut},
		{"a long character on the limit", strings.Repeat("x", 64<<10-3) + "𝄞", strings.Repeat("x", 64<<10-3) + cut},
		{"no beginning of a character", strings.Repeat("\x80", 64<<10+1), cut},
		{"blank", " \n", "(an empty answer)"},
	} {
		_, j := run(t, prosecutor.Spec, refund(t), say(c.text), say(ship))
		if got := j.requests[1].Messages[1].Text; got != c.want {
			t.Errorf("%s: %d bytes ending in %q, want %d ending in %q", c.name, len(got), got[max(0, len(got)-60):], len(c.want), c.want[max(0, len(c.want)-60):])
		}
	}
}

func TestRepairRequest(t *testing.T) {
	_, j := run(t, prosecutor.Spec, refund(t), say(`{"verdict":"no","findings":[],"mood":1}`), say(ship))
	want := `That answer breaks the contract, so it was not used:

- /verdict: must be "ship" or "block"
- the object: the property "mood" is not allowed

Answer once more: one JSON object after the schema of your instructions, complete, and nothing before or after it. Correct the form; change what you found only if you find it mistaken.
`
	if d := cmp.Diff(want, j.requests[1].Messages[2].Text); d != "" {
		t.Errorf("the judge is told (-want +got):\n%s", d)
	}
}

func TestTruncatedAnswerIsToldToBeBrief(t *testing.T) {
	var asked []judge.Request
	j := recording{&asked, []judge.Reply{{Text: `{"verdict":"ship","findings":[`, Truncated: true}, {Text: ship, Truncated: true}}}
	pass := contract.Prosecute(t.Context(), j, contract.Input{Brief: refund(t)})
	if pass.Verdict != prosecutor.Ship || pass.Violation != "" {
		t.Errorf("%+v", pass)
	}
	if m := asked[1].Messages[2].Text; !strings.Contains(m, "length limit") || !strings.Contains(m, "cut off before its end") {
		t.Errorf("the judge is told:\n%s", m)
	}
}

// recording gives its replies in order and keeps the requests.
type recording struct {
	asked   *[]judge.Request
	replies []judge.Reply
}

func (recording) Info() judge.Info { return judge.Info{ID: "recording", Provider: "northgate"} }

func (r recording) Ask(_ context.Context, req judge.Request) (judge.Reply, error) {
	*r.asked = append(*r.asked, req)
	return r.replies[len(*r.asked)-1], nil
}

func TestEveryPassIsFresh(t *testing.T) {
	brief := refund(t)
	j := &script{t: t, replies: []step{say("{}"), say(ship), say(ship)}}
	for range 2 {
		contract.Prosecute(t.Context(), j, contract.Input{Lens: prosecutor.Correctness, Brief: brief})
	}
	a, b := j.requests[0].Messages, j.requests[2].Messages
	if len(a) != 1 || len(b) != 1 {
		t.Fatalf("%d and %d messages open the passes", len(a), len(b))
	}
	if a[0].Text == b[0].Text {
		t.Error("two passes share a nonce")
	}
}

func TestAccounts(t *testing.T) {
	second := `{"verdict":"ship","findings":[],"confidence":1}`
	pass, _ := run(t, prosecutor.Correctness, refund(t), say("{}"), say(second))
	sum := sha256.Sum256([]byte(second))
	one := 1.0
	want := contract.Pass{
		Verdict: prosecutor.Ship, Calls: 2, Repairs: 1, Latency: 2 * time.Second, TokensIn: 200, TokensOut: 20, CostUSD: 1,
		Model: "fern-1-0101", PromptHash: refund(t).PromptHash(prosecutor.Correctness), AnswerHash: hex.EncodeToString(sum[:]), Confidence: &one,
	}
	if d := cmp.Diff(want, pass); d != "" {
		t.Errorf("pass (-want +got):\n%s", d)
	}
}

func TestAFailedRepairKeepsTheAccountOfTheFirstCall(t *testing.T) {
	pass, _ := run(t, prosecutor.Correctness, refund(t), say("{}"), step{Failure: prosecutor.Transport})
	first := sha256.Sum256([]byte("{}"))
	if pass.ErrorKind != prosecutor.Transport || pass.Calls != 2 || pass.Repairs != 1 || pass.Model != "fern-1-0101" ||
		pass.TokensIn != 100 || pass.AnswerHash != hex.EncodeToString(first[:]) || pass.Violation == "" {
		t.Errorf("%+v", pass)
	}
}

// failing fails a call in some way.
type failing func(ctx context.Context) (judge.Reply, error)

func (failing) Info() judge.Info { return judge.Info{ID: "failing", Provider: "northgate"} }

func (f failing) Ask(ctx context.Context, _ judge.Request) (judge.Reply, error) { return f(ctx) }

func TestFailures(t *testing.T) {
	reset := time.Date(2031, 5, 4, 6, 0, 0, 0, time.UTC)
	fails := func(err error) failing {
		return func(context.Context) (judge.Reply, error) { return judge.Reply{TokensIn: 3, CostUSD: 0.25}, err }
	}
	for _, c := range []struct {
		name string
		j    failing
		want prosecutor.ErrorKind
		text string // substring of the error
	}{
		{"quota", fails(&judge.Error{Kind: prosecutor.Quota, Provider: "northgate", ResetAt: reset}), prosecutor.Quota, "quota"},
		{"auth", fails(&judge.Error{Kind: prosecutor.Auth}), prosecutor.Auth, ""},
		{"refusal", fails(&judge.Error{Kind: prosecutor.Refusal}), prosecutor.Refusal, ""},
		{"wrapped", fails(fmt.Errorf("asking: %w", &judge.Error{Kind: prosecutor.Timeout})), prosecutor.Timeout, "asking"},
		{"transport over a deadline", fails(&judge.Error{Kind: prosecutor.Transport, Err: context.DeadlineExceeded}), prosecutor.Timeout, ""},
		{"bare error", fails(errors.New("connection reset")), prosecutor.Transport, "judge failing, asked for up to 8m0s: connection reset"},
		{"bare deadline", fails(context.DeadlineExceeded), prosecutor.Timeout, ""},
		{"no kind", fails(&judge.Error{}), prosecutor.Transport, ""},
		{"unknown kind", fails(&judge.Error{Kind: "lunch"}), prosecutor.Transport, ""},
		{"canceled, says the judge alone", fails(&judge.Error{Kind: prosecutor.Canceled}), prosecutor.Transport, ""},
		{"nil error of the type", fails((*judge.Error)(nil)), prosecutor.Panic, "nil *judge.Error"},
		{"panic", func(context.Context) (judge.Reply, error) { panic("key sk-123") }, prosecutor.Panic, "panic with a value of type string"},
		{"runtime panic", func(context.Context) (judge.Reply, error) {
			return judge.Reply{}, []error{}[len(t.Name())]
		}, prosecutor.Panic, "index out of range"},
	} {
		t.Run(c.name, func(t *testing.T) {
			brief := refund(t)
			brief.Evidence = []prosecutor.Evidence{{Source: prosecutor.CodeScanning, State: prosecutor.Red, Findings: []prosecutor.Finding{
				{Severity: prosecutor.High, Charge: prosecutor.ChargeSecurity, Claim: "SQL from a parameter."}}}}
			pass := contract.Prosecute(t.Context(), c.j, contract.Input{Lens: prosecutor.Correctness, Brief: brief})
			if pass.Verdict != prosecutor.Errored || pass.ErrorKind != c.want || pass.Err == nil || pass.Calls != 1 || pass.Repairs != 0 {
				t.Fatalf("%+v", pass)
			}
			if !strings.Contains(pass.Err.Error(), c.text) {
				t.Errorf("error %q, want one with %q", pass.Err, c.text)
			}
			for _, leak := range []string{"sk-123", "goroutine ", ".go:"} {
				if strings.Contains(pass.Err.Error(), leak) {
					t.Errorf("the error shows %q: %v", leak, pass.Err)
				}
			}
			if len(pass.Findings) != 1 || pass.Findings[0].Source != prosecutor.FromEvidence {
				t.Errorf("the evidence is lost: %+v", pass.Findings)
			}
			if c.want == prosecutor.Quota && (pass.ResetAt != reset || pass.TokensIn != 3 || pass.CostUSD != 0.25) {
				t.Errorf("reset time or cost of the failed call is lost: %+v", pass)
			}
			if c.want == prosecutor.Panic && strings.Contains(c.name, "panic") {
				var p *contract.PanicError
				if !errors.As(pass.Err, &p) || len(p.Stack) == 0 {
					t.Errorf("no stack for the operator: %v", pass.Err)
				}
			}
		})
	}
}

// rude panics when asked who it is.
type rude struct{ failing }

func (rude) Info() judge.Info { panic("who asks") }

func TestPanicInInfoEndsNothing(t *testing.T) {
	j := rude{func(context.Context) (judge.Reply, error) { return judge.Reply{Text: ship}, nil }}
	if pass := contract.Prosecute(t.Context(), j, contract.Input{Brief: refund(t)}); pass.Verdict != prosecutor.Ship {
		t.Errorf("%+v", pass)
	}
	if pass := contract.Prosecute(t.Context(), nil, contract.Input{Brief: refund(t)}); pass.ErrorKind != prosecutor.Panic {
		t.Errorf("no judge at all: %+v", pass)
	}
}

func TestTimeLimit(t *testing.T) {
	for _, c := range []struct {
		name    string
		timeout time.Duration
		want    time.Duration
	}{{"default", 0, 8 * time.Minute}, {"configured", 90 * time.Second, 90 * time.Second}} {
		t.Run(c.name, func(t *testing.T) {
			brief := refund(t)
			synctest.Test(t, func(t *testing.T) {
				j := failing(func(ctx context.Context) (judge.Reply, error) {
					<-ctx.Done()
					return judge.Reply{}, &judge.Error{Kind: prosecutor.Transport, Provider: "northgate", Err: errors.New("connection closed")}
				})
				pass := contract.Prosecute(t.Context(), j, contract.Input{Brief: brief, Timeout: c.timeout})
				if pass.ErrorKind != prosecutor.Timeout || pass.Latency != c.want {
					t.Errorf("%s after %s, want a timeout after %s", pass.ErrorKind, pass.Latency, c.want)
				}
			})
		})
	}
}

func TestTheRepairSharesTheTimeOfThePass(t *testing.T) {
	brief := refund(t)
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		j := failing(func(ctx context.Context) (judge.Reply, error) {
			if calls++; calls == 1 {
				time.Sleep(5 * time.Minute)
				return judge.Reply{Text: "{}"}, nil
			}
			<-ctx.Done()
			return judge.Reply{}, ctx.Err()
		})
		pass := contract.Prosecute(t.Context(), j, contract.Input{Brief: brief})
		if pass.ErrorKind != prosecutor.Timeout || pass.Calls != 2 || pass.Repairs != 1 || pass.Latency != contract.DefaultTimeout {
			t.Errorf("%+v", pass)
		}
	})
}

func TestAnswerAfterTheTimeIsNotRead(t *testing.T) {
	brief := refund(t)
	synctest.Test(t, func(t *testing.T) {
		j := failing(func(context.Context) (judge.Reply, error) {
			time.Sleep(contract.DefaultTimeout + time.Second)
			return judge.Reply{Text: ship}, nil
		})
		pass := contract.Prosecute(t.Context(), j, contract.Input{Brief: brief})
		if pass.Verdict != prosecutor.Errored || pass.ErrorKind != prosecutor.Timeout {
			t.Errorf("%+v", pass)
		}
	})
}

func TestCallerGivesUp(t *testing.T) {
	during := func(err error) func(*testing.T) contract.Pass {
		return func(t *testing.T) contract.Pass {
			ctx, cancel := context.WithCancel(t.Context())
			return contract.Prosecute(ctx, failing(func(context.Context) (judge.Reply, error) {
				cancel()
				return judge.Reply{Text: ship}, err
			}), contract.Input{Brief: refund(t)})
		}
	}
	for _, c := range []struct {
		name  string
		run   func(*testing.T) contract.Pass
		want  prosecutor.ErrorKind
		calls int
	}{
		{"before", func(t *testing.T) contract.Pass {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return contract.Prosecute(ctx, &script{t: t}, contract.Input{Brief: refund(t)})
		}, prosecutor.Canceled, 0},
		{"before, by deadline", func(t *testing.T) contract.Pass {
			ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
			defer cancel()
			return contract.Prosecute(ctx, &script{t: t}, contract.Input{Brief: refund(t)})
		}, prosecutor.Timeout, 0},
		{"during, with an error", during(context.Canceled), prosecutor.Canceled, 1},
		{"during, with another error", during(&judge.Error{Kind: prosecutor.Transport}), prosecutor.Canceled, 1},
		{"during, with an answer", during(nil), prosecutor.Canceled, 1},
		{"during, out of quota", during(&judge.Error{Kind: prosecutor.Quota}), prosecutor.Quota, 1},
	} {
		pass := c.run(t)
		if pass.Verdict != prosecutor.Errored || pass.ErrorKind != c.want || pass.Calls != c.calls || pass.Err == nil {
			t.Errorf("%s: %+v", c.name, pass)
		}
	}
}

func TestNonceIsAskedAgainWhenTheCaseHoldsIt(t *testing.T) {
	brief := &charter.Brief{Text: refundDiff + "+NONCE-ONE-NONCE\n"}
	for _, c := range []struct {
		words []string
		want  string
		asked int
	}{
		{[]string{"NONCE-TWO-NONCE"}, "NONCE-TWO-NONCE", 1},
		{[]string{"NONCE-ONE-NONCE", "NONCE-ONE-NONCE", "NONCE-TWO-NONCE"}, "NONCE-TWO-NONCE", 3},
		{[]string{"NONCE-ONE-NONCE", "NONCE-ONE-NONCE", "NONCE-ONE-NONCE", "NONCE-TWO-NONCE"}, "NONCE-TWO-NONCE", 4},
		{[]string{"NONCE-ONE-NONCE", "NONCE-ONE-NONCE", "NONCE-ONE-NONCE", "NONCE-ONE-NONCE", "NONCE-TWO-NONCE"}, "", 4},
	} {
		j := &script{t: t, replies: []step{say(ship)}}
		words := c.words
		contract.Prosecute(t.Context(), j, contract.Input{Brief: brief, Nonce: func() string {
			w := words[0]
			words = words[1:]
			return w
		}})
		if asked := len(c.words) - len(words); asked != c.asked {
			t.Errorf("%v: asked %d times, want %d", c.words, asked, c.asked)
		}
		first, _, _ := strings.Cut(j.requests[0].Messages[0].Text, "\n")
		if c.want != "" && !strings.Contains(first, c.want) {
			t.Errorf("%v: %q, want %s", c.words, first, c.want)
		}
		if strings.Contains(first, "NONCE-ONE-NONCE") {
			t.Errorf("%v: the case knows the nonce: %q", c.words, first)
		}
	}
}

func TestEvidenceJoinsThePass(t *testing.T) {
	alert := prosecutor.Finding{Severity: prosecutor.Medium, Charge: prosecutor.ChargeSecurity, Claim: "Weak hash.", Origin: "scanner"}
	accepted := prosecutor.Finding{Severity: prosecutor.Critical, Charge: prosecutor.ChargeSecurity, Claim: "Accepted on the base."}
	away := prosecutor.Finding{
		Severity: prosecutor.High, Charge: prosecutor.ChargeSecurity, Claim: "Elsewhere.", Rule: "r1", ID: "given",
		Anchor: &prosecutor.Anchor{Path: "not/in/the/diff.go", Line: 3},
	}
	unknown := prosecutor.Finding{Severity: "urgent", Claimed: prosecutor.High, Charge: prosecutor.ChargeTests, Claim: "Of no known severity."}
	mutants := []prosecutor.Survivor{
		{Path: "pay/refund.go", Line: 4, Operator: "swap", Original: "a && b", Mutated: "a || b"},
		{Path: "pay/fee.go", Line: 9, Operator: "negate", Original: "x", Mutated: "!x"},
	}
	survivors := contract.SurvivorFinding(prosecutor.Evidence{Source: prosecutor.HollowTest, Survivors: mutants})
	var each []prosecutor.Finding
	for _, m := range mutants {
		each = append(each, prosecutor.Finding{
			Severity: prosecutor.Critical, Claimed: prosecutor.Critical, Charge: prosecutor.ChargeTests, Claim: "No test fails when " + m.Original + " becomes " + m.Mutated + ".",
			Anchor: &prosecutor.Anchor{Path: m.Path, Line: m.Line, Side: prosecutor.Right},
		})
	}
	first := contract.SurvivorFinding(prosecutor.Evidence{Source: prosecutor.HollowTest, Survivors: mutants[:1]})
	elsewhere := []prosecutor.Finding{each[0], each[0]}
	elsewhere[0].Anchor = &prosecutor.Anchor{Path: mutants[0].Path, Line: mutants[0].Line + 1, Side: prosecutor.Right}
	elsewhere[1].Anchor = &prosecutor.Anchor{Path: "other.go", Line: mutants[0].Line, Side: prosecutor.Right}
	for _, c := range []struct {
		name     string
		evidence []prosecutor.Evidence
		verdict  prosecutor.Verdict
		claims   []string
	}{
		{"none", nil, prosecutor.Ship, nil},
		{"clean findings stay out", []prosecutor.Evidence{{Source: prosecutor.StaticRules, State: prosecutor.Clean, Findings: []prosecutor.Finding{accepted}}}, prosecutor.Ship, nil},
		{"red below high does not block", []prosecutor.Evidence{{Source: prosecutor.CodeScanning, State: prosecutor.Red, Findings: []prosecutor.Finding{alert}}}, prosecutor.Ship, []string{alert.Claim}},
		{"measured code needs no quote", []prosecutor.Evidence{{Source: prosecutor.CodeScanning, State: prosecutor.Red, Findings: []prosecutor.Finding{away}}}, prosecutor.Block, []string{away.Claim}},
		{"red of an unknown severity blocks", []prosecutor.Evidence{{Source: prosecutor.CIChecks, State: prosecutor.Red, Findings: []prosecutor.Finding{unknown}}}, prosecutor.Block, []string{unknown.Claim}},
		{"survivors count in any state", []prosecutor.Evidence{{Source: prosecutor.HollowTest, State: prosecutor.Unavailable, Survivors: mutants}}, prosecutor.Block, []string{survivors.Claim}},
		{"survivors that are listed already stand once", []prosecutor.Evidence{{Source: prosecutor.HollowTest, State: prosecutor.Red, Survivors: mutants, Findings: []prosecutor.Finding{*survivors}}}, prosecutor.Block, []string{survivors.Claim}},
		{"survivors that each have a finding are not named again", []prosecutor.Evidence{{Source: prosecutor.HollowTest, State: prosecutor.Red, Survivors: mutants, Findings: each}}, prosecutor.Block, []string{each[0].Claim, each[1].Claim}},
		{"a finding on another line of the file is not the survivor's", []prosecutor.Evidence{{Source: prosecutor.HollowTest, State: prosecutor.Red, Survivors: mutants[:1], Findings: elsewhere[:1]}}, prosecutor.Block, []string{elsewhere[0].Claim, first.Claim}},
		{"a finding on that line of another file is not the survivor's", []prosecutor.Evidence{{Source: prosecutor.HollowTest, State: prosecutor.Red, Survivors: mutants[:1], Findings: elsewhere[1:]}}, prosecutor.Block, []string{elsewhere[1].Claim, first.Claim}},
		{"a survivor without a finding has all of them named", []prosecutor.Evidence{{Source: prosecutor.HollowTest, State: prosecutor.Red, Survivors: mutants, Findings: each[:1]}}, prosecutor.Block, []string{each[0].Claim, survivors.Claim}},
		{"survivors join the other findings of their source", []prosecutor.Evidence{{Source: prosecutor.HollowTest, State: prosecutor.Red, Survivors: mutants, Findings: []prosecutor.Finding{alert}}}, prosecutor.Block, []string{alert.Claim, survivors.Claim}},
		{"two sources", []prosecutor.Evidence{
			{Source: prosecutor.CodeScanning, State: prosecutor.Red, Findings: []prosecutor.Finding{alert}},
			{Source: prosecutor.HollowTest, State: prosecutor.Red, Survivors: mutants}}, prosecutor.Block, []string{alert.Claim, survivors.Claim}},
	} {
		t.Run(c.name, func(t *testing.T) {
			brief := refund(t)
			brief.Evidence = c.evidence
			pass, _ := run(t, prosecutor.Correctness, brief, say(ship))
			var claims []string
			for _, f := range pass.Findings {
				claims = append(claims, f.Claim)
				if f.Source != prosecutor.FromEvidence || f.ID == "" || f.Origin == "" || f.Claimed != f.Severity {
					t.Errorf("incomplete: %+v", f)
				}
			}
			if pass.Verdict != c.verdict || cmp.Diff(c.claims, claims) != "" {
				t.Errorf("%s with %q, want %s with %q", pass.Verdict, claims, c.verdict, c.claims)
			}
		})
	}
}

func TestSurvivorFinding(t *testing.T) {
	if f := contract.SurvivorFinding(prosecutor.Evidence{Source: prosecutor.HollowTest, State: prosecutor.Clean}); f != nil {
		t.Errorf("no survivor, but %+v", f)
	}
	one := prosecutor.Survivor{Path: "a/b.go", Line: 7, Operator: "swap", Original: "a < b", Mutated: "a <= b"}
	two := prosecutor.Survivor{Path: "a/c.go", Line: 1, Operator: "drop", Original: "close()", Mutated: ""}
	f := contract.SurvivorFinding(prosecutor.Evidence{Source: prosecutor.HollowTest, Survivors: []prosecutor.Survivor{one, two}})
	for text, parts := range map[string][]string{f.Claim: {"2 mutants", "a/b.go:7 swap", "a/c.go:1 drop"}, f.Evidence: {"a/b.go:7 swap: `a < b` -> `a <= b`", "a/c.go:1 drop: `close()` -> ``"}} {
		for _, p := range parts {
			if !strings.Contains(text, p) {
				t.Errorf("%q lacks %q", text, p)
			}
		}
	}
	if f.Severity != prosecutor.Critical || f.Charge != prosecutor.ChargeTests || f.Origin != string(prosecutor.HollowTest) || f.Rule != contract.RuleSurvivors {
		t.Errorf("%+v", f)
	}
	id := func(list ...prosecutor.Survivor) string {
		return contract.SurvivorFinding(prosecutor.Evidence{Source: prosecutor.HollowTest, Survivors: list}).ID
	}
	moved := one
	moved.Line = 99
	if id(one) != id(moved) {
		t.Error("the identity changes when the code moves")
	}
	if id(one) == id(two) || id(one) == id(one, two) {
		t.Error("other survivors have the same identity")
	}
}

func TestWhatSurvivorsSay(t *testing.T) {
	one := prosecutor.Survivor{Path: "a/b.go", Line: 7, Operator: "swap", Original: "a < b", Mutated: "a <= b"}
	two := prosecutor.Survivor{Path: "a/c.go", Line: 1, Operator: "drop", Original: "close()", Mutated: ""}
	for _, c := range []struct {
		name                      string
		survivors                 []prosecutor.Survivor
		claim, evidence, identity string
	}{
		{
			"one", []prosecutor.Survivor{one},
			"A mutant of the changed lines survived: no test fails when the code is wrong. a/b.go:7 swap",
			"a/b.go:7 swap: `a < b` -> `a <= b`",
			`a/b.go swap "a < b" "a <= b"`,
		},
		{
			"two", []prosecutor.Survivor{one, two},
			"2 mutants of the changed lines survived: no test fails when the code is wrong. a/b.go:7 swap, a/c.go:1 drop",
			"a/b.go:7 swap: `a < b` -> `a <= b`\na/c.go:1 drop: `close()` -> ``",
			"a/b.go swap \"a < b\" \"a <= b\"\na/c.go drop \"close()\" \"\"",
		},
	} {
		want := prosecutor.Finding{
			Source: prosecutor.FromEvidence, Origin: "hollow_test", Rule: "surviving-mutants", Severity: prosecutor.Critical,
			Claimed: prosecutor.Critical, Charge: prosecutor.ChargeTests, Claim: c.identity, Place: prosecutor.Place{Status: prosecutor.NoFile},
		}
		want.ID = prosecutor.Identify(want)
		want.Claim, want.Evidence = c.claim, c.evidence
		got := contract.SurvivorFinding(prosecutor.Evidence{Source: prosecutor.HollowTest, Survivors: c.survivors})
		if d := cmp.Diff(&want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// What a source says of its finding stands, and what it leaves out is filled in.
func TestFindingsOfEvidenceAreCompleted(t *testing.T) {
	noFile := prosecutor.Place{Status: prosecutor.NoFile}
	placed := prosecutor.Place{Status: prosecutor.Anchored, Path: "a.go", Side: prosecutor.Right, StartLine: 3, EndLine: 3}
	anchor := &prosecutor.Anchor{Path: "a.go", Line: 3}
	for _, c := range []struct {
		name     string
		in, want prosecutor.Finding
	}{
		{"bare", prosecutor.Finding{Severity: prosecutor.Low}, prosecutor.Finding{
			Origin: "code_scanning", Severity: prosecutor.Low, Claimed: prosecutor.Low, Place: noFile}},
		{"unknown severity", prosecutor.Finding{Severity: "urgent"}, prosecutor.Finding{
			Origin: "code_scanning", Severity: prosecutor.High, Claimed: "urgent", Place: noFile}},
		{"capped, of another origin", prosecutor.Finding{Origin: "codeql", Severity: prosecutor.Medium, Claimed: prosecutor.High}, prosecutor.Finding{
			Origin: "codeql", Severity: prosecutor.Medium, Claimed: prosecutor.High, Place: noFile}},
		{"placed", prosecutor.Finding{Severity: prosecutor.Low, Place: placed}, prosecutor.Finding{
			Origin: "code_scanning", Severity: prosecutor.Low, Claimed: prosecutor.Low, Place: placed}},
		{"anchored, to be placed", prosecutor.Finding{Severity: prosecutor.Low, Anchor: anchor}, prosecutor.Finding{
			Origin: "code_scanning", Severity: prosecutor.Low, Claimed: prosecutor.Low, Anchor: anchor}},
		{"anchored and placed", prosecutor.Finding{Severity: prosecutor.Low, Anchor: anchor, Place: placed}, prosecutor.Finding{
			Origin: "code_scanning", Severity: prosecutor.Low, Claimed: prosecutor.Low, Anchor: anchor, Place: placed}},
		{"identified", prosecutor.Finding{ID: "given", Severity: prosecutor.Low}, prosecutor.Finding{
			ID: "given", Origin: "code_scanning", Severity: prosecutor.Low, Claimed: prosecutor.Low, Place: noFile}},
	} {
		want := c.want
		want.Source = prosecutor.FromEvidence
		if want.ID == "" {
			want.ID = prosecutor.Identify(want)
		}
		brief := refund(t)
		brief.Evidence = []prosecutor.Evidence{{Source: prosecutor.CodeScanning, State: prosecutor.Red, Findings: []prosecutor.Finding{c.in}}}
		pass, _ := run(t, prosecutor.Correctness, brief, say(ship))
		if d := cmp.Diff([]prosecutor.Finding{want}, pass.Findings); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestSettle(t *testing.T) {
	d := parse(t, refundDiff)
	there := &prosecutor.Anchor{Path: "pay/refund.go", Side: prosecutor.Right, Quote: "\treturn cents > 0 && cents <= Limit"}
	gone := &prosecutor.Anchor{Path: "pay/refund.go", Side: prosecutor.Right, Quote: "\treturn true"}
	for _, c := range []struct {
		name     string
		diff     *diff.Diff
		in       prosecutor.Finding
		severity prosecutor.Severity
		status   prosecutor.AnchorStatus
	}{
		{"there", d, prosecutor.Finding{Severity: prosecutor.High, Anchor: there}, prosecutor.High, prosecutor.Anchored},
		{"gone", d, prosecutor.Finding{Severity: prosecutor.High, Anchor: gone}, prosecutor.Medium, prosecutor.Unanchored},
		{"gone, but measured", d, prosecutor.Finding{Source: prosecutor.FromEvidence, Severity: prosecutor.High, Anchor: gone}, prosecutor.High, prosecutor.Unanchored},
		{"gone, but of a rule", d, prosecutor.Finding{Source: prosecutor.FromRule, Severity: prosecutor.High, Anchor: gone}, prosecutor.High, prosecutor.Unanchored},
		{"back again", d, prosecutor.Finding{Severity: prosecutor.Medium, Claimed: prosecutor.Critical, Anchor: there}, prosecutor.Critical, prosecutor.Anchored},
		{"no anchor", d, prosecutor.Finding{Severity: prosecutor.High}, prosecutor.High, prosecutor.NoFile},
		{"no diff", nil, prosecutor.Finding{Severity: prosecutor.High, Anchor: there}, prosecutor.Medium, prosecutor.Unanchored},
		{"no diff and no anchor", nil, prosecutor.Finding{Severity: prosecutor.High}, prosecutor.High, prosecutor.NoFile},
	} {
		got := contract.Settle(c.diff, c.in)
		if got.Severity != c.severity || got.Place.Status != c.status {
			t.Errorf("%s: %s, %s; want %s, %s", c.name, got.Severity, got.Place.Status, c.severity, c.status)
		}
		if again := contract.Settle(c.diff, got); cmp.Diff(got, again) != "" {
			t.Errorf("%s: settling twice differs: %s", c.name, cmp.Diff(got, again))
		}
		if got.ID != prosecutor.Identify(got) {
			t.Errorf("%s: identity %q", c.name, got.ID)
		}
	}
}

// A judge sees U+FFFD for each byte that is not UTF-8. Such a byte in a line must not make the line unaccusable.
func TestQuotesOfInvalidBytesAreFound(t *testing.T) {
	section := func(name, line string) string {
		return "diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name + "\n@@ -1,2 +1,2 @@\n-old\n+" + line + "\n end " + name + "\n"
	}
	text := section("a.py", "os.system('\xff\xfe')") + section("b.py", "plain") + section("c.py", "twin \xff") + section("d.py", "twin \xfe") + section("e\xff.py", "odd \xc3\x28 name") +
		section("n\xff.py", "first \xff") + section("n\xfe.py", "second \xfe")
	d := parse(t, text)
	for _, c := range []struct {
		path, quote string
		want        prosecutor.Place
	}{
		{"a.py", "os.system('\ufffd\ufffd')", prosecutor.Place{Status: prosecutor.Anchored, Path: "a.py", Side: prosecutor.Right, StartLine: 1, EndLine: 1, MatchedBy: "file"}},
		{"a.py", "os.system('\ufffd')", prosecutor.Place{Status: prosecutor.Unanchored}},
		{"c.py", "twin \ufffd", prosecutor.Place{Status: prosecutor.Anchored, Path: "c.py", Side: prosecutor.Right, StartLine: 1, EndLine: 1, MatchedBy: "file"}},
		{"b.py", "twin \ufffd", prosecutor.Place{Status: prosecutor.Ambiguous}},
		{"n\ufffd.py", "first \ufffd", prosecutor.Place{Status: prosecutor.Ambiguous}},
		{"e\ufffd.py", "odd \ufffd( name", prosecutor.Place{Status: prosecutor.Anchored, Path: "e\xff.py", Side: prosecutor.Right, StartLine: 1, EndLine: 1, MatchedBy: "file"}},
	} {
		got := contract.Settle(d, prosecutor.Finding{Severity: prosecutor.High, Anchor: &prosecutor.Anchor{Path: c.path, Side: prosecutor.Right, Quote: c.quote}})
		if d := cmp.Diff(c.want, got.Place); d != "" {
			t.Errorf("%s %q (-want +got):\n%s", c.path, c.quote, d)
		}
	}
}

// The text of a diff is looked at as it was sent only for a quote that it does not hold as it is.
func TestQuoteThatIsThereIsNotConfusedWithWhatLooksLikeIt(t *testing.T) {
	d := parse(t, "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1,3 @@\n-old\n+twin \xff\n+twin \ufffd\n+last\n")
	got := contract.Settle(d, prosecutor.Finding{Severity: prosecutor.High, Anchor: &prosecutor.Anchor{Path: "a.py", Side: prosecutor.Right, Quote: "twin \ufffd"}})
	want := prosecutor.Place{Status: prosecutor.Anchored, Path: "a.py", Side: prosecutor.Right, StartLine: 2, EndLine: 2, MatchedBy: "file"}
	if d := cmp.Diff(want, got.Place); d != "" {
		t.Errorf("place (-want +got):\n%s", d)
	}
}

// A file that becomes a link has two sections of one name.
func TestQuoteOfInvalidBytesInATypeChange(t *testing.T) {
	d := parse(t, "diff --git a/a.py b/a.py\ndeleted file mode 100644\n--- a/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone \xff\n"+
		"diff --git a/a.py b/a.py\nnew file mode 120000\n--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+target\n\\ No newline at end of file\n")
	got := contract.Settle(d, prosecutor.Finding{Severity: prosecutor.High, Anchor: &prosecutor.Anchor{Path: "a.py", Side: prosecutor.Left, Quote: "gone \ufffd"}})
	want := prosecutor.Place{Status: prosecutor.Anchored, Path: "a.py", Side: prosecutor.Left, StartLine: 1, EndLine: 1, MatchedBy: "file"}
	if d := cmp.Diff(want, got.Place); d != "" {
		t.Errorf("place (-want +got):\n%s", d)
	}
}

// A file of which there is no text, or none that can be read as it was sent, hides nothing of the others.
func TestQuoteOfInvalidBytesBesideFilesThatCannotBeRead(t *testing.T) {
	section := func(name, line string) string {
		return "diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name + "\n@@ -1 +1 @@\n-old\n+" + line + "\n"
	}
	d := parse(t, section("long.js", strings.Repeat("\xff", diff.DefaultMaxLine/3+1))+section("a.py", "odd \xff"))
	d.Files = append([]*diff.File{{OldPath: "made.py", NewPath: "made.py", Status: diff.Modified}}, d.Files...)
	got := contract.Settle(d, prosecutor.Finding{Severity: prosecutor.High, Anchor: &prosecutor.Anchor{Path: "a.py", Side: prosecutor.Right, Quote: "odd \ufffd"}})
	want := prosecutor.Place{Status: prosecutor.Anchored, Path: "a.py", Side: prosecutor.Right, StartLine: 1, EndLine: 1, MatchedBy: "file"}
	if d := cmp.Diff(want, got.Place); d != "" {
		t.Errorf("place (-want +got):\n%s", d)
	}
}

// One brief and one judge may serve many passes at once.
func TestPassesRunSideBySide(t *testing.T) {
	brief := refund(t)
	var wg sync.WaitGroup
	verdicts := make([]prosecutor.Verdict, 12)
	for i := range verdicts {
		wg.Go(func() {
			lens := prosecutor.Lenses()[i%3]
			verdicts[i] = contract.Prosecute(t.Context(), repeater(`{"verdict":"block","findings":[`+low+`]}`), contract.Input{Lens: lens, Brief: brief}).Verdict
		})
	}
	wg.Wait()
	for i, v := range verdicts {
		if v != prosecutor.Block {
			t.Errorf("pass %d: %s", i, v)
		}
	}
}

// Whatever line of a real diff a judge quotes as it received it, the finding stands where the line is.
func TestCorpusLinesCanBeAccused(t *testing.T) {
	for _, e := range corpustest.Load(t) {
		t.Run(e.ID, func(t *testing.T) {
			d := parse(t, corpustest.Text(t, e))
			for _, f := range d.Files {
				for h := range f.Hunks {
					asked := 0
					for line := range f.Hunks[h].Lines() {
						a := prosecutor.Anchor{Path: overJSON(t, f.Path()), Side: prosecutor.Right, Line: line.New, Quote: overJSON(t, line.Text)}
						if line.Op == diff.Delete {
							a.Side, a.Line = prosecutor.Left, line.Old
						}
						if strings.Trim(a.Quote, " \t\r\n\v\f") == "" || asked == 3 {
							continue
						}
						asked++
						p := contract.Settle(d, prosecutor.Finding{Severity: prosecutor.High, Anchor: &a}).Place
						exact := a.Path == f.Path()
						if exact && (p.Status != prosecutor.Anchored || p.Path != f.Path() || p.Side != a.Side || p.StartLine != a.Line || p.EndLine != a.Line) {
							t.Errorf("%+v is found at %+v", a, p)
						}
						if p.Status == prosecutor.Unanchored || p.Status == prosecutor.NoFile {
							t.Errorf("%+v is not found", a)
						}
					}
				}
			}
		})
	}
}

// overJSON is a text as it comes through JSON.
func overJSON(t testing.TB, s string) string {
	t.Helper()
	wire, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out string
	if err := json.Unmarshal(wire, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
