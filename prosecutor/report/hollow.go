package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// Source returns a file of the measured head.
type Source func(path string) ([]byte, error)

// HollowJSON writes a report of hollow-test as JSON. Its outcome says what it means; the numbers alone do not.
func HollowJSON(w io.Writer, r *hollowtest.Report) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the JSON report: %w", err)
	}
	if _, err := w.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("writing the JSON report: %w", err)
	}
	return nil
}

// files remembers the lines of sources.
type files struct {
	source Source
	lines  map[string][]string
}

// line is a line of a file, and whether it is known.
func (f *files) line(path string, n int) (string, bool) {
	if f.lines == nil {
		f.lines = make(map[string][]string)
	}
	lines, ok := f.lines[path]
	if !ok {
		if f.source != nil {
			if data, err := f.source(path); err == nil {
				lines = strings.Split(string(data), "\n")
			}
		}
		f.lines[path] = lines
	}
	if n < 1 || n > len(lines) {
		return "", false
	}
	return strings.TrimSuffix(lines[n-1], "\r"), true
}

// maxDiffLines is how many lines of each side a mutant shows.
const maxDiffLines = 6

// difference shows a mutant as lines taken away and lines put in their place. Where its place in the file is known and
// the code there is what the report says, whole lines are shown, else the code alone.
func (f *files) difference(m *hollowtest.Mutant) []string {
	before, after := m.Original, m.Mutated
	if text, ok := f.between(m); ok {
		first, _ := f.line(m.File, m.Line)
		last, _ := f.line(m.File, m.EndLine)
		head, tail := first[:m.Column-1], last[m.EndCol-1:]
		if text == m.Original {
			before, after = head+m.Original+tail, head+m.Mutated+tail
		}
	}
	var out []string
	for _, side := range []struct{ sign, text string }{{"-", before}, {"+", after}} {
		lines := strings.Split(strings.TrimRight(side.text, "\n"), "\n")
		if len(lines) > maxDiffLines {
			lines = append(lines[:maxDiffLines:maxDiffLines], fmt.Sprintf("… and %s", count(len(lines)-maxDiffLines, "more line")))
		}
		for _, l := range lines {
			out = append(out, side.sign+" "+cut(Printable(clip(strings.TrimSuffix(l, "\r"), 4*maxShownLine)), maxShownLine))
		}
	}
	return out
}

// between is the code of the file at a mutant's place.
func (f *files) between(m *hollowtest.Mutant) (string, bool) {
	if m.Column < 1 || m.EndCol < 1 || m.EndLine < m.Line {
		return "", false
	}
	var parts []string
	for n := m.Line; n <= m.EndLine; n++ {
		l, ok := f.line(m.File, n)
		if !ok {
			return "", false
		}
		parts = append(parts, l)
	}
	last := len(parts) - 1
	if m.EndCol-1 > len(parts[last]) || m.Column-1 > len(parts[0]) || m.EndLine == m.Line && m.EndCol < m.Column {
		return "", false
	}
	parts[last] = parts[last][:m.EndCol-1]
	parts[0] = parts[0][m.Column-1:]
	return strings.Join(parts, "\n"), true
}

// hollow are the mutants that show something missing: survivors first, then what no test reaches.
func hollow(r *hollowtest.Report) []*hollowtest.Mutant {
	var list []*hollowtest.Mutant
	for i := range r.Mutants {
		if s := r.Mutants[i].Status; s == hollowtest.Survived || s == hollowtest.NotCovered {
			list = append(list, &r.Mutants[i])
		}
	}
	slices.SortStableFunc(list, func(a, b *hollowtest.Mutant) int {
		return boolOrder(a.Status == hollowtest.NotCovered) - boolOrder(b.Status == hollowtest.NotCovered)
	})
	return list
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hollowHeadline is a report in one sentence.
func hollowHeadline(r *hollowtest.Report) string {
	switch r.Outcome {
	case hollowtest.KilledAll:
		return "The tests notice every mutant"
	case hollowtest.Survivors:
		if r.Summary.Survived == 0 {
			return "No test reaches some of the changed code"
		}
		return "The tests stay green while the change is broken"
	case hollowtest.NothingMutable:
		return "Nothing in the change can be mutated"
	default:
		return "It could not be measured whether the tests notice the change"
	}
}

// tests names a mutant's tests in one line.
func hollowTests(m *hollowtest.Mutant) string {
	const most = 4
	names := m.Tests
	more := ""
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	return OneLine(strings.Join(names, ", "), 300) + more
}

// leftOver counts the reasons of mutants that have no verdict.
func leftOver(r *hollowtest.Report, want func(*hollowtest.Mutant) bool) []string {
	counts := make(map[string]int)
	var order []string
	for i := range r.Mutants {
		m := &r.Mutants[i]
		if !want(m) {
			continue
		}
		if counts[m.Reason] == 0 {
			order = append(order, m.Reason)
		}
		counts[m.Reason]++
	}
	slices.SortStableFunc(order, func(a, b string) int { return counts[b] - counts[a] })
	lines := make([]string, 0, len(order))
	for _, reason := range order {
		lines = append(lines, fmt.Sprintf("%d: %s", counts[reason], OneLine(reason, 200)))
	}
	return lines
}
