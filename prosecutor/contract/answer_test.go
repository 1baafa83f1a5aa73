package contract_test

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
)

const refundDiff = "diff --git a/pay/refund.go b/pay/refund.go\nindex f1cfc67..ea4d71b 100644\n--- a/pay/refund.go\n+++ b/pay/refund.go\n" +
	"@@ -1,5 +1,5 @@\n package pay\n \n func Allowed(cents int) bool {\n-\treturn cents >= 0\n+\treturn cents > 0 && cents <= Limit\n }\n"

const (
	ship     = `{"verdict":"ship","findings":[]}`
	critical = `{"severity":"critical","charge":"security","claim":"A negative Limit lets every refund through."}`
	low      = `{"severity":"low","charge":"tests","claim":"No test covers zero."}`
)

func refund(t testing.TB) *charter.Brief {
	t.Helper()
	return &charter.Brief{Diff: parse(t, refundDiff), Text: refundDiff, Spec: "Refunds have a limit"}
}

func run(t testing.TB, lens prosecutor.Lens, b *charter.Brief, replies ...step) (contract.Pass, *script) {
	t.Helper()
	j := &script{t: t, replies: replies}
	clock := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pass := contract.Prosecute(t.Context(), j, contract.Input{
		Lens: lens, Brief: b,
		Nonce: func() string { return "NONCENONCENONCENONCENONCE1" },
		Now:   func() time.Time { clock = clock.Add(time.Second); return clock },
	})
	return pass, j
}

