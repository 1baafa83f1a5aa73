package report

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf16"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// The parts of the mutation testing report schema, version 2, that a report needs.
type (
	strykerReport struct {
		Schema        string                     `json:"$schema"`
		SchemaVersion string                     `json:"schemaVersion"`
		Thresholds    map[string]int             `json:"thresholds"`
		Framework     strykerFramework           `json:"framework"`
		Files         map[string]*strykerFile    `json:"files"`
		TestFiles     map[string]strykerTestFile `json:"testFiles,omitempty"`
		Config        map[string]any             `json:"config"`
	}
	strykerFramework struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	strykerFile struct {
		Language string          `json:"language"`
		Source   string          `json:"source"`
		Mutants  []strykerMutant `json:"mutants"`
	}
	strykerMutant struct {
		ID           string          `json:"id"`
		MutatorName  string          `json:"mutatorName"`
		Replacement  string          `json:"replacement"`
		Description  string          `json:"description,omitempty"`
		Location     strykerLocation `json:"location"`
		Status       string          `json:"status"`
		StatusReason string          `json:"statusReason,omitempty"`
		CoveredBy    []string        `json:"coveredBy,omitempty"`
		KilledBy     []string        `json:"killedBy,omitempty"`
		Duration     int64           `json:"duration,omitempty"`
	}
	strykerLocation struct {
		Start strykerPosition `json:"start"`
		End   strykerPosition `json:"end"`
	}
	strykerPosition struct {
		Line   int `json:"line"`
		Column int `json:"column"`
	}
	strykerTestFile struct {
		Tests []strykerTest `json:"tests"`
	}
	strykerTest struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
)

// strykerSchema is where the schema is published.
const strykerSchema = "https://git.io/mutation-testing-report-schema"

// HollowStryker writes a report in the mutation testing report schema, which the Stryker tools' viewer shows.
func HollowStryker(w io.Writer, r *hollowtest.Report, source Source, version string) error {
	out := strykerReport{
		Schema: strykerSchema, SchemaVersion: "2", Thresholds: map[string]int{"high": 100, "low": 99},
		Framework: strykerFramework{hollowtest.Tool, version}, Files: map[string]*strykerFile{},
		Config: map[string]any{"outcome": r.Outcome, "reason": r.Reason},
	}
	for _, f := range r.Files {
		out.file(f.Path, source)
	}
	seen := map[string]bool{}
	var tests []strykerTest
	for i := range r.Mutants {
		m := &r.Mutants[i]
		f := out.file(m.File, source)
		status := strykerStatus(m)
		mutant := strykerMutant{
			ID: m.ID, MutatorName: m.Operator, Replacement: m.Mutated, Description: m.Hint, Location: strykerPlace(f.Source, m), Status: status,
			StatusReason: m.Reason, CoveredBy: m.Tests, Duration: m.DurationMS,
		}
		if m.Killer != "" {
			mutant.KilledBy = []string{m.Killer}
		}
		f.Mutants = append(f.Mutants, mutant)
		for _, name := range append(mutant.KilledBy, m.Tests...) {
			if !seen[name] {
				seen[name] = true
				tests = append(tests, strykerTest{name, name})
			}
		}
	}
	if len(tests) > 0 {
		out.TestFiles = map[string]strykerTestFile{"tests": {tests}}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("writing the report for Stryker's viewer: %w", err)
	}
	return nil
}

func (s *strykerReport) file(name string, source Source) *strykerFile {
	if f := s.Files[name]; f != nil {
		return f
	}
	f := &strykerFile{Language: strykerLanguage(name), Mutants: []strykerMutant{}}
	if source != nil {
		if data, err := source(name); err == nil {
			f.Source = string(data)
		}
	}
	s.Files[name] = f
	return f
}

// strykerLanguage names a language as the viewer's highlighter does.
func strykerLanguage(name string) string {
	switch path.Ext(name) {
	case ".go":
		return "go"
	case ".js", ".jsx", ".mjs", ".cjs":
		return "javascript"
	case ".ts", ".tsx", ".mts", ".cts":
		return "typescript"
	case ".py":
		return "python"
	case ".java":
		return "java"
	case ".rs":
		return "rust"
	case ".rb":
		return "ruby"
	default:
		return "none"
	}
}

func strykerStatus(m *hollowtest.Mutant) string {
	switch {
	case m.Pending:
		return "Pending"
	case m.Status == hollowtest.Killed:
		return "Killed"
	case m.Status == hollowtest.Survived:
		return "Survived"
	case m.Status == hollowtest.NotCovered:
		return "NoCoverage"
	case m.Status == hollowtest.TimedOut:
		return "Timeout"
	case m.Status == hollowtest.Invalid:
		return "CompileError"
	case m.Status == hollowtest.Skipped:
		return "Ignored"
	default:
		return "RuntimeError"
	}
}

// strykerPlace is where a mutant is, in the UTF-16 columns of the schema's viewer. A mutant without columns is its whole
// line.
func strykerPlace(source string, m *hollowtest.Mutant) strykerLocation {
	lines := strings.Split(source, "\n")
	text := func(n int) string {
		if n < 1 || n > len(lines) {
			return ""
		}
		return lines[n-1]
	}
	column := func(line, byteColumn int) int {
		l := text(line)
		return len(utf16.Encode([]rune(l[:min(max(byteColumn-1, 0), len(l))]))) + 1
	}
	line := max(m.Line, 1)
	if m.Column < 1 || m.EndLine < line || m.EndCol < 1 {
		return strykerLocation{strykerPosition{line, 1}, strykerPosition{line, column(line, len(text(line))+1)}}
	}
	return strykerLocation{strykerPosition{line, column(line, m.Column)}, strykerPosition{m.EndLine, column(m.EndLine, m.EndCol)}}
}
