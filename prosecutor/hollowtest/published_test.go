package hollowtest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

func TestAPublishedReportSaysTheSame(t *testing.T) {
	r := &hollowtest.Report{
		Files: []hollowtest.FileReport{{Path: "a.go"}, {Path: "b.go"}},
		Mutants: []hollowtest.Mutant{
			{File: "a.go", Line: 3, Operator: "x", Original: "a::b\n", Mutated: "\u00fc", Status: hollowtest.Survived, Tests: []string{"TestA"}, Hint: "ask"},
			{File: "a.go", Line: 4, Operator: "x", Status: hollowtest.Killed},
			{File: "b.go", Line: 4, Operator: "x", Status: hollowtest.NotCovered},
		},
		Problem: hollowtest.TimeLimit,
	}
	text, err := hollowtest.Publish(r, "abc")
	if err != nil || strings.ContainsAny(text, "\n\r%") {
		t.Fatalf("%q, %v", text, err)
	}
	run, head, err := hollowtest.Published(text)
	if err != nil || head != "abc" {
		t.Fatalf("%q, %v", head, err)
	}
	if diff := cmp.Diff(hollowtest.Decide(r.Facts(), config.HollowTest{}), hollowtest.Decide(run, config.HollowTest{})); diff != "" {
		t.Error(diff)
	}
}

// A report of thousands of survivors fits, and still counts them all.
func TestAPublishedReportFits(t *testing.T) {
	r := &hollowtest.Report{Files: []hollowtest.FileReport{{Path: "a.go"}}}
	for i := range 40_000 {
		r.Mutants = append(r.Mutants, hollowtest.Mutant{File: "a.go", Line: i, Original: fmt.Sprint(i * 7919), Mutated: fmt.Sprint(i * 104729), Status: hollowtest.Survived})
	}
	text, err := hollowtest.Publish(r, "abc")
	if err != nil || len(text) > 64_000 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	run, _, err := hollowtest.Published(text)
	if err != nil || run.Files[0].Survived != 40_000 || len(run.Survivors) == 0 {
		t.Errorf("%d survivors of %+v, %v", len(run.Survivors), run.Files, err)
	}
}

func zipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return "v1:" + base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestRubbishIsNoReport(t *testing.T) {
	for text, want := range map[string]string{
		"": "no version", "v2:x": "no version", "v1:!": "decoded", "v1:aGFsbG8=": "unpacked", zipped("{"): "read", zipped(`{"heads":"x"}`): "unknown field",
		zipped(`{"head":"` + strings.Repeat("x", 9<<20) + `"}`): "too long",
	} {
		if _, _, err := hollowtest.Published(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}