// Each answer is one way to break the contract, or to keep it where one might think otherwise.
func TestAnswers(t *testing.T) {
	anchored := func(anchor string) string {
		return `{"severity":"critical","charge":"security","claim":"c","anchor":` + anchor + `}`
	}
	answer := func(verdict string, findings ...string) string {
		return `{"verdict":"` + verdict + `","findings":[` + strings.Join(findings, ",") + `]}`
	}
	const real = `"path":"pay/refund.go","side":"RIGHT","quote":"\treturn cents > 0 && cents <= Limit"`
	const violation = "violation"
	for _, c := range []struct {
		name, text string
		want       string // ship, block, or violation
		message    string // what the judge is told of a violation
	}{
		{"nulls of optional properties are absent", `{"verdict":"ship","confidence":null,"findings":[{"severity":"low","charge":"tests","claim":"c","evidence":null,"anchor":null,"suggestion":null}]}`, "ship", ""},
		{"null line is absent", answer("block", anchored(`{`+real+`,"line":null}`)), "block", ""},
		{"null verdict", `{"verdict":null,"findings":[]}`, violation, `/verdict: must be "ship" or "block"`},
		{"null findings", `{"verdict":"ship","findings":null}`, violation, "/findings: must be a list"},
		{"null claim", answer("ship", `{"severity":"low","charge":"tests","claim":null}`), violation, "/findings/0/claim: must be a string"},
		{"null finding", answer("ship", "null"), violation, "/findings/0: must be an object"},
		{"findings is an object", `{"verdict":"ship","findings":` + critical + `}`, violation, "/findings: must be a list"},
		{"verdict in other case", `{"Verdict":"ship","findings":[]}`, violation, `the property "Verdict" is not allowed`},
		{"verdict with a space", `{"verdict":"ship ","findings":[]}`, violation, "/verdict"},
		{"verdict twice, alike", `{"verdict":"ship","verdict":"ship","findings":[]}`, violation, `"verdict" is given twice`},
		{"verdict twice, last ships", `{"verdict":"block","findings":[],"verdict":"ship"}`, violation, `"verdict" is given twice`},
		{"verdict twice, once escaped", `{"verdict":"block","findings":[],"verd\u0069ct":"ship"}`, violation, `"verdict" is given twice`},
		{"findings twice hide nothing", `{"verdict":"ship","findings":[` + critical + `],"findings":[]}`, "block", ""},
		{"severity twice is not sound", answer("ship", `{"severity":"critical","severity":"low","charge":"tests","claim":"c"}`), violation, `"severity" is given twice`},
		{"charge twice is sound all the same", answer("ship", `{"severity":"critical","charge":"tests","charge":"scope","claim":"c"}`), "block", ""},
		{"confidence below", `{"verdict":"ship","findings":[],"confidence":-0.1}`, violation, "/confidence: must be a number from 0 to 1"},
		{"confidence above by little", `{"verdict":"ship","findings":[],"confidence":1.00000000000000000001}`, violation, "/confidence"},
		{"confidence is one", `{"verdict":"ship","findings":[],"confidence":1.0e0}`, "ship", ""},
		{"confidence is a string", `{"verdict":"ship","findings":[],"confidence":"0.5"}`, violation, "/confidence: must be a number"},
		{"confidence is huge", `{"verdict":"ship","findings":[],"confidence":1e999999999}`, violation, "out of range"},
		{"huge number beside a critical finding", `{"verdict":"ship","findings":[` + critical + `],"confidence":1e999999999}`, "block", ""},
		{"line is a string", answer("ship", `{"severity":"low","charge":"tests","claim":"c","anchor":{`+real+`,"line":"4"}}`), violation, "/findings/0/anchor/line: must be a number"},
		{"line is a fraction", answer("ship", `{"severity":"low","charge":"tests","claim":"c","anchor":{`+real+`,"line":4.5}}`), violation, "whole number"},
		{"line is whole though it looks otherwise", answer("ship", `{"severity":"low","charge":"tests","claim":"c","anchor":{`+real+`,"line":4.0e0}}`), "ship", ""},
		{"line is beyond any file", answer("ship", `{"severity":"low","charge":"tests","claim":"c","anchor":{`+real+`,"line":99999999999999999999}}`), "ship", ""},
		{"line is negative", answer("ship", `{"severity":"low","charge":"tests","claim":"c","anchor":{`+real+`,"line":-4}}`), "ship", ""},
		{"anchor without a quote", answer("ship", `{"severity":"low","charge":"tests","claim":"c","anchor":{"path":"p","side":"LEFT"}}`), violation, `/findings/0/anchor: the property "quote" is missing`},
		{"anchor without a side", answer("ship", `{"severity":"low","charge":"tests","claim":"c","anchor":{"path":"p","quote":"q"}}`), violation, `the property "side" is missing`},
		{"anchor with an empty path", answer("ship", anchored(`{"path":"","side":"LEFT","quote":"q"}`)), violation, "/findings/0/anchor/path: must name a file"},
		{"anchor is text", answer("ship", anchored(`"pay/refund.go:4"`)), violation, "/findings/0/anchor: must be an object"},
		{"anchor of the wrong case blocks when the code is there", answer("ship", anchored(strings.Replace(`{`+real+`}`, "RIGHT", "right", 1))), "block", ""},
		{"anchor of the wrong case proves nothing when it is not", answer("ship", anchored(`{"path":"pay/refund.go","side":"right","quote":"invented"}`)), violation, `must be "LEFT" or "RIGHT"`},
		{"anchor with more", answer("ship", `{"severity":"low","charge":"tests","claim":"c","anchor":{`+real+`,"end_line":5}}`), violation, `"end_line" is not allowed`},
		{"no charge on a sound finding", answer("ship", `{"severity":"high","claim":"Loses money."}`), "block", ""},
		{"unknown charge on a sound finding", answer("ship", `{"severity":"high","charge":"style","claim":"Loses money."}`), "block", ""},
		{"zero-width claim", answer("ship", `{"severity":"critical","charge":"tests","claim":"\u200b\ufeff"}`), violation, "must say what is wrong"},
		{"claim too long", answer("ship", `{"severity":"low","charge":"tests","claim":"`+strings.Repeat("é", charter.MaxClaim+1)+`"}`), violation, "at most 4000"},
		{"claim just short enough", answer("ship", `{"severity":"low","charge":"tests","claim":"`+strings.Repeat("é", charter.MaxClaim)+`"}`), "ship", ""},
		{"suggestion of any length", answer("ship", `{"severity":"low","charge":"tests","claim":"c","suggestion":"`+strings.Repeat("x", 200_000)+`"}`), "ship", ""},
		{"findings up to the limit", answer("ship", slicesRepeat(low, charter.MaxFindings)...), "ship", ""},
		{"too many findings", answer("ship", slicesRepeat(low, charter.MaxFindings+1)...), violation, "at most 100"},
		{"too many findings, one sound", answer("ship", append(slicesRepeat(low, charter.MaxFindings), critical)...), "block", ""},
		{"critical in the wrong list", `{"verdict":"ship","findings":[],"more":[` + critical + `]}`, violation, `"more" is not allowed`},
		{"critical beside deep nesting", `{"verdict":"ship","findings":[` + critical + `],"x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, "block", ""},
		{"deep nesting", `{"verdict":"ship","findings":[],"x":` + strings.Repeat("[", 500_000) + `}`, violation, "not valid JSON"},
		{"critical in a code fence", "```json\n" + answer("block", critical) + "\n```", violation, "code fence"},
		{"critical behind prose", "Here: " + answer("block", critical), violation, "nothing may stand before"},
		{"prose behind critical", answer("block", critical) + "\nDone.", violation, "nothing may stand behind"},
		{"two objects", ship + ship, violation, "nothing may stand behind"},
		{"byte order mark", "\ufeff" + ship, violation, "byte order mark"},
		{"invalid UTF-8", strings.Replace(answer("block", low), "zero", "zero \xff", 1), violation, "not valid UTF-8"},
		{"cut off behind a critical finding", strings.TrimSuffix(answer("block", critical), "]}"), violation, "cut off"},
		{"empty", "", violation, "empty"},
		{"blank", " \n\t", violation, "empty"},
		{"ten megabytes", `{"verdict":"ship","findings":[],"x":"` + strings.Repeat("x", 10<<20) + `"}`, violation, "at most 1048576 are read"},
		{"ten megabytes of white space", strings.Repeat(" ", 10<<20) + ship, violation, "at most 1048576 are read"},
		{"the schema instead of an answer", string(charter.Schema()), violation, "is not allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			valid := keepsSchema(t, c.text) && utf8.ValidString(c.text) && len(c.text) <= charter.MaxAnswerBytes
			if valid && c.want == violation {
				t.Error("the published schema accepts it")
			}
			pass, j := run(t, prosecutor.Security, refund(t), say(c.text), say(ship))
			if c.want != violation {
				if string(pass.Verdict) != c.want || pass.Calls != 1 || pass.Repairs != 0 {
					t.Fatalf("got %s after %d calls (%v, %s), want %s after one", pass.Verdict, pass.Calls, pass.Err, pass.Violation, c.want)
				}
				if valid != (pass.Violation == "") {
					t.Errorf("the published schema says valid=%v, the contract %q", valid, pass.Violation)
				}
				return
			}
			if pass.Verdict != prosecutor.Ship || pass.Calls != 2 || pass.Repairs != 1 || len(j.requests) != 2 {
				t.Fatalf("got %s after %d calls, want the repaired ship after two", pass.Verdict, pass.Calls)
			}
			repair := j.requests[1].Messages[2].Text
			if !strings.Contains(repair, c.message) {
				t.Errorf("the judge is told:\n%swant something with %q", repair, c.message)
			}
			if len(repair) > 4000 {
				t.Errorf("the repair request has %d bytes", len(repair))
			}
		})
	}
}

// What is wrong with an answer is for a model to act on, so that it is told in full, without what follows from it.
func TestViolationsAreSaidInFull(t *testing.T) {
	finding := func(text string) string { return `{"verdict":"ship","findings":[` + text + `]}` }
	anchor := func(text string) string {
		return finding(`{"severity":"low","charge":"tests","claim":"c","anchor":` + text + `}`)
	}
	long := strings.Repeat("n", 60)
	for _, c := range []struct {
		name, text, want string
	}{
		{"name twice", `{"verdict":"ship","verdict":"ship","findings":[]}`, `the object: the name "verdict" is given twice`},
		{"nothing", `{}`, `the object: the property "verdict" is missing; the object: the property "findings" is missing`},
		{"verdict", `{"verdict":"no","findings":[]}`, `/verdict: must be "ship" or "block"`},
		{"block without a finding", `{"verdict":"block","findings":[]}`, "/findings: a verdict of block needs at least one finding that says why"},
		{"block without a finding, and more", `{"verdict":"block","findings":[],"mood":1}`, `the object: the property "mood" is not allowed`},
		{"block without a list", `{"verdict":"block","findings":{}}`, "/findings: must be a list"},
		{"number out of range", `{"verdict":"ship","findings":[],"confidence":1e999}`, `the object: the number "1e999" is out of range`},
		{"confidence", `{"verdict":"ship","findings":[],"confidence":1.5}`, "/confidence: must be a number from 0 to 1"},
		{"confidence as text", `{"verdict":"ship","findings":[],"confidence":"high"}`, "/confidence: must be a number"},
		{"one finding too many", finding(strings.Join(slicesRepeat(low, 101), ",")), "/findings: has 101 findings, at most 100 are allowed: keep the most severe"},
		{"empty finding", finding(`{}`), `/findings/0: the property "severity" is missing; /findings/0: the property "charge" is missing; /findings/0: the property "claim" is missing`},
		{"finding as text", finding(low + `,"high"`), "/findings/1: must be an object"},
		{"severity", finding(`{"severity":"High","charge":"tests","claim":"c"}`), `/findings/0/severity: must be one of "critical", "high", "medium", "low"`},
		{"charge", finding(`{"severity":"low","charge":"style","claim":"c"}`), `/findings/0/charge: must be one of "spec", "scope", "correctness", "tests", "security"`},
		{"claim as a number", finding(`{"severity":"low","charge":"tests","claim":5}`), "/findings/0/claim: must be a string"},
		{"blank claim", finding(`{"severity":"low","charge":"tests","claim":" "}`), "/findings/0/claim: must say what is wrong"},
		{"long evidence", finding(`{"severity":"low","charge":"tests","claim":"c","evidence":"` + strings.Repeat("é", 20_001) + `"}`), "/findings/0/evidence: has 20001 characters, at most 20000 are allowed"},
		{"anchor as text", anchor(`"pay/refund.go:4"`), "/findings/0/anchor: must be an object"},
		{"empty anchor", anchor(`{}`), `/findings/0/anchor: the property "path" is missing; /findings/0/anchor: the property "side" is missing; /findings/0/anchor: the property "quote" is missing`},
		{"anchor without a file", anchor(`{"path":"","side":"LEFT","quote":"q"}`), "/findings/0/anchor/path: must name a file; leave the anchor out when the finding is about no file"},
		{"null path", anchor(`{"path":null,"side":"LEFT","quote":"q"}`), "/findings/0/anchor/path: must be a string"},
		{"long path", anchor(`{"path":"` + strings.Repeat("p", 4097) + `","side":"LEFT","quote":"q"}`), "/findings/0/anchor/path: has 4097 characters, at most 4096 are allowed"},
		{"side", anchor(`{"path":"p","side":"left","quote":"q"}`), `/findings/0/anchor/side: must be "LEFT" or "RIGHT"`},
		{"null quote", anchor(`{"path":"p","side":"LEFT","quote":null}`), "/findings/0/anchor/quote: must be a string"},
		{"fraction of a line", anchor(`{"path":"p","side":"LEFT","quote":"q","line":1.5}`), "/findings/0/anchor/line: must be a whole number"},
		{"long name", `{"verdict":"ship","findings":[],"` + long + `":1}`, `the object: the property "` + long + `" is not allowed`},
		{"longer name", `{"verdict":"ship","findings":[],"` + long + `n":1}`, `the object: the property "` + long + `..." is not allowed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if keepsSchema(t, c.text) && plainNumbers(c.text) && !strings.Contains(c.want, "twice") {
				t.Error("the published schema accepts it")
			}
			pass, _ := run(t, prosecutor.Correctness, refund(t), say(c.text), say(c.text))
			if d := cmp.Diff(c.want, pass.Violation); d != "" || pass.ErrorKind != prosecutor.SchemaViolation {
				t.Errorf("%s, violation (-want +got):\n%s", pass.ErrorKind, d)
			}
		})
	}
}

