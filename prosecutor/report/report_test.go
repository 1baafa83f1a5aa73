package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

var update = flag.Bool("update", false, "write the golden files")

func ptr(s string) *string { return &s }

// blocked is a case with everything in it.
func blocked() *report.Document {
	return &report.Document{
		Version: report.FormatVersion,
		Tool:    report.Tool{Name: "prosecutor", Version: "v1.2.3"},
		Case: report.Case{
			Repo: "/src/pay", Branch: "feature/limits", BaseRef: "main", Base: strings.Repeat("a", 40), MergeBase: strings.Repeat("b", 40),
			Head: strings.Repeat("c", 40), PolicyHash: "p1", PolicySource: "built-in defaults", SpecHash: "s1", SpecSource: "commit messages",
		},
		Outcome: "decided", Decision: ptr("LOOP_BACK"), Reason: "lens_veto", Causes: []string{"lens_veto"},
		Summary:     "1 of 2 lenses vetoed: correctness",
		Next:        "Fix the findings marked critical or high and run the review again.",
		BlastRadius: report.BlastRadius{Level: "medium", Why: []string{"201 changed lines under the source globs, more than 200"}, ChangedLines: 230, SourceLines: 201, Files: 3},
		Builder:     report.Builder{Families: []string{"quill"}, Found: []report.Sign{{Family: "quill", From: "trailer", Value: "Quill Coder"}}},
		Evidence: []report.Evidence{
			{Source: "code_scanning", State: "not_applicable", Detail: "no GitHub"},
			{Source: "ci_checks", State: "not_applicable", Detail: "no GitHub"},
			{Source: "hollow_test", State: "unavailable", Detail: "baseline suite is red"},
			{Source: "static_rules", State: "clean", Findings: []string{"f3"}},
		},
		Lenses: []report.Lens{
			{Lens: "correctness", Judge: "fern-large", Family: "fern", Model: "fern-4", Verdict: "block", Independence: "preferred",
				Passes:  []report.Pass{{Verdict: "ship", Calls: 1, LatencyMS: 900, TokensIn: 1200, TokensOut: 80, CostUSD: 0.01}, {Verdict: "block", Calls: 2, LatencyMS: 1400, TokensIn: 1300, TokensOut: 210, CostUSD: 0.012}},
				Skipped: []report.Skip{{Judge: "quill-max", Why: "builder_family"}}},
			{Lens: "security", Judge: "moss-pro", Family: "moss", Verdict: "ship", Degraded: true, ErrorKind: "timeout", Error: "harbour: timeout: no answer in 8m0s",
				Passes: []report.Pass{{Verdict: "error", ErrorKind: "timeout", Calls: 1, LatencyMS: 480000}}},
		},
		Findings: []report.Finding{
			{ID: "f1", Lens: "correctness", Source: "model", Origin: "fern-large", Severity: "high", Claimed: "high", Charge: "correctness", Blocking: true,
				Path: "pay/refund.go", Side: "RIGHT", StartLine: 4, EndLine: 5, Anchored: true, Anchor: "anchored",
				Quote: "\treturn cents > 0 &&\n\t\tcents <= Limit", Claim: "A refund of zero cents is refused, which callers rely on.", Evidence: "pay/api.go calls Allowed(0)", Suggestion: "return cents >= 0 && cents <= Limit"},
			{ID: "f2", Lens: "correctness", Source: "model", Origin: "fern-large", Severity: "medium", Claimed: "critical", Charge: "spec",
				Path: "pay/gone.go", Anchor: "unanchored", Quote: "no such line", Claim: "<script>alert(1)</script> @everyone see #1 \x1b[31mred\x1b[0m \u202eevil\nsecond line"},
			{ID: "f3", Lens: "security", Source: "evidence", Origin: "static_rules", Rule: "debug-print", Severity: "low", Claimed: "low", Charge: "correctness",
				Path: "pay/old.go", Side: "LEFT", StartLine: 9, EndLine: 9, Anchored: true, Anchor: "anchored", Quote: "```\nfmt.Println(x)", Claim: "Debug output."},
		},
		NotRead: []report.NotRead{{Path: "go.sum", Lines: 12, Reason: "lock file"}},
		Ledger:  &report.Ledger{Laps: 2, BudgetLaps: 2, MaxLaps: 3, Epoch: 1, OpenConcerns: []string{"pay/refund.go: sign of the amount"}},
		Notes:   []string{"the work tree has changes that are not committed; they were not judged"},
		Explain: []report.Step{{Rule: "4", Detail: "medium: 201 changed lines"}, {Rule: "5", Detail: "a lens vetoed"}},
	}
}

func notJudged() *report.Document {
	d := blocked()
	d.Outcome, d.Decision, d.Reason = "not_judged", ptr("ESCALATE"), "not_judged"
	d.Summary, d.Next = "no judge answered within 2h0m0s", "Check the judges with their provider and run again."
	d.Findings, d.Lenses, d.Explain, d.Ledger = nil, d.Lenses[1:], nil, nil
	d.StaticRulesOnly = true
	return d
}

