package rules_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence/rules"
)

// BenchmarkHundredFiles checks a change of 100 files with 60 changed lines each.
func BenchmarkHundredFiles(b *testing.B) {
	var text strings.Builder
	for i := range 100 {
		var rows []string
		for j := range 20 {
			rows = append(rows,
				fmt.Sprintf(" \tcustomer, err := repository.Find(ctx, %d)", j),
				" \tif err != nil {",
				fmt.Sprintf("-\t\treturn fmt.Errorf(\"finding customer %d: %%v\", err)", j),
				fmt.Sprintf("+\t\treturn fmt.Errorf(\"finding customer %d: %%w\", err) // keeps the cause", j),
				"+\t}",
				" ")
		}
		ext := []string{"go", "py", "ts", "rs", "java"}[i%5]
		text.WriteString(change(fmt.Sprintf("pkg/p%d/file.%s", i, ext), rows...))
	}
	d, err := diff.ParseString(text.String())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		rules.Check(context.Background(), rules.Input{Diff: d})
	}
}

// BenchmarkLongLine checks one added line of 5 MB that holds what many rules look for.
func BenchmarkLongLine(b *testing.B) {
	d, err := diff.ParseString(change("app.js", "+"+strings.Repeat("password='ghp_';eval(x);AKIA \u202e", 5<<20/32), " "))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		rules.Check(context.Background(), rules.Input{Diff: d})
	}
}