func TestTenProblemsAreTold(t *testing.T) {
	names := strings.Split("abcdefghijkl", "")
	for _, n := range []int{9, 10, 11, 12} {
		text, want := `{"verdict":"ship","findings":[]`, []string{}
		for _, name := range names[:n] {
			text += `,"` + name + `":1`
			want = append(want, `the object: the property "`+name+`" is not allowed`)
		}
		text += "}"
		pass, _ := run(t, prosecutor.Correctness, refund(t), say(text), say(text))
		if d := cmp.Diff(strings.Join(want[:min(n, 10)], "; "), pass.Violation); d != "" {
			t.Errorf("of %d problems (-want +got):\n%s", n, d)
		}
	}
}

func TestFindingsUpToTheLimitKeepTheirOrder(t *testing.T) {
	list := append(slicesRepeat(low, charter.MaxFindings-1), critical)
	pass, _ := run(t, prosecutor.Correctness, refund(t), say(`{"verdict":"block","findings":[`+strings.Join(list, ",")+`]}`))
	if len(pass.Findings) != charter.MaxFindings || pass.Findings[charter.MaxFindings-1].Severity != prosecutor.Critical {
		t.Errorf("%d findings, the last is %+v", len(pass.Findings), pass.Findings[len(pass.Findings)-1])
	}
}

