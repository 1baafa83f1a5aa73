package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

const hollowSource = "package é\n\nfunc f(a, b int) bool {\n\tif a > b { // ü\n\t\treturn a\n\t}\n}\n"

func readHollow(name string) ([]byte, error) {
	if name == "a.go" {
		return []byte(hollowSource), nil
	}
	return nil, errors.New("no such file")
}

// hollowReport has a mutant of every status.
func hollowReport() *hollowtest.Report {
	r := &hollowtest.Report{
		Files: []hollowtest.FileReport{{Path: "a.go"}, {Path: "b|`c`.js", Reason: "a <b>reason</b>"}, {Path: "c.go"}},
		Flaky: []string{"TestNow\x1b[31m"},
	}
	for i, s := range hollowtest.Statuses() {
		r.Mutants = append(r.Mutants, hollowtest.Mutant{
			ID: string(rune('a' + i)), File: "a.go", Line: 4, Column: 5, EndLine: 4, EndCol: 10, Operator: "comparison_boundary",
			Original: "a > b", Mutated: "a >= b", Status: s, Tests: []string{"TestF", "x.TestG"}, Hint: "no test has both sides equal", DurationMS: 3,
		})
	}
	r.Mutants[0].Killer = "TestF"
	r.Mutants = append(r.Mutants,
		hollowtest.Mutant{ID: "p", File: "a.go", Line: 5, Operator: "return_zero", Original: "return a", Mutated: "return 0", Status: hollowtest.Skipped, Pending: true, Reason: "budget"},
		hollowtest.Mutant{ID: "q", File: "c.go", Line: 1, Operator: "return_zero", Original: "return c", Mutated: "return 0", Status: hollowtest.Skipped, Pending: true, Reason: "budget"},
		hollowtest.Mutant{ID: "h", File: "b|`c`.js", Line: 1, Operator: "remove_call", Original: "@team `rm` </script>\x1b[2J", Mutated: "```", Status: hollowtest.Survived})
	r.Conclude()
	return r
}

func TestStrykerReportIsValid(t *testing.T) {
	name := filepath.Join("testdata", "mutation-testing-report-schema", "mutation-testing-report-schema.json")
	schema, err := jsonschema.NewCompiler().Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*hollowtest.Report{hollowReport(), {}} {
		r.Conclude()
		var b bytes.Buffer
		if err := HollowStryker(&b, r, readHollow, "1.2.3"); err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
}

func TestStrykerReportSaysWhatHappened(t *testing.T) {
	var b bytes.Buffer
	if err := HollowStryker(&b, hollowReport(), readHollow, ""); err != nil {
		t.Fatal(err)
	}
	var doc strykerReport
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	f := doc.Files["a.go"]
	if f == nil || f.Language != "go" || f.Source != hollowSource {
		t.Fatalf("%+v", f)
	}
	want := []string{"Killed", "Timeout", "Survived", "NoCoverage", "CompileError", "RuntimeError", "Ignored", "Pending"}
	for i, m := range f.Mutants {
		if m.Status != want[i] {
			t.Errorf("mutant %s is %s, want %s", m.ID, m.Status, want[i])
		}
	}
	m := f.Mutants[0]
	line := strings.Split(hollowSource, "\n")[m.Location.Start.Line-1]
	if got := line[m.Location.Start.Column-1 : m.Location.End.Column-1]; got != "a > b" || m.Replacement != "a >= b" || m.KilledBy[0] != "TestF" {
		t.Errorf("%q becomes %q, killed by %q", got, m.Replacement, m.KilledBy)
	}
	if p := f.Mutants[7].Location; p.Start.Column != 1 || p.End.Column != len("\t\treturn a")+1 {
		t.Errorf("a mutant without columns is at %+v", p)
	}
	if len(doc.TestFiles["tests"].Tests) != 2 {
		t.Errorf("tests: %+v", doc.TestFiles)
	}
}

func TestHollowSARIFSaysWhenNothingWasMeasured(t *testing.T) {
	for _, r := range []*hollowtest.Report{hollowReport(), {Problem: hollowtest.BaselineRed, Detail: "TestX"}} {
		r.Conclude()
		var b bytes.Buffer
		if err := HollowSARIF(&b, r, "1"); err != nil {
			t.Fatal(err)
		}
		var doc sarifLog
		if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		run := doc.Runs[0]
		if run.Invocations[0].ExecutionSuccessful != (r.Outcome != hollowtest.CouldNotMeasure) {
			t.Errorf("%s: the execution counts as successful: %t", r.Outcome, run.Invocations[0].ExecutionSuccessful)
		}
		if r.Outcome == hollowtest.Survivors && len(run.Results) != 3 {
			t.Errorf("%d results", len(run.Results))
		}
		for _, res := range run.Results {
			if strings.Contains(res.Message.Text, "\x1b") {
				t.Errorf("a message holds an escape: %q", res.Message.Text)
			}
		}
	}
}

func TestHollowJSONNeverLooksLikeSuccess(t *testing.T) {
	r := &hollowtest.Report{Problem: hollowtest.BaselineRed, Detail: "TestX"}
	r.Conclude()
	var b bytes.Buffer
	if err := HollowJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"tool", "outcome", "reason", "summary", "files", "mutants"} {
		if doc[key] == nil {
			t.Errorf("%s is missing or null", key)
		}
	}
	if doc["outcome"] != "could_not_measure" || !strings.Contains(doc["reason"].(string), "TestX") {
		t.Errorf("%v: %v", doc["outcome"], doc["reason"])
	}
}

