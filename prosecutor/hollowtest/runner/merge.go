package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// PartUnmeasured is the problem of a report of several engines one of which met a problem. What the others proved
// stands.
const PartUnmeasured hollowtest.Problem = "part of the change could not be measured"

// conclude merges the reports of several engines.
func conclude(reports []*hollowtest.Report, others []hollowtest.FileReport) *hollowtest.Report {
	merged := &hollowtest.Report{Files: slices.Clone(others)}
	for _, f := range others {
		merged.Mutants = append(merged.Mutants, whole(f, hollowtest.Undetermined))
	}
	var problems []string
	for _, r := range reports {
		merged.Files = append(merged.Files, r.Files...)
		merged.Mutants = append(merged.Mutants, r.Mutants...)
		merged.Flaky = append(merged.Flaky, r.Flaky...)
		if r.Problem == hollowtest.NoProblem {
			continue
		}
		if len(reports) == 1 {
			merged.Problem, merged.Detail = r.Problem, r.Detail
			continue
		}
		text := strings.ReplaceAll(string(r.Problem), "_", " ")
		if r.Detail != "" {
			text += " (" + r.Detail + ")"
		}
		problems = append(problems, text)
	}
	if len(problems) > 0 {
		merged.Problem, merged.Detail = PartUnmeasured, strings.Join(problems, "; ")
	}
	slices.SortFunc(merged.Files, func(a, b hollowtest.FileReport) int { return strings.Compare(a.Path, b.Path) })
	slices.SortStableFunc(merged.Mutants, func(a, b hollowtest.Mutant) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	merged.Conclude()
	return merged
}

// whole stands for all mutants of a file that nobody could make.
func whole(f hollowtest.FileReport, s hollowtest.Status) hollowtest.Mutant {
	return hollowtest.Mutant{ID: "file:" + f.Path, File: f.Path, Line: 1, Operator: "file", Original: f.Path, Mutated: f.Path, Status: s, Reason: f.Reason}
}

// interrupted is the report of a run that ended before any engine was asked.
func interrupted(jobs []*job, others []hollowtest.FileReport) *hollowtest.Report {
	r := conclude(nil, append(fileReports(jobs, ""), others...))
	r.Problem = hollowtest.Interrupted
	r.Conclude()
	return r
}

// unprepared is the report of a tree whose dependencies or setup failed.
func unprepared(jobs []*job, others []hollowtest.FileReport, err error) *hollowtest.Report {
	r := conclude(nil, append(fileReports(jobs, "the tree could not be prepared"), others...))
	r.Problem, r.Detail = hollowtest.SetupFailed, err.Error()
	r.Conclude()
	return r
}

func fileReports(jobs []*job, reason string) []hollowtest.FileReport {
	var files []hollowtest.FileReport
	for _, j := range jobs {
		for name := range j.lines {
			files = append(files, hollowtest.FileReport{Path: name, Reason: reason})
		}
	}
	return files
}

// tail is the end of a program's output, for a sentence.
func tail(out []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(out), "?"))
	if len(text) > 600 {
		text = "..." + strings.ToValidUTF8(text[len(text)-600:], "")
	}
	if text == "" {
		return "it said nothing"
	}
	return fmt.Sprintf("its output ends with: %s", text)
}