func TestConfidence(t *testing.T) {
	for text, want := range map[string]float64{"0": 0, "-0": 0, "0.25": 0.25, "1": 1, "1e-300": 1e-300} {
		pass, _ := run(t, prosecutor.Correctness, refund(t), say(`{"verdict":"ship","findings":[],"confidence":`+text+`}`))
		if pass.Confidence == nil || *pass.Confidence != want {
			t.Errorf("%s becomes %v", text, pass.Confidence)
		}
	}
}

// The line of an anchor helps to find its quote. One that is no line of a file is not given.
func TestAnchorLine(t *testing.T) {
	for text, want := range map[string]int{
		"1": 1, "4": 4, "4.0e0": 4, "2147483647": math.MaxInt32, "null": 0,
		"0": 0, "-4": 0, "2147483648": 0, "18446744073709551620": 0, `"4"`: 0, "4.5": 0, "1e999": 0,
	} {
		pass, _ := run(t, prosecutor.Correctness, refund(t), say(`{"verdict":"block","findings":[{"severity":"high","charge":"tests","claim":"c",`+
			`"anchor":{"path":"pay/refund.go","side":"LEFT","quote":"return cents >= 0","line":`+text+`}}]}`))
		if pass.Verdict != prosecutor.Block || pass.Findings[0].Anchor.Line != want {
			t.Errorf("%s becomes %+v (%s)", text, pass.Findings, pass.Violation)
		}
	}
}