func TestGolden(t *testing.T) {
	render := map[string]func(*bytes.Buffer, *report.Document) error{
		"txt": func(b *bytes.Buffer, d *report.Document) error { return report.Text(b, d, report.TextOptions{}) },
		"explain": func(b *bytes.Buffer, d *report.Document) error {
			return report.Text(b, d, report.TextOptions{Explain: true})
		},
		"color": func(b *bytes.Buffer, d *report.Document) error {
			return report.Text(b, d, report.TextOptions{Color: true})
		},
		"json":  func(b *bytes.Buffer, d *report.Document) error { return report.JSON(b, d) },
		"md":    func(b *bytes.Buffer, d *report.Document) error { return report.Markdown(b, d) },
		"sarif": func(b *bytes.Buffer, d *report.Document) error { return report.SARIF(b, d) },
	}
	for name, doc := range map[string]*report.Document{"blocked": blocked(), "not_judged": notJudged()} {
		for ext, f := range render {
			t.Run(name+"."+ext, func(t *testing.T) {
				var b bytes.Buffer
				if err := f(&b, doc); err != nil {
					t.Fatal(err)
				}
				file := filepath.Join("testdata", name+"."+ext)
				if *update {
					if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatalf("%v (go test ./prosecutor/report -update writes it)", err)
				}
				if diff := cmp.Diff(string(want), b.String()); diff != "" {
					t.Errorf("-golden +got:\n%s", diff)
				}
			})
		}
	}
}

func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open("../../test/sarif/sarif-2.1.0-rtm.5.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSARIFValidates(t *testing.T) {
	schema := sarifSchema(t)
	hostile := blocked()
	hostile.Findings[0].Path = "a b/ü\xff:%/x\x1b.go"
	hostile.Findings[1].Path = "c:/x#y?z.go"
	hostile.Findings[2].Claim = " \n"
	for name, d := range map[string]*report.Document{"blocked": blocked(), "not judged": notJudged(), "hostile": hostile} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := report.SARIF(&b, d); err != nil {
				t.Fatal(err)
			}
			doc, err := jsonschema.UnmarshalJSON(&b)
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Error(err)
			}
		})
	}
}

// Whatever the change contains, a terminal is sent no control character but the line feed, and the renderers do not fail.
func TestTextIsPrintable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := blocked()
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		d.Summary, d.Next, d.Notes = s, s, []string{s}
		d.BlastRadius.Why, d.Evidence[0].Detail, d.Lenses[1].Error = []string{s}, s, s
		d.Case.Branch, d.Case.BaseRef, d.NotRead[0].Path, d.NotRead[0].Reason = s, s, s, s
		d.Ledger.OpenConcerns, d.Explain[0].Detail = []string{s}, s
		for i := range d.Findings {
			f := &d.Findings[i]
			f.Path, f.Quote, f.Claim, f.Evidence, f.Suggestion, f.Origin = s, s, s, s, s, s
		}
		var b bytes.Buffer
		if err := report.Text(&b, d, report.TextOptions{Explain: true}); err != nil {
			t.Fatal(err)
		}
		out := b.String()
		if !utf8.ValidString(out) {
			t.Fatalf("not UTF-8: %q", out)
		}
		for _, r := range out {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Fatalf("control character %U in %q", r, out)
			}
		}
		b.Reset()
		if err := report.JSON(&b, d); err != nil || !json.Valid(b.Bytes()) {
			t.Fatalf("JSON: %v", err)
		}
	})
}

// A quote cannot close its fence, and prose cannot mention anybody.
func TestMarkdownCannotBeBrokenOutOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("`~\n @a<>|\\*_[]()!-#\t"))).Draw(t, "s")
		fence := report.MarkdownFence(s)
		first, rest, _ := strings.Cut(fence, "\n")
		body := strings.TrimSuffix(rest, "\n"+first+"\n")
		for _, l := range strings.Split(body, "\n") {
			if strings.HasPrefix(strings.TrimSpace(l), first) {
				t.Fatalf("line %q closes the fence %q", l, first)
			}
		}
		text := report.MarkdownText(s)
		if i := strings.Index(text, "@a"); i >= 0 {
			t.Fatalf("mention in %q", text)
		}
		for i, r := range text {
			if (r == '`' || r == '*' || r == '[') && (i == 0 || text[i-1] != '\\') {
				t.Fatalf("unescaped %q in %q", r, text)
			}
			if r == '<' {
				t.Fatalf("tag in %q", text)
			}
		}
	})
}

// What was not judged never reads like a decision.
func TestVerdictOfWhatWasNotDecided(t *testing.T) {
	for _, outcome := range []string{"parked", "held", "not_judged", "errored", "", "unheard_of"} {
		d := notJudged()
		d.Outcome, d.Decision = outcome, ptr("ADVANCE")
		if v := d.Verdict(); v == "ADVANCE" || v == "LOOP_BACK" || v == "ESCALATE" {
			t.Errorf("outcome %q reads %q", outcome, v)
		}
	}
}
