package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	File       string // as given to the parser
	Line       int    // 1-based; 0 when the problem has no place in the file
	Column     int    // 1-based, in characters; 0 together with Line
	Key        string // full path of the key, as in blast_radius.medium_lines; empty for the file as a whole
	Message    string // what is wrong
	Allowed    string // what may stand there, if that can be said in short
	Suggestion string // the nearest valid key or value, if one is near
}

// String writes the problem on one line: FILE:LINE:COLUMN: key: message; allowed: ...; did you mean "x"?
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(printable(p.File))
		b.WriteByte(':')
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", p.Line, p.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if p.Key != "" {
		b.WriteString(p.Key)
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	if p.Allowed != "" {
		b.WriteString("; allowed: ")
		b.WriteString(p.Allowed)
	}
	if p.Suggestion != "" {
		b.WriteString("; did you mean ")
		b.WriteString(strconv.Quote(p.Suggestion))
		b.WriteByte('?')
	}
	return b.String()
}

// Problems is everything that is wrong with a file, in the order of its lines. It is the error of ParsePolicy and
// ParseServer; a file that could not be read at all is another error.
type Problems []Problem

// Error writes one problem a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// maxProblems bounds a report: past it a file is broken in one way, many times.
const maxProblems = 100

// report collects problems of one file.
type report struct {
	file     string
	problems Problems
	dropped  int
	silenced map[int]bool // lines of which everything has been said
}

func newReport(file string) *report { return &report{file: file, silenced: map[int]bool{}} }

func (r *report) add(at place, p Problem) {
	if r.silenced[at.line] {
		return
	}
	if len(r.problems) == maxProblems {
		r.dropped++
		return
	}
	p.File, p.Line, p.Column = r.file, at.line, at.column
	r.problems = append(r.problems, p)
}

// err is nil when there is no problem.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	if r.dropped > 0 {
		r.problems = append(r.problems, Problem{File: r.file, Message: fmt.Sprintf("%d more problems are not shown", r.dropped)})
	}
	return r.problems
}

// place is a position in a file: 1-based line and column, or zero.
type place struct{ line, column int }

// printable returns s, quoted if it holds something that would disturb a terminal or a line of a log.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(s)
	}
	return s
}

// excerpt quotes a text from a file for a message: one line, not too long.
func excerpt(s string) string {
	const most = 60
	runes := []rune(s)
	if len(runes) > most {
		return strconv.Quote(string(runes[:most])) + "..."
	}
	return strconv.Quote(s)
}