// A sound finding keeps what can be read of it, and nothing stands for the rest.
func TestSoundFindingLosesWhatCannotBeRead(t *testing.T) {
	pass, _ := run(t, prosecutor.Correctness, refund(t), say(`{"verdict":"ship","findings":[{"severity":"high","charge":5,"claim":"c","evidence":5,"suggestion":[],`+
		`"anchor":{"path":"pay/refund.go","side":5,"quote":"return cents >= 0"}}]}`))
	want := prosecutor.Finding{
		Lens: prosecutor.Correctness, Source: prosecutor.FromModel, Origin: "scripted", Severity: prosecutor.High, Claimed: prosecutor.High,
		Charge: prosecutor.ChargeCorrectness, Claim: "c",
		Anchor: &prosecutor.Anchor{Path: "pay/refund.go", Quote: "return cents >= 0"},
		Place:  prosecutor.Place{Status: prosecutor.Anchored, Path: "pay/refund.go", Side: prosecutor.Left, StartLine: 4, EndLine: 4, MatchedBy: "file"},
	}
	want.ID = prosecutor.Identify(want)
	if d := cmp.Diff([]prosecutor.Finding{want}, pass.Findings); d != "" || pass.Verdict != prosecutor.Block {
		t.Errorf("%s with (-want +got):\n%s", pass.Verdict, d)
	}
}

// Each finding lacks what makes it sound, so that the one beside it blocks alone.
func TestUnsoundFindingsAreNotKept(t *testing.T) {
	for name, finding := range map[string]string{
		"severity of no name":     `{"severity":"urgent","charge":"tests","claim":"c"}`,
		"severity twice":          `{"severity":"high","severity":"high","charge":"tests","claim":"c"}`,
		"severity as a number":    `{"severity":5,"charge":"tests","claim":"c"}`,
		"no severity":             `{"charge":"tests","claim":"c"}`,
		"claim twice":             `{"severity":"high","charge":"tests","claim":"c","claim":"c"}`,
		"blank claim":             `{"severity":"high","charge":"tests","claim":" "}`,
		"no claim":                `{"severity":"high","charge":"tests"}`,
		"anchor as text":          `{"severity":"high","charge":"tests","claim":"c","anchor":"a.go:4"}`,
		"anchor without a path":   `{"severity":"high","charge":"tests","claim":"c","anchor":{"side":"LEFT","quote":"return cents >= 0"}}`,
		"anchor with two paths":   `{"severity":"high","charge":"tests","claim":"c","anchor":{"path":"a","path":"a","side":"LEFT","quote":"return cents >= 0"}}`,
		"anchor with a path of 5": `{"severity":"high","charge":"tests","claim":"c","anchor":{"path":5,"side":"LEFT","quote":"return cents >= 0"}}`,
		"anchor without a name":   `{"severity":"high","charge":"tests","claim":"c","anchor":{"path":"","side":"LEFT","quote":"return cents >= 0"}}`,
		"anchor without a quote":  `{"severity":"high","charge":"tests","claim":"c","anchor":{"path":"pay/refund.go","side":"LEFT"}}`,
		"anchor with two quotes":  `{"severity":"high","charge":"tests","claim":"c","anchor":{"path":"pay/refund.go","side":"LEFT","quote":"return cents >= 0","quote":"return cents >= 0"}}`,
	} {
		pass, _ := run(t, prosecutor.Correctness, refund(t), say(`{"verdict":"ship","findings":[`+finding+`,`+critical+`]}`))
		if pass.Verdict != prosecutor.Block || len(pass.Findings) != 1 || pass.Findings[0].Severity != prosecutor.Critical || pass.Violation == "" {
			t.Errorf("%s: %s with %+v (%s)", name, pass.Verdict, pass.Findings, pass.Violation)
		}
	}
}