func TestHollowTextAndMarkdown(t *testing.T) {
	for name, render := range map[string]func(*bytes.Buffer, *hollowtest.Report) error{
		"text": func(b *bytes.Buffer, r *hollowtest.Report) error { return HollowText(b, r, readHollow, TextOptions{}) },
		"colour": func(b *bytes.Buffer, r *hollowtest.Report) error {
			return HollowText(b, r, readHollow, TextOptions{Color: true})
		},
		"markdown": func(b *bytes.Buffer, r *hollowtest.Report) error { return HollowMarkdown(b, r, readHollow) },
	} {
		var b bytes.Buffer
		if err := render(&b, hollowReport()); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"- \tif a > b { // ü", "+ \tif a >= b { // ü", "no test has both sides equal", "TestF"} {
			if name != "markdown" {
				want = strings.ReplaceAll(want, "\t", "    ")
			}
			if !strings.Contains(strings.ReplaceAll(b.String(), "\t", "    "), strings.ReplaceAll(want, "\t", "    ")) {
				t.Errorf("%s lacks %q:\n%s", name, want, b.String())
			}
		}
		golden := filepath.Join("testdata", "hollow."+name)
		if flag.Lookup("update").Value.String() == "true" {
			if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		file, err := os.ReadFile(golden)
		if err != nil {
			t.Fatalf("%v (go test ./prosecutor/report -update writes it)", err)
		}
		if diff := cmp.Diff(string(file), b.String()); diff != "" {
			t.Errorf("%s: -golden +got:\n%s", name, diff)
		}
		if strings.Contains(b.String(), "\x1b[2J") || strings.Contains(b.String(), "\x1b[31mTest") {
			t.Errorf("%s lets a change write to the terminal", name)
		}
		if name == "markdown" && (strings.Contains(b.String(), "\n@team") || strings.Contains(b.String(), "<b>")) {
			t.Errorf("markup of the change gets through:\n%s", b.String())
		}
	}
}

func TestHollowReportsDoNotNeedTheSource(t *testing.T) {
	var b bytes.Buffer
	if err := HollowText(&b, hollowReport(), nil, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "- a > b\n") {
		t.Errorf("no diff:\n%s", b.String())
	}
}