func TestOfAMalformedAnswerOnlyWhatStandsAloneIsKept(t *testing.T) {
	pass, _ := run(t, prosecutor.Correctness, refund(t), say(`{"verdict":"ship","mood":1,"confidence":0.3,"findings":[`+critical+`,`+low+`,
		{"severity":"low","severity":"low","charge":"tests","claim":"Which is it?"},
		{"severity":"low","charge":"tests","claim":"Twice inside.","anchor":{"path":"a","path":"a","side":"LEFT","quote":"q"}},
		{"severity":"low","charge":"tests"}, "high", null]}`))
	var claims []string
	for _, f := range pass.Findings {
		claims = append(claims, f.Claim)
	}
	want := []string{"A negative Limit lets every refund through.", "No test covers zero."}
	if d := cmp.Diff(want, claims); d != "" || pass.Verdict != prosecutor.Block {
		t.Errorf("%s with (-want +got):\n%s", pass.Verdict, d)
	}
	if pass.Confidence != nil {
		t.Errorf("a confidence of %v out of a malformed answer", *pass.Confidence)
	}
}

func TestOfTooManyFindingsTheWorstAreKept(t *testing.T) {
	text := `{"verdict":"block","findings":[` + strings.Repeat(low+",", 5*charter.MaxFindings) + critical + `]}`
	pass, _ := run(t, prosecutor.Correctness, refund(t), say(text))
	if pass.Verdict != prosecutor.Block || len(pass.Findings) != charter.MaxFindings || pass.Findings[0].Severity != prosecutor.Critical || !strings.Contains(pass.Violation, "501 findings") {
		t.Errorf("%s with %d findings, first %+v (%s)", pass.Verdict, len(pass.Findings), pass.Findings[0], pass.Violation)
	}
}

func slicesRepeat(s string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = s
	}
	return list
}

func TestModelFindingsCarryEverything(t *testing.T) {
	text := `{"verdict":"block","confidence":0.75,"findings":[{"severity":"high","charge":"correctness","claim":"Zero is refused.","evidence":"Allowed(0)",` +
		`"suggestion":"\treturn cents >= 0 && cents <= Limit","anchor":{"path":"pay/refund.go","side":"LEFT","line":9,"quote":"return cents >= 0"}},` + low + `]}`
	pass, _ := run(t, prosecutor.Spec, refund(t), say(text))
	if pass.Verdict != prosecutor.Block || len(pass.Findings) != 2 || pass.Confidence == nil || *pass.Confidence != 0.75 {
		t.Fatalf("%+v", pass)
	}
	f := pass.Findings[0]
	want := prosecutor.Finding{
		Lens: prosecutor.Spec, Source: prosecutor.FromModel, Origin: "scripted", Severity: prosecutor.High, Claimed: prosecutor.High,
		Charge: prosecutor.ChargeCorrectness, Claim: "Zero is refused.", Evidence: "Allowed(0)", Suggestion: "\treturn cents >= 0 && cents <= Limit",
		Anchor: &prosecutor.Anchor{Path: "pay/refund.go", Side: prosecutor.Left, Line: 9, Quote: "return cents >= 0"},
		Place:  prosecutor.Place{Status: prosecutor.Anchored, Path: "pay/refund.go", Side: prosecutor.Left, StartLine: 4, EndLine: 4, MatchedBy: "file"},
	}
	want.ID = prosecutor.Identify(want)
	if d := cmp.Diff(want, f); d != "" {
		t.Errorf("finding (-want +got):\n%s", d)
	}
	if pass.Findings[1].Place.Status != prosecutor.NoFile {
		t.Errorf("a finding without an anchor is placed: %+v", pass.Findings[1].Place)
	}
}

func TestSoundFindingWithoutAChargeGetsThatOfItsLens(t *testing.T) {
	for lens, want := range map[prosecutor.Lens]prosecutor.Charge{
		prosecutor.Correctness: prosecutor.ChargeCorrectness, prosecutor.Security: prosecutor.ChargeSecurity, prosecutor.Spec: prosecutor.ChargeSpec,
	} {
		pass, _ := run(t, lens, refund(t), say(`{"verdict":"ship","findings":[{"severity":"high","claim":"c"},`+low+`,{"severity":"low"}]}`))
		if pass.Verdict != prosecutor.Block || len(pass.Findings) != 2 || pass.Findings[0].Charge != want {
			t.Errorf("%s: %+v", lens, pass)
		}
		if pass.Violation == "" || pass.Confidence != nil {
			t.Errorf("%s: the violation is not on record: %+v", lens, pass)
		}
	}
}

// genValue is what the name of a property promises, and now and then something else.
func genValue(name string) *rapid.Generator[any] {
	odd := rapid.OneOf(
		rapid.SampledFrom([]any{nil, true, 7, "", " ", []any{}, map[string]any{}, 0.5, -1, 1e300, "x"}),
		rapid.Map(rapid.String(), func(s string) any { return s }),
	)
	mostly := func(g *rapid.Generator[any]) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			if rapid.IntRange(0, 49).Draw(t, "odd") == 31 {
				return odd.Draw(t, "value")
			}
			return g.Draw(t, "value")
		})
	}
	str := func(words ...string) *rapid.Generator[any] {
		return rapid.Map(rapid.SampledFrom(words), func(s string) any { return s })
	}
	switch name {
	case "verdict":
		return mostly(str("ship", "ship", "block"))
	case "severity":
		return mostly(str("low", "low", "low", "medium", "medium", "high", "critical"))
	case "charge":
		return mostly(str("spec", "scope", "correctness", "tests", "security"))
	case "side":
		return mostly(str("LEFT", "RIGHT"))
	case "path":
		return mostly(str("pay/refund.go", "pay/other.go"))
	case "quote":
		return mostly(str("\treturn cents > 0 && cents <= Limit", "return cents >= 0", "invented", " "))
	case "line":
		return mostly(rapid.Map(rapid.IntRange(-1, 9), func(i int) any { return i }))
	case "confidence":
		return mostly(rapid.Map(rapid.Float64Range(-0.01, 1.01), func(f float64) any { return f }))
	case "anchor":
		return mostly(genObject("path", "side", "quote", "line"))
	case "findings":
		return mostly(rapid.Map(rapid.SliceOfN(mostly(genObject("severity", "charge", "claim", "evidence", "anchor", "suggestion")), 0, 3), func(l []any) any { return l }))
	default:
		return mostly(str("The limit is gone.", "漏"))
	}
}

var optional = []string{"confidence", "evidence", "anchor", "suggestion", "line"}

// genObject has most of the names, now and then another one.
func genObject(names ...string) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		m := map[string]any{}
		for _, n := range names {
			omit := 1 // in a hundred
			if slices.Contains(optional, n) {
				omit = 30
			}
			if i := rapid.IntRange(0, 99).Draw(t, "omit "+n); i < 20 || i >= 20+omit {
				m[n] = genValue(n).Draw(t, n)
			}
		}
		if rapid.IntRange(0, 49).Draw(t, "extra") == 31 {
			m[rapid.SampledFrom([]string{"note", "Verdict", ""}).Draw(t, "name")] = 1
		}
		return m
	})
}

func checkPass(t interface {
	Fatalf(string, ...any)
}, text string, valid bool, pass contract.Pass) {
	switch pass.Verdict {
	case prosecutor.Ship:
		if !valid {
			t.Fatalf("a ship out of an answer that breaks the schema: %s", text)
		}
		var says struct{ Verdict string }
		if err := json.Unmarshal([]byte(text), &says); err != nil || says.Verdict != "ship" {
			t.Fatalf("a ship that the answer does not say: %s", text)
		}
	case prosecutor.Block:
		if len(pass.Findings) == 0 {
			t.Fatalf("a block without a finding: %s", text)
		}
	case prosecutor.Errored:
		if valid || pass.ErrorKind != prosecutor.SchemaViolation || pass.Err == nil {
			t.Fatalf("error %q (%v), valid=%v: %s", pass.ErrorKind, pass.Err, valid, text)
		}
	default:
		t.Fatalf("verdict %q: %s", pass.Verdict, text)
	}
	if (pass.ErrorKind != "") != (pass.Verdict == prosecutor.Errored) || (pass.Err != nil) != (pass.Verdict == prosecutor.Errored) {
		t.Fatalf("kind %q and error %v beside %s", pass.ErrorKind, pass.Err, pass.Verdict)
	}
	if (pass.Violation == "") != valid {
		t.Fatalf("the schema says valid=%v, the contract %q: %s", valid, pass.Violation, text)
	}
	if len(pass.Findings) > charter.MaxFindings {
		t.Fatalf("%d findings: %s", len(pass.Findings), text)
	}
	for _, f := range pass.Findings {
		if f.Severity.Blocks() && pass.Verdict != prosecutor.Block {
			t.Fatalf("%s with a %s finding: %s", pass.Verdict, f.Severity, text)
		}
		if f.Severity.Rank() == 0 || charter.Blank(f.Claim) || f.ID == "" || f.Place.Status == "" || f.Charge == "" {
			t.Fatalf("an unsound finding %+v: %s", f, text)
		}
		if f.Place.Status == prosecutor.Unanchored && f.Severity.Rank() > prosecutor.Medium.Rank() {
			t.Fatalf("an unanchored finding above medium %+v: %s", f, text)
		}
	}
}

// The contract and the published schema agree on every answer, and no answer of any shape ships with a blocking finding.
func TestContractAgreesWithItsSchema(t *testing.T) {
	brief := refund(t)
	seen := map[prosecutor.Verdict]int{}
	rapid.Check(t, func(rt *rapid.T) {
		text := encode(t, genObject("verdict", "findings", "confidence").Draw(rt, "answer"))
		pass := contract.Prosecute(t.Context(), repeater(text), contract.Input{Lens: prosecutor.Correctness, Brief: brief})
		checkPass(rt, text, plainNumbers(text) && keepsSchema(t, text), pass)
		seen[pass.Verdict]++
	})
	t.Log(seen)
	if len(seen) != 3 {
		t.Errorf("the generator reaches only %v", seen)
	}
}

// repeater answers the same for ever.
type repeater string

func (repeater) Info() judge.Info { return judge.Info{ID: "repeater", Provider: "northgate"} }

func (r repeater) Ask(context.Context, judge.Request) (judge.Reply, error) {
	return judge.Reply{Text: string(r)}, nil
}

func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		ship, critical, "", "null", "[]", "{}", "```json\n" + ship + "\n```", "\ufeff" + ship, ship + " ok",
		`{"verdict":"block","findings":[` + critical + `,` + low + `]}`,
		`{"verdict":"ship","verdict":"block","findings":[]}`,
		`{"verdict":"ship","findings":[{"severity":"high","charge":"tests","claim":"c","anchor":{"path":"pay/refund.go","side":"RIGHT","quote":"\treturn cents > 0 && cents <= Limit","line":5}}]}`,
		`{"verdict":"ship","findings":[],"confidence":1e308}`,
		`{"verdict":"ship","findings":[{"severity":"medium","charge":"tests","claim":"\ud800"}]}`,
		"{\"verdict\":\"ship\",\"findings\":[],\"\xff\":1}",
	} {
		f.Add(s)
	}
	brief := refund(f)
	f.Fuzz(func(t *testing.T, text string) {
		pass := contract.Prosecute(t.Context(), repeater(text), contract.Input{Lens: prosecutor.Correctness, Brief: brief})
		valid := utf8.ValidString(text) && len(text) <= charter.MaxAnswerBytes && plainNumbers(text) && keepsSchema(t, text)
		checkPass(t, text, valid, pass)
	})
}

// plainNumbers reports whether all numbers of a JSON text are ones that the contract reads: at most 64 characters, and no
// exponent beyond 308.
func plainNumbers(text string) bool {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if err != nil {
			return true
		}
		n, ok := tok.(json.Number)
		if !ok {
			continue
		}
		if _, digits, ok := strings.Cut(strings.ToLower(n.String()), "e"); ok {
			exponent, err := strconv.Atoi(digits)
			if err != nil || exponent < -308 || exponent > 308 {
				return false
			}
		}
		if len(n) > 64 {
			return false
		}
	}
}
